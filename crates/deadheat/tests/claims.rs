//! What the paper of `csp` claims of the size of its models and of windows, measured; `docs/csp-witness.md` has the tables.
//!
//! *States*: the scenarios of `spec/programs/prediction`, recorded in their orders, and the public traces: how many operations
//! their models have, how many states the search visits for a pair of accesses, and how many the general engine reaches of the
//! program of a model. *Windows*: how many races are left where the public traces are looked at in windows. Long
//! public traces are left out there, and the document is not compared, unless `DEADHEAT_ACCEPT` is `full`.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use common::public::{bytes, events, shared, traces};
use common::scenario::{record, scenarios};
use common::{deadheat, folder, have, output};
use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_csp::{Limits, Verdict, cspm, traces as refine};
use deadheat_detect::csp::{Csp, Form, Models};
use deadheat_detect::run::Record;
use deadheat_detect::{Detector, Options};
use deadheat_trace::Trace;

/// Where the groups of models begin, by their operations.
const GROUPS: [usize; 6] = [0, 10, 30, 100, 300, 1000];

/// The general engine is asked about models of at most so many operations, those on memory included.
const MOST: usize = 300;

/// What it may take for its states.
const MEMORY: usize = 16 << 20;

/// Events of the windows.
const WINDOWS: [u32; 4] = [256, 1024, 4096, 16384];

/// Traces with more events are looked at in windows only for the document.
const SHORT: usize = 4_000;

/// The accesses that race with an earlier one.
#[derive(Default)]
struct Racy {
    later: BTreeSet<(ThreadId, u64)>,
    undecided: u64,
}

impl RaceSink for Racy {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("a race without a witness: {race:?}");
    }

    fn undecided(&mut self, pairs: u64) {
        self.undecided += pairs;
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        let thread = race.later.thread;
        let done = witness.done.iter().find(|&&(other, _)| other == thread).map_or(0, |&(_, done)| done);
        self.later.insert((thread, done));
    }
}

/// What `csp` finds in a run, looked at in windows of so many events, and how many states each of its searches visited.
fn search(events: &[Event], window: u32) -> (Racy, Vec<usize>) {
    let options = Options { window: NonZeroU32::new(window), ..Options::default() };
    let mut detector = Csp::new(Form::Exact, options);
    let mut racy = Racy::default();
    events.iter().for_each(|event| detector.step(event, &mut racy));
    detector.finish(&mut racy);
    (racy, detector.searched().to_vec())
}

fn kept(events: &[Event]) -> Record {
    let mut record = Record::default();
    events.iter().for_each(|event| record.take(event));
    record
}

/// What the models of a trace cost.
struct Cost {
    name: String,
    events: usize,
    operations: usize,
    touches: usize,
    searched: Vec<usize>,
    /// States of the program of the first model, if the engine was asked about it; `None`: too many.
    product: Option<Option<usize>>,
}

fn cost(name: &str, events: &[Event]) -> Cost {
    let models = Models::new(kept(events), Form::Exact);
    let (operations, touches) = (models.operations(), models.touches());
    let asked = operations + touches <= MOST;
    let first = models.variables().first().copied().filter(|_| asked);
    let product = first.map(|variable| product(&models.script(variable).expect("it is accessed").text));
    let (_, searched) = search(events, u32::MAX);
    Cost { name: name.to_owned(), events: events.len(), operations, touches, searched, product }
}

/// How many states the program of a model has; `None` if they are too many.
fn product(text: &str) -> Option<usize> {
    let system = text.split_once("SYSTEM(a, b, v) = (").expect("the model's system").1;
    let program = system.split_once(' ').expect("its program").0;
    // All of it is hidden, so that nothing ends the search.
    let script = cspm::read(&format!("{text}assert STOP [T= {program} \\ Events\n")).expect("the model");
    let mut model = cspm::model(&script).expect("the model");
    let asked = model.assertions.last().expect("the last assertion");
    let limits = Limits { memory: MEMORY, jobs: 1 };
    let outcome =
        refine(&mut model.terms, asked.specification, asked.implementation, &limits).expect("it is finite");
    (outcome.verdict == Verdict::Holds).then_some(outcome.states)
}

