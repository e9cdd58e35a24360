//! Where analyses put their races: one of each kind is kept, with a count.
//!
//! Invariant: memory is bounded by [`MOST_KEPT`] and [`MOST_WITNESSED`], however many races a run has.

use deadheat_core::access::{Access, Via};
use deadheat_core::event::LockMode;
use deadheat_core::finding::Finding;
use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::race::{Block, Guards, HeldLock, LockSetId, LockSets, Race, RaceSink, RunOrder, Side};
use deadheat_core::witness::Witness;
use rustc_hash::FxHashMap;

use super::finding;
use super::suggest::Protection;
use super::witness::Seen;

/// How many races are kept: pairs of (place, stack, way of accessing).
const MOST_KEPT: usize = 1 << 16;
/// How many pairs of stacks are kept for one pair of places; a recursion has very many.
const MOST_STACKS: u32 = 64;
/// How much is kept of witnesses: pairs of a thread and a number of events.
const MOST_WITNESSED: usize = 1 << 22;

/// One side of a race as far as two races can differ for a reader: place and way of accessing.
type Way = (PlaceId, u8, bool, Via);

/// A race as far as two can differ for a reader: by its sides in an order of their own, ways and stacks.
type Key = ([Way; 2], [StackId; 2]);

/// A race that was kept.
#[derive(Clone)]
pub(crate) struct Kept {
    /// The first of its kind.
    pub(crate) race: Race,
    /// The locks held, by side.
    pub(crate) locks: [Vec<Held>; 2],
    /// By side: the thread's clock, if the access's place and stack are not remembered.
    pub(crate) forgotten: [Option<u64>; 2],
    /// How many there were of its kind.
    pub(crate) count: u64,
    /// Of a suspected race: the least that the order of the run says of one of its kind.
    pub(crate) order: Option<RunOrder>,
    /// Of a predicted race: the order that brings it about.
    pub(crate) witness: Option<Seen>,
}

/// A lock that was held at a race.
#[derive(Clone, Copy)]
pub(crate) struct Held {
    /// Its address.
    pub(crate) lock: u64,
    /// How it was held.
    pub(crate) mode: LockMode,
    /// The block that it lies in.
    pub(crate) block: Option<Block>,
}

/// The sink of one analysis.
#[derive(Default)]
pub(crate) struct Collector {
    kept: Vec<Kept>,
    /// By pair of ways and stacks: the index in `kept`.
    index: FxHashMap<Key, usize>,
    /// By pair of ways: how many stacks are kept, and the index of the first.
    ways: FxHashMap<[Way; 2], (u32, usize)>,
    dropped: u64,
    forgotten: u64,
    undecided: u64,
    checks: Option<u64>,
    findings: Vec<finding::Kept>,
    /// By the index in `kept`: which locks were held where that is raced for.
    protections: FxHashMap<usize, Protection>,
    /// How much of the witnesses is kept.
    witnessed: usize,
    /// How many witnesses are not kept, as they would take too much.
    unwitnessed: u64,
}

impl Collector {
    /// The races, in the order in which they were found.
    pub(crate) fn kept(&self) -> &[Kept] {
        &self.kept
    }

    /// Which locks were held at the accesses to what a race is on, by the race's place in [`Self::kept`].
    pub(crate) fn protection(&self, index: usize) -> Option<&Protection> {
        self.protections.get(&index)
    }

    /// What is wrong and no race, in the order in which it was found.
    pub(crate) fn findings(&self) -> &[finding::Kept] {
        &self.findings
    }

    /// Takes what is wrong and no race.
    pub(crate) fn keep(&mut self, finding: finding::Kept) {
        if self.findings.len() < MOST_KEPT {
            self.findings.push(finding);
        }
    }

    /// How many were seen of which not even the kind is kept.
    pub(crate) fn dropped(&self) -> u64 {
        self.dropped
    }

    /// Of how many kept races the witness is not kept.
    pub(crate) fn unwitnessed(&self) -> u64 {
        self.unwitnessed
    }

    /// How many events of the run's beginning the analysis had to forget.
    pub(crate) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// Of how many pairs of accesses the analysis could not say whether they race, for want of memory.
    pub(crate) fn undecided(&self) -> u64 {
        self.undecided
    }

    /// How many refinements it checked, if it checks any.
    pub(crate) fn checks(&self) -> Option<u64> {
        self.checks
    }

    /// Takes a race that was seen `times` times; `rest` makes what is kept of it if it is the first of its kind.
    pub(crate) fn take(&mut self, race: &Race, times: u64, rest: impl FnOnce() -> Kept) {
        let key = key(&race.earlier, &race.later);
        let ways = key.0;
        if self.is_counted(&key, times) {
            return;
        }
        let next = self.kept.len();
        let (stacks, first) = self.ways.entry(ways).or_insert((0, next));
        if *stacks >= MOST_STACKS {
            self.kept[*first].count += times;
            return;
        }
        if next >= MOST_KEPT {
            if *stacks > 0 {
                self.kept[*first].count += times;
            } else {
                self.ways.remove(&ways);
                self.dropped += times;
            }
            return;
        }
        *stacks += 1;
        self.index.insert(key, next);
        self.kept.push(Kept { count: times, ..rest() });
    }

