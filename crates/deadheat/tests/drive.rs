//! How programs are run: codes, signals, time, further processes, what is said when nothing is
//! seen; the demonstration and the doctor.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use common::{deadheat, ok, output, project, said};
use serde_json::Value;

/// A folder with the tiny project built in it.
fn built(name: &str) -> PathBuf {
    let folder = project(name);
    ok(deadheat().args(["cc", "-O1", "main.c", "store.c", "-pthread", "-o", "program"]), &folder);
    folder
}

fn code(folder: &Path, arguments: &[&str]) -> Option<i32> {
    output(deadheat().args(arguments), folder).status.code()
}

/// The names in a folder that begin so.
fn files(folder: &Path, start: &str) -> Vec<String> {
    let names = fs::read_dir(folder).expect("the folder").flatten().map(|entry| entry.file_name());
    let mut names: Vec<_> = names.filter_map(|name| name.into_string().ok()).collect();
    names.retain(|name| name.starts_with(start));
    names.sort();
    names
}

#[test]
fn the_programs_code_comes_through() {
    let folder = built("codes");
    assert_eq!(code(&folder, &["record", "-o", "T", "--", "./program"]), Some(0));
    assert_eq!(code(&folder, &["record", "-o", "T", "--", "sh", "-c", "./program; exit 9"]), Some(9));
    assert_eq!(code(&folder, &["record", "-o", "T", "--", "sh", "-c", "kill -SEGV $$"]), Some(128 + 11));
    assert_eq!(code(&folder, &["run", "--", "sh", "-c", "exit 9"]), Some(9));
    assert_eq!(code(&folder, &["run", "--", "./program"]), Some(66));
    assert_eq!(code(&folder, &["run", "--fail-on", "proved", "--", "./program"]), Some(0));
    fs::write(folder.join("known"), "race:*\nrace:store.c\n").expect("written");
    assert_eq!(code(&folder, &["run", "--suppressions", "known", "--", "./program"]), Some(0));
}

/// Races are found while the program runs, unless it is to be recorded; `--trace` does both.
#[test]
fn the_options_say_how_races_are_found() {
    let folder = built("ways");
    let told = |options: &[&str]| {
        let told =
            output(deadheat().args(["run", "--format", "json"]).args(options).arg("./program"), &folder);
        assert_eq!(told.status.code(), Some(66), "{options:?} {}", said(&told));
        let text = String::from_utf8_lossy(&told.stdout);
        let line = text.lines().find(|line| line.starts_with("{\"type\":\"run\"")).expect("a run");
        let run: Value = serde_json::from_str(line).expect("JSON");
        (run["mode"].as_str().map(str::to_owned), run["by"].clone())
    };
    let (both, one) = (serde_json::json!(["hb", "findings"]), serde_json::json!(["hb"]));
    for (options, mode, by) in [
        (&["--"][..], "detect", &both),
        (&["--online", "--"], "detect", &both),
        (&["--by", "hb", "--"], "detect", &one),
        (&["--trace", "T", "--"], "record+detect", &both),
        (&["--recorded", "--"], "record", &both),
        (&["--recorded", "--all-pairs", "--trace", "T", "--"], "record", &both),
    ] {
        assert_eq!(told(options), (Some(mode.to_owned()), by.clone()), "{options:?}");
        assert_eq!(fs::remove_file(folder.join("T")).is_ok(), options.contains(&"T"), "{options:?}");
    }
}

/// What a suite's programs did is told as one: each race once, and of each program what it has to say.
#[test]
fn a_suite_is_told_as_one() {
    let folder = built("suite");
    suite(&folder, &[], "no race found in 2 processes, 2 threads\n");
    suite(&folder, &["--recorded"], "no race found in 2 processes, 2 threads, ");
}

