//! What the command line says: lines for people on standard error, answers on standard output.
//!
//! Invariant: who does not listen changes nothing. What standard error does not take is lost, and the code stays what it
//! would have been; a reader of standard output that has read enough is no fault. Any other failure to write an answer is.

use std::io::{self, ErrorKind, Write};

use crate::exit::{Context, Failure};

/// As `eprintln!`, but a full disk or a closed pipe behind standard error ends nothing.
macro_rules! say {
    ($($words:tt)*) => {
        $crate::say::line(::std::format!($($words)*))
    };
}
pub(crate) use say;

/// Says a line to people.
pub(crate) fn line(mut text: String) {
    text.push('\n');
    // There is nobody left to tell of a failure.
    let _ = anstream::stderr().write_all(text.as_bytes());
}

/// Gives an answer on standard output.
pub(crate) fn answer(text: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout();
    heard(out.write_all(text).and_then(|()| out.flush()))
        .context(|| "cannot write standard output".to_owned())
}

/// What became of an answer: a pipe that was closed has been read as far as somebody wanted.
pub(crate) fn heard(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}
