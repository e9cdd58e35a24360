//! The access under way, and what becomes of the representatives that it meets.

use deadheat_core::event::LockMode;
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::race::{LockSetId, LockSets};

use super::class::Site;
use super::extent::Extent;
use super::pairs::{Filter, Instance, Key, Looks, Pair, Pairs, Places};
use super::reps::{Rep, Sort};
use super::target::Rank;
use crate::clock::blocks::Blocks;
use crate::clock::lockset::LockTable;
use crate::clock::vector::Clock;

/// What was dropped, for [`super::Dropped`].
#[derive(Debug, Default)]
pub(super) struct Drops {
    pub(super) both_atomic: Filter,
    pub(super) fork_join: Filter,
    pub(super) unplaced: Filter,
}

/// The access under way.
pub(super) struct Judge<'a> {
    pub(super) now: Instance,
    pub(super) site: u32,
    pub(super) thread: ThreadId,
    pub(super) place: PlaceId,
    pub(super) held: LockSetId,
    pub(super) sort: Sort,
    /// Its thread's own clock.
    pub(super) clock: u32,
    /// The same in clocks of fork and join alone.
    pub(super) family_clock: u32,
    /// What its thread has seen.
    pub(super) seen: &'a Clock,
    /// What its thread has seen by fork and join alone.
    pub(super) family_seen: &'a Clock,
    pub(super) sites: &'a [Site],
    pub(super) pairs: &'a mut Pairs,
    pub(super) drops: &'a mut Drops,
    pub(super) keep_fork_join: bool,
    pub(super) blocks: &'a Blocks,
    pub(super) locks: &'a LockTable,
}

impl Judge<'_> {
    /// The access behind the last byte.
    pub(super) fn end(&self) -> u64 {
        self.now.address.saturating_add(self.now.size)
    }

    /// Looks at a representative of the cell at `base`, of which the access touches the bytes
    /// from `clip.0` to `clip.1`.
    #[inline]
    pub(super) fn look<E: Extent>(&mut self, rep: &Rep<E>, base: u64, clip: (u64, u64)) {
        if (rep.sort.writes || self.sort.writes) && rep.extent.meets(base, clip) {
            let site = &self.sites[rep.site as usize];
            if site.who.thread != self.thread {
                self.meet(rep, site, (base, clip));
            }
        }
    }

    /// The access touches bytes that another thread touched, and one of them wrote.
    #[inline]
    fn meet<E: Extent>(&mut self, rep: &Rep<E>, site: &Site, cell: (u64, (u64, u64))) {
        let key = Key::of(rep.class, self.now.class);
        if rep.sort.atomic && self.sort.atomic {
            return self.drops.both_atomic.count(key);
        }
        let ordered = self.seen.get(site.who.slot) >= rep.clock;
        if ordered {
            let looks = Looks { sites: (rep.site, self.site), locks: (rep.locks, self.held) };
            if self.pairs.is_refused(looks) {
                return self.pairs.capped.count(key);
            }
            if self.pairs.is_settled(key) {
                return;
            }
        }
        self.pair(rep, site, cell, (key, ordered));
    }

    /// The access conflicts with another, and that may be news.
    fn pair<E: Extent>(
        &mut self,
        rep: &Rep<E>,
        site: &Site,
        (base, clip): (u64, (u64, u64)),
        (key, ordered): (Key, bool),
    ) {
        let places = Places::of(site.place, self.place);
        let rank = match ordered {
            false => Rank::Unordered,
            true if self.common_lock(rep.locks, self.held) => Rank::CommonLock,
            true => Rank::NoCommonLock,
        };
        if ordered && self.pairs.is_full(places, rank) {
            self.pairs.refuse(Looks { sites: (rep.site, self.site), locks: (rep.locks, self.held) });
            return self.pairs.capped.count(key);
        }
        let known = self.pairs.find(key);
        if let Some(number) = known {
            if ordered || self.pairs.rank(number) == Rank::Unordered {
                return self.pairs.settle(key);
            }
        } else {
            if ordered
                && !self.keep_fork_join
                && self.family_seen.get(site.who.family_slot) >= rep.family_clock
            {
                return self.drops.fork_join.count(key);
            }
            if site.place == PlaceId::UNKNOWN || self.place == PlaceId::UNKNOWN {
                return self.drops.unplaced.count(key);
            }
            if self.pairs.is_full(places, rank) {
                return self.pairs.capped.count(key);
            }
        }
        let Some(address) = rep.extent.common(base, clip, self.blocks) else { return };
        let earlier = if ordered { rep.first_instance(base) } else { rep.last_instance(base) };
        let pair = Pair { sides: [earlier, self.now], address, block: self.blocks.around(address), rank };
        match known {
            Some(number) => self.pairs.improve(number, places, pair),
            None => self.pairs.add(places, pair),
        }
    }

    /// Whether two lock sets share a lock that one of them holds in write mode.
    fn common_lock(&self, one: LockSetId, other: LockSetId) -> bool {
        if one == LockSetId::default() || other == LockSetId::default() {
            return false;
        }
        let others = self.locks.locks(other);
        self.locks.locks(one).iter().any(|held| {
            let excludes = |mode| held.mode == LockMode::Write || mode == LockMode::Write;
            others.iter().any(|other| other.lock == held.lock && excludes(other.mode))
        })
    }
}
