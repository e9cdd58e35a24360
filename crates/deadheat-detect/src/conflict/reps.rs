//! Representatives: the latest access of a class to the same bytes of a cell, and the first of
//! its fork/join segment.
//!
//! Invariant: the chain of a cell is in the order of latest accesses, the latest first. So when an
//! access finds its own representative, all behind it were met by the class's last access, at a
//! time when they were what they are now: met once, they need not be met again.

use deadheat_core::race::LockSetId;

use super::judge::Judge;
use super::pairs::Instance;
use crate::clock::blocks::Blocks;

/// No representative.
pub(super) const NONE: u32 = u32::MAX;

/// When an access came, and which of its class's counter it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: u64,
    pub(super) ordinal: u64,
}

/// The bytes of a cell that a representative stands for, and whole accesses that touched them.
pub(super) trait Extent: Copy {
    /// An access from `access.0`, `access.1` bytes, clipped to a cell.
    fn new(base: u64, clip: (u64, u64), access: (u64, u64)) -> Self;
    /// Whether it stands for the same bytes.
    fn same(&self, other: &Self) -> bool;
    /// Whether any of the bytes from `clip.0` to `clip.1` are among its own.
    fn meets(&self, base: u64, clip: (u64, u64)) -> bool;
    /// The first of these bytes whose races are not declared benign.
    fn common(&self, base: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64>;
    /// The first access: address and size.
    fn first(&self, base: u64) -> (u64, u64);
    /// The latest access.
    fn last(&self, base: u64) -> (u64, u64);
    /// `newer` is the latest access now, and the first too if `fresh` says so.
    fn advance(&mut self, newer: &Self, fresh: bool);
    /// What is left of it without the bytes from `gone.0` to `gone.1`; where that is two parts,
    /// the larger one first.
    fn without(&self, base: u64, gone: (u64, u64)) -> [Option<Self>; 2];
}

/// What an access does, as far as conflicts go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Sort {
    pub(super) writes: bool,
    pub(super) atomic: bool,
}

/// A representative. In granules it fills one line of a cache, and to look at it takes no other
/// but its site.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub(super) struct Rep<E> {
    pub(super) class: u32,
    next: u32,
    pub(super) site: u32,
    pub(super) locks: LockSetId,
    pub(super) sort: Sort,
    /// The clock of the latest access, in the slot of its class.
    pub(super) clock: u32,
    /// The same in clocks of fork and join alone.
    pub(super) family_clock: u32,
    first: Moment,
    last: Moment,
    pub(super) extent: E,
}

impl<E: Extent> Rep<E> {
    pub(super) fn first_instance(&self, base: u64) -> Instance {
        let (Moment { at, ordinal }, (address, size)) = (self.first, self.extent.first(base));
        Instance { class: self.class, at, ordinal, address, size }
    }

    pub(super) fn last_instance(&self, base: u64) -> Instance {
        let (Moment { at, ordinal }, (address, size)) = (self.last, self.extent.last(base));
        Instance { class: self.class, at, ordinal, address, size }
    }
}

/// How many representatives a cell may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In all.
    pub(super) per_range: usize,
    /// Of a thread at a place with the same bytes.
    pub(super) per_place: usize,
}

/// All representatives of one sort of cell.
#[derive(Debug)]
pub(super) struct Reps<E> {
    all: Vec<Rep<E>>,
    free: u32,
    live: usize,
    pub(super) limits: Limits,
    /// How many gave way to others.
    pub(super) forgotten: u64,
}

impl<E: Extent> Reps<E> {
    pub(super) fn new(limits: Limits) -> Self {
        Self { all: Vec::new(), free: NONE, live: 0, limits, forgotten: 0 }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.live
    }

    /// Meets those of a chain whose latest access came at `since` or later.
    #[inline]
    pub(super) fn walk(&self, head: u32, since: u64, (base, clip): (u64, (u64, u64)), judge: &mut Judge<'_>) {
        let mut number = head;
        while number != NONE {
            let rep = &self.all[number as usize];
            if rep.last.at < since {
                return;
            }
            judge.look(rep, base, clip);
            number = rep.next;
        }
    }

