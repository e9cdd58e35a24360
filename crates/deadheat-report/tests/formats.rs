//! The formats that other tools read.

mod common;

use common::{race, report, sources, use_after_free, written};
use deadheat_report::format::{FORMATS, named};
use deadheat_report::json;
use deadheat_report::model::{Finding, Grade, Location, Report, Thread, USE_AFTER_FREE};
use expect_test::{ExpectFile, expect_file};
use serde_json::{Value, json};

/// A proof with its story, a finding, and a note.
fn full() -> Report {
    let mut proved = race();
    proved.grade = Grade::Proved;
    proved.witness = Some(json!({
        "kind": "meeting",
        "run": 2,
        "story": ["1.5 ms: `main/1` is held before src/cache.cpp:5", "2.0 ms: `main` comes: both stand before their accesses"],
    }));
    let finding = Finding {
        kind: "crash".to_owned(),
        message: "killed by SIGSEGV, 50 % | <odd>".to_owned(),
        thread: "main/1".to_owned(),
        frames: proved.accesses[0].frames.clone(),
        ..Finding::default()
    };
    let mut report = report(vec![proved]);
    report.run.pid = Some(42);
    report.run.folder = "/home/user/repo/build".to_owned();
    report.findings.push(finding);
    report.summary.findings = 1;
    report.summary.notes.push("the trace ends early, with <some> `words`".to_owned());
    report
}

fn told(format: &str, reports: &[Report]) -> String {
    written(named(format).expect("a format"), reports, &sources())
}

fn check(format: &str, expected: &ExpectFile) {
    expected.assert_eq(&told(format, &[full()]));
}

#[test]
fn in_the_shape_of_threadsanitizer() {
    check("tsan", &expect_file!["formats/report.tsan.txt"]);
    assert_eq!(told("tsan", &[report(Vec::new())]), "");
}

