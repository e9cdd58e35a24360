//! Happens-before and the predictions against brute force on all small traces: two threads of three
//! operations each and three threads of two each, in every interleaving, over several small alphabets.
//! Shorter traces are among their beginnings.
//!
//! The predictions have alphabets of four or five operations, as their brute force goes through all orders. By default every
//! nineteenth trace is looked at, at full count all.

mod support;

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use support::orders::{self, OTHERS};
use support::{check, full};

const X: u64 = 0x10f8;
const FLAG: u64 = 0x2000;
const LOCK: u64 = 0x3000;
const POINT: u64 = 0x4000;

const fn plain(address: u64, size: u64, mode: Mode) -> Op {
    Op::Access(Access::plain(address, size, mode))
}

const fn atomic(mode: Mode, order: MemoryOrder) -> Op {
    Op::Access(Access { atomic: Some(order), ..Access::plain(FLAG, 4, mode) })
}

const WRITE: Op = plain(X, 4, Mode::Write);
const READ: Op = plain(X, 4, Mode::Read);
const READ_WIDE: Op = plain(X, 8, Mode::Read);
const WRITE_ASKEW: Op = plain(X + 2, 4, Mode::Write);
const READ_LAST: Op = plain(X + 7, 1, Mode::Read);
const ACQUIRE: Op = Op::Acquire { lock: LOCK, mode: LockMode::Write };
const RELEASE: Op = Op::Release { lock: LOCK, mode: LockMode::Write };
const ACQUIRE_READ: Op = Op::Acquire { lock: LOCK, mode: LockMode::Read };
const RELEASE_READ: Op = Op::Release { lock: LOCK, mode: LockMode::Read };
const POST: Op = Op::Signal { object: POINT, kind: SyncKind::Semaphore };
const WAIT: Op = Op::Wait { object: POINT, kind: SyncKind::Semaphore, woken: true };
const SIGNAL: Op = Op::Signal { object: POINT, kind: SyncKind::Condition };
const AWAIT: Op = Op::Await { object: POINT, kind: SyncKind::Condition };
const WOKEN: Op = Op::Wait { object: POINT, kind: SyncKind::Condition, woken: true };
const ARRIVE: Op = Op::Arrive { barrier: POINT, count: 2 };
const LEAVE: Op = Op::Leave { barrier: POINT };
const ALLOC: Op = Op::Alloc { address: X, size: 8, kind: BlockKind::Heap };
const FREE: Op = Op::Free { address: X, size: 8, kind: BlockKind::Heap };

/// The traces of an alphabet that were looked at, and how many races they had.
#[derive(Default)]
struct Seen {
    met: usize,
    looked_at: usize,
    /// Traces with races, and all races.
    racy: usize,
    races: usize,
}

impl Seen {
    fn has_both(&self) {
        assert!(self.racy * 20 > self.looked_at && self.racy < self.looked_at, "both outcomes are common");
    }
}

/// Looks at all traces of `threads` threads with `each` operations each: how many races a trace has.
fn look_at(
    alphabet: &[Op],
    (threads, each): (usize, usize),
    races: impl Fn(usize, &[Event]) -> usize,
) -> Seen {
    let mut seen = Seen::default();
    let mut orders = Vec::new();
    interleave(&mut vec![each; threads], &mut Vec::new(), &mut orders);
    for mut number in 0..alphabet.len().pow((threads * each) as u32) {
        let mut ops = Vec::with_capacity(threads * each);
        for _ in 0..threads * each {
            ops.push(alphabet[number % alphabet.len()]);
            number /= alphabet.len();
        }
        for order in &orders {
            let events = trace(&ops, order, each);
            if !possible(&events) {
                continue;
            }
            seen.met += 1;
            // A stride that shares no factor with the number of interleavings.
            if full() || seen.met.is_multiple_of(19) {
                seen.looked_at += 1;
                let races = races(seen.met, &events);
                seen.races += races;
                seen.racy += usize::from(races > 0);
            }
        }
    }
    println!("{} of {} traces looked at, {} with {} races", seen.looked_at, seen.met, seen.racy, seen.races);
    seen
}

/// Happens-before.
fn all(alphabet: &[Op], threads: usize, each: usize) {
    let seen = look_at(alphabet, (threads, each), |_, events| check::agree(events));
    seen.has_both();
}

/// The predictions.
fn all_orders(alphabet: &[Op], threads: usize, each: usize) {
    let seen = look_at(alphabet, (threads, each), |number, events| {
        orders::within(number as u64, &OTHERS, events);
        orders::equal(number as u64, events).iter().sum()
    });
    seen.has_both();
}

fn interleave(left: &mut [usize], order: &mut Vec<usize>, orders: &mut Vec<Vec<usize>>) {
    if left.iter().all(|&count| count == 0) {
        return orders.push(order.clone());
    }
    for thread in 0..left.len() {
        if left[thread] > 0 {
            left[thread] -= 1;
            order.push(thread);
            interleave(left, order, orders);
            order.pop();
            left[thread] += 1;
        }
    }
}

fn trace(ops: &[Op], order: &[usize], each: usize) -> Vec<Event> {
    let mut next = [0; 3];
    let mut events = Vec::with_capacity(order.len());
    for &thread in order {
        let op = ops[thread * each + next[thread]];
        next[thread] += 1;
        let place = PlaceId(events.len() as u32 + 1);
        events.push(Event { thread: ThreadId(thread as u32), place, stack: StackId(0), times: 1, op });
    }
    events
}

