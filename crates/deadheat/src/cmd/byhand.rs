//! `deadheat tell-by-hand`: tells the races of a program that was started by hand. The runtime in that program runs it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use clap::ValueEnum;
use deadheat_core::options;
use deadheat_report::format::named;
use nix::time::{ClockId, clock_gettime};
use tempfile::NamedTempFile;

use crate::args::{Common, When};
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::tell::output::{Output, Stream};
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

/// Tells the races; ends with [`options::TOLD`] unless there is nothing to tell.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let texts: Vec<&[u8]> = args.options.iter().map(|text| text.as_bytes()).collect();
    let told = match inherited(&args.trace) {
        Ok(copy) => tell(args, copy.as_ref().map_or(&args.trace, |copy| copy.path()), &texts, common),
        Err(error) => Err(Failure::input(format!("{}: {error}", args.trace.display()))),
    };
    match told {
        Ok(Exit::SUCCESS) => return Ok(Exit::SUCCESS),
        Ok(_) => {}
        // A program that has nothing to tell asks nobody: what became of the telling does not change that it has.
        Err(failure) => say!("deadheat: {failure}"),
    }
    Ok(Exit::Program(options::TOLD))
}

/// A copy of the standard input, which the trace is as well, where there is no `/proc` by which it could be opened.
fn inherited(trace: &Path) -> io::Result<Option<NamedTempFile>> {
    if trace.exists() || !trace.starts_with("/proc") {
        return Ok(None);
    }
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    input.rewind()?;
    let mut copy = NamedTempFile::new()?;
    io::copy(&mut input, &mut copy)?;
    Ok(Some(copy))
}

/// Tells the races of a trace as the options say; the code is 66 or 0.
fn tell(args: &Args, trace: &Path, texts: &[&[u8]], common: &Common) -> Result<Exit, Failure> {
    let value = |name| options::value(texts, name).filter(|value| !value.is_empty());
    if let Some(when) =
        value("color").and_then(|value| When::from_str(str::from_utf8(value).ok()?, false).ok())
    {
        when.apply();
    }
    let path = |name| value(name).map(|value| Path::new(OsStr::from_bytes(value)));
    let format = format(texts);
    let (stream, log) = match path("log_path") {
        Some(name) if name.as_os_str() == "stdout" => (Stream::Output, None),
        Some(name) if name.as_os_str() != "stderr" => (Stream::Errors, Some(name)),
        _ => (Stream::Errors, None),
    };
    let flag = |name| value(name).and_then(options::yes);
    let log = log.map(|name| {
        let mut name = name.as_os_str().to_owned();
        if flag("log_exe_name") == Some(true) {
            name.push(".");
            name.push(program(args.process).file_name().unwrap_or_default());
        }
        name.push(format!(".{}", args.process));
        name.push(OsStr::from_bytes(value("log_suffix").unwrap_or_default()));
        PathBuf::from(name)
    });
    let suppressions = path("suppressions").and_then(|path| readable(path, args.process));
    let own = args.suppressions.to_string_lossy().into_owned();
    let adds = log.as_ref().is_some_and(|path| is_of(path, args.process));
    let prefix = String::from_utf8_lossy(value("strip_path_prefix").unwrap_or_default());
    let output = Output::by_hand(format, stream, log, adds).strip(&prefix);
    let telling = Telling::by_hand(output, suppressions, own);
    let unwanted = options::FINDINGS
        .iter()
        .filter(|row| flag(row.0) == Some(false))
        .flat_map(|row| row.1)
        .copied()
        .collect();
    // ThreadSanitizer tells of a cycle only where each lock was asked for, unless it is asked for more.
    let brief = format == "tsan" && flag("second_deadlock_stack") != Some(true);
    let leave_out = LeaveOut {
        libraries: flag("ignore_noninstrumented_modules") == Some(true),
        atomics: flag("report_atomic_races") == Some(false),
    };
    tell::by_hand(trace, (unwanted, brief), leave_out, &telling, common)
}

/// The form that is asked for; `text`, and a warning that names who asks, if there is none such.
fn format<'a>(texts: &[&'a [u8]]) -> &'a str {
    let sources = ["__tsan_default_options"].into_iter().chain(options::VARIABLES);
    let asks = |(source, text): (&'static str, &&'a [u8])| Some((source, options::value(&[text], "format")?));
    let asked = sources.zip(texts).filter_map(asks).last().filter(|(_, value)| !value.is_empty());
    let Some((source, value)) = asked else { return "text" };
    if let Some(format) = str::from_utf8(value).ok().and_then(named) {
        return format.name;
    }
    let value = String::from_utf8_lossy(value);
    say!("deadheat: warning: {source}: there is no format `{value}`; this is `text`");
    "text"
}

/// The file that a process runs.
fn program(process: u32) -> PathBuf {
    fs::read_link(format!("/proc/{process}/exe")).unwrap_or_default()
}

/// The file, or the one beside the program; none, and a warning, if neither can be read.
fn readable(path: &Path, process: u32) -> Option<PathBuf> {
    let beside = program(process).parent().unwrap_or(Path::new("")).join(path);
    let fault = match fs::read(path) {
        Ok(_) => return Some(path.to_owned()),
        Err(_) if fs::read(&beside).is_ok() => return Some(beside),
        Err(fault) => fault,
    };
    say!("deadheat: warning: cannot read the suppressions {}: {fault}", path.display());
    None
}

/// Whether a log is of this process, which may have become another program since it told something: whether it was
/// changed since the process began. Another one may have had its number before.
fn is_of(log: &Path, process: u32) -> bool {
    /// Clocks of files and of processes differ by some milliseconds, and may be set.
    const ABOUT: Duration = Duration::from_secs(1);
    let changed = fs::metadata(log).and_then(|about| about.modified());
    match (changed, start_of(process)) {
        (Ok(changed), Some(start)) => changed + ABOUT >= start,
        // What is not known to be old is not thrown away.
        _ => true,
    }
}

/// When a process began, whatever programs it has been since.
fn start_of(process: u32) -> Option<SystemTime> {
    /// A hundredth of a second, on every machine.
    const TICK: Duration = Duration::from_millis(10);
    /// Behind the name of the program, which may hold anything and is in parentheses.
    const START: usize = 19;
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let ticks = fields.split_whitespace().nth(START)?.parse().ok()?;
    let now = Duration::from(clock_gettime(ClockId::CLOCK_BOOTTIME).ok()?);
    SystemTime::now().checked_sub(now.saturating_sub(TICK.checked_mul(ticks)?))
}
