//! The nomination against brute force over all pairs of accesses of many random traces, and facts
//! about single traces.

mod support;

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_core::race::LockSets;
use deadheat_detect::conflict::{
    Calls, Conflict, Descriptor, Dropped, Nomination, Options, Rank, Side, Target,
};
use deadheat_detect::oracle::Oracle;
use support::full;
use support::generate::Generator;
use support::random::Random;

/// The stacks of the tests, last call first: some end with others, as by recursion, and two are
/// the same.
const STACKS: [&[u32]; 8] = [&[], &[90], &[90, 91], &[92, 91], &[92], &[90, 90], &[90], &[90, 90, 91]];

struct Stacks;

impl Calls for Stacks {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        STACKS[stack.0 as usize].iter().map(|&place| PlaceId(place)).collect()
    }
}

const UNBOUNDED: Options = Options {
    targets_per_places: 1 << 16,
    choice: 1,
    per_range: 1 << 16,
    alone: 1 << 16,
    per_place: 1 << 16,
    keep_fork_join: false,
};

fn nominate(events: &[Event], options: Options) -> Nomination {
    let mut conflict = Conflict::new(options);
    events.iter().for_each(|event| conflict.step(event));
    conflict.finish(&Stacks)
}

/// The same with plain accesses of a thread that follow each other taken at once.
fn nominate_in_bulk(events: &[Event], options: Options) -> Nomination {
    let mut conflict = Conflict::new(options);
    let plain = |event: &Event| match event.op {
        Op::Access(access) if event.times == 1 => {
            let (address, place, stack) = (access.address, event.place, event.stack);
            Form::of(&access).map(|form| Plain { address, place, stack, form })
        }
        _ => None,
    };
    let bulk = |one: &Event, next: &Event| {
        one.thread == next.thread && plain(one).is_some() && plain(next).is_some()
    };
    for group in events.chunk_by(bulk) {
        match group.iter().map(plain).collect::<Option<Vec<Plain>>>() {
            Some(accesses) => conflict.plain(group[0].thread, &accesses),
            None => conflict.step(&group[0]),
        }
    }
    conflict.finish(&Stacks)
}

/// What tells two accesses apart in a pair: thread, place, stack, mode, atomicity.
type Kind = (ThreadId, PlaceId, StackId, Mode, bool);

/// A trace and its orders.
struct Truth<'a> {
    events: &'a [Event],
    order: Oracle<'a>,
    family: Oracle<'a>,
}

