//! Records: what is remembered of bytes that several threads use.
//!
//! Cells that were always accessed together name one record; it is changed in place if all of them step together, and
//! otherwise those that do get one of their own. Of the accesses since one thread alone used the bytes the last write
//! and the last write of another thread are kept, and the same of reads; and how often they held which locks.
//!
//! Cost: records are met in no order, so each is two lines of the processor's caches and names no other memory where
//! four ways of holding locks suffice, as they do for two threads that read and write under one lock.
//!
//! Invariant: `names` is the number of cells that name the record, or [`PINNED`] if nobody counts them.

use deadheat_core::ids::ThreadId;
use deadheat_core::race::LockSetId;

use super::cell::{Cell, Moment, NUMBERS, Says};
use super::state::{Step, Variable};
use super::tally::Told;
use super::ways::{Way, Ways};
use crate::marks::Marks;
use crate::shadow::Keeper;

/// The names of a record that nobody counts.
const PINNED: u32 = u32::MAX;
/// The most ways of holding locks that are counted apart for one variable.
const MOST_WAYS: usize = 64;
/// So many of them a record counts itself.
const OWN_WAYS: usize = 4;
/// No such number.
pub(crate) const NONE: u32 = u32::MAX;

/// How many accesses held locks in a way.
#[derive(Clone, Copy, Default, Debug)]
struct Held {
    way: Way,
    times: u32,
}

/// A record.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) struct Record {
    /// The states.
    pub(crate) variable: Variable,
    names: u32,
    /// How many accesses there were.
    accesses: u32,
    /// The number of the list of those that held locks in further ways.
    more: u32,
    /// How many ends had been seen when none of the users had ended.
    pub(crate) checked: u32,
    /// What was told of it.
    pub(crate) told: u32,
    /// Those that held locks; first those that are used.
    held: [Held; OWN_WAYS],
    /// The last write, and the last one of another thread.
    writes: [Moment; 2],
    /// The same of reads.
    reads: [Moment; 2],
}

const _: () = assert!(size_of::<Record>() == 128);

impl Record {
    /// A record of cells, so many, that name it.
    pub(crate) fn new(variable: Variable, names: u32) -> Self {
        let none = [Moment::NONE; 2];
        let (writes, reads) = (none, none);
        let held = [Held::default(); OWN_WAYS];
        Self { variable, names, accesses: 0, more: NONE, checked: NONE, told: NONE, held, writes, reads }
    }

    /// The accesses that are kept and may conflict with one.
    pub(crate) fn kept(&self, writes: bool) -> impl Iterator<Item = Moment> {
        let reads = if writes { self.reads } else { [Moment::NONE; 2] };
        self.writes.into_iter().chain(reads).filter(|moment| *moment != Moment::NONE)
    }

    /// Keeps an access. `same` says whether another moment is of the same thread.
    #[inline]
    pub(crate) fn keep(&mut self, moment: Moment, writes: bool, same: impl Fn(Moment) -> bool) {
        let [last, other] = if writes { &mut self.writes } else { &mut self.reads };
        if *last != Moment::NONE && !same(*last) {
            *other = *last;
        }
        *last = moment;
    }
}

/// All records.
#[derive(Debug, Default)]
pub(crate) struct Records {
    records: Vec<Record>,
    free: Vec<u32>,
    more: Vec<Vec<Held>>,
    free_more: Vec<u32>,
    ways: Ways,
    /// The races, with what was counted.
    pub(crate) told: Told,
    made: usize,
    live: usize,
}

impl Records {
    /// The record with a number.
    #[inline]
    pub(crate) fn get_mut(&mut self, number: u32) -> &mut Record {
        &mut self.records[number as usize]
    }

    /// The number of a new record.
    pub(crate) fn add(&mut self, record: Record) -> u32 {
        self.made += 1;
        if let Some(number) = self.free.pop() {
            self.records[number as usize] = record;
            return number;
        }
        let number = self.records.len() as u32;
        assert!(number < NUMBERS, "more than {NUMBERS} variables");
        self.records.push(record);
        number
    }

    /// The record that `count` of the cells that name one may change.
    #[inline]
    pub(crate) fn own(&mut self, number: u32, count: u32) -> u32 {
        if self.records[number as usize].names == count { number } else { self.part(number, count) }
    }

    #[inline(never)]
    fn part(&mut self, number: u32, count: u32) -> u32 {
        let mut record = self.records[number as usize];
        if record.names != PINNED {
            self.records[number as usize].names -= count;
        }
        record.names = count;
        if record.told != NONE {
            // What was counted so far is told of the cells that stay.
            (record.accesses, record.held, record.more) = (0, [Held::default(); OWN_WAYS], NONE);
        } else if record.more != NONE {
            let same = self.more[record.more as usize].clone();
            record.more = self.new_list();
            self.more[record.more as usize] = same;
        }
        self.add(record)
    }

