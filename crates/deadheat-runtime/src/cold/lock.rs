//! The runtime's own lock, for rare and short work only.
//!
//! Invariant: a holder never calls the program and never waits for another of these locks.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::sys;

/// A lock that spins and then yields.
pub(crate) struct Lock(AtomicU32);

impl Lock {
    pub(crate) const fn new() -> Lock {
        Lock(AtomicU32::new(0))
    }

    /// Waits for the lock.
    pub(crate) fn acquire(&self) {
        while self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sys::yield_now();
        }
    }

    /// Gives the lock back.
    pub(crate) fn release(&self) {
        self.0.store(0, Ordering::Release);
    }

    /// Runs `body` under the lock.
    pub(crate) fn with<R>(&self, body: impl FnOnce() -> R) -> R {
        self.acquire();
        let result = body();
        self.release();
        result
    }
}
