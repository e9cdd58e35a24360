//! The states that a search has seen, in the order in which it saw them, and the question whether it has seen one.
//!
//! States lie one after the other, so that a layer of a breadth-first search is a range, and nothing but the state
//! is stored of it. A table of 32-bit slots finds them: a slot is an index, and in the bits that an index does
//! not need a piece of the hash, so that a wrong slot is seldom followed. The table is at most 4/5 full and
//! grows by half: a state of W words takes 8 W + 5 to 8 W + 7.5 bytes.
//!
//! Several shards share the states by their hash. Each is filled by one thread at a time.

use crate::machine::State;

/// A slot without state.
const EMPTY: u32 = u32::MAX;
/// States are allocated in blocks of so many: nothing is copied when there are more.
const BLOCK: usize = 1 << 12;
/// The table's first size.
const FIRST_SLOTS: usize = 1 << 10;
/// So many states are looked up at once: their slots are touched first, so that the processor waits for all of them
/// at a time.
const AT_ONCE: usize = 32;
/// A shard has at most so many states: an index and the empty slot's mark fit into a slot.
pub(crate) const MAX_STATES: usize = (1 << 31) - 1;

/// What a state of so many words takes at most, in bytes.
pub(crate) fn bytes_a_state(words: usize) -> usize {
    8 * words + 8
}

/// Mixes a state's words.
pub(crate) fn hash<const W: usize>(state: &State<W>) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = 0u64;
    for &word in state {
        hash = (hash ^ word).wrapping_mul(FACTOR);
        hash ^= hash >> 32;
    }
    hash.wrapping_mul(0xd6e8_feb8_6659_fd93)
}

/// Which of so many shards has the states of this hash: by its upper half.
pub(crate) fn shard_of(hash: u64, shards: usize) -> usize {
    (((hash >> 32) * shards as u64) >> 32) as usize
}

/// One part of the states.
#[derive(Debug)]
pub(crate) struct Shard<const W: usize> {
    blocks: Vec<Vec<State<W>>>,
    length: usize,
    table: Vec<u32>,
    /// The bits of a slot that are an index.
    index_bits: u32,
    /// With so many states the table grows.
    full: usize,
}

impl<const W: usize> Shard<W> {
    /// An empty one.
    pub(crate) fn new() -> Shard<W> {
        let mut shard = Shard { blocks: Vec::new(), length: 0, table: Vec::new(), index_bits: 0, full: 0 };
        shard.resize(FIRST_SLOTS);
        shard
    }

    /// How many states it has.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// The state that came as the `index`-th.
    pub(crate) fn get(&self, index: usize) -> &State<W> {
        &self.blocks[index / BLOCK][index % BLOCK]
    }

    /// What it takes, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.blocks.len() * BLOCK * size_of::<State<W>>() + self.table.len() * size_of::<u32>()
    }

    /// Where the state is, if it is here.
    pub(crate) fn find(&self, state: &State<W>) -> Option<usize> {
        self.look(state, hash(state)).ok()
    }

    /// Adds those of the states that are not here yet.
    pub(crate) fn insert_all(&mut self, states: &[State<W>]) {
        let mut hashes = [0; AT_ONCE];
        for states in states.chunks(AT_ONCE) {
            let mut touched = 0;
            for (state, hash_of) in states.iter().zip(&mut hashes) {
                *hash_of = hash(state);
                touched ^= self.table[self.slot(*hash_of)];
            }
            // Without a use the loads would be left out.
            std::hint::black_box(touched);
            for (state, &hash) in states.iter().zip(&hashes) {
                self.insert(state, hash);
            }
        }
    }

    fn insert(&mut self, state: &State<W>, hash: u64) {
        let Err(slot) = self.look(state, hash) else { return };
        self.table[slot] = self.word(self.length, hash);
        if self.length.is_multiple_of(BLOCK) {
            self.blocks.push(Vec::with_capacity(BLOCK));
        }
        if let Some(block) = self.blocks.last_mut() {
            block.push(*state);
        }
        self.length += 1;
        if self.length >= self.full {
            self.resize(self.table.len() / 2 * 3);
        }
    }

    /// The index of the state, or the free slot where it belongs.
    fn look(&self, state: &State<W>, hash: u64) -> Result<usize, usize> {
        let indices = (1u32 << self.index_bits) - 1;
        let expected = self.word(0, hash);
        let mut slot = self.slot(hash);
        loop {
            let word = self.table[slot];
            if word == EMPTY {
                return Err(slot);
            }
            if (word ^ expected) <= indices && self.get((word & indices) as usize) == state {
                return Ok((word & indices) as usize);
            }
            slot += 1;
            if slot == self.table.len() {
                slot = 0;
            }
        }
    }

    /// Where the search for a hash starts: by its lower half first.
    fn slot(&self, hash: u64) -> usize {
        ((u128::from(hash.rotate_left(32)) * self.table.len() as u128) >> 64) as usize
    }

    /// The slot's word: index below, the lower bits of the hash's upper half above.
    fn word(&self, index: usize, hash: u64) -> u32 {
        (((hash >> 32) as u32) << self.index_bits) | index as u32
    }

    fn resize(&mut self, slots: usize) {
        // The old table is given back first: at no time are there two.
        self.table = Vec::new();
        self.table = vec![EMPTY; slots];
        self.full = (slots / 5 * 4).min(MAX_STATES);
        // So no index is all ones, and no word of a state is EMPTY.
        self.index_bits = usize::BITS - self.full.leading_zeros();
        for index in 0..self.length {
            let hash = hash(self.get(index));
            let mut slot = self.slot(hash);
            while self.table[slot] != EMPTY {
                slot += 1;
                if slot == self.table.len() {
                    slot = 0;
                }
            }
            self.table[slot] = self.word(index, hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_is_kept_once_and_in_order() {
        let mut shard = Shard::<2>::new();
        let state = |n: u64| [n % 977, n / 977];
        let states: Vec<State<2>> = (0..100_000).map(|n| state(n * 7919 % 100_000)).collect();
        for twice in 0..2 {
            for part in states.chunks(1000) {
                shard.insert_all(part);
            }
            assert_eq!(shard.len(), states.len(), "round {twice}");
        }
        for (index, state) in states.iter().enumerate() {
            assert_eq!(shard.get(index), state);
            assert_eq!(shard.find(state), Some(index));
        }
        assert_eq!(shard.find(&[978, 0]), None);
        assert!(shard.bytes() <= bytes_a_state(2) * states.len() + BLOCK * 16, "{}", shard.bytes());
    }

    #[test]
    fn shards_share_evenly() {
        for shards in [1, 2, 3, 7] {
            let mut counts = vec![0usize; shards];
            for n in 0..70_000u64 {
                counts[shard_of(hash(&[n << 20]), shards)] += 1;
            }
            let least = 70_000 / shards * 95 / 100;
            assert!(counts.iter().all(|&count| count >= least), "{counts:?}");
        }
    }
}
