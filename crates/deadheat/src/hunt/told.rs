//! From the log of a hunt to its report.
//!
//! Pure: the same lines in whatever order give the same races. Coverage is told as it is: what
//! met, what was tried and why it did not meet, and what was not tried.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use deadheat_report::group::Groups;
use deadheat_report::model::{Coverage, Finding, Nominated, Race, Report, Summary};

use super::finding;
use super::log::{Line, Provoked, Watched};
use super::plan::{Answer, Counts, Scheduler, Verdict};
use super::targets::Target;

/// Replays the log into a schedule: afterwards it knows of each target what the runs said.
pub(crate) fn replay(scheduler: &mut Scheduler, targets: &[Target], lines: &[Line]) {
    for target in targets {
        scheduler.add(target);
    }
    for line in provoked(lines) {
        for tried in &line.targets {
            let (Some(target), Some(verdict)) = (scheduler.find(&tried.id), Verdict::named(&tried.verdict))
            else {
                continue;
            };
            let time = |ms: f64| Duration::try_from_secs_f64(ms / 1000.0).ok();
            let reached = tried.reached_ms.map(|ms| ms.and_then(time));
            scheduler.answer(target, Answer { verdict, reached, delay: tried.delay });
        }
        line.races.iter().filter_map(group_of).for_each(|group| scheduler.prove(group));
        line.lasted().into_iter().for_each(|time| scheduler.lasted(time));
    }
}

/// The group whose race a proof is.
pub(crate) fn group_of(race: &Race) -> Option<&str> {
    race.witness.as_ref()?["group"].as_str()
}

/// The runs that provoked.
pub(crate) fn provoked(lines: &[Line]) -> impl Iterator<Item = &Provoked> {
    lines.iter().filter_map(|line| match line {
        Line::Provoke(line) => Some(&**line),
        Line::Watch(_) => None,
    })
}

/// The watched run, if it is in the log.
pub(crate) fn watched(lines: &[Line]) -> Option<&Watched> {
    lines.iter().find_map(|line| match line {
        Line::Watch(line) => Some(&**line),
        Line::Provoke(_) => None,
    })
}

/// The report of a hunt.
pub(crate) fn report(scheduler: &Scheduler, lines: &[Line]) -> Report {
    let nothing = Watched::default();
    let watched = watched(lines).unwrap_or(&nothing);
    let mut races: Vec<Race> = provoked(lines).flat_map(|line| &line.races).cloned().collect();
    // So that a report does not depend on which part of a hunt came first.
    races.sort_by_cached_key(|race| (run_of(race), race.id.clone()));
    let mut groups = Groups::default();
    races.into_iter().for_each(|race| groups.add(race));
    let mut races = groups.into_races();
    races.sort_by(|one, other| one.id.cmp(&other.id));
    let findings = findings(lines);
    let coverage = coverage(&scheduler.counts(), watched, lines);
    let mut summary = Summary::of(&races, &findings);
    summary.notes = watched.notes.clone();
    if watched.run.threads >= 2 && watched.run.accesses > 0 {
        summary.notes.extend(notes(&coverage, watched, lines));
    }
    summary.hunt = Some(coverage);
    Report { run: watched.run.clone(), races, findings, summary }
}

fn run_of(race: &Race) -> u64 {
    race.witness.as_ref().and_then(|witness| witness["run"].as_u64()).unwrap_or(u64::MAX)
}

fn findings(lines: &[Line]) -> Vec<Finding> {
    let mut seen = HashSet::new();
    let all = provoked(lines).flat_map(|line| &line.findings);
    all.filter(|one| seen.insert(finding::key(one))).cloned().collect()
}

