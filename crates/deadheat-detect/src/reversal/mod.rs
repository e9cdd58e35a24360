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
//! Invariants: what is told is a correct reordering: reads keep their writers, locks exclude. The run is held in memory.
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
use crate::run::{Keeps, Record, Run, told};

/// The analysis.
#[derive(Debug, Default)]
pub struct Reversal {
    record: Record,
    options: Options,
}

impl Reversal {
    /// A fresh analysis.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self { options, ..Self::default() }
    }
}

impl Detector for Reversal {
    fn step(&mut self, event: &Event, _: &mut dyn RaceSink) {
        self.record.take(event);
    }

    fn finish(&mut self, sink: &mut dyn RaceSink) {
        let run: Run = std::mem::take(&mut self.record).into_run(Keeps::ALL);
        let mut found = pairs::find(&run, self.options.all_pairs);
        found.sort_by_key(|race| (race.later, race.earlier));
        told::tell(&run, &found, sink);
    }
}
