//! `deadheat hunt`: watches a run, nominates the pairs that conflict, and re-runs the program
//! until each pair has met or was tried often enough.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadheat_report::json;
use deadheat_report::model::Report;
use deadheat_report::suppress::Suppressions;
use deadheat_symbol::Symbolizer;
use deadheat_trace::Trace;

use crate::args::{self, Common};
use crate::child::{self, Apart, End, Launch};
use crate::exit::{Context, Exit, Failure};
use crate::hunt::engine::{Hunt, Limits};
use crate::hunt::folder::{self, Folder, Settings};
use crate::hunt::gate::Gate;
use crate::hunt::gatefile::Plan;
use crate::hunt::log::{self, Line, Log, Watched};
use crate::hunt::manner::Manner;
use crate::hunt::nominate::{Nominated, nominate};
use crate::hunt::nominators;
use crate::hunt::plan::TRIES;
use crate::hunt::progress::Advice;
use crate::hunt::proof::Teller;
use crate::hunt::targets::{self, Part, Target};
use crate::hunt::told;
use crate::hunt::warden::Warden;
use crate::order::{self, Order};
use crate::say::say;
use crate::tell::output::{self, Output};
use crate::tell::{self, Choosing};
use crate::traces;

/// A watched run that takes as long may never end.
const LONG: Duration = Duration::from_secs(20);
/// The part of the budget that the watched run may take: the rest is for re-runs.
const PART_OF_BUDGET: u32 = 2;
/// What a hunt keeps in its folder; `--resume` goes on with it as it is.
const OF_A_NEW_HUNT: [&str; 15] = [
    "output",
    "targets",
    "nominate",
    "partition",
    "seed",
    "tries",
    "timeout",
    "isolate",
    "setup",
    "teardown",
    "order",
    "no_fold_memory",
    "by",
    "matching",
    "without",
];

/// What to hunt, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The hunt's folder: traces, targets, runs, and the report
    #[arg(short, long, value_name = "DIR", default_value = "deadheat.hunt")]
    output: PathBuf,
    /// Go on with the hunt in this folder
    #[arg(long, value_name = "DIR", conflicts_with_all = OF_A_NEW_HUNT)]
    resume: Option<PathBuf>,
    /// Hunt the targets of this file and no others
    #[arg(long, value_name = "FILE")]
    targets: Option<PathBuf>,
    /// Who nominates beside the conflicts: analyses, as `analyze --by` knows them, or `conflict` for nobody
    #[arg(long, value_name = "ANALYSIS", value_delimiter = ',', value_parser = nominators::named, default_values_t = nominators::by_default())]
    nominate: Vec<String>,
    /// Hunt a part of the targets: slice:m/n is the m-th of n parts
    #[arg(long, value_name = "slice:m/n")]
    partition: Option<Part>,
    /// How many runs go on at once [default: one for each processor, at least 2; 1 with --setup
    /// but without --isolate]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// End the hunt after this time
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    budget: Option<Duration>,
    /// End the hunt after so many re-runs
    #[arg(long, value_name = "N")]
    max_runs: Option<u64>,
    /// End the hunt with the first proof
    #[arg(long)]
    until_first: bool,
    /// Shuffle targets that are equally likely
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// How often a pair that nothing ordered is tried; others half as often
    #[arg(long, value_name = "N", default_value_t = TRIES, value_parser = clap::value_parser!(u32).range(1..=100))]
    tries: u32,
    /// End each run after this time [default: ten times the watched run, at least 10 s]
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// Give each re-run its own copy of the working folder
    #[arg(long)]
    isolate: bool,
    /// Run this shell command before each run
    #[arg(long, value_name = "CMD")]
    setup: Option<String>,
    /// Run this shell command after each run
    #[arg(long, value_name = "CMD")]
    teardown: Option<String>,
    /// See inside memory and string functions: each word that they touch is an access of its own
    #[arg(long)]
    no_fold_memory: bool,
    /// Show the output of re-runs
    #[arg(long)]
    show_output: bool,
    #[command(flatten)]
    order: order::Options,
    #[command(flatten)]
    manner: Manner,
    #[command(flatten)]
    telling: Telling,
    /// The program and its arguments
    #[arg(last = true, required_unless_present = "resume", value_name = "PROG")]
    command: Vec<OsString>,
}

