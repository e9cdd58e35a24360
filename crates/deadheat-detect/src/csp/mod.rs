//! Prediction in CSP: all orders that the events of a run can have, and the races in them (`csp`).
//!
//! Paper: Carril and Tichy, *Predicting and witnessing data races using CSP*. A run becomes a network of processes
//! (`model`, `build`): threads, and what forks, joins, mutexes and the rest allow. A race of two accesses is a
//! refinement that fails, its counterexample the witness.
//!
//! Departures. The paper forgets which write each read saw (that form is `csp=paper`); here registers hold the last writer, so
//! that reads keep theirs and what is told can happen. Between the two is `csp=control`, for traces that have branches: only what
//! branches depend on is kept (`decisions/0021`). Locks for reading, semaphores, condition variables, barriers, one-time
//! initialisation and lives of memory are in the model. The general engine is `deadheat-csp`, for which `script` writes the
//! model as text; races are searched by `search`, which gives the same answers.
//!
//! Blind spots: what a window does not hold, where a run is longer than one: races of accesses that are further apart than half of
//! it always, of others maybe; orders that change what came before the window. Pairs for which memory does not do, which is told.
//!
//! Invariants: what is told is a correct reordering, but in `csp=paper` and `csp=control`. Without windows and with memory enough each
//! pair of accesses that a correct reordering brings side by side is found. The run is held in memory.

mod build;
mod model;
mod models;
mod order;
mod pairs;
mod past;
mod registers;
mod script;
mod search;
mod state;

use deadheat_core::event::Event;
use deadheat_core::race::RaceSink;

use crate::detector::Detector;
use crate::registry::Options;
use crate::run::{Keeps, Number, Record, Run, told};
pub use models::Models;
use pairs::Manner;
pub use script::Script;
use search::Bounds;

/// Bytes for the states of one search, if nothing else is said.
const MEMORY: usize = 256 << 20;

/// Events of a window, if nothing else is said.
const WINDOW: Number = 1 << 14;

/// The analysis.
#[derive(Debug)]
pub struct Csp {
    record: Record,
    options: Options,
    form: Form,
    searched: Vec<usize>,
}

/// Which model it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Form {
    /// Reads keep their writers.
    Exact,
    /// Those do that branches depend on, as far as one can know; in a run without branches all.
    Control,
    /// As the paper prints it: they may see anything.
    Paper,
}

impl Form {
    /// What takes the events of a run for it.
    #[must_use]
    pub fn record(self) -> Record {
        if self == Self::Control { Record::with_branches() } else { Record::default() }
    }

    /// The form that it is for a run, and the run.
    fn run(self, record: Record) -> (Self, Run) {
        let form = if self == Self::Control && !record.has_branches() { Self::Exact } else { self };
        (form, record.into_run(Keeps { writers: form == Self::Exact, signals: false }))
    }
}

impl Csp {
    /// A fresh analysis.
    #[must_use]
    pub fn new(form: Form, options: Options) -> Self {
        Self { record: form.record(), options, form, searched: Vec::new() }
    }

    /// When the run is over: of each pair of accesses that was asked about, how many states the search for it visited; 0 if what
    /// has to come before what decided it.
    #[must_use]
    pub fn searched(&self) -> &[usize] {
        &self.searched
    }
}

impl Detector for Csp {
    fn step(&mut self, event: &Event, _: &mut dyn RaceSink) {
        self.record.take(event);
    }

    fn finish(&mut self, sink: &mut dyn RaceSink) {
        let (form, run) = self.form.run(std::mem::take(&mut self.record));
        let manner = Manner {
            all_pairs: self.options.all_pairs,
            form,
            bounds: Bounds {
                memory: self.options.memory_limit.unwrap_or(MEMORY),
                steps: self.options.work_limit.unwrap_or(u64::MAX),
                states: 0,
            },
            window: self.options.window.map_or(WINDOW, Number::from),
        };
        let mut result = pairs::find(&run, manner);
        result.found.sort_by_key(|race| (race.later, race.earlier));
        sink.checked(result.checks);
        if result.undecided > 0 {
            sink.undecided(result.undecided);
        }
        if result.stopped {
            sink.stopped();
        }
        told::tell(&run, &result.found, sink);
        self.searched = result.states;
    }
}
