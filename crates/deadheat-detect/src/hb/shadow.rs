//! The shadow: from an address to the cell of its byte.
//!
//! Memory is cut into pages of 4096 bytes and these into blocks of 256. A block is either *whole*
//! (one cell for all its bytes) or cut into granules of 8, 4, 2 or 1 bytes, the coarsest that
//! the accesses to it allowed. An access that fits no granule boundary has its blocks cut finer
//! first; so every byte of a cell has the same past, and what a cell says holds of each byte.
//! Range operations touch one cell for each whole block. Pages that only ever were part of a
//! large range have no cells at all: their past is kept once, as an interval of `background`.
//!
//! Invariants: a page exists for each address with a cell; the background says nothing about
//! pages that exist. A cell that is copied is announced as shared, because a crowd that only
//! one cell names is changed in place; a cell of the background always counts as shared.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::cell::Cell;

const PAGE_LOG2: u32 = 12;
const PAGE: u64 = 1 << PAGE_LOG2;
const BLOCK_LOG2: u32 = 8;
const BLOCK: u64 = 1 << BLOCK_LOG2;
const BLOCKS_PER_PAGE: usize = (PAGE / BLOCK) as usize;
/// The coarsest granule of a block that is not whole: 8 bytes.
const COARSEST_LOG2: u32 = 3;
/// Cells are handed out in units of this many: a block at the coarsest granule.
const UNIT: usize = (BLOCK >> COARSEST_LOG2) as usize;
/// Pages are found through tables of this many.
const REGION_LOG2: u32 = 9;
const REGION: usize = 1 << REGION_LOG2;
/// The number of pages that are found without hashing.
const RECENT: usize = 1 << 10;
/// A range at least this long leaves pages that do not exist yet to the background.
pub(crate) const LARGE: u64 = 1 << 16;

const NO_PAGE: u32 = u32::MAX;

/// How a block is laid out: 0 if it is whole; else 1 + log2 of its granule in the low three
/// bits, and above them the number of the first unit of its cells.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
struct Layout(u32);

impl Layout {
    const WHOLE: Layout = Layout(0);

    fn new(granule_log2: u32, unit: usize) -> Self {
        assert!(unit < 1 << 29, "more than 128 GiB of shadow cells");
        Self((unit as u32) << 3 | (granule_log2 + 1))
    }

    #[inline]
    fn granule_log2(self) -> Option<u32> {
        (self.0 & 7).checked_sub(1)
    }

    #[inline]
    fn first_cell(self) -> usize {
        (self.0 >> 3) as usize * UNIT
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
    recent: Box<[(u64, u32); RECENT]>,
    regions: FxHashMap<u64, u32>,
    tables: Vec<[u32; REGION]>,
    layouts: Vec<Layout>,
    wholes: Vec<Cell>,
    cells: Vec<Cell>,
    free: [Vec<u32>; COARSEST_LOG2 as usize + 1],
    background: BTreeMap<u64, (u64, Cell)>,
}

impl Default for Shadow {
    fn default() -> Self {
        Self {
            recent: Box::new([(u64::MAX, 0); RECENT]),
            regions: FxHashMap::default(),
            tables: Vec::new(),
            layouts: Vec::new(),
            wholes: Vec::new(),
            cells: Vec::new(),
            free: Default::default(),
            background: BTreeMap::new(),
        }
    }
}

impl Shadow {
    /// Where the cells of an access within one block are, if its block has a granule that fits the
    /// access's bounds: the first and how many.
    #[inline]
    pub(crate) fn find(&mut self, address: u64, size: u64) -> Option<(usize, usize)> {
        let (page, number) = self.recent[recent(address)];
        let number = if page == address >> PAGE_LOG2 { number } else { self.existing(address)? };
        let layout = self.layouts[block_of(number, address)];
        let log2 = layout.granule_log2()?;
        let within = address % BLOCK;
        if (address | size) & ((1 << log2) - 1) != 0 || within + size > BLOCK {
            return None;
        }
        Some((layout.first_cell() + (within >> log2) as usize, (size >> log2) as usize))
    }

    /// The cells that [`Self::find`] found.
    #[inline]
    pub(crate) fn cells(&mut self, (first, count): (usize, usize)) -> &mut [Cell] {
        &mut self.cells[first..first + count]
    }

    /// What the first cell of an access says, as a number that means nothing: asking fetches it.
    #[inline]
    pub(crate) fn touch(&self, address: u64) -> u64 {
        let (page, number) = self.recent[recent(address)];
        if page != address >> PAGE_LOG2 {
            return 0;
        }
        let layout = self.layouts[block_of(number, address)];
        let Some(log2) = layout.granule_log2() else { return 0 };
        let index = layout.first_cell() + ((address % BLOCK) >> log2) as usize;
        self.cells.get(index).map_or(0, |cell| cell.bits())
    }

    /// Visits the cells of the bytes from `start` to `end`, cutting blocks where needed.
    pub(crate) fn visit(&mut self, start: u64, end: u64, visitor: &mut impl Visitor) {
        if end.saturating_sub(start) < LARGE {
            return self.visit_blocks(start, end, visitor);
        }
        let first = start.next_multiple_of(PAGE);
        let last = end & !(PAGE - 1);
        self.visit_blocks(start, first, visitor);
        self.visit_existing(first, last, visitor);
        self.visit_background(first, last, visitor);
        self.visit_blocks(last, end, visitor);
    }

