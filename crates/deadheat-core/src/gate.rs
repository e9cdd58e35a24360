//! The gate file: what a re-run is to hold apart, and what came of it.
//!
//! The command line writes the file, the runtime maps it shared and writes its results into it
//! while the program runs, so that they survive however the program ends. It is an array of
//! words of 64 bits in the machine's order; every constant below is an index of a word, or of a
//! word within a record. Versioned together with the [wire](crate::wire).
//!
//! Descriptor, target and verdict are those of RaceHunter (Definitions 5 to 10, Algorithms 2 to
//! 4, with the guard, the conflict test and the watch rule).

/// The first word.
pub const MAGIC: u64 = u64::from_le_bytes(*b"DHGATE01");

/// What the command line calls the gate file of a run that writes the trace `T`: `T.gate`.
pub const ENDING: &str = ".gate";

/// The most descriptors that one gate file may hold: each thread counts each of them.
pub const MAX_DESCRIPTORS: usize = 128;
/// The most targets that one gate file may hold.
pub const MAX_TARGETS: usize = MAX_DESCRIPTORS / 2;
/// The most threads that are held at once.
pub const MAX_HELD: usize = 8;
/// The longest spawn path of a thread, in numbers; deeper threads match no descriptor.
pub const MAX_PATH: usize = 12;
/// In the place of a target's number: the thread was held as a sample, for no target.
pub const NO_TARGET: u64 = 0xffff;
/// The most steps of a watched order, and the most code ranges of them.
pub const MAX_STEPS: usize = 256;

/// Words of the file's head.
pub mod head {
    /// [`super::MAGIC`].
    pub const MAGIC: usize = 0;
    /// How many words the file has.
    pub const WORDS: usize = 1;
    /// Number of modules, and where their records begin.
    pub const MODULES: usize = 2;
    /// Where the records of modules begin.
    pub const MODULES_AT: usize = 3;
    /// Number of descriptors.
    pub const DESCRIPTORS: usize = 4;
    /// Where the records of descriptors begin.
    pub const DESCRIPTORS_AT: usize = 5;
    /// Number of targets; the descriptors of target `t` are `2 t` and `2 t + 1`.
    pub const TARGETS: usize = 6;
    /// Where the records of targets begin.
    pub const TARGETS_AT: usize = 7;
    /// Number of code ranges of the watched order.
    pub const RANGES: usize = 8;
    /// Where the records of ranges begin.
    pub const RANGES_AT: usize = 9;
    /// Number of steps of the watched order.
    pub const STEPS: usize = 10;
    /// Room for finds of the watch rule.
    pub const FINDS: usize = 11;
    /// Where the records of finds begin.
    pub const FINDS_AT: usize = 12;
    /// Room for notes.
    pub const NOTES: usize = 13;
    /// Where the notes begin.
    pub const NOTES_AT: usize = 14;
    /// Bits of [`super::flag`].
    pub const FLAGS: usize = 15;
    /// How long the order is kept at one place before it is given up, in nanoseconds.
    pub const PATIENCE: usize = 16;
    /// Hold about every this-many-th plain access of each thread, whatever it is (0: none).
    pub const SAMPLE: usize = 17;
    /// Room for threads that take turns.
    pub const THREADS: usize = 18;
    /// Where the records of threads begin.
    pub const THREADS_AT: usize = 19;
    /// Room for turns.
    pub const TURNS: usize = 20;
    /// Where the turns begin: a word each, see [`super::turn`].
    pub const TURNS_AT: usize = 21;
    /// How many turns are given, to be kept in their order (0: turns are noted).
    pub const KEPT: usize = 22;
    /// How many of them come before the side [`FIRST`] of the first target is held.
    pub const PAUSE: usize = 23;

    /// Written by the runtime: 1 once a process took the file, with its process id above 32.
    pub const TAKEN: usize = 24;
    /// Written by the runtime: monotonic time at the start, in nanoseconds.
    pub const STARTED: usize = 25;
    /// Written by the runtime: how many finds there are.
    pub const FOUND: usize = 26;
    /// Written by the runtime: how many notes were made, also beyond the room for them.
    pub const NOTED: usize = 27;
    /// Written by the runtime: steps of the watched order that were passed.
    pub const PASSED: usize = 28;
    /// Written by the runtime: the step, from 1, at which the order was given up; 0 if it was not.
    pub const GIVEN_UP: usize = 29;
    /// Written by the runtime: 1 if it ended the program because all was decided.
    pub const CUT: usize = 30;
    /// Written by the runtime: the most threads that lived at once.
    pub const MOST_THREADS: usize = 31;
    /// Written by the runtime: targets that are not decided.
    pub const OPEN: usize = 32;
    /// How many threads have a record: those that are given, then those that the runtime adds.
    pub const KNOWN: usize = 33;
    /// Written by the runtime: how many turns were noted; beyond [`TURNS`] they are not counted.
    pub const TURNED: usize = 34;
    /// The side of the first target that is to be held before the other comes.
    pub const FIRST: usize = 35;
    /// How long a sampled access is held at most, in nanoseconds.
    pub const SAMPLE_DELAY: usize = 36;
    /// What the choice of such accesses depends on.
    pub const SAMPLE_SEED: usize = 37;

