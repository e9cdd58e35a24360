//! RapidBin, the binary format of the RAPID family: a header and one word an event, all
//! big-endian.

use std::path::Path;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{LockMode, Op};
use deadheat_core::ids::PlaceId;

use super::import::{Import, Parsed, SIZE};
use crate::error::{At, Error, ErrorKind};
use crate::source::Source;
use crate::summary::{Ending, Summary};
use crate::tables::Tables;
use crate::visit::Visit;

/// `i16` threads, `i32` locks, `i32` variables, `i64` events.
const HEADER: usize = 18;
const WORD: usize = 8;

/// Bytes that are read at a time; a multiple of a word.
const CHUNK: usize = 64 << 10;

/// Reads RapidBin.
pub(crate) struct Rapid;

impl Rapid {
    /// Delivers every event.
    ///
    /// # Errors
    /// What cannot be read or understood, with its offset.
    pub(crate) fn drive(
        (source, path): (&mut Source, &Path),
        tables: &mut Tables,
        summary: &mut Summary,
        visit: &mut impl Visit,
    ) -> Result<(), Error> {
        let mut import = Import::new(tables);
        let mut offset = 0;
        let end = words((source, path), &mut offset, &mut import, visit);
        import.sum_up(summary);
        (summary.bytes, summary.event_bytes) = (offset, offset.saturating_sub(HEADER as u64));
        summary.ending = if end.is_ok() { Ending::Clean } else { Ending::Cut };
        end
    }
}

fn words(
    (source, path): (&mut Source, &Path),
    offset: &mut u64,
    import: &mut Import<'_>,
    visit: &mut impl Visit,
) -> Result<(), Error> {
    let mut read =
        |out: &mut [u8], at| source.read(out, at).map_err(|error| Error::io(path, At::Byte(at), &error));
    let wrong = |kind, at, reason: &str| Err(Error::new(kind, path, At::Byte(at), reason));
    let mut header = [0; HEADER];
    let got = read(&mut header, 0)?;
    if got < HEADER {
        return wrong(ErrorKind::Truncated, got as u64, "the file ends within its header");
    }
    let mut left = word(&header[10..]);
    *offset = HEADER as u64;
    let mut buffer = vec![0; CHUNK];
    while left > 0 {
        let wanted = usize::try_from(left).map_or(CHUNK, |left| left.saturating_mul(WORD).min(CHUNK));
        let got = read(&mut buffer[..wanted], *offset)?;
        for bytes in buffer[..got - got % WORD].chunks_exact(WORD) {
            match event(word(bytes), import) {
                Ok(parsed) if import.deliver(parsed, visit) => {}
                Ok(_) => return Ok(()),
                Err(reason) => return wrong(ErrorKind::Corrupt, *offset, reason),
            }
            *offset += WORD as u64;
            left -= 1;
        }
        if got < wanted {
            let reason = format!("{left} of the events that the header announces are missing");
            return wrong(ErrorKind::Truncated, *offset + (got % WORD) as u64, &reason);
        }
    }
    if read(&mut buffer[..1], *offset)? > 0 {
        return wrong(ErrorKind::Corrupt, *offset, "there is more than the header announces");
    }
    Ok(())
}

/// Bits 0 to 9 thread, 10 to 13 operation, 14 to 47 operand, 48 to 62 location.
fn event(word: u64, import: &mut Import<'_>) -> Result<Parsed, &'static str> {
    let thread = import.thread(Name::new(b'T', word & 0x3ff).text());
    let operand = word >> 14 & 0x3_ffff_ffff;
    let location = word >> 48 & 0x7fff;
    let place = match location {
        0 => PlaceId::UNKNOWN,
        line => import.tables.places.named(b"", b"", line as u32, 0),
    };
    let mode = LockMode::Write;
    let names = &mut import.tables.names;
    let mut lock = || names.lock(Name::new(b'L', operand).text());
    let op = match word >> 10 & 0xf {
        0 => Op::Acquire { lock: lock(), mode },
        1 => Op::Release { lock: lock(), mode },
        8 => Op::Request { lock: lock(), mode },
        access @ (2 | 3) => {
            let mode = if access == 2 { Mode::Read } else { Mode::Write };
            Op::Access(Access::plain(names.variable(Name::new(b'V', operand).text()), SIZE, mode))
        }
        4 => Op::Fork { child: import.thread(Name::new(b'T', operand).text()) },
        5 => Op::Join { child: import.thread(Name::new(b'T', operand).text()) },
        6 => Op::Begin,
        7 => Op::End,
        9 => Op::Branch,
        _ => return Err("unknown operation"),
    };
    Ok((thread, place, op))
}

/// A letter and a number, without allocation.
struct Name {
    bytes: [u8; 21],
    start: usize,
}

impl Name {
    fn new(letter: u8, mut number: u64) -> Name {
        let mut name = Name { bytes: [0; 21], start: 21 };
        loop {
            name.start -= 1;
            name.bytes[name.start] = b'0' + (number % 10) as u8;
            number /= 10;
            if number == 0 {
                break;
            }
        }
        name.start -= 1;
        name.bytes[name.start] = letter;
        name
    }

    fn text(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

fn word(bytes: &[u8]) -> u64 {
    let mut eight = [0; WORD];
    eight.copy_from_slice(&bytes[..WORD]);
    u64::from_be_bytes(eight)
}

/// Whether the header announces as many events as a file of that size holds.
pub(crate) fn looks_like_rapidbin(head: &[u8], len: Option<u64>) -> bool {
    let (Some(header), Some(len)) = (head.get(..HEADER), len) else { return false };
    word(&header[10..]).checked_mul(WORD as u64).and_then(|size| size.checked_add(HEADER as u64)) == Some(len)
}
