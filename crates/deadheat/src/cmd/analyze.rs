//! `deadheat analyze`: nominates the races of recorded runs.

use std::path::PathBuf;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::tell::{self, Judging, Telling};

/// What to analyse, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace; several are told one after the other
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    telling: Telling,
}

/// Analyses the traces.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    tell::traces(&args.traces, &args.judging, &args.telling, common)
}
