//! Crowds: the accesses of a cell that remembers more than one plain write and one plain read.
//!
//! Many cells often share one past (a table filled by one thread and read by all): a step from
//! one cell state to another is looked up in a small table first, and cells that took the same
//! step share the crowd. A crowd whose cells all take a step together is changed in place.
//!
//! Invariants: a crowd's `version` changes whenever its members do, so an entry of the table of
//! steps is valid if and only if the versions that it names are the present ones. No member of a
//! crowd covers another: what a later access makes needless is left out.

use deadheat_core::access::{Access, Mode};
use deadheat_core::rule::{Epoch, conflicts, races};

use super::cell::{Cell, Moment, NUMBERS};
use crate::clock::vector::Clock;
use crate::marks::Marks;
use crate::shadow::{Keeper, Past};

/// What an access is to others: whether it writes, whether it is atomic.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Sort {
    PlainRead = 0,
    PlainWrite = 1,
    AtomicRead = 2,
    AtomicWrite = 3,
}

impl Sort {
    pub(crate) fn of(access: &Access) -> Self {
        match (access.atomic.is_some(), access.mode.writes()) {
            (false, false) => Self::PlainRead,
            (false, true) => Self::PlainWrite,
            (true, false) => Self::AtomicRead,
            (true, true) => Self::AtomicWrite,
        }
    }

    /// That of a plain access.
    #[inline(always)]
    pub(crate) const fn plain(writes: bool) -> Self {
        if writes { Self::PlainWrite } else { Self::PlainRead }
    }

    /// Mode and atomicity, as the race rule wants them.
    pub(crate) const fn rule(self) -> (Mode, bool) {
        match self {
            Self::PlainRead => (Mode::Read, false),
            Self::PlainWrite => (Mode::Write, false),
            Self::AtomicRead => (Mode::Read, true),
            Self::AtomicWrite => (Mode::Write, true),
        }
    }

    /// Whether whatever conflicts with `other` also conflicts with this.
    ///
    /// An access that happens before such a later one need not be remembered: a still later
    /// access that races with the first is unordered with the second too (it would otherwise
    /// come after the first), and conflicts with it.
    pub(crate) const fn covers(self, other: Sort) -> bool {
        match self {
            Self::PlainWrite => true,
            Self::PlainRead => matches!(other, Self::PlainRead | Self::AtomicRead),
            Self::AtomicWrite => matches!(other, Self::AtomicRead | Self::AtomicWrite),
            Self::AtomicRead => matches!(other, Self::AtomicRead),
        }
    }
}

const SORTS: [Sort; 4] = [Sort::PlainRead, Sort::PlainWrite, Sort::AtomicRead, Sort::AtomicWrite];

/// For each sort, as bits by sort: the earlier ones that it conflicts with, and those that it covers.
const RELATIONS: [(u8, u8); SORTS.len()] = {
    let mut relations = [(0, 0); SORTS.len()];
    let mut pair = 0;
    while pair < SORTS.len() * SORTS.len() {
        let (later, earlier) = (SORTS[pair / SORTS.len()], SORTS[pair % SORTS.len()]);
        let ((mode, atomic), (earlier_mode, earlier_atomic)) = (later.rule(), earlier.rule());
        let (conflicting, covered) = &mut relations[later as usize];
        *conflicting |= (conflicts(earlier_mode, earlier_atomic, mode, atomic) as u8) << earlier as u8;
        *covered |= (later.covers(earlier) as u8) << earlier as u8;
        pair += 1;
    }
    relations
};

/// One remembered access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Member {
    pub(crate) moment: Moment,
    /// The moment's slot.
    pub(crate) slot: u32,
    pub(crate) sort: Sort,
}

const _: () = assert!(size_of::<Member>() == 16);

impl Member {
    /// When it was.
    #[inline]
    pub(crate) const fn epoch(self) -> Epoch {
        Epoch { thread: self.slot, clock: self.moment.clock() }
    }

