//! Synchronisation objects: what each of them lets its next user see.
//!
//! Invariant: `addresses` holds the address of every object in the other tables, so that the
//! objects inside a block can be found when its memory gets a new life.

use std::collections::BTreeSet;
use std::collections::hash_map::Entry;

use deadheat_core::access::Access;
use deadheat_core::event::SyncKind;
use rustc_hash::FxHashMap;

use super::atomics::{Atomic, Atomics, Bytes, GRANULE, parts};
use super::barrier::Barrier;
use super::condition::Condition;
use super::vector::Clock;

/// All synchronisation objects of a run, by address. One address may hold one of each family.
#[derive(Debug, Default)]
pub struct Objects {
    locks: FxHashMap<u64, Lock>,
    atomics: Atomics,
    points: FxHashMap<(u64, Point), Clock>,
    conditions: FxHashMap<u64, Condition>,
    barriers: FxHashMap<u64, Barrier>,
    addresses: Addresses,
}

/// A page of memory, for [`Addresses`].
const PAGE_LOG2: u32 = 12;
/// Of a range of so many pages each is asked for.
const FEW_PAGES: u64 = 4;

/// A set of addresses that soon knows that there is none in a short range: most blocks of memory hold no object.
#[derive(Debug, Default)]
struct Addresses {
    sorted: BTreeSet<u64>,
    /// How many of them lie in a page.
    pages: FxHashMap<u64, u32>,
}

impl Addresses {
    fn insert(&mut self, address: u64) {
        if self.sorted.insert(address) {
            *self.pages.entry(address >> PAGE_LOG2).or_default() += 1;
        }
    }

    fn remove(&mut self, address: u64) {
        if self.sorted.remove(&address)
            && let Entry::Occupied(mut page) = self.pages.entry(address >> PAGE_LOG2)
        {
            *page.get_mut() -= 1;
            if *page.get() == 0 {
                page.remove();
            }
        }
    }

    /// Those from `start` to `end`, in order.
    fn range(&self, start: u64, end: u64) -> impl Iterator<Item = u64> + '_ {
        let (first, last) = (start >> PAGE_LOG2, end.saturating_sub(1) >> PAGE_LOG2);
        let none = start >= end
            || (last - first < FEW_PAGES && !(first..=last).any(|page| self.pages.contains_key(&page)));
        let range = if none { None } else { Some(self.sorted.range(start..end)) };
        range.into_iter().flatten().copied()
    }
}

/// A store that publishes nothing goes over an atomic, at whose first byte something was `announced`, or not.
fn silence(atomic: &mut Atomic, announced: Option<&Clock>) {
    atomic.own = None;
    match announced {
        Some(announced) => atomic.shown.assign(announced),
        None => atomic.shown.clear(),
    }
}

/// Whether something in memory can be there, and not what a runtime numbers itself.
const fn is_memory(address: u64) -> bool {
    address >> 56 == 0
}

/// What a lock lets its next holders see.
#[derive(Debug, Default)]
pub struct Lock {
    /// What the last holder in write mode published.
    pub written: Clock,
    /// What the holders in read mode since then published.
    pub read: Clock,
}

/// Objects that gather what is published and show all of it to whoever waits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Point {
    /// A semaphore.
    Semaphore,
    /// A one-time initialisation.
    Once,
    /// An order announced by the program.
    Annotation,
}

impl Point {
    /// The family of a kind; `None` for condition variables and for what is no object, which work otherwise.
    #[must_use]
    pub const fn of(kind: SyncKind) -> Option<Self> {
        match kind {
            SyncKind::Condition | SyncKind::ConditionAll | SyncKind::Everything => None,
            SyncKind::Semaphore => Some(Self::Semaphore),
            SyncKind::Once => Some(Self::Once),
            SyncKind::Annotation => Some(Self::Annotation),
        }
    }
}

impl Objects {
    /// The lock at an address.
    pub fn lock(&mut self, address: u64) -> &mut Lock {
        let Self { locks, addresses, .. } = self;
        locks.entry(address).or_insert_with(|| {
            addresses.insert(address);
            Lock::default()
        })
    }

    /// Calls `each` with what an acquire load would see.
    pub fn each_shown(&self, load: &Access, each: impl FnMut(&Clock)) {
        self.atomics.each_shown(load, each);
    }

    /// The bytes of an atomic access, if they lie within a granule and no atomic has some of them and others as well.
    #[must_use]
    pub fn alone(&self, access: &Access) -> Option<Bytes> {
        let mut parts = parts(access);
        let first = parts.next()?;
        (parts.next().is_none() && !self.atomics.is_cut_by(first)).then_some(first)
    }

    /// The atomic of just these bytes, which are [alone](Self::alone), if there is one.
    #[must_use]
    pub fn atomic(&self, bytes: Bytes) -> Option<&Atomic> {
        self.atomics.get(bytes)
    }

    /// The atomic of just these bytes, which are [alone](Self::alone).
    pub fn atomic_mut(&mut self, bytes: Bytes) -> &mut Atomic {
        let addresses = &mut self.addresses;
        self.atomics.get_or_make(bytes, |address| addresses.insert(address))
    }

