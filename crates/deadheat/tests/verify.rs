//! `deadheat verify`: the right answer on racy programs of `spec/hunts`, and on their mended twins.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{deadheat, have, ok, output, said};

/// The answers on the mended twin, by program: what each says of the first race of the racy one.
const TWINS: [(&str, &str); 12] = [
    ("adjacent_bytes", "site gone: main does not write there any more"),
    ("after_join", "ordered now: the end of the thread comes before the joining ("),
    ("atomic_and_plain", "ordered now: both accesses are atomic"),
    ("barrier", "ordered now: the arrival at a barrier ("),
    ("condition", "ordered now: both hold the lock mutex"),
    ("counter", "ordered now: both hold the lock mutex"),
    ("far_apart", "ordered now: both hold the lock mutex"),
    ("free", "ordered now: the end of the thread comes before the joining ("),
    ("function_table", "site gone: slower does not write there any more"),
    ("loop_variable", "ordered now: the creation of the thread ("),
    ("published_early", "ordered now: an atomic store that releases ("),
    ("thread_local", "site gone: in each of 2 runs both sides were on different memory"),
];

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("verify").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Builds a program of `spec/hunts/racy`, always under one name: a rebuilt program.
fn build(folder: &Path, name: &str) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/hunts/racy").join(name);
    ok(deadheat().args(["cc", "-g", "-O1", "-w", "-pthread", "-o", "program"]).arg(source), folder);
}

/// The id of the first race of the program as it is now.
fn race(folder: &Path) -> Option<String> {
    for _ in 0..10 {
        output(deadheat().args(["run", "--format", "json", "-o", "report.jsonl", "--", "./program"]), folder);
        let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
        let race = text.lines().find_map(|line| line.strip_prefix("{\"type\":\"race\",\"id\":\""));
        if let Some(race) = race {
            return race.split('"').next().map(str::to_owned);
        }
    }
    None
}

fn verify(folder: &Path, id: &str, arguments: &[&str]) -> Output {
    output(deadheat().args(["verify", id, "--", "./program"]).args(arguments), folder)
}

#[test]
fn racy_programs_still_race_and_their_twins_do_not() {
    if !have("cc") {
        return;
    }
    for (name, answer) in TWINS {
        let folder = folder(name);
        build(&folder, &format!("{name}.c"));
        let id = race(&folder).unwrap_or_else(|| panic!("{name} shows its race in one of ten runs"));
        let racy = verify(&folder, &id, &[]);
        assert_eq!(racy.status.code(), Some(66), "{name}\n{}", said(&racy));
        assert!(said(&racy).contains(&format!("{id}: still races: ")), "{name}\n{}", said(&racy));
        build(&folder, &format!("{name}_ok.c"));
        let mended = verify(&folder, &id, &[]);
        assert_eq!(mended.status.code(), Some(0), "{name}\n{}", said(&mended));
        assert!(said(&mended).contains(&format!("{id}: {answer}")), "{name}\n{}", said(&mended));
    }
}

const TWO_WAYS: &str = "\
#include <pthread.h>
int shared;
static void *worker(void *unused)
{
    shared = 1;
    return unused;
}
int main(int count, char **unused)
{
    pthread_t thread;
    (void)unused;
    pthread_create(&thread, 0, worker, 0);
    if (count > 1)
        shared = 2;
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn what_no_run_came_to_is_not_called_mended() {
    if !have("cc") {
        return;
    }
    let folder = folder("two_ways");
    let build = |source: &str| {
        fs::write(folder.join("two.c"), source).expect("written");
        ok(deadheat().args(["cc", "-g", "-O1", "-pthread", "-o", "program", "two.c"]), &folder);
    };
    build(TWO_WAYS);
    ok(
        deadheat().args([
            "run",
            "--fail-on",
            "proved",
            "--format",
            "json",
            "-o",
            "report.jsonl",
            "--",
            "./program",
            "x",
        ]),
        &folder,
    );
    let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
    let id =
        text.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a race").to_owned();
    let reached = verify(&folder, &id, &["x"]);
    assert_eq!(reached.status.code(), Some(66), "{}", said(&reached));
    let missed = verify(&folder, &id, &[]);
    assert_eq!(missed.status.code(), Some(69), "{}", said(&missed));
    assert!(
        said(&missed).contains("could not reach: the run did not come to the write of main"),
        "{}",
        said(&missed)
    );
    build(&TWO_WAYS.replace("worker", "other"));
    let gone = verify(&folder, &id, &["x"]);
    assert_eq!(gone.status.code(), Some(0), "{}", said(&gone));
    assert!(said(&gone).contains("site gone: there is no function worker any more"), "{}", said(&gone));
}
