//! The contents of the blocks that hold races, as [`deadheat_core::wire::race`] lays them out.
//!
//! Invariant: a record is taken whole or not at all. Ids are given when all events are read, so they do not depend on
//! when a race was found.

use deadheat_core::event::{BlockKind, LockMode};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Block, HeldLock, LockSetId, Race, Side};
use deadheat_core::wire::race;

use super::merge::Shared;
use super::records::{Wrong, u64_at};
use crate::error::Error;
use crate::found::{Found, FoundLock, FoundSide};
use crate::tables::Tables;

/// Bytes of a word.
const WORD: usize = 8;

/// A race that was seen more often is told as seen so often, so that sums have room.
const MOST_TIMES: u64 = 1 << 40;

/// Takes a block of races.
pub(super) fn races(bytes: &[u8], shared: &mut Shared<'_>, found: &mut Vec<Found>) -> Result<(), Wrong> {
    let mut at = 0;
    while at + WORD <= bytes.len() {
        let head = u64_at(bytes, at);
        let size = (head & u64::from(u32::MAX)) as usize * WORD;
        if size == 0 {
            break;
        }
        let Some(record) = bytes.get(at..at + size) else {
            return Err(Wrong(at, "a race does not fit its block"));
        };
        let kind = head >> 32;
        if kind == race::RACE || kind == race::USE_AFTER_FREE {
            let mut words = Words { record, start: at, at: WORD };
            found.push(Found { ordered: kind == race::USE_AFTER_FREE, ..words.race(shared)? });
        }
        at += size;
    }
    Ok(())
}

/// The words of one record.
struct Words<'a> {
    record: &'a [u8],
    /// Where the record is in its block.
    start: usize,
    /// The next word.
    at: usize,
}

impl Words<'_> {
    fn race(&mut self, shared: &mut Shared<'_>) -> Result<Found, Wrong> {
        let (times, address) = (self.next()?.clamp(1, MOST_TIMES), self.next()?);
        let (earlier, of_earlier) = self.side(shared)?;
        let (later, of_later) = self.side(shared)?;
        let block = self.block(address, shared)?;
        let race = Race { earlier, later, address, block };
        Ok(Found { race, times, ordered: false, sides: [of_earlier, of_later] })
    }

    fn side(&mut self, shared: &mut Shared<'_>) -> Result<(Side, FoundSide), Wrong> {
        let (thread, flags) = self.halves()?;
        let thread = self.thread(thread, shared)?;
        let (address, size, pc, clock) = (self.next()?, self.next()?, self.next()?, self.next()?);
        let flags = u64::from(flags);
        let Some(access) = race::access(flags, address, size) else {
            return Err(self.wrong("an access that neither reads nor writes"));
        };
        let (frames, count) = self.halves()?;
        let stack = self.stack(frames, shared)?;
        let mut locks = Vec::new();
        for _ in 0..count {
            locks.push(self.lock(shared)?);
        }
        let remembered = flags & race::SITE != 0;
        let (place, stack) =
            if remembered { (place(pc, shared), stack) } else { (PlaceId::UNKNOWN, StackId::EMPTY) };
        let side = Side { thread, place, stack, access, locks: LockSetId::default() };
        Ok((side, FoundSide { remembered, clock, locks }))
    }

    fn lock(&mut self, shared: &mut Shared<'_>) -> Result<FoundLock, Wrong> {
        let (lock, mode) = (self.next()?, self.next()?);
        let Some(mode) = LockMode::from_number(mode) else {
            return Err(self.wrong("a lock that is held in no way"));
        };
        let block = self.block(lock, shared)?;
        Ok(FoundLock { held: HeldLock { lock, mode }, block })
    }

    /// The block that holds an address.
    fn block(&mut self, holds: u64, shared: &mut Shared<'_>) -> Result<Option<Block>, Wrong> {
        let (kind, thread) = self.halves()?;
        let (address, size, pc, frames) = (self.next()?, self.next()?, self.next()?, self.next()?);
        let stack = self.stack(u32::try_from(frames).unwrap_or(u32::MAX), shared)?;
        if kind == race::NO_BLOCK {
            return Ok(None);
        }
        let Some(kind) = BlockKind::from_number(kind) else {
            return Err(self.wrong("a block of no kind"));
        };
        if address > holds {
            return Err(self.wrong("a block that begins behind what it holds"));
        }
        let thread = self.thread(thread, shared)?;
        Ok(Some(Block { address, size, kind, thread, place: place(pc, shared), stack }))
    }

    fn stack(&mut self, frames: u32, shared: &mut Shared<'_>) -> Result<StackId, Wrong> {
        let mut stack = StackId::EMPTY;
        for _ in 0..frames {
            let call = place(self.next()?, shared);
            stack = shared.tables.stacks.push(stack, call);
        }
        Ok(stack)
    }

    fn thread(&self, number: u32, shared: &mut Shared<'_>) -> Result<ThreadId, Wrong> {
        if number >= shared.thread_limit {
            return Err(self.wrong("an impossible thread number"));
        }
        shared.tables.threads.see(ThreadId(number));
        Ok(ThreadId(number))
    }

    fn next(&mut self) -> Result<u64, Wrong> {
        if self.at + WORD > self.record.len() {
            return Err(Wrong(self.start, "a race is longer than its record"));
        }
        self.at += WORD;
        Ok(u64_at(self.record, self.at - WORD))
    }

    /// The next word's lower half and upper half.
    fn halves(&mut self) -> Result<(u32, u32), Wrong> {
        let word = self.next()?;
        Ok((word as u32, (word >> 32) as u32))
    }

    /// That something is wrong with the word read last.
    fn wrong(&self, why: &'static str) -> Wrong {
        Wrong(self.start + self.at - WORD, why)
    }
}

