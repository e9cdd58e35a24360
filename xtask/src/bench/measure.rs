//! One run of one command: processor time, elapsed time and peak memory.
//!
//! The operating system adds up what all finished children of a process used. So each command is run by
//! a process of its own (this program again, under [`NAME`]) that has no other children; what it waited
//! for is the command and whatever the command waited for in turn.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::{Outcome, Stop};

/// The name under which the measuring process is started.
pub(crate) const NAME: &str = "measure-one";

/// What a run cost.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Cost {
    /// Processor seconds, in user mode and in the kernel.
    pub(crate) cpu: f64,
    /// Elapsed seconds.
    pub(crate) elapsed: f64,
    /// Most memory that one of its processes had at once, in KiB. Not below what the measuring process
    /// itself has (some 3 MiB), since a child starts as its copy.
    pub(crate) peak: f64,
    /// The exit code, or 128 + the signal.
    pub(crate) code: i32,
}

/// A command to measure.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// The program and its arguments.
    pub(crate) words: Vec<OsString>,
    /// Variables to set (or, without a value, to remove).
    pub(crate) environment: Vec<(&'static str, Option<OsString>)>,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    /// What takes its standard output.
    pub(crate) output: PathBuf,
    /// What takes its standard error.
    pub(crate) messages: PathBuf,
    /// When to kill it.
    pub(crate) timeout: Duration,
}

impl Run {
    /// Runs it once.
    pub(crate) fn measure(&self) -> Outcome<Cost> {
        let costs = self.messages.with_extension("cost");
        let own = std::env::current_exe().map_err(|e| Stop::failed(format!("cannot find myself: {e}")))?;
        let mut command = Command::new(own);
        command.arg("bench").arg(NAME).arg(&costs).arg(self.timeout.as_millis().to_string());
        command.args(&self.words).current_dir(&self.folder).stdin(Stdio::null());
        command.stdout(create(&self.output)?).stderr(create(&self.messages)?);
        for (name, value) in &self.environment {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        let _ = fs::remove_file(&costs);
        command.status().map_err(|e| Stop::failed(format!("cannot run {:?}: {e}", self.words)))?;
        let text = fs::read_to_string(&costs).map_err(|e| Stop::failed(format!("{:?}: {e}", self.words)))?;
        let _ = fs::remove_file(&costs);
        Cost::parse(&text).ok_or_else(|| Stop::missing(format!("{:?}: {}", self.words[0], text.trim())))
    }

    /// Runs it and insists on one of these exit codes.
    pub(crate) fn expect(&self, codes: &[i32]) -> Outcome<Cost> {
        let cost = self.measure()?;
        self.ended(cost, codes)
    }

    /// Insists that a run ended with one of these exit codes.
    pub(crate) fn ended(&self, cost: Cost, codes: &[i32]) -> Outcome<Cost> {
        if codes.contains(&cost.code) {
            return Ok(cost);
        }
        let messages = fs::read(&self.messages).unwrap_or_default();
        let tail = String::from_utf8_lossy(&messages[messages.len().saturating_sub(1500)..]).into_owned();
        Err(Stop::failed(format!("{:?} ended with {}:\n{tail}", self.words, cost.code)))
    }
}

impl Cost {
    fn parse(text: &str) -> Option<Cost> {
        let mut numbers = text.split(' ').map(|word| word.trim().parse::<f64>());
        let mut next = || numbers.next()?.ok();
        Some(Cost { cpu: next()?, elapsed: next()?, peak: next()?, code: next()? as i32 })
    }
}

/// Makes an empty file.
pub(crate) fn create(path: &Path) -> Outcome<File> {
    File::create(path).map_err(|e| Stop::failed(format!("cannot write {}: {e}", path.display())))
}

/// The measuring process: `COSTS MILLISECONDS PROGRAM ARGUMENTS…`.
pub(crate) fn child(arguments: &[OsString]) -> ExitCode {
    let [costs, timeout, program, rest @ ..] = arguments else { return ExitCode::from(2) };
    let timeout = Duration::from_millis(timeout.to_string_lossy().parse().unwrap_or(u64::MAX));
    let text = match run_and_account(program, rest, timeout) {
        Ok(cost) => format!("{} {} {} {}", cost.cpu, cost.elapsed, cost.peak, cost.code),
        Err(error) => format!("cannot be run: {error}"),
    };
    match fs::write(costs, text) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn run_and_account(program: &OsString, rest: &[OsString], timeout: Duration) -> std::io::Result<Cost> {
    let started = Instant::now();
    let mut child = Command::new(program).args(rest).process_group(0).spawn()?;
    let group = Pid::from_raw(child.id() as i32);
    let (over, watched) = mpsc::channel::<()>();
    let watchdog = std::thread::spawn(move || {
        if watched.recv_timeout(timeout) == Err(mpsc::RecvTimeoutError::Timeout) {
            let _ = killpg(group, Signal::SIGKILL);
        }
    });
    let status = child.wait()?;
    let elapsed = started.elapsed().as_secs_f64();
    drop(over);
    let _ = watchdog.join();
    let used = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(Cost {
        cpu: seconds(used.user_time()) + seconds(used.system_time()),
        elapsed,
        peak: used.max_rss() as f64,
        code: status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_read_back_and_a_complaint_is_none() {
        let cost = Cost { cpu: 0.25, elapsed: 0.5, peak: 4096.0, code: 66 };
        assert_eq!(Cost::parse("0.25 0.5 4096 66"), Some(cost));
        assert_eq!(Cost::parse("cannot be run: no such file"), None);
    }

    #[test]
    fn a_run_is_accounted_and_bounded() {
        let words = |list: &[&str]| list.iter().map(OsString::from).collect::<Vec<_>>();
        let shell = OsString::from("sh");
        let ended = run_and_account(&shell, &words(&["-c", "exit 3"]), Duration::from_secs(60));
        assert_eq!(ended.map(|cost| cost.code).ok(), Some(3));
        let killed = run_and_account(&shell, &words(&["-c", "sleep 600"]), Duration::from_millis(50));
        assert_eq!(killed.map(|cost| cost.code).ok(), Some(128 + 9));
    }
}
