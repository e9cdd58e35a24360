//! Which part of a static variable lies at an address: `cache.size`, `table[3].next`.
//!
//! Invariant: an index of 24 bytes a static variable is kept, made in one pass over the debug
//! information when first needed; types are read from the file when they are asked for.

use addr2line::gimli::{self, AttributeValue, DebugInfoOffset, Operation, Section, UnitOffset, UnitRef};

use crate::dwarf::declared_in;
use crate::image::Reader;

/// Modules with more debug information than this are not searched for variables.
const MOST_SEARCHED: usize = 512 << 20;
/// How many types within types are entered.
const DEEPEST: usize = 24;
/// An access of more bytes than this is to the whole of a structure of its size.
const LARGEST_SCALAR: u64 = 8;

type Unit<'a> = UnitRef<'a, Reader>;

struct Row {
    address: u64,
    unit: usize,
    entry: UnitOffset,
}

/// The static variables of one module.
pub(crate) struct Variables {
    rows: Vec<Row>,
}

impl Variables {
    /// Finds all variables that have one address. Units that cannot be read are left out.
    pub(crate) fn index(sections: &gimli::Dwarf<Reader>) -> Variables {
        let mut rows = Vec::new();
        if sections.debug_info.reader().len() <= MOST_SEARCHED {
            let mut headers = sections.units();
            while let Ok(Some(header)) = headers.next() {
                let Some(DebugInfoOffset(start)) = header.debug_info_offset() else { continue };
                let Ok(unit) = sections.unit(header) else { continue };
                // What was found before an error stays.
                let _ = index_unit(unit.unit_ref(sections), start, &mut rows);
            }
        }
        rows.sort_unstable_by_key(|row| row.address);
        rows.shrink_to_fit();
        Variables { rows }
    }

    /// The part of the variable at `address` that holds the `size` bytes from `offset` on, as it is
    /// written behind the variable's name; empty for the variable as a whole. `None` if nothing
    /// is known of the variable.
    pub(crate) fn part(
        &self,
        sections: &gimli::Dwarf<Reader>,
        address: u64,
        offset: u64,
        size: u64,
    ) -> Option<String> {
        let first = self.rows.partition_point(|row| row.address < address);
        let row = self.rows.get(first).filter(|row| row.address == address)?;
        let header = sections.debug_info.header_from_offset(DebugInfoOffset(row.unit)).ok()?;
        let unit = sections.unit(header).ok()?;
        let unit = unit.unit_ref(sections);
        Some(part_of(unit, type_of(unit, row.entry)?, offset, size))
    }
}

/// The part of a variable of the type `at` that holds the `size` bytes from `offset` on.
pub(crate) fn part_of(unit: Unit<'_>, at: UnitOffset, offset: u64, size: u64) -> String {
    let mut walk = Walk { unit, at, offset, size, path: String::new() };
    for _ in 0..DEEPEST {
        if !walk.enter().unwrap_or(false) {
            break;
        }
    }
    walk.path
}

fn index_unit(unit: Unit<'_>, start: usize, rows: &mut Vec<Row>) -> gimli::Result<()> {
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let entry = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        if abbreviation.tag() != gimli::DW_TAG_variable {
            entries.skip_attributes(abbreviation.attributes())?;
            continue;
        }
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            if attribute.name() == gimli::DW_AT_location
                && let AttributeValue::Exprloc(expression) = attribute.value()
                && let Some(address) = static_address(unit, expression)
            {
                rows.push(Row { address, unit: start, entry });
            }
        }
    }
    Ok(())
}

/// The address, if the expression is nothing but one.
fn static_address(unit: Unit<'_>, expression: gimli::Expression<Reader>) -> Option<u64> {
    let mut operations = expression.operations(unit.encoding());
    let address = match operations.next().ok()?? {
        Operation::Address { address } => address,
        Operation::AddressIndex { index } => unit.address(index).ok()?,
        _ => return None,
    };
    matches!(operations.next(), Ok(None)).then_some(address)
}

/// The type of a variable, given by itself or by the entry that it completes.
pub(crate) fn type_of(unit: Unit<'_>, variable: UnitOffset) -> Option<UnitOffset> {
    reference(unit, attribute_of_origin(unit, variable, gimli::DW_AT_type))
}

/// An attribute of an entry, or of the declaration or the inlined function's entry behind it.
pub(crate) fn attribute_of_origin(
    unit: Unit<'_>,
    mut at: UnitOffset,
    name: gimli::DwAt,
) -> Option<AttributeValue<Reader>> {
    for _ in 0..DEEPEST {
        let entry = unit.entry(at).ok()?;
        if let Some(value) = entry.attr_value(name) {
            return Some(value);
        }
        let next = [gimli::DW_AT_specification, gimli::DW_AT_abstract_origin];
        at = next.into_iter().find_map(|next| reference(unit, entry.attr_value(next)))?;
    }
    None
}

