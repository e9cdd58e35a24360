//! `deadheat verify`: the right answer on racy programs of `spec/hunts`, and on their mended twins.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use common::{deadheat, have, ok, output, said};

/// By default every so many-th program is asked about; all with `DEADHEAT_ACCEPT=full`.
const SHARE: usize = 6;
/// How many hunts of a racy program may prove nothing.
const TRIES: usize = 3;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/hunts")
}

/// The answers of `spec/hunts/mended`: of each program, what verify may say of its races, and in
/// which words.
fn answers() -> Vec<(String, Vec<(String, String)>)> {
    let text = fs::read_to_string(root().join("mended")).expect("spec/hunts/mended");
    let mut all: Vec<(String, Vec<(String, String)>)> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let parts: Vec<&str> = line.splitn(3, ": ").collect();
        let [name, answer, reason] = parts[..] else { panic!("{line}") };
        let row = (answer.to_owned(), reason.to_owned());
        match all.last_mut().filter(|(last, _)| last == name) {
            Some((_, rows)) => rows.push(row),
            None => all.push((name.to_owned(), vec![row])),
        }
    }
    all
}

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    common::folder("verify", name)
}

/// Builds a program of `spec/hunts`, always under one name: a rebuilt program.
fn build(folder: &Path, name: &str) {
    let compiler = if name.ends_with(".cpp") { "c++" } else { "cc" };
    let arguments = [compiler, "-g", "-O1", "-w", "-pthread", "-o", "program"];
    ok(deadheat().args(arguments).arg(root().join(name)), folder);
}

/// The races that a hunt of the program as it is now proves; none if the scheduler hides them.
fn hunted(folder: &Path, name: &str) -> Vec<String> {
    let order = root().join(name).with_extension("order");
    for _ in 0..TRIES {
        let mut command = deadheat();
        command.args(["hunt", "-q", "-j", "2", "-o", "hunt"]).stdin(Stdio::null());
        if order.exists() {
            command.arg("--order").arg(&order);
        }
        let hunt = output(command.args(["--", "./program"]), folder);
        let text = fs::read_to_string(folder.join("hunt/report.jsonl")).expect("a report");
        let ids = text.lines().filter_map(|line| line.strip_prefix("{\"type\":\"race\",\"id\":\""));
        let ids: Vec<String> = ids.filter_map(|rest| Some(rest.split('"').next()?.to_owned())).collect();
        if !ids.is_empty() {
            assert_eq!(hunt.status.code(), Some(66), "{name}\n{}", said(&hunt));
            return ids.into_iter().map(|id| format!("hunt/report.jsonl#{id}")).collect();
        }
    }
    println!("{name}: {TRIES} hunts prove nothing");
    Vec::new()
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
fn every_racy_program_has_an_answer() {
    let answered: BTreeSet<String> = answers().into_iter().map(|(name, _)| name).collect();
    let mut there = BTreeSet::new();
    for folder in ["listings", "messages", "racy"] {
        for entry in fs::read_dir(root().join(folder)).expect("a folder of programs") {
            let path = entry.expect("an entry").path();
            let is = |extension: &str| path.extension().is_some_and(|is| is == extension);
            let name = path.file_name().expect("a name").to_string_lossy();
            if (is("c") || is("cpp")) && !name.contains("_ok.") {
                there.insert(format!("{folder}/{name}"));
            }
        }
    }
    assert_eq!(there, answered);
}

#[test]
fn racy_programs_still_race_and_their_twins_do_not() {
    if !have("cc") || !have("c++") {
        return;
    }
    let in_full = std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full");
    let asked: Vec<_> = answers().into_iter().step_by(if in_full { 1 } else { SHARE }).collect();
    let mut shown = 0;
    for (name, answers) in &asked {
        let folder = folder(&name.replace('/', "-"));
        build(&folder, name);
        let ids = hunted(&folder, name);
        if ids.is_empty() {
            continue;
        }
        shown += 1;
        let racy = verify(&folder, &ids[0], &[]);
        assert_eq!(racy.status.code(), Some(66), "{name}\n{}", said(&racy));
        assert!(said(&racy).contains(": still races: "), "{name}\n{}", said(&racy));
        build(&folder, &name.replace(".c", "_ok.c"));
        for id in ids {
            let mended = verify(&folder, &id, &[]);
            let text = said(&mended);
            let fits = |(answer, reason): &&(String, String)| {
                text.contains(&format!(": {answer}: ")) && text.contains(&**reason)
            };
            let fitting = answers.iter().find(fits);
            let (answer, _) = fitting.unwrap_or_else(|| panic!("{name}: not one of {answers:?}\n{text}"));
            let code = if answer == "could not reach" { 69 } else { 0 };
            assert_eq!(mended.status.code(), Some(code), "{name}\n{text}");
            println!("{name}: {answer}");
        }
    }
    assert!(shown * 10 >= asked.len() * 8, "{shown} of {} programs showed a race", asked.len());
}

/// Programs whose race depends on where a pointer leads in the run at hand: no run of the racy one may
/// be called mended.
const POINTERS: [&str; 2] = ["racy/list.c", "racy/computed_index.c"];

#[test]
fn what_a_pointer_did_not_lead_to_is_not_called_mended() {
    if !have("cc") {
        return;
    }
    for name in POINTERS {
        let folder = folder(&name.replace("racy/", "pointer-"));
        build(&folder, name);
        let Some(first) = race(&folder) else { continue };
        let text = fs::read_to_string(folder.join("report.jsonl")).expect("a report");
        let ids = text.split("\"id\":\"dh-").skip(1).map(|rest| format!("dh-{}", &rest[..8]));
        for id in ids.chain([first]) {
            for _ in 0..3 {
                let output = verify(&folder, &id, &[]);
                assert!(matches!(output.status.code(), Some(66 | 69)), "{name} {id}\n{}", said(&output));
            }
        }
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
