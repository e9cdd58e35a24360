//! What can go wrong with a trace, and where.

use std::fmt;
use std::path::{Path, PathBuf};

/// Why a trace could not be read, or not further, or not written.
#[derive(Debug)]
pub struct Error {
    /// What sort of failure it is.
    pub kind: ErrorKind,
    /// The file.
    pub path: PathBuf,
    /// Where in the file.
    pub at: At,
    /// What is wrong there, as a phrase.
    pub reason: String,
}

/// The sorts of failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ErrorKind {
    /// The operating system refused to open, read or write the file.
    Io,
    /// The file is no trace that we know.
    Foreign,
    /// The file was written by a later version.
    Future,
    /// The file ends too early.
    Truncated,
    /// The file's content contradicts its format.
    Corrupt,
    /// An event cannot be expressed in the format that is being written.
    Unsupported,
}

/// A position in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum At {
    /// The file as a whole.
    File,
    /// An offset in bytes, from 0.
    Byte(u64),
    /// A position in a text, both from 1; columns count bytes.
    Line {
        /// The line.
        line: u64,
        /// The column.
        column: u64,
    },
}

impl Error {
    /// An error from its parts.
    pub(crate) fn new(kind: ErrorKind, path: &Path, at: At, reason: impl Into<String>) -> Self {
        Error { kind, path: path.to_owned(), at, reason: reason.into() }
    }

    /// A failure of the operating system.
    pub(crate) fn io(path: &Path, at: At, error: &std::io::Error) -> Self {
        Error::new(ErrorKind::Io, path, at, error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}", self.path.display())?;
        match self.at {
            At::File => write!(out, ": {}", self.reason),
            At::Byte(offset) => write!(out, ": byte {offset}: {}", self.reason),
            At::Line { line, column } => write!(out, ":{line}:{column}: {}", self.reason),
        }
    }
}

impl std::error::Error for Error {}
