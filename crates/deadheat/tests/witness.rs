//! The witness of a predicted race as reports have it: put back against the trace it holds, and people see it as columns.

mod common;

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use common::facts::facts_as_std;
use common::scenario::{read, record};
use common::{deadheat, folder, have, ok, output, said};
use deadheat_core::access::Mode;
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::ThreadId;
use deadheat_core::witness::Witness;
use deadheat_detect::witness::Run;
use deadheat_report::model::{Line, Race};
use deadheat_report::reordering::{Act, Deed, Reordering};
use deadheat_trace::{Tables, Trace};

/// Scenarios with a race that `sync-reversal` predicts: with locks of both modes, creations, a join, a barrier, and reads that set the
/// order.
const PROGRAMS: [&str; 9] = [
    "chain",
    "joined",
    "lazy",
    "listing",
    "published_too_early",
    "readers_write",
    "same_phase",
    "signal_then_write",
    "start_up",
];

const PREDICTING: [&str; 4] = ["sync-preserving", "sync-reversal", "csp", "shb"];

/// The events of a trace, and what their ids stand for.
fn events(path: &Path) -> (Vec<Event>, Tables) {
    let mut trace = Trace::open(path).expect("the trace");
    let mut events = Vec::new();
    trace.drive(|event| events.push(*event)).expect("the trace is whole");
    (events, trace.into_tables())
}

/// The predicted races that the command line tells of a trace, with their witnesses.
fn predicted(folder: &Path, trace: &str, by: &str) -> Vec<(Race, Reordering)> {
    let mut analyze = deadheat();
    analyze.args(["analyze", trace, "--by", by, "--format", "json"]);
    let analyzed = ok(&mut analyze, folder);
    let text = String::from_utf8(analyzed.stdout).expect("JSON is UTF-8");
    let lines = text.lines().map(|line| serde_json::from_str(line).expect("a line of the report"));
    let races = lines.filter_map(|line| if let Line::Race(race) = line { Some(*race) } else { None });
    races.map(|race| (race.clone(), Reordering::of(&race).expect("a predicted race has a witness"))).collect()
}

/// Checks the witness of a race against the trace: it is one, it ends before the race's accesses, and its operations are
/// those of its events, in its order.
fn check(race: &Race, told: &Reordering, events: &[Event], tables: &Tables) {
    let ids: HashMap<String, ThreadId> =
        events.iter().map(|event| (tables.threads.path(event.thread), event.thread)).collect();
    let thread = |index: usize| ids[&told.threads[index]];
    let done: Vec<_> = told.done.iter().enumerate().map(|(index, &count)| (thread(index), count)).collect();
    let order = told.order.as_ref().expect("a short trace is held, and the order told");
    let order: Vec<_> = order.iter().map(|&(index, count)| (thread(index), count)).collect();
    let run = Run::new(events);
    let witness = Witness { first: 0, done: &done, order: Some(&order) };
    let found =
        run.check(&witness, (thread(0), thread(1))).unwrap_or_else(|broken| panic!("{broken}: {told:?}"));
    for (event, access) in [found.0, found.1].into_iter().zip(&race.accesses) {
        let its = run.access(event).expect("an access");
        assert_eq!((its.address, its.size), (access.address.0, access.size), "{told:?}");
        assert_eq!(tables.threads.path(events[event].thread), access.thread, "{told:?}");
    }
    // The events of the witness, in its order, by thread and number.
    let mut counts: HashMap<ThreadId, u64> = HashMap::new();
    let mut sequence = Vec::new();
    for (thread, count) in order {
        let so_far = counts.entry(thread).or_default();
        sequence.extend((*so_far..*so_far + count).map(|nth| (thread, nth)));
        *so_far += count;
    }
    let mut places = sequence.iter();
    for act in told.operations.as_ref().expect("they were looked at") {
        let this = (thread(act.thread), act.event);
        assert!(places.any(|&place| place == this), "{act:?} is not in the order of {told:?}");
        let mut own = events.iter().filter(|event| event.thread == this.0);
        let event = own.nth(act.event as usize).expect("it is in the trace");
        assert!(is(act, event, tables), "{act:?} is {event:?}");
    }
}