/// The median and the greatest of some numbers.
fn spread(mut numbers: Vec<usize>) -> (usize, usize) {
    numbers.sort_unstable();
    let middle = numbers.len().saturating_sub(1) / 2;
    (numbers.get(middle).copied().unwrap_or(0), numbers.last().copied().unwrap_or(0))
}

/// The row of some traces.
fn group(name: &str, costs: &[&Cost]) -> String {
    let all = |number: fn(&Cost) -> usize| spread(costs.iter().map(|cost| number(cost)).collect());
    let ((events, most_events), (touches, most_touches)) =
        (all(|cost| cost.events), all(|cost| cost.touches));
    let searched: Vec<usize> = costs.iter().flat_map(|cost| cost.searched.iter().copied()).collect();
    let decided = searched.iter().filter(|&&states| states == 0).count();
    let visited: Vec<usize> = searched.iter().copied().filter(|&states| states > 0).collect();
    let (searches, (median, most)) = (visited.len(), spread(visited));
    let products: Vec<Option<usize>> = costs.iter().filter_map(|cost| cost.product).collect();
    let plain = match products.len() {
        0 => "–".to_owned(),
        asked => {
            let counted: Vec<usize> = products.iter().copied().flatten().collect();
            let more = asked - counted.len();
            let more = if more == 0 { String::new() } else { format!("; too many in {more}") };
            match spread(counted) {
                (0, _) => format!("too many in {asked}"),
                (median, most) => format!("{median}, {most}{more}"),
            }
        }
    };
    format!(
        "| {name} | {} | {events}, {most_events} | {touches}, {most_touches} | {decided} | {searches} | {median}, {most} | {plain} |",
        costs.len()
    )
}

/// The rows of traces, by how many operations their models have.
fn groups(costs: &[Cost]) -> Vec<String> {
    let ends = GROUPS[1..].iter().copied().chain([usize::MAX]);
    let rows = GROUPS.iter().zip(ends).filter_map(|(&from, end)| {
        let inside = costs.iter().filter(|cost| (from..end).contains(&cost.operations));
        let inside: Vec<&Cost> = inside.collect();
        let name =
            if end == usize::MAX { format!("{from} and more") } else { format!("{from} to {}", end - 1) };
        (!inside.is_empty()).then(|| group(&name, &inside))
    });
    rows.collect()
}

fn print(costs: &[Cost]) {
    for Cost { name, events, operations, touches, searched, product } in costs {
        let (median, most) = spread(searched.iter().copied().filter(|&states| states > 0).collect());
        println!(
            "{name}: {events} events, {operations} operations and {touches} on memory, {} pairs, states {median}, {most}, product {product:?}",
            searched.len()
        );
    }
}

/// Fails unless the document has these rows.
fn documented(rows: &[String]) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csp-witness.md");
    let text = fs::read_to_string(document).expect("the document");
    let lacking: Vec<&String> = rows.iter().filter(|row| !text.lines().any(|line| line == *row)).collect();
    assert!(lacking.is_empty(), "docs/csp-witness.md lacks {lacking:#?}");
}

/// The public traces, by their names; `None` if they are not here.
fn public() -> Option<Vec<(String, Vec<Event>)>> {
    let shared = shared()?;
    let mut all = Vec::new();
    for name in traces(&shared) {
        let Some(bytes) = bytes(&shared.join(&name)) else {
            println!("skipped: needs zstd");
            return None;
        };
        // One is of a form that nobody here reads.
        let name = name.trim_end_matches(".zst");
        all.extend(events(name, bytes).map(|events| (name.to_owned(), events)));
    }
    Some(all)
}

fn full() -> bool {
    std::env::var_os("DEADHEAT_ACCEPT").is_some_and(|count| count == "full")
}