impl Truth<'_> {
    fn kind(&self, index: usize) -> Kind {
        let access = self.order.access(index).expect("it is an access");
        let Event { thread, place, stack, .. } = self.events[index];
        (thread, place, stack, access.mode, access.atomic.is_some())
    }

    /// All pairs of kinds that may be made to meet, and whether nothing ordered them somewhere.
    fn pairs(&self) -> BTreeMap<(Kind, Kind), bool> {
        let mut pairs = BTreeMap::new();
        for later in 0..self.events.len() {
            for earlier in (0..later).filter(|&earlier| self.may_meet(earlier, later)) {
                let (one, other) = (self.kind(earlier), self.kind(later));
                let unordered = !self.order.ordered(earlier, later);
                *pairs.entry((one.min(other), one.max(other))).or_insert(false) |= unordered;
            }
        }
        pairs
    }

    fn may_meet(&self, earlier: usize, later: usize) -> bool {
        self.events[earlier].thread != self.events[later].thread
            && !self.family.ordered(earlier, later)
            && self.order.conflict(earlier, later)
    }

    /// The only access of its thread that a descriptor selects, with the ordinals of its repeats.
    fn selected(&self, descriptor: &Descriptor) -> Vec<usize> {
        let mut count = 0;
        let mut selected = Vec::new();
        for (index, event) in self.events.iter().enumerate() {
            let Some(access) = self.order.access(index) else { continue };
            let empty = access.size == 0 && matches!(event.op, Op::Access(_));
            let calls = Stacks.calls(event.stack);
            let top = &calls[..descriptor.calls.len().min(calls.len())];
            if !empty
                && event.thread == descriptor.thread
                && event.place == descriptor.place
                && top == descriptor.calls
            {
                let ordinals = count + 1..=count + u64::from(event.times);
                selected.extend(ordinals.contains(&descriptor.ordinal).then_some(index));
                count += u64::from(event.times);
            }
        }
        selected
    }

    fn check(&self, nomination: &Nomination, exact: bool) {
        let expected = self.pairs();
        let mut found: BTreeMap<(Kind, Kind), bool> = BTreeMap::new();
        for target in &nomination.targets {
            self.check_target(target, nomination);
            let [one, other] = target.sides.each_ref().map(|side| self.kind(side.at as usize));
            *found.entry((one.min(other), one.max(other))).or_default() |= target.rank == Rank::Unordered;
        }
        let Dropped { duplicates, unnumbered, capped, forgotten, .. } = nomination.dropped;
        assert_eq!((duplicates, unnumbered), (0, 0), "each access has one class, and its trail is short");
        if exact {
            assert_eq!((capped, forgotten), (0, 0));
        }
        if capped == 0 && forgotten == 0 {
            assert_eq!(found, expected, "the pairs, and which are unordered");
        }
        let places = |(one, other): &(Kind, Kind)| (one.1.min(other.1), one.1.max(other.1));
        let groups: BTreeSet<_> = expected.keys().map(places).collect();
        if forgotten == 0 {
            assert_eq!(nomination.pairs, groups.len() as u64, "the pairs of places");
        }
        assert!(nomination.targets.is_sorted_by_key(|target| target.rank), "sorted by rank");
    }

    fn check_target(&self, target: &Target, nomination: &Nomination) {
        let [one, other] = target.sides.each_ref().map(|side| self.check_side(side, nomination));
        assert!(one < other && self.may_meet(one, other), "{target:?}");
        for side in &target.sides {
            assert!((side.access.address..side.access.end()).contains(&target.address), "{target:?}");
        }
        let unordered = !self.order.ordered(one, other);
        let [mine, theirs] = target.sides.each_ref().map(|side| nomination.locks(side.locks));
        let common = mine.iter().any(|held| {
            let excludes = |mode| held.mode == LockMode::Write || mode == LockMode::Write;
            theirs.iter().any(|other| other.lock == held.lock && excludes(other.mode))
        });
        let rank = match (unordered, common) {
            (true, _) => Rank::Unordered,
            (false, false) => Rank::NoCommonLock,
            (false, true) => Rank::CommonLock,
        };
        assert_eq!(target.rank, rank, "{target:?}");
    }

    fn check_side(&self, side: &Side, nomination: &Nomination) -> usize {
        let index = side.at as usize;
        let Event { thread, place, stack, .. } = self.events[index];
        let Descriptor { only_thread, ref calls, .. } = side.descriptor;
        assert_eq!((side.descriptor.thread, side.descriptor.place, side.stack), (thread, place, stack));
        assert_eq!(Some(side.access), self.order.access(index));
        assert_eq!(self.selected(&side.descriptor), [index], "{side:?}");
        assert_eq!(nomination.locks(side.locks), support::check::held(self.events, index));
        let at_place = || {
            let accesses = (0..self.events.len()).filter(|&at| {
                self.order.access(at).is_some_and(|access| access.size > 0) && self.events[at].place == place
            });
            accesses.map(|at| &self.events[at])
        };
        assert_eq!(only_thread, at_place().any(|event| event.thread != thread), "B of {side:?}");
        // S is the shortest top that selects what the whole stack selects.
        let mine: Vec<Vec<PlaceId>> = at_place()
            .filter(|event| event.thread == thread)
            .map(|event| Stacks.calls(event.stack))
            .collect();
        let whole = Stacks.calls(stack);
        let selects =
            |top: &[PlaceId]| mine.iter().map(|calls| calls.starts_with(top)).collect::<Vec<bool>>();
        let shortest = (0..=whole.len()).find(|&depth| selects(&whole[..depth]) == selects(&whole));
        assert_eq!(Some(calls.as_slice()), shortest.map(|depth| &whole[..depth]), "S of {side:?}");
        index
    }
}

