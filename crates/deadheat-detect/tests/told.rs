//! Pairs that other analyses tell become targets of exactly the two accesses that were told, and take nothing away.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::conflict::{Calls, Conflict, Nomination, Options, Rank, Target, Told};
use deadheat_detect::oracle::Oracle;
use deadheat_detect::registry;
use support::full;
use support::generate::Generator;

/// Traces that are generated.
const SEEDS: u64 = 2000;

const UNBOUNDED: Options = Options {
    targets_per_places: 1 << 16,
    choice: 1,
    per_range: 1 << 16,
    alone: 1 << 16,
    per_place: 1 << 16,
    keep_fork_join: false,
};

/// No calls: a stack is told apart by its number alone.
struct Flat;

impl Calls for Flat {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        (0..stack.0).map(|call| PlaceId(1000 + call)).collect()
    }
}

#[derive(Default)]
struct Hear(Vec<Told>);

impl RaceSink for Hear {
    fn race(&mut self, _: &Race, _: &dyn LockSets) {}

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let done = |thread: ThreadId| {
            witness.done.iter().find(|(known, _)| *known == thread).map_or(0, |&(_, done)| done)
        };
        let events = [race.earlier.thread, race.later.thread].map(|thread| (thread, done(thread)));
        self.0.push(Told { events });
    }
}

/// What the predictions tell of a run.
fn told(events: &[Event]) -> Vec<Told> {
    let mut hear = Hear::default();
    for name in ["sync-preserving", "sync-reversal"] {
        let mut detector = (registry::find(name).expect("it is registered").new)(Default::default());
        events.iter().for_each(|event| detector.step(event, &mut hear));
        detector.finish(&mut hear);
    }
    hear.0
}

fn nominate(events: &[Event], options: Options, told: &[Told]) -> Nomination {
    let mut conflict = Conflict::with_told(options, told);
    events.iter().for_each(|event| conflict.step(event));
    conflict.finish(&Flat)
}

/// The index in the run of a thread's event.
fn index(events: &[Event], (thread, number): (ThreadId, u64)) -> usize {
    let own = events.iter().enumerate().filter(|(_, event)| event.thread == thread);
    own.map(|(index, _)| index).nth(number as usize).expect("the thread has so many events")
}

fn positions(target: &Target) -> [usize; 2] {
    target.sides.each_ref().map(|side| side.at as usize)
}

/// A target as a hunt tries it.
fn descriptors(target: &Target) -> (BTreeSet<String>, Rank) {
    (target.sides.iter().map(|side| format!("{:?}", side.descriptor)).collect(), target.rank)
}

/// Whether somebody can be held right before an access.
fn is_own(event: &Event) -> bool {
    let library = matches!(event.op, Op::Access(Access { via: Via::Object | Via::Birth, .. }));
    event.place != PlaceId::UNKNOWN && !library
}

fn check(events: &[Event]) -> usize {
    let told = told(events);
    let with = nominate(events, UNBOUNDED, &told);
    let order = Oracle::new(events);
    let mut by_number: BTreeMap<u32, &Target> = BTreeMap::new();
    for target in &with.targets {
        by_number.extend(target.told.iter().map(|&number| (number, target)));
    }
    for (number, pair) in told.iter().enumerate() {
        let mut wanted = pair.events.map(|event| index(events, event));
        wanted.sort_unstable();
        let own = wanted.iter().all(|&index| is_own(&events[index]));
        let Some(target) = by_number.get(&(number as u32)) else {
            assert!(!own, "{pair:?} is told, and no target");
            continue;
        };
        assert_eq!(positions(target), wanted, "{pair:?}");
        let rank = if order.ordered(wanted[0], wanted[1]) { Rank::Predicted } else { Rank::Unordered };
        assert_eq!(target.rank, rank, "{pair:?}");
    }
    let without = nominate(events, UNBOUNDED, &[]);
    let conflicts: Vec<_> = with.targets.iter().filter(|target| target.conflicts).collect();
    assert_eq!(conflicts.len(), without.targets.len());
    // What is told may lift the rank, and nothing else.
    let places = |target: &Target| descriptors(target).0;
    let (mut these, mut those): (Vec<_>, Vec<_>) =
        (conflicts.into_iter().map(places).collect(), without.targets.iter().map(places).collect());
    these.sort_unstable();
    those.sort_unstable();
    assert_eq!(these, those);
    assert_eq!(with.dropped, without.dropped);
    by_number.len()
}

