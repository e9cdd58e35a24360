//! Compilers as files, for build systems: small scripts that call `deadheat cc` for one real
//! compiler each.
//!
//! The folder is kept, and its name changes with what is in it: build systems remember paths of
//! compilers from one call to the next, and `ccache` tells compilers apart by their files.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use crate::cache;
use crate::compiler::Language;
use crate::compiler::object;
use crate::compiler::real::Real;
use crate::exit::{Context, Failure};

/// Names this folder to the compilers in it, which take it out of `PATH` for the real ones.
pub(crate) const FOLDER: &str = "DEADHEAT_LAUNCHERS";

/// The launchers of one build.
pub(crate) struct Launchers {
    folder: PathBuf,
}

impl Launchers {
    /// Writes launchers for the two real compilers, and for every compiler in `PATH` under its own
    /// name: many build systems call `gcc`, whatever `CC` says. `same`: those lead to the two
    /// compilers, too, because somebody chose them.
    pub(crate) fn write(c: &Real, cxx: &Real, same: bool) -> Result<Launchers, Failure> {
        let own = std::env::current_exe().context(|| "cannot find this program's own file".to_owned())?;
        let mut scripts =
            vec![("deadheat-cc".to_owned(), script(&own, c)), ("deadheat-c++".to_owned(), script(&own, cxx))];
        for (language, name, path) in installed() {
            let chosen = if language == Language::C { c } else { cxx };
            let real = Real::at(language, path);
            scripts.push((name, script(&own, if same { chosen } else { &real })));
        }
        let own_state = Real::at(Language::C, own).fingerprint();
        let parts = scripts.iter().flat_map(|(name, text)| [name.as_bytes(), text.as_slice()]);
        let more = [own_state, c.fingerprint(), cxx.fingerprint()];
        let name = cache::name_of(
            parts.chain(more.iter().map(String::as_bytes)).chain([object::identity().as_bytes()]),
        );
        let folder = cache::folder()?.join("launchers").join(name);
        for (name, text) in &scripts {
            cache::ensure(&folder.join(name), text, 0o700)?;
        }
        Ok(Launchers { folder })
    }

    /// What to set for a build.
    pub(crate) fn environment(&self) -> Result<Vec<(OsString, OsString)>, Failure> {
        let before = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::iter::once(self.folder.clone()).chain(std::env::split_paths(&before));
        let path = std::env::join_paths(folders).context(|| "cannot extend PATH".to_owned())?;
        // We add `-g`, which ccache does not see: it would take objects of another folder, which
        // name their sources there, for these.
        let mut space = std::env::var_os("CCACHE_NAMESPACE").unwrap_or_default();
        space.push(" deadheat ");
        space.push(std::env::current_dir().unwrap_or_default());
        Ok([
            ("CC", self.folder.join("deadheat-cc").into_os_string()),
            ("CXX", self.folder.join("deadheat-c++").into_os_string()),
            ("PATH", path),
            (FOLDER, self.folder.clone().into_os_string()),
            ("CCACHE_NAMESPACE", space),
        ]
        .map(|(name, value)| (name.into(), value))
        .into())
    }
}

/// `PATH` without the launchers: where real compilers are looked for.
pub(crate) fn path_without() -> Option<OsString> {
    let path = std::env::var_os("PATH")?;
    let Some(folder) = std::env::var_os(FOLDER) else { return Some(path) };
    std::env::join_paths(std::env::split_paths(&path).filter(|other| other.as_os_str() != folder)).ok()
}

fn script(own: &Path, real: &Real) -> Vec<u8> {
    let mut text = b"#!/bin/sh\n# Written by `deadheat build`.\n".to_vec();
    text.extend_from_slice(real.language().variable().as_bytes());
    text.push(b'=');
    quote(real.words().as_bytes(), &mut text);
    text.extend_from_slice(b" exec ");
    quote(own.as_os_str().as_bytes(), &mut text);
    text.extend_from_slice(match real.language() {
        Language::C => b" cc \"$@\"\n",
        Language::Cxx => b" c++ \"$@\"\n",
    });
    text
}

/// Quotes a word for the shell.
fn quote(word: &[u8], to: &mut Vec<u8>) {
    to.push(b'\'');
    for &byte in word {
        if byte == b'\'' {
            to.extend_from_slice(b"'\\''");
        } else {
            to.push(byte);
        }
    }
    to.push(b'\'');
}

/// The compilers in `PATH`, each name once.
fn installed() -> Vec<(Language, String, PathBuf)> {
    let path = path_without().unwrap_or_default();
    let mut found: Vec<(Language, String, PathBuf)> = Vec::new();
    for folder in std::env::split_paths(&path).filter(|folder| folder.is_absolute()) {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let Some(language) = language_of(&name) else { continue };
            if !found.iter().any(|(_, other, _)| *other == name) {
                found.push((language, name, entry.path()));
            }
        }
    }
    found.sort_by(|one, other| one.1.cmp(&other.1));
    found
}

/// The language of a compiler by its name, such as `gcc`, `g++-12`, `x86_64-linux-gnu-gcc`,
/// `clang-19`.
fn language_of(name: &str) -> Option<Language> {
    let name = name.strip_prefix("x86_64-linux-gnu-").unwrap_or(name);
    let base = match name.rsplit_once('-') {
        Some((base, version)) if version.bytes().all(|byte| byte.is_ascii_digit()) => base,
        Some(_) => return None,
        None => name,
    };
    match base {
        "cc" | "gcc" | "clang" => Some(Language::C),
        "c++" | "g++" | "clang++" => Some(Language::Cxx),
        _ => None,
    }
}

/// Joins words so that [`crate::compiler::words`] gives them back.
pub(crate) fn join<'a>(words: impl IntoIterator<Item = &'a OsStr>) -> OsString {
    let mut text = Vec::new();
    for word in words {
        if !text.is_empty() {
            text.push(b' ');
        }
        if word.is_empty() {
            text.extend_from_slice(b"\"\"");
        }
        for &byte in word.as_bytes() {
            if byte.is_ascii_whitespace() || matches!(byte, b'\'' | b'"' | b'\\' | 0x0b) {
                text.push(b'\\');
            }
            text.push(byte);
        }
    }
    OsString::from_vec(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiler::words;

    #[test]
    fn compilers_by_name() {
        for name in ["cc", "gcc", "gcc-12", "x86_64-linux-gnu-gcc-12", "clang", "clang-19"] {
            assert_eq!(language_of(name), Some(Language::C), "{name}");
        }
        for name in ["c++", "g++-12", "clang++", "clang++-19", "x86_64-linux-gnu-g++"] {
            assert_eq!(language_of(name), Some(Language::Cxx), "{name}");
        }
        for name in ["gcc-ar", "gcc-ar-12", "clang-format", "clang-cpp-19", "ccache", "aarch64-linux-gnu-gcc"]
        {
            assert_eq!(language_of(name), None, "{name}");
        }
    }

    #[test]
    fn joined_words_split_again() {
        let all = ["a b", "it's", "\"q\"", "plain", "back\\slash", ""].map(OsStr::new);
        assert_eq!(words::split(join(all).as_bytes()), all);
    }
}
