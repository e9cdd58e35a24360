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
    memory: usize,
}

impl Graph {
    /// About how many bytes it takes.
    pub(super) fn memory(&self) -> usize {
        self.memory
    }

    /// Whether such a request was not seen yet.
    pub(super) fn is_new(
        &mut self,
        who: (ThreadId, u32),
        locks: &[(Lock, LockMode)],
        wanted: (Lock, LockMode),
    ) -> bool {
        let is_new = self.seen.insert((who, locks.to_vec(), wanted));
        if is_new {
            self.memory += 2 * size_of::<Key>() + size_of_val(locks);
        }
        is_new
    }

    /// Adds a request for the second lock under the first.
    pub(super) fn add(&mut self, pair: (Lock, Lock), edge: Edge) {
        let edges = self.edges.entry(pair).or_default();
        if edges.len() < MOST_EDGES {
            self.memory += 2 * size_of::<Edge>() + size_of_val(&*edge.locks) + edge.clock.memory() + 64;
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
        let mut search =
            Search { graph: self, next: &next, possible: true, told: BTreeSet::new(), steps: MOST_STEPS };
        for possible in [true, false] {
            search.possible = possible;
            for length in 2..=MOST_LOCKS.min(next.len()) {
                for &start in next.keys() {
                    search.from(&mut vec![start], length, &mut give);
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
    /// Pairs of locks that are in a cycle which was given.
    told: BTreeSet<(Lock, Lock)>,
    steps: u32,
}

impl<'a> Search<'a> {
    /// Goes on with `locks`, the first of which is the least, to cycles of `length` of them.
    fn from(&mut self, locks: &mut Vec<Lock>, length: usize, give: &mut impl FnMut(bool, &[Nesting])) {
        let (start, at, last) = (locks[0], locks[locks.len() - 1], locks.len() == length);
        let next = self.next;
        for &to in next.get(&at).into_iter().flatten() {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                return;
            }
            if last && to == start {
                self.close(locks, give);
            } else if !last && to > start && !locks.contains(&to) {
                locks.push(to);
                self.from(locks, length, give);
                locks.pop();
            }
        }
    }

    /// Gives the cycle of these locks if there is one, and a pair of it is in none that was given.
    fn close(&mut self, locks: &[Lock], give: &mut impl FnMut(bool, &[Nesting])) {
        let wanted = locks.iter().cycle().skip(1);
        let pairs: Vec<_> = locks.iter().copied().zip(wanted.copied()).collect();
        let mut edges = Vec::new();
        if !pairs.iter().all(|pair| self.told.contains(pair)) && self.choose(&pairs, &mut edges) {
            let cycle: Vec<Nesting> = edges.iter().map(|edge| edge.nesting).collect();
            give(self.possible, &cycle);
            self.told.extend(pairs);
        }
    }

    /// Chooses a request for each pair of locks that none is chosen for yet; `false` if no choice does.
    fn choose(&mut self, pairs: &[(Lock, Lock)], edges: &mut Vec<&'a Edge>) -> bool {
        let Some(pair) = pairs.get(edges.len()) else { return true };
        let graph = self.graph;
        for edge in graph.edges.get(pair).into_iter().flatten() {
            self.steps = self.steps.saturating_sub(1);
            if self.steps == 0 {
                return false;
            }
            let last = edges.len() + 1 == pairs.len();
            if edges.iter().all(|other| self.together(other, edge)) && self.meets(edges, edge, last) {
                edges.push(edge);
                if self.choose(pairs, edges) {
                    return true;
                }
                edges.pop();
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
    fn meets(&self, before: &[&Edge], edge: &Edge, last: bool) -> bool {
        let waits = |one: &Edge, next: &Edge| {
            let (wanted, held) = (one.nesting.wanted_mode, next.nesting.held_mode);
            wanted == LockMode::Write || held == LockMode::Write
        };
        let by_last = before.last().is_none_or(|one| waits(one, edge));
        let by_this = !last || before.first().is_some_and(|first| waits(edge, first));
        !self.possible || by_last && by_this
    }
}
