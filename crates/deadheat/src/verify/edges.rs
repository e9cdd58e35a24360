//! What orders the two sides in a watched run: for each conflicting pair of their accesses, by
//! which release of the earlier thread and which acquisition of the later one it came.
//!
//! It is happens-before with the ways kept: a vector clock whose components are the last accesses
//! of the sides, each with the operations that it travelled by. Departure: fences order nothing
//! here, and the two ends are told, not what lies between them.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_trace::{Tables, Trace, Visit};

use super::sites::Sites;

/// How many ways are kept.
const MOST_WAYS: usize = 64;
/// A cell of memory: accesses are looked up by these.
const CELL: u64 = 8;
/// How many cells of one access are looked at, and how many cells are kept.
const MOST_CELLS_OF_ONE: u64 = 512;
const MOST_CELLS: usize = 1 << 20;

/// What an operation synchronises on.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Object {
    Lock(u64),
    Sync(u64),
    /// The first byte, and how many.
    Atomic(u64, u64),
    Barrier(u64),
    Begin(ThreadId),
    End(ThreadId),
}

/// One end of a way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Step {
    /// What was done.
    pub(crate) what: What,
    /// Where.
    pub(crate) place: PlaceId,
    /// The calls above it.
    pub(crate) stack: StackId,
}

/// What was done.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum What {
    /// A lock was given back or taken: its address.
    Lock(u64),
    /// A condition variable, semaphore, or one-time initialisation.
    Sync,
    /// An atomic access.
    Atomic,
    /// A barrier.
    Barrier,
    /// A thread was created, or began.
    Fork,
    /// A thread ended, or was joined.
    Join,
}

/// The way from an access of the earlier thread to one of the later.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Way {
    /// The first release.
    pub(crate) release: Step,
    /// The last acquisition.
    pub(crate) acquire: Step,
}

/// An access of a side: by whom, and which side.
type Key = (ThreadId, u8);
/// How many accesses of a key are known, and how that came: the first release, the last acquisition.
type Row = (u64, Option<Step>, Option<Step>);
/// What is known of accesses.
type Known = HashMap<Key, Row>;

/// What a run shows of the pairs.
#[derive(Default)]
pub(crate) struct Edges {
    places: [HashSet<PlaceId>; 2],
    /// How many accesses each thread made of each side.
    made: HashMap<Key, u64>,
    /// The accesses to each cell, of each thread and side the last at each address.
    cells: HashMap<u64, Vec<(Key, u64, Access)>>,
    /// Sizes of living blocks.
    blocks: HashMap<u64, u64>,
    threads: HashMap<ThreadId, Known>,
    objects: HashMap<Object, Known>,
    /// By cell, the atomics that have bytes of it and were released: the first byte, and how many.
    atomics: HashMap<u64, Vec<(u64, u64)>>,
    /// The ways, and how many pairs came by each.
    pub(crate) ways: HashMap<Way, u64>,
    /// Pairs that conflict.
    pub(crate) conflicts: u64,
    /// Those of them that nothing ordered.
    pub(crate) unordered: u64,
    /// Pairs that would conflict if they were not both atomic.
    pub(crate) both_atomic: u64,
}

impl Edges {
    /// Reads a run.
    pub(crate) fn read(trace: &mut Trace, sites: &Sites) -> Edges {
        let places = sites.sides.each_ref().map(|side| side.iter().map(|site| site.place).collect());
        let mut edges = Edges { places, ..Edges::default() };
        // A run that broke off shows what it shows.
        let _ = trace.drive_into(&mut edges);
        edges
    }

    /// Whether the sides never went to the same memory.
    pub(crate) fn is_empty(&self) -> bool {
        self.conflicts == 0 && self.both_atomic == 0
    }

    fn access(&mut self, event: &Event, access: &Access) {
        let thread = event.thread;
        let sides = [0, 1].map(|side: usize| self.places[side].contains(&event.place));
        if sides == [false, false] || access.size == 0 {
            return;
        }
        let mut met: HashMap<(Key, u64), Access> = HashMap::new();
        for cell in cells_of(access) {
            for (key, version, earlier) in self.cells.get(&cell).into_iter().flatten() {
                if key.0 != thread && sides[1 - usize::from(key.1)] {
                    met.insert((*key, *version), *earlier);
                }
            }
        }
        for (earlier, its) in met {
            self.pair(thread, earlier, &its, access);
        }
        for side in (0..2_u8).filter(|side| sides[usize::from(*side)]) {
            let made = self.made.entry((thread, side)).or_insert(0);
            *made += 1;
            let row = ((thread, side), *made, *access);
            for cell in cells_of(access) {
                if self.cells.len() >= MOST_CELLS && !self.cells.contains_key(&cell) {
                    break;
                }
                let rows = self.cells.entry(cell).or_default();
                rows.retain(|(key, _, known)| {
                    *key != row.0 || (known.address, known.size) != (access.address, access.size)
                });
                rows.push(row);
            }
        }
    }

    /// The bytes have no past: a new block.
    fn forget(&mut self, from: u64, to: u64) {
        let cells = from / CELL..to.div_ceil(CELL);
        if cells.end.saturating_sub(cells.start) < self.cells.len() as u64 {
            cells.for_each(|cell| drop(self.cells.remove(&cell)));
        } else {
            self.cells.retain(|cell, _| !cells.contains(cell));
        }
    }

