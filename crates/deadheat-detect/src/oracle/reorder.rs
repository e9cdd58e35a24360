//! All correct reorderings of a small trace, by trying each: what prediction may tell.
//!
//! Paper: correct reorderings (Said and others, NFM 2011; Smaragdakis and others, POPL 2012), with what the papers
//! leave out: locks for reading, condition variables, semaphores, barriers, one-time initialisation, lives of memory.
//!
//! A *correct reordering* is an order of some of the run's events in which each thread does a prefix of what it did, each
//! operation may come where it comes, and each read sees the writes that it saw, byte by byte ([`Reads::Kept`]). When
//! that holds the threads cannot tell the difference, so the program can run so. Two accesses *race* if after
//! one of them two threads have just these two before them; what the two read does not matter.
//!
//! With [`Reads::Control`] a read may see another write as long as nothing that is done depends on it, as far as one can know: an
//! event is *tainted* if it sees a byte that another event wrote than in the run, or that a tainted one wrote, or if one that it
//! follows is tainted: the event before it in its thread, the thread's fork, and of a join the joined thread's events. No branch
//! is tainted, and no atomic access that reads, which may branch by itself (compare and exchange). (Control flow as in Huang,
//! Meredith and Roșu, *Maximal sound predictive race detection with control flow abstraction*, PLDI 2014.)
//!
//! What an operation needs: a thread's first event its fork; a join all that the thread did; an acquire a lock that nobody else
//! holds in a way that excludes it; a wait that was woken a signal that came while it waited, if one did in the run (a
//! signal may wake several); the wait of a semaphore a post that no wait took (as many were there at the start as the run shows);
//! a leave all arrivals of its round, and an arrival those of the rounds before; other waits all signals that
//! they saw. An object that was made anew, and a byte in a new block, is another one.
//!
//! Cost: exponential. States are merged that have done the same, and in which the bytes have the same writers.

use std::collections::{BTreeMap, HashSet};

use deadheat_core::access::Access;
use deadheat_core::event::{Event, LockMode, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::rule::conflicts;

use super::{Edges, access, begins, revives};

/// What holds of the reads of a reordering.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reads {
    /// Each sees for each byte the same write as in the run, or none as there.
    Kept,
    /// What branches that are done depend on is as in the run; other reads may see anything. A run without a branch says nothing of
    /// that: all reads are kept.
    Control,
    /// They may see anything: the threads are taken to do the same whatever they read.
    Free,
}

/// Two accesses, by their indices in the trace, the smaller one first.
pub type Pair = (usize, usize);

/// All that two threads can have before them at the same time: the pairs that race, each with the
/// events that come first, in their order.
#[must_use]
pub fn races(events: &[Event], reads: Reads) -> BTreeMap<Pair, Vec<usize>> {
    let reorderings = Reorderings::new(events, reads);
    let mut races = BTreeMap::new();
    let mut seen = HashSet::new();
    let mut open = vec![(reorderings.start(), Vec::new())];
    while let Some((state, past)) = open.pop() {
        for pair in reorderings.side_by_side(&state) {
            races.entry(pair).or_insert_with(|| past.clone());
        }
        for event in reorderings.next(&state) {
            let after = reorderings.after(&state, event);
            if let Some(after) = after.filter(|after| seen.insert(after.clone())) {
                let mut order = past.clone();
                order.push(event);
                open.push((after, order));
            }
        }
    }
    races
}

/// Whether an order of some events is correct, and two accesses race behind it.
#[must_use]
pub fn is_race(events: &[Event], reads: Reads, order: &[usize], pair: Pair) -> bool {
    let reorderings = Reorderings::new(events, reads);
    let mut state = reorderings.start();
    for &event in order {
        let next = reorderings.next(&state).contains(&event);
        match reorderings.after(&state, event).filter(|_| next) {
            Some(after) => state = after,
            None => return false,
        }
    }
    reorderings.side_by_side(&state).contains(&pair)
}

/// Where a reordering is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State {
    /// How many events each thread has done.
    done: Vec<usize>,
    /// By cell: who wrote it last and which block it is in, as indices of events.
    cells: Vec<(Option<usize>, Option<usize>)>,
    /// The waits that a signal has reached.
    woken: Vec<usize>,
    /// The events that are tainted.
    tainted: Vec<usize>,
}

/// A trace, and what holds of its events in every reordering.
struct Reorderings<'a> {
    events: &'a [Event],
    reads: Reads,
    /// By thread: its events.
    rows: Vec<Vec<usize>>,
    /// Where cells begin: no access and no block has only a part of one.
    bounds: Vec<u64>,
    /// By event: the events that must have been done.
    needs: Vec<Vec<usize>>,
    /// By event: its cells, as they are just before it in the run.
    seen: Vec<Vec<(Option<usize>, Option<usize>)>>,
}