    /// Words of the head.
    pub const SIZE: usize = 64;
}

/// Bits of the head's flags.
pub mod flag {
    /// End the program as soon as every target is decided.
    pub const CUT: u64 = 1;
    /// The watch rule: while a thread is held, every conflicting access of another is a race.
    pub const WATCH: u64 = 2;
    /// Stop the process with a trap when two accesses meet, both threads before their accesses.
    pub const TRAP: u64 = 4;
    /// Wait for the other side as long as any thread could come, not only the one that is expected.
    pub const ANYBODY: u64 = 8;
    /// Match code addresses alone: any thread, any stack, any ordinal. Each visit may be held, until
    /// the target's bound is used up.
    pub const PLACES: u64 = 16;
    /// Follow calls and returns although no descriptor asks for call sites, so that the accesses
    /// found come with their stacks. (A recording follows them in any case.)
    pub const CALLS: u64 = 32;
    /// See inside memory and string functions: each word that they touch is an access of its own.
    pub const PARTS: u64 = 64;
    /// Of two that meet, side 1, which came later in the watched run, goes on first. In runs that are
    /// recorded too: only there is it seen that it made its access.
    pub const TURNED: u64 = 128;
}

/// A module that descriptors speak of.
pub mod module {
    /// Length of the build id in bytes (0: the path tells).
    pub const ID_LEN: usize = 0;
    /// The build id, at most 32 bytes.
    pub const ID: usize = 1;
    /// Length of the path's last part in bytes.
    pub const NAME_LEN: usize = 5;
    /// The path's last part, at most its last 64 bytes.
    pub const NAME: usize = 6;
    /// Written by the runtime: a number of [`super::loaded`].
    pub const STATE: usize = 14;
    /// Written by the runtime: what is added to the module's own addresses.
    pub const BIAS: usize = 15;
    /// Written by the runtime: its lowest address.
    pub const START: usize = 16;
    /// Written by the runtime: the address behind its last.
    pub const END: usize = 17;
    /// Words of a record.
    pub const SIZE: usize = 20;
    /// The most bytes of a build id.
    pub const MAX_ID: usize = 32;
    /// The most bytes of a name.
    pub const MAX_NAME: usize = 64;
}

/// What became of a module.
pub mod loaded {
    /// It was not loaded in this run.
    pub const NEVER: u64 = 0;
    /// It was.
    pub const YES: u64 = 1;
    /// One of its name was, with another build id.
    pub const OTHER: u64 = 2;
}

/// A code address: the module's number above 48 bits, the address in the module's own address
/// space below. Of a call it is that of the call's last byte.
#[must_use]
pub const fn code(module: u64, offset: u64) -> u64 {
    module << 48 | offset & ((1 << 48) - 1)
}

/// Module and offset of a [`code`] word.
#[must_use]
pub const fn of_code(word: u64) -> (u64, u64) {
    (word >> 48, word & ((1 << 48) - 1))
}

/// A thread that takes turns.
pub mod thread {
    /// Length of the thread's path.
    pub const PATH_LEN: usize = 0;
    /// The thread's path.
    pub const PATH: usize = 1;
    /// Words of a record.
    pub const SIZE: usize = PATH + super::MAX_PATH + 3;
}

/// A turn: one thread did one thing that synchronises. The lower half is the number of the
/// thread's record, from 1; 0 is a thread that has none.
pub mod turn {
    use crate::event::{Op, SyncKind};

    /// Written by the runtime: the turn is over.
    pub const OVER: u64 = 1 << 32;