impl Args {
    /// A hunt of a program without arguments into the folder `output`.
    pub(crate) fn of(program: &str, output: &str, telling: Telling) -> Args {
        Args {
            output: output.into(),
            resume: None,
            targets: None,
            nominate: nominators::by_default(),
            partition: None,
            jobs: None,
            budget: None,
            max_runs: None,
            until_first: false,
            seed: 0,
            tries: TRIES,
            timeout: None,
            isolate: false,
            setup: None,
            teardown: None,
            no_fold_memory: false,
            show_output: false,
            order: order::Options::default(),
            manner: Manner::default(),
            telling,
            command: vec![program.into()],
        }
    }
}

/// The first proof of the hunt in `folder`, as `replay` names it; `None` if nothing was proved.
pub(crate) fn first_proof(folder: &Path) -> Result<Option<String>, Failure> {
    let path = folder.join("report.jsonl");
    let text = std::fs::read_to_string(&path).context(|| format!("cannot read {}", path.display()))?;
    let race = text
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find(|line| line["type"] == "race" && line["grade"] == "proved");
    Ok(race.and_then(|race| Some(format!("{}#{}", path.display(), race["id"].as_str()?))))
}

/// What to tell of a hunt.
#[derive(clap::Args)]
pub(crate) struct Telling {
    /// The form of the report on the standard streams
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = output::formats())]
    format: String,
    #[command(flatten)]
    choosing: Choosing,
}

impl Telling {
    /// Reads the suppressions: before anything is run.
    pub(crate) fn suppressions(&self) -> Result<Suppressions, Failure> {
        self.choosing.read()
    }

    /// Writes the report to the folder and tells it. The code is 66 if it is to tell of it, else 0, or 70 if it cannot be
    /// told where it was to be.
    pub(crate) fn tell(
        &self,
        mut report: Report,
        suppressions: Suppressions,
        folder: &Folder,
        common: &Common,
    ) -> Result<Exit, Failure> {
        self.choosing.suppress(&mut report, suppressions);
        let path = folder.report();
        let kept = folder::write_whole(&path, |file| json::write(&report, file));
        let told = output::write(std::slice::from_ref(&report), &Output::of(&self.format), common);
        kept?;
        Ok(if self.choosing.fails(&report) { Exit::Races } else { told })
    }
}

/// Hunts. The code is 66 if what was found is at or above `--fail-on`, else that of the watched
/// run.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let until = args.budget.map(|budget| Instant::now() + budget);
    let suppressions = args.telling.suppressions()?;
    // Goes last: it ends what is left of the runs.
    let warden = Warden::start()?;
    let begun = match &args.resume {
        Some(path) => resume(path, args, common)?,
        None => begin(args, &warden, common)?,
    };
    let Begun { folder, settings, targets, lines, teller, program } = begun;
    let watched = told::watched(&lines).cloned().unwrap_or_default();
    let mut scheduler = settings.scheduler(Duration::from_secs_f64(watched.seconds));
    told::replay(&mut scheduler, &targets, &lines);
    let limits = Limits {
        until,
        runs: args.max_runs,
        first: args.until_first,
        jobs: jobs(args, &settings),
        show: args.show_output,
    };
    let number = |line: &log::Provoked| line.number;
    let mut hunt = Hunt {
        settings: &settings,
        folder: &folder,
        limits,
        common,
        warden: &warden,
        program,
        part: settings.part()?,
        targets,
        scheduler,
        teller,
        log: Log::open(&folder.runs())?,
        watched: (end_of(&watched), Duration::from_secs_f64(watched.seconds)),
        runs: told::provoked(&lines).map(number).max().unwrap_or(0),
        monitored: told::provoked(&lines).filter(|line| line.monitored).count() as u64,
        nominated: None,
        proved: told::provoked(&lines).flat_map(|line| &line.races).map(|race| race.id.clone()).collect(),
    };
    let hunted = hunt.go();
    let scheduler = hunt.scheduler;
    let (lines, _) = log::read(&folder.runs())?;
    let mut report = told::report(&scheduler, &lines);
    if let Ok(Some(_)) = hunted {
        let path = args.resume.as_deref().unwrap_or(&args.output).display();
        report.summary.notes.push(format!("interrupted; `deadheat hunt --resume {path}` goes on"));
    }
    let told = args.telling.tell(report, suppressions, &folder, common)?;
    match hunted {
        Err(failure) => Err(failure),
        Ok(_) if told != Exit::SUCCESS => Ok(told),
        Ok(Some(code)) => Ok(Exit::Program(code)),
        Ok(None) => Ok(end_of(&watched).exit()),
    }
}

