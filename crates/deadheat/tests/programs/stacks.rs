//! How many of the told races lack a stack of one of their two sides.

use std::fmt;

use serde_json::Value;

/// Of so many reports one may lack a stack.
const ONE_IN: usize = 100;

/// Reports of races.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct Stacks {
    /// All of them.
    pub(crate) reports: usize,
    /// Those of which at least one side has none.
    pub(crate) lacking: usize,
}

impl Stacks {
    /// Counts these lines of type `race`.
    pub(crate) fn count(&mut self, races: &[Value]) {
        self.reports += races.len();
        self.lacking += races.iter().filter(|race| lacks_one(race)).count();
    }

    /// Whether there is anything to judge by, and few enough lack one.
    pub(crate) fn suffice(self) -> bool {
        self.reports > 0 && self.lacking * ONE_IN <= self.reports
    }
}

impl fmt::Display for Stacks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} races told, {} without one of their stacks", self.reports, self.lacking)
    }
}

/// Whether a side has no frame, or says at which moment it was instead.
fn lacks_one(race: &Value) -> bool {
    let bare = |access: &Value| access["frames"].as_array().is_none_or(Vec::is_empty);
    let sides = race["accesses"].as_array().map(Vec::as_slice).unwrap_or_default();
    sides.len() != 2 || sides.iter().any(|access| bare(access) || access["clock"].is_u64())
}
