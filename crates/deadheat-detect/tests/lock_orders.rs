//! The lock orders that `findings` tells, compared with a brute force on small random programs: what the definition says
//! of each set of requests, and what all ways to run the program come to.

mod support;

use std::collections::BTreeSet;

use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::finding::Finding;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::Detector;
use deadheat_detect::findings::Findings;
use support::random::Random;

/// A pair of locks: one is asked for under the other.
type Pairs = BTreeSet<(u64, u64)>;

/// A program: what each thread does. The first one forks and joins the others.
type Program = Vec<Vec<Op>>;

/// The pairs of the cycles that are told as possible.
#[derive(Default)]
struct Told(Pairs);

impl RaceSink for Told {
    fn race(&mut self, _: &Race, _: &dyn LockSets) {}

    fn finding(&mut self, finding: &Finding<'_>) {
        if let Finding::LockOrder { possible: true, cycle } = finding {
            self.0.extend(cycle.iter().map(|nesting| (nesting.held, nesting.wanted)));
        }
    }
}

fn told(events: &[Event]) -> Pairs {
    let (mut findings, mut sink) = (Findings::default(), Told::default());
    events.iter().for_each(|event| findings.step(event, &mut sink));
    findings.finish(&mut sink);
    sink.0
}

/// Adds a section on a lock, with others inside, and at most `depth` locks held at a time.
fn section(random: &mut Random, locks: usize, held: &mut Vec<u64>, depth: usize, ops: &mut Vec<Op>) {
    let lock = random.below(locks) as u64 + 1;
    if held.contains(&lock) {
        return;
    }
    let mode = if random.below(4) == 0 { LockMode::Read } else { LockMode::Write };
    ops.extend([Op::Request { lock, mode }, Op::Acquire { lock, mode }]);
    held.push(lock);
    while held.len() < depth && random.below(3) > 0 {
        section(random, locks, held, depth, ops);
    }
    held.pop();
    ops.push(Op::Release { lock, mode });
}

fn program(random: &mut Random, threads: u32, locks: usize, depth: usize) -> Program {
    let sections = |random: &mut Random| {
        let mut ops = Vec::new();
        for _ in 0..random.below(3) {
            section(random, locks, &mut Vec::new(), depth, &mut ops);
        }
        ops
    };
    let mut program: Program = vec![sections(random)];
    for child in (1..threads).map(ThreadId) {
        program[0].push(Op::Fork { child });
        let more = sections(random);
        program[0].extend(more);
        if random.below(3) == 0 {
            program[0].push(Op::Join { child });
        }
        let own = sections(random);
        program.push(own);
    }
    program
}

/// Where each thread of a program is.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct State(Vec<usize>);

impl State {
    /// The locks that a thread holds.
    fn held(&self, program: &Program, thread: usize) -> Vec<(u64, LockMode)> {
        let mut held = Vec::new();
        for op in &program[thread][..self.0[thread]] {
            match *op {
                Op::Acquire { lock, mode } => held.push((lock, mode)),
                Op::Release { lock, .. } => held.retain(|row| row.0 != lock),
                _ => {}
            }
        }
        held
    }

    /// The threads that hold a lock in a way that makes another wait.
    fn in_the_way(&self, program: &Program, thread: usize, lock: u64, mode: LockMode) -> Vec<usize> {
        let conflicts =
            |held: &(u64, LockMode)| held.0 == lock && (mode == LockMode::Write || held.1 == LockMode::Write);
        let others = (0..program.len()).filter(|&other| other != thread);
        others.filter(|&other| self.held(program, other).iter().any(conflicts)).collect()
    }

    /// What a thread does next, if it can.
    fn next(&self, program: &Program, thread: usize) -> Option<Op> {
        let forked = |child: usize| {
            let done = &program[0][..self.0[0]];
            child == 0 || done.contains(&Op::Fork { child: ThreadId(child as u32) })
        };
        let op = *program[thread].get(self.0[thread])?;
        let can = match op {
            Op::Acquire { lock, mode } => self.in_the_way(program, thread, lock, mode).is_empty(),
            Op::Join { child } => self.0[child.index()] == program[child.index()].len(),
            _ => true,
        };
        (can && forked(thread)).then_some(op)
    }

    fn after(&self, thread: usize) -> State {
        let mut state = self.clone();
        state.0[thread] += 1;
        state
    }
}

/// The events of a random run; `None` if its threads came to wait for each other.
fn run(random: &mut Random, program: &Program) -> Option<Vec<Event>> {
    let mut state = State(vec![0; program.len()]);
    let mut events = Vec::new();
    loop {
        let ready: Vec<usize> =
            (0..program.len()).filter(|&thread| state.next(program, thread).is_some()).collect();
        if ready.is_empty() {
            let ended = program.iter().zip(&state.0).all(|(ops, at)| ops.len() == *at);
            return ended.then_some(events);
        }
        let thread = random.pick(&ready);
        let op = state.next(program, thread)?;
        let place = PlaceId(events.len() as u32 + 1);
        events.push(Event { thread: ThreadId(thread as u32), place, stack: StackId::EMPTY, times: 1, op });
        state = state.after(thread);
    }
}

