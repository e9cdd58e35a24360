//! Locking discipline (`lockset`): variables that several threads use, one of them writing, and that no lock protects at
//! all accesses.
//!
//! Paper: Letko, Dynamic Detection and Healing of Low Level Data Races (first half); Eraser (Savage and others, TOCS
//! 1997). The states are in [`state`], a variable is a byte.
//!
//! Departures. What only one thread used changes hands without a word if forks, joins, atomics or other order that is
//! not of locks put all it did before. What is told are two accesses that conflict, with what the order of the run says of them. Atomic accesses
//! are not looked at, nor are births, ends and objects that synchronise: no lock is to protect those. The end of a block's life forgets
//! its bytes and judges nothing.
//!
//! Blind spots: a lock is known by its address; a store of a block's address does not end the block's initialisation,
//! as a trace has no values.
//!
//! Invariants: exact to the byte; memory grows with the memory that the program touched, not with the length of the
//! trace, and ends at the limit if there is one: then all is forgotten and begun anew, and that is told.

mod cell;
mod judge;
mod records;
mod sets;
mod sites;
pub mod state;
mod tally;
mod ways;

use deadheat_core::access::{Access, MemoryOrder, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::Plain;
use deadheat_core::race::{Block, LockSetId, Race, RaceSink, RunOrder};
use deadheat_core::rule::Epoch;

use crate::clock::blocks::{Blocks, Locks, owned};
use crate::clock::order::Order;
use crate::detector::Detector;
use crate::how::How;
use crate::registry::Options;
use crate::shadow::{Shadow, Visitor};
use cell::{Cell, Moment, Says};
use judge::{Allocate, Hit, Judge};
use records::Records;
use sets::Known;
use sites::{Site, Sites};
use state::{Rules, Step};

/// The least number of sites and records made between two sweeps.
const SWEEP_AT_LEAST: usize = 1 << 16;
/// One of them may be made for this many cells between two sweeps: a sweep looks at each cell.
const CELLS_FOR_ONE: usize = 8;
/// So many cells fit the caches that are near to a processor.
const CELLS_NEAR: usize = 1 << 16;
/// The memory is looked at after so many accesses.
const LOOK_AFTER: u32 = 1 << 12;

/// The lockset analysis.
#[derive(Debug)]
pub struct Lockset {
    rules: Rules,
    /// All order of the run, and the locks.
    order: Order,
    /// The order that is not of locks. Its rows are those of `order`.
    firm: Order,
    blocks: Blocks,
    shadow: Shadow<Cell>,
    sites: Sites,
    records: Records,
    known: Known,
    hits: Vec<Hit>,
    atomics: Filter,
    limit: usize,
    /// How many events came so far, and how many when it last forgot what it knew.
    taken: u64,
    forgot: u64,
    look_in: u32,
    sweep_at: usize,
    sweeps_always: bool,
}

/// The thread that acts, and all that its accesses have in common until it does something else.
#[derive(Clone, Copy)]
struct Actor {
    row: usize,
    thread: ThreadId,
    slots: [u32; 2],
    clock: u32,
    firm: u32,
    locks: LockSetId,
}

impl Actor {
    /// Its access at a site.
    #[inline]
    const fn moment(&self, site: u32) -> Moment {
        Moment { site, locks: self.locks, clock: self.clock, firm: self.firm }
    }
}

impl Lockset {
    /// A fresh analysis.
    #[must_use]
    pub fn new(rules: Rules, options: Options) -> Self {
        Self {
            rules,
            order: Order::default(),
            firm: Order::default(),
            blocks: Blocks::default(),
            shadow: Shadow::default(),
            sites: Sites::default(),
            records: Records::default(),
            known: Known::default(),
            hits: Vec::new(),
            atomics: Filter(Box::new([0; Filter::WORDS])),
            taken: 0,
            forgot: 0,
            limit: options.memory_limit.unwrap_or(usize::MAX),
            look_in: LOOK_AFTER,
            sweep_at: SWEEP_AT_LEAST,
            sweeps_always: false,
        }
    }

    /// Sweeps before every access. More time; the races are the same.
    #[must_use]
    pub fn sweeping_always(self) -> Self {
        Self { look_in: 1, sweeps_always: true, ..self }
    }

    /// About how many bytes of memory the analysis takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.shadow.memory()
            + self.sites.memory()
            + self.records.memory()
            + self.known.memory()
            + self.order.threads.memory()
            + self.firm.threads.memory()
    }

    #[inline]
    fn row(&mut self, thread: ThreadId) -> usize {
        let row = self.order.threads.acting(thread);
        let same = self.firm.threads.acting(thread);
        debug_assert_eq!(row, same, "both orders see the same threads come");
        row
    }

    #[inline]
    fn actor(&mut self, row: usize, thread: ThreadId) -> Actor {
        let (clock, firm) = (self.order.threads.now(row), self.firm.threads.now(row));
        let of = self.order.threads.row(row);
        Actor { row, thread, slots: [of.slot, self.firm.threads.row(row).slot], clock, firm, locks: of.locks }
    }

    #[inline]
    fn site(&self, actor: &Actor, place: PlaceId, stack: StackId, how: How) -> Site {
        let Actor { row, thread, slots, .. } = *actor;
        Site { row: row as u32, slots, thread, place, stack, how }
    }

    /// An access, whose site has this number.
    #[inline]
    fn judge(&mut self, actor: &Actor, site: u32, access: &Access, sink: &mut dyn RaceSink) {
        let mut judge = Judge {
            rules: self.rules,
            step: Step { row: actor.row as u32, writes: access.mode.writes(), locks: actor.locks },
            moment: actor.moment(site),
            clock: &self.order.threads.row(actor.row).clock,
            firm: &self.firm.threads.row(actor.row).clock,
            sites: &self.sites,
            records: &mut self.records,
            known: &mut self.known,
            locks: &self.order.locks,
            hits: &mut self.hits,
        };
        // Most accesses are to one cell that is soon found.
        let near = if access.size.is_power_of_two() {
            self.shadow.near_cell(access.address, access.size)
        } else {
            None
        };
        match near {
            Some(cell) => *cell = judge.visit(*cell, access.address, 1),
            None => self.shadow.visit(access.address, access.end(), &mut judge),
        }
        if !self.hits.is_empty() {
            self.tell(actor, site, access, sink);
        }
    }

    #[cold]
    fn tell(&mut self, actor: &Actor, site: u32, access: &Access, sink: &mut dyn RaceSink) {
        let later = self.sites.side(actor.moment(site), access.address);
        let mut last = None;
        for Hit { address, partner, record } in std::mem::take(&mut self.hits) {
            if self.blocks.is_benign(address) {
                continue;
            }
            let earlier = self.sites.side(partner, address);
            let race = Race { earlier, later, address, block: self.blocks.around(address) };
            let sites = [partner.site, site].map(|site| *self.sites.get(site));
            self.records.get_mut(record).told = self.records.told.number(&sites[0], &sites[1], race);
            // The parts of one access are told as one.
            if last != Some(earlier) {
                let order = self.order_of(actor, partner);
                sink.suspected(&race, order, &Locks { locks: &self.order.locks, blocks: &self.blocks });
            }
            last = Some(earlier);
        }
    }

    /// What the order of the run says of an earlier access.
    fn order_of(&self, actor: &Actor, earlier: Moment) -> RunOrder {
        let [slot, firm_slot] = self.sites.get(earlier.site).slots;
        let firm = Epoch { thread: firm_slot, clock: earlier.firm };
        let all = Epoch { thread: slot, clock: earlier.clock };
        if self.firm.threads.row(actor.row).clock.covers(firm) {
            RunOrder::Otherwise
        } else if self.order.threads.row(actor.row).clock.covers(all) {
            RunOrder::ByLocks
        } else {
            RunOrder::Unordered
        }
    }

    fn access(&mut self, row: usize, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        if access.size == 0 {
            return;
        }
        self.look();
        if access.mode.writes() && self.atomics.may_have(access.address, access.size) {
            self.silence(access.address, access.end());
        }
        if !is_checked(access.via) {
            return;
        }
        let actor = self.actor(row, event.thread);
        let site = self.site(&actor, event.place, event.stack, How::of(access));
        let site = if site.how.is_range() {
            self.sites.number_of_range(site, access)
        } else {
            self.sites.number(site)
        };
        self.judge(&actor, site, access, sink);
    }

    /// A plain access of a usual size: the same as [`Self::access`], which is its simple model, with the commonest cases
    /// in short.
    #[inline]
    fn quick(&mut self, actor: &Actor, access: &Plain, sink: &mut dyn RaceSink) {
        let Plain { address, place, stack, form } = *access;
        self.look();
        let size = form.size();
        if form.writes() && self.atomics.may_have(address, size) {
            self.silence(address, address.saturating_add(size));
        }
        if !is_checked(form.via()) {
            return;
        }
        let row = actor.row as u32;
        let site = self.site(actor, place, stack, How::of_power(access));
        if let Some(cell) = self.shadow.near_cell(address, size) {
            let mine = match cell.says() {
                Says::Fresh(owner) if owner == row => return,
                Says::Exclusive(last) => self.sites.row(last.site) == row,
                Says::Nothing => true,
                Says::Fresh(_) | Says::Several(_) => false,
            };
            if mine {
                let site = self.sites.number(site);
                *cell = Cell::exclusive(actor.moment(site));
                return;
            }
        }
        let site = self.sites.number(site);
        self.judge(actor, site, &access.access(), sink);
    }

    /// Looks after the memory, now and then.
    #[inline]
    fn look(&mut self) {
        self.look_in -= 1;
        if self.look_in == 0 {
            self.look_now();
        }
    }
}

