//! `REPORT#ID`: the race that a command is asked about, and the witness that a proof carries.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use deadheat_core::gate::flag;
use deadheat_report::json;
use deadheat_report::model::{Hex, Race};
use serde::Deserialize;
use serde_json::Value;

use super::gatefile::path_of;
use super::targets::{Code, Module, Side, Target};
use super::turns::Order;
use crate::exit::Failure;

/// How ids of races begin.
const ID: &str = "dh-";

/// In a replay one side waits for the other at least this long, and this many times as long as in
/// the proof.
const LEAST_BOUND: Duration = Duration::from_secs(5);
const TIMES_BOUND: u32 = 4;

/// A race of a report.
#[derive(Debug)]
pub(crate) struct Recalled {
    /// The report.
    pub(crate) path: PathBuf,
    /// The race.
    pub(crate) race: Race,
}

/// What a meeting needs to happen again; see `docs/reports.md`.
#[derive(Clone, PartialEq, Debug, Deserialize)]
pub(crate) struct Witness {
    /// The pair that was armed.
    pub(crate) target: Target,
    /// How long one side could wait for the other.
    #[serde(default)]
    bound_ms: f64,
    /// Flags of the gate file, by name.
    #[serde(default)]
    flags: Vec<String>,
    /// The side that was held, if the other was seen by the watch rule, elsewhere.
    #[serde(default)]
    pub(crate) held: Option<usize>,
    /// Where both were: each side, or the held one first if the watch rule saw the other.
    #[serde(default)]
    accesses: Vec<Stood>,
    /// The order in which threads synchronised until then.
    #[serde(default)]
    pub(crate) order: Value,
}

/// Where a thread stood.
#[derive(Clone, PartialEq, Debug, Default, Deserialize)]
#[serde(default)]
struct Stood {
    thread: String,
    module: Option<Module>,
    offset: Option<Hex>,
}

/// Finds the race that `REPORT#ID`, or an id alone, names.
pub(crate) fn recall(reference: &str) -> Result<Recalled, Failure> {
    let (path, id) = match reference.rsplit_once('#') {
        Some((path, id)) if !path.is_empty() => (Some(PathBuf::from(path)), id),
        Some((_, id)) => (None, id),
        None => (None, reference),
    };
    if !id.starts_with(ID) {
        return Err(Failure::usage(format!(
            "`{reference}` names no race: write REPORT#{ID}…, or an id alone"
        )));
    }
    let paths = match path {
        Some(path) if path.is_dir() => vec![path.join("report.jsonl")],
        Some(path) => vec![path],
        None => reports_here(),
    };
    if paths.is_empty() {
        return Err(Failure::input(format!(
            "there is no report in this folder to look {id} up in; write REPORT#{id}"
        )));
    }
    for path in &paths {
        if let Some(race) = race_of(path, id)? {
            return Ok(Recalled { path: path.clone(), race });
        }
    }
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    Err(Failure::input(format!("{}: there is no race {id} in it", names.join(", "))))
}

/// The race of an id in a report. Of several processes' the one with a witness counts.
fn race_of(path: &Path, id: &str) -> Result<Option<Race>, Failure> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    let reports =
        json::read(&name, BufReader::new(file)).map_err(|error| Failure::input(error.to_string()))?;
    let mut found: Vec<Race> =
        reports.into_iter().flat_map(|report| report.races).filter(|race| race.id == id).collect();
    found.sort_by_key(|race| race.witness.is_none());
    Ok(found.into_iter().next())
}

/// The reports of this folder, the newest first: those of hunts, and files of JSON lines.
fn reports_here() -> Vec<PathBuf> {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let here = entries(Path::new("."));
    let of_hunts = here.iter().map(|path| path.join("report.jsonl"));
    let is_report = |path: &&PathBuf| {
        let is_lines = path.extension().is_some_and(|ending| ending == "jsonl");
        is_lines && fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"{\"type\":\"run\""))
    };
    let mut found: Vec<(SystemTime, PathBuf)> = of_hunts
        .filter(|path| path.is_file())
        .chain(here.iter().filter(is_report).cloned())
        .filter_map(|path| Some((fs::metadata(&path).ok()?.modified().ok()?, path)))
        .collect();
    found.sort();
    found
        .into_iter()
        .rev()
        .map(|(_, path)| path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path))
        .collect()
}

