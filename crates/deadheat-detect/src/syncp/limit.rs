//! A bound for the memory.
//!
//! The beginning of a trace is closed under all rules. So it can be put into every closure: what lies in it is then done
//! before any race, and nothing of it needs to be remembered but that. Races with accesses in it are not found any more; the others
//! are, unless they need a part of it to be left out. When the bound is reached, that is done with
//! all up to a moment at which the memory was half full; the sink is told.

use deadheat_core::race::RaceSink;

use super::SyncPreserving;
use crate::clock::past::Moment;
use crate::clock::sites::Sites;

/// The memory is looked at after so many events at least.
const EVERY: u64 = 256;

/// A bound, and what is done at it.
#[derive(Debug)]
pub(crate) struct Limit {
    bytes: Option<usize>,
    events: u64,
    /// When to look next.
    next: u64,
    /// The last events of the slots when memory was half full, and how many events there were.
    half: Option<(Vec<u32>, u64)>,
}

impl Limit {
    pub(crate) fn new(bytes: Option<usize>) -> Self {
        Self { bytes, events: 0, next: EVERY, half: None }
    }
}

impl SyncPreserving {
    /// Keeps to the bound.
    #[inline]
    pub(crate) fn bound(&mut self, sink: &mut dyn RaceSink) {
        self.limit.events += 1;
        if let Some(bytes) = self.limit.bytes
            && self.limit.events >= self.limit.next
        {
            // To look takes time for each pair of threads.
            self.limit.next = self.limit.events + EVERY.max(self.closures.pairs() as u64);
            self.look(bytes, sink);
        }
    }

    #[cold]
    fn look(&mut self, bytes: usize, sink: &mut dyn RaceSink) {
        let memory = self.memory();
        if memory * 2 > bytes && self.limit.half.is_none() {
            self.limit.half = Some((self.past.present(), self.limit.events));
        }
        if memory <= bytes {
            return;
        }
        if let Some((upto, events)) = self.limit.half.take() {
            self.forget(&upto);
            sink.forgot(events);
        }
        if self.memory() * 4 > bytes * 3 {
            self.forget(&self.past.present());
            sink.forgot(self.limit.events);
        }
    }

    fn forget(&mut self, upto: &[u32]) {
        let kept = |moment: Moment| upto.get(moment.slot as usize).is_none_or(|&upto| moment.number > upto);
        self.past.forget(upto);
        self.closures.forget(upto);
        let (mut sites, mut heap) = (Sites::default(), 0);
        let Self { bytes, sites: before, .. } = self;
        bytes.retain(|history| {
            heap += history.retain(kept);
            history.entries_mut().for_each(|entry| entry.site = sites.number(*before.get(entry.site)));
            !history.is_empty()
        });
        (self.sites, self.heap) = (sites, heap);
    }
}