impl Lockset {
    #[cold]
    fn look_now(&mut self) {
        self.look_in = if self.sweeps_always { 1 } else { LOOK_AFTER };
        if self.memory() > self.limit {
            self.forget();
        }
        let made = self.sites.made_and_left().0 + self.records.made_and_left().0;
        if self.sweeps_always || made >= self.sweep_at {
            self.sweep();
        }
    }

    /// Sweeps what no cell names any more.
    fn sweep(&mut self) {
        let (mut sites, mut records) = (self.sites.marks(), self.records.marks());
        self.shadow.for_each(|cell| match cell.says() {
            Says::Nothing | Says::Fresh(_) => {}
            Says::Exclusive(last) => {
                sites.mark(last.site);
            }
            Says::Several(record) => {
                records.mark(record);
            }
        });
        self.records.sweep(&records, &mut sites);
        self.sites.sweep(&sites);
        let left = self.sites.made_and_left().1 + self.records.made_and_left().1;
        self.sweep_at = SWEEP_AT_LEAST.max(left).max(self.shadow.len() / CELLS_FOR_ONE);
    }

    /// Forgets all variables; the order, the locks and what was told stay.
    fn forget(&mut self) {
        self.forgot = self.taken;
        self.records.forget();
        self.shadow = Shadow::default();
        self.sites = Sites::default();
        self.known.forget();
    }

