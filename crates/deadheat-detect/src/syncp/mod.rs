//! Sync-preserving races (`sync-preserving`): accesses that meet in another order of the run's events, in which
//! the sections on each lock that are there keep their order and each read its writer.
//!
//! Paper: Mathur, Pavlogiannis, Viswanathan, "Optimal prediction of synchronization-preserving races" (POPL 2021). Two
//! conflicting accesses race if and only if neither lies in the closure (`closure`) of the union of their pasts: that closure
//! in the order of the trace is then the reordering. For a present access the earlier ones of each thread are tried in
//! their order; one that lies in the closure does so for all later accesses of the present thread, and is never tried again.
//!
//! Departures.
//! - The paper knows accesses, locks, forks and joins. Here whatever a thread learned otherwise ([`crate::clock::links`], memory's lives) is
//!   kept as it was: sound, but races in orders that would change it are not found.
//! - Sections in read mode exclude only those in write mode. Of recursive locks the outermost section counts.
//! - An atomic read keeps its writer like any other. That keeps what it synchronises with: the head of a release
//!   sequence is the value read or reached from it through read-modify-writes, which are reads, and what a fence publishes
//!   precedes the store in its thread. So no order is drawn for release and acquire. Two atomics never race.
//! - The present access's own writer is not needed: the race is before the read. So an acquire load can race with a plain write that
//!   the store that it read from publishes: it might have come earlier.
//! - Of a thread's accesses between which it took no lock and learned nothing, the last is remembered: if an
//!   earlier one races, so does it.
//!
//! Blind spots: what needs sections on a lock in another order; what the run did not do; a branch that would go another way.
//!
//! Invariants: exact to the byte; memory grows with the trace (24 bytes and more a section, 16 an access and cell, a clock for
//! each event that learned), unless [`Options::memory_limit`] bounds it: see [`crate::clock::limit`].

mod closure;
mod history;
mod judge;
mod limit;
mod sections;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{Block, HeldLock, Race, RaceSink, Side};
use deadheat_core::witness::Witness;

use crate::clock::blocks::{Blocks, Locks, owned};
use crate::clock::bytes::Bytes;
use crate::clock::limit::Limit;
use crate::clock::links::Links;
use crate::clock::lockset::Released;
use crate::clock::order::Order;
use crate::clock::past::{Moment, Now, Past};
use crate::clock::sites::{Site, Sites};
use crate::detector::Detector;
use crate::registry::Options;
use closure::{Closures, Query};
use history::{Entry, History};
use judge::{Findings, Judge, Partner};

/// The analysis for sync-preserving races.
#[derive(Debug)]
pub struct SyncPreserving {
    /// Threads, lock sets and objects. Locks and atomics order nothing here.
    order: Order,
    past: Past,
    blocks: Blocks,
    bytes: Bytes<History>,
    sites: Sites,
    closures: Closures,
    links: Links,
    /// For each slot the number of its last acquire or lesson.
    entered: Vec<u32>,
    /// About how many bytes the accesses take that are remembered.
    heap: usize,
    limit: Limit,
    findings: Findings,
    /// Room for the cells of the present access, and for a witness.
    cells: Vec<u32>,
    done: Vec<(ThreadId, u64)>,
    all_pairs: bool,
    racy_events: u64,
}

