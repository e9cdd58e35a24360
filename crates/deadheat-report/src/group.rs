//! One race told once: the stable id, and the joining of races that are the same.
//!
//! Invariant: an id depends on names and lines within functions only, never on an address, a
//! thread, a count or the order of the sides, so that it survives a re-run, a rebuild and an
//! edit elsewhere in the file.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Access, Finding, Frame, Grade, Hex, Location, Operation, Race};
use crate::seen::{self, SeenIn};

/// The frame that an access is known by: the innermost one of the program's own, or the
/// innermost of all if every one of them is in a library. An access inlined from a standard
/// container is thus known by the line that uses the container, at every level of optimisation.
#[must_use]
pub fn key_frame(frames: &[Frame]) -> Option<&Frame> {
    frames.iter().find(|frame| is_own(frame)).or_else(|| frames.first())
}

/// The frame that a heap block is known by: as [`key_frame`], but not in one of the program's functions that only hand out what
/// `malloc` does (`xmalloc`, `g_malloc0`, `CRYPTO_zalloc`, `Pool::allocate`), if one of its own has called it.
#[must_use]
pub fn maker_frame(frames: &[Frame]) -> Option<&Frame> {
    let mut own = frames.iter().filter(|frame| is_own(frame));
    own.find(|frame| !is_allocator(frame)).or_else(|| key_frame(frames))
}

/// Whether a frame's function allocates, by its name.
fn is_allocator(frame: &Frame) -> bool {
    let name = frame.function.as_deref().unwrap_or("").to_lowercase();
    let name = name.split('(').next().unwrap_or("");
    let last = name.rsplit("::").next().unwrap_or("");
    last.contains("alloc") && !last.contains("allocator")
}

/// Whether a frame is the program's own: of sources that are not the system's, which those of the C and C++ libraries and
/// of Rust's standard library are. One whose source is not known is, unless it is of the runtime, of a library that is not
/// instrumented, or of the C++ library by its name.
#[must_use]
pub fn is_own(frame: &Frame) -> bool {
    const STARTS: [&str; 4] = ["/usr/include/", "/usr/lib/", "/usr/local/include/", "/rustc/"];
    const PARTS: [&str; 2] = ["/include/c++/", "/rustlib/src/rust/library/"];
    match &frame.file {
        Some(file) => {
            !frame.library
                && !STARTS.iter().any(|start| file.starts_with(start))
                && !PARTS.iter().any(|part| file.contains(part))
        }
        None => {
            let name = frame.function.as_deref().unwrap_or("");
            frame.module.is_some() && !frame.library && !is_runtime(frame) && !is_standard(name)
        }
    }
}

/// A demangled name without a `decltype(…)` in front of it that says what the function gives.
pub(crate) fn without_decltype(function: &str) -> &str {
    let Some(expression) = function.strip_prefix("decltype").map(str::trim_start) else { return function };
    let mut depth = 0_usize;
    for (at, c) in expression.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return if c == ')' { expression[at + 1..].trim_start() } else { function };
        }
    }
    function
}

/// Whether a function is of the C++ library, or made by the compiler of Rust, by its demangled name: instances of templates are in every module.
fn is_standard(function: &str) -> bool {
    const STARTS: [&str; 3] = ["std::", "__gnu_cxx::", "__cxxabiv1::"];
    // It has no place in a source.
    const RUST: &str = "__rust_";
    let function = without_decltype(function);
    if function.starts_with(RUST) {
        return true;
    }
    // What an instance returns stands before its name, and both may have arguments with blanks.
    let (mut depth, mut begin) = (0_usize, 0);
    for (at, c) in function.char_indices() {
        match c {
            '(' if depth == 0 && !function[at..].starts_with("(anonymous namespace)") => break,
            '<' | '(' => depth += 1,
            '>' | ')' => depth = depth.saturating_sub(1),
            ' ' if depth == 0 => begin = at + 1,
            _ => {}
        }
    }
    STARTS.iter().any(|start| function[begin..].starts_with(start))
}

/// Whether a frame is of the runtime, which lies under each thread of the program and around what it calls back. A
/// function of the program's that the runtime calls may have a name like one of its own, but has a source.
#[must_use]
pub fn is_runtime(frame: &Frame) -> bool {
    const STARTS: [&str; 4] = ["__tsan_", "dh_wrap_", "deadheat_runtime::", "<deadheat_runtime::"];
    let name = frame.function.as_deref().unwrap_or("");
    frame.file.is_none() && STARTS.iter().any(|start| name.starts_with(start))
}

/// What a race between two accesses is told apart from others by in one report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct RaceKey {
    /// The hash that its id is made of.
    shape: u64,
    /// A hash of the same with the file's name and the line within the file: functions of one name are many.
    place: u64,
}