/// The place of a return address, as of the end of the run.
fn place(pc: u64, shared: &mut Shared<'_>) -> PlaceId {
    shared.place(pc, u64::MAX)
}

/// The record of a race; `code` gives the code address that stands for a place.
pub(super) fn record(
    found: &Found,
    tables: &Tables,
    code: impl Fn(PlaceId) -> Result<u64, Error>,
) -> Result<Vec<u8>, Error> {
    let Race { earlier, later, address, block } = &found.race;
    let mut maker = Maker { words: vec![0, found.times, *address], tables, code };
    for (side, of_side) in [earlier, later].into_iter().zip(&found.sides) {
        maker.side(side, of_side)?;
    }
    maker.block(block.as_ref())?;
    let mut words = maker.words;
    let kind = if found.ordered { race::USE_AFTER_FREE } else { race::RACE };
    words[0] = words.len() as u64 | kind << 32;
    Ok(words.into_iter().flat_map(u64::to_le_bytes).collect())
}

/// Makes a record.
struct Maker<'a, C> {
    words: Vec<u64>,
    tables: &'a Tables,
    code: C,
}

impl<C: Fn(PlaceId) -> Result<u64, Error>> Maker<'_, C> {
    fn side(&mut self, side: &Side, of_side: &FoundSide) -> Result<(), Error> {
        let site = if of_side.remembered { race::SITE } else { 0 };
        let flags = race::flags(&side.access) | site;
        let calls = self.calls(side.stack)?;
        let (pc, counts) = ((self.code)(side.place)?, calls.len() | of_side.locks.len() << 32);
        let thread = u64::from(side.thread.0);
        let access = &side.access;
        self.words.extend([
            thread | flags << 32,
            access.address,
            access.size,
            pc,
            of_side.clock,
            counts as u64,
        ]);
        self.words.extend(calls);
        for FoundLock { held, block } in &of_side.locks {
            self.words.extend([held.lock, held.mode as u64]);
            self.block(block.as_ref())?;
        }
        Ok(())
    }

    fn block(&mut self, block: Option<&Block>) -> Result<(), Error> {
        let Some(&Block { address, size, kind, thread, place, stack }) = block else {
            self.words.extend([u64::from(race::NO_BLOCK), 0, 0, 0, 0]);
            return Ok(());
        };
        let calls = self.calls(stack)?;
        let (kind, pc) = (kind as u64 | u64::from(thread.0) << 32, (self.code)(place)?);
        self.words.extend([kind, address, size, pc, calls.len() as u64]);
        self.words.extend(calls);
        Ok(())
    }

    /// The calls of a stack, the outermost first.
    fn calls(&self, stack: StackId) -> Result<Vec<u64>, Error> {
        let calls: Result<Vec<u64>, Error> = self.tables.stacks.frames(stack).map(&self.code).collect();
        calls.map(|calls| calls.into_iter().rev().collect())
    }
}
