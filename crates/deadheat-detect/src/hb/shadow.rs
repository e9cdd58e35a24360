//! The shadow: from an address to the cell of its byte.
//!
//! Memory is cut into blocks of 128 bytes. A block is *absent*, *whole* (one cell for all its
//! bytes), or cut into granules of 8, 4, 2 or 1 bytes, the coarsest that the accesses to it
//! allowed. An access that fits no granule boundary has its blocks cut finer first; so every
//! byte of a cell has the same past, and what a cell says holds of each byte. Range operations
//! touch one cell for each whole block. Absent blocks that were part of a large range have no
//! cells at all: their past is kept once, as an interval of `background`.
//!
//! Invariants: what `background` says counts for absent blocks only. A cell that is copied is
//! announced as shared, because a crowd that only one cell names is changed in place; a cell of
//! the background always counts as shared.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::cell::Cell;

const BLOCK_LOG2: u32 = 7;
const BLOCK: u64 = 1 << BLOCK_LOG2;
/// The coarsest granule of a block that is not whole: 8 bytes.
const COARSEST_LOG2: u32 = 3;
/// Cells are handed out in units of this many: a block at the coarsest granule.
const UNIT: usize = (BLOCK >> COARSEST_LOG2) as usize;
/// The layouts of this many blocks lie together.
const BLOCKS_LOG2: u32 = 10;
const BLOCKS: usize = 1 << BLOCKS_LOG2;
/// So many bytes of memory make a region.
const REGION_LOG2: u32 = BLOCK_LOG2 + BLOCKS_LOG2;
/// The number of regions that are found without hashing.
const RECENT: usize = 1 << 9;
/// A range at least this long leaves absent blocks to the background.
pub(crate) const LARGE: u64 = 1 << 16;

/// How a block is laid out: 0 if it is absent; else in the low three bits 1 + log2 of its
/// granule, or [`Layout::WHOLE`], and above them the number of the first unit of its cells, or
/// of its whole cell.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Layout(u32);

impl Layout {
    const ABSENT: Layout = Layout(0);
    const WHOLE: u32 = 7;

    fn new(granule_log2: u32, unit: usize) -> Self {
        Self::tagged(granule_log2 + 1, unit)
    }

    fn whole(number: usize) -> Self {
        Self::tagged(Self::WHOLE, number)
    }

    fn tagged(tag: u32, number: usize) -> Self {
        assert!(number < 1 << 29, "more than 128 GiB of shadow cells");
        Self((number as u32) << 3 | tag)
    }

    #[inline]
    fn tag(self) -> u32 {
        self.0 & 7
    }

    /// The granule, if the block is cut.
    #[inline]
    fn granule_log2(self) -> Option<u32> {
        let log2 = self.tag().wrapping_sub(1);
        (log2 <= COARSEST_LOG2).then_some(log2)
    }

    #[inline]
    fn number(self) -> usize {
        (self.0 >> 3) as usize
    }

    #[inline]
    fn first_cell(self) -> usize {
        self.number() * UNIT
    }
}

/// What visits cells.
pub(crate) trait Visitor {
    /// The new value of the cell whose first byte is at `address`.
    fn visit(&mut self, cell: Cell, address: u64) -> Cell;
    /// The cell is copied.
    fn share(&mut self, cell: Cell);
    /// Whether every visit gives the empty cell.
    fn only_clears(&self) -> bool {
        false
    }
}

/// Leaves no past.
struct Clear<F>(F);

impl<F: FnMut(Cell)> Visitor for Clear<F> {
    fn visit(&mut self, _: Cell, _: u64) -> Cell {
        Cell::EMPTY
    }

    fn share(&mut self, cell: Cell) {
        (self.0)(cell);
    }

    fn only_clears(&self) -> bool {
        true
    }
}

/// All cells.
#[derive(Debug)]
pub(crate) struct Shadow {
    /// Regions and where their layouts begin.
    recent: Box<[(u64, u32); RECENT]>,
    regions: FxHashMap<u64, u32>,
    layouts: Vec<Layout>,
    wholes: Vec<Cell>,
    free_wholes: Vec<u32>,
    cells: Vec<Cell>,
    free: [Vec<u32>; COARSEST_LOG2 as usize + 1],
    background: BTreeMap<u64, (u64, Cell)>,
}

