//! The ends of blocks' lives, and who comes behind them.
//!
//! A block that waits before it has another life (`intercept/heap`) has a [mark](word::freed) in each cell: the write by which its life ended, in
//! the slot of nobody. No clock knows that slot, so whoever comes there leaves the common ways by itself. Where the access is not
//! ordered behind the end, the two race, as without a mark. Where it is, and the block still waits, it is a use after free.
//!
//! Invariant: a mark says all that the write says; who meets it puts the write in its place, so that each cell is told of once.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::BlockKind;

use super::eye::Eye;
use super::narrow::{self, narrow};
use super::object::Family;
use super::pair::{self, Entered};
use super::report::Mine;
use super::set::Seen;
use super::shadow::{self, Cell};
use super::word::{self, BYTES, GRANULE, WRITE};
use super::{AT_ONCE, JUDGING, block, judge, judge_part, looking, quick, span};
use crate::hot::thread::{Thread, done};
use crate::intercept::LARGEST_WAITING;

/// A block's life ends: a write to all its bytes.
///
/// # Safety
/// `thread` is the calling thread's.
pub(super) unsafe fn died(thread: *mut Thread, pc: usize, what: (u64, u64, BlockKind)) {
    let (address, size, kind) = what;
    let noted = shadow::noted_at(address as usize).map_or(0, |noted| noted.size as u64);
    let size = if size == 0 { noted } else { size };
    if size == 0 {
        return;
    }
    let access = Access { address, size, mode: Mode::Write, atomic: None, via: Via::Free };
    // SAFETY: the calling thread's own state.
    unsafe {
        let owner = ((*thread).id, (*thread).busy | (*thread).holds == 0);
        let range = (address, address.saturating_add(size));
        if kind == BlockKind::Heap && (*thread).freed.keeps(address) && size <= LARGEST_WAITING as u64 {
            super::forget_within(thread, owner, range, Family::ends_with_memory);
            end(thread, (address as usize, size as usize), pc as u64);
        } else if kind == BlockKind::Mapping || size >= shadow::LARGE as u64 {
            shadow::touched(address as usize, size as usize, |start, size| {
                judge_part(thread, &access, (start, start + size), pc as u64);
            });
        } else {
            judge(thread, &access, pc as u64);
        }
        // Its memory may never be that of a block again.
        let large = kind == BlockKind::Heap && size > LARGEST_WAITING as u64;
        if large || kind == BlockKind::Mapping {
            super::forget_within(thread, owner, range, Family::is_in_memory);
        }
        if large {
            narrow_within(thread, address as usize, size as usize);
        }
        // The next file with a descriptor's number may be opened unseen.
        if !matches!(kind, BlockKind::Mapping | BlockKind::Descriptor) {
            return;
        }
        let outer = (*thread).busy;
        (*thread).busy = outer.max(JUDGING);
        compiler_fence(Ordering::SeqCst);
        shadow::clear(address as usize, size as usize, true, &mut (*thread).eye.blocks);
        done(thread, outer);
        super::ordering(thread, Eye::end_moment);
    }
}

/// The cells of a block that has ended need no more than the write by which it did.
///
/// # Safety
/// `thread` is the calling thread's; the write was judged just now.
unsafe fn narrow_within(thread: *mut Thread, address: usize, size: usize) {
    // SAFETY: the caller's promise: the calling thread's own state.
    unsafe {
        let unseen = (*thread).ignore_writes != 0 || (*thread).eye.is_out() || !looking();
        if unseen || (*thread).internal | (*thread).busy != 0 {
            return;
        }
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let mine = (*thread).eye.moment() | WRITE | BYTES;
        let past = quick::past_of(thread);
        let part = |start: usize, size: usize| {
            let first = start.next_multiple_of(GRANULE);
            let count = (start + size).saturating_sub(first) / GRANULE;
            let blocks = &mut (*thread).eye.blocks;
            // A span has no blocks.
            shadow::by_spans(shadow::cells(first, count), span::is_one, |cell| {
                narrow(cell, mine, &past, blocks)
            });
        };
        if size >= shadow::LARGE {
            shadow::touched(address, size, part);
        } else {
            part(address, size);
        }
        done(thread, 0);
    }
}

/// The life of a block that waits ends.
///
/// # Safety
/// `thread` is the calling thread's, and in no other hook.
unsafe fn end(thread: *mut Thread, (address, size): (usize, usize), pc: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).ignore_writes != 0 || (*thread).eye.slot == 0 || !looking() {
            return;
        }
        let mine = (*thread).eye.moment() | WRITE | BYTES;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let node = Eye::node_of_call(thread, pc);
        // What an allocator gives nobody else a part of is the block's.
        let mut left = size.div_ceil(GRANULE);
        let mut at = address;
        while left != 0 {
            let cells = shadow::cells(at, left);
            if cells.is_empty() {
                break;
            }
            mark_all(thread, (cells, at), mine, ((address, size), pc));
            (at, left) = (at + cells.len() * GRANULE, left - cells.len());
        }
        // Not before: cells that nobody looked at since may have the marks of an earlier life.
        shadow::waits(address, node);
        done(thread, 0);
    }
}

/// The access by which the life of a block of so many bytes at an address ends.
pub(super) fn end_of((address, size): (usize, usize)) -> Access {
    Access { address: address as u64, size: size as u64, mode: Mode::Write, atomic: None, via: Via::Free }
}

