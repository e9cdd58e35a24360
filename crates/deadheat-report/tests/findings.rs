//! What is wrong and no race, in the forms for browsers, code scanning and jobs: all of its stacks, its threads and its grade.

mod common;

use std::fmt::Write as _;

use common::{Fixed, frame, report, use_after_free, written};
use deadheat_report::format::named;
use deadheat_report::model::{
    ASKED, Finding, Frame, Grade, Hex, LOCK_ORDER, Lock, Report, Step, Summary, TOOK, Thread,
};
use expect_test::{expect, expect_file};
use serde_json::Value;

const CYC: &str = "\
#include <pthread.h>

pthread_mutex_t m, n;
static void inner(pthread_mutex_t *wanted) { pthread_mutex_lock(wanted); }
void *one(void *none) { lock(&m); inner(&n); unlock(&n); unlock(&m); return none; }
void *two(void *none) { lock(&n); inner(&m); unlock(&m); unlock(&n); return none; }

int main() {
  pthread_t a, b, c;
  pthread_create(&a, 0, one, 0);
  pthread_create(&b, 0, two, 0);
  pthread_mutex_destroy(&m);
  pthread_mutex_lock(&m);
  pthread_mutex_lock(&m);
  pthread_create(&c, 0, one, 0);
}
";

fn at(function: &str, line: u32, column: u32) -> Frame {
    frame(function, line, "cyc.c", line, column)
}

fn lock(name: &str) -> Lock {
    Lock { name: name.to_owned(), id: format!("cyc:{name}"), ..Lock::default() }
}

fn step(what: &str, thread: &str, name: &str, frames: Vec<Frame>) -> Step {
    let address = Hex(u64::from(name.as_bytes()[0]));
    Step {
        what: what.to_owned(),
        thread: thread.to_owned(),
        thread_name: String::new(),
        lock: lock(name),
        address,
        frames,
    }
}

/// `main`'s row, or that of a thread that it created in this line.
fn row(thread: &str, created_in: Option<u32>) -> Thread {
    Thread {
        thread: thread.to_owned(),
        name: String::new(),
        created_by: created_in.map(|_| "main".to_owned()),
        frames: created_in.map(|line| at("main", line, 3)).into_iter().collect(),
    }
}

/// Two threads that lock `m` and `n` in opposite orders.
fn lock_order() -> Finding {
    let (one, two) = (vec![at("inner", 4, 46), at("one", 5, 35)], vec![at("inner", 4, 46), at("two", 6, 35)]);
    Finding {
        kind: LOCK_ORDER.to_owned(),
        grade: Some(Grade::Predicted),
        message: "`m` and `n` are locked in opposite orders: the threads can wait for each other for ever"
            .to_owned(),
        thread: "main/1".to_owned(),
        frames: one.clone(),
        steps: vec![
            step(TOOK, "main/1", "m", vec![at("one", 5, 25)]),
            step(ASKED, "main/1", "n", one),
            step(TOOK, "main/2", "n", vec![at("two", 6, 25)]),
            step(ASKED, "main/2", "m", two),
        ],
        threads: vec![row("main/1", Some(10)), row("main/2", Some(11))],
        ..Finding::default()
    }
}

/// `main` destroys `m`, which `main/1` holds.
fn destroyed() -> Finding {
    Finding {
        kind: "mutex-misuse".to_owned(),
        sort: "destroy-locked".to_owned(),
        grade: Some(Grade::Observed),
        message: "`m` is destroyed while it is held".to_owned(),
        thread: "main".to_owned(),
        frames: vec![at("main", 12, 3)],
        lock: Some(lock("m")),
        address: Some(Hex(0x6d)),
        steps: vec![step(TOOK, "main/1", "m", vec![at("one", 5, 25)])],
        threads: vec![row("main", None), row("main/1", Some(10))],
        ..Finding::default()
    }
}

