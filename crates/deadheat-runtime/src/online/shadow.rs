//! Where the cells are: sixteen bytes for eight, mapped as the program touches its memory.
//!
//! The address space is cut into regions of 64 MiB. A table gives for each region what to add to twice an address to come to its
//! cell; it holds for all addresses, wherever the program's memory lies, and two addresses never share a cell.

use core::sync::atomic::{AtomicU32, AtomicU64 as Word, AtomicUsize, Ordering};

use deadheat_core::event::BlockKind;

use super::block::{self, Blocks};
use super::word::GRANULE;
use super::{fill, memory, narrow, span};
use crate::sys;
use crate::sys::primitive::AtomicU64;

/// log2 of a region's size.
pub(crate) const REGION_LOG2: u32 = 26;
pub(super) const REGION: usize = 1 << REGION_LOG2;
/// Regions of the program's half of the address space.
pub(crate) const REGIONS: usize = 1 << (47 - REGION_LOG2);
/// The last granule of a region, as the bits of an address that tell.
pub(super) const LAST_GRANULE: usize = REGION - GRANULE;
/// Bytes of shadow for one byte.
pub(super) const SCALE: usize = 2;

/// By region: what to add to twice an address; 0 where nothing was touched yet.
pub(crate) static CELLS: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];

/// The same for what is known of heap blocks: what to add to half an address.
static META: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];

/// A cell: a set of two words, or a link to a larger one.
pub(crate) type Cell = [AtomicU64; 2];

/// The cell of the granule that holds an address, if its region is mapped.
#[inline(always)]
pub(super) fn known_cell<'a>(address: usize) -> Option<&'a Cell> {
    let base = CELLS.get(address >> REGION_LOG2)?.load(Ordering::Relaxed);
    // SAFETY: the region's cells are mapped.
    (base != 0).then(|| unsafe { &*(base.wrapping_add((address & !(GRANULE - 1)) * SCALE) as *const Cell) })
}

/// The cell of the granule that holds an address; maps its region if need be. `None` for an address that cannot be
/// the program's, or without memory.
#[inline(always)]
pub(crate) fn cell<'a>(address: usize) -> Option<&'a Cell> {
    let region = address >> REGION_LOG2;
    if region >= REGIONS {
        return None;
    }
    let mut base = CELLS[region].load(Ordering::Relaxed);
    if base == 0 {
        base = touch(region);
        if base == 0 {
            return None;
        }
    }
    // SAFETY: the region's cells are mapped, and zero at first, which is a cell.
    Some(unsafe { &*(base.wrapping_add((address & !(GRANULE - 1)) * SCALE) as *const Cell) })
}

/// Cells from an address's on, at the most `count`; those of its region, and none if it has none.
#[inline]
pub(crate) fn cells<'a>(address: usize, count: usize) -> &'a [Cell] {
    let Some(first) = cell(address) else { return &[] };
    let here = ((1 << REGION_LOG2) - address % (1 << REGION_LOG2)) / GRANULE;
    // SAFETY: the region's cells lie behind each other.
    unsafe { core::slice::from_raw_parts(first, count.min(here)) }
}

/// The regions that were touched so far, as far as there is room: a fork is not to look through all.
static TOUCHED: [AtomicU32; 1 << 12] = [const { AtomicU32::new(0) }; 1 << 12];
static TOUCHED_COUNT: AtomicU32 = AtomicU32::new(0);

/// Maps a region's cells.
#[cold]
#[inline(never)]
fn touch(region: usize) -> usize {
    let next = TOUCHED_COUNT.fetch_add(1, Ordering::Relaxed);
    if let Some(place) = TOUCHED.get(next as usize) {
        place.store(region as u32, Ordering::Release);
    }
    // Behind the page that nobody writes is what `fill` knows of the others.
    map(&CELLS[region], region * REGION * SCALE, REGION * SCALE + fill::ROOM)
}

/// Maps a region's part, `size` bytes, so that `from` becomes its beginning. Behind it is a page that nobody writes: a hook may
/// look at the cell behind a region's last. Gives what to add; 0 without memory.
#[cold]
#[inline(never)]
pub(super) fn map(base: &AtomicUsize, from: usize, size: usize) -> usize {
    let Ok(mapped) = sys::map_anonymous(size + PAGE) else {
        memory::none();
        return 0;
    };
    if !sys::is_confined() {
        sys::no_huge_pages(mapped, size);
    }
    let delta = (mapped as usize).wrapping_sub(from);
    match base.compare_exchange(0, delta, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => delta,
        Err(other) => {
            // SAFETY: nobody knows of it.
            unsafe { sys::unmap(mapped, size + PAGE) };
            other
        }
    }
}

