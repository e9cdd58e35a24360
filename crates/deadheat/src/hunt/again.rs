//! A few pairs tried again in one run of a program: what replays and verifications share.
//!
//! Invariant: the run is watched while it is provoked, so that what it proves is told in its own
//! names and not in those of an earlier run.

use std::path::PathBuf;
use std::time::Duration;

use deadheat_report::model::{Race, Report, Run, Summary};
use deadheat_symbol::Symbolizer;
use deadheat_trace::{Tables, Trace, Visit};

use super::gate::Gate;
use super::gatefile::{self, Armed, Plan};
use super::outcome::{Loaded, ModuleState, Outcome, TargetState, Verdict};
use super::proof::{Meeting, Teller, milliseconds};
use super::targets::{Module, Target, bytes_of};
use super::turns::{Delay, Order};
use crate::child::{self, Apart, End, Launch};
use crate::exit::Failure;
use crate::tell;
use crate::traces::{self, Scratch};

/// How long a thread waits for its turn before the order is given up.
const PATIENCE: Duration = Duration::from_secs(2);
/// Room for finds of the watch rule, and for notes.
const FINDS: usize = 64;
const NOTES: usize = 1024;

/// What is run again.
pub(crate) struct Again<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [std::ffi::OsString],
    /// When a run is ended.
    pub(crate) timeout: Option<Duration>,
    /// Standard input, where it is not ours.
    pub(crate) input: Option<PathBuf>,
    /// The order of turns to keep.
    pub(crate) order: Order,
}

/// What came of a run.
pub(crate) struct Tried {
    /// How the program ended.
    pub(crate) end: End,
    /// What it proved.
    pub(crate) races: Vec<Race>,
    /// What became of each target.
    pub(crate) targets: Vec<TargetState>,
    /// The modules of the targets that were not loaded as they were.
    pub(crate) changed: Vec<String>,
    /// Whether a process of the program took the gate file.
    pub(crate) taken: bool,
    /// The run, as reports tell it.
    run: Run,
}

impl Again<'_> {
    /// Runs the program with these targets armed, each with this bound, and with the delay of its
    /// number if there is one.
    pub(crate) fn go(
        &self,
        armed: &[Target],
        delays: &[Option<Delay>],
        bound: Duration,
        flags: u64,
    ) -> Result<Tried, Failure> {
        let scratch = Scratch::make()?;
        let trace = scratch.path().join("run");
        let modules = modules_of(armed);
        let plan = Plan { order: self.order.clone(), ..plan((armed, delays), &modules, bound, flags)? };
        let gate = Gate::write(&plan, &trace)?;
        let mut launch = Launch::monitored(self.command, &trace, self.timeout);
        launch.apart = Apart { input: self.input.clone(), ..Apart::default() };
        let end = child::run(&launch)?;
        let outcome = gate.outcome()?;
        let changed = modules.iter().zip(&outcome.modules);
        let changed = changed
            .filter(|(_, state)| state.loaded == Loaded::Other)
            .map(|(module, _)| module.name.clone())
            .collect();
        let mut tried = Tried {
            end,
            races: Vec::new(),
            targets: outcome.targets.clone(),
            changed,
            taken: outcome.taken.is_some(),
            run: Run::default(),
        };
        let met = Met { armed, bound, flags, outcome };
        if let Some(trace) = met.trace(&trace) {
            (tried.races, tried.run) = met.tell(trace);
        }
        Ok(tried)
    }
}

/// All modules that targets speak of, each once.
fn modules_of(armed: &[Target]) -> Vec<Module> {
    let mut all: Vec<Module> = Vec::new();
    for module in armed.iter().flat_map(|target| &target.modules) {
        if !all.contains(module) {
            all.push(module.clone());
        }
    }
    all
}

/// What the gate file says.
fn plan(
    (armed, delays): (&[Target], &[Option<Delay>]),
    modules: &[Module],
    bound: Duration,
    flags: u64,
) -> Result<Plan, Failure> {
    let mut rows = Vec::new();
    for (index, target) in armed.iter().enumerate() {
        let number = |module| modules.iter().position(|other| other == module).unwrap_or(usize::MAX);
        let numbers: Vec<usize> = target.modules.iter().map(number).collect();
        let sides = target
            .descriptors(&numbers)
            .ok_or_else(|| Failure::input(format!("target {} cannot be armed", target.id)))?;
        rows.push(Armed { sides, bound, delay: delays.get(index).copied().flatten() });
    }
    let row = |module: &Module| gatefile::Module {
        name: module.name.clone(),
        build_id: bytes_of(&module.build_id),
    };
    let modules = modules.iter().map(row).collect();
    let patience = PATIENCE;
    Ok(Plan { modules, targets: rows, flags, patience, finds: FINDS, notes: NOTES, ..Plan::default() })
}

