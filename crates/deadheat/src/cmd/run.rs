//! `deadheat run`: runs a program and tells its races.

use std::path::PathBuf;

use crate::args::Common;
use crate::cmd::record::{self, Program};
use crate::exit::{Exit, Failure};
use crate::tell::{self, Judging, Telling};
use crate::traces::Scratch;

/// What to run, and what to tell.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Find races while the program runs, instead of recording and judging it
    #[arg(long, conflicts_with_all = ["by", "all_pairs"])]
    online: bool,
    /// Keep the trace in this file; with --online, the program is recorded there beside
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
/// there were races, else the program's own.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let Args { online, trace, judging, telling, program } = args;
    let scratch = if trace.is_none() { Some(Scratch::make()?) } else { None };
    let path = trace.clone().or_else(|| Some(scratch.as_ref()?.path().join("trace"))).unwrap_or_default();
    let (end, traces) = if *online {
        record::detect(program, &path, trace.is_some(), common)?
    } else {
        record::record(program, &path, common)?
    };
    let judging = if *online { judging.clone().found() } else { judging.clone() };
    if !traces.is_empty()
        && tell::processes(&traces, program.command(), &judging, telling, common)? == Exit::Races
    {
        return Ok(Exit::Races);
    }
    Ok(end.exit())
}
