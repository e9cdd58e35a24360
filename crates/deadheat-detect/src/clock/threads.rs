//! Threads: their clocks, and the slots that their clocks are counted in.
//!
//! Invariant: two accesses with the same slot were made by one thread, or by two of which the
//! one had ended and was known whole to the thread that created the other. So the accesses of a
//! slot are ordered, its clock never goes back, and ten thousand short threads need as many
//! slots as there were threads at a time, not ten thousand. No order is lost or invented by it.
//!
//! Departure from FastTrack: a clock advances at the first access after a release, not at the
//! release, so that what was published is always the last clock in use. A thread that releases
//! a lock and ends is then known whole to the next holder of that lock.

use deadheat_core::ids::ThreadId;
use deadheat_core::race::LockSetId;
use rustc_hash::FxHashMap;

use super::lockset::Held;
use super::vector::Clock;

/// A thread as an analysis sees it.
#[derive(Debug)]
pub struct Thread {
    /// Its name in the trace.
    pub id: ThreadId,
    /// Where its own accesses are counted.
    pub slot: u32,
    /// What it has seen, its own accesses included.
    pub clock: Clock,
    /// The locks that it holds, as a set.
    pub locks: LockSetId,
    /// The locks that it holds, with how often.
    pub held: Held,
    /// What its fences have gathered and published.
    pub fences: Fences,
    published: bool,
    live: bool,
    /// It has counted nothing in its own slot.
    unused: bool,
}

/// What a thread's fences order, beyond its clock.
#[derive(Debug, Default)]
pub struct Fences {
    /// What its relaxed loads have read and its next acquire fence will learn.
    pub loaded: Clock,
    /// What its last release fence lets its later relaxed stores publish.
    pub released: Clock,
}

/// The last clock that a slot may reach; its thread then moves to a fresh slot.
const LAST_CLOCK: u32 = u32::MAX - 1;

/// Thread numbers below this are looked up in a table, those above in a map.
const DENSE_THREADS: u32 = 1 << 16;

const NOBODY: u32 = u32::MAX;
const NO_THREAD: u64 = u64::MAX;

/// All threads of a run.
#[derive(Debug)]
pub struct Threads {
    rows: Vec<Thread>,
    dense: Vec<u32>,
    sparse: FxHashMap<u32, u32>,
    retired: Vec<Retired>,
    slots: u32,
    /// Whether the slot of a thread that counted nothing is free for any other.
    spares: bool,
    /// The thread that acted last (no thread if it is above all numbers) and its row.
    last: (u64, usize),
}

#[derive(Debug)]
struct Retired {
    slot: u32,
    last: u32,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            rows: Vec::new(),
            dense: Vec::new(),
            sparse: FxHashMap::default(),
            retired: Vec::new(),
            slots: 0,
            spares: false,
            last: (NO_THREAD, 0),
        }
    }
}

impl Threads {
    /// No thread yet, for who asks a thread's own clock by [`Self::now`] alone: the slot of a thread that was never asked is free for any
    /// other, so that many that nobody joins need few.
    #[must_use]
    pub fn sparing() -> Self {
        Self { spares: true, ..Self::default() }
    }

    /// The row of a thread that does something now.
    #[inline]
    pub fn acting(&mut self, id: ThreadId) -> usize {
        if self.last.0 == u64::from(id.0) { self.last.1 } else { self.look_up(id) }
    }

    /// The thread in a row.
    #[inline]
    #[must_use]
    pub fn row(&self, row: usize) -> &Thread {
        &self.rows[row]
    }

    /// The thread in a row, to change it.
    #[inline]
    pub fn row_mut(&mut self, row: usize) -> &mut Thread {
        &mut self.rows[row]
    }

    /// The number of slots ever used: the width of the widest clock.
    #[must_use]
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// The number of threads seen.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether no thread was seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// `parent` creates `child`: what the parent did before comes before all that the child does.
    pub fn fork(&mut self, parent: usize, child: ThreadId) {
        self.publish(parent);
        if let Some(row) = self.find(child) {
            // A trace may name a thread before its creation, or twice; the order still holds.
            if row != parent {
                self.learn(row, parent);
            }
            return;
        }
        let clock = self.rows[parent].clock.clone();
        let reusable = self.retired.iter().position(|old| old.last <= clock.get(old.slot));
        match reusable {
            Some(index) => {
                let old = self.retired.swap_remove(index);
                self.insert(child, old.slot, old.last + 1, clock);
            }
            None => {
                let slot = self.fresh_slot();
                self.insert(child, slot, 1, clock);
            }
        }
    }

    /// `parent` has seen `child` end.
    pub fn join(&mut self, parent: usize, child: ThreadId) {
        let Some(row) = self.find(child) else { return };
        if row == parent {
            return;
        }
        self.learn(parent, row);
        self.publish(row);
        self.end(row);
    }

    /// The thread's last event has passed.
    pub fn end(&mut self, row: usize) {
        let thread = &mut self.rows[row];
        if !thread.live {
            return;
        }
        thread.live = false;
        thread.held = Held::default();
        thread.locks = LockSetId::default();
        thread.fences = Fences::default();
        // Nobody knows a clock of it then, so it is as it was when it began.
        let spared = u32::from(self.spares && thread.unused && !thread.published);
        let last = thread.clock.get(thread.slot) - spared;
        if last < LAST_CLOCK {
            self.retired.push(Retired { slot: thread.slot, last });
        }
        self.last = (NO_THREAD, 0);
    }

    /// The thread's clock was handed on: its next access must be told from those before.
    #[inline]
    pub fn publish(&mut self, row: usize) {
        self.rows[row].published = true;
    }

