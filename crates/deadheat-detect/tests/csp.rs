//! `csp` against all correct reorderings of random traces: the pairs that it tells are exactly those that some reordering brings
//! side by side, and its witnesses are such reorderings; for `csp=control` and `csp=paper` the same where reads may see more.

mod support;

use std::collections::BTreeSet;

use deadheat_core::access::Access;
use deadheat_core::event::{Event, Op};
use deadheat_csp::cspm::{self, Assertion, Model};
use deadheat_csp::{Limits, Verdict, traces};
use deadheat_detect::csp::{Form, Models, Script};
use deadheat_detect::oracle::reorder::Pair;
use support::branches::{numbered, with_all_branches, with_branches};
use support::generate::Generator;
use support::orders::{FORMS, equal, lines};
use support::told::told;
use support::{full, short};

/// How many random traces there are of each sort.
fn count() -> u64 {
    if full() { 100_000 } else { 5_000 }
}

/// The same of many traces; how many races there are, in each form.
fn check_all(of: impl Fn(u64) -> Vec<Event>) -> [usize; FORMS.len()] {
    let mut races = [0; FORMS.len()];
    for seed in 0..count() {
        let found = equal(seed, &of(seed));
        races.iter_mut().zip(found).for_each(|(races, found)| *races += found);
    }
    println!("{} traces, races by form: {races:?}", count());
    races
}

#[test]
fn short_traces() {
    let [kept, control, _] = check_all(|seed| short::trace(seed, 18));
    assert!(kept > 500 && control == kept, "{kept}, {control}: without branches the two are the same");
}

#[test]
fn short_traces_with_branches() {
    let [kept, control, free] = check_all(|seed| with_branches(seed, &short::trace(seed, 14)));
    assert!(kept + 100 < control && control + 100 < free, "{kept}, {control}, {free}");
}

#[test]
fn traces_of_every_sort() {
    let [kept, control, _] = check_all(|seed| numbered(of_every_sort(seed, 14)));
    assert!(kept > 500 && control == kept, "{kept}, {control}: without branches the two are the same");
}

#[test]
fn traces_of_every_sort_with_branches() {
    let [kept, control, free] = check_all(|seed| with_branches(seed, &of_every_sort(seed, 12)));
    assert!(kept + 100 < control && control + 100 < free, "{kept}, {control}, {free}");
}

fn of_every_sort(seed: u64, length: usize) -> Vec<Event> {
    let mut events = Generator::trace(seed);
    events.truncate(length);
    events
}

/// With a branch behind each read no read is free; with one at the beginning alone, and no atomics, all are.
#[test]
fn branches_everywhere_and_nowhere() {
    let pairs = |analysis, events: &[Event]| -> BTreeSet<Pair> {
        told(analysis, true, events).into_iter().map(|(pair, _)| pair).collect()
    };
    let (mut more, mut fewer) = (0, 0);
    for seed in 0..count() {
        let events = short::trace(seed, 18);
        let all = with_all_branches(&events);
        assert_eq!(pairs("csp=control", &all), pairs("csp", &all), "seed {seed}:\n{}", lines(&all));
        fewer += pairs("csp=control", &all).len();
        let plain = events.iter().map(|event| match event.op {
            Op::Access(access) => Event { op: Op::Access(Access { atomic: None, ..access }), ..*event },
            _ => *event,
        });
        let first = events.first().map(|event| Event { op: Op::Branch, ..*event });
        let none = numbered(first.into_iter().chain(plain).collect());
        assert_eq!(pairs("csp=control", &none), pairs("csp=paper", &none), "seed {seed}:\n{}", lines(&none));
        more += pairs("csp=control", &none).len();
    }
    println!("{} traces, races: {fewer} with all branches, {more} with none that matters", count());
    assert!(fewer > 500 && more > fewer + 500, "{fewer}, {more}");
}

/// The search that is made for these models and the general engine give the same verdicts, for each assertion of each model.
#[test]
fn the_engine_says_the_same() {
    let traces = if full() { 5_000 } else { 200 };
    let (mut asked, mut failed) = (0, 0);
    for seed in 0..traces {
        let (shorts, others) = (short::trace(seed, 14), of_every_sort(seed, 12));
        let branchy =
            [with_branches(seed, &short::trace(seed, 12)), with_branches(seed, &of_every_sort(seed, 10))];
        for events in [shorts, others].into_iter().chain(branchy) {
            for form in [Form::Exact, Form::Control, Form::Paper] {
                let mut record = form.record();
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
