//! The one race rule. Online and offline detection differ only in what they remember.
//!
//! Paper: conflict is RaceHunter's Definition 2; "unordered" is FastTrack's epoch test.

use crate::access::Mode;

/// A moment of one thread: the `clock`-th stretch of the thread with index `thread` between two
/// of its releases.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Epoch {
    /// The thread's index (its slot in vector clocks).
    pub thread: u32,
    /// Its clock at that moment; 0 is before its first event.
    pub clock: u32,
}

/// Whether two accesses to a common byte conflict: one of them writes, and not both are atomic.
#[must_use]
pub const fn conflicts(one: Mode, one_atomic: bool, other: Mode, other_atomic: bool) -> bool {
    (one.writes() || other.writes()) && !(one_atomic && other_atomic)
}

/// Whether the earlier access happens before the present one: the present thread has seen
/// `earlier`'s thread at least up to its clock.
#[must_use]
pub const fn ordered(earlier: Epoch, seen_of_its_thread: u32) -> bool {
    earlier.clock <= seen_of_its_thread
}

/// Whether an earlier access to a common byte races with the present one.
///
/// `seen_of_its_thread` is the present thread's vector clock at `earlier.thread`.
#[must_use]
pub const fn races(
    earlier: Epoch,
    (earlier_mode, earlier_atomic): (Mode, bool),
    (mode, atomic): (Mode, bool),
    seen_of_its_thread: u32,
) -> bool {
    conflicts(earlier_mode, earlier_atomic, mode, atomic) && !ordered(earlier, seen_of_its_thread)
}
