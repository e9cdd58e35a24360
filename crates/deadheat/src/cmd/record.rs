//! `deadheat record`: runs a program and writes a trace.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::args::{self, Common};
use crate::child::{self, End, Launch};
use crate::exit::{Exit, Failure};
use crate::hunt::gate::Gate;
use crate::order::{self, Order};
use crate::say::say;
use crate::{tell, traces};

/// What to record, and where to.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace; further processes write beside it, with their process ids in the name
    #[arg(short, long, value_name = "TRACE", default_value = "deadheat.trace")]
    output: PathBuf,
    #[command(flatten)]
    order: order::Options,
    #[command(flatten)]
    program: Program,
}

/// A program to run.
#[derive(clap::Args)]
pub(crate) struct Program {
    /// End the program after this time (such as 30, 1.5s, 10m); exit code 124
    #[arg(long, value_name = "TIME", value_parser = args::duration)]
    timeout: Option<Duration>,
    /// The program and its arguments
    #[arg(last = true, required = true, value_name = "PROG")]
    command: Vec<OsString>,
}

impl Program {
    /// A program without arguments, for as long as it takes.
    pub(crate) fn named(path: &str) -> Program {
        Program { timeout: None, command: vec![path.into()] }
    }

    /// The program and its arguments.
    pub(crate) fn command(&self) -> &[OsString] {
        &self.command
    }

    /// When to end it.
    pub(crate) fn timeout(&self) -> Option<Duration> {
        self.timeout
    }
}

/// Runs the program; ends with its code.
pub(crate) fn run(args: Args, common: &Common) -> Result<Exit, Failure> {
    let order = Order::read(&args.order, &child::find(&args.program.command)?)?;
    let (end, traces) = record_in_order(&args.program, order.as_ref(), &args.output, common)?;
    if !common.quiet {
        match &traces[..] {
            [] => {}
            [one] => say!("deadheat: trace written to {}", one.display()),
            [first, others @ ..] => {
                say!("deadheat: trace written to {}, further processes:", first.display());
                others.iter().for_each(|other| say!("  {}", other.display()));
            }
        }
    }
    Ok(end.exit())
}

/// Runs the program and gives its end and the traces that it left, its own first. Tells if there
/// are none, and if its time was over.
pub(crate) fn record(
    program: &Program,
    trace: &Path,
    common: &Common,
) -> Result<(End, Vec<PathBuf>), Failure> {
    record_in_order(program, None, trace, common)
}

/// As [`record`], but the program finds its races by itself, and the traces tell of them: of nothing else, or, if it is
/// `recorded`, of everything.
pub(crate) fn detect(
    program: &Program,
    trace: &Path,
    recorded: bool,
    common: &Common,
) -> Result<(End, Vec<PathBuf>), Failure> {
    let found = child::find(&program.command)?;
    let trace = traces::prepare(trace)?;
    let way = if recorded { Launch::recording_and_detecting } else { Launch::detecting };
    let end = launch(&found, &way(&program.command, &trace, program.timeout), common)?;
    Ok((end, traces_of(&found, &trace)))
}

/// As [`record`], passing the places of an order in that order. Tells if it was not kept.
pub(crate) fn record_in_order(
    program: &Program,
    order: Option<&Order>,
    trace: &Path,
    common: &Common,
) -> Result<(End, Vec<PathBuf>), Failure> {
    let found = child::find(&program.command)?;
    let trace = traces::prepare(trace)?;
    let gate = order.map(|order| Gate::write(&order.plan(), &trace)).transpose()?;
    let way = if gate.is_some() { Launch::monitored } else { Launch::recording };
    let end = launch(&found, &way(&program.command, &trace, program.timeout), common)?;
    let traces = traces_of(&found, &trace);
    if !traces.is_empty()
        && let (Some(order), Some(gate)) = (order, &gate)
        && let Some(warning) = order.warning(&gate.outcome()?)
    {
        say!("deadheat: warning: {warning}");
    }
    Ok((end, traces))
}

/// Runs the program `found` to its end; tells if its time was over, or if a signal killed it.
fn launch(found: &Path, launch: &Launch<'_>, common: &Common) -> Result<End, Failure> {
    let end = child::run(launch)?;
    if end == End::TimedOut {
        say!("deadheat: {} ran past its time and was ended", found.display());
    } else if let End::Signalled(signal) = end
        && !common.quiet
    {
        say!("deadheat: {} was killed by {signal}", found.display());
    }
    Ok(end)
}

/// The traces that the program `found` left, its own first. Tells if there are none.
fn traces_of(found: &Path, trace: &Path) -> Vec<PathBuf> {
    let traces = traces::of(trace);
    if traces.is_empty() {
        let shown = found.display();
        match instrumented_library(found) {
            Some(library) => say!(
                "deadheat: nothing was seen: {} is instrumented, and {shown}, which needs it, has no deadheat runtime in \
                 it; link that with `deadheat cc` or `deadheat c++`, too",
                library.display()
            ),
            None if has_runtime(found) => say!("deadheat: {}", not_started(&shown.to_string())),
            None => say!(
                "deadheat: nothing was seen: {shown} has no deadheat runtime in it; build it with `deadheat build -- \
                 make` (or another build command), or with CC=\"deadheat cc\"; a program that loads instrumented libraries \
                 (`undefined symbol: __tsan_…`) need only be linked so"
            ),
        }
    }
    traces
}

/// Whether a program has the runtime in it, by a text of it.
pub(super) fn has_runtime(program: &Path) -> bool {
    tell::has_text(program, b"deadheat: internal fault in the runtime").unwrap_or(false)
}

/// What is said of a program that has the runtime in it and left no trace.
pub(super) fn not_started(name: &str) -> String {
    format!(
        "nothing was seen: {name} has a deadheat runtime in it, but did not come as far as to start it; what was said before \
         this line tells why"
    )
}

/// A library that the program is linked with and that calls hooks which nobody in the program has. The loader names the libraries
/// of a program of its, in place of starting it.
fn instrumented_library(program: &Path) -> Option<PathBuf> {
    let loader_starts_it = fs::read(program).is_ok_and(|bytes| {
        const INTERPRETER: &[u8] = b"/ld-linux";
        bytes.starts_with(b"\x7fELF") && bytes.windows(INTERPRETER.len()).any(|part| part == INTERPRETER)
    });
    if !loader_starts_it {
        return None;
    }
    let listed =
        Command::new(program).env("LD_TRACE_LOADED_OBJECTS", "1").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&listed.stdout).into_owned();
    // `name => path (address)`, or `path (address)`.
    let paths = text.lines().filter_map(|line| line.rsplit("=> ").next()?.split(" (").next());
    paths.map(|path| PathBuf::from(path.trim())).find(|path| path.is_file() && tell::is_instrumented(path))
}
