//! Sites: who accessed, where in the code, and how, stored once for all the bytes and times that it stands for.
//!
//! Invariant: a site's number is not given to another while a cell or a record names it: [`Sites::sweep`] is told all
//! that are named.

use deadheat_core::access::Access;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::Side;
use rustc_hash::FxHashMap;

use super::cell::{Moment, NUMBERS};
use crate::how::How;
use crate::marks::Marks;

/// How many sites are found without hashing.
const NEAR: usize = 1 << 12;

/// A site.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Site {
    /// The thread's row.
    pub(crate) row: u32,
    /// Where its accesses are counted, by all order and by the order that is not of locks.
    pub(crate) slots: [u32; 2],
    /// Who accesses.
    pub(crate) thread: ThreadId,
    /// Where in the code.
    pub(crate) place: PlaceId,
    /// The call sites above.
    pub(crate) stack: StackId,
    /// In which way.
    pub(crate) how: How,
}

const NOWHERE: Site = Site {
    row: u32::MAX,
    slots: [0; 2],
    thread: ThreadId(0),
    place: PlaceId::UNKNOWN,
    stack: StackId::EMPTY,
    how: How(0),
};

/// The table of sites.
#[derive(Debug)]
pub(crate) struct Sites {
    /// The rows once more, closely packed: what most accesses ask for.
    rows: Vec<u32>,
    sites: Vec<Site>,
    /// For each site that is a range, the first byte and the number of bytes.
    ranges: Vec<(u64, u64)>,
    known: FxHashMap<Site, u32>,
    near: Box<[u32; NEAR]>,
    free: Vec<u32>,
    made: usize,
    live: usize,
}

impl Default for Sites {
    fn default() -> Self {
        Self {
            rows: vec![NOWHERE.row],
            sites: vec![NOWHERE],
            ranges: vec![(0, 0)],
            known: FxHashMap::default(),
            near: Box::new([0; NEAR]),
            free: Vec::new(),
            made: 0,
            live: 0,
        }
    }
}

impl Sites {
    /// The row of a site's thread.
    #[inline]
    pub(crate) fn row(&self, number: u32) -> u32 {
        self.rows[number as usize]
    }

    /// The site with a number.
    pub(crate) fn get(&self, number: u32) -> &Site {
        &self.sites[number as usize]
    }

    /// The number of a site that is no range.
    #[inline]
    pub(crate) fn number(&mut self, site: Site) -> u32 {
        let mixed = (u64::from(site.place.0) << 32 | u64::from(site.stack.0 ^ site.row << 20))
            ^ u64::from(site.how.0) << 17;
        let near = (mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - NEAR.ilog2())) as usize % NEAR;
        let number = self.near[near];
        if self.sites[number as usize] == site {
            return number;
        }
        let number = self.look_up(site);
        self.near[near] = number;
        number
    }

    /// The number of a new site that is an access to one range. A range is told apart by its address and size too, so
    /// it is not looked for among the known ones.
    pub(crate) fn number_of_range(&mut self, site: Site, access: &Access) -> u32 {
        self.add(site, (access.address, access.size))
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, site: Site) -> u32 {
        if let Some(&known) = self.known.get(&site) {
            return known;
        }
        let number = self.add(site, (0, 0));
        self.known.insert(site, number);
        number
    }

    fn add(&mut self, site: Site, range: (u64, u64)) -> u32 {
        self.made += 1;
        if let Some(number) = self.free.pop() {
            let index = number as usize;
            (self.rows[index], self.sites[index], self.ranges[index]) = (site.row, site, range);
            return number;
        }
        let number = self.sites.len() as u32;
        assert!(number < NUMBERS, "more than {NUMBERS} places, stacks and lock sets to tell apart");
        self.rows.push(site.row);
        self.sites.push(site);
        self.ranges.push(range);
        number
    }

    /// One side of a race: the moment as an access to `byte`.
    pub(crate) fn side(&self, Moment { site: number, locks, .. }: Moment, byte: u64) -> Side {
        let Site { thread, place, stack, how, .. } = *self.get(number);
        let (mut address, mut size) = (how.start(byte), how.size());
        if how.is_range() {
            (address, size) = self.ranges[number as usize];
        }
        let access = Access { address, size, mode: how.mode(), atomic: how.atomic(), via: how.via() };
        Side { thread, place, stack, access, locks }
    }

    /// The number of sites made since the last sweep, and of those that it left.
    pub(crate) fn made_and_left(&self) -> (usize, usize) {
        (self.made, self.live)
    }

    /// A set of marks with room for every site.
    pub(crate) fn marks(&self) -> Marks {
        Marks::below(self.sites.len())
    }

    /// Frees every site that is not marked.
    pub(crate) fn sweep(&mut self, marks: &Marks) {
        self.free = (1..self.sites.len() as u32).rev().filter(|&site| !marks.has(site)).collect();
        for &site in &self.free {
            self.sites[site as usize] = NOWHERE;
        }
        self.known.retain(|_, &mut site| marks.has(site));
        self.near.fill(0);
        (self.made, self.live) = (0, self.sites.len() - 1 - self.free.len());
    }

    /// The bytes that the table takes.
    pub(crate) fn memory(&self) -> usize {
        self.rows.capacity() * size_of::<u32>()
            + self.sites.capacity() * size_of::<Site>()
            + self.ranges.capacity() * size_of::<(u64, u64)>()
            + self.known.capacity() * (size_of::<(Site, u32)>() + 1)
            + self.free.capacity() * size_of::<u32>()
    }
}