    /// Counts races of a kind that is kept; `false` if it is not.
    fn is_counted(&mut self, key: &Key, times: u64) -> bool {
        let Some(&row) = self.index.get(key) else { return false };
        self.kept[row].count += times;
        true
    }
}

fn key(earlier: &Side, later: &Side) -> Key {
    let sides = [earlier, later];
    let [one, other] = if rank(sides[0]) <= rank(sides[1]) { sides } else { [sides[1], sides[0]] };
    ([way(one), way(other)], [one.stack, other.stack])
}

fn way(side: &Side) -> Way {
    let Access { mode, atomic, via, .. } = side.access;
    (side.place, mode as u8, atomic.is_some(), via)
}

/// What orders the sides of a pair: `Via` has no order of its own.
fn rank(side: &Side) -> (PlaceId, StackId, u8, bool, u8) {
    let (place, mode, atomic, via) = way(side);
    (place, side.stack, mode, atomic, via as u8)
}

impl RaceSink for Collector {
    fn race(&mut self, race: &Race, locks: &dyn LockSets) {
        self.take(race, 1, || once(race, locks));
    }

    fn again(&mut self, earlier: &Side, later: &Side) -> bool {
        self.is_counted(&key(earlier, later), 1)
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, locks: &dyn LockSets) {
        let next = self.kept.len();
        self.take(race, 1, || once(race, locks));
        let Some(kept) = self.kept.get_mut(next) else { return };
        let size = Seen::size(witness);
        if self.witnessed + size > MOST_WITNESSED {
            self.unwitnessed += 1;
            return;
        }
        self.witnessed += size;
        kept.witness = Some(Seen::of(witness));
    }

    fn forgot(&mut self, events: u64) {
        self.forgotten = events;
    }

    fn undecided(&mut self, pairs: u64) {
        self.undecided += pairs;
    }

    fn checked(&mut self, refinements: u64) {
        *self.checks.get_or_insert(0) += refinements;
    }

    fn suspected(&mut self, race: &Race, order: RunOrder, locks: &dyn LockSets) {
        self.take(race, 1, || once(race, locks));
        if let Some(&index) = self.index.get(&key(&race.earlier, &race.later)) {
            let least = &mut self.kept[index].order;
            *least = Some(least.map_or(order, |least| least.min(order)));
        }
    }

    fn guards(&mut self, race: &Race, guards: &Guards<'_>, locks: &dyn LockSets) {
        if let Some(&index) = self.index.get(&key(&race.earlier, &race.later)) {
            self.protections.entry(index).or_default().add(&Protection::of(guards, locks));
        }
    }

    fn finding(&mut self, finding: &Finding<'_>) {
        self.keep(finding.into());
    }
}

/// A race, seen once.
pub(super) fn once(race: &Race, locks: &dyn LockSets) -> Kept {
    let held = |side: &Side| held(side.locks, locks);
    let locks = [held(&race.earlier), held(&race.later)];
    Kept { race: *race, locks, forgotten: [None; 2], count: 1, order: None, witness: None }
}

/// The locks of a set.
pub(super) fn held(set: LockSetId, locks: &dyn LockSets) -> Vec<Held> {
    let of = |held: &HeldLock| Held { lock: held.lock, mode: held.mode, block: locks.block(held.lock) };
    locks.locks(set).iter().map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_core::access::Mode;
    use deadheat_core::ids::ThreadId;

    struct NoLocks;

    impl LockSets for NoLocks {
        fn locks(&self, _: LockSetId) -> &[HeldLock] {
            &[]
        }
    }

    fn side(thread: u32, place: u32, stack: u32) -> Side {
        Side {
            thread: ThreadId(thread),
            place: PlaceId(place),
            stack: StackId(stack),
            access: Access::plain(64, 4, Mode::Write),
            locks: LockSetId(0),
        }
    }

    fn collect(pairs: impl IntoIterator<Item = (Side, Side)>) -> Collector {
        let mut collector = Collector::default();
        for (earlier, later) in pairs {
            collector.race(&Race { earlier, later, address: 64, block: None }, &NoLocks);
        }
        collector
    }

    #[test]
    fn one_of_a_kind_whatever_the_order_and_the_threads() {
        let found = collect([
            (side(0, 1, 5), side(1, 2, 6)),
            (side(1, 2, 6), side(0, 1, 5)),
            (side(3, 1, 5), side(4, 2, 6)),
            (side(0, 1, 7), side(1, 2, 6)),
        ]);
        let counts: Vec<_> = found.kept().iter().map(|kept| kept.count).collect();
        assert_eq!(counts, [3, 1]);
    }

    #[test]
    fn a_recursion_keeps_few_stacks_and_loses_no_count() {
        let found = collect((0..1000).map(|stack| (side(0, 1, stack), side(1, 2, 0))));
        assert_eq!(found.kept().len(), MOST_STACKS as usize);
        assert_eq!(found.kept().iter().map(|kept| kept.count).sum::<u64>(), 1000);
        assert_eq!(found.dropped(), 0);
    }

    #[test]
    fn what_is_kept_is_bounded() {
        let most = MOST_KEPT as u32;
        let pairs = |places: u32| (0..places).map(|place| (side(0, place, 0), side(1, place, 0)));
        let found = collect(pairs(most + 10).chain(pairs(5)));
        assert_eq!((found.kept().len(), found.dropped()), (MOST_KEPT, 10));
        assert_eq!(found.kept()[4].count, 2);
    }
}
