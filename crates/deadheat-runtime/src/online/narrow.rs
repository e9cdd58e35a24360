//! Blocks that are given back before the memory has a new life, of cells of which there is no more to know than a write of all bytes, or since it has one.
//!
//! Invariant: what is taken out for a write happened before it, so whoever races with it races with the write, too.

use core::mem::MaybeUninit;
use core::ptr::null_mut;

use super::block::{Block, Blocks};
use super::set::{self, Seen};
use super::span;
use super::word::{self, SEALED};
use crate::sys::primitive::{AtomicU64, Ordering};

/// Sets of more words stay.
const MOST: usize = 32;

/// The words of a set that are left of it.
struct Staying {
    words: MaybeUninit<[u64; MOST + 1]>,
    count: usize,
}

impl Staying {
    #[inline(always)]
    const fn new() -> Staying {
        Staying { words: MaybeUninit::uninit(), count: 0 }
    }

    #[inline(always)]
    fn push(&mut self, word: u64) {
        assert!(self.count <= MOST);
        // SAFETY: it is within them.
        unsafe { self.words.as_mut_ptr().cast::<u64>().add(self.count).write(word) };
        self.count += 1;
    }

    fn words(&self) -> &[u64] {
        // SAFETY: so many are there.
        unsafe { core::slice::from_raw_parts(self.words.as_ptr().cast(), self.count) }
    }
}

/// Seals a cell with a block and gives that, if all there happened before `mine`, the calling thread's write of all bytes; what came since is added to `staying`. Null, and nothing is done, where
/// it did not.
///
/// # Safety
/// The calling thread is marked busy.
#[inline(always)]
unsafe fn seal(cell: &[AtomicU64; 2], mine: u64, seen: &impl Seen, staying: &mut Staying) -> *mut Block {
    let first = cell[0].load(Ordering::Acquire);
    let old = word::linked(first) as *mut Block;
    if !word::is_own_link(first) || old.is_null() {
        return null_mut();
    }
    // SAFETY: a link is to a whole block, which who is busy keeps from being used again; whoever seals the cell alone replaces it.
    let set = unsafe { Block::set(old) };
    if set.len() > MOST
        || set.iter().any(|place| set::stays(place.load(Ordering::Acquire), mine, seen))
        || cell[0].compare_exchange(first, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err()
    {
        return null_mut();
    }
    set::seal_behind(set, mine, seen, |word| staying.push(word));
    old
}

/// The cell has `mine` alone again, the calling thread's write of all bytes, which its block has; nothing is done where somebody is not ordered before that.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
#[inline]
pub(super) unsafe fn narrow(cell: &[AtomicU64; 2], mine: u64, seen: &impl Seen, blocks: &mut Blocks) {
    let mut staying = Staying::new();
    staying.push(mine);
    // SAFETY: the caller's promise.
    unsafe {
        let old = seal(cell, mine, seen, &mut staying);
        if !old.is_null() {
            let new = if staying.count == 1 { mine } else { blocks.holding(staying.words(), 0) };
            give(cell, (old, new), blocks);
        }
    }
}

/// The cell has `end` alone, the word for `mine`, by which the life of the calling thread's block of the heap ends, in the place of a block of words; `false` where somebody is not ordered before
/// that, and `mine` is not there.
///
/// # Safety
/// As [`narrow`].
#[inline]
pub(super) unsafe fn end(
    cell: &[AtomicU64; 2],
    (mine, end): (u64, u64),
    seen: &impl Seen,
    blocks: &mut Blocks,
) -> bool {
    let mut staying = Staying::new();
    // SAFETY: the caller's promise.
    unsafe {
        let old = seal(cell, mine, seen, &mut staying);
        if old.is_null() {
            return false;
        }
        let new = if staying.count == 0 { end } else { blocks.holding(staying.words(), 0) };
        give(cell, (old, new), blocks);
    }
    staying.count == 0
}

/// Gives a cell that the calling thread has sealed another first word, a link or all that it has, and its block back.
///
/// # Safety
/// As [`narrow`].
unsafe fn give(cell: &[AtomicU64; 2], (old, new): (*mut Block, u64), blocks: &mut Blocks) {
    cell[1].store(0, Ordering::Release);
    cell[0].store(new, Ordering::SeqCst);
    // SAFETY: its link is gone.
    unsafe { blocks.retire(old) };
}

/// Takes a block away from its cell, which may be in use.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
pub(crate) unsafe fn unlink(cell: &[AtomicU64; 2], blocks: &mut Blocks) {
    let first = cell[0].load(Ordering::Relaxed);
    let block = word::linked(first) as *mut Block;
    if word::is_link(first)
        && !block.is_null()
        && cell[0].compare_exchange(first, 0, Ordering::SeqCst, Ordering::Relaxed).is_ok()
    {
        // SAFETY: its link is gone, and we took it away.
        unsafe { blocks.retire(block) };
    }
}

/// Makes a cell as if nothing had happened to its bytes.
///
/// # Safety
/// The bytes have a new life: no thread accesses them in order. `blocks` are the calling thread's.
#[inline]
pub(crate) unsafe fn clear(cell: &[AtomicU64; 2], blocks: &mut Blocks) {
    let mut first = cell[0].load(Ordering::Relaxed);
    if first == 0 && cell[1].load(Ordering::Relaxed) == 0 {
        return;
    }
    if first == word::WIDE {
        // SAFETY: only the shadow's cells say that.
        unsafe { span::leave(cell, 0) };
        first = cell[0].load(Ordering::Relaxed);
    }
    if word::is_special(first) {
        let block = word::linked(first) as *mut Block;
        if block.is_null()
            || cell[0].compare_exchange(first, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err()
        {
            return;
        }
        cell[1].store(0, Ordering::Relaxed);
        cell[0].store(0, Ordering::Release);
        if !word::is_common(first) {
            // SAFETY: its link is gone.
            unsafe { blocks.retire(block) };
        }
        return;
    }
    cell[0].store(0, Ordering::Relaxed);
    cell[1].store(0, Ordering::Relaxed);
}
