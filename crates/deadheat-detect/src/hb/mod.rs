//! Happens-before (`hb`): every access that no synchronisation orders after an earlier one that
//! it conflicts with.
//!
//! Paper: FastTrack (Flanagan and Freund, PLDI 2009), as RaceHunter and RAPID use it; C++20 for
//! atomics (see [`crate::clock::order`]).
//!
//! Departures. FastTrack forgets after a race; this does not. For each byte the set of accesses
//! is kept that no later one *covers*: is ordered after it and conflicts with all that it
//! conflicts with. An access races with some earlier one if and only if it races with one of the
//! set: had a forgotten one raced with it, the one that covers it would too. While nothing
//! raced and no two threads read at a time, that set is one write and one read, which is
//! FastTrack's epochs; for plain accesses it never holds more than a read and a write of each
//! thread. Hence RAPID's count of racy events, and not FastTrack's.
//!
//! Blind spots: what the run did not do; order through code that was not watched.
//!
//! Invariants: exact to the byte, no eviction, no bounded history. Memory grows with the memory
//! that the program touched and with its threads and locks, not with the length of the trace:
//! what no cell names any more is swept when as much again was made. With [`Options::memory_limit`] all accesses are forgotten
//! when they take as much.

mod cache;
mod cell;
mod crowd;
mod judge;
mod looped;
mod quick;
mod sites;
mod weave;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{self, Form, Plain, Strided};
use deadheat_core::race::{Block, Race, RaceSink, Side};

use crate::clock::blocks::{Blocks, Locks, owned};
use crate::clock::order::Order;
use crate::clock::threads::Thread;
use crate::detector::Detector;
use crate::how::How;
use crate::registry::Options;
use crate::shadow::{Shadow, Visitor};
use cache::{Cache, Label, Table};
use cell::{Cell, Moment};
use crowd::{Crowds, Member, Sort};
use judge::{Findings, Judge};
use sites::{Site, Sites};

/// The least number of sites and crowds made between two sweeps.
const SWEEP_AT_LEAST: usize = 1 << 16;
/// One of them may be made for this many cells between two sweeps: a sweep looks at each cell.
const CELLS_FOR_ONE: usize = 8;
/// With a limit, the memory is looked at each time after so many events.
const LOOK_EVERY: u64 = 1 << 12;
/// So many cells fit the caches that are near to a processor.
const CELLS_NEAR: usize = 1 << 16;

/// The happens-before analysis.
#[derive(Debug)]
pub struct Hb {
    order: Order,
    blocks: Blocks,
    shadow: Shadow<Cell>,
    sites: Sites,
    crowds: Crowds,
    cache: Cache,
    findings: Findings,
    /// Room for the accesses of a loop's body.
    strands: Vec<Strided>,
    all_pairs: bool,
    memory_limit: Option<usize>,
    /// The memory is looked at when so many accesses were counted.
    look_at: u64,
    /// How many events were taken.
    taken: u64,
    sweep_at_least: usize,
    /// How many sites and crowds may be made before the next sweep.
    sweep_at: usize,
    counts: Counts,
}

/// What an analysis counted.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Counts {
    /// Events that are memory accesses (frees included).
    pub accesses: u64,
    /// Accesses that race with at least one earlier access.
    pub racy_events: u64,
    /// Races told.
    pub races: u64,
    /// Times that what is no longer needed was swept.
    pub sweeps: u64,
}

