//! `deadheat run`: runs a program and tells its races.

use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use deadheat_core::options;

use crate::args::Common;
use crate::cmd::record::{self, Program};
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::tell::{self, Judging, Telling};
use crate::traces::Scratch;

/// What to run, and what to tell.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Record the program, then judge the recording, instead of finding races while it runs
    #[arg(long, conflicts_with = "online")]
    recorded: bool,
    /// Find races while the program runs, which is what is done anyway
    #[arg(long, hide = true)]
    online: bool,
    /// Keep the trace in this file; the program is recorded there, also if its races are found while it runs (slow)
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    telling: Telling,
    #[command(flatten)]
    program: Program,
}

/// Runs the program, tells the races of what it and the processes that it started did. The code is 66 if
/// there were races, 70 if there were none and the report cannot be written, else the program's own.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let Args { recorded, online: _, trace, judging, telling, program } = args;
    if let (false, Some(option)) = (recorded, judging.is_of_recordings()) {
        return Err(Failure::usage(format!(
            "{option} needs the whole run, and races are found while the program runs; \
             `deadheat run --recorded {option} -- PROG` records it and judges the recording"
        )));
    }
    warn_of_suppressions();
    let suppressions = telling.prepare()?;
    let scratch = if trace.is_none() { Some(Scratch::make()?) } else { None };
    let path = trace.clone().or_else(|| Some(scratch.as_ref()?.path().join("trace"))).unwrap_or_default();
    let (end, traces) = if *recorded {
        record::record(program, &path, common)?
    } else {
        record::detect(program, &path, trace.is_some(), common)?
    };
    let judging = if *recorded { judging.clone() } else { judging.clone().found() };
    let told = if traces.is_empty() {
        let mode = if *recorded { "record" } else { "detect" };
        tell::unseen(program.command(), mode, &judging, telling, common)
    } else {
        tell::processes(&traces, program.command(), &judging, (telling, suppressions), common)?
    };
    Ok(if told == Exit::SUCCESS { end.exit() } else { told })
}

/// Says that suppressions which the environment names for programs that are started by hand do not hold here.
fn warn_of_suppressions() {
    for name in options::VARIABLES {
        let text = std::env::var_os(name).unwrap_or_default();
        if options::value(&[text.as_bytes()], "suppressions").is_some_and(|value| !value.is_empty()) {
            say!(
                "deadheat: warning: the `suppressions` of {name} hold only where a program is started by hand; here \
                 --suppressions FILE suppresses"
            );
        }
    }
}
