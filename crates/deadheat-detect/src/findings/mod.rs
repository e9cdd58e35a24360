//! What is wrong and no race (`findings`): faults that a hook judged, locks that are taken in opposite orders, and the use of
//! freed blocks (`freed`).
//!
//! A fault is told as it comes, with who took the lock. Lock orders are gathered while the run is read and judged at its
//! end (`graph`).
//!
//! Paper: Goodlock (Havelund, SPIN 2000) as generalised by Bensalem and Havelund (PADTAD 2005): guards, and the order of
//! threads by fork and join. Departure: locks for reading, and a grade for cycles that one thread alone made.
//!
//! Invariant: memory grows with the locks that are nested, the threads and the blocks; a lock that is made anew is another one. With
//! [`Options::memory_limit`] the lock orders so far are judged when they take as much, and forgotten.

mod freed;
mod graph;

use std::collections::BTreeMap;

use deadheat_core::event::{BlockKind, Event, Fault, LockMode, Op};
use deadheat_core::finding::{Finding, Nesting, Step};
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::plain::{self, Plain, Strided};
use deadheat_core::race::RaceSink;
use deadheat_core::rule::Epoch;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::threads::Threads;
use crate::detector::Detector;
use crate::registry::Options;
use freed::Freed;
use graph::{Edge, Graph};

/// The analysis of what is wrong and no race.
#[derive(Debug, Default)]
pub struct Findings {
    threads: Threads,
    held: FxHashMap<ThreadId, Vec<Held>>,
    /// How often each thread forked or joined.
    turns: FxHashMap<ThreadId, u32>,
    /// The number of the lock that is at an address now: memory that is used again holds other locks.
    numbers: BTreeMap<u64, u32>,
    count: u32,
    graph: Graph,
    freed: Freed,
    told: FxHashSet<(Fault, PlaceId, u64)>,
    memory_limit: Option<usize>,
    /// How many events were taken.
    taken: u64,
}

/// A lock that a thread holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    lock: u64,
    number: u32,
    mode: LockMode,
    depth: u32,
    took: Step,
}

