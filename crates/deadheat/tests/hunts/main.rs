//! Programs whose races have to be made to happen, and what `deadheat hunt` proves of them.
//!
//! Every program of `spec/hunts` is compiled through `deadheat cc` or `deadheat c++` and hunted. Of
//! a racy one the marked pairs must be proved, and no other; of its twin, and of a correct program
//! with synchronisation that no tool models, nothing. The threads run as the scheduler likes, so a
//! single hunt of a racy program may be the odd one that shows a pair to nobody: a pair counts as
//! missed if [`TRIES`] hunts in a row do not prove it within [`tally::SOON`] re-runs that arm it. A
//! proof that no mark allows, or that does not replay, is a fault at once.
//!
//! `DEADHEAT_ACCEPT=full` hunts each program 20 times with each compiler, and prints a line a program:
//! in how many hunts the pairs were proved, each so soon in at least 95 of 100. Every proof is replayed
//! 20 times.

#[path = "../programs/build.rs"]
mod build;
#[path = "../programs/spec.rs"]
#[allow(dead_code, reason = "the suite of what is found online uses more of it")]
mod spec;
mod tally;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use build::{Compiler, Optimisation};
use spec::{Pair, Program, Side};
use tally::{Hunted, Proof, Replay, Tally, lines};

/// How many hunts a pair may need when each program is hunted only until all is proved.
const TRIES: usize = 3;
/// How often a program is hunted at full count, and in how many of 100 hunts a pair is proved.
const HUNTS_IN_FULL: usize = 20;
const PROVED_AT_LEAST: usize = 95;
/// How often each proof is replayed then.
const REPLAYS_IN_FULL: usize = 20;
/// The folder of a hunt.
const RESULTS: &str = "hunt";
/// At least so many racy programs, and so many correct ones.
const RACY_AT_LEAST: usize = 24;
const CORRECT_AT_LEAST: usize = 16;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit();
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/hunts").canonicalize().expect("spec/hunts")
}

fn in_full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full")
}

fn trials() -> Vec<Trial> {
    let programs: Vec<Program> = spec::files(&root()).iter().map(|path| Program::read(path)).collect();
    let mut trials = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        for (at, compiler) in Compiler::ALL.into_iter().enumerate() {
            // In turns: half of the programs with each compiler, at either optimisation.
            if !program.is_for(compiler) || (!in_full() && (number + at) % 2 != 0) {
                continue;
            }
            let optimisation = Optimisation::ALL[number / 2 % 2];
            let name = format!("hunts/{}/{}{}", program.name, compiler.c(), optimisation.flag());
            let present = is_present(compiler);
            let program = program.clone();
            let trial = Trial::test(name, move || check(&program, compiler, optimisation));
            trials.push(if present {
                trial
            } else {
                let needs = format!("skipped: needs {}", compiler.c());
                trial.with_kind(needs).with_ignored_flag(true)
            });
        }
    }
    trials.push(Trial::test("hunts/well_formed", move || well_formed(&programs)));
    trials
}

fn is_present(compiler: Compiler) -> bool {
    [compiler.c(), compiler.cxx()].iter().all(|name| {
        let quiet = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
        quiet.is_ok_and(|status| status.success())
    })
}

fn check(program: &Program, compiler: Compiler, optimisation: Optimisation) -> Result<(), Failed> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("hunts")
        .join(program.name.replace('/', "-"))
        .join(format!("{}{}", compiler.c(), optimisation.flag()));
    let executable = build::build(program, compiler, optimisation, &folder)?;
    let most = if in_full() { HUNTS_IN_FULL } else { TRIES };
    let mut tally = Tally::default();
    while tally.hunts < most {
        let hunted = hunt(program, &executable, &folder)?;
        for proof in &hunted.proofs {
            if !program.races.contains(&proof.pair) {
                let marked =
                    if program.unmet.contains(&proof.pair) { "marked `unmet`" } else { "not marked" };
                let (hunt, said) = (tally.hunts + 1, &hunted.said);
                return Err(format!("hunt {hunt}: proved, but {marked}: {}\n{said}", proof.pair).into());
            }
        }
        let replays = if in_full() { REPLAYS_IN_FULL } else { 1 };
        for proof in &hunted.proofs {
            tally.replay(&Replay { id: &proof.id, executable: &executable, folder: &folder }, replays)?;
        }
        tally.add(&hunted, program);
        if !in_full() && tally.is_complete(program) {
            break;
        }
    }
    if in_full() && !program.races.is_empty() {
        println!("{} {}{}: {tally}", program.name, compiler.c(), optimisation.flag());
    }
    if let Some(fault) = tally.fault(program, if in_full() { PROVED_AT_LEAST } else { 1 }) {
        return Err(format!("{fault}\n{}\n{}", program.path.display(), tally.said()).into());
    }
    fs::remove_dir_all(&folder).map_err(|error| Failed::from(error.to_string()))
}

