//! A bound for the memory: see [`crate::clock::limit`].

use deadheat_core::race::RaceSink;

use super::{SWEEP_AT_LEAST, Shb};
use crate::clock::limit::{Bounded, Limit};
use crate::clock::past::Moment;
use crate::clock::sites::Sites;

/// A part of the bound that what threads knew may take before it is swept.
const SWEEP_PART: usize = 4;

/// What threads knew is swept when it takes so many bytes, whatever is needed of it.
pub(super) fn sweep_at_least(bound: Option<usize>) -> usize {
    bound.map_or(SWEEP_AT_LEAST, |bound| SWEEP_AT_LEAST.min(bound / SWEEP_PART))
}

impl Shb {
    /// Keeps to the bound.
    #[inline]
    pub(super) fn bound(&mut self, sink: &mut dyn RaceSink) {
        if let Some(bytes) = self.limit.count(|| 0) {
            self.look(bytes, sink);
        }
    }
}

impl Bounded for Shb {
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
        self.floor = upto.to_vec();
        self.past.forget(upto);
        let (mut sites, mut members) = (Sites::default(), 0);
        let Self { bytes, sites: before, .. } = self;
        bytes.retain(|history| {
            history.members.retain(|member| kept(member.at));
            history.members.shrink_to_fit();
            history
                .members
                .iter_mut()
                .for_each(|member| member.site = sites.number(*before.get(member.site)));
            for moment in [&mut history.written, &mut history.born, &mut history.freed] {
                if !kept(*moment) {
                    *moment = Moment::default();
                }
            }
            members += history.members.len();
            !history.is_empty()
        });
        (self.sites, self.members) = (sites, members);
        self.sweep();
    }
}
