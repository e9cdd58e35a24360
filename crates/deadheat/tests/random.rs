//! Random programs whose threads take turns, which the race detector does not see: each step that races with one before it, and no other, is told while
//! the program runs, as a brute force says that keeps every access to every byte.
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

use common::{deadheat, have, output, said};

/// How many programs each compiler gets.
const SOME: u64 = 16;
const SOME_IN_FULL: u64 = 500;

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

/// Which steps are told to race as the program runs.
fn told(folder: &Path, compiler: &str, optimisation: &str) -> Result<BTreeSet<usize>, String> {
    let mut command = deadheat();
    command.env("DEADHEAT_CC", compiler);
    command.args([
        "cc",
        optimisation,
        "-w",
        "-fno-builtin",
        "-pthread",
        "-o",
        "program",
        "program.c",
        "turns.o",
    ]);
    let built = output(&mut command, folder);
    if !built.status.success() {
        return Err(format!("it is not compiled: {}", said(&built)));
    }
    let mut command = Command::new(folder.join("program"));
    command.env("DEADHEAT_OPTIONS", "log_path=/dev/null:exitcode=0");
    let ran = output(&mut command, folder);
    if !ran.status.success() {
        return Err(format!("it ends with {}: {}", ran.status, said(&ran)));
    }
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    text.lines().map(|line| line.parse().map_err(|error| format!("{error}: `{line}`"))).collect()
}

/// Runs programs, as one compiler makes them. How many races were told of how many steps.
fn run_all(compiler: &str) -> Option<(usize, usize)> {
    if !have(compiler) {
        return None;
    }
    let folder = common::folder("random", compiler);
    turns(&folder);
    let (mut races, mut steps, mut faults) = (0, 0, Vec::new());
    for seed in seeds() {
        let program = program::program(seed);
        std::fs::write(folder.join("program.c"), code::code(&program)).expect("the program is written");
        let optimisation = ["-O0", "-O1", "-O2"][(seed % 3) as usize];
        let expected = model::expected(&program);
        match told(&folder, compiler, optimisation) {
            Err(fault) => faults.push(format!("seed {seed}: {fault}")),
            Ok(told) => {
                let describe = |what: &str, step: Option<&usize>| {
                    step.map(|&at| {
                        format!("seed {seed}, {optimisation}: {what}: {at}: {:?}", program.steps[at])
                    })
                };
                faults.extend(describe("not told", expected.must.difference(&told).next()));
                faults.extend(describe("told without cause", told.difference(&expected.may).next()));
                races += told.len();
            }
        }
        steps += program.steps.len();
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    println!("{compiler}: {races} steps that race of {steps}");
    Some((races, steps))
}

#[test]
fn what_clang_makes_of_random_programs_is_told_as_a_brute_force_tells_it() {
    if let Some((races, steps)) = run_all("clang-19") {
        assert!(races * 20 > steps, "{races} of {steps}");
    }
}

#[test]
fn what_gcc_makes_of_random_programs_is_told_as_a_brute_force_tells_it() {
    if let Some((races, steps)) = run_all("gcc") {
        assert!(races * 20 > steps, "{races} of {steps}");
    }
}