    /// Whether it races with a later access of a thread that has seen `clock`.
    #[inline]
    pub(crate) fn races(self, later: Sort, clock: &Clock) -> bool {
        races(self.epoch(), self.sort.rule(), later.rule(), clock.get(self.slot))
    }

    /// Whether it need not be remembered beside a later access of a thread that has seen `clock`.
    #[inline]
    pub(crate) fn yields(self, later: Sort, clock: &Clock) -> bool {
        later.covers(self.sort) && clock.covers(self.epoch())
    }
}

#[derive(Debug)]
struct Crowd {
    members: Vec<Member>,
    version: u32,
    /// How many cells name it, or more, but never less. [`PINNED`]: nobody counts.
    names: u32,
    /// An epoch, and the sorts (as bits) of its accesses that are members and raced with no other: the like of them
    /// change nothing for as long as the members stay, since what a thread has seen only grows.
    settled: (Epoch, u8),
}

const PINNED: u32 = u32::MAX;
const NO_EPOCH: Epoch = Epoch { thread: 0, clock: 0 };

impl Default for Crowd {
    fn default() -> Self {
        Self { members: Vec::new(), version: 0, names: 0, settled: (NO_EPOCH, 0) }
    }
}

impl Crowd {
    /// The members are no longer what they were.
    fn changed(&mut self) {
        self.version = self.version.wrapping_add(1);
        self.settled.1 = 0;
    }

    /// A member raced with no other.
    fn settle(&mut self, member: Member) {
        if self.settled.0 != member.epoch() {
            self.settled = (member.epoch(), 0);
        }
        self.settled.1 |= 1 << member.sort as u8;
    }
}

/// A step taken: from a cell, by a moment, to a crowd.
#[derive(Clone, Copy, Debug)]
struct Step {
    from: Cell,
    by: Moment,
    version: u32,
    to: u32,
    to_version: u32,
    /// No member of `from` raced with the moment. It stays so: a thread's clock only grows.
    clean: bool,
}

const STEPS: usize = 1 << 10;

const NO_STEP: Step =
    Step { from: Cell::EMPTY, by: Moment::NONE, version: 0, to: 0, to_version: 0, clean: false };

/// All crowds.
#[derive(Debug, Default)]
pub(crate) struct Crowds {
    crowds: Vec<Crowd>,
    free: Vec<u32>,
    /// Empty until the first step.
    steps: Vec<Step>,
    live: usize,
    made: usize,
}

impl Crowds {
    /// The members of a crowd.
    #[inline]
    pub(crate) fn members(&self, crowd: u32) -> &[Member] {
        &self.crowds[crowd as usize].members
    }

    /// Whether a cell is a crowd that is known to stay as it is by an access of that epoch and sort, which races with no member.
    #[inline(always)]
    pub(crate) fn stays(&self, cell: Cell, now: Epoch, sort: Sort) -> bool {
        let Some(number) = cell.as_crowd() else { return false };
        let (epoch, sorts) = self.crowds[number as usize].settled;
        epoch == now && sorts >> sort as u8 & 1 != 0
    }

