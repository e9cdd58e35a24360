//! Alarms of `lockset` with and without joins: Letko's claim is that they take away false ones.
//!
//! `docs/csp-witness.md` has the numbers; these tests print them and hold the document to them. The public traces are those of
//! `DEADHEAT_SHARED` (by default `../shared` beside the workspace). Of the programs of `spec/programs` one of 21 is
//! looked at, all with `DEADHEAT_ACCEPT=full`, and then the document, too. How many correct programs
//! have an alarm is counted over all alone: of what changes hands by the order of locks, or again and again by another one, there is one, which no rule forgives.

#[path = "programs/build.rs"]
#[allow(dead_code, reason = "one compiler is enough here")]
mod build;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "only what is marked matters here")]
mod spec;

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use build::{Compiler, Optimisation};
use common::public::{bytes, events, shared, traces};
use common::{deadheat, folder, have};
use deadheat_core::event::Event;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::hb::Hb;
use deadheat_detect::lockset::Lockset;
use deadheat_detect::lockset::state::Rules;
use deadheat_detect::reversal::Reversal;
use deadheat_detect::{Detector, Options};
use deadheat_trace::Trace;
use spec::Program;

/// Without joins, with nothing but joins, and with all that the analysis has.
const WAYS: [(&str, Rules); 3] = [
    ("`lockset=eraser`", Rules::ERASER),
    ("joins alone", Rules { joins: true, ..Rules::ERASER }),
    ("`lockset`", Rules::LETKO),
];

/// One of so many programs is looked at; an odd number, as a program and its mended twin take turns.
const SAMPLE: usize = 21;

/// The variables of which races are told, by their addresses.
#[derive(Default)]
struct Variables(BTreeSet<u64>);

impl RaceSink for Variables {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.0.insert(race.address);
    }
}

fn variables(mut detector: impl Detector, events: &[Event]) -> BTreeSet<u64> {
    let mut sink = Variables::default();
    events.iter().for_each(|event| detector.step(event, &mut sink));
    detector.finish(&mut sink);
    sink.0
}

/// The variables that race for sure.
fn sure(events: &[Event]) -> BTreeSet<u64> {
    let (hb, reversal) = (Hb::new(Options::default()), Reversal::new(Options::default()));
    variables(hb, events).union(&variables(reversal, events)).copied().collect()
}

/// The variables of which each way raises an alarm.
fn alarms(events: &[Event]) -> [BTreeSet<u64>; WAYS.len()] {
    WAYS.map(|(_, rules)| variables(Lockset::new(rules, Options::default()), events))
}

/// Fails unless the document has rows that begin like this.
fn documented(rows: &[String]) {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/csp-witness.md");
    let text = fs::read_to_string(document).expect("the document");
    let lacks = |row: &&String| !text.lines().any(|line| line.starts_with(row.as_str()));
    let lacking: Vec<&String> = rows.iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "docs/csp-witness.md lacks {lacking:#?}");
}

/// What races for sure is what happened unordered or comes with a reordering of the run: what `hb` or `sync-reversal` tells.
#[test]
fn public_traces() {
    let Some(shared) = shared() else { return };
    let mut rows = Vec::new();
    let mut sums = [0; 2 + 3 * WAYS.len()];
    for name in traces(&shared) {
        let Some(bytes) = bytes(&shared.join(&name)) else { return println!("skipped: needs zstd") };
        let Some(events) = events(&name, bytes) else {
            println!("{name}: not a trace of a form that is read");
            continue;
        };
        let sure = sure(&events);
        let mut counts = vec![events.len(), sure.len()];
        for alarms in alarms(&events) {
            counts.extend([alarms.len(), alarms.difference(&sure).count(), sure.difference(&alarms).count()]);
        }
        sums.iter_mut().zip(&counts).for_each(|(sum, count)| *sum += count);
        rows.push(of_variables(name.trim_end_matches(".zst"), &counts));
    }
    rows.push(of_variables("all", &sums));
    rows.iter().for_each(|row| println!("{row}"));
    assert!(rows.len() > 50, "{} rows", rows.len());
    documented(&rows);
}

/// Events and variables that race for sure; of each way the alarms, those of other variables, and the variables that it misses.
fn of_variables(name: &str, counts: &[usize]) -> String {
    let (head, ways) = counts.split_at(2);
    let cells = head.iter().map(usize::to_string);
    let ways = ways.chunks(3).map(|way| format!("{}, {}, {}", way[0], way[1], way[2]));
    row(name, &cells.chain(ways).collect::<Vec<_>>())
}

fn row(name: &str, cells: &[String]) -> String {
    format!("| {name} | {} |", cells.join(" | "))
}

/// The correct programs, or the racy ones: how many, and in how many of them each way raises an alarm.
#[derive(Default)]
struct Kind {
    programs: usize,
    alarmed: [usize; WAYS.len()],
}

#[test]
fn programs() {
    if !have(Compiler::Clang.c()) {
        return;
    }
    let full = std::env::var_os("DEADHEAT_ACCEPT").is_some_and(|count| count == "full");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs");
    let programs = spec::files(&root).into_iter().map(|path| Program::read(&path));
    let openmp = |program: &Program| program.flags.iter().any(|flag| flag == "-fopenmp");
    let programs = programs.filter(|program| program.is_for(Compiler::Clang) && !openmp(program));
    let (mut correct, mut racy) = (Kind::default(), Kind::default());
    for program in programs.step_by(if full { 1 } else { SAMPLE }) {
        let alarmed = alarms(&recorded(&program)).map(|alarms| !alarms.is_empty());
        println!("{}: {alarmed:?}", program.name);
        assert!(
            alarmed.is_sorted_by(|before, after| before >= after),
            "{}: a rule adds an alarm",
            program.name
        );
        let is_correct = program.races.is_empty() && program.unmet.is_empty();
        let kind = if is_correct { &mut correct } else { &mut racy };
        kind.programs += 1;
        for (sum, alarmed) in kind.alarmed.iter_mut().zip(alarmed) {
            *sum += usize::from(alarmed);
        }
    }
    let mut rows = Vec::new();
    for ((way, _), (correctly, racily)) in WAYS.iter().zip(correct.alarmed.iter().zip(racy.alarmed)) {
        let of_correct = row(way, &[correct.programs, *correctly].map(|count| count.to_string()));
        println!("{of_correct} {} | {} |", racy.programs, racy.programs - racily);
        rows.push(of_correct);
    }
    // In which racy programs there is an alarm depends on the order of the run where the program leaves that open.
    if full {
        documented(&rows);
    }
}

/// Builds a program and records one run of it.
fn recorded(program: &Program) -> Vec<Event> {
    let folder = folder("alarms", &program.name.replace('/', "-"));
    let built = folder.join("built");
    let executable = build::build(program, Compiler::Clang, Optimisation::None, &built)
        .unwrap_or_else(|error| panic!("{}: {error}", program.name));
    let mut record = deadheat();
    record.args(["record", "-o", "../t.dh", "--timeout", "60", "--"]).arg(&executable);
    let ended = common::output(&mut record, &built);
    assert!(folder.join("t.dh").is_file(), "{}: {}", program.name, common::said(&ended));
    let mut events = Vec::new();
    let mut trace = Trace::open(folder.join("t.dh")).expect("a recording");
    trace.drive(|event| events.push(*event)).unwrap_or_else(|error| panic!("{}: {error}", program.name));
    events
}
