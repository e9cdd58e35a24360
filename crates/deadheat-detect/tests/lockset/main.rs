//! `lockset` against brute force on many random traces: the races, what the order says of them, and the counts of locks.

mod naive;
#[path = "../support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_core::race::{Guards, HeldLock, LockSets, Race, RaceSink, RunOrder, Side};
use deadheat_detect::lockset::Lockset;
use deadheat_detect::lockset::state::Rules;
use deadheat_detect::{Detector, Options};
use naive::{Naive, Ways, without_locks};
use support::check::held;
use support::full;
use support::generate::Generator;
use support::random::Random;

/// What two races can differ in that are counted together.
type Kind = [(u32, u32, u8); 2];

/// A side, spelled out so that it can be put into a set.
type Spelled = (ThreadId, PlaceId, StackId, (u64, u64, u8), Vec<HeldLock>);

#[derive(Default)]
struct Keep {
    now: usize,
    races: BTreeSet<(usize, Spelled, RunOrder)>,
    counts: BTreeMap<Kind, (u64, Ways)>,
    forgot: bool,
}

fn spelled(side: &Side, locks: Vec<HeldLock>) -> Spelled {
    let Access { address, size, mode, .. } = side.access;
    (side.thread, side.place, side.stack, (address, size, mode as u8), locks)
}

fn kind(race: &Race) -> Kind {
    [race.earlier, race.later].map(|side| (side.place.0, side.stack.0, side.access.mode as u8))
}

impl RaceSink for Keep {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("told without what the order says: {race:?}");
    }

    fn suspected(&mut self, race: &Race, order: RunOrder, locks: &dyn LockSets) {
        for side in [race.earlier, race.later] {
            assert!((side.access.address..side.access.end()).contains(&race.address), "{race:?}");
        }
        let earlier = spelled(&race.earlier, locks.locks(race.earlier.locks).to_vec());
        self.races.insert((self.now, earlier, order));
    }

    fn guards(&mut self, race: &Race, guards: &Guards<'_>, locks: &dyn LockSets) {
        let (accesses, ways) = self.counts.entry(kind(race)).or_default();
        *accesses += guards.accesses;
        for way in guards.held {
            *ways.entry((way.thread, way.writes, locks.locks(way.locks).to_vec())).or_default() += way.count;
        }
    }

    fn forgot(&mut self, _: u64) {
        self.forgot = true;
    }
}

fn run(events: &[Event], rules: Rules, options: Options) -> Keep {
    let mut lockset = Lockset::new(rules, options);
    let mut keep = Keep::default();
    for (index, event) in events.iter().enumerate() {
        keep.now = index;
        lockset.step(event, &mut keep);
    }
    lockset.finish(&mut keep);
    keep
}

fn plain(event: &Event) -> Option<Plain> {
    let Op::Access(access) = event.op else { return None };
    let Event { place, stack, .. } = *event;
    Form::of(&access).map(|form| Plain { address: access.address, place, stack, form })
}

/// The same with plain accesses in bulk, of which each call tells, and with as many sweeps as possible: they must not show.
fn run_in_bulk(events: &[Event], rules: Rules) -> Keep {
    let mut lockset = Lockset::new(rules, Options::default()).sweeping_always();
    let mut keep = Keep::default();
    for (index, event) in events.iter().enumerate() {
        keep.now = index;
        match plain(event) {
            Some(plain) => {
                lockset.coming(&[plain]);
                lockset.plain(event.thread, &[plain], &mut keep);
            }
            None => lockset.step(event, &mut keep),
        }
    }
    lockset.finish(&mut keep);
    keep
}

/// The same without the earlier accesses' addresses.
fn placeless(races: &BTreeSet<(usize, Spelled, RunOrder)>) -> BTreeSet<(usize, Spelled, RunOrder)> {
    let strip = |(at, earlier, order): &(usize, Spelled, RunOrder)| {
        let (thread, place, stack, (_, size, mode), ref locks) = *earlier;
        (*at, (thread, place, stack, (0, size, mode), locks.clone()), *order)
    };
    races.iter().map(strip).collect()
}