    fn alloc(&mut self, event: &Event, row: usize, (address, size, kind): (u64, u64, BlockKind)) {
        let Event { thread, place, stack, .. } = *event;
        let end = address.saturating_add(owned(address, size, kind));
        let mut clear = |from, to| self.shadow.clear(from, to, &mut self.records);
        match kind {
            BlockKind::Benign => {}
            BlockKind::Heap => self.blocks.lived(address, end, clear),
            BlockKind::Mapping | BlockKind::Stack | BlockKind::ThreadLocal | BlockKind::Descriptor => {
                clear(address, end);
            }
        }
        let is_initialised = matches!(kind, BlockKind::Heap | BlockKind::Mapping);
        if self.rules.initialises && is_initialised {
            let cell = Cell::fresh(row as u32);
            self.shadow.visit(address, end, &mut Allocate { cell, records: &mut self.records });
        }
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        if kind != BlockKind::Benign {
            self.each_order(|order| order.objects.forget_range(address, end));
        }
    }

    fn free(&mut self, (address, size, kind): (u64, u64, BlockKind)) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        let end = address.saturating_add(owned(address, size, kind));
        self.silence(address, end);
        self.shadow.clear(address, end, &mut self.records);
        self.blocks.remove(address, size, kind);
    }

    fn atomic(&mut self, row: usize, access: &Access, memory: MemoryOrder) {
        self.atomics.add(access.address);
        self.atomics.add(access.end().saturating_sub(1));
        self.each_order(|order| {
            order.atomic_learns(row, access, memory);
            // It is not judged, but it has a moment of its own.
            order.threads.now(row);
            order.atomic_publishes(row, access, memory);
        });
    }

    /// A plain write overwrites what atomics published.
    #[cold]
    fn silence(&mut self, address: u64, end: u64) {
        self.each_order(|order| order.objects.silence_atomics(address, end));
    }

    fn join(&mut self, row: usize, child: ThreadId) {
        self.each_order(|order| order.join(row, child));
        if let Some(ended) = self.order.threads.find(child)
            && ended != row
        {
            // What is done from now on is told from what was done before.
            self.order.threads.publish(row);
            let clock = self.order.threads.now(row);
            let thread = self.order.threads.row(row).slot;
            self.known.ends().add(ended, Epoch { thread, clock });
        }
    }

    fn each_order(&mut self, mut act: impl FnMut(&mut Order)) {
        act(&mut self.order);
        act(&mut self.firm);
    }

    fn fork(&mut self, row: usize, child: ThreadId) {
        self.each_order(|order| order.fork(row, child));
    }
}