    /// What `count` cells of a crowd become by an access of a thread that has seen `clock`, if it
    /// races with no member and that is soon found out.
    ///
    /// Its simple model is the judge's own way, which copies the members.
    pub(crate) fn advance(&mut self, cell: Cell, count: u32, now: Member, clock: &Clock) -> Option<Cell> {
        let number = cell.as_crowd()?;
        let crowd = &mut self.crowds[number as usize];
        if crowd.members.len() > u64::BITS as usize {
            return None;
        }
        let (conflicting, covered) = RELATIONS[now.sort as usize];
        let (mut yielding, mut repeated) = (0_u64, false);
        for (index, &member) in crowd.members.iter().enumerate() {
            let seen = clock.covers(member.epoch());
            // A plain write over an atomic's value has more to do than to be remembered.
            let overwrites = now.sort == Sort::PlainWrite && member.sort == Sort::AtomicWrite;
            if overwrites || (!seen && conflicting >> member.sort as u8 & 1 != 0) {
                return None;
            }
            yielding |= u64::from(seen && covered >> member.sort as u8 & 1 != 0) << index;
            repeated |= member.sort == now.sort && member.epoch() == now.epoch();
        }
        if repeated {
            crowd.settle(now);
            return Some(cell);
        }
        if crowd.names != count {
            let to = self.clean_step(cell, count, now.moment)?;
            if let Some(number) = to.as_crowd() {
                self.crowds[number as usize].settle(now);
            }
            return Some(to);
        }
        if yielding == 0 {
            crowd.members.push(now);
        } else if yielding & (yielding - 1) == 0 {
            crowd.members[yielding.trailing_zeros() as usize] = now;
        } else {
            crowd.members.retain(|member| !member.yields(now.sort, clock));
            crowd.members.push(now);
        }
        crowd.changed();
        if crowd.members.len() > 2 || matches!(now.sort, Sort::AtomicRead | Sort::AtomicWrite) {
            return Some(cell);
        }
        let packed = pack(&crowd.members);
        if packed.is_some() {
            self.release(number);
        }
        packed.or(Some(cell))
    }

    /// The cell after a plain read that races with nothing and joins the one, unordered with it,
    /// that a simple cell remembers. `slots` are those of the cell's write and read.
    #[inline(never)]
    pub(crate) fn join(&mut self, cell: Cell, count: u32, (write, read): (u32, u32), now: Member) -> Cell {
        if let Some(known) = self.known_step(cell, count, now.moment) {
            return known;
        }
        let write = Member { moment: cell.write(), slot: write, sort: Sort::PlainWrite };
        let read = Member { moment: cell.read(), slot: read, sort: Sort::PlainRead };
        let first = usize::from(write.moment == Moment::NONE);
        self.step((cell, count), now.moment, &[write, read, now][first..], true)
    }

    /// Where the step of `count` cells by a moment leads, if it was taken before without a race.
    fn clean_step(&mut self, from: Cell, count: u32, by: Moment) -> Option<Cell> {
        if self.steps.get(place(from, by))?.clean { self.known_step(from, count, by) } else { None }
    }

    /// Where the step of `count` cells by a moment leads, if it was taken before.
    pub(crate) fn known_step(&mut self, from: Cell, count: u32, by: Moment) -> Option<Cell> {
        let step = self.steps.get(place(from, by))?;
        if step.by != by || step.from != from || step.version != self.version(from) {
            return None;
        }
        let to = Cell::crowd(step.to);
        if self.crowds[step.to as usize].version != step.to_version {
            return None;
        }
        self.copied(to, count);
        self.dropped(from, count);
        Some(to)
    }

    /// A step that changed nothing: the moment is a member already.
    pub(crate) fn stay(&mut self, cell: Cell, by: Moment, clean: bool) {
        let Some(to) = cell.as_crowd() else { return };
        let version = self.version(cell);
        self.keep(Step { from: cell, version, by, to, to_version: version, clean });
    }

    /// What `count` cells become that took a step to the given members by a moment.
    pub(crate) fn step(
        &mut self,
        (from, count): (Cell, u32),
        by: Moment,
        members: &[Member],
        clean: bool,
    ) -> Cell {
        if let Some(number) = from.as_crowd()
            && self.crowds[number as usize].names == count
        {
            let crowd = &mut self.crowds[number as usize];
            crowd.changed();
            crowd.members.clear();
            crowd.members.extend_from_slice(members);
            return from;
        }
        let version = self.version(from);
        let number = self.make(members, count);
        let to_version = self.crowds[number as usize].version;
        self.keep(Step { from, version, by, to: number, to_version, clean });
        self.dropped(from, count);
        Cell::crowd(number)
    }

    /// The number of crowds made since the last sweep, and of those that it left.
    pub(crate) fn made_and_left(&self) -> (usize, usize) {
        (self.made, self.live)
    }

    /// Room for a mark for every crowd.
    pub(crate) fn marks(&self) -> Marks {
        Marks::below(self.crowds.len())
    }

