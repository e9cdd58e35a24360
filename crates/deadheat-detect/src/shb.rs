//! Schedulable happens-before (`shb`): of the races that happens-before sees those that the run could have
//! had, also behind the first.
//!
//! Paper: Mathur, Kini, Viswanathan, "What happens-after the first race?" (OOPSLA 2018). To the order of `hb` comes one from
//! the last writer of a byte to who reads it, drawn after the read was judged. What comes before either of two accesses
//! that this does not order, in the order of the trace, is then a run up to both: their witness.
//!
//! Departures. Whatever else another order of the events would need to be a run is ordered, too: the birth of memory before its
//! use, and [`crate::clock::links`].
//! As in `hb`, all accesses are remembered, not the last alone: of each thread the last of each sort, as who is ordered after
//! that is ordered after all.
//!
//! Blind spots: as those of `hb`; and races that need a section on a lock, or a read, to be left out.
//!
//! Invariants: exact to the byte. Memory grows with the memory that the program touched, its threads and objects: of
//! what threads knew only what a remembered access may be told with is kept. [`Options::memory_limit`] bounds it: see
//! [`crate::clock::limit`].

mod limit;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::race::{Block, Race, RaceSink};
use deadheat_core::rule::conflicts;
use deadheat_core::witness::Witness;
use rustc_hash::FxHashSet;

use crate::clock::blocks::{Blocks, Locks, owned};
use crate::clock::bytes::Bytes;
use crate::clock::limit::Limit;
use crate::clock::links::Links;
use crate::clock::order::Order;
use crate::clock::past::{Moment, Now, Past};
use crate::clock::sites::{Site, Sites};
use crate::detector::Detector;
use crate::registry::Options;

/// The most partners that one access is told with, unless all pairs are wanted.
const MAX_PARTNERS: usize = 16;
/// What threads knew is swept when it takes so many bytes, and twice as many as were left.
const SWEEP_AT_LEAST: usize = 1 << 22;

/// The schedulable happens-before analysis.
#[derive(Debug)]
pub struct Shb {
    order: Order,
    past: Past,
    blocks: Blocks,
    bytes: Bytes<History>,
    sites: Sites,
    links: Links,
    told: FxHashSet<(Sort, Sort)>,
    partners: Vec<(Member, u64)>,
    cells: Vec<u32>,
    done: Vec<(ThreadId, u64)>,
    sweep_at: usize,
    /// How many accesses all bytes remember together.
    members: usize,
    /// By slot: what is part of every witness.
    floor: Vec<u32>,
    limit: Limit,
    options: Options,
}

/// A place with its sort of access: does it write, is it atomic?
type Sort = (PlaceId, bool, bool);

/// What is remembered of a byte.
#[derive(Clone, Debug, Default)]
struct History {
    written: Moment,
    born: Moment,
    freed: Moment,
    members: Vec<Member>,
}

/// An access that a later one may race with.
#[derive(Clone, Copy, Debug)]
struct Member {
    at: Moment,
    site: u32,
    address: u64,
}

impl History {
    fn is_empty(&self) -> bool {
        self.members.is_empty()
            && [self.written, self.born, self.freed].iter().all(|moment| moment.number == 0)
    }
}

