//! Conflicts (`conflict`): the pairs of accesses of a run that conflict, as ranked targets for
//! active testing.
//!
//! Paper: RaceHunter: conflicting pairs are Definition 2, targets Definition 10, descriptors
//! Algorithm 2. Departure: no loop over pairs of accesses. For each range of bytes one
//! *representative* is kept of each *class* of accesses: those of a thread, place, stack, mode,
//! memory order, lock set and segment between its forks and joins. A class that comes to a range
//! is paired with each class there that it conflicts with; a pair of classes is one pair,
//! wherever its accesses meet, and is shown by the first two that met, or, better, by two that no
//! synchronisation ordered: for of a representative the latest access is ordered before another
//! access only if all are.
//!
//! Dropped is only what cannot race: both atomic, ordered by fork and join alone, another life of
//! the block, thread-local, read-only. What two accesses share a lock only moves them back: who
//! is held may let others take another way.
//!
//! Pairs that other analyses tell of the same run become targets as well, first of all ([`Conflict::with_told`], `told`).
//!
//! Invariants: linear in the trace; an access looks at no more than a fixed number of
//! representatives for each cell of the shadow that it touches; memory is bounded but for the
//! tables of classes, locks and blocks, which grow with the distinct ones among them. What these bounds
//! cut off is counted in [`Dropped`]. A descriptor selects exactly the access that it was made of.

mod class;
mod describe;
mod extent;
mod judge;
mod pairs;
mod reps;
mod select;
mod shadow;
mod target;
mod told;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::Plain;
use deadheat_core::race::{Block, LockSetId};

use crate::clock::blocks::{Blocks, owned};
use crate::clock::order::Order;
use crate::clock::threads::{Thread, Threads};
use class::{Class, Classes, How, Who};
use judge::{Drops, Judge};
use pairs::{Instance, Pairs};
use reps::{Limits, Sort};
use shadow::Shadow;

pub use pairs::{FILTER_BITS, PAIRS_MAX};
pub use target::{Calls, Descriptor, Dropped, Nomination, Rank, Side, Target};
pub use told::Told;

/// What can be asked of the nomination. A larger number takes more time and memory and loses
/// less.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// At most so many targets for each unordered pair of places.
    pub targets_per_places: usize,
    /// So many times as many pairs of classes are kept, to choose the targets from.
    pub choice: usize,
    /// At most so many representatives for each range of bytes.
    pub per_range: usize,
    /// At most so many of these while no other thread touched the memory around (512 bytes).
    pub alone: usize,
    /// At most so many of these of one thread at one place with the same bytes.
    pub per_place: usize,
    /// Pairs that fork and join alone order are kept, too: a comparison, since none of them races.
    pub keep_fork_join: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            targets_per_places: 16,
            choice: 2,
            per_range: 32,
            alone: 16,
            per_place: 4,
            keep_fork_join: false,
        }
    }
}

/// The nomination, as it sees the events of one run.
#[derive(Debug)]
pub struct Conflict {
    order: Order,
    /// Fork and join alone.
    family: Threads,
    blocks: Blocks,
    classes: Classes,
    shadow: Shadow,
    pairs: Pairs,
    told: told::Pairs,
    drops: Drops,
    keep_fork_join: bool,
    targets_per_places: usize,
    /// The position of the next event.
    at: u64,
}

/// A thread at a moment between two synchronisations.
#[derive(Clone, Copy, Debug)]
struct Acting {
    thread: ThreadId,
    /// Its number among the classes.
    who: u32,
    row: usize,
    /// Its row among those of fork and join.
    relative: usize,
    clock: u32,
    family_clock: u32,
    locks: LockSetId,
}

