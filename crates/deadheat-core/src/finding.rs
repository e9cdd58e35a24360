//! What is wrong in a run and no race.

use crate::event::{Fault, LockMode};
use crate::ids::{PlaceId, StackId, ThreadId};
use crate::race::{Block, LockSets, Race};

/// Who did something, and where in the code.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Step {
    /// The thread.
    pub thread: ThreadId,
    /// The place.
    pub place: PlaceId,
    /// The call sites above it.
    pub stack: StackId,
}

/// A thread asks for a lock while it holds another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Nesting {
    /// The lock that it holds.
    pub held: u64,
    /// How it holds it.
    pub held_mode: LockMode,
    /// The block that it lies in, if that is known.
    pub held_block: Option<Block>,
    /// Where it took that.
    pub took: Step,
    /// The lock that it asks for.
    pub wanted: u64,
    /// How it wants it.
    pub wanted_mode: LockMode,
    /// The block that it lies in, if that is known.
    pub wanted_block: Option<Block>,
    /// Where it asks.
    pub asks: Step,
}

/// Something wrong that is no race.
#[derive(Clone, Copy)]
pub enum Finding<'a> {
    /// What a hook judged at once.
    Fault {
        /// What it is.
        fault: Fault,
        /// The lock's address, the leaked thread's number, or the signal's.
        object: u64,
        /// The block that the lock lies in, if it is a lock and that is known.
        block: Option<Block>,
        /// Who did it.
        step: Step,
        /// Who took the lock, if it is a held lock.
        took: Option<Step>,
    },
    /// Locks that are taken in opposite orders: in each row a thread holds the lock that the row before wants, and the
    /// first row's is what the last one wants.
    LockOrder {
        /// Different threads can come to do all of it at the same time: then they wait for each other for ever.
        possible: bool,
        /// At least two rows.
        cycle: &'a [Nesting],
    },
    /// A block was used behind its end.
    UseAfterFree {
        /// The end of its life and the use, which is ordered behind that: told as a race is.
        used: &'a Race,
        /// Resolves the sides' lock sets.
        locks: &'a dyn LockSets,
    },
}
