//! Traces of runs that found their races by themselves, written here, so that neither a compiler nor a run is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{HeldLock, LockSetId, Race, Side};
use deadheat_trace::{Found, FoundLock, FoundSide, Run, Tables, Writer};

const ADDRESS: u64 = 0x7f00_1230;

fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("found").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// Runs `deadheat`: the code, standard output and standard error.
fn run(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    let Output { status, stdout, stderr } =
        command.args(arguments).current_dir(folder).output().expect("deadheat starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (status.code().expect("deadheat is not killed"), text(stdout), text(stderr))
}

fn side(thread: u32, mode: Mode, place: PlaceId, stack: StackId) -> Side {
    let access = Access::plain(ADDRESS, 4, mode);
    Side { thread: ThreadId(thread), place, stack, access, locks: LockSetId::default() }
}

/// Writes `t.dh`: `work` in a second thread writes what `main` reads, once with both stacks, and once `main`'s
/// stack is not remembered.
fn write(folder: &Path, accessed: bool, races: bool) {
    let mut tables = Tables::default();
    let [write, call, read, fork] = [("work", 7), ("start", 12), ("main", 20), ("main", 18)]
        .map(|(function, line)| tables.places.named(function.as_bytes(), b"cache.c", line, 3));
    let stack = tables.stacks.push(StackId::EMPTY, call);
    let arguments = vec!["./cache".to_owned(), "a b".to_owned()];
    let origin = Run { pid: 7, started: 1, arguments, detected: true, accessed, ..Run::default() };
    let mut writer = Writer::create(folder.join("t.dh"), &origin).expect("writable");
    let thread =
        |thread, place, op| Event { thread: ThreadId(thread), place, stack: StackId::EMPTY, times: 1, op };
    for event in [
        thread(0, PlaceId::UNKNOWN, Op::Begin),
        thread(0, fork, Op::Fork { child: ThreadId(1) }),
        thread(1, PlaceId::UNKNOWN, Op::Begin),
        thread(1, PlaceId::UNKNOWN, Op::End),
    ] {
        writer.event(&event, &tables).expect("storable");
    }
    let lock = FoundLock { held: HeldLock { lock: 0x60_0000, mode: LockMode::Write }, block: None };
    let writing = FoundSide { remembered: true, clock: 3, locks: vec![lock] };
    let reading = |remembered| FoundSide { remembered, clock: 41, locks: Vec::new() };
    let earlier = side(1, Mode::Write, write, stack);
    let known = side(0, Mode::Read, read, StackId::EMPTY);
    let lost = side(0, Mode::Read, PlaceId::UNKNOWN, StackId::EMPTY);
    for (later, times, remembered) in [(known, 2, true), (lost, 1, false), (known, 3, true)] {
        let race = Race { earlier, later, address: ADDRESS, block: None };
        let found = Found { race, times, ordered: false, sides: [writing.clone(), reading(remembered)] };
        if races {
            writer.found(&found, &tables).expect("storable");
        }
    }
    writer.finish(&tables, true).expect("writable");
}

#[test]
fn its_races_are_told_as_those_of_an_analysis() {
    let folder = folder("told");
    write(&folder, true, true);
    let (code, out, err) = run(&folder, &["analyze", "t.dh"]);
    assert_eq!((code, out.as_str()), (66, ""), "{err}");
    for part in [
        "unordered: data race on 0x7f001230 (4 bytes)",
        "write of 4 bytes by `main/1`, holding `lock 0x600000`:\n           #0 work cache.c:7:3\n           #1 start cache.c:12:3",
        "read of 4 bytes by `main`, holding no lock:\n           #0 main cache.c:20:3",
        "`main/1` was created by `main`:\n           #0 main cache.c:18:3",
        "seen 5 times in this run, by hb",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
    assert!(err.ends_with("deadheat: 2 races (2 unordered), seen 6 times\n"), "{err}");
    let (_, out, _) = run(&folder, &["analyze", "t.dh", "--format", "json"]);
    let first = out.lines().next().unwrap_or_default();
    for part in ["\"mode\":\"detect\"", "\"accessed\":true", "\"by\":[\"hb\",\"findings\"]", "\"threads\":2"]
    {
        assert!(first.contains(part), "{part} in {first}");
    }
}

#[test]
fn a_stack_that_is_not_remembered_is_told_with_what_brings_it_back() {
    let folder = folder("forgotten");
    write(&folder, true, true);
    let (_, _, err) = run(&folder, &["analyze", "t.dh"]);
    let between = "its stack and locks are not remembered: it lay between the synchronisations that made the thread's clock 41 \
                   and 42";
    assert!(err.contains(&format!("read of 4 bytes by `main`; {between}")), "{err}");
    let note = "deadheat: 1 race has a stack that is not remembered; `deadheat hunt -- ./cache 'a b'` brings it back, and \
                DEADHEAT_OPTIONS=history_size=7 remembers 128 times as many\n";
    assert!(err.contains(note), "{err}");
    let (_, out, _) = run(&folder, &["analyze", "t.dh", "--format", "json"]);
    assert_eq!(out.matches("\"clock\":41").count(), 1, "{out}");
    let (_, _, err) = run(&folder, &["analyze", "t.dh", "--format", "tsan"]);
    assert!(err.contains("[failed to restore the stack]"), "{err}");
    for format in ["html", "sarif", "junit", "github", "markdown"] {
        let (code, out, err) = run(&folder, &["analyze", "t.dh", "--format", format]);
        assert_eq!(code, 66, "{err}");
        assert!(out.contains("made the thread"), "{format}: {out}");
    }
}

#[test]
fn a_run_that_could_not_race_says_so() {
    let folder = folder("alone");
    write(&folder, true, false);
    assert_eq!(run(&folder, &["analyze", "t.dh"]).2, "deadheat: no race found in 2 threads\n");
    let (_, out, _) = run(&folder, &["analyze", "t.dh", "--format", "junit"]);
    assert!(!out.contains("<skipped"), "{out}");
    write(&folder, false, false);
    let (code, _, err) = run(&folder, &["analyze", "t.dh"]);
    assert_eq!(code, 0);
    assert!(err.contains("no instrumented access was seen"), "{err}");
}

#[test]
fn it_cannot_be_judged_in_another_way() {
    let folder = folder("other");
    write(&folder, true, true);
    let (code, _, err) = run(&folder, &["analyze", "t.dh", "--all-pairs"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("t.dh: the races were found while the program ran"), "{err}");
    let (code, _, err) = run(&folder, &["run", "--all-pairs", "--", "true"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("`deadheat run --recorded --all-pairs -- PROG` records it"), "{err}");
    let (code, _, err) = run(&folder, &["run", "--online", "--recorded", "--", "true"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("cannot be used with"), "{err}");
}

#[test]
fn info_and_dump_say_what_it_is() {
    let folder = folder("look");
    write(&folder, true, true);
    let (code, out, _) = run(&folder, &["trace", "info", "t.dh"]);
    assert_eq!(code, 0);
    for line in
        ["events     4", "races      3 found while the program ran", "accesses   seen, and not stored"]
    {
        assert!(out.lines().any(|found| found == line), "{line} in {out}");
    }
    let (code, out, _) = run(&folder, &["trace", "dump", "--stacks", "t.dh"]);
    assert_eq!(code, 0);
    let expected = "race 0x7f001230 x2: main/1 write 0x7f001230 4 @cache.c:7:3(work) <cache.c:12:3(start) clock 3 holds \
                    0x600000; main read 0x7f001230 4 @cache.c:20:3(main) clock 41";
    assert_eq!(out.lines().nth(4), Some(expected), "{out}");
    assert_eq!(out.lines().count(), 7, "{out}");
    let (_, out, _) = run(&folder, &["trace", "dump", "--thread", "main/2", "t.dh"]);
    assert_eq!(out, "");
}