/// A hunt whose watched run is over.
struct Begun {
    folder: Folder,
    settings: Settings,
    targets: Vec<Target>,
    lines: Vec<Line>,
    teller: Teller,
    program: PathBuf,
}

fn end_of(watched: &Watched) -> End {
    match &watched.end {
        log::End::Exited(code) => End::Exited(*code),
        log::End::Signal(name) => name.parse().map_or(End::Exited(0), End::Signalled),
        log::End::Timeout => End::TimedOut,
    }
}

fn jobs(args: &Args, settings: &Settings) -> usize {
    // Runs that need their state put back would put it back under each other's feet.
    let shared = (settings.setup.is_some() || settings.teardown.is_some()) && !settings.isolate;
    let processors = std::thread::available_parallelism().map_or(2, |count| count.get().max(2));
    args.jobs.map_or(if shared { 1 } else { processors }, usize::from)
}

fn find(command: &[OsString]) -> Result<PathBuf, Failure> {
    let program = child::find(command)?;
    std::path::absolute(&program).context(|| format!("cannot find {}", program.display()))
}

/// Watches the first run and nominates.
fn begin(args: &Args, warden: &Warden, common: &Common) -> Result<Begun, Failure> {
    let program = find(&args.command)?;
    let settings = Settings {
        command: args.command.clone(),
        folder: std::env::current_dir().context(|| "cannot tell the present folder".to_owned())?,
        partition: args.partition.map(|part| part.to_string()),
        seed: args.seed,
        tries: args.tries,
        timeout: args.timeout,
        isolate: args.isolate,
        setup: args.setup.clone(),
        teardown: args.teardown.clone(),
        no_fold_memory: args.no_fold_memory,
        nominate: args.nominate.clone(),
        manner: args.manner.clone(),
    };
    check_end(&settings, args)?;
    let order = Order::read(&args.order, &program)?;
    let folder = Folder::make(&args.output, &settings)?;
    folder.keep_input(common)?;
    let first = watch(args, &settings, &folder, order.as_ref(), warden, common)?;
    let mut trace = Trace::open(folder.trace()).map_err(|error| Failure::input(error.to_string()))?;
    let (nominated, symbolizer, broken) = nominated(&mut trace, &settings);
    if let Some(broken) = broken {
        say!("deadheat: {broken}; hunting what was read before that");
    }
    let targets = chosen(args, &settings, &nominated, &trace)?;
    targets::write_file(&targets, &folder.targets())?;
    let line = Line::Watch(Box::new(watched_line(&trace, &nominated, &settings, first)));
    Log::open(&folder.runs())?.add(&line)?;
    let teller = Teller::new(trace.into_tables(), symbolizer, &settings.folder);
    Ok(Begun { folder, settings, targets, lines: vec![line], teller, program })
}

/// A sampler never ends by itself.
fn check_end(settings: &Settings, args: &Args) -> Result<(), Failure> {
    if settings.manner.sampling().is_some() && args.budget.is_none() && args.max_runs.is_none() {
        return Err(Failure::usage("a sampler never ends by itself: give --max-runs or --budget"));
    }
    Ok(())
}

