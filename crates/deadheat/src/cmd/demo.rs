//! `deadheat demo`: builds a small racy program that is built in, hunts it, and replays its proof.

use std::path::{Path, PathBuf};

use crate::args::Common;
use crate::cmd::{hunt, replay};
use crate::compiler::{self, Language};
use crate::exit::{Context, Exit, Failure};
use crate::say::say;
use crate::traces::Scratch;

/// How to tell the demonstration's race.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the program, its source and the hunt in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    telling: hunt::Telling,
}

const SOURCE: (&str, &str) = ("cache.c", include_str!("../demo/cache.c"));
const PROGRAM: &str = "./cache";
/// The hunt's folder, and what is written of the replay.
const HUNT: &str = "deadheat.hunt";
const REPLAY: &str = "deadheat.hunt/replay.jsonl";

/// Builds and hunts the program; the code is 66.
pub(crate) fn run(args: Args, common: &Common) -> Result<Exit, Failure> {
    let scratch = Scratch::make()?;
    let folder = args.keep.as_deref().unwrap_or(scratch.path());
    build(folder)?;
    if !common.quiet {
        say!("deadheat: built cache.c with {}", compiler::shown(Language::C)?);
    }
    // Sources are shown relative to the present folder.
    std::env::set_current_dir(folder).context(|| format!("cannot enter {}", folder.display()))?;
    let exit = hunt::run(&hunt::Args::of(PROGRAM, HUNT, args.telling), common)?;
    if let Some(proof) = hunt::first_proof(Path::new(HUNT))? {
        replay::run(&replay::Args::of(proof, PROGRAM, REPLAY), common)?;
    }
    Ok(exit)
}

/// Writes the source to a folder and compiles it there.
pub(crate) fn build(folder: &Path) -> Result<(), Failure> {
    let what = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).context(what)?;
    std::fs::write(folder.join(SOURCE.0), SOURCE.1).context(what)?;
    let arguments = ["-O1", "-g", "-pthread", "cache.c", "-o", "cache"].map(Into::into);
    let mut command = compiler::command(Language::C, &arguments)?;
    let shown = command.get_program().to_string_lossy().into_owned();
    let status = command
        .current_dir(folder)
        .status()
        .map_err(|error| Failure::missing(format!("cannot run the compiler {shown}: {error}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::missing(format!(
        "{shown} could not build the demonstration (its messages are above); a C compiler with its library and \
         linker is needed (Debian: apt install gcc libc6-dev)"
    )))
}
