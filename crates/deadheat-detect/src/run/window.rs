//! A record that keeps the last events of a run only: what the others leave behind.
//!
//! All before the window counts as done, in the run's order. Of it those events are kept that begin what is not over: acquires of locks that are held,
//! waits, and arrivals at barriers that somebody is in. Everything else that later events need is done: writers, births, posts, creations.
//!
//! Invariant: these kept events come first in the record, and every witness begins with all that lies before the window.

use deadheat_core::event::{LockMode, Op};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

use super::{Kept, Record};

/// About how many bytes an event takes in a run that is judged, but for what its thread knows by then.
const EVENT: usize = 400;

/// What an event that is kept begins, and has not ended.
#[derive(Default)]
struct Open {
    /// By lock: who holds it, in which mode, and the events with which he took it and did not give it back.
    locks: FxHashMap<u64, Vec<(ThreadId, LockMode, Vec<usize>)>>,
    /// By thread and object: the event with which it began to wait.
    waits: FxHashMap<(ThreadId, u64), usize>,
    /// By barrier: who is in it, and all arrivals and leaves since nobody was.
    barriers: FxHashMap<u64, (Vec<ThreadId>, Vec<usize>)>,
    /// Whether a lock was taken, given back or made while another thread had it.
    is_misused: bool,
}

impl Open {
    fn take(&mut self, at: usize, kept: &Kept) {
        let thread = kept.event.thread;
        match kept.event.op {
            Op::Acquire { lock, mode } => {
                let holders = self.locks.entry(lock).or_default();
                if let Some((.., taken)) = holders.iter_mut().find(|(holder, ..)| *holder == thread) {
                    return taken.push(at);
                }
                let excludes = |held: LockMode| mode == LockMode::Write || held == LockMode::Write;
                self.is_misused |= holders.iter().any(|&(_, held, _)| excludes(held));
                holders.push((thread, mode, vec![at]));
            }
            Op::Release { lock, .. } => self.release(thread, lock),
            Op::Await { object, .. } => {
                self.waits.insert((thread, object), at);
            }
            Op::Wait { object, .. } => {
                self.waits.remove(&(thread, object));
            }
            Op::Arrive { barrier, .. } => {
                let (inside, events) = self.barriers.entry(barrier).or_default();
                inside.push(thread);
                events.push(at);
            }
            Op::Leave { barrier } => {
                let (inside, events) = self.barriers.entry(barrier).or_default();
                events.push(at);
                if let Some(own) = inside.iter().position(|&other| other == thread) {
                    inside.swap_remove(own);
                }
                if inside.is_empty() {
                    self.barriers.remove(&barrier);
                }
            }
            Op::Forget { object } => {
                let held = self.locks.get(&object);
                self.is_misused |= held.is_some_and(|held| held.iter().any(|&(holder, ..)| holder != thread));
                self.waits.retain(|&(_, on), _| on != object);
                self.barriers.remove(&object);
            }
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::End
            | Op::Signal { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }

    fn release(&mut self, thread: ThreadId, lock: u64) {
        let Some(holders) = self.locks.get_mut(&lock) else { return };
        let Some(own) = holders.iter().position(|&(holder, ..)| holder == thread) else {
            self.is_misused |= !holders.is_empty();
            return;
        };
        let taken = &mut holders[own].2;
        taken.pop();
        if taken.is_empty() {
            holders.remove(own);
        }
    }

    /// The events to keep, in their order.
    fn events(&self) -> Vec<usize> {
        let locks = self.locks.values().flatten().flat_map(|(.., taken)| taken.iter().copied());
        let barriers = self.barriers.values().flat_map(|(_, events)| events.iter().copied());
        let mut events: Vec<usize> = locks.chain(self.waits.values().copied()).chain(barriers).collect();
        events.sort_unstable();
        events
    }
}

/// A moment of the run: the end of what is to be forgotten next.
#[derive(Debug)]
pub(super) struct Mark {
    /// How many events the record had.
    len: usize,
    /// How many events there were in the trace.
    events: u64,
    /// How many each thread had.
    counts: Vec<u64>,
}

impl Record {
    /// About how many bytes the events take as a run, and to judge it.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.events.len() * EVENT + self.learning * size_of::<u32>() * self.threads.ids.len()
    }

    /// How many events of the trace lie before the window.
    #[must_use]
    pub fn before(&self) -> u64 {
        self.before
    }

    /// Whether what lies before the window is such that no witness can begin with it: a lock was used there as in no run.
    #[must_use]
    pub fn is_misused(&self) -> bool {
        self.is_misused
    }

    /// Marks the present moment, unless one is marked.
    pub fn mark(&mut self) {
        if self.mark.is_none() {
            let (len, events) = (self.events.len(), self.taken);
            self.mark = Some(Mark { len, events, counts: self.threads.counts.clone() });
            // Of each thread that does anything behind it there is an event.
            self.threads.fresh.fill(true);
        }
    }

    /// Forgets all up to the mark; how many of the record's events that took away.
    pub fn forget(&mut self) -> usize {
        let Some(Mark { len, events, counts }) = self.mark.take() else { return 0 };
        let mut open = Open::default();
        for (at, kept) in self.events[..len].iter().enumerate() {
            open.take(at, kept);
            self.start.of(&kept.event);
        }
        self.is_misused |= open.is_misused;
        let mut left: Vec<Kept> = open.events().into_iter().map(|at| self.events[at]).collect();
        self.base = left.len();
        left.extend_from_slice(&self.events[len..]);
        let gone = self.events.len() - left.len();
        self.events = left;
        self.threads.last.fill(None);
        for (at, kept) in self.events.iter().enumerate() {
            self.threads.last[self.threads.rows[&kept.event.thread] as usize] = Some(at);
        }
        self.learning = self.events.iter().filter(|kept| learns(&kept.event.op)).count();
        (self.before, self.done) = (events, counts);
        gone
    }
}

/// Whether an event may tell its thread of another, so that what the thread knows is kept for it.
pub(super) fn learns(op: &Op) -> bool {
    match op {
        Op::Access(access) => access.mode.reads(),
        Op::Acquire { .. } | Op::Release { .. } | Op::Fence(_) => false,
        Op::Fork { .. }
        | Op::Join { .. }
        | Op::Signal { .. }
        | Op::Await { .. }
        | Op::Wait { .. }
        | Op::Arrive { .. }
        | Op::Leave { .. }
        | Op::Alloc { .. }
        | Op::Free { .. }
        | Op::Forget { .. }
        | Op::Request { .. }
        | Op::Begin
        | Op::End
        | Op::Branch
        | Op::Enter
        | Op::Exit
        | Op::HiddenBegin
        | Op::HiddenEnd
        | Op::Fault { .. } => true,
    }
}
