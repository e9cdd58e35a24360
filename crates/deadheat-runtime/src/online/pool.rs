//! Memory of the runtime's own, in four sizes for each power of two.
//!
//! Invariant: nothing of it comes from the program's heap, and none is given back to the system: what is free is
//! used again. For what is short and rare; the shadow has [its own](super::block).

use core::cell::UnsafeCell;
use core::ptr::null_mut;

use super::list::LINE;
use super::memory;
use crate::cold::lock::Lock;
use crate::sys;

/// Sizes are multiples of it, and so are addresses.
const STEP: usize = 16;
/// Up to here each multiple is a size.
const EACH: usize = 4 * STEP;
/// Pieces of this size and above are mapped one by one.
const LARGE: usize = 1 << 16;
/// How many sizes below that there are.
const CLASSES: usize = class(LARGE);
/// How much is mapped at once.
const CHUNK: usize = 1 << 18;

struct Pool {
    lock: Lock,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    free: [*mut Free; CLASSES],
    at: usize,
    end: usize,
}

struct Free {
    next: *mut Free,
}

// SAFETY: `inner` is touched under `lock` alone.
unsafe impl Sync for Pool {}

static POOL: Pool =
    Pool { lock: Lock::new(), inner: UnsafeCell::new(Inner { free: [null_mut(); CLASSES], at: 0, end: 0 }) };

/// How many bytes [`take`] really gives for `size`.
pub(crate) const fn room(size: usize) -> usize {
    if size == 0 {
        STEP
    } else if size <= EACH {
        size.next_multiple_of(STEP)
    } else {
        size.next_multiple_of(size.next_power_of_two() / 8)
    }
}

/// The number of a size that is some [`room`].
const fn class(room: usize) -> usize {
    if room <= EACH {
        return room / STEP - 1;
    }
    let power = (room - 1).ilog2();
    let quarter = (room - (1 << power)) / (1 << (power - 2));
    EACH / STEP + (power - EACH.ilog2()) as usize * 4 + quarter - 1
}

/// Memory for `size` bytes, aligned to 16, and to a line of the processor's caches if it is whole lines; not zeroed.
pub(crate) fn take(size: usize) -> *mut u8 {
    let room = room(size);
    if room >= LARGE {
        return map(room);
    }
    POOL.lock.with(|| {
        // SAFETY: under the lock; a free piece holds a link.
        unsafe {
            let pool = &mut *POOL.inner.get();
            let first = pool.free[class(room)];
            if !first.is_null() {
                pool.free[class(room)] = (*first).next;
                return first.cast();
            }
            if room.is_multiple_of(LINE) {
                pool.at = pool.at.next_multiple_of(LINE);
            }
            if pool.at + room > pool.end {
                pool.at = map(CHUNK) as usize;
                pool.end = pool.at + CHUNK;
            }
            let piece = pool.at;
            pool.at += room;
            piece as *mut u8
        }
    })
}

/// Gives back what [`take`] gave for `size`.
///
/// # Safety
/// Nobody uses it any more.
pub(crate) unsafe fn give(piece: *mut u8, size: usize) {
    let room = room(size);
    if room >= LARGE {
        // SAFETY: the caller's promise; it was mapped in this size.
        return unsafe { sys::unmap(piece, room) };
    }
    let piece = piece.cast::<Free>();
    POOL.lock.with(|| {
        // SAFETY: under the lock; the piece is nobody's.
        unsafe {
            let pool = &mut *POOL.inner.get();
            (*piece).next = pool.free[class(room)];
            pool.free[class(room)] = piece;
        }
    });
}

/// Maps pages for somebody who cannot do without.
pub(crate) fn map(size: usize) -> *mut u8 {
    sys::map_anonymous(size).unwrap_or_else(|_| memory::from_reserve(size))
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    POOL.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    POOL.lock.release();
}