impl Hb {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            order: Order::default(),
            blocks: Blocks::default(),
            shadow: Shadow::default(),
            sites: Sites::default(),
            crowds: Crowds::default(),
            cache: Cache::default(),
            findings: Findings::default(),
            strands: Vec::new(),
            all_pairs: options.all_pairs,
            memory_limit: options.memory_limit,
            look_at: options.memory_limit.map_or(u64::MAX, |_| LOOK_EVERY),
            taken: 0,
            sweep_at_least: SWEEP_AT_LEAST,
            sweep_at: SWEEP_AT_LEAST,
            counts: Counts::default(),
        }
    }

    /// Sweeps when this many sites and crowds were made since the last time, if that is more than
    /// it left. Less memory, more time; the races are the same.
    #[must_use]
    pub fn sweeping_after(self, made: usize) -> Self {
        Self { sweep_at_least: made, sweep_at: made, ..self }
    }

    /// What was counted so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The number of threads seen so far.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.order.threads.len()
    }

    /// About how many bytes of memory the analysis takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.shadow.memory()
            + self.sites.memory()
            + self.crowds.memory()
            + self.cache.memory()
            + self.order.threads.memory()
    }

    /// Takes an atomic access to bytes that were accessed atomically before, if it is soon found not
    /// to race; `false`, and nothing changed, otherwise.
    fn quick_atomic(&mut self, row: usize, event: &Event, access: &Access) -> bool {
        if !access.size.is_power_of_two() || access.size > Form::MAX_SIZE {
            return false;
        }
        let moment = self.moment_at(row, (event.place, event.stack), How::of(access));
        let thread = self.order.threads.row(row);
        let now = Member { moment, slot: thread.slot, sort: Sort::of(access) };
        if let Some(cell) = self.shadow.near_cell(access.address, access.size) {
            let Some(new) = self.crowds.advance(*cell, 1, now, &thread.clock) else { return false };
            *cell = new;
            return true;
        }
        let Some(cells) = self.shadow.cells(access.address, access.size) else { return false };
        let first = cells[0];
        if cells.iter().any(|&cell| cell != first) {
            return false;
        }
        match self.crowds.advance(first, cells.len() as u32, now, &thread.clock) {
            Some(new) => {
                cells.fill(new);
                true
            }
            None => false,
        }
    }

    /// Any access. The thread has learned what it synchronises with.
    fn judge(&mut self, row: usize, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        if access.size == 0 {
            return;
        }
        self.sweep_if_due();
        let moment = self.moment(row, event, access);
        let thread = self.order.threads.row(row);
        let now = Member { moment, slot: thread.slot, sort: Sort::of(access) };
        self.findings.reset();
        let mut judge = Judge {
            now,
            clock: &thread.clock,
            sites: &mut self.sites,
            crowds: &mut self.crowds,
            findings: &mut self.findings,
            all_pairs: self.all_pairs,
        };
        let word = How::of(access).is_power();
        if word && let Some([cell]) = self.shadow.cells(access.address, access.size) {
            *cell = judge.visit(*cell, access.address, 1);
        } else {
            self.shadow.visit(access.address, access.end(), &mut judge);
        }
        if self.findings.overwrote_atomic {
            self.order.objects.silence_atomics(access.address, access.end());
        }
        if self.findings.raced {
            self.tell(row, event, access, sink);
        }
    }

    /// The moment of an access.
    #[inline(always)]
    fn moment(&mut self, row: usize, event: &Event, access: &Access) -> Moment {
        let clock = self.order.threads.now(row);
        let &Thread { slot, id: thread, locks, .. } = self.order.threads.row(row);
        let how = How::of(access);
        let Event { place, stack, .. } = *event;
        if how.is_range() {
            let site = Site { slot, thread, place, stack, locks, how };
            return Moment::new(self.sites.number_of_range(site, access), clock);
        }
        self.moment_at(row, (place, stack), how)
    }

    /// The moment of accesses that are no range, made at that place in that way.
    #[inline(always)]
    fn moment_at(&mut self, row: usize, (place, stack): (PlaceId, StackId), how: How) -> Moment {
        let clock = self.order.threads.now(row);
        let &Thread { slot, id: thread, locks, .. } = self.order.threads.row(row);
        let label = Label::new(place, stack, how, locks);
        let table = self.cache.table(slot, row);
        let site = match table.find(label, &self.sites) {
            Some(site) => site,
            None => {
                let site = Site { slot, thread, place, stack, locks, how };
                look_up(table, &mut self.sites, label, site)
            }
        };
        Moment::new(site, clock)
    }

    #[cold]
    fn tell(&mut self, row: usize, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        self.counts.racy_events += 1;
        let Event { thread, place, stack, .. } = *event;
        let locks = self.order.threads.row(row).locks;
        let later = Side { thread, place, stack, access: *access, locks };
        for partner in &self.findings.partners {
            let address = partner.address.max(access.address);
            if self.blocks.is_benign(address) {
                continue;
            }
            let earlier = self.sites.side(partner.moment, address);
            self.counts.races += 1;
            if sink.again(&earlier, &later) {
                continue;
            }
            let race = Race { earlier, later, address, block: self.blocks.around(address) };
            sink.race(&race, &Locks { locks: &self.order.locks, blocks: &self.blocks });
        }
    }

    /// Sweeps what no cell names any more, if enough was made since the last time.
    #[inline]
    fn sweep_if_due(&mut self) {
        let made = self.sites.made_and_left().0 + self.crowds.made_and_left().0;
        if made >= self.sweep_at {
            self.sweep();
        }
    }

    #[cold]
    fn sweep(&mut self) {
        let mut crowds = self.crowds.marks();
        let mut sites = self.sites.marks();
        self.shadow.for_each(|cell| match cell.as_crowd() {
            Some(crowd) => {
                if crowds.mark(crowd) {
                    self.crowds.members(crowd).iter().for_each(|member| {
                        sites.mark(member.moment.site());
                    });
                }
            }
            None => {
                sites.mark(cell.write().site());
                sites.mark(cell.read().site());
            }
        });
        self.crowds.sweep(&crowds);
        self.sites.sweep(&sites);
        self.cache.clear();
        self.counts.sweeps += 1;
        let left = self.sites.made_and_left().1 + self.crowds.made_and_left().1;
        self.sweep_at = self.sweep_at_least.max(left).max(self.shadow.len() / CELLS_FOR_ONE);
    }

    /// Counts events, and keeps to the limit of memory.
    #[inline]
    fn take(&mut self, events: u64, sink: &mut dyn RaceSink) {
        if self.taken >= self.look_at {
            self.look(sink);
        }
        self.taken += events;
    }

    #[cold]
    fn look(&mut self, sink: &mut dyn RaceSink) {
        self.look_at = self.taken + LOOK_EVERY;
        if self.memory_limit.is_none_or(|limit| self.memory() <= limit) {
            return;
        }
        self.sweep();
        if self.memory_limit.is_some_and(|limit| self.memory() > limit - limit / 4) {
            self.forget();
            sink.forgot(self.taken);
        }
    }

    /// Forgets all accesses; the order and what was told stay.
    fn forget(&mut self) {
        self.shadow = Shadow::default();
        self.sites = Sites::default();
        self.crowds = Crowds::default();
        self.cache.clear();
        self.sweep_at = self.sweep_at_least;
    }

    /// Everything but plain accesses.
    fn rare(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        let row = self.order.threads.acting(event.thread);
        match event.op {
            Op::Access(access) => match access.atomic {
                None => {
                    self.judge(row, event, &access, sink);
                    if access.via == Via::Birth {
                        self.order.threads.publish(row);
                    }
                }
                Some(order) => {
                    self.order.atomic_learns(row, &access, order);
                    if self.all_pairs || !self.quick_atomic(row, event, &access) {
                        self.judge(row, event, &access, sink);
                    }
                    self.order.atomic_publishes(row, &access, order);
                }
            },
            Op::Fence(order) => self.order.fence(row, order),
            Op::Acquire { lock, mode } => self.order.acquire(row, lock, mode),
            Op::Release { lock, mode } => self.order.release(row, lock, mode),
            Op::Fork { child } => self.order.fork(row, child),
            Op::Join { child } => self.order.join(row, child),
            Op::End => self.order.threads.end(row),
            Op::Signal { object, kind } => self.order.signal(row, object, kind),
            Op::Await { object, kind } => self.order.begin_wait(row, object, kind),
            Op::Wait { object, kind, woken } => self.order.end_wait(row, object, kind, woken),
            Op::Arrive { barrier, count } => self.order.arrive(row, barrier, count),
            Op::Leave { barrier } => self.order.leave(row, barrier),
            Op::Alloc { address, size, kind } => self.alloc(event, address, size, kind),
            Op::Free { address, size, kind } => self.free(row, event, (address, size, kind), sink),
            Op::Forget { object } => self.order.objects.forget(object),
            // Nothing is ordered by asking for a lock, by calls, by branches, or, as far as this
            // analysis knows, by code that it cannot see.
            Op::Request { .. }
            | Op::Begin
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }

    fn alloc(&mut self, event: &Event, address: u64, size: u64, kind: BlockKind) {
        let Event { thread, place, stack, .. } = *event;
        let end = address.saturating_add(owned(address, size, kind));
        let mut clear = |from, to| self.shadow.clear(from, to, &mut self.crowds);
        match kind {
            BlockKind::Benign => {}
            BlockKind::Heap => self.blocks.lived(address, end, clear),
            BlockKind::Mapping | BlockKind::Stack | BlockKind::ThreadLocal | BlockKind::Descriptor => {
                clear(address, end)
            }
        }
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        if kind != BlockKind::Benign {
            self.order.objects.forget_range(address, end);
        }
    }

    fn free(
        &mut self,
        row: usize,
        event: &Event,
        (address, size, kind): (u64, u64, BlockKind),
        sink: &mut dyn RaceSink,
    ) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        let access =
            Access { via: Via::Free, ..Access::plain(address, owned(address, size, kind), Mode::Write) };
        self.counts.accesses += 1;
        self.judge(row, event, &access, sink);
        self.blocks.remove(address, size, kind);
        if kind == BlockKind::Descriptor {
            // The next file with this number may be opened unseen.
            self.shadow.clear(address, access.end(), &mut self.crowds);
        }
    }
}

