//! Blocks that are given back before the memory has a new life, of cells of which there is no more to know than a write of all bytes, or since it has one.
//!
//! Invariant: what is taken out for a write happened before it, so whoever races with it races with the write, too.

use super::block::{Block, Blocks};
use super::set::{self, Seen};
use super::span;
use super::word::{self, SEALED};
use crate::sys::primitive::{AtomicU64, Ordering};

/// Sets of more words stay.
const MOST: usize = 32;

/// The cell has `mine` alone again, the calling thread's write of all bytes, which its block has; nothing is done where somebody is not ordered before that.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
#[inline]
pub(super) unsafe fn narrow(cell: &[AtomicU64; 2], mine: u64, seen: &impl Seen, blocks: &mut Blocks) {
    let first = cell[0].load(Ordering::Acquire);
    let old = word::linked(first) as *mut Block;
    if !word::is_own_link(first) || old.is_null() {
        return;
    }
    // SAFETY: a link is to a whole block, which who is busy keeps from being used again; whoever seals the cell alone replaces it.
    unsafe {
        let set = Block::set(old);
        if set.len() > MOST
            || set.iter().any(|place| set::stays(place.load(Ordering::Acquire), mine, seen))
            || cell[0].compare_exchange(first, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err()
        {
            return;
        }
        // Somebody may have come since.
        let (mut words, mut count) = ([0; MOST + 1], 0);
        set::seal_behind(set, mine, seen, |word| {
            words[count] = word;
            count += 1;
        });
        let new = if count == 1 {
            cell[1].store(0, Ordering::Release);
            mine
        } else {
            blocks.holding(&words[..count], 0)
        };
        cell[0].store(new, Ordering::SeqCst);
        blocks.retire(old);
    }
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