/// Above this size clearing by pages is quicker than by stores.
const BY_PAGES: usize = 8 << 20;
/// Above this size it pays to ask the system which cells were touched at all.
pub(crate) const LARGE: usize = 128 << 10;
pub(super) const PAGE: usize = 4096;

/// The bytes have a new life, without a past. `fresh` if they come straight from the system.
///
/// # Safety
/// No thread accesses them in order. `blocks` are the calling thread's, which is busy.
pub(crate) unsafe fn clear(start: usize, size: usize, fresh: bool, blocks: &mut Blocks) {
    let end = start.saturating_add(size).min(1 << 47);
    let by_pages = fresh || size >= BY_PAGES;
    if size >= LARGE && !by_pages {
        return touched(start, size, |start, size| {
            // SAFETY: passed on; a part is not large.
            unsafe { clear(start, size, fresh, blocks) };
        });
    }
    let mut at = start & !(GRANULE - 1);
    while at < end {
        let next = ((at | (REGION - 1)) + 1).min(end);
        let base = CELLS[at >> REGION_LOG2].load(Ordering::Relaxed);
        if base != 0 {
            // SAFETY: the region is mapped.
            unsafe { clear_part(base, at, next, by_pages, blocks) };
        }
        at = next;
    }
}

/// Clears within one region.
///
/// # Safety
/// As for [`clear`]; `base` is that of the region, whose cells are mapped.
unsafe fn clear_part(base: usize, from: usize, to: usize, by_pages: bool, blocks: &mut Blocks) {
    let address = |at: usize| base.wrapping_add(at * SCALE);
    let (mut from, to) = (from, to.next_multiple_of(GRANULE));
    // SAFETY: the cells are mapped; what has links is cleared cell by cell.
    unsafe {
        if by_pages && to - from >= PAGE {
            let first = address(from).next_multiple_of(PAGE);
            let last = address(to) & !(PAGE - 1);
            let front = from + (first - address(from)) / SCALE;
            let back = from + (last - address(from)) / SCALE;
            if back > front {
                clear_cells(base, from, front, blocks);
                sys::forget_pages(first as *mut u8, last - first);
                fill::gone(front, back - front);
                from = back;
            }
        }
        clear_cells(base, from, to, blocks);
    }
}

/// Clears cells.
///
/// # Safety
/// As for [`clear_part`].
unsafe fn clear_cells(base: usize, from: usize, to: usize, blocks: &mut Blocks) {
    let first = base.wrapping_add(from * SCALE) as *const Cell;
    // SAFETY: the caller's promise; the cells lie behind each other.
    let cells = unsafe { core::slice::from_raw_parts(first, (to - from) / GRANULE) };
    // SAFETY: passed on.
    by_spans(cells, |span| span::begin(span, 0), |cell| unsafe { narrow::clear(cell, blocks) });
}

/// Calls `each` with the parts of a range, first byte and size, whose cells may have been touched.
pub(crate) fn touched(start: usize, size: usize, mut each: impl FnMut(usize, usize)) {
    const STEP: usize = PAGE / SCALE;
    let end = start.saturating_add(size).min(1 << 47);
    let mut at = start;
    while at < end {
        let region = at >> REGION_LOG2;
        let base = CELLS[region].load(Ordering::Relaxed);
        let last = ((at | (REGION - 1)) + 1).min(end);
        if base == 0 {
            at = last;
            continue;
        }
        let mut pages = [0; 256];
        let first = base.wrapping_add(at * SCALE) & !(PAGE - 1);
        let count = (base.wrapping_add(last * SCALE) - first).div_ceil(PAGE).min(pages.len());
        sys::resident(first as *mut u8, &mut pages[..count]);
        for page in &pages[..count] {
            let next = (((at / STEP) + 1) * STEP).min(last);
            if page & 1 != 0 {
                each(at, next - at);
            }
            at = next;
        }
    }
}

/// What is noted of a heap block, in two words that stand for its first 32 bytes: where it was allocated (a node of the
/// tree, its place the innermost call), by whom, and its size and kind.
#[derive(Clone, Copy)]
pub(crate) struct Noted {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) kind: u32,
    pub(crate) node: u32,
    pub(crate) thread: u32,
}

