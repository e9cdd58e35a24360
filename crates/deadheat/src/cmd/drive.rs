//! `deadheat build`: runs a build system with `CC` and `CXX` set to our compilers.

use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::process::Command;

use crate::args::Common;
use crate::exit::{Context, Exit, Failure};

/// What to build, and how.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The build command
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<OsString>,
}

/// Runs the build command.
pub(crate) fn run(args: Args, _common: &Common) -> Result<Exit, Failure> {
    let own = std::env::current_exe().context(|| "cannot find this program".to_owned())?;
    let folder = std::env::temp_dir().join(format!("deadheat-compilers-{}", std::process::id()));
    std::fs::create_dir_all(&folder).context(|| format!("cannot make {}", folder.display()))?;
    let mut command = Command::new(&args.command[0]);
    command.args(&args.command[1..]);
    for (variable, name) in [("CC", "deadheat-cc"), ("CXX", "deadheat-c++")] {
        let link = folder.join(name);
        symlink(&own, &link).context(|| format!("cannot make {}", link.display()))?;
        command.env(variable, link);
    }
    let status = command.status().map_err(|error| {
        Failure::missing(format!("cannot run {}: {error}", args.command[0].to_string_lossy()))
    })?;
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
    Ok(Exit::Program(u8::try_from(code).unwrap_or(u8::MAX)))
}
