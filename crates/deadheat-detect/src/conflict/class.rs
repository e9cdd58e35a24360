//! Classes of accesses, and the ordinals of their members.
//!
//! Invariant: an access has one class. Ordinals are counted for each (thread, place, stack); the
//! accesses of a (thread, place) are a *spot*, and a spot with several stacks keeps a trail of
//! which stack came when, so that ordinals over several stacks can be told afterwards.

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::LockSetId;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::hash::BuildHasher;

/// The classes that are found without a look into the map of all.
const RECENT: usize = 1 << 15;
/// A spot's trail has at most so many steps.
const TRAIL_STEPS: usize = 1 << 12;
/// All trails together have at most so many steps.
const ALL_STEPS: usize = 1 << 20;

/// A thread, and where its accesses are counted.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Who {
    pub(super) thread: ThreadId,
    /// In clocks of all synchronisation.
    pub(super) slot: u32,
    /// In clocks of fork and join alone.
    pub(super) family_slot: u32,
}

/// What the accesses of a class have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Class {
    pub(super) who: u32,
    pub(super) place: PlaceId,
    pub(super) stack: StackId,
    pub(super) locks: LockSetId,
    pub(super) how: How,
}

/// What an access does to its bytes, packed: mode (bits 0 and 1), via (2 to 4), and above them
/// the memory order plus one if it is atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct How(u16);

impl How {
    #[inline]
    pub(super) fn of(access: &Access) -> Self {
        let order = access.atomic.map_or(0, |order| order as u16 + 1);
        Self(access.mode as u16 | (access.via as u16) << 2 | order << 5)
    }

    /// The access that does this to these bytes.
    pub(super) fn access(self, address: u64, size: u64) -> Access {
        let mode = match self.0 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            _ => Mode::ReadWrite,
        };
        let atomic = (self.0 >> 5).checked_sub(1).map(|order| MemoryOrder::from_abi(order.into()));
        Access { address, size, mode, atomic, via: Via::from_bits((self.0 >> 2 & 7).into()) }
    }
}

/// A class, where its members are counted, and what representatives refer to.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Entry {
    pub(super) class: Class,
    pub(super) counter: u32,
    pub(super) spot: u32,
    pub(super) site: u32,
}

const _: () = assert!(size_of::<Entry>() == 32);

/// What classes of a thread at a place have in common: few enough to be near at hand.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site {
    pub(super) who: Who,
    pub(super) place: PlaceId,
}

/// How many accesses of one thread at one place with one stack there were, and the last one.
#[derive(Clone, Copy, Default, Debug)]
struct Count {
    count: u64,
    last_at: u64,
}

/// The accesses of one thread at one place.
#[derive(Debug)]
pub(super) struct Spot {
    pub(super) counters: Vec<u32>,
    trail: Vec<Step>,
}

/// From here on the accesses of a spot are of this counter, which had counted so many.
#[derive(Clone, Copy, Debug)]
struct Step {
    at: u64,
    counter: u32,
    before: u64,
}

/// All classes of a run.
#[derive(Debug)]
pub(super) struct Classes {
    whos: Vec<Who>,
    last_who: u32,
    by_who: FxHashMap<Who, u32>,
    recent: Box<[u32]>,
    numbers: FxHashMap<Class, u32>,
    pub(super) entries: Vec<Entry>,
    by_stack: FxHashMap<(u32, StackId), u32>,
    counts: Vec<Count>,
    /// Of each counter its stack, and when it began.
    origins: Vec<(StackId, u64)>,
    by_place: FxHashMap<(ThreadId, PlaceId), u32>,
    spots: Vec<Spot>,
    /// The counter of each spot that counted last, while its trail is whole.
    latest: Vec<u32>,
    by_site: FxHashMap<Site, u32>,
    pub(super) sites: Vec<Site>,
    /// The number of threads that accessed at a place.
    threads: FxHashMap<PlaceId, u32>,
    steps: usize,
}

const NONE: u32 = u32::MAX;
/// In the place of a counter: the spot's trail has no room for more steps.
const CUT: u32 = u32::MAX - 1;

impl Default for Classes {
    fn default() -> Self {
        Self {
            whos: Vec::new(),
            last_who: NONE,
            by_who: FxHashMap::default(),
            recent: vec![NONE; RECENT].into_boxed_slice(),
            numbers: FxHashMap::default(),
            entries: Vec::new(),
            by_stack: FxHashMap::default(),
            counts: Vec::new(),
            origins: Vec::new(),
            by_place: FxHashMap::default(),
            spots: Vec::new(),
            latest: Vec::new(),
            by_site: FxHashMap::default(),
            sites: Vec::new(),
            threads: FxHashMap::default(),
            steps: 0,
        }
    }
}

