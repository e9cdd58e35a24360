//! The hunt's folder: what is in it, who may write to it, and what a hunt needs to go on.

use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io::{BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use deadheat_core::gate::flag;
use serde::{Deserialize, Serialize};

use super::manner::Manner;
use super::nominate::Means;
use super::plan::Scheduler;
use super::progress::Advice;
use super::targets::Part;
use crate::args::Common;
use crate::exit::{Context, Failure};
use crate::say::say;
use crate::traces;

/// The most bytes of standard input that are kept for re-runs.
const MOST_INPUT: u64 = 1 << 30;
/// After so long a silence the reader learns what is waited for.
const SILENCE: Duration = Duration::from_secs(1);

/// A hunt's folder, ours as long as this value lives.
pub(crate) struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _settings: File,
}

/// What is hunted, and how: kept for `--resume`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// The program and its arguments.
    pub(crate) command: Vec<OsString>,
    /// The folder that it runs in.
    pub(crate) folder: PathBuf,
    /// `slice:m/n`, if only a part of the targets is hunted.
    pub(crate) partition: Option<String>,
    /// The seed of the order of targets.
    pub(crate) seed: u64,
    /// How often a target is tried.
    pub(crate) tries: u32,
    /// When a run is ended.
    pub(crate) timeout: Option<Duration>,
    /// Whether each run has its own copy of the folder.
    pub(crate) isolate: bool,
    /// What is run before each run.
    pub(crate) setup: Option<String>,
    /// What is run after each run.
    pub(crate) teardown: Option<String>,
    /// Whether memory functions are seen inside.
    pub(crate) no_fold_memory: bool,
    /// Who nominates beside the conflicts.
    pub(crate) nominate: Vec<String>,
    /// What is done otherwise than usual.
    pub(crate) manner: Manner,
}

impl Settings {
    /// The flags that every run's gate file has.
    pub(crate) fn flags(&self) -> u64 {
        self.manner.flags() | if self.no_fold_memory { flag::PARTS } else { 0 }
    }

    /// The schedule of this hunt, without targets.
    pub(crate) fn scheduler(&self, watched: Duration) -> Scheduler {
        let scheduler = Scheduler::new(watched, self.tries, self.seed);
        if self.manner.ranks() { scheduler } else { scheduler.without_ranks() }
    }

    /// What nominates.
    pub(crate) fn means(&self) -> Means {
        Means { options: self.manner.nomination(), by: self.nominate.clone() }
    }

    /// The part of the targets that is hunted.
    pub(crate) fn part(&self) -> Result<Part, Failure> {
        let part = self.partition.as_deref().map(str::parse).transpose();
        Ok(part.map_err(|reason| Failure::input(format!("{SETTINGS}: {reason}")))?.unwrap_or(Part::WHOLE))
    }
}

const SETTINGS: &str = "hunt.json";

impl Folder {
    /// Makes the folder, in place of that of an earlier hunt.
    pub(crate) fn make(path: &Path, settings: &Settings) -> Result<Folder, Failure> {
        let what = || format!("cannot write to {}", path.display());
        let path = std::path::absolute(path).context(what)?;
        fs::create_dir_all(&path).context(what)?;
        let empty = fs::read_dir(&path).context(what)?.next().is_none();
        if !empty && !path.join(SETTINGS).exists() {
            return Err(Failure::usage(format!(
                "{} is no folder of a hunt and not empty; name another with -o",
                path.display()
            )));
        }
        let folder = Folder::locked(path)?;
        for old in [folder.targets(), folder.runs(), folder.report(), folder.path.join("stdin")] {
            if old.exists() {
                fs::remove_file(&old).context(|| format!("cannot replace {}", old.display()))?;
            }
        }
        // In place: it is this file that is locked.
        let text = serde_json::to_vec(settings).context(what)?;
        fs::write(folder.path.join(SETTINGS), text).context(what)?;
        traces::prepare(&folder.trace())?;
        Ok(folder)
    }

    /// Opens the folder of a hunt that is to go on.
    pub(crate) fn open(path: &Path) -> Result<(Folder, Settings), Failure> {
        let settings = Folder::settings(path)?;
        let path = std::path::absolute(path).context(|| format!("cannot find {}", path.display()))?;
        Ok((Folder::locked(path)?, settings))
    }

    /// The settings of the hunt in a folder.
    pub(crate) fn settings(path: &Path) -> Result<Settings, Failure> {
        let file = path.join(SETTINGS);
        let text = fs::read(&file).map_err(|error| {
            Failure::input(format!("{} holds no hunt: {}: {error}", path.display(), file.display()))
        })?;
        serde_json::from_slice(&text)
            .map_err(|error| Failure::input(format!("{}:{}: {error}", file.display(), error.line())))
    }

