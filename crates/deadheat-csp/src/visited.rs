//! The states that a search has seen, in the order in which it saw them, and the question whether it has seen one.
//!
//! States lie one after the other, so that a layer of a breadth-first search is a range, and nothing but the state
//! is stored of it. A table of 32-bit slots finds them: a slot is an index, and in the bits that an index does
//! not need a piece of the hash, so that a wrong slot is seldom followed. The table is at most 4/5 full and
//! grows by half: a state of W words takes 8 W + 5 to 8 W + 7.5 bytes.
//!
//! Several shards share the states by their hash. Each is filled by one thread at a time.

use crate::pack::State;

/// A slot without state.
const EMPTY: u32 = u32::MAX;
/// States are allocated in blocks of so many: nothing is copied when there are more.
const BLOCK: usize = 1 << 12;
/// The table's first size.
const FIRST_SLOTS: usize = 1 << 6;
/// So many states are looked up at once: their slots are touched first, then the states that these slots speak of, so that the
/// processor waits for all of them at a time.
const AT_ONCE: usize = 32;
/// So many recent states are remembered at first; a power of two.
const FIRST_RECENT: usize = 1 << 6;
/// Recent states take about so many words at most: a good part of the cache that a core has to itself.
const MOST_RECENT: usize = 1 << 14;
/// A shard has at most so many states: an index and the empty slot's mark fit into a slot.
pub(crate) const MAX_STATES: usize = (1 << 31) - 1;

/// What a state of so many words takes at most, in bytes.
pub(crate) fn bytes_a_state(words: usize) -> usize {
    8 * words + 8
}

/// Mixes a state's words.
pub(crate) fn hash<const W: usize>(state: &State<W>) -> u64 {
    let fold = |one: u64, other: u64| {
        let product = u128::from(one) * u128::from(other);
        product as u64 ^ (product >> 64) as u64
    };
    let pair = |hash: u64, pair: &[u64]| {
        let other = pair.get(1).copied().unwrap_or(0);
        fold(hash ^ pair[0] ^ 0x9e37_79b9_7f4a_7c15, other ^ 0xd6e8_feb8_6659_fd93)
    };
    let mixed = state.chunks(2).fold(0, pair);
    fold(mixed ^ 0xa076_1d64_78bd_642f, 0xe703_7ed1_a0b4_28db)
}

/// Which of so many shards has the states of this hash: by its upper half.
pub(crate) fn shard_of(hash: u64, shards: usize) -> usize {
    (((hash >> 32) * shards as u64) >> 32) as usize
}

/// The states that came lately, of each hash's end the last. Most states of a search come more than once, and soon after the
/// first time, for two steps that do not touch each other come to the same state in either order: so few remembered
/// states, which stay in the processor's cache, spare most looks into the table.
#[derive(Debug)]
pub(crate) struct Recent<const W: usize> {
    states: Vec<State<W>>,
    /// A state that is visited already. It stands where nothing else is remembered.
    visited: State<W>,
}

impl<const W: usize> Recent<W> {
    /// None but a state that is visited already.
    pub(crate) fn new(visited: State<W>) -> Recent<W> {
        Recent { states: vec![visited; FIRST_RECENT], visited }
    }

    /// Forgets all and remembers more if so many visited states are worth it.
    pub(crate) fn suit(&mut self, states: usize) {
        let room = (MOST_RECENT / W).next_power_of_two();
        let wanted = states.next_power_of_two().min(room);
        if wanted > self.states.len() {
            self.states.clear();
            self.states.resize(wanted, self.visited);
        }
    }

