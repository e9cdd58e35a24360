//! STD, the text format of the RAPID family: `T0|w(x)|17`.

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{LockMode, Op};
use deadheat_core::ids::PlaceId;

use super::import::{Import, Parsed, Wrong, number};
use super::lines::Parser;

/// Every imported variable has this size.
pub(super) const SIZE: u64 = 8;

/// Locations up to this number are found without a search.
const DIRECT: u64 = 1 << 20;

/// Reads STD.
#[derive(Default)]
pub(crate) struct Std {
    /// Place ids by location.
    places: Vec<u32>,
}

impl Parser for Std {
    #[inline]
    fn line(&mut self, line: &[u8], import: &mut Import<'_>) -> Result<Option<Parsed>, Wrong> {
        let Some(bar) = line.iter().position(|&byte| byte == b'|') else {
            return if line.trim_ascii().is_empty() {
                Ok(None)
            } else {
                Err(Wrong(0, "an event is `thread|operation(operand)|location`"))
            };
        };
        let thread = line[..bar].trim_ascii();
        if thread.is_empty() {
            return Err(Wrong(0, "the thread's name is missing"));
        }
        let (open, close, after) = operation(line, bar + 1)?;
        let place = self.place(line, after, import)?;
        let thread = import.thread(thread);
        let operand = line[open + 1..close].trim_ascii();
        let op = op(line[bar + 1..open].trim_ascii_start(), operand, import).map_err(|reason| {
            let column = if reason == UNKNOWN { bar + 1 } else { open + 1 };
            Wrong(column, reason)
        })?;
        Ok(Some((thread, place, op)))
    }
}

const UNKNOWN: &str = "unknown operation: known are r w acq rel req fork join begin end branch";

/// Finds `operation(operand)`: the positions of the brackets and of what follows.
#[inline]
fn operation(line: &[u8], from: usize) -> Result<(usize, usize, usize), Wrong> {
    let mut open = from;
    while line.get(open).is_some_and(|&byte| byte != b'(' && byte != b'|') {
        open += 1;
    }
    if line.get(open) != Some(&b'(') {
        return Err(Wrong(from, "the operation has no operand: `w(x)`"));
    }
    let mut after = open + 1;
    while line.get(after).is_some_and(|&byte| byte != b'|') {
        after += 1;
    }
    // A name may hold brackets itself.
    let mut close = after;
    while close > open && line[close - 1] != b')' {
        close -= 1;
    }
    if close <= open + 1 {
        return Err(Wrong(open, "this bracket is not closed"));
    }
    Ok((open, close - 1, after))
}

#[inline]
fn op(name: &[u8], operand: &[u8], import: &mut Import<'_>) -> Result<Op, &'static str> {
    if operand.is_empty() && !matches!(name, b"begin" | b"end" | b"branch") {
        return Err("the operand is missing");
    }
    let mode = LockMode::Write;
    let names = &mut import.tables.names;
    Ok(match name {
        b"r" => Op::Access(Access::plain(names.variable(operand), SIZE, Mode::Read)),
        b"w" => Op::Access(Access::plain(names.variable(operand), SIZE, Mode::Write)),
        b"acq" => Op::Acquire { lock: names.lock(operand), mode },
        b"rel" => Op::Release { lock: names.lock(operand), mode },
        b"req" => Op::Request { lock: names.lock(operand), mode },
        b"fork" => Op::Fork { child: import.thread(operand) },
        b"join" => Op::Join { child: import.thread(operand) },
        b"begin" => Op::Begin,
        b"end" => Op::End,
        b"branch" => Op::Branch,
        _ => return Err(UNKNOWN),
    })
}

impl Std {
    /// The place of the location that follows the bar at `bar`, if there is one.
    #[inline]
    fn place(&mut self, line: &[u8], bar: usize, import: &mut Import<'_>) -> Result<PlaceId, Wrong> {
        let text = line.get(bar + 1..).unwrap_or(&[]).trim_ascii();
        if text.is_empty() {
            return Ok(PlaceId::UNKNOWN);
        }
        let Some(location) = number(text).filter(|&number| number <= u64::from(u32::MAX)) else {
            return Err(Wrong(bar + 1, "the location is no number"));
        };
        if location >= DIRECT {
            return Ok(import.tables.places.named(b"", b"", location as u32, 0));
        }
        let location = location as usize;
        if location >= self.places.len() {
            self.places.resize(location + 1, 0);
        }
        if self.places[location] == 0 {
            self.places[location] = import.tables.places.named(b"", b"", location as u32, 0).0;
        }
        Ok(PlaceId(self.places[location]))
    }
}

/// Whether the first lines look like STD.
pub(crate) fn looks_like_std(head: &[u8]) -> bool {
    let Some(line) = head.split(|&byte| byte == b'\n').find(|line| !line.trim_ascii().is_empty()) else {
        return false;
    };
    let mut fields = line.split(|&byte| byte == b'|');
    let thread = fields.next().unwrap_or(&[]);
    let operation = fields.next().unwrap_or(&[]);
    !thread.is_empty() && operation.contains(&b'(')
}
