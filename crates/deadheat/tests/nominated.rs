//! Hunts that begin with what analyses predict: the scenarios of `spec/programs/prediction`, each watched once in an order that hides
//! its races.
//!
//! Each race that is marked is proved within [`SOON`] re-runs, and no other is. Between the holds of a hunt the threads run as
//! the scheduler likes, so a single hunt may be the odd one that misses a pair: a scenario fails if [`HUNTS`] in a row do. A
//! proof that no mark allows is a fault at once.
//!
//! `spec/programs/nomination/last_box.c` has a race that the conflicts of the watched run do not show: they have one
//! occasion for the two places, the first, which cannot meet, however often it is tried. The prediction names the one that can.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::hunting::{lines, run};
use common::scenario::{Scenario, Side, pair, read, scenarios};
use common::{COMPILERS, folder, have, ok, said, with};
use libtest_mimic::{Arguments, Failed, Trial};

/// A race is to be proved by so many re-runs.
const SOON: &str = "2";
/// How many hunts in a row may miss one.
const HUNTS: usize = 3;
/// So many re-runs are too few for the conflicts alone, in the scenario that needs a prediction.
const MANY: &str = "10";

type Compilers = (&'static str, &'static str);

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    let mut trials = vec![];
    for compilers in COMPILERS.into_iter().filter(|compilers| have(compilers.0)) {
        for scenario in scenarios("prediction") {
            let title = format!("nominated/{}/{}", scenario.name, compilers.0);
            trials.push(Trial::test(title, move || check(&scenario, compilers)));
        }
        for (title, check) in [
            ("conflicts_alone_do_not_show_the_last_box", conflicts_alone as fn(&LastBox) -> _),
            ("the_last_box_is_predicted_and_proved", predicted),
        ] {
            let check = move || check(&LastBox::built(title, compilers));
            trials.push(Trial::test(format!("nominated/{title}/{}", compilers.0), check));
        }
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// What a hunt of the scenario that is built in a folder proves.
fn hunt(scenario: &Scenario, folder: &Path, options: &[&str]) -> Result<BTreeSet<[Side; 2]>, Failed> {
    let order = scenario.order();
    let mut words = vec!["hunt", "-j", "1", "--progress", "never", "-o", "h", "--order-patience", "300s"];
    words.extend(["--order", order.to_str().expect("a path of text")]);
    words.extend(options);
    words.extend(["--", "./p"]);
    let hunted = run(folder, &words);
    assert!(!said(&hunted).contains("the order was given up"), "{}", said(&hunted));
    let report = lines(&folder.join("h/report.jsonl"));
    let proved = report.iter().filter(|line| line["type"] == "race" && line["grade"] == "proved");
    let proved: BTreeSet<_> = proved.map(pair).collect();
    let code = if proved.is_empty() { 0 } else { 66 };
    assert_eq!(hunted.status.code(), Some(code), "{}", said(&hunted));
    match proved.iter().find(|pair| !scenario.pairs().contains(*pair)) {
        Some(pair) => Err(format!("proved, but not marked: {pair:?}\n{}", said(&hunted)).into()),
        None => Ok(proved),
    }
}

/// Hunts until all races of a scenario were proved by one hunt, if that is soon.
fn hunt_all(scenario: &Scenario, folder: &Path, options: &[&str]) -> Result<(), Failed> {
    let mut missed = vec![];
    for _ in 0..HUNTS {
        let proved = hunt(scenario, folder, options)?;
        if proved == scenario.pairs() {
            return Ok(());
        }
        missed.push(proved);
    }
    Err(format!("{}: {:?} are marked, proved were {missed:?}", scenario.name, scenario.pairs()).into())
}

fn built(scenario: &Scenario, name: &str, compilers: Compilers) -> PathBuf {
    let folder = folder("nominated", &format!("{name}-{}", compilers.0));
    ok(with(compilers).args(["cc", "-O1", "-g", "-pthread", "-o", "p"]).arg(&scenario.source), &folder);
    folder
}

fn check(scenario: &Scenario, compilers: Compilers) -> Result<(), Failed> {
    let folder = built(scenario, &scenario.name, compilers);
    match scenario.races.is_empty() {
        // Whatever it tries, and however often.
        true => hunt(scenario, &folder, &[]).map(|_| ()),
        false => hunt_all(scenario, &folder, &["--max-runs", SOON]),
    }
}

/// The scenario of the last box, built.
struct LastBox {
    scenario: Scenario,
    folder: PathBuf,
}

impl LastBox {
    fn built(title: &str, compilers: Compilers) -> LastBox {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs");
        let scenario = read(&programs.join("nomination/last_box.c"));
        let folder = built(&scenario, title, compilers);
        LastBox { scenario, folder }
    }
}

/// The order of the watched run alone counts: what re-runs show by chance is another order.
fn conflicts_alone(built: &LastBox) -> Result<(), Failed> {
    let options = ["--nominate", "conflict", "--without", "feedback", "--tries", MANY, "--max-runs", MANY];
    let proved = hunt(&built.scenario, &built.folder, &options)?;
    assert_eq!(proved, BTreeSet::new());
    let targets = lines(&built.folder.join("h/targets.jsonl"));
    let marked: BTreeSet<u64> = built.scenario.pairs().into_iter().flatten().map(|(line, _)| line).collect();
    let text = fs::read_to_string(&built.scenario.source)?;
    assert_eq!(marked.len(), 2, "{text}");
    let lines_of = |target: &serde_json::Value| -> BTreeSet<u64> {
        let place = |side: usize| target["sides"][side]["place"].as_str().expect("a place").to_owned();
        [0, 1].map(|side| line_of(&place(side))).into()
    };
    let occasions: Vec<_> = targets.iter().filter(|target| lines_of(target) == marked).collect();
    let [first] = occasions[..] else { panic!("one occasion of the pair: {occasions:?}") };
    assert_eq!([&first["sides"][0]["ordinal"], &first["sides"][1]["ordinal"]], [1, 1]);
    Ok(())
}

fn predicted(built: &LastBox) -> Result<(), Failed> {
    for options in [&["--max-runs", SOON][..], &["--max-runs", SOON, "--without", "feedback"]] {
        hunt_all(&built.scenario, &built.folder, options)?;
    }
    let report = lines(&built.folder.join("h/report.jsonl"));
    let race = report.iter().find(|line| line["type"] == "race").expect("the race");
    assert_eq!(race["by"], serde_json::json!(["sync-preserving", "sync-reversal", "csp"]));
    let target = &race["witness"]["target"];
    assert_eq!((&target["rank"], &target["by"]), (&"predicted".into(), &race["by"]));
    assert_eq!([&target["sides"][0]["ordinal"], &target["sides"][1]["ordinal"]], [8, 8]);
    let nominated = &report.last().expect("a summary")["hunt"]["nominated"];
    assert_eq!(nominated["sync-reversal"], serde_json::json!({"pairs": 1, "proved": 1}));
    Ok(())
}

/// The line of a place such as `last_box.c:22 one`.
fn line_of(place: &str) -> u64 {
    let line = place.rsplit(':').next().and_then(|rest| rest.split(' ').next());
    line.and_then(|line| line.parse().ok()).unwrap_or_else(|| panic!("{place}"))
}
