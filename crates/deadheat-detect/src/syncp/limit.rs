//! A bound for the memory: see [`crate::clock::limit`].

use deadheat_core::race::RaceSink;

use super::SyncPreserving;
use crate::clock::limit::{Bounded, Limit};
use crate::clock::past::Moment;
use crate::clock::sites::Sites;

impl SyncPreserving {
    /// Keeps to the bound.
    #[inline]
    pub(crate) fn bound(&mut self, sink: &mut dyn RaceSink) {
        // To look takes time for each pair of threads.
        if let Some(bytes) = self.limit.count(|| self.closures.pairs() as u64) {
            self.look(bytes, sink);
        }
    }
}

impl Bounded for SyncPreserving {
    fn memory(&self) -> usize {
        self.memory()
    }

    fn limit(&mut self) -> &mut Limit {
        &mut self.limit
    }

    fn present(&self) -> Vec<u32> {
        self.past.present()
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