/// A reference within the unit. Types in other units are not followed.
fn reference(unit: Unit<'_>, value: Option<AttributeValue<Reader>>) -> Option<UnitOffset> {
    match value? {
        AttributeValue::UnitRef(offset) => Some(offset),
        AttributeValue::DebugInfoRef(offset) => offset.to_unit_offset(&unit.header),
        _ => None,
    }
}

/// The way from a variable's type inwards.
struct Walk<'a> {
    unit: Unit<'a>,
    at: UnitOffset,
    offset: u64,
    size: u64,
    path: String,
}

/// A member of a structure.
struct Member {
    name: String,
    offset: u64,
    size: u64,
    at: UnitOffset,
}

impl Walk<'_> {
    /// Goes one type further in; `false` if this one is as far as a reader wants to go.
    fn enter(&mut self) -> Option<bool> {
        let entry = self.unit.entry(self.at).ok()?;
        if is_of_a_library(self.unit, &entry) {
            return Some(false);
        }
        match entry.tag() {
            gimli::DW_TAG_typedef
            | gimli::DW_TAG_const_type
            | gimli::DW_TAG_volatile_type
            | gimli::DW_TAG_restrict_type
            | gimli::DW_TAG_atomic_type => {
                self.at = reference(self.unit, entry.attr_value(gimli::DW_AT_type))?;
                Some(true)
            }
            gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
                if self.size > LARGEST_SCALAR && size_of(self.unit, self.at, 0)? <= self.size {
                    return Some(false);
                }
                let member = self.member()?;
                if !member.name.is_empty() {
                    self.path.push('.');
                    self.path += as_written(&member.name);
                }
                self.offset -= member.offset;
                self.at = member.at;
                Some(true)
            }
            gimli::DW_TAG_array_type => {
                let element = reference(self.unit, entry.attr_value(gimli::DW_AT_type))?;
                let stride = size_of(self.unit, element, 0).filter(|stride| *stride > 0)?;
                if self.size > stride {
                    return Some(false);
                }
                let mut index = self.offset / stride;
                let lengths = lengths(self.unit, self.at)?;
                let mut indices = Vec::new();
                for length in lengths.iter().skip(1).rev() {
                    indices.push(index % (*length).max(1));
                    index /= (*length).max(1);
                }
                indices.push(index);
                self.path.extend(indices.iter().rev().map(|index| format!("[{index}]")));
                self.offset %= stride;
                self.at = element;
                Some(true)
            }
            _ => Some(false),
        }
    }

    /// The member that holds the bytes. Of a union the first that has their size, or that has a part which is just them.
    fn member(&self) -> Option<Member> {
        let holding =
            |member: &Member| self.offset.checked_sub(member.offset).is_some_and(|at| at < member.size);
        let members: Vec<Member> = members(self.unit, self.at)?.into_iter().filter(holding).collect();
        let exact = members.iter().position(|member| member.size == self.size);
        let part = || {
            let is_part =
                |member: &Member| is_part(self.unit, member.at, (self.offset - member.offset, self.size), 0);
            members.iter().position(|member| is_part(member) == Some(true))
        };
        let which = if members.len() > 1 { exact.or_else(part).unwrap_or(0) } else { 0 };
        members.into_iter().nth(which)
    }
}

/// Whether so many bytes at an offset within a type are a number or the like that it has there.
fn is_part(unit: Unit<'_>, at: UnitOffset, (offset, size): (u64, u64), depth: usize) -> Option<bool> {
    if depth > DEEPEST {
        return None;
    }
    let entry = unit.entry(at).ok()?;
    let inner = || reference(unit, entry.attr_value(gimli::DW_AT_type));
    match entry.tag() {
        gimli::DW_TAG_typedef
        | gimli::DW_TAG_const_type
        | gimli::DW_TAG_volatile_type
        | gimli::DW_TAG_restrict_type
        | gimli::DW_TAG_atomic_type => is_part(unit, inner()?, (offset, size), depth + 1),
        gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type | gimli::DW_TAG_union_type => {
            let holds = |member: &Member| {
                let within = offset.checked_sub(member.offset).filter(|within| *within < member.size);
                within.and_then(|within| is_part(unit, member.at, (within, size), depth + 1)) == Some(true)
            };
            Some(members(unit, at)?.iter().any(holds))
        }
        gimli::DW_TAG_array_type => {
            let element = inner()?;
            let stride = size_of(unit, element, 0).filter(|stride| *stride > 0)?;
            is_part(unit, element, (offset % stride, size), depth + 1)
        }
        _ => Some(offset == 0 && size_of(unit, at, 0)? == size),
    }
}