    /// The atomics of the parts of an access's bytes, which show nothing: who had some of them is left with the rest.
    pub fn cut(&mut self, access: &Access, mut each: impl FnMut(&mut Atomic, Option<&Clock>)) {
        let Self { atomics, points, addresses, .. } = self;
        for bytes in parts(access) {
            let atomic = atomics.cut(bytes, |address| addresses.insert(address));
            each(atomic, points.get(&(bytes.0, Point::Annotation)));
        }
    }

    /// Whoever acquires the atomic or the lock at an address sees what was announced there, too.
    pub fn announce(&mut self, address: u64, clock: &Clock) {
        self.point(address, Point::Annotation).join(clock);
        if is_memory(address) {
            let atomic = match self.atomics.around(address) {
                Some(atomic) => atomic,
                None => self.atomics.get_mut((address, 1)),
            };
            atomic.shown.join(clock);
            if let Some(lock) = self.locks.get_mut(&address) {
                lock.written.join(clock);
            }
        }
    }

    /// What is seen by who acquires what was announced at an address: also what the atomic and the lock there show.
    pub fn announced(&self, address: u64, clock: &mut Clock) {
        let announced = self.points.get(&(address, Point::Annotation));
        let atomic = || self.atomics.overlapping((address, 1)).next().map(|(_, atomic)| &atomic.shown);
        let of_memory = || [atomic(), self.locks.get(&address).map(|lock| &lock.written)];
        let shown = if is_memory(address) { of_memory() } else { [None, None] };
        announced.into_iter().chain(shown.into_iter().flatten()).for_each(|shown| clock.join(shown));
    }

    /// The [atomic](Self::atomic) of just these bytes, which is there, was overwritten by a store that publishes nothing: it shows only what was announced at the first.
    pub fn silence_atomic(&mut self, bytes: Bytes) {
        silence(self.atomics.get_mut(bytes), self.points.get(&(bytes.0, Point::Annotation)));
    }

    /// The same for all bytes in a range that an atomic has.
    pub fn silence_atomics(&mut self, start: u64, end: u64) {
        let Self { atomics, points, addresses, .. } = self;
        // One that begins before lies within the same granule.
        let near = addresses.range(start & !(GRANULE - 1), end).filter(|&address| atomics.begins(address));
        let near: Vec<u64> = near.collect();
        for address in near {
            let Some(((_, size), _)) = atomics.overlapping((address, 1)).next() else { continue };
            let (from, to) = (address.max(start), (address + size).min(end));
            if from < to {
                let atomic = atomics.cut((from, to - from), |address| addresses.insert(address));
                silence(atomic, points.get(&(from, Point::Annotation)));
            }
        }
    }

    /// The gathering object at an address.
    pub fn point(&mut self, address: u64, family: Point) -> &mut Clock {
        let Self { points, addresses, .. } = self;
        points.entry((address, family)).or_insert_with(|| {
            addresses.insert(address);
            Clock::default()
        })
    }

    /// The condition variable at an address.
    pub fn condition(&mut self, address: u64) -> &mut Condition {
        let Self { conditions, addresses, .. } = self;
        conditions.entry(address).or_insert_with(|| {
            addresses.insert(address);
            Condition::default()
        })
    }

    /// The barrier at an address.
    pub fn barrier(&mut self, address: u64) -> &mut Barrier {
        let Self { barriers, addresses, .. } = self;
        barriers.entry(address).or_insert_with(|| {
            addresses.insert(address);
            Barrier::default()
        })
    }

    /// Forgets what was ordered by the objects at an address; its value if it is an atomic stays.
    pub fn forget(&mut self, address: u64) {
        self.locks.remove(&address);
        self.conditions.remove(&address);
        self.barriers.remove(&address);
        for family in [Point::Semaphore, Point::Once, Point::Annotation] {
            self.points.remove(&(address, family));
        }
        if !self.atomics.begins(address) {
            self.addresses.remove(address);
        }
    }

    /// What the holders of the locks in a range published.
    pub fn teach_locks(&self, start: u64, end: u64, clock: &mut Clock) {
        for lock in self.addresses.range(start, end).filter_map(|address| self.locks.get(&address)) {
            clock.join(&lock.written);
            clock.join(&lock.read);
        }
    }

    /// Forgets every object in a range of memory that gets a new life.
    pub fn forget_range(&mut self, start: u64, end: u64) {
        self.cut_at_ends(start, end);
        loop {
            let Some(address) = self.addresses.range(start, end).next() else { return };
            self.atomics.remove(address);
            self.forget(address);
        }
    }

    /// Of atomics that lie across an end of a range no part stays within.
    fn cut_at_ends(&mut self, start: u64, end: u64) {
        let Self { atomics, addresses, .. } = self;
        for edge in [start, end].into_iter().filter(|edge| !edge.is_multiple_of(GRANULE)) {
            let around = atomics.overlapping((edge, 1)).next().map(|(bytes, _)| bytes);
            let Some((first, size)) = around.filter(|&(first, _)| first < edge) else { continue };
            let (from, to) = (first.max(start), (first + size).min(end));
            if from < to {
                atomics.cut((from, to - from), |address| addresses.insert(address));
            }
        }
    }

    /// The number of addresses with an object.
    #[must_use]
    pub fn len(&self) -> usize {
        self.addresses.sorted.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.addresses.sorted.is_empty()
    }
}
