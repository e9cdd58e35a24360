//! From a trace to what is told of it: drive the analyses, resolve what they found, group,
//! suppress, write, and choose the exit code.
//!
//! Invariant: what was read before an error is told, then the error.

pub(crate) mod collect;
pub(crate) mod finding;
mod found;
mod illformed;
mod limits;
pub(crate) mod output;
pub(crate) mod owner;
pub(crate) mod resolve;
mod suggest;
mod together;
mod witness;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsString;
use std::num::NonZeroU32;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::ThreadId;
use deadheat_core::plain::{Plain, Strided};
use deadheat_core::race::Evidence;
use deadheat_detect::detector::Detector;
use deadheat_detect::registry::{self, Analysis, Options};
use deadheat_report::group::{Groups, join_findings};
use deadheat_report::illformed::IllFormed;
use deadheat_report::model::{
    Finding, Grade, LOCK_ORDER, Module, Operation, Race, Report, Run, SCHEMA, Summary, TOOK,
};
use deadheat_report::suppress::Suppressions;
use deadheat_trace::wellformed::Doubts;
use deadheat_trace::{Ending, Tables, Trace, Visit};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::say::say;
use collect::Collector;
use limits::{forgotten, undecided, unwitnessed};
use output::Output;
use owner::Owners;
use resolve::Resolver;
use witness::Witnesses;

/// The unit of `--memory-limit`.
const MIB: usize = 1 << 20;

/// How to judge a trace.
#[derive(Clone, clap::Args)]
pub(crate) struct Judging {
    /// The analyses, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', default_value = "hb,findings", value_parser = analyses())]
    by: Vec<String>,
    /// List every unordered pair of places (more time and memory)
    #[arg(long)]
    all_pairs: bool,
    /// About how much memory each analysis may take for what it remembers of the run, in MiB (default: none, but 256 for each search of `csp` and 4096 for `sync-reversal`); the report says when it binds
    #[arg(long, value_name = "MIB")]
    memory_limit: Option<usize>,
    /// How many events the windows have in which `csp` looks at a run (default: 16384)
    #[arg(long, value_name = "EVENTS")]
    window: Option<NonZeroU32>,
    /// Whether locks that one thread takes in opposite orders are told, too
    #[arg(skip)]
    suspected: bool,
    /// Kinds and sorts of findings that nobody wants to know
    #[arg(skip)]
    unwanted: Vec<&'static str>,
    /// Whether the races that a run found by itself are told although it was recorded, too
    #[arg(skip)]
    found: bool,
}

impl Judging {
    /// The same, but of a run that found its races by itself those are told.
    pub(crate) fn found(self) -> Judging {
        Judging { found: true, ..self }
    }

    /// The option, if one says how to judge a recording, and nothing of races that are found while the program runs.
    pub(crate) fn is_of_recordings(&self) -> Option<String> {
        let limit = self.memory_limit.map(|limit| format!("--memory-limit {limit}"));
        let window = || self.window.map(|window| format!("--window {window}"));
        self.needs_recording().or(limit).or_else(window)
    }

    /// The option, if one asks for what only a recording can tell.
    pub(crate) fn needs_recording(&self) -> Option<String> {
        let other = self.by.iter().find(|name| !found::tells(name));
        let all_pairs = self.all_pairs.then(|| "--all-pairs".to_owned());
        other.map(|_| format!("--by {}", self.by.join(","))).or(all_pairs)
    }
}

/// What to tell of a run's races, and in what form.
#[derive(clap::Args)]
pub(crate) struct Telling {
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    choosing: Choosing,
}

/// Which races to tell, and which of them count.
#[derive(clap::Args)]
pub(crate) struct Choosing {
    /// A file of suppressions in ThreadSanitizer's syntax; may be given several times
    #[arg(long, value_name = "FILE")]
    suppressions: Vec<PathBuf>,
    /// List the suppressions that matched nothing
    #[arg(long)]
    unused_suppressions: bool,
    /// Suppressions that the program brings along
    #[arg(skip)]
    own: String,
    /// From which grade of evidence on the exit code is 66
    #[arg(long, value_name = "GRADE", default_value = "observed", value_parser = grades())]
    fail_on: Grade,
    /// From which grade on a finding counts, at the least
    #[arg(skip = Grade::Observed)]
    findings_from: Grade,
}