const META_GRANULE: usize = 16;
const META_WORD: usize = 8;
const HEAD: u64 = 1 << 63;
const NODE_SHIFT: u32 = 32;
const KIND_SHIFT: u32 = 56;
const KIND: u64 = 0x3f;
/// In the second word of a block that was freed and waits, where that is told; below its kind is then, beside its size, where it was freed: a node.
const WAITS: u64 = 1 << 62;
/// In the second word of a block that waits once, or has done so and is kept by its thread.
const IN_RING: u64 = 1 << 55;
const IN_STORE: u64 = 1 << 54;
const FREED: u64 = WAITS | IN_RING | IN_STORE;
const SMALL: u64 = (1 << FREED_SHIFT) - 1;
const FREED_SHIFT: u32 = 20;
const NODE: u64 = 0x7fff_ffff;

fn meta(address: usize, make: bool) -> Option<*const Word> {
    let region = address >> REGION_LOG2;
    if region >= REGIONS {
        return None;
    }
    const SHARE: usize = META_GRANULE / META_WORD;
    let mut base = META[region].load(Ordering::Relaxed);
    if base == 0 {
        if !make {
            return None;
        }
        base = map(&META[region], region * REGION / SHARE, REGION / SHARE);
        if base == 0 {
            return None;
        }
    }
    Some(base.wrapping_add(address / META_GRANULE * META_WORD) as *const Word)
}

/// Notes a block that begins at a multiple of 16; others are not noted.
///
/// # Safety
/// The block is live and the calling thread's to note.
pub(crate) unsafe fn note(noted: &Noted) {
    if !noted.address.is_multiple_of(META_GRANULE) {
        return;
    }
    // SAFETY: the words are mapped; those of other blocks within this one are of a past life.
    unsafe {
        forget_notes(noted.address + 2 * META_GRANULE, noted.address.saturating_add(noted.size));
        let (Some(first), Some(second)) =
            (meta(noted.address, true), meta(noted.address + META_GRANULE, true))
        else {
            return;
        };
        (*second).store(noted.size as u64 | u64::from(noted.kind) << KIND_SHIFT, Ordering::Relaxed);
        let who = (u64::from(noted.node) & NODE) << NODE_SHIFT | u64::from(noted.thread);
        (*first).store(HEAD | who, Ordering::Release);
    }
}

/// Nothing is noted any more of blocks that begin in a range; `start` is a multiple of 16.
///
/// # Safety
/// No block there is live.
unsafe fn forget_notes(start: usize, end: usize) {
    let mut at = start;
    while at < end.min(1 << 47) {
        let next = ((at | (REGION - 1)) + 1).min(end);
        let base = META[at >> REGION_LOG2].load(Ordering::Relaxed);
        if base != 0 {
            let word = |at: usize| base.wrapping_add(at.div_ceil(META_GRANULE) * META_WORD);
            let (from, to) = (word(at), word(next));
            // Most are of pages that nobody touched, if the block is large.
            let by_pages = next - at >= LARGE && !sys::is_confined();
            let (first, last) =
                if by_pages { (from.next_multiple_of(PAGE), to & !(PAGE - 1)) } else { (to, to) };
            // SAFETY: the region's words are mapped.
            unsafe {
                if by_pages {
                    sys::forget_pages(first as *mut u8, last - first);
                }
                for at in (from..first).chain(last..to).step_by(META_WORD) {
                    let word = &*(at as *const Word);
                    if word.load(Ordering::Relaxed) != 0 {
                        word.store(0, Ordering::Relaxed);
                    }
                }
            }
        }
        at = next;
    }
}

/// What the detector has of a heap block: where its cells and the words in which it is noted are.
#[derive(Clone, Copy)]
pub(super) struct Place {
    cells: usize,
    notes: usize,
    address: usize,
}

/// The place of a heap block at an address, which has so many bytes at least; `None` if it does not begin at a multiple of 16 or
/// does not lie in one region, or if nothing was noted in that, or if its cells are to be `looked` at and nothing was accessed there.
#[inline(always)]
pub(super) fn place(address: usize, size: usize, looked: bool) -> Option<Place> {
    let region = address >> REGION_LOG2;
    if region >= REGIONS || !is_within(address, size) || !address.is_multiple_of(META_GRANULE) {
        return None;
    }
    let (cells, notes) = (CELLS[region].load(Ordering::Relaxed), META[region].load(Ordering::Relaxed));
    (notes != 0 && (cells != 0 || !looked)).then_some(Place { cells, notes, address })
}

