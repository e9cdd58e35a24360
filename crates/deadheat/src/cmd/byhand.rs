//! `deadheat tell-by-hand`: tells the races of a program that was started by hand. The runtime in that program runs it.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use deadheat_core::options;
use deadheat_report::format::named;

use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::tell::{self, LeaveOut, Telling};

/// What the runtime hands over.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace
    trace: PathBuf,
    /// The process
    process: u32,
    /// What the program says, then the environment
    #[arg(num_args = 3, required = true, allow_hyphen_values = true)]
    options: Vec<OsString>,
    /// Suppressions that the program brings along
    #[arg(allow_hyphen_values = true)]
    suppressions: OsString,
}

/// Tells the races; ends with the code that the program is to end with, 0 for its own.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let texts: Vec<&[u8]> = args.options.iter().map(|text| text.as_bytes()).collect();
    match tell(args, &texts, common) {
        Ok(Exit::SUCCESS) => return Ok(Exit::SUCCESS),
        Ok(_) => {}
        // A program that has nothing to tell asks nobody: what became of the telling does not change that it has.
        Err(failure) => say!("deadheat: {failure}"),
    }
    Ok(Exit::Program(options::exit_code(&texts)))
}

/// Tells the races as the options say; the code is 66 or 0.
fn tell(args: &Args, texts: &[&[u8]], common: &Common) -> Result<Exit, Failure> {
    let value = |name| options::value(texts, name).filter(|value| !value.is_empty());
    let path = |name| value(name).map(|value| Path::new(OsStr::from_bytes(value)));
    let format = value("format").map_or("text".into(), String::from_utf8_lossy);
    let format = if named(&format).is_some() {
        &*format
    } else {
        say!("deadheat: warning: there is no format `{format}`; this is `text`");
        "text"
    };
    let output = path("log_path").filter(|path| path.as_os_str() != "stderr").map(|path| {
        let mut path = path.as_os_str().to_owned();
        path.push(format!(".{}", args.process));
        PathBuf::from(path)
    });
    let suppressions = path("suppressions").and_then(|path| readable(path, args.process));
    let own = args.suppressions.to_string_lossy().into_owned();
    let telling = Telling::by_hand(format, output, suppressions, own);
    let off = |name| value(name).and_then(options::yes) == Some(false);
    let unwanted = options::FINDINGS.iter().filter(|row| off(row.0)).flat_map(|row| row.1).copied().collect();
    // ThreadSanitizer tells of a cycle only where each lock was asked for, unless it is asked for more.
    let brief = format == "tsan" && value("second_deadlock_stack").and_then(options::yes) != Some(true);
    let flag = |name| value(name).and_then(options::yes);
    let leave_out = LeaveOut {
        libraries: flag("ignore_noninstrumented_modules") == Some(true),
        atomics: flag("report_atomic_races") == Some(false),
    };
    tell::by_hand(&args.trace, (unwanted, brief), leave_out, &telling, common)
}

/// The file, or the one beside the program; none, and a warning, if neither can be read.
fn readable(path: &Path, process: u32) -> Option<PathBuf> {
    let program = fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default();
    let beside = program.parent().unwrap_or(Path::new("")).join(path);
    let fault = match fs::read(path) {
        Ok(_) => return Some(path.to_owned()),
        Err(_) if fs::read(&beside).is_ok() => return Some(beside),
        Err(fault) => fault,
    };
    say!("deadheat: warning: cannot read the suppressions {}: {fault}", path.display());
    None
}
