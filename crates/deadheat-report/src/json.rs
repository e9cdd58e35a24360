//! JSON lines, out and in.

use std::fmt;
use std::io::{self, BufRead, Write};

use serde::Deserialize;

use crate::model::{Line, Report, SCHEMA};

/// Writes a report, one object a line: `run`, then each race and finding, then `summary`.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let mut line = |line: &Line| -> io::Result<()> {
        serde_json::to_writer(&mut *out, line)?;
        out.write_all(b"\n")
    };
    line(&Line::Run(Box::new(report.run.clone())))?;
    for race in &report.races {
        line(&Line::Race(Box::new(race.clone())))?;
    }
    for finding in &report.findings {
        line(&Line::Finding(Box::new(finding.clone())))?;
    }
    line(&Line::Summary(Box::new(report.summary.clone())))
}

/// Why a report cannot be read.
#[derive(Debug)]
pub struct ReadError {
    /// The name of the file.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// What is wrong with it.
    pub reason: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

impl std::error::Error for ReadError {}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    schema: Option<u32>,
}

/// Reads reports. `file` names the file in errors. It may hold several, one behind the other:
/// one for each process of a run.
///
/// # Errors
/// A line is not of the schema, the first is no `run` or of a later version, or the file ends
/// before a `summary`.
pub fn read(file: &str, input: impl BufRead) -> Result<Vec<Report>, ReadError> {
    let mut reports = Vec::new();
    let mut open: Option<Report> = None;
    let mut number = 0;
    let error = |line: u64, reason: String| ReadError { file: file.to_owned(), line, reason };
    for text in input.lines() {
        number += 1;
        let text = text.map_err(|cause| error(number, cause.to_string()))?;
        if text.trim().is_empty() {
            continue;
        }
        let head: Head =
            serde_json::from_str(&text).map_err(|cause| error(number, format!("no report line: {cause}")))?;
        check_place(&head, open.is_some()).map_err(|reason| error(number, reason))?;
        let line = serde_json::from_str(&text).map_err(|cause| error(number, cause.to_string()))?;
        let report = open.get_or_insert_default();
        match line {
            Line::Run(run) => report.run = *run,
            Line::Race(race) => report.races.push(*race),
            Line::Finding(finding) => report.findings.push(*finding),
            Line::Summary(summary) => {
                report.summary = *summary;
                reports.extend(open.take());
            }
        }
    }
    if open.is_some() || reports.is_empty() {
        return Err(error(number + 1, "the report ends without its summary".to_owned()));
    }
    Ok(reports)
}

/// Whether a line of this head may stand here: within a report or between two.
fn check_place(head: &Head, within: bool) -> Result<(), String> {
    match (within, head.kind.as_str(), head.schema) {
        (false, "run", Some(schema)) if schema > SCHEMA => {
            Err(format!("schema {schema} is of a later version of deadheat; this one reads {SCHEMA}"))
        }
        (false, "run", Some(_)) | (true, "race" | "finding" | "summary", _) => Ok(()),
        (false, "run", None) => Err("the run line has no schema".to_owned()),
        (false, _, _) => Err("a report must begin with a line of type `run`".to_owned()),
        (true, "run", _) => Err("the report before this `run` has no summary".to_owned()),
        (true, kind, _) => Err(format!("unknown type `{kind}`")),
    }
}
