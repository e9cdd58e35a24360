//! `deadheat verify`: asks a rebuilt program whether a race is mended.

use std::time::Instant;

use crate::args::Common;
use crate::child;
use crate::cmd::record::{self, Program};
use crate::exit::{Exit, Failure};
use crate::hunt::again::Again;
use crate::hunt::turns::Order;
use crate::hunt::witness::{self, Recalled};
use crate::say::say;
use crate::tell::output::{self, Output};
use crate::traces::Scratch;
use crate::verify::{Answer, Question, Watched};

/// Which race to ask about, and how hard.
#[derive(clap::Args)]
#[command(after_help = ANSWERS)]
pub(crate) struct Args {
    /// The race: a report, # and its id; or the id alone, of the newest report in this folder
    #[arg(value_name = "REPORT#ID")]
    race: String,
    /// How often each pair of places is provoked, and how many runs are watched until one shows both
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    tries: u32,
    #[command(flatten)]
    output: Output,
    #[command(flatten)]
    program: Program,
}

const ANSWERS: &str = "\
Answers and exit codes: `ordered now` (by which operations) and `site gone`: 0; `still races`: 66;
`could not reach`: 69, a run that comes to both places is missing: give arguments or input that do.";

/// Runs the rebuilt program, provokes what it nominates, and answers.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let recalled = witness::recall(&args.race)?;
    args.output.check()?;
    child::find(args.program.command())?;
    let mut answer = unchanged(args, &recalled)?;
    let tries = if answer.is_none() { args.tries } else { 0 };
    for _ in 0..tries {
        answer = ask(args, &recalled, common)?;
        // What one run does not show the next may.
        if !matches!(answer, Some(Answer::CouldNotReach(_) | Answer::Apart(_))) {
            break;
        }
    }
    let Some(answer) = answer else { return Ok(Exit::Missing) };
    let (word, told, exit) = match &answer {
        Answer::OrderedNow(told) => ("ordered now", told.clone(), Exit::SUCCESS),
        Answer::StillRaces(told, _) => ("still races", told.clone(), Exit::Races),
        Answer::SiteGone(told) => ("site gone", vec![told.clone()], Exit::SUCCESS),
        Answer::CouldNotReach(told) => ("could not reach", vec![told.clone()], Exit::Missing),
        Answer::Apart(between) => {
            let runs =
                if args.tries == 1 { "1 run".to_owned() } else { format!("each of {} runs", args.tries) };
            let told = format!("both sides ran, but on different memory in {runs}");
            ("could not reach", vec![told, between.clone()], Exit::Missing)
        }
    };
    say!("deadheat: {}: {word}: {}", recalled.race.id, told.join("; "));
    if let Answer::StillRaces(_, Some(report)) = &answer {
        output::write(std::slice::from_ref(report), &args.output, common);
    }
    Ok(exit)
}

/// The answer for a program that was not built anew, or to the same bytes: the meeting that was
/// proved comes again.
fn unchanged(args: &Args, recalled: &Recalled) -> Result<Option<Answer>, Failure> {
    let Ok(witness) = recalled.witness() else { return Ok(None) };
    let again = Again {
        command: args.program.command(),
        timeout: args.program.timeout(),
        input: recalled.input(),
        order: witness.order(),
    };
    for number in 0..u64::from(args.tries) {
        let tried = again.go(&[witness.pair(number % 2)], &[], witness.patience(), witness.flags())?;
        if !tried.changed.is_empty() || !tried.taken {
            break;
        }
        if let Some(race) = tried.races.iter().find(|race| race.id == recalled.race.id) {
            let told = "the program is the one of the proof, and they met again".to_owned();
            let report = tried.report(vec![race.clone()], Vec::new());
            return Ok(Some(Answer::StillRaces(vec![told], Some(Box::new(report)))));
        }
    }
    Ok(None)
}

/// Watches one run, and answers by it; `None` if it left no trace, which is told.
fn ask(args: &Args, recalled: &Recalled, common: &Common) -> Result<Option<Answer>, Failure> {
    let scratch = Scratch::make()?;
    let began = Instant::now();
    let (end, traces) = record::record(&args.program, &scratch.path().join("trace"), common)?;
    let took = began.elapsed();
    let Some(trace) = traces.first() else { return Ok(None) };
    let again = Again {
        command: args.program.command(),
        timeout: args.program.timeout(),
        input: recalled.input(),
        order: Order::default(),
    };
    let question = Question { race: &recalled.race, again, tries: args.tries };
    question.answer(&Watched { trace, took, end }).map(Some)
}
