//! The exit codes, and the one kind of error that a command ends with.

use std::fmt;
use std::process::ExitCode;

use nix::sys::signal::Signal;

use crate::child::End;

/// How deadheat ends. The codes are part of its interface.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    /// The code of the program (or compiler, or build) that was run, when deadheat has nothing
    /// to add; 128 + n if signal n killed it. Commands that compare or check and run no program (`trace agree`,
    /// `csp check`) end with 1 where the answer is no.
    Program(u8),
    /// 2: the command line cannot be understood.
    Usage,
    /// 65: an input that cannot be read: which, where in it and why.
    Input,
    /// 66: races at or above `--fail-on`.
    Races,
    /// 69: something that is needed is missing: what, and how to get it.
    Missing,
    /// 70: a fault of deadheat's own, or of the system below it.
    Own,
    /// 124: the program ran past `--timeout`.
    Timeout,
}

impl Exit {
    /// The code 0.
    pub(crate) const SUCCESS: Self = Exit::Program(0);

    /// The number given to the system.
    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Program(code) => code,
            Exit::Usage => 2,
            Exit::Input => 65,
            Exit::Races => 66,
            Exit::Missing => 69,
            Exit::Own => 70,
            Exit::Timeout => 124,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

/// Why a command could not do its work: one clear line, and the code that says so.
#[derive(Debug)]
pub(crate) struct Failure {
    /// The code to end with.
    pub(crate) exit: Exit,
    message: String,
}

impl Failure {
    /// A command line that clap accepts but that means nothing.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Failure { exit: Exit::Usage, message: message.into() }
    }

    /// An input that cannot be read.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Failure { exit: Exit::Input, message: message.into() }
    }

    /// Something needed is missing.
    pub(crate) fn missing(message: impl Into<String>) -> Self {
        Failure { exit: Exit::Missing, message: message.into() }
    }

    /// A signal asked us to end.
    pub(crate) fn interrupted(signal: Signal, message: impl Into<String>) -> Self {
        Failure { exit: End::Signalled(signal).exit(), message: message.into() }
    }

    /// A fault of deadheat's own, or of the system below it.
    pub(crate) fn own(message: impl Into<String>) -> Self {
        Failure { exit: Exit::Own, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Says what was being done when a system call failed.
pub(crate) trait Context<T> {
    /// Turns the error into a [`Failure`] with code 70 that reads `WHAT: error`.
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Failure>;
}

impl<T, E: fmt::Display> Context<T> for Result<T, E> {
    fn context(self, what: impl FnOnce() -> String) -> Result<T, Failure> {
        self.map_err(|error| Failure::own(format!("{}: {error}", what())))
    }
}
