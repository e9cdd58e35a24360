//! What the predictions tell, against all correct reorderings: the numbers of events are their places, from 1.

use std::collections::BTreeMap;

use deadheat_core::event::Event;
use deadheat_detect::oracle::reorder::{Pair, Reads, is_race, races};
use deadheat_detect::witness::Run;

use super::told::{Witnessed, order, told};

/// The predictions that may miss races.
pub(crate) const OTHERS: [&str; 3] = ["shb", "sync-preserving", "sync-reversal"];

/// A trace, a line an event.
pub(crate) fn lines(events: &[Event]) -> String {
    let line = |(index, event): (usize, &Event)| format!("{index} {:?} {:?}\n", event.thread, event.op);
    events.iter().enumerate().map(line).collect()
}

/// A race that is told is one at the end of its witness, which is a correct reordering.
fn witnessed(
    seed: u64,
    analysis: &str,
    events: &[Event],
    reads: Reads,
    (pair, witness): (&Pair, &Witnessed),
) {
    if reads == Reads::Kept {
        let threads = (events[pair.0].thread, events[pair.1].thread);
        let checked = Run::new(events).check(&witness.borrowed(), threads);
        let checked = checked.map_err(|broken| broken.to_string());
        assert_eq!(checked, Ok(*pair), "seed {seed}: {analysis}: {witness:?} of\n{}", lines(events));
    }
    let order = order(events, witness);
    assert!(
        is_race(events, reads, &order, *pair),
        "seed {seed}: {analysis}: {pair:?} by {order:?} of\n{}",
        lines(events)
    );
}

/// What `csp` tells of a trace is exactly what there is, and so it is for `csp=paper`. How many races there are.
pub(crate) fn equal(seed: u64, events: &[Event]) -> usize {
    let mut races_found = 0;
    for (analysis, reads) in [("csp", Reads::Kept), ("csp=paper", Reads::Free)] {
        let possible = races(events, reads);
        let told: BTreeMap<Pair, _> = told(analysis, true, events).into_iter().collect();
        let found: Vec<&Pair> = told.keys().collect();
        let expected: Vec<&Pair> = possible.keys().collect();
        assert_eq!(found, expected, "seed {seed}: {analysis} of\n{}", lines(events));
        told.iter().for_each(|race| witnessed(seed, analysis, events, reads, race));
        races_found += told.len();
    }
    races_found
}

/// What analyses tell of a trace is among what there is.
pub(crate) fn within(seed: u64, analyses: &[&str], events: &[Event]) {
    let possible = races(events, Reads::Kept);
    for analysis in analyses {
        for (pair, witness) in &told(analysis, true, events) {
            assert!(possible.contains_key(pair), "seed {seed}: {analysis}: {pair:?} of\n{}", lines(events));
            witnessed(seed, analysis, events, Reads::Kept, (pair, witness));
        }
    }
}