    /// Whether an event is a turn. Whoever counts a thread's turns in a trace counts them as the runtime does, but for
    /// locks that were tried in vain, which no trace has.
    #[must_use]
    pub const fn is_turn(op: &Op) -> bool {
        match op {
            Op::Acquire { .. } | Op::Release { .. } | Op::Fork { .. } | Op::Arrive { .. } => true,
            Op::Signal { kind, .. } | Op::Wait { kind, .. } => !matches!(kind, SyncKind::Annotation),
            Op::Access(_)
            | Op::Request { .. }
            | Op::Await { .. }
            | Op::Leave { .. }
            | Op::Join { .. }
            | Op::Fence(_)
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Forget { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => false,
        }
    }
}

/// In a thread's path: the number stands for a thread whose creation was not seen.
pub const FOREIGN: u64 = 1 << 62;
/// In a thread's path: the number is the name that the program gave the thread.
pub const NAMED: u64 = 1 << 63;

/// A descriptor ⟨U, B, I, S, N⟩.
pub mod descriptor {
    /// I, the [`super::code`] word of the access.
    pub const CODE: usize = 0;
    /// B, whether only thread U matches.
    pub const ONLY_THREAD: usize = 1;
    /// N, from 1.
    ///
    /// 0 stands for any, if the thread of the other side is held before memory that this access
    /// conflicts with; nobody is held for such a descriptor.
    pub const ORDINAL: usize = 2;
    /// Length of U.
    pub const PATH_LEN: usize = 3;
    /// U: ordinals of spawns; the first thread's path is empty.
    pub const PATH: usize = 4;
    /// Length of S.
    pub const CALLS_LEN: usize = PATH + super::MAX_PATH;
    /// S: [`super::code`] words of call sites, the last call first.
    pub const CALLS: usize = CALLS_LEN + 1;
    /// The most call sites of S. A longer S is cut; the ordinal is then counted among more.
    pub const MAX_CALLS: usize = 40;
    /// Written by the runtime: the most matches that one thread counted.
    pub const COUNT: usize = CALLS + MAX_CALLS;
    /// Written by the runtime: when the N-th match was reached first, in nanoseconds since the
    /// start; 0 if it was not.
    pub const REACHED: usize = COUNT + 1;
    /// Written by the runtime: how often the code address was passed, whoever did it.
    pub const VISITS: usize = COUNT + 2;
    /// Words of a record.
    pub const SIZE: usize = COUNT + 4;
}

/// An access that was about to happen.
pub mod access {
    /// The hook's return address.
    pub const PC: usize = 0;
    /// The first byte.
    pub const ADDRESS: usize = 1;
    /// The number of bytes.
    pub const LENGTH: usize = 2;
    /// Mode (bits 0 and 1), atomic (bit 2), memory order (8 to 15), via (16 to 23), and bit 24: a
    /// compare-exchange that would have failed.
    pub const HOW: usize = 3;
    /// When, in nanoseconds since the start.
    pub const TIME: usize = 4;
    /// The kernel's number of the thread.
    pub const KERNEL_ID: usize = 5;
    /// Length of the thread's path.
    pub const PATH_LEN: usize = 6;
    /// The thread's path.
    pub const PATH: usize = 7;
    /// Number of locks held.
    pub const LOCKS_LEN: usize = PATH + super::MAX_PATH;
    /// Addresses of locks held, the first taken first.
    pub const LOCKS: usize = LOCKS_LEN + 1;
    /// The most locks that are kept.
    pub const MAX_LOCKS: usize = 12;
    /// Number of call sites.
    pub const CALLS_LEN: usize = LOCKS + MAX_LOCKS;
    /// Return addresses of the calls, the last call first.
    pub const CALLS: usize = CALLS_LEN + 1;
    /// The most call sites that are kept.
    pub const MAX_CALLS: usize = 64;
    /// Words of a record.
    pub const SIZE: usize = CALLS + MAX_CALLS;

