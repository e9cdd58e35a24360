//! The command line: a table of commands, one file each in `cmd/`.
//!
//! Invariants: no analysis lives here, and the runtime is never linked into this program, only
//! embedded as an object. Every command ends in one of the codes of [`exit::Exit`].
#![forbid(unsafe_code)]

mod args;
mod cache;
mod child;
mod cmd;
mod compiler;
mod exit;
mod hunt;
mod launchers;
mod order;
mod say;
mod tell;
mod traces;
mod verify;

use std::ffi::OsString;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread::Builder;

use clap::Parser;
use clap::error::ErrorKind;
use nix::sys::resource::{Resource, getrlimit};

use args::Cli;
use exit::{Context, Exit, Failure};
use say::say;

fn main() -> ExitCode {
    // Who tells a program's races has the program's limits: its stack may be too small for us.
    const ENOUGH: u64 = 1 << 20;
    const STACK: usize = 8 << 20;
    let arguments: Vec<OsString> = std::env::args_os().collect();
    if getrlimit(Resource::RLIMIT_STACK).is_ok_and(|(size, _)| size < ENOUGH) {
        let given = arguments.clone();
        if let Ok(thread) = Builder::new().stack_size(STACK).spawn(move || work(given)) {
            return thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }
    work(arguments)
}

fn work(arguments: Vec<OsString>) -> ExitCode {
    let end = match cmd::cc::as_compiler(&arguments) {
        Some(call) => cmd::cc::run(call),
        None => parse_and_run(arguments),
    };
    match end {
        Ok(exit) => exit.into(),
        Err(failure) => {
            say!("deadheat: {failure}");
            failure.exit.into()
        }
    }
}

fn parse_and_run(arguments: Vec<OsString>) -> Result<Exit, Failure> {
    match Cli::try_parse_from(arguments) {
        Ok(cli) => {
            cli.common.color.apply();
            cmd::run(cli.command, &cli.common)
        }
        Err(error) => {
            // Help and version are answers, not errors; clap knows to which stream they go.
            let answer = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
            let printed = error.print();
            if !answer {
                return Ok(Exit::Usage);
            }
            say::heard(printed).context(|| "cannot write standard output".to_owned())?;
            Ok(Exit::SUCCESS)
        }
    }
}
