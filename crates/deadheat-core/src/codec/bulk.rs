//! Decoding many records at a time: for readers of whole traces.

use super::{Predictor, SLOTS, tag, unzigzag};

/// Where a [`Predictor`] stands while it decodes many records: what changes with each of them, for
/// a caller's registers.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    previous: u32,
    /// The last address of any event.
    address: u64,
    /// The last address of an event with a stamp.
    stamped: u64,
}

/// The front of a record that is an event or a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Front {
    /// The slot.
    pub slot: u32,
    /// Its head, in the low byte, and what follows it.
    wide: u64,
    /// How many bytes there are up to the head, with it.
    at: usize,
}

/// Heads from that many above [`tag::EVENT`] on have eight bytes.
const SHORT_HEADS: u8 = 7 << 4;

/// What a predicted record is, to a reader that keeps a table of slots of its own; see
/// [`Predictor::decode_run`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Taken {
    /// A plain access.
    Plain,
    /// A call.
    Call,
    /// Something else, or not known; the record is not taken.
    No,
}

impl Predictor {
    /// Begins to decode many records; the caller ends it with [`Self::pause`].
    #[must_use]
    #[inline(always)]
    pub fn resume(&self) -> Place {
        Place { previous: self.previous, address: self.address[0], stamped: self.address[1] }
    }

    /// Ends what [`Self::resume`] began.
    #[inline(always)]
    pub fn pause(&mut self, place: Place) {
        self.previous = place.previous;
        self.address = [place.address, place.stamped];
    }

    /// Takes up to `count` records that are `10000000` and nothing more: events and calls of the
    /// predicted slots. `take` gets the slot and its predicted address, and says what it is.
    /// Gives how many were taken; the rest is as if it had not been looked at.
    ///
    /// Cost: about ten instructions a record and no branch but that for what it is; the chain
    /// from one record to the next is one load.
    #[inline(always)]
    pub fn decode_run(
        &mut self,
        place: &mut Place,
        count: usize,
        mut take: impl FnMut(u32, u64) -> Taken,
    ) -> usize {
        let mut taken = 0;
        while taken < count {
            let index = self.slots[place.previous as usize % SLOTS].next % SLOTS as u32;
            let slot = &mut self.slots[index as usize % SLOTS];
            let address = slot.last.wrapping_add(slot.stride);
            match take(index, address) {
                Taken::Plain => (slot.last, place.address) = (address, address),
                Taken::Call => {}
                Taken::No => break,
            }
            place.previous = index;
            taken += 1;
        }
        taken
    }

    /// How many records `10000000` go once round a loop: the first of `slots` are then those of its body,
    /// in this order. `None` if the predicted slots do not come back to the first of them in time.
    #[inline]
    pub fn find_loop(&self, place: &Place, slots: &mut [u32]) -> Option<usize> {
        let next = |slot: u32| self.slots[slot as usize % SLOTS].next % SLOTS as u32;
        let first = next(place.previous);
        let mut slot = first;
        for (at, room) in slots.iter_mut().enumerate() {
            *room = slot;
            slot = next(slot);
            if slot == first {
                return Some(at + 1);
            }
        }
        None
    }

    /// Takes so many turns, one at the least, of the record `10000000` of a plain access of `slot`, as part of
    /// a loop whose parts are taken one after the other: its first address and its stride.
    #[inline]
    pub fn decode_turns(&mut self, place: &mut Place, slot: u32, turns: u32) -> (u64, u64) {
        let state = &mut self.slots[slot as usize % SLOTS];
        let first = state.last.wrapping_add(state.stride);
        state.last = state.last.wrapping_add(state.stride.wrapping_mul(u64::from(turns)));
        (place.previous, place.address) = (slot, state.last);
        (first, state.stride)
    }

    /// Which slot the record at the front of `bytes` is of, if it is an event or a call that names no new one. Whether
    /// the slot is defined is for the caller to know.
    #[must_use]
    #[inline(always)]
    pub fn peek(&self, place: &Place, bytes: &[u8; 16]) -> Option<Front> {
        let (near, far) = (u64::from_le_bytes(*bytes.first_chunk()?), bytes[2..].first_chunk()?);
        let far = u64::from_le_bytes(*far);
        let expected = self.slots[place.previous as usize % SLOTS].next as usize % SLOTS;
        let named = (near << 8 & 0x3f00 | near >> 8 & 0xff) as usize;
        let predicted = near as u8 & tag::EVENT != 0;
        let (slot, wide, at) = if predicted { (expected, near, 1) } else { (named, far, 3) };
        (slot < SLOTS && near as u8 >= tag::GOTO).then_some(Front { slot: slot as u32, wide, at })
    }

    /// Takes a record that is an event of a defined slot without a stamp: its address, and how many bytes the record
    /// took, the event's numbers apart. `None`, and nothing changed, if [`Self::decode`] is needed.
    ///
    /// Cost: about thirty instructions and no branch but that for "none of these": what varies
    /// from record to record is selected, not branched on.
    #[inline(always)]
    pub fn take_event(&mut self, place: &mut Place, front: Front) -> Option<(u64, usize)> {
        let (address, len) = self.take(place, front, place.address)?;
        place.address = address;
        Some((address, len))
    }

    /// The same for an event with a stamp.
    #[inline(always)]
    pub fn take_stamped(&mut self, place: &mut Place, front: Front) -> Option<(u64, usize)> {
        let (address, len) = self.take(place, front, place.stamped)?;
        (place.address, place.stamped) = (address, address);
        Some((address, len))
    }

    /// Takes an event's slot and address; `beside` is the stream's last address.
    #[inline(always)]
    fn take(&mut self, place: &mut Place, front: Front, beside: u64) -> Option<(u64, usize)> {
        let Front { slot: index, wide, at } = front;
        let slot = &mut self.slots[index as usize % SLOTS];
        let (head, extra) = (wide as u8, (wide >> 4 & 7) as usize);
        if head.wrapping_sub(tag::EVENT) >= SHORT_HEADS {
            return None;
        }
        let value = (wide >> 8 & ((1 << (8 * extra)) - 1)) << 3 | u64::from(head & 7);
        let base = if head & 8 != 0 { beside } else { slot.last };
        let moved = base.wrapping_add(unzigzag(value) << (slot.shift & 63));
        let ahead = slot.last.wrapping_add(slot.stride);
        let address = if head == tag::EVENT { ahead } else { moved };
        slot.stride = address.wrapping_sub(slot.last);
        slot.last = address;
        self.slots[place.previous as usize % SLOTS].next = index;
        place.previous = index;
        Some((address, at + extra))
    }

    /// Takes a record that is a call of a defined slot: how many bytes it took. `None`, and nothing changed, if
    /// [`Self::decode`] is needed.
    #[inline(always)]
    pub fn take_call(&mut self, place: &mut Place, front: Front) -> Option<usize> {
        let Front { slot: index, wide, at } = front;
        if wide as u8 != tag::EVENT {
            return None;
        }
        self.slots[place.previous as usize % SLOTS].next = index;
        place.previous = index;
        Some(at)
    }
}
