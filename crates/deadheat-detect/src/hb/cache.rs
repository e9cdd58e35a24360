//! The moments that each slot used last, by place and stack, each with the step from one cell
//! state to the next that it took last.
//!
//! A table for each slot, in which a moment has one place and, once another took that, the place
//! beside it if that is free. A miss only makes a moment twice, which costs a little memory until the next sweep.
//!
//! Invariant: an entry's step is from and to cells that do not change their meaning before the
//! next sweep (simple ones, or crowds that are shared), and no race was in it; as a thread's
//! clock only grows, none will be.

use deadheat_core::event::Event;

use super::cell::Cell;
use super::moments::How;
use crate::clock::threads::STALE;

const ENTRIES: usize = 1 << 8;

/// A moment and its last step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    code: u64,
    stretch: u64,
    /// A cell that the moment met without a race …
    pub(crate) from: Cell,
    /// … and what that cell became.
    pub(crate) to: Cell,
    how: How,
    /// The moment.
    pub(crate) moment: u32,
}

/// No access has this: its mode is none. No stretch is this one either.
const NOTHING: Entry =
    Entry { code: 0, stretch: STALE - 1, from: Cell::EMPTY, to: Cell::EMPTY, how: How(0), moment: 0 };

/// The tables of all slots.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
}

impl Cache {
    /// Where the entry of an access at this place and stack, made this way, is if it is known.
    #[inline]
    pub(crate) fn place(slot: u32, event: &Event, how: How) -> usize {
        let mixed = (code(event) ^ u64::from(how.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        slot as usize * ENTRIES + (mixed >> (64 - ENTRIES.ilog2())) as usize
    }

    /// The entry there, if it is of this access in this stretch.
    #[inline]
    pub(crate) fn find(&mut self, at: usize, event: &Event, stretch: u64, how: How) -> Option<&mut Entry> {
        let entry = self.entries.get_mut(at)?;
        (entry.code == code(event) && entry.stretch == stretch && entry.how == how).then_some(entry)
    }

    /// Looks beside that place, too; what is found there is brought back.
    pub(crate) fn find_beside(
        &mut self,
        at: usize,
        event: &Event,
        stretch: u64,
        how: How,
    ) -> Option<&mut Entry> {
        if self.find(at, event, stretch, how).is_none() && self.find(at ^ 1, event, stretch, how).is_some() {
            self.entries.swap(at, at ^ 1);
        }
        self.find(at, event, stretch, how)
    }

    /// Keeps a new moment; its first step is from a cell without a past.
    pub(crate) fn keep(&mut self, at: usize, event: &Event, stretch: u64, how: How, moment: u32) {
        if self.entries.len() <= at {
            self.entries.resize((at / ENTRIES + 1) * ENTRIES, NOTHING);
        }
        if self.entries[at].stretch == stretch && self.entries[at ^ 1].stretch != stretch {
            self.entries[at ^ 1] = self.entries[at];
        }
        let to = if how.mode().writes() { Cell::written(moment) } else { Cell::new(0, moment) };
        self.entries[at] = Entry { code: code(event), stretch, from: Cell::EMPTY, to, how, moment };
    }

    /// The entry at a place where one was found or kept.
    #[inline]
    pub(crate) fn entry(&mut self, at: usize) -> &mut Entry {
        &mut self.entries[at]
    }

    /// Forgets all moments.
    pub(crate) fn clear(&mut self) {
        self.entries.fill(NOTHING);
    }

    /// The bytes that the tables take.
    pub(crate) fn memory(&self) -> usize {
        self.entries.capacity() * size_of::<Entry>()
    }
}

#[inline]
fn code(event: &Event) -> u64 {
    u64::from(event.place.0) | u64::from(event.stack.0) << 32
}
