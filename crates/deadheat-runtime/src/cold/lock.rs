//! The runtime's own lock, for rare and short work only.
//!
//! Invariant: a holder never calls the program, and waits for another of these locks only in the online detector, in the
//! order of its reports, slots and pool.
//! Checked by a model checker in `tests/model.rs`.

use crate::sys::primitive::{AtomicU32, Ordering, yield_now};

/// A lock that yields until it is free.
pub(crate) struct Lock(AtomicU32);

impl Lock {
    constructor! {
        /// A free lock.
        pub(crate) fn new() -> Lock {
            Lock(AtomicU32::new(0))
        }
    }

    /// Waits for the lock.
    pub(crate) fn acquire(&self) {
        while self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            yield_now();
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
