//! Judging one access against what its bytes remember, and remembering it.

use deadheat_core::ids::PlaceId;
use deadheat_core::rule::Epoch;
use rustc_hash::FxHashSet;

use super::cell::{Cell, Moment};
use super::crowd::{Crowds, Member, Sort, pack};
use super::shadow::Visitor;
use super::sites::Sites;
use crate::clock::vector::Clock;

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
    /// The races of the present access, at most one for each moment.
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
    pub(crate) sites: &'a Sites,
    pub(crate) crowds: &'a mut Crowds,
    pub(crate) findings: &'a mut Findings,
    pub(crate) all_pairs: bool,
}

impl Visitor for Judge<'_> {
    fn visit(&mut self, cell: Cell, address: u64) -> Cell {
        if self.all_pairs {
            return self.judge(cell, address);
        }
        let Judge { now, clock, sites, .. } = *self;
        let mut new = cell;
        let quick = match now.sort {
            Sort::PlainRead | Sort::PlainWrite => {
                let writes = now.sort == Sort::PlainWrite;
                repeats(cell, writes, now.epoch(), clock, sites)
                    || step(&mut new, writes, now, clock, sites, self.crowds)
            }
            Sort::AtomicRead | Sort::AtomicWrite => step_crowd(&mut new, now, clock, self.crowds),
        };
        if quick { new } else { self.judge(cell, address) }
    }

    fn share(&mut self, cell: Cell) {
        self.crowds.share(cell);
    }
}

impl Judge<'_> {
    fn judge(&mut self, cell: Cell, address: u64) -> Cell {
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
        let new = self.remember(cell, &mut members, clean);
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
            let then = (self.sites.place(member.moment), member.sort);
            let now = (self.sites.place(self.now.moment), self.now.sort);
            self.findings.told.insert((then.min(now), then.max(now)))
        } else {
            self.findings.partners.len() < MAX_PARTNERS && !self.has_told(member)
        };
        if new {
            self.findings.partners.push(Partner { moment: member.moment, address, member });
        }
        true
    }

    /// Whether the present access was told with the same place of the same thread.
    fn has_told(&self, member: Member) -> bool {
        self.findings.partners.iter().any(|told| {
            told.moment == member.moment
                || (told.member.slot == member.slot
                    && self.sites.place(told.moment) == self.sites.place(member.moment))
        })
    }

    /// The cell's new value: the present access in place of those that it covers.
    fn remember(&mut self, cell: Cell, members: &mut Vec<Member>, clean: bool) -> Cell {
        let before = members.len();
        members.retain(|&old| !self.replaces(old));
        if members.len() + 1 == before
            && let Some(crowd) = cell.as_crowd()
            && self.crowds.members(crowd).contains(&self.now)
        {
            // It replaces nothing but its own earlier self.
            self.crowds.stay(cell, self.now.moment, clean);
            return cell;
        }
        members.push(self.now);
        let new = pack(members).or_else(|| self.crowds.known_step(cell, self.now.moment));
        match new {
            Some(new) => {
                self.crowds.leave(cell, new);
                new
            }
            None => self.crowds.step(cell, self.now.moment, members, clean),
        }
    }

    /// Whether an earlier access need not be remembered beside the present one.
    fn replaces(&self, old: Member) -> bool {
        if self.all_pairs {
            return old.slot == self.now.slot
                && old.sort == self.now.sort
                && self.sites.place(old.moment) == self.sites.place(self.now.moment);
        }
        old.yields(self.now.sort, self.clock)
    }
}

/// Whether a plain access adds nothing to what a cell remembers: at the same epoch its thread did
/// as much to these bytes, so that whatever races with this access races with that one, and
/// nothing that the cell remembers races with either (FastTrack's "same epoch").
#[inline(always)]
pub(crate) fn repeats(cell: Cell, writes: bool, now: Epoch, clock: &Clock, sites: &Sites) -> bool {
    let (write, read) = (cell.write(), cell.read());
    if cell.is_crowd() {
        return false;
    }
    if sites.is_at(write, now) {
        return !writes || read == Moment::NONE || sites.is_at(read, now);
    }
    !writes && sites.is_at(read, now) && clock.covers(sites.epoch(write))
}

/// Steps a cell on by a plain access of a thread that has seen `clock`, if it races with nothing
/// that the cell remembers and that is soon found out: FastTrack's cases, and crowds that know
/// the way. `false`, and nothing changed, otherwise.
#[inline(always)]
pub(crate) fn step(
    cell: &mut Cell,
    writes: bool,
    now: Member,
    clock: &Clock,
    sites: &Sites,
    crowds: &mut Crowds,
) -> bool {
    let (write, read) = (cell.write(), cell.read());
    if cell.is_crowd() {
        return step_crowd(cell, now, clock, crowds);
    }
    let after_write = clock.covers(sites.epoch(write));
    if writes {
        if !after_write || read != Moment::NONE && !clock.covers(sites.epoch(read)) {
            return false;
        }
        cell.set_written(now.moment);
        return true;
    }
    if !after_write {
        return false;
    }
    if read != now.moment {
        if !clock.covers(sites.epoch(read)) {
            let slots = (sites.epoch(write).thread, sites.epoch(read).thread);
            *cell = crowds.join(*cell, slots, now);
            return true;
        }
        cell.set_read(now.moment);
    }
    true
}

#[inline(never)]
fn step_crowd(cell: &mut Cell, now: Member, clock: &Clock, crowds: &mut Crowds) -> bool {
    match crowds.advance(*cell, now, clock) {
        Some(new) => {
            *cell = new;
            true
        }
        None => false,
    }
}
