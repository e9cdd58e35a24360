//! The common ways of an access: nothing new, and a word of a cell that makes room for it.
//!
//! Cost: about twenty instructions for an access that its moment has made already; about eighty, one of them locked, for one
//! that takes the place of another. Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::eye::Eye;
use super::history::Kept;
use super::set::Seen;
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
/// itself (`sys`, `shim_access!`) has looked.
///
/// # Safety
/// Called by a hook, on the accessing thread.
#[inline(never)]
pub(crate) unsafe extern "C" fn on_access<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state; cells that were located are mapped.
    unsafe {
        if word > UNWATCHED
            && let Some(Where { cell, bytes }) = locate(address, size)
        {
            let thread = word as *mut Thread;
            // What is to be ignored, and a handler that interrupts a hook, go the other way.
            if (*thread).busy | (*thread).internal == 0 && !(*thread).eye.is_out() {
                let mine = word::only((*thread).eye.mine | if writes { WRITE } else { 0 }, bytes);
                let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
                (*thread).busy = JUDGING;
                compiler_fence(Ordering::SeqCst);
                if (*thread).top != (*thread).clean {
                    Eye::tell_context(thread);
                }
                let granule = address & !(GRANULE - 1);
                replace(thread, (cell, granule), mine, kept);
                if size > GRANULE {
                    replace(thread, (cell.add(1), granule + GRANULE), mine, kept);
                }
                compiler_fence(Ordering::SeqCst);
                (*thread).busy = 0;
                return;
            }
        }
        on_other_access::<KIND>(address, pc);
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

/// Publishes a plain access in the place of nothing, of a word of its own moment and kind, or of one that it makes up
/// for, if the cell's other word does not race with it; else in general. `granule` is the address that the cell stands for.
#[inline(always)]
unsafe fn replace(
    thread: *mut Thread,
    (cell, granule): (*const Cell, usize),
    mine: u64,
    kept: Kept,
) {
    // SAFETY: the caller's promise: the calling thread's own state, and a mapped cell.
    let (eye, cell) = unsafe { (&(*thread).eye, &*cell) };
    let past = Past { slot: eye.slot, clock: &eye.clock };
    let words = [cell[0].load(Ordering::Acquire), cell[1].load(Ordering::Acquire)];
    // A plain store over an atomic has more to do.
    let plain = mine & WRITE == 0 || (words[0] | words[1]) & word::ATOMIC == 0;
    if plain && let Some((at, new)) = place(words, mine, &past) {
        let other = words[1 - at];
        if other == 0 || word::slot(other) == past.slot || harmless(other, mine, &past) {
            eye.keep(kept);
            if cell[at].compare_exchange(words[at], new, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
                // Who published meanwhile has seen `mine` or is seen here.
                if cell[1 - at].load(Ordering::SeqCst) != other {
                    // SAFETY: as above.
                    unsafe { super::look_again(thread, (cell, granule), mine, kept) };
                }
                return;
            }
        }
    }
    // SAFETY: as above.
    unsafe { super::enter(thread, (cell, granule), mine, kept) };
}

/// Which of a cell's words makes room for `mine`, and what takes its place.
#[inline(always)]
fn place(words: [u64; 2], mine: u64, past: &Past<'_>) -> Option<(usize, u64)> {
    // The thread's own earlier access of this kind is there in most cases.
    let again = |word: u64| word::same_slot_and_kind(word, mine) && word::covers(mine, word);
    if again(words[0]) {
        return Some((0, mine));
    }
    if again(words[1]) {
        return Some((1, mine));
    }
    let room = |word: u64| {
        if word::same_kind(word, mine) {
            return Some(word | mine);
        }
        let makes_room = word == 0
            || word::covers(mine, word) && word::outdoes(mine, word) && !word::is_special(word) && past.ordered(word);
        makes_room.then_some(mine)
    };
    room(words[0]).map(|new| (0, new)).or_else(|| room(words[1]).map(|new| (1, new)))
}

/// Whether a word of another slot does not race with `mine`.
#[inline(always)]
fn harmless(word: u64, mine: u64, past: &Past<'_>) -> bool {
    !word::is_special(word) && (!word::conflict(word, mine) || past.ordered(word))
}
