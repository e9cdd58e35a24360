//! Debug information of one module: inlined frames with file, line, column and the line that
//! the function begins at.
//!
//! Invariant: units are parsed when an address in them is first asked for; [`Dwarf::parsed`]
//! tells how much has been, so that the owner can drop it all and begin anew.

use std::collections::HashSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use addr2line::Context;
use addr2line::gimli::{self, AttributeValue, DebugInfoOffset, UnitOffset, UnitRef};

use crate::image::{Image, Reader};
use crate::local::{Local, Question};
use crate::name::demangle;
use crate::operand::{self, Call, Part};
use crate::symbolizer::{Frame, LocalVariable};
use crate::unwind::pads;
use crate::variable::Variables;

/// How many references from one entry to the next are followed for a declaration.
const REFERENCES: usize = 8;

/// The parsed debug information of one module.
pub(crate) struct Dwarf {
    context: Context<Reader>,
    sections: Arc<gimli::Dwarf<Reader>>,
    units: Vec<usize>,
    variables: Option<Variables>,
    touched: HashSet<usize>,
    parsed: u64,
    /// Dropped after what borrows them.
    _images: Vec<Arc<Image>>,
}

impl Dwarf {
    /// Reads the table of units.
    pub(crate) fn read(image: &Arc<Image>, supplement: Option<Arc<Image>>) -> Result<Dwarf, gimli::Error> {
        let mut sections = image.dwarf()?;
        if let Some(supplement) = &supplement {
            sections.load_sup(|id| Ok::<_, gimli::Error>(supplement.section(id.name())))?;
        }
        sections.populate_abbreviations_cache(gimli::AbbreviationsCacheStrategy::Duplicates);
        let sections = Arc::new(sections);
        let context = Context::from_arc_dwarf(Arc::clone(&sections))?;
        let mut images = vec![Arc::clone(image)];
        images.extend(supplement);
        Ok(Dwarf {
            context,
            sections,
            units: Vec::new(),
            variables: None,
            touched: HashSet::new(),
            parsed: 0,
            _images: images,
        })
    }

    /// The bytes of debug information in the units that were parsed so far.
    pub(crate) fn parsed(&self) -> u64 {
        self.parsed
    }

    /// The sections, for those who look through all units.
    pub(crate) fn sections(&self) -> &gimli::Dwarf<Reader> {
        &self.sections
    }

    /// The file and line at an address, whatever function they are of.
    pub(crate) fn place(&self, address: u64) -> Option<(String, u32)> {
        let location = self.context.find_location(address).ok()??;
        Some((plain_path(location.file?), location.line.filter(|line| *line > 0)?))
    }

    /// The part of the static variable at `address` that holds the `size` bytes from `offset` on.
    pub(crate) fn part(&mut self, address: u64, offset: u64, size: u64) -> Option<String> {
        let sections = &self.sections;
        self.variables.get_or_insert_with(|| Variables::index(sections)).part(sections, address, offset, size)
    }

    /// The local variable that holds the `size` bytes from `offset` on behind what the call at
    /// `address` passes, and the function that it belongs to.
    pub(crate) fn local(
        &mut self,
        image: &Image,
        address: u64,
        offset: i64,
        size: u64,
    ) -> Option<LocalVariable> {
        let frames = self.frames(address).ok()?;
        let function = self.function(address)?;
        let unit = self.context.find_dwarf_and_unit(address).skip_all_loads()?;
        let call = call_at(image, unit, function, address)?;
        let lines: Vec<_> = frames.iter().rev().map(|frame| frame.line).collect();
        let bytes = call.argument()?.checked_add(offset)?;
        let question = Question { unit, function, at: address, call: &call, bytes, size, lines: &lines };
        let Local { name, file, line, depth } = question.answer()?;
        let frame = frames.iter().rev().nth(depth)?;
        Some(LocalVariable { name, function: frame.function.clone(), file, line, call: call.target })
    }

    /// The entry of the function that the code at an address is of.
    fn function(&self, address: u64) -> Option<UnitOffset> {
        let mut found = self.context.find_frames(address).skip_all_loads().ok()?;
        let mut outermost = None;
        while let Ok(Some(frame)) = found.next() {
            outermost = frame.dw_die_offset;
        }
        outermost
    }

    /// The frames at an address, innermost first; empty if no unit covers it.
    pub(crate) fn frames(&mut self, address: u64) -> Result<Vec<Frame>, gimli::Error> {
        let mut frames = Vec::new();
        let mut entries = Vec::new();
        // A module built with split debug information answers from its skeleton: the line,
        // not the function; the symbol table then names the function.
        let mut found = self.context.find_frames(address).skip_all_loads()?;
        while let Some(frame) = found.next()? {
            let location = frame.location.as_ref();
            entries.push(frame.dw_die_offset);
            frames.push(Frame {
                function: match &frame.function {
                    Some(name) => Some(demangle(&name.raw_name()?).into_owned()),
                    None => None,
                },
                file: location.and_then(|at| at.file).map(plain_path),
                line: location.and_then(|at| at.line).filter(|line| *line > 0),
                column: location.and_then(|at| at.column).filter(|column| *column > 0),
                first_line: None,
                inlined: true,
            });
        }
        if let Some(outermost) = frames.last_mut() {
            outermost.inlined = false;
        }
        drop(found);
        self.add_first_lines(address, &entries, &mut frames);
        Ok(frames)
    }

