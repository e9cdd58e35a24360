//! A finished recording: what it holds, what judging it costs, and what is found in it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Cost, Run};
use super::tools::{Tools, words};
use super::{Outcome, Stop};

/// Exit code: races were found.
pub(crate) const RACES: i32 = 66;

/// What a trace holds.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub(crate) struct Content {
    /// Records stored, a repeated one counted once.
    pub(crate) events: u64,
    /// Accesses that the program made, each repeat counted.
    pub(crate) accesses: u64,
    /// Size of the files.
    pub(crate) bytes: u64,
}

impl Content {
    /// Bytes on disk for each access that the program made.
    pub(crate) fn bytes_per_access(self) -> f64 {
        self.bytes as f64 / self.accesses as f64
    }

    /// As JSON.
    pub(crate) fn json(self) -> Value {
        json!({"events": self.events, "accesses": self.accesses, "bytes": self.bytes})
    }
}

/// A trace, and the traces of the processes that the recorded one started.
pub(crate) struct Recording {
    first: PathBuf,
    all: Vec<PathBuf>,
}

impl Recording {
    /// The traces that a finished run left at `path` and `path.<pid>`.
    pub(crate) fn at(path: &Path) -> Recording {
        let folder = path.parent().unwrap_or(Path::new("."));
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        let all = entries.filter(|entry| belongs(&name, entry)).collect();
        Recording { first: path.to_owned(), all }
    }

    /// What the traces hold, all together.
    pub(crate) fn content(&self, tools: &Tools) -> Outcome<Content> {
        if !self.all.contains(&self.first) {
            return Err(Stop::failed(format!("no trace was written to {}", self.first.display())));
        }
        let mut sum = Content::default();
        for trace in &self.all {
            let output = Command::new(&tools.deadheat)
                .args(["trace", "info"])
                .arg(trace)
                .output()
                .map_err(|e| Stop::missing(format!("cannot run {}: {e}", tools.deadheat.display())))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let count = |name: &str| {
                number_after(&text, name).ok_or_else(|| {
                    let why = String::from_utf8_lossy(&output.stderr);
                    Stop::failed(format!("`trace info {}` tells no {name}: {why}", trace.display()))
                })
            };
            sum.events += count("events")?;
            sum.accesses += count("accesses")?;
            sum.bytes += fs::metadata(trace).map_or(0, |data| data.len());
        }
        Ok(sum)
    }

    /// Judges the first process's trace by happens-before; the report is left at `report`.
    pub(crate) fn judge(&self, tools: &Tools, report: &Path, timeout: Duration) -> Outcome<(Cost, usize)> {
        let mut line = words(&[tools.deadheat.as_os_str()]);
        line.extend(words(&["analyze", "--by", "hb", "--format", "json"]));
        line.push(self.first.clone().into_os_string());
        let run = Run {
            words: line,
            environment: Vec::new(),
            folder: report.parent().unwrap_or(Path::new(".")).to_owned(),
            output: report.to_owned(),
            messages: report.with_extension("messages"),
            timeout,
        };
        let cost = run.expect(&[0, RACES])?;
        Ok((cost, races_in(report)))
    }

    /// The files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(PathBuf::as_path)
    }

    /// Removes the traces.
    pub(crate) fn remove(self) {
        for trace in self.all {
            let _ = fs::remove_file(trace);
        }
    }
}

/// Whether a file is the trace of that name or one of a process that it started: `NAME.<pid>`,
/// `NAME.<pid>.<number>`.
fn belongs(name: &str, file: &Path) -> bool {
    let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    file.strip_prefix(name).is_some_and(|rest| {
        rest.is_empty()
            || rest.starts_with('.') && rest.bytes().all(|byte| byte == b'.' || byte.is_ascii_digit())
    })
}

/// The number that follows a name at the beginning of a line.
fn number_after(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// How many races a report in JSON lines tells.
pub(crate) fn races_in(report: &Path) -> usize {
    let text = fs::read_to_string(report).unwrap_or_default();
    text.lines().filter(|line| is_race(line)).count()
}

/// How many of them lack the stack of a side.
pub(crate) fn stackless_in(report: &Path) -> usize {
    let text = fs::read_to_string(report).unwrap_or_default();
    text.lines().filter(|line| is_race(line) && lacks_a_stack(line)).count()
}

fn is_race(line: &str) -> bool {
    serde_json::from_str::<Value>(line).is_ok_and(|value| value["type"] == "race")
}

/// Whether a side of a race has no frame.
fn lacks_a_stack(line: &str) -> bool {
    let race: Value = serde_json::from_str(line).unwrap_or_default();
    let has_one =
        |side: usize| race["accesses"][side]["frames"].as_array().is_some_and(|all| !all.is_empty());
    !(has_one(0) && has_one(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_traces_of_started_processes_belong_to_it() {
        for file in ["sort.trace", "sort.trace.4711", "sort.trace.4711.2"] {
            assert!(belongs("sort.trace", Path::new("/t").join(file).as_path()), "{file}");
        }
        for file in ["sort.trace.json", "resort.trace", "sort"] {
            assert!(!belongs("sort.trace", Path::new("/t").join(file).as_path()), "{file}");
        }
    }

    #[test]
    fn amounts_are_read_from_the_lines_that_begin_with_their_names() {
        let text = "events     12\naccesses   11 made, 9 stored\n\nevents by sort\n  read 8\n";
        assert_eq!(number_after(text, "events"), Some(12));
        assert_eq!(number_after(text, "accesses"), Some(11));
        assert_eq!(number_after(text, "threads"), None);
    }

    #[test]
    fn only_races_are_counted() {
        assert!(is_race(r#"{"type":"race","id":"dh-1"}"#));
        assert!(!is_race(r#"{"type":"summary","races":1}"#) && !is_race("race"));
    }

    #[test]
    fn a_race_lacks_a_stack_if_one_side_has_no_frame() {
        let race = |earlier: &str, later: &str| {
            let line = r#"{"type":"race","accesses":[{"frames":[EARLIER]},{"frames":[LATER]}]}"#;
            lacks_a_stack(&line.replace("EARLIER", earlier).replace("LATER", later))
        };
        let frame = r#"{"function":"main"}"#;
        assert!(!race(frame, frame) && race("", frame) && race(frame, "") && race("", ""));
    }
}