    /// Whether the state is not among them; it is then.
    pub(crate) fn is_new(&mut self, state: &State<W>, hash: u64) -> bool {
        let place = hash as usize & (self.states.len() - 1);
        let known = &mut self.states[place];
        // Word by word: the compiler would store both and call a function.
        let new = known.iter().zip(state).fold(0, |other, (known, state)| other | (known ^ state)) != 0;
        *known = *state;
        new
    }
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
        self.blocks.iter().map(Vec::capacity).sum::<usize>() * size_of::<State<W>>()
            + self.table.len() * size_of::<u32>()
    }

    /// Where the state is, if it is here.
    pub(crate) fn find(&self, state: &State<W>) -> Option<usize> {
        self.look(state, hash(state)).ok()
    }

    /// Adds those of the states that are not here yet.
    pub(crate) fn insert_all(&mut self, states: &[State<W>]) {
        let mut batch = Batch::new();
        for states in states.chunks(AT_ONCE) {
            batch.look_up(self, states);
            batch.touch_states(self);
            for (state, &hash) in states.iter().zip(&batch.hashes) {
                self.insert(state, hash);
            }
        }
    }

    fn insert(&mut self, state: &State<W>, hash: u64) {
        let Err(slot) = self.look(state, hash) else { return };
        self.table[slot] = self.word(self.length, hash);
        if self.length.is_multiple_of(BLOCK) {
            // The first block grows as it must: most searches are small.
            let room = if self.length == 0 { 0 } else { BLOCK };
            self.blocks.push(Vec::with_capacity(room));
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
        let expected = self.word(0, hash);
        let mut slot = self.slot(hash);
        loop {
            let word = self.table[slot];
            if word == EMPTY {
                return Err(slot);
            }
            if (word ^ expected) >> self.index_bits == 0 && self.get(self.index(word)) == state {
                return Ok(self.index(word));
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

    /// The index in a slot's word.
    fn index(&self, word: u32) -> usize {
        (word & ((1 << self.index_bits) - 1)) as usize
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
        let mut batch = Batch::new();
        let mut first = 0;
        for block in 0..self.blocks.len() {
            for at in (0..self.blocks[block].len()).step_by(AT_ONCE) {
                let states = &self.blocks[block][at..];
                let count = states.len().min(AT_ONCE);
                batch.look_up(self, &states[..count]);
                for (&hash, index) in batch.hashes[..count].iter().zip(first..) {
                    let mut slot = self.slot(hash);
                    while self.table[slot] != EMPTY {
                        slot += 1;
                        if slot == self.table.len() {
                            slot = 0;
                        }
                    }
                    self.table[slot] = self.word(index, hash);
                }
                first += count;
            }
        }
    }
}

/// What is known of some states before they are looked up one after the other. Each of its steps is one loop
/// with nothing in it but what it is for, so that as many loads as can be are under way at a time.
struct Batch {
    hashes: [u64; AT_ONCE],
    slots: [usize; AT_ONCE],
    words: [u32; AT_ONCE],
    length: usize,
}

impl Batch {
    fn new() -> Batch {
        Batch { hashes: [0; AT_ONCE], slots: [0; AT_ONCE], words: [EMPTY; AT_ONCE], length: 0 }
    }

    /// Hashes the states and reads their first slots.
    fn look_up<const W: usize>(&mut self, shard: &Shard<W>, states: &[State<W>]) {
        self.length = states.len();
        for ((state, hash_of), slot) in states.iter().zip(&mut self.hashes).zip(&mut self.slots) {
            *hash_of = hash(state);
            *slot = shard.slot(*hash_of);
        }
        for (word, &slot) in self.words.iter_mut().zip(&self.slots[..states.len()]) {
            *word = shard.table[slot];
        }
        // Without a use the loads could be left out.
        std::hint::black_box(&self.words);
    }

    /// Reads the states that the slots speak of, where they may be the same.
    fn touch_states<const W: usize>(&mut self, shard: &Shard<W>) {
        if shard.length == 0 {
            return;
        }
        let mut touched = 0;
        for (&word, &hash) in self.words[..self.length].iter().zip(&self.hashes) {
            let other = (word ^ shard.word(0, hash)) >> shard.index_bits != 0 || word == EMPTY;
            touched ^= shard.get(if other { 0 } else { shard.index(word) })[0];
        }
        std::hint::black_box(touched);
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