    /// The access touches the bytes from `clip.0` to `clip.1` of a cell of its own sort: meets
    /// what came since the last such access of its class, and is the chain's first then. Gives
    /// what came since: positions from this on.
    #[inline]
    pub(super) fn visit(
        &mut self,
        head: &mut u32,
        (base, clip): (u64, (u64, u64)),
        judge: &mut Judge<'_>,
    ) -> u64 {
        let extent = E::new(base, clip, (judge.now.address, judge.now.size));
        let last = Moment { at: judge.now.at, ordinal: judge.now.ordinal };
        let (mut before, mut number, mut length) = (NONE, *head, 0);
        while number != NONE {
            let rep = &self.all[number as usize];
            if rep.class == judge.now.class && rep.extent.same(&extent) {
                break;
            }
            judge.look(rep, base, clip);
            length += 1;
            (before, number) = (number, rep.next);
        }
        if number == NONE {
            let rep = Rep {
                class: judge.now.class,
                next: NONE,
                site: judge.entry.site,
                locks: judge.entry.class.locks,
                sort: judge.sort,
                clock: judge.clock,
                family_clock: judge.family_clock,
                first: last,
                last,
                extent,
            };
            self.push(head, length, rep);
            return 0;
        }
        let next = self.all[number as usize].next;
        if before != NONE {
            self.all[before as usize].next = next;
            self.all[number as usize].next = *head;
            *head = number;
        }
        let rep = &mut self.all[number as usize];
        let since = rep.last.at + 1;
        let fresh = rep.family_clock != judge.family_clock;
        if fresh {
            rep.first = last;
        }
        rep.extent.advance(&extent, fresh);
        (rep.last, rep.clock, rep.family_clock) = (last, judge.clock, judge.family_clock);
        since
    }

    /// A class is new to a cell, which has `length` others.
    fn push(&mut self, head: &mut u32, length: usize, rep: Rep<E>) {
        if length >= self.limits.per_place
            && let Some((before, number)) = self.one_too_many(*head, length, &rep)
        {
            let next = self.all[number as usize].next;
            match before {
                NONE => *head = next,
                _ => self.all[before as usize].next = next,
            }
            self.release(number);
            self.forgotten += 1;
        }
        let number = self.take(Rep { next: *head, ..rep });
        *head = number;
    }

    /// The one of a full chain that gives way, with the one before it: the longest unused of the
    /// same thread and place, if these are too many, or of all.
    fn one_too_many(&self, head: u32, length: usize, rep: &Rep<E>) -> Option<(u32, u32)> {
        let (mut before, mut number) = (NONE, head);
        let (mut last, mut last_alike, mut alike) = (None, None, 0);
        while number != NONE {
            let other = &self.all[number as usize];
            last = Some((before, number));
            if other.site == rep.site && other.extent.same(&rep.extent) {
                last_alike = last;
                alike += 1;
            }
            (before, number) = (number, other.next);
        }
        if alike >= self.limits.per_place {
            last_alike
        } else if length >= self.limits.per_range {
            last
        } else {
            None
        }
    }

    /// Takes the bytes from `gone.0` to `gone.1` out of a chain.
    pub(super) fn clear(&mut self, head: &mut u32, base: u64, gone: (u64, u64)) {
        let (mut before, mut number, mut length) = (NONE, *head, 0);
        while number != NONE {
            let rep = self.all[number as usize];
            let [larger, smaller] = rep.extent.without(base, gone);
            match larger {
                Some(left) => {
                    self.all[number as usize].extent = left;
                    before = number;
                    length += 1;
                    if let Some(extent) = smaller {
                        if length < self.limits.per_range {
                            let split = self.take(Rep { extent, ..rep });
                            self.all[number as usize].next = split;
                            before = split;
                            length += 1;
                        } else {
                            self.forgotten += 1;
                        }
                    }
                }
                None => {
                    match before {
                        NONE => *head = rep.next,
                        _ => self.all[before as usize].next = rep.next,
                    }
                    self.release(number);
                }
            }
            number = rep.next;
        }
    }

    /// Drops a whole chain; how many it had.
    pub(super) fn drop_all(&mut self, head: &mut u32) -> u64 {
        let mut count = 0;
        while *head != NONE {
            let number = *head;
            *head = self.all[number as usize].next;
            self.release(number);
            count += 1;
        }
        count
    }