impl Shb {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            order: Order::default(),
            past: Past::default(),
            blocks: Blocks::default(),
            bytes: Bytes::default(),
            sites: Sites::default(),
            links: Links::default(),
            told: FxHashSet::default(),
            partners: Vec::new(),
            cells: Vec::new(),
            done: Vec::new(),
            sweep_at: limit::sweep_at_least(options.memory_limit),
            members: 0,
            floor: Vec::new(),
            limit: Limit::new(options.memory_limit),
            options,
        }
    }

    /// About how many bytes of memory the analysis takes, but for blocks, objects and the threads' clocks.
    #[must_use]
    pub fn memory(&self) -> usize {
        // A list of accesses has room for four, or for up to twice as many as it holds.
        let lists = 4 * self.bytes.len() + self.members;
        self.bytes.len() * Bytes::<History>::CELL
            + lists * size_of::<Member>()
            + self.sites.memory()
            + self.past.memory()
    }

    /// An access. Its thread has learned what it synchronises with.
    fn access(&mut self, now: Now, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        let mut cells = std::mem::take(&mut self.cells);
        self.find(access.address, access.end(), &mut cells);
        let site = Site::of(event, access, self.order.threads.row(now.row).locks);
        let clock = &mut self.order.threads.row_mut(now.row).clock;
        for &cell in &cells {
            self.past.teach(clock, self.bytes.past(cell).born);
        }
        self.partners.clear();
        let mut overwrites_atomic = false;
        for &cell in &cells {
            self.meet(now, (cell, site));
            let members = &self.bytes.past(cell).members;
            overwrites_atomic |= members.iter().any(|member| {
                let site = self.sites.get(member.site);
                site.mode.writes() && site.atomic.is_some()
            });
        }
        if !self.partners.is_empty() {
            self.tell(now, (access, site), sink);
        }
        if overwrites_atomic && access.mode.writes() && access.atomic.is_none() {
            self.order.objects.silence_atomics(access.address, access.end());
        }
        let number = self.sites.number(site);
        let member = Member { at: now.at, site: number, address: access.address };
        let clock = &mut self.order.threads.row_mut(now.row).clock;
        for &cell in &cells {
            let history = self.bytes.past_mut(cell);
            if access.mode.reads() {
                self.past.teach(clock, history.written);
            }
            if access.mode.writes() {
                history.written = now.at;
            }
            let sites = &self.sites;
            let all_pairs = self.options.all_pairs;
            let same = |old: &Member| {
                let old_site = sites.get(old.site);
                old.at.slot == now.at.slot
                    && (old_site.mode.writes(), old_site.atomic.is_some())
                        == (site.mode.writes(), site.atomic.is_some())
                    && (!all_pairs || old.site == number)
            };
            match history.members.iter_mut().find(|old| same(old)) {
                Some(old) => *old = member,
                None => {
                    history.members.push(member);
                    self.members += 1;
                }
            }
        }
        self.cells = cells;
    }

    fn find(&mut self, start: u64, end: u64, cells: &mut Vec<u32>) {
        let members = &mut self.members;
        self.bytes.find(start, end, cells, |history| *members += history.members.len());
    }

    /// Judges the access against what a cell remembers.
    fn meet(&mut self, now: Now, (cell, site): (u32, Site)) {
        let clock = &self.order.threads.row(now.row).clock;
        for member in &self.bytes.past(cell).members {
            let then = self.sites.get(member.site);
            let conflict = conflicts(then.mode, then.atomic.is_some(), site.mode, site.atomic.is_some());
            if !conflict || member.at.slot == now.at.slot || clock.get(member.at.slot) >= member.at.number {
                continue;
            }
            let is_new = if self.options.all_pairs {
                let sort = |site: &Site| (site.place, site.mode.writes(), site.atomic.is_some());
                let (then, now) = (sort(then), sort(&site));
                self.told.insert((then.min(now), then.max(now)))
            } else {
                let known = |(told, _): &(Member, u64)| told.at == member.at;
                self.partners.len() < MAX_PARTNERS && !self.partners.iter().any(known)
            };
            if is_new {
                self.partners.push((*member, self.bytes.start(cell)));
            }
        }
    }

    #[cold]
    fn tell(&mut self, now: Now, (access, site): (&Access, Site), sink: &mut dyn RaceSink) {
        let later = site.side(access.address);
        for &(member, address) in &self.partners {
            if self.blocks.is_benign(address) {
                continue;
            }
            let earlier = self.sites.get(member.site).side(member.address);
            let race = Race { earlier, later, address, block: self.blocks.around(address) };
            let mut upto = self.order.threads.row(now.row).clock.clone();
            upto.set(now.at.slot, now.at.number - 1);
            let before = Moment { number: member.at.number - 1, ..member.at };
            upto.join_slice(self.past.knew(before).1);
            upto.set(before.slot, before.number.max(upto.get(before.slot)));
            upto.join_slice(&self.floor);
            self.past.counts(upto.as_slice(), &mut self.done);
            let witness = Witness { done: &self.done, ..Witness::default() };
            sink.predicted(&race, &witness, &Locks { locks: &self.order.locks, blocks: &self.blocks });
        }
    }

    fn atomic(&mut self, now: Now, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        match access.atomic {
            None => self.access(now, event, access, sink),
            Some(order) => {
                self.order.atomic_learns(now.row, access, order);
                if access.size > 0 {
                    self.access(now, event, access, sink);
                }
                self.order.atomic_publishes(now.row, access, order);
            }
        }
    }

    fn step_any(&mut self, now: Now, event: &Event, sink: &mut dyn RaceSink) {
        let row = now.row;
        match event.op {
            Op::Access(access) => self.atomic(now, event, &access, sink),
            Op::Fence(order) => self.order.fence(row, order),
            Op::Acquire { lock, mode } => self.order.acquire(row, lock, mode),
            Op::Release { lock, mode } => self.order.release(row, lock, mode),
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
                // To make or destroy a lock needs it free.
                let clock = &mut self.order.threads.row_mut(row).clock;
                self.order.objects.teach_locks(object, object.saturating_add(1), clock);
                self.links.forget(&mut self.order, now, object);
            }
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
                let clock = &mut self.order.threads.row_mut(now.row).clock;
                for &cell in &cells {
                    let history = self.bytes.past(cell);
                    self.past.teach(clock, history.born);
                    self.past.teach(clock, history.freed);
                    self.members -= history.members.len();
                }
                self.bytes.clear(from, to);
            }
            let clock = &mut self.order.threads.row_mut(now.row).clock;
            self.order.objects.teach_locks(address, end, clock);
            self.find(address, end, &mut cells);
            cells.iter().for_each(|&cell| self.bytes.past_mut(cell).born = now.at);
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
        self.access(now, event, &access, sink);
        self.blocks.remove(address, size, kind);
        let mut cells = std::mem::take(&mut self.cells);
        self.find(address, access.end(), &mut cells);
        for &cell in &cells {
            let history = self.bytes.past_mut(cell);
            if kind == BlockKind::Descriptor {
                // The next file with this number may be opened unseen.
                self.members -= history.members.len();
                *history = History::default();
            }
            history.freed = now.at;
        }
        self.cells = cells;
    }

    /// Forgets what threads knew at moments that no byte remembers, if enough was gathered.
    fn sweep_if_due(&mut self) {
        if self.past.memory() >= self.sweep_at {
            self.sweep();
        }
    }

    fn sweep(&mut self) {
        let mut needed: Vec<Vec<u32>> = Vec::new();
        let mut need = |moment: Moment| {
            let index = moment.slot as usize;
            if index >= needed.len() {
                needed.resize(index + 1, Vec::new());
            }
            needed[index].push(moment.number);
        };
        self.bytes.retain(|history| {
            [history.written, history.born, history.freed].into_iter().for_each(&mut need);
            for member in &history.members {
                need(Moment { number: member.at.number - 1, ..member.at });
            }
            true
        });
        self.links.makings().for_each(&mut need);
        needed.iter_mut().for_each(|numbers| numbers.sort_unstable());
        self.past.keep_only(&needed);
        self.sweep_at = limit::sweep_at_least(self.options.memory_limit).max(2 * self.past.memory());
    }
}

impl Detector for Shb {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        let now = self.past.enter(&mut self.order.threads, event.thread);
        let object = self.links.touch(&mut self.order, &self.past, now, &event.op);
        if let Some(born) = object.and_then(|object| self.bytes.at(object)).map(|history| history.born) {
            self.past.teach(&mut self.order.threads.row_mut(now.row).clock, born);
        }
        self.step_any(now, event, sink);
        self.past.learned(now.at, &self.order.threads.row(now.row).clock);
        self.sweep_if_due();
        self.bound(sink);
    }

    fn finish(&mut self, _: &mut dyn RaceSink) {}
}
