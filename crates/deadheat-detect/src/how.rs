//! How an access was made, in a number: enough to tell the whole access again from one of its bytes.
//!
//! Invariant: ranges of more than 16 bytes all look alike; who keeps one keeps its address and size beside it.

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::plain::{Form, Plain};

/// The largest access whose size and alignment are part of [`How`]; larger ones are ranges.
const SHORT: u64 = How::SHORT;

/// The bit of [`How`] that says that the place is that of a weave.
const WOVEN: u32 = 1 << 18;

/// How an access was made, packed: mode (bits 0..2), via (2..5), size or 0 for a range (5..10),
/// 1 + memory order or 0 (10..13), whether it was unaligned (13), then its address modulo 16
/// (14..18), and whether the place is that of a weave (18).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct How(pub(crate) u32);

impl How {
    /// The largest access whose size is told.
    pub(crate) const SHORT: u64 = 16;

    /// How a plain access of 1, 2, 4, 8 or 16 bytes was made: what [`Self::of`] says of it.
    #[inline(always)]
    pub(crate) const fn of_power(plain: &Plain) -> Self {
        let residue = if plain.address & (plain.form.size() - 1) == 0 {
            0
        } else {
            1 << 13 | ((plain.address % SHORT) as u32) << 14
        };
        Self(plain.form.bits() | residue)
    }

    /// How an access was made.
    pub(crate) fn of(access: &Access) -> Self {
        let atomic = access.atomic.map_or(0, |order| 1 + order as u32) << 10;
        let common = access.mode as u32 | (access.via as u32) << 2 | atomic;
        if access.size > SHORT {
            return Self(common);
        }
        let aligned = access.size.is_power_of_two() && access.address.is_multiple_of(access.size);
        let place = if aligned { 0 } else { 1 << 13 | ((access.address % SHORT) as u32) << 14 };
        Self(common | (access.size as u32) << 5 | place)
    }

    /// How the accesses of a weave were made.
    pub(crate) const fn woven(form: Form) -> Self {
        Self(form.bits() | WOVEN)
    }

    /// Whether the size and the address are kept apart.
    pub(crate) fn is_range(self) -> bool {
        self.size() == 0
    }

    /// Whether its place is that of a weave.
    pub(crate) fn is_woven(self) -> bool {
        self.0 & WOVEN != 0
    }

    /// Whether it is of 1, 2, 4, 8 or 16 bytes.
    pub(crate) fn is_power(self) -> bool {
        self.size().is_power_of_two()
    }

    /// The number of bytes; 0 of a range.
    pub(crate) fn size(self) -> u64 {
        u64::from(self.0 >> 5 & 31)
    }

    /// Reads, writes, or both.
    pub(crate) fn mode(self) -> Mode {
        match self.0 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            _ => Mode::ReadWrite,
        }
    }

    /// How the program came to make it.
    pub(crate) fn via(self) -> Via {
        Via::from_bits(self.0 >> 2 & 7)
    }

    /// The memory order, if it is atomic.
    pub(crate) fn atomic(self) -> Option<MemoryOrder> {
        (self.0 >> 10 & 7).checked_sub(1).map(MemoryOrder::from_abi)
    }

    /// The first byte of the short access that touched `byte`.
    pub(crate) fn start(self, byte: u64) -> u64 {
        if self.0 >> 13 & 1 == 0 {
            return byte & !self.size().saturating_sub(1);
        }
        let residue = u64::from(self.0 >> 14 & 15);
        byte.wrapping_sub(byte.wrapping_sub(residue) % SHORT)
    }
}
