//! Sixty-four threads over shared structures while races are looked for: exactly the planted ones are told, and memory stays flat
//! (`spec/stress`). 15 seconds, or ten minutes with `DEADHEAT_ACCEPT=full`, or `DEADHEAT_STRESS_SECONDS`.

mod common;

#[path = "programs/build.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod build;
#[path = "programs/judge.rs"]
mod judge;
#[path = "programs/run.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod run;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod spec;

use std::path::{Path, PathBuf};

use build::{Compiler, Optimisation};
use common::{deadheat, have, output, said};
use spec::{Found, Program};

const SECONDS: u64 = 15;
const SECONDS_IN_FULL: u64 = 600;
const THREADS: &str = "64";
/// So many times the most memory of a quarter of the time may all of it take, in hundredths.
const GROWTH: u64 = 110;
/// The same for runs that are too short: what each thread remembers fills up meanwhile.
const GROWTH_AT_FIRST: u64 = 250;
/// From here on it is full in a quarter of the time.
const SECONDS_UNTIL_FULL: u64 = 240;

fn seconds() -> u64 {
    if let Some(given) = std::env::var("DEADHEAT_STRESS_SECONDS").ok().and_then(|text| text.parse().ok()) {
        return given;
    }
    if std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full") { SECONDS_IN_FULL } else { SECONDS }
}

/// A program of `spec/stress`, built.
fn built(name: &str) -> Option<(Program, PathBuf, PathBuf)> {
    if !have("clang-19") {
        return None;
    }
    let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/stress").join(format!("{name}.c"));
    let program = Program::read(&spec.canonicalize().expect("the program"));
    assert!(program.faults.is_empty(), "{:?}", program.faults);
    let folder = common::folder("stress", name);
    let executable = build::build(&program, Compiler::Clang, Optimisation::Full, &folder);
    let executable = executable.unwrap_or_else(|fault| panic!("{fault}"));
    Some((program, folder, executable))
}

#[test]
fn exactly_the_planted_races_are_told_and_memory_stays_flat() {
    let Some((program, folder, executable)) = built("shared") else { return };
    assert_eq!(program.races.len(), 4);
    let mut command = deadheat();
    command.args(["run", "--format", "json", "-o", "report", "--"]);
    let output = output(command.arg(&executable).arg(seconds().to_string()).arg(THREADS), &folder);
    let report = std::fs::read_to_string(folder.join("report")).unwrap_or_default();
    let code = output.status.code().unwrap_or(-1);
    let outcome = run::read(&report, code, &said(&output), Found::Online)
        .unwrap_or_else(|fault| panic!("{fault}"))
        .unwrap_or_else(|| panic!("no summary: {}", said(&output)));
    judge::judge(&program, &outcome, Found::Online).unwrap_or_else(|fault| panic!("{fault}"));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let told = text.lines().find_map(|line| line.strip_prefix("peak ")).unwrap_or_default();
    let numbers: Vec<u64> = told.split(' ').filter_map(|word| word.parse().ok()).collect();
    let &[quarter, all] = &numbers[..] else { panic!("no memory is told: {}", said(&output)) };
    println!("{} s, {THREADS} threads, the 4 planted races: peak {told}", seconds());
    let most = if seconds() < SECONDS_UNTIL_FULL { GROWTH_AT_FIRST } else { GROWTH };
    assert!(all * 100 <= quarter * most, "memory grew: {told}");
}

/// Both kinds of runs must end by themselves.
#[test]
fn handlers_within_atomic_operations_do_not_wait_for_good() {
    for name in ["handlers", "stripes"] {
        let Some((program, folder, executable)) = built(name) else { return };
        for found in [Found::Online, Found::ByHand] {
            let outcome =
                run::run(&executable, &folder, found).unwrap_or_else(|fault| panic!("{name}: {fault}"));
            judge::judge(&program, &outcome, found)
                .unwrap_or_else(|fault| panic!("{name}, {found:?}: {fault}"));
        }
    }
}

/// Where the names of joined threads were taken for their last bearers', each run that looked for races while it went told some.
#[test]
fn no_join_is_lost_where_many_threads_create_and_join() {
    let Some((program, folder, executable)) = built("joins") else { return };
    for found in [Found::Online, Found::Offline, Found::ByHand] {
        for _ in 0..3 {
            let outcome = run::run(&executable, &folder, found).unwrap_or_else(|fault| panic!("{fault}"));
            judge::judge(&program, &outcome, found).unwrap_or_else(|fault| panic!("{found:?}: {fault}"));
        }
    }
}

/// What is said for 64 cells at once while ranges have all of them is said for each as soon as somebody comes to one.
#[test]
fn buffers_that_are_accessed_as_a_whole_and_byte_by_byte_race_where_they_do() {
    let Some((program, folder, executable)) = built("buffers") else { return };
    for found in [Found::Online, Found::Offline, Found::ByHand] {
        let outcome = run::run(&executable, &folder, found).unwrap_or_else(|fault| panic!("{fault}"));
        judge::judge(&program, &outcome, found).unwrap_or_else(|fault| panic!("{found:?}: {fault}"));
    }
}

/// Where a handler came between a thread's last event and its leave, it crashed: about once in 800 runs of a program with a thousand
/// threads and a profiler's signals, and in each run of this one with a pause put there.
#[test]
fn a_handler_at_the_very_end_of_a_thread_does_no_harm() {
    let Some((program, folder, executable)) = built("ends") else { return };
    for found in [Found::Online, Found::Offline, Found::ByHand] {
        let outcome = run::run(&executable, &folder, found).unwrap_or_else(|fault| panic!("{fault}"));
        judge::judge(&program, &outcome, found).unwrap_or_else(|fault| panic!("{found:?}: {fault}"));
    }
}

/// Its races are many, and which of them still have both stacks is not foreseen.
#[test]
fn a_handler_that_finds_races_does_not_wait_for_its_own_thread() {
    let Some((_, folder, executable)) = built("reports") else { return };
    for found in [Found::Online, Found::ByHand] {
        let outcome = run::run(&executable, &folder, found).unwrap_or_else(|fault| panic!("{fault}"));
        let at = |symbol: &str| outcome.races.iter().any(|race| race["location"]["symbol"] == symbol);
        assert!(outcome.code == 66 && at("first") && at("second"), "{found:?}: {outcome:?}");
    }
}
