//! `deadheat demo`: builds a small racy program that is built in, runs it, tells its race.

use std::path::{Path, PathBuf};

use crate::args::Common;
use crate::cmd::record::Program;
use crate::cmd::run::watch;
use crate::compiler::{self, Language};
use crate::exit::{Context, Exit, Failure};
use crate::tell::{Judging, Telling};
use crate::traces::Scratch;

/// How to tell the demonstration's race.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Leave the program and its source in this folder
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    judging: Judging,
    #[command(flatten)]
    telling: Telling,
}

const FILES: [(&str, &str); 2] =
    [("cache.c", include_str!("../demo/cache.c")), ("order.h", include_str!("../demo/order.h"))];

/// Builds and watches the program; the code is 66.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let scratch = Scratch::make()?;
    let folder = args.keep.as_deref().unwrap_or(scratch.path());
    build(folder)?;
    if !common.quiet {
        anstream::eprintln!("deadheat: built cache.c with {}", compiler::shown(Language::C)?);
    }
    // Sources are shown relative to the present folder.
    std::env::set_current_dir(folder).context(|| format!("cannot enter {}", folder.display()))?;
    watch(&Program::named("./cache"), None, &args.judging, &args.telling, common)
}

/// Writes the source to a folder and compiles it there.
pub(crate) fn build(folder: &Path) -> Result<(), Failure> {
    let what = || format!("cannot write to {}", folder.display());
    std::fs::create_dir_all(folder).context(what)?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text).context(what)?;
    }
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