impl Conflict {
    /// A fresh nomination.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self::with_told(options, &[])
    }

    /// A fresh nomination of a run of which other analyses tell these pairs. They become targets too,
    /// [`Target::told`] by their indices, if they conflict.
    #[must_use]
    pub fn with_told(options: Options, told: &[Told]) -> Self {
        let Options { targets_per_places, choice, per_range, alone, per_place, keep_fork_join } = options;
        Self {
            order: Order::default(),
            family: Threads::default(),
            blocks: Blocks::default(),
            classes: Classes::default(),
            shadow: Shadow::new(Limits { per_range, alone, per_place }),
            pairs: Pairs::new(targets_per_places * choice),
            told: told::Pairs::new(told),
            drops: Drops::default(),
            keep_fork_join,
            targets_per_places,
            at: 0,
        }
    }

    /// Takes the next event of the merged order.
    pub fn step(&mut self, event: &Event) {
        self.told.comes(event.thread);
        self.order(event);
        self.at += 1;
    }

    /// Takes the next events, all plain accesses that one thread made in this order: the same as
    /// [`Self::step`] for each.
    pub fn plain(&mut self, thread: ThreadId, accesses: &[Plain]) {
        let acting = self.acting(thread);
        for plain in accesses {
            self.told.comes(thread);
            let access = plain.access();
            if is_of_library(access.via) {
                self.at += 1;
                continue;
            }
            let class = self.class(&acting, (plain.place, plain.stack), &access);
            self.access(&acting, (class, plain.place, 1), &access);
            self.at += 1;
        }
    }

    /// The run is over: its targets, the most likely first.
    #[must_use]
    pub fn finish(self, calls: &dyn Calls) -> Nomination {
        let Self { order, blocks, classes, shadow, pairs, told, drops, targets_per_places, .. } = self;
        let mut dropped = Dropped {
            both_atomic: drops.both_atomic.count,
            fork_join: drops.fork_join.count,
            unplaced: drops.unplaced.count,
            capped: pairs.capped.count,
            forgotten: shadow.forgotten(),
            ..Dropped::default()
        };
        drop(shadow);
        let places = pairs.groups() as u64;
        let all = (&pairs.all[..], &told.all[..]);
        let targets = select::targets(all, (&classes, calls), targets_per_places, &mut dropped);
        Nomination { targets, dropped, pairs: places, locks: order.locks, blocks }
    }

    /// A thread that is about to access.
    #[inline]
    fn acting(&mut self, thread: ThreadId) -> Acting {
        let (row, relative) = (self.order.threads.acting(thread), self.family.acting(thread));
        let clock = self.order.threads.now(row);
        let family_clock = self.family.now(relative);
        let &Thread { slot, locks, .. } = self.order.threads.row(row);
        let who = self.classes.who(Who { thread, slot, family_slot: self.family.row(relative).slot });
        Acting { thread, who, row, relative, clock, family_clock, locks }
    }

    #[inline]
    fn class(&mut self, acting: &Acting, (place, stack): (PlaceId, StackId), access: &Access) -> u32 {
        let &Acting { who, locks, .. } = acting;
        self.classes.number(Class { who, place, stack, locks, how: How::of(access) })
    }

    /// An access that an event makes. Its thread has learned what it synchronises with.
    fn one(&mut self, event: &Event, access: &Access) {
        let acting = self.acting(event.thread);
        let class = self.class(&acting, (event.place, event.stack), access);
        self.access(&acting, (class, event.place, event.times), access);
    }

    /// So many accesses of a class at a place.
    #[inline]
    fn access(&mut self, acting: &Acting, (class, place, times): (u32, PlaceId, u32), access: &Access) {
        let &Access { address, size, mode, atomic, .. } = access;
        let ordinal = self.classes.count(class, self.at, times);
        if size == 0 {
            return;
        }
        let now = Instance { class, at: self.at, ordinal, address, size };
        if self.told.is_due() {
            self.told(acting, now);
        }
        let near_atomics = self.shadow.access(&mut Judge {
            now,
            site: self.classes.entries[class as usize].site,
            thread: acting.thread,
            place,
            held: acting.locks,
            sort: Sort { writes: mode.writes(), atomic: atomic.is_some() },
            clock: acting.clock,
            family_clock: acting.family_clock,
            seen: &self.order.threads.row(acting.row).clock,
            family_seen: &self.family.row(acting.relative).clock,
            sites: &self.classes.sites,
            pairs: &mut self.pairs,
            drops: &mut self.drops,
            keep_fork_join: self.keep_fork_join,
            blocks: &self.blocks,
            locks: &self.order.locks,
        });
        if near_atomics && mode.writes() && atomic.is_none() {
            self.order.objects.silence_atomics(address, access.end());
        }
    }

    /// An access that another analysis told.
    #[cold]
    fn told(&mut self, acting: &Acting, instance: Instance) {
        let thread = self.order.threads.row(acting.row);
        let now = told::Seen { instance, slot: thread.slot, clock: acting.clock };
        let ordered = |earlier: &told::Seen| thread.clock.get(earlier.slot) >= earlier.clock;
        self.told.take(now, ordered, (&self.classes, &self.blocks));
    }

    fn order(&mut self, event: &Event) {
        let row = self.order.threads.acting(event.thread);
        let relative = self.family.acting(event.thread);
        match event.op {
            // An empty range touches nothing and is no access.
            Op::Access(Access { size: 0, .. }) => {}
            Op::Access(Access { via, .. }) if is_of_library(via) => {}
            Op::Free { kind: BlockKind::Descriptor, .. } => {}
            Op::Access(access) => match access.atomic {
                None => self.one(event, &access),
                Some(order) => {
                    self.order.atomic_learns(row, &access, order);
                    self.one(event, &access);
                    self.order.atomic_publishes(row, &access, order);
                }
            },
            Op::Fence(order) => self.order.fence(row, order),
            Op::Acquire { lock, mode } => self.order.acquire(row, lock, mode),
            Op::Release { lock, mode } => self.order.release(row, lock, mode),
            Op::Fork { child } => {
                self.order.fork(row, child);
                self.family.fork(relative, child);
            }
            Op::Join { child } => {
                self.order.join(row, child);
                self.family.join(relative, child);
            }
            Op::End => {
                self.order.threads.end(row);
                self.family.end(relative);
            }
            Op::Signal { object, kind } => self.order.signal(row, object, kind),
            Op::Await { object, kind } => self.order.begin_wait(row, object, kind),
            Op::Wait { object, kind, woken } => self.order.end_wait(row, object, kind, woken),
            Op::Arrive { barrier, count } => self.order.arrive(row, barrier, count),
            Op::Leave { barrier } => self.order.leave(row, barrier),
            Op::Alloc { address, size, kind } => self.alloc(event, address, size, kind),
            Op::Free { address, size, kind } => self.free(event, address, size, kind),
            Op::Forget { object } => self.order.objects.forget(object),
            // These order nothing; see `hb`.
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
        match kind {
            BlockKind::Benign => {}
            BlockKind::Heap => self.blocks.lived(address, end, |from, to| self.shadow.clear(from, to)),
            BlockKind::Mapping | BlockKind::Stack | BlockKind::ThreadLocal | BlockKind::Descriptor => {
                self.shadow.clear(address, end)
            }
        }
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        if kind != BlockKind::Benign {
            self.order.objects.forget_range(address, end);
        }
    }

    fn free(&mut self, event: &Event, address: u64, size: u64, kind: BlockKind) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        let access =
            Access { via: Via::Free, ..Access::plain(address, owned(address, size, kind), Mode::Write) };
        self.one(event, &access);
        self.blocks.remove(address, size, kind);
    }
}

/// Whether an access stands for what a library function does as a whole: nobody can be held right before that.
const fn is_of_library(via: Via) -> bool {
    matches!(via, Via::Object | Via::Birth)
}
