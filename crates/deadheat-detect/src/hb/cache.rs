//! The sites that each slot was at last, by what tells them apart.
//!
//! A direct-mapped table for each slot, of the slot's present thread. It begins small and grows
//! while sites are looked for that it knew and gave up, so that a thousand idle threads cost
//! little and a loop under a thousand locks, or a recursion through a thousand stacks, still finds its sites here.
//! An entry is no more than a site's number: what the site is says the table of sites.

use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::race::LockSetId;

use super::sites::Sites;
use crate::how::How;

const ENTRIES_AT_FIRST: usize = 1 << 6;
const ENTRIES_AT_MOST: usize = 1 << 16;

/// What tells the sites of one thread apart, as two words.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Label(u64, u64);

impl Label {
    /// The label of an access made this way under these locks.
    #[inline(always)]
    pub(crate) const fn new(place: PlaceId, stack: StackId, how: How, locks: LockSetId) -> Self {
        Self(place.0 as u64 | (stack.0 as u64) << 32, how.0 as u64 | (locks.0 as u64) << 32)
    }

    #[inline(always)]
    fn mixed(self) -> u64 {
        (self.0 ^ self.1.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// The site that stands for none: no access has its label, whose mode is none.
const NOTHING: u32 = 0;

/// The table of one slot.
#[derive(Debug)]
pub(crate) struct Table {
    /// A power of two of them.
    entries: Vec<u32>,
    /// `64 - log2` of their number.
    shift: u32,
    /// The row of the thread that it is of.
    owner: usize,
    /// Sites that were made before and not found here, since it grew last.
    lost: usize,
}

impl Default for Table {
    fn default() -> Self {
        let shift = 64 - ENTRIES_AT_FIRST.ilog2();
        Self { entries: vec![NOTHING; ENTRIES_AT_FIRST], shift, owner: usize::MAX, lost: 0 }
    }
}

impl Table {
    /// The site with that label, if it is here.
    #[inline(always)]
    pub(crate) fn find(&self, label: Label, sites: &Sites) -> Option<u32> {
        match self.entries.get((label.mixed() >> self.shift) as usize) {
            Some(&site) if sites.label(site) == label => Some(site),
            _ => None,
        }
    }

    /// Keeps a site that was not here; `new` says that it was nowhere.
    pub(crate) fn keep(&mut self, label: Label, site: u32, new: bool) {
        self.lost += usize::from(!new);
        if self.lost > self.entries.len() && self.entries.len() < ENTRIES_AT_MOST {
            let entries = self.entries.len() * 4;
            self.entries.clear();
            self.entries.resize(entries.min(ENTRIES_AT_MOST), NOTHING);
            self.shift = 64 - self.entries.len().ilog2();
            self.lost = 0;
        }
        self.entries[(label.mixed() >> self.shift) as usize] = site;
    }
}

/// The tables of all slots.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    tables: Vec<Table>,
}

impl Cache {
    /// The table of a slot, whose thread is now the one in that row.
    #[inline(always)]
    pub(crate) fn table(&mut self, slot: u32, owner: usize) -> &mut Table {
        let index = slot as usize;
        if self.tables.get(index).is_none_or(|table| table.owner != owner) {
            self.give(index, owner);
        }
        &mut self.tables[index]
    }

    /// Gives a slot's table to a thread, to which its sites mean nothing.
    #[cold]
    #[inline(never)]
    fn give(&mut self, index: usize, owner: usize) {
        if self.tables.len() <= index {
            self.tables.resize_with(index + 1, Table::default);
        }
        let table = &mut self.tables[index];
        table.entries.fill(NOTHING);
        table.owner = owner;
    }

    /// Forgets all sites.
    pub(crate) fn clear(&mut self) {
        self.tables.iter_mut().for_each(|table| table.entries.fill(NOTHING));
    }

    /// The bytes that the tables take.
    pub(crate) fn memory(&self) -> usize {
        let entries: usize = self.tables.iter().map(|table| table.entries.capacity()).sum();
        entries * size_of::<u32>() + self.tables.capacity() * size_of::<Table>()
    }
}
