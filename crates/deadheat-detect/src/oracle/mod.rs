//! Brute-force happens-before, for tests: the definition, written down as a graph.
//!
//! One node an event, one edge for each rule that orders two events, then the transitive closure
//! and a look at each pair of accesses. It shares nothing with the analyses but the alphabet and
//! the meaning of a conflict, looks backward through the whole trace for every event, and takes
//! time and memory of the order of the square of the trace's length and more.
//!
//! It expects what a run can do (a lock is not taken twice in write mode, a thread that was
//! created was not there before) and says nothing about other traces.
//!
//! [`reorder`] is the other brute force: which orders else the run's events could have had.
#![allow(clippy::wildcard_enum_match_arm, reason = "each rule asks whether an event is one of its own")]

pub mod reorder;

use std::collections::BTreeSet;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::rule::conflicts;

/// A trace with its happens-before order.
#[derive(Debug)]
pub struct Oracle<'a> {
    events: &'a [Event],
    /// For each event the set of events that happen before it, itself included.
    before: Vec<Vec<u64>>,
}

impl<'a> Oracle<'a> {
    /// Orders the events of a trace.
    #[must_use]
    pub fn new(events: &'a [Event]) -> Self {
        let words = events.len().div_ceil(64);
        let mut before: Vec<Vec<u64>> = Vec::with_capacity(events.len());
        let edges = Edges { events }.all();
        for (later, sources) in edges.iter().enumerate() {
            let mut set = vec![0; words];
            set[later / 64] |= 1 << (later % 64);
            for &source in sources {
                assert!(source < later, "an edge goes forward");
                set.iter_mut().zip(&before[source]).for_each(|(mine, theirs)| *mine |= theirs);
            }
            before.push(set);
        }
        Self { events, before }
    }

    /// Whether one event happens before another.
    #[must_use]
    pub fn ordered(&self, earlier: usize, later: usize) -> bool {
        self.before[later][earlier / 64] >> (earlier % 64) & 1 != 0
    }

    /// All races: pairs of indices of conflicting, unordered accesses.
    #[must_use]
    pub fn races(&self) -> Vec<(usize, usize)> {
        let mut races = Vec::new();
        for later in 0..self.events.len() {
            for earlier in 0..later {
                if !self.ordered(earlier, later) && self.conflict(earlier, later) {
                    races.push((earlier, later));
                }
            }
        }
        races
    }

    /// The access that an event makes, if it is one; the end of a block's life is a write.
    #[must_use]
    pub fn access(&self, index: usize) -> Option<Access> {
        access(self.events, index)
    }

    /// Whether two accesses conflict on a byte that did not get a new life in between.
    #[must_use]
    pub fn conflict(&self, earlier: usize, later: usize) -> bool {
        let (Some(one), Some(other)) = (self.access(earlier), self.access(later)) else { return false };
        if !conflicts(one.mode, one.atomic.is_some(), other.mode, other.atomic.is_some()) {
            return false;
        }
        let common = one.address.max(other.address)..one.end().min(other.end());
        common
            .into_iter()
            .any(|byte| !(earlier..later).any(|between| revives(&self.events[..=between], byte)))
    }
}

/// Whether the last of some events gives a byte a new life: the first that a byte has in a heap
/// block is none.
fn revives(events: &[Event], byte: u64) -> bool {
    let last = events.len() - 1;
    // The next file with a descriptor's number may be opened unseen.
    if let Op::Free { address, size, kind: BlockKind::Descriptor } = events[last].op {
        return (address..address + size).contains(&byte);
    }
    let ends = |index: usize| {
        matches!(events[index].op, Op::Free { .. })
            && access(events, index).is_some_and(|end| (end.address..end.end()).contains(&byte))
    };
    begins(&events[last], byte).is_some_and(|kind| {
        kind != BlockKind::Heap
            || (0..last).any(|index| begins(&events[index], byte).is_some() || ends(index))
    })
}

/// The kind of the block that comes to life, if an event makes one that has this byte.
fn begins(event: &Event, byte: u64) -> Option<BlockKind> {
    let Op::Alloc { address, size, kind } = event.op else { return None };
    let inside = (address..address + owned(address, size, kind)).contains(&byte);
    (inside && kind != BlockKind::Benign).then_some(kind)
}

/// Heap blocks on an 8-byte boundary own the whole of their last 8 bytes.
fn owned(address: u64, size: u64, kind: BlockKind) -> u64 {
    if kind == BlockKind::Heap && address.is_multiple_of(8) { size.div_ceil(8) * 8 } else { size }
}

/// The bytes that an access has; one of no size has its first.
fn bytes_of(access: &Access) -> impl Iterator<Item = u64> + use<> {
    access.address..access.end().max(access.address.saturating_add(1))
}

fn access(events: &[Event], index: usize) -> Option<Access> {
    match events[index].op {
        Op::Access(access) => Some(access),
        Op::Free { address, size, kind } => {
            let size = if size == 0 { live_size(&events[..index], address, kind) } else { size };
            let size = owned(address, size, kind);
            Some(Access { via: Via::Free, ..Access::plain(address, size, Mode::Write) })
        }
        _ => None,
    }
}