/// The trace with nothing but fork and join left that orders accesses.
fn without_synchronisation(events: &[Event]) -> Vec<Event> {
    let strip = |op: Op| match op {
        Op::Access(access) => {
            Op::Access(Access { atomic: access.atomic.map(|_| MemoryOrder::Relaxed), ..access })
        }
        Op::Fork { .. } | Op::Join { .. } | Op::Begin | Op::End | Op::Alloc { .. } | Op::Free { .. } => op,
        _ => Op::Branch,
    };
    events.iter().map(|event| Event { op: strip(event.op), ..*event }).collect()
}

/// Compares the nomination of a trace with brute force; the number of targets of each rank.
fn agree(events: &[Event]) -> [usize; 3] {
    let compare = || {
        let stripped = without_synchronisation(events);
        let truth = Truth { events, order: Oracle::new(events), family: Oracle::new(&stripped) };
        let all = nominate(events, UNBOUNDED);
        truth.check(&all, true);
        let usual = nominate(events, Options::default());
        truth.check(&usual, false);
        for options in [UNBOUNDED, Options::default()] {
            let bulk = nominate_in_bulk(events, options);
            let step = if options == UNBOUNDED { &all } else { &usual };
            assert_eq!((&bulk.targets, bulk.dropped), (&step.targets, step.dropped), "the same in bulk");
        }
        [Rank::Unordered, Rank::NoCommonLock, Rank::CommonLock]
            .map(|rank| all.targets.iter().filter(|target| target.rank == rank).count())
    };
    std::panic::catch_unwind(compare).unwrap_or_else(|reason| {
        for (index, event) in events.iter().enumerate() {
            let Event { thread, place, stack, times, op } = event;
            eprintln!("{index:3} {thread:?} {place:?} {stack:?} *{times} {op:x?}");
        }
        std::panic::resume_unwind(reason)
    })
}

/// A trace of the generator with more stacks, and with repeats.
fn trace(seed: u64) -> Vec<Event> {
    let mut random = Random(seed ^ 0x5eed);
    let (stacks, repeats) = (1 + random.below(STACKS.len()), random.one_in(2));
    let mut events = Generator::trace(seed);
    for event in &mut events {
        event.stack = StackId(random.below(stacks) as u32);
        if repeats && matches!(event.op, Op::Access(_)) {
            event.times = 1 + random.below(3) as u32;
        }
    }
    events
}

/// A trace of critical sections: most accesses to common bytes are ordered, by locks alone.
fn locked_trace(seed: u64) -> Vec<Event> {
    let mut random = Random(seed);
    let (locks, places, sizes) = ([0x9000, 0x9008], 1 + random.below(6), random.pick(&[1, 4, 100, 600]));
    let (stacks, careless) = (1 + random.below(STACKS.len()), random.one_in(2));
    let mut held: [Vec<(u64, LockMode)>; 3] = Default::default();
    let mut events = Vec::new();
    let mut push = |random: &mut Random, thread: usize, op| {
        let (place, stack) = (PlaceId(1 + random.below(places) as u32), StackId(random.below(stacks) as u32));
        events.push(Event { thread: ThreadId(thread as u32), place, stack, times: 1, op });
    };
    for child in 1..3 {
        push(&mut random, 0, Op::Fork { child: ThreadId(child) });
    }
    for _ in 0..10 + random.below(50) {
        let (thread, lock) = (random.below(3), random.pick(&locks));
        let mode = random.pick(&[LockMode::Write, LockMode::Write, LockMode::Read]);
        let excludes = |&(other, theirs): &(u64, LockMode)| {
            other == lock && (mode == LockMode::Write || theirs == LockMode::Write)
        };
        if let Some(&(lock, mode)) = held[thread].last()
            && random.one_in(3)
        {
            held[thread].pop();
            push(&mut random, thread, Op::Release { lock, mode });
        } else if (held[thread].is_empty() || random.one_in(5))
            && !held.iter().flatten().any(excludes)
            && held[thread].iter().all(|&(mine, _)| mine != lock)
        {
            held[thread].push((lock, mode));
            push(&mut random, thread, Op::Acquire { lock, mode });
        } else if !held[thread].is_empty() || careless && random.one_in(8) {
            let address = 0x1000 + random.below(3) as u64 * 3;
            let mode = random.pick(&[Mode::Read, Mode::Write, Mode::ReadWrite]);
            push(&mut random, thread, Op::Access(Access::plain(address, sizes, mode)));
        }
    }
    events
}

