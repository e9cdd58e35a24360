//! Where in its order a witness has an event.

use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

/// The order of a witness.
#[derive(Debug)]
pub(super) struct Turns {
    done: FxHashMap<ThreadId, u64>,
    /// By thread: where each of its stretches begins among its own events, and in the order. `None`: that of the trace.
    stretches: Option<FxHashMap<ThreadId, Vec<(u64, u64)>>>,
}

impl Turns {
    /// The order of a witness that has done so much.
    pub(super) fn new(done: &[(ThreadId, u64)], order: Option<&[(ThreadId, u64)]>) -> Self {
        let stretches = order.map(|order| {
            let mut stretches: FxHashMap<ThreadId, Vec<(u64, u64)>> = FxHashMap::default();
            let mut counts: FxHashMap<ThreadId, u64> = FxHashMap::default();
            let mut position = 0;
            for &(thread, events) in order {
                let own = counts.entry(thread).or_default();
                stretches.entry(thread).or_default().push((*own, position));
                *own += events;
                position += events;
            }
            stretches
        });
        Self { done: done.iter().copied().collect(), stretches }
    }

    /// How many events a thread has done.
    pub(super) fn done(&self, thread: ThreadId) -> u64 {
        self.done.get(&thread).copied().unwrap_or(0)
    }

    /// Whether a thread has done one of its events.
    pub(super) fn has(&self, thread: ThreadId, nth: u64) -> bool {
        nth < self.done(thread)
    }

    /// How many events come before one of a thread's; `None` if the order is that of the trace.
    pub(super) fn position(&self, thread: ThreadId, nth: u64) -> Option<u64> {
        let own = self.stretches.as_ref()?.get(&thread)?;
        let (first, position) = own[own.partition_point(|&(first, _)| first <= nth).checked_sub(1)?];
        Some(position + nth - first)
    }
}
