//! Sites: what is remembered of who accessed, stored once for all the bytes, repetitions and
//! stretches of time that it stands for.
//!
//! A site is one place and stack of one thread, how it accesses, and its lock set. A shadow cell
//! names a site by number, 0 being none, and beside it the clock of the thread's slot then.
//!
//! Invariant: a site's number is not given to another while a cell, a crowd or a cache names
//! it; [`Sites::sweep`] is told all that are named.

use deadheat_core::access::Access;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSetId, Side};
use deadheat_core::rule::Epoch;
use rustc_hash::FxHashMap;

use super::cache::Label;
use super::cell::{Moment, NUMBERS};
use super::weave::Weaves;
use crate::how::How;
use crate::marks::Marks;

/// A site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Site {
    /// Where the thread's accesses are counted.
    pub(crate) slot: u32,
    /// Who accesses.
    pub(crate) thread: ThreadId,
    /// Where in the code; of a site with more places than one the number of its weave.
    pub(crate) place: PlaceId,
    /// The call sites above.
    pub(crate) stack: StackId,
    /// The locks held.
    pub(crate) locks: LockSetId,
    /// In which way.
    pub(crate) how: How,
}

impl Site {
    const fn label(&self) -> Label {
        Label::new(self.place, self.stack, self.how, self.locks)
    }
}

/// The site that stands for none: its slot's clock is never before 0.
const NOWHERE: Site = Site {
    slot: 0,
    thread: ThreadId(0),
    place: PlaceId::UNKNOWN,
    stack: StackId::EMPTY,
    locks: LockSetId(0),
    how: How(0),
};

/// The table of sites.
#[derive(Debug)]
pub(crate) struct Sites {
    /// The slots and the labels once more, closely packed: all that most accesses ask for.
    slots: Vec<u32>,
    labels: Vec<Label>,
    sites: Vec<Site>,
    /// For each site that is a range, the first byte and the number of bytes.
    ranges: Vec<(u64, u64)>,
    known: FxHashMap<Site, u32>,
    /// The weaves that sites name.
    pub(crate) weaves: Weaves,
    free: Vec<u32>,
    live: usize,
    made: usize,
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            slots: vec![NOWHERE.slot],
            labels: vec![NOWHERE.label()],
            sites: vec![NOWHERE],
            ranges: vec![(0, 0)],
            known: FxHashMap::default(),
            weaves: Weaves::default(),
            free: Vec::new(),
            live: 0,
            made: 0,
        }
    }
}

impl Sites {
    /// When a moment was. No access has an epoch that is ordered before everything.
    #[inline(always)]
    pub(crate) fn epoch(&self, moment: Moment) -> Epoch {
        Epoch { thread: self.slots[moment.site() as usize], clock: moment.clock() }
    }

    /// What tells the site with that number from others of its thread.
    #[inline(always)]
    pub(crate) fn label(&self, number: u32) -> Label {
        self.labels[number as usize]
    }

    /// Where in the code `byte` was accessed at a moment.
    pub(crate) fn place(&self, moment: Moment, byte: u64) -> PlaceId {
        let Site { place, how, .. } = self.sites[moment.site() as usize];
        if how.is_woven() { self.weaves.strand(place, byte).0 } else { place }
    }

    /// The number of a site, and whether it is new.
    pub(crate) fn number(&mut self, site: Site) -> (u32, bool) {
        if let Some(&known) = self.known.get(&site) {
            return (known, false);
        }
        let number = self.add(site, (0, 0));
        self.known.insert(site, number);
        (number, true)
    }

    /// The number of a new site that is an access to one range. A range is told apart by its
    /// address and size too, so it is not looked for among the known ones.
    pub(crate) fn number_of_range(&mut self, site: Site, access: &Access) -> u32 {
        self.add(site, (access.address, access.size))
    }

    fn add(&mut self, site: Site, range: (u64, u64)) -> u32 {
        self.made += 1;
        if let Some(number) = self.free.pop() {
            let index = number as usize;
            (self.slots[index], self.sites[index], self.ranges[index]) = (site.slot, site, range);
            self.labels[index] = site.label();
            return number;
        }
        let number = self.sites.len();
        assert!(number < NUMBERS, "more than {NUMBERS} places, stacks and lock sets to tell apart");
        self.slots.push(site.slot);
        self.labels.push(site.label());
        self.sites.push(site);
        self.ranges.push(range);
        number as u32
    }

