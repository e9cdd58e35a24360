//! Ways of holding locks: who holds which while it reads or writes. Each is stored once and has a small number.

use deadheat_core::ids::ThreadId;
use deadheat_core::race::{Guarded, LockSetId};
use rustc_hash::FxHashMap;

/// How many ways are found without hashing.
const NEAR: usize = 1 << 9;

/// The number of a way.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Way(u32);

impl Way {
    /// None.
    pub(crate) const NONE: Way = Way(0);
}

/// Thread and locks, and whether it writes.
type Key = (ThreadId, LockSetId, bool);

/// All ways.
#[derive(Debug)]
pub(crate) struct Ways {
    /// By number.
    keys: Vec<Key>,
    known: FxHashMap<Key, Way>,
    near: Box<[(Key, Way)]>,
}

impl Default for Ways {
    fn default() -> Self {
        // Nobody asks for the way to hold no lock.
        let none = (ThreadId::default(), LockSetId::default(), false);
        Self { keys: vec![none], known: FxHashMap::default(), near: vec![(none, Way::NONE); NEAR].into() }
    }
}

impl Ways {
    /// The number of a way to hold some lock.
    #[inline]
    pub(crate) fn number(&mut self, thread: ThreadId, locks: LockSetId, writes: bool) -> Way {
        let key = (thread, locks, writes);
        let near = (locks.0 << 1 ^ u32::from(writes) ^ thread.0.wrapping_mul(0x51)) as usize % NEAR;
        if self.near[near].0 != key {
            self.near[near] = (key, self.look_up(key));
        }
        self.near[near].1
    }

    #[inline(never)]
    fn look_up(&mut self, key: Key) -> Way {
        let next = Way(self.keys.len() as u32);
        let way = *self.known.entry(key).or_insert(next);
        if way == next {
            self.keys.push(key);
        }
        way
    }

    /// So many accesses in a way.
    pub(crate) fn meaning(&self, way: Way, count: u64) -> Guarded {
        let (thread, locks, writes) = self.keys[way.0 as usize];
        Guarded { thread, locks, writes, count }
    }

    /// The bytes that the ways take, about.
    pub(crate) fn memory(&self) -> usize {
        self.keys.capacity() * size_of::<Key>() + self.known.capacity() * (size_of::<(Key, Way)>() + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_one_number_and_its_meaning() {
        let mut ways = Ways::default();
        let all = |n: u32| (ThreadId(n % 7), LockSetId(1 + n / 14), n / 7 % 2 == 1);
        let first: Vec<Way> = (0..5000).map(|n| ways.number(all(n).0, all(n).1, all(n).2)).collect();
        for (n, &way) in (0..5000).zip(&first) {
            let (thread, locks, writes) = all(n);
            assert_eq!(way, Way(n + 1));
            assert_eq!(ways.number(thread, locks, writes), way);
            assert_eq!(ways.meaning(way, 3), Guarded { thread, locks, writes, count: 3 });
        }
    }
}
