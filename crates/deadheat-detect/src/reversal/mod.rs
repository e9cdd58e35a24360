//! Races in orders that turn critical sections round (`sync-reversal`).
//!
//! Paper: optimistic sync-reversal races (Shi, Mathur and Pavlogiannis, ICSE 2024). For a pair of accesses the least set of
//! events is taken that what their threads did before needs, and in which no lock is held twice: sections are closed
//! whose end needs neither access (`closure`). The events are put in the run's order, but for the sections that stay open: those come behind all
//! others of their lock (`order`). If that goes in a circle, the events are done one by one, each when it can come (`play`).
//! If that ends, the two accesses are side by side behind it.
//!
//! Departures. Locks for reading do not exclude each other; a read-modify-write reads; memory has lives; condition
//! variables, semaphores and barriers keep what they saw ([`crate::run`]). Of accesses that one thread makes between two
//! synchronisations the first is judged for all.
//!
//! Blind spots: orders that a choice leads to which is made otherwise here: which of two sections is closed, and which of two
//! events that could come next comes.
//!
//! Invariants: what is told is a correct reordering: reads keep their writers, locks exclude. Of the run a window
//! is held in memory, of [`Options::memory_limit`] or else 4 GiB: it is judged when it is full and then begins in its middle. What lies before has happened.
//! Cost: for each pair of threads' stretches that access a byte without a common lock, the closure's steps; and as many
//! as the set has events, where a section is turned round.

mod closure;
mod order;
mod pairs;
mod play;

use deadheat_core::event::Event;
use deadheat_core::race::RaceSink;

use crate::detector::Detector;
use crate::registry::Options;
use crate::run::{Keeps, Number, Record, told};
use pairs::{Places, Wanted};

/// How many bytes of memory a window takes if nothing else is asked for.
const MEMORY: usize = 4 << 30;
/// The part of the memory that the races of a window may take before they are told.
const ROOM_PART: usize = 8;

/// The analysis.
#[derive(Debug)]
pub struct Reversal {
    record: Record,
    all_pairs: bool,
    memory_limit: usize,
    /// How many events of the record were judged already.
    judged: usize,
    places: Places,
}

impl Reversal {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            record: Record::default(),
            all_pairs: options.all_pairs,
            memory_limit: options.memory_limit.unwrap_or(MEMORY),
            judged: 0,
            places: Places::default(),
        }
    }

    /// About how many bytes of memory the analysis takes.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.record.memory()
    }

    /// Tells the races of what was not judged yet.
    fn judge(&mut self, sink: &mut dyn RaceSink) {
        let from = std::mem::replace(&mut self.judged, self.record.len()) as Number;
        if self.record.is_misused() {
            return;
        }
        let run = self.record.run(Keeps::ALL);
        let wanted = Wanted {
            all_pairs: self.all_pairs,
            from,
            room: self.memory_limit / ROOM_PART,
            places: &mut self.places,
        };
        pairs::find(&run, wanted, &mut |mut found| {
            found.sort_by_key(|race| (race.later, race.earlier));
            told::tell(&run, &found, sink);
        });
    }

    /// Keeps to a bound: what was held when it was half reached is done from then on.
    fn bound(&mut self, sink: &mut dyn RaceSink) {
        let bytes = self.memory_limit;
        let memory = self.record.memory();
        if memory > bytes / 2 {
            self.record.mark();
        }
        if memory <= bytes {
            return;
        }
        self.judge(sink);
        self.judged -= self.record.forget();
        if self.record.memory() > bytes - bytes / 4 {
            self.record.mark();
            self.judged -= self.record.forget();
        }
        sink.forgot(self.record.before());
    }
}

impl Detector for Reversal {
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        self.record.take(event);
        self.bound(sink);
    }

    fn finish(&mut self, sink: &mut dyn RaceSink) {
        self.judge(sink);
        self.record = Record::default();
    }
}
