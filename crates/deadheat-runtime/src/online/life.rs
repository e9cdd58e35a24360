//! The lives of the heap's blocks, as they mostly are: no handler of a signal, nothing ignored, a block within one region of which
//! something is known already.
//!
//! Cost: about 40 instructions, the calls' place in the tree, and for each granule 6 at the birth, and 12 with one locked
//! operation at the end. Model: what [`super::event`] does of `Op::Alloc`, of the birth's `Op::Access` and of `Op::Free`, to which
//! all else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::BlockKind;

use super::eye::Eye;
use super::shadow::{self, LARGE, Noted};
use super::word::{self, GRANULE, WRITE};
use super::{JUDGING, forget_within, freed, looking, object, state};
use crate::hot::thread::Thread;
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
            && (*thread).eye.slot != 0
            && state::is_active()
    }
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
    // SAFETY: the caller's promise.
    unsafe {
        if !is_common(thread) || size >= LARGE {
            return false;
        }
        let Some(notes) = shadow::notes(address, size) else { return false };
        // While nothing is looked at, all that the cells know of is known to everybody who will look.
        let cells = if looking() { shadow::cells_of(address, size) } else { Some(&[][..]) };
        let Some(cells) = cells else { return false };
        let id = (*thread).id;
        if object::may_be_within(address, address + size) {
            let owner = (id, (*thread).holds == 0);
            forget_within(thread, owner, (address as u64, (address + size) as u64));
        }
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let node = Eye::node_of_call(thread, pc as u64);
        let eye = &mut (*thread).eye;
        let birth =
            if used && !cells.is_empty() { word::moment(eye.slot, eye.birth()) | WRITE } else { 0 };
        shadow::begin(cells, (birth, BORN as usize / GRANULE), &mut eye.blocks);
        let kind = BlockKind::Heap as u32;
        shadow::note_in(notes, &Noted { address, size, kind, node, thread: id });
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
    true
}

/// The life of a block of the heap ends, which will wait. `false`: nothing was done.
///
/// # Safety
/// `thread` is the calling thread's, and races are looked for and nothing is recorded.
#[inline]
pub(crate) unsafe fn died(thread: *mut Thread, pc: usize, address: usize) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if !is_common(thread) {
            return false;
        }
        let Some(notes) = shadow::notes(address, 1) else { return false };
        let Some(size) = shadow::live_size(notes) else { return false };
        if size == 0 || size > LARGEST_WAITING {
            return false;
        }
        if !looking() {
            shadow::wait_in(notes, size, None);
            return true;
        }
        let Some(cells) = shadow::cells_of(address, size) else { return false };
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        shadow::wait_in(notes, size, Some(Eye::node_of_call(thread, pc as u64)));
        let (start, size) = (address as u64, size as u64);
        let access = Access { address: start, size, mode: Mode::Write, atomic: None, via: Via::Free };
        freed::mark_all(thread, (cells, address), &access, pc as u64);
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
    true
}