    /// An access of one side, and an earlier one of the other by another thread.
    fn pair(&mut self, thread: ThreadId, (key, version): (Key, u64), earlier: &Access, later: &Access) {
        let touch = earlier.address < later.end() && later.address < earlier.end();
        if !touch || !(earlier.mode.writes() || later.mode.writes()) {
            return;
        }
        if earlier.atomic.is_some() && later.atomic.is_some() {
            self.both_atomic += 1;
            return;
        }
        self.conflicts += 1;
        let known = self.threads.get(&thread).and_then(|known| known.get(&key));
        let Some((_, Some(release), Some(acquire))) = known.filter(|known| known.0 >= version).copied()
        else {
            self.unordered += 1;
            return;
        };
        let way = Way { release, acquire };
        if self.ways.len() < MOST_WAYS || self.ways.contains_key(&way) {
            *self.ways.entry(way).or_insert(0) += 1;
        }
    }

    fn release(&mut self, thread: ThreadId, object: Object, step: Step) {
        let own = (0..2).filter_map(|side| Some(((thread, side), *self.made.get(&(thread, side))?)));
        let own: Vec<_> = own.map(|(key, version)| (key, (version, Some(step), None))).collect();
        let learned = self.threads.get(&thread).into_iter().flatten().map(|(key, known)| (*key, *known));
        let all: Vec<_> = own.into_iter().chain(learned).collect();
        if !all.is_empty() {
            learn(self.objects.entry(object).or_default(), all, None);
        }
    }

    fn acquire(&mut self, thread: ThreadId, object: Object, step: Step) {
        let Some(known) = self.objects.get(&object) else { return };
        let others = known.iter().filter(|(key, _)| key.0 != thread).map(|(key, known)| (*key, *known));
        let others: Vec<_> = others.collect();
        learn(self.threads.entry(thread).or_default(), others, Some(step));
    }

    /// Whoever acquires some of an atomic's bytes acquires what was released of them, in whatever size.
    fn acquire_atomics(&mut self, thread: ThreadId, access: &Access, step: Step) {
        let near = cells_of(access).filter_map(|cell| self.atomics.get(&cell)).flatten();
        let has_of = |&&(first, size): &&(u64, u64)| {
            first < access.end() && access.address < first.saturating_add(size)
        };
        let atomics: BTreeSet<(u64, u64)> = near.filter(has_of).copied().collect();
        atomics.into_iter().for_each(|(first, size)| self.acquire(thread, Object::Atomic(first, size), step));
    }

    fn release_atomic(&mut self, thread: ThreadId, access: &Access, step: Step) {
        let bytes = (access.address, access.size);
        for cell in cells_of(access) {
            let near = self.atomics.entry(cell).or_default();
            if !near.contains(&bytes) {
                near.push(bytes);
            }
        }
        self.release(thread, Object::Atomic(bytes.0, bytes.1), step);
    }

    fn synchronise(&mut self, event: &Event) {
        let thread = event.thread;
        let step = |what| Step { what, place: event.place, stack: event.stack };
        match event.op {
            Op::Acquire { lock, .. } => self.acquire(thread, Object::Lock(lock), step(What::Lock(lock))),
            Op::Release { lock, .. } => self.release(thread, Object::Lock(lock), step(What::Lock(lock))),
            Op::Fork { child } => self.release(thread, Object::Begin(child), step(What::Fork)),
            Op::Begin => self.acquire(thread, Object::Begin(thread), step(What::Fork)),
            Op::End => self.release(thread, Object::End(thread), step(What::Join)),
            Op::Join { child } => self.acquire(thread, Object::End(child), step(What::Join)),
            Op::Signal { object, .. } => self.release(thread, Object::Sync(object), step(What::Sync)),
            Op::Wait { object, woken: true, .. } => {
                self.acquire(thread, Object::Sync(object), step(What::Sync));
            }
            Op::Arrive { barrier, .. } => {
                self.release(thread, Object::Barrier(barrier), step(What::Barrier));
            }
            Op::Leave { barrier } => self.acquire(thread, Object::Barrier(barrier), step(What::Barrier)),
            _ => {}
        }
    }
}

/// Adds knowledge; newer accesses take the place of older ones.
fn learn(into: &mut Known, from: Vec<(Key, Row)>, acquire: Option<Step>) {
    for (key, (version, release, by)) in from {
        let row = (version, release, acquire.or(by));
        let known = into.entry(key).or_insert(row);
        if known.0 < version {
            *known = row;
        }
    }
}

/// The cells that an access touches.
fn cells_of(access: &Access) -> Range<u64> {
    let first = access.address / CELL;
    first..access.end().div_ceil(CELL).min(first + MOST_CELLS_OF_ONE)
}

impl Visit for Edges {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        let access = match event.op {
            Op::Access(access) => access,
            Op::Alloc { address, size, .. } => {
                self.forget(address, address.saturating_add(size));
                self.blocks.insert(address, size);
                return true;
            }
            Op::Free { address, size, .. } => {
                let known = self.blocks.remove(&address).unwrap_or(0);
                let size = if size == 0 { known } else { size };
                Access { via: Via::Free, ..Access::plain(address, size, Mode::Write) }
            }
            _ => {
                self.synchronise(event);
                return true;
            }
        };
        let step = Step { what: What::Atomic, place: event.place, stack: event.stack };
        let order = access.atomic;
        if order.is_some_and(|order| order.acquires()) && access.mode.reads() {
            self.acquire_atomics(event.thread, &access, step);
        }
        self.access(event, &access);
        if order.is_some_and(|order| order.releases()) && access.mode.writes() {
            self.release_atomic(event.thread, &access, step);
        }
        true
    }
}
