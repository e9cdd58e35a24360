//! From a trace to targets: let the analyses judge it, drive the nomination, name what it gives.
//!
//! Invariant: memory is bounded by what the nomination keeps; the trace is read as it comes.

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use deadheat_core::event::{Event, Op};
use deadheat_core::gate::MAX_PATH;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::Plain;
use deadheat_core::race::{LockSets, Race as CoreRace, Side as CoreSide};
use deadheat_detect::conflict::{self, Calls, Conflict, Nomination, Options};
use deadheat_report::model::{Frame, Hex};
use deadheat_symbol::Symbolizer;
use deadheat_trace::tables::{Place, Stacks};
use deadheat_trace::{Tables, Trace, Visit};

use super::hints::Hint;
use super::nominators::{CONFLICT, Judgement};
use super::targets::{Code, Held, Module, Rank, Side, Target, VERSION, file_name, hex};
use super::turns::Delay;
use crate::exit::Failure;
use crate::tell::collect;
use crate::tell::owner::Owners;
use crate::tell::resolve::{Resolver, operation};

/// What a trace nominates.
#[derive(Debug, Default)]
pub(crate) struct Nominated {
    /// The targets, the likeliest first, each id once.
    pub(crate) targets: Vec<Target>,
    /// What did not become one, by the reason.
    pub(crate) dropped: BTreeMap<String, u64>,
    /// Calls of code that is not instrumented.
    pub(crate) hidden_calls: u64,
    /// What the reader should know about the names.
    pub(crate) warnings: Vec<String>,
}

/// What nominates.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Means {
    /// How conflicts are collected.
    pub(crate) options: Options,
    /// The analyses that nominate beside them, by name.
    pub(crate) by: Vec<String>,
}

/// Drives the trace. A trace that can be read in part nominates by that part: the failure says
/// what was wrong.
pub(crate) fn nominate(
    trace: &mut Trace,
    means: &Means,
    symbolizer: Symbolizer,
    folder: &Path,
) -> (Nominated, Symbolizer, Option<Failure>) {
    let judgement = Judgement::of(trace, &means.by);
    let mut watch =
        Watch { conflict: Conflict::with_told(means.options, &judgement.pairs()), hidden_calls: 0 };
    let driven = trace.drive_into(&mut watch);
    let failure = driven.err().map(|error| Failure::input(error.to_string()));
    let nomination = watch.conflict.finish(&CallsOf(&trace.tables().stacks));
    let races: Vec<CoreRace> = nomination.targets.iter().map(race_of).collect();
    let owners = Owners::read(trace, races.iter());
    let tables = trace.tables();
    let mut resolver = Resolver::with(symbolizer, tables, folder);
    resolver.set_owners(owners);
    let mut naming = Naming { tables, nomination: &nomination, judgement: &judgement, resolver };
    let (mut seen, mut beyond) = (HashSet::new(), 0);
    let mut targets = Vec::new();
    for target in &nomination.targets {
        match naming.target(target) {
            Some(target) if seen.insert(target.id.clone()) => targets.push(target),
            Some(_) => {}
            None => beyond += 1,
        }
    }
    targets.sort_by_key(Target::standing);
    let mut warnings = naming.resolver.take_warnings();
    warnings.extend(judgement.notes.iter().cloned());
    let dropped = dropped(&nomination, beyond);
    let nominated = Nominated { targets, dropped, hidden_calls: watch.hidden_calls, warnings };
    (nominated, naming.resolver.into_symbolizer(), failure)
}

fn dropped(nomination: &Nomination, beyond: u64) -> BTreeMap<String, u64> {
    let conflict::Dropped { both_atomic, fork_join, duplicates, capped, unplaced, unnumbered, forgotten } =
        nomination.dropped;
    [
        ("both-atomic", both_atomic),
        ("fork-join", fork_join),
        ("duplicate", duplicates),
        ("capped", capped),
        ("unplaced", unplaced),
        ("unnumbered", unnumbered),
        ("forgotten", forgotten),
        ("too-deep", beyond),
    ]
    .into_iter()
    .filter(|&(_, count)| count > 0)
    .map(|(name, count)| (name.to_owned(), count))
    .collect()
}

struct Watch {
    conflict: Conflict,
    hidden_calls: u64,
}

impl Visit for Watch {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        self.hidden_calls += u64::from(matches!(event.op, Op::HiddenBegin));
        self.conflict.step(event);
        true
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], _: &Tables) -> bool {
        self.conflict.plain(thread, accesses);
        true
    }
}

struct CallsOf<'a>(&'a Stacks);

