//! Which local variable lies at a distance from the canonical frame address (CFA), at one place
//! in the code.
//!
//! Invariant: a variable is told only if it is the one variable in scope at the place that
//! holds the bytes, and if it was declared before the place.

use addr2line::gimli::{self, AttributeValue, Operation, RunTimeEndian, UnitOffset, UnitRef};

use crate::dwarf::declared_in;
use crate::image::Reader;
use crate::operand::Call;
use crate::variable::{attribute_of_origin, name_of, part_of, size_of, type_of};

/// The registers that hold the frame pointer and the stack pointer, by their numbers in DWARF.
const FRAME_REGISTERS: [u16; 2] = [6, 7];

type Entry = gimli::DebuggingInformationEntry<Reader>;

/// A local variable, as its debug information describes it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Local {
    /// Its name, and behind it the part that is meant.
    pub(crate) name: String,
    /// The file that declares it.
    pub(crate) file: Option<String>,
    /// The line in it, from 1.
    pub(crate) line: Option<u32>,
    /// How many inlined functions surround it in the function that the code is of.
    pub(crate) depth: usize,
}

/// What is asked for.
pub(crate) struct Question<'a> {
    /// The unit of the code.
    pub(crate) unit: UnitRef<'a, Reader>,
    /// The entry of the function that the code is of.
    pub(crate) function: UnitOffset,
    /// The code address.
    pub(crate) at: u64,
    /// The call at that address.
    pub(crate) call: &'a Call,
    /// The first of the bytes, as a distance from the CFA.
    pub(crate) bytes: i64,
    /// How many.
    pub(crate) size: u64,
    /// The lines of the frames at the place, the outermost first.
    pub(crate) lines: &'a [Option<u32>],
}

impl Question<'_> {
    /// The variable, if it is the only one.
    pub(crate) fn answer(&self) -> Option<Local> {
        let base = self.frame_base()?;
        let mut entries = self.unit.entries_raw(Some(self.function)).ok()?;
        let top = entries.next_depth();
        let (mut left_out, mut depths) = (None, Vec::new());
        let mut found = None;
        while !entries.is_empty() {
            let (offset, depth) = (entries.next_offset(), entries.next_depth());
            if depth <= top && offset != self.function {
                break;
            }
            let Some(abbreviation) = entries.read_abbreviation().ok()? else { continue };
            entries.skip_attributes(abbreviation.attributes()).ok()?;
            if left_out.is_some_and(|above| depth > above) || offset == self.function {
                continue;
            }
            left_out = None;
            depths.retain(|above| *above < depth);
            match abbreviation.tag() {
                gimli::DW_TAG_lexical_block | gimli::DW_TAG_try_block | gimli::DW_TAG_catch_block
                    if self.is_in_scope(offset) => {}
                gimli::DW_TAG_inlined_subroutine if self.is_in_scope(offset) => depths.push(depth),
                gimli::DW_TAG_variable | gimli::DW_TAG_formal_parameter => {
                    left_out = Some(depth);
                    let start = self.place_of(offset, base);
                    let holding = start.and_then(|start| self.holding(offset, start, depths.len()));
                    if holding.is_some_and(|one| found.replace(one).is_some()) {
                        return None;
                    }
                }
                _ => left_out = Some(depth),
            }
        }
        found?
    }

    /// What the locations of variables are relative to, as a distance from the CFA.
    fn frame_base(&self) -> Option<i64> {
        let entry = self.unit.entry(self.function).ok()?;
        let expression = self.expression(entry.attr_value(gimli::DW_AT_frame_base)?)?;
        match self.only(expression)? {
            Operation::CallFrameCFA => Some(0),
            Operation::Register { register } => self.register(register),
            Operation::RegisterOffset { register, offset, .. } => {
                self.register(register)?.checked_add(offset)
            }
            _ => None,
        }
    }

    fn register(&self, register: gimli::Register) -> Option<i64> {
        FRAME_REGISTERS.contains(&register.0).then(|| self.call.register(register.0))?
    }

    /// The expression that holds at the place.
    fn expression(&self, value: AttributeValue<Reader>) -> Option<gimli::Expression<Reader>> {
        if let AttributeValue::Exprloc(expression) = value {
            return Some(expression);
        }
        let mut locations = self.unit.attr_locations(value).ok()??;
        while let Some(row) = locations.next().ok()? {
            if (row.range.begin..row.range.end).contains(&self.at) {
                return Some(row.data);
            }
        }
        None
    }

    /// The one operation of an expression that has no other.
    fn only(
        &self,
        expression: gimli::Expression<Reader>,
    ) -> Option<Operation<gimli::EndianSlice<'static, RunTimeEndian>>> {
        let mut operations = expression.operations(self.unit.encoding());
        let first = operations.next().ok()??;
        matches!(operations.next(), Ok(None)).then_some(first)
    }

    /// Where a variable begins, as a distance from the CFA.
    fn place_of(&self, variable: UnitOffset, base: i64) -> Option<i64> {
        let entry = self.unit.entry(variable).ok()?;
        let expression = self.expression(entry.attr_value(gimli::DW_AT_location)?)?;
        match self.only(expression)? {
            Operation::FrameOffset { offset } => base.checked_add(offset),
            Operation::RegisterOffset { register, offset, .. } => {
                self.register(register)?.checked_add(offset)
            }
            _ => None,
        }
    }

    fn is_in_scope(&self, block: UnitOffset) -> bool {
        let holds = |entry: Entry| {
            let mut ranges = self.unit.die_ranges(&entry).ok()?;
            while let Some(range) = ranges.next().ok()? {
                if (range.begin..range.end).contains(&self.at) {
                    return Some(());
                }
            }
            None
        };
        self.unit.entry(block).ok().and_then(holds).is_some()
    }

    /// The variable as a candidate, if it touches the bytes: an answer if it holds all of them
    /// and can be named.
    fn holding(&self, variable: UnitOffset, start: i64, depth: usize) -> Option<Option<Local>> {
        let Some(at) = type_of(self.unit, variable) else { return Some(None) };
        let Some(whole) = size_of(self.unit, at, 0) else { return Some(None) };
        let (first, end) = (i128::from(self.bytes), i128::from(self.bytes) + i128::from(self.size));
        let (start, stop) = (i128::from(start), i128::from(start) + i128::from(whole));
        if end <= start || stop <= first {
            return None;
        }
        if first < start || end > stop {
            return Some(None);
        }
        let line = self.number(variable, gimli::DW_AT_decl_line);
        let known = self.lines.get(depth).copied().flatten();
        let offset = u64::try_from(first - start).ok()?;
        // Before its declaration its bytes may be those of something else.
        let declared = line.zip(known).is_none_or(|(line, known)| line <= known);
        let named = || {
            let part = part_of(self.unit, at, offset, self.size);
            let name = attribute_of_origin(self.unit, variable, gimli::DW_AT_name)?;
            Some(Local { name: name_of(self.unit, name)? + &part, file: self.file(variable), line, depth })
        };
        Some(if declared { named() } else { None })
    }

    fn number(&self, variable: UnitOffset, name: gimli::DwAt) -> Option<u32> {
        let value = attribute_of_origin(self.unit, variable, name)?;
        u32::try_from(value.udata_value()?).ok().filter(|number| *number > 0)
    }

    /// The file that declares a variable, in the form that frames name it in.
    fn file(&self, variable: UnitOffset) -> Option<String> {
        declared_in(self.unit, attribute_of_origin(self.unit, variable, gimli::DW_AT_decl_file)?)
    }
}
