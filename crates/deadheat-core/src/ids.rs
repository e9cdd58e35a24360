//! Ids: small numbers that stand for threads, places and stacks within one trace.
//!
//! Invariant: none of them is an absolute address, and none is compared across traces; what
//! survives a re-run is spelled out by the trace's tables (spawn path, module and offset).

/// A thread of one trace: its index in the trace's thread table. 0 is the first thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct ThreadId(pub u32);

/// A place in the code: its index in the trace's place table. 0 is the unknown place.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct PlaceId(pub u32);

/// A call stack: a node of the trace's tree of call sites. 0 is the empty stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct StackId(pub u32);

impl PlaceId {
    /// The place of an event whose code address is not known.
    pub const UNKNOWN: PlaceId = PlaceId(0);
}

impl StackId {
    /// The stack without a frame.
    pub const EMPTY: StackId = StackId(0);
}

impl ThreadId {
    /// The thread that ran `main`.
    pub const FIRST: ThreadId = ThreadId(0);

    /// The thread's index, for tables with one row a thread.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