impl<'a> Reorderings<'a> {
    fn new(events: &'a [Event], reads: Reads) -> Self {
        let threads = events.iter().map(|event| event.thread.0 as usize + 1).max().unwrap_or(0);
        let mut rows = vec![Vec::new(); threads];
        for (index, event) in events.iter().enumerate() {
            rows[event.thread.0 as usize].push(index);
        }
        let mut bounds: Vec<u64> =
            (0..events.len()).filter_map(|at| bytes(events, at)).flat_map(|(from, to)| [from, to]).collect();
        bounds.sort_unstable();
        bounds.dedup();
        let branches = events.iter().any(|event| event.op == Op::Branch);
        let reads = if reads == Reads::Control && !branches { Reads::Kept } else { reads };
        let mut all = Self { events, reads, rows, bounds, needs: Vec::new(), seen: Vec::new() };
        all.needs = (0..events.len()).map(|index| all.needs_of(index)).collect();
        let mut state = all.start();
        for index in 0..events.len() {
            all.seen.push(all.cells(index).map(|cell| state.cells[cell]).collect());
            all.touch(&mut state, index);
        }
        all
    }

    fn start(&self) -> State {
        State {
            done: vec![0; self.rows.len()],
            cells: vec![(None, None); self.bounds.len()],
            woken: Vec::new(),
            tainted: Vec::new(),
        }
    }

    /// The cells of an event's bytes.
    fn cells(&self, index: usize) -> std::ops::Range<usize> {
        let Some((from, to)) = bytes(self.events, index) else { return 0..0 };
        let at = |bound| self.bounds.partition_point(|&other| other < bound);
        at(from)..at(to)
    }

    /// What an event does to its cells.
    fn touch(&self, state: &mut State, index: usize) {
        let writes = access(self.events, index).is_some_and(|access| access.mode.writes());
        for cell in self.cells(index) {
            let (writer, life) = &mut state.cells[cell];
            if revives(&self.events[..=index], self.bounds[cell]) {
                (*writer, *life) = (None, Some(index));
            } else if writes {
                *writer = Some(index);
            }
        }
    }

    /// The events that must have been done before one, whatever else has been.
    fn needs_of(&self, index: usize) -> Vec<usize> {
        let Self { events, .. } = *self;
        let edges = Edges { events };
        let mut needs: Vec<usize> = edges.fork_of(events[index].thread, index).into_iter().collect();
        let earlier = |test: &dyn Fn(usize) -> bool| (0..index).filter(|&at| test(at)).collect::<Vec<_>>();
        match events[index].op {
            Op::Join { child } => {
                needs.extend(edges.fork_of(child, index));
                needs.extend(earlier(&|at| events[at].thread == child));
            }
            Op::Wait { kind: SyncKind::Everything, .. } => needs.extend(0..index),
            Op::Wait { object, kind: kind @ (SyncKind::Once | SyncKind::Annotation), woken: true } => {
                needs.extend(edges.signals_seen(index, object, kind));
            }
            // It saw that there was nothing left.
            Op::Wait { object: on, kind: SyncKind::Semaphore, woken: false } => {
                needs.extend(earlier(&|at| object(&events[at].op) == Some(on)));
            }
            Op::Leave { barrier } => needs.extend(edges.arrivals_seen(index, barrier)),
            Op::Arrive { barrier, .. } => {
                // Who arrives in a round does so behind those of the rounds before.
                let mut rounds = edges.rounds(index, barrier);
                rounds.pop();
                needs.extend(rounds.into_iter().flatten());
            }
            // A block, and an object, is not there again before it is gone.
            Op::Alloc { .. } => needs.extend(earlier(&|at| match events[at].op {
                Op::Alloc { .. } | Op::Free { .. } => self.overlap(at, index),
                op => made_or_used(&op).is_some_and(|object| begins(&events[index], object).is_some()),
            })),
            Op::Forget { object: made } => {
                needs.extend(earlier(&|at| {
                    made_or_used(&events[at].op) == Some(made) || begins(&events[at], made).is_some()
                }));
            }
            _ if self.is_access(index) => {
                needs.extend(earlier(&|at| {
                    let common = self.cells(at).filter(|cell| self.cells(index).contains(cell));
                    let mut bytes = common.map(|cell| self.bounds[cell]);
                    bytes.any(|byte| begins(&events[at], byte).is_some())
                }));
            }
            _ => {}
        }
        if let Some(used) = object(&events[index].op) {
            needs.extend(earlier(&|at| edges.forgotten(used, at, at + 1)));
        }
        needs
    }

