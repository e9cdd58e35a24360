//! The shadow: from an address to the cell of its byte.
//!
//! Memory is cut into blocks of 128 bytes. A block is *absent*, *whole* (one cell for all its
//! bytes), or cut into granules of 8, 4, 2 or 1 bytes, the coarsest that the accesses to it
//! allowed. An access that fits no granule boundary has its blocks cut finer first; so every
//! byte of a cell has the same past, and what a cell says holds of each byte. Range operations
//! touch one cell for each whole block. Absent blocks that were part of a large range have no
//! cells at all: their past is kept once, as an interval of `background`.
//!
//! What a cell says is for each analysis to choose; it is small and copied freely.
//!
//! Invariants: what `background` says counts for absent blocks only. A cell that is copied is
//! announced, because what several cells name may be changed in place if they all step together; what a cell of the
//! background names is pinned, so that nobody need count its cells.

mod visit;

use std::collections::BTreeMap;
use std::ops::Range;

use deadheat_core::plain::Plain;
use rustc_hash::FxHashMap;

use visit::Clear;
pub(crate) use visit::{Keeper, Past, Visitor};

const BLOCK_LOG2: u32 = 7;
const BLOCK: u64 = 1 << BLOCK_LOG2;
/// The coarsest granule of a block that is not whole: 8 bytes.
const COARSEST_LOG2: u32 = 3;
/// Cells are handed out in units of this many: a block at the coarsest granule.
const UNIT: usize = (BLOCK >> COARSEST_LOG2) as usize;
/// So many cells stand before those of the first unit: a large table begins 16 bytes behind a page's first, where the
/// allocator has its own, and with them a unit begins where a line of a processor's cache does.
const LEAD: usize = 3;
/// The layouts of this many blocks lie together.
const BLOCKS_LOG2: u32 = 10;
const BLOCKS: usize = 1 << BLOCKS_LOG2;
/// So many bytes of memory make a region.
const REGION_LOG2: u32 = BLOCK_LOG2 + BLOCKS_LOG2;
/// The number of regions that are found without hashing.
const RECENT: usize = 1 << 11;
/// The number of blocks that are found without asking for their region.
const NEAR: usize = 1 << 10;
/// So many cells lie in one line of a processor's cache.
const LINE: usize = 4;
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
        LEAD + self.number() * UNIT
    }

    /// The cells of an access of 1, 2, 4, 8 or 16 bytes to a block that is cut, if it is cut at the access's bounds.
    #[inline(always)]
    fn cells(self, address: u64, size: u64) -> Option<Range<usize>> {
        let log2 = self.tag().wrapping_sub(1);
        // An aligned access ends in its block, and where a granule of its size or a smaller one does.
        if address & (size - 1) != 0 && crosses(address, size, log2) {
            return None;
        }
        let first = self.first_cell() + ((address % BLOCK) >> log2) as usize;
        let count = (size >> log2) as usize;
        (count > 0).then_some(first..first + count)
    }
}

/// All cells.
#[derive(Debug)]
pub(crate) struct Shadow<C> {
    /// Regions and where their layouts begin.
    recent: Box<[(u64, u32); RECENT]>,
    regions: FxHashMap<u64, u32>,
    /// Blocks by their numbers that are cut, and their layouts.
    near: Box<[(u64, Layout); NEAR]>,
    layouts: Vec<Layout>,
    wholes: Vec<C>,
    free_wholes: Vec<u32>,
    cells: Vec<C>,
    free: [Vec<u32>; COARSEST_LOG2 as usize + 1],
    background: BTreeMap<u64, (u64, C)>,
}

impl<C: Past> Default for Shadow<C> {
    fn default() -> Self {
        Self {
            recent: Box::new([(u64::MAX, 0); RECENT]),
            regions: FxHashMap::default(),
            near: Box::new([(u64::MAX, Layout::ABSENT); NEAR]),
            layouts: Vec::new(),
            wholes: Vec::new(),
            free_wholes: Vec::new(),
            cells: vec![C::EMPTY; LEAD],
            free: Default::default(),
            background: BTreeMap::new(),
        }
    }
}

impl<C: Past> Shadow<C> {
    /// The cells of an access of 1, 2, 4, 8 or 16 bytes, if its block is cut at its bounds.
    #[inline(always)]
    pub(crate) fn cells(&mut self, address: u64, size: u64) -> Option<&mut [C]> {
        let layout = self.layout(address)?;
        self.cells.get_mut(layout.cells(address, size)?)
    }

