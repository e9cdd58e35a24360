//! `deadheat csp`: checks models that are written in CSP_M.

use std::fmt::Write as _;
use std::path::PathBuf;

use deadheat_csp::cspm::{self, Assertion, Model};
use deadheat_csp::{Action, Counterexample, Events, Limits, Outcome, Seen, Stage, Verdict, traces};

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::say::{self, say};

/// What to do with a model.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Run the assertions of a CSP_M file; the code is 1 if one fails
    Check(Check),
}

#[derive(clap::Args)]
struct Check {
    /// The model: definitions and assertions `assert S [T= I`
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Threads that search; the verdicts do not depend on them
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: u16,
    /// MiB for the states of one assertion; where they do not suffice, that is told
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    memory: u32,
}

/// Runs `deadheat csp`.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    match &args.what {
        What::Check(args) => check(args, common),
    }
}

/// Runs the assertions. Ends with 0 if all hold, 1 if one fails, 69 if none fails and memory did not suffice for one.
fn check(args: &Check, common: &Common) -> Result<Exit, Failure> {
    let name = args.file.display();
    let text = std::fs::read_to_string(&args.file)
        .map_err(|error| Failure::input(format!("cannot read {name}: {error}")))?;
    let wrong = |error: cspm::Error| Failure::input(format!("{name}:{error}"));
    let Model { mut terms, assertions } =
        cspm::read(&text).and_then(|script| cspm::model(&script)).map_err(wrong)?;
    if assertions.is_empty() && !common.quiet {
        say!("deadheat: {name} asserts nothing");
    }
    let limits = Limits { memory: args.memory as usize * (1 << 20), jobs: args.jobs.into() };
    let (mut failed, mut undecided) = (false, false);
    for assertion in &assertions {
        let (spec, implementation) = (assertion.specification, assertion.implementation);
        let outcome = traces(&mut terms, spec, implementation, &limits)
            .map_err(|error| Failure::input(format!("{name}:{}: {error}", assertion.line)))?;
        failed |= matches!(outcome.verdict, Verdict::Fails(_));
        undecided |= matches!(outcome.verdict, Verdict::OutOfMemory { .. });
        let told = tell(assertion, &outcome, &terms.events, common);
        say::answer(told.as_bytes())?;
    }
    match (failed, undecided) {
        (true, _) => Ok(Exit::Program(1)),
        (false, true) => Err(Failure::missing("memory for an assertion; give more with --memory MIB")),
        (false, false) => Ok(Exit::SUCCESS),
    }
}

/// The lines about one assertion.
fn tell(assertion: &Assertion, outcome: &Outcome, events: &Events, common: &Common) -> String {
    let mut text = format!("{}: {}: ", assertion.line, assertion.text.replace("\n ", ""));
    match &outcome.verdict {
        Verdict::Holds => text.push_str("holds\n"),
        Verdict::Fails(counterexample) => {
            let _ = write!(text, "fails\n  trace: {}\n", trace(counterexample, events));
            let _ = writeln!(text, "  steps: {}", steps(counterexample, events));
        }
        Verdict::OutOfMemory { stage, states } => {
            let what = match stage {
                Stage::Leaves => "its small processes",
                Stage::Specification => "the specification",
                Stage::Product => "the product",
            };
            let _ = writeln!(text, "out of memory after {states} states of {what}");
        }
    }
    if common.verbose {
        let Outcome { states, transitions, bits, bytes, .. } = outcome;
        let _ = writeln!(text, "  {states} states of {bits} bits, {transitions} transitions, {bytes} bytes");
    }
    text
}

fn trace(counterexample: &Counterexample, events: &Events) -> String {
    let name = |seen: &Seen| match *seen {
        Seen::Tick => "✓",
        Seen::Event(event) => events.name(event),
    };
    format!("<{}>", counterexample.trace().iter().map(name).collect::<Vec<_>>().join(", "))
}

/// Hidden events are in brackets.
fn steps(counterexample: &Counterexample, events: &Events) -> String {
    let name = |step: &Action| match *step {
        Action::Tau(None) => "τ".to_owned(),
        Action::Tau(Some(event)) => format!("[{}]", events.name(event)),
        Action::Tick => "✓".to_owned(),
        Action::Event(event) => events.name(event).to_owned(),
    };
    counterexample.steps.iter().map(name).collect::<Vec<_>>().join(" ")
}
