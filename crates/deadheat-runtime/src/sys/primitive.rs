//! The atomics and waits of the runtime's own locks, in one place so that a model checker can put
//! its own in their stead: `tests/model.rs` includes the files that use them.

pub(crate) use core::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

pub(crate) use super::calls::{futex_wait, futex_wake, yield_now};
pub(crate) use super::machine::{fence_after_locked, pause};

/// Orders what a thread stores before it before what it loads behind it, for whoever has called [`barrier_for_all`](super::barrier_for_all) between what he
/// stores and what he loads: the processors of the others are made to wait there, so that here the compiler alone has to.
#[inline(always)]
pub(crate) fn fence_beside_barrier() {
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}

/// Leaves a line of the caches to whoever writes there, for one or two microseconds.
pub(crate) fn stand_back() {
    const PAUSES: u32 = 64;
    for _ in 0..PAUSES {
        pause();
    }
}

/// As [`stand_back`], for about as long as its holder has a line that is guarded so.
pub(crate) fn step_back() {
    const PAUSES: u32 = 8;
    for _ in 0..PAUSES {
        pause();
    }
}

/// Makes a constructor usable in statics. (A model checker's atomics cannot be made in constants.)
macro_rules! constructor {
    ($(#[$doc:meta])* $visible:vis fn $name:ident() -> $type:ty $body:block) => {
        $(#[$doc])*
        $visible const fn $name() -> $type $body
    };
}