/// Whether the locks of a trace exclude each other and are given back by who holds them, and
/// waits and barriers are entered before they are left.
fn possible(events: &[Event]) -> bool {
    let mut held: Vec<(ThreadId, LockMode)> = Vec::new();
    let mut waiting: Vec<(ThreadId, Op)> = Vec::new();
    for event in events {
        let thread = event.thread;
        let was_waiting = waiting.iter().position(|&(waiter, _)| waiter == thread);
        if event.op == WOKEN || event.op == LEAVE {
            let entered = if event.op == WOKEN { AWAIT } else { ARRIVE };
            match was_waiting {
                Some(index) if waiting[index].1 == entered => waiting.remove(index),
                _ => return false,
            };
        } else if was_waiting.is_some() {
            return false;
        } else if event.op == AWAIT || event.op == ARRIVE {
            waiting.push((thread, event.op));
        } else if let Op::Acquire { mode, .. } = event.op {
            let excluded = |&(holder, other): &(ThreadId, LockMode)| {
                holder == thread || mode == LockMode::Write || other == LockMode::Write
            };
            if held.iter().any(excluded) {
                return false;
            }
            held.push((thread, mode));
        } else if let Op::Release { mode, .. } = event.op {
            match held.iter().position(|&holder| holder == (thread, mode)) {
                Some(index) => held.remove(index),
                None => return false,
            };
        }
    }
    true
}

#[test]
fn two_threads_locks_and_sizes() {
    all(&[WRITE, READ, READ_WIDE, WRITE_ASKEW, READ_LAST, ACQUIRE, RELEASE], 2, 3);
}

#[test]
fn two_threads_atomics() {
    let store = atomic(Mode::Write, MemoryOrder::Release);
    let silent = atomic(Mode::Write, MemoryOrder::Relaxed);
    let add = atomic(Mode::ReadWrite, MemoryOrder::Relaxed);
    let load = atomic(Mode::Read, MemoryOrder::Acquire);
    let plain = plain(FLAG, 4, Mode::Write);
    all(&[WRITE, READ, store, silent, add, load, plain], 2, 3);
}

#[test]
fn two_threads_fences() {
    let store = atomic(Mode::Write, MemoryOrder::Relaxed);
    let load = atomic(Mode::Read, MemoryOrder::Relaxed);
    let (acquire, release) = (Op::Fence(MemoryOrder::Acquire), Op::Fence(MemoryOrder::Release));
    all(&[WRITE, READ, store, load, acquire, release], 2, 3);
}

#[test]
fn two_threads_waits() {
    all(&[WRITE, READ, POST, WAIT, SIGNAL, AWAIT, WOKEN], 2, 3);
}

#[test]
fn two_threads_memory() {
    all(&[WRITE, READ_LAST, ALLOC, FREE, POST, WAIT], 2, 3);
}

#[test]
fn two_threads_read_locks_and_barriers() {
    all(&[WRITE, READ, ACQUIRE_READ, RELEASE_READ, ARRIVE, LEAVE], 2, 3);
}

#[test]
fn three_threads_sequences() {
    let store = atomic(Mode::Write, MemoryOrder::Release);
    let add = atomic(Mode::ReadWrite, MemoryOrder::Relaxed);
    let load = atomic(Mode::Read, MemoryOrder::Acquire);
    all(&[WRITE, READ_WIDE, store, add, load], 3, 2);
}

#[test]
fn three_threads_points() {
    all(&[WRITE, READ, POST, WAIT, WRITE_ASKEW], 3, 2);
}

#[test]
fn orders_of_locks() {
    all_orders(&[WRITE, READ, ACQUIRE, RELEASE], 2, 3);
}

#[test]
fn orders_of_read_locks() {
    all_orders(&[WRITE, ACQUIRE, RELEASE, ACQUIRE_READ, RELEASE_READ], 2, 3);
}

#[test]
fn orders_of_bytes() {
    all_orders(&[WRITE, READ_WIDE, WRITE_ASKEW, READ_LAST], 2, 3);
}

#[test]
fn orders_of_atomics() {
    let store = atomic(Mode::Write, MemoryOrder::Release);
    let add = atomic(Mode::ReadWrite, MemoryOrder::Relaxed);
    let load = atomic(Mode::Read, MemoryOrder::Acquire);
    all_orders(&[WRITE, store, add, load], 2, 3);
}

#[test]
fn orders_of_semaphores() {
    all_orders(&[WRITE, READ, POST, WAIT], 2, 3);
}

#[test]
fn orders_of_conditions() {
    all_orders(&[WRITE, SIGNAL, AWAIT, WOKEN], 2, 3);
}

#[test]
fn orders_of_barriers() {
    all_orders(&[WRITE, READ, ARRIVE, LEAVE], 2, 3);
}

#[test]
fn orders_of_memory() {
    all_orders(&[WRITE, READ_LAST, ALLOC, FREE], 2, 3);
}

#[test]
fn orders_of_three_threads() {
    all_orders(&[WRITE, READ, ACQUIRE, RELEASE], 3, 2);
}
