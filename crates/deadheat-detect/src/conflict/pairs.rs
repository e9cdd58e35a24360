//! Pairs of classes that conflict: each once, with the two accesses that show it.
//!
//! Invariants: a pair that has an unordered instance is kept with one. Of two places' pairs the
//! best by rank are kept, among equals the first; so what is kept is bounded by the pairs of
//! places, and all of it by [`PAIRS_MAX`].

use deadheat_core::ids::PlaceId;
use deadheat_core::race::{Block, LockSetId};
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

use super::target::Rank;

/// Of all pairs of places together so many pairs of classes are kept.
pub const PAIRS_MAX: usize = 1 << 18;
/// The filters that count dropped pairs once have so many bits each.
pub const FILTER_BITS: usize = 1 << 20;
/// So many pairs are at hand without a look into the map of all.
const SETTLED: usize = 1 << 14;
/// So many sorts of pairs that find no room are at hand.
const REFUSED: usize = 1 << 13;
/// So many pairs of places are counted.
const GROUPS_MAX: usize = 1 << 20;

const _: () = assert!(FILTER_BITS.is_power_of_two() && PAIRS_MAX < u32::MAX as usize);

/// One access, as one side of a pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instance {
    pub(super) class: u32,
    pub(super) at: u64,
    pub(super) ordinal: u64,
    pub(super) address: u64,
    pub(super) size: u64,
}

/// Two accesses that conflict.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) sides: [Instance; 2],
    pub(super) address: u64,
    pub(super) block: Option<Block>,
    pub(super) rank: Rank,
}

impl Pair {
    fn key(&self) -> Key {
        Key::of(self.sides[0].class, self.sides[1].class)
    }
}

/// Two classes, in no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Key(u32, u32);

impl Key {
    pub(super) fn of(one: u32, other: u32) -> Self {
        Self(one.min(other), one.max(other))
    }

    #[inline]
    fn hash(self) -> usize {
        FxBuildHasher.hash_one(self) as usize >> 24
    }
}

/// What the rank and the places of a pair depend on: two sites and two lock sets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Looks {
    pub(super) sites: (u32, u32),
    pub(super) locks: (LockSetId, LockSetId),
}

impl Looks {
    #[inline]
    fn hash(self) -> usize {
        FxBuildHasher.hash_one(self) as usize >> 24
    }
}

/// Two places, in no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(super) struct Places(PlaceId, PlaceId);

impl Places {
    pub(super) fn of(one: PlaceId, other: PlaceId) -> Self {
        Self(one.min(other), one.max(other))
    }
}

/// The pairs of two places.
#[derive(Debug, Default)]
struct Group {
    members: Vec<u32>,
    full: bool,
    /// The worst rank among the members.
    worst: Option<Rank>,
}

/// Counts each pair once, unless two of them share a bit.
#[derive(Debug)]
pub(super) struct Filter {
    bits: Vec<u64>,
    pub(super) count: u64,
}

impl Default for Filter {
    fn default() -> Self {
        Self { bits: vec![0; FILTER_BITS / 64], count: 0 }
    }
}

impl Filter {
    #[inline]
    pub(super) fn count(&mut self, key: Key) {
        self.count += u64::from(self.mark(key));
    }

    /// The pair will not be counted; `true` if it was not counted yet.
    #[inline]
    fn mark(&mut self, key: Key) -> bool {
        let bit = key.hash() & (FILTER_BITS - 1);
        let word = &mut self.bits[bit / 64];
        let new = *word >> (bit % 64) & 1 == 0;
        *word |= 1 << (bit % 64);
        new
    }
}

/// All pairs of a run.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Pairs that need nothing more from accesses that are ordered, a few of them.
    settled: Box<[Key]>,
    /// Sorts of pairs that found no room, a few of them.
    refused: Box<[Looks]>,
    numbers: FxHashMap<Key, u32>,
    pub(super) all: Vec<Pair>,
    groups: FxHashMap<Places, Group>,
    per_group: usize,
    /// Pairs that found no room or gave way. Those that are kept are marked in it as well.
    pub(super) capped: Filter,
}

