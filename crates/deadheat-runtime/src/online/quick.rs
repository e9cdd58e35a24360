//! The common ways of an access: nothing new, and a word of a cell that makes room for it.
//!
//! Cost: one locked instruction for an access that takes the place of another; what is nothing new the hook itself has seen. Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::eye::Eye;
use super::history::Kept;
use super::pair::{Entered, replace};
use super::shadow::{self, Cell, REGION_LOG2, REGIONS};
use super::word::{self, BYTES, GRANULE, WRITE};
use super::{JUDGING, Past, judge};
use crate::hot::thread::{self, Thread, UNWATCHED};
use crate::sys;

/// How an access lies: what is the same for both of these functions.
struct Where {
    cell: *const Cell,
    /// The bytes of its first granule; a larger access has all bytes of both.
    bytes: u64,
}

/// Where an access of `size` bytes lies; `None` if it does not lie within one granule, or two whole ones, of one mapped
/// region.
#[inline(always)]
fn locate(address: usize, size: usize) -> Option<Where> {
    const CELLS: usize = 4096 / size_of::<Cell>() * GRANULE;
    let offset = address & (GRANULE - 1);
    let region = address >> REGION_LOG2;
    let within = match size {
        ..GRANULE => offset + size <= GRANULE,
        GRANULE => offset == 0,
        _ => offset == 0 && address & (CELLS - 1) < CELLS - GRANULE,
    };
    if region >= REGIONS || !within {
        return None;
    }
    let base = shadow::CELLS[region].load(Ordering::Relaxed);
    if base == 0 {
        return None;
    }
    let bytes = if size < GRANULE { ((1 << size) - 1) << offset } else { BYTES };
    Some(Where { cell: base.wrapping_add((address - offset) * 2) as *const Cell, bytes })
}

/// A plain access of the kind `KIND` (a [`Kind`]'s bits) at `address`, made before `pc`, that may be new to its cell: the hook
/// itself (`sys`, `shim_access!`) has looked. Calls nothing but at its end.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe extern "C" fn on_access<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state; cells that were located are mapped.
    unsafe {
        let thread = word as *mut Thread;
        // What is to be ignored, and a handler that interrupts a hook, go the other way.
        if word <= UNWATCHED || (*thread).busy | (*thread).internal != 0 || (*thread).eye.is_out() {
            return on_other_access::<KIND>(address, pc);
        }
        let Some(Where { cell, bytes }) = locate(address, size) else {
            return on_other_access::<KIND>(address, pc);
        };
        if (*thread).top != (*thread).clean {
            return on_access_in_new_context::<KIND>(address, pc);
        }
        let mine = word::only((*thread).eye.mine | if writes { WRITE } else { 0 }, bytes);
        let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
        let past = past_of(thread);
        let note = || (*thread).eye.keep(kept);
        let mut entered = replace(&past, &*cell, mine, size > GRANULE, note);
        if size > GRANULE && entered == Entered::Yes {
            entered = replace(&past, &*cell.add(1), mine, true, note);
        }
        match entered {
            Entered::Yes => {}
            Entered::No => on_access_in_general::<KIND>(address, pc),
            Entered::Met => on_meeting::<KIND>(address, pc),
        }
    }
}

/// As [`on_access`], where the history does not have moment, calls and locks yet.
#[inline(never)]
unsafe extern "C" fn on_access_in_new_context<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        Eye::tell_context(thread);
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        if (*thread).top == (*thread).clean {
            on_access::<KIND>(address, pc);
        } else {
            on_other_access::<KIND>(address, pc);
        }
    }
}

/// As [`on_access`], in general.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_other_access<const KIND: u16>(address: usize, pc: usize) {
    let Some(thread) = thread::current() else { return };
    if let Some(Op::Access(access)) = Kind(KIND).unpack(address as u64, 0) {
        // SAFETY: `current` gives the calling thread's own state.
        unsafe { judge(thread, &access, pc as u64) };
    }
}

/// As [`on_access`], for cells that do not make room so easily.
#[inline(never)]
unsafe extern "C" fn on_access_in_general<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: passed on.
    unsafe {
        each_cell::<KIND>(address, pc, |thread, cell, mine, kept| super::enter(thread, cell, mine, kept))
    };
}

/// Another access came into a cell while this one went in: looks at all others.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_meeting<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: passed on.
    unsafe {
        each_cell::<KIND>(address, pc, |thread, cell, mine, kept| {
            super::enter(thread, cell, mine, kept);
            super::look_again(thread, cell, mine, kept);
        });
    }
}

/// Calls `each` for the cells of an access with the address that each stands for, while the thread is busy.
#[inline(always)]
unsafe fn each_cell<const KIND: u16>(
    address: usize,
    pc: usize,
    each: impl Fn(*mut Thread, (&Cell, usize), u64, Kept),
) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let Some(Where { cell, bytes }) = locate(address, size) else { return };
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let mine = word::only((*thread).eye.mine | if writes { WRITE } else { 0 }, bytes);
        let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let granule = address & !(GRANULE - 1);
        each(thread, (&*cell, granule), mine, kept);
        if size > GRANULE {
            each(thread, (&*cell.add(1), granule + GRANULE), mine, kept);
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// What a thread knows.
///
/// # Safety
/// `thread` is the calling thread's; its clock does not change meanwhile.
#[inline(always)]
pub(super) unsafe fn past_of<'a>(thread: *mut Thread) -> Past<'a> {
    // SAFETY: the caller's promise.
    unsafe { Past { slot: (*thread).eye.slot, clock: &(*thread).eye.clock } }
}

/// Whether all cells of a range show that an access of it is nothing new to the moment of which `mine` is the word (for all
/// bytes). Looks at the cells' own words alone.
#[inline(always)]
pub(super) fn nothing_new(mine: u64, address: usize, size: usize) -> bool {
    let compared = if mine & WRITE != 0 { !0 } else { !WRITE };
    let end = address.wrapping_add(size);
    if address >> REGION_LOG2 != end >> REGION_LOG2 || address >> REGION_LOG2 >= REGIONS || size == 0 {
        return false;
    }
    let base = shadow::CELLS[address >> REGION_LOG2].load(Ordering::Relaxed);
    if base == 0 {
        return false;
    }
    let mut at = address & !(GRANULE - 1);
    while at < end {
        let (from, to) = (at.max(address) - at, (at + GRANULE).min(end) - at);
        let compared = compared & (!BYTES | word::bytes(from, to - from));
        // SAFETY: the region's cells are mapped.
        let [one, other] = unsafe { &*(base.wrapping_add(at * 2) as *const Cell) };
        if (one.load(Ordering::Relaxed) ^ mine) & compared != 0
            && (other.load(Ordering::Relaxed) ^ mine) & compared != 0
        {
            return false;
        }
        at += GRANULE;
    }
    true
}