/// `main` locks `m` twice.
fn locked_twice() -> Finding {
    Finding {
        sort: "double-lock".to_owned(),
        message: "`m` is locked by `main` while it is held and cannot be held twice".to_owned(),
        frames: vec![at("main", 14, 3)],
        steps: vec![step(TOOK, "main", "m", vec![at("main", 13, 3)])],
        threads: vec![row("main", None)],
        ..destroyed()
    }
}

/// Nobody waits for `main/3`; where it was created is all that is known of it.
fn leaked() -> Finding {
    let threads = vec![row("main/3", Some(15))];
    Finding {
        kind: "thread-leak".to_owned(),
        grade: Some(Grade::Observed),
        message: "`main/3` was neither joined nor detached when the process ended".to_owned(),
        thread: "main/3".to_owned(),
        frames: threads[0].frames.clone(),
        threads,
        count: 3,
        ..Finding::default()
    }
}

fn with(findings: Vec<Finding>) -> Report {
    let mut of = report(Vec::new());
    of.run.folder = "/home/user/repo".to_owned();
    of.summary = Summary::of(&of.races, &findings);
    of.findings = findings;
    of
}

fn all() -> Report {
    with(vec![lock_order(), destroyed(), locked_twice(), leaked(), use_after_free()])
}

fn told(format: &str, of: Report) -> String {
    written(named(format).expect("a format"), &[of], &Fixed::of("cyc.c", CYC))
}

/// A result of a SARIF log in few lines: where it is, what is related, how each thread came there, and the stacks.
fn outline(result: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let place = |location: &Value| {
        let physical = &location["physicalLocation"];
        format!("{}:{}", text(&physical["artifactLocation"]["uri"]), physical["region"]["startLine"])
    };
    let rows = |of: &Value| of.as_array().cloned().unwrap_or_default();
    let mut out = format!(
        "{} of {}: {}\n",
        text(&result["level"]),
        text(&result["ruleId"]),
        text(&result["message"]["text"])
    );
    let mut line = |depth: usize, words: &str| {
        writeln!(out, "{}{words}", "  ".repeat(depth)).expect("a string takes everything");
    };
    result["properties"]["grade"].as_str().into_iter().for_each(|grade| line(1, &format!("grade {grade}")));
    rows(&result["locations"]).iter().for_each(|at| line(1, &format!("at {}", place(at))));
    for at in rows(&result["relatedLocations"]) {
        line(1, &format!("related: {} {}", text(&at["message"]["text"]), place(&at)));
    }
    for flow in rows(&result["codeFlows"][0]["threadFlows"]) {
        line(1, &format!("flow of {}:", text(&flow["message"]["text"])));
        for step in rows(&flow["locations"]) {
            let order = step["executionOrder"].as_u64().map_or(String::new(), |order| format!(" ({order})"));
            let depth = step["nestingLevel"].as_u64().unwrap_or(0) as usize;
            let at = &step["location"];
            line(2 + depth, &format!("{} {}{order}", text(&at["message"]["text"]), place(at)));
        }
    }
    for stack in rows(&result["stacks"]) {
        let frames: Vec<_> = rows(&stack["frames"]).iter().map(|frame| place(&frame["location"])).collect();
        line(1, &format!("stack: {}: {}", text(&stack["message"]["text"]), frames.join(", ")));
    }
    out
}

fn outlines(of: Report) -> String {
    let log: Value = serde_json::from_str(&told("sarif", of)).expect("JSON");
    let results = log["runs"][0]["results"].as_array().expect("results");
    results.iter().map(outline).collect::<Vec<_>>().join("\n")
}

