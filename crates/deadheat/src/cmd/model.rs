//! `deadheat model`: writes the CSP_M model of a variable of a recorded run.

use std::path::{Path, PathBuf};

use deadheat_core::event::Event;
use deadheat_detect::csp::{Form, Models};
use deadheat_trace::{Tables, Trace};

use crate::args::Common;
use crate::exit::{Context, Exit, Failure};
use crate::say::{self, say};
use crate::tell::resolve::Resolver;

/// Which model, and where to.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// The variable, by its name or address; without it, those are listed that two threads access, one writing
    #[arg(long, value_name = "V")]
    variable: Option<String>,
    /// The model as the paper prints it: reads may see anything
    #[arg(long)]
    paper: bool,
    /// The model of `csp=control`: reads that no branch of the trace may depend on may see anything
    #[arg(long, conflicts_with = "paper")]
    control: bool,
    /// Where to write it (default: standard output)
    #[arg(short, long, value_name = "FILE", requires = "variable")]
    output: Option<PathBuf>,
}

/// Writes the model, or lists the variables.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let mut trace = Trace::open(&args.trace).map_err(|error| Failure::input(error.to_string()))?;
    let form = match (args.paper, args.control) {
        (true, _) => Form::Paper,
        (false, true) => Form::Control,
        (false, false) => Form::Exact,
    };
    let mut record = form.record();
    trace
        .drive_into(&mut |event: &Event, _: &Tables| {
            record.take(event);
            true
        })
        .map_err(|error| Failure::input(error.to_string()))?;
    let models = Models::new(record, form);
    let folder = std::env::current_dir().unwrap_or_default();
    let mut resolver = Resolver::new(trace.tables(), &folder);
    let mut variables = models.variables().into_iter().map(|address| (address, resolver.variable(address)));
    let Some(wanted) = &args.variable else { return list(variables, common) };
    let address = wanted
        .strip_prefix("0x")
        .and_then(|digits| u64::from_str_radix(digits, 16).ok())
        .or_else(|| variables.find(|(_, name)| name.as_ref() == Some(wanted)).map(|(address, _)| address));
    let script = address.and_then(|address| models.script(address)).ok_or_else(|| {
        let trace = args.trace.display();
        Failure::input(format!(
            "{trace}: no two threads access a variable {wanted}; without --variable those that are shared are listed"
        ))
    })?;
    let text = script.text.as_bytes();
    match &args.output {
        Some(path) => write(path, text)?,
        None => say::answer(text)?,
    }
    Ok(Exit::SUCCESS)
}

fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, text).context(|| format!("cannot write {}", path.display()))
}

/// One line a variable: its address and its name.
fn list(variables: impl Iterator<Item = (u64, Option<String>)>, common: &Common) -> Result<Exit, Failure> {
    let mut text = String::new();
    for (address, name) in variables {
        text.push_str(&format!("{address:#x} {}", name.unwrap_or_default()));
        text.truncate(text.trim_end().len());
        text.push('\n');
    }
    if text.is_empty() && !common.quiet {
        say!("deadheat: no variable is accessed by two threads, one of them writing");
    }
    say::answer(text.as_bytes())?;
    Ok(Exit::SUCCESS)
}
