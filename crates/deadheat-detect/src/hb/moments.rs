//! Moments: what is remembered of an access, stored once for all the bytes and repetitions that
//! it stands for.
//!
//! A moment is one place and stack of one thread, within one stretch of its clock and with one
//! lock set. A shadow cell names moments by number, 0 being none.
//!
//! Invariant: a moment's number is not given to another while a cell, a crowd or a cache names
//! it; [`Moments::sweep`] is told all that are named.

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::Event;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSetId, Side};
use deadheat_core::rule::Epoch;

use super::cell::Cell;
use crate::clock::vector::Clock;

/// The largest access whose size and alignment are part of [`How`]; larger ones are ranges.
pub(super) const SHORT: u64 = 16;

/// How an access was made, packed: mode (bits 0..2), via (2..5), size or 0 for a range (5..10),
/// 1 + memory order or 0 (10..13), whether it was unaligned (13), then its address modulo 16
/// (14..18).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct How(pub(crate) u32);

impl How {
    /// An aligned plain access of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(crate) const fn aligned(access: &Access) -> Self {
        Self(access.mode as u32 | (access.via as u32) << 2 | (access.size as u32) << 5)
    }

    /// How an access was made.
    pub(crate) fn of(access: &Access) -> Self {
        let atomic = access.atomic.map_or(0, |order| 1 + order as u32) << 10;
        let common = access.mode as u32 | (access.via as u32) << 2 | atomic;
        if access.size > SHORT {
            return Self(common);
        }
        let aligned = access.size.is_power_of_two() && access.address.is_multiple_of(access.size);
        let place = if aligned { 0 } else { 1 << 13 | ((access.address % SHORT) as u32) << 14 };
        Self(common | (access.size as u32) << 5 | place)
    }

    /// Whether the size and the address are kept apart.
    pub(crate) fn is_range(self) -> bool {
        self.size() == 0
    }

    fn size(self) -> u64 {
        u64::from(self.0 >> 5 & 31)
    }

    /// Reads, writes, or both.
    pub(crate) fn mode(self) -> Mode {
        match self.0 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            _ => Mode::ReadWrite,
        }
    }

    fn via(self) -> Via {
        match self.0 >> 2 & 7 {
            0 => Via::Code,
            1 => Via::Volatile,
            2 => Via::Vptr,
            3 => Via::MemoryFunction,
            4 => Via::System,
            _ => Via::Free,
        }
    }

    fn atomic(self) -> Option<MemoryOrder> {
        (self.0 >> 10 & 7).checked_sub(1).map(MemoryOrder::from_abi)
    }

    /// The first byte of the short access that touched `byte`.
    fn start(self, byte: u64) -> u64 {
        if self.0 >> 13 & 1 == 0 {
            return byte & !(self.size() - 1);
        }
        let residue = u64::from(self.0 >> 14 & 15);
        byte.wrapping_sub(byte.wrapping_sub(residue) % SHORT)
    }
}

#[derive(Clone, Copy, Debug)]
struct Info {
    thread: ThreadId,
    place: PlaceId,
    stack: StackId,
    locks: LockSetId,
    how: How,
    range: u32,
}

/// The table of moments.
#[derive(Debug)]
pub(crate) struct Moments {
    epochs: Vec<Epoch>,
    infos: Vec<Info>,
    ranges: Vec<(u64, u64)>,
    free: Vec<u32>,
    free_ranges: Vec<u32>,
    live: usize,
    made: usize,
}

impl Default for Moments {
    fn default() -> Self {
        let nothing = Info {
            thread: ThreadId(0),
            place: PlaceId::UNKNOWN,
            stack: StackId::EMPTY,
            locks: LockSetId(0),
            how: How(0),
            range: 0,
        };
        Self {
            epochs: vec![Epoch { thread: 0, clock: 0 }],
            infos: vec![nothing],
            ranges: vec![(0, 0)],
            free: Vec::new(),
            free_ranges: Vec::new(),
            live: 0,
            made: 0,
        }
    }
}

impl Moments {
    /// When a moment was. Moment 0 has an epoch that is ordered before everything.
    #[inline]
    pub(crate) fn epoch(&self, moment: u32) -> Epoch {
        self.epochs[moment as usize]
    }

    /// The cell after a plain access at moment `now` by a thread that has seen `clock`, if the
    /// cell is simple and the access ordered after all that it remembers.
    #[inline]
    pub(crate) fn succeed(&self, cell: Cell, now: u32, mode: Mode, clock: &Clock) -> Option<Cell> {
        if cell.is_crowd()
            || !clock.covers(self.epoch(cell.write()))
            || !clock.covers(self.epoch(cell.read()))
        {
            return None;
        }
        Some(if mode.writes() { Cell::written(now) } else { Cell::new(cell.write(), now) })
    }

