//! The files of one recording: the trace itself, and one for each further process (`T.<pid>`,
//! `T.<pid>.2`, …).

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use deadheat_core::wire::header;

use crate::exit::{Context, Failure};

/// Makes room for a recording to `trace`: removes the files of an earlier one and sees to it
/// that new ones can be made. Gives the absolute path.
pub(crate) fn prepare(trace: &Path) -> Result<PathBuf, Failure> {
    let what = || format!("cannot write the trace {}", trace.display());
    let path = std::path::absolute(trace).context(what)?;
    if path.is_dir() {
        return Err(Failure::usage(format!("{} is a folder, not a place for a trace", trace.display())));
    }
    for old in of_children(&path) {
        fs::remove_file(&old).context(|| format!("cannot replace {}", old.display()))?;
    }
    if path.symlink_metadata().is_ok() {
        fs::remove_file(&path).context(what)?;
    }
    // The runtime can only be silent where it cannot write: ask here.
    File::create_new(&path).context(what)?;
    fs::remove_file(&path).context(what)?;
    Ok(path)
}

/// All traces of a recording to `trace` that are there, the program's own first.
pub(crate) fn of(trace: &Path) -> Vec<PathBuf> {
    let own = trace.is_file().then(|| trace.to_owned());
    own.into_iter().chain(of_children(trace)).collect()
}

/// The traces of further processes.
fn of_children(trace: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(name)) = (trace.parent(), trace.file_name()) else { return Vec::new() };
    let mut prefix = OsString::from(name);
    prefix.push(".");
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries
        .filter(|entry| numbered(&entry.file_name(), &prefix))
        .map(|entry| entry.path())
        .filter(|path| is_trace(path))
        .collect();
    found.sort();
    found
}

/// Whether a name is the prefix and then numbers with dots between.
fn numbered(name: &OsStr, prefix: &OsStr) -> bool {
    name.as_bytes().strip_prefix(prefix.as_bytes()).is_some_and(|rest| {
        rest.split(|&byte| byte == b'.').all(|part| !part.is_empty() && part.iter().all(u8::is_ascii_digit))
    })
}

fn is_trace(path: &Path) -> bool {
    let mut magic = [0; header::MAGIC.len()];
    File::open(path).and_then(|mut file| file.read_exact(&mut magic)).is_ok() && magic == header::MAGIC
}

/// How names of such folders begin.
const SCRATCH: &str = "deadheat-";

/// A folder among the temporary files that is removed when this value goes.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// Makes one that nobody else can look into.
    pub(crate) fn make() -> Result<Scratch, Failure> {
        let base = std::env::temp_dir();
        let mut template = base.join(format!("{SCRATCH}XXXXXX")).into_os_string();
        template = nix::unistd::mkdtemp(template.as_os_str())
            .context(|| format!("cannot make a folder in {}", base.display()))?
            .into_os_string();
        Ok(Scratch(template.into()))
    }

    /// One that another process of ours has made.
    pub(crate) fn of(path: &Path) -> Option<Scratch> {
        let is_ours = path.file_name()?.as_bytes().starts_with(SCRATCH.as_bytes());
        (is_ours && path.parent()? == std::env::temp_dir()).then(|| Scratch(path.to_owned()))
    }

    /// Its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_follow() {
        let is = |name: &str| numbered(OsStr::new(name), OsStr::new("T."));
        assert!(is("T.12") && is("T.12.2"));
        assert!(!is("T.") && !is("T.x") && !is("T.12.") && !is("U.12") && !is("T"));
    }
}