/// What a race between two accesses is told apart from others by.
///
/// Of the shape each side is written as `function NUL line within the function NUL operation`; the lesser
/// comes first; the bytes of both are hashed with FNV-1a. The line within the function is the
/// line less the function's own; where that is not known, the line itself. A frame without a line is written as `module NUL symbol NUL
/// +offset in the symbol`, and one without a symbol as `module NUL NUL +offset`.
#[must_use]
pub fn race_key(one: &Access, other: &Access) -> RaceKey {
    RaceKey { shape: hash([one, other], frame_key), place: hash([one, other], frame_place) }
}

fn hash(accesses: [&Access; 2], of: fn(&Frame) -> String) -> u64 {
    let mut sides = accesses.map(|side| side_key(side, of));
    sides.sort();
    fnv1a(sides.iter().flat_map(|side| side.as_bytes()).copied())
}

/// The id of a race between two accesses: `dh-` and 8 hexadecimal digits, the halves of its
/// [shape](race_key) joined by exclusive or.
#[must_use]
pub fn race_id(one: &Access, other: &Access) -> String {
    short_id(hash([one, other], frame_key))
}

fn short_id(shape: u64) -> String {
    format!("dh-{:08x}", (shape >> 32) as u32 ^ shape as u32)
}

fn long_id(hash: u64) -> String {
    format!("dh-{hash:016x}")
}

fn side_key(access: &Access, of: fn(&Frame) -> String) -> String {
    let place = match key_frame(&access.frames) {
        None => "\0".to_owned(),
        Some(frame) => of(frame),
    };
    let atomic = if access.atomic { "atomic " } else { "" };
    format!("{place}\0{atomic}{}\0", access.op.name())
}

