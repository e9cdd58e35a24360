//! Judging one access against what its bytes remember, and remembering it.

use deadheat_core::ids::PlaceId;
use deadheat_core::rule::Epoch;
use rustc_hash::FxHashSet;

use super::cell::{Cell, Moment};
use super::crowd::{Crowds, Member, Sort, pack};
use super::sites::Sites;
use crate::clock::vector::Clock;
use crate::shadow::{Keeper, Visitor};

/// The most partners that one access is told with, unless all pairs are wanted.
const MAX_PARTNERS: usize = 16;

/// The earlier side of a race with the present access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Partner {
    pub(crate) moment: Moment,
    /// The first byte that both touch.
    pub(crate) address: u64,
    member: Member,
}

/// What all-pairs mode has told: an unordered pair of places, each with its sort of access.
type Pair = ((PlaceId, Sort), (PlaceId, Sort));

/// What a judgement leaves behind, kept between judgements to save its memory.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// The races of the present access, at most one for each place of a thread.
    pub(crate) partners: Vec<Partner>,
    /// Whether the present access raced, told or not.
    pub(crate) raced: bool,
    /// Whether a plain write met an atomic write.
    pub(crate) overwrote_atomic: bool,
    members: Vec<Member>,
    told: FxHashSet<Pair>,
}

impl Findings {
    /// Makes ready for the next access.
    pub(crate) fn reset(&mut self) {
        self.partners.clear();
        self.raced = false;
        self.overwrote_atomic = false;
    }
}

/// The present access, on its way through the shadow.
pub(crate) struct Judge<'a> {
    pub(crate) now: Member,
    pub(crate) clock: &'a Clock,
    pub(crate) sites: &'a mut Sites,
    pub(crate) crowds: &'a mut Crowds,
    pub(crate) findings: &'a mut Findings,
    pub(crate) all_pairs: bool,
}

impl Visitor<Cell> for Judge<'_> {
    fn visit(&mut self, cell: Cell, address: u64, count: u32) -> Cell {
        if self.all_pairs {
            return self.judge(cell, address, count);
        }
        let Judge { now, clock, .. } = *self;
        let mut new = cell;
        let quick = match now.sort {
            Sort::PlainRead | Sort::PlainWrite => {
                let writes = now.sort == Sort::PlainWrite;
                let passing = Passing { now: now.epoch(), writes, clock };
                passing.step((&mut new, count), (self.sites, self.crowds), |_| now.moment.site())
            }
            Sort::AtomicRead | Sort::AtomicWrite => step_crowd((&mut new, count), now, clock, self.crowds),
        };
        if quick { new } else { self.judge(cell, address, count) }
    }
}

impl Keeper<Cell> for Judge<'_> {
    fn copied(&mut self, cell: Cell, more: u32) {
        self.crowds.copied(cell, more);
    }

    fn dropped(&mut self, cell: Cell, fewer: u32) {
        self.crowds.dropped(cell, fewer);
    }

    fn pin(&mut self, cell: Cell) {
        self.crowds.pin(cell);
    }
}

impl Judge<'_> {
    fn judge(&mut self, cell: Cell, address: u64, count: u32) -> Cell {
        let mut members = std::mem::take(&mut self.findings.members);
        members.clear();
        match cell.as_crowd() {
            Some(crowd) => members.extend_from_slice(self.crowds.members(crowd)),
            None => self.unpack(cell, &mut members),
        }
        let mut clean = true;
        for &member in &members {
            clean &= !self.meet(member, address);
        }
        let new = self.remember((cell, address, count), &mut members, clean);
        self.findings.members = members;
        new
    }

    fn unpack(&self, cell: Cell, members: &mut Vec<Member>) {
        for (moment, sort) in [(cell.write(), Sort::PlainWrite), (cell.read(), Sort::PlainRead)] {
            if moment != Moment::NONE {
                members.push(Member { moment, slot: self.sites.epoch(moment).thread, sort });
            }
        }
    }

    /// Judges the present access against one earlier one: whether they race.
    fn meet(&mut self, member: Member, address: u64) -> bool {
        if self.now.sort == Sort::PlainWrite && member.sort == Sort::AtomicWrite {
            self.findings.overwrote_atomic = true;
        }
        if !member.races(self.now.sort, self.clock) {
            return false;
        }
        self.findings.raced = true;
        let new = if self.all_pairs {
            let then = (self.sites.place(member.moment, address), member.sort);
            let now = (self.sites.place(self.now.moment, address), self.now.sort);
            self.findings.told.insert((then.min(now), then.max(now)))
        } else {
            self.findings.partners.len() < MAX_PARTNERS && !self.has_told(member, address)
        };
        if new {
            self.findings.partners.push(Partner { moment: member.moment, address, member });
        }
        true
    }

    /// Whether the present access was told with the same place of the same thread.
    fn has_told(&self, member: Member, address: u64) -> bool {
        let place = self.sites.place(member.moment, address);
        self.findings.partners.iter().any(|told| {
            told.member.slot == member.slot && self.sites.place(told.moment, told.address) == place
        })
    }

    /// The cell's new value: the present access in place of those that it covers.
    fn remember(
        &mut self,
        (cell, address, count): (Cell, u64, u32),
        members: &mut Vec<Member>,
        clean: bool,
    ) -> Cell {
        let before = members.len();
        members.retain(|&old| !self.replaces(old, address));
        if members.len() + 1 == before
            && let Some(crowd) = cell.as_crowd()
            && self.crowds.members(crowd).contains(&self.now)
        {
            // It replaces nothing but its own earlier self.
            self.crowds.stay(cell, self.now.moment, clean);
            return cell;
        }
        members.push(self.now);
        if let Some(simple) = pack(members) {
            self.crowds.dropped(cell, count);
            return simple;
        }
        match self.crowds.known_step(cell, count, self.now.moment) {
            Some(new) => new,
            None => self.crowds.step((cell, count), self.now.moment, members, clean),
        }
    }

    /// Whether an earlier access need not be remembered beside the present one.
    fn replaces(&self, old: Member, address: u64) -> bool {
        if self.all_pairs {
            return old.slot == self.now.slot
                && old.sort == self.now.sort
                && self.sites.place(old.moment, address) == self.sites.place(self.now.moment, address);
        }
        old.yields(self.now.sort, self.clock)
    }
}