impl Default for Shadow {
    fn default() -> Self {
        Self {
            recent: Box::new([(u64::MAX, 0); RECENT]),
            regions: FxHashMap::default(),
            layouts: Vec::new(),
            wholes: Vec::new(),
            free_wholes: Vec::new(),
            cells: Vec::new(),
            free: Default::default(),
            background: BTreeMap::new(),
        }
    }
}

impl Shadow {
    /// The cells of an access of 1, 2, 4, 8 or 16 bytes, if its block is cut at its bounds.
    #[inline(always)]
    pub(crate) fn cells(&mut self, address: u64, size: u64) -> Option<&mut [Cell]> {
        let (region, first) = self.recent[recent(address)];
        let first = if region == address >> REGION_LOG2 { first } else { self.look_up(address)? };
        let layout = self.layouts[block_of(first, address)];
        let log2 = layout.tag().wrapping_sub(1);
        let within = address % BLOCK;
        // An access that is aligned ends in its block, and where a granule of its size or less does.
        let crosses =
            address & (size - 1) != 0 && (within + size > BLOCK || address & ((1 << (log2 & 7)) - 1) != 0);
        if log2 > COARSEST_LOG2 || size >> log2 == 0 || crosses {
            return None;
        }
        let first = layout.first_cell() + (within >> log2) as usize;
        self.cells.get_mut(first..first + (size >> log2) as usize)
    }

    /// What the first cell of an access says, as a number that means nothing: asking fetches it.
    #[inline]
    pub(crate) fn touch(&self, address: u64) -> u64 {
        let (region, first) = self.recent[recent(address)];
        if region != address >> REGION_LOG2 {
            return 0;
        }
        let layout = self.layouts[block_of(first, address)];
        let within = (address % BLOCK) >> (layout.tag().wrapping_sub(1) & COARSEST_LOG2);
        self.cells.get(layout.first_cell() + within as usize).map_or(0, |cell| cell.bits())
    }

    /// Visits the cells of the bytes from `start` to `end`, cutting blocks where needed.
    pub(crate) fn visit(&mut self, start: u64, end: u64, visitor: &mut impl Visitor) {
        if end.saturating_sub(start) < LARGE {
            return self.visit_blocks(start, end, visitor);
        }
        let first = start.next_multiple_of(BLOCK);
        let last = end & !(BLOCK - 1);
        self.visit_blocks(start, first, visitor);
        self.visit_existing(first, last, visitor);
        self.visit_background(first, last, visitor);
        self.visit_blocks(last, end, visitor);
    }

    /// The bytes from `start` to `end` get a new life: they have no past.
    pub(crate) fn clear(&mut self, start: u64, end: u64, share: impl FnMut(Cell)) {
        // A background that sticks out stays: blocks at either end take it over first.
        let (first, last) = (start.checked_next_multiple_of(BLOCK).unwrap_or(end), end & !(BLOCK - 1));
        for edge in [start, end] {
            if edge % BLOCK != 0 && self.background_at(edge & !(BLOCK - 1)) != Cell::EMPTY {
                self.block(edge);
            }
        }
        if first < last {
            self.carve_background(first, last);
        }
        self.visit_existing(start, end, &mut Clear(share));
    }

    /// Visits each cell that stands for a byte, in no order that means anything.
    pub(crate) fn for_each(&self, mut told: impl FnMut(Cell)) {
        self.wholes
            .iter()
            .chain(&self.cells)
            .filter(|&&cell| cell != Cell::EMPTY)
            .for_each(|&cell| told(cell));
        self.background.values().for_each(|&(_, cell)| told(cell));
    }

    /// The number of cells there is room for.
    pub(crate) fn len(&self) -> usize {
        self.wholes.len() + self.cells.len()
    }

    /// The bytes that the shadow takes.
    pub(crate) fn memory(&self) -> usize {
        (self.wholes.capacity() + self.cells.capacity()) * size_of::<Cell>()
            + self.layouts.capacity() * size_of::<Layout>()
    }

    fn visit_blocks(&mut self, mut start: u64, end: u64, visitor: &mut impl Visitor) {
        while start < end {
            // The last block of the address space has no end that can be written down.
            let stop = ((start & !(BLOCK - 1)).saturating_add(BLOCK)).min(end);
            let block = self.block(start);
            self.visit_block(block, start, stop, visitor);
            start = stop;
        }
    }

