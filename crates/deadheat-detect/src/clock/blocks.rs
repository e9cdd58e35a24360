//! Blocks of memory: what an address belongs to.
//!
//! A freed block is remembered until its memory comes to life again, so that an access to freed
//! memory can still be told with the block that was there.
//!
//! Invariant: blocks of one kind do not overlap.

use std::collections::BTreeMap;

use deadheat_core::event::BlockKind;
use deadheat_core::race::{Block, HeldLock, LockSetId, LockSets};

use super::lockset::LockTable;

const KINDS: [BlockKind; 6] = [
    BlockKind::Heap,
    BlockKind::Mapping,
    BlockKind::Stack,
    BlockKind::ThreadLocal,
    BlockKind::Benign,
    BlockKind::Descriptor,
];

/// A heap block that starts on such a boundary owns its last granule whole.
const HEAP_GRANULE: u64 = 8;

/// The bytes that a block owns: a heap block on a granule's boundary owns its last granule
/// whole, since no other block can have a part of it.
#[must_use]
pub fn owned(address: u64, size: u64, kind: BlockKind) -> u64 {
    if kind == BlockKind::Heap && address.is_multiple_of(HEAP_GRANULE) {
        size.checked_next_multiple_of(HEAP_GRANULE).unwrap_or(size)
    } else {
        size
    }
}

/// How many ranges that lived are found without a search.
const RECENT: usize = 16;
/// glibc's heaps of threads begin on multiples of so many bytes.
const HEAP_LOG2: u32 = 26;

/// How many blocks of a kind are found by their first byte without a search.
const NEAR: usize = 1 << 12;

/// The blocks of a run.
#[derive(Clone, Debug, Default)]
pub struct Blocks {
    by_kind: [Kin; KINDS.len()],
    /// The ranges, from start to end, that are or were in a block.
    lived: BTreeMap<u64, u64>,
    /// Some of them, or parts of them, that were asked for lately: one for each of the heaps that threads have.
    recently: [(u64, u64); RECENT],
}

/// The blocks of one kind.
#[derive(Clone, Debug, Default)]
struct Kin {
    /// Where the block that begins at an address is among `entries`.
    order: BTreeMap<u64, u32>,
    entries: Vec<Entry>,
    vacant: Vec<u32>,
    /// The same as `order` for some addresses, each where [`near`] says; an entry tells whether it is still meant.
    near: Vec<u32>,
    /// How many blocks are freed.
    freed: usize,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: Block,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Live,
    Freed,
    /// No block at all.
    Vacant,
}

impl Kin {
    /// The block that begins at an address.
    fn get(&self, address: u64) -> Option<&Entry> {
        self.near(address).or_else(|| self.entries.get(*self.order.get(&address)? as usize))
    }

    /// The same, to be changed.
    fn get_mut(&mut self, address: u64) -> Option<&mut Entry> {
        let number = match self.near(address) {
            Some(_) => self.near[near(address)],
            None => {
                let number = *self.order.get(&address)?;
                self.near.resize(NEAR, 0);
                self.near[near(address)] = number;
                number
            }
        };
        self.entries.get_mut(number as usize)
    }

    #[inline]
    fn near(&self, address: u64) -> Option<&Entry> {
        let entry = self.entries.get(*self.near.get(near(address))? as usize)?;
        (entry.block.address == address && entry.state != State::Vacant).then_some(entry)
    }

    /// The last block that begins at an address or before it.
    fn up_to(&self, address: u64) -> Option<&Entry> {
        let (_, &number) = self.order.range(..=address).next_back()?;
        self.entries.get(number as usize)
    }

    fn put(&mut self, block: Block, state: State) {
        self.freed += usize::from(state == State::Freed);
        let entry = Entry { block, state };
        let number = match self.vacant.pop() {
            Some(number) => {
                self.entries[number as usize] = entry;
                number
            }
            None => {
                self.entries.push(entry);
                self.entries.len() as u32 - 1
            }
        };
        if let Some(number) = self.order.insert(block.address, number) {
            self.vacate(number);
        }
    }

