//! `deadheat completions` and `deadheat man`: what shells and `man` want to know of the command line.

use std::path::PathBuf;

use clap::{Args as _, CommandFactory};
use clap_complete::Shell;

use crate::args::{Cli, Common};
use crate::exit::{Context, Exit, Failure};
use crate::say::{self, say};

/// For which shell.
#[derive(clap::Args)]
pub(crate) struct CompletionArgs {
    /// The shell; its completions go to standard output
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Where to.
#[derive(clap::Args)]
pub(crate) struct ManArgs {
    /// The folder that the pages are written to, one for each command
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Writes a shell's completions.
pub(crate) fn completions(args: &CompletionArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut shown(), "deadheat", &mut script);
    say::answer(&script)?;
    Ok(Exit::SUCCESS)
}

/// The command line without the commands that deadheat alone gives, which shells would offer all the same.
fn shown() -> clap::Command {
    let all = Cli::command();
    let shown: Vec<_> = all.get_subcommands().filter(|command| !command.is_hide_set()).cloned().collect();
    Common::augment_args(clap::Command::new("deadheat").version(env!("CARGO_PKG_VERSION"))).subcommands(shown)
}

/// Writes the manual's pages.
pub(crate) fn man(args: &ManArgs, common: &Common) -> Result<Exit, Failure> {
    let what = || format!("cannot write to {}", args.folder.display());
    std::fs::create_dir_all(&args.folder).context(what)?;
    clap_mangen::generate_to(Cli::command(), &args.folder).context(what)?;
    if !common.quiet {
        say!("deadheat: the pages are in {}", args.folder.display());
    }
    Ok(Exit::SUCCESS)
}
