//! Accesses to ranges of bytes, by memory and text functions and the system, and plain accesses that do not lie within a cell.
//!
//! Cost: what is nothing new is a look at each of its cells; what is new to a few neighbouring cells goes into each as a hook's access does, and
//! has one record. Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::kind::Kind;

use super::eye::Eye;
use super::history::Kept;
use super::pair::{self, Entered};
use super::quick::{self, past_of};
use super::row::{self, Ends, Row};
use super::shadow::{self, Cell, REGION_LOG2, REGIONS};
use super::word::{self, BYTES, GRANULE, WRITE};
use super::{AT_ONCE, JUDGING, fill};
use crate::hot::thread::{Thread, done};
use crate::sys;

/// Up to so many bytes an access goes the short way: it is noted behind all its cells.
const SHORT: usize = (AT_ONCE - 1) * GRANULE;
const _: () = assert!(SHORT <= Kept::MOST);

/// An access to a range of bytes.
///
/// # Safety
/// Called on the accessing thread, which is watched.
// Not within its callers: with it there, the sort took 1.07 times as long (11 rounds).
#[inline(never)]
pub(crate) unsafe fn range(
    thread: *mut Thread,
    pc: usize,
    (address, size): (usize, usize),
    mode: Mode,
    via: Via,
) {
    let kind = Kept::of_range(Kind::range(mode, via));
    // SAFETY: passed on.
    unsafe { noted_as(thread, pc, (address, size), mode.writes(), kind) }
}

/// As [`range`], of what is noted as `kind`.
///
/// # Safety
/// As there.
#[inline(always)]
pub(super) unsafe fn noted_as(
    thread: *mut Thread,
    pc: usize,
    (address, size): (usize, usize),
    writes: bool,
    kind: Kept,
) {
    // SAFETY: passed on.
    unsafe {
        if writes {
            if !is_known::<true>((*thread).eye.mine, address, size) {
                publish::<true>(address, size, pc, kind);
            }
        } else if !is_known::<false>((*thread).eye.mine, address, size) {
            publish::<false>(address, size, pc, kind);
        }
    }
}

/// Whether an access to a range by a moment (the word of a read of all bytes) is nothing new to any of its cells. Looks at the cells' own words alone.
#[inline(always)]
pub(crate) fn is_known<const WRITES: bool>(mine: u64, address: usize, size: usize) -> bool {
    let last = address.wrapping_add(size).wrapping_sub(1);
    let region = address >> REGION_LOG2;
    if size == 0 {
        return true;
    }
    if (address ^ last) >> REGION_LOG2 != 0 || region >= REGIONS {
        return false;
    }
    let base = shadow::CELLS[region].load(Ordering::Relaxed);
    if base == 0 {
        return false;
    }
    // SAFETY: the region's cells are mapped.
    unsafe {
        if (address | size).is_multiple_of(GRANULE) {
            let first = base.wrapping_add(address * 2) as *const Cell;
            return row::is_known_whole::<WRITES>(core::slice::from_raw_parts(first, size / GRANULE), mine);
        }
        row::is_known::<WRITES>(cells(base, address, last), mine, ends(address, last))
    }
}

/// The cells from that of the byte `first` up to that of the byte `last`.
///
/// # Safety
/// Both are of the region of which `base` is told.
#[inline(always)]
unsafe fn cells<'a>(base: usize, first: usize, last: usize) -> &'a [Cell] {
    let granule = first & !(GRANULE - 1);
    let cell = base.wrapping_add(granule * 2) as *const Cell;
    // SAFETY: the caller's promise: they lie behind each other.
    unsafe { core::slice::from_raw_parts(cell, (last - granule) / GRANULE + 1) }
}

/// Which bytes of the first and the last cell a range has.
#[inline(always)]
const fn ends(first: usize, last: usize) -> Ends {
    Ends { first: first % GRANULE, last: last % GRANULE }
}