    /// Frees every crowd that is not marked, and forgets all steps: the moments that they name
    /// may be others soon.
    pub(crate) fn sweep(&mut self, marks: &Marks) {
        self.live = 0;
        for number in 0..self.crowds.len() as u32 {
            if marks.has(number) {
                self.live += 1;
            } else if !self.crowds[number as usize].members.is_empty() {
                self.release(number);
            }
        }
        self.steps.fill(NO_STEP);
        self.made = 0;
    }

    /// The bytes that the crowds take.
    pub(crate) fn memory(&self) -> usize {
        let members: usize = self.crowds.iter().map(|crowd| crowd.members.capacity()).sum();
        members * size_of::<Member>() + self.crowds.capacity() * size_of::<Crowd>()
    }

    fn keep(&mut self, step: Step) {
        self.steps.resize(STEPS, NO_STEP);
        self.steps[place(step.from, step.by)] = step;
    }

    fn version(&self, from: Cell) -> u32 {
        from.as_crowd().map_or(0, |number| self.crowds[number as usize].version)
    }

    fn make(&mut self, members: &[Member], names: u32) -> u32 {
        self.made += 1;
        let number = self.free.pop().unwrap_or_else(|| {
            let number = self.crowds.len();
            assert!(number < NUMBERS, "more than {NUMBERS} sets of unordered accesses");
            self.crowds.push(Crowd::default());
            number as u32
        });
        let crowd = &mut self.crowds[number as usize];
        crowd.changed();
        crowd.names = names;
        crowd.members.extend_from_slice(members);
        number
    }

    fn release(&mut self, number: u32) {
        let crowd = &mut self.crowds[number as usize];
        crowd.changed();
        crowd.members.clear();
        self.free.push(number);
    }
}

fn place(from: Cell, by: Moment) -> usize {
    let mixed = (from.key() ^ by.bits().rotate_left(40)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> (64 - STEPS.ilog2())) as usize
}

/// The members as a simple cell, if they are at most one plain write and one plain read.
pub(crate) fn pack(members: &[Member]) -> Option<Cell> {
    let (mut write, mut read) = (Moment::NONE, Moment::NONE);
    for member in members {
        let place = match member.sort {
            Sort::PlainWrite => &mut write,
            Sort::PlainRead => &mut read,
            Sort::AtomicRead | Sort::AtomicWrite => return None,
        };
        if *place != Moment::NONE {
            return None;
        }
        *place = member.moment;
    }
    Some(Cell::new(write, read))
}

impl Keeper<Cell> for Crowds {
    #[inline]
    fn copied(&mut self, cell: Cell, more: u32) {
        if let Some(number) = cell.as_crowd() {
            let crowd = &mut self.crowds[number as usize];
            crowd.names = crowd.names.saturating_add(more);
        }
    }

    #[inline]
    fn dropped(&mut self, cell: Cell, fewer: u32) {
        if let Some(number) = cell.as_crowd() {
            let crowd = &mut self.crowds[number as usize];
            if crowd.names == PINNED {
                return;
            }
            crowd.names = crowd.names.saturating_sub(fewer);
            if crowd.names == 0 {
                self.release(number);
            }
        }
    }

    fn pin(&mut self, cell: Cell) {
        self.copied(cell, PINNED);
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::rule::conflicts;

    use super::*;

    #[test]
    fn what_covers_conflicts_with_all_that_the_covered_conflicts_with() {
        let sorts = [Sort::PlainRead, Sort::PlainWrite, Sort::AtomicRead, Sort::AtomicWrite];
        let conflict = |one: Sort, other: Sort| {
            let ((mode, atomic), (other_mode, other_atomic)) = (one.rule(), other.rule());
            conflicts(mode, atomic, other_mode, other_atomic)
        };
        for new in sorts {
            for old in sorts {
                let all = sorts.iter().all(|&later| !conflict(old, later) || conflict(new, later));
                assert_eq!(new.covers(old), all, "{new:?} {old:?}");
            }
        }
    }
}