impl Classes {
    /// The number of a thread and its slots.
    #[inline]
    pub(super) fn who(&mut self, who: Who) -> u32 {
        if self.whos.get(self.last_who as usize) != Some(&who) {
            let whos = &mut self.whos;
            self.last_who = *self.by_who.entry(who).or_insert_with(|| {
                whos.push(who);
                whos.len() as u32 - 1
            });
        }
        self.last_who
    }

    /// The thread of a class.
    pub(super) fn thread(&self, class: &Class) -> ThreadId {
        self.whos[class.who as usize].thread
    }

    /// The number of a class. Those of places that follow each other lie together.
    #[inline]
    pub(super) fn number(&mut self, class: Class) -> u32 {
        let hash = FxBuildHasher.hash_one((class.who, class.stack, class.locks)) as usize;
        let line = (hash >> 20).wrapping_add(class.place.0 as usize) & (RECENT - 1);
        let recent = self.recent[line];
        if let Some(entry) = self.entries.get(recent as usize)
            && entry.class == class
        {
            return recent;
        }
        let number = self.look_up(class);
        self.recent[line] = number;
        number
    }

    /// Counts `times` accesses of a class at a position; the ordinal of the first of them among
    /// those of its thread, place and stack.
    #[inline]
    pub(super) fn count(&mut self, class: u32, at: u64, times: u32) -> u64 {
        let &Entry { counter: number, spot, .. } = &self.entries[class as usize];
        let counter = &mut self.counts[number as usize];
        let before = counter.count;
        if before == 0 {
            self.origins[number as usize].1 = at;
        }
        counter.last_at = at;
        counter.count += u64::from(times);
        let latest = &mut self.latest[spot as usize];
        if *latest != number && *latest != CUT {
            let step = Step { at, counter: number, before };
            let kept = self.spots[spot as usize].step(step, &mut self.steps);
            *latest = if kept { number } else { CUT };
        }
        before + 1
    }

    #[cold]
    fn look_up(&mut self, class: Class) -> u32 {
        if let Some(&number) = self.numbers.get(&class) {
            return number;
        }
        let who = self.whos[class.who as usize];
        let spot = self.spot(who.thread, class.place);
        let Self { counts, origins, spots, sites, .. } = self;
        let counter = *self.by_stack.entry((spot, class.stack)).or_insert_with(|| {
            let number = counts.len() as u32;
            counts.push(Count::default());
            origins.push((class.stack, 0));
            spots[spot as usize].counters.push(number);
            number
        });
        let site = Site { who, place: class.place };
        let site = *self.by_site.entry(site).or_insert_with(|| {
            sites.push(site);
            sites.len() as u32 - 1
        });
        let number = self.entries.len() as u32;
        self.entries.push(Entry { class, counter, spot, site });
        self.numbers.insert(class, number);
        number
    }

    fn spot(&mut self, thread: ThreadId, place: PlaceId) -> u32 {
        *self.by_place.entry((thread, place)).or_insert_with(|| {
            *self.threads.entry(place).or_default() += 1;
            self.spots.push(Spot { counters: Vec::new(), trail: Vec::new() });
            self.latest.push(NONE);
            self.spots.len() as u32 - 1
        })
    }

    /// Whether more than one thread accessed at a place.
    pub(super) fn is_shared(&self, place: PlaceId) -> bool {
        self.threads.get(&place).is_some_and(|&threads| threads > 1)
    }

    /// A spot.
    pub(super) fn spot_of(&self, number: u32) -> &Spot {
        &self.spots[number as usize]
    }

    /// The stack of a counter.
    pub(super) fn stack_of(&self, counter: u32) -> StackId {
        self.origins[counter as usize].0
    }

    /// How many accesses a counter of a spot had counted before a position at which another one
    /// of the spot counted; `None` if that is not remembered.
    pub(super) fn before(&self, spot: u32, number: u32, at: u64) -> Option<u64> {
        let Count { count, last_at } = self.counts[number as usize];
        if self.origins[number as usize].1 > at {
            return Some(0);
        }
        if last_at < at {
            return Some(count);
        }
        let spot = self.spot_of(spot);
        let later = spot.trail.partition_point(|step| step.at <= at);
        spot.trail[later..].iter().find(|step| step.counter == number).map(|step| step.before)
    }
}

impl Spot {
    /// Remembers a step; `false` if there is no room for it, and none for later ones.
    #[cold]
    fn step(&mut self, step: Step, steps: &mut usize) -> bool {
        if step.before == 0 {
            // Where a counter began is known from itself.
            return true;
        }
        if self.trail.len() >= TRAIL_STEPS || *steps >= ALL_STEPS {
            return false;
        }
        self.trail.push(step);
        *steps += 1;
        true
    }
}