impl SyncPreserving {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            order: Order::default(),
            past: Past::default(),
            blocks: Blocks::default(),
            bytes: Bytes::default(),
            sites: Sites::default(),
            closures: Closures::default(),
            links: Links::default(),
            entered: Vec::new(),
            heap: 0,
            limit: Limit::new(options.memory_limit),
            findings: Findings::default(),
            cells: Vec::new(),
            done: Vec::new(),
            all_pairs: options.all_pairs,
            racy_events: 0,
        }
    }

    /// How many accesses raced with an earlier one so far.
    #[must_use]
    pub fn racy_events(&self) -> u64 {
        self.racy_events
    }

    /// About how many bytes of memory the analysis takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.heap
            + self.bytes.len() * Bytes::<History>::CELL
            + self.sites.memory()
            + self.past.memory()
            + self.closures.memory()
    }

    fn access(&mut self, now: Now, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        let mut cells = std::mem::take(&mut self.cells);
        self.find(access.address, access.end(), &mut cells);
        let site = Site::of(event, access, self.order.threads.row(now.row).locks);
        self.judge(now, access, (&cells, site));
        if self.findings.raced {
            self.tell(now, access, site, sink);
        }
        let entered = self.entered(now);
        let mut learned = false;
        for &cell in &cells {
            let history = self.bytes.past(cell);
            let clock = &mut self.order.threads.row_mut(now.row).clock;
            learned |= self.past.teach(clock, history.born);
            learned |= access.mode.reads() && self.past.teach(clock, history.written);
        }
        if learned {
            self.learned(now);
        }
        let number = self.sites.number(site);
        for &cell in &cells {
            let history = self.bytes.past_mut(cell);
            let entry = Entry { address: access.address, number: now.at.number, site: number };
            let replaces =
                |last: &Entry| last.number > entered && (!self.all_pairs || last.site == entry.site);
            self.heap += history.push(now.at.slot, access, entry, replaces);
            if access.mode.writes() {
                history.written = now.at;
            }
        }
        self.cells = cells;
    }

    fn find(&mut self, start: u64, end: u64, cells: &mut Vec<u32>) {
        let heap = &mut self.heap;
        self.bytes.find(start, end, cells, |history| *heap += history.bytes());
    }

    fn judge(&mut self, now: Now, access: &Access, (cells, site): (&[u32], Site)) {
        self.findings.reset();
        let mut judge = Judge {
            now: now.at,
            place: site.place,
            access,
            held: site.locks,
            entered: self.entered.get(now.at.slot as usize).copied().unwrap_or(0),
            clock: &self.order.threads.row(now.row).clock,
            past: &self.past,
            sites: &self.sites,
            locks: &self.order.locks,
            closures: &mut self.closures,
            findings: &mut self.findings,
            all_pairs: self.all_pairs,
        };
        for &cell in cells {
            let address = self.bytes.start(cell);
            judge.meet(self.bytes.past_mut(cell), address);
        }
        self.racy_events += u64::from(self.findings.raced);
    }

    #[cold]
    fn tell(&mut self, now: Now, access: &Access, site: Site, sink: &mut dyn RaceSink) {
        let later = Side { access: *access, ..site.side(access.address) };
        let entered = self.entered(now);
        for &Partner { entry, slot, address, born } in &self.findings.partners {
            if self.blocks.is_benign(address) {
                continue;
            }
            let earlier = self.sites.get(entry.site).side(entry.address);
            if sink.again(&earlier, &later) {
                continue;
            }
            let race = Race { earlier, later, address, block: self.blocks.around(address) };
            let query = Query { earlier: Moment { slot, number: entry.number }, now: now.at, born };
            let clock = &self.order.threads.row(now.row).clock;
            self.past.counts(self.closures.done(query, &self.past, clock, entered), &mut self.done);
            let witness = Witness { done: &self.done, ..Witness::default() };
            sink.predicted(&race, &witness, &Locks { locks: &self.order.locks, blocks: &self.blocks });
        }
    }

    fn entered(&self, now: Now) -> u32 {
        self.entered.get(now.at.slot as usize).copied().unwrap_or(0)
    }

    /// A thread took a lock, or may have learned something.
    fn enters(&mut self, now: Now) {
        let index = now.at.slot as usize;
        if index >= self.entered.len() {
            self.entered.resize(index + 1, 0);
        }
        self.entered[index] = now.at.number;
    }

    /// Keeps what a thread may have learned.
    fn learned(&mut self, now: Now) {
        if self.past.learned(now.at, &self.order.threads.row(now.row).clock) {
            self.enters(now);
        }
    }

    fn acquire(&mut self, now: Now, lock: u64, mode: LockMode) {
        let thread = self.order.threads.row_mut(now.row);
        if thread.held.take(lock, mode, thread.locks) {
            thread.locks = self.order.locks.with(thread.locks, HeldLock { lock, mode });
            self.closures.sections.begin(now.at, lock, mode);
            self.enters(now);
        }
    }

    fn release(&mut self, now: Now, lock: u64) {
        let thread = self.order.threads.row_mut(now.row);
        match thread.held.give(lock) {
            Released::Inner(_) => return,
            Released::Outer(_, others) => {
                thread.locks = others.unwrap_or_else(|| self.order.locks.without(thread.locks, lock));
            }
            Released::Unheld => {}
        }
        self.closures.sections.end(now.at, lock);
    }

    /// Everything that is no access.
    fn other(&mut self, now: Now, event: &Event, sink: &mut dyn RaceSink) {
        let row = now.row;
        match event.op {
            Op::Acquire { lock, mode } => self.acquire(now, lock, mode),
            Op::Release { lock, .. } => self.release(now, lock),
            Op::Fork { child } => self.order.fork(row, child),
            Op::Join { child } => self.order.join(row, child),
            Op::End => self.order.threads.end(row),
            Op::Signal { object, kind } => self.links.signal(&mut self.order, now, object, kind),
            Op::Await { object, kind } => self.order.begin_wait(row, object, kind),
            Op::Wait { object, kind, woken } => {
                self.links.wait(&mut self.order, now, (object, kind, woken));
            }
            Op::Arrive { barrier, count } => self.links.arrive(&mut self.order, now, barrier, count),
            Op::Leave { barrier } => self.links.leave(&mut self.order, now, barrier),
            Op::Alloc { address, size, kind } => self.alloc(now, event, (address, size, kind)),
            Op::Free { address, size, kind } => self.free(now, event, (address, size, kind), sink),
            Op::Forget { object } => {
                self.links.forget(&mut self.order, now, object);
                self.closures.sections.begin(now.at, object, LockMode::Write);
                self.closures.sections.end(now.at, object);
                self.enters(now);
            }
            // What a fence orders, the reads that keep their writers do.
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Begin
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }

    /// The memory that an object lies in lives, and it was made.
    fn touch(&mut self, now: Now, op: &Op) {
        let object = self.links.touch(&mut self.order, &self.past, now, op);
        if let Some(history) = object.and_then(|object| self.bytes.at(object)) {
            self.past.teach(&mut self.order.threads.row_mut(now.row).clock, history.born);
        }
    }

    fn alloc(&mut self, now: Now, event: &Event, (address, size, kind): (u64, u64, BlockKind)) {
        let &Event { thread, place, stack, .. } = event;
        let end = address.saturating_add(owned(address, size, kind));
        if kind != BlockKind::Benign {
            let mut anew = Vec::new();
            match kind {
                BlockKind::Heap => self.blocks.lived(address, end, |from, to| anew.push((from, to))),
                BlockKind::Mapping
                | BlockKind::Stack
                | BlockKind::ThreadLocal
                | BlockKind::Benign
                | BlockKind::Descriptor => anew.push((address, end)),
            }
            let mut cells = std::mem::take(&mut self.cells);
            for (from, to) in anew {
                self.find(from, to, &mut cells);
                for &cell in &cells {
                    let history = self.bytes.past_mut(cell);
                    let clock = &mut self.order.threads.row_mut(now.row).clock;
                    self.past.teach(clock, history.born);
                    self.past.teach(clock, history.freed);
                    self.heap -= history.clear();
                }
                // One cell again.
                self.bytes.clear(from, to);
            }
            self.find(address, end, &mut cells);
            for &cell in &cells {
                self.bytes.past_mut(cell).born = now.at;
            }
            self.cells = cells;
            self.links.forget_range(&mut self.order, address, end);
        }
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
    }

    fn free(
        &mut self,
        now: Now,
        event: &Event,
        (address, size, kind): (u64, u64, BlockKind),
        sink: &mut dyn RaceSink,
    ) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        let access =
            Access { via: Via::Free, ..Access::plain(address, owned(address, size, kind), Mode::Write) };
        if access.size > 0 {
            self.access(now, event, &access, sink);
        }
        self.blocks.remove(address, size, kind);
        let mut cells = std::mem::take(&mut self.cells);
        self.find(address, access.end(), &mut cells);
        for &cell in &cells {
            let history = self.bytes.past_mut(cell);
            if kind == BlockKind::Descriptor {
                // The next file with this number may be opened unseen.
                self.heap -= history.clear();
            }
            history.freed = now.at;
        }
        self.cells = cells;
    }
}

impl Detector for SyncPreserving {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        let now = self.past.enter(&mut self.order.threads, event.thread);
        if now.is_first {
            // What a thread knows when it begins is a lesson.
            self.enters(Now { at: Moment { number: now.at.number - 1, ..now.at }, ..now });
        }
        if let Op::Access(access) = event.op {
            if access.size > 0 {
                self.access(now, event, &access, sink);
            }
        } else {
            self.touch(now, &event.op);
            self.other(now, event, sink);
            self.learned(now);
        }
        self.bound(sink);
    }

    fn finish(&mut self, _: &mut dyn RaceSink) {}
}
