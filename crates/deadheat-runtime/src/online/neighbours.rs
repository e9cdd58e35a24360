//! Neighbouring cells, and an access that has all bytes of each: many are published in at once.

use core::sync::atomic::Ordering;

use deadheat_core::access::Access;

use super::pair::{self, Entered};
use super::shadow::{self, Cell};
use super::word::{self, BYTES, GRANULE, WRITE};
use super::{AT_ONCE, common, fill, memory, quick, span};
use crate::hot::thread::Thread;

/// What [`enter`] did.
pub(super) struct Done {
    /// So many bytes from the first one on are published and judged.
    pub(super) bytes: usize,
    /// Whether it came to the end of the cells that it looks at together.
    pub(super) are_all: bool,
    /// Else what became of the access in the cell behind them.
    pub(super) next: Entered,
}

/// Publishes a plain access of the bytes from `at` to `end` in the cells from the first on, whose first byte it is, that make room easily.
///
/// # Safety
/// `thread` is the calling thread's, and busy.
#[inline(always)]
pub(super) unsafe fn enter(
    thread: *mut Thread,
    (at, end): (usize, usize),
    (moment, patient): (u64, bool),
    note: &mut impl FnMut(),
    what: &impl Fn() -> (Access, u64),
) -> Done {
    // SAFETY: the caller's promise.
    let past = unsafe { quick::past_of(thread) };
    // Up to where the next span begins. None is made where memory is limited: cells are emptied there while others are at them.
    let most = AT_ONCE - at / GRANULE % AT_ONCE;
    let cells = shadow::cells(at, ((end - at) / GRANULE).min(most));
    if let Some([word, _]) = cells.first() {
        fill::before(word, at);
    }
    if moment & WRITE == 0
        && patient
        && cells.first().is_some_and(|cell| word::is_common(cell[0].load(Ordering::Relaxed)))
    {
        // SAFETY: the caller's promise: the calling thread's own state.
        let memo = unsafe { &mut (*thread).eye.blocks.memo };
        let (done, new) = common::over(memo, cells, moment | BYTES);
        if new {
            note();
        }
        if done != 0 {
            return Done { bytes: done * GRANULE, are_all: true, next: Entered::No };
        }
    }
    if cells.len() == span::CELLS && patient && !memory::is_limited() {
        // SAFETY: the caller's promise: the calling thread's own state.
        let worth = unsafe { &mut (*thread).eye.spans };
        let entered = span::over(&past, cells, moment | BYTES, worth);
        if entered != Entered::No {
            let bytes = span::CELLS * GRANULE;
            if entered != Entered::There {
                note();
            }
            if entered == Entered::Met {
                // SAFETY: passed on.
                unsafe { enter_each(thread, (cells, at + bytes), moment | BYTES, (note, what)) };
            }
            return Done { bytes, are_all: true, next: Entered::No };
        }
    }
    let (done, new, next) = pair::over(&past, cells, moment | BYTES);
    if new {
        note();
    }
    Done { bytes: done * GRANULE, are_all: done == cells.len() && done != 0, next }
}

/// Publishes an access of all bytes in each cell of what was a span, and judges it against whoever was met there. `end`: the first byte behind them.
///
/// # Safety
/// `thread` is the calling thread's, which is busy, and in no handler.
#[cold]
#[inline(never)]
unsafe fn enter_each(
    thread: *mut Thread,
    (cells, end): (&[Cell], usize),
    mine: u64,
    (note, what): (&mut impl FnMut(), &impl Fn() -> (Access, u64)),
) {
    for (at, cell) in cells.iter().rev().enumerate() {
        let granule = end - (at + 1) * GRANULE;
        // SAFETY: the caller's promise.
        unsafe { super::enter(thread, (cell, granule), (mine, true), Entered::Met, (note, what)) };
    }
}
