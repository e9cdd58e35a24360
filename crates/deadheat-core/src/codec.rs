//! The record codec: how events become bytes, in the runtime, in the trace writer and back.
//!
//! One [`Predictor`] per stream on each side. Both sides keep the same table of *slots*; a slot
//! is a place together with the kind of event it makes (the *key*), the address that it touched
//! last, and the slot that followed it last. Most events are "the slot that was predicted, at
//! the address that was predicted": one byte.
//!
//! ```text
//! 00000000                      no more events in this block
//! 00000001 slot:u16 key:u64     (re)define a slot and go to it
//! 00000010 n:varint             the event before happened n more times
//! 00000011 n:varint             leave n functions
//! 00000100 n:u8 bytes           the thread's name
//! 00000101 stamp:varint         the stream's stamps go on from here (absolute)
//! 00000110 n:varint             the number that the program gave the thread; before its first stamp
//! 00001nnn                      leave nnn + 1 functions
//! 01hhhhhh llllllll             go to slot h·256 + l instead of the predicted one
//! 1nnnbddd byte × n             the event of the present slot; see below
//! ```
//! The value of `1nnnbddd` is `z = ddd + 8 × bytes` (little endian), a zigzag difference: to the
//! slot's own last address (b = 0) or to the stream's (b = 1): for an event with a stamp that of
//! the last such event, else that of the last event. Differences count in units of the
//! slot's alignment (at first that of its kind, [`Kind::alignment_log2`]); nnn = 7 stands for
//! eight bytes in units of one, and from then on the slot's alignment is one.
//! `10000000` alone means "the slot's last address plus its stride"; a difference of zero is
//! therefore written with one zero byte. A call is always `10000000`. After the address
//! follow, as varints, the extra number and the difference to the stream's last stamp, each if
//! the kind has it.
//!
//! Invariant: a zeroed [`Predictor`] is a fresh one, so that the runtime can use zero pages.
//! An event is decodable once its first byte is not zero, so a writer stores that byte last.

mod bulk;

pub use bulk::{Front, Place, Taken};

use crate::kind::{Class, Kind};

/// Number of slots of a stream's table; a power of two that 14 bits can name.
pub const SLOTS: usize = 8192;
const _: () = assert!(SLOTS.is_power_of_two() && SLOTS <= 1 << 14);

/// No event takes more bytes than this, names apart.
pub const MAX_EVENT: usize = 48;

/// First bytes of the records that are not events.
pub mod tag {
    /// No more events in this block.
    pub const END: u8 = 0;
    /// (Re)define a slot and go to it.
    pub const DEFINE: u8 = 1;
    /// The event before happened n more times.
    pub const REPEAT: u8 = 2;
    /// Leave n functions.
    pub const POP_MANY: u8 = 3;
    /// The thread's name.
    pub const NAME: u8 = 4;
    /// The stream's stamps go on from here.
    pub const STAMP: u8 = 5;
    /// The number that the program gave the thread.
    pub const GIVEN: u8 = 6;
    /// Leave 1 to 8 functions.
    pub const POP: u8 = 8;
    /// Go to a slot.
    pub const GOTO: u8 = 0x40;
    /// The event of the present slot.
    pub const EVENT: u8 = 0x80;
}

/// A place together with the kind of event it makes: the code address in the low 48 bits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Key(pub u64);

impl Key {
    /// Joins a code address of up to 48 bits and a kind.
    #[must_use]
    #[inline(always)]
    pub const fn new(pc: u64, kind: Kind) -> Key {
        Key(pc & ((1 << 48) - 1) | (kind.0 as u64) << 48)
    }

    /// The code address.
    #[must_use]
    pub const fn pc(self) -> u64 {
        self.0 & ((1 << 48) - 1)
    }

    /// The kind.
    #[must_use]
    pub const fn kind(self) -> Kind {
        Kind((self.0 >> 48) as u16)
    }

    /// 1 if events of this key carry a stamp, else 0.
    #[inline(always)]
    const fn stamped(self) -> usize {
        self.kind().stamped() as usize
    }
}

#[derive(Clone, Copy)]
#[repr(C)]
struct Slot {
    key: u64,
    last: u64,
    stride: u64,
    next: u32,
    /// log2 of the unit in which differences count.
    shift: u32,
}

const EMPTY: Slot = Slot { key: 0, last: 0, stride: 0, next: 0, shift: 0 };
const _: () = assert!(size_of::<Slot>() == 32);

/// What both sides remember of a stream.
#[repr(C)]
pub struct Predictor {
    previous: u32,
    unused: u32,
    /// The last address of any event, and of an event with a stamp.
    address: [u64; 2],
    slots: [Slot; SLOTS],
}