    fn new_list(&mut self) -> u32 {
        self.free_more.pop().unwrap_or_else(|| {
            self.more.push(Vec::new());
            self.more.len() as u32 - 1
        })
    }

    /// Counts an access.
    #[inline]
    pub(crate) fn count(&mut self, number: u32, thread: ThreadId, step: Step) {
        let record = &mut self.records[number as usize];
        record.accesses = record.accesses.saturating_add(1);
        if step.locks == LockSetId::default() {
            return;
        }
        let way = self.ways.number(thread, step.locks, step.writes);
        for held in &mut record.held {
            if held.way == way || held.way == Way::NONE {
                *held = Held { way, times: held.times.saturating_add(1) };
                return;
            }
        }
        self.count_further(number, way);
    }

    #[inline(never)]
    fn count_further(&mut self, number: u32, way: Way) {
        if self.records[number as usize].more == NONE {
            self.records[number as usize].more = self.new_list();
        }
        let list = &mut self.more[self.records[number as usize].more as usize];
        match list.iter().position(|held| held.way == way) {
            Some(index) => {
                list[index].times = list[index].times.saturating_add(1);
                // Who accesses again is found sooner.
                list.swap(index, index / 2);
            }
            None if list.len() < MOST_WAYS - OWN_WAYS => list.push(Held { way, times: 1 }),
            None => {}
        }
    }

    /// Fetches a record into the processor's caches.
    #[inline]
    pub(crate) fn touch(&self, number: u32) -> u64 {
        self.records
            .get(number as usize)
            .map_or(0, |record| u64::from(record.names) ^ u64::from(record.writes[0].site))
    }

    /// Nothing names a record any more: what was counted of a race is kept.
    pub(crate) fn release(&mut self, number: u32) {
        self.settle(number);
        let Record { more, .. } = self.records[number as usize];
        if more != NONE {
            self.more[more as usize].clear();
            self.free_more.push(more);
        }
        self.records[number as usize].names = 0;
        self.free.push(number);
    }

    /// Adds what was counted of a race to what is told of it.
    fn settle(&mut self, number: u32) {
        let Record { accesses, held, more, told, .. } = self.records[number as usize];
        if told != NONE {
            let more = if more == NONE { &[][..] } else { &self.more[more as usize] };
            let used = held.iter().chain(more).filter(|held| held.way != Way::NONE);
            let list = used.map(|held| self.ways.meaning(held.way, u64::from(held.times)));
            self.told.count(told, u64::from(accesses), list);
            self.records[number as usize].told = NONE;
        }
    }

    /// Adds what was counted of all races that are not over.
    pub(crate) fn settle_all(&mut self) {
        for number in 0..self.records.len() as u32 {
            if self.records[number as usize].names > 0 {
                self.settle(number);
            }
        }
    }

    /// Forgets all records, but not what is told.
    pub(crate) fn forget(&mut self) {
        self.settle_all();
        let told = std::mem::take(&mut self.told);
        *self = Self { told, ..Self::default() };
    }

    /// The number of records made since the last sweep, and of those that it left.
    pub(crate) fn made_and_left(&self) -> (usize, usize) {
        (self.made, self.live)
    }

    /// Room for a mark for every record.
    pub(crate) fn marks(&self) -> Marks {
        Marks::below(self.records.len())
    }

    /// Frees every record that is not marked, and marks the sites of the others.
    pub(crate) fn sweep(&mut self, marks: &Marks, sites: &mut Marks) {
        for number in 0..self.records.len() as u32 {
            let Record { names, writes, reads, .. } = self.records[number as usize];
            if marks.has(number) {
                writes.iter().chain(&reads).for_each(|moment| {
                    sites.mark(moment.site);
                });
            } else if names > 0 {
                self.release(number);
            }
        }
        (self.made, self.live) = (0, self.records.len() - self.free.len());
    }

    /// The bytes that the records take, about.
    pub(crate) fn memory(&self) -> usize {
        /// Of a list that has any there are mostly so many.
        const WAYS: usize = 4;
        self.records.capacity() * size_of::<Record>()
            + self.more.capacity() * (size_of::<Vec<Held>>() + WAYS * size_of::<Held>())
            + self.ways.memory()
            + self.told.memory()
    }
}

impl Keeper<Cell> for Records {
    fn copied(&mut self, cell: Cell, more: u32) {
        if let Says::Several(number) = cell.says() {
            let record = &mut self.records[number as usize];
            record.names = record.names.saturating_add(more);
        }
    }

    fn dropped(&mut self, cell: Cell, fewer: u32) {
        if let Says::Several(number) = cell.says() {
            let record = &mut self.records[number as usize];
            if record.names == PINNED {
                return;
            }
            record.names -= fewer;
            if record.names == 0 {
                self.release(number);
            }
        }
    }

    fn pin(&mut self, cell: Cell) {
        self.copied(cell, PINNED);
    }
}
