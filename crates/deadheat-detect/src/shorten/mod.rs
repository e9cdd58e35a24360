//! The part of a witness that a reader wants: no event that neither access needs, and of the rest the operations that set
//! the order between threads.
//!
//! A witness speaks of events by their numbers; the events themselves are in the trace. [`Watch`] takes them once more, and
//! [`Shortener`], which it becomes, then shortens one witness after the other: events at the end of what a thread did that
//! neither access needs are dropped (`trim`), and listed are ([`Step`])
//!
//! - locks taken and given back, creations, joins, signals, waits, barriers: but not on an object that one thread
//!   alone uses in all the run, and not the creation of a thread that has no part in the witness;
//! - a read and the write of another thread that it sees, where nothing else puts the write first (`reads`).
//!
//! Invariants: what is left of a witness is one, too ([`crate::witness`] accepts it): it still has what each of its events needs,
//! no lock is taken that is held, and its order is that of the witness. Memory is bounded by [`MOST_HELD`] events and what
//! is known of blocks, time by [`MOST_WORK`]. A run with more events is not held: its witnesses lose no event,
//! and of them the last synchronisations are listed.
//!
//! Cost: a pass over the run, then for each witness as many steps as the run has events, a few times.

mod reads;
mod trim;
mod turns;

use std::collections::VecDeque;

use deadheat_core::event::{Event, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::Block;
use deadheat_core::witness::Witness;
use rustc_hash::FxHashMap;

use crate::run::{Extents, Keeps, Number, Record, Run};
use trim::Trimmed;
use turns::Turns;

/// How many events that matter for orders are held at most, and how many synchronisations.
pub const MOST_HELD: usize = 1 << 18;
/// How many steps of a witness are listed: the last ones.
pub const MOST_STEPS: usize = 256;
/// How many events are looked at for all witnesses of a run.
pub const MOST_WORK: u64 = 1 << 28;

/// An operation of a witness that sets the order between threads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Step {
    /// The event.
    pub event: Event,
    /// How many events its thread had before it.
    pub nth: u64,
    /// The block of memory that holds what it is on, if one is known.
    pub block: Option<Block>,
    /// Of a read: the writes that it sees and that nothing else puts before it. Each by its thread, and how many events that had
    /// before it.
    pub sees: Vec<(ThreadId, u64)>,
}

/// A witness for readers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Short {
    /// How many of its events each thread has done: as in [`Witness::done`].
    pub done: Vec<(ThreadId, u64)>,
    /// In which order: as in [`Witness::order`].
    pub order: Option<Vec<(ThreadId, u64)>>,
    /// The operations that set the order, the last [`MOST_STEPS`] of them, and how many came before these. `None`: nobody
    /// looked, as there were too many witnesses.
    pub steps: Option<(Vec<Step>, u64)>,
}

impl Short {
    /// It as a witness.
    #[must_use]
    pub fn witness(&self) -> Witness<'_> {
        Witness { done: &self.done, first: 0, order: self.order.as_deref() }
    }
}

/// A synchronisation.
#[derive(Clone, Copy, Debug)]
struct Synchronisation {
    event: Event,
    nth: u64,
    /// Its number in the run.
    index: u64,
    /// The block that holds its object.
    block: Option<Block>,
}

/// Takes the events of a run.
#[derive(Debug)]
pub struct Watch {
    /// All that matter, unless they are too many.
    all: Option<Record>,
    synchronisations: VecDeque<Synchronisation>,
    /// By thread: how many synchronisations are not held any more.
    dropped: FxHashMap<ThreadId, u64>,
    extents: Extents,
    /// By object: the thread that uses it, `None` if several do.
    users: FxHashMap<u64, Option<ThreadId>>,
    counts: FxHashMap<ThreadId, u64>,
    events: u64,
    most_held: usize,
}

impl Default for Watch {
    fn default() -> Self {
        Self::holding(MOST_HELD)
    }
}

impl Watch {
    /// One that holds at most so many events and so many synchronisations.
    #[must_use]
    pub fn holding(most_held: usize) -> Self {
        Self {
            all: Some(Record::default()),
            synchronisations: VecDeque::new(),
            dropped: FxHashMap::default(),
            extents: Extents::default(),
            users: FxHashMap::default(),
            counts: FxHashMap::default(),
            events: 0,
            most_held,
        }
    }

    /// Takes the next event, in the order of the trace.
    pub fn take(&mut self, event: &Event) {
        let count = self.counts.entry(event.thread).or_default();
        let (nth, index) = (*count, self.events);
        *count += 1;
        self.events += 1;
        if let Some(all) = &mut self.all {
            all.take(event);
            if all.len() > self.most_held {
                self.all = None;
            }
        }
        self.extents.of(event);
        let Some(on) = synchronises(&event.op) else { return };
        if let Some(object) = on {
            let user = self.users.entry(object).or_insert(Some(event.thread));
            *user = user.filter(|user| *user == event.thread);
        }
        if self.synchronisations.len() >= self.most_held
            && let Some(oldest) = self.synchronisations.pop_front()
        {
            *self.dropped.entry(oldest.event.thread).or_default() += 1;
        }
        let block = on.and_then(|object| self.extents.blocks.around(object));
        self.synchronisations.push_back(Synchronisation { event: *event, nth, index, block });
    }