    fn take(&mut self, address: u64) {
        if let Some(number) = self.order.remove(&address) {
            self.vacate(number);
        }
    }

    fn vacate(&mut self, number: u32) {
        let entry = &mut self.entries[number as usize];
        self.freed -= usize::from(entry.state == State::Freed);
        entry.state = State::Vacant;
        self.vacant.push(number);
    }

    /// Takes the bytes from `start` to `end` out of the blocks: out of the freed ones,
    /// and out of the live ones too if `all` says so. What sticks out on either side stays.
    fn carve(&mut self, start: u64, end: u64, all: bool) {
        if self.order.is_empty() || (!all && self.freed == 0) {
            return;
        }
        // As blocks do not overlap, none reaches into the range but the last that begins before its end, or before that.
        match self.order.range(..end).next_back() {
            Some((&at, &number))
                if at.saturating_add(self.entries[number as usize].block.size.max(1)) > start => {}
            _ => return,
        }
        let mut first = match self.order.range(..start).next_back() {
            Some((&before, &number)) if before + self.entries[number as usize].block.size > start => before,
            _ => start,
        };
        let is_meant = |entry: &Entry| all || entry.state == State::Freed;
        while let Some(Entry { block, state }) = {
            let mut inside = self.order.range(first..end).map(|(_, &number)| self.entries[number as usize]);
            inside.find(is_meant)
        } {
            self.take(block.address);
            let block_end = block.address.saturating_add(block.size);
            if block_end > end {
                self.put(Block { address: end, size: block_end - end, ..block }, state);
            }
            if block.address < start {
                self.put(Block { size: start - block.address, ..block }, state);
                // The rest of the range starts behind what was kept.
                first = start;
            }
        }
    }
}

impl Blocks {
    /// A block comes to life.
    pub fn insert(&mut self, block: Block) {
        let end = block.address.saturating_add(block.size);
        let revived = self.revive(block);
        for kind in KINDS {
            if kind == block.kind && revived {
                continue;
            }
            let ends = kind == BlockKind::Benign || block.kind == BlockKind::Mapping;
            let gone = kind == block.kind || (ends && block.kind != BlockKind::Benign);
            self.by_kind[kind as usize].carve(block.address, end, gone);
        }
        if revived {
            // What it was before has lived.
            return;
        }
        self.by_kind[block.kind as usize].put(block, State::Live);
        if block.kind != BlockKind::Benign {
            self.lives(
                block.address,
                block.address.saturating_add(owned(block.address, block.size, block.kind)),
            );
        }
    }

    /// The block takes the place of a freed one of the same bounds, if there is one.
    fn revive(&mut self, block: Block) -> bool {
        let kin = &mut self.by_kind[block.kind as usize];
        match kin.get_mut(block.address) {
            Some(entry) if entry.block.size == block.size && entry.state == State::Freed => {
                *entry = Entry { block, state: State::Live };
                kin.freed -= 1;
                true
            }
            _ => false,
        }
    }

    /// A block's life ends: its size, looked up if it is given as 0.
    pub fn remove(&mut self, address: u64, size: u64, kind: BlockKind) {
        let kin = &mut self.by_kind[kind as usize];
        if let Some(entry) = kin.get_mut(address)
            && (size == 0 || size == entry.block.size)
        {
            let was = std::mem::replace(&mut entry.state, State::Freed);
            kin.freed += usize::from(was == State::Live);
            return;
        }
        kin.carve(address, address.saturating_add(size), true);
        self.lives(address, address.saturating_add(owned(address, size, kind)));
    }

    fn lives(&mut self, mut start: u64, mut end: u64) {
        if self.lived_recently(start, end) {
            return;
        }
        let asked = start;
        while let Some((&from, &to)) = self.lived.range(..=end).next_back()
            && to >= start
        {
            if from <= start && end <= to {
                self.recently[recent(asked)] = (from, to);
                return;
            }
            self.lived.remove(&from);
            (start, end) = (start.min(from), end.max(to));
        }
        self.lived.insert(start, end);
        self.recently[recent(asked)] = (start, end);
    }