    /// One side of a race: the moment as an access to `byte`.
    pub(crate) fn side(&self, moment: Moment, byte: u64) -> Side {
        let Site { thread, mut place, stack, locks, how, .. } = self.sites[moment.site() as usize];
        let (mut address, mut size) = (how.start(byte), how.size());
        if how.is_range() {
            (address, size) = self.ranges[moment.site() as usize];
        } else if how.is_woven() {
            (place, address) = self.weaves.strand(place, byte);
        }
        let access = Access { address, size, mode: how.mode(), atomic: how.atomic(), via: how.via() };
        Side { thread, place, stack, access, locks }
    }

    /// The number of sites made since the last sweep, and of those that it left.
    pub(crate) fn made_and_left(&self) -> (usize, usize) {
        (self.made, self.live)
    }

    /// Frees every site that is not marked.
    pub(crate) fn sweep(&mut self, marks: &Marks) {
        self.free.clear();
        for site in (1..self.sites.len() as u32).rev() {
            if !marks.has(site) {
                self.free.push(site);
            }
        }
        self.known.retain(|_, &mut site| marks.has(site));
        self.live = self.sites.len() - 1 - self.free.len();
        self.made = 0;
    }

    /// A set of marks with room for every site.
    pub(crate) fn marks(&self) -> Marks {
        Marks::below(self.sites.len())
    }

    /// The bytes that the table takes.
    pub(crate) fn memory(&self) -> usize {
        self.slots.capacity() * size_of::<u32>()
            + self.labels.capacity() * size_of::<Label>()
            + self.sites.capacity() * size_of::<Site>()
            + self.known.capacity() * (size_of::<(Site, u32)>() + 1)
            + self.weaves.memory()
            + self.ranges.capacity() * size_of::<(u64, u64)>()
            + self.free.capacity() * size_of::<u32>()
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::access::{MemoryOrder, Mode, Via};
    use deadheat_core::plain::Plain;

    use super::*;

    fn at(how: How) -> Site {
        Site { how, thread: ThreadId(3), place: PlaceId(4), ..NOWHERE }
    }

    #[test]
    fn an_access_is_told_again_from_any_of_its_bytes() {
        let mut sites = Sites::default();
        for size in [1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 100] {
            for address in 0x1000..0x1020 {
                let access = Access {
                    atomic: (size == 4).then_some(MemoryOrder::SeqCst),
                    via: Via::System,
                    ..Access::plain(address, size, Mode::Read)
                };
                let how = How::of(&access);
                let number = if how.is_range() {
                    sites.number_of_range(at(how), &access)
                } else {
                    sites.number(at(how)).0
                };
                for byte in address..address + size {
                    assert_eq!(sites.side(Moment::new(number, 1), byte).access, access);
                }
            }
        }
    }

    #[test]
    fn the_short_way_to_say_how_says_the_same() {
        for size in [1, 2, 4, 8, 16] {
            for address in 0x1000..0x1020 {
                let access = Access { via: Via::Volatile, ..Access::plain(address, size, Mode::ReadWrite) };
                let form = deadheat_core::plain::Form::of(&access).unwrap();
                let plain = Plain { address, place: PlaceId(1), stack: StackId(1), form };
                assert_eq!(How::of_power(&plain), How::of(&access), "{size} bytes at {address:#x}");
            }
        }
    }

    #[test]
    fn a_swept_site_is_made_anew() {
        let mut sites = Sites::default();
        let (one, two) = (at(How(1 | 8 << 5)), at(How(2 | 8 << 5)));
        let (kept, swept) = (sites.number(one).0, sites.number(two).0);
        let mut marks = sites.marks();
        marks.mark(kept);
        sites.sweep(&marks);
        assert_eq!(sites.number(one), (kept, false));
        assert_eq!(sites.number(two), (swept, true));
    }
}
