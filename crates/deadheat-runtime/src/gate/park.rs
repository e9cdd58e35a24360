//! One thread's wait for a result that another gives it, or that it gives itself.
//!
//! Invariant: a result is given under the lock, once, and only to one who waits; and who waits
//! goes on under the lock. So whoever finds somebody waiting, under the lock, has him there until
//! he gives the lock back, and no later. Checked by a model checker in `tests/model.rs`.

use crate::cold::lock::Lock;
use crate::sys::primitive::{AtomicU32, Ordering, futex_wait, futex_wake};

/// Nobody is here.
const NOBODY: u32 = 0;
/// Somebody waits. Every other number is the result.
const WAITING: u32 = u32::MAX;

/// A place to wait at, for one.
pub(crate) struct Park(AtomicU32);

impl Park {
    constructor! {
        /// A place with nobody there.
        pub(crate) fn new() -> Park {
            Park(AtomicU32::new(NOBODY))
        }
    }

    /// Whether nobody is here. Under the lock.
    pub(crate) fn is_free(&self) -> bool {
        self.0.load(Ordering::Relaxed) == NOBODY
    }

    /// Whether somebody waits. Under the lock.
    pub(crate) fn is_waiting(&self) -> bool {
        self.0.load(Ordering::Relaxed) == WAITING
    }

    /// The calling thread waits here from now on. Under the lock, while nobody is here.
    pub(crate) fn take(&self) {
        self.0.store(WAITING, Ordering::Relaxed);
    }

    /// Gives the result, to one who waits. Under the lock; he sleeps on until [`Self::wake`].
    pub(crate) fn give(&self, result: u32) {
        self.0.store(result, Ordering::Release);
    }

    /// Wakes who waits.
    pub(crate) fn wake(&self) {
        futex_wake(&self.0);
    }

    /// Waits, after [`Self::take`], until there is a result. `rest` says for how long to sleep
    /// before the next look, `look` is asked under the lock and may say the result, `leave` runs
    /// under the lock with it.
    pub(crate) fn wait(
        &self,
        lock: &Lock,
        mut rest: impl FnMut() -> Option<u64>,
        mut look: impl FnMut() -> Option<u32>,
        leave: impl FnOnce(u32),
    ) {
        loop {
            if self.0.load(Ordering::Acquire) == WAITING
                && let Some(time) = rest()
            {
                futex_wait(&self.0, WAITING, time);
            }
            lock.acquire();
            if self.is_waiting()
                && let Some(result) = look()
            {
                self.give(result);
            }
            let result = self.0.load(Ordering::Relaxed);
            if result != WAITING {
                self.0.store(NOBODY, Ordering::Relaxed);
                leave(result);
                return lock.release();
            }
            lock.release();
        }
    }
}
