//! What is left of a shortened witness is one, and the steps that are listed of it are those that set the order.

mod support;

use std::collections::BTreeMap;

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::shorten::{Short, Watch};
use deadheat_detect::witness::Run;
use deadheat_detect::{Options, registry};
use support::full;
use support::generate::Generator;

const X: u64 = 0x1000;
const F: u64 = 0x2000;
const M: u64 = 0x9000;
const OWN: u64 = 0x9100;
const LOCK: Op = Op::Acquire { lock: M, mode: LockMode::Write };
const UNLOCK: Op = Op::Release { lock: M, mode: LockMode::Write };

const fn read(address: u64) -> Op {
    Op::Access(Access::plain(address, 4, Mode::Read))
}

const fn write(address: u64) -> Op {
    Op::Access(Access::plain(address, 4, Mode::Write))
}

const fn fork(child: u32) -> Op {
    Op::Fork { child: ThreadId(child) }
}

fn run(ops: &[(u32, Op)]) -> Vec<Event> {
    let event = |&(thread, op)| Event {
        thread: ThreadId(thread),
        place: PlaceId::UNKNOWN,
        stack: StackId::EMPTY,
        times: 1,
        op,
    };
    ops.iter().map(event).collect()
}

/// Pairs of a thread and a number of its events.
type Plain = Vec<(u32, u64)>;

fn threads(list: &[(u32, u64)]) -> Vec<(ThreadId, u64)> {
    list.iter().map(|&(thread, events)| (ThreadId(thread), events)).collect()
}

fn shorten(events: &[Event], watch: Watch, witness: &Witness<'_>, pair: (ThreadId, ThreadId)) -> Short {
    let mut watch = watch;
    events.iter().for_each(|event| watch.take(event));
    watch.finish().shorten(witness, pair)
}

/// What is left of a witness of a race between threads 0 and 1: how much is done, and the steps, by thread and how many events that
/// had before them.
fn left(ops: &[(u32, Op)], done: &[(u32, u64)], order: Option<&[(u32, u64)]>) -> (Plain, Plain) {
    let events = run(ops);
    let (done, order) = (threads(done), order.map(threads));
    let (witness, pair) =
        (Witness { first: 0, done: &done, order: order.as_deref() }, (ThreadId(0), ThreadId(1)));
    let checker = Run::new(&events);
    let accesses = checker.check(&witness, pair).expect("it is a witness");
    let short = shorten(&events, Watch::default(), &witness, pair);
    assert_eq!(checker.check(&short.witness(), pair), Ok(accesses), "{short:?}");
    let (steps, left_out) = short.steps.expect("there is one witness");
    assert_eq!(left_out, 0);
    let mut done: Vec<_> = short.done.iter().map(|&(thread, count)| (thread.0, count)).collect();
    done.sort_unstable();
    (done, steps.into_iter().map(|step| (step.event.thread.0, step.nth)).collect())
}

#[test]
fn what_no_access_needs_is_dropped() {
    let ops = [(0, fork(1)), (0, fork(2)), (2, write(F)), (2, read(F)), (1, write(X)), (0, write(X))];
    let (done, steps) = left(&ops, &[(0, 2), (2, 2)], None);
    assert_eq!((done, steps), (vec![(0, 2)], vec![(0, 0)]), "neither the third thread nor its creation");
}

#[test]
fn a_read_keeps_its_writer_and_both_are_told() {
    let ops = [(2, write(F)), (2, write(X + 64)), (1, read(F)), (1, write(X)), (0, write(X))];
    let (done, steps) = left(&ops, &[(1, 1), (2, 2)], None);
    assert_eq!((done, steps), (vec![(1, 1), (2, 1)], vec![(2, 0), (1, 0)]));
}

#[test]
fn a_write_that_a_fork_puts_first_needs_no_word() {
    let ops = [(0, write(F)), (0, fork(1)), (1, read(F)), (1, write(X)), (0, write(X))];
    let (_, steps) = left(&ops, &[(0, 2), (1, 1)], None);
    assert_eq!(steps, [(0, 1)]);
}

#[test]
fn a_second_look_at_the_flag_needs_no_word() {
    let ops = [(2, write(F)), (1, read(F)), (1, read(F)), (1, write(X)), (0, write(X))];
    let (_, steps) = left(&ops, &[(1, 2), (2, 1)], None);
    assert_eq!(steps, [(2, 0), (1, 0)]);
}