    fn overlap(&self, one: usize, other: usize) -> bool {
        let (one, other) = (self.cells(one), self.cells(other));
        one.start < other.end && other.start < one.end
    }

    fn is_done(&self, state: &State, event: usize) -> bool {
        let thread = self.events[event].thread.0 as usize;
        self.rows[thread][..state.done[thread]].contains(&event)
    }

    /// The events that threads have before them, if what they need is done.
    fn next(&self, state: &State) -> Vec<usize> {
        let rows = self.rows.iter().zip(&state.done);
        rows.filter_map(|(row, &done)| row.get(done).copied())
            .filter(|&event| self.needs[event].iter().all(|&need| self.is_done(state, need)))
            .filter(|&event| !self.is_access(event) || self.lives(state, event))
            .collect()
    }

    fn is_access(&self, event: usize) -> bool {
        access(self.events, event).is_some()
    }

    /// Whether an event's bytes are in the blocks that they were in.
    fn lives(&self, state: &State, event: usize) -> bool {
        let now = self.cells(event).map(|cell| state.cells[cell].1);
        now.eq(self.seen[event].iter().map(|&(_, life)| life))
    }

    /// The conflicting accesses that two threads have before them.
    fn side_by_side(&self, state: &State) -> Vec<Pair> {
        let next: Vec<usize> = self.next(state).into_iter().filter(|&event| self.is_access(event)).collect();
        let pairs = next.iter().flat_map(|&one| next.iter().map(move |&other| (one, other)));
        pairs.filter(|&(one, other)| one < other && self.conflict(one, other)).collect()
    }

    fn conflict(&self, one: usize, other: usize) -> bool {
        let (Some(a), Some(b)) = (access(self.events, one), access(self.events, other)) else { return false };
        conflicts(a.mode, a.atomic.is_some(), b.mode, b.atomic.is_some()) && self.overlap(one, other)
    }

    /// Where the reordering is after an event that [`Self::next`] gives, if that can come now.
    fn after(&self, state: &State, index: usize) -> Option<State> {
        let event = &self.events[index];
        let reads = access(self.events, index).is_some_and(|access| access.mode.reads());
        if reads && self.reads == Reads::Kept {
            let now = self.cells(index).map(|cell| state.cells[cell].0);
            if !now.eq(self.seen[index].iter().map(|&(writer, _)| writer)) {
                return None;
            }
        }
        let tainted = self.reads == Reads::Control && self.is_tainted(state, index);
        if tainted && self.decides(index) {
            return None;
        }
        let can = match event.op {
            Op::Acquire { lock, mode } => self.is_free(state, event.thread, lock, mode),
            Op::Wait { object, kind, woken: true } if is_condition(kind) => {
                Edges { events: self.events }.signals_seen(index, object, kind).is_empty()
                    || self.await_of(index).is_none_or(|began| state.woken.contains(&began))
            }
            Op::Wait { object, kind: SyncKind::Semaphore, woken: true } => {
                self.has_posts(state, object, index)
            }
            _ => true,
        };
        if !can {
            return None;
        }
        let mut after = state.clone();
        match event.op {
            Op::Wait { .. } => {
                let began = self.await_of(index);
                after.woken.retain(|&wait| Some(wait) != began);
            }
            Op::Signal { object, kind } if is_condition(kind) => {
                after.woken.extend(self.waiting(state, object));
                after.woken.sort_unstable();
            }
            _ => {}
        }
        after.done[event.thread.0 as usize] += 1;
        self.touch(&mut after, index);
        if tainted {
            after.tainted.push(index);
            after.tainted.sort_unstable();
        }
        Some(after)
    }

    /// Whether an event's thread does what it does next by what it has read.
    fn decides(&self, index: usize) -> bool {
        let reads = |access: Access| access.atomic.is_some() && access.mode.reads();
        self.events[index].op == Op::Branch || access(self.events, index).is_some_and(reads)
    }

    /// Whether an event would be tainted if it came now.
    fn is_tainted(&self, state: &State, index: usize) -> bool {
        let Event { thread, op, .. } = self.events[index];
        let mut follows: Vec<usize> =
            self.rows[thread.0 as usize].iter().copied().take_while(|&at| at < index).collect();
        follows.extend(Edges { events: self.events }.fork_of(thread, index));
        if let Op::Join { child } = op {
            follows.extend((0..index).filter(|&at| self.events[at].thread == child));
        }
        let reads = access(self.events, index).is_some_and(|access| access.mode.reads());
        let mut cells = self.cells(index).zip(&self.seen[index]);
        let tainted = |event: usize| state.tainted.contains(&event);
        follows.into_iter().any(tainted)
            || reads
                && cells
                    .any(|(cell, &(writer, _))| state.cells[cell].0 != writer || writer.is_some_and(tainted))
    }

