//! The models of traces: what `deadheat model` writes, `deadheat csp check` finds in, and `deadheat analyze` tells of the same
//! variables.
//!
//! The traces: facts of `spec/traces`, the scenarios of `spec/programs/prediction` recorded in their orders (with semaphores,
//! barriers, condition variables and locks for reading), and public ones. For each variable of each, as the exact model and as
//! the paper's: the text is read by our own reader; each assertion fails or holds as the search says that is made for such
//! models; and an analysis tells a race on the variable if and only if one fails. `DEADHEAT_CSPM`, as in `front_end` of
//! `deadheat-csp`, is the command line of another front end, with `{}` for the file, that has to take each text.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::facts::facts_as_std;
use common::public::{bytes, shared};
use common::scenario::{record, scenarios};
use common::{deadheat, folder, have, ok, output, said};
use deadheat_core::event::Event;
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_csp::cspm;
use deadheat_detect::csp::{Form, Models};
use deadheat_detect::run::Record;
use deadheat_detect::{Options, registry};
use deadheat_trace::Trace;

/// Each form of the model, its analysis, and the option for it.
const FORMS: [(Form, &str, Option<&str>); 2] =
    [(Form::Exact, "csp", None), (Form::Paper, "csp=paper", Some("--paper"))];

/// Public traces whose products are small enough for the general engine.
const PUBLIC: [&str; 14] = [
    "rapidbin/Bensalem.data.zst",
    "rapidbin/Bensalem_dlf.data.zst",
    "rapidbin/Deadlock.data.zst",
    "rapidbin/StringBuffer.data.zst",
    "rapidbin/Transfer.data.zst",
    "real/account.std.zst",
    "real/freiburg_Bensalem.std.zst",
    "real/mergesort.std.zst",
    "shbee/account.log.zst",
    "shbee/array.log.zst",
    "shbee/critical.log.zst",
    "shbee/testrwd.log",
    "small/16_three_threads_rf_chain.std",
    "small/19_csp_t1.std",
];

/// The variables that an analysis tells races of.
#[derive(Default)]
struct Told(BTreeSet<u64>);

impl RaceSink for Told {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.0.insert(race.address);
    }

    fn undecided(&mut self, pairs: u64) {
        panic!("no memory for {pairs} pairs");
    }
}

/// How much was compared.
#[derive(Default)]
struct Count {
    traces: usize,
    models: usize,
    assertions: usize,
    fail: usize,
}

impl Count {
    /// Compares all that is said of a trace.
    fn compare(&mut self, trace: &Path, folder: &Path) {
        let mut events = Vec::new();
        let mut opened = Trace::open(trace).expect("the trace");
        opened.drive(|event| events.push(*event)).expect("the trace is whole");
        self.traces += 1;
        for (form, analysis, option) in FORMS {
            let mut record = Record::default();
            events.iter().for_each(|event| record.take(event));
            let models = Models::new(record, form);
            let mut racy = BTreeSet::new();
            for variable in models.variables() {
                let file = folder.join("model.csp");
                let mut write = deadheat();
                write.arg("model").arg(trace).args(["--variable", &format!("{variable:#x}")]).args(option);
                ok(write.arg("-o").arg(&file), folder);
                if self.verdicts(&models, variable, &file) {
                    racy.insert(variable);
                }
            }
            assert_eq!(told(analysis, &events), racy, "{analysis} of {}", trace.display());
            let reported = reported(analysis, trace, folder);
            let fits = if racy.is_empty() { reported == 0 } else { (1..=racy.len()).contains(&reported) };
            assert!(fits, "{analysis} of {}: {reported} of {racy:?}", trace.display());
        }
    }

    /// Compares the verdicts of the general engine on a file with those of the search; whether one fails.
    fn verdicts(&mut self, models: &Models, variable: u64, file: &Path) -> bool {
        let text = fs::read_to_string(file).expect("the model was written");
        let script = models.script(variable).expect("the variable is accessed");
        assert_eq!(text, script.text);
        let read = cspm::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
        assert_eq!(cspm::read(&read.to_string()).expect("our own text").to_string(), read.to_string());
        let mut check = deadheat();
        let checked = output(check.args(["csp", "check"]).arg(file), Path::new("."));
        let lines = String::from_utf8_lossy(&checked.stdout).into_owned();
        let verdicts = lines.lines().filter(|line| !line.starts_with(' '));
        let verdicts: Vec<bool> = verdicts.map(fails).collect();
        assert_eq!(verdicts.len(), script.asked.len(), "{}", said(&checked));
        let fail = script.asked.iter().zip(&verdicts).filter(|(_, fails)| **fails);
        let fail: BTreeSet<_> = fail.map(|(asked, _)| *asked).collect();
        assert_eq!(checked.status.code(), Some(i32::from(!fail.is_empty())), "{}", said(&checked));
        assert_eq!(fail, models.races(variable).expect("there is memory"), "{text}\n{lines}");
        if let Some(command) = front_end() {
            let taken = ask(&command, file);
            assert!(taken.status.success(), "{text}\n{}", said(&taken));
        }
        self.models += 1;
        self.assertions += verdicts.len();
        self.fail += fail.len();
        !fail.is_empty()
    }

