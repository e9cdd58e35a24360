//! What the nomination gives: targets, what was dropped, and how to resolve both.

use deadheat_core::access::Access;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Block, HeldLock, LockSetId, LockSets};

use crate::clock::blocks::Blocks;
use crate::clock::lockset::LockTable;

/// An access descriptor ⟨U, B, I, S, N⟩ (RaceHunter, Definition 9): it selects one access of a
/// run without its data address.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Descriptor {
    /// U: who accesses.
    pub thread: ThreadId,
    /// B: whether the thread must match, since another one also accesses at that place.
    pub only_thread: bool,
    /// I: the code address.
    pub place: PlaceId,
    /// S: the call sites above the place, last call first, as many as must match; empty for any
    /// stack.
    pub calls: Vec<PlaceId>,
    /// N: the ordinal, from 1, among the accesses of the thread that satisfy the other fields. A
    /// repeated event counts as often as it was repeated.
    pub ordinal: u64,
}

/// One of the two accesses of a target, as the watched run made it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    /// Which access it is (Algorithm 2).
    pub descriptor: Descriptor,
    /// The call sites above the place, all of them.
    pub stack: StackId,
    /// What was accessed, and how.
    pub access: Access,
    /// The locks held.
    pub locks: LockSetId,
    /// The event's position in the merged order, from 0.
    pub at: u64,
}

/// How likely the two accesses of a target are to meet: the least first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Rank {
    /// Nothing ordered them in the watched run.
    Unordered,
    /// Something ordered them, but another analysis tells that they can meet in another order.
    Predicted,
    /// Something ordered them, but no lock that both hold.
    NoCommonLock,
    /// Both hold a lock, one of them at least in write mode. Last, but never dropped: when one of
    /// them is held back, the other thread may take another way.
    CommonLock,
}

/// A target (RaceHunter, Definition 10): two accesses that conflict and may be made to meet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    /// The two accesses, in the merged order of the watched run.
    pub sides: [Side; 2],
    /// The first byte that both touch (and whose races the program did not declare benign).
    pub address: u64,
    /// The block that holds that byte, if it is known.
    pub block: Option<Block>,
    /// How likely they are to meet.
    pub rank: Rank,
    /// Whether the nomination has it by itself: two accesses that conflict and may meet.
    pub conflicts: bool,
    /// Which of the pairs that other analyses told it is, by their indices: several may have the same descriptors.
    pub told: Vec<u32>,
}

/// What did not become a target. Pairs are pairs of classes (see [`super`]) and each is counted
/// once in each row, as far as a filter of [`super::FILTER_BITS`] bits can tell: large numbers
/// are a little too small. Thread-local and read-only data never become pairs.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Dropped {
    /// Pairs that conflict but for being both atomic.
    pub both_atomic: u64,
    /// Pairs that met ordered by fork and join alone. Later accesses of the same classes may have
    /// given the pair all the same.
    pub fork_join: u64,
    /// Pairs whose descriptors were those of a pair already present.
    pub duplicates: u64,
    /// Pairs of two places that had enough targets.
    pub capped: u64,
    /// Pairs with an access whose code address is not known.
    pub unplaced: u64,
    /// Pairs of which a descriptor could not be made with certainty: recursion into a thread's
    /// first function, with more changes of stack than are remembered.
    pub unnumbered: u64,
    /// Representatives that gave way to others, with the pairs that they might have been in.
    pub forgotten: u64,
}

/// What a run nominates.
#[derive(Debug)]
pub struct Nomination {
    /// The targets, the most likely first.
    pub targets: Vec<Target>,
    /// What did not become one.
    pub dropped: Dropped,
    /// The number of distinct unordered pairs of places with a pair that was not dropped.
    pub pairs: u64,
    pub(super) locks: LockTable,
    pub(super) blocks: Blocks,
}

impl LockSets for Nomination {
    fn locks(&self, id: LockSetId) -> &[HeldLock] {
        self.locks.locks(id)
    }

    fn block(&self, lock: u64) -> Option<Block> {
        self.blocks.around(lock)
    }
}

/// Resolves a stack to its call sites.
pub trait Calls {
    /// The call sites of a stack, innermost (last call) first.
    fn calls(&self, stack: StackId) -> Vec<PlaceId>;
}
