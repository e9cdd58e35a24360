//! Pages of cells that are there before somebody looks at them.
//!
//! A hook looks at a cell before it changes it. To a look at a page that nobody wrote the system shows its one page of zeros; the change
//! then gets a page of its own, and all other processors are told so by interrupts, which costs more than the page. So what is looked at for the first
//! time is asked for as pages that can be written: some at once, and more where the memory beside it is in use already.
//!
//! Model: nothing. A page that is not asked for comes as it is touched.

use core::sync::atomic::{AtomicU64, Ordering};

use super::shadow::{CELLS, REGION, REGION_LOG2, SCALE};
use crate::sys;

/// log2 of the bytes of the program's memory whose cells have one entry of [`THERE`].
const CHUNK_LOG2: u32 = 15;
const CHUNK: usize = 1 << CHUNK_LOG2;
/// log2 of the bytes of the program's memory whose cells are one page.
const PAGE_LOG2: u32 = 11;
/// The pages of a chunk, one bit each.
const PAGES: u32 = CHUNK_LOG2 - PAGE_LOG2;
const ALL: u64 = (1 << (1 << PAGES)) - 1;
const NUMBER_SHIFT: u32 = 1 << PAGES;
/// So many pages are asked for together where nothing near them is there: what is touched here and there is not to take much memory.
const FEW: u32 = 4;
const _: () = assert!(CHUNK < REGION && REGION >> CHUNK_LOG2 < 1 << NUMBER_SHIFT);

/// By the last bits of a chunk's number: the number, and above all which of its pages were asked for. A chunk whose entry is another's is
/// asked for again.
static THERE: [AtomicU64; 1 << 13] = [const { AtomicU64::new(0) }; 1 << 13];

fn entry(chunk: usize) -> &'static AtomicU64 {
    &THERE[chunk % THERE.len()]
}

/// Which pages of a chunk were asked for.
#[inline(always)]
fn pages(chunk: usize) -> u64 {
    let entry = entry(chunk).load(Ordering::Relaxed);
    if entry >> NUMBER_SHIFT == chunk as u64 { entry & ALL } else { 0 }
}

/// Whether the cell of an address is on a page that was asked for.
#[inline(always)]
pub(super) fn is_there(address: usize) -> bool {
    pages(address >> CHUNK_LOG2) >> (address >> PAGE_LOG2 & ((1 << PAGES) - 1)) & 1 != 0
}

/// Asks for the page of an address's cell, which is mapped, and for some beside it.
#[cold]
#[inline(never)]
pub(super) fn ahead(address: usize) {
    let chunk = address >> CHUNK_LOG2;
    let page = (address >> PAGE_LOG2) as u32 & ((1 << PAGES) - 1);
    let there = pages(chunk);
    let few = ((1 << FEW) - 1) << (page & !(FEW - 1));
    let near = pages(chunk.wrapping_sub(1)) | pages(chunk.wrapping_add(1)) | there & !few;
    let wanted = if near != 0 { ALL } else { few };
    entry(chunk).store((chunk as u64) << NUMBER_SHIFT | there | wanted, Ordering::Relaxed);
    let base = CELLS[address >> REGION_LOG2].load(Ordering::Relaxed);
    let new = wanted & !there;
    let (first, end) = (new.trailing_zeros(), u64::BITS - new.leading_zeros());
    if base != 0 && first < end {
        let at =
            |page: u32| base.wrapping_add(((chunk << CHUNK_LOG2) + ((page as usize) << PAGE_LOG2)) * SCALE);
        sys::populate(at(first) as *mut u8, at(end) - at(first));
    }
}

/// The cells of a range of addresses have no pages any more.
pub(super) fn gone(start: usize, size: usize) {
    for chunk in start >> CHUNK_LOG2..=(start + size.max(1) - 1) >> CHUNK_LOG2 {
        let known = entry(chunk).load(Ordering::Relaxed);
        if known >> NUMBER_SHIFT == chunk as u64 {
            entry(chunk).store(0, Ordering::Relaxed);
        }
    }
}