    fn print(&self, of: &str) {
        let Self { traces, models, assertions, fail } = self;
        println!("{of}: {traces} traces, {models} models, {assertions} assertions, of which {fail} fail");
        match front_end() {
            Some(_) => println!("another front end took the {models} models"),
            None => println!("skipped: needs DEADHEAT_CSPM for another front end"),
        }
    }
}

/// Whether the assertion fails that a line is about.
fn fails(line: &str) -> bool {
    assert!(line.ends_with(": fails") || line.ends_with(": holds"), "{line}");
    line.ends_with(": fails")
}

/// The variables that an analysis tells races of.
fn told(analysis: &str, events: &[Event]) -> BTreeSet<u64> {
    let mut detector = (registry::find(analysis).expect("it is registered").new)(Options::default());
    let mut told = Told::default();
    events.iter().for_each(|event| detector.step(event, &mut told));
    detector.finish(&mut told);
    told.0
}

/// How many variables the command line names with races; those with the same places count once.
fn reported(analysis: &str, trace: &Path, folder: &Path) -> usize {
    let mut analyze = deadheat();
    analyze.arg("analyze").arg(trace).args(["--by", analysis, "--format", "json", "--fail-on", "proved"]);
    let analyzed = ok(&mut analyze, folder);
    let lines = String::from_utf8(analyzed.stdout).expect("JSON is UTF-8");
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let races = lines.filter(|line: &serde_json::Value| line["type"] == "race");
    races.map(|race| race["accesses"][1]["address"].to_string()).collect::<BTreeSet<_>>().len()
}

fn front_end() -> Option<String> {
    std::env::var("DEADHEAT_CSPM").ok()
}

/// Asks another front end whether it takes a text.
fn ask(command: &str, file: &Path) -> Output {
    let command = command.replace("{}", &format!("'{}'", file.display()));
    Command::new("sh").args(["-c", &command]).output().expect("sh can be run")
}

#[test]
fn facts() {
    let folder = folder("models", "facts");
    let mut count = Count::default();
    for (_, text) in facts_as_std() {
        let trace = folder.join("t.std");
        fs::write(&trace, text).expect("written");
        count.compare(&trace, &folder);
    }
    count.print("facts");
    assert!(count.traces >= 25 && count.fail >= 25 && count.assertions > count.fail + 10);
}

#[test]
fn recorded_scenarios() {
    if !have("gcc") {
        return;
    }
    let mut count = Count::default();
    for scenario in scenarios("prediction") {
        let folder = folder("models", &scenario.name);
        record(&scenario, &folder);
        count.compare(&folder.join("t.dh"), &folder);
    }
    count.print("scenarios");
    assert!(count.traces == 20 && count.fail >= 25 && count.assertions > count.fail + 10);
}

#[test]
fn public_traces() {
    let Some(shared) = shared() else { return };
    let folder = folder("models", "public");
    let mut count = Count::default();
    for name in PUBLIC {
        let Some(bytes) = bytes(&shared.join(name)) else { return println!("skipped: needs zstd") };
        let trace: PathBuf = folder.join(name.trim_end_matches(".zst").replace('/', "-"));
        fs::write(&trace, bytes).expect("written");
        count.compare(&trace, &folder);
    }
    count.print("public traces");
    assert!(count.traces == PUBLIC.len() && count.fail >= 25 && count.assertions > count.fail + 10);
}

#[test]
fn another_front_end_does_not_take_anything() {
    let Some(command) = front_end() else {
        return println!("skipped: needs DEADHEAT_CSPM, the command line of another front end");
    };
    let file = folder("models", "wrong").join("wrong.csp");
    for wrong in ["P = -> STOP\n", "channel a\nP = a -> Q\n", "channel a\nassert STOP [T= a\n"] {
        fs::write(&file, wrong).expect("written");
        assert!(!ask(&command, &file).status.success(), "it takes {wrong}");
    }
}
