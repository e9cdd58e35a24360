//! A program that is recorded and whose races are found in the same run: what the run found by itself and what `hb` finds in
//! its recording are the marked races both, and they agree byte by byte (`deadheat trace agree`).

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::judge;
use crate::run::Outcome;
use crate::spec::{Found, Program};

/// How often each program is run at full count.
pub(crate) const RUNS_IN_FULL: usize = 5;

/// Runs the program once and compares.
pub(crate) fn once(program: &Program, executable: &Path, folder: &Path) -> Result<(), Failed> {
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
