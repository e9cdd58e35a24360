//! Where a source file lies for tools that know a repository and not the machine that ran it.
//!
//! Invariant: nothing is looked up; paths are told by their text alone.

use std::path::{Component, Path, PathBuf};

/// A source file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Within the root: its path from there, with `/` between the parts.
    Inside(String),
    /// Elsewhere: its path.
    Outside(String),
}

impl Place {
    /// Where `file` lies, which is named relative to `folder` unless it is absolute.
    pub(crate) fn of(file: &str, folder: &str, root: &Path) -> Place {
        let path = normal(&Path::new(folder).join(file));
        match path.strip_prefix(normal(root)) {
            Ok(inside) => Place::Inside(inside.to_string_lossy().into_owned()),
            Err(_) if path.is_absolute() => Place::Outside(path.to_string_lossy().into_owned()),
            Err(_) => Place::Inside(path.to_string_lossy().into_owned()),
        }
    }

    /// The path, wherever it is.
    pub(crate) fn path(&self) -> &str {
        let (Place::Inside(path) | Place::Outside(path)) = self;
        path
    }
}

/// The path without `.` and `..`, as far as its text tells.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if matches!(normal.components().next_back(), Some(Component::Normal(_))) => {
                normal.pop();
            }
            part => normal.push(part),
        }
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_from_the_root_if_it_lies_below() {
        let at = |file, folder| Place::of(file, folder, Path::new("/home/repo"));
        let inside = |path: &str| Place::Inside(path.to_owned());
        assert_eq!(at("src/a.c", "/home/repo"), inside("src/a.c"));
        assert_eq!(at("../src/./a.c", "/home/repo/build"), inside("src/a.c"));
        assert_eq!(at("/home/repo/src/a.c", "/tmp"), inside("src/a.c"));
        assert_eq!(at("/usr/include/a.h", "/home/repo"), Place::Outside("/usr/include/a.h".to_owned()));
        assert_eq!(at("../a.c", "/home/repo"), Place::Outside("/home/a.c".to_owned()));
        assert_eq!(at("a.c", ""), inside("a.c"));
        assert_eq!(at("../../a.c", ""), inside("../../a.c"));
    }
}
