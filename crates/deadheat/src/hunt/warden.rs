//! What runs leave behind, found by a mark in the environment, and ended.
//!
//! A process may leave its group, its session and its parent; it keeps its environment. Orphans
//! become children of the hunt, which ends those of each run after it. If the hunt itself is
//! killed, a small process of ours that waits for that ends whatever bears the hunt's mark.
//!
//! Invariant: nothing that bears the mark outlives the hunt, in whatever way the hunt ends.

use std::ffi::{OsStr, OsString};
use std::io::sink;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid, waitpid};
use nix::unistd::Pid;

use crate::child::{self, GRACE};
use crate::exit::{Context, Exit, Failure};
use crate::traces::Scratch;

/// The variable whose value is the folder of a run.
const MARK: &str = "DEADHEAT_HUNT";
/// The hidden command of the process that outlives a killed hunt.
pub(crate) const COMMAND: &str = "hunt-warden";
/// Time between two looks at processes that were killed and are not gone yet.
const LOOK: Duration = Duration::from_millis(1);
/// How often a process without any environment is looked at that is not ending: it may just be
/// replaced by another program.
const LOOKS_AT_HIDDEN: u32 = 20;

/// Ends what the runs of a hunt leave behind.
pub(crate) struct Warden {
    scratch: Scratch,
    guard: Child,
}

/// Whose a child of the hunt is.
enum Whose {
    /// Of the run with this number.
    Run(u64),
    /// Of a command around runs, or what has taken off its mark.
    Other,
    /// It has no environment: it is ending, just being replaced by another program, or was started with none.
    Hidden,
    /// It has ended.
    Nobody,
}

impl Warden {
    /// Watches from here on; makes the folder for the runs.
    pub(crate) fn start() -> Result<Warden, Failure> {
        let scratch = Scratch::make()?;
        // Where it is forbidden, orphans that have left their group are found at the end.
        let _ = set_child_subreaper(true);
        let mut guard = Command::new("/proc/self/exe");
        guard.arg0("deadheat").arg(COMMAND).arg(scratch.path());
        guard.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        // What ends our group, such as the terminal, is no reason for it to end.
        let guard = guard.process_group(0).spawn().context(|| "cannot watch over processes".to_owned())?;
        Ok(Warden { scratch, guard })
    }

    /// The folder of a run; 0 is the watched one.
    pub(crate) fn folder(&self, run: u64) -> PathBuf {
        self.scratch.path().join(run.to_string())
    }

    /// What is to be in the environment of everything that is started for a run.
    pub(crate) fn mark(&self, run: u64) -> (OsString, Option<OsString>) {
        (MARK.into(), Some(self.folder(run).into()))
    }

    /// The same for commands around runs: what they start may go on until the hunt is over.
    pub(crate) fn mark_of_commands(&self) -> (OsString, Option<OsString>) {
        (MARK.into(), Some(self.scratch.path().into()))
    }

    /// Ends what runs that are over have left behind: orphans, since those of their groups are ended.
    /// `is_under_way` tells the numbers of the runs that go on, `processes` are theirs. Gives how many there were.
    pub(crate) fn end_left(&self, is_under_way: impl Fn(u64) -> bool, processes: &[Pid]) -> usize {
        let is_left = |whose: &Whose| match whose {
            Whose::Run(run) => !is_under_way(*run),
            Whose::Nobody => true,
            Whose::Other | Whose::Hidden => false,
        };
        let until = Instant::now() + GRACE;
        let mut count = 0;
        for look in 0.. {
            count += self.end_children(|pid| !processes.contains(&pid) && is_left(&self.whose(pid)));
            // The children of one that is just ending become ours when it has ended.
            let is_awaited = |pid| match self.whose(pid) {
                Whose::Hidden => look < LOOKS_AT_HIDDEN || is_ending(pid),
                whose => is_left(&whose),
            };
            let mut others = self.children().filter(|pid| !processes.contains(pid));
            if !others.any(is_awaited) || Instant::now() >= until {
                break;
            }
            std::thread::sleep(LOOK);
        }
        count
    }

    /// The children of ours but the guard.
    fn children(&self) -> impl Iterator<Item = Pid> {
        let guard = Pid::from_raw(self.guard.id().cast_signed());
        child::children(Pid::this()).into_iter().filter(move |&pid| pid != guard)
    }