/// Up to eight bytes of a record, the first in the lowest byte.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packed {
    /// The bytes; those beyond `len` are zero.
    pub bits: u64,
    /// How many bytes count, 1 to 7.
    pub len: u32,
}

const fn zigzag(difference: u64) -> u64 {
    (difference << 1) ^ ((difference as i64 >> 63) as u64)
}

const fn unzigzag(value: u64) -> u64 {
    (value >> 1) ^ (value & 1).wrapping_neg()
}

impl Predictor {
    /// A fresh table.
    #[must_use]
    pub const fn new() -> Self {
        Predictor { previous: 0, unused: 0, address: [0; 2], slots: [EMPTY; SLOTS] }
    }

    /// Forgets everything, in place.
    pub fn clear(&mut self) {
        self.previous = 0;
        self.address = [0; 2];
        self.slots.fill(EMPTY);
    }

    #[inline(always)]
    fn predicted(&self) -> usize {
        self.slots[self.previous as usize % SLOTS].next as usize % SLOTS
    }

    /// Encodes an event whose slot is the predicted one, in at most seven bytes.
    ///
    /// Cost: about twenty instructions and no branch but those for "predicted" and "same
    /// stride". `None`, and nothing changed, if [`Self::encode`] is needed.
    #[inline(always)]
    pub fn encode_predicted(&mut self, key: Key, address: u64) -> Option<Packed> {
        let index = self.predicted();
        let slot = &mut self.slots[index];
        if slot.key != key.0 {
            return None;
        }
        let difference = address.wrapping_sub(slot.last);
        let packed = if difference == slot.stride {
            Packed { bits: u64::from(tag::EVENT), len: 1 }
        } else {
            let packed = pack_scaled(slot.shift, difference, address, self.address[key.stamped()])?;
            slot.stride = difference;
            packed
        };
        slot.last = address;
        self.touched(key, address);
        self.previous = index as u32;
        Some(packed)
    }

    /// Encodes any event's slot and address; gives the number of bytes written to `out`.
    pub fn encode(&mut self, key: Key, address: u64, out: &mut [u8; MAX_EVENT]) -> usize {
        let mut at = self.go_to(key, out);
        let slot = &mut self.slots[self.previous as usize % SLOTS];
        let difference = address.wrapping_sub(slot.last);
        if difference == slot.stride {
            out[at] = tag::EVENT;
            at += 1;
        } else if let Some(packed) = pack_scaled(slot.shift, difference, address, self.address[key.stamped()])
        {
            out[at..at + 8].copy_from_slice(&packed.bits.to_le_bytes());
            at += packed.len as usize;
        } else {
            let value = zigzag(difference);
            out[at] = tag::EVENT | 7 << 4 | (value & 7) as u8;
            out[at + 1..at + 9].copy_from_slice(&(value >> 3).to_le_bytes());
            at += 9;
            slot.shift = 0;
        }
        slot.stride = difference;
        slot.last = address;
        self.touched(key, address);
        at
    }

    /// Remembers the address of an event.
    #[inline(always)]
    fn touched(&mut self, key: Key, address: u64) {
        self.address[0] = address;
        self.address[key.stamped()] = address;
    }

    /// The key of a slot.
    #[must_use]
    pub fn key(&self, slot: u32) -> Key {
        Key(self.slots[slot as usize % SLOTS].key)
    }

    /// Encodes a call from the call site `pc`; gives the number of bytes written to `out`.
    pub fn encode_call(&mut self, pc: u64, out: &mut [u8; MAX_EVENT]) -> usize {
        let at = self.go_to(Key::new(pc, Kind::CALL), out);
        out[at] = tag::EVENT;
        at + 1
    }

    /// Makes the key's slot the present one; gives the number of bytes written.
    fn go_to(&mut self, key: Key, out: &mut [u8; MAX_EVENT]) -> usize {
        let predicted = self.predicted();
        if self.slots[predicted].key == key.0 {
            self.previous = predicted as u32;
            return 0;
        }
        let home = (key.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 51) as usize % SLOTS;
        let (index, known) = if self.slots[home].key == key.0 {
            (home, true)
        } else if self.slots[home ^ 1].key == key.0 {
            (home ^ 1, true)
        } else if self.slots[home].key == 0 {
            (home, false)
        } else if self.slots[home ^ 1].key == 0 {
            (home ^ 1, false)
        } else {
            (home ^ (key.0 >> 3 & 1) as usize, false)
        };
        self.visit(index);
        if known {
            out[0] = tag::GOTO | (index >> 8) as u8;
            out[1] = index as u8;
            2
        } else {
            self.slots[index] = Slot { key: key.0, shift: key.kind().alignment_log2(), ..EMPTY };
            out[0] = tag::DEFINE;
            out[1..3].copy_from_slice(&(index as u16).to_le_bytes());
            out[3..11].copy_from_slice(&key.0.to_le_bytes());
            11
        }
    }