/// Whether so many bytes from an address on, and the second word in which they are noted, are in one region.
#[inline(always)]
fn is_within(address: usize, size: usize) -> bool {
    let last = address.wrapping_add(size.max(2 * META_GRANULE) - 1);
    (address ^ last) >> REGION_LOG2 == 0
}

impl Place {
    /// The words in which a block of so many bytes is noted.
    ///
    /// # Safety
    /// So many bytes are in the region.
    #[inline(always)]
    unsafe fn notes<'a>(self, size: usize) -> &'a [Word] {
        let first = self.notes.wrapping_add(self.address / META_GRANULE * META_WORD) as *const Word;
        let count = size.div_ceil(META_GRANULE).max(2);
        // SAFETY: the region's words are mapped.
        unsafe { core::slice::from_raw_parts(first, count) }
    }

    /// The cells of so many bytes; `None` if these are not in one region.
    #[inline(always)]
    pub(super) fn cells<'a>(self, size: usize) -> Option<&'a [Cell]> {
        if !is_within(self.address, size) {
            return None;
        }
        let first = self.cells.wrapping_add(self.address * SCALE) as *const Cell;
        // SAFETY: the region's cells are mapped.
        Some(unsafe { core::slice::from_raw_parts(first, size.div_ceil(GRANULE)) })
    }

    /// Notes the block, of which there are as many bytes as it was asked for.
    #[inline(always)]
    pub(super) fn note(self, size: usize, node: u32, thread: u32) {
        // SAFETY: `place` looked for that.
        let [first, second, rest @ ..] = (unsafe { self.notes(size) }) else { return };
        const { assert!(BlockKind::Heap as u32 == 0) };
        // Before it is looked at any of them: a page that is written first is there once and for all (`fill`).
        second.store(size as u64, Ordering::Relaxed);
        for word in rest {
            // Those of other blocks within this one are of a past life.
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
        let who = (u64::from(node) & NODE) << NODE_SHIFT | u64::from(thread);
        first.store(HEAD | who, Ordering::Release);
    }

    /// The size of the block of the heap, below 1 MiB, that is noted and was not freed; else 0.
    #[inline(always)]
    pub(super) fn live_size(self) -> usize {
        // SAFETY: `place` looked for that.
        let [first, second, ..] = (unsafe { self.notes(1) }) else { return 0 };
        let size = second.load(Ordering::Relaxed);
        if first.load(Ordering::Acquire) & HEAD != 0 && size <= SMALL { size as usize } else { 0 }
    }

    /// The block, of so many bytes, was freed, at `node` if that is told, and waits before it has another life.
    #[inline(always)]
    pub(super) fn waits(self, size: usize, node: Option<u32>) {
        let told = node.map_or(0, |node| WAITS | (u64::from(node) & NODE) << FREED_SHIFT);
        // SAFETY: `place` looked for that.
        if let [_, second, ..] = unsafe { self.notes(1) } {
            second.store(size as u64 | told | IN_RING, Ordering::Release);
        }
    }
}

/// The cells have a new life; so many of them begin it with the word `birth`.
///
/// # Safety
/// As for [`clear`].
#[inline(always)]
pub(super) unsafe fn begin(cells: &[Cell], (birth, born): (u64, usize), blocks: &mut Blocks) {
    let (first, rest) = cells.split_at(cells.len().min(born));
    for (cells, word) in [(first, birth), (rest, 0)] {
        // SAFETY: passed on.
        unsafe {
            if cells.len() >= span::CELLS {
                begin_many(cells, word, blocks);
                continue;
            }
            for cell in cells {
                begin_cell(cell, word, blocks);
            }
        }
    }
}

/// As [`begin`], of one cell.
///
/// # Safety
/// As there.
#[inline(always)]
unsafe fn begin_cell(cell: &Cell, word: u64, blocks: &mut Blocks) {
    // SAFETY: passed on.
    if !super::word::is_special(cell[0].load(Ordering::Relaxed)) || unsafe { unlinked(cell, blocks) } {
        cell[0].store(word, Ordering::Relaxed);
        cell[1].store(0, Ordering::Relaxed);
    }
}

/// As [`begin`], of cells that may be spans, which they stay.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn begin_many(cells: &[Cell], word: u64, blocks: &mut Blocks) {
    // SAFETY: passed on.
    by_spans(cells, |span| span::begin(span, word), |cell| unsafe { begin_cell(cell, word, blocks) });
}

