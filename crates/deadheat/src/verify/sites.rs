//! The two sides of a race, found again among what a run of a rebuilt program executed.
//!
//! Invariant: a side is found by its function and by what it did there; lines only choose among
//! several. Memory grows with the places of the program, never with its accesses.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use deadheat_core::access::{Access as CoreAccess, Mode, Via};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSetId, Race as CoreRace, Side};
use deadheat_report::group::key_frame;
use deadheat_report::model::{Access, Frame, Location, Operation, Race};
use deadheat_symbol::{Argument, Symbolizer};
use deadheat_trace::tables::Place;
use deadheat_trace::{Tables, Trace, Visit};

use super::Answer;
use crate::child::End;
use crate::exit::Failure;
use crate::hunt::nominate::place_text;
use crate::hunt::targets::file_name;
use crate::tell::resolve::Resolver;

/// How many addresses of one place are looked at.
const ADDRESSES: usize = 8;

/// The race that is looked for.
pub(crate) struct Wanted {
    sides: [Sought; 2],
    /// The variable, where it has a name.
    variable: Option<(String, String)>,
}

/// One side of it.
struct Sought {
    function: String,
    /// The line within the function.
    within: Option<i64>,
    reads: bool,
    writes: bool,
    free: bool,
    /// The place for people, as it was.
    place: String,
}

fn within(frame: &Frame) -> Option<i64> {
    Some(i64::from(frame.line?) - i64::from(frame.function_line.unwrap_or(0)))
}

/// A function's name without its parameters, which a mending may change.
fn base(name: &str) -> &str {
    name.split_once('(').map_or(name, |(base, _)| base)
}

fn does(op: Operation) -> (bool, bool, bool) {
    let (reads, writes) = match op {
        Operation::Read => (true, false),
        Operation::Write | Operation::Free => (false, true),
        Operation::ReadWrite => (true, true),
    };
    (reads, writes, op == Operation::Free)
}

impl Sought {
    fn of(access: &Access) -> Option<Sought> {
        let frame = key_frame(&access.frames)?;
        let function = base(frame.function.as_deref()?).to_owned();
        let (reads, writes, free) = does(access.op);
        Some(Sought { function, within: within(frame), reads, writes, free, place: place_text(frame) })
    }

    /// Whether an access of this function does what the side did: an atomic addition in place of
    /// a write still writes.
    fn is(&self, function: Option<&str>, (reads, writes, free): (bool, bool, bool)) -> bool {
        function.is_some_and(|function| base(function) == self.function)
            && self.free == free
            && (!self.writes || writes)
            && (!self.reads || self.writes || reads)
    }
}

impl Wanted {
    /// What is looked for, of a race in a report.
    pub(crate) fn of(race: &Race) -> Result<Wanted, Failure> {
        let [one, other] = race.accesses.each_ref().map(Sought::of);
        let (Some(one), Some(other)) = (one, other) else {
            return Err(Failure::input(format!(
                "{}: the functions of both accesses must be known to find them in another build; compile with -g",
                race.id
            )));
        };
        let variable = match &race.location {
            Location::Global { symbol, part, .. } => Some((symbol.clone(), part.clone())),
            _ => None,
        };
        Ok(Wanted { sides: [one, other], variable })
    }

    /// Whether a race is this one, as far as functions and what they do tell.
    pub(crate) fn is(&self, race: &Race) -> bool {
        let is = |side: usize, access: usize| {
            let access = &race.accesses[access];
            let frame = key_frame(&access.frames);
            self.sides[side].is(frame.and_then(|frame| frame.function.as_deref()), does(access.op))
        };
        let same = match (&self.variable, &race.location) {
            (Some((symbol, part)), Location::Global { symbol: its, part: its_part, .. }) => {
                symbol == its && (part == its_part || part.is_empty() || its_part.is_empty())
            }
            _ => true,
        };
        same && ((is(0, 0) && is(1, 1)) || (is(0, 1) && is(1, 0)))
    }
}

/// A way of accessing at a place.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Way {
    place: PlaceId,
    mode: u8,
    atomic: bool,
    free: bool,
}

/// What is known of a way.
#[derive(Default)]
struct Row {
    stack: StackId,
    thread: ThreadId,
    addresses: Vec<CoreAccess>,
}

