//! The other way round: from a source line or a function's name to the code of it, every copy
//! that was inlined included.
//!
//! Invariant: one unit's line table is read at a time and nothing of it is kept; what is given is
//! at most [`MOST_RANGES`] ranges.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::ops::Range;
use std::path::Path;

use addr2line::gimli::{self, AttributeValue, UnitOffset, UnitRef};

use crate::dwarf::plain_path;
use crate::image::Reader;
use crate::name::demangle;
use crate::variable::{attribute_of_origin, name_of};

/// A line or function with more ranges of code than this is refused.
pub(crate) const MOST_RANGES: usize = 4096;
/// Lines before and behind the wanted one that are told if it has no code.
const NEAREST: usize = 2;

/// Why no code is given for a place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NoCode {
    /// The module's file cannot be used: why.
    Module(String),
    /// There is no debug information that could tell.
    NoDebugInfo,
    /// No source file of this name is in the debug information.
    NoFile,
    /// Several source files have this name and code at the line: write more of the path.
    SeveralFiles(Vec<String>),
    /// The line has no code; these, nearest to it, have.
    NoLine(Vec<u32>),
    /// No function has this name.
    NoFunction,
    /// There are too many ranges of code.
    TooMany,
}

impl fmt::Display for NoCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoCode::Module(reason) => f.write_str(reason),
            NoCode::NoDebugInfo => {
                f.write_str("there is no debug information; compile with -g, or name module+0xOFFSET")
            }
            NoCode::NoFile => f.write_str("the debug information has no source file of that name"),
            NoCode::SeveralFiles(files) => {
                write!(f, "several source files have that name, write more of the path: {}", files.join(", "))
            }
            NoCode::NoLine(lines) if lines.is_empty() => f.write_str("there is no code at that line"),
            NoCode::NoLine(lines) => {
                let lines: Vec<_> = lines.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "there is no code at that line; the nearest lines with code are {}",
                    lines.join(", ")
                )
            }
            NoCode::NoFunction => f.write_str("there is no function of that name"),
            NoCode::TooMany => write!(f, "there are more than {MOST_RANGES} ranges of code"),
        }
    }
}

impl std::error::Error for NoCode {}

/// The code of a line: by source file, every range of it.
#[derive(Default)]
struct Hits {
    ranges: BTreeMap<String, Vec<Range<u64>>>,
    count: usize,
    any_file: bool,
    before: Vec<u32>,
    behind: Vec<u32>,
}

/// The ranges of code of `line` in the source file whose path ends with `file`.
pub(crate) fn line(
    sections: &gimli::Dwarf<Reader>,
    is_code: &dyn Fn(u64) -> bool,
    file: &str,
    line: u32,
) -> Result<Vec<Range<u64>>, NoCode> {
    let wanted = plain_path(file);
    let mut hits = Hits::default();
    let mut headers = sections.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = sections.unit(header) else { continue };
        // What was found before an error stays.
        let _ = line_in_unit(unit.unit_ref(sections), is_code, Path::new(&wanted), line, &mut hits);
        if hits.count > MOST_RANGES {
            return Err(NoCode::TooMany);
        }
    }
    match hits.ranges.len() {
        0 if !hits.any_file => Err(NoCode::NoFile),
        0 => Err(NoCode::NoLine(hits.before.into_iter().rev().chain(hits.behind).collect())),
        1 => Ok(merged(hits.ranges.into_values().flatten().collect())),
        _ => Err(NoCode::SeveralFiles(hits.ranges.into_keys().collect())),
    }
}

fn line_in_unit(
    unit: UnitRef<'_, Reader>,
    is_code: &dyn Fn(u64) -> bool,
    wanted: &Path,
    line: u32,
    hits: &mut Hits,
) -> gimli::Result<()> {
    let Some(program) = unit.line_program.clone() else { return Ok(()) };
    let mut files: HashMap<u64, Option<String>> = HashMap::new();
    let mut open: Option<(u64, String)> = None;
    let mut rows = program.rows();
    while let Some((header, row)) = rows.next_row()? {
        if let Some((from, file)) = open.take()
            && from < row.address()
            && is_code(from)
        {
            hits.count += 1;
            hits.ranges.entry(file).or_default().push(from..row.address());
        }
        let Some(at) = row.line().and_then(|line| u32::try_from(line.get()).ok()) else { continue };
        if row.end_sequence() {
            continue;
        }
        let number = row.file_index();
        let file = files.entry(number).or_insert_with(|| {
            path_of(unit, header, number).filter(|path| Path::new(path).ends_with(wanted))
        });
        let Some(file) = file else { continue };
        hits.any_file = true;
        if at == line {
            open = Some((row.address(), file.clone()));
        } else if is_code(row.address()) {
            hits.near(line, at);
        }
    }
    Ok(())
}

impl Hits {
    /// Remembers a line with code if it is among the nearest.
    fn near(&mut self, wanted: u32, line: u32) {
        let list = if line < wanted { &mut self.before } else { &mut self.behind };
        if !list.contains(&line) {
            list.push(line);
            list.sort_unstable_by_key(|line| line.abs_diff(wanted));
            list.truncate(NEAREST);
        }
    }
}