impl Telling {
    /// All but what the file of suppressions and the text of more say.
    pub(crate) fn by_hand(output: Output, suppressions: Option<PathBuf>, own: String) -> Telling {
        let suppressions = suppressions.into_iter().collect();
        let choosing = Choosing {
            suppressions,
            unused_suppressions: false,
            own,
            fail_on: Grade::Observed,
            findings_from: Grade::Suspected,
        };
        Telling { output, choosing }
    }

    /// Sees to it that the report can be written, and reads the suppressions: before there is something to tell.
    pub(crate) fn prepare(&self) -> Result<Suppressions, Failure> {
        self.output.check()?;
        self.choosing.read()
    }
}

impl Choosing {
    /// Reads the suppressions. Names what cannot be meant.
    pub(crate) fn read(&self) -> Result<Suppressions, Failure> {
        let mut suppressions = Suppressions::default();
        for warning in suppressions.read("__tsan_default_suppressions", &self.own) {
            say!("deadheat: warning: {warning}");
        }
        for path in &self.suppressions {
            let bytes = std::fs::read(path)
                .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
            for warning in suppressions.read(&path.to_string_lossy(), &String::from_utf8_lossy(&bytes)) {
                say!("deadheat: warning: {warning}");
            }
        }
        Ok(suppressions)
    }

    /// Takes out of a report what the suppressions say.
    pub(crate) fn suppress(&self, report: &mut Report, mut suppressions: Suppressions) {
        let before = report.races.len();
        report.races.retain(|race| !suppressions.take_race(race));
        report.summary.suppressed += (before - report.races.len()) as u64;
        self.tell_unused(&suppressions);
    }

    /// Whether a report holds what the exit code is to tell.
    pub(crate) fn fails(&self, report: &Report) -> bool {
        let Choosing { fail_on, findings_from, .. } = *self;
        let from = if findings_from == Grade::Observed { fail_on.max(findings_from) } else { findings_from };
        report.races.iter().any(|race| race.grade >= fail_on)
            || report.findings.iter().any(|finding| finding.grade.unwrap_or_default() >= from)
    }

    fn tell_unused(&self, suppressions: &Suppressions) {
        if self.unused_suppressions {
            for row in suppressions.unused() {
                say!("deadheat: unused suppression: {row}");
            }
        }
    }
}

fn analyses() -> PossibleValuesParser {
    PossibleValuesParser::new(registry::all().map(|row| PossibleValue::new(row.name).help(row.doc)))
}

fn grades() -> impl TypedValueParser<Value = Grade> {
    let names = Grade::ALL.map(|grade| PossibleValue::new(grade.name()));
    PossibleValuesParser::new(names)
        .map(|name| Grade::ALL.into_iter().find(|grade| grade.name() == name).unwrap_or_default())
}

/// Judges traces, one report each, and tells them. The code is 66 or 0.
pub(crate) fn traces(
    traces: &[PathBuf],
    judging: &Judging,
    telling: &Telling,
    common: &Common,
) -> Result<Exit, Failure> {
    tell(traces, judging, (telling, telling.prepare()?), common, |reports| reports)
}