    /// The one cell of an access of 1, 2, 4, 8 or 16 bytes, if its block is near and cut to granules of that size at its
    /// bounds. A part of what [`Self::cells`] gives, in half the instructions.
    #[inline(always)]
    pub(crate) fn near_cell(&mut self, address: u64, size: u64) -> Option<&mut C> {
        let (block, layout) = self.near[(address >> BLOCK_LOG2) as usize % NEAR];
        let log2 = layout.tag().wrapping_sub(1) % u64::BITS;
        if (block ^ address >> BLOCK_LOG2) | (size >> log2 ^ 1) | (address & (size - 1)) != 0 {
            return None;
        }
        self.cells.get_mut(layout.first_cell() + ((address % BLOCK) >> log2) as usize)
    }

    /// Gives `step` the cells of each of `turns` accesses of 1, 2, 4, 8 or 16 bytes, a stride apart, as long as
    /// [`Self::cells`] gives them and it says `true`; says how many it took.
    #[inline(always)]
    pub(crate) fn strided(
        &mut self,
        (first, stride): (u64, u64),
        size: u64,
        turns: u32,
        mut step: impl FnMut(&mut [C]) -> bool,
    ) -> u32 {
        let mut address = first;
        for turn in 0..turns {
            let taken = match self.cells(address, size) {
                Some(cells) => step(cells),
                None => false,
            };
            if !taken {
                return turn;
            }
            address = address.wrapping_add(stride);
        }
        turns
    }

    /// Fetches the first cell of each access, and what `beyond` loads of what it names. First it finds where they are,
    /// then it asks for all of them: a processor has many such questions under way at a time only if little stands
    /// between them. What was found is near from now on.
    pub(crate) fn touch(&mut self, accesses: &[Plain], beyond: impl Fn(C) -> u64) {
        const AT_A_TIME: usize = 64;
        let mut cells = [0; AT_A_TIME];
        let mut line = usize::MAX;
        for some in accesses.chunks(AT_A_TIME) {
            let mut count = 0;
            for &Plain { address, .. } in some {
                let cell = self.first_cell(address);
                cells[count] = cell;
                // One that lies in the line of the one before it is not counted.
                let beside = (cell + LINE - LEAD) / LINE;
                count += usize::from(beside != line);
                line = beside;
            }
            let sum = cells[..count].iter().fold(0, |sum: u64, &cell| {
                sum ^ self.cells.get(cell).map_or(0, |&cell| cell.bits() ^ beyond(cell))
            });
            std::hint::black_box(sum);
        }
    }

    /// The number of the cell of an address, or of another one if that is not soon found.
    #[inline]
    fn first_cell(&mut self, address: u64) -> usize {
        let block = address >> BLOCK_LOG2;
        let (near, mut layout) = self.near[block as usize % NEAR];
        if near != block {
            let (region, first) = self.recent[recent(address)];
            if region != address >> REGION_LOG2 {
                return 0;
            }
            layout = self.layouts[block_of(first, address)];
            if layout.granule_log2().is_none() {
                return 0;
            }
            self.near[block as usize % NEAR] = (block, layout);
        }
        let within = (address % BLOCK) >> (layout.tag().wrapping_sub(1) & COARSEST_LOG2);
        layout.first_cell() + within as usize
    }

    /// The layout of an address's block, if it is cut.
    #[inline(always)]
    fn layout(&mut self, address: u64) -> Option<Layout> {
        let (block, layout) = self.near[(address >> BLOCK_LOG2) as usize % NEAR];
        // Blocks that are not cut are never near.
        if block == address >> BLOCK_LOG2 { Some(layout) } else { self.look_up(address) }
    }