/// The whole path of a file of a line table.
fn path_of(
    unit: UnitRef<'_, Reader>,
    header: &gimli::LineProgramHeader<Reader>,
    number: u64,
) -> Option<String> {
    let file = header.file(number)?;
    let text = |value| unit.attr_string(value).ok().map(|text| text.to_string_lossy().into_owned());
    let mut path =
        Path::new(&unit.comp_dir.map(|folder| folder.to_string_lossy()).unwrap_or_default().into_owned())
            .to_path_buf();
    path.push(file.directory(header).and_then(text).unwrap_or_default());
    path.push(text(file.path_name())?);
    Some(plain_path(&path.to_string_lossy()))
}

/// Sorted, and those that touch made one.
pub(crate) fn merged(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut made: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match made.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => made.push(range),
        }
    }
    made
}

/// Adds the ranges of code of functions of this name that the debug information has, inlined
/// copies included.
pub(crate) fn function(sections: &gimli::Dwarf<Reader>, name: &str, found: &mut Vec<Range<u64>>) {
    let mut headers = sections.units();
    while let Ok(Some(header)) = headers.next() {
        let Ok(unit) = sections.unit(header) else { continue };
        // What was found before an error stays.
        let _ = function_in_unit(unit.unit_ref(sections), name, found);
        if found.len() > MOST_RANGES {
            return;
        }
    }
}

fn function_in_unit(
    unit: UnitRef<'_, Reader>,
    wanted: &str,
    found: &mut Vec<Range<u64>>,
) -> gimli::Result<()> {
    let mut known: HashMap<UnitOffset, bool> = HashMap::new();
    let mut entries = unit.entries_raw(None)?;
    while !entries.is_empty() {
        let at = entries.next_offset();
        let Some(abbreviation) = entries.read_abbreviation()? else { continue };
        let is_function =
            matches!(abbreviation.tag(), gimli::DW_TAG_subprogram | gimli::DW_TAG_inlined_subroutine);
        let (mut has_code, mut origin) = (false, at);
        for spec in abbreviation.attributes() {
            let attribute = entries.read_attribute(*spec)?;
            has_code |= matches!(attribute.name(), gimli::DW_AT_low_pc | gimli::DW_AT_ranges);
            if let (gimli::DW_AT_abstract_origin, AttributeValue::UnitRef(offset)) =
                (attribute.name(), attribute.value())
            {
                origin = offset;
            }
        }
        if is_function && has_code && *known.entry(origin).or_insert_with(|| is_named(unit, origin, wanted)) {
            let mut ranges = unit.die_ranges(&unit.entry(at)?)?;
            while let Some(range) = ranges.next()? {
                found.push(range.begin..range.end);
            }
        }
    }
    Ok(())
}

/// Whether the function of an entry has this name, mangled, demangled, or its last part.
fn is_named(unit: UnitRef<'_, Reader>, at: UnitOffset, wanted: &str) -> bool {
    [gimli::DW_AT_linkage_name, gimli::DW_AT_name].into_iter().any(|attribute| {
        attribute_of_origin(unit, at, attribute)
            .and_then(|name| name_of(unit, name))
            .is_some_and(|name| is_name(&name, wanted))
    })
}

/// Whether a symbol is what `wanted` names: as it stands, demangled, or without its parameters or
/// what the compiler added to it (`f.part.0`, `f.cold`).
pub(crate) fn is_name(symbol: &str, wanted: &str) -> bool {
    let base = symbol.split_once('.').map_or(symbol, |(base, _)| base);
    [symbol, base].into_iter().any(|name| {
        let plain = demangle(name);
        name == wanted || plain == wanted || without_parameters(&plain) == wanted
    })
}

/// A demangled function name without its parameter list.
fn without_parameters(name: &str) -> &str {
    let Some(end) = name.rfind(')') else { return name };
    let mut depth = 0_usize;
    for (at, byte) in name.bytes().enumerate().take(end + 1).collect::<Vec<_>>().into_iter().rev() {
        depth += usize::from(byte == b')');
        if byte == b'(' {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return &name[..at];
            }
        }
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_and_without_what_was_added() {
        for (symbol, wanted) in [
            ("put", "put"),
            ("put.part.0", "put"),
            ("put.cold", "put"),
            ("_ZN5Cache3putEi", "Cache::put"),
            ("_ZN5Cache3putEi", "Cache::put(int)"),
            ("_ZN5Cache3putEi.cold", "Cache::put"),
            ("_ZN5Cache3putEi", "_ZN5Cache3putEi"),
        ] {
            assert!(is_name(symbol, wanted), "{symbol} {wanted}");
        }
        assert!(!is_name("put", "output") && !is_name("_ZN5Cache3putEi", "Cache::get"));
    }

    #[test]
    fn ranges_that_touch_are_one() {
        assert_eq!(merged(vec![8..9, 0..4, 4..6, 1..2]), [0..6, 8..9]);
    }
}
