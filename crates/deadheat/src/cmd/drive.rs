//! `deadheat build`: runs a build system with our compilers in place of the usual ones.

use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;

use crate::args::Common;
use crate::child::{self, End, Launch};
use crate::compiler::real::Real;
use crate::compiler::{self, Language};
use crate::exit::{Exit, Failure};
use crate::launchers::Launchers;
use crate::say::say;
use crate::traces::Scratch;

/// What to build, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The build command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs the build command; ends with its code.
pub(crate) fn run(args: Args, common: &Common) -> Result<Exit, Failure> {
    child::find(&args.command)?;
    let (c, c_chosen) = real(Language::C)?;
    // A machine, and a project, may do without C++: then its compiler is missed when it is called.
    let (cxx, cxx_chosen) = real(Language::Cxx).unwrap_or_else(|_| (Real::absent(Language::Cxx), false));
    let launchers = Launchers::write(&c, &cxx, c_chosen || cxx_chosen)?;
    let scratch = Scratch::make()?;
    let mark = scratch.path().join("called");
    let mut environment = launchers.environment()?;
    environment.push((compiler::MARK.into(), mark.clone().into_os_string()));
    let end = child::run(&Launch::plain(&args.command, environment))?;
    if end == End::Exited(0) && !mark.exists() && !common.quiet {
        say!(
            "deadheat: nothing was compiled through deadheat: either all was up to date (clean it and build \
             again), or the build calls its compiler by a path of its own (give it the one in $CC)"
        );
    }
    Ok(end.exit())
}

/// The real compiler: what `DEADHEAT_CC` (or `DEADHEAT_CXX`) names, else what `CC` (or `CXX`)
/// names, else the system's; and whether somebody chose it.
fn real(language: Language) -> Result<(Real, bool), Failure> {
    let usual = match language {
        Language::C => "CC",
        Language::Cxx => "CXX",
    };
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty());
    if named(language.variable()).is_some() {
        return Ok((Real::find(language)?, true));
    }
    match named(usual).filter(|value| !value.as_bytes().windows(8).any(|part| part == b"deadheat")) {
        Some(value) => Ok((Real::from_words(language, &value, usual)?, true)),
        None => Ok((Real::find(language)?, false)),
    }
}