/// Compares the nomination of many traces with brute force; all ranks must be common.
fn all_agree(name: &str, count: u64, trace: fn(u64) -> Vec<Event>, common: [u64; 3]) {
    let mut ranks = [0; 3];
    for seed in 0..count {
        for (sum, count) in ranks.iter_mut().zip(agree(&trace(seed))) {
            *sum += count as u64;
        }
    }
    println!("{count} {name}: {ranks:?} targets by rank");
    for (targets, common) in ranks.into_iter().zip(common) {
        assert!(targets >= count / common, "a rank is rare: {ranks:?}");
    }
}

#[test]
fn random_traces() {
    all_agree("random traces", if full() { 100_000 } else { 4_000 }, trace, [1, 10, 100]);
}

#[test]
fn random_critical_sections() {
    all_agree("traces with locks", if full() { 100_000 } else { 4_000 }, locked_trace, [1, 1, 1]);
}

const X: u64 = 0x1000;
const LOCK: u64 = 0x9000;
const HEAP: BlockKind = BlockKind::Heap;

/// An event of a thread at a place, in its first function.
fn at(thread: u32, place: u32, op: Op) -> Event {
    under(thread, place, 0, op)
}

/// The same with a stack.
fn under(thread: u32, place: u32, stack: u32, op: Op) -> Event {
    let (thread, place, stack) = (ThreadId(thread), PlaceId(place), StackId(stack));
    Event { thread, place, stack, times: 1, op }
}

fn write(address: u64, size: u64) -> Op {
    Op::Access(Access::plain(address, size, Mode::Write))
}

fn read(address: u64, size: u64) -> Op {
    Op::Access(Access::plain(address, size, Mode::Read))
}

fn atomic(mode: Mode) -> Op {
    Op::Access(Access { atomic: Some(MemoryOrder::Relaxed), ..Access::plain(X, 4, mode) })
}

fn fork(child: u32) -> Event {
    at(0, 100, Op::Fork { child: ThreadId(child) })
}

fn join(child: u32) -> Event {
    at(0, 101, Op::Join { child: ThreadId(child) })
}

fn acquire(thread: u32) -> Event {
    at(thread, 102, Op::Acquire { lock: LOCK, mode: LockMode::Write })
}

fn release(thread: u32) -> Event {
    at(thread, 103, Op::Release { lock: LOCK, mode: LockMode::Write })
}

fn post(thread: u32) -> Event {
    at(thread, 104, Op::Signal { object: LOCK, kind: SyncKind::Semaphore })
}

fn wait(thread: u32) -> Event {
    at(thread, 105, Op::Wait { object: LOCK, kind: SyncKind::Semaphore, woken: true })
}

/// Brute force looks at each byte of an access.
const BRUTE_FORCE_MAX: u64 = 10_000;

/// Thread, place and ordinal of a side.
type Told = (u32, u32, u64);

