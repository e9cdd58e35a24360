//! The lock under which an atomic operation and its stamp are one step.
//!
//! Invariant: of two operations on the same bytes the one with the smaller stamp came first.
//! Checked by a model checker in `tests/model.rs`.

use crate::sys::primitive::{AtomicU32, AtomicU64, Ordering, pause, yield_now};

/// Attempts before the processor is given to somebody else.
const SPINS: u32 = 100;
/// Attempts of a handler that interrupted a hook.
const NESTED_SPINS: u32 = 300;

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

    /// Takes the stripe for the thread `owner`. A handler that interrupted a hook is not `patient`:
    /// it shares the stripe if the hook holds it, and gives up after a while if another thread
    /// does, which may itself be interrupted by a handler that waits: `None`. So does at once who is patient where
    /// the thread itself holds it: a handler that came while the hook was not marked busy.
    pub(crate) fn take(&self, owner: u32, patient: bool) -> Option<Held<'_>> {
        let owner = owner.wrapping_add(1);
        let mut spins = 0;
        while let Err(holder) =
            self.held.compare_exchange_weak(0, owner, Ordering::Acquire, Ordering::Relaxed)
        {
            if holder == owner {
                return (!patient).then_some(Held { stripe: self, shared: true });
            }
            spins += 1;
            if spins < SPINS {
                pause();
            } else if patient || spins < NESTED_SPINS {
                yield_now();
            } else {
                return None;
            }
        }
        Some(Held { stripe: self, shared: false })
    }

    /// How many operations may have written so far, or are about to.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// Frees the stripe whoever holds it, in a forked child whose other threads are gone.
    pub(crate) fn free(&self) {
        self.held.store(0, Ordering::Relaxed);
    }
}

/// A stripe that is held.
pub(crate) struct Held<'a> {
    stripe: &'a Stripe,
    /// By the hook that this handler interrupted, which will free it.
    shared: bool,
}

impl Held<'_> {
    /// How many operations may have written so far.
    pub(crate) fn writes(&self) -> u64 {
        self.stripe.writes.load(Ordering::Relaxed)
    }

    /// Counts an operation that may have written.
    pub(crate) fn wrote(&self) {
        self.stripe.writes.store(self.writes() + 1, Ordering::Relaxed);
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.shared {
            self.stripe.held.store(0, Ordering::Release);
        }
    }
}
