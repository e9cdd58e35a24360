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
    locks: Vec<Taken>,
}

#[derive(Debug)]
struct Taken {
    held: HeldLock,
    /// How often.
    depth: u32,
    /// The set of those that were taken before it, as long as none of them was given back.
    below: Option<LockSetId>,
}

/// What a release turned out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released {
    /// The lock is still held: it was taken more than once, in this mode.
    Inner(LockMode),
    /// The lock is free of this thread, which had taken it in this mode; the set of the other locks, if that is
    /// known.
    Outer(LockMode, Option<LockSetId>),
    /// The thread did not hold it (only in traces that are not well formed).
    Unheld,
}

impl Held {
    /// Takes a lock while the thread has that set; `true` if the thread did not hold it yet.
    pub fn take(&mut self, lock: u64, mode: LockMode, set: LockSetId) -> bool {
        if let Some(taken) = self.locks.iter_mut().rev().find(|taken| taken.held.lock == lock) {
            taken.depth += 1;
            return false;
        }
        self.locks.push(Taken { held: HeldLock { lock, mode }, depth: 1, below: Some(set) });
        true
    }

    /// Gives a lock back.
    pub fn give(&mut self, lock: u64) -> Released {
        let Some(index) = self.locks.iter().rposition(|taken| taken.held.lock == lock) else {
            return Released::Unheld;
        };
        let taken = &mut self.locks[index];
        let mode = taken.held.mode;
        if taken.depth > 1 {
            taken.depth -= 1;
            return Released::Inner(mode);
        }
        let Taken { below, .. } = self.locks.remove(index);
        let above = &mut self.locks[index..];
        let others = if above.is_empty() { below } else { None };
        above.iter_mut().for_each(|taken| taken.below = None);
        Released::Outer(mode, others)
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
        assert!(held.take(1, LockMode::Write, LockSetId(0)));
        assert!(!held.take(1, LockMode::Write, LockSetId(5)));
        assert_eq!(held.give(1), Released::Inner(LockMode::Write));
        assert_eq!(held.give(1), Released::Outer(LockMode::Write, Some(LockSetId(0))));
        assert_eq!(held.give(1), Released::Unheld);
    }

    #[test]
    fn the_other_locks_are_known_only_while_none_below_was_given_back() {
        let mut held = Held::default();
        for lock in 1..=3 {
            held.take(lock, LockMode::Write, LockSetId(lock as u32 - 1));
        }
        assert_eq!(held.give(2), Released::Outer(LockMode::Write, None));
        assert_eq!(held.give(3), Released::Outer(LockMode::Write, None));
        assert_eq!(held.give(1), Released::Outer(LockMode::Write, Some(LockSetId(0))));
    }
}
