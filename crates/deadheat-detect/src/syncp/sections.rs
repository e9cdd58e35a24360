//! Critical sections: for each lock and thread, those that it had, in their order.

use deadheat_core::event::LockMode;
use rustc_hash::FxHashMap;

use crate::clock::past::Moment;

/// A critical section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    /// Which of all acquires of the run began it: the order of the trace.
    pub(crate) rank: u64,
    /// The number of that acquire in its slot.
    pub(crate) acquire: u32,
    /// The release that ended it; none yet if its number is 0.
    pub(crate) release: Moment,
}

/// The sections of one slot on one lock in one mode.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) slot: u32,
    pub(crate) mode: LockMode,
    pub(crate) sections: Vec<Section>,
}

/// The critical sections of a run.
#[derive(Debug, Default)]
pub(crate) struct Sections {
    numbers: FxHashMap<u64, u32>,
    /// For each lock its lines.
    locks: Vec<Vec<Line>>,
    slots: Vec<Taken>,
    ranks: u64,
    count: usize,
}

/// What a slot took.
#[derive(Debug, Default)]
struct Taken {
    /// Each acquire with its lock, in their order.
    acquires: Vec<(u32, u32)>,
    /// The locks, each once for each mode.
    locks: Vec<u32>,
}

impl Sections {
    /// A thread takes a lock that it did not hold.
    pub(crate) fn begin(&mut self, at: Moment, lock: u64, mode: LockMode) {
        let next = self.numbers.len() as u32;
        let lock = *self.numbers.entry(lock).or_insert(next);
        if lock == next {
            self.locks.push(Vec::new());
        }
        self.ranks += 1;
        self.count += 1;
        let section = Section { rank: self.ranks, acquire: at.number, release: Moment::default() };
        let index = at.slot as usize;
        if index >= self.slots.len() {
            self.slots.resize_with(index + 1, Taken::default);
        }
        let taken = &mut self.slots[index];
        taken.acquires.push((at.number, lock));
        let lines = &mut self.locks[lock as usize];
        match lines.iter_mut().find(|line| (line.slot, line.mode) == (at.slot, mode)) {
            Some(line) => line.sections.push(section),
            None => {
                lines.push(Line { slot: at.slot, mode, sections: vec![section] });
                taken.locks.push(lock);
            }
        }
    }

    /// A lock is given back by the thread that holds it or, if that has no section on it, from whoever has (which is not
    /// well formed).
    pub(crate) fn end(&mut self, at: Moment, lock: u64) {
        let Some(&lock) = self.numbers.get(&lock) else { return };
        let lines = &mut self.locks[lock as usize];
        let is_open = |line: &Line| line.sections.last().is_some_and(|last| last.release.number == 0);
        let own = lines.iter().position(|line| line.slot == at.slot && is_open(line));
        let open = own.or_else(|| lines.iter().position(is_open));
        if let Some(section) = open.and_then(|line| lines[line].sections.last_mut()) {
            section.release = at;
        }
    }

    /// The lines of a lock.
    pub(crate) fn lines(&self, lock: u32) -> &[Line] {
        &self.locks[lock as usize]
    }

    /// The number of locks.
    pub(crate) fn locks(&self) -> usize {
        self.locks.len()
    }

    /// The number of the last acquire of a slot up to an event; 0 if there is none.
    pub(crate) fn last_acquire(&self, at: Moment) -> u32 {
        let Some(taken) = self.slots.get(at.slot as usize) else { return 0 };
        let behind = taken.acquires.partition_point(|&(number, _)| number <= at.number);
        behind.checked_sub(1).map_or(0, |last| taken.acquires[last].0)
    }

    /// The locks that a slot took after one event and up to another; some may be told more than once, and some that it took
    /// at another time.
    pub(crate) fn taken(&self, slot: u32, after: u32, upto: u32, mut tell: impl FnMut(u32)) {
        let Some(taken) = self.slots.get(slot as usize) else { return };
        let from = taken.acquires.partition_point(|&(number, _)| number <= after);
        let to = taken.acquires.partition_point(|&(number, _)| number <= upto);
        if to.saturating_sub(from) > taken.locks.len() {
            taken.locks.iter().copied().for_each(tell);
        } else {
            taken.acquires[from..to.max(from)].iter().for_each(|&(_, lock)| tell(lock));
        }
    }

    /// Forgets the sections that ended up to the number that `upto` has for each slot.
    pub(crate) fn forget(&mut self, upto: &[u32]) {
        let upto = |slot: u32| upto.get(slot as usize).copied().unwrap_or(0);
        self.count = 0;
        for lines in &mut self.locks {
            for line in lines.iter_mut() {
                line.sections.retain(|section| {
                    let Moment { slot, number } = section.release;
                    number == 0 || number > upto(slot)
                });
                self.count += line.sections.len();
            }
            lines.retain(|line| !line.sections.is_empty());
        }
        for (slot, taken) in self.slots.iter_mut().enumerate() {
            // What lies before is never asked for: it is in every closure.
            taken.acquires.retain(|&(number, _)| number > upto(slot as u32));
        }
    }

    /// About how many bytes they take.
    pub(crate) fn memory(&self) -> usize {
        self.count * (size_of::<Section>() + size_of::<(u32, u32)>())
    }
}
