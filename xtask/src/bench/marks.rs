//! What a program says of its own races, and which of them a report tells or proves.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// An access: its line, from 1, and its operation as a mark has it.
pub(crate) type Side = (u64, String);

/// The races that are marked in a program, each as its two accesses, the smaller first.
pub(crate) struct Marks {
    file: String,
    races: BTreeSet<[Side; 2]>,
}

/// What one hunt proved.
#[derive(Default)]
pub(crate) struct Proved {
    /// Marked races.
    pub(crate) marked: usize,
    /// Races that are not marked: false alarms.
    pub(crate) unmarked: usize,
    /// The number of the re-run that proved the last marked race of those that were proved.
    pub(crate) last: u64,
}

impl Marks {
    /// Reads the marks `//~ race N: OPERATION` of a source.
    pub(crate) fn of(path: &Path, text: &str) -> Marks {
        let mut sides: BTreeMap<&str, Vec<Side>> = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            let marks = text.split_once("//~ ").map_or("", |(_, marks)| marks);
            for mark in marks.split(", ").filter_map(|mark| mark.strip_prefix("race ")) {
                let Some((number, operation)) = mark.split_once(": ") else { continue };
                let operation = operation.split(" in ").next().unwrap_or(operation);
                sides.entry(number).or_default().push((line, operation.to_owned()));
            }
        }
        let races = sides.into_values().filter_map(|sides| <[Side; 2]>::try_from(sides).ok());
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Marks { file, races: races.map(in_order).collect() }
    }

    /// How many races are marked.
    pub(crate) fn count(&self) -> usize {
        self.races.len()
    }

    /// The marked races.
    pub(crate) fn races(&self) -> &BTreeSet<[Side; 2]> {
        &self.races
    }

    /// The races that a report tells, of whatever grade.
    pub(crate) fn told(&self, report: &str) -> BTreeSet<[Side; 2]> {
        let lines = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let races = lines.filter(|line| line["type"] == "race");
        races.map(|race| in_order([0, 1].map(|side| self.side(&race["accesses"][side])))).collect()
    }

    /// What the lines of a report prove.
    pub(crate) fn proved(&self, report: &str) -> Proved {
        let lines = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut first: BTreeMap<[Side; 2], u64> = BTreeMap::new();
        for race in lines.filter(|line| line["type"] == "race" && line["grade"] == "proved") {
            let sides = in_order([self.side(&race["accesses"][0]), self.side(&race["accesses"][1])]);
            let run = race["witness"]["run"].as_u64().unwrap_or_default();
            first.entry(sides).and_modify(|known| *known = run.min(*known)).or_insert(run);
        }
        let mut proved = Proved::default();
        for (sides, run) in first {
            if self.races.contains(&sides) {
                proved.marked += 1;
                proved.last = proved.last.max(run);
            } else {
                proved.unmarked += 1;
            }
        }
        proved
    }

    /// An access as a mark would name it: by its innermost frame in the program's own source.
    fn side(&self, access: &Value) -> Side {
        let operation = match access["op"].as_str() {
            Some("read-write") => "write",
            Some(other) => other,
            None => "none",
        };
        let atomic = if access["atomic"] == true { "atomic " } else { "" };
        let frames = access["frames"].as_array().map(Vec::as_slice).unwrap_or_default();
        let own = |frame: &&Value| {
            let file = frame["file"].as_str().and_then(|file| file.rsplit('/').next());
            file == Some(self.file.as_str())
        };
        let line = frames.iter().find(own).and_then(|frame| frame["line"].as_u64());
        (line.unwrap_or_default(), format!("{atomic}{operation}"))
    }
}

fn in_order([one, other]: [Side; 2]) -> [Side; 2] {
    if one <= other { [one, other] } else { [other, one] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_are_compared_with_marks() {
        let source = "a; //~ race 1: write, race 2: write, race 2: write\nb; //~ race 1: atomic read in f < g, unmet 3: read\n";
        let marks = Marks::of(Path::new("x/p.c"), source);
        assert_eq!(marks.count(), 2);
        let race = |line: u64, op: &str, atomic: bool, run: u64| {
            let access = |line, op: &str, atomic| {
                let frame = serde_json::json!({"file": "x/p.c", "line": line});
                serde_json::json!({"op": op, "atomic": atomic, "frames": [{"file": "q.h", "line": 9}, frame]})
            };
            let accesses = [access(line, op, atomic), access(1, "read-write", false)];
            serde_json::json!({
                "type": "race", "grade": "proved", "accesses": accesses, "witness": {"run": run},
            })
            .to_string()
        };
        let report = [race(2, "read", true, 7), race(1, "write", false, 3), race(2, "write", false, 9)];
        let proved = marks.proved(&report.join("\n"));
        assert_eq!((proved.marked, proved.unmarked, proved.last), (2, 1, 7));
        let told = marks.told(&report.join("\n"));
        assert_eq!((told.len(), told.intersection(marks.races()).count()), (3, 2));
    }
}