fn coverage(counts: &Counts, watched: &Watched, lines: &[Line]) -> Coverage {
    let name = |(verdict, count): (&Verdict, &u64)| (verdict.name().to_owned(), *count);
    let nominated =
        |(name, &(pairs, proved)): (&String, &(u64, u64))| (name.clone(), Nominated { pairs, proved });
    Coverage {
        pairs: counts.pairs,
        proved: counts.proved,
        beyond: counts.beyond,
        nominated: counts.nominated.iter().map(nominated).collect(),
        missed: counts.missed,
        verdicts: counts.verdicts.iter().map(name).collect(),
        unfinished: counts.under_way,
        untried: counts.untried,
        targets: counts.targets,
        lost: counts.lost,
        runs: provoked(lines).count() as u64,
        diverged: provoked(lines).filter(|line| diverged(line, watched)).count() as u64,
        dropped: watched.dropped.clone(),
    }
}

/// Whether a run ended by itself in another way than the watched one.
fn diverged(line: &Provoked, watched: &Watched) -> bool {
    !line.cut && !line.stopped && line.end != watched.end
}

/// The words of a verdict, in the order in which they are told.
const REASONS: [(&str, &str); 6] = [
    ("none", "waited in vain"),
    ("quiescent", "nobody was left who could come"),
    ("moved", "came to different memory"),
    ("lost", "the program took another way"),
    ("busy", "threads were held elsewhere"),
    ("undecided", "cut short"),
];

/// The phrases of what was dropped, in the order in which they are told.
const DROPPED: [(&str, &str); 8] = [
    ("both-atomic", "both atomic"),
    ("fork-join", "ordered by creation and join alone"),
    ("duplicate", "the same as another"),
    ("capped", "further occasions of a pair that has enough"),
    ("unplaced", "at a place that is not known"),
    ("unnumbered", "in a recursion that cannot be counted"),
    ("forgotten", "forgotten for want of room"),
    ("too-deep", "by threads too deep in the tree of threads"),
];

fn notes(coverage: &Coverage, watched: &Watched, lines: &[Line]) -> Vec<String> {
    let mut notes = Vec::new();
    if coverage.pairs == 0 && coverage.runs > 0 {
        let Coverage { runs, beyond, .. } = *coverage;
        notes.push(format!("held samples in {runs} re-runs: {beyond} pairs met"));
    } else if coverage.pairs == 0 {
        notes.push(
            "nothing to hunt: no two accesses of different threads conflict but where they cannot race"
                .to_owned(),
        );
    } else {
        notes.push(covered(coverage));
        notes.extend(nominators(coverage));
    }
    let dropped = listed(&coverage.dropped, &DROPPED);
    if !dropped.is_empty() {
        notes.push(format!("not hunted: {}", dropped.join(", ")));
    }
    if coverage.lost > 0 {
        notes.push(format!(
            "re-runs differ from the watched run: {} of {} targets were not met again in the latest run that \
             tried them; give each run the same input, seed and time if you can, and put state back with --setup",
            coverage.lost, coverage.targets
        ));
    }
    if let Some(other) = provoked(lines).find(|line| diverged(line, watched)) {
        notes.push(format!(
            "{} of {} re-runs ended in another way than the watched run, which {}: run {} {}; if runs are in each \
             other's way (a port, a file), use -j 1, --isolate, or --setup and --teardown",
            coverage.diverged,
            coverage.runs,
            watched.end.phrase(),
            other.number,
            other.end.phrase()
        ));
    }
    notes
}

fn covered(coverage: &Coverage) -> String {
    let Coverage { pairs, proved, missed, unfinished, untried, runs, .. } = *coverage;
    let plural = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![match coverage.beyond {
        0 => format!("{proved} proved"),
        beyond => format!("{proved} proved and {beyond} more that met while these were waited for"),
    }];
    let tried = missed + unfinished;
    if tried > 0 {
        let reasons = listed(&coverage.verdicts, &REASONS);
        let unfinished = match unfinished {
            0 => String::new(),
            count => format!("; {count} not tried to the end"),
        };
        parts.push(format!("{tried} tried without meeting ({}{unfinished})", reasons.join(", ")));
    }
    if untried > 0 {
        parts.push(format!("{untried} not tried"));
    }
    format!("hunted {} in {}: {}", plural(pairs, "pair"), plural(runs, "re-run"), parts.join(", "))
}

