//! `csp` against all correct reorderings of random traces: the pairs that it tells are exactly those that some reordering brings
//! side by side, and its witnesses are such reorderings; for `csp=paper` the same where reads may see anything.

mod support;

use std::collections::BTreeSet;

use deadheat_core::ids::PlaceId;
use deadheat_csp::cspm::{self, Assertion, Model};
use deadheat_csp::{Limits, Verdict, traces};
use deadheat_detect::csp::{Form, Models, Script};
use deadheat_detect::run::Record;
use support::generate::Generator;
use support::orders::{equal, lines};
use support::{full, short};

/// How many random traces there are of each sort.
fn count() -> u64 {
    if full() { 100_000 } else { 5_000 }
}

#[test]
fn short_traces() {
    let races: usize = (0..count()).map(|seed| equal(seed, &short::trace(seed, 18))).sum();
    println!("{} traces, {races} races", count());
    assert!(races > 1000);
}

#[test]
fn traces_of_every_sort() {
    let of = |seed| {
        let mut events = Generator::trace(seed);
        events.truncate(14);
        for (place, event) in (1..).zip(&mut events) {
            event.place = PlaceId(place);
        }
        equal(seed, &events)
    };
    let races: usize = (0..count()).map(of).sum();
    println!("{} traces, {races} races", count());
    assert!(races > 1000);
}

/// The search that is made for these models and the general engine give the same verdicts, for each assertion of each model.
#[test]
fn the_engine_says_the_same() {
    let traces = if full() { 5_000 } else { 200 };
    let (mut asked, mut failed) = (0, 0);
    for seed in 0..traces {
        let mut others = Generator::trace(seed);
        others.truncate(12);
        for events in [short::trace(seed, 14), others] {
            for form in [Form::Exact, Form::Paper] {
                let mut record = Record::default();
                events.iter().for_each(|event| record.take(event));
                let models = Models::new(record, form);
                for variable in models.variables() {
                    let script = models.script(variable).expect("it is accessed");
                    let races = models.races(variable).expect("there is memory");
                    let found: BTreeSet<_> = refuted(&script).into_iter().collect();
                    assert_eq!(
                        races,
                        found,
                        "seed {seed}: {form:?}, {variable:#x} of\n{}\n{}",
                        lines(&events),
                        script.text
                    );
                    (asked, failed) = (asked + script.asked.len(), failed + found.len());
                }
            }
        }
    }
    println!("{asked} assertions, {failed} fail");
    assert!(failed > 100 && asked > failed + 20, "{failed} of {asked}");
}

/// What the assertions of a model are about that fail, by the general engine, from its text.
fn refuted(script: &Script) -> Vec<(usize, usize, u32)> {
    let read = cspm::read(&script.text).unwrap_or_else(|error| panic!("{error} in\n{}", script.text));
    let Model { mut terms, assertions } =
        cspm::model(&read).unwrap_or_else(|error| panic!("{error} in\n{}", script.text));
    assert_eq!(assertions.len(), script.asked.len());
    let limits = Limits { memory: 256 << 20, jobs: 1 };
    let fails = |assertion: &Assertion| {
        let outcome = traces(&mut terms, assertion.specification, assertion.implementation, &limits);
        match outcome.unwrap_or_else(|error| panic!("{error} in\n{}", script.text)).verdict {
            Verdict::Fails(_) => true,
            Verdict::Holds => false,
            Verdict::OutOfMemory { .. } => panic!("out of memory: {}", script.text),
        }
    };
    let verdicts: Vec<bool> = assertions.iter().map(fails).collect();
    script.asked.iter().zip(verdicts).filter(|(_, fails)| *fails).map(|(&asked, _)| asked).collect()
}