fn suite(folder: &Path, options: &[&str], nothing: &str) {
    ok(deadheat().args(["cc", "-xc", "-", "-o", "alone"]).stdin(source(folder)), folder);
    let told = |script: &str| {
        let run = ["run", "--format", "json", "-o", "r.jsonl"];
        let code = code(folder, &[&run, options, &["--", "sh", "-c", script]].concat());
        let text = fs::read_to_string(folder.join("r.jsonl")).expect("a report");
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        (code, lines)
    };
    let number = |line: &Value, field: &str| line[field].as_u64().unwrap_or_default();
    let (code, one) = told("./program");
    assert_eq!((code, one[0].get("processes")), (Some(66), None));
    let (code, lines) = told("./program; ./alone; ./program; exit 3");
    assert_eq!((code, lines.len()), (Some(66), one.len()));
    assert_eq!((number(&lines[0], "processes"), lines[0]["program"].as_str()), (3, Some("sh")));
    if options.is_empty() {
        assert_eq!(lines[0]["accessed"], true);
    } else {
        assert!(number(&lines[0], "accesses") > 2 * number(&one[0], "accesses"));
    }
    for (race, alone) in lines.iter().zip(&one).filter(|(line, _)| line["type"] == "race") {
        let count = 2 * number(alone, "count");
        assert_eq!((&race["id"], number(race, "count")), (&alone["id"], count));
        let seen_in =
            serde_json::json!([{"program": "./program", "arguments": [], "processes": 2, "count": count}]);
        assert_eq!((&race["seen_in"], alone.get("seen_in")), (&seen_in, None));
    }
    assert_eq!(lines.last().expect("a summary")["notes"], serde_json::json!([]));
    let (code, lines) = told("./alone; ./alone; exit 3");
    assert_eq!(code, Some(3));
    let notes = &lines.last().expect("a summary")["notes"];
    assert_eq!(notes, &serde_json::json!(["no second thread was seen, so nothing could race"]));
    let alone = ["--", "sh", "-c", "./alone; ./alone"];
    let text = said(&output(deadheat().arg("run").args(options).args(alone), folder));
    assert!(text.contains(nothing), "{text}");
}

/// A program with one thread, as a file to be read.
fn source(folder: &Path) -> fs::File {
    let path = folder.join("alone.c");
    fs::write(&path, "int there; int main(void) { there = 1; return there - 1; }").expect("written");
    fs::File::open(path).expect("it was written")
}

#[test]
fn what_is_missing_or_wrong_has_its_code() {
    let folder = built("wrong");
    assert_eq!(code(&folder, &["record", "--", "no-such-program"]), Some(69));
    assert_eq!(code(&folder, &["record", "--", "./main.c"]), Some(69));
    assert_eq!(code(&folder, &["record", "-o", "none/T", "--", "./program"]), Some(70));
    assert_eq!(code(&folder, &["record", "-o", ".", "--", "./program"]), Some(2));
    assert_eq!(code(&folder, &["record"]), Some(2));
    assert_eq!(code(&folder, &["no-such-command"]), Some(2));
    assert_eq!(code(&folder, &["analyze", "main.c"]), Some(65));
    assert_eq!(code(&folder, &["--help"]), Some(0));
    assert_eq!(code(&folder, &["--version"]), Some(0));
}

#[test]
fn a_program_that_runs_too_long_is_ended() {
    let folder = project("time");
    // However slow the machine: nothing depends on what happens before the time is over.
    for command in
        [&["sleep", "1000"][..], &["sh", "-c", "trap '' TERM; sleep 1000 & sleep 1000; sleep 1000"]]
    {
        for way in [&["record", "-o", "T"][..], &["run"]] {
            let mut watched = deadheat();
            watched.args(way).args(["--timeout", "300ms", "--"]).args(command);
            let output = output(&mut watched, &folder);
            assert_eq!(output.status.code(), Some(124), "{}", said(&output));
            assert!(said(&output).contains("ran past its time"), "{}", said(&output));
        }
    }
}

#[test]
fn further_processes_have_traces_of_their_own() {
    let folder = built("further");
    let both = ["record", "-o", "T", "--", "sh", "-c", "./program; ./program"];
    let output = output(deadheat().args(both), &folder);
    assert_eq!(output.status.code(), Some(0));
    let traces = files(&folder, "T");
    assert_eq!(traces.len(), 2, "{traces:?}");
    assert!(said(&output).contains(&traces[1]));
    // The next recording replaces all of them.
    assert_eq!(code(&folder, &["record", "-o", "T", "--", "./program"]), Some(0));
    assert_eq!(files(&folder, "T"), ["T"]);
    assert_eq!(code(&folder, &["run", "--", "sh", "-c", "true; ./program"]), Some(66));
}

