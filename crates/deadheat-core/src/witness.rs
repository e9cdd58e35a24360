//! A predicted race's proof: another order of the run's events, up to the two accesses.
//!
//! Paper: the counterexample of race prediction in CSP; the witness of a sync-preserving race.
//! One form for all analyses that predict, so that one checker and one replay do.

use crate::ids::ThreadId;

/// A correct reordering of a run after which each of two threads stands before its access of a race: what comes next of
/// them are the two accesses, side by side.
///
/// Events are counted by thread as the trace has them, from 0, accesses and everything else; one
/// that stands for several in a row counts once.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Witness<'a> {
    /// How many of its events each thread has done; who is not named has done none, not even begun.
    pub done: &'a [(ThreadId, u64)],
    /// So many events of the trace come first, in its order: the first ones, which are all done.
    pub first: u64,
    /// In which order the others come: a thread and how many events it does next, again and again. `None`: in that of the trace.
    pub order: Option<&'a [(ThreadId, u64)]>,
}
