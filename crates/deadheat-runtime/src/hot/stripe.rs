//! The lock under which an atomic operation and its stamp are one step.
//!
//! It also has a note of what two of its atomics [show](Shown), which a load may read without the lock: if nobody held it
//! and nobody [wrote](Held::wrote) meanwhile, what the note says is what goes with the value.
//!
//! Invariant: of two operations on the same bytes the one with the smaller stamp came first. A note is changed after the
//! write is counted, while the stripe is held. Checked by a model checker in `tests/model.rs`.

use crate::sys::primitive::{AtomicU32, AtomicU64, Ordering, fence, stand_back, step_back, yield_now};

/// Attempts before the processor is given to somebody else.
const SPINS: u32 = 20;
/// Attempts of a handler that interrupted a hook.
const NESTED_SPINS: u32 = 300;

/// Guards the operations on some addresses, and counts those that may have written.
#[repr(align(64))]
pub(crate) struct Stripe {
    held: AtomicU32,
    writes: AtomicU64,
    shown: [[AtomicU64; 3]; 2],
}

/// Which atomic something is noted of: operations of other sizes at its address are others'.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Which(u64);

impl Which {
    /// That of operations on `1 << log2` bytes at an address.
    #[inline(always)]
    pub(crate) const fn new(address: u64, log2: u16) -> Which {
        // No memory has such high addresses.
        const SHIFT: u32 = 56;
        Which(address ^ (log2 as u64) << SHIFT)
    }
}

/// What is noted of an atomic.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shown {
    /// Which access one must know to know all that it shows; [`Shown::NOTHING`] if it shows nothing.
    pub(crate) by: u64,
    /// Where the rest is; 0: nowhere.
    pub(crate) object: u64,
}

impl Shown {
    /// Whoever reads the atomic learns nothing.
    pub(crate) const NOTHING: u64 = 0;
}

impl Stripe {
    constructor! {
        /// A free stripe.
        pub(crate) fn new() -> Stripe {
            Stripe {
                held: AtomicU32::new(0),
                writes: AtomicU64::new(0),
                shown: [
                    [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
                    [AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0)],
                ],
            }
        }
    }

    /// Takes the stripe for the thread `owner`. A handler that interrupted a hook is not `patient`:
    /// it shares the stripe if the hook holds it, and gives up after a while if another thread
    /// does, which may itself be interrupted by a handler that waits: `None`. So does at once who is patient where
    /// the thread itself holds it: a handler that came while the hook was not marked busy.
    pub(crate) fn take(&self, owner: u32, patient: bool) -> Option<Held<'_>> {
        let owner = owner.wrapping_add(1);
        let mut spins = 0;
        while let Err(holder) = self.held.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed) {
            if holder == owner {
                return (!patient).then_some(Held { stripe: self, shared: true });
            }
            // The holder is about to write here: its line is neither taken from it nor asked for all the time.
            while self.held.load(Ordering::Relaxed) != 0 {
                spins += 1;
                if spins < SPINS {
                    stand_back();
                } else if patient || spins < NESTED_SPINS {
                    yield_now();
                } else {
                    return None;
                }
            }
        }
        Some(Held { stripe: self, shared: false })
    }

    /// Takes the stripe for the thread `owner`, which is patient, if nobody holds it.
    #[inline(always)]
    pub(crate) fn take_if_free(&self, owner: u32) -> Option<Held<'_>> {
        let owner = owner.wrapping_add(1);
        let taken = self.held.compare_exchange(0, owner, Ordering::Acquire, Ordering::Relaxed);
        // Made only then: it gives the stripe back when it goes.
        taken.is_ok().then(|| Held { stripe: self, shared: false })
    }

    /// How many operations may have written so far, or are about to.
    pub(crate) fn writes(&self) -> u64 {
        self.writes.load(Ordering::Acquire)
    }

    /// The same, if nobody holds the stripe: to be asked again by [`Self::is_still`].
    #[inline(always)]
    pub(crate) fn quiet(&self) -> Option<u64> {
        let writes = self.writes.load(Ordering::Acquire);
        (self.held.load(Ordering::Acquire) == 0).then_some(writes)
    }

    /// As [`Self::quiet`], after a little while: who holds the stripe is mostly about to give it back, and who only loads would
    /// wait longer for the stripe itself.
    #[cold]
    #[inline(never)]
    pub(crate) fn soon_quiet(&self) -> Option<u64> {
        const LOOKS: u32 = 4;
        (0..LOOKS).find_map(|_| {
            step_back();
            self.quiet()
        })
    }

    /// Whether nobody wrote since, so that what was read meanwhile goes together.
    #[inline(always)]
    pub(crate) fn is_still(&self, writes: u64) -> bool {
        fence(Ordering::Acquire);
        self.writes.load(Ordering::Relaxed) == writes
    }

    /// What is noted of an atomic, if it is.
    #[inline(always)]
    pub(crate) fn shown(&self, which: Which) -> Option<Shown> {
        let [of, by, object] = &self.shown[place(which)];
        (of.load(Ordering::Relaxed) == which.0)
            .then(|| Shown { by: by.load(Ordering::Relaxed), object: object.load(Ordering::Relaxed) })
    }

    /// Frees the stripe if the thread `owner` holds it, which ends without giving it back; what it was about to note is not there.
    pub(crate) fn abandon(&self, owner: u32) {
        if self.held.load(Ordering::Relaxed) == owner.wrapping_add(1) {
            let held = Held { stripe: self, shared: false };
            held.forget();
        }
    }

    /// Frees the stripe whoever holds it, in a forked child whose other threads are gone.
    pub(crate) fn free(&self) {
        self.shown.iter().for_each(|[of, ..]| of.store(0, Ordering::Relaxed));
        self.held.store(0, Ordering::Relaxed);
    }
}

/// Which note an atomic has: neighbours have different ones.
#[inline(always)]
const fn place(which: Which) -> usize {
    ((which.0 >> 2 ^ which.0 >> 3) & 1) as usize
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

    /// Counts an operation that may have written, or is about to, or a change of what is noted.
    #[inline(always)]
    pub(crate) fn wrote(&self) {
        // Who sees the count sees that the stripe was taken.
        self.stripe.writes.store(self.writes() + 1, Ordering::Release);
        fence(Ordering::Release);
    }

    /// As [`Stripe::shown`].
    #[inline(always)]
    pub(crate) fn shown(&self, which: Which) -> Option<Shown> {
        self.stripe.shown(which)
    }

    /// Notes what an atomic shows. A write was counted.
    #[inline(always)]
    pub(crate) fn show(&self, which: Which, shown: Shown) {
        let [of, by, object] = &self.stripe.shown[place(which)];
        of.store(which.0, Ordering::Relaxed);
        by.store(shown.by, Ordering::Relaxed);
        object.store(shown.object, Ordering::Relaxed);
    }

    /// Forgets what is noted of all atomics.
    pub(crate) fn forget(&self) {
        self.wrote();
        self.stripe.shown.iter().for_each(|[of, ..]| of.store(0, Ordering::Relaxed));
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        if !self.shared {
            self.stripe.held.store(0, Ordering::Release);
        }
    }
}