/// Tells the trace of a program that was started by hand, which nobody keeps, without the findings of kinds that are
/// unwanted, and, if it is to be brief, without where the held locks of a cycle were taken. The code is 66 or 0.
pub(crate) fn by_hand(
    trace: &Path,
    (unwanted, brief): (Vec<&'static str>, bool),
    leave_out: LeaveOut,
    telling: &Telling,
    common: &Common,
) -> Result<Exit, Failure> {
    let names = registry::ANALYSES.iter().map(|row| row.name);
    let by = names.filter(|name| found::tells(name)).map(str::to_owned).collect();
    let judging = Judging {
        by,
        all_pairs: false,
        memory_limit: None,
        window: None,
        suspected: true,
        unwanted,
        found: true,
    };
    tell(&[trace.to_owned()], &judging, (telling, telling.choosing.read()?), common, |mut reports| {
        reports.iter_mut().for_each(|report| report.run.trace = None);
        if leave_out.libraries {
            reports.iter_mut().for_each(leave_out_libraries);
        }
        if leave_out.atomics {
            reports.iter_mut().for_each(leave_out_atomics);
        }
        // What is suppressed altogether is not worth a word.
        let findings = reports.iter_mut().flat_map(|report| &mut report.findings);
        let steps =
            findings.filter(|finding| finding.kind == LOCK_ORDER).flat_map(|finding| &mut finding.steps);
        steps.filter(|step| brief && step.what == TOOK).for_each(|step| step.frames.clear());
        reports.retain(|report| !report.races.is_empty() || !report.findings.is_empty());
        reports
    })
}

/// Which races are not told, by options.
#[derive(Clone, Copy)]
pub(crate) struct LeaveOut {
    /// Those with what a library that is not instrumented calls.
    pub(crate) libraries: bool,
    /// Those of an atomic access with a plain one.
    pub(crate) atomics: bool,
}

/// Takes out the races with an atomic access, unless the other is the end of a block's life.
fn leave_out_atomics(report: &mut Report) {
    report.races.retain(|race| {
        let [one, other] = &race.accesses;
        !(one.atomic || other.atomic) || one.op == Operation::Free || other.op == Operation::Free
    });
}

/// Takes out the races with an access that a function of the C library made for a module which is not instrumented.
fn leave_out_libraries(report: &mut Report) {
    let name = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    let modules = report.run.modules.iter().filter(|module| !is_instrumented(Path::new(&module.path)));
    let unseen: HashSet<String> = modules.map(|module| name(&module.path)).collect();
    report.races.retain(|race| {
        let mut innermost = race.accesses.iter().filter_map(|access| access.frames.first()?.module.as_ref());
        !innermost.any(|module| unseen.contains(module))
    });
}

/// Whether a module names a hook; one that cannot be read counts as if it did.
pub(crate) fn is_instrumented(path: &Path) -> bool {
    const HOOK: &[u8] = b"__tsan_func_entry";
    has_text(path, HOOK).unwrap_or(true)
}

/// Whether a file has a text in it.
///
/// # Errors
/// If it cannot be read.
pub(crate) fn has_text(path: &Path, text: &[u8]) -> std::io::Result<bool> {
    std::fs::read(path).map(|bytes| bytes.windows(text.len()).any(|part| part == text))
}

/// Judges the traces of the processes that a command started, and tells them as one. The code is 66 or 0, or 70 if the
/// report cannot be written.
pub(crate) fn processes(
    traces: &[PathBuf],
    command: &[OsString],
    judging: &Judging,
    telling: (&Telling, Suppressions),
    common: &Common,
) -> Result<Exit, Failure> {
    tell(traces, judging, telling, common, |reports| together::join(reports, command).into_iter().collect())
}

/// Tells that nothing was seen of what a command did, unless people alone would read it, whom that was told. The code is 0, or 70 if it cannot be
/// written.
pub(crate) fn unseen(
    command: &[OsString],
    mode: &str,
    judging: &Judging,
    telling: &Telling,
    common: &Common,
) -> Exit {
    if telling.output.is_read() {
        return Exit::SUCCESS;
    }
    let mut words = command.iter().map(|word| word.to_string_lossy().into_owned());
    let run = Run {
        schema: SCHEMA,
        deadheat: env!("CARGO_PKG_VERSION").to_owned(),
        program: words.next().unwrap_or_default(),
        arguments: words.collect(),
        folder: std::env::current_dir().unwrap_or_default().to_string_lossy().into_owned(),
        mode: mode.to_owned(),
        by: judging.by.clone(),
        ..Run::default()
    };
    let summary = Summary { notes: vec![Alone::NoAccess.note().to_owned()], ..Summary::default() };
    output::write(&[Report { run, summary, ..Report::default() }], &telling.output, common)
}

fn tell(
    traces: &[PathBuf],
    judging: &Judging,
    (telling, mut suppressions): (&Telling, Suppressions),
    common: &Common,
    arrange: impl FnOnce(Vec<Report>) -> Vec<Report>,
) -> Result<Exit, Failure> {
    let mut reports = Vec::new();
    let mut failure = None;
    for path in traces {
        let (report, broken) = match judge(path, judging, &mut suppressions) {
            Ok(judged) => judged,
            // Nothing of this trace could be read; the others are told all the same.
            Err(unreadable) => {
                failure.get_or_insert(unreadable);
                continue;
            }
        };
        reports.push(report);
        if let Some(broken) = broken {
            failure.get_or_insert(broken);
        }
    }
    let reports = arrange(reports);
    warn(&reports, &telling.output);
    let written = output::write(&reports, &telling.output, common);
    telling.choosing.tell_unused(&suppressions);
    match failure {
        Some(failure) => Err(failure),
        None if reports.iter().any(|report| telling.choosing.fails(report)) => Ok(Exit::Races),
        None => Ok(written),
    }
}

/// Says on standard error which traces are not well formed, unless the report does.
fn warn(reports: &[Report], output: &Output) {
    if output.is_read() {
        return;
    }
    for ill_formed in reports.iter().flat_map(|report| &report.summary.ill_formed) {
        say!("deadheat: {}: {}", ill_formed.trace, ill_formed.warning());
    }
}

/// One analysis at work.
struct Work {
    analysis: &'static Analysis,
    detector: Box<dyn Detector>,
    found: Collector,
}

/// Hands a trace's events to the analyses.
struct Judge<'a> {
    works: &'a mut [Work],
    doubts: Doubts,
    hidden_calls: u64,
}

