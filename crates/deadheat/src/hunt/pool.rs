//! Several runs at once: started, watched for their time, and ended with all they started.
//!
//! Invariant: no process of a run that was in its group outlives the run.

use std::collections::VecDeque;
use std::io::{PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill, killpg};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;

use crate::child::{self, Caught, End, GRACE, Launch};
use crate::exit::{Context, Failure};

/// How much of what a run says to standard error is kept.
const TAIL: usize = 16 << 10;
/// How long the last of it is waited for.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// The runs under way.
pub(crate) struct Pool {
    caught: Caught,
    running: Vec<Running>,
    interrupted: Option<Signal>,
}

struct Running {
    key: u64,
    child: Pid,
    started: Instant,
    deadline: Option<Instant>,
    asked: Option<Asked>,
    tail: Option<Tail>,
}

/// A run was asked to end.
struct Asked {
    why: Why,
    /// Monotonic time, just before.
    when: Duration,
    /// What it had started by then.
    started: Vec<Pid>,
}

/// Why a run was ended by us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Why {
    Time,
    Stopped,
}

/// A run that is over.
#[derive(Debug)]
pub(crate) struct Ended {
    /// The key that it was started with.
    pub(crate) key: u64,
    /// How it ended.
    pub(crate) end: End,
    /// Whether [`Pool::stop`] ended it.
    pub(crate) stopped: bool,
    /// Monotonic time just before it was asked to end, if it was.
    pub(crate) asked: Option<Duration>,
    /// How long it took.
    pub(crate) took: Duration,
    /// The last of what it said to standard error.
    pub(crate) said: String,
}

impl Pool {
    /// An empty pool. Signals that would end us are caught as long as it lives.
    pub(crate) fn new() -> Result<Pool, Failure> {
        let caught = Caught::new().context(|| "cannot watch over processes".to_owned())?;
        Ok(Pool { caught, running: Vec::new(), interrupted: None })
    }

    /// How many runs are under way.
    pub(crate) fn len(&self) -> usize {
        self.running.len()
    }

    /// The processes of the runs under way.
    pub(crate) fn processes(&self) -> Vec<Pid> {
        self.running.iter().map(|run| run.child).collect()
    }

    /// The signal that asked us to end, if one did.
    pub(crate) fn interrupted(&self) -> Option<Signal> {
        self.interrupted
    }

    /// Starts a run. Its output is shown or lost; what it says to standard error is kept in part.
    pub(crate) fn start(
        &mut self,
        key: u64,
        program: &Path,
        mut launch: Launch<'_>,
        show: bool,
    ) -> Result<(), Failure> {
        let what = || format!("cannot run {}", program.display());
        let (reader, writer) = std::io::pipe().context(what)?;
        launch.apart.errors = Some(OwnedFd::from(writer));
        if !show {
            let nowhere = std::fs::File::options().write(true).open("/dev/null").context(what)?;
            launch.apart.output = Some(OwnedFd::from(nowhere));
        }
        launch.apart.session = true;
        let started = Instant::now();
        let child = self.caught.start(program, &launch)?;
        let deadline = launch.timeout.map(|time| started + time);
        let tail = Tail::of(reader, show);
        self.running.push(Running { key, child, started, deadline, asked: None, tail });
        Ok(())
    }

    /// Runs a command to its end while the others go on.
    pub(crate) fn run(&mut self, program: &Path, launch: &Launch<'_>) -> Result<End, Failure> {
        let what = || format!("cannot run {}", program.display());
        let child = self.caught.start(program, launch)?;
        loop {
            if let Some(end) = child::ended(child).context(what)? {
                return Ok(end);
            }
            self.listen(None).context(what)?;
            if self.interrupted.is_some() {
                let _ = kill(child, Signal::SIGTERM);
            }
        }
    }