/// Goes through cells: all that may be a span together, if that is enough for them, others one by one.
#[inline(always)]
pub(super) fn by_spans(mut cells: &[Cell], is_enough: impl Fn(&[Cell]) -> bool, mut each: impl FnMut(&Cell)) {
    while let Some((cell, behind)) = cells.split_first() {
        let is_first = (core::ptr::from_ref(cell) as usize).is_multiple_of(span::CELLS * size_of::<Cell>());
        if is_first && cells.get(..span::CELLS).is_some_and(&is_enough) {
            cells = &cells[span::CELLS..];
        } else {
            each(cell);
            cells = behind;
        }
    }
}

/// Clears a cell that has a block; `false` if somebody is about to give it another.
///
/// # Safety
/// As for [`begin`].
#[cold]
#[inline(never)]
unsafe fn unlinked(cell: &Cell, blocks: &mut Blocks) -> bool {
    // SAFETY: the caller's promise.
    unsafe { narrow::clear(cell, blocks) };
    cell[0].load(Ordering::Relaxed) == 0
}

/// The block that begins at an address, as it was noted.
pub(crate) fn noted_at(address: usize) -> Option<Noted> {
    if !address.is_multiple_of(META_GRANULE) {
        return None;
    }
    // SAFETY: the words are mapped.
    let (first, second) = unsafe {
        let (first, second) = (meta(address, false)?, meta(address + META_GRANULE, false)?);
        ((*first).load(Ordering::Acquire), (*second).load(Ordering::Relaxed))
    };
    let sizes = if second & FREED != 0 { SMALL } else { (1 << KIND_SHIFT) - 1 };
    (first & HEAD != 0 && second & HEAD == 0).then_some(Noted {
        address,
        size: (second & sizes) as usize,
        kind: (second >> KIND_SHIFT & KIND) as u32,
        node: (first >> NODE_SHIFT & NODE) as u32,
        thread: first as u32,
    })
}

/// The noted block that begins at an address, not a large one, was freed at `node` and waits before it has another life.
pub(crate) fn waits(address: usize, node: u32) {
    if let Some(second) = meta(address + META_GRANULE, false) {
        // SAFETY: the word is mapped.
        unsafe {
            let kind_and_size = (*second).load(Ordering::Relaxed) & (KIND << KIND_SHIFT | SMALL | IN_STORE);
            let node = (u64::from(node) & NODE) << FREED_SHIFT;
            (*second).store(kind_and_size | node | WAITS, Ordering::Release);
        }
    }
}

/// The block that begins at an address does not wait any more.
pub(crate) fn waited(address: usize) {
    if let Some(second) = meta(address + META_GRANULE, false) {
        // SAFETY: the word is mapped.
        unsafe {
            let word = (*second).load(Ordering::Relaxed);
            if word & FREED != 0 {
                (*second).store(word & (KIND << KIND_SHIFT | SMALL), Ordering::Release);
            }
        }
    }
}

/// The block that begins at an address is freed. If that is so already, it does not wait once any more; whether its thread keeps it.
pub(crate) fn freed_again(address: usize) -> bool {
    let Some(second) = meta(address + META_GRANULE, false) else { return false };
    // SAFETY: the word is mapped.
    unsafe { (*second).fetch_and(!IN_RING, Ordering::Relaxed) & IN_STORE != 0 }
}

/// Whether the block that begins at an address has waited once; its thread keeps it from now on. What still uses it is told as
/// while it waits.
#[inline(always)]
pub(crate) fn has_waited(address: usize) -> bool {
    let Some(second) = meta(address + META_GRANULE, false) else { return false };
    // SAFETY: the word is mapped.
    unsafe {
        let word = (*second).load(Ordering::Relaxed);
        let once = word & IN_RING != 0;
        if once {
            (*second).store(word ^ (IN_RING | IN_STORE), Ordering::Release);
        }
        once
    }
}

/// The block that holds an address, if it waits: its first byte, its size, and where it was freed.
pub(super) fn waiting_around(address: usize, largest: usize) -> Option<(usize, usize, u32)> {
    let Noted { address, size, .. } = noted_within(address, largest)?;
    // SAFETY: the word is mapped.
    let second = unsafe { (*meta(address + META_GRANULE, false)?).load(Ordering::Acquire) };
    (second & WAITS != 0).then_some((address, size, (second >> FREED_SHIFT & NODE) as u32))
}