    /// Visits the bytes of a block, which is not absent, from `start` to `stop`.
    fn visit_block(&mut self, block: usize, start: u64, stop: u64, visitor: &mut impl Visitor) {
        let whole = stop - start == BLOCK;
        let layout = self.layouts[block];
        if whole && visitor.only_clears() {
            return self.drop_block(block);
        }
        if layout.tag() == Layout::WHOLE {
            let cell = &mut self.wholes[layout.number()];
            if whole {
                *cell = visitor.visit(*cell, start);
                return;
            }
            if *cell == Cell::EMPTY && visitor.only_clears() {
                return;
            }
        }
        let needed = (start | stop | 1 << COARSEST_LOG2).trailing_zeros();
        let granule = match layout.granule_log2() {
            Some(have) if have <= needed => have,
            _ => self.cut(block, needed, visitor),
        };
        let first = self.layouts[block].first_cell();
        let from = first + ((start % BLOCK) >> granule) as usize;
        let count = ((stop - start) >> granule) as usize;
        let mut known: Option<(Cell, Cell)> = None;
        let mut alike = true;
        for (index, cell) in self.cells[from..from + count].iter_mut().enumerate() {
            match known {
                Some((old, new)) if old == *cell => {
                    visitor.share(new);
                    *cell = new;
                }
                _ => {
                    let old = *cell;
                    *cell = visitor.visit(old, start + ((index as u64) << granule));
                    alike &= known.is_none_or(|(_, new)| new == *cell);
                    known = Some((old, *cell));
                }
            }
        }
        if whole && alike {
            self.make_whole(block);
        }
    }

    /// Visits the blocks between `start` and `end` that are not absent.
    fn visit_existing(&mut self, start: u64, end: u64, visitor: &mut impl Visitor) {
        if start >= end {
            return;
        }
        let (first, last) = (start >> REGION_LOG2, (end - 1) >> REGION_LOG2);
        if last - first < self.regions.len() as u64 {
            for region in first..=last {
                if let Some(&layouts) = self.regions.get(&region) {
                    self.visit_region(region, layouts, start, end, visitor);
                }
            }
            return;
        }
        let mut inside: Vec<(u64, u32)> =
            self.regions.iter().map(|(&region, &layouts)| (region, layouts)).collect();
        inside.retain(|(region, _)| (first..=last).contains(region));
        inside.sort_unstable();
        for (region, layouts) in inside {
            self.visit_region(region, layouts, start, end, visitor);
        }
    }

    fn visit_region(&mut self, region: u64, layouts: u32, start: u64, end: u64, visitor: &mut impl Visitor) {
        let mut at = start.max(region << REGION_LOG2);
        let stop = end.min((region << REGION_LOG2 | ((1 << REGION_LOG2) - 1)).saturating_add(1));
        while at < stop {
            let block_stop = (at | (BLOCK - 1)).saturating_add(1).min(stop);
            let block = block_of(layouts, at);
            if self.layouts[block] != Layout::ABSENT {
                self.visit_block(block, at, block_stop, visitor);
            }
            at = block_stop;
        }
    }

    /// Visits the background between two block boundaries, making it where there is none.
    fn visit_background(&mut self, start: u64, end: u64, visitor: &mut impl Visitor) {
        if start >= end {
            return;
        }
        let old = self.carve_background(start, end);
        let mut at = start;
        for (from, to, cell) in old {
            if at < from {
                let new = visitor.visit(Cell::EMPTY, at);
                self.background.insert(at, (from, new));
            }
            let new = visitor.visit(cell, from);
            self.background.insert(from, (to, new));
            at = to;
        }
        if at < end {
            let new = visitor.visit(Cell::EMPTY, at);
            self.background.insert(at, (end, new));
        }
        for (_, (_, cell)) in self.background.range(start..end) {
            visitor.share(*cell);
        }
    }

    /// Takes the background between two block boundaries out; what was there, in order.
    fn carve_background(&mut self, start: u64, end: u64) -> Vec<(u64, u64, Cell)> {
        let before = self.background.range(..start).next_back().map(|(&from, &(to, _))| (from, to));
        let first = before.filter(|&(_, to)| to > start).map_or(start, |(from, _)| from);
        let inside: Vec<_> =
            self.background.range(first..end).map(|(&from, &(to, cell))| (from, to, cell)).collect();
        let mut taken = Vec::with_capacity(inside.len());
        for (from, to, cell) in inside {
            self.background.remove(&from);
            if from < start {
                self.background.insert(from, (start, cell));
            }
            if to > end {
                self.background.insert(end, (to, cell));
            }
            taken.push((from.max(start), to.min(end), cell));
        }
        taken
    }