#[test]
fn a_lock_that_others_take_later_is_given_back() {
    let section = [(2, LOCK), (2, write(F)), (2, UNLOCK), (2, write(X + 64))];
    let rest = [(1, LOCK), (1, read(F)), (1, UNLOCK), (1, write(X)), (0, write(X))];
    let (done, steps) = left(&[&section[..], &rest].concat(), &[(1, 3), (2, 4)], None);
    assert_eq!(done, [(1, 3), (2, 3)], "up to the end of the section, and no further");
    assert_eq!(steps, [(2, 0), (2, 1), (2, 2), (1, 0), (1, 1), (1, 2)]);
}

#[test]
fn a_section_that_nobody_waits_for_stays_open() {
    let ops = [(2, LOCK), (2, write(F)), (2, UNLOCK), (1, read(F)), (1, write(X)), (0, LOCK), (0, write(X))];
    let order = [(0, 1), (2, 2), (1, 1)];
    let events = run(&ops);
    let both = Run::new(&events).check(
        &Witness { first: 0, done: &threads(&[(0, 1), (2, 2), (1, 1)]), order: Some(&threads(&order)) },
        (ThreadId(0), ThreadId(1)),
    );
    assert!(both.is_err(), "two threads hold the lock: {both:?}");
    let ops = &ops.map(|(thread, op)| (thread, if thread == 0 && op == LOCK { read(X + 32) } else { op }));
    let (done, _) = left(ops, &[(0, 1), (1, 1), (2, 3)], None);
    assert_eq!(done, [(0, 1), (1, 1), (2, 2)]);
}

#[test]
fn steps_come_in_the_order_of_the_witness() {
    let sections = [(0, LOCK), (0, UNLOCK), (1, LOCK), (1, UNLOCK), (1, write(X)), (0, write(X))];
    let (_, steps) = left(&sections, &[(0, 2), (1, 2)], Some(&[(1, 2), (0, 2)]));
    assert_eq!(steps, [(1, 0), (1, 1), (0, 0), (0, 1)]);
}

#[test]
fn a_lock_of_one_thread_is_nobodys_business() {
    let own = Op::Acquire { lock: OWN, mode: LockMode::Write };
    let ops = [(0, own), (1, LOCK), (1, UNLOCK), (1, write(X)), (0, LOCK), (0, write(X))];
    let (_, steps) = left(&ops, &[(0, 2), (1, 2)], None);
    assert_eq!(steps, [(1, 0), (1, 1), (0, 1)]);
}

#[test]
fn signals_atomics_and_barriers_are_told() {
    let post = Op::Signal { object: M, kind: SyncKind::Semaphore };
    let wait = Op::Wait { object: M, kind: SyncKind::Semaphore, woken: true };
    let atomic = |mode, order| Op::Access(Access { atomic: Some(order), ..Access::plain(F, 4, mode) });
    let arrive = Op::Arrive { barrier: OWN, count: 2 };
    let leave = Op::Leave { barrier: OWN };
    let ops = [
        (0, post),
        (1, wait),
        (0, atomic(Mode::Write, MemoryOrder::Release)),
        (1, atomic(Mode::Read, MemoryOrder::Acquire)),
        (0, arrive),
        (1, arrive),
        (0, leave),
        (1, leave),
        (1, write(X)),
        (0, write(X)),
    ];
    let (_, steps) = left(&ops, &[(0, 4), (1, 4)], None);
    assert_eq!(steps, [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (0, 3), (1, 3)]);
}

/// A run that is too long to be held loses no event of its witness; the last synchronisations are told, and how many there were.
#[test]
fn a_long_run_is_not_held() {
    let mut ops = vec![];
    (0..10).for_each(|_| ops.extend([(1, LOCK), (1, UNLOCK), (0, LOCK), (0, UNLOCK), (2, write(F))]));
    ops.extend([(1, write(X)), (0, write(X))]);
    let events = run(&ops);
    let done = threads(&[(0, 20), (1, 20), (2, 10)]);
    let witness = Witness { first: 0, done: &done, order: None };
    let short = shorten(&events, Watch::holding(6), &witness, (ThreadId(0), ThreadId(1)));
    assert_eq!((short.done, short.order), (done.clone(), None));
    let (steps, left_out) = short.steps.expect("there is one witness");
    let steps: Vec<(u32, u64)> = steps.iter().map(|step| (step.event.thread.0, step.nth)).collect();
    assert_eq!(steps, [(0, 16), (0, 17), (1, 18), (1, 19), (0, 18), (0, 19)]);
    assert_eq!(left_out, 34);
}

/// Makes witnesses longer as far as the checker lets it, and shortens them.
struct Fattening<'a> {
    events: &'a [Event],
    checker: &'a Run<'a>,
    counts: BTreeMap<ThreadId, u64>,
    /// Witnesses, and how many events they had, with more, and when they were shortened.
    seen: [usize; 4],
}

