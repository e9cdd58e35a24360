//! `deadheat replay`: the meeting of a proof happens again.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{deadheat, have, ok, output, said};
use serde_json::{Value, json};

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    common::folder("replay", name)
}

const PROGRAM: &str = "\
#include <pthread.h>
static int shared, other;
static void *first(void *unused)
{
    for (int i = 0; i < 3; i++)
        other++;
    shared = 1;
    return unused;
}
static void *second(void *unused)
{
    shared = 2;
    return unused;
}
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    extern long write(int, const void *, unsigned long);
    write(2, \"to the end\", 10);
    return shared ? 3 : 4;
}
";

fn build(folder: &Path, source: &str) {
    fs::write(folder.join("two.c"), source).expect("written");
    ok(deadheat().args(["cc", "-g", "-O1", "-pthread", "-Wl,--build-id", "-o", "two", "two.c"]), folder);
}

/// The report of a run, its race with the witness that a hunt would give it.
fn proof(folder: &Path) -> String {
    let output = output(deadheat().args(["run", "--format", "json", "--", "./two"]), folder);
    let text = String::from_utf8(output.stdout.clone()).expect("JSON");
    let mut lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    assert_eq!(lines.len(), 3, "a run, a race and a summary\n{}", said(&output));
    let module = lines[0]["modules"][0].clone();
    let race = lines[1].clone();
    let side = |index: usize| {
        let access = &race["accesses"][index];
        json!({
            "thread": access["thread"], "only_thread": true, "ordinal": 1, "op": access["op"], "size": 4,
            "code": {"module": 0, "offset": access["frames"][0]["offset"]},
        })
    };
    let target = json!({
        "version": 1, "id": "t-000000000001", "race": race["id"], "rank": "unordered",
        "modules": [{"name": "two", "build_id": module["build_id"]}], "sides": [side(0), side(1)],
    });
    lines[1]["witness"] = json!({
        "kind": "meeting", "version": 1, "target": target, "held": null, "bound_ms": 500.0, "flags": ["watch"],
        "accesses": [],
    });
    fs::create_dir_all(folder.join("deadheat.hunt")).expect("a folder");
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    fs::write(folder.join("deadheat.hunt/report.jsonl"), lines.join("\n") + "\n").expect("written");
    race["id"].as_str().expect("an id").to_owned()
}

fn replay(folder: &Path, race: &str, more: &[&str]) -> Output {
    output(deadheat().args(["replay", race]).args(more).args(["--", "./two"]), folder)
}

#[test]
fn a_proof_is_replayed_and_shown() {
    if !have("cc") {
        return;
    }
    let folder = folder("shown");
    build(&folder, PROGRAM);
    let id = proof(&folder);
    for race in [id.clone(), format!("deadheat.hunt#{id}"), format!("deadheat.hunt/report.jsonl#{id}")] {
        for _ in 0..3 {
            let output = replay(&folder, &race, &["--tries", "1"]);
            assert_eq!(output.status.code(), Some(66), "{}", said(&output));
            let told = said(&output);
            assert!(told.contains("they met again in try 1 of 1"), "{told}");
            assert!(
                told.contains("dead heat") && told.contains("two.c:7") && told.contains("two.c:12"),
                "{told}"
            );
        }
    }
    let output = replay(&folder, &id, &["--format", "json"]);
    let race = String::from_utf8_lossy(&output.stdout).lines().nth(1).map(str::to_owned).expect("a race");
    let race: Value = serde_json::from_str(&race).expect("JSON");
    assert_eq!((race["id"].as_str(), race["grade"].as_str()), (Some(id.as_str()), Some("proved")));
}

#[test]
fn the_program_goes_on_when_they_have_met_unless_that_is_all_that_is_asked() {
    if !have("cc") {
        return;
    }
    let folder = folder("cut");
    build(&folder, PROGRAM);
    let id = proof(&folder);
    for (option, ends) in [("--color=never", true), ("--until-met", false)] {
        let output = replay(&folder, &id, &["--tries", "1", option]);
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        assert_eq!(said(&output).contains("to the end"), ends, "{}", said(&output));
    }
}