/// The pairs of all cycles of threads that wait for each other in any way to run the program.
fn reached(program: &Program) -> Pairs {
    let mut pairs = Pairs::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![State(vec![0; program.len()])];
    while let Some(state) = open.pop() {
        if !seen.insert(state.clone()) {
            continue;
        }
        for thread in 0..program.len() {
            if state.next(program, thread).is_some() {
                open.push(state.after(thread));
            }
            waits(program, &state, &mut vec![thread], &mut Vec::new(), &mut pairs);
        }
    }
    pairs
}

/// Adds the pairs of the cycles of waiting threads that begin with the first of `path`.
fn waits(program: &Program, state: &State, path: &mut Vec<usize>, locks: &mut Vec<u64>, pairs: &mut Pairs) {
    let thread = path[path.len() - 1];
    let Some(&Op::Acquire { lock, mode }) = program[thread].get(state.0[thread]) else { return };
    locks.push(lock);
    for other in state.in_the_way(program, thread, lock, mode) {
        if other == path[0] {
            // Each thread holds the lock that the one before waits for.
            let before = locks.iter().cycle().skip(locks.len() - 1);
            pairs.extend(before.copied().zip(locks.iter().copied()));
        } else if !path.contains(&other) {
            path.push(other);
            waits(program, state, path, locks, pairs);
            path.pop();
        }
    }
    locks.pop();
}

/// A request as the definition sees it.
struct Request {
    at: usize,
    thread: ThreadId,
    held: Vec<(u64, LockMode)>,
    lock: u64,
    mode: LockMode,
}

/// The pairs of all cycles that the definition calls possible.
fn defined(events: &[Event], threads: usize) -> Pairs {
    let mut held = vec![Vec::new(); threads];
    let mut requests = Vec::new();
    for (at, event) in events.iter().enumerate() {
        let own: &mut Vec<(u64, LockMode)> = &mut held[event.thread.index()];
        match event.op {
            Op::Request { lock, mode } if !own.is_empty() => {
                requests.push(Request { at, thread: event.thread, held: own.clone(), lock, mode });
            }
            Op::Acquire { lock, mode } => own.push((lock, mode)),
            Op::Release { lock, .. } => own.retain(|row| row.0 != lock),
            _ => {}
        }
    }
    let mut pairs = Pairs::new();
    for first in 0..requests.len() {
        extend(events, &requests, &mut vec![first], &mut pairs);
    }
    pairs
}

fn extend(events: &[Event], requests: &[Request], path: &mut Vec<usize>, pairs: &mut Pairs) {
    let conflict = |one: LockMode, other: LockMode| one == LockMode::Write || other == LockMode::Write;
    let meets = |one: &Request, next: &Request| {
        next.held.iter().any(|held| held.0 == one.lock && conflict(one.mode, held.1))
    };
    let (first, last) = (&requests[path[0]], &requests[path[path.len() - 1]]);
    if path.len() > 1 && meets(last, first) {
        let before = path.iter().cycle().skip(path.len() - 1);
        pairs.extend(before.zip(path.iter()).map(|(&one, &next)| (requests[one].lock, requests[next].lock)));
    }
    for (at, next) in requests.iter().enumerate() {
        let apart = path.iter().map(|&other| &requests[other]).all(|other| {
            let guarded = other
                .held
                .iter()
                .any(|one| next.held.iter().any(|held| held.0 == one.0 && conflict(one.1, held.1)));
            other.thread != next.thread
                && !guarded
                && !before(events, other.at, next.at)
                && !before(events, next.at, other.at)
        });
        if apart && meets(last, next) {
            path.push(at);
            extend(events, requests, path, pairs);
            path.pop();
        }
    }
}

/// Whether threads, forks and joins order one event before another.
fn before(events: &[Event], from: usize, to: usize) -> bool {
    let mut reached = vec![false; events.len()];
    reached[from] = true;
    for at in from + 1..events.len() {
        reached[at] = (from..at).any(|earlier| {
            let (one, next) = (&events[earlier], &events[at]);
            reached[earlier]
                && (one.thread == next.thread
                    || one.op == Op::Fork { child: next.thread }
                    || next.op == Op::Join { child: one.thread })
        });
    }
    reached[to]
}

/// Compares on many programs; gives how many had a cycle.
#[track_caller]
fn compare(seed: u64, threads: u32, locks: usize, depth: usize, exact: bool) -> u32 {
    let mut random = Random(seed);
    let mut cyclic = 0;
    for _ in 0..if support::full() { 4000 } else { 400 } {
        let program = program(&mut random, threads, locks, depth);
        let Some(events) = run(&mut random, &program) else { continue };
        let told = told(&events);
        let defined = defined(&events, program.len());
        assert_eq!(told, defined, "the definition says otherwise: {events:#?}");
        let reached = reached(&program);
        assert!(reached.is_subset(&told), "a deadlock {reached:?} is not told: {told:?} {events:#?}");
        if exact {
            assert_eq!(told, reached, "what is told cannot happen: {events:#?}");
        }
        cyclic += u32::from(!told.is_empty());
    }
    cyclic
}

#[test]
fn two_locks_at_a_time_are_told_exactly() {
    let cyclic = compare(1, 3, 3, 2, true);
    assert!(cyclic > 10, "{cyclic} cyclic programs are too few");
}

#[test]
fn no_deadlock_is_missed_with_more_locks_and_threads() {
    let cyclic = compare(2, 4, 4, 3, false);
    assert!(cyclic > 10, "{cyclic} cyclic programs are too few");
}
