//! The scenarios of `spec/programs/prediction`: races that the run at hand does not show.
//!
//! Each is compiled by gcc and by clang 19, recorded once in the order that the file beside it sets from outside, and judged by
//! each analysis of which it says something: `//! told by NAME: 1, 2` are the races, by the numbers of their marks
//! (`//~ race 1: write`), that the analysis finds in that run, `none` that it finds none. What is marked is a
//! race in truth.

mod common;

use std::collections::BTreeSet;
use std::path::Path;

use common::scenario::{Scenario, Side, pair, read, scenarios};
use common::{COMPILERS, deadheat, folder, have, ok, output, said, with};
use libtest_mimic::{Arguments, Failed, Trial};

/// How many there are to be, and how many races in them.
const SCENARIOS: usize = 20;
const RACES_AT_LEAST: usize = 14;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let scenarios = scenarios("prediction");
    let mut trials = vec![];
    let races: usize = scenarios.iter().map(|scenario| scenario.races.len()).sum();
    let count = scenarios.len();
    trials.push(Trial::test("prediction/there-are-enough", move || {
        let enough = count == SCENARIOS && races >= RACES_AT_LEAST;
        if enough { Ok(()) } else { Err(format!("{count} scenarios with {races} races").into()) }
    }));
    for scenario in scenarios {
        for compilers in COMPILERS {
            let source = scenario.source.clone();
            let title = format!("prediction/{}/{}", scenario.name, compilers.0);
            trials.push(Trial::test(title, move || check(&read(&source), compilers)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn check(scenario: &Scenario, compilers: (&'static str, &'static str)) -> Result<(), Failed> {
    if !have(compilers.0) {
        return Ok(());
    }
    let Scenario { name, source, races, told } = scenario;
    let folder = folder("prediction", &format!("{name}-{}", compilers.0));
    let mut build = with(compilers);
    ok(build.args(["cc", "-O1", "-g", "-pthread", "-o", "p"]).arg(source), &folder);
    let mut record = deadheat();
    record
        .args(["record", "-o", "t.dh", "--order-patience", "300s", "--order"])
        .arg(scenario.order())
        .args(["--", "./p"]);
    let recorded = ok(&mut record, &folder);
    assert!(!said(&recorded).contains("warning"), "the order was kept\n{}", said(&recorded));
    assert!(!told.is_empty(), "{name}: says what some analysis tells");
    for (analysis, numbers) in told {
        let wanted: BTreeSet<&[Side; 2]> = numbers.iter().map(|number| &races[number]).collect();
        let found = found(&folder, analysis);
        if found.iter().collect::<BTreeSet<_>>() != wanted {
            return Err(format!("{name}: {analysis} tells {found:?}, not {wanted:?}").into());
        }
    }
    Ok(())
}

/// What an analysis finds in the recording of a folder.
fn found(folder: &Path, analysis: &str) -> BTreeSet<[Side; 2]> {
    let mut analyze = deadheat();
    analyze.args(["analyze", "t.dh", "--by", analysis, "--format", "json", "--fail-on", "proved"]);
    let analyzed = output(&mut analyze, folder);
    assert!(analyzed.status.success(), "{}", said(&analyzed));
    let lines = String::from_utf8(analyzed.stdout).expect("JSON is UTF-8");
    let lines = lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
    let races = lines.filter(|line: &serde_json::Value| line["type"] == "race");
    races.map(|race| pair(&race)).collect()
}
