//! Random programs whose threads take turns, which the race detector does not see: each step that races with one before it, and no other, is told while
//! the program runs, as a brute force says that keeps every access to every byte.
//!
//! They are recorded, too, and the pairs of steps that happens-before finds in the recording are those of the brute force.
//!
//! The programs come to cells in all ways that hooks and the C library's functions have: by 1 to 16 bytes, wherever they lie, by ranges, atomically, by memory that is
//! allocated and freed. Some are run; `DEADHEAT_ACCEPT=full` runs 500 for each compiler, and `DEADHEAT_RANDOM=SEED` the program of one.

mod common;

#[path = "random/code.rs"]
mod code;
#[path = "random/model.rs"]
mod model;
#[path = "random/program.rs"]
mod program;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use common::{deadheat, have, output, said};
use program::{Access, Program, What};

/// How many programs each compiler gets.
const SOME: u64 = 16;
const SOME_IN_FULL: u64 = 500;
/// So many pairs are compared at the most: with more it takes long to write them all down.
const MOST_PAIRS: usize = 10_000;

fn seeds() -> Vec<u64> {
    if let Some(seed) = std::env::var("DEADHEAT_RANDOM").ok().and_then(|text| text.parse().ok()) {
        return vec![seed];
    }
    let count = if std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full") { SOME_IN_FULL } else { SOME };
    (1..=count).collect()
}

/// The part of a program that is not instrumented, compiled.
fn turns(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/random/turns.c");
    let object = folder.join("turns.o");
    let status = Command::new("gcc").args(["-O2", "-c", "-o"]).arg(&object).arg(source).status();
    assert!(status.is_ok_and(|status| status.success()), "turns.c is compiled");
    object
}

/// Compiles the program.
fn build(folder: &Path, compiler: &str, optimisation: &str) -> Result<(), String> {
    let mut command = deadheat();
    command.env("DEADHEAT_CC", compiler);
    command.args([
        "cc",
        optimisation,
        "-w",
        "-fno-builtin",
        "-pthread",
        "-mcx16",
        "-o",
        "program",
        "program.c",
        "turns.o",
        "-latomic",
    ]);
    let built = output(&mut command, folder);
    if built.status.success() { Ok(()) } else { Err(format!("it is not compiled: {}", said(&built))) }
}

