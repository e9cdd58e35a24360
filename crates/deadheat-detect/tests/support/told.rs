//! What a prediction tells, with its witnesses.

use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::{Options, registry};

/// A witness that outlives its race.
#[derive(Clone, Debug)]
pub(crate) struct Witnessed {
    pub(crate) done: Vec<(ThreadId, u64)>,
    pub(crate) order: Option<Vec<(ThreadId, u64)>>,
}

impl Witnessed {
    /// As the checker takes it.
    pub(crate) fn borrowed(&self) -> Witness<'_> {
        Witness { first: 0, done: &self.done, order: self.order.as_deref() }
    }
}

struct Told(Vec<((usize, usize), Witnessed)>);

impl RaceSink for Told {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let pair = (race.earlier.place.0 as usize - 1, race.later.place.0 as usize - 1);
        let (done, order) = (witness.done.to_vec(), witness.order.map(<[_]>::to_vec));
        self.0.push((pair, Witnessed { done, order }));
    }
}

/// The races that an analysis tells of events each of which has its number, from 1, for its place: by the numbers of the two, from
/// 0.
pub(crate) fn told(analysis: &str, all_pairs: bool, events: &[Event]) -> Vec<((usize, usize), Witnessed)> {
    let options = Options { all_pairs, ..Options::default() };
    let mut detector = (registry::find(analysis).expect("it is registered").new)(options);
    let mut told = Told(Vec::new());
    events.iter().for_each(|event| detector.step(event, &mut told));
    detector.finish(&mut told);
    told.0
}

/// The events of a witness, in its order.
pub(crate) fn order(events: &[Event], witness: &Witnessed) -> Vec<usize> {
    let done = |thread: ThreadId| {
        witness.done.iter().find(|&&(other, _)| other == thread).map_or(0, |&(_, count)| count as usize)
    };
    let of = |thread: ThreadId| (0..events.len()).filter(move |&at| events[at].thread == thread);
    let Some(steps) = &witness.order else {
        let mut kept: Vec<usize> =
            witness.done.iter().flat_map(|&(thread, _)| of(thread).take(done(thread))).collect();
        kept.sort_unstable();
        return kept;
    };
    let mut rows: Vec<_> = witness.done.iter().map(|&(thread, _)| (thread, of(thread))).collect();
    let mut order = Vec::new();
    for &(thread, count) in steps {
        let row =
            rows.iter_mut().find(|(other, _)| *other == thread).expect("a thread that has done something");
        order.extend(row.1.by_ref().take(count as usize));
    }
    assert_eq!(order.len(), witness.done.iter().map(|&(_, count)| count as usize).sum::<usize>());
    order
}