/// A place that is a side.
pub(crate) struct Site {
    /// The place.
    pub(crate) place: PlaceId,
    /// For people.
    pub(crate) text: String,
    module: String,
    offset: u64,
}

/// The sides, as they were executed.
pub(crate) struct Sites {
    /// The places of each side.
    pub(crate) sides: [Vec<Site>; 2],
    /// What can be said of a side that has none.
    gone: [Option<Gone>; 2],
    /// Whether each place goes to the same memory each time.
    pub(crate) constant: bool,
    /// Whether a side is on another line within its function than it was.
    pub(crate) moved: bool,
}

/// Which lines are looked at, if no access is on that of the side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Lines {
    /// The nearest with such an access.
    Nearest,
    /// All of the function.
    All,
}

/// Why a side has no place.
enum Gone {
    /// No module has the function.
    Function,
    /// The function does nothing like it any more.
    Access,
    /// It is there but was not executed.
    NotExecuted,
}

/// Collects the ways of accessing.
#[derive(Default)]
struct Collect {
    rows: HashMap<Way, Row>,
}

impl Collect {
    fn access(&mut self, event: &Event, access: &CoreAccess) {
        let Event { place, stack, thread, .. } = *event;
        let free = access.via == Via::Free;
        let way = Way { place, mode: access.mode as u8, atomic: access.atomic.is_some(), free };
        let row = self.rows.entry(way).or_insert_with(|| Row { stack, thread, addresses: Vec::new() });
        if row.addresses.len() < ADDRESSES
            && !row.addresses.iter().any(|known| known.address == access.address)
        {
            row.addresses.push(*access);
        }
    }
}

impl Visit for Collect {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        match event.op {
            Op::Access(access) => self.access(event, &access),
            Op::Free { address, size, .. } => {
                let access = CoreAccess { via: Via::Free, ..CoreAccess::plain(address, size, Mode::Write) };
                self.access(event, &access);
            }
            _ => {}
        }
        true
    }
}

impl Sites {
    /// Reads a run for the sides of a race.
    pub(crate) fn read(trace: &mut Trace, folder: &Path, wanted: &Wanted, lines: Lines) -> Sites {
        let mut collect = Collect::default();
        // A run that broke off shows what it shows.
        let _ = trace.drive_into(&mut collect);
        let tables = trace.tables();
        let mut finder = Finder { tables, resolver: Resolver::new(tables, folder), rows: &collect.rows };
        let sides = [0, 1].map(|side| finder.side(&wanted.sides[side], wanted.variable.as_ref(), lines));
        let moved = sides.iter().any(|(_, moved)| *moved);
        let sides = sides.map(|(side, _)| side);
        let executed: HashSet<(String, u64)> =
            collect.rows.keys().filter_map(|way| finder.code(way.place)).collect();
        let gone = [0, 1].map(|side| {
            let missing = sides[side].is_empty();
            missing.then(|| why_gone(tables, &wanted.sides[side], wanted.variable.as_ref(), &executed))
        });
        let constant = sides.iter().flatten().all(|site| is_constant(tables, site));
        Sites { sides, gone, constant, moved }
    }

    /// The answer if a side has no place.
    pub(crate) fn missing(&self, wanted: &Wanted, end: End) -> Option<Answer> {
        let reasons =
            self.gone.iter().zip(&wanted.sides).filter_map(|(gone, side)| Some((gone.as_ref()?, side)));
        let mut not_executed = None;
        for (gone, side) in reasons {
            let (function, was) = (&side.function, &side.place);
            let what = if side.writes { "write" } else { "read" };
            match gone {
                Gone::Function => {
                    return Some(Answer::SiteGone(format!(
                        "there is no function {function} any more (it was at {was})"
                    )));
                }
                Gone::Access => {
                    let told = format!("{function} does not {what} there any more (it did at {was})");
                    return Some(Answer::SiteGone(told));
                }
                Gone::NotExecuted => {
                    let ended = match end {
                        End::TimedOut => " before its time was over",
                        End::Exited(_) | End::Signalled(_) => "",
                    };
                    let told = format!(
                        "the run did not come to the {what} of {function} (at {was}), or to other memory there{ended}"
                    );
                    not_executed.get_or_insert(Answer::CouldNotReach(told));
                }
            }
        }
        not_executed
    }

