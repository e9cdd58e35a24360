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
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::Cli;
use exit::{Context, Exit, Failure};
use say::say;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
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