    /// Where in the code a moment was.
    pub(crate) fn place(&self, moment: u32) -> PlaceId {
        self.infos[moment as usize].place
    }

    /// The moment of an access, new.
    pub(crate) fn add(
        &mut self,
        event: &Event,
        access: &Access,
        how: How,
        epoch: Epoch,
        locks: LockSetId,
    ) -> u32 {
        let range = if how.is_range() { self.add_range((access.address, access.size)) } else { 0 };
        let (thread, place, stack) = (event.thread, event.place, event.stack);
        let info = Info { thread, place, stack, locks, how, range };
        self.made += 1;
        if let Some(moment) = self.free.pop() {
            self.epochs[moment as usize] = epoch;
            self.infos[moment as usize] = info;
            return moment;
        }
        let moment = self.epochs.len();
        assert!(moment < super::cell::MOMENTS, "more than {} accesses to tell apart", super::cell::MOMENTS);
        self.epochs.push(epoch);
        self.infos.push(info);
        moment as u32
    }

    fn add_range(&mut self, range: (u64, u64)) -> u32 {
        if let Some(index) = self.free_ranges.pop() {
            self.ranges[index as usize] = range;
            return index;
        }
        self.ranges.push(range);
        self.ranges.len() as u32 - 1
    }

    /// One side of a race: the moment as an access to `byte`.
    pub(crate) fn side(&self, moment: u32, byte: u64) -> Side {
        let info = self.infos[moment as usize];
        let (address, size) = if info.how.is_range() {
            self.ranges[info.range as usize]
        } else {
            (info.how.start(byte), info.how.size())
        };
        let (mode, atomic, via) = (info.how.mode(), info.how.atomic(), info.how.via());
        let access = Access { address, size, mode, atomic, via };
        Side { thread: info.thread, place: info.place, stack: info.stack, access, locks: info.locks }
    }

    /// The number of moments made since the last sweep, and of those that it left.
    pub(crate) fn made_and_left(&self) -> (usize, usize) {
        (self.made, self.live)
    }

    /// Frees every moment that is not marked.
    pub(crate) fn sweep(&mut self, marks: &Marks) {
        self.free.clear();
        self.live = 0;
        for moment in (1..self.epochs.len() as u32).rev() {
            if marks.has(moment) {
                self.live += 1;
                continue;
            }
            let range = std::mem::take(&mut self.infos[moment as usize].range);
            if range != 0 {
                self.free_ranges.push(range);
            }
            self.free.push(moment);
        }
        self.made = 0;
    }

    /// A set of marks with room for every moment.
    pub(crate) fn marks(&self) -> Marks {
        Marks { bits: vec![0; self.epochs.len().div_ceil(64)] }
    }

    /// The bytes that the table takes.
    pub(crate) fn memory(&self) -> usize {
        self.epochs.capacity() * size_of::<Epoch>()
            + self.infos.capacity() * size_of::<Info>()
            + self.ranges.capacity() * size_of::<(u64, u64)>()
            + (self.free.capacity() + self.free_ranges.capacity()) * size_of::<u32>()
    }
}

/// Which of the numbers below a bound are in use.
pub(crate) struct Marks {
    bits: Vec<u64>,
}

impl Marks {
    /// Marks for the numbers below `bound`.
    pub(crate) fn below(bound: usize) -> Self {
        Self { bits: vec![0; bound.div_ceil(64)] }
    }

    /// Marks a number; `true` if it was not marked yet.
    #[inline]
    pub(crate) fn mark(&mut self, number: u32) -> bool {
        let word = &mut self.bits[number as usize / 64];
        let bit = 1 << (number % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Whether a number is marked.
    pub(crate) fn has(&self, number: u32) -> bool {
        self.bits[number as usize / 64] >> (number % 64) & 1 != 0
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::event::Op;

    use super::*;

    #[test]
    fn an_access_is_told_again_from_any_of_its_bytes() {
        let mut moments = Moments::default();
        for size in [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 100] {
            for address in 0x1000..0x1020 {
                let access = Access {
                    atomic: (size == 4).then_some(MemoryOrder::SeqCst),
                    via: Via::System,
                    ..Access::plain(address, size, Mode::Read)
                };
                let event = Event {
                    thread: ThreadId(3),
                    place: PlaceId(4),
                    stack: StackId(5),
                    times: 1,
                    op: Op::Access(access),
                };
                let moment = moments.add(
                    &event,
                    &access,
                    How::of(&access),
                    Epoch { thread: 0, clock: 1 },
                    LockSetId(6),
                );
                for byte in address..address + size {
                    assert_eq!(moments.side(moment, byte).access, access);
                }
            }
        }
    }
}