    /// Of which sides a code address is.
    pub(crate) fn sides_at(&self, module: &str, offset: u64) -> [bool; 2] {
        self.sides
            .each_ref()
            .map(|sites| sites.iter().any(|site| site.module == module && site.offset == offset))
    }
}

/// Finds places in one trace.
struct Finder<'a> {
    tables: &'a Tables,
    resolver: Resolver<'a>,
    rows: &'a HashMap<Way, Row>,
}

impl Finder<'_> {
    fn code(&self, place: PlaceId) -> Option<(String, u64)> {
        let Place::Code { module, offset } = self.tables.places.get(place) else { return None };
        Some((file_name(&self.tables.modules.get(module)?.path).to_owned(), offset))
    }

    /// The places of a side: those on the same line within the function if there are any, else
    /// those on the same variable, else those on the nearest line or on any. The second value says
    /// that none is on the same line.
    fn side(
        &mut self,
        sought: &Sought,
        variable: Option<&(String, String)>,
        lines: Lines,
    ) -> (Vec<Site>, bool) {
        let mut found: Vec<(Option<i64>, Site)> = Vec::new();
        for (way, row) in self.rows {
            let Some(frame) = self.resolver.key(way.place, row.stack) else { continue };
            let does = (way.mode & 1 != 0, way.mode & 2 != 0, way.free);
            if !sought.is(frame.function.as_deref(), does) || !self.is_on(variable, row) {
                continue;
            }
            let Some((module, offset)) = self.code(way.place) else { continue };
            let place = way.place;
            found.push((within(&frame), Site { place, text: place_text(&frame), module, offset }));
        }
        let distance = |at: Option<i64>| match (at, sought.within) {
            (Some(at), Some(was)) => at.abs_diff(was),
            _ => 0,
        };
        let nearest = found.iter().map(|(at, _)| distance(*at)).min().unwrap_or(0);
        let moved = nearest > 0;
        let all = moved && (variable.is_some() || lines == Lines::All);
        let mut sites: Vec<Site> = found
            .into_iter()
            .filter(|(at, _)| all || distance(*at) == nearest)
            .map(|(_, site)| site)
            .collect();
        sites.sort_by(|one, other| (&one.module, one.offset).cmp(&(&other.module, other.offset)));
        (sites, moved)
    }

    /// Whether one of the addresses is in the variable.
    fn is_on(&mut self, variable: Option<&(String, String)>, row: &Row) -> bool {
        let Some((symbol, part)) = variable else { return true };
        row.addresses.iter().any(|access| {
            let side = Side {
                thread: row.thread,
                place: PlaceId::UNKNOWN,
                stack: StackId::EMPTY,
                access: *access,
                locks: LockSetId::default(),
            };
            let race = CoreRace { earlier: side, later: side, address: access.address, block: None };
            match self.resolver.location(&race) {
                Location::Global { symbol: its, part: its_part, .. } => {
                    *symbol == its && (*part == its_part || part.is_empty() || its_part.is_empty())
                }
                // What is in no module is no global variable.
                Location::Unknown
                | Location::Named { .. }
                | Location::Heap { .. }
                | Location::Stack { .. }
                | Location::Tls { .. }
                | Location::Mapping { .. }
                | Location::Descriptor { .. } => false,
            }
        })
    }
}

/// Whether a place goes to the same address each time, as far as the code tells.
fn is_constant(tables: &Tables, site: &Site) -> bool {
    let mut symbolizer = Symbolizer::default();
    let Some((_, row)) = tables.modules.iter().find(|(_, row)| file_name(&row.path) == site.module) else {
        return false;
    };
    let key = symbolizer.module(Path::new(&row.path), &row.build_id);
    let Some((function, _)) = symbolizer.code(key, site.offset).symbol.clone() else { return false };
    let calls = symbolizer.calls(key, &function).unwrap_or_default();
    calls.iter().any(|call| call.address == site.offset && call.argument.is_some())
}

