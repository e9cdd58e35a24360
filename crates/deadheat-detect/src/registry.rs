//! The list of all analyses. The command line's help, `docs/analyses.md` and the tests read it.

use crate::detector::Detector;
use crate::hb::Hb;

/// What can be asked of an analysis.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Options {
    /// List every unordered pair of places, instead of at least one partner for each racy access.
    pub all_pairs: bool,
}

/// One analysis.
pub struct Analysis {
    /// The name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub doc: &'static str,
    /// The paper that it comes from.
    pub paper: &'static str,
    /// What holds of its races, in a sentence.
    pub promise: &'static str,
    /// Makes one.
    pub new: fn(Options) -> Box<dyn Detector>,
}

/// All analyses, in the order in which they are listed.
pub const ANALYSES: &[Analysis] = &[Analysis {
    name: "hb",
    doc: "Happens-before: accesses of the run that no synchronisation ordered",
    paper: "FastTrack (Flanagan and Freund, PLDI 2009); C++20, [intro.races] and [atomics.order]",
    promise: "A race is told for each access that conflicts with an earlier one of the run and that \
              nothing ordered after it, and for no other.",
    new: |options| Box::new(Hb::new(options)),
}];

/// The analysis of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Analysis> {
    ANALYSES.iter().find(|analysis| analysis.name == name)
}
