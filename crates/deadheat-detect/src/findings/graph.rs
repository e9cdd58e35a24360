//! Which lock was asked for under which, and the cycles in that.
//!
//! A cycle is told where its locks do not guard each other: no two of its threads hold a lock in common, unless both as
//! readers. It is *possible* where its threads are different ones, none of the requests is ordered before another by
//! forks and joins, and no request for reading meets a lock that is held for reading. Otherwise no two threads of this
//! run could come to it, but the order of locks is broken all the same.

use std::collections::{BTreeMap, BTreeSet};

use deadheat_core::event::LockMode;
use deadheat_core::finding::Nesting;
use deadheat_core::ids::ThreadId;
use deadheat_core::rule::Epoch;
use rustc_hash::FxHashSet;

use crate::clock::vector::Clock;

/// Cycles of more locks are not looked for.
const MOST_LOCKS: usize = 20;
/// Ways to ask for one lock under another that are kept.
const MOST_EDGES: usize = 64;
/// Steps of the search for cycles in one run: beyond, cycles may be missing.
const MOST_STEPS: u32 = 1 << 22;

/// A lock's number.
pub(super) type Lock = u32;

/// A thread asks for a lock under another.
#[derive(Clone, Debug)]
pub(super) struct Edge {
    pub(super) thread: ThreadId,
    pub(super) epoch: Epoch,
    /// What the thread knows by forks and joins.
    pub(super) clock: Clock,
    /// All locks that it holds.
    pub(super) locks: Vec<(Lock, LockMode)>,
    pub(super) nesting: Nesting,
}

/// What tells two requests apart: the thread and how often it forked or joined, the locks held, and the one asked for.
type Key = ((ThreadId, u32), Vec<(Lock, LockMode)>, (Lock, LockMode));

/// The requests under other locks.
#[derive(Debug, Default)]
pub(super) struct Graph {
    /// By the lock that is held and the one that is asked for.
    edges: BTreeMap<(Lock, Lock), Vec<Edge>>,
    seen: FxHashSet<Key>,
}

impl Graph {
    /// Whether such a request was not seen yet.
    pub(super) fn is_new(
        &mut self,
        who: (ThreadId, u32),
        locks: &[(Lock, LockMode)],
        wanted: (Lock, LockMode),
    ) -> bool {
        self.seen.insert((who, locks.to_vec(), wanted))
    }

    /// Adds a request for the second lock under the first.
    pub(super) fn add(&mut self, pair: (Lock, Lock), edge: Edge) {
        let edges = self.edges.entry(pair).or_default();
        if edges.len() < MOST_EDGES {
            edges.push(edge);
        }
    }

    /// Gives each cycle, possible ones first, shorter ones first. Of cycles over the same pairs of locks one is given.
    pub(super) fn cycles(&self, mut give: impl FnMut(bool, &[Nesting])) {
        let mut next: BTreeMap<Lock, Vec<Lock>> = BTreeMap::new();
        for &(held, wanted) in self.edges.keys() {
            next.entry(held).or_default().push(wanted);
        }
        prune(&mut next);
        let mut search = Search {
            graph: self,
            next: &next,
            possible: true,
            path: Vec::new(),
            told: BTreeSet::new(),
            steps: MOST_STEPS,
        };
        for possible in [true, false] {
            search.possible = possible;
            for length in 2..=MOST_LOCKS.min(next.len()) {
                for &start in next.keys() {
                    search.from(start, start, length, &mut give);
                }
            }
        }
    }
}

/// Takes out locks that are in no cycle: those that nobody asks for under another, or that nobody asks for others under.
fn prune(next: &mut BTreeMap<Lock, Vec<Lock>>) {
    loop {
        let wanted: BTreeSet<Lock> = next.values().flatten().copied().collect();
        let before = next.len();
        next.retain(|held, _| wanted.contains(held));
        let held: BTreeSet<Lock> = next.keys().copied().collect();
        next.values_mut().for_each(|wanted| wanted.retain(|lock| held.contains(lock)));
        next.retain(|_, wanted| !wanted.is_empty());
        if next.len() == before {
            return;
        }
    }
}

/// A search for cycles.
struct Search<'a> {
    graph: &'a Graph,
    next: &'a BTreeMap<Lock, Vec<Lock>>,
    possible: bool,
    /// The requests so far, with the lock that each is made under.
    path: Vec<(Lock, &'a Edge)>,
    /// Pairs of locks that are in a cycle which was given.
    told: BTreeSet<(Lock, Lock)>,
    steps: u32,
}

impl Search<'_> {
    /// Goes on from `at` to cycles of `length` locks that come back to `start`, their least; `true` if one was given.
    fn from(
        &mut self,
        start: Lock,
        at: Lock,
        length: usize,
        give: &mut impl FnMut(bool, &[Nesting]),
    ) -> bool {
        let (graph, next) = (self.graph, self.next);
        let last = self.path.len() + 1 == length;
        for &to in next.get(&at).into_iter().flatten() {
            let fits =
                if last { to == start } else { to > start && self.path.iter().all(|step| step.0 != to) };
            if !fits {
                continue;
            }
            for edge in graph.edges.get(&(at, to)).into_iter().flatten() {
                if self.steps == 0 {
                    return false;
                }
                self.steps -= 1;
                if !self.path.iter().all(|(_, other)| self.together(other, edge)) || !self.meets(edge, last) {
                    continue;
                }
                self.path.push((at, edge));
                let given = if last { self.tell(give) } else { self.from(start, to, length, give) };
                self.path.pop();
                // From the start on other cycles are looked for; within one, one way is enough.
                if given && !self.path.is_empty() {
                    return true;
                }
                if given {
                    break;
                }
            }
        }
        false
    }

    /// Whether two threads can stand at these requests together.
    fn together(&self, one: &Edge, other: &Edge) -> bool {
        let read = |mode| mode == LockMode::Read;
        let guarded = one.locks.iter().any(|&(lock, mode)| {
            let same = other.locks.iter().find(|held| held.0 == lock);
            same.is_some_and(|held| !(read(mode) && read(held.1)))
        });
        let ordered = other.clock.covers(one.epoch) || one.clock.covers(other.epoch);
        !guarded && (!self.possible || one.thread != other.thread && !ordered)
    }

    /// Whether the request before has to wait for this one's thread, and, if it is the last, this one for the first's.
    fn meets(&self, edge: &Edge, last: bool) -> bool {
        let waits = |wanted: LockMode, held: LockMode| wanted == LockMode::Write || held == LockMode::Write;
        let before = self
            .path
            .last()
            .is_none_or(|(_, before)| waits(before.nesting.wanted_mode, edge.nesting.held_mode));
        let first = !last
            || self
                .path
                .first()
                .is_some_and(|(_, first)| waits(edge.nesting.wanted_mode, first.nesting.held_mode));
        !self.possible || before && first
    }

    /// Gives the cycle, if a pair of it is in none that was given.
    fn tell(&mut self, give: &mut impl FnMut(bool, &[Nesting])) -> bool {
        let wanted = self.path.iter().map(|step| step.0).cycle().skip(1);
        let pairs: Vec<_> = self.path.iter().zip(wanted).map(|(step, wanted)| (step.0, wanted)).collect();
        if pairs.iter().all(|pair| self.told.contains(pair)) {
            return false;
        }
        self.told.extend(pairs);
        let cycle: Vec<Nesting> = self.path.iter().map(|(_, edge)| edge.nesting).collect();
        give(self.possible, &cycle);
        true
    }
}