/// Looks into the program's code for a side that no run came to, or not on the memory in question.
fn why_gone(
    tables: &Tables,
    sought: &Sought,
    variable: Option<&(String, String)>,
    executed: &HashSet<(String, u64)>,
) -> Gone {
    let mut symbolizer = Symbolizer::default();
    let mut known = false;
    for (_, row) in tables.modules.iter().filter(|(_, row)| row.instrumented) {
        let key = symbolizer.module(Path::new(&row.path), &row.build_id);
        known |= symbolizer.function(key, &sought.function).is_ok();
        let Ok(calls) = symbolizer.calls(key, &sought.function) else { continue };
        for call in calls {
            let code = symbolizer.code(key, call.address);
            // Of a function that was inlined there the calls are not this one's.
            let innermost = code.frames.first().and_then(|frame| frame.function.as_deref());
            let may = match &call.callee {
                Some(name) => hook(name).is_some_and(|does| sought.is(innermost, does)),
                None => innermost.is_some_and(|function| base(function) == sought.function),
            };
            // One that always goes to the same other variable is not it; one through a pointer may be.
            let elsewhere = match (variable, call.argument) {
                (Some((symbol, part)), Some(Argument::Address(at))) => {
                    symbolizer.data(key, at, 1).is_some_and(|its| {
                        let its_part = its.part.as_deref().unwrap_or_default();
                        *symbol != its.name || !(part.is_empty() || its_part.is_empty() || part == its_part)
                    })
                }
                (Some(_), Some(Argument::Stack | Argument::ThreadLocal)) => true,
                _ => false,
            };
            let executed = executed.contains(&(file_name(&row.path).to_owned(), call.address));
            let is_hook = call.callee.is_some();
            if may && !elsewhere && (!executed || (is_hook && call.argument.is_none())) {
                return Gone::NotExecuted;
            }
        }
    }
    if known { Gone::Access } else { Gone::Function }
}

/// What a hook of the compiler, or a memory function, does: whether it reads, writes, frees.
fn hook(name: &str) -> Option<(bool, bool, bool)> {
    let name = name.split_once('@').map_or(name, |(plain, _)| plain);
    if name == "free" || name.starts_with("_Zdl") || name.starts_with("_Zda") {
        return Some((false, true, true));
    }
    if matches!(name, "memcpy" | "memmove" | "memset" | "strcpy" | "strncpy" | "strcat") {
        return Some((true, true, false));
    }
    let rest = name.strip_prefix("__tsan_").filter(|rest| !rest.ends_with("_fence"))?;
    let (plain, read, write) =
        (!rest.starts_with("func_"), rest.contains("read") || rest.contains("load"), rest.contains("write"));
    let both = rest.starts_with("atomic") && !rest.contains("load");
    let vptr = rest == "vptr_update";
    (plain && (read || write || both || vptr)).then_some((read || both, write || both || vptr, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_say_what_they_do() {
        for (name, does) in [
            ("__tsan_read4", Some((true, false, false))),
            ("__tsan_unaligned_write8", Some((false, true, false))),
            ("__tsan_volatile_read2", Some((true, false, false))),
            ("__tsan_read_write4", Some((true, true, false))),
            ("__tsan_atomic32_load", Some((true, false, false))),
            ("__tsan_atomic64_fetch_add", Some((true, true, false))),
            ("__tsan_vptr_update", Some((false, true, false))),
            ("free@GLIBC_2.2.5", Some((false, true, true))),
            ("__tsan_func_entry", None),
            ("__tsan_atomic_thread_fence", None),
            ("puts", None),
        ] {
            assert_eq!(hook(name), does, "{name}");
        }
    }

    #[test]
    fn an_addition_in_place_of_a_write_is_the_same_side() {
        let side = |reads, writes| Sought {
            function: "put".into(),
            within: None,
            reads,
            writes,
            free: false,
            place: String::new(),
        };
        let add = (true, true, false);
        assert!(side(false, true).is(Some("put(int)"), add));
        assert!(side(true, false).is(Some("put"), add));
        assert!(side(true, true).is(Some("put"), (false, true, false)));
        assert!(!side(false, true).is(Some("put"), (true, false, false)));
        assert!(!side(true, false).is(Some("get"), (true, false, false)));
    }
}
