//! Short random traces dense with synchronisation, for searches through all orders of their events.

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{Event, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

use super::random::Random;

const THREADS: usize = 3;
const VARIABLES: [u64; 2] = [0x1000, 0x1010];
const ATOMIC: u64 = 0x1020;
const LOCKS: [u64; 2] = [0x9000, 0x9008];
const CONDITION: u64 = 0x9100;

struct Thread {
    /// Whether it was created, and has not ended.
    runs: bool,
    ended: bool,
    held: Vec<(u64, LockMode)>,
    /// Whether it waits, and a signal has come since.
    waits: Option<bool>,
}

/// The trace of a seed: up to `length` events of up to three threads, with two variables, an atomic, two
/// locks, and a condition variable. The place of an event is its number, from 1.
pub(crate) fn trace(seed: u64, length: usize) -> Vec<Event> {
    let mut random = Random(seed);
    let everybody = random.one_in(2);
    let mut threads: Vec<Thread> = (0..THREADS)
        .map(|index| Thread { runs: index == 0 || everybody, ended: false, held: Vec::new(), waits: None })
        .collect();
    let mut events: Vec<Event> = Vec::new();
    // A trace has some of the families only: all at once leave little to change places.
    let families: Vec<usize> = (0..4).filter(|_| random.one_in(3)).chain([4, 4, 4, 4, 5, 5, 5]).collect();
    for _ in 0..4 * length {
        if events.len() >= length {
            break;
        }
        let thread = random.below(THREADS);
        if let Some(op) = next(&mut random, &mut threads, thread, &families) {
            let (place, stack) = (PlaceId(events.len() as u32 + 1), StackId::EMPTY);
            events.push(Event { thread: ThreadId(thread as u32), place, stack, times: 1, op });
        }
    }
    events
}

/// What a thread does next, if it does anything.
fn next(random: &mut Random, threads: &mut [Thread], thread: usize, families: &[usize]) -> Option<Op> {
    if !threads[thread].runs || threads[thread].ended {
        return None;
    }
    let kind = SyncKind::Condition;
    if let Some(signalled) = threads[thread].waits {
        if !signalled && !random.one_in(8) {
            return None;
        }
        threads[thread].waits = None;
        return Some(Op::Wait { object: CONDITION, kind, woken: signalled });
    }
    match random.pick(families) {
        0 => fork_or_join(random, threads, thread),
        1 => {
            let order = random.pick(&[MemoryOrder::Relaxed, MemoryOrder::AcqRel]);
            let mode = random.pick(&[Mode::Read, Mode::Write, Mode::ReadWrite]);
            Some(Op::Access(Access { atomic: Some(order), ..Access::plain(ATOMIC, 4, mode) }))
        }
        2 if random.one_in(2) => {
            threads[thread].waits = Some(false);
            Some(Op::Await { object: CONDITION, kind })
        }
        2 => {
            threads.iter_mut().filter_map(|other| other.waits.as_mut()).for_each(|woken| *woken = true);
            Some(Op::Signal { object: CONDITION, kind })
        }
        3 => lock(random, threads, thread, LockMode::Read),
        4 => lock(random, threads, thread, LockMode::Write),
        _ => {
            let mode = random.pick(&[Mode::Read, Mode::Write]);
            Some(Op::Access(Access::plain(random.pick(&VARIABLES), 4, mode)))
        }
    }
}

fn fork_or_join(random: &mut Random, threads: &mut [Thread], thread: usize) -> Option<Op> {
    let other = random.below(THREADS);
    if other == thread {
        return None;
    }
    let child = ThreadId(other as u32);
    if !threads[other].runs {
        threads[other].runs = true;
        return Some(Op::Fork { child });
    }
    let idle = threads[other].held.is_empty() && threads[other].waits.is_none();
    if other == 0 || !idle || threads[other].ended {
        return None;
    }
    threads[other].ended = true;
    Some(Op::Join { child })
}

/// Gives back the lock that the thread took last, or takes one.
fn lock(random: &mut Random, threads: &mut [Thread], thread: usize, mode: LockMode) -> Option<Op> {
    if !threads[thread].held.is_empty() && random.one_in(2) {
        let (lock, mode) = threads[thread].held.pop()?;
        return Some(Op::Release { lock, mode });
    }
    let lock = random.pick(&LOCKS);
    let mut held = threads.iter().flat_map(|thread| &thread.held).filter(|(other, _)| *other == lock);
    let mine = threads[thread].held.iter().any(|&(other, _)| other == lock);
    if mine || held.any(|&(_, other)| mode == LockMode::Write || other == LockMode::Write) {
        return None;
    }
    threads[thread].held.push((lock, mode));
    Some(Op::Acquire { lock, mode })
}
