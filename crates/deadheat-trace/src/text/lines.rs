//! Reads a format line by line.

use std::path::Path;

use super::import::{BATCH, Import, Parsed, Usual, Wrong};
use crate::error::{At, Error, ErrorKind};
use crate::source::Source;
use crate::summary::{Ending, Summary};
use crate::tables::Tables;
use crate::visit::Visit;

/// Bytes that are read at a time.
const CHUNK: usize = 64 << 10;

/// A longer line is refused.
const LINE_MAX: usize = 1 << 20;

/// A format whose unit is the line.
pub(crate) trait Parser {
    /// What a line says, without its end; `None` if it says nothing.
    fn line(&mut self, line: &[u8], import: &mut Import<'_>) -> Result<Option<Parsed>, Wrong>;

    /// A quicker way for the most frequent sort of line; `None` if [`Self::line`] is needed.
    #[inline(always)]
    fn usual(&mut self, _line: &[u8], _import: &Import<'_>) -> Option<Usual> {
        None
    }
}

/// Delivers every event of a text.
///
/// # Errors
/// What cannot be read or understood, with its line and column.
pub(crate) fn drive(
    mut parser: impl Parser,
    (source, path): (&mut Source, &Path),
    tables: &mut Tables,
    summary: &mut Summary,
    visit: &mut impl Visit,
) -> Result<(), Error> {
    let mut import = Import::new(tables);
    let (mut buffer, mut kept, mut offset, mut line) = (vec![0; CHUNK], 0, 0, 1);
    let end = loop {
        let got = match source.read(&mut buffer[kept..], offset) {
            Ok(got) => got,
            Err(error) => break Err(Error::io(path, At::Byte(offset), &error)),
        };
        offset += got as u64;
        let (bytes, last) = (&buffer[..kept + got], kept + got < buffer.len());
        match lines(&mut parser, bytes, last, &mut line, &mut import, visit) {
            Ok(Some(taken)) if !last => {
                kept = bytes.len() - taken;
                buffer.copy_within(taken.., 0);
                if kept == buffer.len() {
                    buffer.resize((kept * 2).min(LINE_MAX + CHUNK), 0);
                }
                if kept > LINE_MAX {
                    let reason = "the line is too long";
                    break Err(Error::new(ErrorKind::Corrupt, path, At::Line { line, column: 1 }, reason));
                }
            }
            Ok(_) => break Ok(()),
            Err(Wrong(column, reason)) => {
                let at = At::Line { line, column: column as u64 + 1 };
                break Err(Error::new(ErrorKind::Corrupt, path, at, reason));
            }
        }
    };
    import.sum_up(summary);
    (summary.bytes, summary.event_bytes) = (offset, offset);
    summary.ending = if end.is_ok() { Ending::Clean } else { Ending::Cut };
    end
}

/// Delivers the whole lines of `bytes` (and the last one without an end if no more will come);
/// gives how many bytes they took, or `None` if the visitor wants no more.
fn lines(
    parser: &mut impl Parser,
    bytes: &[u8],
    last: bool,
    number: &mut u64,
    import: &mut Import<'_>,
    visit: &mut impl Visit,
) -> Result<Option<usize>, Wrong> {
    let (mut at, mut batch) = (0, Vec::with_capacity(BATCH));
    while at < bytes.len() {
        let rest = &bytes[at..];
        let (line, next) = match memchr::memchr(b'\n', rest) {
            Some(len) => (&rest[..len], at + len + 1),
            None if last => (rest, bytes.len()),
            None => break,
        };
        if let Some(usual) = parser.usual(line, import) {
            batch.push(usual);
            if batch.len() == BATCH && !import.deliver_all(&mut batch, visit) {
                return Ok(None);
            }
        } else {
            // Events and names keep the order of the lines.
            if !import.deliver_all(&mut batch, visit) {
                return Ok(None);
            }
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if let Some(parsed) = parser.line(line, import)?
                && !import.deliver(parsed, visit)
            {
                return Ok(None);
            }
        }
        *number += 1;
        at = next;
    }
    Ok(import.deliver_all(&mut batch, visit).then_some(at))
}
