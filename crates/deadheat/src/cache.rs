//! Where deadheat keeps what it can make again: the runtime's objects, what it knows of the
//! compilers, the launchers of `deadheat build`.
//!
//! Invariant: a file appears under its name whole or not at all, however many processes of a
//! parallel build write it at once.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::exit::Failure;

/// The folder, made if need be: `DEADHEAT_CACHE`, else `deadheat` in `XDG_CACHE_HOME` or in
/// `~/.cache`; if the home cannot be written, one of the user's own among the temporary files.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    if let Some(named) = named("DEADHEAT_CACHE") {
        return usable(&named).map(|()| named.clone()).map_err(|error| {
            Failure::own(format!("cannot use DEADHEAT_CACHE={}: {error}", named.display()))
        });
    }
    let user = nix::unistd::geteuid();
    let candidates = [
        named("XDG_CACHE_HOME").map(|folder| folder.join("deadheat")),
        named("HOME").map(|home| home.join(".cache").join("deadheat")),
        Some(std::env::temp_dir().join(format!("deadheat-{user}"))),
    ];
    let mut last = None;
    for candidate in candidates.into_iter().flatten() {
        match usable(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(error) => last = Some((candidate, error)),
        }
    }
    Err(match last {
        Some((folder, error)) => Failure::own(format!(
            "no folder to keep the runtime in: {}: {error}; name one in DEADHEAT_CACHE",
            folder.display()
        )),
        None => Failure::own("no folder to keep the runtime in; name one in DEADHEAT_CACHE"),
    })
}

fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .filter(|value| !value.is_empty())
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}

/// Makes the folder if need be, and refuses one that is another user's or cannot be written.
fn usable(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let owner = fs::metadata(folder)?.uid();
    if owner != nix::unistd::geteuid().as_raw() {
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it belongs to another user"));
    }
    nix::unistd::access(folder, nix::unistd::AccessFlags::W_OK).map_err(io::Error::from)
}

/// Sees to it that `path` holds `content`. A file of the right size is taken for right: the
/// names under which this is called change with the content.
pub(crate) fn ensure(path: &Path, content: &[u8], mode: u32) -> Result<(), Failure> {
    if is_there(path, content.len()) {
        return Ok(());
    }
    replace(path, content, mode)
        .map_err(|error| Failure::own(format!("cannot write {}: {error}", path.display())))
}

/// Whether `path` is a file of `length` bytes, which [`ensure`] takes for right.
pub(crate) fn is_there(path: &Path, length: usize) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == length as u64)
}

/// Writes the whole file beside its place and moves it there. The name beside it is nobody else's: not that of a process with the
/// same number in another namespace of processes, as the sandboxes of a build have.
fn replace(path: &Path, content: &[u8], mode: u32) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let mut beside =
        tempfile::Builder::new().permissions(Permissions::from_mode(mode)).tempfile_in(folder)?;
    beside.write_all(content)?;
    beside.persist(path).map(drop).map_err(|refused| refused.error)
}

/// A name for `parts`: equal parts give the same name, different ones do not in practice (FNV-1a
/// of 128 bits; nothing here needs to withstand an attacker, who could write the cache anyway).
pub(crate) fn name_of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    let mut hash: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    for part in parts {
        for &byte in part.iter().chain(&(part.len() as u64).to_le_bytes()) {
            hash = (hash ^ u128::from(byte)).wrapping_mul(PRIME);
        }
    }
    format!("{hash:032x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_parts_apart() {
        let names =
            [&[&b"ab"[..], b"c"][..], &[b"a", b"bc"], &[b"abc"]].map(|parts| name_of(parts.iter().copied()));
        assert!(names[0] != names[1] && names[1] != names[2] && names[0] != names[2], "{names:?}");
    }
}