/// The block, live or freed, that holds an address near its beginning, or that was found so last: locks are mostly asked for that lie beside each other.
pub(super) fn noted_near(address: usize) -> Option<Noted> {
    const FARTHEST: usize = 1 << 20;
    const NEAR_LOG2: u32 = 16;
    static LAST: [AtomicUsize; 64] = [const { AtomicUsize::new(0) }; 64];
    let found = &LAST[(address >> NEAR_LOG2) % LAST.len()];
    let last = noted_at(found.load(Ordering::Relaxed))
        .filter(|noted| address.wrapping_sub(noted.address) < noted.size);
    if last.is_some() {
        return last;
    }
    let noted = noted_within(address, FARTHEST)?;
    found.store(noted.address, Ordering::Relaxed);
    Some(noted)
}

/// The block, live or freed, that holds an address. Looks back a long way: for reports.
pub(crate) fn noted_around(address: usize) -> Option<Noted> {
    const FARTHEST: usize = 1 << 30;
    noted_within(address, FARTHEST)
}

/// The block, live or freed, that holds an address and begins at most `farthest` bytes before it.
fn noted_within(address: usize, farthest: usize) -> Option<Noted> {
    if address >> REGION_LOG2 >= REGIONS {
        // A lock that is known by a name, not by its place.
        return None;
    }
    let mut at = address & !(META_GRANULE - 1);
    let stop = at.saturating_sub(farthest);
    while at >= stop && at != 0 {
        if META[at >> REGION_LOG2].load(Ordering::Relaxed) == 0 {
            // Nothing was noted in the whole region.
            let start = at & !(REGION - 1);
            at = start.checked_sub(META_GRANULE)?;
            continue;
        }
        if let Some(noted) = noted_at(at) {
            return (address < at + noted.size).then_some(noted);
        }
        at -= META_GRANULE;
        // What is empty is gone through quickly: it may be megabytes.
        while at >= stop && at % REGION >= EMPTY * META_GRANULE && is_empty(at) {
            at -= EMPTY * META_GRANULE;
        }
    }
    None
}

/// So many words are looked at together.
const EMPTY: usize = 8;

/// Whether nothing is noted at the last so many multiples of 16 up to `at`.
#[inline(always)]
fn is_empty(at: usize) -> bool {
    let Some(last) = meta(at, false) else { return false };
    // SAFETY: the words are mapped, as `at` is that far behind the beginning of its region.
    (0..EMPTY).fold(0, |all, back| all | unsafe { (*last.sub(back)).load(Ordering::Relaxed) }) == 0
}

/// In a forked child: nothing has happened yet. What is known of blocks stays.
pub(crate) fn forget_all() {
    each_region(forget);
    block::forget_common();
}

/// Calls `each` with every region that may have been touched.
fn each_region(mut each: impl FnMut(usize)) {
    let count = TOUCHED_COUNT.load(Ordering::Relaxed) as usize;
    match TOUCHED.get(..count) {
        Some(touched) => touched.iter().for_each(|region| each(region.load(Ordering::Acquire) as usize)),
        None => (0..REGIONS).for_each(each),
    }
}

/// Gives the cells' memory back, while other threads use them: what is lost are accesses, and blocks that are linked just now.
///
/// # Safety
/// The calling thread is busy; `blocks` are its own.
pub(super) unsafe fn give_back(blocks: &mut Blocks) {
    each_region(|region| {
        touched(region * REGION, REGION, |start, size| {
            let base = CELLS[region].load(Ordering::Relaxed);
            for at in (start..start + size).step_by(GRANULE) {
                // SAFETY: the region is mapped.
                unsafe { narrow::unlink(&*(base.wrapping_add(at * SCALE) as *const Cell), blocks) };
            }
        });
        forget(region);
    });
    blocks.share();
}

/// Forgets all accesses to a region.
fn forget(region: usize) {
    let base = CELLS[region].load(Ordering::Relaxed);
    if base != 0 {
        let start = base.wrapping_add(region * REGION * SCALE);
        // SAFETY: the region is mapped; a word that is gone is an access that is not remembered.
        unsafe { sys::forget_pages(start as *mut u8, REGION * SCALE) };
        fill::gone(region * REGION, REGION);
    }
}
