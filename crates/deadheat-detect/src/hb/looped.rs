//! Loops: many accesses of few places, judged by ranges.
//!
//! Within a loop nothing is synchronised, so all its accesses have one epoch, and what is
//! remembered of the other threads stays as it is but for what the loop's own accesses cover. So
//! whether one of them races does not depend on the order in which they are judged: the accesses of
//! one place are judged together, as one range where they fill one, those of several places where they fill one
//! together (see [`super::weave`]); and what was said of one cell is said
//! of the next if it is the same. Only if one access races, all are judged
//! again in their own order, to tell it; those that were remembered already are met without effect.

use std::slice;

use deadheat_core::plain::{self, Form, Plain, Strided};
use deadheat_core::rule::Epoch;

use super::Hb;
use super::cell::{Cell, Moment};
use super::crowd::{Member, Sort};
use super::judge::{Judge, Passing};
use super::weave;
use crate::how::How;

impl Hb {
    /// Takes `turns` turns of a loop of a thread, if none of its accesses races. After `false` some may
    /// have been taken; they may be taken again.
    pub(super) fn pass_loop(&mut self, row: usize, body: &[Strided], turns: u32) -> bool {
        let mut strands = std::mem::take(&mut self.strands);
        strands.clear();
        let passed = body.iter().all(|access| match access.range(turns) {
            Some(range) if alike(access) => {
                let Plain { place, stack, form, .. } = access.first;
                let moment = self.moment_at(row, (place, stack), How::of_power(&access.first));
                self.pass_range(row, (moment, form), range)
            }
            _ => {
                strands.push(*access);
                true
            }
        });
        let passed = passed && self.pass_strands(row, &mut strands, turns);
        self.strands = strands;
        passed
    }

    /// Takes accesses none of which fills a range, those together that do so together.
    fn pass_strands(&mut self, row: usize, strands: &mut [Strided], turns: u32) -> bool {
        weave::sort(strands);
        let mut rest = strands;
        while let Some(&first) = rest.first() {
            if let Some(woven) = weave::bundle(rest)
                && let Some(range) = weave::range(&rest[..woven], turns)
                && let Some(place) = self.sites.weaves.number(&rest[..woven])
            {
                let Plain { stack, form, .. } = first.first;
                let moment = self.moment_at(row, (place, stack), How::woven(form));
                if !self.pass_range(row, (moment, form), range) {
                    return false;
                }
                rest = &mut rest[woven..];
                continue;
            }
            let passed = if alike(&first) {
                self.pass_strided(row, &first, turns)
            } else {
                plain::unroll(slice::from_ref(&first), turns, |some| self.quick(row, some) == some.len())
            };
            if !passed {
                return false;
            }
            rest = &mut rest[1..];
        }
        true
    }

    /// Takes the accesses of all turns one after the other.
    fn pass_strided(&mut self, row: usize, access: &Strided, turns: u32) -> bool {
        let first = &access.first;
        let how = How::of_power(first);
        let moment = self.moment_at(row, (first.place, first.stack), how);
        let mut turn = 0;
        while turn < turns {
            turn += self.quick_strided(row, moment, &access.from(turn), turns - turn);
            if turn < turns {
                let Plain { address, form, .. } = access.at(turn);
                let Some(end) = address.checked_add(form.size()) else { return false };
                if !self.pass_range(row, (moment, form), (address, end)) {
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
            passing.step_known(cell, (&mut *sites, &mut *crowds), |_| moment.site(), &mut known)
        };
        let (first, size) = (access.first.address, access.first.form.size());
        shadow.strided((first, access.stride), size, turns, |cells| cells.iter_mut().all(&mut step))
    }

    /// Takes accesses of one moment and form that fill a range.
    fn pass_range(&mut self, row: usize, (moment, form): (Moment, Form), (start, end): (u64, u64)) -> bool {
        let sort = if form.writes() { Sort::PlainWrite } else { Sort::PlainRead };
        let thread = self.order.threads.row(row);
        self.findings.reset();
        let mut judge = Judge {
            now: Member { moment, slot: thread.slot, sort },
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
