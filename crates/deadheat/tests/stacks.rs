//! What is remembered of earlier accesses is bounded: of the races that the programs of `spec/programs` tell while they
//! run at most one in a hundred may lack a stack. With `DEADHEAT_ACCEPT=full` each racy program is built without and with
//! optimisation by each compiler and run five times; else one build of each is run once.

#[path = "programs/build.rs"]
mod build;
mod common;
#[path = "programs/every.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod every;
#[path = "programs/judge.rs"]
#[allow(dead_code, reason = "the other suites use it")]
mod judge;
#[path = "programs/run.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod run;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod spec;
#[path = "programs/stacks.rs"]
mod stacks;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use build::{Compiler, Optimisation};
use common::{deadheat, each_compiler, ok, output, with};
use spec::{Found, Program};
use stacks::Stacks;

/// How often each build of each program is run at full count.
const RUNS_IN_FULL: usize = 5;

fn in_full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full")
}

/// The racy programs that a compiler can show, with how it builds them here: both ways at full count, else each program is
/// left to one compiler and one way.
fn builds(compiler: Compiler) -> Vec<(Program, Optimisation)> {
    let mut builds = Vec::new();
    let racy = every::programs().into_iter().filter(|program| !program.races.is_empty());
    for (number, program) in racy.enumerate() {
        for (way, optimisation) in Optimisation::ALL.into_iter().enumerate() {
            let turn = number % (Compiler::ALL.len() * Optimisation::ALL.len());
            let is_mine = turn == compiler as usize * Optimisation::ALL.len() + way;
            if program.is_for(compiler) && (in_full() || is_mine) {
                builds.push((program.clone(), optimisation));
            }
        }
    }
    builds
}

/// Builds and runs one program, and counts what it told.
fn count(program: &Program, compiler: Compiler, optimisation: Optimisation, all: &mut Stacks) {
    let tag = every::tag(compiler, optimisation);
    let folder =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("stacks").join(program.name.replace('/', "-")).join(tag);
    let executable = build::build(program, compiler, optimisation, &folder)
        .unwrap_or_else(|fault| panic!("{}: {fault}", program.name));
    for _ in 0..if in_full() { RUNS_IN_FULL } else { 1 } {
        let outcome = run::run(&executable, &folder, Found::Online)
            .unwrap_or_else(|fault| panic!("{}: {fault}", program.name));
        let before = *all;
        all.count(&outcome.races);
        if all.lacking > before.lacking {
            println!("{}: {:#?}", program.name, outcome.races);
        }
    }
    fs::remove_dir_all(&folder).expect("removable");
}

/// The programs of one compiler.
fn of(compiler: Compiler) {
    if let Some(what) = every::lacking(compiler, None) {
        println!("skipped: needs {what}");
        return;
    }
    let (mut all, builds) = (Stacks::default(), builds(compiler));
    for (program, optimisation) in &builds {
        match every::lacking(compiler, Some(program)) {
            Some(what) => println!("{} skipped: needs {what}", program.name),
            None => count(program, compiler, *optimisation, &mut all),
        }
    }
    println!("stacks: {}: {} builds of racy programs, {all}", compiler.c(), builds.len());
    // All but those that tell theirs sometimes tell one at the least.
    assert!(all.suffice() && all.reports >= builds.len() / 2, "{all}");
}

#[test]
fn of_gcc_at_most_one_in_a_hundred_lacks_a_stack() {
    of(Compiler::Gcc);
}

#[test]
fn of_clang_at_most_one_in_a_hundred_lacks_a_stack() {
    of(Compiler::Clang);
}

/// An access that is older than what is remembered counts, and is too much; with enough remembered it is not.
#[test]
fn a_race_whose_stack_is_forgotten_counts_as_lacking() {
    each_compiler("stacks-forgotten", |compilers, folder| {
        fs::write(folder.join("forgotten.c"), include_str!("common/forgotten.c")).expect("writable");
        let arguments = ["cc", "-g", "-O1", "-pthread", "forgotten.c", "-o", "forgotten", "-I"];
        ok(with(compilers).args(arguments).arg(every::root()), folder);
        for (history, lacking) in [(0, 1), (7, 0)] {
            let mut command = deadheat();
            command.env("ORDERED", "").env("DEADHEAT_OPTIONS", format!("history_size={history}"));
            let told = output(command.args(["run", "--format", "json", "--", "./forgotten"]), folder);
            let lines = String::from_utf8_lossy(&told.stdout).into_owned();
            let lines = lines.lines().map(|line| serde_json::from_str(line).expect("a line of JSON"));
            let races: Vec<Value> = lines.filter(|line: &Value| line["type"] == "race").collect();
            let mut all = Stacks::default();
            all.count(&races);
            assert_eq!((all, all.suffice()), (Stacks { reports: 1, lacking }, lacking == 0), "{races:#?}");
        }
    });
}

#[test]
fn one_in_a_hundred_is_the_bound_and_none_at_all_is_no_answer() {
    let whole = json!({"accesses": [{"frames": [{}]}, {"frames": [{}]}]});
    let bare = json!({"accesses": [{"frames": [{}]}, {"frames": [], "clock": 7}]});
    let of = |whole_ones: usize, bare_ones: usize| {
        let mut all = Stacks::default();
        all.count(&vec![whole.clone(); whole_ones]);
        all.count(&vec![bare.clone(); bare_ones]);
        all.suffice()
    };
    assert!(of(99, 1) && of(1, 0) && of(198, 2));
    assert!(!of(98, 1) && !of(0, 1) && !of(0, 0));
}