    fn visit(&mut self, index: usize) {
        self.slots[self.previous as usize % SLOTS].next = index as u32;
        self.previous = index as u32;
    }

    /// Decodes the record at the front of `bytes`.
    ///
    /// # Errors
    /// What is wrong with the bytes; the predictor is then of no more use.
    #[inline]
    pub fn decode(&mut self, bytes: &[u8]) -> Result<Decoded, Fault> {
        let Some(&first) = bytes.first() else {
            return Ok(Decoded { record: Record::End, len: 0 });
        };
        if first & tag::EVENT != 0 {
            let index = self.predicted();
            self.previous = index as u32;
            return self.decode_event(bytes, 0, index, false);
        }
        if first & tag::GOTO != 0 {
            let low = *bytes.get(1).ok_or(Fault::Short)?;
            let index = usize::from(first & 0x3f) << 8 | usize::from(low);
            if index >= SLOTS {
                return Err(Fault::Slot);
            }
            self.visit(index);
            return self.decode_event(bytes, 2, index, false);
        }
        self.decode_other(bytes, first)
    }

    fn decode_other(&mut self, bytes: &[u8], first: u8) -> Result<Decoded, Fault> {
        let numbered = |make: fn(u64) -> Record| {
            let (n, len) = varint(bytes, 1)?;
            Ok(Decoded { record: make(n), len })
        };
        match first {
            tag::END => Ok(Decoded { record: Record::End, len: 0 }),
            tag::DEFINE => {
                let (slot, key) = bytes.get(1..11).ok_or(Fault::Short)?.split_at(2);
                let index = usize::from(u16::from_le_bytes([slot[0], slot[1]]));
                if index >= SLOTS {
                    return Err(Fault::Slot);
                }
                let mut eight = [0; 8];
                eight.copy_from_slice(key);
                let key = u64::from_le_bytes(eight);
                if Key(key).kind().class().is_none() {
                    return Err(Fault::Kind);
                }
                self.visit(index);
                self.slots[index] = Slot { key, shift: Key(key).kind().alignment_log2(), ..EMPTY };
                self.decode_event(bytes, 11, index, true)
            }
            tag::REPEAT => numbered(Record::Repeat),
            tag::POP_MANY => numbered(Record::Pop),
            tag::STAMP => numbered(Record::Stamp),
            tag::GIVEN => numbered(Record::Given),
            tag::NAME => {
                let len = 2 + usize::from(*bytes.get(1).ok_or(Fault::Short)?);
                bytes.get(2..len).ok_or(Fault::Short)?;
                Ok(Decoded { record: Record::Name, len })
            }
            8..=15 => Ok(Decoded { record: Record::Pop(u64::from(first & 7) + 1), len: 1 }),
            _ => Err(Fault::Tag),
        }
    }

    #[inline(always)]
    fn decode_event(
        &mut self,
        bytes: &[u8],
        at: usize,
        index: usize,
        defined: bool,
    ) -> Result<Decoded, Fault> {
        let head = *bytes.get(at).ok_or(Fault::Short)?;
        let slot = &mut self.slots[index];
        let key = Key(slot.key);
        let mut at = at + 1;
        if head == tag::EVENT {
            if matches!(key.kind().class(), Some(Class::Call)) {
                let record = Record::Call { key, slot: index as u32, defined };
                return Ok(Decoded { record, len: at });
            }
            slot.last = slot.last.wrapping_add(slot.stride);
        } else {
            if head & tag::EVENT == 0 || slot.key == 0 {
                return Err(if slot.key == 0 { Fault::Slot } else { Fault::Tag });
            }
            let extra = usize::from(head >> 4 & 7);
            if extra == 7 {
                slot.shift = 0;
            }
            let extra = if extra == 7 { 8 } else { extra };
            let value = little_endian(bytes, at, extra)? << 3 | u64::from(head & 7);
            at += extra;
            let base = if head & 8 != 0 { self.address[key.stamped()] } else { slot.last };
            let address = base.wrapping_add(unzigzag(value) << slot.shift);
            slot.stride = address.wrapping_sub(slot.last);
            slot.last = address;
        }
        if slot.key == 0 {
            return Err(Fault::Slot);
        }
        let address = slot.last;
        self.touched(key, address);
        let record = Record::Event { key, slot: index as u32, defined, address };
        Ok(Decoded { record, len: at })
    }
}

impl Default for Predictor {
    fn default() -> Self {
        Self::new()
    }
}