/// Hunts a program once: what was proved, and what was said.
fn hunt(program: &Program, executable: &Path, folder: &Path) -> Result<Hunted, Failed> {
    const RACES: i32 = 66;
    let results = folder.join(RESULTS);
    let _ = fs::remove_dir_all(&results);
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    command.args(["hunt", "-j", "2", "--progress", "never", "-o"]).arg(&results);
    let order = program.path.with_file_name(
        program.path.file_stem().unwrap_or_default().to_string_lossy().trim_end_matches("_ok").to_owned()
            + ".order",
    );
    if order.exists() && !program.is_twin() {
        command.arg("--order").arg(order);
    }
    command.arg("--").arg(executable).current_dir(folder).stdin(Stdio::null());
    let output = command.output()?;
    let said = format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    let mut proofs = Vec::new();
    for line in lines(&results.join("report.jsonl"))? {
        match line["type"].as_str() {
            Some("race") if line["grade"] == "proved" => {
                let id = line["id"].as_str().unwrap_or_default().to_owned();
                proofs.push(Proof { id, pair: pair(program, &line) });
            }
            Some("finding") => return Err(format!("a finding: {line}\n{said}").into()),
            _ => {}
        }
    }
    let expected = if proofs.is_empty() { 0 } else { RACES };
    if output.status.code() != Some(expected) {
        return Err(format!("exit code {:?}, expected {expected}\n{said}", output.status.code()).into());
    }
    let armed = tally::armed(&results, &proofs)?;
    Ok(Hunted { proofs, armed, said })
}

fn pair(program: &Program, race: &Value) -> Pair {
    Pair::new(side(program, &race["accesses"][0]), side(program, &race["accesses"][1]))
}

/// An access as a mark would name it: by its innermost frame in the program's own files.
fn side(program: &Program, access: &Value) -> Side {
    let operation = match access["op"].as_str() {
        Some("read-write") => "write",
        Some(other) => other,
        None => "none",
    };
    let atomic = if access["atomic"] == true { "atomic " } else { "" };
    let frames = access["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut own = frames.iter().filter(|frame| frame["file"].as_str().is_some_and(|file| program.owns(file)));
    let frame = own.next().unwrap_or(&Value::Null);
    Side {
        file: frame["file"].as_str().unwrap_or("nowhere").rsplit('/').next().unwrap_or_default().to_owned(),
        line: frame["line"].as_u64().unwrap_or_default(),
        operation: format!("{atomic}{operation}"),
    }
}

/// What holds for the programs as a whole.
fn well_formed(programs: &[Program]) -> Result<(), Failed> {
    let mut faults: Vec<String> =
        programs.iter().flat_map(|program| program.faults.iter().cloned()).collect();
    let in_folder = |folder: &str| programs.iter().filter(|program| program.name.starts_with(folder)).count();
    let (correct, racy) = (in_folder("correct/"), in_folder("racy/") / 2);
    if racy < RACY_AT_LEAST || correct < CORRECT_AT_LEAST {
        faults.push(format!("{racy} racy programs and {correct} correct ones"));
    }
    for program in programs {
        let name = &program.name;
        let racy = !program.is_twin() && !name.starts_with("correct/");
        if racy == program.races.is_empty() {
            faults.push(format!("{name}: {} races are marked", program.races.len()));
        }
        let twin = format!("{name}_ok");
        if racy && !programs.iter().any(|other| other.name == twin) {
            faults.push(format!("{name}: has no twin"));
        }
        if program.sentence.len() < 20 || !program.sentence.ends_with('.') {
            faults.push(format!("{name}: does not begin with a sentence"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}
