//! Memory of the runtime's own, in sizes of powers of two.
//!
//! Invariant: nothing of it comes from the program's heap, and none is given back to the system: what is free is
//! used again. For what is short and rare; the shadow has [its own](super::block).

use core::cell::UnsafeCell;
use core::ptr::null_mut;

use super::memory;
use crate::cold::lock::Lock;
use crate::sys;

/// The smallest piece, as a power of two.
const SMALLEST: u32 = 4;
/// Pieces of this size and above are mapped one by one.
const LARGE: u32 = 16;
/// How much is mapped at once.
const CHUNK: usize = 1 << 18;

struct Pool {
    lock: Lock,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    free: [*mut Free; LARGE as usize],
    at: usize,
    end: usize,
}

struct Free {
    next: *mut Free,
}

// SAFETY: `inner` is touched under `lock` alone.
unsafe impl Sync for Pool {}

static POOL: Pool = Pool {
    lock: Lock::new(),
    inner: UnsafeCell::new(Inner { free: [null_mut(); LARGE as usize], at: 0, end: 0 }),
};

fn class(size: usize) -> u32 {
    size.next_power_of_two().trailing_zeros().max(SMALLEST)
}

/// How many bytes [`take`] really gives for `size`.
pub(crate) fn room(size: usize) -> usize {
    1 << class(size)
}

/// Memory for `size` bytes, aligned to its size up to a page, not zeroed.
pub(crate) fn take(size: usize) -> *mut u8 {
    let class = class(size);
    if class >= LARGE {
        return map(1 << class);
    }
    POOL.lock.with(|| {
        // SAFETY: under the lock; a free piece holds a link.
        unsafe {
            let pool = &mut *POOL.inner.get();
            let first = pool.free[class as usize];
            if !first.is_null() {
                pool.free[class as usize] = (*first).next;
                return first.cast();
            }
            let size = 1 << class;
            let mut at = pool.at.next_multiple_of(size);
            if at + size > pool.end {
                at = map(CHUNK) as usize;
                pool.end = at + CHUNK;
            }
            pool.at = at + size;
            at as *mut u8
        }
    })
}

/// Gives back what [`take`] gave for `size`.
///
/// # Safety
/// Nobody uses it any more.
pub(crate) unsafe fn give(piece: *mut u8, size: usize) {
    let class = class(size);
    if class >= LARGE {
        // SAFETY: the caller's promise; it was mapped in this size.
        return unsafe { sys::unmap(piece, 1 << class) };
    }
    let piece = piece.cast::<Free>();
    POOL.lock.with(|| {
        // SAFETY: under the lock; the piece is nobody's.
        unsafe {
            let pool = &mut *POOL.inner.get();
            (*piece).next = pool.free[class as usize];
            pool.free[class as usize] = piece;
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