impl RaceSink for Fattening<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let pair = (race.earlier.thread, race.later.thread);
        let accesses = self.checker.check(witness, pair).expect("what was told is a witness");
        let mut done: BTreeMap<ThreadId, u64> = witness.done.iter().copied().collect();
        let mut order = witness.order.map_or_else(|| self.in_the_order_of_the_run(&done), <[_]>::to_vec);
        let total = |done: &[(ThreadId, u64)]| done.iter().map(|&(_, count)| count as usize).sum::<usize>();
        self.seen[0] += 1;
        self.seen[1] += total(witness.done);
        // Each further event that can come does, by turns.
        while self.grow(&mut done, &mut order, pair) {}
        let fat: Vec<_> = done.into_iter().collect();
        let witness = Witness { first: 0, done: &fat, order: Some(&order) };
        assert_eq!(self.checker.check(&witness, pair), Ok(accesses));
        let short = shorten(self.events, Watch::default(), &witness, pair);
        let checked = self.checker.check(&short.witness(), pair);
        assert_eq!(checked, Ok(accesses), "{witness:?} became {short:?} in {:#x?}", self.events);
        for &(thread, count) in &short.done {
            let before = fat.iter().find(|&&(of, _)| of == thread).map_or(0, |&(_, count)| count);
            assert!(count <= before && count > 0, "{thread:?} of {witness:?}: {short:?}");
        }
        self.seen[2] += total(&fat);
        self.seen[3] += total(&short.done);
        let (steps, left_out) = short.steps.clone().expect("there is one witness");
        assert_eq!(left_out, 0);
        let has = |thread, nth| short.done.iter().any(|&(of, count)| of == thread && nth < count);
        for step in steps {
            assert!(has(step.event.thread, step.nth), "{step:?} of {short:?}");
            assert!(step.sees.iter().all(|&(thread, nth)| has(thread, nth)), "{step:?} of {short:?}");
        }
    }
}

impl Fattening<'_> {
    fn in_the_order_of_the_run(&self, done: &BTreeMap<ThreadId, u64>) -> Vec<(ThreadId, u64)> {
        let mut counts: BTreeMap<ThreadId, u64> = BTreeMap::new();
        let in_it = |event: &&Event| {
            let count = counts.entry(event.thread).or_default();
            *count += 1;
            done.get(&event.thread).is_some_and(|&done| *count <= done)
        };
        self.events.iter().filter(in_it).map(|event| (event.thread, 1)).collect()
    }

    /// One more event of each thread but the racing ones that can come.
    fn grow(
        &self,
        done: &mut BTreeMap<ThreadId, u64>,
        order: &mut Vec<(ThreadId, u64)>,
        pair: (ThreadId, ThreadId),
    ) -> bool {
        let mut grown = false;
        for (&thread, &all) in self.counts.iter().filter(|&(&thread, _)| thread != pair.0 && thread != pair.1)
        {
            if done.get(&thread).copied().unwrap_or(0) == all {
                continue;
            }
            *done.entry(thread).or_default() += 1;
            order.push((thread, 1));
            let list: Vec<_> = done.iter().map(|(&thread, &count)| (thread, count)).collect();
            if self.checker.check(&Witness { first: 0, done: &list, order: Some(order) }, pair).is_ok() {
                grown = true;
                continue;
            }
            order.pop();
            if let Some(count) = done.get_mut(&thread) {
                *count -= 1;
            }
            done.retain(|_, count| *count > 0);
        }
        grown
    }
}

#[test]
fn what_is_left_of_a_witness_is_one() {
    let traces = if full() { 100_000 } else { 4_000 };
    for name in ["sync-preserving", "sync-reversal", "shb", "csp"] {
        let mut all = [0; 4];
        for seed in 0..traces {
            let events = Generator::trace(seed);
            let checker = Run::new(&events);
            let mut counts = BTreeMap::new();
            events.iter().for_each(|event| *counts.entry(event.thread).or_default() += 1);
            let mut sink = Fattening { events: &events, checker: &checker, counts, seen: [0; 4] };
            let mut detector = (registry::find(name).expect("it is registered").new)(Options::default());
            events.iter().for_each(|event| detector.step(event, &mut sink));
            detector.finish(&mut sink);
            all.iter_mut().zip(sink.seen).for_each(|(all, seen)| *all += seen);
        }
        let [witnesses, as_told, fat, short] = all;
        println!("{name}: {witnesses} witnesses of {as_told} events, made {fat}, shortened to {short}");
        // There must be something to drop, and nearly all of it must be dropped: waits keep more than some witnesses did.
        assert!(witnesses > 500 && fat > as_told + as_told / 10, "{name}");
        assert!((fat - short) * 10 > (fat - as_told) * 9, "{name}");
    }
}
