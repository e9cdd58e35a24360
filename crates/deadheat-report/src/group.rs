//! One race told once: the stable id, and the joining of races that share it.
//!
//! Invariant: an id depends on names and lines within functions only, never on an address, a
//! thread, a count or the order of the sides, so that it survives a re-run, a rebuild and an
//! edit elsewhere in the file.

use std::collections::BTreeMap;

use crate::model::{Access, Frame, Race};

/// The frame that an access is known by: the innermost one in the program's own sources, or the
/// innermost of all if every one of them is in a library. An access inlined from a standard
/// container is thus known by the line that uses the container, at every level of optimisation.
#[must_use]
pub fn key_frame(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| is_own(frame)).or_else(|| frames.first())
}

/// Whether a frame is in sources that are not the system's: those of the C and C++ libraries and
/// of Rust's standard library are.
#[must_use]
pub fn is_own(frame: &Frame) -> bool {
    const SYSTEM: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];
    match &frame.file {
        Some(file) => !SYSTEM.iter().any(|folder| file.starts_with(folder)),
        None => false,
    }
}

/// The id of a race between two accesses: `dh-` and 8 hexadecimal digits.
///
/// Each side is written as `function NUL line within the function NUL operation`; the lesser
/// comes first; the bytes of both are hashed with FNV-1a (64 bits), whose halves are joined by
/// exclusive or. The line within the function is the line less the function's own; where that is
/// not known, the line itself. A frame without a line is written as `module NUL symbol NUL
/// +offset in the symbol`, and one without a symbol as `module NUL NUL +offset`.
#[must_use]
pub fn race_id(one: &Access, other: &Access) -> String {
    let mut sides = [side_key(one), side_key(other)];
    sides.sort();
    let hash = fnv1a(sides.iter().flat_map(|side| side.as_bytes()).copied());
    format!("dh-{:08x}", (hash >> 32) as u32 ^ hash as u32)
}

fn side_key(access: &Access) -> String {
    let place = match key_frame(&access.frames) {
        None => "\0".to_owned(),
        Some(frame) => frame_key(frame),
    };
    let atomic = if access.atomic { "atomic " } else { "" };
    format!("{place}\0{atomic}{}\0", access.op.name())
}

fn frame_key(frame: &Frame) -> String {
    let function = frame.function.as_deref().unwrap_or("");
    let module = frame.module.as_deref().unwrap_or("");
    match (frame.line, frame.symbol_offset, frame.offset) {
        (Some(line), _, _) => {
            let within = i64::from(line) - i64::from(frame.function_line.unwrap_or(0));
            format!("{function}\0{within}")
        }
        (None, Some(offset), _) => format!("{module}\0{function}\0+{offset}"),
        (None, None, Some(offset)) => format!("{module}\0\0+{offset}"),
        (None, None, None) => format!("{module}\0{function}\0"),
    }
}

/// FNV-1a, 64 bits.
fn fnv1a(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

/// The races of a report so far, one an id.
#[derive(Default)]
pub struct Groups {
    rows: Vec<Race>,
    index: BTreeMap<String, usize>,
}

impl Groups {
    /// Adds a race, whose id this fills in. The first of an id is the one that is told; later
    /// ones add to its count and its analyses, and a stronger grade takes its place.
    pub fn add(&mut self, mut race: Race) {
        race.id = race_id(&race.accesses[0], &race.accesses[1]);
        let Some(&row) = self.index.get(&race.id) else {
            self.index.insert(race.id.clone(), self.rows.len());
            self.rows.push(race);
            return;
        };
        let told = &mut self.rows[row];
        let count = told.count + race.count;
        let mut by = std::mem::take(&mut told.by);
        by.extend(race.by.iter().filter(|name| !by.contains(name)).cloned().collect::<Vec<_>>());
        if race.grade > told.grade {
            *told = race;
        }
        told.count = count;
        told.by = by;
    }

    /// The races: the strongest grade first, then in the order in which they were found.
    #[must_use]
    pub fn into_races(self) -> Vec<Race> {
        let mut rows = self.rows;
        rows.sort_by_key(|race| std::cmp::Reverse(race.grade));
        rows
    }
}
