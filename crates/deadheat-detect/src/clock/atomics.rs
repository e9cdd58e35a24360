//! What atomics let who acquires them see, byte by byte.
//!
//! Mostly each is accessed by operations of one size. An operation on other bytes than an atomic's cuts it: so one on a part of it, as of a lock's byte or half, and
//! one on several of them see and end what is shown of these bytes, and nothing else.
//!
//! Invariant: atomics have bytes, lie within a granule, and do not overlap.

use deadheat_core::access::Access;
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

use super::vector::Clock;

/// All atomics that showed something, by their first bytes.
#[derive(Debug, Default)]
pub struct Atomics {
    atomics: FxHashMap<u64, Atomic>,
    /// By granule, in which of its bytes one begins.
    begins: FxHashMap<u64, u8>,
}

/// What an atomic lets who acquires it see.
#[derive(Debug, Default)]
pub struct Atomic {
    /// How many bytes it has.
    size: u64,
    /// What its release sequences' heads published.
    pub shown: Clock,
    /// The thread that published all of it by an operation on just these bytes, so that its own stores continue them.
    pub own: Option<ThreadId>,
}

/// Bytes within a granule: the first, and how many.
pub type Bytes = (u64, u64);

/// The bytes that no atomic lies across.
pub const GRANULE: u64 = 8;

/// The bytes of an atomic access, cut where granules begin; one of no size has its first byte.
pub fn parts(access: &Access) -> impl Iterator<Item = Bytes> + use<> {
    let (mut at, end) = (access.address, access.end().max(access.address.saturating_add(1)));
    std::iter::from_fn(move || {
        let next = ((at | (GRANULE - 1)).saturating_add(1)).min(end);
        let part = (at < end).then_some((at, next - at));
        at = next;
        part
    })
}

impl Atomics {
    /// The atomic that has just these bytes.
    #[must_use]
    pub fn get(&self, (address, size): Bytes) -> Option<&Atomic> {
        self.atomics.get(&address).filter(|atomic| atomic.size == size)
    }

    /// Whether an atomic has one of these bytes, and others than these.
    #[must_use]
    pub fn is_cut_by(&self, bytes: Bytes) -> bool {
        self.get(bytes).is_none() && self.overlapping(bytes).next().is_some()
    }

    /// The atomics that have one of these bytes, each with its own.
    pub fn overlapping(&self, (start, size): Bytes) -> impl Iterator<Item = (Bytes, &Atomic)> {
        let granule = start / GRANULE;
        let begins = self.begins.get(&granule).copied().unwrap_or(0);
        let addresses =
            (0..GRANULE).filter(move |at| begins >> at & 1 != 0).map(move |at| granule * GRANULE + at);
        let end = start.saturating_add(size);
        addresses.filter_map(move |address| {
            let atomic = self.atomics.get(&address)?;
            let overlaps = address < end && start < address.saturating_add(atomic.size);
            overlaps.then_some(((address, atomic.size), atomic))
        })
    }

    /// Calls `each` with what the atomics show that have one of an access's bytes.
    pub fn each_shown(&self, access: &Access, mut each: impl FnMut(&Clock)) {
        for bytes in parts(access) {
            match self.get(bytes) {
                Some(atomic) => each(&atomic.shown),
                None => self.overlapping(bytes).for_each(|(_, atomic)| each(&atomic.shown)),
            }
        }
    }

    /// The atomic that begins there and has so many bytes, of which no other one has any.
    pub fn get_mut(&mut self, bytes: Bytes) -> &mut Atomic {
        self.get_or_make(bytes, |_| {})
    }

    /// As [`Self::get_mut`]; `made` is told where it begins if it was not there.
    pub fn get_or_make(&mut self, (address, size): Bytes, made: impl FnOnce(u64)) -> &mut Atomic {
        let begins = &mut self.begins;
        self.atomics.entry(address).or_insert_with(|| {
            made(address);
            *begins.entry(address / GRANULE).or_default() |= 1 << (address % GRANULE);
            Atomic { size, ..Atomic::default() }
        })
    }

    /// The atomic that has a byte.
    pub fn around(&mut self, address: u64) -> Option<&mut Atomic> {
        let ((first, _), _) = self.overlapping((address, 1)).next()?;
        self.atomics.get_mut(&first)
    }

    /// An atomic of just these bytes that shows nothing: of those that had some of them others are left with the rest. `begins` is told where these begin.
    pub fn cut(&mut self, bytes: Bytes, mut begins: impl FnMut(u64)) -> &mut Atomic {
        let (start, end) = (bytes.0, bytes.0 + bytes.1);
        let cut: Vec<Bytes> = self.overlapping(bytes).map(|(bytes, _)| bytes).collect();
        for (address, size) in cut {
            let Some(old) = self.remove(address) else { continue };
            for (from, to) in [(address, start), (end, address + size)] {
                if from < to {
                    begins(from);
                    self.get_mut((from, to - from)).shown.assign(&old.shown);
                }
            }
        }
        begins(start);
        self.get_mut(bytes)
    }

    /// Whether one begins there.
    #[must_use]
    pub fn begins(&self, address: u64) -> bool {
        self.atomics.contains_key(&address)
    }

    /// Takes out the one that begins there.
    pub fn remove(&mut self, address: u64) -> Option<Atomic> {
        let atomic = self.atomics.remove(&address)?;
        let granule = address / GRANULE;
        if let Some(begins) = self.begins.get_mut(&granule) {
            *begins &= !(1 << (address % GRANULE));
            if *begins == 0 {
                self.begins.remove(&granule);
            }
        }
        Some(atomic)
    }
}