impl Findings {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let freed = Freed::new();
        Self { threads: Threads::sparing(), freed, memory_limit: options.memory_limit, ..Self::default() }
    }

    /// About how many bytes the lock orders take.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.graph.memory()
    }

    /// Judges the lock orders so far and forgets them, if they take too much.
    fn bound(&mut self, sink: &mut dyn RaceSink) {
        if self.memory_limit.is_some_and(|limit| self.graph.memory() > limit) {
            self.tell_cycles(sink);
            self.graph = Graph::default();
            sink.forgot(self.taken);
        }
    }

    fn tell_cycles(&self, sink: &mut dyn RaceSink) {
        self.graph.cycles(|possible, cycle| sink.finding(&Finding::LockOrder { possible, cycle }));
    }

    /// The number of the lock at an address.
    fn number(&mut self, lock: u64) -> u32 {
        *self.numbers.entry(lock).or_insert_with(|| {
            self.count += 1;
            self.count
        })
    }

    fn request(&mut self, event: &Event, lock: u64, mode: LockMode) {
        let held = match self.held.get(&event.thread) {
            // Of what the thread has already nothing new is asked.
            Some(held) if held.iter().all(|held| held.lock != lock) => held.clone(),
            _ => return,
        };
        if held.is_empty() {
            return;
        }
        let wanted = self.number(lock);
        let row = self.threads.acting(event.thread);
        let now = self.threads.now(row);
        let thread = self.threads.row(row);
        let locks: Vec<(u32, LockMode)> = held.iter().map(|held| (held.number, held.mode)).collect();
        let turns = self.turns.get(&event.thread).copied().unwrap_or(0);
        if !self.graph.is_new((event.thread, turns), &locks, (wanted, mode)) {
            return;
        }
        let (epoch, clock) = (Epoch { thread: thread.slot, clock: now }, thread.clock.clone());
        for held in &held {
            let nesting = Nesting {
                held: held.lock,
                held_mode: held.mode,
                held_block: self.freed.block(held.lock),
                took: held.took,
                wanted: lock,
                wanted_mode: mode,
                wanted_block: self.freed.block(lock),
                asks: step(event),
            };
            let (epoch, clock, locks) = (epoch, clock.clone(), locks.clone());
            self.graph
                .add((held.number, wanted), Edge { thread: event.thread, epoch, clock, locks, nesting });
        }
    }

    fn acquire(&mut self, event: &Event, lock: u64, mode: LockMode) {
        let number = self.number(lock);
        let held = self.held.entry(event.thread).or_default();
        match held.iter_mut().find(|held| held.lock == lock) {
            Some(held) => held.depth += 1,
            None => held.push(Held { lock, number, mode, depth: 1, took: step(event) }),
        }
    }

    fn release(&mut self, thread: ThreadId, lock: u64) {
        let Some(held) = self.held.get_mut(&thread) else { return };
        let Some(at) = held.iter().rposition(|held| held.lock == lock) else { return };
        if held[at].depth > 1 {
            held[at].depth -= 1;
        } else {
            held.remove(at);
        }
    }

    fn fault(&mut self, event: &Event, object: u64, fault: Fault, sink: &mut dyn RaceSink) {
        if !self.told.insert((fault, event.place, object)) {
            return;
        }
        let of = |held: &Vec<Held>| held.iter().find(|held| held.lock == object).map(|held| held.took);
        let own = self.held.get(&event.thread).and_then(of);
        let took = if fault.is_of_lock() { own.or_else(|| self.held.values().find_map(of)) } else { None };
        let block = if fault.is_of_lock() { self.freed.block(object) } else { None };
        sink.finding(&Finding::Fault { fault, object, block, step: step(event), took });
    }

    fn forget(&mut self, start: u64, end: u64) {
        while let Some((&address, _)) = self.numbers.range(start..end).next() {
            self.numbers.remove(&address);
        }
    }
}

fn step(event: &Event) -> Step {
    Step { thread: event.thread, place: event.place, stack: event.stack }
}

impl Detector for Findings {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        self.taken += 1;
        if self.freed.has_born(event) {
            return;
        }
        self.freed.step(event, sink);
        match event.op {
            Op::Request { lock, mode } => {
                self.bound(sink);
                self.request(event, lock, mode);
            }
            Op::Acquire { lock, mode } => self.acquire(event, lock, mode),
            Op::Release { lock, .. } => self.release(event.thread, lock),
            Op::Fork { child } => {
                let row = self.threads.acting(event.thread);
                self.threads.fork(row, child);
                *self.turns.entry(event.thread).or_default() += 1;
            }
            Op::Join { child } => {
                let row = self.threads.acting(event.thread);
                self.threads.join(row, child);
                *self.turns.entry(event.thread).or_default() += 1;
            }
            Op::End => {
                let row = self.threads.acting(event.thread);
                self.threads.end(row);
                self.held.remove(&event.thread);
                self.turns.remove(&event.thread);
            }
            Op::Alloc { address, size, kind } if kind != BlockKind::Benign => {
                self.forget(address, address.saturating_add(size));
            }
            Op::Forget { object } => self.forget(object, object.saturating_add(1)),
            Op::Fault { object, fault } => self.fault(event, object, fault, sink),
            // Which locks can be waited for together is a matter of the threads, not of what else orders them.
            Op::Access(_)
            | Op::Fence(_)
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Begin
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd => {}
        }
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], sink: &mut dyn RaceSink) {
        self.taken += accesses.len() as u64;
        self.freed.plain(thread, accesses, sink);
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, sink: &mut dyn RaceSink) {
        self.taken += body.len() as u64 * u64::from(turns);
        if self.freed.concerns(body, turns) {
            plain::unroll(body, turns, |some| {
                self.freed.plain(thread, some, sink);
                true
            });
        }
    }

    fn finish(&mut self, sink: &mut dyn RaceSink) {
        self.tell_cycles(sink);
    }
}