    /// Bit of [`HOW`]: atomic.
    pub const ATOMIC: u64 = 4;
    /// Bit of [`HOW`]: a compare-exchange that would have failed, and so only reads.
    pub const WOULD_FAIL: u64 = 1 << 24;
}

/// A target ⟨D₁, D₂⟩.
pub mod target {
    /// How long one side waits for the other, in nanoseconds.
    pub const BOUND: usize = 0;
    /// Written by the runtime: a number of [`super::verdict`], stored last.
    pub const VERDICT: usize = 1;
    /// Written by the runtime: 1 while a thread is held for the first side, 2 for the second.
    pub const HELD: usize = 2;
    /// Written by the runtime: when it was decided, in nanoseconds since the start.
    pub const DECIDED: usize = 3;
    /// Written by the runtime: how long a thread was held for it, in nanoseconds.
    pub const WAITED: usize = 4;
    /// Written by the runtime: how many turns were over when one side was held, and above 32 bits
    /// when the two met.
    pub const TURNS: usize = 5;
    /// Written by the runtime: the side that was held when the other came.
    pub const FIRST: usize = 6;
    /// A side in bit 0 and a number n above it: the thread of that side waits before its n-th turn until
    /// the other side is held. 0: nobody waits so. If the target is given up as quiescent the
    /// runtime writes what to try next: the held side, and the turn in which its thread took the
    /// first of the locks that it held (0: it held none).
    pub const DELAY: usize = 7;
    /// Written by the runtime: M, the accesses found, for each side.
    pub const FOUND: usize = 8;
    /// Words of a record.
    pub const SIZE: usize = FOUND + 2 * super::access::SIZE;
}

/// What became of a target.
pub mod verdict {
    /// Not decided: at the end of the run a side that never matched is `lost`.
    pub const OPEN: u64 = 0;
    /// The two threads stood before conflicting accesses: a proof.
    pub const RACE: u64 = 1;
    /// The wait was over before the other side came.
    pub const NONE: u64 = 2;
    /// Nobody who could have come was left running.
    pub const QUIESCENT: u64 = 3;
    /// Both came, but their accesses did not conflict this time.
    pub const MOVED: u64 = 4;
    /// A side came when it could not be held: another target held the threads.
    pub const BUSY: u64 = 5;
}

/// What the watch rule found: an access that conflicts with the one a thread is held before.
pub mod find {
    /// 1 once the record is whole.
    pub const WHOLE: usize = 0;
    /// The target, or [`super::NO_TARGET`].
    pub const TARGET: usize = 1;
    /// The side that was held.
    pub const SIDE: usize = 2;
    /// How many turns were over when it was held, and above 32 bits when the other came.
    pub const TURNS: usize = 3;
    /// The held access, then the other one.
    pub const FOUND: usize = 4;
    /// Words of a record.
    pub const SIZE: usize = FOUND + 2 * super::access::SIZE;
}

/// One line of what happened around the meeting.
pub mod note {
    /// When, in nanoseconds since the start.
    pub const TIME: usize = 0;
    /// What (a number below), the target above bit 8, the side above bit 24.
    pub const WHAT: usize = 1;
    /// The kernel's number of the thread.
    pub const KERNEL_ID: usize = 2;
    /// The hook's return address.
    pub const PC: usize = 3;
    /// Words of a record.
    pub const SIZE: usize = 4;

    /// The thread is held from now on.
    pub const HELD: u64 = 1;
    /// The thread came while the other was held: they met.
    pub const MET: u64 = 2;
    /// The thread goes on: the two met.
    pub const FREED_BY_MEETING: u64 = 3;
    /// The thread goes on: its time was over.
    pub const FREED_BY_TIME: u64 = 4;
    /// The thread goes on: nobody could have come.
    pub const FREED_BY_QUIET: u64 = 5;
    /// The thread goes on: the other came, with an access elsewhere.
    pub const FREED_BY_MOVE: u64 = 6;
    /// The thread came and could not be held.
    pub const NOT_HELD: u64 = 7;
    /// The thread made an access that conflicts with a held one (watch rule).
    pub const SEEN: u64 = 8;
    /// The thread passed a step of the watched order; the step is where the target would be.
    pub const STEP: u64 = 9;
}

/// A code range that belongs to a step of the watched order.
pub mod range {
    /// The step, from 0.
    pub const STEP: usize = 0;
    /// [`super::code`] word of the first byte.
    pub const FROM: usize = 1;
    /// [`super::code`] word behind the last byte, of the same module.
    pub const TO: usize = 2;
    /// Words of a record.
    pub const SIZE: usize = 4;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_words_keep_module_and_offset() {
        assert_eq!(of_code(code(3, 0x1180)), (3, 0x1180));
        assert_eq!(of_code(code(0xffff, (1 << 48) - 1)), (0xffff, (1 << 48) - 1));
    }

    #[test]
    fn each_number_of_the_head_has_its_word() {
        use head::*;
        let words = [
            MAGIC,
            WORDS,
            MODULES,
            MODULES_AT,
            DESCRIPTORS,
            DESCRIPTORS_AT,
            TARGETS,
            TARGETS_AT,
            RANGES,
            RANGES_AT,
            STEPS,
            FINDS,
            FINDS_AT,
            NOTES,
            NOTES_AT,
            FLAGS,
            PATIENCE,
            SAMPLE,
            SAMPLE_DELAY,
            SAMPLE_SEED,
            TAKEN,
            STARTED,
            FOUND,
            NOTED,
            PASSED,
            GIVEN_UP,
            CUT,
            MOST_THREADS,
            OPEN,
            THREADS,
            THREADS_AT,
            TURNS,
            TURNS_AT,
            KEPT,
            PAUSE,
            KNOWN,
            TURNED,
            FIRST,
        ];
        for (i, word) in words.iter().enumerate() {
            assert!(*word < SIZE && !words[..i].contains(word));
        }
    }
}
