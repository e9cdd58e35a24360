//! The lock under which an atomic operation and its stamp are one step.
//!
//! Invariant: of two operations on the same bytes the one with the smaller stamp came first.
//! Checked by a model checker in `tests/model.rs`.

use crate::sys::primitive::{AtomicU32, AtomicU64, Ordering, pause, yield_now};

/// Attempts before the processor is given to somebody else.
const SPINS: u32 = 100;

/// Guards the operations on some addresses, and counts those that may have written.
#[repr(align(64))]
pub(crate) struct Stripe {
    held: AtomicU32,
    writes: AtomicU64,
}

impl Stripe {
    constructor! {
        /// A free stripe.
        pub(crate) fn new() -> Stripe {
            Stripe { held: AtomicU32::new(0), writes: AtomicU64::new(0) }
        }
    }

    /// Takes the stripe. With `patient` false, gives up instead of waiting: `None`.
    pub(crate) fn take(&self, patient: bool) -> Option<Held<'_>> {
        let mut spins = 0;
        while self.held.compare_exchange_weak(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            spins += 1;
            if spins < SPINS {
                pause();
            } else if patient {
                yield_now();
            } else {
                return None;
            }
        }
        Some(Held(self))
    }

    /// Frees the stripe whoever holds it, in a forked child whose other threads are gone.
    pub(crate) fn free(&self) {
        self.held.store(0, Ordering::Relaxed);
    }
}

/// A stripe that is held.
pub(crate) struct Held<'a>(&'a Stripe);

impl Held<'_> {
    /// How many operations may have written so far.
    pub(crate) fn writes(&self) -> u64 {
        self.0.writes.load(Ordering::Relaxed)
    }

    /// Counts an operation that may have written.
    pub(crate) fn wrote(&self) {
        self.0.writes.store(self.writes() + 1, Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.0.held.store(0, Ordering::Release);
    }
}