/// Which blocks of memory may hold an atomic object: all that do, and some that do not.
#[derive(Debug)]
struct Filter(Box<[u64; Filter::WORDS]>);

impl Filter {
    const WORDS: usize = 1 << 9;

    const fn at(address: u64) -> (usize, u64) {
        let hash = (address >> 7).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 49;
        (hash as usize / 64, 1 << (hash % 64))
    }

    fn add(&mut self, address: u64) {
        let (word, bit) = Self::at(address);
        self.0[word] |= bit;
    }

    #[inline]
    fn may_have(&self, address: u64, size: u64) -> bool {
        let has = |address| {
            let (word, bit) = Self::at(address);
            self.0[word] & bit != 0
        };
        size > How::SHORT || has(address) || has(address.wrapping_add(size - 1))
    }
}

/// Whether a lock is to protect accesses that are made in that way.
#[inline]
const fn is_checked(via: Via) -> bool {
    match via {
        Via::Code | Via::Volatile | Via::Vptr | Via::MemoryFunction | Via::System => true,
        Via::Free | Via::Object | Via::Birth => false,
    }
}

impl Detector for Lockset {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        self.taken += 1;
        let row = self.row(event.thread);
        match event.op {
            Op::Access(access) => match access.atomic {
                None => self.access(row, event, &access, sink),
                Some(memory) => self.atomic(row, &access, memory),
            },
            Op::Fence(memory) => self.each_order(|order| order.fence(row, memory)),
            // Locks are what the order that is not of locks has not.
            Op::Acquire { lock, mode } => self.order.acquire(row, lock, mode),
            Op::Release { lock, mode } => self.order.release(row, lock, mode),
            Op::Fork { child } => self.fork(row, child),
            Op::Join { child } => self.join(row, child),
            Op::End => self.each_order(|order| order.threads.end(row)),
            Op::Signal { object, kind } => self.each_order(|order| order.signal(row, object, kind)),
            Op::Await { object, kind } => self.each_order(|order| order.begin_wait(row, object, kind)),
            Op::Wait { object, kind, woken } => {
                self.each_order(|order| order.end_wait(row, object, kind, woken));
            }
            Op::Arrive { barrier, count } => self.each_order(|order| order.arrive(row, barrier, count)),
            Op::Leave { barrier } => self.each_order(|order| order.leave(row, barrier)),
            Op::Alloc { address, size, kind } => self.alloc(event, row, (address, size, kind)),
            Op::Free { address, size, kind } => self.free((address, size, kind)),
            Op::Forget { object } => self.each_order(|order| order.objects.forget(object)),
            // Nothing is ordered, held or accessed by these.
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

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], sink: &mut dyn RaceSink) {
        self.taken += accesses.len() as u64;
        let row = self.row(thread);
        let actor = self.actor(row, thread);
        for access in accesses {
            self.quick(&actor, access, sink);
        }
    }

    /// Fetches the cells into the processor's caches, where they would not be anyway.
    fn coming(&mut self, accesses: &[Plain]) {
        if self.shadow.len() >= CELLS_NEAR {
            let records = &self.records;
            self.shadow.touch(accesses, |cell| records.touch(cell.record()));
        }
    }

    fn finish(&mut self, sink: &mut dyn RaceSink) {
        self.records.settle_all();
        self.records.told.tell(sink, &Locks { locks: &self.order.locks, blocks: &self.blocks });
        if self.forgot > 0 {
            sink.forgot(self.forgot);
        }
    }
}