    fn background_at(&self, block: u64) -> Cell {
        match self.background.range(..=block).next_back() {
            Some((_, &(end, cell))) if block < end => cell,
            _ => Cell::EMPTY,
        }
    }

    /// Where the layouts of an address's region begin, if there are any.
    #[inline(never)]
    fn look_up(&mut self, address: u64) -> Option<u32> {
        let region = address >> REGION_LOG2;
        let first = *self.regions.get(&region)?;
        self.recent[recent(address)] = (region, first);
        Some(first)
    }

    /// The block that holds an address; an absent one becomes whole.
    fn block(&mut self, address: u64) -> usize {
        let region = address >> REGION_LOG2;
        let (known, first) = self.recent[recent(address)];
        let first = if known == region {
            first
        } else {
            let Self { regions, layouts, .. } = self;
            let first = *regions.entry(region).or_insert_with(|| {
                let first = layouts.len();
                layouts.resize(first + BLOCKS, Layout::ABSENT);
                u32::try_from(first).expect("more than 500 GiB of memory")
            });
            self.recent[recent(address)] = (region, first);
            first
        };
        let block = block_of(first, address);
        if self.layouts[block] == Layout::ABSENT {
            let cell = self.background_at(address & !(BLOCK - 1));
            self.layouts[block] = self.take_whole(cell);
        }
        block
    }

    /// Cuts a block into granules of at most `1 << log2` bytes; the granule that it then has.
    fn cut(&mut self, block: usize, log2: u32, visitor: &mut impl Visitor) -> u32 {
        let old = self.layouts[block];
        let count = (BLOCK >> log2) as usize;
        let unit = self.take_units(log2);
        let new = Layout::new(log2, unit);
        let first = new.first_cell();
        match old.granule_log2() {
            None => {
                let cell = std::mem::take(&mut self.wholes[old.number()]);
                self.free_wholes.push(old.number() as u32);
                visitor.share(cell);
                self.cells[first..first + count].fill(cell);
            }
            Some(had) => {
                let from = old.first_cell();
                for index in 0..count {
                    let cell = self.cells[from + (index >> (had - log2))];
                    visitor.share(cell);
                    self.cells[first + index] = cell;
                }
                self.give_units(old);
            }
        }
        self.layouts[block] = new;
        log2
    }

    /// A block whose cells are all alike becomes whole.
    fn make_whole(&mut self, block: usize) {
        let layout = self.layouts[block];
        let cell = self.cells[layout.first_cell()];
        self.layouts[block] = self.take_whole(cell);
        self.give_units(layout);
    }

    /// A block becomes absent; no background may be there.
    fn drop_block(&mut self, block: usize) {
        let layout = std::mem::take(&mut self.layouts[block]);
        if layout.tag() == Layout::WHOLE {
            self.wholes[layout.number()] = Cell::EMPTY;
            self.free_wholes.push(layout.number() as u32);
        }
        self.give_units(layout);
    }

    fn take_whole(&mut self, cell: Cell) -> Layout {
        let number = match self.free_wholes.pop() {
            Some(number) => number as usize,
            None => {
                self.wholes.push(Cell::EMPTY);
                self.wholes.len() - 1
            }
        };
        self.wholes[number] = cell;
        Layout::whole(number)
    }

    fn take_units(&mut self, log2: u32) -> usize {
        if let Some(unit) = self.free[log2 as usize].pop() {
            return unit as usize;
        }
        let unit = self.cells.len() / UNIT;
        self.cells.resize(self.cells.len() + (BLOCK >> log2) as usize, Cell::EMPTY);
        unit
    }

    fn give_units(&mut self, layout: Layout) {
        let Some(log2) = layout.granule_log2() else { return };
        let first = layout.first_cell();
        self.cells[first..first + (BLOCK >> log2) as usize].fill(Cell::EMPTY);
        self.free[log2 as usize].push((first / UNIT) as u32);
    }
}

#[inline]
fn recent(address: u64) -> usize {
    (address >> REGION_LOG2) as usize % RECENT
}

/// The index of the layout of an address's block, if its region's layouts begin at `first`.
#[inline]
fn block_of(first: u32, address: u64) -> usize {
    first as usize + (address >> BLOCK_LOG2) as usize % BLOCKS
}
