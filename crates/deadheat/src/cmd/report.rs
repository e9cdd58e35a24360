//! `deadheat report`: writes a report in another form.

use std::fs::File;
use std::io::BufReader;
use std::path::PathBuf;

use deadheat_report::json;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::tell::output::{self, Output};

/// What to write, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The report, as JSON lines
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    output: Output,
}

/// Writes the report. Ends with 0, whatever it tells of; 70 if it cannot be written.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    args.output.check()?;
    let name = args.file.display().to_string();
    let file =
        File::open(&args.file).map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    let reports =
        json::read(&name, BufReader::new(file)).map_err(|error| Failure::input(error.to_string()))?;
    Ok(output::write(&reports, &args.output, common))
}