/// Whether an operation is that event.
fn is(act: &Act, event: &Event, tables: &Tables) -> bool {
    let at = |address: u64| act.address.is_some_and(|of| of.0 == address);
    match (act.op, event.op) {
        (Deed::Lock, Op::Acquire { lock, .. }) | (Deed::Unlock, Op::Release { lock, .. }) => at(lock),
        (Deed::Create, Op::Fork { child }) | (Deed::Join, Op::Join { child }) => {
            act.object == tables.threads.path(child)
        }
        (Deed::Signal | Deed::Broadcast | Deed::Post, Op::Signal { object, .. })
        | (Deed::BeginWait, Op::Await { object, .. })
        | (Deed::Wait | Deed::TryWait, Op::Wait { object, .. }) => at(object),
        (Deed::Arrive, Op::Arrive { barrier, .. }) | (Deed::Leave, Op::Leave { barrier }) => at(barrier),
        (deed, Op::Access(access)) => {
            let mode = match access.mode {
                Mode::Read => Deed::Read,
                Mode::Write => Deed::Write,
                Mode::ReadWrite => Deed::ReadWrite,
            };
            deed == mode && at(access.address)
        }
        _ => false,
    }
}

#[test]
fn the_witnesses_of_small_traces_hold() {
    let folder = folder("witness", "facts");
    let (mut traces, mut races) = (0, 0);
    for (_, text) in facts_as_std() {
        fs::write(folder.join("t.std"), text).expect("written");
        let (events, tables) = events(&folder.join("t.std"));
        traces += 1;
        for by in PREDICTING {
            for (race, told) in predicted(&folder, "t.std", by) {
                check(&race, &told, &events, &tables);
                races += 1;
            }
        }
    }
    println!("{races} races of {traces} traces");
    assert!(traces >= 25 && races >= 25, "{races} races of {traces} traces");
}

/// The part of a text that tells the order, without what is drawn before it.
fn columns(text: &str) -> Vec<&str> {
    let mut lines =
        text.lines().skip_while(|line| !line.contains("side by side in this order")).skip(1).peekable();
    let first = lines.peek().map_or("", |line| line.trim_start());
    let indent = lines.peek().map_or(0, |line| line.len() - first.len());
    lines
        .map_while(|line| line.get(indent..).filter(|_| line[..indent].trim().is_empty() && indent > 0))
        .collect()
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    let mut command = deadheat();
    let told = ok(command.args(arguments), folder);
    String::from_utf8(told.stderr).expect("text is UTF-8")
}

#[test]
fn the_witnesses_of_programs_hold_and_are_told_as_columns() {
    if !have("gcc") {
        return;
    }
    let mut seen = HashMap::new();
    for name in PROGRAMS {
        let folder = folder("witness", name);
        let source = format!("../../spec/programs/prediction/{name}.c");
        record(&read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(source)), &folder);
        let (events, tables) = events(&folder.join("t.dh"));
        for by in PREDICTING {
            let races = predicted(&folder, "t.dh", by);
            assert!(!races.is_empty() || by != "sync-reversal", "{name}");
            races.iter().for_each(|(race, told)| check(race, told, &events, &tables));
        }
        seen.insert(name, text(&folder, &["analyze", "t.dh", "--by", "sync-reversal"]));
    }
    assert!(seen["lazy"].contains("they come side by side in this order (lines of lazy.c):"));
    assert_eq!(
        columns(&seen["lazy"]),
        [
            "`main/1`      | `main/2`     | others",
            "              |              | 37 main: create main/1",
            "              |              | 38 main: create main/2",
            "              | 30 lock m    |",
            "              | 31 unlock m  |",
            "15 lock m     |              |",
            "--------------+--------------+-----------------------",
            "18 write made | 14 read made |",
        ],
        "{}",
        seen["lazy"]
    );
    assert_eq!(
        columns(&seen["listing"]),
        [
            "`main/1`   | `main/2`    | others",
            "           |             | 31 main: create main/1",
            "           |             | 32 main: create main/2",
            "           | 22 lock m   |",
            "           | 24 unlock m |",
            "-----------+-------------+-----------------------",
            "14 write y | 25 write y  |",
        ],
        "{}",
        seen["listing"]
    );
}

