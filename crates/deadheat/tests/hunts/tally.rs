//! What several hunts of one program gave: how often and how soon each pair was proved, and whether
//! the proofs replay.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use libtest_mimic::Failed;
use serde_json::Value;

use crate::RESULTS;
use crate::spec::{Pair, Program};

/// A pair is to be proved by so many re-runs that arm it.
pub(crate) const SOON: u64 = 2;

/// A proof of a hunt.
pub(crate) struct Proof {
    /// The race's id.
    pub(crate) id: String,
    /// The pair that it is.
    pub(crate) pair: Pair,
}

/// What one hunt gave.
pub(crate) struct Hunted {
    /// What it proved.
    pub(crate) proofs: Vec<Proof>,
    /// How many re-runs had armed the target whose wait proved a pair.
    pub(crate) armed: BTreeMap<Pair, u64>,
    /// What was said.
    pub(crate) said: String,
}

/// The lines of a file.
pub(crate) fn lines(path: &Path) -> Result<Vec<Value>, Failed> {
    let fault = |error: &dyn fmt::Display| Failed::from(format!("{}: {error}", path.display()));
    let text = fs::read_to_string(path).map_err(|error| fault(&error))?;
    text.lines().map(|line| serde_json::from_str(line).map_err(|error| fault(&error))).collect()
}

/// For each pair how many re-runs had armed the target whose wait first proved it.
pub(crate) fn armed(results: &Path, proofs: &[Proof]) -> Result<BTreeMap<Pair, u64>, Failed> {
    let pair_of: BTreeMap<&str, &Pair> =
        proofs.iter().map(|proof| (proof.id.as_str(), &proof.pair)).collect();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut armed: BTreeMap<String, u64> = BTreeMap::new();
    let mut needed = BTreeMap::new();
    for run in lines(&results.join("runs.jsonl"))? {
        let list = |field: &str| run[field].as_array().cloned().unwrap_or_default();
        for tried in list("targets") {
            *armed.entry(text(&tried["id"])).or_default() += 1;
        }
        for race in list("races") {
            let pair = pair_of.get(text(&race["id"]).as_str()).copied();
            let runs = armed.get(&text(&race["witness"]["target"]["id"])).copied();
            let (Some(pair), Some(runs)) = (pair, runs) else {
                return Err(format!("{}: proved by no target, or not told: {race}", results.display()).into());
            };
            needed.entry(pair.clone()).or_insert(runs);
        }
    }
    Ok(needed)
}

/// A proof to be replayed.
pub(crate) struct Replay<'a> {
    /// The race's id.
    pub(crate) id: &'a str,
    /// The program.
    pub(crate) executable: &'a Path,
    /// Where the hunt was.
    pub(crate) folder: &'a Path,
}

/// What the hunts so far gave.
#[derive(Default)]
pub(crate) struct Tally {
    /// How many there were.
    pub(crate) hunts: usize,
    /// What the last one said, or the last that did not prove each marked pair soon.
    said: String,
    missed: bool,
    proved: BTreeMap<Pair, usize>,
    soon: BTreeMap<Pair, usize>,
    most_armed: u64,
    replays: usize,
    replayed: usize,
    not_replayed: Vec<String>,
}

impl Tally {
    /// Adds a hunt.
    pub(crate) fn add(&mut self, hunted: &Hunted, program: &Program) {
        self.hunts += 1;
        let is_soon = |pair: &Pair| hunted.armed.get(pair).is_some_and(|&armed| armed <= SOON);
        let missed = !program.races.difference(&program.sometimes).all(is_soon);
        if missed || !self.missed {
            self.said = format!("hunt {}: {}", self.hunts, hunted.said);
        }
        self.missed |= missed;
        for (pair, &armed) in &hunted.armed {
            *self.proved.entry(pair.clone()).or_default() += 1;
            *self.soon.entry(pair.clone()).or_default() += usize::from(armed <= SOON);
            self.most_armed = self.most_armed.max(armed);
        }
    }

    /// Replays a proof, in one try each time.
    pub(crate) fn replay(&mut self, proof: &Replay<'_>, times: usize) -> Result<(), Failed> {
        const RACES: i32 = 66;
        for _ in 0..times {
            let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
            command.args(["replay", "--until-met", "--tries", "1", &format!("{RESULTS}#{}", proof.id), "--"]);
            command.arg(proof.executable).current_dir(proof.folder).stdin(Stdio::null());
            let output = command.output()?;
            self.replays += 1;
            if output.status.code() == Some(RACES) {
                self.replayed += 1;
            } else {
                self.not_replayed.push(String::from_utf8_lossy(&output.stderr).into_owned());
            }
        }
        Ok(())
    }

    /// Whether every marked pair was proved soon in some hunt.
    pub(crate) fn is_complete(&self, program: &Program) -> bool {
        program.races.iter().all(|pair| self.soon.get(pair).is_some_and(|&times| times > 0))
    }

    /// In one line the pairs that were proved soon in too few hunts (fewer than so many of 100, or
    /// never) and how many replays failed; `None` if there are none.
    pub(crate) fn fault(&self, program: &Program, percent: usize) -> Option<String> {
        let mut faults = Vec::new();
        for pair in program.races.difference(&program.sometimes) {
            let [proved, soon] = [&self.proved, &self.soon].map(|of| of.get(pair).copied().unwrap_or(0));
            if soon == 0 || soon * 100 < self.hunts * percent {
                faults.push(format!(
                    "proved in {proved} of {} hunts, in {soon} of them within {SOON} re-runs that armed it: {pair}",
                    self.hunts
                ));
            }
        }
        if !self.not_replayed.is_empty() {
            faults.push(format!("{} of {} replays did not meet", self.not_replayed.len(), self.replays));
        }
        (!faults.is_empty()).then(|| faults.join("; "))
    }

    /// What the failed replays said, and the last hunt that did not prove each marked pair soon, or else the
    /// last.
    pub(crate) fn said(&self) -> String {
        self.not_replayed.concat() + &self.said
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proved: Vec<String> = self.proved.values().map(usize::to_string).collect();
        write!(
            f,
            "proved in {} of {} hunts, by at most {} re-runs that armed it; {} of {} replays met",
            proved.join(", "),
            self.hunts,
            self.most_armed,
            self.replayed,
            self.replays
        )
    }
}