/// The size of the block that starts at an address at the end of `events`, 0 if there is none.
fn live_size(events: &[Event], block: u64, of: BlockKind) -> u64 {
    for event in events.iter().rev() {
        match event.op {
            Op::Alloc { address, size, kind } if (address, kind) == (block, of) => return size,
            Op::Free { address, kind, .. } if (address, kind) == (block, of) => return 0,
            _ => {}
        }
    }
    0
}

struct Edges<'a> {
    events: &'a [Event],
}

impl Edges<'_> {
    /// For each event the events that a rule puts directly before it.
    fn all(&self) -> Vec<Vec<usize>> {
        (0..self.events.len()).map(|index| self.sources(index)).collect()
    }

    fn sources(&self, index: usize) -> Vec<usize> {
        let thread = self.events[index].thread;
        let mut sources: Vec<usize> = self.last_of(thread, index).into_iter().collect();
        if self.last_of(thread, index).is_none_or(|last| self.fork_of(thread, index) > Some(last)) {
            sources.extend(self.fork_of(thread, index));
        }
        match self.events[index].op {
            Op::Join { child } => {
                sources.extend(self.last_of(child, index));
                sources.extend(self.fork_of(child, index));
            }
            Op::Acquire { lock, mode } => sources.extend(self.releases_seen(index, lock, mode)),
            Op::Wait { kind: SyncKind::Everything, .. } => sources.extend(0..index),
            Op::Wait { object, kind, woken: true } => sources.extend(self.signals_seen(index, object, kind)),
            Op::Leave { barrier } => sources.extend(self.arrivals_seen(index, barrier)),
            Op::Access(access) if access.atomic.is_some_and(|order| order.acquires()) => {
                sources.extend(self.read_from(index, &access));
            }
            Op::Fence(order) if order.acquires() => sources.extend(self.read_before_fence(index)),
            _ => {}
        }
        sources
    }

    fn last_of(&self, thread: ThreadId, index: usize) -> Option<usize> {
        (0..index).rev().find(|&at| self.events[at].thread == thread)
    }

    fn fork_of(&self, thread: ThreadId, index: usize) -> Option<usize> {
        (0..index).rev().find(|&at| self.events[at].op == Op::Fork { child: thread })
    }

    /// Whether the object at an address was forgotten between two events.
    fn forgotten(&self, object: u64, from: usize, to: usize) -> bool {
        self.events[from..to]
            .iter()
            .any(|event| event.op == Op::Forget { object } || begins(event, object).is_some())
    }

    /// How often the thread of an event holds a lock just before it.
    fn depth(&self, index: usize, lock: u64) -> usize {
        let thread = self.events[index].thread;
        let mine = self.events[..index].iter().filter(|event| event.thread == thread);
        mine.fold(0, |depth, event| match event.op {
            Op::Acquire { lock: taken, .. } if taken == lock => depth + 1,
            Op::Release { lock: given, .. } if given == lock => depth - 1,
            _ => depth,
        })
    }

    fn releases_seen(&self, index: usize, lock: u64, mode: LockMode) -> Vec<usize> {
        if self.depth(index, lock) > 0 {
            return Vec::new();
        }
        let seen = |&at: &usize| match self.events[at].op {
            Op::Release { lock: given, mode: held } => {
                given == lock
                    && (mode == LockMode::Write || held == LockMode::Write)
                    && self.depth(at, lock) == 1
                    && !self.forgotten(lock, at, index)
            }
            _ => false,
        };
        (0..index).filter(seen).collect()
    }

    fn signals_seen(&self, index: usize, object: u64, kind: SyncKind) -> Vec<usize> {
        let condition = matches!(kind, SyncKind::Condition | SyncKind::ConditionAll);
        let thread = self.events[index].thread;
        let start = if condition {
            let mine = (0..index).rev().filter(|&at| self.events[at].thread == thread);
            let began = mine.into_iter().find(|&at| match self.events[at].op {
                Op::Await { object: on, .. } | Op::Wait { object: on, .. } => on == object,
                _ => false,
            });
            match began {
                Some(at) if matches!(self.events[at].op, Op::Await { .. }) => at,
                _ => return Vec::new(),
            }
        } else {
            0
        };
        if condition && self.forgotten(object, start, index) {
            return Vec::new();
        }
        let of_family = |other: SyncKind| {
            if condition {
                matches!(other, SyncKind::Condition | SyncKind::ConditionAll)
            } else {
                other == kind
            }
        };
        // What is announced in memory the atomic there shows as well, and that stays where another object there is made or destroyed.
        let is_gone = |at| match kind {
            SyncKind::Annotation => {
                self.events[at..index].iter().any(|event| begins(event, object).is_some())
            }
            _ => self.forgotten(object, at, index),
        };
        let seen = |&at: &usize| match self.events[at].op {
            Op::Signal { object: on, kind } => on == object && of_family(kind) && !is_gone(at),
            _ => false,
        };
        (start..index).filter(seen).collect()
    }

    /// The arrivals of the round of a barrier that the thread now leaves.
    fn arrivals_seen(&self, index: usize, on: u64) -> Vec<usize> {
        let mut rounds = self.rounds(index, on);
        let mine = rounds.iter().rposition(|round| self.is_in(round, index));
        mine.map_or(Vec::new(), |mine| rounds.swap_remove(mine))
    }

    fn is_in(&self, round: &[usize], index: usize) -> bool {
        round.iter().any(|&arrival| self.events[arrival].thread == self.events[index].thread)
    }

    /// The arrivals of each round of a barrier before an event; the last one is open.
    fn rounds(&self, index: usize, on: u64) -> Vec<Vec<usize>> {
        let start = (0..index).rev().find(|&at| self.forgotten(on, at, at + 1)).map_or(0, |at| at + 1);
        let mut rounds: Vec<Vec<usize>> = vec![Vec::new()];
        for at in start..index {
            let last = rounds.len() - 1;
            match self.events[at].op {
                Op::Arrive { barrier, count } if barrier == on => {
                    rounds[last].push(at);
                    if count > 0 && rounds[last].len() == count as usize {
                        rounds.push(Vec::new());
                    }
                }
                // Where it is not known how many arrive, the first who leaves ends the round.
                Op::Leave { barrier }
                    if barrier == on
                        && rounds.iter().rposition(|round| self.is_in(round, at)) == Some(last) =>
                {
                    rounds.push(Vec::new());
                }
                _ => {}
            }
        }
        rounds
    }

    /// The events that an atomic read synchronises with, if it or a later fence acquires: the
    /// heads of the release sequences that the bytes it reads belong to.
    fn read_from(&self, index: usize, read: &Access) -> Vec<usize> {
        let mut heads = Vec::new();
        if !read.mode.reads() {
            return heads;
        }
        // The bytes whose present values are still looked for.
        let mut bytes: BTreeSet<u64> = bytes_of(read).collect();
        for at in (0..index).rev() {
            bytes.retain(|&byte| begins(&self.events[at], byte).is_none());
            let Some(write) = access(self.events, at).filter(|access| access.mode.writes()) else { continue };
            let written: Vec<u64> = bytes_of(&write).filter(|byte| bytes.contains(byte)).collect();
            if written.is_empty() {
                continue;
            }
            if let Some(order) = write.atomic {
                if order.releases() {
                    heads.push(at);
                } else {
                    heads.extend(self.release_fence_before(at));
                }
                if write.mode.reads() {
                    // It passes on what it read, with all that it wrote.
                    bytes.extend(bytes_of(&write));
                    continue;
                }
                if !order.releases() {
                    heads.extend(self.own_sequence(at, &write));
                }
            }
            written.iter().for_each(|byte| _ = bytes.remove(byte));
        }
        heads
    }

    /// What the store at `index`, which does not release, goes on showing: of what its thread itself published there before by operations on the same bytes, if
    /// no other thread stored or published there since, and nothing wrote to some of these bytes and others as well, or not to all.
    fn own_sequence(&self, index: usize, store: &Access) -> Vec<usize> {
        let thread = self.events[index].thread;
        let mut heads = Vec::new();
        let is_there = |byte: u64| bytes_of(store).any(|of_store| of_store == byte);
        if bytes_of(store).any(|byte| byte / 8 != store.address / 8) {
            return heads;
        }
        for at in (0..index).rev() {
            if bytes_of(store).any(|byte| begins(&self.events[at], byte).is_some()) {
                break;
            }
            let Some(write) = access(self.events, at).filter(|access| access.mode.writes()) else { continue };
            if !bytes_of(&write).any(is_there) {
                continue;
            }
            let Some(order) = write.atomic.filter(|_| bytes_of(&write).eq(bytes_of(store))) else { break };
            let (own, only_writes) = (self.events[at].thread == thread, !write.mode.reads());
            let published = if order.releases() { Some(at) } else { self.release_fence_before(at) };
            match published {
                Some(at) if own && order.releases() && (only_writes || order.acquires()) => {
                    heads.push(at);
                    return heads;
                }
                Some(fence) if own && !order.releases() => heads.push(fence),
                Some(_) => break,
                None if only_writes && !own => break,
                None => {}
            }
        }
        Vec::new()
    }

    fn release_fence_before(&self, index: usize) -> Option<usize> {
        let thread = self.events[index].thread;
        (0..index).rev().find(|&at| {
            self.events[at].thread == thread
                && matches!(self.events[at].op, Op::Fence(order) if order.releases())
        })
    }

    fn read_before_fence(&self, index: usize) -> Vec<usize> {
        let thread = self.events[index].thread;
        let mine = (0..index).filter(|&at| self.events[at].thread == thread);
        mine.flat_map(|at| match self.events[at].op {
            Op::Access(access) if access.atomic.is_some() => self.read_from(at, &access),
            _ => Vec::new(),
        })
        .collect()
    }
}