/// The targets of a trace, each as rank and its sides; what brute
/// force says of the trace is compared too.
fn told(events: &[Event]) -> Vec<(Rank, [Told; 2])> {
    let size = |event: &Event| match event.op {
        Op::Access(access) => access.size,
        _ => 0,
    };
    if events.iter().map(size).max() < Some(BRUTE_FORCE_MAX) {
        agree(events);
    }
    let side = |side: &Side| {
        let Descriptor { thread, place, ordinal, .. } = side.descriptor;
        (thread.0, place.0, ordinal)
    };
    let nomination = nominate(events, Options::default());
    nomination.targets.iter().map(|target| (target.rank, target.sides.each_ref().map(side))).collect()
}

#[test]
fn what_fork_and_join_order_is_no_target() {
    let events = [
        at(0, 1, write(X, 4)),
        fork(1),
        at(1, 2, write(X, 4)),
        at(1, 3, Op::End),
        join(1),
        at(0, 4, read(X, 4)),
    ];
    assert_eq!(told(&events), []);
    assert_eq!(nominate(&events, Options::default()).dropped.fork_join, 2);
    let all = nominate(&events, Options { keep_fork_join: true, ..Options::default() });
    assert_eq!((all.targets.len(), all.dropped.fork_join), (2, 0));
    assert!(all.targets.iter().all(|target| target.rank == Rank::NoCommonLock));
}

#[test]
fn a_place_that_first_comes_before_the_fork_is_a_target_when_it_comes_again() {
    let events = [at(0, 1, write(X, 4)), fork(1), at(1, 2, write(X, 4)), at(0, 1, write(X, 4))];
    assert_eq!(told(&events), [(Rank::Unordered, [(1, 2, 1), (0, 1, 2)])]);
}

#[test]
fn an_instance_before_the_fork_does_not_stand_for_one_behind_it() {
    let write = |thread| at(thread, 1 + thread, write(X, 4));
    let events = [write(0), fork(1), write(0), post(0), wait(1), write(1)];
    assert_eq!(told(&events), [(Rank::NoCommonLock, [(0, 1, 2), (1, 2, 1)])]);
}

#[test]
fn a_racy_instance_beats_the_first() {
    let write = |thread| at(thread, 1 + thread, write(X, 4));
    let ordered = [fork(1), write(0), post(0), wait(1), write(1)];
    assert_eq!(told(&ordered), [(Rank::NoCommonLock, [(0, 1, 1), (1, 2, 1)])]);
    let events = [&ordered[..], &[write(1), write(0)]].concat();
    assert_eq!(told(&events), [(Rank::Unordered, [(1, 2, 2), (0, 1, 2)])]);
}

#[test]
fn a_common_lock_ranks_last_and_drops_nothing() {
    let section = |thread: u32, place| [acquire(thread), at(thread, place, write(X, 4)), release(thread)];
    let events =
        [&[fork(1)][..], &section(0, 1), &[at(0, 2, write(X, 4))], &section(1, 3), &section(0, 4)].concat();
    let common = Rank::CommonLock;
    assert_eq!(
        told(&events),
        [
            (Rank::Unordered, [(0, 2, 1), (1, 3, 1)]),
            (common, [(0, 1, 1), (1, 3, 1)]),
            (common, [(1, 3, 1), (0, 4, 1)])
        ]
    );
}

#[test]
fn two_atomics_are_no_target_but_one_is() {
    let atomics = [fork(1), at(0, 1, atomic(Mode::ReadWrite)), at(1, 2, atomic(Mode::Read))];
    assert_eq!(told(&atomics), []);
    assert_eq!(nominate(&atomics, Options::default()).dropped.both_atomic, 1);
    let mixed = [fork(1), at(0, 1, atomic(Mode::Write)), at(1, 2, read(X, 4))];
    assert_eq!(told(&mixed), [(Rank::Unordered, [(0, 1, 1), (1, 2, 1)])]);
}

