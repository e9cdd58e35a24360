//! The brute force over all correct reorderings: what it says of traces that are understood, and how it fits the brute
//! force of happens-before.

mod support;

use std::collections::BTreeSet;

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_detect::oracle::Oracle;
use deadheat_detect::oracle::reorder::{Reads, races};
use support::{full, short};

const X: u64 = 0x1000;
const Y: u64 = 0x1010;
const L: u64 = 0x9000;
const M: u64 = 0x9008;
const C: u64 = 0x9100;

fn r(at: u64) -> Op {
    Op::Access(Access::plain(at, 4, Mode::Read))
}

fn w(at: u64) -> Op {
    Op::Access(Access::plain(at, 4, Mode::Write))
}

fn atomic(at: u64, mode: Mode) -> Op {
    Op::Access(Access { atomic: Some(MemoryOrder::SeqCst), ..Access::plain(at, 4, mode) })
}

fn acq(lock: u64) -> Op {
    Op::Acquire { lock, mode: LockMode::Write }
}

fn rel(lock: u64) -> Op {
    Op::Release { lock, mode: LockMode::Write }
}

fn trace(events: &[(u32, Op)]) -> Vec<Event> {
    let event = |(index, &(thread, op)): (usize, &(u32, Op))| Event {
        thread: ThreadId(thread),
        place: PlaceId(index as u32 + 1),
        stack: StackId::EMPTY,
        times: 1,
        op,
    };
    events.iter().enumerate().map(event).collect()
}

/// The races of a trace with its reads kept, and without.
#[track_caller]
fn expect(events: &[(u32, Op)], kept: &[(usize, usize)], free: &[(usize, usize)]) {
    let events = trace(events);
    for (reads, wanted) in [(Reads::Kept, kept), (Reads::Free, free)] {
        let found: BTreeSet<_> = races(&events, reads).into_keys().collect();
        assert_eq!(found, wanted.iter().copied().collect(), "{reads:?}");
    }
}

#[test]
fn an_empty_critical_section_hides_a_race() {
    expect(&[(0, w(X)), (0, acq(L)), (0, rel(L)), (1, acq(L)), (1, rel(L)), (1, w(X))], &[(0, 5)], &[(0, 5)]);
}

#[test]
fn what_a_lock_protects_does_not_race() {
    let one = [(0, acq(L)), (0, w(X)), (0, rel(L)), (1, acq(L)), (1, w(X)), (1, rel(L))];
    expect(&one, &[], &[]);
}

#[test]
fn a_read_keeps_its_writer() {
    // Whether thread 1 comes to its write depends on what it read.
    let one =
        [(0, w(Y)), (0, acq(L)), (0, w(X)), (0, rel(L)), (1, acq(L)), (1, r(X)), (1, rel(L)), (1, w(Y))];
    expect(&one, &[], &[(0, 7)]);
}

#[test]
fn the_last_reads_of_a_race_may_see_anything() {
    expect(&[(0, w(X)), (1, r(X)), (1, w(Y)), (0, w(Y))], &[(0, 1), (2, 3)], &[(0, 1), (2, 3)]);
}

#[test]
fn critical_sections_may_change_places() {
    let one =
        [(0, acq(L)), (0, w(X)), (0, rel(L)), (0, w(Y)), (1, acq(L)), (1, w(X)), (1, rel(L)), (1, w(Y))];
    expect(&one, &[(3, 7)], &[(3, 7)]);
}

#[test]
fn two_locks_by_turns_protect() {
    let one =
        [(0, acq(L)), (0, acq(M)), (0, w(X)), (0, rel(M)), (0, rel(L)), (1, acq(M)), (1, w(X)), (1, rel(M))];
    expect(&one, &[], &[]);
}

#[test]
fn readers_of_a_lock_do_not_exclude_each_other() {
    let (take, give) =
        (Op::Acquire { lock: L, mode: LockMode::Read }, Op::Release { lock: L, mode: LockMode::Read });
    expect(&[(0, take), (0, w(X)), (0, give), (1, take), (1, w(X)), (1, give)], &[(1, 4)], &[(1, 4)]);
    expect(&[(0, acq(L)), (0, w(X)), (0, rel(L)), (1, take), (1, w(X)), (1, give)], &[], &[]);
}

