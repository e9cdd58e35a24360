//! Running a program under `deadheat run` and reading what it tells.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::spec::Found;

/// A program has hung if it runs for so many seconds.
const SECONDS: &str = "60";

/// What came of one run.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The exit code of `deadheat run`; -1 if a signal ended it.
    pub(crate) code: i32,
    /// The report's lines of type `race`.
    pub(crate) races: Vec<Value>,
    /// What went to standard error.
    pub(crate) stderr: String,
}

/// Runs an executable once, in its folder.
pub(crate) fn run(executable: &Path, folder: &Path, found: Found) -> Result<Outcome, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_deadheat"))
        .args(["run", "--format", "json", "--timeout", SECONDS])
        .args(if found == Found::Online { &["--online"][..] } else { &[] })
        .arg("--")
        .arg(executable)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("deadheat run: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let mut races = Vec::new();
    let (mut told, mut mode) = (false, String::new());
    for line in stdout.lines() {
        let line: Value =
            serde_json::from_str(line).map_err(|error| format!("no JSON: {error}: `{line}`\n{stderr}"))?;
        match line["type"].as_str() {
            Some("run") => line["mode"].as_str().unwrap_or_default().clone_into(&mut mode),
            Some("race") => races.push(line),
            Some("summary") => told = true,
            _ => {}
        }
    }
    if !told {
        return Err(format!("no summary was told ({})\n{stderr}", output.status));
    }
    let wanted = if found == Found::Online { "detect" } else { "record" };
    if mode != wanted {
        return Err(format!("the run was watched by `{mode}`, not by `{wanted}`\n{stderr}"));
    }
    Ok(Outcome { code: output.status.code().unwrap_or(-1), races, stderr })
}