impl Visit for Judge<'_> {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        self.hidden_calls += u64::from(matches!(event.op, Op::HiddenBegin));
        self.doubts.step(event);
        self.works.iter_mut().for_each(|work| work.detector.step(event, &mut work.found));
        true
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], _: &Tables) -> bool {
        if let Some(first) = accesses.first() {
            self.doubts.accesses(&first.event(thread), accesses.len() as u64);
        }
        self.works.iter_mut().for_each(|work| work.detector.plain(thread, accesses, &mut work.found));
        true
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, _: &Tables) -> bool {
        if let Some(first) = body.first() {
            self.doubts.accesses(&first.at(0).event(thread), body.len() as u64 * u64::from(turns));
        }
        self.works.iter_mut().for_each(|work| work.detector.looped(thread, body, turns, &mut work.found));
        true
    }

    fn coming(&mut self, accesses: &[Plain]) {
        self.works.iter_mut().for_each(|work| work.detector.coming(accesses));
    }
}

/// Judges one trace. The second value is what went wrong after part of it was read.
fn judge(
    path: &Path,
    judging: &Judging,
    suppressions: &mut Suppressions,
) -> Result<(Report, Option<Failure>), Failure> {
    let mut trace = Trace::open(path).map_err(|error| Failure::input(error.to_string()))?;
    if trace.run().is_some_and(|run| run.detected && (judging.found || !run.recorded)) {
        return found::judge(&mut trace, judging, suppressions);
    }
    let memory_limit = judging.memory_limit.map(|limit| limit.saturating_mul(MIB));
    let options =
        Options { all_pairs: judging.all_pairs, memory_limit, work_limit: None, window: judging.window };
    let mut works: Vec<Work> = judging
        .by
        .iter()
        .filter_map(|name| registry::find(name))
        .map(|analysis| Work { analysis, detector: (analysis.new)(options), found: Collector::default() })
        .collect();
    let mut judge = Judge { works: &mut works, doubts: Doubts::default(), hidden_calls: 0 };
    let driven = trace.drive_into(&mut judge);
    let Judge { doubts, hidden_calls, .. } = judge;
    works.iter_mut().for_each(|work| work.detector.finish(&mut work.found));
    let kept = || works.iter().flat_map(|work| work.found.kept());
    let owners = Owners::read(&mut trace, kept().map(|kept| &kept.race));
    let witnesses = Witnesses::read(&mut trace, kept().filter_map(|kept| kept.witness.as_ref()));
    let read = Reading { owners, witnesses, doubts, hidden_calls };
    let judged: Vec<_> =
        works.iter().map(|work| Judged { analysis: work.analysis, found: &work.found }).collect();
    let report = resolve(&trace, read, &judged, (judging, suppressions));
    Ok((report, driven.err().map(|error| Failure::input(error.to_string()))))
}