/// Which steps are told to race as the program runs.
fn told(folder: &Path) -> Result<BTreeSet<usize>, String> {
    let mut command = Command::new(folder.join("program"));
    command.env("DEADHEAT_OPTIONS", "log_path=/dev/null:exitcode=0");
    let ran = output(&mut command, folder);
    if !ran.status.success() {
        return Err(format!("it ends with {}: {}", ran.status, said(&ran)));
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    text.lines().map(|line| line.parse().map_err(|error| format!("{error}: `{line}`"))).collect()
}

/// Which pairs of lines are told to race by happens-before in a recording of the program.
fn recorded(folder: &Path) -> Result<BTreeSet<(u64, u64)>, String> {
    let record = output(deadheat().args(["record", "-o", "trace", "--", "./program"]), folder);
    if !record.status.success() {
        return Err(format!("it is not recorded: {}", said(&record)));
    }
    let analyze = ["analyze", "--by", "hb", "--all-pairs", "--format", "json", "trace"];
    let found = output(deadheat().args(analyze), folder);
    let mut pairs = BTreeSet::new();
    for line in String::from_utf8_lossy(&found.stdout).lines() {
        let line: Value = serde_json::from_str(line).map_err(|error| format!("{error}: `{line}`"))?;
        if line["type"] == "race" {
            let at = |side: usize| {
                let frames = line["accesses"][side]["frames"].as_array()?;
                let own = frames.iter().find(|frame| frame["file"] == "program.c")?;
                own["line"].as_u64()
            };
            let (Some(one), Some(other)) = (at(0), at(1)) else { return Err(format!("no place: {line}")) };
            pairs.insert((one.min(other), one.max(other)));
        }
    }
    Ok(pairs)
}

/// What is wrong with what is told of a program; how many steps were told to race, and how many pairs of them were looked for in its recording.
#[derive(Default)]
struct Faults {
    faults: Vec<String>,
    told: usize,
    pairs: usize,
}

/// What is wrong with what is told of a program, which is compiled.
fn faults(folder: &Path, program: &Program, lines: &[u64]) -> Result<Faults, String> {
    let expected = model::expected(program);
    let told = told(folder)?;
    let (mut faults, mut compared) = (Vec::new(), 0);
    let step = |at: usize| format!("{at}: {:?}", program.steps[at]);
    let mut fault =
        |what: &str, at: Option<&usize>| faults.extend(at.map(|&at| format!("{what}: {}", step(at))));
    fault("not told", expected.must.difference(&told).next());
    fault("told without cause", told.difference(&expected.may).next());
    if expected.pairs.len() <= MOST_PAIRS {
        let in_order = |one: u64, other: u64| (one.min(other), one.max(other));
        let pairs = expected.pairs.iter().map(|&(one, other)| in_order(lines[one], lines[other])).collect();
        let is_own = |line: &u64| {
            let step = lines.iter().position(|at| at == line).map(|at| program.steps[at].what);
            matches!(step, Some(What::Access(Access { block: None, .. })))
        };
        compared = expected.pairs.len();
        let mut found = recorded(folder)?;
        found.retain(|(one, other)| is_own(one) && is_own(other));
        let mut fault = |what: &str, pair: Option<&(u64, u64)>| {
            faults.extend(pair.map(|(one, other)| format!("{what}: lines {one} and {other}")));
        };
        fault("not in the recording", BTreeSet::difference(&pairs, &found).next());
        fault("in the recording without cause", found.difference(&pairs).next());
    }
    Ok(Faults { faults, told: told.len(), pairs: compared })
}

/// Runs programs, as one compiler makes them: how many steps were told to race, how many pairs of them were looked for in recordings, and of how many steps.
fn run_all(compiler: &str) -> Option<[usize; 3]> {
    if !have(compiler) {
        return None;
    }
    let folder = common::folder("random", compiler);
    turns(&folder);
    let (mut races, mut pairs, mut steps, mut wrong) = (0, 0, 0, Vec::new());
    for seed in seeds() {
        let program = program::program(seed);
        let (text, lines) = code::code(&program);
        std::fs::write(folder.join("program.c"), text).expect("the program is written");
        let optimisation = ["-O0", "-O1", "-O2"][(seed % 3) as usize];
        let found = build(&folder, compiler, optimisation).and_then(|()| faults(&folder, &program, &lines));
        let found = found.unwrap_or_else(|fault| Faults { faults: vec![fault], ..Faults::default() });
        wrong.extend(found.faults.into_iter().map(|fault| format!("seed {seed}, {optimisation}: {fault}")));
        races += found.told;
        pairs += found.pairs;
        steps += program.steps.len();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    println!("{compiler}: {races} steps that race of {steps}; {pairs} pairs in recordings");
    Some([races, pairs, steps])
}

/// A test of programs without races would test little.
fn assert_many([races, pairs, steps]: [usize; 3]) {
    let one = std::env::var_os("DEADHEAT_RANDOM").is_some();
    assert!(one || races * 20 > steps && pairs * 20 > steps, "{races} races, {pairs} pairs of {steps} steps");
}

#[test]
fn what_clang_makes_of_random_programs_is_told_as_a_brute_force_tells_it() {
    if let Some(found) = run_all("clang-19") {
        assert_many(found);
    }
}

#[test]
fn what_gcc_makes_of_random_programs_is_told_as_a_brute_force_tells_it() {
    if let Some(found) = run_all("gcc") {
        assert_many(found);
    }
}
