//! The ways of hunting that are compared, and a sampler's fair share.

use super::super::{Outcome, Stop};

/// A way of hunting.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Way {
    /// What it is called in the tables and on the command line.
    pub(super) name: String,
    /// What `deadheat hunt` is told.
    pub(super) arguments: Vec<String>,
    /// Whether it goes on until it is stopped, and so is given the processor time of `hunt`.
    pub(super) endless: bool,
}

/// The ways that are compared unless others are named.
pub(super) const USUAL: &str = "hunt places sample:4000 sample:10 sample:10,1ms no-drops no-ranking";

/// Reads names with blanks between them. The first has to be `hunt`, whose time is the measure.
pub(super) fn ways(names: &str) -> Outcome<Vec<Way>> {
    let ways: Vec<Way> = names.split_whitespace().map(way).collect::<Outcome<_>>()?;
    match ways.first() {
        Some(first) if first.name == "hunt" => Ok(ways),
        _ => Err(Stop::usage("the first way has to be `hunt`: the others are compared with it")),
    }
}

fn way(name: &str) -> Outcome<Way> {
    let arguments: &[&str] = match name {
        "hunt" => &[],
        "places" => &["--match", "places"],
        "no-drops" => &["--without", "drops"],
        "no-ranking" => &["--without", "ranking"],
        sample if sample.starts_with("sample:") => &["--by", sample],
        _ => return Err(Stop::usage(format!("no way of hunting is called {name}"))),
    };
    Ok(Way {
        name: name.to_owned(),
        arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
        endless: name.starts_with("sample:"),
    })
}

/// How many re-runs a sampler gets so that it uses as much processor time as `hunt` in all.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Share {
    /// Re-runs so far.
    runs: f64,
    /// Processor seconds so far, and those of `hunt`.
    used: f64,
    allowed: f64,
    /// What a hunt costs without its re-runs.
    start: f64,
    hunts: f64,
}

/// The most re-runs of one sampling.
const MOST: f64 = 200.0;
/// The least that a re-run is taken to cost, in seconds, where measurements scatter.
const LEAST: f64 = 1e-3;

impl Share {
    /// From what was measured beforehand: the costs of samplings with few and with many re-runs.
    pub(super) fn measured(few: (u64, f64), many: (u64, f64)) -> Share {
        let each = ((many.1 - few.1) / (many.0 - few.0) as f64).max(LEAST);
        let start = (few.1 - few.0 as f64 * each).max(0.0);
        // As much as if one such hunt had been: further ones soon outweigh it.
        Share { runs: many.0 as f64, used: many.1, allowed: many.1, start, hunts: 1.0 }
    }

    /// The re-runs of the next sampling, after a hunt that cost so much.
    pub(super) fn next(&mut self, hunt: f64) -> u64 {
        self.allowed += hunt;
        let each = ((self.used - self.hunts * self.start) / self.runs).max(LEAST);
        ((self.allowed - self.used - self.start) / each).round().clamp(1.0, MOST) as u64
    }

    /// What the sampling cost.
    pub(super) fn spent(&mut self, runs: u64, cpu: f64) {
        self.runs += runs as f64;
        self.used += cpu;
        self.hunts += 1.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_and_wrong_ones_refused() {
        let Ok(ways) = super::ways(USUAL) else { panic!("well formed") };
        assert_eq!(ways[3].arguments, ["--by", "sample:10"]);
        assert!(ways.iter().all(|way| way.endless == way.name.starts_with("sample")));
        for wrong in ["", "places", "hunt harder"] {
            assert_eq!(super::ways(wrong).err().map(|stop| stop.code), Some(2), "{wrong}");
        }
    }

    #[test]
    fn a_share_uses_what_the_hunts_used() {
        let mut share = Share::measured((2, 0.14), (22, 0.34));
        let mut used = 0.0;
        for round in 0..20 {
            let runs = share.next(0.5);
            // Later runs cost twice as much as those that were measured beforehand.
            let cpu = 0.12 + 0.02 * runs as f64;
            assert!(round > 0 || runs == 38);
            share.spent(runs, cpu);
            used += cpu;
        }
        assert!((used - 10.0).abs() < 0.6, "{used}");
    }
}