    /// Whether a thread can take a lock.
    fn is_free(&self, state: &State, taker: ThreadId, lock: u64, wanted: LockMode) -> bool {
        let others = (0..self.rows.len()).filter(|&thread| thread != taker.0 as usize);
        others.into_iter().all(|thread| {
            let mut held = Vec::new();
            for &index in &self.rows[thread][..state.done[thread]] {
                match self.events[index].op {
                    Op::Acquire { lock: taken, mode } if taken == lock => held.push(mode),
                    Op::Release { lock: given, .. } if given == lock => drop(held.pop()),
                    _ => {}
                }
            }
            held.iter().all(|&mode| mode == LockMode::Read && wanted == LockMode::Read)
        })
    }

    /// The event with which the wait began that an event ends.
    fn await_of(&self, wait: usize) -> Option<usize> {
        let Op::Wait { object: on, .. } = self.events[wait].op else { return None };
        let row = &self.rows[self.events[wait].thread.0 as usize];
        let before = row.iter().rev().skip_while(|&&at| at >= wait);
        let began = before.into_iter().find(|&&at| match self.events[at].op {
            Op::Await { object, .. } | Op::Wait { object, .. } => object == on,
            _ => false,
        });
        began.copied().filter(|&at| matches!(self.events[at].op, Op::Await { .. }))
    }

    /// The waits on a condition variable that have begun and that no signal has reached.
    fn waiting(&self, state: &State, on: u64) -> Vec<usize> {
        let mut waiting = Vec::new();
        for (row, &done) in self.rows.iter().zip(&state.done) {
            let last = row[..done].iter().rev().find(|&&at| match self.events[at].op {
                Op::Await { object, .. } | Op::Wait { object, .. } => object == on,
                _ => false,
            });
            let began = last.filter(|&&at| matches!(self.events[at].op, Op::Await { .. }));
            waiting.extend(began.filter(|began| !state.woken.contains(began)));
        }
        waiting
    }

    /// Whether a wait on a semaphore can return.
    fn has_posts(&self, state: &State, semaphore: u64, wait: usize) -> bool {
        // A semaphore that is made anew is another one.
        let edges = Edges { events: self.events };
        let made = |&at: &usize| edges.forgotten(semaphore, at, at + 1);
        let start = (0..wait).rev().find(made).unwrap_or(0);
        let end = (wait..self.events.len()).find(made).unwrap_or(self.events.len());
        let change = |index: usize| match self.events[index].op {
            Op::Signal { object, kind: SyncKind::Semaphore } if object == semaphore => 1,
            Op::Wait { object, kind: SyncKind::Semaphore, woken: true } if object == semaphore => -1,
            _ => 0,
        };
        let least = (start..end)
            .scan(0, |count, index| {
                *count += change(index);
                Some(*count)
            })
            .fold(0, i64::min);
        let done = self.rows.iter().zip(&state.done).flat_map(|(row, &done)| &row[..done]);
        let here = done.filter(|&index| (start..end).contains(index));
        here.map(|&index| change(index)).sum::<i64>() - least > 0
    }
}

/// The bytes that an event accesses, or that come to life with it.
fn bytes(events: &[Event], index: usize) -> Option<(u64, u64)> {
    let (from, to) = match (access(events, index), &events[index].op) {
        (Some(Access { address, size, .. }), _) => (address, address + size),
        (None, &Op::Alloc { address, size, kind }) => {
            begins(&events[index], address)?;
            (address, address + super::owned(address, size, kind))
        }
        _ => return None,
    };
    (from < to).then_some((from, to))
}

const fn is_condition(kind: SyncKind) -> bool {
    matches!(kind, SyncKind::Condition | SyncKind::ConditionAll)
}

/// The synchronisation object that an event uses or makes.
const fn made_or_used(op: &Op) -> Option<u64> {
    if let Op::Forget { object } = *op { Some(object) } else { object(op) }
}

/// The synchronisation object that an event uses.
const fn object(op: &Op) -> Option<u64> {
    match *op {
        Op::Acquire { lock, .. } | Op::Release { lock, .. } => Some(lock),
        Op::Signal { object, .. } | Op::Await { object, .. } | Op::Wait { object, .. } => Some(object),
        Op::Arrive { barrier, .. } | Op::Leave { barrier } => Some(barrier),
        _ => None,
    }
}
