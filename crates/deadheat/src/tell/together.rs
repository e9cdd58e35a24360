//! The reports of a run's processes as one: a suite of tests is asked for its races, not for each program's.
//!
//! Invariant: a race of several processes is told once, with how often it was seen in all of them; what a
//! process has to say of itself names it.

use std::ffi::OsString;

use deadheat_report::group::{Groups, join_findings};
use deadheat_report::model::{Finding, Race, Report, Run, Summary};
use deadheat_report::seen::SeenIn;

use super::{Alone, could_not_race};

/// Joins the reports of what `command` and the processes below it did; `None` if there is none. One alone stays
/// as it is.
pub(super) fn join(mut reports: Vec<Report>, command: &[OsString]) -> Option<Report> {
    if reports.len() < 2 {
        return reports.pop();
    }
    let mut run = Run { processes: 0, pid: None, trace: None, ..reports.first()?.run.clone() };
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    (run.program, run.arguments) = (words.next().unwrap_or_default(), words.collect());
    (run.modules, run.threads, run.events, run.accesses, run.hidden_calls) = (Vec::new(), 0, 0, 0, 0);
    let mut groups = Groups::default();
    let (mut notes, mut findings) = (Vec::new(), Vec::new());
    let (mut suppressed, mut dropped, mut checks, mut ill_formed) = (0, 0, None, Vec::new());
    let alone = reports.iter().all(|report| could_not_race(&report.run).is_some());
    for report in reports {
        let Report { run: its, races, findings: found, summary } = report;
        let seen_in = |count: u64| vec![SeenIn::of(&its, count)];
        let races: Vec<_> =
            races.into_iter().map(|race| Race { seen_in: seen_in(race.count), ..race }).collect();
        let found: Vec<_> = found
            .into_iter()
            .map(|finding| Finding { seen_in: seen_in(finding.count.max(1)), ..finding })
            .collect();
        let own = could_not_race(&its).map(|alone| alone.note());
        let who = format!("{} (process {})", its.program, its.pid.unwrap_or(0));
        let said = summary.notes.into_iter().filter(|note| Some(note.as_str()) != own);
        notes.extend(said.map(|note| format!("{who}: {note}")));
        run.processes += its.processes;
        run.threads += its.threads;
        run.events += its.events;
        run.accesses += its.accesses;
        run.accessed = run.accessed.map(|seen| seen || its.has_accesses());
        run.hidden_calls += its.hidden_calls;
        run.started = run.started.min(its.started);
        run.built = run.built.max(its.built);
        let new = its.modules.into_iter().filter(|module| !run.modules.contains(module));
        let new: Vec<_> = new.collect();
        run.modules.extend(new);
        races.into_iter().for_each(|race| groups.add(race));
        findings.extend(found);
        suppressed += summary.suppressed;
        dropped += summary.dropped;
        checks = checks.into_iter().chain(summary.checks).reduce(|one: u64, other| one + other);
        ill_formed.extend(summary.ill_formed);
    }
    if alone {
        let note = if !run.has_accesses() { Alone::NoAccess } else { Alone::NoThread }.note();
        notes.insert(0, note.to_owned());
    }
    let (races, findings) = (groups.into_races(), join_findings(findings));
    let summary =
        Summary { suppressed, dropped, checks, notes, ill_formed, ..Summary::of(&races, &findings) };
    Some(Report { run, races, findings, summary })
}
