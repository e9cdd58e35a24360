//! The lives of the heap's blocks, as they mostly are: no handler of a signal, nothing ignored, a block within one region of which
//! something is known already.
//!
//! Cost: 825 instructions for malloc and free of 32 bytes, all that they call included, and 33 for each further granule, one of them
//! locked. Model: what [`super::event`] does of `Op::Alloc`, of the birth's `Op::Access` and of `Op::Free`, to which
//! all else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use super::eye::Eye;
use super::object::Family;
use super::shadow::{self, LARGE};
use super::word::{GRANULE, WRITE};
use super::{JUDGING, fill, forget_within, freed, looking, object, state};
use crate::hot::thread::{Thread, done};
use crate::intercept::{BORN, LARGEST_WAITING};

/// Whether the thread is in no hook and no handler, its accesses count, and the lives of its blocks are noted.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn is_common(thread: *mut Thread) -> bool {
    // SAFETY: the callers' promise: the calling thread's own state.
    unsafe {
        (*thread).busy | (*thread).internal | (*thread).signal | (*thread).ignore_writes == 0
            && !(*thread).eye.is_out()
            && state::is_active()
    }
}

/// How large a block of the heap is, as it was noted at its birth; 0 if that is not known, or it is large.
pub(crate) fn live_size(address: usize) -> usize {
    shadow::place(address, 1, false).map_or(0, |place| place.live_size())
}

/// A block of the heap, of at least one byte, was born; if it is `used`, that is a write to its first bytes. `false`: nothing
/// was done.
///
/// # Safety
/// `thread` is the calling thread's, and races are looked for and nothing is recorded; if there is a block, nobody else uses it in
/// order.
#[inline]
pub(crate) unsafe fn born(
    thread: *mut Thread,
    pc: usize,
    (address, size): (usize, usize),
    used: bool,
) -> bool {
    let looked = looking();
    // SAFETY: the caller's promise.
    unsafe {
        if size >= LARGE || !is_common(thread) {
            return false;
        }
        let Some(place) = shadow::place(address, size, looked) else { return false };
        let id = (*thread).id;
        if object::may_be_within(address, address + size) {
            let owner = (id, (*thread).holds == 0);
            forget_within(thread, owner, (address as u64, (address + size) as u64), Family::is_in_memory);
        }
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        // While nothing is looked at, all that the cells know of is known to everybody who will look.
        if looked && let Some(cells) = place.cells(size) {
            if !fill::is_there(address) {
                fill::ahead(address);
            }
            let eye = &mut (*thread).eye;
            let birth = if used { eye.birth() } else { 0 };
            shadow::begin(cells, (birth, BORN as usize / GRANULE), &mut eye.blocks);
        }
        place.note(size, Eye::node_of_call(thread, pc as u64), id);
        done(thread, 0);
    }
    true
}

/// The life of a block of the heap ends, which will wait. `false`: nothing was done.
///
/// # Safety
/// `thread` is the calling thread's, and races are looked for and nothing is recorded.
#[inline]
pub(crate) unsafe fn died(thread: *mut Thread, pc: usize, address: usize) -> bool {
    let looked = looking();
    // SAFETY: the caller's promise.
    unsafe {
        if !is_common(thread) {
            return false;
        }
        let Some(place) = shadow::place(address, 1, looked) else { return false };
        let size = place.live_size();
        if size == 0 || size > LARGEST_WAITING {
            return false;
        }
        if !looked {
            place.waits(size, None);
            return true;
        }
        let Some(cells) = place.cells(size) else { return false };
        if object::may_be_within(address, address + size) {
            let (start, owner) = (address as u64, ((*thread).id, (*thread).holds == 0));
            forget_within(thread, owner, (start, start + size as u64), Family::ends_with_memory);
        }
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let node = Eye::node_of_call(thread, pc as u64);
        let mine = (*thread).eye.mine | WRITE;
        freed::mark_all(thread, (cells, address), mine, ((address, size), pc as u64));
        // Not before: cells that nobody looked at since may have the marks of an earlier life.
        place.waits(size, Some(node));
        done(thread, 0);
    }
    true
}
