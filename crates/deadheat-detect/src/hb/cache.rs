//! The moments that each slot used last, by place and stack.
//!
//! A direct-mapped table for each slot; a miss only makes a moment twice, which costs a little
//! memory until the next sweep.

use deadheat_core::ids::{PlaceId, StackId};

use super::moments::How;
use crate::clock::threads::STALE;

const ENTRIES: usize = 1 << 8;

#[derive(Clone, Copy, Debug)]
struct Entry {
    code: u64,
    stretch: u64,
    how: How,
    moment: u32,
}

/// No access has this: its mode is none. No stretch is this one either.
const NOTHING: Entry = Entry { code: 0, stretch: STALE - 1, how: How(0), moment: 0 };

/// The tables of all slots.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: Vec<Entry>,
}

impl Cache {
    /// The moment of an access at this place and stack, made this way, in this stretch.
    #[inline]
    pub(crate) fn find(
        &self,
        slot: u32,
        (place, stack): (PlaceId, StackId),
        stretch: u64,
        how: How,
    ) -> Option<u32> {
        let code = code(place, stack);
        let entry = self.entries.get(index(slot, code, how))?;
        (entry.code == code && entry.stretch == stretch && entry.how == how).then_some(entry.moment)
    }

    /// Keeps a moment for the next time.
    pub(crate) fn keep(
        &mut self,
        slot: u32,
        (place, stack): (PlaceId, StackId),
        stretch: u64,
        how: How,
        moment: u32,
    ) {
        let room = (slot as usize + 1) * ENTRIES;
        if self.entries.len() < room {
            self.entries.resize(room, NOTHING);
        }
        let code = code(place, stack);
        self.entries[index(slot, code, how)] = Entry { code, stretch, how, moment };
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
fn code(place: PlaceId, stack: StackId) -> u64 {
    u64::from(place.0) | u64::from(stack.0) << 32
}

#[inline]
fn index(slot: u32, code: u64, how: How) -> usize {
    let mixed = (code ^ u64::from(how.0)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    slot as usize * ENTRIES + (mixed >> (64 - ENTRIES.ilog2())) as usize
}
