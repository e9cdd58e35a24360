//! Hunting in other ways than the usual one, to compare with: what other methods do, and what a
//! part of this one is worth (`docs/racehunter.md`).

use std::time::Duration;

use deadheat_core::gate::flag;
use deadheat_detect::conflict::Options;
use serde::{Deserialize, Serialize};

use crate::args;

/// How long a sample is held at most, as KCSAN's `kcsan.udelay_task`.
const DELAY: Duration = Duration::from_micros(80);

/// What is done otherwise.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, clap::Args)]
#[serde(default)]
pub(crate) struct Manner {
    /// For comparison: arm no pairs, but hold about every N-th access of each thread, for at most
    /// TIME (80 microseconds); needs --max-runs or --budget
    #[arg(long, value_name = "sample:N[,TIME]", value_parser = sampling, hide_short_help = true, conflicts_with_all = ["targets", "partition"])]
    by: Option<Sampling>,
    /// For comparison: match code addresses alone, whatever the thread, the stack and the ordinal
    #[arg(long = "match", value_name = "HOW", value_enum, default_value_t, hide_short_help = true)]
    matching: Matching,
    /// For comparison: hunt also what fork and join order (drops), hunt in no order (ranking), hunt only what the
    /// watched run nominates (feedback)
    #[arg(long, value_name = "PART", value_enum, value_delimiter = ',', hide_short_help = true)]
    without: Vec<Part>,
}

/// A sampler's numbers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Sampling {
    /// About every so-many-th access is held.
    pub(crate) every: u64,
    /// For at most so long.
    pub(crate) delay: Duration,
}

/// What an access has to be equal in to match.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Matching {
    /// Thread, code address, stack and ordinal, as far as each is needed.
    #[default]
    Descriptors,
    /// The code address.
    Places,
}

/// A part of the method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
enum Part {
    /// Pairs that fork and join order are no targets.
    Drops,
    /// Likely targets first, and more often.
    Ranking,
    /// What is seen first in re-runs is hunted, too.
    Feedback,
}

impl Manner {
    /// Whether samples are held instead of targets.
    pub(crate) fn sampling(&self) -> Option<Sampling> {
        self.by
    }

    /// Whether code addresses alone are matched: then all targets of a group are one.
    pub(crate) fn places_alone(&self) -> bool {
        self.matching == Matching::Places
    }

    /// Whether targets are ranked.
    pub(crate) fn ranks(&self) -> bool {
        !self.without.contains(&Part::Ranking)
    }

    /// Whether re-runs nominate, too.
    pub(crate) fn feeds_back(&self) -> bool {
        !self.without.contains(&Part::Feedback)
    }

    /// What the nomination is asked for.
    pub(crate) fn nomination(&self) -> Options {
        Options { keep_fork_join: self.without.contains(&Part::Drops), ..Options::default() }
    }

    /// Further flags of gate files.
    pub(crate) fn flags(&self) -> u64 {
        if self.places_alone() { flag::PLACES } else { 0 }
    }
}

/// Reads `sample:N` or `sample:N,TIME`.
fn sampling(text: &str) -> Result<Sampling, String> {
    let wrong = || "it must be sample:N or sample:N,TIME with N above 0".to_owned();
    let numbers = text.strip_prefix("sample:").ok_or_else(wrong)?;
    let (every, delay) = match numbers.split_once(',') {
        Some((every, delay)) => (every, args::duration(delay)?),
        None => (numbers, DELAY),
    };
    match every.parse() {
        Ok(every) if every > 0 => Ok(Sampling { every, delay }),
        _ => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplings() {
        let of = |every, delay| Ok(Sampling { every, delay });
        assert_eq!(sampling("sample:4000"), of(4000, DELAY));
        assert_eq!(sampling("sample:7,0.5ms"), of(7, Duration::from_micros(500)));
        for wrong in ["sample:", "sample:0", "every:3", "7", "sample:7,soon"] {
            assert!(sampling(wrong).is_err(), "{wrong}");
        }
    }
}
