//! The one alphabet of events.
//!
//! Invariant: the enum is closed. Analyses match [`Op`] without a wildcard, so a new kind of
//! event is an error in each of them and never a silent hole.

use crate::access::{Access, MemoryOrder};
use crate::ids::{PlaceId, StackId, ThreadId};

/// One event of a run, in the merged order of its trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// Who did it.
    pub thread: ThreadId,
    /// The code address that did it.
    pub place: PlaceId,
    /// The call sites above that place.
    pub stack: StackId,
    /// How often the thread did exactly this in a row: 1 or more. A repeat (a spin on an atomic
    /// that nobody changed in between) is one event to an analysis; ordinals count it whole.
    pub times: u32,
    /// What was done.
    pub op: Op,
}

/// Whether a lock is taken for itself alone or shared with other readers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum LockMode {
    /// Exclusive: a mutex, a spinlock, the write side of a read-write lock.
    Write = 0,
    /// Shared: the read side of a read-write lock.
    Read = 1,
}

/// What kind of object a [`Op::Signal`], [`Op::Await`] or [`Op::Wait`] speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum SyncKind {
    /// A condition variable signalled once.
    Condition = 0,
    /// A condition variable broadcast to all its waiters.
    ConditionAll = 1,
    /// A semaphore: each post may let a wait return.
    Semaphore = 2,
    /// A one-time initialisation (`pthread_once`, `call_once`, a static local's guard).
    Once = 3,
    /// An order that the program announced (`__tsan_release`, `ANNOTATE_HAPPENS_BEFORE`, …), or
    /// that an imported trace states.
    Annotation = 4,
    /// No object: all that any thread did so far (before a virtual machine runs the finalizer of what nobody uses).
    Everything = 5,
}

/// What kind of memory a block is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum BlockKind {
    /// From the heap: `malloc`, `operator new` and their family.
    Heap = 0,
    /// A mapping of the program's own: `mmap`.
    Mapping = 1,
    /// A thread's stack.
    Stack = 2,
    /// A thread's thread-local storage.
    ThreadLocal = 3,
    /// No block, but bytes whose races the program declared benign for as long as they live.
    Benign = 4,
    /// The notional cell of an open file descriptor.
    Descriptor = 5,
}

/// What a thread did that no program may do, as the hook judged that saw it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub enum Fault {
    /// A lock was given back that is free, or that another thread holds.
    UnlockNotHeld = 0,
    /// A lock that cannot be held twice was asked for while it was held: by its holder, who now waits for itself, or,
    /// as the program announces it, while another has it.
    DoubleLock = 1,
    /// A lock was destroyed while it was held.
    DestroyLocked = 2,
    /// A lock was used that was destroyed, or never made.
    InvalidLock = 3,
    /// A lock was taken for reading while it was held for writing.
    ReadLockOfWritten = 4,
    /// A lock was given back by a reader while it was held for writing.
    ReadUnlockOfWritten = 5,
    /// A lock was held where the program says that none may be.
    HeldHere = 6,
    /// A thread was neither joined nor detached when the process ended.
    ThreadLeak = 7,
    /// A thread ended while it had accesses ignored.
    IgnoredAtEnd = 8,
    /// A signal handler left another `errno` than it found.
    SignalErrno = 9,
    /// A signal handler called a function that none may call.
    SignalUnsafe = 10,
}

impl Fault {
    /// All of them, by their numbers.
    pub const ALL: [Fault; 11] = [
        Fault::UnlockNotHeld,
        Fault::DoubleLock,
        Fault::DestroyLocked,
        Fault::InvalidLock,
        Fault::ReadLockOfWritten,
        Fault::ReadUnlockOfWritten,
        Fault::HeldHere,
        Fault::ThreadLeak,
        Fault::IgnoredAtEnd,
        Fault::SignalErrno,
        Fault::SignalUnsafe,
    ];