    /// Whether a range is known to be in one that lived, without a search.
    fn lived_recently(&self, start: u64, end: u64) -> bool {
        let (from, to) = self.recently[recent(start)];
        from <= start && end <= to
    }

    /// Whether a range is known to be the front of a heap block that is or was there, without a search.
    fn was_block(&self, start: u64, end: u64) -> bool {
        let kin = &self.by_kind[BlockKind::Heap as usize];
        kin.near(start).is_some_and(|entry| end - start <= owned(start, entry.block.size, BlockKind::Heap))
    }

    /// Tells the parts of a range that had a life before: those that are or were in a block.
    ///
    /// The reader delivers a plain access as early as its thread's synchronisation allows. So an access
    /// to a block that another thread publishes without synchronisation may come before the block
    /// does. If its bytes never were anything else, it was one to this block.
    pub fn lived(&self, start: u64, end: u64, mut told: impl FnMut(u64, u64)) {
        if start < end && (self.lived_recently(start, end) || self.was_block(start, end)) {
            return told(start, end);
        }
        let before = self.lived.range(..start).next_back();
        for (&from, &to) in before.into_iter().chain(self.lived.range(start..end)) {
            if from.max(start) < to.min(end) {
                told(from.max(start), to.min(end));
            }
        }
    }

    /// The size of the live block that starts at an address.
    #[must_use]
    pub fn size_at(&self, address: u64, kind: BlockKind) -> Option<u64> {
        let entry = self.by_kind[kind as usize].get(address)?;
        (entry.state == State::Live).then_some(entry.block.size)
    }

    /// The smallest block that holds an address; a live one if there is one.
    #[must_use]
    pub fn around(&self, address: u64) -> Option<Block> {
        let kinds = KINDS.into_iter().filter(|kind| *kind != BlockKind::Benign);
        let holders = kinds.filter_map(|kind| {
            let entry = self.by_kind[kind as usize].up_to(address)?;
            (address - entry.block.address < entry.block.size).then_some(entry)
        });
        holders.min_by_key(|entry| (entry.state != State::Live, entry.block.size)).map(|entry| entry.block)
    }

    /// Whether the program declared the races of a byte benign.
    #[must_use]
    pub fn is_benign(&self, address: u64) -> bool {
        let declared = self.by_kind[BlockKind::Benign as usize].up_to(address);
        declared.is_some_and(|entry| address - entry.block.address < entry.block.size)
    }

    /// The first byte from `start` to `end` whose races are not declared benign.
    #[must_use]
    pub fn first_not_benign(&self, start: u64, end: u64) -> Option<u64> {
        let blocks = &self.by_kind[BlockKind::Benign as usize];
        let mut at = start;
        while at < end && self.is_benign(at) {
            let block = blocks.up_to(at)?.block;
            at = block.address.saturating_add(block.size);
        }
        (at < end).then_some(at)
    }
}

/// Where the block that begins at an address is among the near ones.
#[inline]
fn near(address: u64) -> usize {
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - NEAR.ilog2())) as usize
}

/// Where the range that an address lived in is among the recent ones.
fn recent(address: u64) -> usize {
    (address >> HEAP_LOG2) as usize % RECENT
}

/// What is known of the locks that were held, for who tells of two accesses.
pub(crate) struct Locks<'a> {
    pub(crate) locks: &'a LockTable,
    pub(crate) blocks: &'a Blocks,
}