impl Calls for CallsOf<'_> {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        self.0.frames(stack).collect()
    }
}

/// Names the targets of one trace.
struct Naming<'a> {
    tables: &'a Tables,
    nomination: &'a Nomination,
    judgement: &'a Judgement,
    resolver: Resolver<'a>,
}

impl Naming<'_> {
    /// The target spelled out; `None` if a gate file could not hold it.
    fn target(&mut self, target: &conflict::Target) -> Option<Target> {
        let conflict::Target { sides: [one, other], rank, conflicts, told, .. } = target;
        let threads = [one, other].map(|side| side.descriptor.thread);
        let places = [one, other].map(|side| side.descriptor.place);
        let by = conflicts.then(|| CONFLICT.to_owned()).into_iter();
        let hint = told.iter().find_map(|&number| self.judgement.occasions[number as usize].hint);
        let delay = hint.and_then(|Hint { thread, turn }| {
            Some(Delay { side: threads.iter().position(|known| *known == thread)?, turn })
        });
        let race = race_of(target);
        let mut modules = Vec::new();
        let sides = [self.side(one, &mut modules)?, self.side(other, &mut modules)?];
        let target = Target {
            version: VERSION,
            id: String::new(),
            group: String::new(),
            race: self.resolver.id(&race),
            rank: match rank {
                conflict::Rank::Unordered => Rank::Unordered,
                conflict::Rank::Predicted => Rank::Predicted,
                conflict::Rank::NoCommonLock => Rank::NoCommonLock,
                conflict::Rank::CommonLock => Rank::CommonLock,
            },
            by: by.chain(self.judgement.by(told, places)).collect(),
            delay,
            modules,
            sides,
            location: self.resolver.location(&race),
        };
        Some(target.named())
    }

    fn side(&mut self, side: &conflict::Side, modules: &mut Vec<Module>) -> Option<Side> {
        let conflict::Descriptor { thread, only_thread, place, calls, ordinal } = &side.descriptor;
        let path = self.tables.threads.path(*thread);
        if path.matches('/').count() > MAX_PATH {
            return None;
        }
        let held: Vec<_> = self.nomination.locks(side.locks).to_vec();
        let locks = held.iter().map(|held| {
            let block = self.nomination.block(held.lock);
            let held = collect::Held { lock: held.lock, mode: held.mode, block };
            let lock = self.resolver.lock(&held);
            Held { name: lock.name, id: lock.id, address: Hex(held.lock) }
        });
        let locks = locks.collect();
        Some(Side {
            thread: path,
            only_thread: *only_thread,
            code: self.code(*place, modules)?,
            calls: calls.iter().map(|&call| self.code(call, modules)).collect::<Option<_>>()?,
            ordinal: *ordinal,
            op: operation(&side.access),
            size: side.access.size,
            atomic: side.access.atomic.is_some(),
            locks,
            place: self.resolver.key(*place, side.stack).map_or(String::new(), |frame| place_text(&frame)),
        })
    }

    fn code(&self, place: PlaceId, modules: &mut Vec<Module>) -> Option<Code> {
        let Place::Code { module, offset } = self.tables.places.get(place) else { return None };
        let row = self.tables.modules.get(module)?;
        let module = Module { name: file_name(&row.path).to_owned(), build_id: hex(&row.build_id) };
        let known = modules.iter().position(|other| *other == module);
        let module = known.unwrap_or_else(|| {
            modules.push(module);
            modules.len() - 1
        });
        Some(Code { module, offset: Hex(offset) })
    }
}

/// The two accesses of a target.
fn race_of(target: &conflict::Target) -> CoreRace {
    let conflict::Target { sides: [one, other], address, block, .. } = target;
    CoreRace { earlier: core(one), later: core(other), address: *address, block: *block }
}

fn core(side: &conflict::Side) -> CoreSide {
    let conflict::Side { descriptor, stack, access, locks, .. } = side;
    let (thread, place) = (descriptor.thread, descriptor.place);
    CoreSide { thread, place, stack: *stack, access: *access, locks: *locks }
}

/// A place for people: `src/cache.c:14 put`.
pub(crate) fn place_text(frame: &Frame) -> String {
    let place = match (&frame.file, frame.line, &frame.module, frame.offset) {
        (Some(file), Some(line), _, _) => format!("{file}:{line}"),
        (_, _, Some(module), Some(offset)) => format!("{module}+{offset}"),
        _ => "?".to_owned(),
    };
    match &frame.function {
        Some(function) => format!("{place} {function}"),
        None => place,
    }
}
