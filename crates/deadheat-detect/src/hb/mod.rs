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
//! what no cell names any more is swept when as much again was made.

mod cache;
mod cell;
mod crowd;
mod judge;
mod moments;
mod shadow;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::race::{Block, HeldLock, LockSetId, LockSets, Race, RaceSink, Side};
use deadheat_core::rule::Epoch;

use crate::clock::blocks::Blocks;
use crate::clock::lockset::LockTable;
use crate::clock::order::Order;
use crate::clock::vector::Clock;
use crate::detector::Detector;
use crate::registry::Options;
use cache::{Cache, Entry};
use cell::Cell;
use crowd::{Crowds, Member, Sort};
use judge::{Findings, Judge};
use moments::{How, Moments, SHORT};
use shadow::{Shadow, Visitor};

/// The least number of moments or crowds made between two sweeps.
const SWEEP_AT_LEAST: usize = 1 << 16;
/// One moment may be made for this many cells between two sweeps: a sweep looks at each cell.
const CELLS_PER_MOMENT: usize = 8;
/// A heap block that starts on such a boundary owns its last granule whole.
const HEAP_GRANULE: u64 = 8;

/// The happens-before analysis.
#[derive(Debug)]
pub struct Hb {
    order: Order,
    blocks: Blocks,
    shadow: Shadow,
    moments: Moments,
    crowds: Crowds,
    cache: Cache,
    findings: Findings,
    all_pairs: bool,
    sweep_at_least: usize,
    /// How many moments may be made before it is asked whether a sweep is due.
    until_sweep: usize,
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
            moments: Moments::default(),
            crowds: Crowds::default(),
            cache: Cache::default(),
            findings: Findings::default(),
            all_pairs: options.all_pairs,
            sweep_at_least: SWEEP_AT_LEAST,
            until_sweep: 1,
            counts: Counts::default(),
        }
    }

    /// Sweeps when this many moments were made since the last time, if that is more than it left.
    /// Less memory, more time; the races are the same.
    #[must_use]
    pub fn sweeping_after(self, moments: usize) -> Self {
        Self { sweep_at_least: moments, ..self }
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
            + self.moments.memory()
            + self.crowds.memory()
            + self.cache.memory()
            + self.order.threads.memory()
    }

    /// The case that most accesses are: plain, of at most 16 bytes of one block that is cut at their
    /// bounds, and ordered after what their cells remember. `false` if it is another, or if that
    /// takes longer to find out. Cells that took the step by then take it again without effect.
    ///
    /// Its simple model is [`Self::judge`], which does the same for any access.
    #[inline]
    fn quick(&mut self, event: &Event, access: &Access) -> bool {
        let word = is_aligned_word(access);
        if !word && access.size.wrapping_sub(1) >= SHORT {
            return false;
        }
        let how = if word { How::aligned(access) } else { How::of(access) };
        let row = self.order.threads.acting(event.thread);
        let thread = self.order.threads.row(row);
        let mut at = Cache::place(thread.slot, event, how);
        if self.cache.find(at, event, thread.stretch, how).is_none() {
            at ^= 1;
            if self.cache.find(at, event, thread.stretch, how).is_none() {
                at = self.place_of_new(row, event, access, how);
            }
        }
        if word { self.quick_word(row, at, access) } else { self.quick_span(row, at, access) }
    }

    /// Where the moment of an access is in the cache after it was made.
    #[cold]
    fn place_of_new(&mut self, row: usize, event: &Event, access: &Access, how: How) -> usize {
        self.moment(row, event, access);
        // The thread may have moved to another slot.
        Cache::place(self.order.threads.row(row).slot, event, how)
    }

    #[inline]
    fn quick_word(&mut self, row: usize, at: usize, access: &Access) -> bool {
        let Some(cell) = self.shadow.cell(access.address, access.size.trailing_zeros()) else {
            return self.quick_span(row, at, access);
        };
        let (clock, entry) = (&self.order.threads.row(row).clock, self.cache.entry(at));
        step(cell, entry, access.mode, clock, &self.moments, &mut self.crowds)
    }

    /// The same for bytes that have several cells.
    fn quick_span(&mut self, row: usize, at: usize, access: &Access) -> bool {
        let Some(cells) = self.shadow.cells(access.address, access.size) else { return false };
        let (clock, entry) = (&self.order.threads.row(row).clock, self.cache.entry(at));
        cells.iter_mut().all(|cell| step(cell, entry, access.mode, clock, &self.moments, &mut self.crowds))
    }

    /// Any access. The thread has learned what it synchronises with.
    fn judge(&mut self, row: usize, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        if access.size == 0 {
            return;
        }
        let moment = self.moment(row, event, access);
        let thread = self.order.threads.row(row);
        let now = Member { moment, epoch: self.moments.epoch(moment), sort: Sort::of(access) };
        self.findings.reset();
        let mut judge = Judge {
            now,
            clock: &thread.clock,
            moments: &self.moments,
            crowds: &mut self.crowds,
            findings: &mut self.findings,
            all_pairs: self.all_pairs,
        };
        match self.shadow.cell(access.address, access.size.trailing_zeros()) {
            Some(cell) if is_aligned_word(access) => *cell = judge.visit(*cell, access.address),
            _ => self.shadow.visit(access.address, access.end(), &mut judge),
        }
        if self.findings.overwrote_atomic {
            self.order.objects.silence_atomics(access.address, access.end());
        }
        if self.findings.raced {
            self.tell(row, event, access, sink);
        }
    }

    /// The moment of an access, made if need be.
    fn moment(&mut self, row: usize, event: &Event, access: &Access) -> u32 {
        let thread = self.order.threads.row(row);
        let how = How::of(access);
        let at = Cache::place(thread.slot, event, how);
        match self.cache.find_beside(at, event, thread.stretch, how) {
            Some(entry) => entry.moment,
            None => self.new_moment(row, event, access, how),
        }
    }

    fn new_moment(&mut self, row: usize, event: &Event, access: &Access, how: How) -> u32 {
        self.until_sweep -= 1;
        if self.until_sweep == 0 {
            self.sweep_if_due();
        }
        let stretch = self.order.threads.stretch(row);
        let thread = self.order.threads.row(row);
        let epoch = Epoch { thread: thread.slot, clock: (stretch >> 32) as u32 };
        let moment = self.moments.add(event, access, how, epoch, thread.locks);
        // A range is told apart by its address too. All pairs need more than one write and one
        // read of a byte, so nothing is quick there.
        if !how.is_range() && !self.all_pairs {
            self.cache.keep(Cache::place(thread.slot, event, how), event, stretch, how, moment);
        }
        moment
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
            let earlier = self.moments.side(partner.moment, address);
            let race = Race { earlier, later, address, block: self.blocks.around(address) };
            self.counts.races += 1;
            sink.race(&race, &Held { locks: &self.order.locks, blocks: &self.blocks });
        }
    }

    /// Sweeps what no cell names any more, if enough was made since the last time; otherwise
    /// looks when to ask again.
    fn sweep_if_due(&mut self) {
        let cells = self.shadow.len() / CELLS_PER_MOMENT;
        let lacking =
            |(made, left): (usize, usize)| self.sweep_at_least.max(left).max(cells).saturating_sub(made);
        let lacking = lacking(self.moments.made_and_left()).min(lacking(self.crowds.made_and_left()));
        // Crowds are not counted one by one here: half of what lacks is asked for again soon.
        self.until_sweep = (lacking / 2).max(1);
        if lacking > 0 {
            return;
        }
        let mut crowds = self.crowds.marks();
        let mut moments = self.moments.marks();
        self.shadow.for_each(|cell| match cell.as_crowd() {
            Some(crowd) => {
                if crowds.mark(crowd) {
                    self.crowds.members(crowd).iter().for_each(|member| {
                        moments.mark(member.moment);
                    });
                }
            }
            None => {
                moments.mark(cell.write());
                moments.mark(cell.read());
            }
        });
        self.crowds.sweep(&crowds);
        self.moments.sweep(&moments);
        self.cache.clear();
        self.counts.sweeps += 1;
    }

    /// Everything but plain accesses.
    fn rare(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        let row = self.order.threads.acting(event.thread);
        match event.op {
            Op::Access(access) => match access.atomic {
                None => self.judge(row, event, &access, sink),
                Some(order) => {
                    self.order.atomic_learns(row, &access, order);
                    self.judge(row, event, &access, sink);
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
            | Op::HiddenEnd => {}
        }
    }

    fn alloc(&mut self, event: &Event, address: u64, size: u64, kind: BlockKind) {
        let Event { thread, place, stack, .. } = *event;
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        if kind == BlockKind::Benign {
            return;
        }
        let end = address.saturating_add(owned(address, size, kind));
        self.shadow.clear(address, end, |cell| self.crowds.share(cell));
        self.order.objects.forget_range(address, end);
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
    }
}

/// Steps one cell on by a moment, if nothing races and that is soon found out.
#[inline(always)]
fn step(
    cell: &mut Cell,
    entry: &mut Entry,
    mode: Mode,
    clock: &Clock,
    moments: &Moments,
    crowds: &mut Crowds,
) -> bool {
    let old = *cell;
    if old == entry.from {
        *cell = entry.to;
        return true;
    }
    if let Some(new) = moments.succeed(old, entry.moment, mode, clock) {
        *cell = new;
        (entry.from, entry.to) = (old, new);
        return true;
    }
    let Some(new) = crowds.clean_step(old, entry.moment) else { return false };
    *cell = new;
    if crowds.is_fixed(old) && crowds.is_fixed(new) {
        (entry.from, entry.to) = (old, new);
    }
    true
}

/// Whether an access is of 1, 2, 4 or 8 bytes at a multiple of its size.
#[inline]
fn is_aligned_word(access: &Access) -> bool {
    let below = access.size.wrapping_sub(1);
    below < 8 && (access.size | access.address) & below == 0
}

/// The bytes that a block owns: a heap block on a granule's boundary owns its last granule
/// whole, since no other block can have a part of it.
fn owned(address: u64, size: u64, kind: BlockKind) -> u64 {
    if kind == BlockKind::Heap && address.is_multiple_of(HEAP_GRANULE) {
        size.checked_next_multiple_of(HEAP_GRANULE).unwrap_or(size)
    } else {
        size
    }
}

/// The locks of a race, for its sink.
struct Held<'a> {
    locks: &'a LockTable,
    blocks: &'a Blocks,
}

impl LockSets for Held<'_> {
    fn locks(&self, id: LockSetId) -> &[HeldLock] {
        self.locks.locks(id)
    }

    fn block(&self, lock: u64) -> Option<Block> {
        self.blocks.around(lock)
    }
}

impl Detector for Hb {
    #[inline]
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        if let Op::Access(access) = &event.op {
            self.counts.accesses += 1;
            if access.atomic.is_none() && !self.all_pairs && self.quick(event, access) {
                return;
            }
        }
        self.rare(event, sink);
    }

    fn finish(&mut self, _: &mut dyn RaceSink) {}
}
