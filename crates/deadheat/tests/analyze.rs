//! `deadheat analyze` and `deadheat report` on traces that are text, so that no compiler is needed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Two races on `x` that the lock does not prevent, and none on `y`.
const RACY: &str = "\
T0|w(y)|1
T0|fork(T1)|2
T0|w(x)|3
T0|acq(l)|4
T0|r(x)|5
T0|rel(l)|6
T1|r(y)|7
T1|w(x)|8
";

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("deadheat-analyze-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).expect("the temporary folder can be written");
        Folder(path)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("the temporary folder can be written");
    }

    fn run(&self, arguments: &[&str]) -> (i32, String, String) {
        let mut command = Command::new(Path::new(env!("CARGO_BIN_EXE_deadheat")));
        let Output { status, stdout, stderr } =
            command.args(arguments).current_dir(&self.0).output().expect("deadheat starts");
        let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
        (status.code().expect("deadheat is not killed"), text(stdout), text(stderr))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn races_are_told_and_end_with_66() {
    let folder = Folder::new("text");
    folder.write("t.std", RACY);
    let (code, out, err) = folder.run(&["analyze", "t.std"]);
    assert_eq!((code, out.as_str()), (66, ""), "{err}");
    assert_eq!(err.matches("unordered: data race on `x`").count(), 2, "{err}");
    assert!(err.contains("holding `l`"), "{err}");
    assert!(err.ends_with("deadheat: 2 races (2 unordered)\n"), "{err}");
    assert!(!err.contains('\u{1b}'), "no colour into a file");
    assert_eq!(folder.run(&["analyze", "t.std", "--fail-on", "proved"]).0, 0);
    assert_eq!(folder.run(&["analyze", "t.std", "--fail-on", "never"]).0, 2);
    assert_eq!(folder.run(&["analyze", "t.std", "--by", "magic"]).0, 2);
}

#[test]
fn the_same_report_by_way_of_a_file() {
    let folder = Folder::new("json");
    folder.write("t.std", RACY);
    let (_, _, direct) = folder.run(&["analyze", "t.std"]);
    let (code, out, err) = folder.run(&["analyze", "t.std", "--format", "json", "-o", "r.jsonl"]);
    assert_eq!((code, out.as_str(), err.as_str()), (66, "", ""));
    let (code, out, err) = folder.run(&["report", "r.jsonl"]);
    assert_eq!((code, out.as_str(), err), (0, "", direct));
    let (_, out, _) = folder.run(&["report", "r.jsonl", "--format", "json"]);
    assert_eq!(out, fs::read_to_string(folder.0.join("r.jsonl")).expect("it was written"));
    let types: Vec<_> = out.lines().filter_map(|line| line.split('"').nth(3)).collect();
    assert_eq!(types, ["run", "race", "race", "summary"]);
}

/// `T0` and `T3` come to `y` behind a read of `x` each; which of the two writes that they see comes first has to be tried.
const TO_BE_TRIED: &str = "\
T2|w(x)|1
T3|r(x)|2
T1|w(x)|3
T0|r(x)|4
T3|r(y)|5
T0|w(y)|6
";

#[test]
fn pairs_for_which_memory_does_not_do_are_counted_and_it_is_said_what_helps() {
    const NOTE: &str = "csp could not say of 1 pair of accesses whether they can race, as its memory was full: \
                        --memory-limit MIB gives it more";
    let folder = Folder::new("undecided");
    folder.write("t.std", TO_BE_TRIED);
    let csp = |more: &[&str]| folder.run(&[&["analyze", "t.std", "--by", "csp"], more].concat());
    let (_, _, all) = csp(&[]);
    assert!(all.contains("data race on `y`") && !all.contains("could not say"), "{all}");
    let (_, _, some) = csp(&["--memory-limit", "0"]);
    assert!(!some.contains("data race on `y`") && some.contains(&format!("deadheat: {NOTE}\n")), "{some}");
    for (limit, notes) in [("1", vec![]), ("0", vec![NOTE])] {
        let (_, out, err) = csp(&["--memory-limit", limit, "--format", "json", "--fail-on", "proved"]);
        let summary: serde_json::Value =
            serde_json::from_str(out.lines().last().expect("a summary")).expect("JSON");
        // Five pairs of threads conflict on `x`, and one on `y`.
        assert_eq!((&summary["checks"], &summary["notes"]), (&6.into(), &notes.into()), "{err}");
    }
    let (_, out, _) = folder.run(&["analyze", "t.std", "--format", "json"]);
    assert!(!out.contains("\"checks\""), "hb checks none: {out}");
}

/// Each format by what those who read it look for, and where it goes.
#[test]
fn the_formats_of_other_tools() {
    let folder = Folder::new("formats");
    folder.write("t.std", RACY);
    folder.run(&["analyze", "t.std", "--format", "json", "-o", "r.jsonl"]);
    for (format, on_error, parts) in [
        ("tsan", true, &["WARNING: ThreadSanitizer: data race", "SUMMARY: ThreadSanitizer: data race"][..]),
        ("html", false, &["<!DOCTYPE html>", "</html>"]),
        ("sarif", false, &["\"version\": \"2.1.0\"", "\"ruleId\": \"data-race\""]),
        ("junit", false, &["<testsuites", "failures=\"2\""]),
        ("github", false, &["::error "]),
        ("markdown", false, &["### deadheat", "| --- |"]),
    ] {
        let (code, out, err) = folder.run(&["report", "r.jsonl", "--format", format]);
        let (told, other) = if on_error { (err, out) } else { (out, err) };
        assert_eq!((code, other.as_str()), (0, ""), "{format}");
        assert!(parts.iter().all(|part| told.contains(part)), "{format}: {told}");
        let (code, _, _) = folder.run(&["analyze", "t.std", "--format", format, "-o", "direct"]);
        assert_eq!(code, 66);
        let direct = fs::read_to_string(folder.0.join("direct")).expect("it was written");
        assert_eq!(direct, told, "{format}");
    }
}

#[test]
fn what_a_shell_and_a_manual_want() {
    let folder = Folder::new("shell");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (code, out, err) = folder.run(&["completions", shell]);
        assert_eq!((code, err.as_str()), (0, ""), "{shell}");
        assert!(out.contains("hunt") && out.contains("until-met"), "{shell}: {out}");
        // What deadheat alone gives is not offered.
        assert!(!out.contains("by-hand") && !out.contains("warden"), "{shell}: {out}");
    }
    let (code, _, err) = folder.run(&["man", "pages"]);
    assert_eq!(code, 0, "{err}");
    let page = fs::read_to_string(folder.0.join("pages/deadheat-replay.1")).expect("a page");
    assert!(page.starts_with(".") && page.contains("until\\-met"), "{page}");
}