#[test]
fn another_life_of_a_block_is_no_conflict() {
    let (alloc, free) =
        (Op::Alloc { address: X, size: 16, kind: HEAP }, Op::Free { address: X, size: 0, kind: HEAP });
    let events = [
        fork(1),
        at(0, 1, alloc),
        at(0, 2, write(X, 8)),
        at(1, 3, free),
        at(1, 4, alloc),
        at(1, 5, write(X, 8)),
    ];
    assert_eq!(told(&events), [(Rank::Unordered, [(0, 2, 1), (1, 3, 1)])]);
    let nomination = nominate(&events, Options::default());
    assert_eq!(nomination.targets[0].block.map(|block| (block.address, block.size)), Some((X, 16)));
}

#[test]
fn races_declared_benign_are_no_targets() {
    let benign = Op::Alloc { address: X, size: 4, kind: BlockKind::Benign };
    let events = [fork(1), at(0, 1, benign), at(0, 2, write(X, 8)), at(1, 3, read(X, 4))];
    assert_eq!(nominate(&events, Options::default()).targets, []);
    let wider = [&events[..], &[at(1, 4, read(X, 8))]].concat();
    let nomination = nominate(&wider, Options::default());
    assert_eq!(nomination.targets.iter().map(|target| target.address).collect::<Vec<_>>(), [X + 4]);
}

#[test]
fn the_stack_top_is_as_long_as_it_must_be() {
    let write = |thread, stack| under(thread, 1, stack, write(X + 64 * u64::from(thread), 4));
    // Thread 1 comes by two stacks that differ in the last call, then to the common byte.
    let events =
        [fork(1), write(1, 2), write(1, 3), write(1, 2), under(0, 2, 0, read(X + 64, 4)), write(0, 1)];
    let nomination = nominate(&events, Options::default());
    let sides = nomination.targets.iter().map(|target| &target.sides[0].descriptor);
    let tops: Vec<_> = sides.map(|side| (side.calls.clone(), side.ordinal, side.only_thread)).collect();
    assert_eq!(tops, [(vec![PlaceId(92)], 1, true), (vec![PlaceId(90)], 2, true)]);
    assert_eq!(agree(&events), [2, 0, 0]);
}

#[test]
fn recursion_into_the_first_function_counts_all_that_its_stack_top_selects() {
    let write = |stack| under(1, 1, stack, write(X, 4));
    // [] selects all; [90] also selects [90, 90].
    let events = [fork(1), write(5), write(0), write(1), write(5), write(1), at(0, 2, read(X, 4)), write(5)];
    let nomination = nominate(&events, Options::default());
    let sides = nomination.targets.iter().flat_map(|target| &target.sides);
    let mine = sides.map(|side| &side.descriptor).filter(|side| side.place == PlaceId(1));
    let mut tops: Vec<_> = mine.map(|side| (side.calls.len(), side.ordinal)).collect();
    tops.sort_unstable();
    assert_eq!(tops, [(0, 2), (1, 4), (2, 2)]);
    agree(&events);
}

#[test]
fn places_that_had_fewer_targets_come_first() {
    let write = |thread, place, stack| under(thread, place, stack, write(X, 4));
    let events = [fork(1), write(0, 1, 0), write(1, 2, 1), write(1, 2, 4), write(1, 3, 0)];
    let nomination = nominate(&events, Options::default());
    let places: Vec<u32> =
        nomination.targets.iter().map(|target| target.sides[1].descriptor.place.0).collect();
    assert_eq!(places, [2, 3, 2]);
}

#[test]
fn two_places_have_a_limited_number_of_targets() {
    let mut events = vec![fork(1)];
    for stack in 0..7 {
        events.extend([0, 1].map(|thread| under(thread, 1 + thread, stack, write(X, 4))));
    }
    let options = Options { targets_per_places: 5, choice: 2, ..UNBOUNDED };
    let nomination = nominate(&events, options);
    assert_eq!((nomination.targets.len(), nomination.dropped.capped, nomination.pairs), (5, 44, 1));
}