    /// Visits the cells of the bytes from `start` to `end`, cutting blocks where needed.
    pub(crate) fn visit(&mut self, start: u64, end: u64, visitor: &mut impl Visitor<C>) {
        if self.visit_parts(start, end, visitor) {
            return;
        }
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
    pub(crate) fn clear(&mut self, start: u64, end: u64, keeper: &mut impl Keeper<C>) {
        if self.visit_parts(start, end, &mut Clear(keeper)) {
            return;
        }
        // A background that sticks out stays: blocks at either end take it over first.
        let (first, last) = (start.checked_next_multiple_of(BLOCK).unwrap_or(end), end & !(BLOCK - 1));
        for edge in [start, end] {
            if !self.background.is_empty()
                && edge % BLOCK != 0
                && self.background_at(edge & !(BLOCK - 1)) != C::EMPTY
            {
                self.block(edge);
            }
        }
        if first < last && !self.background.is_empty() {
            self.carve_background(first, last);
        }
        self.visit_existing(start, end, &mut Clear(keeper));
    }

    /// Visits each cell that stands for a byte, in no order that means anything.
    pub(crate) fn for_each(&self, mut told: impl FnMut(C)) {
        self.wholes.iter().chain(&self.cells).filter(|&&cell| cell != C::EMPTY).for_each(|&cell| told(cell));
        self.background.values().for_each(|&(_, cell)| told(cell));
    }

    /// The number of cells there is room for.
    pub(crate) fn len(&self) -> usize {
        self.wholes.len() + self.cells.len()
    }

    /// The bytes that the shadow takes.
    pub(crate) fn memory(&self) -> usize {
        (self.wholes.capacity() + self.cells.capacity()) * size_of::<C>()
            + self.layouts.capacity() * size_of::<Layout>()
    }

    /// Visits bytes that are a part of one block or of two, if these are cut at their bounds. `false`, and nothing
    /// visited, otherwise.
    #[inline]
    fn visit_parts(&mut self, start: u64, end: u64, visitor: &mut impl Visitor<C>) -> bool {
        if end.wrapping_sub(start) >= BLOCK || start >= end {
            return false;
        }
        let last = end - 1;
        let (Some(one), Some(two)) = (self.layout(start), self.layout(last)) else { return false };
        let (fine, other) = (1 << (one.tag() - 1), 1 << (two.tag() - 1));
        if start & (fine - 1) != 0 || end & (other - 1) != 0 {
            return false;
        }
        let stop = if start >> BLOCK_LOG2 == last >> BLOCK_LOG2 { end } else { last & !(BLOCK - 1) };
        self.visit_cells(one, (start, stop), visitor);
        if stop < end {
            self.visit_cells(two, (stop, end), visitor);
        }
        true
    }

    fn visit_blocks(&mut self, mut start: u64, end: u64, visitor: &mut impl Visitor<C>) {
        while start < end {
            if start.is_multiple_of(BLOCK) && end - start >= 2 * BLOCK {
                let next = self.visit_wholes(start, end & !(BLOCK - 1), visitor);
                if next > start {
                    start = next;
                    continue;
                }
            }
            // The last block of the address space has no end that can be written down.
            let stop = ((start & !(BLOCK - 1)).saturating_add(BLOCK)).min(end);
            let block = self.block(start);
            self.visit_block(block, start, stop, visitor);
            start = stop;
        }
    }

    /// Visits whole blocks of one region as long as one follows the other; gives where they end.
    fn visit_wholes(&mut self, start: u64, end: u64, visitor: &mut impl Visitor<C>) -> u64 {
        let (region, first) = self.recent[recent(start)];
        if region != start >> REGION_LOG2 || visitor.only_clears() {
            return start;
        }
        let from = block_of(first, start);
        let count = ((end - start) >> BLOCK_LOG2).min((BLOCKS - from % BLOCKS) as u64) as usize;
        let (mut at, mut last) = (start, None);
        for layout in
            self.layouts[from..from + count].iter().take_while(|layout| layout.tag() == Layout::WHOLE)
        {
            let cell = &mut self.wholes[layout.number()];
            match last {
                Some((old, new)) if *cell == old => *cell = new,
                _ => {
                    let old = *cell;
                    *cell = visitor.visit(old, at, 1);
                    // Who is counted must be seen one by one.
                    last = (!old.is_counted() && !cell.is_counted()).then_some((old, *cell));
                }
            }
            at += BLOCK;
        }
        at
    }

    /// Visits the bytes of a block, which is not absent, from `start` to `stop`.
    fn visit_block(&mut self, block: usize, start: u64, stop: u64, visitor: &mut impl Visitor<C>) {
        let whole = stop - start == BLOCK;
        let layout = self.layouts[block];
        if whole && visitor.only_clears() {
            return self.drop_block((block, start), visitor);
        }
        if layout.tag() == Layout::WHOLE {
            let cell = &mut self.wholes[layout.number()];
            if whole {
                *cell = visitor.visit(*cell, start, 1);
                return;
            }
            if *cell == C::EMPTY && visitor.only_clears() {
                return;
            }
        }
        let needed = (start | stop | 1 << COARSEST_LOG2).trailing_zeros();
        if layout.granule_log2().is_none_or(|have| have > needed) {
            self.cut((block, start), needed, visitor);
        }
        let alike = self.visit_cells(self.layouts[block], (start, stop), visitor);
        if whole && alike {
            self.make_whole((block, start), visitor);
        }
    }

    /// Visits the cells of a part of a block that is cut at its bounds; says whether they are all alike then.
    fn visit_cells(
        &mut self,
        layout: Layout,
        (start, stop): (u64, u64),
        visitor: &mut impl Visitor<C>,
    ) -> bool {
        let granule = layout.tag() - 1;
        let from = layout.first_cell() + ((start % BLOCK) >> granule) as usize;
        let count = ((stop - start) >> granule) as usize;
        let mut alike = true;
        let mut rest = &mut self.cells[from..from + count];
        let mut at = start;
        let mut last = None;
        while let Some(&cell) = rest.first() {
            let run = rest.iter().take_while(|&&next| next == cell).count();
            let new = visitor.visit(cell, at, run as u32);
            let (these, others) = rest.split_at_mut(run);
            if new != cell {
                these.fill(new);
            }
            alike &= last.is_none_or(|last| last == new);
            last = Some(new);
            at += (run as u64) << granule;
            rest = others;
        }
        alike
    }

    /// Visits the blocks between `start` and `end` that are not absent.
    fn visit_existing(&mut self, start: u64, end: u64, visitor: &mut impl Visitor<C>) {
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

    fn visit_region(
        &mut self,
        region: u64,
        layouts: u32,
        start: u64,
        end: u64,
        visitor: &mut impl Visitor<C>,
    ) {
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
    fn visit_background(&mut self, start: u64, end: u64, visitor: &mut impl Visitor<C>) {
        if start >= end {
            return;
        }
        let old = self.carve_background(start, end);
        let mut at = start;
        for (from, to, cell) in old {
            self.fill_background((at, from), C::EMPTY, visitor);
            self.fill_background((from, to), cell, visitor);
            at = to;
        }
        self.fill_background((at, end), C::EMPTY, visitor);
        for (_, (_, cell)) in self.background.range(start..end) {
            visitor.pin(*cell);
        }
    }

    /// Makes background between two block boundaries, unless no block there is absent: it would say nothing of any byte.
    fn fill_background(&mut self, (start, end): (u64, u64), cell: C, visitor: &mut impl Visitor<C>) {
        if let Some(absent) = self.first_absent(start, end) {
            let new = visitor.visit(cell, absent, 1);
            self.background.insert(start, (end, new));
        }
    }

    /// Where the first absent block between two block boundaries begins.
    fn first_absent(&self, mut start: u64, end: u64) -> Option<u64> {
        while start < end {
            let Some(&first) = self.regions.get(&(start >> REGION_LOG2)) else { return Some(start) };
            let block = block_of(first, start);
            let rest = BLOCKS - block % BLOCKS;
            let absent = self.layouts[block..][..rest].iter().position(|&layout| layout == Layout::ABSENT);
            start += (absent.unwrap_or(rest) as u64) << BLOCK_LOG2;
            if absent.is_some() {
                break;
            }
        }
        (start < end).then_some(start)
    }

    /// Takes the background between two block boundaries out; what was there, in order.
    fn carve_background(&mut self, start: u64, end: u64) -> Vec<(u64, u64, C)> {
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

    fn background_at(&self, block: u64) -> C {
        match self.background.range(..=block).next_back() {
            Some((_, &(end, cell))) if block < end => cell,
            _ => C::EMPTY,
        }
    }

    /// The layout of an address's block, if it is cut; it is near from now on.
    #[inline(never)]
    fn look_up(&mut self, address: u64) -> Option<Layout> {
        let region = address >> REGION_LOG2;
        let (known, first) = self.recent[recent(address)];
        let first = if known == region {
            first
        } else {
            let first = *self.regions.get(&region)?;
            self.recent[recent(address)] = (region, first);
            first
        };
        let layout = self.layouts[block_of(first, address)];
        layout.granule_log2()?;
        let block = address >> BLOCK_LOG2;
        self.near[block as usize % NEAR] = (block, layout);
        Some(layout)
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

    /// The layout of an address's block is about to change.
    fn part_from(&mut self, address: u64) {
        let block = address >> BLOCK_LOG2;
        let near = &mut self.near[block as usize % NEAR];
        if near.0 == block {
            *near = (u64::MAX, Layout::ABSENT);
        }
    }

    /// Cuts a block into granules of `1 << log2` bytes.
    fn cut(&mut self, (block, address): (usize, u64), log2: u32, visitor: &mut impl Visitor<C>) {
        self.part_from(address);
        let old = self.layouts[block];
        let count = (BLOCK >> log2) as usize;
        let unit = self.take_units(log2);
        let new = Layout::new(log2, unit);
        let first = new.first_cell();
        match old.granule_log2() {
            None => {
                let cell = std::mem::replace(&mut self.wholes[old.number()], C::EMPTY);
                self.free_wholes.push(old.number() as u32);
                visitor.copied(cell, count as u32 - 1);
                self.cells[first..first + count].fill(cell);
            }
            Some(had) => {
                let (from, each) = (old.first_cell(), 1 << (had - log2));
                for index in 0..count / each {
                    let cell = self.cells[from + index];
                    visitor.copied(cell, each as u32 - 1);
                    self.cells[first + index * each..][..each].fill(cell);
                }
                self.give_units(old);
            }
        }
        self.layouts[block] = new;
    }

    /// A block whose cells are all alike becomes whole.
    fn make_whole(&mut self, (block, address): (usize, u64), visitor: &mut impl Visitor<C>) {
        self.part_from(address);
        let layout = self.layouts[block];
        let cell = self.cells[layout.first_cell()];
        let count = layout.granule_log2().map_or(1, |log2| BLOCK >> log2);
        visitor.dropped(cell, count as u32 - 1);
        self.layouts[block] = self.take_whole(cell);
        self.give_units(layout);
    }

    /// A block becomes absent; no background may be there.
    fn drop_block(&mut self, (block, address): (usize, u64), visitor: &mut impl Visitor<C>) {
        self.part_from(address);
        let layout = std::mem::take(&mut self.layouts[block]);
        if layout.tag() == Layout::WHOLE {
            visitor.dropped(std::mem::replace(&mut self.wholes[layout.number()], C::EMPTY), 1);
            self.free_wholes.push(layout.number() as u32);
        }
        if let Some(log2) = layout.granule_log2() {
            let first = layout.first_cell();
            self.cells[first..first + (BLOCK >> log2) as usize]
                .iter()
                .for_each(|&cell| visitor.dropped(cell, 1));
        }
        self.give_units(layout);
    }

    fn take_whole(&mut self, cell: C) -> Layout {
        let number = match self.free_wholes.pop() {
            Some(number) => number as usize,
            None => {
                self.wholes.push(C::EMPTY);
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
        let unit = (self.cells.len() - LEAD) / UNIT;
        self.cells.resize(self.cells.len() + (BLOCK >> log2) as usize, C::EMPTY);
        unit
    }

    fn give_units(&mut self, layout: Layout) {
        let Some(log2) = layout.granule_log2() else { return };
        let first = layout.first_cell();
        self.cells[first..first + (BLOCK >> log2) as usize].fill(C::EMPTY);
        self.free[log2 as usize].push(layout.number() as u32);
    }
}

/// Whether an unaligned access leaves its block or cuts a granule.
#[inline(never)]
fn crosses(address: u64, size: u64, log2: u32) -> bool {
    address % BLOCK + size > BLOCK || address & ((1 << log2) - 1) != 0
}

/// Where a region is among the recent ones. The heaps of threads are powers of two apart.
#[inline(always)]
fn recent(address: u64) -> usize {
    ((address >> REGION_LOG2).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - RECENT.ilog2())) as usize % RECENT
}

/// The index of the layout of an address's block, if its region's layouts begin at `first`.
#[inline(always)]
fn block_of(first: u32, address: u64) -> usize {
    first as usize + (address >> BLOCK_LOG2) as usize % BLOCKS
}