/// Compares one trace; gives how many races there were by what the order says.
fn agree(events: &[Event], rules: Rules, counts: bool) -> BTreeMap<RunOrder, usize> {
    let stripped = without_locks(events);
    let naive = Naive::new(events, &stripped, rules).judge();
    let expected: BTreeSet<_> = naive
        .told
        .iter()
        .map(|&(later, earlier, order)| {
            let Event { thread, place, stack, op, .. } = events[earlier];
            let Op::Access(access) = op else { panic!("a partner is an access") };
            let shape = (access.address, access.size, access.mode as u8);
            (later, (thread, place, stack, shape, held(events, earlier)), order)
        })
        .collect();
    for (found, how) in
        [(run(events, rules, Options::default()), "one by one"), (run_in_bulk(events, rules), "in bulk")]
    {
        // Accesses of one place to bytes side by side are one past, of which one is told.
        let agrees = found.races.is_subset(&expected) && placeless(&found.races) == placeless(&expected);
        if !agrees {
            events.iter().enumerate().for_each(|(at, event)| {
                eprintln!("{at:3} {:?} {:?} {:x?}", event.thread, event.place, event.op);
            });
            panic!("{how}, {rules:?}: {:x?}\nnot {expected:x?}", found.races);
        }
        if counts {
            let mut wanted: BTreeMap<Kind, (u64, Ways)> = BTreeMap::new();
            for ((earlier, later), accesses, ways) in &naive.counts {
                let side = |at: usize| {
                    let Op::Access(access) = events[at].op else { panic!("a side is an access") };
                    (events[at].place.0, events[at].stack.0, access.mode as u8)
                };
                let (sum, all) = wanted.entry([side(*earlier), side(*later)]).or_default();
                *sum += accesses;
                ways.iter().for_each(|(way, count)| *all.entry(way.clone()).or_default() += count);
            }
            assert_eq!(found.counts, wanted, "{how}, {rules:?}: the counts of locks");
        }
    }
    let mut sorts = BTreeMap::new();
    naive.told.iter().for_each(|&(_, _, order)| *sorts.entry(order).or_default() += 1);
    sorts
}

/// Races by form (Letko's?) and by what the order says.
type Sorts = BTreeMap<(bool, RunOrder), usize>;

/// Both forms on all traces. Races nothing ordered must be common in both, or the comparison would mean little.
fn all(traces: impl Iterator<Item = Vec<Event>>, counts: bool) -> Sorts {
    let (mut count, mut sorts) = (0, Sorts::new());
    for events in traces {
        count += 1;
        for rules in [Rules::LETKO, Rules::ERASER] {
            for (order, races) in agree(&events, rules, counts) {
                *sorts.entry((rules == Rules::LETKO, order)).or_insert(0) += races;
            }
        }
    }
    println!("{count} traces: {sorts:?}");
    for letko in [false, true] {
        assert!(sorts[&(letko, RunOrder::Unordered)] * 3 > count, "{sorts:?}");
    }
    sorts
}

#[test]
fn random_traces() {
    let sorts = all((0..if full() { 100_000 } else { 20_000 }).map(Generator::trace), false);
    assert_eq!(sorts.len(), 6, "each order in each form: {sorts:?}");
}

/// Few words and many locks: a trace of threads that mostly hold one, and may end and be joined.
fn locked(seed: u64, words: usize) -> Vec<Event> {
    const LOCKS: [u64; 3] = [0x9000, 0x9008, 0x9010];
    let mut random = Random(seed);
    let mut held: [Vec<(u64, LockMode)>; 4] = Default::default();
    let mut ended = [false; 4];
    let mut events: Vec<Event> =
        (1..4).map(|child| event(0, 1, Op::Fork { child: ThreadId(child) })).collect();
    for place in 2..40 {
        let thread = random.below(4);
        let other = random.below(4);
        let lock = random.pick(&LOCKS);
        let mode = random.pick(&[LockMode::Write, LockMode::Write, LockMode::Read]);
        let taken = held
            .iter()
            .flatten()
            .any(|&(by, how)| by == lock && (mode == LockMode::Write || how == LockMode::Write));
        let op = match random.below(12) {
            _ if ended[thread] => continue,
            0..3 if !taken => {
                held[thread].push((lock, mode));
                Op::Acquire { lock, mode }
            }
            3..6 if !held[thread].is_empty() => {
                let (lock, mode) = held[thread].swap_remove(0);
                Op::Release { lock, mode }
            }
            6 if ended[other] => Op::Join { child: ThreadId(other as u32) },
            7 if thread > 0 && held[thread].is_empty() && random.one_in(2) => {
                ended[thread] = true;
                Op::End
            }
            _ => {
                let mode = random.pick(&[Mode::Read, Mode::Read, Mode::Write]);
                Op::Access(Access::plain(0x1000 + random.below(words) as u64 * 4, 4, mode))
            }
        };
        events.push(event(thread as u32, place, op));
    }
    events
}

