//! The programs of `spec/programs`, recorded and with their races found in the same run: what the run found by itself and
//! what `hb` finds in its recording are the marked races both, and they agree byte by byte (`deadheat trace agree`). With
//! `DEADHEAT_ACCEPT=full` with each compiler, without and with optimisation, five times in a row.

#[path = "programs/build.rs"]
mod build;
#[path = "programs/every.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod every;
#[path = "programs/judge.rs"]
mod judge;
#[path = "programs/run.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod run;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "the other suites use more of it")]
mod spec;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;

use build::{Compiler, Optimisation};
use run::Outcome;
use spec::{Found, Program};

/// How often each program is run at full count.
const RUNS_IN_FULL: usize = 5;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit();
}

fn in_full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full")
}

fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for compiler in Compiler::ALL {
        for optimisation in Optimisation::ALL {
            // One of each is enough to see that nothing broke.
            if !in_full() && (compiler == Compiler::Gcc) != (optimisation == Optimisation::None) {
                continue;
            }
            for program in every::programs().into_iter().filter(|program| program.is_for(compiler)) {
                let tag = every::tag(compiler, optimisation);
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
                    .join("same")
                    .join(program.name.replace('/', "-"))
                    .join(&tag);
                let name = format!("same/{}/{tag}", program.name);
                let lacking = every::lacking(compiler, Some(&program));
                let test = move || check(&program, (compiler, optimisation), &folder);
                trials.push(every::trial(name, lacking, test));
            }
        }
    }
    trials
}

fn check(
    program: &Program,
    (compiler, optimisation): (Compiler, Optimisation),
    folder: &Path,
) -> Result<(), Failed> {
    let executable = build::build(program, compiler, optimisation, folder)?;
    for _ in 0..if in_full() { RUNS_IN_FULL } else { 1 } {
        once(program, &executable, folder)?;
    }
    fs::remove_dir_all(folder).map_err(|error| Failed::from(error.to_string()))
}

/// Runs the program once and compares.
fn once(program: &Program, executable: &Path, folder: &Path) -> Result<(), Failed> {
    let traces = folder.join("traces");
    let _ = fs::remove_dir_all(&traces);
    fs::create_dir_all(&traces).map_err(|error| error.to_string())?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    command.args(["run", "--format", "json", "--timeout", "60", "--trace"]);
    let output = run(command.arg(traces.join("t")).arg("--").arg(executable), folder)?;
    judge::judge(program, &outcome(&output)?, Found::Online).map_err(|fault| format!("online: {fault}"))?;
    let mut files: Vec<PathBuf> = fs::read_dir(&traces)
        .map_err(|error| error.to_string())?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    files.sort();
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    let output = run(command.args(["analyze", "--format", "json"]).args(&files), folder)?;
    judge::judge(program, &outcome(&output)?, Found::Offline).map_err(|fault| format!("offline: {fault}"))?;
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    let output = run(command.args(["trace", "agree"]).args(&files), folder)?;
    if output.status.code() == Some(0) {
        return Ok(());
    }
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Err(format!("{}\n{}{}", program.path.display(), text(&output.stdout), text(&output.stderr)).into())
}

fn run(command: &mut Command, folder: &Path) -> Result<Output, String> {
    command.current_dir(folder).output().map_err(|error| format!("{command:?}: {error}"))
}

/// What was told, of all processes together.
fn outcome(output: &Output) -> Result<Outcome, String> {
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let code = output.status.code().unwrap_or(-1);
    let (mut races, mut findings, mut told) = (Vec::new(), Vec::new(), false);
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let line: Value =
            serde_json::from_str(line).map_err(|error| format!("no JSON: {error}: `{line}`\n{stderr}"))?;
        match line["type"].as_str() {
            Some("run") if line["mode"] != "record+detect" => {
                return Err(format!("the run was watched by {}\n{stderr}", line["mode"]));
            }
            Some("race") => races.push(line),
            Some("finding") => findings.push(line),
            Some("summary") => told = true,
            _ => {}
        }
    }
    if told {
        Ok(Outcome { code, races, findings, stderr })
    } else {
        Err(format!("no summary was told ({})\n{stderr}", output.status))
    }
}
