//! STD, the text format of the RAPID family: `T0|w(x)|17`.

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{LockMode, Op};
use deadheat_core::ids::PlaceId;

use super::import::{Import, Parsed, SIZE, Usual, What, Wrong, number};
use super::lines::Parser;
use crate::tables::Short;

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
        self.any(line, import)
    }

    /// The short way for `T12|r(name)|34`, `w`, `acq` and `rel` with short names and a thread and
    /// location seen before.
    ///
    /// Cost: no loop, and no branch that depends on how long a name or number is.
    #[inline(always)]
    fn usual(&mut self, line: &[u8], import: &Import<'_>) -> Option<Usual> {
        self.usual_line(line, import)
    }
}

const UNKNOWN: &str = "unknown operation: known are r w acq rel req fork join begin end branch";

impl Std {
    #[inline(always)]
    fn usual_line(&self, line: &[u8], import: &Import<'_>) -> Option<Usual> {
        let front = eight(line, 0)?;
        let bar = first(front, b'|')?;
        if line[0] != b'T' || bar < 2 || (line[1] == b'0' && bar > 2) {
            return None;
        }
        let thread = import.thread_by_number(digits((front >> 8) << (8 * (9 - bar)), bar - 1)?)?;
        let (what, open) = match line.get(bar + 1..)? {
            [b'r', b'(', ..] => (What::Read, bar + 3),
            [b'w', b'(', ..] => (What::Write, bar + 3),
            [b'a', b'c', b'q', b'(', ..] => (What::Acquire, bar + 5),
            [b'r', b'e', b'l', b'(', ..] => (What::Release, bar + 5),
            _ => return None,
        };
        let name = eight(line, open)?;
        let len = first(name, b')')?;
        let back = line.len().checked_sub(open + len + 2).filter(|&back| (1..=8).contains(&back))?;
        if first(name, b'|').is_some_and(|bar| bar < len) {
            return None;
        }
        if len == 0 || line[open] <= b' ' || line[open + len - 1] <= b' ' || line[open + len + 1] != b'|' {
            return None;
        }
        let location = digits(eight(line, line.len() - 8)?, back)?;
        let place = *self.places.get(usize::try_from(location).ok()?)?;
        if place == 0 {
            return None;
        }
        Some(Usual { thread, place: PlaceId(place), what, name: Short::new(name, len) })
    }

    /// Reads any line.
    fn any(&mut self, line: &[u8], import: &mut Import<'_>) -> Result<Option<Parsed>, Wrong> {
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

const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight bytes of the text, the first in the lowest byte.
#[inline(always)]
fn eight(text: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*text.get(at..)?.first_chunk()?))
}

/// The position of the first `byte` among the eight.
#[inline(always)]
fn first(eight: u64, byte: u8) -> Option<usize> {
    let zero = eight ^ (ONES * u64::from(byte));
    let found = zero.wrapping_sub(ONES) & !zero & (ONES << 7);
    (found != 0).then_some(found.trailing_zeros() as usize / 8)
}

/// The number that the last `len` of eight bytes spell, if they are digits; `len` is 1 to 8.
#[inline(always)]
fn digits(eight: u64, len: usize) -> Option<u64> {
    let values = (eight ^ (ONES * u64::from(b'0'))) >> (8 * (8 - len)) << (8 * (8 - len));
    if (values | values.wrapping_add(ONES * 0x76)) & (ONES << 7) != 0 {
        return None;
    }
    let pairs = values.wrapping_mul(10).wrapping_add(values >> 8) & 0x00ff_00ff_00ff_00ff;
    let fours = pairs.wrapping_mul(100).wrapping_add(pairs >> 16) & 0x0000_ffff_0000_ffff;
    Some(fours.wrapping_mul(10_000).wrapping_add(fours >> 32) & 0xffff_ffff)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_eight_digits_at_a_time() {
        for (text, len, number) in [
            ("xxxxxxx7", 1, Some(7)),
            ("xxxx1234", 4, Some(1234)),
            ("12345678", 8, Some(12_345_678)),
            ("00000000", 8, Some(0)),
            ("xxxxx1:3", 3, None),
            ("xxxxx1/3", 3, None),
            ("xxxxx1\u{7f}3", 3, None),
        ] {
            let bytes = eight(text.as_bytes(), 0).expect("eight bytes");
            assert_eq!(digits(bytes, len), number, "{text}");
        }
        assert_eq!(first(eight(b"T0|w(x)|", 0).expect("eight bytes"), b'|'), Some(2));
        assert_eq!(first(eight(b"T0w(x)99", 0).expect("eight bytes"), b'|'), None);
    }

    /// The short way must read what the long way reads, on lines that are nearly right too.
    #[test]
    fn the_short_way_reads_what_the_long_way_reads() {
        let mut state = 7_u64;
        let mut random = move |limit: u64| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % limit
        };
        let mut tables = crate::Tables::default();
        let mut import = Import::new(&mut tables);
        let mut parser = Std::default();
        let mut short_ways = 0;
        for _ in 0..40_000 {
            let ops = ["r", "w", "acq", "rel", "req"];
            let (thread, op) = (random(12), ops[random(5) as usize]);
            let mut line = format!("T{thread}|{op}(V{})|{}", random(1000), random(300)).into_bytes();
            if random(2) == 0 {
                let at = random(line.len() as u64) as usize;
                line[at] = b"T0|() r1x\t"[random(10) as usize];
            }
            let short = parser.usual(&line, &import);
            let long = parser.any(&line, &mut import);
            if let Some(short) = short {
                short_ways += 1;
                let short = short.complete(&mut import, None);
                assert_eq!(long.expect("the short way takes no fault"), Some(short), "{line:?}");
            }
        }
        assert!(short_ways > 10_000, "{short_ways}");
    }
}
