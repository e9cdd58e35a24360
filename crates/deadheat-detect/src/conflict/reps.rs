//! Representatives: the latest access of a class to the same bytes of a cell, and the first of
//! its fork/join segment.
//!
//! Invariant: those of a cell are in the order of latest accesses, the latest first. So when an
//! access finds its own representative, all behind it were met by the class's last access, at a
//! time when they were what they are now: met once, they need not be met again.
//!
//! A cell has none, one, or a chain of rows that name them with their classes, so that one is
//! found without a look at the others.

use deadheat_core::race::LockSetId;

use super::extent::{Bytes, Extent};
use super::judge::Judge;
use super::pairs::Instance;

/// No representative, and no row.
const NONE: u32 = u32::MAX;
/// The numbers below name representatives, those from here on rows.
const ROWS: u32 = 1 << 31;

/// When an access came, and which of its class's counter it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) at: u64,
    pub(super) ordinal: u64,
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
    /// Of the access under way.
    fn new(extent: E, judge: &Judge<'_>) -> Self {
        let now = Moment { at: judge.now.at, ordinal: judge.now.ordinal };
        Self {
            class: judge.now.class,
            site: judge.site,
            locks: judge.held,
            sort: judge.sort,
            clock: judge.clock,
            family_clock: judge.family_clock,
            first: now,
            last: now,
            extent,
        }
    }

    /// The access under way is the latest now: gives the position behind the one before.
    #[inline]
    fn advance(&mut self, extent: &E, judge: &Judge<'_>) -> u64 {
        let now = Moment { at: judge.now.at, ordinal: judge.now.ordinal };
        let since = self.last.at + 1;
        let fresh = self.family_clock != judge.family_clock;
        if fresh {
            self.first = now;
        }
        self.extent.advance(extent, fresh);
        (self.last, self.clock, self.family_clock) = (now, judge.clock, judge.family_clock);
        since
    }

    pub(super) fn first_instance(&self, base: u64) -> Instance {
        let (Moment { at, ordinal }, (address, size)) = (self.first, self.extent.first(base));
        Instance { class: self.class, at, ordinal, address, size }
    }

    pub(super) fn last_instance(&self, base: u64) -> Instance {
        let (Moment { at, ordinal }, (address, size)) = (self.last, self.extent.last(base));
        Instance { class: self.class, at, ordinal, address, size }
    }
}

/// What a cell has: nothing, a representative, or rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head(u32);

impl Head {
    pub(super) const EMPTY: Head = Head(NONE);

    #[inline]
    pub(super) fn is_empty(self) -> bool {
        self == Self::EMPTY
    }
}

/// The name of a representative.
#[derive(Clone, Copy, Debug)]
struct Item {
    class: u32,
    number: u32,
}

const ITEMS: usize = 7;

/// Some of a cell's representatives. All rows of a chain but the last are full.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Row {
    items: [Item; ITEMS],
    length: u32,
    next: u32,
}

const _: () = assert!(size_of::<Row>() == 64 && size_of::<Rep<Bytes>>() == 64);

/// How many representatives a cell may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// In all.
    pub(super) per_range: usize,
    /// In all, while its page is one thread's.
    pub(super) alone: usize,
    /// Of a thread at a place with the same bytes.
    pub(super) per_place: usize,
}

/// All representatives of one sort of cell.
#[derive(Debug)]
pub(super) struct Reps<E> {
    all: Vec<Rep<E>>,
    free: Vec<u32>,
    rows: Vec<Row>,
    free_rows: Vec<u32>,
    limits: Limits,
    /// What a cell had and what is left of it, while it is cleared.
    before: Vec<Item>,
    left: Vec<Item>,
    /// How many gave way to others.
    pub(super) forgotten: u64,
}