impl Pairs {
    /// At most so many pairs for each pair of places.
    pub(super) fn new(per_group: usize) -> Self {
        Self {
            settled: vec![Key(0, 0); SETTLED].into_boxed_slice(),
            refused: vec![Looks::default(); REFUSED].into_boxed_slice(),
            numbers: FxHashMap::default(),
            all: Vec::new(),
            groups: FxHashMap::default(),
            per_group,
            capped: Filter::default(),
        }
    }

    /// The number of pairs of places.
    pub(super) fn groups(&self) -> usize {
        self.groups.len()
    }

    /// Whether pairs of ordered accesses that look so find no room, as far as that is at hand.
    #[inline]
    pub(super) fn is_refused(&self, looks: Looks) -> bool {
        self.refused[looks.hash() & (REFUSED - 1)] == looks
    }

    /// Remembers that pairs of ordered accesses that look so find no room, now and ever.
    pub(super) fn refuse(&mut self, looks: Looks) {
        self.refused[looks.hash() & (REFUSED - 1)] = looks;
    }

    /// Whether a pair is known, as far as that is at hand.
    #[inline]
    pub(super) fn is_settled(&self, key: Key) -> bool {
        self.settled[key.hash() & (SETTLED - 1)] == key
    }

    /// Remembers that a pair is known. It may give way later: so it was capped, and counted.
    #[inline]
    pub(super) fn settle(&mut self, key: Key) {
        self.settled[key.hash() & (SETTLED - 1)] = key;
    }

    /// The pair of two classes, to improve it.
    #[inline]
    pub(super) fn find(&self, key: Key) -> Option<u32> {
        self.numbers.get(&key).copied()
    }

    /// The rank of a pair.
    #[inline]
    pub(super) fn rank(&self, number: u32) -> Rank {
        self.all[number as usize].rank
    }

    /// Puts two accesses in the place of those of the same two classes.
    pub(super) fn improve(&mut self, number: u32, places: Places, pair: Pair) {
        self.all[number as usize] = pair;
        if let Some(group) = self.groups.get_mut(&places) {
            group.reckon(&self.all);
        }
    }

    /// Whether a pair of a rank at best would find no room.
    pub(super) fn is_full(&self, places: Places, best: Rank) -> bool {
        match self.groups.get(&places) {
            Some(group) => group.full && group.worst.is_none_or(|worst| worst <= best),
            None => self.groups.len() >= GROUPS_MAX,
        }
    }

    /// Takes a pair of two classes that have none yet, if there is room or it is better than one
    /// of those that are there.
    pub(super) fn add(&mut self, places: Places, pair: Pair) {
        let key = pair.key();
        if self.is_full(places, pair.rank) {
            return self.capped.count(key);
        }
        self.capped.mark(key);
        let group = self.groups.entry(places).or_default();
        let room = group.members.len() < self.per_group && self.all.len() < PAIRS_MAX;
        if room {
            let number = self.all.len() as u32;
            self.all.push(pair);
            self.numbers.insert(key, number);
            group.members.push(number);
        } else {
            let all = &mut self.all;
            let worst =
                group.members.iter().copied().max_by_key(|&number| (all[number as usize].rank, number));
            let Some(number) = worst.filter(|&number| all[number as usize].rank > pair.rank) else {
                group.full = true;
                self.capped.count += 1;
                return;
            };
            let gone = std::mem::replace(&mut all[number as usize], pair).key();
            self.numbers.remove(&gone);
            self.capped.count += 1;
            self.numbers.insert(key, number);
        }
        group.full |= group.members.len() >= self.per_group;
        group.reckon(&self.all);
    }
}

impl Group {
    fn reckon(&mut self, all: &[Pair]) {
        self.worst = self.members.iter().map(|&number| all[number as usize].rank).max();
    }
}
