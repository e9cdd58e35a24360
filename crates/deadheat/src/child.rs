//! Running a program under test: its input and output are ours, signals sent to us reach it, its
//! end becomes ours.

use std::ffi::{CString, OsStr, OsString};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use deadheat_core::wire;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawn};
use nix::sys::personality::{self, Persona};
use nix::sys::signal::{SigSet, SigmaskHow, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

use crate::compiler::real::find_program;
use crate::exit::{Context, Exit, Failure};

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    /// By itself, with this code.
    Exited(u8),
    /// Killed by this signal.
    Signalled(Signal),
    /// Still running when its time was over; it has been killed.
    TimedOut,
}

impl End {
    /// The code that deadheat ends with if it has nothing of its own to tell: 128 + n for a
    /// program killed by signal n, as in the shell.
    pub(crate) fn exit(self) -> Exit {
        match self {
            End::Exited(code) => Exit::Program(code),
            End::Signalled(signal) => Exit::Program(128_u8.wrapping_add(signal as u8)),
            End::TimedOut => Exit::Timeout,
        }
    }
}

/// Signals that are passed on.
const PASSED_ON: [Signal; 6] =
    [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM, Signal::SIGUSR1, Signal::SIGUSR2];

/// Time between asking a program to end and ending it.
pub(crate) const GRACE: Duration = Duration::from_secs(2);

/// Asks for a session of its own, in which it leads a process group.
const NEW_SESSION: PosixSpawnFlags =
    PosixSpawnFlags::from_bits_retain(nix::libc::POSIX_SPAWN_SETSID as nix::libc::c_int);

/// Finds the program of a command line.
pub(crate) fn find(command: &[OsString]) -> Result<PathBuf, Failure> {
    let name = command.first().map_or(OsStr::new(""), OsString::as_os_str);
    find_program(name).ok_or_else(|| {
        let shown = name.to_string_lossy();
        // Without a slash it is looked for in the folders of PATH.
        let there = if name.as_bytes().contains(&b'/') { Path::new(name).try_exists() } else { Ok(false) };
        Failure::missing(match there {
            Ok(true) => format!("{shown} is not an executable program (chmod +x?)"),
            Ok(false) => format!("there is no program {shown}; build it first, or check its path"),
            Err(fault) => format!("cannot look at the program {shown}: {fault}"),
        })
    })
}

/// What to run, and how.
pub(crate) struct Launch<'a> {
    /// The program and its arguments.
    pub(crate) command: &'a [OsString],
    /// Variables to set, or (without a value) to take away.
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    /// When to end it.
    pub(crate) timeout: Option<Duration>,
    /// Where its streams lead, and where it runs.
    pub(crate) apart: Apart,
}

/// What a program has of its own; by default everything is ours.
#[derive(Default)]
pub(crate) struct Apart {
    /// Standard input.
    pub(crate) input: Option<PathBuf>,
    /// Standard output.
    pub(crate) output: Option<OwnedFd>,
    /// Standard error.
    pub(crate) errors: Option<OwnedFd>,
    /// The folder that it runs in.
    pub(crate) folder: Option<PathBuf>,
    /// Whether it has a session of its own: all that it starts can be ended with it, and there is no
    /// terminal that it could wait for.
    pub(crate) session: bool,
}

