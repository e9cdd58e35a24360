//! The hunt at work: runs are started as the schedule says, watched, and what they answer is
//! written down, told to the schedule, and added to.
//!
//! Invariants: nothing is told but what a gate file says; a run that fails in whatever way ends
//! no hunt; what was found is in the log before the next run starts.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadheat_report::model::Race;
use deadheat_trace::Trace;

use super::folder::{Folder, Settings, copy_tree};
use super::gatefile::{Armed, Plan, Sample};
use super::log::{Line, Log, Provoked, Tried};
use super::nominate::Means;
use super::outcome::{self, Outcome};
use super::plan::{Answer, Batch, Scheduler, Try, Verdict};
use super::pool::{Ended, Pool};
use super::progress::{BETWEEN_CHANGES, Now, Progress};
use super::proof::{Meeting, Teller, flags, milliseconds};
use super::targets::{self, Part, Target};
use super::turns::Moments;
use super::warden::Warden;
use super::{finding, nominate, told};
use crate::args::Common;
use crate::child::{Apart, End, Launch};
use crate::exit::{Context, Failure};

/// How many re-runs of a hunt are watched too, so that accesses seen first then become targets.
const FEEDBACK_RUNS: u64 = 2;
/// The last try of its targets that such a run is: what meets meets in the first, mostly.
const LAST_WATCHED: u32 = 1;
/// How many targets of a pair of places that is known already one such run may add.
const NEW_OF_KNOWN: usize = 1;
/// Room for finds of the watch rule, and for notes, in one run.
const FINDS: usize = 64;
const NOTES: usize = 1024;
/// The least time that a re-run is given, and how many times as long as the watched run.
const LEAST_TIME: Duration = Duration::from_secs(10);
const TIMES_WATCHED: u32 = 10;
/// After so many re-runs in a row that took no gate file the hunt is given up.
const MOST_UNTAKEN: u32 = 3;

/// When a hunt is over before its targets are.
#[derive(Clone, Copy, Default)]
pub(crate) struct Limits {
    /// When it began to count.
    pub(crate) until: Option<Instant>,
    /// How many re-runs it may have in all.
    pub(crate) runs: Option<u64>,
    /// Whether it is over with the first proof.
    pub(crate) first: bool,
    /// How many runs go on at once.
    pub(crate) jobs: usize,
    /// Whether output of re-runs is shown.
    pub(crate) show: bool,
}

/// What the engine works on.
pub(crate) struct Hunt<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) folder: &'a Folder,
    pub(crate) limits: Limits,
    pub(crate) common: &'a Common,
    /// What ends what runs leave behind.
    pub(crate) warden: &'a Warden,
    /// The program's absolute path.
    pub(crate) program: PathBuf,
    /// The part of the targets that is hunted.
    pub(crate) part: Part,
    pub(crate) targets: Vec<Target>,
    pub(crate) scheduler: Scheduler,
    pub(crate) teller: Teller,
    pub(crate) log: Log,
    /// How the watched run ended, and how long it took.
    pub(crate) watched: (End, Duration),
    /// Runs that were over before this start.
    pub(crate) runs: u64,
    /// Runs that were watched too.
    pub(crate) monitored: u64,
    /// How many races are proved.
    pub(crate) proved: HashSet<String>,
    /// The groups that the watched run nominates, in whatever part, once that was asked.
    pub(crate) nominated: Option<HashSet<String>>,
}

/// A run in flight.
struct Flight {
    batch: Batch,
    armed: Vec<Target>,
    folder: PathBuf,
    flags: u64,
    monitored: bool,
}

/// What is the engine's own while it works.
struct Work {
    pool: Pool,
    flights: HashMap<u64, Flight>,
    progress: Progress,
    next: u64,
    untaken: u32,
    stopping: bool,
    failure: Option<Failure>,
}