#[test]
fn in_sarif_each_thread_of_a_lock_order_has_a_flow() {
    expect![[r#"
        warning of lock-order: predicted: `m` and `n` are locked in opposite orders: the threads can wait for each other for ever
          grade predicted
          at cyc.c:4
          related: `main/1` took `m` cyc.c:5
          related: `main/2` took `n` cyc.c:6
          related: `main/2` asks for `m` cyc.c:4
          related: `main/1` was created by `main` cyc.c:10
          related: `main/2` was created by `main` cyc.c:11
          flow of `main/1`:
            `main/1` took `m` cyc.c:5 (1)
            `one` calls cyc.c:5
              `main/1` asks for `n` cyc.c:4 (2)
          flow of `main/2`:
            `main/2` took `n` cyc.c:6 (1)
            `two` calls cyc.c:6
              `main/2` asks for `m` cyc.c:4 (2)
          stack: `main/1` asks for `n`: cyc.c:4, cyc.c:5
          stack: `main/1` took `m`: cyc.c:5
          stack: `main/2` took `n`: cyc.c:6
          stack: `main/2` asks for `m`: cyc.c:4, cyc.c:6
    "#]].assert_eq(&outlines(with(vec![lock_order()])));
}

#[test]
fn in_sarif_each_finding_has_all_of_its_stacks() {
    expect![[r#"
        error of mutex-misuse: `m` is destroyed while it is held
          grade observed
          at cyc.c:12
          related: `main/1` took `m` cyc.c:5
          related: `main/1` was created by `main` cyc.c:10
          flow of `main/1`:
            `main/1` took `m` cyc.c:5
          flow of `main`:
            `main` is here cyc.c:12
          stack: `main` is here: cyc.c:12
          stack: `main/1` took `m`: cyc.c:5

        error of mutex-misuse: `m` is locked by `main` while it is held and cannot be held twice
          grade observed
          at cyc.c:14
          related: `main` took `m` cyc.c:13
          flow of `main`:
            `main` took `m` cyc.c:13
            `main` is here cyc.c:14
          stack: `main` is here: cyc.c:14
          stack: `main` took `m`: cyc.c:13

        error of thread-leak: `main/3` was neither joined nor detached when the process ended
          grade observed
          at cyc.c:15
          related: `main/3` was created by `main` cyc.c:15
          flow of `main`:
            `main/3` was created by `main` cyc.c:15
          stack: `main/3` was created by `main`: cyc.c:15

        error of use-after-free: `main` reads a block that `main/1` freed before
          grade observed
          at src/cache.cpp:9
          related: `main/1` (worker-1) frees the block here, holding `cache.mu_` src/cache.cpp:5
          related: `main/1` (worker-1) was created by `main` src/main.cpp:25
          related: the block was allocated by `main` here src/main.cpp:6
          flow of `main/1` (worker-1):
            `worker(void*)` calls src/main.cpp:14
              `main/1` (worker-1) frees the block here, holding `cache.mu_` src/cache.cpp:5
          flow of `main`:
            `main` calls src/main.cpp:31
              `main` reads here, holding no lock src/cache.cpp:9
          stack: `main` reads here, holding no lock: src/cache.cpp:9, src/main.cpp:31
          stack: `main/1` (worker-1) frees the block here, holding `cache.mu_`: src/cache.cpp:5, src/main.cpp:14
    "#]].assert_eq(&outlines(with(vec![destroyed(), locked_twice(), leaked(), use_after_free()])));
}

/// What one thread did is one flow, and in no order that ends in a deadlock.
#[test]
fn in_sarif_an_order_that_one_thread_broke_has_one_flow() {
    let mut suspected = lock_order();
    suspected.grade = Some(Grade::Suspected);
    suspected.message =
        "`m` and `n` are locked in opposite orders, but in this run never by different threads at a time"
            .to_owned();
    suspected.steps.iter_mut().for_each(|step| "main/1".clone_into(&mut step.thread));
    suspected.threads.truncate(1);
    expect![[r#"
        warning of lock-order: suspected: `m` and `n` are locked in opposite orders, but in this run never by different threads at a time
          grade suspected
          at cyc.c:4
          related: `main/1` took `m` cyc.c:5
          related: `main/1` took `n` cyc.c:6
          related: `main/1` asks for `m` cyc.c:4
          related: `main/1` was created by `main` cyc.c:10
          flow of `main/1`:
            `main/1` took `m` cyc.c:5
            `one` calls cyc.c:5
              `main/1` asks for `n` cyc.c:4
            `main/1` took `n` cyc.c:6
            `two` calls cyc.c:6
              `main/1` asks for `m` cyc.c:4
          stack: `main/1` asks for `n`: cyc.c:4, cyc.c:5
          stack: `main/1` took `m`: cyc.c:5
          stack: `main/1` took `n`: cyc.c:6
          stack: `main/1` asks for `m`: cyc.c:4, cyc.c:6
    "#]].assert_eq(&outlines(with(vec![suspected])));
}

/// Where a stack is not known the others are told all the same.
#[test]
fn in_sarif_a_flow_has_the_stacks_that_are_known() {
    let mut brief = lock_order();
    brief.steps.iter_mut().filter(|step| step.what == TOOK).for_each(|step| step.frames.clear());
    brief.frames.clear();
    expect![[r#"
        warning of lock-order: predicted: `m` and `n` are locked in opposite orders: the threads can wait for each other for ever
          grade predicted
          at cyc.c:4
          related: `main/2` asks for `m` cyc.c:4
          related: `main/1` was created by `main` cyc.c:10
          related: `main/2` was created by `main` cyc.c:11
          flow of `main/1`:
            `one` calls cyc.c:5
              `main/1` asks for `n` cyc.c:4 (2)
          flow of `main/2`:
            `two` calls cyc.c:6
              `main/2` asks for `m` cyc.c:4 (2)
          stack: `main/1` asks for `n`: cyc.c:4, cyc.c:5
          stack: `main/2` asks for `m`: cyc.c:4, cyc.c:6
    "#]].assert_eq(&outlines(with(vec![brief])));
}

#[test]
fn sarif_of_findings_is_what_its_schema_says() {
    let text = told("sarif", all());
    let log: serde_sarif::sarif::Sarif = serde_json::from_str(&text).expect("SARIF 2.1.0");
    let own: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(own, serde_json::to_value(&log).expect("JSON"));
}

/// The page has a column for each thread, with the source and the stack of each thing that it did.
#[test]
fn on_one_page() {
    let page = told("html", all());
    let body = page.find("<section").expect("a finding");
    expect_file!["formats/findings.html"].assert_eq(&page[body..]);
}

#[test]
fn on_a_page_in_markdown() {
    expect_file!["formats/findings.md"].assert_eq(&told("markdown", all()));
}

/// A finding of several places names each of them, as a race does.
#[test]
fn annotations_on_github() {
    expect_file!["formats/findings.github.txt"].assert_eq(&told("github", all()));
}

/// The line that is annotated is one whose source is known, whichever side has it.
#[test]
fn an_annotation_on_github_has_a_line_if_any_side_has_one() {
    let mut order = lock_order();
    order.frames.clear();
    order.steps[0].frames.clear();
    let lines = told("github", with(vec![order]));
    assert!(
        lines.starts_with("::warning file=cyc.c,line=4,col=46,title=predicted%3A lock-order::"),
        "{lines}"
    );
    assert!(lines.contains("%0A`main/1` took `m` (place not known)%0A"), "{lines}");
}

/// A finding without a stack has nothing to unfold.
#[test]
fn without_a_stack() {
    let crash = Finding {
        kind: "crash".to_owned(),
        message: "the program was killed by SIGSEGV".to_owned(),
        ..Finding::default()
    };
    let page = told("markdown", with(vec![crash.clone()]));
    assert!(page.contains("| crash | the program was killed by SIGSEGV |  |"), "{page}");
    assert!(!page.contains("<details>"), "{page}");
    let page = told("html", with(vec![crash.clone()]));
    assert!(page.contains("<h2>crash: the program was killed by SIGSEGV</h2>\n</section>"), "{page}");
    expect![[r#"
        error of crash: the program was killed by SIGSEGV
    "#]]
    .assert_eq(&outlines(with(vec![crash])));
}