    /// The thread's clock in its own slot for an access that it makes now, advanced if need be.
    #[inline]
    pub fn now(&mut self, row: usize) -> u32 {
        if self.rows[row].published {
            self.advance(row);
        }
        let thread = &mut self.rows[row];
        thread.unused = false;
        thread.clock.get(thread.slot)
    }

    /// The bytes that the clocks take.
    #[must_use]
    pub fn memory(&self) -> usize {
        let clocks: usize = self.rows.iter().map(|thread| thread.clock.memory()).sum();
        clocks + self.rows.capacity() * size_of::<Thread>() + self.dense.capacity() * size_of::<u32>()
    }

    fn advance(&mut self, row: usize) {
        let (slot, clock) = {
            let thread = &self.rows[row];
            (thread.slot, thread.clock.get(thread.slot))
        };
        let (slot, clock) = if clock < LAST_CLOCK { (slot, clock + 1) } else { (self.fresh_slot(), 1) };
        let thread = &mut self.rows[row];
        thread.slot = slot;
        thread.clock.set(slot, clock);
        thread.published = false;
    }

    fn learn(&mut self, learner: usize, teacher: usize) {
        let known = std::mem::take(&mut self.rows[teacher].clock);
        self.rows[learner].clock.join(&known);
        self.rows[teacher].clock = known;
    }

    /// The thread learns what any did so far.
    pub fn learn_all(&mut self, learner: usize) {
        for teacher in (0..self.rows.len()).filter(|row| *row != learner) {
            self.learn(learner, teacher);
            self.publish(teacher);
        }
    }

    /// The row of a thread, if it was seen.
    #[must_use]
    pub fn find(&self, id: ThreadId) -> Option<usize> {
        let row = if id.0 < DENSE_THREADS {
            self.dense.get(id.index()).copied().unwrap_or(NOBODY)
        } else {
            self.sparse.get(&id.0).copied().unwrap_or(NOBODY)
        };
        (row != NOBODY).then_some(row as usize)
    }

    #[cold]
    fn look_up(&mut self, id: ThreadId) -> usize {
        let row = match self.find(id) {
            Some(row) => row,
            None => {
                // Nobody was seen creating it, so nothing is known to come before it.
                let slot = self.fresh_slot();
                self.insert(id, slot, 1, Clock::default())
            }
        };
        if !self.rows[row].live {
            self.revive(row);
        }
        self.last = (u64::from(id.0), row);
        row
    }

    /// A thread acts after its end (only in traces that are not well formed).
    fn revive(&mut self, row: usize) {
        let slot = self.rows[row].slot;
        match self.retired.iter().position(|old| old.slot == slot) {
            Some(index) => {
                self.retired.swap_remove(index);
                self.rows[row].published = true;
                self.rows[row].unused = false;
            }
            None => {
                let fresh = self.fresh_slot();
                let thread = &mut self.rows[row];
                thread.slot = fresh;
                thread.clock.set(fresh, 1);
                thread.published = false;
            }
        }
        self.rows[row].live = true;
    }

    fn insert(&mut self, id: ThreadId, slot: u32, start: u32, mut clock: Clock) -> usize {
        clock.set(slot, start);
        let row = self.rows.len();
        self.rows.push(Thread {
            id,
            slot,
            clock,
            locks: LockSetId::default(),
            held: Held::default(),
            fences: Fences::default(),
            published: false,
            live: true,
            unused: true,
        });
        if id.0 < DENSE_THREADS {
            if id.index() >= self.dense.len() {
                self.dense.resize(id.index() + 1, NOBODY);
            }
            self.dense[id.index()] = row as u32;
        } else {
            self.sparse.insert(id.0, row as u32);
        }
        row
    }

    fn fresh_slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_thousand_joined_threads_need_two_slots() {
        let mut threads = Threads::default();
        let main = threads.acting(ThreadId(0));
        for child in 1..=10_000 {
            threads.fork(main, ThreadId(child));
            let row = threads.acting(ThreadId(child));
            threads.now(row);
            threads.end(row);
            threads.join(main, ThreadId(child));
        }
        assert_eq!(threads.slots(), 2);
    }

    #[test]
    fn many_threads_that_count_nothing_and_are_not_joined_need_two_slots() {
        let mut threads = Threads::sparing();
        let main = threads.acting(ThreadId(0));
        for child in 1..=10_000 {
            threads.fork(main, ThreadId(child));
            let row = threads.acting(ThreadId(child));
            threads.end(row);
        }
        assert_eq!(threads.slots(), 2);
        threads.fork(main, ThreadId(10_001));
        let row = threads.acting(ThreadId(10_001));
        threads.now(row);
        threads.end(row);
        threads.fork(main, ThreadId(10_002));
        assert_eq!(threads.slots(), 3);
    }

    #[test]
    fn a_slot_whose_end_the_parent_has_not_seen_is_not_reused() {
        let mut threads = Threads::default();
        let main = threads.acting(ThreadId(0));
        threads.fork(main, ThreadId(1));
        let first = threads.acting(ThreadId(1));
        threads.now(first);
        threads.end(first);
        threads.fork(main, ThreadId(2));
        let second = threads.acting(ThreadId(2));
        assert_ne!(threads.row(first).slot, threads.row(second).slot);
    }

    #[test]
    fn a_thread_that_moves_to_a_fresh_slot_keeps_its_past() {
        let mut threads = Threads::default();
        let main = threads.acting(ThreadId(0));
        let slot = threads.row(main).slot;
        threads.row_mut(main).clock.set(slot, LAST_CLOCK);
        threads.publish(main);
        threads.now(main);
        let thread = threads.row(main);
        assert_ne!(thread.slot, slot);
        assert_eq!((thread.clock.get(slot), thread.clock.get(thread.slot)), (LAST_CLOCK, 1));
    }
}