impl<'a> Launch<'a> {
    /// A program whose runtime is to write the trace `path` (absolute).
    pub(crate) fn recording(command: &'a [OsString], path: &Path, timeout: Option<Duration>) -> Launch<'a> {
        Launch::told("mode=record", command, path, timeout)
    }

    /// A program whose runtime is to record to `path` (absolute) as a gate file beside it says.
    pub(crate) fn monitored(command: &'a [OsString], path: &Path, timeout: Option<Duration>) -> Launch<'a> {
        Launch::told("mode=record;gate=1", command, path, timeout)
    }

    /// A program whose runtime is to find races, and to write them into the trace `path` (absolute).
    pub(crate) fn detecting(command: &'a [OsString], path: &Path, timeout: Option<Duration>) -> Launch<'a> {
        Launch::told("mode=detect", command, path, timeout)
    }

    /// A program whose runtime is to do both: record to the trace `path` (absolute), and find races.
    pub(crate) fn recording_and_detecting(
        command: &'a [OsString],
        path: &Path,
        timeout: Option<Duration>,
    ) -> Launch<'a> {
        Launch::told("mode=record+detect", command, path, timeout)
    }

    /// A program whose runtime is to hold accesses as the gate file beside `path` (absolute) says.
    pub(crate) fn provoked(command: &'a [OsString], path: &Path, timeout: Option<Duration>) -> Launch<'a> {
        Launch::told("mode=provoke", command, path, timeout)
    }

    fn told(what: &str, command: &'a [OsString], path: &Path, timeout: Option<Duration>) -> Launch<'a> {
        let mut wire = OsString::from(format!("1;{what};trace="));
        wire.push(path);
        let environment = vec![(wire::ENV.into(), Some(wire))];
        Launch { command, environment, timeout, apart: Apart::default() }
    }

    /// A program that is not under test, nor is what it starts.
    pub(crate) fn plain(command: &'a [OsString], set: Vec<(OsString, OsString)>) -> Launch<'a> {
        let set = set.into_iter().map(|(name, value)| (name, Some(value)));
        let environment = set.chain([(wire::ENV.into(), Some("1;mode=off".into()))]).collect();
        Launch { command, environment, timeout: None, apart: Apart::default() }
    }

    /// The whole environment, as `NAME=value`.
    fn environment(&self) -> Vec<Vec<u8>> {
        let changed = |name: &OsString| self.environment.iter().any(|(other, _)| other == name);
        let kept = std::env::vars_os().filter(|(name, _)| !changed(name));
        let set = self.environment.iter().filter_map(|(name, value)| Some((name.clone(), value.clone()?)));
        kept.chain(set)
            .map(|(name, value)| [name.into_vec(), b"=".to_vec(), value.into_vec()].concat())
            .collect()
    }
}

/// Signals that are read from a descriptor instead of ending us; those of children's ends too.
pub(crate) struct Caught {
    signals: SignalFd,
    before: SigSet,
}

impl Caught {
    /// Catches them from here on, in this thread.
    pub(crate) fn new() -> nix::Result<Caught> {
        let mut caught = SigSet::from_iter(PASSED_ON);
        caught.add(Signal::SIGCHLD);
        // Blocked, and read from a descriptor instead: no handler, and none is lost.
        let before = caught.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let signals = SignalFd::with_flags(&caught, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK);
        if signals.is_err() {
            let _ = before.thread_set_mask();
        }
        Ok(Caught { signals: signals?, before })
    }

    /// Waits until one comes, at most until `deadline`, and hands those that did to `take`, each
    /// with whether the terminal sent it (to the whole group).
    pub(crate) fn wait(
        &self,
        deadline: Option<Instant>,
        mut take: impl FnMut(Signal, bool),
    ) -> nix::Result<()> {
        let wait = match deadline {
            None => PollTimeout::NONE,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                // Rounded up, so that the loop does not spin through the last millisecond.
                PollTimeout::try_from(left + Duration::from_millis(1)).unwrap_or(PollTimeout::MAX)
            }
        };
        match poll(&mut [PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)], wait) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(error) => return Err(error),
        }
        while let Some(signal) = self.signals.read_signal()? {
            const FROM_KERNEL: i32 = 0x80;
            if let Ok(number) = Signal::try_from(signal.ssi_signo as i32)
                && number != Signal::SIGCHLD
            {
                take(number, signal.ssi_code == FROM_KERNEL);
            }
        }
        Ok(())
    }

    /// Starts a program, with the signals as they were before they were caught.
    pub(crate) fn start(&self, program: &Path, launch: &Launch<'_>) -> Result<Pid, Failure> {
        let Some(folder) = &launch.apart.folder else { return start(program, launch, &self.before) };
        let what = || format!("cannot enter {}", folder.display());
        let here = std::env::current_dir().context(|| "cannot tell the present folder".to_owned())?;
        std::env::set_current_dir(folder).context(what)?;
        let child = start(program, launch, &self.before);
        std::env::set_current_dir(&here).context(what)?;
        child
    }
}

impl Drop for Caught {
    fn drop(&mut self) {
        let _ = self.before.thread_set_mask();
    }
}

/// Runs the program to its end.
pub(crate) fn run(launch: &Launch<'_>) -> Result<End, Failure> {
    run_to_end(launch).map(|(end, _)| end)
}

/// Runs the program to its end. The second value is the last signal that asked us to end meanwhile.
pub(crate) fn run_to_end(launch: &Launch<'_>) -> Result<(End, Option<Signal>), Failure> {
    let program = find(launch.command)?;
    let what = || format!("cannot run {}", program.display());
    let caught = Caught::new().context(what)?;
    let child = caught.start(&program, launch)?;
    watch(child, &caught, launch.timeout.map(|time| Instant::now() + time)).context(what)
}

fn start(program: &Path, launch: &Launch<'_>, mask: &SigSet) -> Result<Pid, Failure> {
    let c_string = |text: Vec<u8>| CString::new(text).context(|| "an argument holds a NUL byte".to_owned());
    let path = c_string(program.as_os_str().as_bytes().to_vec())?;
    let arguments = launch.command.iter().map(|argument| c_string(argument.as_bytes().to_vec()));
    let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
    let environment = launch.environment().into_iter().map(c_string).collect::<Result<Vec<_>, _>>()?;
    let Apart { input, output, errors, session, .. } = &launch.apart;
    let open = |path: &PathBuf| File::open(path).context(|| format!("cannot read {}", path.display()));
    let input: Option<OwnedFd> = input.as_ref().map(open).transpose()?.map(OwnedFd::from);
    let spawn = || {
        let mut streams = PosixSpawnFileActions::init()?;
        for (number, stream) in [&input, output, errors].into_iter().enumerate() {
            if let Some(stream) = stream {
                streams.add_dup2(stream.as_raw_fd(), number as i32)?;
            }
        }
        let mut attributes = PosixSpawnAttr::init()?;
        attributes.set_sigmask(mask)?;
        // Rust ignores this one at its start; programs expect to be killed by it.
        attributes.set_sigdefault(&SigSet::from_iter([Signal::SIGPIPE]))?;
        let mut flags = PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK | PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF;
        flags.set(NEW_SESSION, *session);
        attributes.set_flags(flags)?;
        // Addresses that repeat make runs easier to compare. It may be forbidden and is not needed.
        let persona = personality::get();
        if let Ok(persona) = persona {
            let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
        }
        let child = posix_spawn(&*path, &streams, &attributes, &arguments, &environment);
        if let Ok(persona) = persona {
            let _ = personality::set(persona);
        }
        child
    };
    spawn().map_err(|error| match error {
        Errno::ENOEXEC => Failure::missing(format!(
            "{} is neither a program nor a script with `#!` in its first line",
            program.display()
        )),
        Errno::ENOENT => Failure::missing(format!(
            "cannot run {}: the interpreter or loader that it names is missing",
            program.display()
        )),
        Errno::EACCES => Failure::missing(format!("cannot run {}: permission denied", program.display())),
        other => Failure::own(format!("cannot run {}: {other}", program.display())),
    })
}

/// Waits for the child's end, passing signals on.
fn watch(child: Pid, caught: &Caught, deadline: Option<Instant>) -> nix::Result<(End, Option<Signal>)> {
    let (mut deadline, mut interrupted) = (deadline, None);
    let mut asked_to_end = false;
    let mut killed: Vec<Pid> = Vec::new();
    loop {
        if let Some(end) = ended(child)? {
            // Those that the program started must not outlive its time either.
            for &pid in &killed {
                let _ = kill(pid, Signal::SIGKILL);
            }
            return Ok((if asked_to_end { End::TimedOut } else { end }, interrupted));
        }
        caught.wait(deadline, |signal, from_terminal| {
            if asks_to_end(signal) {
                interrupted = Some(signal);
            }
            // What the terminal sends goes to the whole group: the child has it already.
            if !from_terminal {
                let _ = kill(child, signal);
            }
        })?;
        if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let signal = if asked_to_end { Signal::SIGKILL } else { Signal::SIGTERM };
            if !asked_to_end {
                killed = descendants(child);
            }
            for &pid in std::iter::once(&child).chain(&killed) {
                let _ = kill(pid, signal);
            }
            deadline = (!asked_to_end).then(|| Instant::now() + GRACE);
            asked_to_end = true;
        }
    }
}

/// Whether a signal asks a program to end.
pub(crate) fn asks_to_end(signal: Signal) -> bool {
    !matches!(signal, Signal::SIGUSR1 | Signal::SIGUSR2)
}

/// How the child ended, if it did.
pub(crate) fn ended(child: Pid) -> nix::Result<Option<End>> {
    match waitpid(child, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::Exited(_, code)) => Ok(Some(End::Exited(code as u8))),
        Ok(WaitStatus::Signaled(_, signal, _)) => Ok(Some(End::Signalled(signal))),
        Ok(_) | Err(Errno::EINTR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The processes that `parent` started, and theirs, as far as the system tells.
pub(crate) fn descendants(parent: Pid) -> Vec<Pid> {
    let mut found = vec![parent];
    let mut next = 0;
    while let Some(&pid) = found.get(next) {
        next += 1;
        found.extend(children(pid));
    }
    found.split_off(1)
}

/// The processes whose parent `parent` is, as far as the system tells.
pub(crate) fn children(parent: Pid) -> Vec<Pid> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let list = |task: std::fs::DirEntry| std::fs::read_to_string(task.path().join("children"));
    let lists: String = tasks.filter_map(|task| list(task).ok()).collect();
    lists.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid::from_raw).collect()
}
