//! What each event of a run needs to have happened: vector clocks that count events, for all past events.
//!
//! [`super::threads`] counts a thread's clock once for each access after a release. Here each event is
//! counted, so that a clock says of each thread exactly how many of its events are meant, and what
//! a thread had seen is remembered for all its events: a list of the moments at which it
//! learned something, each with what it knew then.
//!
//! Invariant: the first event of a thread has the number after the thread's *start*, which is no event and
//! stands for its creation; so "up to its start" needs what its creator did and no event of the thread.

use deadheat_core::ids::ThreadId;

use super::threads::Threads;
use super::vector::Clock;

/// An event: the one with that number in its slot. Number 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Moment {
    /// The slot of its thread.
    pub slot: u32,
    /// Its number.
    pub number: u32,
}

/// The present event of a thread.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The thread's row.
    pub row: usize,
    /// The event.
    pub at: Moment,
    /// Whether it is the thread's first (or the first in this slot).
    pub is_first: bool,
}

/// What the threads of a run knew at each of their events.
#[derive(Debug, Default)]
pub struct Past {
    slots: Vec<Slot>,
    /// For each row of the threads the slot that it was last seen in.
    rows: Vec<Option<u32>>,
    memory: usize,
}

#[derive(Debug, Default)]
struct Slot {
    tenants: Vec<Tenant>,
    lessons: Vec<Lesson>,
}

/// A thread that had a slot.
#[derive(Debug)]
struct Tenant {
    thread: ThreadId,
    start: u32,
    last: u32,
}

/// What a thread knew from an event on.
#[derive(Debug)]
struct Lesson {
    from: u32,
    knew: Box<[u32]>,
}

impl Past {
    /// A thread does something: its row and the number of that event.
    pub fn enter(&mut self, threads: &mut Threads, thread: ThreadId) -> Now {
        let row = threads.acting(thread);
        if row >= self.rows.len() {
            self.rows.resize(row + 1, None);
        }
        let slot = threads.row(row).slot;
        let mut is_first = self.rows[row] != Some(slot);
        if is_first {
            let start = threads.row(row).clock.get(slot);
            self.settle(threads, row, start);
        }
        threads.publish(row);
        let number = threads.now(row);
        let slot = threads.row(row).slot;
        if self.rows[row] != Some(slot) {
            // Its numbers had come to their end.
            is_first = true;
            self.settle(threads, row, number - 1);
        }
        if let Some(tenant) = self.slots[slot as usize].tenants.last_mut() {
            tenant.last = number;
        }
        Now { row, at: Moment { slot, number }, is_first }
    }

    fn settle(&mut self, threads: &Threads, row: usize, start: u32) {
        let thread = threads.row(row);
        let index = thread.slot as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, Slot::default);
        }
        self.slots[index].tenants.push(Tenant { thread: thread.id, start, last: start });
        self.rows[row] = Some(thread.slot);
        self.memory += size_of::<Tenant>();
        self.learned(Moment { slot: thread.slot, number: start }, &thread.clock);
    }

    /// What a thread knows from an event on, if that is more than before.
    pub fn learned(&mut self, at: Moment, clock: &Clock) -> bool {
        let Some(slot) = self.slots.get_mut(at.slot as usize) else { return false };
        let knows = clock.as_slice();
        if let Some(last) = slot.lessons.last() {
            let own = at.slot as usize;
            let before = |other: usize| last.knew.get(other).copied().unwrap_or(0);
            if knows.iter().enumerate().all(|(other, &seen)| other == own || seen == before(other)) {
                return false;
            }
        }
        self.memory += size_of::<Lesson>() + size_of_val(knows) + 16;
        match slot.lessons.last_mut() {
            Some(last) if last.from == at.number => last.knew = knows.into(),
            _ => slot.lessons.push(Lesson { from: at.number, knew: knows.into() }),
        }
        true
    }

    /// What was known at an event, and from which event of its slot on.
    #[must_use]
    pub fn knew(&self, at: Moment) -> (u32, &[u32]) {
        let Some(slot) = self.slots.get(at.slot as usize) else { return (0, &[]) };
        let lesson = match slot.lessons.last() {
            Some(last) if last.from <= at.number => Some(last),
            _ => {
                let behind = slot.lessons.partition_point(|lesson| lesson.from <= at.number);
                behind.checked_sub(1).map(|index| &slot.lessons[index])
            }
        };
        lesson.map_or((0, &[]), |lesson| (lesson.from, &lesson.knew))
    }

    /// A clock learns of an event, with all that was known at it; `true` if that is new to it.
    pub fn teach(&self, clock: &mut Clock, of: Moment) -> bool {
        if of.number == 0 || clock.get(of.slot) >= of.number {
            return false;
        }
        clock.join_slice(self.knew(of).1);
        clock.set(of.slot, clock.get(of.slot).max(of.number));
        true
    }

    /// How many events of each thread lie up to the number that `upto` has for its slot; only threads that have any, by their
    /// ids.
    pub fn counts(&self, upto: &[u32], counts: &mut Vec<(ThreadId, u64)>) {
        counts.clear();
        for (slot, &upto) in self.slots.iter().zip(upto) {
            for tenant in slot.tenants.iter().take_while(|tenant| tenant.start < upto) {
                let done = upto.min(tenant.last) - tenant.start;
                if done > 0 {
                    counts.push((tenant.thread, u64::from(done)));
                }
            }
        }
        counts.sort_unstable();
        counts.dedup_by(|again, first| {
            let same = again.0 == first.0;
            if same {
                first.1 += again.1;
            }
            same
        });
    }

    /// The numbers of the last events so far, by slot.
    pub fn present(&self) -> Vec<u32> {
        self.slots.iter().map(|slot| slot.tenants.last().map_or(0, |tenant| tenant.last)).collect()
    }

    /// Forgets what was known up to the number that `upto` has for each slot: it is known to all from now on.
    pub fn forget(&mut self, upto: &[u32]) {
        for (slot, &upto) in self.slots.iter_mut().zip(upto) {
            slot.lessons.retain(|lesson| lesson.from > upto);
        }
        self.measure();
    }

    /// Forgets what no event that `needed` has, by slot and in ascending order, would be asked for.
    pub fn keep_only(&mut self, needed: &[Vec<u32>]) {
        for (index, slot) in self.slots.iter_mut().enumerate() {
            let needed = needed.get(index).map_or(&[][..], Vec::as_slice);
            let ends: Vec<u32> = slot.lessons.iter().skip(1).map(|lesson| lesson.from).collect();
            let mut ends = ends.into_iter().map(Some).chain([None]);
            slot.lessons.retain(|lesson| {
                let end = ends.next().flatten();
                let first = needed.partition_point(|&number| number < lesson.from);
                // The last is what the thread knows now.
                end.is_none_or(|end| needed.get(first).is_some_and(|&number| number < end))
            });
        }
        self.measure();
    }

    fn measure(&mut self) {
        let slots = self.slots.iter();
        self.memory = slots
            .map(|slot| {
                let lessons = slot.lessons.iter();
                let lessons: usize =
                    lessons.map(|lesson| size_of::<Lesson>() + size_of_val(&*lesson.knew) + 16).sum();
                lessons + slot.tenants.len() * size_of::<Tenant>()
            })
            .sum();
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.memory
    }
}