/// The search visits fewer states than there are wherever these can be counted and are more than a few.
fn fewer(costs: &[Cost]) {
    for cost in costs {
        let most = cost.searched.iter().copied().max().unwrap_or(0);
        let fewer = cost.product.flatten().is_none_or(|product| most <= product);
        assert!(fewer, "{}: {most} states of {:?}", cost.name, cost.product);
    }
}

#[test]
fn states_of_scenarios() {
    if !have("gcc") {
        return;
    }
    let cost = |scenario: &_| {
        let common::scenario::Scenario { name, .. } = scenario;
        let folder = folder("claims", name);
        record(scenario, &folder);
        let mut events = Vec::new();
        let mut trace = Trace::open(folder.join("t.dh")).expect("the recording");
        trace.drive(|event| events.push(*event)).expect("the recording is whole");
        cost(name, &events)
    };
    let costs: Vec<Cost> = scenarios("prediction").iter().map(cost).collect();
    print(&costs);
    groups(&costs).iter().for_each(|row| println!("{row}"));
    fewer(&costs);
    assert_eq!(costs.len(), 20);
}

#[test]
fn states_of_public_traces() {
    let Some(public) = public() else { return };
    let some = public.iter().filter(|(_, events)| full() || events.len() <= SHORT);
    let costs: Vec<Cost> = some.map(|(name, events)| cost(name, events)).collect();
    print(&costs);
    let rows = groups(&costs);
    rows.iter().for_each(|row| println!("{row}"));
    fewer(&costs);
    assert!(costs.len() > 30, "{} traces", costs.len());
    if full() {
        documented(&rows);
    }
}

#[test]
fn windows_of_public_traces() {
    let Some(public) = public() else { return };
    let mut rows = Vec::new();
    let (mut whole_sum, mut sums) = (0, [0; WINDOWS.len()]);
    for (name, events) in &public {
        let length = kept(events).len();
        if length <= WINDOWS[0] as usize || !full() && length > SHORT {
            continue;
        }
        let (whole, _) = search(events, u32::MAX);
        assert_eq!(whole.undecided, 0, "{name}");
        let mut cells = vec![name.clone(), length.to_string(), whole.later.len().to_string()];
        whole_sum += whole.later.len();
        for (window, sum) in WINDOWS.into_iter().zip(&mut sums) {
            let found = if window as usize >= length { None } else { Some(search(events, window).0) };
            let count = found.as_ref().map_or(whole.later.len(), |found| found.later.len());
            // What is found in a window is a race of the run.
            assert!(found.is_none_or(|found| found.later.is_subset(&whole.later)), "{name}, {window}");
            *sum += count;
            cells.push(if window as usize >= length { "–".to_owned() } else { count.to_string() });
        }
        rows.push(format!("| {} |", cells.join(" | ")));
    }
    let sums: Vec<String> = sums.iter().map(usize::to_string).collect();
    let sum = format!("| all | | {whole_sum} | {} |", sums.join(" | "));
    rows.iter().chain([&sum]).for_each(|row| println!("{row}"));
    assert!(rows.len() >= 8, "{} rows", rows.len());
    documented(&rows);
    if full() {
        documented(&[sum]);
    }
}

/// Two accesses that race, further apart than a window of two events.
#[test]
fn the_command_line_sets_the_window() {
    let folder = folder("claims", "window");
    let text = "T0|fork(T1)|1\nT0|w(x)|2\nT1|w(y)|3\nT1|w(y)|4\nT1|w(y)|5\nT0|r(y)|6\nT1|w(x)|7\n";
    fs::write(folder.join("t.std"), text).expect("written");
    let told = |window: &str| {
        let mut analyze = deadheat();
        analyze.args(["analyze", "t.std", "--by", "csp", "--window", window, "--format", "json"]);
        let analyzed = output(&mut analyze, &folder);
        let text = String::from_utf8_lossy(&analyzed.stdout).into_owned();
        (analyzed.status.code(), text.matches("\"type\":\"race\"").count())
    };
    assert_eq!(told("100"), (Some(0), 2));
    assert_eq!(told("2"), (Some(0), 1));
    assert_eq!(told("0"), (Some(2), 0));
}