    /// Fills in where each frame's function begins. What cannot be read stays unknown. Code of no line is in no file either, whatever the line table says: in
    /// that which its function is declared in.
    fn add_first_lines(&mut self, address: u64, entries: &[Option<UnitOffset>], frames: &mut [Frame]) {
        let Some(unit) = self.context.find_dwarf_and_unit(address).skip_all_loads() else { return };
        let start = unit.header.offset().0;
        if self.touched.insert(start) {
            self.parsed += unit.header.length_including_self() as u64;
        }
        for (frame, entry) in frames.iter_mut().zip(entries) {
            let Some(entry) = *entry else { continue };
            let (mut next, named) = (Next::Here(entry), frame.line.is_none());
            for _ in 0..REFERENCES {
                let step = match next {
                    Next::Here(offset) => look(unit, offset, named),
                    Next::Elsewhere(offset) => look_elsewhere(&self.sections, &mut self.units, offset, named),
                    Next::Line(line, file) => {
                        frame.first_line = Some(line);
                        if named && file.is_some() {
                            frame.file = file;
                        }
                        break;
                    }
                };
                match step {
                    Some(step) => next = step,
                    None => break,
                }
            }
        }
    }
}

/// The call at an address of a function.
fn call_at(image: &Image, unit: UnitRef<'_, Reader>, function: UnitOffset, address: u64) -> Option<Call> {
    let entry = unit.entry(function).ok()?;
    let mut ranges = unit.die_ranges(&entry).ok()?;
    let (mut parts, mut catching) = (Vec::new(), Vec::new());
    while let Some(range) = ranges.next().ok()? {
        let code = image.code(range.begin..range.end)?;
        parts.push(Part { address: range.begin, code });
        catching.extend(pads(image, range.begin)?);
    }
    let low = match entry.attr_value(gimli::DW_AT_low_pc) {
        Some(value) => unit.attr_address(value).ok()?,
        None => None,
    };
    // A function in several parts begins with the first that is listed.
    let begin = low.filter(|low| parts.iter().any(|part| part.address == *low));
    operand::call(&parts, begin.or(parts.first().map(|part| part.address))?, &catching, address)
}

/// A step on the way from a function's entry to the entry that has its line.
enum Next {
    /// The line, and the file if it is to be named.
    Line(u32, Option<String>),
    Here(UnitOffset),
    Elsewhere(DebugInfoOffset),
}

fn look(unit: UnitRef<'_, Reader>, offset: UnitOffset, named: bool) -> Option<Next> {
    let entry = unit.entry(offset).ok()?;
    let line = entry.attr_value(gimli::DW_AT_decl_line).and_then(|value| value.udata_value());
    if let Some(line) = line.and_then(|line| u32::try_from(line).ok()) {
        let file = entry.attr_value(gimli::DW_AT_decl_file).filter(|_| named);
        return Some(Next::Line(line, file.and_then(|file| declared_in(unit, file))));
    }
    let reference = entry
        .attr_value(gimli::DW_AT_abstract_origin)
        .or_else(|| entry.attr_value(gimli::DW_AT_specification))?;
    match reference {
        AttributeValue::UnitRef(offset) => Some(Next::Here(offset)),
        AttributeValue::DebugInfoRef(offset) => Some(Next::Elsewhere(offset)),
        _ => None,
    }
}

/// Link-time optimisation refers across units: finds the unit of an offset. `units` is the
/// sorted list of where units begin, made at the first such reference.
fn look_elsewhere(
    sections: &gimli::Dwarf<Reader>,
    units: &mut Vec<usize>,
    offset: DebugInfoOffset,
    named: bool,
) -> Option<Next> {
    if units.is_empty() {
        let mut headers = sections.units();
        while let Ok(Some(header)) = headers.next() {
            units.push(header.offset().0);
        }
    }
    let start = units[..units.partition_point(|start| *start <= offset.0)].last()?;
    let header = sections.debug_info.header_from_offset(DebugInfoOffset(*start)).ok()?;
    let unit = sections.unit(header).ok()?;
    let inside = offset.to_unit_offset(&unit.header)?;
    match look(unit.unit_ref(sections), inside, named)? {
        // A further reference within that other unit.
        Next::Here(inside) => Some(Next::Elsewhere(DebugInfoOffset(start + inside.0))),
        other => Some(other),
    }
}

/// The file that a declaration says it is in.
pub(crate) fn declared_in(unit: UnitRef<'_, Reader>, file: AttributeValue<Reader>) -> Option<String> {
    let index = match file {
        AttributeValue::FileIndex(index) => index,
        other => other.udata_value()?,
    };
    let header = unit.line_program.as_ref()?.header();
    let text = |value| unit.attr_string(value).ok().map(|text| text.to_string_lossy().into_owned());
    let file = header.file(index)?;
    let folder = file.directory(header).and_then(text).unwrap_or_default();
    let compiled_in = unit.comp_dir.map(|folder| folder.to_string_lossy().into_owned());
    let whole = Path::new(&compiled_in.unwrap_or_default()).join(folder).join(text(file.path_name())?);
    Some(plain_path(&whole.to_string_lossy()))
}

/// A path without `.` and `..`, as far as that can be said without looking at the disk.
pub(crate) fn plain_path(path: &str) -> String {
    let mut plain = PathBuf::new();
    for part in Path::new(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir
                if plain
                    .components()
                    .next_back()
                    .is_some_and(|last| matches!(last, Component::Normal(_))) =>
            {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain.to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::plain_path;

    #[test]
    fn paths_lose_their_detours() {
        for (long, plain) in [
            ("/usr/lib/gcc/12/../../../include/c++/12/map", "/usr/include/c++/12/map"),
            ("./src/./a.c", "src/a.c"),
            ("../a.c", "../a.c"),
            ("src/../../a.c", "../a.c"),
        ] {
            assert_eq!(plain_path(long), plain);
        }
    }
}