impl Hunt<'_> {
    /// Hunts until nothing is left, a limit is reached or a signal comes; gives the signal's
    /// code then. What was found is in the log, whatever went wrong.
    pub(crate) fn go(&mut self) -> Result<Option<u8>, Failure> {
        let mut work = Work {
            pool: Pool::new()?,
            flights: HashMap::new(),
            progress: Progress::new(self.common),
            next: self.runs + 1,
            untaken: 0,
            stopping: false,
            failure: None,
        };
        loop {
            while !work.stopping && work.pool.len() < self.limits.jobs && self.may_start(&work) {
                let Some(batch) = self.next() else { break };
                if let Err(failure) = self.start(&mut work, batch) {
                    work.failure.get_or_insert(failure);
                    work.stop();
                }
            }
            if work.pool.len() == 0 {
                break;
            }
            let soon = Instant::now() + BETWEEN_CHANGES;
            let until = self.limits.until.filter(|_| !work.stopping).map_or(soon, |until| until.min(soon));
            for ended in work.pool.wait(until)? {
                if let Err(failure) = self.over(&mut work, ended) {
                    work.failure.get_or_insert(failure);
                    work.stop();
                }
            }
            let out_of_time = self.limits.until.is_some_and(|until| Instant::now() >= until);
            let enough = self.limits.first && !self.proved.is_empty();
            if work.pool.interrupted().is_some() || out_of_time || enough {
                work.stop();
            }
            self.show(&mut work);
        }
        let signal = work.pool.interrupted().map(|signal| 128_u8.wrapping_add(signal as u8));
        work.failure.map_or(Ok(signal), Err)
    }

    /// What the next run is to try; a sampler tries nothing in particular, without an end.
    fn next(&mut self) -> Option<Batch> {
        if self.settings.manner.sampling().is_some() { Some(Batch::default()) } else { self.scheduler.next() }
    }

    fn may_start(&self, work: &Work) -> bool {
        self.limits.runs.is_none_or(|most| work.next <= most)
            && self.limits.until.is_none_or(|until| Instant::now() < until)
            && (!self.limits.first || self.proved.is_empty())
    }

    fn show(&self, work: &mut Work) {
        let counts = self.scheduler.counts();
        let by_budget = self.limits.until.map(|until| until.saturating_duration_since(Instant::now()));
        let rounds = counts.runs_left.div_ceil(self.limits.jobs as u64);
        let by_runs = self.watched.1.saturating_mul(u32::try_from(rounds).unwrap_or(u32::MAX));
        let left = Some(by_budget.map_or(by_runs, |budget| budget.min(by_runs)));
        work.progress.show(&Now { counts: &counts, runs: self.runs, left });
    }

    fn start(&mut self, work: &mut Work, batch: Batch) -> Result<(), Failure> {
        let number = work.next;
        work.next += 1;
        let folder = self.warden.folder(number);
        fs::create_dir(&folder).context(|| format!("cannot make {}", folder.display()))?;
        let armed: Vec<Target> =
            batch.tries.iter().map(|one| self.targets[one.target].loosened(one.loose)).collect();
        // One that only samples tries nothing that could be nominated.
        let tries = !batch.tries.is_empty() && batch.number <= LAST_WATCHED;
        let monitored = tries && self.monitored < FEEDBACK_RUNS && self.settings.manner.feeds_back();
        self.monitored += u64::from(monitored);
        let flags = flags(batch.anybody, monitored) | self.settings.flags();
        let trace = folder.join("run");
        let plan = Plan { sample: self.sample(number), ..self.plan(&batch, &armed, flags)? };
        let mut gate = trace.clone().into_os_string();
        gate.push(deadheat_core::gate::ENDING);
        plan.write(Path::new(&gate))?;
        let place = self.place(&folder)?;
        self.command(work, self.settings.setup.as_ref(), &place, number, "--setup")?;
        let command = &self.settings.command;
        let time = Some(self.time(&batch));
        let mut launch = match monitored {
            true => Launch::monitored(command, &trace, time),
            false => Launch::provoked(command, &trace, time),
        };
        launch.environment.push(self.warden.mark(number));
        launch.apart = Apart { input: Some(self.folder.input()), folder: Some(place), ..Apart::default() };
        work.pool.start(number, &self.program, launch, self.limits.show)?;
        work.flights.insert(number, Flight { batch, armed, folder, flags, monitored });
        Ok(())
    }

    /// The time that a re-run is given.
    fn time(&self, batch: &Batch) -> Duration {
        let (end, took) = self.watched;
        // In the worst case its targets are waited for one after the other: it is to come as far.
        let wait = |one: &Try| if one.delay.is_some() { 2 * one.bound } else { one.bound };
        let waits: Duration = batch.tries.iter().map(wait).sum();
        let own = match self.settings.timeout {
            Some(time) => time,
            // It never ends by itself: the time that the watched run was given is as good.
            None if end == End::TimedOut => took,
            None => took.saturating_mul(TIMES_WATCHED).max(LEAST_TIME),
        };
        own + waits
    }

    fn plan(&mut self, batch: &Batch, armed: &[Target], flags: u64) -> Result<Plan, Failure> {
        let mut rows = Vec::new();
        for (target, one) in armed.iter().zip(&batch.tries) {
            let numbers = self.teller.numbers(target);
            let sides = target
                .descriptors(&numbers)
                .ok_or_else(|| Failure::input(format!("target {} cannot be armed", target.id)))?;
            rows.push(Armed { sides, bound: one.bound, delay: one.delay });
        }
        let modules = self.teller.modules();
        Ok(Plan { modules, targets: rows, flags, finds: FINDS, notes: NOTES, turns: true, ..Plan::default() })
    }

    /// What a sampler holds in a run.
    fn sample(&self, run: u64) -> Option<Sample> {
        let seed = self.settings.seed << 32 ^ run;
        self.settings.manner.sampling().map(|sampling| Sample { sampling, seed })
    }

    /// The folder that a run works in.
    fn place(&self, folder: &Path) -> Result<PathBuf, Failure> {
        if !self.settings.isolate {
            return Ok(self.settings.folder.clone());
        }
        let copy = folder.join("copy");
        let from = &self.settings.folder;
        copy_tree(from, &copy, self.folder.path())
            .context(|| format!("cannot copy {} to {}", from.display(), copy.display()))?;
        Ok(copy)
    }

    /// Runs what is to be run before or after each run.
    fn command(
        &self,
        work: &mut Work,
        command: Option<&String>,
        place: &Path,
        number: u64,
        option: &str,
    ) -> Result<(), Failure> {
        let Some(command) = command else { return Ok(()) };
        let words = ["sh", "-c", command].map(std::ffi::OsString::from);
        let mut launch = Launch::plain(&words, vec![("DEADHEAT_RUN".into(), number.to_string().into())]);
        launch.environment.push(self.warden.mark_of_commands());
        launch.apart = Apart {
            input: Some("/dev/null".into()),
            folder: Some(place.to_owned()),
            session: true,
            ..Apart::default()
        };
        work.progress.clear();
        match work.pool.run(Path::new("/bin/sh"), &launch)? {
            End::Exited(0) => Ok(()),
            _ if work.pool.interrupted().is_some() => Ok(()),
            End::Exited(code) => {
                Err(Failure::missing(format!("{option} `{command}` failed with code {code}; the hunt ends")))
            }
            end => Err(Failure::missing(format!("{option} `{command}` failed ({end:?}); the hunt ends"))),
        }
    }

    /// A run is over: what it answered is written down and told.
    fn over(&mut self, work: &mut Work, ended: Ended) -> Result<(), Failure> {
        let Some(flight) = work.flights.remove(&ended.key) else { return Ok(()) };
        let trace = flight.folder.join("run");
        let gate = flight.folder.join(format!("run{}", deadheat_core::gate::ENDING));
        self.warden.end_left(|run| work.flights.contains_key(&run), &work.pool.processes());
        let mut outcome = outcome::read(&gate)?;
        // What the program does when it is asked to end is of the hunt's making, unless the watched
        // run was asked too.
        if let Some(asked) = ended.asked.filter(|_| ended.stopped || self.watched.0 != End::TimedOut) {
            outcome.forget_from(asked);
        }
        self.check_build(&flight.armed, &outcome)?;
        let untaken = outcome.taken.is_none() && !ended.stopped;
        work.untaken = if untaken { work.untaken + 1 } else { 0 };
        let line = self.read(&flight, &ended, &outcome);
        for race in &line.races {
            if self.proved.insert(race.id.clone()) {
                work.progress.say(&fresh(race, ended.key));
            }
        }
        // Before the run counts as made: a hunt that is killed in between makes it once more.
        if flight.monitored && !ended.stopped && trace.exists() {
            self.feed_back(&trace)?;
        }
        // One that was stopped before a process took what it was told, or because the hunt cannot go on (with this
        // program, perhaps), and that showed nothing, is as if it had not been.
        let found = !line.races.is_empty() || !line.findings.is_empty();
        if found || !ended.stopped || (outcome.taken.is_some() && work.failure.is_none()) {
            self.log.add(&Line::Provoke(Box::new(line)))?;
            self.runs += 1;
        }
        let place =
            if self.settings.isolate { flight.folder.join("copy") } else { self.settings.folder.clone() };
        self.command(work, self.settings.teardown.as_ref(), &place, ended.key, "--teardown")?;
        let _ = fs::remove_dir_all(&flight.folder);
        if work.untaken >= MOST_UNTAKEN && self.runs == u64::from(work.untaken) {
            return Err(Failure::missing(format!(
                "no re-run of {} could be provoked (no process took what it was told): either it ended before it \
                 began, or an older deadheat built it; try -j 1, or build it again",
                self.program.display()
            )));
        }
        Ok(())
    }

    /// A program that was built anew cannot be hunted on: its places are elsewhere.
    fn check_build(&self, armed: &[Target], outcome: &Outcome) -> Result<(), Failure> {
        let changed = outcome.modules.iter().zip(self.teller.modules());
        let mut changed = changed.filter(|(state, _)| state.loaded == outcome::Loaded::Other);
        let of_targets = |name: &str| armed.iter().flat_map(|one| &one.modules).any(|its| its.name == name);
        match changed.find(|(_, module)| of_targets(&module.name)) {
            Some((_, module)) => Err(Failure::input(format!(
                "{} was built anew since the watched run, so its places are elsewhere; hunt anew",
                module.name
            ))),
            None => Ok(()),
        }
    }

    /// Makes the log's line of a run, and tells the schedule.
    fn read(&mut self, flight: &Flight, ended: &Ended, outcome: &Outcome) -> Provoked {
        let mut line = Provoked {
            number: ended.key,
            end: ended.end.into(),
            cut: outcome.cut,
            stopped: ended.stopped,
            untaken: outcome.taken.is_none(),
            monitored: flight.monitored,
            seconds: ended.took.as_secs_f64(),
            ..Provoked::default()
        };
        let meeting = |target: Option<usize>, held, moments, found| Meeting {
            run: ended.key,
            flags: flight.flags,
            outcome,
            armed: &flight.armed,
            target,
            bound_ms: target.map_or(0.0, |number| milliseconds(flight.batch.tries[number].bound)),
            held,
            moments,
            found,
        };
        for (index, (state, one)) in outcome.targets.iter().zip(&flight.batch.tries).enumerate() {
            let verdict = verdict_of(state, ended);
            let reached = state.sides.map(|side| side.reached);
            if verdict == Verdict::Race
                && let [Some(first), Some(second)] = &state.found
            {
                let meeting = meeting(Some(index), None, state.moments, [first, second]);
                line.races.push(self.teller.race(&meeting));
            }
            line.targets.push(Tried {
                id: flight.armed[index].id.clone(),
                bound_ms: milliseconds(one.bound),
                anybody: flight.batch.anybody,
                verdict: verdict.name().to_owned(),
                reached_ms: reached.map(|time| time.map(milliseconds)),
                waited_ms: milliseconds(state.waited),
                delay: state.delay,
            });
            self.scheduler.answer(one.target, Answer { verdict, reached, delay: state.delay });
        }
        for find in &outcome.finds {
            let [held, other] = &find.found;
            let meeting = meeting(find.target, Some(find.side), find.moments, [held, other]);
            line.races.push(self.teller.race(&meeting));
        }
        line.races.iter().filter_map(told::group_of).for_each(|group| self.scheduler.prove(group));
        line.lasted().into_iter().for_each(|time| self.scheduler.lasted(time));
        if let Some(cause) = finding::cause(ended, outcome, self.watched.0) {
            let stories = (0..outcome.targets.len()).map(|index| {
                let nowhere = [finding::nowhere(); 2];
                self.teller.story(&meeting(Some(index), None, Moments::default(), nowhere))
            });
            let stories: Vec<Vec<String>> = stories.collect();
            line.findings.push(finding::tell(&cause, &line, &stories));
        }
        line
    }

    /// What a trace nominates. A re-run that was cut or crashed leaves what can be read; one that cannot be read
    /// teaches nothing.
    fn nominate(&mut self, trace: &Path, means: &Means) -> Vec<Target> {
        let Ok(mut trace) = Trace::open(trace) else { return Vec::new() };
        let symbolizer = self.teller.symbolizer().take().unwrap_or_default();
        let (nominated, symbolizer, _) =
            nominate::nominate(&mut trace, means, symbolizer, &self.settings.folder);
        *self.teller.symbolizer() = Some(symbolizer);
        nominated.targets
    }

    /// Whether a new target is this hunt's: of its part, or of none, because no part's watched run shows it.
    fn is_own(&mut self, target: &Target) -> bool {
        if self.part.has(target) {
            return true;
        }
        if self.nominated.is_none() {
            let watched = self.nominate(&self.folder.trace(), &self.settings.means());
            self.nominated = Some(watched.into_iter().map(|target| target.group).collect());
        }
        self.nominated.as_ref().is_some_and(|groups| !groups.contains(&target.group))
    }

    /// Nominates by the conflicts of a re-run; what is new is hunted too. Analyses judged the watched run: that takes long.
    fn feed_back(&mut self, trace: &Path) -> Result<(), Failure> {
        let mut of_known: HashMap<String, usize> = HashMap::new();
        let mut new = Vec::new();
        let conflicts = Means { by: Vec::new(), ..self.settings.means() };
        for target in self.nominate(trace, &conflicts) {
            if !self.is_own(&target)
                || self.scheduler.find(&target.id).is_some()
                || self.scheduler.is_proved(&target.group)
            {
                continue;
            }
            let many = of_known.entry(target.group.clone()).or_insert(0);
            *many += 1;
            let most = if self.settings.manner.places_alone() { 0 } else { NEW_OF_KNOWN };
            if self.scheduler.has_group(&target.group) && *many > most {
                continue;
            }
            new.push(target);
        }
        let path = self.folder.targets();
        let what = || format!("cannot write {}", path.display());
        let mut file = fs::File::options().append(true).open(&path).context(what)?;
        targets::write(&new, &mut file).context(what)?;
        for target in new {
            self.scheduler.add(&target);
            self.targets.push(target);
        }
        Ok(())
    }
}

impl Work {
    /// Ends the runs in flight and starts no more.
    fn stop(&mut self) {
        self.stopping = true;
        self.pool.stop();
    }
}

/// The line that tells of a proof as soon as it is there.
fn fresh(race: &Race, run: u64) -> String {
    let [one, other] = race
        .accesses
        .each_ref()
        .map(|access| format!("{} at {}", access.op.name(), super::proof::where_was(access)));
    format!("dead heat in re-run {run}: {one}, {other} ({})", race.id)
}

fn verdict_of(state: &outcome::TargetState, ended: &Ended) -> Verdict {
    match state.verdict {
        outcome::Verdict::Race if state.found.iter().all(Option::is_some) => Verdict::Race,
        outcome::Verdict::Race => Verdict::Undecided,
        outcome::Verdict::None => Verdict::None,
        outcome::Verdict::Quiescent => Verdict::Quiescent,
        outcome::Verdict::Moved => Verdict::Moved,
        outcome::Verdict::Busy => Verdict::Busy,
        outcome::Verdict::Open if ended.stopped => Verdict::Undecided,
        outcome::Verdict::Open if state.lost() => Verdict::Lost,
        outcome::Verdict::Open => Verdict::None,
    }
}