    /// The bytes from `start` to `end` get a new life: they have no past.
    pub(crate) fn clear(&mut self, start: u64, end: u64, share: impl FnMut(Cell)) {
        // A background that sticks out stays: pages at either end take it over first.
        let (first, last) = (start.checked_next_multiple_of(PAGE).unwrap_or(end), end & !(PAGE - 1));
        for edge in [start, end] {
            if edge % PAGE != 0 && self.background_at(edge & !(PAGE - 1)) != Cell::EMPTY {
                self.page(edge);
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
            + self.tables.capacity() * size_of::<[u32; REGION]>()
    }

    fn visit_blocks(&mut self, mut start: u64, end: u64, visitor: &mut impl Visitor) {
        while start < end {
            // The last block of the address space has no end that can be written down.
            let stop = ((start & !(BLOCK - 1)).saturating_add(BLOCK)).min(end);
            let page = self.page(start);
            self.visit_block(block_of(page, start), start, stop, visitor);
            start = stop;
        }
    }

    /// Visits the bytes of a block from `start` to `stop`.
    fn visit_block(&mut self, block: usize, start: u64, stop: u64, visitor: &mut impl Visitor) {
        let whole = stop - start == BLOCK;
        if self.layouts[block] == Layout::WHOLE && whole {
            self.wholes[block] = visitor.visit(self.wholes[block], start);
            return;
        }
        if self.layouts[block] == Layout::WHOLE && self.wholes[block] == Cell::EMPTY && visitor.only_clears()
        {
            return;
        }
        let needed = (start | stop | 1 << COARSEST_LOG2).trailing_zeros();
        let granule = match self.layouts[block].granule_log2() {
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

    /// Visits the pages that exist between `start` and `end`.
    fn visit_existing(&mut self, start: u64, end: u64, visitor: &mut impl Visitor) {
        if start >= end {
            return;
        }
        let first = start >> PAGE_LOG2 >> REGION_LOG2;
        let last = (end - 1) >> PAGE_LOG2 >> REGION_LOG2;
        if last - first < self.regions.len() as u64 {
            for region in first..=last {
                if let Some(&table) = self.regions.get(&region) {
                    self.visit_region(region, table, start, end, visitor);
                }
            }
            return;
        }
        let mut inside: Vec<(u64, u32)> =
            self.regions.iter().map(|(&region, &table)| (region, table)).collect();
        inside.retain(|(region, _)| (first..=last).contains(region));
        inside.sort_unstable();
        for (region, table) in inside {
            self.visit_region(region, table, start, end, visitor);
        }
    }

    fn visit_region(&mut self, region: u64, table: u32, start: u64, end: u64, visitor: &mut impl Visitor) {
        let base = region << REGION_LOG2;
        let first = (start >> PAGE_LOG2).max(base);
        let last = ((end - 1) >> PAGE_LOG2).min(base + REGION as u64 - 1);
        for page in first..=last {
            let number = self.tables[table as usize][(page - base) as usize];
            if number == NO_PAGE {
                continue;
            }
            let mut at = start.max(page << PAGE_LOG2);
            let stop = end.min((page << PAGE_LOG2 | (PAGE - 1)).saturating_add(1));
            while at < stop {
                let block_stop = (at | (BLOCK - 1)).saturating_add(1).min(stop);
                self.visit_block(block_of(number, at), at, block_stop, visitor);
                at = block_stop;
            }
        }
    }

    /// Visits the background between two page boundaries, making it where there is none.
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

    /// Takes the background between two page boundaries out; what was there, in order.
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

    fn background_at(&self, page: u64) -> Cell {
        match self.background.range(..=page).next_back() {
            Some((_, &(end, cell))) if page < end => cell,
            _ => Cell::EMPTY,
        }
    }

    /// The number of the page that holds an address, if there is one.
    fn existing(&mut self, address: u64) -> Option<u32> {
        let page = address >> PAGE_LOG2;
        let (known, number) = self.recent[recent(address)];
        if known == page {
            return Some(number);
        }
        let table = *self.regions.get(&(page >> REGION_LOG2))?;
        let number = self.tables[table as usize][page as usize % REGION];
        if number == NO_PAGE {
            return None;
        }
        self.recent[recent(address)] = (page, number);
        Some(number)
    }

    /// The number of the page that holds an address, made if need be.
    fn page(&mut self, address: u64) -> u32 {
        if let Some(number) = self.existing(address) {
            return number;
        }
        let page = address >> PAGE_LOG2;
        let Self { regions, tables, .. } = self;
        let table = *regions.entry(page >> REGION_LOG2).or_insert_with(|| {
            tables.push([NO_PAGE; REGION]);
            tables.len() as u32 - 1
        });
        let number = (self.layouts.len() / BLOCKS_PER_PAGE) as u32;
        self.tables[table as usize][page as usize % REGION] = number;
        let cell = self.background_at(page << PAGE_LOG2);
        self.layouts.resize(self.layouts.len() + BLOCKS_PER_PAGE, Layout::WHOLE);
        self.wholes.resize(self.wholes.len() + BLOCKS_PER_PAGE, cell);
        self.recent[recent(address)] = (page, number);
        number
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
                let cell = std::mem::take(&mut self.wholes[block]);
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
        self.wholes[block] = self.cells[layout.first_cell()];
        self.layouts[block] = Layout::WHOLE;
        self.give_units(layout);
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
    (address >> PAGE_LOG2) as usize % RECENT
}

#[inline]
fn block_of(page: u32, address: u64) -> usize {
    page as usize * BLOCKS_PER_PAGE + ((address >> BLOCK_LOG2) as usize % BLOCKS_PER_PAGE)
}
