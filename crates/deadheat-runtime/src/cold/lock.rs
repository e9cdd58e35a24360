//! The runtime's own lock, for short work only.
//!
//! Invariant: a holder never calls the program, and waits for another of these locks only in the online detector, in the
//! order of its reports, slots and pool.
//! Checked by a model checker in `tests/model.rs`.

use crate::sys::primitive::{AtomicU32, Ordering, stand_back, yield_now};

/// Looks before the processor is given to somebody else.
const SPINS: u32 = 4;

/// A lock that waits a moment for its holder, and then yields until it is free.
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
        let mut spins = 0;
        while self.0.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spins += 1;
            if spins < SPINS { stand_back() } else { yield_now() }
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