#[test]
fn traces_with_many_locks() {
    all((0..if full() { 100_000 } else { 20_000 }).map(|seed| locked(seed, 3)), false);
}

/// One word alone, so that what is counted of it is all that is counted.
#[test]
fn counts_of_one_variable() {
    let word = |seed| {
        if seed % 2 == 0 {
            return locked(seed, 1);
        }
        let mut events = Generator::trace(seed);
        events.retain(|event| !matches!(event.op, Op::Alloc { .. } | Op::Free { .. }));
        for event in &mut events {
            if let Op::Access(access) = &mut event.op {
                (access.address, access.size) = (0x1000, 4);
            }
        }
        events
    };
    all((0..if full() { 100_000 } else { 20_000 }).map(word), true);
}

fn event(thread: u32, place: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), place: PlaceId(place), stack: StackId::EMPTY, times: 1, op }
}

/// 41 of 44 accesses hold the lock, and the race is told long before.
#[test]
fn the_lock_of_most_accesses_is_counted_to_the_end() {
    const LOCK: u64 = 0x9000;
    let write = || Op::Access(Access::plain(0x1000, 4, Mode::Write));
    let mut events = Vec::new();
    for turn in 0..44 {
        let thread = turn % 2;
        let locks = ![1, 2, 30].contains(&turn);
        let mode = LockMode::Write;
        events.extend(locks.then(|| event(thread, 1, Op::Acquire { lock: LOCK, mode })));
        events.push(event(thread, 2 + u32::from(locks), write()));
        events.extend(locks.then(|| event(thread, 4, Op::Release { lock: LOCK, mode })));
    }
    let kept = run(&events, Rules::LETKO, Options::default());
    assert_eq!(kept.races.len(), 1);
    let (accesses, ways) = kept.counts.values().next().expect("it is counted");
    assert_eq!((*accesses, ways.values().sum::<u64>()), (44, 41));
}

/// What a lock alone ordered is told as that.
#[test]
fn the_order_of_the_run_is_told() {
    const LOCK: u64 = 0x9000;
    let write = || Op::Access(Access::plain(0x1000, 4, Mode::Write));
    let section = |thread| {
        let mode = LockMode::Write;
        [Op::Acquire { lock: LOCK, mode }, Op::Release { lock: LOCK, mode }].map(|op| event(thread, 9, op))
    };
    let told = |between: &[Event]| {
        let events = [&[event(0, 1, write())], between, &[event(1, 2, write())]].concat();
        let kept = run(&events, Rules::ERASER, Options::default());
        assert_eq!(kept.races.len(), 1);
        kept.races.first().expect("there is one").2
    };
    assert_eq!(told(&[]), RunOrder::Unordered);
    assert_eq!(told(&[section(0), section(1)].concat()), RunOrder::ByLocks);
    assert_eq!(told(&[event(0, 3, Op::Fork { child: ThreadId(1) })]), RunOrder::Otherwise);
}

/// A bounded analysis stays near its bound, says that it forgot, and still tells what lies close together.
#[test]
fn a_limit_of_memory_holds_and_is_told() {
    const LIMIT: usize = 8 << 20;
    let mut lockset = Lockset::new(Rules::LETKO, Options { memory_limit: Some(LIMIT), ..Options::default() });
    let mut keep = Keep::default();
    let mut most = 0;
    for word in 0..2_000_000 {
        let access = Access::plain(0x10_0000 + word * 8, 8, Mode::Write);
        lockset.step(&event(0, 1, Op::Access(access)), &mut keep);
        if word % 100_000 < 2 {
            keep.now = word as usize;
            lockset.step(&event(1, 2, Op::Access(access)), &mut keep);
        }
        if word % 1000 == 0 {
            most = most.max(lockset.memory());
        }
    }
    lockset.finish(&mut keep);
    assert!(keep.forgot, "{most} bytes");
    assert!(most < LIMIT * 3 / 2, "{most} bytes, {LIMIT} allowed");
    assert_eq!(keep.races.len(), 40);
    assert!(!run(&[], Rules::LETKO, Options::default()).forgot);
}