    /// Whose a child of ours is.
    fn whose(&self, pid: Pid) -> Whose {
        if !is_running(pid) {
            return Whose::Nobody;
        }
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if environment.is_empty() {
            return Whose::Hidden;
        }
        let folder = mark_in(&environment).map(OsStr::from_bytes).map(Path::new);
        let name = folder.and_then(|folder| folder.strip_prefix(self.scratch.path()).ok()?.to_str());
        name.and_then(|name| name.parse().ok()).map_or(Whose::Other, Whose::Run)
    }

    /// Ends children of ours but the guard, and theirs, until there are none any more; takes the
    /// ends of those that have ended. Gives how many had to be ended.
    fn end_children(&self, is: impl Fn(Pid) -> bool) -> usize {
        let mut count = 0;
        loop {
            let ours: Vec<Pid> = self.children().filter(|&pid| is(pid)).collect();
            if ours.is_empty() {
                return count;
            }
            for &pid in &ours {
                count += usize::from(is_running(pid));
                for one in std::iter::once(pid).chain(child::descendants(pid)) {
                    let _ = kill(one, Signal::SIGKILL);
                }
            }
            // Their own children become ours as they go.
            if !ours.into_iter().all(is_gone) {
                return count;
            }
        }
    }
}

impl Drop for Warden {
    fn drop(&mut self) {
        // By now no run is under way: whatever is a child of ours was left behind by one.
        self.end_children(|_| true);
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// Waits until a killed child is gone, and takes its end; whether it went in time.
fn is_gone(pid: Pid) -> bool {
    let until = Instant::now() + GRACE;
    while waitpid(pid, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive) {
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(LOOK);
    }
    true
}

/// Whether a child of ours has not ended.
fn is_running(pid: Pid) -> bool {
    let look = WaitPidFlag::WEXITED | WaitPidFlag::WNOHANG | WaitPidFlag::WNOWAIT;
    waitid(Id::Pid(pid), look) == Ok(WaitStatus::StillAlive)
}

/// Whether a process is on its way out: so says the system's flag (`PF_EXITING`), the ninth of its numbers.
fn is_ending(pid: Pid) -> bool {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // The second is its name in parentheses, which may hold anything.
    let flags = text.rsplit_once(')').and_then(|(_, rest)| rest.split_whitespace().nth(6)?.parse().ok());
    flags.is_none_or(|flags: u32| flags & 0x4 != 0)
}

/// The folder that the mark in an environment names.
fn mark_in(environment: &[u8]) -> Option<&[u8]> {
    let mut entries = environment.split(|&byte| byte == 0);
    entries.find_map(|entry| entry.strip_prefix(MARK.as_bytes())?.strip_prefix(b"="))
}

/// Waits for the hunt's end, then ends what bears its mark and removes its folder.
pub(crate) fn guard(folder: &Path) -> Result<Exit, Failure> {
    let refused = || Failure::usage(format!("{} is no folder of a hunt's runs", folder.display()));
    let scratch = Scratch::of(folder).ok_or_else(refused)?;
    std::io::copy(&mut std::io::stdin().lock(), &mut sink()).context(|| "cannot wait".to_owned())?;
    let until = Instant::now() + GRACE;
    // A process that is just being replaced by another program shows no environment: one look more after the one that finds none.
    let mut none_before = false;
    loop {
        let any = end_marked(scratch.path());
        if !any && none_before || Instant::now() >= until {
            return Ok(Exit::SUCCESS);
        }
        none_before = !any;
        std::thread::sleep(LOOK);
    }
}

/// Ends every process of the hunt; whether there was one.
fn end_marked(scratch: &Path) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).map(Pid::from_raw);
    let mut any = false;
    for pid in pids {
        let environment = std::fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let folder = Path::new(OsStr::from_bytes(mark_in(&environment).unwrap_or_default()));
        if folder.starts_with(scratch) {
            any |= kill(pid, Signal::SIGKILL).is_ok();
        }
    }
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_bears_the_mark_is_ended_and_nothing_else() {
        let scratch = Scratch::make().expect("a folder");
        let run =
            |folder: PathBuf| Command::new("sleep").arg("600").env(MARK, folder).spawn().expect("started");
        let mut own = run(scratch.path().join("1"));
        let mut other = run("/nowhere/1".into());
        // Right after it was started its environment may not show yet.
        let end = loop {
            end_marked(scratch.path());
            if let Some(end) = own.try_wait().expect("its state") {
                break end;
            }
        };
        assert!(!end.success());
        assert_eq!(other.try_wait().expect("its state"), None);
        other.kill().expect("ended");
        other.wait().expect("its end");
    }
}