impl Recalled {
    /// The proof's witness.
    pub(crate) fn witness(&self) -> Result<Witness, Failure> {
        let (name, id) = (self.path.display(), &self.race.id);
        let Some(value) = self.race.witness.clone().filter(|value| value["kind"] == "meeting") else {
            return Err(Failure::input(format!(
                "{name}: {id} has no witness of a meeting, since no hunt for pairs proved it; prove it with `deadheat hunt`"
            )));
        };
        if value["version"] != 1 {
            return Err(Failure::input(format!(
                "{name}: the witness of {id} is of a later deadheat: its version is {}",
                value["version"]
            )));
        }
        serde_json::from_value(value)
            .map_err(|error| Failure::input(format!("{name}: the witness of {id} cannot be read: {error}")))
    }

    /// What the proof's runs read as their standard input, if the hunt kept it.
    pub(crate) fn input(&self) -> Option<PathBuf> {
        let kept = self.path.parent()?.join("stdin");
        kept.is_file().then_some(kept)
    }
}

impl Witness {
    /// How long one side is to wait for the other so that they meet again.
    pub(crate) fn patience(&self) -> Duration {
        let bound = Duration::try_from_secs_f64(self.bound_ms / 1000.0).unwrap_or_default();
        bound.saturating_mul(TIMES_BOUND).max(LEAST_BOUND)
    }

    /// The flags of the gate file for that.
    pub(crate) fn flags(&self) -> u64 {
        let set = |name: &str, flag| if self.flags.iter().any(|known| known == name) { flag } else { 0 };
        flag::WATCH
            | flag::CALLS
            | set("anybody", flag::ANYBODY)
            | set("parts", flag::PARTS)
            | set("places", flag::PLACES)
    }

    /// The order in which threads synchronised until the meeting; empty if it was not noted.
    pub(crate) fn order(&self) -> Order {
        Order::of_json(&self.order).unwrap_or_default()
    }

    /// The pair that met, each side by the thread that was there. Where the watch rule saw one side
    /// elsewhere than the target has it, it is that thread's access of this ordinal there, or (0) any
    /// while the other is held.
    pub(crate) fn pair(&self, ordinal: u64) -> Target {
        let mut target = self.target.clone();
        for (at, stood) in self.accesses.iter().enumerate().take(2) {
            let side = match self.held {
                Some(held) => (held + at) % 2,
                None => at,
            };
            if path_of(&stood.thread).is_some() {
                target.sides[side].thread.clone_from(&stood.thread);
                target.sides[side].only_thread = true;
            }
        }
        self.seen(target.clone(), ordinal).unwrap_or(target).named()
    }

    /// The target with the side that the watch rule saw in place of its own.
    fn seen(&self, mut target: Target, ordinal: u64) -> Option<Target> {
        let held = self.held.filter(|held| *held < 2)?;
        let other = self.accesses.get(1)?;
        let (module, offset) = (other.module.clone()?, other.offset?);
        let known = target.modules.iter().position(|one| *one == module);
        let module = known.unwrap_or_else(|| {
            target.modules.push(module);
            target.modules.len() - 1
        });
        target.sides[1 - held] = Side {
            code: Code { module, offset },
            calls: Vec::new(),
            ordinal,
            ..target.sides[1 - held].clone()
        };
        Some(target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Scratch;

    #[test]
    fn what_names_no_race_is_refused_with_the_reason() {
        let scratch = Scratch::make().expect("a folder");
        let report = scratch.path().join("report.jsonl");
        let run = r#"{"type":"run","schema":1}"#;
        let race = r#"{"type":"race","id":"dh-1","grade":"observed","by":[],"accesses":[{"thread":"main","op":"read","atomic":false,"size":4,"address":"0x1","frames":[],"locks":[]},{"thread":"main","op":"write","atomic":false,"size":4,"address":"0x1","frames":[],"locks":[]}],"location":{"kind":"unknown"}}"#;
        fs::write(&report, format!("{run}\n{race}\n{}\n", r#"{"type":"summary"}"#)).expect("written");
        let name = report.display().to_string();
        let said = |reference: &str| recall(reference).expect_err("refused").to_string();
        assert!(said("report").contains("names no race"));
        assert!(said(&format!("{name}#dh-2")).ends_with("there is no race dh-2 in it"));
        assert!(said("/nonexistent#dh-1").starts_with("cannot read /nonexistent"));
        let found = recall(&format!("{}#dh-1", scratch.path().display())).expect("by its folder");
        assert_eq!(found.race.id, "dh-1");
        assert!(found.witness().expect_err("no hunt proved it").to_string().contains("has no witness"));
    }
}
