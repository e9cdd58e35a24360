//! Races that were found while the program ran.

use deadheat_core::race::{Block, HeldLock, Race};

/// A race that a run told by itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// The race. Its sides' lock sets are empty: what was held is in [`Self::sides`].
    pub race: Race,
    /// How often it was seen.
    pub times: u64,
    /// The later side is ordered behind the earlier one, which is the end of a block's life: a use after free, and no race.
    pub ordered: bool,
    /// What more is known of the earlier side and of the later one.
    pub sides: [FoundSide; 2],
}

/// What is known of a side beside its access.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FoundSide {
    /// Whether the access is still remembered. If not, its place and stack are unknown, and its address is the race's.
    pub remembered: bool,
    /// The thread's clock at the access: a synchronisation made it that, and the next one changed it.
    pub clock: u64,
    /// The locks that were held, in the order in which they were taken.
    pub locks: Vec<FoundLock>,
}

/// A lock that was held at an access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FoundLock {
    /// The lock.
    pub held: HeldLock,
    /// The block that it lies in, if that is known.
    pub block: Option<Block>,
}
