//! What a trace says of itself, and what was read of it.

use crate::wellformed::First;

/// The formats that [`crate::Trace::open`] reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Format {
    /// Our own file.
    Deadheat,
    /// The text format of the RAPID family: `T0|w(x)|17`.
    Std,
    /// The text format of shbee: `1,WRITE,3,A.java:10:13,7`.
    Shbee,
    /// The binary format of the RAPID family.
    RapidBin,
}

impl Format {
    /// Every format with the name that the command line gives it.
    pub const ALL: [(&'static str, Format); 4] = [
        ("deadheat", Format::Deadheat),
        ("std", Format::Std),
        ("shbee", Format::Shbee),
        ("rapidbin", Format::RapidBin),
    ];

    /// The format's name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, format)| *format == self).map_or("", |(name, _)| name)
    }

    /// The format of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Format> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|&(_, format)| format)
    }
}

/// The run that a recorded trace tells of.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Run {
    /// The process id.
    pub pid: u32,
    /// The recorded process that this one was forked off, if any.
    pub forked_from: Option<u32>,
    /// Start, in nanoseconds since 1970.
    pub started: u64,
    /// End, in nanoseconds since 1970, if the process ended in an orderly way.
    pub ended: Option<u64>,
    /// The machine: ELF's `e_machine`.
    pub machine: u32,
    /// The program and its arguments.
    pub arguments: Vec<String>,
    /// Not recorded but written by a tool.
    pub imported: bool,
    /// Races were looked for while the program ran: the events tell of threads alone, and
    /// [`crate::Trace::found`] has the races.
    pub detected: bool,
    /// Such a run, and an instrumented access was seen in it.
    pub accessed: bool,
    /// Such a run, and it was recorded, too: the events tell of everything.
    pub recorded: bool,
    /// Such a run, and accesses were forgotten, since the process had as much memory as it may have.
    pub forgot: bool,
    /// Such a run, and there was no memory to look for races to its end.
    pub gave_up: bool,
}

/// How a trace ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// The process ended in an orderly way, or the text has no more lines.
    Clean,
    /// The process was killed or broke off: the trace holds what had happened by then.
    #[default]
    Cut,
    /// There was no space left to record in.
    NoSpace,
}

/// What was read of a trace, and what had to be put right on the way.
///
/// After an error it tells what was read whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// How the trace ends.
    pub ending: Ending,
    /// Size of the trace in bytes.
    pub bytes: u64,
    /// Bytes that hold events (for a text: all that was read).
    pub event_bytes: u64,
    /// Events handed out, calls and returns apart, a repeated one counted once.
    pub events: u64,
    /// Accesses handed out, a repeated one counted once.
    pub accesses: u64,
    /// Accesses that the program made: repeats counted.
    pub accesses_made: u64,
    /// What was mended.
    pub dirt: Dirt,
}

/// Counts of what a trace should not hold and what the reader mended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Dirt {
    /// Acquires of a lock that the thread held already; taken as one longer hold.
    pub reentrant_acquires: u64,
    /// Releases that only ended a reentrant acquire.
    pub reentrant_releases: u64,
    /// Releases of a lock that the thread did not hold; left out.
    pub releases_not_held: u64,
    /// The first of them; its event is the one that it would have been.
    pub first_release_not_held: Option<First>,
    /// Acquires of a lock that another thread held; believed.
    pub acquires_of_held: u64,
    /// Locks still held at the end.
    pub held_at_end: u64,
    /// Returns from a function that was never entered; left out.
    pub returns_too_many: u64,
    /// Bytes of the file that were handed out to the recorder but never written to, because
    /// the process died first; they hold nothing.
    pub bytes_missing: u64,
}

impl Dirt {
    /// Each count with a phrase that names it.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64); 7] {
        [
            ("reentrant acquires", self.reentrant_acquires),
            ("reentrant releases", self.reentrant_releases),
            ("releases of a lock not held", self.releases_not_held),
            ("acquires of a lock held by another thread", self.acquires_of_held),
            ("locks held at the end", self.held_at_end),
            ("returns from functions never entered", self.returns_too_many),
            ("bytes handed out but never written", self.bytes_missing),
        ]
    }
}
