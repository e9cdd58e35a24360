//! What each event of a run needs to have happened.
//!
//! Invariant: memory is cut at each boundary of any range that the run speaks of, so that the bytes of a
//! *segment* always have the same past.

mod memory;
mod objects;

use deadheat_core::access::Access;
use deadheat_core::event::{Event, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

use memory::Memory;
pub(super) use memory::owned;
use objects::Objects;

use super::waits::Waits;

/// What the events of a run need.
#[derive(Debug)]
pub(crate) struct Links {
    /// For each event those of other threads that it needs, but for the writers of what it reads.
    pub(crate) needs: Vec<Vec<usize>>,
    /// For each event that is a thread's first the thread's creation.
    pub(crate) begins: Vec<Vec<usize>>,
    /// For each event the segments that it reads, each with who wrote it.
    pub(crate) reads: Vec<Vec<(usize, Option<usize>)>>,
    /// For each event the access that it makes.
    pub(crate) accesses: Vec<Option<Access>>,
    memory: Memory,
    /// What its waits need.
    pub(crate) waits: Waits,
}

impl Links {
    /// Looks through the events of a run.
    pub(crate) fn new(events: &[Event]) -> Self {
        let mut memory = Memory::new(events);
        let mut objects = Objects::default();
        let mut threads = Threads::default();
        let mut waits = Waits::new(events);
        let (mut all_needs, mut begins, mut reads, mut accesses) = (vec![], vec![], vec![], vec![]);
        for (index, event) in events.iter().enumerate() {
            begins.push(threads.enter(index, event.thread));
            let mut needs = threads.needs(index, event);
            if objects.step(index, event, &mut needs) {
                waits.reached.insert(index);
            }
            let step = memory.step(index, event, &mut needs);
            needs.sort_unstable();
            needs.dedup();
            all_needs.push(needs);
            reads.push(step.reads);
            accesses.push(step.access);
        }
        Self { needs: all_needs, begins, reads, accesses, memory, waits }
    }

    /// All that an event needs but those of its thread and the writers of what it reads.
    pub(crate) fn all_needs(&self, event: usize) -> impl Iterator<Item = &usize> {
        self.needs[event].iter().chain(&self.begins[event])
    }

    /// The number of segments.
    pub(crate) fn segments(&self) -> usize {
        self.memory.segments()
    }

    /// The segments that an event writes.
    pub(crate) fn writes(&self, event: usize) -> std::ops::Range<usize> {
        match self.accesses[event] {
            Some(access) if access.mode.writes() => self.memory.range(access.address, access.end()),
            _ => 0..0,
        }
    }

    /// The segments of which an event ends the past.
    pub(crate) fn resets(&self, event: usize) -> impl Iterator<Item = usize> {
        self.memory.resets(event)
    }

    /// The births of the segments that two accesses have in common and that have one life from the one to the other.
    pub(crate) fn common_lives(&self, one: usize, other: usize) -> Vec<Option<usize>> {
        self.memory.common_lives(one, other)
    }
}

/// The threads' creations, and their last events.
#[derive(Debug, Default)]
struct Threads {
    last: FxHashMap<ThreadId, usize>,
    forks: FxHashMap<ThreadId, usize>,
}

impl Threads {
    /// A thread does an event: its creation, if it is the first after it.
    fn enter(&mut self, index: usize, thread: ThreadId) -> Vec<usize> {
        let before = self.last.insert(thread, index);
        let fork = self.forks.get(&thread).copied();
        fork.filter(|&fork| before.is_none_or(|before| before < fork)).into_iter().collect()
    }

    fn needs(&mut self, index: usize, event: &Event) -> Vec<usize> {
        match event.op {
            Op::Fork { child } => {
                self.forks.insert(child, index);
                Vec::new()
            }
            Op::Join { child } => {
                // Who joins itself (only in traces that are not well formed) has nothing to wait for.
                let last = self.last.get(&child).or(self.forks.get(&child));
                last.into_iter().copied().filter(|&last| last != index).collect()
            }
            Op::Wait { kind: SyncKind::Everything, .. } => {
                self.last.values().copied().filter(|&last| last != index).collect()
            }
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Acquire { .. }
            | Op::Release { .. }
            | Op::Begin
            | Op::End
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Forget { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => Vec::new(),
        }
    }
}
