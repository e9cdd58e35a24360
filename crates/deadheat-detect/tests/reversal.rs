//! The predictions against all correct reorderings of random traces: each race that `sync-reversal`, `sync-preserving` and
//! `shb` tell is one in some correct reordering, the witness is one, and `sync-reversal` finds nearly all there are.

mod support;

use std::collections::BTreeSet;

use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::oracle::Oracle;
use deadheat_detect::oracle::reorder::{Reads, is_race, races};
use deadheat_detect::witness::Run;
use deadheat_detect::{Options, registry};
use support::generate::Generator;
use support::{full, short};

/// The races that were told, by the places of events (their numbers, from 1), each with the order that its witness stands for.
struct Told<'a>(&'a Run<'a>, Vec<((usize, usize), Witnessed)>, &'a [Event]);

struct Witnessed {
    done: Vec<(ThreadId, u64)>,
    order: Option<Vec<(ThreadId, u64)>>,
}

impl RaceSink for Told<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let pair = (race.earlier.place.0 as usize - 1, race.later.place.0 as usize - 1);
        let checked = self.0.check(witness, (race.earlier.thread, race.later.thread));
        assert_eq!(
            checked.map_err(|broken| broken.to_string()),
            Ok(pair),
            "{race:?}: {witness:?} {:#?}",
            self.2
        );
        let (done, order) = (witness.done.to_vec(), witness.order.map(<[_]>::to_vec));
        self.1.push((pair, Witnessed { done, order }));
    }
}

/// What an analysis tells.
fn told(analysis: &str, events: &[Event]) -> Vec<((usize, usize), Witnessed)> {
    let run = Run::new(events);
    let mut detector = (registry::find(analysis).expect("it is registered").new)(Options::default());
    let mut told = Told(&run, Vec::new(), events);
    events.iter().for_each(|event| detector.step(event, &mut told));
    detector.finish(&mut told);
    told.1
}

/// The events of a witness, in its order.
fn order(events: &[Event], witness: &Witnessed) -> Vec<usize> {
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

/// Each race told is one in some correct reordering, and its witness is such a reordering. How many races there are, how many of
/// them are in another order than the run's, and how many the traces have.
fn check(seed: u64, events: &[Event]) -> (usize, usize, usize) {
    let possible = races(events, Reads::Kept);
    let told = told("sync-reversal", events);
    for (pair, witness) in &told {
        assert!(possible.contains_key(pair), "seed {seed}: {pair:?} of {events:#?}");
        let order = order(events, witness);
        assert!(
            is_race(events, Reads::Kept, &order, *pair),
            "seed {seed}: {pair:?} by {order:?} of {events:#?}"
        );
    }
    let turned = told.iter().filter(|(_, witness)| witness.order.is_some()).count();
    let racy: BTreeSet<usize> = possible.keys().map(|&(_, later)| later).collect();
    let found: BTreeSet<usize> = told.iter().map(|&((_, later), _)| later).collect();
    (found.len(), turned, racy.len())
}

#[test]
fn short_traces() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut found, mut turned, mut racy, mut hidden) = (0, 0, 0, 0);
    for seed in 0..count {
        let events = short::trace(seed, 18);
        let possible = races(&events, Reads::Kept);
        for analysis in ["sync-preserving", "shb"] {
            for (pair, _) in told(analysis, &events) {
                assert!(possible.contains_key(&pair), "seed {seed}: {analysis} {pair:?} of {events:#?}");
            }
        }
        let (some, other, all) = check(seed, &events);
        (found, turned, racy) = (found + some, turned + other, racy + all);
        hidden += usize::from(some > 0 && Oracle::new(&events).races().is_empty());
    }
    println!(
        "{count} traces: {found} of {racy} racy accesses, {turned} races with sections turned round, {hidden} traces without a race in the run's order"
    );
    assert!(found * 100 > racy * 99 && turned > 0 && hidden > 0, "{found} of {racy}, {turned}, {hidden}");
}

#[test]
fn traces_of_every_sort() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut found, mut racy) = (0, 0);
    for seed in 0..count {
        let mut events = Generator::trace(seed);
        events.truncate(14);
        for (place, event) in events.iter_mut().enumerate() {
            event.place = deadheat_core::ids::PlaceId(place as u32 + 1);
        }
        let (some, _, all) = check(seed, &events);
        (found, racy) = (found + some, racy + all);
    }
    println!("{count} traces: {found} of {racy} racy accesses");
    assert!(found * 100 > racy * 98, "{found} of {racy}");
}
