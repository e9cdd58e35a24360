//! An access that a running program does not remember any more: its race is told all the same.

mod common;

use std::fs;
use std::path::Path;

use common::{deadheat, each_compiler, ok, output, said, with};
use serde_json::Value;

/// The first thread makes many more accesses in one stretch than are remembered of a thread.
const PROGRAM: &str = "\
#include <pthread.h>
#include <order.h>

int value, others[1 << 20];

static void *first(void *argument) {
    value = 1;
    for (int at = 0; at < 1 << 20; at++)
        others[at] = at;
    dh_done(1);
    return argument;
}

static void *second(void *argument) {
    dh_step(1);
    value = 2;
    return argument;
}

int main(void) {
    pthread_t threads[2];
    pthread_create(&threads[0], 0, first, 0);
    pthread_create(&threads[1], 0, second, 0);
    pthread_join(threads[0], 0);
    pthread_join(threads[1], 0);
    return value;
}
";

/// The races that `deadheat run` tells of the program, and its last note.
fn told(folder: &Path, options: &[&str], history: &str) -> (Vec<Value>, Option<String>) {
    let mut command = deadheat();
    command.env("DEADHEAT_OPTIONS", history);
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
        fs::write(folder.join("forgotten.c"), PROGRAM).expect("writable");
        let order = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs");
        let arguments = ["cc", "-g", "-O1", "-pthread", "forgotten.c", "-o", "forgotten", "-I"];
        ok(with(compilers).args(arguments).arg(order), folder);
        let (races, note) = told(folder, &[], "");
        let [race] = &races[..] else { panic!("one race: {races:?}") };
        let [earlier, later] = [&race["accesses"][0], &race["accesses"][1]];
        assert_eq!(race["location"]["symbol"], "value");
        assert_eq!((&earlier["thread"], &earlier["op"]), (&"main/1".into(), &"write".into()));
        assert!(earlier["clock"].is_u64() && earlier["frames"] == Value::Array(Vec::new()), "{earlier}");
        assert!(later["clock"].is_null() && later["frames"][0]["function"] == "second", "{later}");
        let expected =
            "1 race has a stack that is not remembered; `deadheat hunt -- ./forgotten 'a b'` brings it back";
        assert_eq!(note.as_deref(), Some(expected));
        // A recorded run remembers all. Which of the two was first nothing in it says.
        let (races, note) = told(folder, &["--recorded"], "");
        assert_eq!((functions(&races), note), (["first", "second"].map(str::to_owned), None));
        // So does one that is told to remember more than the program does.
        let (races, note) = told(folder, &[], "history_size=7");
        assert_eq!((functions(&races), note), (["first", "second"].map(str::to_owned), None));
        let (_, note) = told(folder, &[], "history_size=4");
        assert_eq!(note.as_deref(), Some(expected));
    });
}
