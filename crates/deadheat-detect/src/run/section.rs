//! Critical sections.
//!
//! Invariant: the sections of a lock are in the order in which it was taken; a lock taken again by its holder is one section.

use deadheat_core::event::LockMode;
use rustc_hash::FxHashMap;

use super::Number;

/// What a thread did while it held a lock.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// The lock, by its place among the locks.
    pub lock: u32,
    /// The lock's address.
    pub address: u64,
    /// How it is held.
    pub mode: LockMode,
    /// The event that took it.
    pub taken: Number,
    /// The event that gave it back, if one did.
    pub given: Option<Number>,
}

/// The sections of a run.
#[derive(Debug)]
pub struct Sections {
    /// All, in the order in which they began.
    pub all: Vec<Section>,
    /// By lock: its sections.
    pub by_lock: Vec<Vec<u32>>,
    /// Whether each lock was given back by who held it, and never held by two that exclude each other.
    pub well_formed: bool,
    /// Sets of sections that a thread was in at a time.
    sets: Vec<Box<[u32]>>,
    known: FxHashMap<Box<[u32]>, u32>,
    /// The locks, by their addresses; one that was made anew is another.
    locks: FxHashMap<u64, u32>,
}

impl Default for Sections {
    fn default() -> Self {
        let empty: Box<[u32]> = Box::default();
        Self {
            all: Vec::new(),
            by_lock: Vec::new(),
            well_formed: true,
            sets: vec![empty.clone()],
            known: FxHashMap::from_iter([(empty, 0)]),
            locks: FxHashMap::default(),
        }
    }
}

impl Sections {
    /// The sections of a set.
    #[must_use]
    pub fn set(&self, number: u32) -> &[u32] {
        &self.sets[number as usize]
    }

    /// Whether two sections of a lock cannot be at the same time.
    #[must_use]
    pub fn exclude(&self, one: u32, other: u32) -> bool {
        let (one, other) = (&self.all[one as usize], &self.all[other as usize]);
        one.lock == other.lock && (one.mode == LockMode::Write || other.mode == LockMode::Write)
    }

    /// The set of some sections.
    pub(super) fn intern(&mut self, sections: &[u32]) -> u32 {
        if let Some(&known) = self.known.get(sections) {
            return known;
        }
        let number = self.sets.len() as u32;
        self.sets.push(sections.into());
        self.known.insert(sections.into(), number);
        number
    }

    /// Begins a section.
    pub(super) fn begin(&mut self, address: u64, mode: LockMode, taken: Number) -> u32 {
        let next = self.by_lock.len() as u32;
        let lock = *self.locks.entry(address).or_insert(next);
        if lock == next {
            self.by_lock.push(Vec::new());
        }
        let section = self.all.len() as u32;
        self.all.push(Section { lock, address, mode, taken, given: None });
        self.by_lock[lock as usize].push(section);
        section
    }

    /// The lock at an address is another one from now on.
    pub(super) fn forget(&mut self, address: u64) {
        self.locks.remove(&address);
    }

    /// So are all in a block.
    pub(super) fn forget_range(&mut self, from: u64, to: u64) {
        self.locks.retain(|address, _| !(from..to).contains(address));
    }
}
