//! The other ways of hunting, which are there to be compared with: each still proves nothing but
//! races, and does what it is called.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use common::{deadheat, have, ok, said};
use serde_json::Value;

/// Two threads count, with a lock or without; the number was set before they began. It is volatile
/// for each of the rounds to access it: a sampler's holds then last as long as some hundred
/// milliseconds, and the threads need not start together to meet.
const COUNTER: &str = "#include <pthread.h>
static volatile long counter;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *work(void *p) {
    for (int i = 0; i < 30; i++) {
        LOCK(&lock);
        counter++;
        UNLOCK(&lock);
    }
    return p;
}
int main(void) {
    pthread_t a, b;
    counter = 5;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";
const LOCKED: [&str; 2] = ["-DLOCK=pthread_mutex_lock", "-DUNLOCK=pthread_mutex_unlock"];
const RACY: [&str; 2] = ["-DLOCK(m)=(void)0", "-DUNLOCK(m)=(void)0"];

/// A folder of its own, with the program in it.
fn built(name: &str, flags: [&str; 2]) -> Option<PathBuf> {
    if !have("gcc") {
        return None;
    }
    let folder = common::folder("compare", name);
    fs::write(folder.join("p.c"), COUNTER).expect("written");
    let arguments = ["cc", "-O1", "-g", "-pthread", "p.c", "-o", "p"];
    ok(deadheat().env("DEADHEAT_CC", "gcc").args(arguments).args(flags), &folder);
    Some(folder)
}

/// Hunts; the lines of the report.
fn hunt(folder: &Path, arguments: &[&str]) -> (Output, Vec<Value>) {
    let mut command = deadheat();
    command.arg("hunt").args(arguments).args(["--", "./p"]).stdin(Stdio::null());
    let output = common::output(&mut command, folder);
    let text = fs::read_to_string(folder.join("deadheat.hunt/report.jsonl")).unwrap_or_default();
    (output, text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect())
}

fn races(report: &[Value]) -> Vec<&Value> {
    report.iter().filter(|line| line["type"] == "race").collect()
}

#[test]
fn samples_prove_a_race_and_what_a_lock_orders_is_none() {
    let (Some(racy), Some(locked)) = (built("sampled", RACY), built("sampled_locked", LOCKED)) else {
        return;
    };
    let sampler = ["--by", "sample:4,40ms", "--max-runs", "3"];
    let (output, report) = hunt(&racy, &sampler);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    for race in races(&report) {
        assert_eq!((&race["grade"], &race["witness"]["kind"]), (&"proved".into(), &"sample".into()));
        assert_eq!(race["accesses"][0]["frames"][0]["function"], "work", "{race}");
    }
    let summary = &report.last().expect("a summary")["hunt"];
    assert_eq!((&summary["pairs"], &summary["runs"]), (&0.into(), &3.into()));
    let id = format!("deadheat.hunt/report.jsonl#{}", races(&report)[0]["id"].as_str().expect("an id"));
    let replay = common::output(deadheat().args(["replay", &id, "--", "./p"]), &racy);
    assert_eq!(replay.status.code(), Some(65), "{}", said(&replay));
    let (output, report) = hunt(&locked, &sampler);
    assert_eq!((output.status.code(), races(&report).len()), (Some(0), 0), "{}", said(&output));
}

#[test]
fn a_sampler_needs_an_end() {
    let Some(folder) = built("endless", RACY) else { return };
    for wrong in [&["--by", "sample:4"][..], &["--by", "sample:0", "--max-runs", "1"]] {
        assert_eq!(hunt(&folder, wrong).0.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn places_alone_prove_a_race_and_what_a_lock_orders_is_none() {
    let (Some(racy), Some(locked)) = (built("places", RACY), built("places_locked", LOCKED)) else { return };
    let (output, report) = hunt(&racy, &["--match", "places"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let summary = &report.last().expect("a summary")["hunt"];
    assert_eq!(summary["targets"], summary["pairs"], "one target for each pair of places");
    let (output, report) = hunt(&locked, &["--match", "places"]);
    assert_eq!((output.status.code(), races(&report).len()), (Some(0), 0), "{}", said(&output));
}

#[test]
fn without_drops_pairs_that_creation_orders_are_hunted_in_vain() {
    let Some(folder) = built("drops", LOCKED) else { return };
    let pairs = |arguments: &[&str]| {
        let (output, report) = hunt(&folder, arguments);
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
        let hunt = &report.last().expect("a summary")["hunt"];
        (hunt["pairs"].as_u64().expect("a number"), hunt["dropped"]["fork-join"].as_u64())
    };
    let (usual, dropped) = pairs(&[]);
    assert!(dropped > Some(0));
    let (all, dropped) = pairs(&["--without", "drops,ranking"]);
    assert!(all > usual && dropped.is_none(), "{all} {usual} {dropped:?}");
}