#[test]
fn forks_and_joins_stay() {
    let fork = Op::Fork { child: ThreadId(1) };
    let join = Op::Join { child: ThreadId(1) };
    expect(&[(0, w(X)), (0, fork), (1, w(X)), (0, join), (0, w(X))], &[], &[]);
    expect(&[(0, fork), (0, w(X)), (1, w(X)), (0, join), (0, w(X))], &[(1, 2)], &[(1, 2)]);
}

#[test]
fn a_waiter_needs_a_signal_that_came_while_it_waited() {
    let kind = SyncKind::Condition;
    let signal = Op::Signal { object: C, kind };
    let begin = Op::Await { object: C, kind };
    let end = Op::Wait { object: C, kind, woken: true };
    expect(&[(0, begin), (1, w(X)), (1, signal), (0, end), (0, w(X))], &[], &[]);
    // Of two signals either will do.
    let two = [(0, begin), (1, signal), (1, w(X)), (1, signal), (0, end), (0, w(X))];
    expect(&two, &[(2, 5)], &[(2, 5)]);
    // A wait whose time ran out needs none.
    let late = Op::Wait { object: C, kind, woken: false };
    expect(&[(0, begin), (1, w(X)), (1, signal), (0, late), (0, w(X))], &[(1, 4)], &[(1, 4)]);
}

#[test]
fn a_semaphore_counts() {
    let kind = SyncKind::Semaphore;
    let post = Op::Signal { object: C, kind };
    let wait = Op::Wait { object: C, kind, woken: true };
    expect(&[(0, w(X)), (0, post), (1, wait), (1, w(X))], &[], &[]);
    // It was 1 at the start: the second wait needs the post, and then also the first may have taken it.
    expect(&[(1, wait), (1, w(X)), (0, w(X)), (0, post), (1, wait)], &[(1, 2)], &[(1, 2)]);
    expect(&[(0, w(X)), (0, post), (2, post), (1, wait), (1, w(X))], &[(0, 4)], &[(0, 4)]);
}

#[test]
fn a_barrier_holds_all_of_its_round() {
    let (arrive, leave) = (Op::Arrive { barrier: C, count: 2 }, Op::Leave { barrier: C });
    expect(&[(0, w(X)), (0, arrive), (1, arrive), (0, leave), (1, leave), (1, w(X))], &[], &[]);
    expect(&[(0, arrive), (1, arrive), (0, leave), (0, w(X)), (1, leave), (1, w(X))], &[(3, 5)], &[(3, 5)]);
}

#[test]
fn atomics_that_are_read_order_and_do_not_race() {
    let (read, write) = (atomic(Y, Mode::Read), atomic(Y, Mode::Write));
    expect(&[(0, w(X)), (0, write), (1, read), (1, w(X))], &[], &[(0, 3)]);
    // It read what was there before.
    expect(&[(1, read), (0, w(X)), (0, write), (1, w(X))], &[(1, 3)], &[(1, 3)]);
}

/// The first access of a run that races by happens-before does so in a correct reordering, too: up to there nothing has
/// gone wrong. (Not where an atomic that orders nothing is read.) What is so with its reads kept is so without.
#[test]
fn random_traces() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut racy, mut more, mut freely) = (0, 0, 0);
    for seed in 0..count {
        let events = short::trace(seed, 18);
        let ordered = Oracle::new(&events).races();
        let found = races(&events, Reads::Kept);
        let first = ordered.iter().map(|&(_, later)| later).min();
        if let Some(first) = first {
            racy += 1;
            let partners: Vec<_> = ordered.iter().filter(|&&(_, later)| later == first).collect();
            let atomics = events[..=first].iter().any(|event| match event.op {
                Op::Access(access) => access.atomic.is_some(),
                _ => false,
            });
            let told = partners.iter().any(|pair| found.contains_key(pair));
            assert!(atomics || told, "seed {seed}: {partners:?} of {events:#?}");
        }
        more += usize::from(found.keys().any(|pair| !ordered.contains(pair)));
        let free = races(&events, Reads::Free);
        assert!(found.keys().all(|pair| free.contains_key(pair)), "seed {seed}");
        freely += usize::from(free.len() > found.len());
    }
    println!(
        "{count} traces: {racy} with races, {more} with such as happens-before does not see, {freely} with such as reads rule out"
    );
    let common = |some: usize| some * 20 > count as usize && some * 20 < count as usize * 19;
    assert!(common(racy) && common(more) && common(freely), "{racy} {more} {freely}");
}
