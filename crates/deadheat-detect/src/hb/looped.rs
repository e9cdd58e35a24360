//! Loops: many accesses of few places, judged by ranges.
//!
//! Within a loop nothing is synchronised, so all its accesses have one epoch, and what is
//! remembered of the other threads stays as it is but for what the loop's own accesses cover. So
//! whether one of them races does not depend on the order in which they are judged: the accesses of
//! one place are judged together, as one range where they fill one; and what was said of one cell is said
//! of the next if it is the same. Only if one access races, all are judged
//! again in their own order, to tell it; those that were remembered already are met without effect.

use std::slice;

use deadheat_core::plain::{self, Plain, Strided};
use deadheat_core::rule::Epoch;

use super::Hb;
use super::cell::{Cell, Moment};
use super::crowd::{Member, Sort};
use super::judge::{Judge, Passing};

impl Hb {
    /// Takes `turns` turns of a loop of a thread, if none of its accesses races. After `false` some may
    /// have been taken; they may be taken again.
    pub(super) fn pass_loop(&mut self, row: usize, body: &[Strided], turns: u32) -> bool {
        body.iter().all(|access| match access.range(turns) {
            Some(range) if alike(access) => self.pass_range(row, &access.first, range),
            None if alike(access) => self.pass_strided(row, access, turns),
            _ => plain::unroll(slice::from_ref(access), turns, |some| self.quick(row, some) == some.len()),
        })
    }

    /// Takes the accesses of all turns one after the other.
    fn pass_strided(&mut self, row: usize, access: &Strided, turns: u32) -> bool {
        let first = &access.first;
        let moment = self.moment(row, &first.event(self.order.threads.row(row).id), &first.access());
        let mut turn = 0;
        while turn < turns {
            turn += self.quick_strided(row, moment, &access.from(turn), turns - turn);
            if turn < turns {
                let Plain { address, form, .. } = access.at(turn);
                let Some(end) = address.checked_add(form.size()) else { return false };
                if !self.pass_range(row, first, (address, end)) {
                    return false;
                }
                turn += 1;
            }
        }
        true
    }

    /// Takes accesses of one moment as long as each is the case that most are, as [`Hb::quick`] does; says how
    /// many turns it took.
    fn quick_strided(&mut self, row: usize, moment: Moment, access: &Strided, turns: u32) -> u32 {
        let thread = self.order.threads.row(row);
        let now = Epoch { thread: thread.slot, clock: moment.clock() };
        let passing = Passing { now, writes: access.first.form.writes(), clock: &thread.clock };
        let Self { shadow, sites, crowds, .. } = self;
        // What became of a cell that said this, if that holds of each that says it.
        let mut known: Option<(Cell, Cell)> = None;
        let mut step = |cell: &mut Cell| {
            if let Some((old, new)) = known
                && *cell == old
            {
                *cell = new;
                return true;
            }
            let old = *cell;
            let ordered = passing.step((&mut *cell, 1), (&mut *sites, &mut *crowds), |_| moment.site());
            known = Passing::known(old, *cell).or(known);
            ordered
        };
        let (first, size) = (access.first.address, access.first.form.size());
        shadow.strided((first, access.stride), size, turns, |cells| cells.iter_mut().all(&mut step))
    }

    /// Takes accesses like `first` that fill a range.
    fn pass_range(&mut self, row: usize, first: &Plain, (start, end): (u64, u64)) -> bool {
        let access = first.access();
        let event = first.event(self.order.threads.row(row).id);
        let moment = self.moment(row, &event, &access);
        let thread = self.order.threads.row(row);
        self.findings.reset();
        let mut judge = Judge {
            now: Member { moment, slot: thread.slot, sort: Sort::of(&access) },
            clock: &thread.clock,
            sites: &mut self.sites,
            crowds: &mut self.crowds,
            findings: &mut self.findings,
            all_pairs: false,
        };
        self.shadow.visit(start, end, &mut judge);
        if self.findings.overwrote_atomic {
            self.order.objects.silence_atomics(start, end);
        }
        !self.findings.raced
    }
}

/// Whether the accesses of all turns are made in the same way, so that they share a site.
fn alike(access: &Strided) -> bool {
    const SHORT: u64 = 16;
    let size = access.first.form.size();
    access.stride.is_multiple_of(SHORT) || (access.first.address | access.stride) & (size - 1) == 0
}
