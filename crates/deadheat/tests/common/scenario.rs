//! Programs whose races are marked (`//~ race 1: write`), to be run in the order of the file beside them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{deadheat, ok, said, with};

/// One access: its line and what it does.
pub(crate) type Side = (u64, String);

/// A scenario.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) source: PathBuf,
    /// By the number of a mark: the two accesses.
    pub(crate) races: BTreeMap<u32, [Side; 2]>,
    /// By analysis: the numbers of the races that it tells (`//! told by NAME: 1, 2`).
    pub(crate) told: BTreeMap<String, BTreeSet<u32>>,
}

impl Scenario {
    /// The order in which it is to be watched.
    pub(crate) fn order(&self) -> PathBuf {
        self.source.with_extension("order")
    }

    /// Its races.
    pub(crate) fn pairs(&self) -> BTreeSet<[Side; 2]> {
        self.races.values().cloned().collect()
    }
}

/// All scenarios of a folder of `spec/programs`.
pub(crate) fn scenarios(folder: &str) -> Vec<Scenario> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs").join(folder);
    let entries = fs::read_dir(&root).expect("the scenarios");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("the scenarios can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "c"))
        .collect();
    sources.sort();
    sources.iter().map(|source| read(source)).collect()
}

/// Reads a scenario.
pub(crate) fn read(source: &Path) -> Scenario {
    let name = source.file_stem().unwrap_or_default().to_string_lossy().into_owned();
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
        let sides = <[Side; 2]>::try_from(sides);
        (number, sides.unwrap_or_else(|_| panic!("{name}: race {number} has two marks")))
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
    Scenario { told: told.collect(), name, source: source.to_owned(), races }
}

/// Builds a scenario with gcc, and records it in its order: `t.dh` in the folder.
pub(crate) fn record(scenario: &Scenario, folder: &Path) {
    let name = &scenario.name;
    fs::copy(&scenario.source, folder.join(format!("{name}.c"))).expect("the scenario");
    let mut build = with(("gcc", "g++"));
    ok(build.args(["cc", "-O1", "-g", "-pthread", "-o", "p"]).arg(format!("{name}.c")), folder);
    let mut record = deadheat();
    record.args(["record", "-o", "t.dh", "--order-patience", "300s", "--order"]);
    let recorded = ok(record.arg(scenario.order()).args(["--", "./p"]), folder);
    assert!(!said(&recorded).contains("warning"), "the order was kept\n{}", said(&recorded));
}

/// The two accesses of a race of a report, as marks have them.
pub(crate) fn pair(race: &Value) -> [Side; 2] {
    let mut sides = [0, 1].map(|side| {
        let access = &race["accesses"][side];
        let line = access["frames"][0]["line"].as_u64().expect("a line");
        let atomic = if access["atomic"] == true { "atomic " } else { "" };
        (line, format!("{atomic}{}", access["op"].as_str().expect("an operation")))
    });
    sides.sort();
    sides
}