/// Publishes and judges an access to a range, which is noted as `kind`.
///
/// # Safety
/// Called on the accessing thread, which is watched.
#[inline(never)]
pub(crate) unsafe fn publish<const WRITES: bool>(address: usize, size: usize, pc: usize, kind: Kept) {
    let last = address.wrapping_add(size).wrapping_sub(1);
    let region = address >> REGION_LOG2;
    let mut base = 0;
    if size.wrapping_sub(1) < SHORT && last >> REGION_LOG2 == region && region < REGIONS {
        base = shadow::CELLS[region].load(Ordering::Relaxed);
    }
    // SAFETY: the caller's promise; the region's cells are mapped.
    unsafe {
        let thread = crate::sys::machine::thread_word() as *mut Thread;
        // What is to be ignored, and a handler that interrupts a hook, go the other way.
        let ignored = (*thread).busy | (*thread).internal != 0 || (*thread).eye.is_out();
        if base == 0 || ignored || !super::looking() {
            return in_general::<WRITES>(address, size, pc, kind);
        }
        let cells = cells(base, address, last);
        blocks_soon(cells);
        fill::before(&cells[0][0], address);
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let mine = (*thread).eye.mine | if WRITES { WRITE } else { 0 };
        let past = past_of(thread);
        let mut row = Row::new(cells, mine, ends(address, last));
        let mut going = Going { thread, base, kept: kind.of_size(size).at(address, pc), noted: false };
        while let Some((cell, mine, entered)) = row.publish::<WRITES>(&past) {
            if entered != Entered::No {
                going.enter(cell, mine, entered);
                continue;
            }
            match quick::in_crowd::<WRITES>(thread, cell, mine) {
                Entered::There => {}
                Entered::Yes => going.note(),
                entered => going.enter(cell, mine, entered),
            }
        }
        if row.is_new() {
            going.note();
        }
        done(thread, 0);
    }
}

/// The blocks of the first cells are fetched together, as each would be waited for by the locked operation in the one before.
#[inline(always)]
fn blocks_soon(cells: &[Cell]) {
    const FEW: usize = 8;
    for cell in cells.iter().take(FEW) {
        let first = cell[0].load(Ordering::Relaxed);
        if word::is_own_link(first) {
            // A seal links to nowhere, which is fetched in vain.
            sys::machine::prefetch_to_write(word::linked(first));
        }
    }
}

/// As [`publish`], where it is not short, or has no cells yet.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn in_general<const WRITES: bool>(address: usize, size: usize, pc: usize, kind: Kept) {
    if !super::looking() || size == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let thread = crate::sys::machine::thread_word() as *mut Thread;
        if (*thread).ignores(WRITES) {
            return;
        }
        if let Some(from) = first_new::<WRITES>((*thread).eye.mine, address, size) {
            let access = Access { address: address as u64, size: size as u64, ..kind.access().0 };
            super::judge_part(thread, &access, (from, access.end() as usize), pc as u64);
        }
    }
}

/// An access that is being published.
struct Going {
    thread: *mut Thread,
    /// What to add to twice an address to come to its cell.
    base: usize,
    kept: Kept,
    /// Whether the history has it already.
    noted: bool,
}

impl Going {
    /// Publishes it in a cell that does not make room so easily.
    ///
    /// # Safety
    /// The calling thread is marked busy.
    #[inline(never)]
    unsafe fn enter(&mut self, cell: &Cell, mine: u64, entered: Entered) {
        let granule = (core::ptr::from_ref(cell) as usize).wrapping_sub(self.base) / 2;
        let (thread, kept) = (self.thread, self.kept);
        // SAFETY: the caller's promise: the calling thread's own state, and it is busy.
        unsafe {
            let mut note = || self.note();
            let what = || told(kept);
            super::enter(thread, (cell, granule), (mine, true), entered, (&mut note, &what));
        }
    }

    /// Notes it in the history, once.
    ///
    /// # Safety
    /// The calling thread is marked busy.
    #[inline(always)]
    unsafe fn note(&mut self) {
        if self.noted {
            return;
        }
        self.noted = true;
        // SAFETY: the caller's promise: the calling thread's own state, and it is busy.
        unsafe {
            if (*self.thread).top != (*self.thread).clean {
                Eye::tell_context(self.thread);
            }
            Eye::keep(self.thread, self.kept);
        }
    }
}

/// What is told of an access.
#[cold]
#[inline(never)]
fn told(kept: Kept) -> (Access, u64) {
    kept.access()
}

/// The first byte of a range in whose cell an access of the moment `mine` (the word of a read of all bytes) may be
/// new. Looks at the cells' own words alone.
#[inline(always)]
pub(super) fn first_new<const WRITES: bool>(mine: u64, address: usize, size: usize) -> Option<usize> {
    let last = address.wrapping_add(size).wrapping_sub(1);
    if (address ^ last) >> REGION_LOG2 != 0 || address >> REGION_LOG2 >= REGIONS || size == 0 {
        return Some(address);
    }
    let base = shadow::CELLS[address >> REGION_LOG2].load(Ordering::Relaxed);
    if base == 0 {
        return Some(address);
    }
    // SAFETY: the region's cells are mapped.
    let cells = unsafe { cells(base, address, last) };
    let ends = (BYTES << (address % GRANULE), BYTES >> (GRANULE - 1 - last % GRANULE));
    let granule = address & !(GRANULE - 1);
    pair::first_new::<WRITES>(cells, mine, ends).map(|at| address.max(granule + at * GRANULE))
}
