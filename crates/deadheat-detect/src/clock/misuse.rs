//! From where on the events of a thread have no part in other orders, as it did what no run can: took or destroyed a lock that
//! another held, gave one back for another, or was created behind its first event.
//!
//! Invariant: an order without such events is one in which locks exclude, if what is kept of it would be in a run that is well formed.
//! So an analysis that predicts tells nothing that needs one of them.

use deadheat_core::event::{LockMode, Op};
use rustc_hash::FxHashMap;

use super::past::Now;
use super::threads::Threads;

/// What is known of who misuses what.
#[derive(Debug, Default)]
pub struct Misuse {
    locks: FxHashMap<u64, Lock>,
    threads: Vec<Thread>,
    /// By slot: the first event of this sort; 0 is none.
    from: Vec<u32>,
}

/// A lock.
#[derive(Debug, Default)]
struct Lock {
    /// Who holds it: row, mode, and how often.
    holders: Vec<(usize, LockMode, u32)>,
    /// The first that used it, and whether others did.
    first: usize,
    shared: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    acted: bool,
    /// It was created again, and has done nothing since.
    created_late: bool,
}

impl Misuse {
    /// Takes an event that is no access.
    pub fn step(&mut self, threads: &Threads, now: Now, op: &Op) {
        self.acts(now);
        let row = now.row;
        let is_wrong = match *op {
            Op::Acquire { lock, mode } => !self.lock(lock, row).take(row, mode),
            Op::Release { lock, .. } => !self.lock(lock, row).give(row),
            Op::Forget { object } => {
                let lock = self.locks.get(&object);
                lock.is_some_and(|lock| lock.holders.iter().any(|&(holder, ..)| holder != row))
            }
            Op::Fork { child } => {
                if let Some(child) = threads.find(child).filter(|&child| child != row)
                    && let Some(child) = self.threads.get_mut(child)
                {
                    child.created_late = child.acted;
                }
                false
            }
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::End
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => false,
        };
        if is_wrong {
            self.spoil(now);
        }
    }

    /// A thread does something.
    #[inline]
    pub fn acts(&mut self, now: Now) {
        if now.row >= self.threads.len() {
            self.threads.resize(now.row + 1, Thread::default());
        }
        let thread = &mut self.threads[now.row];
        thread.acted = true;
        if std::mem::take(&mut thread.created_late) {
            self.spoil(now);
        }
    }

    /// Whether an order that ends with these numbers, by slot, has such an event.
    #[must_use]
    #[inline]
    pub fn is_in(&self, done: &[u32]) -> bool {
        self.from.iter().zip(done).any(|(&from, &done)| from > 0 && done >= from)
    }

    /// Whether an access with that number in its slot is behind such an event, or is one.
    #[must_use]
    #[inline]
    pub fn is_behind(&self, slot: u32, number: u32) -> bool {
        self.from.get(slot as usize).is_some_and(|&from| from > 0 && number >= from)
    }

    #[cold]
    fn spoil(&mut self, now: Now) {
        let index = now.at.slot as usize;
        if index >= self.from.len() {
            self.from.resize(index + 1, 0);
        }
        if self.from[index] == 0 {
            self.from[index] = now.at.number;
        }
    }

    fn lock(&mut self, lock: u64, row: usize) -> &mut Lock {
        let lock = self.locks.entry(lock).or_insert_with(|| Lock { first: row, ..Lock::default() });
        lock.shared |= lock.first != row;
        lock
    }
}

impl Lock {
    /// A thread takes it; whether it can.
    fn take(&mut self, row: usize, mode: LockMode) -> bool {
        if let Some((.., depth)) = self.holders.iter_mut().find(|&&mut (holder, ..)| holder == row) {
            *depth += 1;
            return true;
        }
        let excludes =
            |&(_, held, _): &(usize, LockMode, u32)| mode == LockMode::Write || held == LockMode::Write;
        let is_free = !self.holders.iter().any(excludes);
        self.holders.push((row, mode, 1));
        is_free
    }

    /// A thread gives it back; whether that is its own to do. Where nobody else used it there is nothing to go wrong: who held it from before
    /// the trace gives it back.
    fn give(&mut self, row: usize) -> bool {
        let Some(at) = self.holders.iter().position(|&(holder, ..)| holder == row) else {
            return !self.shared;
        };
        self.holders[at].2 -= 1;
        if self.holders[at].2 == 0 {
            self.holders.remove(at);
        }
        true
    }
}
