//! Judging one access against the earlier ones that its bytes remember.

use deadheat_core::access::Access;
use deadheat_core::event::LockMode;
use deadheat_core::ids::PlaceId;
use deadheat_core::race::{LockSetId, LockSets};
use rustc_hash::{FxHashMap, FxHashSet};

use super::closure::{Answer, Closures, Query};
use super::history::{Entry, History};
use crate::clock::lockset::LockTable;
use crate::clock::past::{Moment, Past};
use crate::clock::sites::Sites;
use crate::clock::vector::Clock;

/// The most partners that one access is told with, unless all pairs are wanted.
const MAX_PARTNERS: usize = 16;

/// The earlier side of a race with the present access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(crate) entry: Entry,
    pub(crate) slot: u32,
    /// The first byte that both touch.
    pub(crate) address: u64,
    /// The birth of the memory.
    pub(crate) born: Moment,
}

/// A place with its sort of access: does it write, is it atomic?
type Sort = (PlaceId, bool, bool);

/// What judging leaves behind.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The races of the present access.
    pub(crate) partners: Vec<Partner>,
    /// Whether the present access raced, told or not.
    pub(crate) raced: bool,
    told: FxHashSet<(Sort, Sort)>,
    /// Which lock sets exclude each other.
    excluding: FxHashMap<(LockSetId, LockSetId), bool>,
}

impl Findings {
    /// Makes ready for the next access.
    pub(crate) fn reset(&mut self) {
        self.partners.clear();
        self.raced = false;
    }

    /// Whether two threads cannot hold those locks at a time.
    fn exclude(&mut self, one: LockSetId, other: LockSetId, locks: &LockTable) -> bool {
        if one == LockSetId::default() || other == LockSetId::default() {
            return false;
        }
        *self.excluding.entry((one, other)).or_insert_with(|| {
            locks.locks(one).iter().any(|mine| {
                locks.locks(other).iter().any(|theirs| {
                    mine.lock == theirs.lock
                        && (mine.mode == LockMode::Write || theirs.mode == LockMode::Write)
                })
            })
        })
    }
}

/// The present access.
pub(crate) struct Judge<'a> {
    pub(crate) now: Moment,
    pub(crate) place: PlaceId,
    pub(crate) access: &'a Access,
    pub(crate) held: LockSetId,
    /// The number of its thread's last acquire or lesson.
    pub(crate) entered: u32,
    /// What its thread knows.
    pub(crate) clock: &'a Clock,
    pub(crate) past: &'a Past,
    pub(crate) sites: &'a Sites,
    pub(crate) locks: &'a LockTable,
    pub(crate) closures: &'a mut Closures,
    pub(crate) findings: &'a mut Findings,
    pub(crate) all_pairs: bool,
}

impl Judge<'_> {
    /// Judges the access against what a cell remembers; `address` is the cell's first byte.
    pub(crate) fn meet(&mut self, history: &mut History, address: u64) {
        let (born, slot) = (history.born, self.now.slot);
        for line in history.conflicting(slot, self.access) {
            let mut seen = line.seen(slot);
            let first = seen;
            // Entries are looked at once by each slot: what is ordered stays so, and the first that races ends the search.
            for index in first..line.entries.len() {
                let entry = line.entries[index];
                let earlier = Moment { slot: line.slot, number: entry.number };
                let is_ordered = self.is_ordered(earlier, entry, born);
                if is_ordered && seen == index {
                    seen = index + 1;
                }
                if is_ordered {
                    continue;
                }
                self.findings.raced = true;
                if !self.all_pairs {
                    self.keep(Partner { entry, slot: earlier.slot, address, born });
                    break;
                }
                if self.tells(entry) {
                    self.keep(Partner { entry, slot: earlier.slot, address, born });
                }
            }
            if seen > first {
                line.see(slot, seen);
            }
            if !self.all_pairs && self.findings.partners.len() >= MAX_PARTNERS {
                return;
            }
        }
    }

    fn is_ordered(&mut self, earlier: Moment, entry: Entry, born: Moment) -> bool {
        let Judge { now, clock, past, .. } = *self;
        if clock.get(earlier.slot) >= earlier.number || self.closures.is_ordered(earlier, now.slot) {
            return true;
        }
        if self.findings.exclude(self.sites.get(entry.site).locks, self.held, self.locks) {
            return true;
        }
        let query = Query { earlier, now, born };
        self.closures.ask(query, past, clock, self.entered) == Answer::Ordered
    }

    /// Whether a pair of places was not told yet.
    fn tells(&mut self, entry: Entry) -> bool {
        let site = self.sites.get(entry.site);
        let then = (site.place, site.mode.writes(), site.atomic.is_some());
        let now = (self.place, self.access.mode.writes(), self.access.atomic.is_some());
        self.findings.told.insert((then.min(now), then.max(now)))
    }

    /// Keeps a race to be told, unless the same was found at another byte.
    fn keep(&mut self, new: Partner) {
        let known = |partner: &Partner| (partner.slot, partner.entry.number) == (new.slot, new.entry.number);
        if !self.findings.partners.iter().any(known) {
            self.findings.partners.push(new);
        }
    }
}
