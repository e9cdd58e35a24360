//! The drop-in compilers: what is added to a compiler's command line so that what it compiles is
//! instrumented and what it links has our runtime.
//!
//! Invariant: nothing that the caller wrote is changed or left out, arguments are only added
//! before and after. The real compiler then takes this process's place, so its messages, its
//! exit code and its files are its own.

pub(crate) mod line;
pub(crate) mod object;
pub(crate) mod plan;
pub(crate) mod real;
pub(crate) mod words;

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::exit::Failure;
use crate::say::say;
use line::Line;
use object::Object;
use real::Real;

pub(crate) use real::Language;

/// Names a file that is made when something is compiled or linked: how `deadheat build` knows.
pub(crate) const MARK: &str = "DEADHEAT_BUILD_MARK";

/// The command that does what `arguments` ask of the compiler for `language`, instrumented.
pub(crate) fn command(language: Language, arguments: &[OsString]) -> Result<Command, Failure> {
    let real = Real::find(language)?;
    let mut command = real.command()?;
    let mut line = Line::read(arguments);
    line.cxx_library = line.names_cxx_library || line.cxx_library && language == Language::Cxx;
    if !line.inputs {
        // A question (`--version`, `-print-…`) or an error, which the compiler answers.
        command.args(arguments);
        return Ok(command);
    }
    if let Some(mark) = std::env::var_os(MARK) {
        // Only a hint depends on it.
        let _ = std::fs::File::create(mark);
    }
    let object = if line.links { Some(Object::install()?) } else { None };
    let additions = plan::plan(&line, real.identity()?, object.as_ref());
    if let Some(warning) = additions.warning {
        say!("deadheat: warning: {warning}");
    }
    command.args(additions.before).args(arguments).args(additions.after);
    Ok(command)
}

/// The real compiler for `language`, as a person would type it.
pub(crate) fn shown(language: Language) -> Result<String, Failure> {
    Ok(Real::find(language)?.shown())
}

/// Lets the real compiler take this process's place.
pub(crate) fn replace_process(language: Language, arguments: &[OsString]) -> Failure {
    match command(language, arguments) {
        Ok(mut command) => {
            let program = command.get_program().to_string_lossy().into_owned();
            let error = command.exec();
            Failure::missing(format!("cannot run the compiler {program}: {error}"))
        }
        Err(failure) => failure,
    }
}