    /// The word for it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Fault::UnlockNotHeld => "unlock-not-held",
            Fault::DoubleLock => "double-lock",
            Fault::DestroyLocked => "destroy-locked",
            Fault::InvalidLock => "invalid-lock",
            Fault::ReadLockOfWritten => "read-lock-of-written",
            Fault::ReadUnlockOfWritten => "read-unlock-of-written",
            Fault::HeldHere => "held-here",
            Fault::ThreadLeak => "thread-leak",
            Fault::IgnoredAtEnd => "ignored-at-end",
            Fault::SignalErrno => "signal-errno",
            Fault::SignalUnsafe => "signal-unsafe",
        }
    }

    /// Whether it is about a lock.
    #[must_use]
    pub const fn is_of_lock(self) -> bool {
        matches!(
            self,
            Fault::UnlockNotHeld
                | Fault::DoubleLock
                | Fault::DestroyLocked
                | Fault::InvalidLock
                | Fault::ReadLockOfWritten
                | Fault::ReadUnlockOfWritten
                | Fault::HeldHere
        )
    }
}

impl LockMode {
    /// The one with that number.
    #[must_use]
    pub const fn from_number(number: u64) -> Option<LockMode> {
        match number {
            0 => Some(LockMode::Write),
            1 => Some(LockMode::Read),
            _ => None,
        }
    }
}

impl BlockKind {
    /// The one with that number.
    #[must_use]
    pub const fn from_number(number: u32) -> Option<BlockKind> {
        match number {
            0 => Some(BlockKind::Heap),
            1 => Some(BlockKind::Mapping),
            2 => Some(BlockKind::Stack),
            3 => Some(BlockKind::ThreadLocal),
            4 => Some(BlockKind::Benign),
            5 => Some(BlockKind::Descriptor),
            _ => None,
        }
    }
}

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A memory access, plain or atomic.
    Access(Access),
    /// A memory fence.
    Fence(MemoryOrder),
    /// The thread asks for a lock and may have to wait.
    Request {
        /// The lock's address.
        lock: u64,
        /// How it is wanted.
        mode: LockMode,
    },
    /// The thread now holds the lock (once more, if the lock is recursive).
    Acquire {
        /// The lock's address.
        lock: u64,
        /// How it is held.
        mode: LockMode,
    },
    /// The thread gives the lock back.
    Release {
        /// The lock's address.
        lock: u64,
        /// How it was held.
        mode: LockMode,
    },
    /// The thread creates another.
    Fork {
        /// The new thread.
        child: ThreadId,
    },
    /// The thread has seen another end.
    Join {
        /// The thread that ended.
        child: ThreadId,
    },
    /// The thread's first event.
    Begin,
    /// The thread's last event.
    End,
    /// The thread wakes waiters, or publishes what it did so far.
    Signal {
        /// The object's address.
        object: u64,
        /// What it is.
        kind: SyncKind,
    },
    /// The thread begins to wait on an object (it has given back the mutex by then).
    Await {
        /// The object's address.
        object: u64,
        /// What it is.
        kind: SyncKind,
    },
    /// The wait is over.
    Wait {
        /// The object's address.
        object: u64,
        /// What it is.
        kind: SyncKind,
        /// Woken by a signal; otherwise the time ran out and nothing was synchronised.
        woken: bool,
    },
    /// The thread arrives at a barrier.
    Arrive {
        /// The barrier's address.
        barrier: u64,
        /// How many threads it waits for; 0 where that is not known.
        count: u32,
    },
    /// The thread leaves a barrier that it arrived at.
    Leave {
        /// The barrier's address.
        barrier: u64,
    },
    /// A branch whose outcome may depend on what was read (only in imported traces).
    Branch,
    /// The thread enters a function; the event's place is the call site.
    Enter,
    /// The thread leaves the innermost function.
    Exit,
    /// A block of memory comes to life; its bytes have no past.
    Alloc {
        /// The first byte.
        address: u64,
        /// How many bytes.
        size: u64,
        /// Where it came from.
        kind: BlockKind,
    },
    /// A block's life ends: it counts as a write to all its bytes.
    Free {
        /// The first byte.
        address: u64,
        /// How many bytes; 0 where that is not known.
        size: u64,
        /// What kind of block it was.
        kind: BlockKind,
    },
    /// A synchronisation object comes to life or is destroyed: what it ordered is forgotten.
    Forget {
        /// The object's address.
        object: u64,
    },
    /// The thread calls code that is not instrumented.
    HiddenBegin,
    /// The call returns.
    HiddenEnd,
    /// The thread does something wrong that is no race.
    Fault {
        /// The lock's address, the leaked thread's number, or the signal's.
        object: u64,
        /// What is wrong.
        fault: Fault,
    },
}