/// What the watched run nominates; nothing if samples are held instead.
fn nominated(trace: &mut Trace, settings: &Settings) -> (Nominated, Symbolizer, Option<Failure>) {
    let symbolizer = Symbolizer::default();
    if settings.manner.sampling().is_none() {
        return nominate(trace, &settings.means(), symbolizer, &settings.folder);
    }
    let broken = trace.drive(|_| {}).err().map(|error| Failure::input(error.to_string()));
    (Nominated::default(), symbolizer, broken)
}

/// The targets to hunt.
fn chosen(
    args: &Args,
    settings: &Settings,
    nominated: &Nominated,
    trace: &Trace,
) -> Result<Vec<Target>, Failure> {
    let mut targets = match &args.targets {
        Some(path) => {
            let targets = targets::read(path, false)?;
            targets::check_build(&targets, path, &trace.tables().modules)?;
            targets
        }
        None => nominated.targets.clone(),
    };
    if settings.manner.places_alone() {
        let mut groups = HashSet::new();
        targets.retain(|target| groups.insert(target.group.clone()));
    }
    let part = settings.part()?;
    targets.retain(|target| part.has(target));
    Ok(targets)
}

/// What became of the watched run.
struct First {
    end: End,
    took: Duration,
    notes: Vec<String>,
}

/// The first run: its output is shown, its trace kept.
fn watch(
    args: &Args,
    settings: &Settings,
    folder: &Folder,
    order: Option<&Order>,
    warden: &Warden,
    common: &Common,
) -> Result<First, Failure> {
    shell(settings.setup.as_ref(), settings, warden, "--setup")?;
    let plan = Plan { flags: settings.flags(), ..order.map(Order::plan).unwrap_or_default() };
    let wanted = order.is_some() || plan.flags != 0;
    let gate = wanted.then(|| Gate::write(&plan, &folder.trace())).transpose()?;
    let time = settings.timeout.or(args.budget.map(|budget| budget / PART_OF_BUDGET));
    let mut launch = match gate {
        Some(_) => Launch::monitored(&settings.command, &folder.trace(), time),
        None => Launch::recording(&settings.command, &folder.trace(), time),
    };
    launch.apart = Apart { input: Some(folder.input()), ..Apart::default() };
    launch.environment.push(warden.mark(0));
    let name = settings.command[0].to_string_lossy();
    let started = Instant::now();
    let advice = Advice::after(
        if time.is_some() || common.quiet { None } else { Some(LONG) },
        format!(
            "deadheat: {name} still runs; it is hunted when it has ended; if it does not end by itself, say how \
             long each run may take with --timeout TIME"
        ),
    );
    let (end, interrupted) = child::run_to_end(&launch)?;
    drop(advice);
    let took = started.elapsed();
    let left = warden.end_left(|_| false, &[]);
    shell(settings.teardown.as_ref(), settings, warden, "--teardown")?;
    if let Some(signal) = interrupted {
        return Err(Failure::interrupted(
            signal,
            "interrupted in the watched run; a program that does not end by itself is hunted with --timeout TIME",
        ));
    }
    if end == End::TimedOut && !common.quiet {
        say!("deadheat: {name} ran past its time and was ended; hunting what it did by then");
    }
    if !folder.trace().is_file() {
        if child::find(&settings.command).is_ok_and(|found| super::record::has_runtime(&found)) {
            return Err(Failure::missing(super::record::not_started(&name)));
        }
        return Err(Failure::missing(format!(
            "nothing was seen: {name} has no deadheat runtime in it; build it with `deadheat build -- make` (or \
             another build command), or with CC=\"deadheat cc\""
        )));
    }
    let mut notes = Vec::new();
    if let End::Signalled(signal) = end {
        notes.push(format!("the watched run was killed by {signal}; what it did by then is hunted"));
    }
    if left > 0 {
        notes.push(left_behind(left));
    }
    if let (Some(order), Some(gate)) = (order, &gate) {
        notes.extend(order.warning(&gate.outcome()?));
    }
    Ok(First { end, took, notes })
}