/// Threads that are slow on their way from a hook to the gate, as on a busy machine, have not passed
/// their accesses.
#[test]
fn who_is_late_at_the_gate_is_waited_for() {
    if !have("cc") || !have("strace") {
        return;
    }
    let folder = folder("late");
    build(&folder, PROGRAM);
    let id = proof(&folder);
    let slowly = ["strace", "-f", "-qq", "-o", "calls", "-e", "trace=rt_sigprocmask"];
    let slowly = [&slowly[..], &["-e", "inject=rt_sigprocmask:delay_exit=60000", "./two"]].concat();
    if output(Command::new(slowly[0]).args(&slowly[1..]), &folder).status.code() != Some(3) {
        println!("skipped: needs ptrace");
        return;
    }
    let output = output(deadheat().args(["replay", &id, "--tries", "1", "--"]).args(slowly), &folder);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
}

#[test]
fn what_cannot_be_replayed_is_told() {
    if !have("cc") {
        return;
    }
    let folder = folder("told");
    build(&folder, PROGRAM);
    let id = proof(&folder);
    let output = replay(&folder, "dh-00000000", &[]);
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(
        said(&output).contains("deadheat.hunt/report.jsonl: there is no race dh-00000000"),
        "{}",
        said(&output)
    );
    // One that joins the first thread before it starts the second.
    let ordered = PROGRAM.replace(
        "    pthread_create(&two, 0, second, 0);\n    pthread_join(one, 0);\n",
        "    pthread_join(one, 0);\n    pthread_create(&two, 0, second, 0);\n",
    );
    build(&folder, &ordered);
    let output = replay(&folder, &id, &[]);
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(said(&output).contains("two was built anew since the proof"), "{}", said(&output));
    // The witness of the racy program, said to be of this build.
    let report = folder.join("deadheat.hunt/report.jsonl");
    let racy = fs::read_to_string(&report).expect("there");
    let old: Value = serde_json::from_str(racy.lines().next().expect("a run")).expect("JSON");
    let run = output_of_run(&folder);
    let ids = [&old, &run].map(|run| run["modules"][0]["build_id"].as_str().expect("an id").to_owned());
    fs::write(&report, racy.replace(&ids[0], &ids[1])).expect("written");
    let output = replay(&folder, &id, &["--tries", "1"]);
    assert_eq!(output.status.code(), Some(3), "the program's own\n{}", said(&output));
    assert!(said(&output).contains("did not meet in 1 try; in the last, "), "{}", said(&output));
}

fn output_of_run(folder: &Path) -> Value {
    let output = output(deadheat().args(["run", "--format", "json", "--", "./two"]), folder);
    let text = String::from_utf8(output.stdout).expect("JSON");
    serde_json::from_str(text.lines().next().expect("a run")).expect("JSON")
}

#[test]
fn gdb_stops_with_both_before_their_accesses() {
    if !have("cc") || !have("gdb") {
        return;
    }
    let folder = folder("gdb");
    build(&folder, PROGRAM);
    let id = proof(&folder);
    let output = replay(&folder, &id, &["--gdb", "--gdb-arg", "-batch"]);
    let told = said(&output);
    if told.contains("Could not trace the inferior process") || told.contains("Operation not permitted") {
        println!("skipped: needs ptrace");
        return;
    }
    assert_eq!(output.status.code(), Some(66), "{told}");
    assert!(told.contains("SIGTRAP"), "{told}");
    assert!(told.contains("two threads stand before their accesses"), "{told}");
    for place in ["two.c:7", "two.c:12"] {
        assert!(told.contains(&format!("at {place}")), "{place}\n{told}");
    }
}
