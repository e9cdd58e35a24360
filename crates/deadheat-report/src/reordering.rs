//! The witness of a predicted race: another order of the run's events behind which the two accesses come side by side.
//!
//! Invariant: threads and events are counted as the trace has them, so that with the trace at hand it can be checked; the operations
//! name code and objects by what they are in every run, so that a replay can keep their order without it.

use serde::{Deserialize, Serialize};

use crate::model::{Frame, Hex, LockMode, Race};

/// What [`Reordering::kind`] says.
pub const KIND: &str = "reordering";
/// The version of the form.
pub const VERSION: u32 = 1;

/// Another order of a run's events, up to the two accesses of a race.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Reordering {
    /// [`KIND`].
    pub kind: String,
    /// [`VERSION`].
    pub version: u32,
    /// The threads that have a part in it, as paths of spawn ordinals; first those of the race's accesses, in their order.
    pub threads: Vec<String>,
    /// By thread: how many of its events it has done. The next ones of the first two threads are the accesses.
    pub done: Vec<u64>,
    /// In which order: an index of `threads` and how many events that does next, again and again. Without it: as in the trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Vec<(usize, u64)>>,
    /// The operations that set the order between threads, in order; the last ones, if they are many. None: they were not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<Act>>,
    /// How many operations came before these.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_write(mode: &LockMode) -> bool {
    *mode == LockMode::Write
}

/// An operation that sets the order between threads.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Act {
    /// Whose it is: an index of [`Reordering::threads`].
    pub thread: usize,
    /// How many events its thread had before it.
    pub event: u64,
    /// What it does: see [`Deed`].
    pub op: Deed,
    /// Whether it is atomic.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub atomic: bool,
    /// How a lock is held.
    #[serde(default, skip_serializing_if = "is_write")]
    pub mode: LockMode,
    /// What it is done to, for people; the path of a thread that is created or joined.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// What that is in every run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// Where that was in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// Where it is done, innermost first, up to the first frame in the program's own sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// Of a read: the writes that it sees, each as an index of [`Reordering::threads`] and how many events that had before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sees: Vec<(usize, u64)>,
}

/// What an operation does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Deed {
    /// Takes a lock.
    Lock,
    /// Gives it back.
    Unlock,
    /// Creates a thread.
    Create,
    /// Has seen a thread end.
    Join,
    /// Wakes one who waits on a condition variable.
    Signal,
    /// Wakes all of them.
    Broadcast,
    /// Posts a semaphore.
    Post,
    /// Is through with a one-time initialisation.
    Initialise,
    /// Announces what it did so far.
    Announce,
    /// Begins to wait on a condition variable.
    BeginWait,
    /// Has waited.
    Wait,
    /// Found that it would have to wait.
    TryWait,
    /// Arrives at a barrier.
    Arrive,
    /// Leaves it.
    Leave,
    /// Reads what another thread wrote.
    #[default]
    Read,
    /// Writes what another thread reads.
    Write,
    /// Both.
    ReadWrite,
}

impl Deed {
    /// The verb for it.
    pub(crate) fn verb(self) -> &'static str {
        match self {
            Deed::Lock => "lock",
            Deed::Unlock => "unlock",
            Deed::Create => "create",
            Deed::Join => "join",
            Deed::Signal => "signal",
            Deed::Broadcast => "broadcast",
            Deed::Post => "post",
            Deed::Initialise => "initialise",
            Deed::Announce => "announce",
            Deed::BeginWait => "begin to wait for",
            Deed::Wait => "wait for",
            Deed::TryWait => "find nothing in",
            Deed::Arrive => "arrive at",
            Deed::Leave => "leave",
            Deed::Read => "read",
            Deed::Write => "write",
            Deed::ReadWrite => "read and write",
        }
    }
}

impl Reordering {
    /// That of a race, if it has one in a form that is known here.
    #[must_use]
    pub fn of(race: &Race) -> Option<Reordering> {
        let value = race.witness.as_ref()?;
        if value.get("kind")? != KIND || value.get("version")? != VERSION {
            return None;
        }
        let read: Reordering = serde_json::from_value(value.clone()).ok()?;
        let threads = read.threads.len();
        let known = |act: &Act| act.thread < threads && act.sees.iter().all(|&(thread, _)| thread < threads);
        let acts = read.operations.iter().flatten();
        (threads > 1 && read.done.len() == threads && acts.clone().all(known)).then_some(read)
    }

    /// The witness that it is.
    ///
    /// # Errors
    /// None: a reordering is always JSON.
    pub fn to_json(&self) -> serde_json::Result<serde_json::Value> {
        serde_json::to_value(self)
    }
}