#[test]
fn an_uninstrumented_program_runs_and_one_line_says_so() {
    let folder = project("bare");
    ok(Command::new("cc").args(["main.c", "store.c", "-pthread", "-o", "program"]), &folder);
    for command in ["record", "run"] {
        let output = output(deadheat().args([command, "--", "./program"]), &folder);
        assert_eq!((output.status.code(), &*output.stdout), (Some(0), &b"1\n"[..]));
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.lines().count() == 1 && text.contains("nothing was seen") && text.contains("deadheat build")
        );
    }
}

/// What the kernel does by `io_uring` is not seen: a program that makes such calls, or loads the library that does, says so
/// once.
#[test]
fn what_is_not_seen_of_io_uring_is_told_once() {
    const LINE: &str =
        "deadheat: what the kernel reads and writes by io_uring is not seen: races with it are not told";
    let folder = project("uring");
    let calls = "#include <unistd.h>\nint main(int n, char **v) {\n\
        if (n > 1) { char p[120] = {0}; syscall(425, 1, p); return syscall(425, 1, p) < 0; }\n\
        if (syscall(425, 0, 0) >= 0) return 1;\n\
        return syscall(39) != getpid() || syscall(9, 0, 4096, 3, 0x22, -1, 0) == -1; }\n";
    fs::write(folder.join("calls.c"), calls).expect("written");
    ok(deadheat().args(["cc", "calls.c", "-o", "calls"]), &folder);
    ok(deadheat().args(["cc", "-static", "calls.c", "-o", "static"]), &folder);
    ok(Command::new("cc").args(["-shared", "-xc", "/dev/null", "-o", "liburing.so.2"]), &folder);
    let linked = ["calls.c", "-Wl,--no-as-needed", "-L.", "-l:liburing.so.2", "-Wl,-rpath,$ORIGIN"];
    ok(deadheat().arg("cc").args(linked).args(["-o", "linked"]), &folder);
    // Not every machine lets a program do so.
    ok(Command::new("cc").args(["calls.c", "-o", "native"]), &folder);
    let works = output(Command::new("./native").arg("x"), &folder).status.success();
    let called = (usize::from(works), i32::from(!works));
    for (command, (times, code)) in [
        (&["./calls"][..], (0, 0)),
        (&["./calls", "x"], called),
        (&["./static", "x"], called),
        (&["./linked"], (1, 0)),
    ] {
        for way in [&["run"][..], &["run", "--recorded"], &["record"]] {
            let found = output(deadheat().args(way).arg("--").args(command), &folder);
            assert_eq!(found.status.code(), Some(code), "{}", said(&found));
            assert_eq!(said(&found).matches(LINE).count(), times, "{command:?} {}", said(&found));
        }
    }
}

/// A library's hooks are in the program, which must be linked for that and need not be compiled for it.
#[test]
fn an_instrumented_library_wants_a_program_that_is_linked_with_the_runtime() {
    let folder = project("library");
    ok(deadheat().args(["cc", "-g", "-shared", "-fPIC", "store.c", "-o", "libstore.so"]), &folder);
    ok(Command::new("cc").args(["-c", "main.c"]), &folder);
    let link = ["main.o", "-L.", "-Wl,-rpath,$ORIGIN", "-lstore", "-pthread", "-o"];
    ok(deadheat().arg("cc").args(link).arg("with"), &folder);
    assert_eq!(code(&folder, &["run", "--", "./with"]), Some(66));
    ok(Command::new("cc").args(link).args(["without", "-Wl,--unresolved-symbols=ignore-all"]), &folder);
    let output = output(deadheat().args(["run", "--", "./without"]), &folder);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let told =
        text.lines().filter(|line| line.starts_with("deadheat: nothing was seen: ")).collect::<Vec<_>>();
    let [told] = told[..] else { panic!("one line: {text}") };
    assert!(told.contains("libstore.so is instrumented, and ./without, which needs it,"), "{told}");
    assert!(told.ends_with("link that with `deadheat cc` or `deadheat c++`, too"), "{told}");
}

/// One that the program opens itself.
const OPENS: &str =
    "#include <dlfcn.h>\nint main(void) { return dlopen(\"./libstore.so\", RTLD_NOW) == 0; }\n";

