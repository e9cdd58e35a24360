//! Who takes a trace's events.

use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::plain::{self, Plain, Strided};

use crate::tables::Tables;

/// Takes the events of a trace in the merged order; a closure that takes each of them is one.
pub trait Visit {
    /// Takes the next event; says whether more is wanted. After `false` nothing more comes.
    fn event(&mut self, event: &Event, tables: &Tables) -> bool;

    /// Takes the next events, all plain accesses that one thread made in this order: the same as
    /// [`Self::event`] for each. The summary counts all of them, also if `false` is said midway.
    #[inline]
    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], tables: &Tables) -> bool {
        accesses.iter().all(|access| self.event(&access.event(thread), tables))
    }

    /// Takes the next events, those of a loop of one thread: each turn makes each of these accesses, in this
    /// order. The same as [`Self::plain`] for all of them.
    #[inline]
    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, tables: &Tables) -> bool {
        plain::unroll(body, turns, |some| self.plain(thread, some, tables))
    }

    /// These plain accesses of some thread will come soon, in this order but perhaps with other
    /// events between them. Only a hint, and some readers never give it.
    #[inline]
    fn coming(&mut self, _accesses: &[Plain]) {}
}

impl<F: FnMut(&Event, &Tables) -> bool> Visit for F {
    #[inline]
    fn event(&mut self, event: &Event, tables: &Tables) -> bool {
        self(event, tables)
    }
}
