//! Sets of held locks, each stored once.
//!
//! Invariant: two threads that took the same locks in the same order and mode have the same
//! [`LockSetId`]; 0 is the empty set.

use deadheat_core::event::LockMode;
use deadheat_core::race::{HeldLock, LockSetId, LockSets};
use rustc_hash::FxHashMap;

/// The locks that one thread holds.
#[derive(Debug, Default)]
pub struct Held {
    locks: Vec<(HeldLock, u32)>,
}

/// What a release turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released {
    /// The lock is still held: it was taken more than once, in this mode.
    Inner(LockMode),
    /// The lock is free of this thread, which had taken it in this mode.
    Outer(LockMode),
    /// The thread did not hold it (only in traces that are not well formed).
    Unheld,
}

impl Held {
    /// Takes a lock; `true` if the thread did not hold it yet.
    pub fn take(&mut self, lock: u64, mode: LockMode) -> bool {
        if let Some((_, depth)) = self.locks.iter_mut().rev().find(|(held, _)| held.lock == lock) {
            *depth += 1;
            return false;
        }
        self.locks.push((HeldLock { lock, mode }, 1));
        true
    }

    /// Gives a lock back.
    pub fn give(&mut self, lock: u64) -> Released {
        let Some(index) = self.locks.iter().rposition(|(held, _)| held.lock == lock) else {
            return Released::Unheld;
        };
        let (held, depth) = &mut self.locks[index];
        let mode = held.mode;
        if *depth > 1 {
            *depth -= 1;
            return Released::Inner(mode);
        }
        self.locks.remove(index);
        Released::Outer(mode)
    }
}

/// The lock sets of a run.
#[derive(Debug)]
pub struct LockTable {
    sets: Vec<Box<[HeldLock]>>,
    ids: FxHashMap<Box<[HeldLock]>, LockSetId>,
    with: FxHashMap<(LockSetId, HeldLock), LockSetId>,
    without: FxHashMap<(LockSetId, u64), LockSetId>,
}

impl Default for LockTable {
    fn default() -> Self {
        let empty: Box<[HeldLock]> = Box::default();
        let ids = FxHashMap::from_iter([(empty.clone(), LockSetId(0))]);
        Self { sets: vec![empty], ids, with: FxHashMap::default(), without: FxHashMap::default() }
    }
}

impl LockTable {
    /// The set with one more lock, taken last.
    pub fn with(&mut self, set: LockSetId, lock: HeldLock) -> LockSetId {
        if let Some(&known) = self.with.get(&(set, lock)) {
            return known;
        }
        let mut locks = self.locks(set).to_vec();
        locks.push(lock);
        let id = self.intern(locks);
        self.with.insert((set, lock), id);
        id
    }

    /// The set without a lock.
    pub fn without(&mut self, set: LockSetId, lock: u64) -> LockSetId {
        if let Some(&known) = self.without.get(&(set, lock)) {
            return known;
        }
        let mut locks = self.locks(set).to_vec();
        locks.retain(|held| held.lock != lock);
        let id = self.intern(locks);
        self.without.insert((set, lock), id);
        id
    }

    fn intern(&mut self, locks: Vec<HeldLock>) -> LockSetId {
        let locks = locks.into_boxed_slice();
        if let Some(&known) = self.ids.get(&locks) {
            return known;
        }
        let id = LockSetId(u32::try_from(self.sets.len()).unwrap_or(u32::MAX));
        self.sets.push(locks.clone());
        self.ids.insert(locks, id);
        id
    }
}

impl LockSets for LockTable {
    fn locks(&self, id: LockSetId) -> &[HeldLock] {
        self.sets.get(id.0 as usize).map_or(&[], |set| set)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_locks_are_one_set() {
        let mut table = LockTable::default();
        let lock = |lock| HeldLock { lock, mode: LockMode::Write };
        let one = table.with(LockSetId(0), lock(1));
        let both = table.with(one, lock(2));
        let two = table.without(both, 1);
        assert_eq!(two, table.with(LockSetId(0), lock(2)));
        assert_eq!(table.without(two, 2), LockSetId(0));
        assert_eq!(table.locks(both), [lock(1), lock(2)]);
    }

    #[test]
    fn only_the_outermost_release_of_a_recursive_lock_gives_it_back() {
        let mut held = Held::default();
        assert!(held.take(1, LockMode::Write));
        assert!(!held.take(1, LockMode::Write));
        assert_eq!(held.give(1), Released::Inner(LockMode::Write));
        assert_eq!(held.give(1), Released::Outer(LockMode::Write));
        assert_eq!(held.give(1), Released::Unheld);
    }
}
