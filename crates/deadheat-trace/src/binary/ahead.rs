//! What was decoded of a stream and is not delivered yet.
//!
//! Plain accesses lie side by side, so that they are handed over as one slice; everything else
//! lies in a second list that says before which of them it comes.

use deadheat_core::event::Event;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain, Strided};

use super::cursor::Due;
use crate::error::Error;

/// How many plain accesses are decoded ahead, but for a few.
const PLAINS: usize = 256;

/// How many other entries are decoded ahead, but for a few.
const OTHERS: usize = 128;

/// How many accesses one step of a burst may add.
pub(super) const STEP: usize = 8;

const BLANK: Plain =
    Plain { address: 0, place: PlaceId::UNKNOWN, stack: StackId::EMPTY, form: Form::from_bits(0) };

/// What is no plain access made once.
pub(super) enum What {
    /// So many turns of a loop; [`Ahead::body`] gives its accesses.
    Loop(Loop),
    /// An event.
    Event(Event),
    /// A bare stamp.
    Mark,
    /// The thread is given a name.
    Name(Box<str>),
    /// So many returns from functions that nobody entered.
    Excess(u64),
}

/// A loop of plain accesses.
#[derive(Clone, Copy)]
pub(super) struct Loop {
    /// The first of its accesses among all loops'.
    first: u32,
    /// How many accesses a turn makes.
    pub(super) len: u32,
    /// How often it goes round.
    pub(super) turns: u32,
}

/// An entry of the second list.
pub(super) struct Other {
    /// How many plain accesses of the same filling come before it.
    pub(super) at: usize,
    /// The moment for which it has to wait; 0 if it follows what is before it at once.
    pub(super) due: Due,
    pub(super) what: What,
}

/// What comes behind the last entry.
pub(super) enum Behind {
    /// More, to be decoded.
    More,
    /// The stream's end.
    End,
    /// A fault.
    Fault(Error),
}

/// Decoded entries in the stream's order.
pub(super) struct Ahead {
    plains: Vec<Plain>,
    /// How many of `plains` count.
    count: usize,
    others: Vec<Other>,
    /// The accesses of all loops.
    bodies: Vec<Strided>,
    /// How many entries there were when the last record was read that is no event: a repeat
    /// repeats the last entry only if there are more.
    solid: usize,
    /// Nothing behind the last entry may be decoded yet.
    barred: bool,
    pub(super) behind: Behind,
}

impl Ahead {
    /// An empty one.
    pub(super) fn new() -> Ahead {
        let (plains, others, bodies) = (vec![BLANK; PLAINS], Vec::new(), Vec::new());
        Ahead { plains, count: 0, others, bodies, solid: 0, barred: false, behind: Behind::More }
    }

    /// Forgets all entries.
    pub(super) fn clear(&mut self) {
        self.others.clear();
        self.bodies.clear();
        (self.count, self.solid, self.barred) = (0, 0, false);
        self.behind = Behind::More;
    }

    /// The plain accesses.
    #[inline(always)]
    pub(super) fn plains(&self) -> &[Plain] {
        &self.plains[..self.count]
    }

    /// The other entries.
    #[inline(always)]
    pub(super) fn others(&self) -> &[Other] {
        &self.others
    }

    /// How many plain accesses there are.
    #[inline(always)]
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Whether decoding should stop.
    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        self.count > PLAINS - STEP || self.has_enough_others()
    }

    /// Lends the room for plain accesses and how many of them count, for a loop that adds many;
    /// until [`Self::give_back`] nothing else may be added.
    #[inline(always)]
    pub(super) fn lend(&mut self) -> (Vec<Plain>, usize) {
        (std::mem::take(&mut self.plains), self.count)
    }

    /// Takes back what was lent.
    #[inline(always)]
    pub(super) fn give_back(&mut self, plains: Vec<Plain>, count: usize) {
        (self.plains, self.count) = (plains, count);
    }

    /// Adds a plain access.
    #[inline(always)]
    pub(super) fn plain(&mut self, plain: Plain) {
        match self.plains.get_mut(self.count) {
            Some(room) => *room = plain,
            None => self.plains.push(plain),
        }
        self.count += 1;
    }

    /// Adds another entry.
    #[inline(always)]
    pub(super) fn other(&mut self, due: Due, what: What) {
        self.others.push(Other { at: self.count, due, what });
    }

    /// Adds an event behind `count` plain accesses, while their room is lent.
    #[inline(always)]
    pub(super) fn event(&mut self, count: usize, due: Due, event: Event) {
        self.others.push(Other { at: count, due, what: What::Event(event) });
    }

    /// Adds `turns` turns of a loop of these accesses behind `count` plain accesses, while their room is lent.
    pub(super) fn looped(&mut self, count: usize, turns: u32, body: impl Iterator<Item = Strided>) {
        let first = self.bodies.len();
        self.bodies.extend(body);
        let len = (self.bodies.len() - first) as u32;
        let what = What::Loop(Loop { first: first as u32, len, turns });
        self.others.push(Other { at: count, due: 0, what });
    }

    /// The accesses of a turn of a loop.
    pub(super) fn body(&self, Loop { first, len, .. }: Loop) -> &[Strided] {
        &self.bodies[first as usize..(first + len) as usize]
    }

    /// Whether no more other entries should be decoded.
    #[inline(always)]
    pub(super) fn has_enough_others(&self) -> bool {
        self.others.len() >= OTHERS || self.barred
    }

    /// Notes that a record was read that is no event, behind `count` plain accesses.
    #[inline(always)]
    pub(super) fn solidify(&mut self, count: usize) {
        self.solid = count + self.others.len();
    }

    /// Lets nothing more be decoded until all is delivered.
    pub(super) fn bar(&mut self) {
        self.barred = true;
    }

    /// Adds repeats to the last event; `false` if the last record was none.
    #[cold]
    pub(super) fn repeat(&mut self, more: u64, thread: ThreadId) -> bool {
        if self.count + self.others.len() == self.solid {
            return false;
        }
        if self.others.last().is_none_or(|last| last.at < self.count) {
            self.count -= 1;
            let event = self.plains[self.count].event(thread);
            self.other(0, What::Event(event));
        }
        let Some(Other { what: What::Event(event), .. }) = self.others.last_mut() else { return false };
        let times = u64::from(event.times).saturating_add(more);
        event.times = u32::try_from(times).unwrap_or(u32::MAX);
        true
    }
}
