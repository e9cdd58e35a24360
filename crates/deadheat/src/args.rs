//! The command line as typed: its parser, and the options that all commands share.

use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::cmd;

/// Finds data races in native programs.
#[derive(Parser)]
#[command(name = "deadheat", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: the program's own if nothing was found (128 + n: killed by signal n); 66 races;
2 usage; 65 input that cannot be read; 69 something needed is missing; 70 a fault of deadheat's
own; 124 the program ran past --timeout.";

/// The table of commands: what each one is, and where its options and its work are.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Compile C with instrumentation: a drop-in for `cc`; DEADHEAT_CC names the real compiler
    Cc(cmd::cc::Args),
    /// Compile C++ with instrumentation: a drop-in for `c++`; DEADHEAT_CXX names the real compiler
    #[command(name = "c++")]
    Cxx(cmd::cc::Args),
    /// Run a build system with CC and CXX set to the compilers above
    Build(cmd::drive::Args),
    /// Run a program, tell its races
    Run(cmd::run::Args),
    /// Run a program, write a trace
    Record(cmd::record::Args),
    /// Run a program again and again until conflicting accesses meet: proves races
    Hunt(Box<cmd::hunt::Args>),
    /// Join the parts of a hunt
    Merge(cmd::merge::Args),
    /// Find the races of a recorded run
    Analyze(cmd::analyze::Args),
    /// Make the two threads of a proof meet again
    Replay(cmd::replay::Args),
    /// Ask a rebuilt program whether a race is mended
    Verify(cmd::verify::Args),
    /// Write a report in another form
    Report(cmd::report::Args),
    /// Look into a trace, or convert it from or to another format
    Trace(cmd::trace::Args),
    /// Write the CSP_M model of a variable of a recorded run
    Model(cmd::model::Args),
    /// Check models that are written in CSP_M
    Csp(cmd::csp::Args),
    /// Build and hunt a small racy program that is built in
    Demo(cmd::demo::Args),
    /// Check compilers, linker and limits; build and catch a canary race
    Doctor(cmd::doctor::Args),
    /// Write the completions of a shell
    Completions(cmd::shell::CompletionArgs),
    /// Write the manual's pages
    Man(cmd::shell::ManArgs),
    /// Tell the races of a program that was started by hand
    #[command(name = "tell-by-hand", hide = true)]
    TellByHand(cmd::byhand::Args),
    /// Wait for the end of a hunt, then end what it left behind
    #[command(name = crate::hunt::warden::COMMAND, hide = true)]
    HuntWarden {
        /// The hunt's temporary folder
        folder: std::path::PathBuf,
    },
}

/// Options that every command takes.
#[derive(Args)]
pub(crate) struct Common {
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: When,
    /// When to show progress
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) progress: When,
    /// Say only what was found
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Say more
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// Answer to the question whether something is shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub(crate) enum When {
    /// On a terminal (and not under NO_COLOR).
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl When {
    /// Makes this the choice of everything that is printed through `anstream`.
    pub(crate) fn apply(self) {
        match self {
            When::Auto => anstream::ColorChoice::Auto,
            When::Always => anstream::ColorChoice::Always,
            When::Never => anstream::ColorChoice::Never,
        }
        .write_global();
    }
}

/// Reads a time: seconds, or a number with the unit ms, s, m or h.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("the units are ms, s, m and h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "it does not begin with a number".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times() {
        let read = |text| duration(text).map(|time| time.as_millis());
        assert_eq!(read("3"), Ok(3000));
        assert_eq!(read("1.5s"), Ok(1500));
        assert_eq!(read("250ms"), Ok(250));
        assert_eq!(read("2m"), Ok(120_000));
        for text in ["", "s", "3d", "-1", "1.2.3"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_table_is_sound() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
