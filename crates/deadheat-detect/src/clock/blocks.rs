//! Blocks of memory: what an address belongs to.
//!
//! A freed block is remembered until its memory comes to life again, so that an access to freed
//! memory can still be told with the block that was there.
//!
//! Invariant: blocks of one kind do not overlap.

use std::collections::BTreeMap;

use deadheat_core::event::BlockKind;
use deadheat_core::race::Block;

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

/// The blocks of a run.
#[derive(Debug, Default)]
pub struct Blocks {
    by_kind: [BTreeMap<u64, Entry>; KINDS.len()],
    /// How many blocks of each kind are freed.
    freed: [usize; KINDS.len()],
    /// The ranges, from start to end, that are or were in a block.
    lived: BTreeMap<u64, u64>,
    /// Some of them, or parts of them, that were asked for lately: one for each of the heaps that threads have.
    recently: [(u64, u64); RECENT],
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    block: Block,
    live: bool,
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
            self.carve(kind, block.address, end, gone);
        }
        if revived {
            // What it was before has lived.
            return;
        }
        self.by_kind[block.kind as usize].insert(block.address, Entry { block, live: true });
        if block.kind != BlockKind::Benign {
            self.lives(
                block.address,
                block.address.saturating_add(owned(block.address, block.size, block.kind)),
            );
        }
    }

    /// The block takes the place of a freed one of the same bounds, if there is one.
    fn revive(&mut self, block: Block) -> bool {
        match self.by_kind[block.kind as usize].get_mut(&block.address) {
            Some(entry) if entry.block.size == block.size && !entry.live => {
                *entry = Entry { block, live: true };
                self.freed[block.kind as usize] -= 1;
                true
            }
            _ => false,
        }
    }

    /// A block's life ends: its size, looked up if it is given as 0.
    pub fn remove(&mut self, address: u64, size: u64, kind: BlockKind) {
        if let Some(entry) = self.by_kind[kind as usize].get_mut(&address)
            && (size == 0 || size == entry.block.size)
        {
            self.freed[kind as usize] += usize::from(entry.live);
            entry.live = false;
            return;
        }
        self.carve(kind, address, address.saturating_add(size), true);
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

    /// Tells the parts of a range that had a life before: those that are or were in a block.
    ///
    /// The reader delivers a plain access as early as its thread's synchronisation allows. So an access
    /// to a block that another thread publishes without synchronisation may come before the block
    /// does. If its bytes never were anything else, it was one to this block.
    pub fn lived(&self, start: u64, end: u64, mut told: impl FnMut(u64, u64)) {
        if start < end && self.lived_recently(start, end) {
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
        let entry = self.by_kind[kind as usize].get(&address)?;
        entry.live.then_some(entry.block.size)
    }

    /// The smallest block that holds an address; a live one if there is one.
    #[must_use]
    pub fn around(&self, address: u64) -> Option<Block> {
        let kinds = KINDS.into_iter().filter(|kind| *kind != BlockKind::Benign);
        let holders = kinds.filter_map(|kind| {
            let (_, entry) = self.by_kind[kind as usize].range(..=address).next_back()?;
            (address - entry.block.address < entry.block.size).then_some(entry)
        });
        holders.min_by_key(|entry| (!entry.live, entry.block.size)).map(|entry| entry.block)
    }

    /// Whether the program declared the races of a byte benign.
    #[must_use]
    pub fn is_benign(&self, address: u64) -> bool {
        let declared = self.by_kind[BlockKind::Benign as usize].range(..=address).next_back();
        declared.is_some_and(|(start, entry)| address - start < entry.block.size)
    }

    /// The first byte from `start` to `end` whose races are not declared benign.
    #[must_use]
    pub fn first_not_benign(&self, start: u64, end: u64) -> Option<u64> {
        let blocks = &self.by_kind[BlockKind::Benign as usize];
        let mut at = start;
        while at < end && self.is_benign(at) {
            let (&from, entry) = blocks.range(..=at).next_back()?;
            at = from.saturating_add(entry.block.size);
        }
        (at < end).then_some(at)
    }

    /// Takes the bytes from `start` to `end` out of the blocks of a kind: out of the freed ones,
    /// and out of the live ones too if `all` says so. What sticks out on either side stays.
    fn carve(&mut self, kind: BlockKind, start: u64, end: u64, all: bool) {
        let blocks = &mut self.by_kind[kind as usize];
        let freed = &mut self.freed[kind as usize];
        if blocks.is_empty() || (!all && *freed == 0) {
            return;
        }
        let first = match blocks.range(..start).next_back() {
            Some((&before, entry)) if before + entry.block.size > start => before,
            _ => start,
        };
        while let Some((&at, &entry)) = blocks.range(first..end).find(|(_, entry)| all || !entry.live) {
            blocks.remove(&at);
            *freed -= usize::from(!entry.live);
            let entry_end = at.saturating_add(entry.block.size);
            if entry_end > end {
                let block = Block { address: end, size: entry_end - end, ..entry.block };
                blocks.insert(end, Entry { block, ..entry });
                *freed += usize::from(!entry.live);
            }
            if at < start {
                let block = Block { size: start - at, ..entry.block };
                blocks.insert(at, Entry { block, ..entry });
                *freed += usize::from(!entry.live);
                // The rest of the range starts behind what was kept.
                return self.carve(kind, start, end, all);
            }
        }
    }
}

/// Where the range that an address lived in is among the recent ones.
fn recent(address: u64) -> usize {
    (address >> HEAP_LOG2) as usize % RECENT
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