/// The strength of an analysis's evidence.
fn grade(analysis: &Analysis) -> Grade {
    match analysis.evidence {
        Evidence::Observed => Grade::Observed,
        Evidence::Predicted => Grade::Predicted,
        Evidence::Suspected => Grade::Suspected,
    }
}

/// What one analysis found.
struct Judged<'a> {
    analysis: &'static Analysis,
    found: &'a Collector,
}

/// What reading the trace told, beside what the analyses found.
struct Reading {
    owners: Owners,
    witnesses: Witnesses,
    doubts: Doubts,
    hidden_calls: u64,
}

fn resolve(
    trace: &Trace,
    Reading { owners, mut witnesses, doubts, hidden_calls }: Reading,
    judged: &[Judged<'_>],
    (judging, suppressions): (&Judging, &mut Suppressions),
) -> Report {
    let folder = std::env::current_dir().unwrap_or_default();
    let mut resolver = Resolver::of(trace, &folder);
    resolver.set_owners(owners);
    let mut groups = Groups::default();
    let mut silenced = BTreeSet::new();
    let mut suspicions = suggest::Suspicions::default();
    let mut told = HashMap::new();
    for Judged { analysis, found } in judged {
        let (grade, by) = (grade(analysis), vec![analysis.name.to_owned()]);
        for (index, kept) in found.kept().iter().enumerate() {
            let key = resolver.race_key(&kept.race);
            let id = groups.id(key);
            suspicions.add(&id, kept, found.protection(index));
            // A suppression may speak of any frame, and what is told as one race may differ in frames.
            if suppressions.rows().is_empty() && groups.again(key, grade, &by, kept.count) {
                groups.ask_what_else(key, || resolver.location(&kept.race));
                continue;
            }
            let race = Race { grade, by: by.clone(), ..resolver.race(kept) };
            if suppressions.take_race(&race) {
                silenced.insert(key);
            } else {
                if groups.grade(key) < Some(grade) {
                    told.insert(id, kept);
                }
                groups.add(race);
            }
        }
    }
    silenced.retain(|&key| !groups.contains(key));
    groups.each(|race| {
        suspicions.complete(race, &mut resolver);
        let kept = told.get(&race.id).and_then(|kept| Some((&kept.race, kept.witness.as_ref()?)));
        race.witness = kept.and_then(|(race, seen)| witnesses.tell(race, seen, &mut resolver));
    });
    let races = groups.into_races();
    let findings = findings(judged, judging, &mut resolver);
    let before = findings.len();
    let findings: Vec<_> =
        findings.into_iter().filter(|finding| !suppressions.take_finding(finding)).collect();
    let suppressed = (silenced.len() + before - findings.len()) as u64;
    let by = judged.iter().map(|judged| judged.analysis.name.to_owned()).collect();
    let run = run_of(trace, by, hidden_calls, &folder);
    let dropped = judged.iter().map(|judged| judged.found.dropped()).sum();
    let checks = judged.iter().filter_map(|judged| judged.found.checks()).reduce(|one, other| one + other);
    let mut summary = Summary { suppressed, dropped, checks, ..Summary::of(&races, &findings) };
    summary.ill_formed = illformed::tell(trace, &doubts, judged, &mut resolver).into_iter().collect();
    summary.notes = summary.ill_formed.iter().map(IllFormed::warning).collect();
    summary.notes.extend(notes(trace, &run));
    summary.notes.extend(found::note(&run, &races));
    summary.notes.extend(limits::by_libraries(&races));
    // Who was started by hand brought them along; what is told then is suspected, too.
    if !(judging.suspected || races.is_empty() && findings.is_empty()) {
        summary.notes.extend(limits::unheeded(&mut resolver));
    }
    summary.notes.extend(
        judged
            .iter()
            .flat_map(|judged| [forgotten(judged), undecided(judged), unwitnessed(judged)])
            .flatten(),
    );
    summary.notes.extend(resolver.take_warnings());
    Report { run, races, findings, summary }
}

/// What is wrong and no race, as far as it is wanted.
fn findings(judged: &[Judged<'_>], judging: &Judging, resolver: &mut Resolver<'_>) -> Vec<Finding> {
    let found = judged.iter().flat_map(|judged| judged.found.findings());
    let mut findings: Vec<Finding> = found.map(|kept| resolver.finding(kept)).collect();
    findings.retain(|finding| {
        (judging.suspected || finding.grade != Some(Grade::Suspected))
            && ![&finding.kind, &finding.sort].iter().any(|name| judging.unwanted.contains(&name.as_str()))
    });
    join_findings(findings)
}

/// The run that a trace tells of, judged by the analyses `by`.
pub(crate) fn run_of(trace: &Trace, by: Vec<String>, hidden_calls: u64, folder: &Path) -> Run {
    let (tables, summary) = (trace.tables(), trace.summary());
    let recorded = trace.run().filter(|run| !run.imported);
    let arguments = recorded.map_or(&[][..], |run| &run.arguments);
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let modules = tables.modules.iter();
    let mode = match recorded {
        None => "import",
        Some(run) if run.detected && run.recorded => "record+detect",
        Some(run) if run.detected => "detect",
        Some(_) => "record",
    };
    Run {
        schema: SCHEMA,
        deadheat: env!("CARGO_PKG_VERSION").to_owned(),
        program: arguments.first().cloned().unwrap_or_default(),
        arguments: arguments.get(1..).unwrap_or_default().to_vec(),
        folder: folder.to_string_lossy().into_owned(),
        modules: modules
            .map(|(_, row)| Module { path: row.path.clone(), build_id: hex(&row.build_id) })
            .collect(),
        built: built(trace),
        mode: mode.to_owned(),
        trace: Some(trace.path().to_string_lossy().into_owned()),
        seed: None,
        started: recorded.map(|run| run.started / 1_000_000_000),
        pid: recorded.map(|run| run.pid),
        by,
        processes: 1,
        threads: tables.threads.iter().count() as u64,
        events: summary.events,
        accesses: summary.accesses_made,
        accessed: trace.run().filter(|run| run.detected).map(|run| run.accessed),
        hidden_calls,
    }
}

/// When the newest instrumented module was built, in seconds since 1970: sources changed after
/// that are not those that ran.
fn built(trace: &Trace) -> Option<u64> {
    let modified = |path: &str| {
        let time = std::fs::metadata(path).and_then(|about| about.modified()).ok()?;
        time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
    };
    let modules = trace.tables().modules.iter();
    modules.filter(|(_, row)| row.instrumented).filter_map(|(_, row)| modified(&row.path)).max()
}

/// Why nothing could race.
#[derive(Clone, Copy)]
enum Alone {
    NoAccess,
    NoThread,
}

impl Alone {
    fn note(self) -> &'static str {
        match self {
            Alone::NoAccess => {
                "no instrumented access was seen, so no race could be; build the program with `deadheat cc` or \
                 `deadheat c++`"
            }
            Alone::NoThread => "no second thread was seen, so nothing could race",
        }
    }
}

fn could_not_race(run: &Run) -> Option<Alone> {
    match (run.has_accesses(), run.threads) {
        (false, _) => Some(Alone::NoAccess),
        (_, ..2) => Some(Alone::NoThread),
        _ => None,
    }
}

/// What the reader should know before trusting the counts.
pub(crate) fn notes(trace: &Trace, run: &Run) -> Vec<String> {
    let gave_up = trace.run().is_some_and(|run| run.gave_up);
    // Who gave up at the start saw nothing, but for another reason.
    let alone = could_not_race(run).filter(|_| !gave_up);
    let mut notes: Vec<String> = alone.map(|alone| alone.note().to_owned()).into_iter().collect();
    match trace.summary().ending {
        Ending::Clean => {}
        Ending::Cut => {
            // Nobody has a trace of a run that was not recorded.
            let recorded = trace.run().is_none_or(|run| run.recorded || !run.detected);
            let what = if recorded { "the trace ends early: the program" } else { "the program" };
            notes.push(format!("{what} was killed or broke off"));
        }
        Ending::NoSpace => {
            notes.push("the trace ends early: there was no space left to record in".to_owned());
        }
    }
    if trace.run().is_some_and(|run| run.forgot) {
        notes.push(
            "memory_limit_mb was reached, and earlier accesses were forgotten: races with them are not told"
                .to_owned(),
        );
    }
    if gave_up {
        notes.push("there was no memory to look for races to the end: later ones are not told".to_owned());
    }
    notes
}
