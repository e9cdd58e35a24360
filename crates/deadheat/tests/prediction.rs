//! The scenarios of `spec/programs/prediction`: races that the run at hand does not show.
//!
//! Each is compiled by gcc and by clang 19, recorded once in the order that the file beside it sets from outside, and judged by
//! each analysis of which it says something: `//! told by NAME: 1, 2` are the races, by the numbers of their marks
//! (`//~ race 1: write`), that the analysis finds in that run, `none` that it finds none. What is marked is a
//! race in truth.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use common::{COMPILERS, deadheat, folder, have, ok, output, said, with};
use libtest_mimic::{Arguments, Failed, Trial};

/// How many there are to be, and how many races in them.
const SCENARIOS: usize = 20;
const RACES_AT_LEAST: usize = 14;

/// One access: its line and what it does.
type Side = (u64, String);

/// A scenario.
struct Scenario {
    name: String,
    source: PathBuf,
    /// By the number of a mark: the two accesses.
    races: BTreeMap<u32, [Side; 2]>,
    /// By analysis: the numbers of the races that it tells.
    told: BTreeMap<String, BTreeSet<u32>>,
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let scenarios = scenarios();
    let mut trials = vec![];
    let races: usize = scenarios.iter().map(|scenario| scenario.races.len()).sum();
    let count = scenarios.len();
    trials.push(Trial::test("prediction/there-are-enough", move || {
        let enough = count == SCENARIOS && races >= RACES_AT_LEAST;
        if enough { Ok(()) } else { Err(format!("{count} scenarios with {races} races").into()) }
    }));
    for scenario in scenarios {
        for compilers in COMPILERS {
            let (name, source) = (scenario.name.clone(), scenario.source.clone());
            let title = format!("prediction/{name}/{}", compilers.0);
            trials.push(Trial::test(title, move || check(&read(&name, &source), compilers)));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn scenarios() -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs/prediction");
    let entries = fs::read_dir(&root).expect("the scenarios");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the scenarios can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    let name = |source: &Path| source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    sources.iter().map(|source| read(&name(source), source)).collect()
}

fn read(name: &str, source: &Path) -> Scenario {
    let text = fs::read_to_string(source).expect("a scenario can be read");
    let mut sides: BTreeMap<u32, Vec<Side>> = BTreeMap::new();
    for (number, line) in (1..).zip(text.lines()) {
        let marks = line.split_once("//~ ").map_or("", |(_, marks)| marks);
        for mark in marks.split(", ").filter(|mark| !mark.is_empty()) {
            let (race, operation) = mark.split_once(": ").expect("an operation behind the number");
            let race = race.strip_prefix("race ").and_then(|number| number.parse().ok());
            let race = race.unwrap_or_else(|| panic!("{name}:{number}: {mark}"));
            sides.entry(race).or_default().push((number, operation.to_owned()));
        }
    }
    let pair = |(number, mut sides): (u32, Vec<Side>)| {
        sides.sort();
        (
            number,
            <[Side; 2]>::try_from(sides).unwrap_or_else(|_| panic!("{name}: race {number} has two marks")),
        )
    };
    let races: BTreeMap<_, _> = sides.into_iter().map(pair).collect();
    let told = text.lines().filter_map(|line| line.strip_prefix("//! told by "));
    let told = told.map(|line| {
        let (analysis, numbers) = line.split_once(": ").expect("races behind the analysis");
        let numbers = numbers.split(", ").filter(|number| *number != "none");
        let numbers: BTreeSet<u32> = numbers.map(|number| number.parse().expect("a number")).collect();
        assert!(numbers.iter().all(|number| races.contains_key(number)), "{name}: {line}");
        (analysis.to_owned(), numbers)
    });
    Scenario { name: name.to_owned(), source: source.to_owned(), told: told.collect(), races }
}

fn check(scenario: &Scenario, compilers: (&'static str, &'static str)) -> Result<(), Failed> {
    if !have(compilers.0) {
        return Ok(());
    }
    let Scenario { name, source, races, told } = scenario;
    let folder = folder("prediction", &format!("{name}-{}", compilers.0));
    let order = source.with_extension("order");
    let mut build = with(compilers);
    ok(build.args(["cc", "-O1", "-g", "-pthread", "-o", "p"]).arg(source), &folder);
    let mut record = deadheat();
    record
        .args(["record", "-o", "t.dh", "--order-patience", "300s", "--order"])
        .arg(&order)
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
    races
        .map(|race| {
            let mut sides = [0, 1].map(|side| {
                let access = &race["accesses"][side];
                let line = access["frames"][0]["line"].as_u64().expect("a line");
                let atomic = if access["atomic"] == true { "atomic " } else { "" };
                (line, format!("{atomic}{}", access["op"].as_str().expect("an operation")))
            });
            sides.sort();
            sides
        })
        .collect()
}