/// As [`frame_key`], with the name of the file, whose folder may be written in many ways, and the line in it.
fn frame_place(frame: &Frame) -> String {
    let file = frame.file.as_deref().map_or("", |file| file.rsplit('/').next().unwrap_or(file));
    format!("{}\0{file}\0{}", frame_key(frame), frame.line.unwrap_or(0))
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

fn joined(one: &[String], other: &[String]) -> Vec<String> {
    let new = other.iter().filter(|name| !one.contains(name));
    one.iter().chain(new).cloned().collect()
}

/// Joins findings that are told in the same words of the same places; the first of them is kept, with the count of all.
#[must_use]
pub fn join_findings(findings: Vec<Finding>) -> Vec<Finding> {
    let place = |frames: &[Frame]| key_frame(frames).map(frame_key);
    let key = |finding: &Finding| {
        let steps = finding.steps.iter().map(|step| (step.what.clone(), place(&step.frames)));
        let accesses = finding.accesses.iter().flat_map(|accesses| accesses.iter());
        let accesses = accesses.map(|access| (access.op.name().to_owned(), place(&access.frames)));
        let steps: Vec<_> = steps.chain(accesses).collect();
        (finding.kind.clone(), finding.sort.clone(), place(&finding.frames), steps)
    };
    let mut rows: Vec<Finding> = Vec::new();
    let mut index = BTreeMap::new();
    for finding in findings {
        // What was steered is told run by run.
        let steered = finding.schedule.is_some();
        match index.get(&key(&finding)).filter(|_| !steered) {
            Some(&row) => {
                let told: &mut Finding = &mut rows[row];
                told.count = told.count.max(1) + finding.count.max(1);
                seen::join(&mut told.seen_in, finding.seen_in);
            }
            None => {
                index.insert(key(&finding), rows.len());
                rows.push(finding);
            }
        }
    }
    rows
}

/// Whether a race has both its stacks.
fn is_whole(race: &Race) -> bool {
    race.accesses.iter().all(|access| access.clock.is_none())
}

/// Counts races that lack a stack with the whole ones that may be the same: of the same memory, with an access at the same place, and one of the same
/// operation and size on the other side.
fn with_the_whole(mut rows: Vec<Race>) -> Vec<Race> {
    let mut told = Vec::new();
    for (at, lacking) in rows.iter().enumerate().filter(|(_, race)| !is_whole(race)) {
        let same = |race: &Race| {
            let sides = [[0, 1], [1, 0]].map(|of| of.map(|side| &race.accesses[side]));
            is_whole(race)
                && in_one(&race.location, &lacking.location)
                && sides.iter().any(|&sides| may_be(sides, lacking))
        };
        told.extend(rows.iter().position(same).map(|whole| (at, whole)));
    }
    for &(lacking, whole) in &told {
        let others = std::mem::take(&mut rows[lacking].seen_in);
        rows[whole].count += rows[lacking].count;
        seen::join(&mut rows[whole].seen_in, others);
    }
    for &(lacking, _) in told.iter().rev() {
        rows.remove(lacking);
    }
    rows
}

/// Whether each access of a race is one of these, as far as it is remembered.
fn may_be(sides: [&Access; 2], race: &Race) -> bool {
    sides.iter().zip(&race.accesses).all(|(known, access)| {
        let same = key_frame(&known.frames).map(place) == key_frame(&access.frames).map(place);
        let like = (known.op, known.size) == (access.op, access.size);
        // Of one that is not remembered only is known whether it wrote, and which of its bytes race.
        let compound = known.op == Operation::ReadWrite && access.op == Operation::Write;
        let may_be = (known.op == access.op || compound) && known.size >= access.size;
        known.atomic == access.atomic && if access.clock.is_some() { may_be } else { like && same }
    })
}

/// Where a frame is.
fn place(frame: &Frame) -> (Option<&str>, Option<&str>, Option<u32>, Option<Hex>) {
    let offset = if frame.line.is_none() { frame.offset } else { None };
    (frame.function.as_deref(), frame.file.as_deref(), frame.line, offset)
}

/// Whether two places of memory are in one variable, or in blocks made at one place.
fn in_one(one: &Location, other: &Location) -> bool {
    use Location::{Global, Heap, Mapping, Stack};
    match (one, other) {
        (Global { symbol, module, .. }, Global { symbol: other, module: its, .. }) => {
            (symbol, module) == (other, its)
        }
        (Heap { size, frames, .. }, Heap { size: other, frames: its, .. })
        | (Mapping { size, frames, .. }, Mapping { size: other, frames: its, .. }) => {
            (size, frames) == (other, its)
        }
        (Stack { function, file, line, .. }, Stack { function: other, file: its, line: at, .. }) => {
            (function, file, line) == (other, its, at)
        }
        _ => one == other && !one.is_unknown(),
    }
}

/// How many other variables and blocks are remembered that the same places race on.
pub const MOST_ALSO: usize = 8;
/// So many races of the same places are looked at for that.
const MOST_LOOKS: u32 = 256;

/// The races of a report so far, each once.
#[derive(Default)]
pub struct Groups {
    rows: Vec<Race>,
    /// By key, how many races were looked at for what else they are on.
    looks: BTreeMap<RaceKey, u32>,
    /// By key, where a race is.
    index: BTreeMap<RaceKey, usize>,
    ids: BTreeSet<String>,
}

impl Groups {
    /// The id that the race of a key has in this report: where another one has the same
    /// ([`race_id`] has 32 bits), all 16 digits of the shape's hash, and where it is of the same shape, of the place's.
    #[must_use]
    pub fn id(&self, key: RaceKey) -> String {
        if let Some(&row) = self.index.get(&key) {
            return self.rows[row].id.clone();
        }
        // In order of their shapes.
        let alike = RaceKey { place: 0, ..key }..=RaceKey { place: u64::MAX, ..key };
        if self.index.range(alike).next().is_some() {
            return long_id(key.place);
        }
        let short = short_id(key.shape);
        if self.ids.contains(&short) { long_id(key.shape) } else { short }
    }

    /// Adds a race, whose id this fills in. The first of a key is the one that is told; later
    /// ones add to its count and its analyses, and a stronger grade takes its place.
    pub fn add(&mut self, mut race: Race) {
        let key = race_key(&race.accesses[0], &race.accesses[1]);
        let seen_in = std::mem::take(&mut race.seen_in);
        let on: Vec<_> = [race.location.clone()].into_iter().chain(std::mem::take(&mut race.also)).collect();
        if self.again(key, race.grade, &race.by, race.count) {
            self.seen(key, seen_in);
            on.into_iter().for_each(|location| self.also_on(key, location));
            return;
        }
        race.id = self.id(key);
        match self.index.get(&key) {
            None => {
                self.index.insert(key, self.rows.len());
                self.ids.insert(race.id.clone());
                self.rows.push(race);
            }
            Some(&row) => {
                let told = &mut self.rows[row];
                let (count, by) = (told.count + race.count, joined(&told.by, &race.by));
                let suggestion = race.suggestion.or(told.suggestion.take());
                let order_here = race.order_here.or(told.order_here);
                let seen_in = std::mem::take(&mut told.seen_in);
                let before = [told.location.clone()].into_iter().chain(std::mem::take(&mut told.also));
                let before: Vec<_> = before.collect();
                *told = Race { count, by, suggestion, order_here, seen_in, ..race };
                before.into_iter().for_each(|location| self.also_on(key, location));
            }
        }
        self.seen(key, seen_in);
        on.into_iter().for_each(|location| self.also_on(key, location));
    }

    /// Asks what another race of the key is on, as it may be something else; no more than some times.
    pub fn ask_what_else(&mut self, key: RaceKey, location: impl FnOnce() -> Location) {
        let Some(&row) = self.index.get(&key) else { return };
        let looks = self.looks.entry(key).or_insert(0);
        *looks += 1;
        if *looks <= MOST_LOOKS && self.rows[row].also.len() < MOST_ALSO {
            self.also_on(key, location());
        }
    }

    /// The race of the key that is told is on that, too, unless it is the same variable or a block made at the same place.
    fn also_on(&mut self, key: RaceKey, location: Location) {
        let Some(&row) = self.index.get(&key) else { return };
        let told = &mut self.rows[row];
        let is_known = [&told.location].into_iter().chain(&told.also).any(|known| in_one(known, &location));
        if !is_known && !location.is_unknown() && told.also.len() < MOST_ALSO {
            told.also.push(location);
        }
    }

    fn seen(&mut self, key: RaceKey, others: Vec<SeenIn>) {
        if let Some(&row) = self.index.get(&key) {
            seen::join(&mut self.rows[row].seen_in, others);
        }
    }

    /// Counts a race that is told already with evidence as strong; `false` if there is none, and
    /// [`Self::add`] is to be called.
    pub fn again(&mut self, key: RaceKey, grade: Grade, by: &[String], count: u64) -> bool {
        let told = self.index.get(&key).map(|&row| &mut self.rows[row]);
        let Some(told) = told.filter(|told| told.grade >= grade) else { return false };
        told.count += count;
        told.by = joined(&told.by, by);
        true
    }

    /// The grade of the race of a key that is told: one of a stronger grade takes its place.
    #[must_use]
    pub fn grade(&self, key: RaceKey) -> Option<Grade> {
        self.index.get(&key).map(|&row| self.rows[row].grade)
    }

    /// What becomes of the races that are told, each once.
    pub fn each(&mut self, change: impl FnMut(&mut Race)) {
        self.rows.iter_mut().for_each(change);
    }

    /// Whether a race of this key is told.
    #[must_use]
    pub fn contains(&self, key: RaceKey) -> bool {
        self.index.contains_key(&key)
    }

    /// The races: the strongest grade first, then in the order in which they were found. One that lacks a stack is counted with one that may be the same
    /// and has both.
    #[must_use]
    pub fn into_races(self) -> Vec<Race> {
        let mut rows = with_the_whole(self.rows);
        rows.sort_by_key(|race| std::cmp::Reverse(race.grade));
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::{is_standard, maker_frame};
    use crate::model::Frame;

    #[test]
    fn a_block_is_known_by_who_asked_for_it() {
        let frame = |(name, file): &(&str, &str)| Frame {
            function: Some((*name).to_owned()),
            file: Some((*file).to_owned()),
            ..Frame::default()
        };
        let own = "src/a.c";
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("make", own), ("main", own)], "make"),
            (&[("xmalloc", own), ("make", own)], "make"),
            (&[("CRYPTO_malloc", own), ("CRYPTO_zalloc", own), ("SSL_new", own)], "SSL_new"),
            (
                &[
                    ("operator new", "/usr/include/c++/12/new"),
                    ("a::Pool::allocate(int)", own),
                    ("a::make()", own),
                ],
                "a::make()",
            ),
            (&[("make_allocator", own), ("main", own)], "make_allocator"),
            (&[("xmalloc", own), ("std::thread::run()", "/usr/include/c++/12/thread")], "xmalloc"),
        ];
        for (frames, expected) in cases {
            let frames: Vec<Frame> = frames.iter().map(frame).collect();
            assert_eq!(maker_frame(&frames).and_then(|frame| frame.function.as_deref()), Some(expected));
        }
    }

    #[test]
    fn functions_of_the_library_are_known_by_their_names() {
        for (name, standard) in [
            ("std::vector<int, std::allocator<int> >::push_back(int&&)", true),
            ("void std::sort<int*>(int*, int*)", true),
            ("std::map<int, long>::size() const", true),
            ("__gnu_cxx::__exchange_and_add(int volatile*, int)", true),
            ("std::vector<int, std::allocator<int> > filled<int>(int)", false),
            ("put(std::string)", false),
            (
                "decltype(auto) std::apply<void (*)(int), std::tuple<int> >(void (*&&)(int), std::tuple<int>&&)",
                true,
            ),
            ("decltype (((f)())) std::__invoke<int (*)()>(int (*&&)())", true),
            ("decltype(auto) twice<int>(int)", false),
            ("decltype_of(int)", false),
            ("(anonymous namespace)::put(int)", false),
            ("stdio", false),
            ("", false),
        ] {
            assert_eq!(is_standard(name), standard, "{name}");
        }
    }
}