/// The gate file of one target, for a run that is not watched.
pub(crate) fn plan_of_one(
    target: &Target,
    order: Order,
    bound: Duration,
    flags: u64,
) -> Result<Plan, Failure> {
    let plan = plan((std::slice::from_ref(target), &[]), &target.modules, bound, flags)?;
    Ok(Plan { order, ..plan })
}

/// A run that is over.
struct Met<'a> {
    armed: &'a [Target],
    bound: Duration,
    flags: u64,
    outcome: Outcome,
}

/// Reads a trace for its tables.
struct Skim;

impl Visit for Skim {
    fn event(&mut self, _: &deadheat_core::event::Event, _: &Tables) -> bool {
        true
    }
}

impl Met<'_> {
    /// The trace of the process that took the gate file.
    fn trace(&self, trace: &std::path::Path) -> Option<Trace> {
        let taken = self.outcome.taken?;
        let opened = traces::of(trace).into_iter().filter_map(|path| Trace::open(&path).ok());
        let mut own = opened.filter(|trace| trace.run().is_some_and(|run| run.pid == taken));
        let mut trace = own.next()?;
        // What could be read of a run that broke off is enough for names.
        let _ = trace.drive_into(&mut Skim);
        Some(trace)
    }

    /// What the run proved, and what it was.
    fn tell(mut self, trace: Trace) -> (Vec<Race>, Run) {
        let folder = std::env::current_dir().unwrap_or_default();
        let run = tell::run_of(&trace, vec!["conflict".to_owned()], 0, &folder);
        let tables = trace.into_tables();
        // It is this very run that the trace tells of: its modules lie where they lay.
        self.outcome.modules = tables.modules.iter().map(|(id, _)| lies(&tables, id)).collect();
        let mut teller = Teller::new(tables, Symbolizer::default(), &folder);
        let meeting = |target, held, moments, found| Meeting {
            run: 1,
            flags: self.flags,
            outcome: &self.outcome,
            armed: self.armed,
            target,
            bound_ms: milliseconds(self.bound),
            held,
            moments,
            found,
        };
        let mut races = Vec::new();
        for (index, state) in self.outcome.targets.iter().enumerate() {
            if let (Verdict::Race, [Some(first), Some(second)]) = (state.verdict, &state.found) {
                races.push(teller.race(&meeting(Some(index), None, state.moments, [first, second])));
            }
        }
        for find in &self.outcome.finds {
            let [held, other] = &find.found;
            let meeting = meeting(find.target, Some(find.side), find.moments, [held, other]);
            races.push(teller.race(&meeting));
        }
        (races, run)
    }
}

/// Where a module lay last.
fn lies(tables: &Tables, id: deadheat_trace::tables::ModuleId) -> ModuleState {
    let load = tables.modules.loads().iter().rfind(|load| load.module == id);
    load.map_or(ModuleState::default(), |load| ModuleState {
        loaded: Loaded::Yes,
        bias: load.bias,
        start: load.start,
        end: load.end,
    })
}

impl Tried {
    /// The report of this run with these of its races.
    pub(crate) fn report(&self, races: Vec<Race>, notes: Vec<String>) -> Report {
        let summary = Summary { notes, ..Summary::of(&races, &[]) };
        Report { run: self.run.clone(), races, findings: Vec::new(), summary }
    }
}

/// Why the two sides of a target did not meet, for people.
pub(crate) fn why_not(state: &TargetState) -> &'static str {
    match state.verdict {
        Verdict::Open if state.lost() => "a side was never there: the run took another way than the proof's",
        Verdict::Open | Verdict::None => "the other side did not come while one was held",
        Verdict::Quiescent => "while one was held, nobody who could have come was left running",
        Verdict::Moved => "both came, but to different memory",
        Verdict::Busy => "a side came when it could not be held",
        Verdict::Race => "they met",
    }
}