    /// Waits until a run is over, a signal asks us to end, or `until`. Gives the runs that are
    /// over.
    pub(crate) fn wait(&mut self, until: Instant) -> Result<Vec<Ended>, Failure> {
        let what = || "cannot watch over processes".to_owned();
        loop {
            let mut over = Vec::new();
            for index in (0..self.running.len()).rev() {
                if let Some(end) = child::ended(self.running[index].child).context(what)? {
                    over.push(self.running.swap_remove(index).over(end));
                }
            }
            let now = Instant::now();
            if !over.is_empty() || now >= until || (self.interrupted.is_some() && !self.all_asked()) {
                return Ok(over);
            }
            self.running.iter_mut().for_each(|run| run.keep_time(now));
            let next = self.running.iter().filter_map(|run| run.deadline).min();
            self.listen(Some(next.map_or(until, |next| next.min(until)))).context(what)?;
        }
    }

    /// Ends all runs; they come out of [`Self::wait`] as stopped.
    pub(crate) fn stop(&mut self) {
        for run in &mut self.running {
            run.ask(Why::Stopped);
        }
    }

    fn all_asked(&self) -> bool {
        self.running.iter().all(|run| run.asked.is_some())
    }

    fn listen(&mut self, until: Option<Instant>) -> nix::Result<()> {
        let interrupted = &mut self.interrupted;
        self.caught.wait(until, |signal, _| {
            if child::asks_to_end(signal) {
                *interrupted = Some(signal);
            }
        })
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        for run in &self.running {
            let _ = killpg(run.child, Signal::SIGKILL);
        }
    }
}

impl Running {
    /// Ends the run if its time is over.
    fn keep_time(&mut self, now: Instant) {
        if self.deadline.is_none_or(|deadline| now < deadline) {
            return;
        }
        match &self.asked {
            None => self.ask(Why::Time),
            Some(asked) => {
                let _ = killpg(self.child, Signal::SIGKILL);
                end_all(&asked.started, Signal::SIGKILL);
                self.deadline = None;
            }
        }
    }

    fn ask(&mut self, why: Why) {
        if self.asked.is_none() {
            let started = child::descendants(self.child);
            let when = clock_gettime(ClockId::CLOCK_MONOTONIC).map_or(Duration::ZERO, Duration::from);
            let _ = killpg(self.child, Signal::SIGTERM);
            end_all(&started, Signal::SIGTERM);
            self.asked = Some(Asked { why, when, started });
            self.deadline = Some(Instant::now() + GRACE);
        }
    }

    fn over(self, end: End) -> Ended {
        let took = self.started.elapsed();
        // What is left of its group would take time and ports from the runs that follow.
        let _ = killpg(self.child, Signal::SIGKILL);
        let (why, asked) = match self.asked {
            Some(Asked { why, when, started }) => {
                end_all(&started, Signal::SIGKILL);
                (Some(why), Some(when))
            }
            None => (None, None),
        };
        let end = if why == Some(Why::Time) { End::TimedOut } else { end };
        let said = self.tail.map_or(String::new(), Tail::take);
        Ended { key: self.key, end, stopped: why == Some(Why::Stopped), asked, took, said }
    }
}

fn end_all(processes: &[Pid], signal: Signal) {
    for &pid in processes {
        let _ = kill(pid, signal);
    }
}

/// The end of what a run says to standard error, read as it comes.
struct Tail {
    kept: Arc<Mutex<VecDeque<u8>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    fn of(mut pipe: PipeReader, show: bool) -> Option<Tail> {
        let kept = Arc::new(Mutex::new(VecDeque::new()));
        let into = Arc::clone(&kept);
        let read = move || {
            let mut part = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut part) {
                if show {
                    let _ = std::io::stderr().write_all(&part[..count]);
                }
                let mut kept = into.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend(&part[..count]);
                let too_many = kept.len().saturating_sub(TAIL);
                kept.drain(..too_many);
            }
        };
        let reader = std::thread::Builder::new().name("errors".to_owned()).spawn(read).ok()?;
        Some(Tail { kept, reader })
    }

    fn take(self) -> String {
        // One that left the run's group may hold the pipe for ever.
        let until = Instant::now() + LAST_WORDS;
        while !self.reader.is_finished() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes: Vec<u8> = kept.iter().copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