/// Two threads that take a lock by turns 40 times, then race where the second took it last.
fn long() -> String {
    let mut text = String::from("T0|fork(T1)|1\n");
    for turn in 0..40 {
        for thread in 0..2 {
            let line = 10 + 10 * turn + thread * 4;
            text += &format!(
                "T{thread}|acq(m)|{line}\nT{thread}|r(x)|{}\nT{thread}|w(x)|{}\n",
                line + 1,
                line + 2
            );
            text += &format!("T{thread}|rel(m)|{}\n", line + 3);
        }
    }
    text += "T0|w(a_name_that_is_much_longer_than_what_a_column_has_room_for)|500\nT0|acq(m)|501\nT0|rel(m)|502\n";
    text += "T1|acq(m)|503\nT1|rel(m)|504\nT1|w(a_name_that_is_much_longer_than_what_a_column_has_room_for)|505\n";
    text
}

#[test]
fn long_orders_are_cut() {
    let folder = folder("witness", "long");
    fs::write(folder.join("t.std"), long()).expect("written");
    let (events, tables) = events(&folder.join("t.std"));
    let races = predicted(&folder, "t.std", "sync-preserving");
    races.iter().for_each(|(race, told)| check(race, told, &events, &tables));
    let told = text(&folder, &["analyze", "t.std", "--by", "sync-preserving"]);
    let order = columns(&told);
    assert_eq!(order[0], "`main` (T0)                              | `main/1` (T1)");
    assert!(order.len() <= 19 && told.lines().all(|line| line.chars().count() <= 120), "{told}");
    assert!(order.iter().all(|line| line.chars().count() <= 82), "{order:#?}");
    assert!(order[1].starts_with("... 3") && order[1].ends_with(" operations left out"), "{order:#?}");
    assert!(order[order.len() - 1].contains("…"), "{order:#?}");
}

/// By way of a file the report is the same, and one from before there were witnesses is told without.
#[test]
fn reports_that_were_kept() {
    let folder = folder("witness", "kept");
    fs::write(folder.join("t.std"), long()).expect("written");
    let analyze = ["analyze", "t.std", "--by", "sync-preserving"];
    let direct = text(&folder, &analyze);
    ok(deadheat().args(analyze).args(["--format", "json", "-o", "r.jsonl"]), &folder);
    assert_eq!(text(&folder, &["report", "r.jsonl"]), direct);
    for format in ["html", "sarif", "markdown", "tsan", "github", "junit", "json"] {
        ok(deadheat().args(analyze).args(["--format", format, "-o", "direct"]), &folder);
        ok(deadheat().args(["report", "r.jsonl", "--format", format, "-o", "again"]), &folder);
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect("it was written");
        assert_eq!(read("again"), read("direct"), "{format}");
        let wanted = match format {
            "html" => "<caption>they come side by side in this order:</caption>",
            "sarif" => "\"executionOrder\": 16",
            _ => "",
        };
        assert!(read("again").contains(wanted), "{format}: {}", read("again"));
    }
    let kept = fs::read_to_string(folder.join("r.jsonl")).expect("it was written");
    let old: Vec<String> = kept
        .lines()
        .map(|line| {
            let mut line: serde_json::Value = serde_json::from_str(line).expect("a line of the report");
            line.as_object_mut().expect("an object").remove("witness");
            line.to_string()
        })
        .collect();
    fs::write(folder.join("old.jsonl"), old.join("\n") + "\n").expect("written");
    let told = text(&folder, &["report", "old.jsonl"]);
    assert!(told.contains("predicted: data race") && columns(&told).is_empty(), "{told}");
    // A form of a later version is nothing to draw.
    fs::write(folder.join("new.jsonl"), kept.replace("\"version\":1", "\"version\":2")).expect("written");
    assert_eq!(text(&folder, &["report", "new.jsonl"]), told);
}

/// Of races that happened in the run no other order is told.
#[test]
fn what_was_observed_needs_no_witness() {
    let folder = folder("witness", "observed");
    fs::write(folder.join("t.std"), "T0|fork(T1)|1\nT0|w(x)|2\nT1|w(x)|3\n").expect("written");
    let mut analyze = deadheat();
    let analyzed = output(analyze.args(["analyze", "t.std", "--by", "hb,sync-preserving"]), &folder);
    assert_eq!(analyzed.status.code(), Some(66), "{}", said(&analyzed));
    let told = said(&analyzed);
    assert!(told.contains("unordered: data race") && columns(&told).is_empty(), "{told}");
}
