//! Source text for a report: where it comes from, and what part of a line is meant.

use std::ops::Range;
use std::path::{Path, PathBuf};

/// Source files above this size are not shown.
const LARGEST: u64 = 64 << 20;

/// Where the text of source files comes from.
pub trait Sources {
    /// The text of a file as the report names it; `None` if it is missing or newer than the
    /// program that ran.
    fn text(&self, file: &str) -> Option<String>;
}

impl<T: Sources + ?Sized> Sources for &T {
    fn text(&self, file: &str) -> Option<String> {
        (**self).text(file)
    }
}

/// No sources: stacks only.
pub struct NoSources;

impl Sources for NoSources {
    fn text(&self, _file: &str) -> Option<String> {
        None
    }
}

/// The files of this machine.
pub struct Files {
    folder: PathBuf,
    not_after: Option<u64>,
}

impl Files {
    /// Files named relative to `folder`. One that was changed after `not_after` (seconds since
    /// 1970) is not shown: its lines are not those that ran.
    #[must_use]
    pub fn new(folder: impl Into<PathBuf>, not_after: Option<u64>) -> Files {
        Files { folder: folder.into(), not_after }
    }
}

impl Sources for Files {
    fn text(&self, file: &str) -> Option<String> {
        let path = self.folder.join(Path::new(file));
        let about = std::fs::metadata(&path).ok()?;
        if !about.is_file() || about.len() > LARGEST {
            return None;
        }
        let changed = about.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
        if self.not_after.is_some_and(|limit| changed > limit) {
            return None;
        }
        String::from_utf8(std::fs::read(path).ok()?).ok()
    }
}

/// The bytes of `text` that a place means: the word or operator at the column (from 1, in
/// bytes), or the whole line without its indentation. `None` if there is no such line or it is
/// blank.
#[must_use]
pub fn span(text: &str, line: u32, column: Option<u32>) -> Option<Range<usize>> {
    let index = (line as usize).checked_sub(1)?;
    let start: usize = text.split_inclusive('\n').take(index).map(str::len).sum();
    let line = text.get(start..)?.lines().next()?;
    let indent = line.len() - line.trim_start().len();
    if line.trim().is_empty() {
        return None;
    }
    let whole = start + indent..start + line.trim_end().len();
    let at = column.and_then(|column| (column as usize).checked_sub(1));
    let Some(rest) = at.and_then(|at| line.get(at..)) else { return Some(whole) };
    let Some(first) = rest.chars().next().filter(|first| !first.is_whitespace()) else { return Some(whole) };
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let operator = |c: char| "+-*/%&|^~!=<>".contains(c);
    let class: &dyn Fn(char) -> bool = if word(first) { &word } else { &operator };
    let length = rest.find(|c| !class(c)).unwrap_or(rest.len()).max(first.len_utf8());
    let at = start + line.len() - rest.len();
    Some(at..at + length)
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn a_place_is_a_word_an_operator_or_a_line() {
        let text = "int x;\n\n\tsize_ += 1; // é\nlast";
        for (line, column, meant) in [
            (1, Some(5), Some("x")),
            (3, Some(2), Some("size_")),
            (3, Some(8), Some("+=")),
            (3, None, Some("size_ += 1; // é")),
            (3, Some(99), Some("size_ += 1; // é")),
            (3, Some(18), Some("size_ += 1; // é")),
            (4, Some(1), Some("last")),
            (2, Some(1), None),
            (5, Some(1), None),
            (0, None, None),
        ] {
            assert_eq!(span(text, line, column).map(|found| &text[found]), meant, "{line}:{column:?}");
        }
    }
}