/// What is said of processes that went on when the program had ended.
fn left_behind(count: usize) -> String {
    let processes = if count == 1 { "1 process".to_owned() } else { format!("{count} processes") };
    format!(
        "what the program leaves running in the background ({processes}) is ended after each run; if it does its \
         work there, hunt it with its option to stay in the foreground"
    )
}

fn shell(
    command: Option<&String>,
    settings: &Settings,
    warden: &Warden,
    option: &str,
) -> Result<(), Failure> {
    let Some(command) = command else { return Ok(()) };
    let words = ["sh", "-c", command].map(OsString::from);
    let mut launch = Launch::plain(&words, vec![("DEADHEAT_RUN".into(), "0".into())]);
    launch.environment.push(warden.mark_of_commands());
    launch.apart =
        Apart { input: Some("/dev/null".into()), folder: Some(settings.folder.clone()), ..Apart::default() };
    match child::run(&launch)? {
        End::Exited(0) => Ok(()),
        end => {
            Err(Failure::missing(format!("{option} `{command}` failed: it {}", log::End::from(end).phrase())))
        }
    }
}

fn watched_line(trace: &Trace, nominated: &Nominated, settings: &Settings, first: First) -> Watched {
    let conflict = nominators::CONFLICT;
    let others = settings.nominate.iter().filter(|name| *name != conflict).cloned();
    let by = [conflict.to_owned()].into_iter().chain(others).collect();
    let mut run = tell::run_of(trace, by, nominated.hidden_calls, &settings.folder);
    run.mode = "hunt".to_owned();
    run.seed = (settings.seed != 0).then_some(settings.seed);
    let mut notes = tell::notes(trace, &run);
    notes.extend(nominated.warnings.iter().cloned());
    let further = traces::of(trace.path()).len().saturating_sub(1);
    if further > 0 {
        notes.push(format!(
            "the program started {further} further process{}: only the first is hunted; hunt a program that does \
             not fork, or the others by themselves",
            if further == 1 { "" } else { "es" }
        ));
    }
    if let Some(partition) = &settings.partition {
        notes.push(format!("only {partition} of the targets: `deadheat merge` joins the parts"));
    }
    notes.extend(first.notes);
    let (seconds, end) = (first.took.as_secs_f64(), first.end.into());
    Watched { run, seconds, end, dropped: nominated.dropped.clone(), notes }
}

/// Takes up a hunt that was ended.
fn resume(path: &Path, args: &Args, common: &Common) -> Result<Begun, Failure> {
    let (folder, settings) = Folder::open(path)?;
    check_end(&settings, args)?;
    if !args.command.is_empty() && args.command != settings.command {
        return Err(Failure::usage(format!(
            "{} hunts another program or other arguments; leave them out to go on",
            path.display()
        )));
    }
    let (lines, torn) = match folder.runs().exists() {
        true => log::read(&folder.runs())?,
        false => (Vec::new(), false),
    };
    if told::watched(&lines).is_none() {
        return Err(Failure::input(format!(
            "{} holds no hunt to go on with: it was ended before its watched run was over; hunt anew",
            path.display()
        )));
    }
    if torn && !common.quiet {
        say!("deadheat: the last line of runs.jsonl was not finished; that run is left out");
    }
    // Written anew: further ones follow a whole line.
    let targets = targets::read(&folder.targets(), true)?;
    targets::write_file(&targets, &folder.targets())?;
    let mut trace = Trace::open(folder.trace()).map_err(|error| Failure::input(error.to_string()))?;
    trace.drive(|_| {}).map_err(|error| Failure::input(error.to_string()))?;
    let teller = Teller::new(trace.into_tables(), Symbolizer::default(), &settings.folder);
    std::env::set_current_dir(&settings.folder)
        .context(|| format!("cannot enter {}", settings.folder.display()))?;
    let program = find(&settings.command)?;
    Ok(Begun { folder, settings, targets, lines, teller, program })
}
