//! One file a command. Each has `Args`, what it takes, and `run`, what it does.

pub(crate) mod analyze;
pub(crate) mod byhand;
pub(crate) mod cc;
pub(crate) mod csp;
pub(crate) mod demo;
pub(crate) mod doctor;
pub(crate) mod drive;
pub(crate) mod hunt;
pub(crate) mod merge;
pub(crate) mod model;
pub(crate) mod record;
pub(crate) mod replay;
pub(crate) mod report;
pub(crate) mod run;
pub(crate) mod shell;
pub(crate) mod trace;
pub(crate) mod verify;

use crate::args::{Command, Common};
use crate::compiler::Language;
use crate::exit::{Exit, Failure};

/// Runs the command.
pub(crate) fn run(command: Command, common: &Common) -> Result<Exit, Failure> {
    match command {
        Command::Cc(args) => cc::run(args.call(Language::C)),
        Command::Cxx(args) => cc::run(args.call(Language::Cxx)),
        Command::Build(args) => drive::run(args, common),
        Command::Run(args) => run::run(&args, common),
        Command::Record(args) => record::run(args, common),
        Command::Hunt(args) => hunt::run(&args, common),
        Command::Merge(args) => merge::run(&args, common),
        Command::Analyze(args) => analyze::run(&args, common),
        Command::Replay(args) => replay::run(&args, common),
        Command::Verify(args) => verify::run(&args, common),
        Command::Report(args) => report::run(&args, common),
        Command::Trace(args) => trace::run(&args, common),
        Command::Model(args) => model::run(&args, common),
        Command::Csp(args) => csp::run(&args, common),
        Command::Demo(args) => demo::run(args, common),
        Command::Doctor(args) => doctor::run(&args, common),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args, common),
        Command::TellByHand(args) => byhand::run(&args, common),
        Command::HuntWarden { folder } => crate::hunt::warden::guard(&folder),
    }
}