/// The data members and bases of a structure.
fn members(unit: Unit<'_>, structure: UnitOffset) -> Option<Vec<Member>> {
    let mut found = Vec::new();
    each_child(unit, structure, |offset| {
        let entry = unit.entry(offset).ok()?;
        let is_member = matches!(entry.tag(), gimli::DW_TAG_member | gimli::DW_TAG_inheritance);
        if !is_member || entry.attr_value(gimli::DW_AT_external).is_some() {
            return None;
        }
        let at = reference(unit, entry.attr_value(gimli::DW_AT_type))?;
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let offset = match (number(gimli::DW_AT_data_member_location), number(gimli::DW_AT_data_bit_offset)) {
            (Some(bytes), _) => bytes,
            (None, Some(bits)) => bits / 8,
            (None, None) => 0,
        };
        let name = match entry.tag() {
            gimli::DW_TAG_member => {
                entry.attr_value(gimli::DW_AT_name).and_then(|name| name_of(unit, name)).unwrap_or_default()
            }
            _ => String::new(),
        };
        found.push(Member { name, offset, size: size_of(unit, at, 0)?, at });
        None::<()>
    })?;
    Some(found)
}

/// A member's name as a source has it: to Rust's compiler those of tuples are `__0`, `__1` and so on.
fn as_written(name: &str) -> &str {
    let number = name.strip_prefix("__");
    number
        .filter(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
        .unwrap_or(name)
}

/// The lengths of an array, outermost first.
fn lengths(unit: Unit<'_>, array: UnitOffset) -> Option<Vec<u64>> {
    let mut found = Vec::new();
    each_child(unit, array, |offset| {
        let entry = unit.entry(offset).ok()?;
        if entry.tag() == gimli::DW_TAG_subrange_type {
            let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
            let bound = || number(gimli::DW_AT_upper_bound).and_then(|bound| bound.checked_add(1));
            found.push(number(gimli::DW_AT_count).or_else(bound).unwrap_or(0));
        }
        None::<()>
    })?;
    Some(found)
}

/// Visits the entries directly below one.
fn each_child(
    unit: Unit<'_>,
    parent: UnitOffset,
    mut visit: impl FnMut(UnitOffset) -> Option<()>,
) -> Option<()> {
    let mut entries = unit.entries_raw(Some(parent)).ok()?;
    let depth = entries.next_depth();
    let abbreviation = entries.read_abbreviation().ok()??;
    entries.skip_attributes(abbreviation.attributes()).ok()?;
    while !entries.is_empty() && entries.next_depth() > depth {
        let (offset, at) = (entries.next_offset(), entries.next_depth());
        let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
        entries.skip_attributes(abbreviation.attributes()).ok()?;
        if at == depth + 1 {
            visit(offset);
        }
    }
    Some(())
}

/// The size of a type.
pub(crate) fn size_of(unit: Unit<'_>, at: UnitOffset, depth: usize) -> Option<u64> {
    if depth > DEEPEST {
        return None;
    }
    let entry = unit.entry(at).ok()?;
    if let Some(size) = entry.attr_value(gimli::DW_AT_byte_size).and_then(|value| value.udata_value()) {
        return Some(size);
    }
    match entry.tag() {
        gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type | gimli::DW_TAG_rvalue_reference_type => {
            Some(u64::from(unit.encoding().address_size))
        }
        tag => {
            let inner = reference(unit, entry.attr_value(gimli::DW_AT_type))?;
            let size = size_of(unit, inner, depth + 1)?;
            if tag != gimli::DW_TAG_array_type {
                return Some(size);
            }
            lengths(unit, at)?.iter().try_fold(size, |product, length| product.checked_mul(*length))
        }
    }
}

/// The text of a name.
pub(crate) fn name_of(unit: Unit<'_>, name: AttributeValue<Reader>) -> Option<String> {
    Some(unit.attr_string(name).ok()?.to_string_lossy().into_owned())
}

/// Whether a type is declared in a system header: what is inside of it is nothing to a reader.
fn is_of_a_library(unit: Unit<'_>, entry: &gimli::DebuggingInformationEntry<Reader>) -> bool {
    let path = entry.attr_value(gimli::DW_AT_decl_file).and_then(|file| declared_in(unit, file));
    path.is_some_and(|path| {
        let starts = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];
        let parts = ["/include/c++/", "/rustlib/src/rust/library/"];
        starts.iter().any(|start| path.starts_with(start)) || parts.iter().any(|part| path.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::as_written;

    #[test]
    fn members_of_tuples_are_numbers() {
        for (name, written) in
            [("__0", "0"), ("__12", "12"), ("__", "__"), ("__x1", "__x1"), ("value", "value")]
        {
            assert_eq!(as_written(name), written);
        }
    }
}
