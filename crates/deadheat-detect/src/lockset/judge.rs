//! One access on its way through the cells of its bytes.

use deadheat_core::event::LockMode;
use deadheat_core::race::LockSets;
use deadheat_core::rule::Epoch;

use super::cell::{Cell, Moment, Says};
use super::records::{Record, Records};
use super::sets::{Known, Meaning};
use super::sites::Sites;
use super::state::{Outcome, Owner, Rules, Step, Variable, enters};
use crate::clock::lockset::LockTable;
use crate::clock::vector::Clock;
use crate::shadow::{Keeper, Past, Visitor};

/// A variable that no lock protects any more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hit {
    /// The first byte.
    pub(crate) address: u64,
    /// The earlier access.
    pub(crate) partner: Moment,
    /// The variable's record.
    pub(crate) record: u32,
}

/// The present access.
pub(crate) struct Judge<'a> {
    pub(crate) rules: Rules,
    pub(crate) step: Step,
    pub(crate) moment: Moment,
    /// What its thread has seen, by all order and by the order that is not of locks.
    pub(crate) clock: &'a Clock,
    pub(crate) firm: &'a Clock,
    pub(crate) sites: &'a Sites,
    pub(crate) records: &'a mut Records,
    pub(crate) known: &'a mut Known,
    pub(crate) locks: &'a LockTable,
    pub(crate) hits: &'a mut Vec<Hit>,
}

impl Visitor<Cell> for Judge<'_> {
    #[inline]
    fn visit(&mut self, cell: Cell, address: u64, count: u32) -> Cell {
        match cell.says() {
            Says::Nothing => Cell::exclusive(self.moment),
            Says::Fresh(row) if row == self.step.row => cell,
            Says::Fresh(_) => Cell::exclusive(self.moment),
            Says::Exclusive(last) if self.sites.row(last.site) == self.step.row => {
                Cell::exclusive(self.moment)
            }
            Says::Exclusive(last) => self.meet(last, address, count),
            Says::Several(record) => self.several(record, address, count),
        }
    }
}

impl Keeper<Cell> for Judge<'_> {
    fn copied(&mut self, cell: Cell, more: u32) {
        self.records.copied(cell, more);
    }

    fn dropped(&mut self, cell: Cell, fewer: u32) {
        self.records.dropped(cell, fewer);
    }

    fn pin(&mut self, cell: Cell) {
        self.records.pin(cell);
    }
}

impl Judge<'_> {
    /// The bytes were another thread's alone.
    #[inline(never)]
    fn meet(&mut self, last: Moment, address: u64, count: u32) -> Cell {
        let site = *self.sites.get(last.site);
        let owner = Owner {
            joined: self.known.ends().knows(self.clock, site.row),
            ordered: self.firm.covers(Epoch { thread: site.slots[1], clock: last.firm }),
        };
        if !enters(self.rules, owner) {
            return Cell::exclusive(self.moment);
        }
        let mut sets = Meaning { known: self.known, locks: self.locks, clock: self.clock };
        let (variable, outcome) = Variable::shared(site.row, self.step, &mut sets);
        let mut record = Record::new(variable, count);
        let writes = site.how.mode().writes();
        record.keep(last, writes, |_| true);
        let number = self.records.add(record);
        self.records.count(number, site.thread, Step { row: site.row, writes, locks: last.locks });
        self.finish(number, outcome, address);
        Cell::several(number)
    }

    /// The bytes are several threads'.
    #[inline]
    fn several(&mut self, named: u32, address: u64, count: u32) -> Cell {
        let number = self.records.own(named, count);
        let record = self.records.get_mut(number);
        let ended = self.rules.joins && record.checked != self.known.ends().count();
        let users = record.variable.users();
        let mut sets = Meaning { known: self.known, locks: self.locks, clock: self.clock };
        let outcome = record.variable.step(self.step, ended, &mut sets);
        if outcome == Outcome::Alone {
            self.records.release(number);
            return Cell::exclusive(self.moment);
        }
        if ended || record.variable.users() != users {
            let count = self.known.ends().count();
            let clear = count == 0 || !self.known.has_ended(record.variable.users());
            record.checked = if clear { count } else { u32::MAX };
        }
        self.finish(number, outcome, address);
        Cell::several(number)
    }

    /// Tells the variable if nothing protects it, and keeps the access.
    #[inline]
    fn finish(&mut self, number: u32, outcome: Outcome, address: u64) {
        if outcome == Outcome::Unprotected {
            self.unprotected(number, address);
        }
        let Judge { sites, step, moment, .. } = *self;
        let record = self.records.get_mut(number);
        record.keep(moment, step.writes, |other| sites.row(other.site) == step.row);
        self.records.count(number, sites.get(moment.site).thread, step);
    }

    /// A race is two accesses that conflict. Where none of another thread is kept that conflicts with this one, the next
    /// access that has one is told.
    #[cold]
    fn unprotected(&mut self, number: u32, address: u64) {
        let record = *self.records.get_mut(number);
        let users = record.variable.users();
        let others = record.kept(self.step.writes).filter(|kept| {
            let row = self.sites.row(kept.site);
            row != self.step.row && self.known.uses(users, row)
        });
        // Two that hold no lock in common show more than two that do, and two that nothing orders more than others.
        let Some(partner) = others.min_by_key(|kept| (self.shares_lock(*kept), self.is_seen(*kept))) else {
            return;
        };
        self.records.get_mut(number).variable.told();
        self.hits.push(Hit { address, partner, record: number });
    }

    fn is_seen(&self, moment: Moment) -> bool {
        let thread = self.sites.get(moment.site).slots[0];
        self.clock.covers(Epoch { thread, clock: moment.clock })
    }

    /// Whether a lock is held at both accesses that excludes the one while the other is made.
    fn shares_lock(&self, moment: Moment) -> bool {
        let now = self.locks.locks(self.step.locks);
        self.locks.locks(moment.locks).iter().any(|one| {
            now.iter().any(|other| {
                one.lock == other.lock && (one.mode == LockMode::Write || other.mode == LockMode::Write)
            })
        })
    }
}

/// Gives bytes to the thread that allocates them.
pub(crate) struct Allocate<'a> {
    pub(crate) cell: Cell,
    pub(crate) records: &'a mut Records,
}

impl Visitor<Cell> for Allocate<'_> {
    fn visit(&mut self, cell: Cell, _: u64, _: u32) -> Cell {
        // What was accessed before its block came to life was in that block.
        if cell == Cell::EMPTY { self.cell } else { cell }
    }
}

impl Keeper<Cell> for Allocate<'_> {
    fn copied(&mut self, cell: Cell, more: u32) {
        self.records.copied(cell, more);
    }

    fn dropped(&mut self, cell: Cell, fewer: u32) {
        self.records.dropped(cell, fewer);
    }

    fn pin(&mut self, cell: Cell) {
        self.records.pin(cell);
    }
}