    fn locked(path: PathBuf) -> Result<Folder, Failure> {
        let name = path.join(SETTINGS);
        let what = || format!("cannot write {}", name.display());
        let file = File::options().create(true).append(true).open(&name).context(what)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Failure::usage(format!(
                    "another hunt is at work in {}; wait for its end, or name another folder",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(error).context(what),
        }
        Ok(Folder { path, _settings: file })
    }

    /// The folder's path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The trace of the watched run.
    pub(crate) fn trace(&self) -> PathBuf {
        self.path.join("first.trace")
    }

    /// The targets.
    pub(crate) fn targets(&self) -> PathBuf {
        self.path.join("targets.jsonl")
    }

    /// The log of runs.
    pub(crate) fn runs(&self) -> PathBuf {
        self.path.join("runs.jsonl")
    }

    /// The report.
    pub(crate) fn report(&self) -> PathBuf {
        self.path.join("report.jsonl")
    }

    /// What runs read as their standard input: what was kept of ours, or nothing.
    pub(crate) fn input(&self) -> PathBuf {
        let kept = self.path.join("stdin");
        if kept.exists() { kept } else { PathBuf::from("/dev/null") }
    }

    /// Keeps our standard input, so that each run can read it; a terminal cannot be replayed.
    pub(crate) fn keep_input(&self, common: &Common) -> Result<(), Failure> {
        if std::io::stdin().is_terminal() {
            if !common.quiet {
                say!(
                    "deadheat: the program is run many times and reads nothing from this terminal; give it its \
                     input with `< FILE`"
                );
            }
            return Ok(());
        }
        let path = self.path.join("stdin");
        let what = || format!("cannot keep the standard input in {}", path.display());
        let mut file = File::create(&path).context(what)?;
        let advice = Advice::after(
            (!common.quiet).then_some(SILENCE),
            format!(
                "deadheat: keeping the standard input in {} until it ends, for the re-runs (`< /dev/null` for none)",
                path.display()
            ),
        );
        let kept = copy(&mut std::io::stdin().lock(), &mut file).context(what)?;
        drop(advice);
        if kept > MOST_INPUT {
            return Err(Failure::usage(format!(
                "the standard input is longer than {} MiB and cannot be kept for re-runs",
                MOST_INPUT >> 20
            )));
        }
        Ok(())
    }
}

fn copy(from: &mut impl Read, to: &mut impl Write) -> std::io::Result<u64> {
    std::io::copy(&mut from.take(MOST_INPUT + 1), to)
}

/// Writes a file anew: whole, or not at all.
pub(crate) fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> std::io::Result<()>,
) -> Result<(), Failure> {
    let what = || format!("cannot write {}", path.display());
    let part = path.with_extension("part");
    let mut file = BufWriter::new(File::create(&part).context(what)?);
    write(&mut file).context(what)?;
    file.into_inner().context(what)?;
    fs::rename(&part, path).context(what)
}

/// Copies a working folder for a run of its own; `without` is left out. Files, folders and links;
/// sockets, pipes and devices are not copied.
pub(crate) fn copy_tree(from: &Path, to: &Path, without: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type()?;
        if source == without {
            continue;
        }
        if kind.is_dir() {
            copy_tree(&source, &target, without)?;
        } else if kind.is_symlink() {
            std::os::unix::fs::symlink(fs::read_link(&source)?, &target)?;
        } else if kind.is_file() {
            fs::copy(&source, &target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::Scratch;

    #[test]
    fn a_folder_has_one_hunt_at_a_time_and_only_its_own_files() {
        let scratch = Scratch::make().expect("a folder");
        let path = scratch.path().join("h");
        let settings = Settings { seed: 7, command: vec!["./p".into()], ..Settings::default() };
        let folder = Folder::make(&path, &settings).expect("made");
        assert!(Folder::make(&path, &settings).is_err(), "it is locked");
        drop(folder);
        assert_eq!(Folder::open(&path).expect("opened").1, settings);
        fs::create_dir_all(scratch.path().join("mine")).expect("made");
        fs::write(scratch.path().join("mine/thesis.txt"), "all of it").expect("written");
        assert!(Folder::make(&scratch.path().join("mine"), &settings).is_err());
    }

    #[test]
    fn a_tree_is_copied_with_its_links() {
        let scratch = Scratch::make().expect("a folder");
        let from = scratch.path().join("from");
        fs::create_dir_all(from.join("in/side")).expect("made");
        fs::create_dir_all(from.join("hunt")).expect("made");
        fs::write(from.join("in/side/file"), "x").expect("written");
        std::os::unix::fs::symlink("in", from.join("link")).expect("linked");
        let to = scratch.path().join("to");
        copy_tree(&from, &to, &from.join("hunt")).expect("copied");
        assert_eq!(fs::read(to.join("link/side/file")).expect("there"), b"x");
        assert!(!to.join("hunt").exists());
    }
}
