//! Pages of cells that are there before somebody looks at them.
//!
//! A hook looks at a cell before it changes it. To a look at a page that nobody wrote the system shows its one page of zeros; the change
//! then gets a page of its own, and all other processors are told so by interrupts, which costs more than the page. So what is looked at for the first
//! time is asked for as pages that can be written: some at once, and more where the memory beside it is in use already.
//!
//! Model: nothing. A page that is not asked for comes as it is touched.

use core::sync::atomic::{AtomicU16, Ordering};

use super::shadow::{CELLS, PAGE, REGION, REGION_LOG2, SCALE};
use crate::sys;
use crate::sys::primitive::AtomicU64;

/// log2 of the bytes of the program's memory whose cells are one page.
const PAGE_LOG2: u32 = 11;
const _: () = assert!(SCALE << PAGE_LOG2 == PAGE);
/// log2 of the bytes of the program's memory whose cells are a chunk: as many pages as a [`Pages`] has bits.
const CHUNK_LOG2: u32 = PAGE_LOG2 + u16::BITS.ilog2();
/// Chunks of a region.
const CHUNKS: usize = REGION >> CHUNK_LOG2;
/// So many pages are asked for together where nothing near them is there: what is touched here and there is not to take much memory.
const FEW: u32 = 2;
/// So many where something is.
const MANY: u32 = 8;

/// Which pages of a chunk were asked for.
type Pages = AtomicU16;

/// What a region has behind its cells, and behind a page that nobody writes: which of their pages were asked for.
pub(super) const ROOM: usize = CHUNKS * size_of::<Pages>();
const _: () = assert!(ROOM.is_multiple_of(PAGE));

/// The chunks of an address's region, and the number of its own; `None` if the region has no cells.
#[inline(always)]
fn chunks(address: usize) -> Option<(&'static [Pages], usize)> {
    let region = address >> REGION_LOG2;
    let base = CELLS.get(region)?.load(Ordering::Relaxed);
    let chunks = base.wrapping_add((region + 1) * REGION * SCALE + PAGE) as *const Pages;
    // SAFETY: the region is mapped, and has room for them there.
    let chunks = unsafe { (base != 0).then(|| core::slice::from_raw_parts(chunks, CHUNKS))? };
    Some((chunks, (address >> CHUNK_LOG2) % CHUNKS))
}

/// Whether the cell of an address is on a page that was asked for, or on none.
#[inline(always)]
pub(super) fn is_there(address: usize) -> bool {
    let page = address >> PAGE_LOG2 & (u16::BITS as usize - 1);
    chunks(address).is_none_or(|(chunks, at)| chunks[at].load(Ordering::Relaxed) >> page & 1 != 0)
}

/// Asks for the page of an address's cell, of which that is the first word, if nothing is there yet.
#[inline(always)]
pub(super) fn before(first: &AtomicU64, address: usize) {
    if first.load(Ordering::Relaxed) == 0 && !is_there(address) {
        ahead(address);
    }
}

/// Asks for the page of an address's cell, and for some beside it.
#[cold]
#[inline(never)]
pub(super) fn ahead(address: usize) {
    let Some((chunks, at)) = chunks(address) else { return };
    let pages = |at: usize| chunks.get(at).map_or(0, |chunk| chunk.load(Ordering::Relaxed));
    let page = (address >> PAGE_LOG2) as u32 % u16::BITS;
    let run = |count: u32| ((1 << count) - 1) << (page & !(count - 1));
    let few: u16 = run(FEW);
    let near = pages(at.wrapping_sub(1)) | pages(at + 1) | pages(at) & !few;
    let wanted = if near != 0 { run(MANY) } else { few };
    let new = wanted & !chunks[at].fetch_or(wanted, Ordering::Relaxed);
    let (first, end) = (new.trailing_zeros(), u16::BITS - new.leading_zeros());
    if first < end && !sys::is_confined() {
        let base = CELLS[address >> REGION_LOG2].load(Ordering::Relaxed);
        let chunk = address & !((1 << CHUNK_LOG2) - 1);
        let cells = |page: u32| base.wrapping_add((chunk + ((page as usize) << PAGE_LOG2)) * SCALE);
        sys::populate(cells(first) as *mut u8, cells(end) - cells(first));
    }
}

/// The cells of a range of addresses, which are of one region, have no pages any more.
pub(super) fn gone(start: usize, size: usize) {
    if let Some((chunks, first)) = chunks(start) {
        let last = (start + size.max(1) - 1) >> CHUNK_LOG2;
        let count = last - (start >> CHUNK_LOG2) + 1;
        for chunk in chunks.iter().skip(first).take(count) {
            if chunk.load(Ordering::Relaxed) != 0 {
                chunk.store(0, Ordering::Relaxed);
            }
        }
    }
}