impl<E: Extent> Reps<E> {
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
            rows: Vec::new(),
            free_rows: Vec::new(),
            limits,
            before: Vec::new(),
            left: Vec::new(),
            forgotten: 0,
        }
    }

    /// How many there are, rows included.
    pub(super) fn len(&self) -> usize {
        self.all.len() - self.free.len() + self.rows.len() - self.free_rows.len()
    }

    /// Meets those of a cell whose latest access came at `since` or later.
    #[inline]
    pub(super) fn walk(
        &self,
        head: Head,
        since: u64,
        (base, clip): (u64, (u64, u64)),
        judge: &mut Judge<'_>,
    ) {
        let look = |number: u32, judge: &mut Judge<'_>| {
            let rep = &self.all[number as usize];
            let news = rep.last.at >= since;
            if news {
                judge.look(rep, base, clip);
            }
            news
        };
        let mut at = head.0;
        if at < ROWS {
            look(at, judge);
            return;
        }
        while at != NONE {
            let row = &self.rows[(at - ROWS) as usize];
            if !row.items[..row.length as usize].iter().all(|item| look(item.number, judge)) {
                return;
            }
            at = row.next;
        }
    }

    /// The access touches the bytes from `clip.0` to `clip.1` of a cell of its own sort: meets
    /// what came since the last such access of its class, and is the cell's first then. Gives
    /// what came since: positions from this on. `alone` says that all are of its own thread.
    #[inline]
    pub(super) fn visit(
        &mut self,
        (head, alone): (&mut Head, bool),
        (base, clip): (u64, (u64, u64)),
        judge: &mut Judge<'_>,
    ) -> u64 {
        let extent = E::new(base, clip, (judge.now.address, judge.now.size));
        let class = judge.now.class;
        let (mut at, mut length) = (head.0, 0);
        if at < ROWS {
            let rep = &mut self.all[at as usize];
            if rep.class == class && rep.extent.same(&extent) {
                return rep.advance(&extent, judge);
            }
            if !alone {
                judge.look(rep, base, clip);
            }
            let (class, number) = (rep.class, at);
            at = self.take_row(Item { class, number });
            head.0 = at;
            length = 1;
        } else {
            while at != NONE {
                let row = &self.rows[(at - ROWS) as usize];
                for item in &row.items[..row.length as usize] {
                    let rep = &self.all[item.number as usize];
                    if item.class == class && rep.extent.same(&extent) {
                        let item = *item;
                        self.push_front(*head, item, length);
                        return self.all[item.number as usize].advance(&extent, judge);
                    }
                    if !alone {
                        judge.look(rep, base, clip);
                    }
                    length += 1;
                }
                at = row.next;
            }
        }
        self.insert((head, alone), length, Rep::new(extent, judge));
        0
    }

    /// A class is new to a cell, which has `length` others.
    fn insert(&mut self, (head, alone): (&mut Head, bool), length: usize, rep: Rep<E>) {
        let number = self.take(rep);
        if length == 0 {
            head.0 = number;
            return;
        }
        let gone = self.one_too_many((*head, alone), length, &rep);
        let item = Item { class: rep.class, number };
        let gone = self.push_front(*head, item, gone.unwrap_or(length));
        if let Some(gone) = gone {
            self.free.push(gone.number);
            self.forgotten += 1;
        }
    }

    /// The place among `length` of the one that gives way: the longest unused of the same thread
    /// and place, if these are too many, or of all, if all are; of one thread's own the latest to
    /// write stays.
    fn one_too_many(&self, (head, alone): (Head, bool), length: usize, rep: &Rep<E>) -> Option<usize> {
        let Limits { per_range, alone: most_alone, per_place } = self.limits;
        let most = if alone { most_alone.min(per_range) } else { per_range };
        if length < most.min(per_place) {
            return None;
        }
        let (mut last, mut last_alike, mut alike) = (0, 0, 0);
        let mut written = rep.sort.writes;
        for (place, item) in self.items(head).enumerate() {
            let other = &self.all[item.number as usize];
            if written || !other.sort.writes || !alone {
                last = place;
            }
            written |= other.sort.writes;
            if other.site == rep.site && other.extent.same(&rep.extent) {
                last_alike = place;
                alike += 1;
            }
        }
        if alike >= per_place { Some(last_alike) } else { (length >= most).then_some(last) }
    }

    fn items(&self, head: Head) -> impl Iterator<Item = Item> {
        let mut at = head.0;
        std::iter::from_fn(move || {
            let row = (at != NONE).then(|| &self.rows[(at - ROWS) as usize])?;
            at = row.next;
            Some(&row.items[..row.length as usize])
        })
        .flatten()
        .copied()
    }

    /// Puts an item in front of a chain of rows, which gives up the one at `place`, if there is
    /// one there.
    #[inline]
    fn push_front(&mut self, head: Head, mut item: Item, mut place: usize) -> Option<Item> {
        let mut at = head.0;
        loop {
            let row = &mut self.rows[(at - ROWS) as usize];
            let length = row.length as usize;
            for slot in &mut row.items[..length.min(place.saturating_add(1))] {
                std::mem::swap(slot, &mut item);
            }
            if place < length {
                return Some(item);
            }
            place -= length;
            if row.next != NONE {
                at = row.next;
            } else if length < ITEMS {
                row.items[length] = item;
                row.length += 1;
                return None;
            } else {
                let next = self.take_row(item);
                self.rows[(at - ROWS) as usize].next = next;
                return None;
            }
        }
    }

    /// Takes the bytes from `gone.0` to `gone.1` out of a cell.
    pub(super) fn clear(&mut self, head: &mut Head, base: u64, gone: (u64, u64)) {
        let mut before = std::mem::take(&mut self.before);
        let mut left = std::mem::take(&mut self.left);
        self.unpack(head, &mut before);
        let mut most = before.len();
        for item in before.drain(..) {
            let rep = self.all[item.number as usize];
            let [larger, smaller] = rep.extent.without(base, gone);
            let Some(extent) = larger else {
                self.free.push(item.number);
                most -= 1;
                continue;
            };
            self.all[item.number as usize].extent = extent;
            left.push(item);
            let Some(extent) = smaller else { continue };
            if most < self.limits.per_range {
                let number = self.take(Rep { extent, ..rep });
                left.push(Item { number, ..item });
                most += 1;
            } else {
                self.forgotten += 1;
            }
        }
        for item in left.drain(..).rev() {
            match head.0 {
                NONE => head.0 = item.number,
                one if one < ROWS => {
                    let class = self.all[one as usize].class;
                    head.0 = self.take_row(Item { class, number: one });
                    self.push_front(*head, item, usize::MAX);
                }
                _ => {
                    self.push_front(*head, item, usize::MAX);
                }
            }
        }
        (self.before, self.left) = (before, left);
    }

    /// Drops all of a cell; how many it had.
    pub(super) fn drop_all(&mut self, head: &mut Head) -> u64 {
        if head.is_empty() {
            return 0;
        }
        let mut gone = std::mem::take(&mut self.before);
        self.unpack(head, &mut gone);
        let count = gone.len();
        self.free.extend(gone.drain(..).map(|item| item.number));
        self.before = gone;
        count as u64
    }

    /// Takes the names of all of a cell out of it.
    fn unpack(&mut self, head: &mut Head, items: &mut Vec<Item>) {
        if head.0 < ROWS {
            items.push(Item { class: self.all[head.0 as usize].class, number: head.0 });
        } else {
            items.extend(self.items(*head));
            let mut at = head.0;
            while at != NONE {
                self.free_rows.push(at);
                at = self.rows[(at - ROWS) as usize].next;
            }
        }
        *head = Head::EMPTY;
    }

    fn take(&mut self, rep: Rep<E>) -> u32 {
        if let Some(number) = self.free.pop() {
            self.all[number as usize] = rep;
            return number;
        }
        self.all.push(rep);
        self.all.len() as u32 - 1
    }

    /// A row of one.
    fn take_row(&mut self, item: Item) -> u32 {
        let row = Row { items: [item; ITEMS], length: 1, next: NONE };
        if let Some(at) = self.free_rows.pop() {
            self.rows[(at - ROWS) as usize] = row;
            return at;
        }
        self.rows.push(row);
        ROWS + self.rows.len() as u32 - 1
    }
}