/// Who nominated, if not conflicts alone did.
fn nominators(coverage: &Coverage) -> Option<String> {
    let told = |(name, count): (&String, &Nominated)| {
        let Nominated { pairs, proved } = *count;
        format!("{pairs} by {name} ({proved} proved)")
    };
    let told: Vec<String> = coverage.nominated.iter().map(told).collect();
    (told.len() > 1).then(|| format!("nominated: {}", told.join(", ")))
}

fn listed(counts: &BTreeMap<String, u64>, words: &[(&str, &str)]) -> Vec<String> {
    let count = |name: &str| counts.get(name).copied().filter(|&count| count > 0);
    words.iter().filter_map(|(name, phrase)| Some(format!("{} {phrase}", count(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::log::{End, Tried};
    use super::super::plan::TRIES;
    use super::super::targets::Rank;
    use super::super::targets::tests::target;
    use super::*;
    use deadheat_report::model::{Access, Frame};

    fn run(number: u64, targets: &[(&Target, &str)], races: &[&str]) -> Line {
        let tried = |(target, verdict): &(&Target, &str)| Tried {
            id: target.id.clone(),
            verdict: (*verdict).to_owned(),
            ..Tried::default()
        };
        let frame = |id: &str| Frame { function: Some(id.to_owned()), line: Some(1), ..Frame::default() };
        let access = |id: &str| Access { frames: vec![frame(id)], ..Access::default() };
        let race = |id: &&str| Race {
            id: (*id).to_owned(),
            accesses: [access(id), access(id)],
            witness: Some(serde_json::json!({"run": number})),
            ..Race::default()
        };
        Line::Provoke(Box::new(Provoked {
            number,
            targets: targets.iter().map(tried).collect(),
            races: races.iter().map(race).collect(),
            ..Provoked::default()
        }))
    }

    fn told(targets: &[Target], lines: &[Line]) -> Report {
        let mut scheduler = Scheduler::new(Duration::from_secs(1), TRIES, 0);
        replay(&mut scheduler, targets, lines);
        report(&scheduler, lines)
    }

    #[test]
    fn coverage_adds_up() {
        let targets: Vec<_> =
            (0..5).map(|k| target(&format!("dh-{k}"), Rank::CommonLock, [2 * k, 2 * k + 1], 1)).collect();
        let [a, b, c, d, _] = &targets[..] else { panic!("five") };
        let watch = Watched { end: End::Exited(0), ..Watched::default() };
        let mut watch_line = watch;
        (watch_line.run.threads, watch_line.run.accesses) = (3, 9);
        let lines = [
            Line::Watch(Box::new(watch_line)),
            run(1, &[(a, "race"), (b, "none"), (c, "quiescent"), (d, "undecided")], &["dh-0"]),
            run(2, &[(b, "moved"), (c, "lost")], &[]),
        ];
        let report = told(&targets, &lines);
        let coverage = report.summary.hunt.expect("a hunt");
        let Coverage { pairs, proved, missed, unfinished, untried, runs, lost, .. } = coverage;
        assert_eq!((pairs, proved, missed, unfinished, untried, runs, lost), (5, 1, 2, 0, 2, 2, 1));
        assert_eq!(
            report.summary.notes[0],
            "hunted 5 pairs in 2 re-runs: 1 proved, 2 tried without meeting (1 came to different memory, 1 the \
             program took another way), 2 not tried"
        );
    }

    #[test]
    fn the_order_of_lines_does_not_matter() {
        let lines = [run(1, &[], &["dh-7", "dh-1"]), run(2, &[], &["dh-1", "dh-3"])];
        let turned = [lines[1].clone(), lines[0].clone()];
        let ids = |lines: &[Line]| -> Vec<_> {
            told(&[], lines).races.iter().map(|race| (race.id.clone(), race.count)).collect()
        };
        assert_eq!(ids(&lines), ids(&turned));
    }
}