#[test]
fn large_ranges_meet_small_accesses_of_every_size() {
    for size in [24, 65, 700, 5_000, 70_000, 2_000_000, 5_000_000] {
        for address in [X, X + 3, X + size - 1] {
            let small = [fork(1), at(0, 1, read(address, 1)), at(1, 2, write(X, size))];
            assert_eq!(told(&small), [(Rank::Unordered, [(0, 1, 1), (1, 2, 1)])]);
            let large = [fork(1), at(1, 2, write(X, size)), at(0, 1, read(address, 1))];
            assert_eq!(told(&large), [(Rank::Unordered, [(1, 2, 1), (0, 1, 1)])]);
        }
        let apart =
            [fork(1), at(0, 1, read(X - 1, 1)), at(1, 2, write(X, size)), at(0, 3, read(X + size, 1))];
        assert_eq!(told(&apart), []);
    }
}

#[test]
fn an_access_that_comes_again_meets_what_came_since() {
    let sizes = [1, 8, 24, 65, 700, 5_000, 70_000, 2_000_000];
    for (mine, theirs) in sizes.into_iter().flat_map(|mine| sizes.map(|theirs| (mine, theirs))) {
        let (mine, theirs) = (at(0, 1, read(X + 7, mine)), at(1, 2, write(X, theirs + 7)));
        let ordered = [fork(1), mine, post(0), wait(1), theirs];
        assert_eq!(told(&ordered), [(Rank::NoCommonLock, [(0, 1, 1), (1, 2, 1)])]);
        let again = [&ordered[..], &[mine]].concat();
        assert_eq!(told(&again), [(Rank::Unordered, [(1, 2, 1), (0, 1, 2)])]);
    }
}

#[test]
fn an_access_of_unknown_place_is_counted_and_no_target() {
    let events = [fork(1), at(0, 0, write(X, 4)), at(1, 2, write(X, 4))];
    let nomination = nominate(&events, Options::default());
    assert_eq!((nomination.targets.len(), nomination.dropped.unplaced), (0, 1));
}

#[test]
fn an_ordinal_that_is_not_remembered_gives_no_target() {
    // [90] also selects [90, 90]; the two come in turns, longer than is remembered.
    let turn = |count: u32| (0..count).map(|step| under(1, 1, 1 + step % 2 * 4, write(X + 64, 4)));
    let common = [under(1, 1, 1, write(X, 4)), at(0, 2, read(X, 4))];
    let other = under(1, 1, 4, write(X + 128, 4));
    for (count, known) in [(100, true), (10_000, false)] {
        let events: Vec<Event> =
            [fork(1), other].into_iter().chain(turn(count)).chain(common).chain(turn(10)).collect();
        let nomination = nominate(&events, Options::default());
        let ordinals: Vec<u64> =
            nomination.targets.iter().map(|target| target.sides[0].descriptor.ordinal).collect();
        let expected = if known { vec![u64::from(count) + 1] } else { vec![] };
        assert_eq!((ordinals, nomination.dropped.unnumbered), (expected, u64::from(!known)));
    }
}

#[test]
fn memory_is_bounded_and_what_is_forgotten_is_counted() {
    for (count, stride) in [(500_000, 512), (50_000, 1 << 17)] {
        let mut conflict = Conflict::new(Options::default());
        conflict.step(&fork(1));
        let block = Op::Alloc { address: X, size: count * stride, kind: HEAP };
        conflict.step(&at(0, 7, block));
        let address = |index: u64| X + index * stride;
        (0..count).for_each(|index| conflict.step(&at(0, 1, write(address(index), 8))));
        conflict.step(&at(1, 2, read(address(0), 8)));
        conflict.step(&at(1, 3, read(address(count - 1), 8)));
        conflict.step(&at(1, 4, write(X, count * stride)));
        conflict.step(&at(1, 5, block));
        conflict.step(&at(1, 6, read(address(count - 1), 8)));
        let nomination = conflict.finish(&Stacks);
        let found = nomination.targets.iter().map(|target| target.sides[1].descriptor.place.0);
        assert_eq!(found.collect::<Vec<_>>(), [3, 4]);
        assert!((1000..count).contains(&nomination.dropped.forgotten), "{:?}", nomination.dropped);
    }
}
