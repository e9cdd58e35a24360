//! Small programs that each state one fact about races, and how deadheat judges them.
//!
//! Every program of `spec/programs/<topic>/` is compiled through `deadheat cc` or `deadheat c++`
//! by gcc and by clang 19, without and with optimisation, and run by `deadheat run`. Exactly the
//! pairs of accesses that its marks name must be told; of its mended twin `*_ok`, nothing. Each
//! of these is a test of its own name. `DEADHEAT_ACCEPT=full` runs each 20 times in a row.
//!
//! The forms of directives and marks are those that [`spec`] reads.

mod build;
mod invisible;
mod judge;
mod run;
mod spec;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};

use build::{Compiler, Optimisation};
use spec::Program;

/// How often a program is run, and how often at full count.
const RUNS: usize = 1;
const RUNS_IN_FULL: usize = 20;

/// There are at least this many programs, twins not counted.
const PROGRAMS_AT_LEAST: usize = 60;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit();
}

fn trials() -> Vec<Trial> {
    let programs: Vec<Program> = spec::files(&root()).iter().map(|path| Program::read(path)).collect();
    let mut trials = Vec::new();
    for compiler in Compiler::ALL {
        let present = is_present(compiler);
        for optimisation in Optimisation::ALL {
            for program in programs.iter().filter(|program| program.is_for(compiler)) {
                let name = format!("programs/{}/{}", program.name, tag(compiler, optimisation));
                let program = program.clone();
                let test = move || check(&program, compiler, optimisation);
                trials.push(trial(name, compiler, present, test));
            }
            let name = format!("programs/order_is_invisible/{}", tag(compiler, optimisation));
            let test = move || invisible::check(&root(), compiler, optimisation).map_err(Failed::from);
            trials.push(trial(name, compiler, present, test));
        }
    }
    trials.push(Trial::test("programs/well_formed", move || well_formed(&programs)));
    trials
}

fn trial(
    name: String,
    compiler: Compiler,
    present: bool,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    if present {
        return Trial::test(name, test);
    }
    let needs = format!("skipped: needs {}", compiler.c());
    Trial::test(name, test).with_kind(needs).with_ignored_flag(true)
}

fn tag(compiler: Compiler, optimisation: Optimisation) -> String {
    format!("{}{}", compiler.c(), optimisation.flag())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs").canonicalize().expect("spec/programs")
}

fn is_present(compiler: Compiler) -> bool {
    [compiler.c(), compiler.cxx()].iter().all(|name| {
        let quiet = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    })
}

fn check(program: &Program, compiler: Compiler, optimisation: Optimisation) -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("programs")
        .join(program.name.replace('/', "-"))
        .join(tag(compiler, optimisation));
    let executable = build::build(program, compiler, optimisation, &folder)?;
    let runs = match std::env::var("DEADHEAT_ACCEPT").as_deref() {
        Ok("full") => RUNS_IN_FULL,
        _ => RUNS,
    };
    for number in 1..=runs {
        let outcome = run::run(&executable, &folder)?;
        judge::judge(program, &outcome).map_err(|fault| format!("run {number} of {runs}: {fault}"))?;
    }
    std::fs::remove_dir_all(&folder).map_err(|error| Failed::from(error.to_string()))
}

/// What holds for the programs as a whole: each has a sentence, marks that pair up, and a twin
/// that states the same fact and bears no mark.
fn well_formed(programs: &[Program]) -> Result<(), Failed> {
    let mut faults = Vec::new();
    let (twins, racy): (Vec<_>, Vec<_>) = programs.iter().partition(|program| program.is_twin());
    for program in &racy {
        let name = &program.name;
        if program.races.is_empty() {
            faults.push(format!("{name}: no race is marked"));
        }
        if program.sentence.len() < 20 || !program.sentence.ends_with('.') {
            faults.push(format!("{name}: does not begin with a sentence"));
        }
        match twins.iter().find(|twin| twin.name == format!("{name}_ok")) {
            None => faults.push(format!("{name}: has no twin")),
            Some(twin) if twin.sentence != program.sentence => {
                faults.push(format!("{name}: its twin states another fact"));
            }
            Some(_) => {}
        }
    }
    for twin in &twins {
        if !twin.races.is_empty() {
            faults.push(format!("{}: a twin must not be marked", twin.name));
        }
    }
    faults.extend(programs.iter().flat_map(|program| program.faults.iter().cloned()));
    if racy.len() < PROGRAMS_AT_LEAST || twins.len() != racy.len() {
        faults.push(format!("{} programs and {} twins", racy.len(), twins.len()));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}