/// A plain access on its way through cells: what most cells want to know of it.
pub(crate) struct Passing<'a> {
    pub(crate) now: Epoch,
    pub(crate) writes: bool,
    /// What its thread has seen.
    pub(crate) clock: &'a Clock,
}

impl Passing<'_> {
    /// Steps `count` cells that say the same on, if the access races with nothing that they
    /// remember and that is soon found out: FastTrack's cases, and crowds that know the way.
    /// `false`, and nothing changed, otherwise. `site` is asked for the access's site if need be.
    ///
    /// Where its thread read or wrote these bytes, as it does now, at the same epoch, nothing is
    /// added: whatever races with this access races with that one (FastTrack's "same epoch").
    #[inline(always)]
    pub(crate) fn step(
        &self,
        (cell, count): (&mut Cell, u32),
        (sites, crowds): (&mut Sites, &mut Crowds),
        mut site: impl FnMut(&mut Sites) -> u32,
    ) -> bool {
        let Passing { now, writes, clock } = *self;
        if cell.is_crowd() {
            let moment = Moment::new(site(sites), now.clock);
            return self.step_crowd((cell, count), moment, crowds);
        }
        let (write, read) = (sites.epoch(cell.write()), sites.epoch(cell.read()));
        if !clock.covers(write) {
            return false;
        }
        if writes {
            if !clock.covers(read) {
                return false;
            }
            if write != now || (read != now && cell.read() != Moment::NONE) {
                cell.set_written(Moment::new(site(sites), now.clock));
            }
            return true;
        }
        if read == now {
            return true;
        }
        let moment = Moment::new(site(sites), now.clock);
        if clock.covers(read) {
            cell.set_read(moment);
        } else {
            *cell = crowds.join(*cell, count, (write.thread, read.thread), self.member(moment));
        }
        true
    }

    /// The same for cells that are a crowd; `moment` is the access's.
    #[inline(always)]
    pub(crate) fn step_crowd(
        &self,
        (cell, count): (&mut Cell, u32),
        moment: Moment,
        crowds: &mut Crowds,
    ) -> bool {
        step_crowd((cell, count), self.member(moment), self.clock, crowds)
    }

    /// What becomes of each further cell that says `old`, if [`Self::step`] made `new` of one: not where a cell
    /// comes to name a crowd or no longer does, since those are counted.
    #[inline(always)]
    pub(crate) fn known(old: Cell, new: Cell) -> Option<(Cell, Cell)> {
        (old == new || !(old.is_crowd() || new.is_crowd())).then_some((old, new))
    }

    /// [`Self::step`] for one of many cells; `known` is what became of one of them, if that holds of each that says the same.
    #[inline(always)]
    pub(crate) fn step_known(
        &self,
        cell: &mut Cell,
        (sites, crowds): (&mut Sites, &mut Crowds),
        site: impl FnMut(&mut Sites) -> u32,
        known: &mut Option<(Cell, Cell)>,
    ) -> bool {
        if let Some((old, new)) = *known
            && *cell == old
        {
            *cell = new;
            return true;
        }
        let old = *cell;
        let ordered = self.step((&mut *cell, 1), (sites, crowds), site);
        *known = Passing::known(old, *cell).or(*known);
        ordered
    }

    fn member(&self, moment: Moment) -> Member {
        Member { moment, slot: self.now.thread, sort: Sort::plain(self.writes) }
    }
}

#[inline(never)]
fn step_crowd((cell, count): (&mut Cell, u32), now: Member, clock: &Clock, crowds: &mut Crowds) -> bool {
    match crowds.advance(*cell, count, now, clock) {
        Some(new) => {
            // Memory that is not written need not be written back.
            if new != *cell {
                *cell = new;
            }
            true
        }
        None => false,
    }
}
