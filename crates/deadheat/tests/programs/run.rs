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
    /// The report's lines of type `finding`.
    pub(crate) findings: Vec<Value>,
    /// What went to standard error.
    pub(crate) stderr: String,
}

/// Runs an executable once, in its folder.
pub(crate) fn run(executable: &Path, folder: &Path, found: Found) -> Result<Outcome, String> {
    if found == Found::ByHand {
        return by_hand(executable, folder);
    }
    let output = Command::new(env!("CARGO_BIN_EXE_deadheat"))
        .args(["run", "--format", "json", "--timeout", SECONDS])
        .args(if found == Found::Online { &[][..] } else { &["--recorded"] })
        .arg("--")
        .arg(executable)
        .current_dir(folder)
        .output()
        .map_err(|error| format!("deadheat run: {error}"))?;
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let code = output.status.code().unwrap_or(-1);
    let Some(outcome) = read(&stdout, code, &stderr, found)? else {
        return Err(format!("no summary was told ({})\n{stderr}", output.status));
    };
    Ok(outcome)
}

/// Starts an executable by hand. It says nothing where there is nothing to say.
fn by_hand(executable: &Path, folder: &Path) -> Result<Outcome, String> {
    let report = folder.join("report");
    let mut child = Command::new(executable)
        .env("DEADHEAT_OPTIONS", format!("format=json:log_path='{}'", report.display()))
        .env("DEADHEAT", env!("CARGO_BIN_EXE_deadheat"))
        .env_remove("TSAN_OPTIONS")
        .current_dir(folder)
        .spawn()
        .map_err(|error| format!("{}: {error}", executable.display()))?;
    let file = folder.join(format!("report.{}", child.id()));
    let code = child.wait().map_err(|error| error.to_string())?.code().unwrap_or(-1);
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let nothing = Outcome { code, races: Vec::new(), findings: Vec::new(), stderr: String::new() };
    Ok(read(&text, code, "", Found::Online)?.unwrap_or(nothing))
}

/// Reads what was told; `None` if that does not end with a summary.
pub(crate) fn read(
    told_text: &str,
    code: i32,
    stderr: &str,
    found: Found,
) -> Result<Option<Outcome>, String> {
    let (mut races, mut findings) = (Vec::new(), Vec::new());
    let (mut told, mut mode) = (false, String::new());
    for line in told_text.lines() {
        let line: Value =
            serde_json::from_str(line).map_err(|error| format!("no JSON: {error}: `{line}`\n{stderr}"))?;
        match line["type"].as_str() {
            Some("run") => line["mode"].as_str().unwrap_or_default().clone_into(&mut mode),
            Some("race") => races.push(line),
            Some("finding") => findings.push(line),
            Some("summary") => told = true,
            _ => {}
        }
    }
    if !told {
        return Ok(None);
    }
    let wanted = if found == Found::Online { "detect" } else { "record" };
    if mode != wanted {
        return Err(format!("the run was watched by `{mode}`, not by `{wanted}`\n{stderr}"));
    }
    Ok(Some(Outcome { code, races, findings, stderr: stderr.to_owned() }))
}