/// The block is where it is, though the access that is told first begins before the bytes that both have.
#[test]
fn the_block_is_told_by_the_first_byte_that_both_have() {
    let mut told = full();
    let later = &mut told.races[0].accesses[1];
    (later.address.0, later.size) = (later.address.0 - 8, 24);
    let text = written(named("tsan").expect("a format"), &[told], &sources());
    for words in [
        " of size 24 at 0x00007f00122c by ",
        "heap block of size 64 at 0x00007f00122c allocated by main thread:",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
}

#[test]
fn threadsanitizers_numbers_of_threads_are_in_the_order_of_their_creation() {
    let mut told = full();
    let race = &mut told.races[0];
    let of = |thread: &str| Thread { thread: thread.to_owned(), ..race.threads[0].clone() };
    race.threads = vec![of("main/2"), of("main/10")];
    "main/2".clone_into(&mut race.accesses[0].thread);
    "main/10".clone_into(&mut race.accesses[1].thread);
    if let Location::Heap { thread, .. } = &mut race.location {
        "main/1".clone_into(thread);
    }
    let text = written(named("tsan").expect("a format"), &[told], &sources());
    let at = |words: &str| text.find(words).unwrap_or_else(|| panic!("no `{words}` in\n{text}"));
    at("Read of size 4 at 0x00007f001234 by thread T3:");
    at("Previous write of size 4 at 0x00007f001234 by thread T2 (");
    at("allocated by thread T1:");
    // The thread of the later access comes first, as the access does.
    assert!(at("Thread T3 'worker-1' (main/10) created by") < at("Thread T2 'worker-1' (main/2) created by"));
}

#[test]
fn threadsanitizers_words_name_the_signal() {
    let finding = Finding {
        kind: "signal-errno".to_owned(),
        signal: Some(27),
        frames: race().accesses[0].frames.clone(),
        ..Finding::default()
    };
    let mut of = report(Vec::new());
    of.findings.push(finding);
    let text = told("tsan", &[of]);
    assert!(text.contains("  Signal 27 handler invoked at:\n    #0 Cache::put(int)"), "{text}");
}

/// The use of a freed block has both accesses in each format that has room for them, as a race has.
#[test]
fn a_use_after_free_has_both_stacks() {
    let mut of = report(Vec::new());
    of.findings.push(use_after_free());
    let text = told("tsan", std::slice::from_ref(&of));
    for words in [
        "WARNING: ThreadSanitizer: heap-use-after-free (pid=",
        "  Read of size 4 at 0x00007f001234 by main thread",
        "  Previous write of size 4 at 0x00007f001234 by thread T",
        "  Location is heap block",
        "SUMMARY: ThreadSanitizer: heap-use-after-free ",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    let text = told("text", std::slice::from_ref(&of));
    assert!(
        text.contains("error: use-after-free: `main` reads a block that `main/1` freed before"),
        "{text}"
    );
    assert!(
        text.contains("free of 4 bytes by `main/1") && text.contains("read of 4 bytes by `main"),
        "{text}"
    );
    let sarif: Value = serde_json::from_str(&told("sarif", std::slice::from_ref(&of))).expect("JSON");
    let result = &sarif["runs"][0]["results"][0];
    assert_eq!(result["ruleId"], USE_AFTER_FREE);
    assert_eq!(result["codeFlows"][0]["threadFlows"].as_array().map(Vec::len), Some(2), "{result}");
    let page = told("html", &[of]);
    assert!(page.contains("<div class=\"sides\">"), "{page}");
}

#[test]
fn annotations_on_github() {
    check("github", &expect_file!["formats/report.github.txt"]);
    let many = report(vec![race(); 13]);
    let lines = told("github", &[many.clone(), many]);
    assert_eq!(lines.lines().filter(|line| line.starts_with("::error ")).count(), 10);
    assert_eq!(lines.lines().last(), Some("::notice::deadheat: 16 more are in the whole report"));
}

#[test]
fn a_page_in_markdown() {
    check("markdown", &expect_file!["formats/report.md"]);
}

#[test]
fn junit() {
    check("junit", &expect_file!["formats/report.junit.xml"]);
    let passed = told("junit", &[report(Vec::new())]);
    assert!(passed.contains("tests=\"1\" skipped=\"0\" failures=\"0\""), "{passed}");
    let mut alone = report(Vec::new());
    alone.run.threads = 1;
    let skipped = told("junit", &[alone]);
    assert!(skipped.contains("tests=\"1\" skipped=\"1\" failures=\"0\""), "{skipped}");
}

#[test]
fn sarif() {
    check("sarif", &expect_file!["formats/report.sarif"]);
}

#[test]
fn sarif_is_what_its_schema_says() {
    let mut odd = full();
    odd.races[0].accesses[0].frames.clear();
    for reports in [vec![full()], vec![odd], vec![report(Vec::new())], vec![full(), full()]] {
        let text = told("sarif", &reports);
        let log: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect("SARIF 2.1.0");
        assert_eq!(log.runs.len(), reports.len());
        let (own, again): (Value, Value) =
            (serde_json::from_str(&text).expect("JSON"), serde_json::to_value(&log).expect("JSON"));
        // What the schema does not know would be lost on the way.
        assert_eq!(own, again);
    }
}

#[test]
fn one_page() {
    check("html", &expect_file!["formats/report.html"]);
    let page = told("html", &[full(), full()]);
    assert_eq!(page.matches("<html").count(), 1);
    assert!(page.contains("id=\"dh-00000000\"") && page.contains("id=\"dh-00000000-1\""));
}

/// A report in which a thread, a function, a file, a variable and the program have this name.
fn with_name(name: &str) -> Report {
    let mut of = full();
    name.clone_into(&mut of.run.program);
    let race = &mut of.races[0];
    for access in &mut race.accesses {
        name.clone_into(&mut access.thread_name);
        access.frames[0].function = Some(name.to_owned());
        access.frames[0].file = Some(name.to_owned());
    }
    name.clone_into(&mut race.threads[0].name);
    race.location = Location::Named { name: name.to_owned() };
    of.findings[0].message = format!("at {name}");
    of.findings[0].count = 1;
    of
}

/// What a program names cannot speak to a terminal, nor break a line, in any form.
#[test]
fn control_characters_of_names_are_shown_and_not_written() {
    const RAW: &str = "a\n::error::\r\u{1b}[31m\u{1}\u{9b}\u{e9}";
    const SHOWN: &str = "a\\n::error::\\r\\x1b[31m\\x01\\x9b\u{e9}";
    for format in FORMATS {
        let text = told(format.name, &[with_name(RAW)]);
        let odd = text.chars().find(|c| c.is_control() && !"\n\t".contains(*c));
        match format.name {
            "json" => {
                assert_eq!(json::read("kept", text.as_bytes()).expect("it is read again"), [with_name(RAW)]);
            }
            "sarif" => assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}"),
            "junit" => {}
            name => {
                assert_eq!(odd, None, "{name}: {text}");
                let shown = if name == "github" { "a\\n%3A%3Aerror" } else { SHOWN };
                assert!(text.contains(shown), "{name}: {text}");
                let plain = told(name, &[with_name("plain")]);
                assert_eq!(text.lines().count(), plain.lines().count(), "{name}: {text}\n{plain}");
            }
        }
    }
    // A line of source, too, is what it is, and no markup.
    let source = common::Fixed::of("src/cache.cpp", "\n\n\n\n\tsize_ = 0; // \u{1b}[31m\n\n\n\n\n");
    let page = written(named("html").expect("a format"), &[full()], &source);
    assert!(page.contains("\tsize_ = 0; // \\x1b[31m"), "{page}");
}
