//! An access that a running program does not remember any more: its race is told all the same, with the thread, the
//! synchronisations between which the access lay, and a command that brings its stack back.

mod common;

use std::fs;
use std::path::Path;
use std::process::Command;

use common::{clean, deadheat, each_compiler, ok, output, said, with};
use serde_json::Value;

/// Its first access is not remembered when its race is found.
const PROGRAM: &str = include_str!("common/forgotten.c");

/// What is told of an access whose stack is not remembered, and what brings it back.
const MOMENT: &str = "write of 4 bytes by `main/1`; its stack and locks are not remembered: it lay between the synchronisations \
                      that made the thread's clock ";
const NOTE: &str = "1 race has a stack that is not remembered; `deadheat hunt -- ./forgotten 'a b'` brings it back, and \
                    DEADHEAT_OPTIONS=history_size=7 remembers 128 times as many";

/// The first of its accesses alone is not remembered when their races are found.
const ONCE: &str = include_str!("common/forgotten_once.c");

/// Builds a program.
fn build(program: &str, compilers: (&str, &str), folder: &Path) {
    fs::write(folder.join("forgotten.c"), program).expect("writable");
    let order = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs");
    let arguments = ["cc", "-g", "-O1", "-pthread", "forgotten.c", "-o", "forgotten", "-I"];
    ok(with(compilers).args(arguments).arg(order), folder);
}

/// The races that `deadheat run` tells of the program, and its last note.
fn told(folder: &Path, options: &[&str], history: &str) -> (Vec<Value>, Option<String>) {
    let mut command = deadheat();
    command.env("ORDERED", "").env("DEADHEAT_OPTIONS", history);
    command.args(["run", "--format", "json"]).args(options).args(["--", "./forgotten", "a b"]);
    let output = output(&mut command, folder);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<Value> =
        lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    let note =
        lines.last().and_then(|summary| summary["notes"].as_array()?.last()?.as_str().map(str::to_owned));
    (lines.into_iter().filter(|line| line["type"] == "race").collect(), note)
}

/// The functions in which the two sides of the one race are, sorted.
fn functions(races: &[Value]) -> [String; 2] {
    let [race] = races else { panic!("one race: {races:?}") };
    let of = |side: usize| race["accesses"][side]["frames"][0]["function"].as_str();
    let mut functions = [0, 1].map(|side| of(side).unwrap_or("none").to_owned());
    functions.sort_unstable();
    functions
}

#[test]
fn the_race_is_told_with_the_thread_and_the_way_to_the_stack() {
    each_compiler("forgotten", |compilers, folder| {
        build(PROGRAM, compilers, folder);
        let (races, note) = told(folder, &[], "");
        let [race] = &races[..] else { panic!("one race: {races:?}") };
        let [earlier, later] = [&race["accesses"][0], &race["accesses"][1]];
        assert_eq!(race["location"]["symbol"], "value");
        assert_eq!((&earlier["thread"], &earlier["op"]), (&"main/1".into(), &"write".into()));
        assert!(earlier["clock"].is_u64() && earlier["frames"] == Value::Array(Vec::new()), "{earlier}");
        assert!(later["clock"].is_null() && later["frames"][0]["function"] == "second", "{later}");
        assert_eq!(note.as_deref(), Some(NOTE));
        // A recorded run remembers all. Which of the two was first nothing in it says.
        let (races, note) = told(folder, &["--recorded"], "");
        assert_eq!((functions(&races), note), (["first", "second"].map(str::to_owned), None));
        // So does one that is told to remember more than the program does.
        let (races, note) = told(folder, &[], "history_size=7");
        assert_eq!((functions(&races), note), (["first", "second"].map(str::to_owned), None));
        let (_, note) = told(folder, &[], "history_size=2");
        assert_eq!(note.as_deref(), Some(NOTE));
    });
}

#[test]
fn people_are_told_the_same_under_the_command_line_and_by_hand() {
    each_compiler("forgotten-text", |compilers, folder| {
        build(PROGRAM, compilers, folder);
        let mut run = deadheat();
        run.args(["run", "--", "./forgotten", "a b"]);
        let mut by_hand = Command::new("./forgotten");
        clean(&mut by_hand);
        by_hand.arg("a b");
        for mut way in [run, by_hand] {
            let output = output(way.env("ORDERED", ""), folder);
            let text = said(&output);
            assert_eq!(output.status.code(), Some(66), "{way:?}\n{text}");
            assert!(text.contains(MOMENT) && text.contains(NOTE), "{way:?}\n{text}");
            assert!(text.contains("write of 4 bytes by `main/2`, holding no lock:\n"), "{way:?}\n{text}");
        }
    });
}

#[test]
fn the_command_that_is_named_brings_the_stack_back() {
    each_compiler("forgotten-hunt", |compilers, folder| {
        build(PROGRAM, compilers, folder);
        // As the note has it; nothing orders the accesses now.
        let output =
            output(deadheat().args(["hunt", "--format", "json", "--", "./forgotten", "a b"]), folder);
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        let lines = String::from_utf8_lossy(&output.stdout).into_owned();
        let races = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let races: Vec<Value> = races.filter(|line| line["type"] == "race").collect();
        let [race] = &races[..] else { panic!("one race: {races:?}") };
        let mut functions = [0, 1].map(|side| race["accesses"][side]["frames"][0]["function"].as_str());
        functions.sort_unstable();
        assert_eq!((functions, &race["grade"]), ([Some("first"), Some("second")], &"proved".into()));
    });
}

#[test]
fn more_is_remembered_once_a_stack_was_missed() {
    each_compiler("forgotten-once", |compilers, folder| {
        build(ONCE, compilers, folder);
        let lacking = |options: &str| {
            let (races, _) = told(folder, &[], options);
            let lacks = |race: &Value| {
                let [earlier, symbol] = [&race["accesses"][0], &race["location"]["symbol"]];
                (symbol.as_str().unwrap_or("").to_owned(), earlier["frames"] == Value::Array(Vec::new()))
            };
            let mut lacking: Vec<(String, bool)> = races.iter().map(lacks).collect();
            lacking.sort();
            lacking
        };
        let both = |another: bool| [("another".to_owned(), another), ("value".to_owned(), true)];
        assert_eq!(lacking(""), both(false));
        // Where memory is limited, histories stay as they are.
        assert_eq!(lacking("memory_limit_mb=4000"), both(true));
    });
}