    /// The run is over.
    #[must_use]
    pub fn finish(self) -> Shortener {
        let Self { all, synchronisations, dropped, users, .. } = self;
        let run = all.map(|record| record.into_run(Keeps::ALL));
        Shortener { run, synchronisations, dropped, users, work: MOST_WORK }
    }
}

/// Shortens the witnesses of a run.
#[derive(Debug)]
pub struct Shortener {
    run: Option<Run>,
    synchronisations: VecDeque<Synchronisation>,
    dropped: FxHashMap<ThreadId, u64>,
    users: FxHashMap<u64, Option<ThreadId>>,
    /// How many events may still be looked at.
    work: u64,
}

impl Shortener {
    /// The witness of a race between the next events of two threads, shortened. Its order must be whole ([`Witness::first`] is 0).
    pub fn shorten(&mut self, witness: &Witness<'_>, threads: (ThreadId, ThreadId)) -> Short {
        let whole = || Trimmed {
            done: witness.done.to_vec(),
            order: witness.order.map(<[_]>::to_vec),
            reads: Vec::new(),
        };
        let effort = self.synchronisations.len() + self.run.as_ref().map_or(0, Run::len);
        let Some(left) = self.work.checked_sub(effort as u64) else {
            let Trimmed { done, order, .. } = whole();
            return Short { done, order, steps: None };
        };
        self.work = left;
        let trimmed = self.run.as_ref().and_then(|run| trim::trim(run, witness, threads));
        let Trimmed { done, order, reads } = trimmed.unwrap_or_else(whole);
        let turns = Turns::new(&done, order.as_deref());
        let mut steps: Vec<(u64, Option<Number>, Step)> = Vec::new();
        for &Synchronisation { event, nth, index, block } in &self.synchronisations {
            if turns.has(event.thread, nth) && self.matters(&event.op, &turns, threads) {
                let position = turns.position(event.thread, nth).unwrap_or(index);
                steps.push((position, None, Step { event, nth, block, sees: Vec::new() }));
            }
        }
        for (number, step) in reads {
            let position = turns.position(step.event.thread, step.nth).unwrap_or_default();
            steps.push((position, Some(number), step));
        }
        steps.sort_by_key(|&(position, ..)| position);
        let forgotten: u64 = self.dropped.iter().map(|(&thread, &some)| some.min(turns.done(thread))).sum();
        let left_out = steps.len().saturating_sub(MOST_STEPS);
        let steps = steps.drain(left_out..).map(|(_, number, step)| self.with_block(number, step));
        let steps = steps.collect();
        Short { done, order, steps: Some((steps, left_out as u64 + forgotten)) }
    }

    /// A step on memory with the block that it is in.
    fn with_block(&self, number: Option<Number>, step: Step) -> Step {
        let run = self.run.as_ref();
        match (run, number) {
            (Some(run), Some(number)) => Step { block: reads::block(run, number), ..step },
            _ => step,
        }
    }

    /// Whether a synchronisation of a witness says anything of the order between threads.
    fn matters(&self, op: &Op, turns: &Turns, threads: (ThreadId, ThreadId)) -> bool {
        if let Op::Fork { child } = *op {
            return child == threads.0 || child == threads.1 || turns.done(child) > 0;
        }
        match synchronises(op) {
            Some(Some(object)) => self.users.get(&object).is_none_or(Option::is_none),
            on => on.is_some(),
        }
    }
}

/// Whether an event sets an order between threads, but by data; and by which object, if by one.
const fn synchronises(op: &Op) -> Option<Option<u64>> {
    match *op {
        Op::Acquire { lock, .. } | Op::Release { lock, .. } => Some(Some(lock)),
        Op::Fork { .. } | Op::Join { .. } | Op::Wait { kind: SyncKind::Everything, .. } => Some(None),
        Op::Signal { object, .. }
        | Op::Await { object, kind: SyncKind::Condition | SyncKind::ConditionAll }
        | Op::Wait { object, woken: true, .. }
        | Op::Wait { object, kind: SyncKind::Semaphore, .. } => Some(Some(object)),
        Op::Arrive { barrier, .. } | Op::Leave { barrier } => Some(Some(barrier)),
        Op::Access(_)
        | Op::Fence(_)
        | Op::Request { .. }
        | Op::Begin
        | Op::End
        | Op::Await { .. }
        | Op::Wait { .. }
        | Op::Branch
        | Op::Enter
        | Op::Exit
        | Op::Alloc { .. }
        | Op::Free { .. }
        | Op::Forget { .. }
        | Op::HiddenBegin
        | Op::HiddenEnd
        | Op::Fault { .. } => None,
    }
}
