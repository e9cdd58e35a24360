//! A race: two accesses of different threads that conflict and that nothing ordered.

use crate::access::Access;
use crate::event::{BlockKind, LockMode};
use crate::finding::Finding;
use crate::ids::{PlaceId, StackId, ThreadId};
use crate::witness::Witness;

/// One of the two accesses of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Side {
    /// Who accessed.
    pub thread: ThreadId,
    /// Where in the code.
    pub place: PlaceId,
    /// The call sites above that place.
    pub stack: StackId,
    /// What was accessed, and how.
    pub access: Access,
    /// The locks held, as an index in the detector's table of lock sets (0: none).
    pub locks: LockSetId,
}

/// A set of held locks: its index in the table of the detector that made it. 0 is the empty set.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct LockSetId(pub u32);

/// A lock that a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct HeldLock {
    /// The lock's address.
    pub lock: u64,
    /// How it is held.
    pub mode: LockMode,
}

/// A live block of memory around a raced-for address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    /// The first byte.
    pub address: u64,
    /// How many bytes.
    pub size: u64,
    /// Where it came from.
    pub kind: BlockKind,
    /// Who allocated it (or whose stack it is).
    pub thread: ThreadId,
    /// Where it was allocated.
    pub place: PlaceId,
    /// The call sites above the allocation.
    pub stack: StackId,
}

/// Two accesses that race. `earlier` comes first in the trace's merged order, which for a race
/// says nothing about time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The access that comes first in the merged order.
    pub earlier: Side,
    /// The access at which the race was found.
    pub later: Side,
    /// The first byte that both touch.
    pub address: u64,
    /// The live block that holds that byte, if it is known.
    pub block: Option<Block>,
}

/// The strength of an analysis's evidence, weakest first. (A proof takes another run, not an analysis.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Evidence {
    /// No lock protects all accesses, or the analysis can be wrong.
    Suspected,
    /// A correct reordering of the run brings the accesses side by side.
    Predicted,
    /// Both happened in the run and nothing ordered them.
    Observed,
}

/// What the order of the run says of two accesses that no lock protects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum RunOrder {
    /// Nothing ordered them.
    Unordered,
    /// Locks that passed from one thread to another did, and nothing else.
    ByLocks,
    /// Something that is no lock did.
    Otherwise,
}

/// How often one thread accessed a variable, reading or writing, while it held a set of locks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guarded {
    /// The thread.
    pub thread: ThreadId,
    /// Whether these accesses write: a lock that is held for reading guards none of them then.
    pub writes: bool,
    /// The locks.
    pub locks: LockSetId,
    /// How many accesses.
    pub count: u64,
}

/// Which locks were held at the accesses to what a race is on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Guards<'a> {
    /// How many accesses there were.
    pub accesses: u64,
    /// Those of them that held a lock.
    pub held: &'a [Guarded],
}

/// Where a detector puts what it finds.
pub trait RaceSink {
    /// Takes one race. `locks` resolves the sides' lock sets.
    fn race(&mut self, race: &Race, locks: &dyn LockSets);

    /// Takes one more race of a kind of which enough were told, by its sides, so that neither block nor witness has to be
    /// looked for; `false` if it has to be told whole. A loop races at each of its accesses.
    fn again(&mut self, earlier: &Side, later: &Side) -> bool {
        let _ = (earlier, later);
        false
    }

    /// Takes one race that another order of the run's events would bring, with that order. `race.earlier` is the access that comes first
    /// in the trace.
    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, locks: &dyn LockSets) {
        let _ = witness;
        self.race(race, locks);
    }

    /// Takes word that the analysis had too little memory: of the first `events` events of the run it has forgotten what it
    /// needs to tell their races with those that come. More than once, with more events each time.
    fn forgot(&mut self, events: u64) {
        let _ = events;
    }

    /// Takes word that of so many pairs of accesses the analysis could not say whether they race: the memory that it may take
    /// did not do.
    fn undecided(&mut self, pairs: u64) {
        let _ = pairs;
    }

    /// Takes word that the analysis did as much work as it may, and left pairs of accesses, nobody knows how many, without a look.
    fn stopped(&mut self) {}

    /// Takes word of how many refinements the analysis checked: each asks whether two threads can come to stand before
    /// conflicting accesses of one stretch of memory. Not of an analysis that checks none.
    fn checked(&mut self, refinements: u64) {
        let _ = refinements;
    }

    /// Takes one race whose sides no lock protects, with what the order of the run says of them.
    fn suspected(&mut self, race: &Race, order: RunOrder, locks: &dyn LockSets) {
        let _ = order;
        self.race(race, locks);
    }

    /// Takes, when all is known, which locks were held at the accesses to what races like a taken one are on.
    fn guards(&mut self, race: &Race, guards: &Guards<'_>, locks: &dyn LockSets) {
        let _ = (race, guards, locks);
    }

    /// Takes something wrong that is no race.
    fn finding(&mut self, finding: &Finding<'_>) {
        let _ = finding;
    }
}

/// Resolves a [`LockSetId`] to the locks that it stands for, and a lock to where it lies.
pub trait LockSets {
    /// The locks of `id`, in the order in which they were taken.
    fn locks(&self, id: LockSetId) -> &[HeldLock];

    /// The block that holds a lock, if the detector knows one.
    fn block(&self, lock: u64) -> Option<Block> {
        let _ = lock;
        None
    }
}