/// Packs an address as a scaled difference to its slot's last one or to the stream's, whichever is
/// shorter; `None` if it is no multiple of the unit or takes more than seven bytes.
#[inline(always)]
const fn pack_scaled(shift: u32, difference: u64, address: u64, stream: u64) -> Option<Packed> {
    let fraction = (1 << shift) - 1;
    if difference & fraction != 0 {
        return None;
    }
    let own = zigzag((difference as i64 >> shift) as u64);
    let beside = address.wrapping_sub(stream);
    let other = zigzag((beside as i64 >> shift) as u64);
    let (value, base) = if beside & fraction == 0 && other < own { (other, 8) } else { (own, 0) };
    if value >> 51 != 0 { None } else { Some(pack_difference(value, base)) }
}

#[inline(always)]
const fn pack_difference(value: u64, base: u8) -> Packed {
    let high = value >> 3;
    let mut extra = (71 - high.leading_zeros()) / 8;
    if value == 0 && base == 0 {
        extra = 1;
    }
    let head = tag::EVENT as u64 | (extra as u64) << 4 | base as u64 | value & 7;
    Packed { bits: head | high << 8, len: 1 + extra }
}

#[inline(always)]
fn little_endian(bytes: &[u8], at: usize, count: usize) -> Result<u64, Fault> {
    if count == 0 {
        return Ok(0);
    }
    let mut eight = [0; 8];
    if let Some(window) = bytes.get(at..at + 8) {
        eight.copy_from_slice(window);
        let value = u64::from_le_bytes(eight);
        return Ok(if count >= 8 { value } else { value & ((1 << (8 * count)) - 1) });
    }
    let tail = bytes.get(at..at + count).ok_or(Fault::Short)?;
    eight[..count].copy_from_slice(tail);
    Ok(u64::from_le_bytes(eight))
}

/// A record and the number of bytes it took. An event's extra number and stamp follow it; read
/// them with [`varint`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Decoded {
    /// What was there.
    pub record: Record,
    /// How many bytes it took.
    pub len: usize,
}

/// What a record says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Record {
    /// No more events in this block.
    End,
    /// An event of the place and kind `key`, at `address`.
    Event {
        /// Its place and kind.
        key: Key,
        /// The slot, for a reader's own table beside the predictor's.
        slot: u32,
        /// Whether the slot got this key just now.
        defined: bool,
        /// The address (or thread number).
        address: u64,
    },
    /// A function is entered; `key` holds the call site.
    Call {
        /// Its place, and [`Kind::CALL`].
        key: Key,
        /// The slot.
        slot: u32,
        /// Whether the slot got this key just now.
        defined: bool,
    },
    /// That many functions are left.
    Pop(u64),
    /// The event before happened that many times more.
    Repeat(u64),
    /// The stream's stamps go on from this one.
    Stamp(u64),
    /// The number that the program gave the thread.
    Given(u64),
    /// The thread's name: the record's bytes from the third on.
    Name,
}

/// What is wrong with a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fault {
    /// The block ends within it.
    Short,
    /// Its first byte is none that we know.
    Tag,
    /// It speaks of a slot that does not exist or was never defined.
    Slot,
    /// It defines a slot of an unknown kind.
    Kind,
    /// A number of more than 64 bits.
    Number,
}

impl Fault {
    /// The reason, as a phrase for an error message.
    #[must_use]
    pub const fn reason(self) -> &'static str {
        match self {
            Fault::Short => "the block ends within a record",
            Fault::Tag => "unknown record",
            Fault::Slot => "a record names a slot that was never defined",
            Fault::Kind => "a slot is defined with an unknown kind of event",
            Fault::Number => "a number does not fit 64 bits",
        }
    }
}

/// Reads the varint at `bytes[at..]`: its value and the position behind it.
///
/// # Errors
/// [`Fault::Short`] or [`Fault::Number`].
#[inline]
pub fn varint(bytes: &[u8], mut at: usize) -> Result<(u64, usize), Fault> {
    let mut value = 0;
    let mut shift = 0;
    loop {
        let byte = *bytes.get(at).ok_or(Fault::Short)?;
        at += 1;
        let bits = u64::from(byte & 0x7f);
        if shift >= 63 && bits >> (64 - shift) != 0 {
            return Err(Fault::Number);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok((value, at));
        }
        shift += 7;
        if shift > 63 {
            return Err(Fault::Number);
        }
    }
}

/// Writes `value` as a varint to `out[at..]`; gives the position behind it. The caller leaves
/// ten bytes of room.
#[inline]
pub fn put_varint(mut value: u64, out: &mut [u8], mut at: usize) -> usize {
    while value >= 0x80 {
        out[at] = value as u8 | 0x80;
        at += 1;
        value >>= 7;
    }
    out[at] = value as u8;
    at + 1
}

#[cfg(test)]
mod tests;
