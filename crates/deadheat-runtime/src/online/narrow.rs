//! Blocks that are given back before the memory has a new life: of cells of which there is no more to know than a write of all bytes.
//!
//! Invariant: what is taken out happened before that write, so whoever races with it races with the write, too.

use super::block::{Block, Blocks};
use super::set::{self, Seen};
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
    if !word::is_link(first) || old.is_null() {
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
            blocks.holding(&words[..count])
        };
        cell[0].store(new, Ordering::SeqCst);
        blocks.retire(old);
    }
}