#[test]
fn suppressions() {
    let folder = Folder::new("suppressions");
    folder.write("t.std", RACY);
    folder.write("all.txt", "race: ^x$\nsilly:x\nrace:zebra\n");
    let (code, _, err) =
        folder.run(&["analyze", "t.std", "--suppressions", "all.txt", "--unused-suppressions"]);
    assert_eq!(code, 0);
    let lines: Vec<_> = err.lines().collect();
    assert_eq!(
        lines,
        [
            "deadheat: warning: all.txt:1: the space after the colon is dropped (TSan would look for it)",
            "deadheat: warning: all.txt:2: unknown type `silly`, the line is skipped; types are race, race_top, \
             mutex, thread, signal, called_from_lib, deadlock",
            "deadheat: no race found in 2 threads, 8 events and 5 accesses; 2 suppressed",
            "deadheat: unused suppression: all.txt:3: race:zebra",
        ]
    );
    assert_eq!(folder.run(&["analyze", "t.std", "--suppressions", "missing.txt"]).0, 65);
}

#[test]
fn a_run_that_could_not_race_says_so() {
    let folder = Folder::new("alone");
    folder.write("alone.std", "T0|w(x)|1\nT0|w(x)|2\n");
    folder.write("nothing.std", "T0|fork(T1)|1\nT1|acq(l)|2\nT1|rel(l)|3\n");
    let (code, _, err) = folder.run(&["analyze", "alone.std"]);
    assert_eq!(code, 0);
    assert!(err.contains("no second thread was seen"), "{err}");
    let (code, _, err) = folder.run(&["analyze", "nothing.std"]);
    assert_eq!(code, 0);
    assert!(err.contains("no instrumented access was seen"), "{err}");
    assert_eq!(folder.run(&["analyze", "-q", "alone.std"]).2.lines().count(), 1);
}

