//! Races that the run found by itself: they are told as if `hb` had found them now.

use deadheat_detect::registry::{self, Options};
use deadheat_report::model::{Race, Report, Run};
use deadheat_report::suppress::Suppressions;
use deadheat_trace::wellformed::Doubts;
use deadheat_trace::{Found, FoundLock, FoundSide, Trace};

use super::collect::{Collector, Held, Kept};
use super::owner::Owners;
use super::witness::Witnesses;
use super::{Judged, Judging, Reading, finding, resolve};
use crate::exit::Failure;

/// The analysis that finds the races while a program runs.
const BY: &str = "hb";

/// The analysis of what else there is.
const ALSO: &str = "findings";

/// Whether what an analysis finds is in such a trace.
pub(super) fn tells(analysis: &str) -> bool {
    analysis == BY || analysis == ALSO
}

/// Tells what the trace of such a run holds. The second value is what went wrong after part of it was read.
pub(super) fn judge(
    trace: &mut Trace,
    judging: &Judging,
    suppressions: &mut Suppressions,
) -> Result<(Report, Option<Failure>), Failure> {
    let as_it_was = judging.needs_recording().is_none();
    let (Some(analysis), Some(also), true) = (registry::find(BY), registry::find(ALSO), as_it_was) else {
        return Err(Failure::usage(format!(
            "{}: the races were found while the program ran, by {BY}, and there are no accesses to judge in another \
             way; make a trace with `deadheat record`",
            trace.path().display()
        )));
    };
    let (mut collector, mut findings) = (Collector::default(), Collector::default());
    let mut detector = (also.new)(Options::default());
    let mut doubts = Doubts::default();
    let driven = trace.drive(|event| {
        doubts.step(event);
        detector.step(event, &mut findings);
    });
    detector.finish(&mut findings);
    for found in trace.found() {
        if found.ordered {
            findings.keep(finding::Kept::UseAfterFree(Box::new(kept(found))));
            continue;
        }
        collector.take(&found.race, found.times, || kept(found));
    }
    let mut judged =
        vec![Judged { analysis, found: &collector }, Judged { analysis: also, found: &findings }];
    judged.retain(|judged| judging.by.iter().any(|name| name == judged.analysis.name));
    let (owners, witnesses) = (Owners::default(), Witnesses::none());
    let read = Reading { owners, witnesses, doubts, hidden_calls: 0 };
    let report = resolve(trace, read, &judged, (judging, suppressions));
    Ok((report, driven.err().map(|error| Failure::input(error.to_string()))))
}

fn kept(found: &Found) -> Kept {
    let sides = found.sides.each_ref();
    let held = |side: &FoundSide| {
        let of = |&FoundLock { held, block }: &FoundLock| Held { lock: held.lock, mode: held.mode, block };
        side.locks.iter().map(of).collect()
    };
    let forgotten = |side: &FoundSide| (!side.remembered).then_some(side.clock);
    Kept {
        race: found.race,
        locks: sides.map(held),
        forgotten: sides.map(forgotten),
        count: found.times,
        order: None,
        witness: None,
    }
}

/// How to come by the stacks that are not remembered, if there are such races.
pub(super) fn note(run: &Run, races: &[Race]) -> Option<String> {
    let forgotten = |race: &&Race| race.accesses.iter().any(|access| access.clock.is_some());
    let count = races.iter().filter(forgotten).count();
    if count == 0 {
        return None;
    }
    let (races, it) =
        if count == 1 { ("1 race has".to_owned(), "it") } else { (format!("{count} races have"), "them") };
    let words: Vec<String> =
        [&run.program].into_iter().chain(&run.arguments).map(|word| quoted(word)).collect();
    Some(format!(
        "{races} a stack that is not remembered; `deadheat hunt -- {}` brings {it} back, and DEADHEAT_OPTIONS=history_size=7 \
         remembers 128 times as many",
        words.join(" ")
    ))
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}
