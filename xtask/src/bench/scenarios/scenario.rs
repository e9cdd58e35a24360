//! What a scenario of `spec/programs/prediction` says of itself.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::super::marks::Marks;
use super::super::tools::root;
use super::super::{Outcome, Stop};

/// A program of which one run is recorded in a set order.
pub(super) struct Scenario {
    /// The file's name without its ending.
    pub(super) name: String,
    /// The source.
    pub(super) source: PathBuf,
    /// Its lines of code: those that are neither empty nor a comment alone.
    pub(super) lines: usize,
    /// The races that there are in truth.
    pub(super) marks: Marks,
    /// By analysis: how many of them it tells from that run. An analysis of which it says nothing is not here.
    pub(super) told: BTreeMap<String, usize>,
}

/// All scenarios, by name.
pub(super) fn all() -> Outcome<Vec<Scenario>> {
    let folder = root().join("spec/programs/prediction");
    let cannot = |error| Stop::failed(format!("cannot read {}: {error}", folder.display()));
    let entries = fs::read_dir(&folder).map_err(cannot)?;
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    sources.retain(|path| path.extension().is_some_and(|kind| kind == "c"));
    sources.sort();
    sources
        .iter()
        .map(|source| Ok(Scenario::of(source, &fs::read_to_string(source).map_err(cannot)?)))
        .collect()
}

impl Scenario {
    /// Reads a source.
    pub(super) fn of(source: &Path, text: &str) -> Scenario {
        let code = |line: &&str| !line.trim().is_empty() && !line.trim().starts_with("//");
        let told = text.lines().filter_map(|line| line.strip_prefix("//! told by ")?.split_once(": "));
        let told = told.map(|(analysis, numbers)| {
            let count = numbers.split(", ").filter(|number| *number != "none").count();
            (analysis.to_owned(), count)
        });
        Scenario {
            name: source.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            source: source.to_owned(),
            lines: text.lines().filter(code).count(),
            marks: Marks::of(source, text),
            told: told.collect(),
        }
    }

    /// The lines of the marked races.
    pub(super) fn lines_of_races(&self) -> Vec<[u64; 2]> {
        self.marks.races().iter().map(|[one, other]| [one.0, other.0]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_says_what_is_found_in_it() {
        let text = "// A fact.\n//! told by hb: none\n//! told by shb: 1, 2\n#include <a.h>\n\nx = 1; //~ race 1: write\n\
                    y = x; //~ race 1: read, race 2: read\nx = 2; //~ race 2: write\n    // end\n";
        let scenario = Scenario::of(Path::new("spec/p.c"), text);
        assert_eq!((scenario.name.as_str(), scenario.lines, scenario.marks.count()), ("p", 4, 2));
        assert_eq!(scenario.told, BTreeMap::from([("hb".to_owned(), 0), ("shb".to_owned(), 2)]));
    }
}
