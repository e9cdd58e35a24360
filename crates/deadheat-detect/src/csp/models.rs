//! The models of a run, one for each stretch of memory that two threads may race on.

use std::collections::BTreeSet;

use deadheat_core::rule::conflicts;

use super::build;
use super::model::{Act, Model};
use super::registers::uses;
use super::script::{Script, script};
use super::search::{Answer, Bounds, search};
use super::{Form, MEMORY};
use crate::run::{Cell, Number, Record, Run, Use};

/// The models of a run.
#[derive(Debug)]
pub struct Models {
    run: Run,
    model: Model,
}

impl Models {
    /// Makes the models of a run as a whole, without windows; what took its events was made by [`Form::record`].
    #[must_use]
    pub fn new(record: Record, form: Form) -> Self {
        let (form, run) = form.run(record);
        let model = build::model(&run, 0..run.len() as Number, form);
        Self { run, model }
    }

    /// Where stretches of memory begin that two threads access, one of them writing.
    #[must_use]
    pub fn variables(&self) -> Vec<u64> {
        let shared = |cell: &&Cell| {
            let accesses: Vec<Use> = self.accesses(cell);
            let thread = |at: &Use| self.run.place(at.event).0;
            accesses.iter().any(|at| at.mode.writes())
                && accesses.iter().any(|at| thread(at) != thread(&accesses[0]))
        };
        self.run.cells.iter().filter(shared).map(|cell| cell.address).collect()
    }

    /// How many operations of threads that synchronise the models have: all but those that touch memory.
    #[must_use]
    pub fn operations(&self) -> usize {
        let synchronises = |op: &&super::model::Op| !matches!(op.act, Act::Touch(_));
        self.model.rows.iter().flatten().filter(synchronises).count()
    }

    /// How many operations of threads the models have beside those: accesses on which it depends what reads see.
    #[must_use]
    pub fn touches(&self) -> usize {
        self.model.rows.iter().map(Vec::len).sum::<usize>() - self.operations()
    }

    /// The model of the stretch of memory that has an address, as CSP_M; `None` if nobody accessed that.
    #[must_use]
    pub fn script(&self, address: u64) -> Option<Script> {
        self.cell(address).map(|cell| script(&self.run, &self.model, cell))
    }

    /// What the assertions of that are about that fail, by the search that is made for such models; `None` if it lacks memory.
    #[must_use]
    pub fn races(&self, address: u64) -> Option<BTreeSet<(usize, usize, u32)>> {
        let mut races = BTreeSet::new();
        let accesses = self.cell(address).map_or(Vec::new(), |cell| self.accesses(cell));
        for (index, now) in accesses.iter().enumerate() {
            for earlier in &accesses[..index] {
                let threads = [earlier, now].map(|at| self.run.place(at.event).0);
                let race = (threads[0].min(threads[1]), threads[0].max(threads[1]), now.life);
                if threads[0] == threads[1]
                    || earlier.life != now.life
                    || !conflicts(earlier.mode, earlier.atomic, now.mode, now.atomic)
                    || races.contains(&race)
                {
                    continue;
                }
                let targets = [(threads[0], earlier), (threads[1], now)]
                    .map(|(thread, at)| self.model.target(thread, at.event));
                let mut bounds = Bounds { memory: MEMORY, steps: u64::MAX, states: 0 };
                match search(&self.model, targets, &mut bounds) {
                    Answer::Race(_) => drop(races.insert(race)),
                    Answer::None => {}
                    Answer::OutOfMemory | Answer::OutOfSteps => return None,
                }
            }
        }
        Some(races)
    }

    fn cell(&self, address: u64) -> Option<&Cell> {
        let cells = &self.run.cells;
        let at = cells.partition_point(|cell| cell.address <= address).checked_sub(1)?;
        Some(&cells[at]).filter(|cell| !self.accesses(cell).is_empty())
    }

    fn accesses(&self, cell: &Cell) -> Vec<Use> {
        let window = 0..self.run.len() as Number;
        uses(cell, &window).iter().filter(|at| !at.birth).copied().collect()
    }
}