/// Publishes `mine`, the write by which a block's life ends, in cells of the block, the first of which is that of `from`, and judges it. The
/// thread has just been asked for the node of its calls.
///
/// # Safety
/// `thread` is the calling thread's, and busy.
#[inline(always)]
pub(super) unsafe fn mark_all(
    thread: *mut Thread,
    (cells, from): (&[Cell], usize),
    mine: u64,
    (block, pc): ((usize, usize), u64),
) {
    // SAFETY: the caller's promise.
    unsafe {
        let past = quick::past_of(thread);
        let mut noted = false;
        let (mut left, mut at) = (cells, from & !(GRANULE - 1));
        loop {
            // Up to where the next span begins; mostly that is all.
            let most = AT_ONCE - at / GRANULE % AT_ONCE;
            let (part, rest) = if left.len() <= most { (left, &[][..]) } else { left.split_at(most) };
            let of_span = if part.len() == span::CELLS { span::end(&past, part, mine) } else { Entered::No };
            if of_span == Entered::Yes {
                at += span::CELLS * GRANULE;
            } else {
                for cell in part {
                    let entered = if of_span == Entered::No { pair::end(&past, cell, mine) } else { of_span };
                    if entered != Entered::Yes {
                        mark_in_general(thread, (cell, at), (mine, entered), (block, pc), &mut noted);
                    }
                    at += GRANULE;
                }
            }
            if !noted {
                noted = true;
                Eye::note_end(thread, block, pc);
            }
            if rest.is_empty() {
                return;
            }
            left = rest;
        }
    }
}

/// As [`mark_all`], in one cell, where there is more than [`pair::end`] deals with. `noted`: whether the history has the access.
///
/// # Safety
/// As there, and the thread is in no other hook.
#[cold]
#[inline(never)]
unsafe fn mark_in_general(
    thread: *mut Thread,
    place: (&Cell, usize),
    (mine, entered): (u64, Entered),
    (block, pc): ((usize, usize), u64),
    noted: &mut bool,
) {
    let access = end_of(block);
    // SAFETY: the caller's promise.
    unsafe {
        let (past, blocks) = (quick::past_of(thread), &mut (*thread).eye.blocks);
        if entered == Entered::No && narrow::end(place.0, (mine, word::freed(mine)), &past, blocks) {
            return;
        }
        if entered == Entered::Met
            && let Some(set) = block::set_of(place.0, &mut (*thread).eye.blocks, true)
        {
            // Who is judged is not to meet his own mark.
            replace(set, |word| word == word::freed(mine), mine);
        }
        let mut note = || {
            if !*noted {
                *noted = true;
                Eye::note(thread, &access, pc);
            }
        };
        super::enter(thread, place, (mine, true), entered, (&mut note, &|| (access, pc)));
        mark(thread, place.0, mine);
    }
}

/// Marks a cell that has the write `mine`, which was judged.
///
/// # Safety
/// The calling thread is busy.
unsafe fn mark(thread: *mut Thread, cell: &Cell, mine: u64) {
    // SAFETY: the caller's promise.
    let Some(set) = (unsafe { block::set_of(cell, &mut (*thread).eye.blocks, true) }) else { return };
    // Who frees it shall not find its own accesses of this moment there.
    replace(set, |word| word::same_moment(word, mine), word::freed(mine));
    if set.len() > cell.len() {
        // Beside the link is a copy of a word.
        cell[1].store(0, Ordering::Relaxed);
    }
}

/// Puts `new` in the place of words.
fn replace(set: &[crate::sys::primitive::AtomicU64], which: impl Fn(u64) -> bool, new: u64) {
    for place in set {
        let word = place.load(Ordering::Relaxed);
        if word != 0 && !word::is_special(word) && which(word) {
            // What changes meanwhile sees what it replaces.
            let _ = place.compare_exchange(word, new, Ordering::SeqCst, Ordering::Relaxed);
        }
    }
}

/// A block that waits.
pub(super) struct Waiting {
    /// Its first byte and its size.
    pub(super) block: (usize, usize),
    /// Where it was freed: a node, whose innermost call is the place.
    pub(super) node: u32,
}

/// What an access that met a mark is to be told with.
pub(super) enum Met {
    /// It may race with this word.
    Word(u64),
    /// It uses a block behind its end, which is this word.
    Use(u64, Waiting),
    /// Nothing: the block may have another life, of which it is.
    Nothing,
}

/// The access `mine` of the calling thread met the mark `freed` in its cell.
///
/// # Safety
/// `thread` is the calling thread's, and busy.
pub(super) unsafe fn met(thread: *mut Thread, mine: &Mine<'_>, freed: u64, at: u64) -> Met {
    let end = word::of_freed(freed);
    // SAFETY: the caller's promise.
    let (set, ordered) = unsafe {
        let blocks = &mut (*thread).eye.blocks;
        let set = shadow::cell(mine.granule as usize).and_then(|cell| block::set_of(cell, blocks, false));
        (set, quick::past_of(thread).ordered(end))
    };
    if let Some(set) = set {
        replace(set, |word| word == freed, end);
    }
    if !ordered {
        return Met::Word(end);
    }
    match shadow::waiting_around(at as usize, LARGEST_WAITING) {
        Some((address, size, node)) => Met::Use(end, Waiting { block: (address, size), node }),
        None => Met::Nothing,
    }
}

/// The access by which the life of a block that waits ended.
pub(super) fn last(waiting: &Waiting) -> Access {
    end_of(waiting.block)
}
