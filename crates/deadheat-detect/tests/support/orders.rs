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

/// A race that is told is one at the end of its witness, which is a reordering as it should be.
fn witnessed(
    seed: u64,
    analysis: &str,
    events: &[Event],
    reads: Reads,
    (pair, witness): (&Pair, &Witnessed),
) {
    let run = Run::new(events);
    let threads = (events[pair.0].thread, events[pair.1].thread);
    let checked = run.check(&witness.borrowed(), threads).map_err(|broken| broken.to_string());
    let control = run.check_control(&witness.borrowed(), threads).map_err(|broken| broken.to_string());
    let wanted = match reads {
        Reads::Kept => Some(&checked),
        Reads::Control => Some(&control),
        Reads::Free => None,
    };
    if let Some(wanted) = wanted {
        assert_eq!(wanted, &Ok(*pair), "seed {seed}: {analysis}: {witness:?} of\n{}", lines(events));
    }
    let order = order(events, witness);
    assert!(
        is_race(events, reads, &order, *pair),
        "seed {seed}: {analysis}: {pair:?} by {order:?} of\n{}",
        lines(events)
    );
    // The checker accepts of orders in which reads see anything those that control flow allows.
    assert_eq!(
        control.is_ok(),
        is_race(events, Reads::Control, &order, *pair),
        "seed {seed}: {analysis}: {control:?} of {order:?} of\n{}",
        lines(events)
    );
}

/// The forms of `csp`, from the one that tells least.
pub(crate) const FORMS: [(&str, Reads); 3] =
    [("csp", Reads::Kept), ("csp=control", Reads::Control), ("csp=paper", Reads::Free)];

/// What each form of `csp` tells of a trace is exactly what there is. How many races there are, in each form.
pub(crate) fn equal(seed: u64, events: &[Event]) -> [usize; FORMS.len()] {
    FORMS.map(|(analysis, reads)| {
        let possible = races(events, reads);
        let told: BTreeMap<Pair, _> = told(analysis, true, events).into_iter().collect();
        let found: Vec<&Pair> = told.keys().collect();
        let expected: Vec<&Pair> = possible.keys().collect();
        assert_eq!(found, expected, "seed {seed}: {analysis} of\n{}", lines(events));
        told.iter().for_each(|race| witnessed(seed, analysis, events, reads, race));
        told.len()
    })
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
