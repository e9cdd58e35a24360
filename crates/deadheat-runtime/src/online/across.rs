//! Plain accesses of up to 8 bytes that lie in two cells, as those at odd addresses do.
//!
//! Cost: what is nothing new is a look at both cells; what is new goes into each as a hook's access does, by one locked instruction, and has one record.
//! Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::kind::Kind;

use super::eye::Eye;
use super::history::Kept;
use super::pair::{self, Entered};
use super::quick::{self, Past};
use super::range;
use super::shadow::{self, Cell, REGION, REGION_LOG2, REGIONS};
use super::word::{self, BYTES, GRANULE, WRITE};
use super::{JUDGING, fill};
use crate::hot::thread::{Thread, UNWATCHED, let_come};
use crate::sys;

/// A plain access that does not lie as [`quick::on_access`] wants it, or whose cell is not there yet.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe extern "C" fn on_odd_access<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let word = sys::machine::thread_word();
    if size > GRANULE || word <= UNWATCHED {
        // SAFETY: passed on.
        return unsafe { in_general::<KIND>(address, pc) };
    }
    let offset = address % GRANULE;
    // SAFETY: the word is the calling thread's own state; the cells are mapped.
    unsafe {
        let Some(cells) = both(address, size) else { return in_general::<KIND>(address, pc) };
        let mine = (*(word as *mut Thread)).eye.mine & !BYTES | if writes { WRITE } else { 0 };
        let parts = [mine | BYTES << offset & BYTES, mine | BYTES >> (2 * GRANULE - size - offset)];
        let [first, second] = &*cells;
        if !knows::<KIND>(pair::words(first), parts[0]) || !knows::<KIND>(pair::words(second), parts[1]) {
            on_new_access::<KIND>(address, pc, parts[0], parts[1], cells);
        }
    }
}

/// The two cells of an access, if it lies in two that are of one region and there.
#[inline(always)]
fn both(address: usize, size: usize) -> Option<*const [Cell; 2]> {
    let (region, offset) = (address >> REGION_LOG2, address % GRANULE);
    if region >= REGIONS || offset + size <= GRANULE || address % REGION > REGION - size {
        return None;
    }
    let base = shadow::CELLS[region].load(Ordering::Relaxed);
    (base != 0).then(|| base.wrapping_add((address - offset) * 2) as *const [Cell; 2])
}

/// Whether a cell with these words shows that the part of an access in it is nothing new, as a hook sees it.
#[inline(always)]
fn knows<const KIND: u16>(words: [u64; 2], mine: u64) -> bool {
    if const { Kind(KIND).plain_writes() } {
        return words.iter().any(|&word| pair::shows::<true>(word, mine));
    }
    words.iter().any(|&word| pair::shows::<false>(word, mine)) || words[0] == sys::machine::name_word()
}

/// As [`on_odd_access`], where the parts of the access in the two cells are these words, and one of them is new.
#[inline(never)]
unsafe extern "C" fn on_new_access<const KIND: u16>(
    address: usize,
    pc: usize,
    first: u64,
    second: u64,
    cells: *const [Cell; 2],
) {
    // SAFETY: `on_odd_access` found the calling thread's state; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        // What is to be ignored, and a handler that interrupts a hook, go the other way.
        let ignored = (*thread).is_in_hook() || (*thread).eye.is_out();
        if ignored || (*thread).top != (*thread).clean && !quick::tell_context() {
            return in_general::<KIND>(address, pc);
        }
        let parts = [first, second];
        fill::before(&(*cells)[0][0], address);
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let entered = [0, 1].map(|at| enter::<KIND>(thread, &(*cells)[at], parts[at]));
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        // Before it, the locked operations would wait for the stores. Who finds a word without its record looks again.
        let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
        if entered.contains(&Entered::Yes) {
            Eye::keep(thread, kept);
        }
        if entered.iter().any(|&entered| entered > Entered::Yes) {
            return quick::enter_here(address & !(GRANULE - 1), parts, cells.cast(), kept, entered);
        }
        let_come(thread);
    }
}

/// Publishes a part of an access in its cell, if that makes room without more ado.
///
/// # Safety
/// `thread` is the calling thread's, which is marked busy.
#[inline(always)]
unsafe fn enter<const KIND: u16>(thread: *mut Thread, cell: &Cell, mine: u64) -> Entered {
    let words = pair::words(cell);
    if knows::<KIND>(words, mine) {
        return Entered::There;
    }
    let writes = const { Kind(KIND).plain_writes() };
    if word::is_special(words[0]) {
        if !word::is_common(words[0]) {
            if !word::is_apart(words[0]) {
                // A seal links to nowhere, which is fetched in vain.
                sys::machine::prefetch_to_write(word::linked(words[0]));
            }
            return Entered::No;
        }
        // SAFETY: the caller's promise: the calling thread's own state.
        let (memo, all) = unsafe { (&(*thread).eye.blocks.memo, (*thread).eye.mine) };
        if writes || !memo.has(words[0], mine) {
            return Entered::No;
        }
        if memo.has(words[0], all) {
            sys::machine::set_name_word(words[0]);
        }
        return Entered::There;
    }
    // SAFETY: the caller's promise.
    let past = unsafe { quick::past_of(thread) };
    match pair::join(writes, &past, cell, words, mine) {
        Entered::No => otherwise(&past, cell, mine),
        entered => entered,
    }
}

/// Publishes a part of an access where [`pair::join`] does not lead, in a cell that has no block.
#[inline(never)]
fn otherwise(past: &Past<'_>, cell: &Cell, mine: u64) -> Entered {
    match pair::renew_own(cell, pair::words(cell), mine) {
        Entered::No => pair::again::<true>(past, cell, mine, false),
        entered => entered,
    }
}

/// As [`on_odd_access`], of any size and anywhere.
#[inline(never)]
unsafe extern "C" fn in_general<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state.
    unsafe {
        if word <= UNWATCHED {
            return quick::access::<KIND>(address, pc);
        }
        let kind = const { Kept::of_range(Kind(KIND)) };
        range::noted_as(word as *mut Thread, pc, (address, size), writes, kind);
    }
}