    fn take(&mut self, rep: Rep<E>) -> u32 {
        self.live += 1;
        if self.free == NONE {
            self.all.push(rep);
            return self.all.len() as u32 - 1;
        }
        let number = self.free;
        self.free = self.all[number as usize].next;
        self.all[number as usize] = rep;
        number
    }

    fn release(&mut self, number: u32) {
        self.live -= 1;
        self.all[number as usize].next = self.free;
        self.free = number;
    }
}

const _: () = assert!(size_of::<Rep<Bytes>>() == 64);

/// Bytes of a granule of eight, touched by accesses of at most [`super::shadow::FINE_MAX`] bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    mask: u8,
    first: Shape,
    last: Shape,
}

/// A small access: where it begins, seen from the granule, and its size.
#[derive(Clone, Copy, Debug)]
struct Shape {
    offset: i8,
    size: u8,
}

impl Shape {
    fn access(self, base: u64) -> (u64, u64) {
        (base.wrapping_add_signed(self.offset.into()), self.size.into())
    }
}

/// The bytes of a granule from `clip.0` to `clip.1`, which may be beyond it.
fn mask(base: u64, clip: (u64, u64)) -> u8 {
    let from = clip.0.saturating_sub(base).min(8) as u32;
    let to = clip.1.saturating_sub(base).min(8) as u32;
    ((1_u32 << to) - 1) as u8 & !((1_u32 << from) - 1) as u8
}

impl Extent for Bytes {
    #[inline]
    fn new(base: u64, clip: (u64, u64), access: (u64, u64)) -> Self {
        let shape = Shape { offset: access.0.wrapping_sub(base) as i8, size: access.1 as u8 };
        Self { mask: mask(base, clip), first: shape, last: shape }
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.mask == other.mask
    }

    #[inline]
    fn meets(&self, base: u64, clip: (u64, u64)) -> bool {
        self.mask & mask(base, clip) != 0
    }

    fn common(&self, base: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64> {
        let common = self.mask & mask(base, clip);
        (0..8).filter(|bit| common >> bit & 1 != 0).map(|bit| base + bit).find(|&at| !blocks.is_benign(at))
    }

    fn first(&self, base: u64) -> (u64, u64) {
        self.first.access(base)
    }

    fn last(&self, base: u64) -> (u64, u64) {
        self.last.access(base)
    }

    #[inline]
    fn advance(&mut self, newer: &Self, fresh: bool) {
        if fresh {
            self.first = newer.first;
        }
        self.last = newer.last;
    }

    fn without(&self, base: u64, gone: (u64, u64)) -> [Option<Self>; 2] {
        let left = self.mask & !mask(base, gone);
        [(left != 0).then_some(Self { mask: left, ..*self }), None]
    }
}

/// Bytes of a larger cell, touched by larger accesses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    clip: (u64, u64),
    first: (u64, u64),
    last: (u64, u64),
}

impl Extent for Span {
    fn new(_: u64, clip: (u64, u64), access: (u64, u64)) -> Self {
        Self { clip, first: access, last: access }
    }

    #[inline]
    fn same(&self, other: &Self) -> bool {
        self.clip == other.clip
    }

    #[inline]
    fn meets(&self, _: u64, clip: (u64, u64)) -> bool {
        self.clip.0.max(clip.0) < self.clip.1.min(clip.1)
    }

    fn common(&self, _: u64, clip: (u64, u64), blocks: &Blocks) -> Option<u64> {
        blocks.first_not_benign(self.clip.0.max(clip.0), self.clip.1.min(clip.1))
    }

    fn first(&self, _: u64) -> (u64, u64) {
        self.first
    }

    fn last(&self, _: u64) -> (u64, u64) {
        self.last
    }

    fn advance(&mut self, newer: &Self, fresh: bool) {
        if fresh {
            self.first = newer.first;
        }
        self.last = newer.last;
    }

    fn without(&self, _: u64, gone: (u64, u64)) -> [Option<Self>; 2] {
        let part = |start: u64, end: u64| (start < end).then_some(Self { clip: (start, end), ..*self });
        let (start, end) = self.clip;
        match (part(start, end.min(gone.0)), part(start.max(gone.1), end)) {
            (Some(low), Some(high)) if high.clip.1 - high.clip.0 > low.clip.1 - low.clip.0 => {
                [Some(high), Some(low)]
            }
            (None, high) => [high, None],
            parts => parts.into(),
        }
    }
}