/// The same where nobody can know that it will be opened: it works if the program is linked so, else that is said.
#[test]
fn an_instrumented_library_that_is_opened_wants_the_same() {
    let folder = project("opened");
    ok(deadheat().args(["cc", "-g", "-shared", "-fPIC", "store.c", "-o", "libstore.so"]), &folder);
    fs::write(folder.join("opens.c"), OPENS).expect("written");
    ok(Command::new("cc").args(["-c", "opens.c"]), &folder);
    ok(deadheat().args(["cc", "opens.o", "-o", "with"]), &folder);
    assert_eq!(code(&folder, &["run", "--", "./with"]), Some(0));
    ok(Command::new("cc").args(["opens.o", "-ldl", "-o", "without"]), &folder);
    let found = output(deadheat().args(["run", "--", "./without"]), &folder);
    assert_eq!(found.status.code(), Some(1), "{}", said(&found));
    let told = "nothing was seen: ./without has no deadheat runtime in it";
    assert!(said(&found).contains(told), "{}", said(&found));
    assert!(
        said(&found).contains("a program that loads instrumented libraries (`undefined symbol: __tsan_…`)")
    );
}

/// The loader does not find a library: it is not the program that is built wrongly.
#[test]
fn what_keeps_a_program_from_starting_is_not_taken_for_a_missing_runtime() {
    let folder = project("unstarted");
    ok(Command::new("cc").args(["-g", "-shared", "-fPIC", "store.c", "-o", "libstore.so"]), &folder);
    fs::write(folder.join("uses.c"), "int store(void);\nint main(void) { return store != 0; }\n")
        .expect("written");
    ok(
        deadheat().args(["cc", "uses.c", "-Wl,--unresolved-symbols=ignore-all", "libstore.so", "-o", "uses"]),
        &folder,
    );
    fs::remove_file(folder.join("libstore.so")).expect("removed");
    for (command, code) in [("run", 127), ("record", 127), ("hunt", 69)] {
        let found = output(deadheat().args([command, "--", "./uses"]), &folder);
        assert_eq!(found.status.code(), Some(code), "{}", said(&found));
        let told =
            "nothing was seen: ./uses has a deadheat runtime in it, but did not come as far as to start it";
        assert!(said(&found).contains(told), "{command}: {}", said(&found));
    }
}

#[test]
fn signals_are_passed_on_and_streams_are_inherited() {
    let folder = project("signals");
    // The program says when its handler is there, so the signal cannot come too early.
    let script = "trap 'echo got; exit 5' USR1; echo ready; read line; echo not";
    let mut child = deadheat()
        .args(["record", "-q", "-o", "T", "--", "sh", "-c", script])
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("deadheat runs");
    let mut printed = std::io::BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    std::io::BufRead::read_line(&mut printed, &mut line).expect("a line");
    assert_eq!(line, "ready\n");
    ok(Command::new("kill").args(["-USR1", &child.id().to_string()]), &folder);
    line.clear();
    std::io::BufRead::read_line(&mut printed, &mut line).expect("a line");
    assert_eq!(line, "got\n");
    assert_eq!(child.wait().expect("ended").code(), Some(5));
}

#[test]
fn the_demonstration_shows_both_lines() {
    let folder = project("demo");
    let output = output(deadheat().args(["demo", "--keep", "kept"]), &folder);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let text = said(&output);
    for part in [
        "size = size + 1;",
        "printf(\"the cache has %d of %d entries",
        "cache.c:15",
        "cache.c:20",
        "dead heat",
        "they met again",
    ] {
        assert!(text.contains(part), "no {part:?} in\n{text}");
    }
    assert!(folder.join("kept/cache.c").is_file());
}

#[test]
fn the_doctor_finds_this_machine_well() {
    let folder = project("doctor");
    let output = output(deadheat().arg("doctor"), &folder);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("canary race: caught, with both source lines"));
    let ill = common::output(deadheat().arg("doctor").env("DEADHEAT_CC", "no-such-compiler"), &folder);
    assert_eq!(ill.status.code(), Some(69), "{}", said(&ill));
    assert!(said(&ill).contains("apt install gcc"));
}