/// The number of a site that its slot's table does not know.
#[cold]
#[inline(never)]
fn look_up(table: &mut Table, sites: &mut Sites, label: Label, site: Site) -> u32 {
    let (number, new) = sites.number(site);
    table.keep(label, number, new);
    number
}

impl Detector for Hb {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        self.take(1, sink);
        self.counts.accesses += u64::from(matches!(event.op, Op::Access(_)));
        self.rare(event, sink);
    }

    fn plain(&mut self, thread: ThreadId, mut accesses: &[Plain], sink: &mut dyn RaceSink) {
        self.take(accesses.len() as u64, sink);
        self.counts.accesses += accesses.len() as u64;
        self.sweep_if_due();
        while let Some(first) = accesses.first() {
            let row = self.order.threads.acting(thread);
            let taken = if self.all_pairs { 0 } else { self.quick(row, accesses) };
            if taken == 0 {
                self.judge(row, &first.event(thread), &first.access(), sink);
            }
            accesses = &accesses[taken.max(1)..];
        }
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, sink: &mut dyn RaceSink) {
        self.sweep_if_due();
        let row = self.order.threads.acting(thread);
        if !self.all_pairs && self.pass_loop(row, body, turns) {
            let count = body.len() as u64 * u64::from(turns);
            self.counts.accesses += count;
            self.take(count, sink);
            return;
        }
        plain::unroll(body, turns, |some| {
            self.plain(thread, some, sink);
            true
        });
    }

    /// Fetches the cells into the processor's caches, where they would not be anyway.
    fn coming(&mut self, accesses: &[Plain]) {
        if self.shadow.len() < CELLS_NEAR {
            return;
        }
        self.shadow.touch(accesses, |_| 0);
    }

    fn finish(&mut self, _: &mut dyn RaceSink) {}
}