#[test]
fn what_was_read_before_a_fault_is_told() {
    let folder = Folder::new("fault");
    folder.write("t.std", &format!("{RACY}T1|w(\n"));
    let (code, _, err) = folder.run(&["analyze", "t.std"]);
    assert_eq!(code, 65);
    assert_eq!(err.matches("data race on `x`").count(), 2, "{err}");
    assert!(err.lines().last().is_some_and(|last| last.starts_with("deadheat: t.std:9:")), "{err}");
    let (code, _, err) = folder.run(&["analyze", "none.std", "t.std"]);
    assert_eq!(code, 65);
    assert!(err.contains("data race on `x`"), "the other trace is told: {err}");
    assert!(err.ends_with("deadheat: none.std: No such file or directory (os error 2)\n"), "{err}");
    folder.write("r.jsonl", "{\"type\":\"run\",\"schema\":9}\n");
    let (code, _, err) = folder.run(&["report", "r.jsonl"]);
    assert_eq!(code, 65);
    assert!(err.starts_with("deadheat: r.jsonl:1: schema 9 is of a later version"), "{err}");
}

/// A lock given back by a stranger, one taken while it is held, a thread created behind its first event.
const ILL_FORMED: [(&str, &str, &str); 3] = [
    (
        "T0|fork(T1)|1\nT0|acq(l)|2\nT0|w(x)|3\nT1|rel(l)|4\nT1|rel(l)|5\nT0|rel(l)|6\n",
        "release-not-held is broken 2 times, first by event 4: `main/1` gives back `l`, which `main` holds at line 4.",
        "release-not-held",
    ),
    (
        "T0|fork(T1)|1\nT0|acq(l)|2\nT1|acq(l)|3\nT1|w(x)|4\nT1|rel(l)|5\nT0|rel(l)|6\n",
        "acquire-held is broken by event 3: `main/1` takes `l`, which `main` holds at line 3.",
        "acquire-held",
    ),
    (
        "T0|w(x)|1\nT1|w(x)|2\nT0|fork(T1)|3\nT1|w(x)|4\n",
        "late-fork is broken by event 3: `main` creates `?1`, which was there before at line 3.",
        "late-fork",
    ),
];

#[test]
fn a_trace_that_no_run_can_have_is_told() {
    let folder = Folder::new("ill-formed");
    for (text, words, rule) in ILL_FORMED {
        folder.write("t.std", text);
        let (_, _, err) = folder.run(&["analyze", "t.std", "--by", "hb,sync-preserving"]);
        let warning: Vec<_> = err.lines().filter(|line| line.contains("not well formed")).collect();
        let [warning] = warning[..] else { panic!("one warning: {err}") };
        assert!(warning.starts_with("deadheat: warning: the trace is not well formed: "), "{warning}");
        assert!(warning.contains(words), "{warning}");
        assert!(
            warning.contains(" hb: A release") && warning.contains(" sync-preserving: Locks, creations"),
            "{warning}"
        );
        // The summary has it in parts; with another form than text it is told on standard error all the same.
        let (_, out, err) = folder.run(&["analyze", "t.std", "--format", "json"]);
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(err.starts_with("deadheat: t.std: warning: the trace is not well formed"), "{err}");
        let summary = out.lines().last().expect("a summary");
        let summary: serde_json::Value = serde_json::from_str(summary).expect("it is JSON");
        let broken = &summary["ill_formed"][0]["broken"];
        assert_eq!(broken.as_array().map(Vec::len), Some(1), "{summary}");
        assert_eq!(broken[0]["rule"], rule, "{summary}");
        assert!(summary["ill_formed"][0]["analyses"]["findings"].is_string(), "{summary}");
    }
    folder.write("t.std", RACY);
    let (_, out, err) = folder.run(&["analyze", "t.std", "--format", "json"]);
    assert!(err.is_empty() && !out.contains("ill_formed"), "{err}{out}");
}