impl LockSets for Locks<'_> {
    fn locks(&self, id: LockSetId) -> &[HeldLock] {
        self.locks.locks(id)
    }

    fn block(&self, lock: u64) -> Option<Block> {
        self.blocks.around(lock)
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::ids::{PlaceId, StackId, ThreadId};

    use super::*;

    fn block(address: u64, size: u64, kind: BlockKind) -> Block {
        Block { address, size, kind, thread: ThreadId(0), place: PlaceId(0), stack: StackId(0) }
    }

    #[test]
    fn the_smallest_block_around_an_address_wins() {
        let mut blocks = Blocks::default();
        blocks.insert(block(0, 4096, BlockKind::Mapping));
        blocks.insert(block(64, 32, BlockKind::Heap));
        assert_eq!(blocks.around(70).map(|found| found.size), Some(32));
        assert_eq!(blocks.around(100).map(|found| found.size), Some(4096));
        assert_eq!(blocks.around(5000), None);
    }

    #[test]
    fn a_freed_block_is_known_until_its_memory_is_used_again() {
        let mut blocks = Blocks::default();
        blocks.insert(block(64, 32, BlockKind::Heap));
        blocks.remove(64, 0, BlockKind::Heap);
        assert_eq!(blocks.size_at(64, BlockKind::Heap), None);
        assert_eq!(blocks.around(70).map(|found| found.address), Some(64));
        blocks.insert(block(80, 8, BlockKind::Heap));
        assert_eq!(blocks.around(84).map(|found| found.address), Some(80));
        assert_eq!(blocks.around(90).map(|found| found.address), Some(88));
    }

    #[test]
    fn what_was_declared_benign_ends_with_the_block() {
        let mut blocks = Blocks::default();
        blocks.insert(block(64, 32, BlockKind::Heap));
        blocks.insert(block(72, 4, BlockKind::Benign));
        assert_eq!([71, 72, 75, 76].map(|byte| blocks.is_benign(byte)), [false, true, true, false]);
        assert_eq!(blocks.around(72).map(|found| found.kind), Some(BlockKind::Heap));
        blocks.remove(64, 0, BlockKind::Heap);
        blocks.insert(block(64, 32, BlockKind::Heap));
        assert!(!blocks.is_benign(72));
    }

    #[test]
    fn the_first_byte_that_is_not_benign_is_found_behind_several_declarations() {
        let mut blocks = Blocks::default();
        blocks.insert(block(72, 4, BlockKind::Benign));
        blocks.insert(block(76, 2, BlockKind::Benign));
        assert_eq!(blocks.first_not_benign(70, 80), Some(70));
        assert_eq!(blocks.first_not_benign(73, 80), Some(78));
        assert_eq!(blocks.first_not_benign(73, 78), None);
    }

    #[test]
    fn what_was_in_a_block_has_lived() {
        let mut blocks = Blocks::default();
        blocks.insert(block(64, 30, BlockKind::Heap));
        blocks.remove(64, 0, BlockKind::Heap);
        blocks.insert(block(72, 8, BlockKind::Stack));
        blocks.insert(block(120, 8, BlockKind::Benign));
        let lived = |blocks: &Blocks, start, end| {
            let mut parts = Vec::new();
            blocks.lived(start, end, |from, to| parts.push((from, to)));
            parts
        };
        assert_eq!(lived(&blocks, 56, 128), [(64, 96)]);
        assert_eq!(lived(&blocks, 80, 90), [(80, 90)]);
        assert_eq!(lived(&blocks, 96, 128), []);
        blocks.remove(100, 4, BlockKind::Mapping);
        blocks.remove(112, 4, BlockKind::Mapping);
        assert_eq!(lived(&blocks, 96, 128), [(100, 104), (112, 116)]);
        blocks.remove(104, 8, BlockKind::Mapping);
        assert_eq!(lived(&blocks, 96, 128), [(100, 116)]);
    }

    #[test]
    fn unmapping_the_middle_leaves_both_ends() {
        let mut blocks = Blocks::default();
        blocks.insert(block(0, 300, BlockKind::Mapping));
        blocks.remove(100, 100, BlockKind::Mapping);
        assert_eq!(blocks.around(50).map(|found| (found.address, found.size)), Some((0, 100)));
        assert_eq!(blocks.around(150), None);
        assert_eq!(blocks.around(250).map(|found| (found.address, found.size)), Some((200, 100)));
    }
}