#[test]
fn told_pairs_are_targets_of_the_told_accesses_and_take_nothing_away() {
    let seeds = if full() { 20 * SEEDS } else { SEEDS };
    let targets: usize = (0..seeds).map(|seed| check(&Generator::trace(seed))).sum();
    assert!(targets as u64 > seeds / 10, "{targets} told pairs in {seeds} traces");
}

const WRITER: ThreadId = ThreadId(1);
const READER: ThreadId = ThreadId(2);
const TIMES: u64 = 8;

fn event(thread: ThreadId, place: u32, op: Op) -> Event {
    Event { thread, place: PlaceId(place), stack: StackId(0), times: 1, op }
}

fn section(thread: ThreadId) -> [Event; 2] {
    let (lock, mode) = (0x7000, LockMode::Write);
    [event(thread, 9, Op::Acquire { lock, mode }), event(thread, 9, Op::Release { lock, mode })]
}

/// A writer fills cells at one place, and takes a lock; a reader takes the lock, and reads them all at another one.
fn one_after_the_other() -> Vec<Event> {
    let access = |thread, place, cell: u64, mode| {
        event(thread, place, Op::Access(Access::plain(0x1000 + 8 * cell, 8, mode)))
    };
    let mut events: Vec<Event> = (0..TIMES).map(|cell| access(WRITER, 1, cell, Mode::Write)).collect();
    events.extend(section(WRITER).into_iter().chain(section(READER)));
    events.extend((0..TIMES).map(|cell| access(READER, 2, cell, Mode::Read)));
    events
}

#[test]
fn of_many_occasions_the_told_one_is_tried_first() {
    let events = one_after_the_other();
    let ordinals = |target: &Target| target.sides.each_ref().map(|side| side.descriptor.ordinal);
    let shown = nominate(&events, Options::default(), &[]).targets;
    assert_eq!(shown.iter().map(ordinals).collect::<Vec<_>>(), [[1, 1]], "conflicts have the first alone");
    let last = Told { events: [(READER, 2 + TIMES - 1), (WRITER, TIMES - 1)] };
    let targets = nominate(&events, Options::default(), &[last]).targets;
    assert_eq!(targets.iter().map(ordinals).collect::<Vec<_>>(), [[TIMES, TIMES], [1, 1]]);
    assert_eq!([targets[0].rank, targets[1].rank], [Rank::Predicted, Rank::NoCommonLock]);
    assert_eq!((&targets[0].told[..], targets[0].conflicts), (&[0][..], false));
    assert_eq!((&targets[1].told[..], targets[1].conflicts), (&[][..], true));
}

#[test]
fn what_both_nominate_is_one_target() {
    let first = Told { events: [(WRITER, 0), (READER, 2)] };
    let targets = nominate(&one_after_the_other(), Options::default(), &[first, first]).targets;
    let [target] = &targets[..] else { panic!("{targets:?}") };
    assert_eq!((target.rank, &target.told[..], target.conflicts), (Rank::Predicted, &[0, 1][..], true));
}

#[test]
fn what_does_not_conflict_is_no_target() {
    let apart = Told { events: [(WRITER, 0), (READER, 3)] };
    let no_access = Told { events: [(WRITER, TIMES), (READER, 2)] };
    let beyond = Told { events: [(WRITER, 0), (READER, 1000)] };
    let targets = nominate(&one_after_the_other(), Options::default(), &[apart, no_access, beyond]).targets;
    assert_eq!(targets.len(), 1);
    assert!(targets[0].told.is_empty());
}

#[test]
fn accesses_that_come_in_bulk_are_counted_one_by_one() {
    let last = Told { events: [(READER, 2 + TIMES - 1), (WRITER, TIMES - 1)] };
    let mut conflict = Conflict::with_told(Options::default(), &[last]);
    let is_access = |event: &Event| matches!(event.op, Op::Access(_));
    for group in one_after_the_other().chunk_by(|one, next| is_access(one) && is_access(next)) {
        let plain = |event: &Event| match event.op {
            Op::Access(access) => {
                let (address, place, stack) = (access.address, event.place, event.stack);
                Form::of(&access).map(|form| Plain { address, place, stack, form })
            }
            _ => None,
        };
        match group.iter().map(plain).collect::<Option<Vec<Plain>>>() {
            Some(accesses) => conflict.plain(group[0].thread, &accesses),
            None => group.iter().for_each(|event| conflict.step(event)),
        }
    }
    let targets = conflict.finish(&Flat).targets;
    assert_eq!(targets[0].sides.each_ref().map(|side| side.descriptor.ordinal), [TIMES, TIMES]);
}
