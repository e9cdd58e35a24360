//! Plain accesses in bulk: what a reader hands over many at a time.
//!
//! Most events of a trace are plain accesses that their thread made once, and hundreds of them
//! stand between two synchronisations. An analysis that takes them as one slice can look ahead
//! in it and keeps its own state in registers.

use crate::access::{Access, Mode, Via};
use crate::event::{Event, Op};
use crate::ids::{PlaceId, StackId, ThreadId};

/// How a plain access was made, packed: mode (bits 0 and 1), via (2 to 4), size in bytes (5 to 9).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Form(u32);

impl Form {
    /// The largest size that a form can tell, in bytes.
    pub const MAX_SIZE: u64 = 16;

    /// All bits that a form may have.
    pub const MASK: u32 = (1 << 10) - 1;

    /// The form of a plain access of 1, 2, 4, 8 or 16 bytes; `None` of any other.
    #[must_use]
    #[inline]
    pub const fn of(access: &Access) -> Option<Self> {
        if access.atomic.is_some() {
            return None;
        }
        Self(access.mode as u32 | (access.via as u32) << 2).of_size(access.size)
    }

    /// The form with those [`Self::bits`]; bits that no form has are dropped.
    #[must_use]
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits & Self::MASK)
    }

    /// The same for an access of `size` bytes; `None` if that is not 1, 2, 4, 8 or 16, or it is a birth.
    #[must_use]
    #[inline]
    pub const fn of_size(self, size: u64) -> Option<Self> {
        if size > Self::MAX_SIZE || !size.is_power_of_two() || matches!(self.via(), Via::Birth) {
            return None;
        }
        Some(Self(self.0 & 31 | (size as u32) << 5))
    }

    /// The packed number.
    #[must_use]
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Reads, writes, or both.
    #[must_use]
    #[inline]
    pub const fn mode(self) -> Mode {
        match self.0 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            _ => Mode::ReadWrite,
        }
    }

    /// Whether the bytes are written.
    #[must_use]
    #[inline]
    pub const fn writes(self) -> bool {
        self.0 & Mode::Write as u32 != 0
    }

    /// How the program came to make it.
    #[must_use]
    #[inline]
    pub const fn via(self) -> Via {
        Via::from_bits(self.0 >> 2 & 7)
    }

    /// The number of bytes: 1, 2, 4, 8 or 16.
    #[must_use]
    #[inline]
    pub const fn size(self) -> u64 {
        (self.0 >> 5 & 31) as u64
    }
}

/// A plain access of 1, 2, 4, 8 or 16 bytes that its thread made once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Plain {
    /// The first byte's address.
    pub address: u64,
    /// The code address that did it.
    pub place: PlaceId,
    /// The call sites above that place.
    pub stack: StackId,
    /// What it did to how many bytes.
    pub form: Form,
}

impl Plain {
    /// The access alone.
    #[must_use]
    #[inline]
    pub const fn access(&self) -> Access {
        let Self { address, form, .. } = *self;
        Access { address, size: form.size(), mode: form.mode(), atomic: None, via: form.via() }
    }

    /// The event that it is, made by `thread`.
    #[must_use]
    #[inline]
    pub const fn event(&self, thread: ThreadId) -> Event {
        let Self { place, stack, .. } = *self;
        Event { thread, place, stack, times: 1, op: Op::Access(self.access()) }
    }
}

/// The accesses that one access of a loop's body makes as the loop goes round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Strided {
    /// The first of them.
    pub first: Plain,
    /// From the address of one to that of the next, in bytes, modulo 2^64.
    pub stride: u64,
}

impl Strided {
    /// The access of that turn; the first turn is 0.
    #[must_use]
    #[inline]
    pub const fn at(&self, turn: u32) -> Plain {
        let more = self.stride.wrapping_mul(turn as u64);
        Plain { address: self.first.address.wrapping_add(more), ..self.first }
    }

    /// The same from that turn on.
    #[must_use]
    #[inline]
    pub const fn from(&self, turn: u32) -> Strided {
        Strided { first: self.at(turn), stride: self.stride }
    }

    /// The one range of bytes that all accesses of so many turns fill without a gap, each where the
    /// one before it ended or where that began: its start, and the end behind it. `None` if they leave
    /// gaps, overlap in part, or the range is not within the address space.
    #[must_use]
    #[inline]
    pub const fn range(&self, turns: u32) -> Option<(u64, u64)> {
        let size = self.first.form.size();
        let turns = turns as u64;
        let (start, len) = if self.stride == size {
            (self.first.address, size * turns)
        } else if self.stride == size.wrapping_neg() {
            (self.first.address.wrapping_sub(size * turns.wrapping_sub(1)), size * turns)
        } else if self.stride == 0 {
            (self.first.address, size)
        } else {
            return None;
        };
        match start.checked_add(len) {
            Some(end) => Some((start, end)),
            None => None,
        }
    }
}

/// Takes a loop apart: `take` gets its accesses in the order in which `turns` turns of `body` make them, some
/// at a time, until it says `false`. Gives whether it took all.
pub fn unroll(body: &[Strided], turns: u32, mut take: impl FnMut(&[Plain]) -> bool) -> bool {
    const SOME: usize = 64;
    let blank = Plain { address: 0, place: PlaceId::UNKNOWN, stack: StackId::EMPTY, form: Form(0) };
    let (mut some, mut count) = ([blank; SOME], 0);
    for turn in 0..turns {
        for access in body {
            some[count] = access.at(turn);
            count += 1;
            if count == SOME {
                if !take(&some) {
                    return false;
                }
                count = 0;
            }
        }
    }
    count == 0 || take(&some[..count])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loop_is_taken_apart_in_order_until_nothing_more_is_wanted() {
        let form = Form::of(&Access::plain(0, 8, Mode::Read)).unwrap();
        let part = |address, stride| {
            let first = Plain { address, place: PlaceId(1), stack: StackId(2), form };
            Strided { first, stride }
        };
        let body = [part(0, 8), part(1000, 0), part(5000, 8_u64.wrapping_neg())];
        let (mut next, mut slices) = (0, 0);
        let whole = unroll(&body, 50, |some| {
            for access in some {
                assert_eq!(*access, body[next % 3].at(next as u32 / 3));
                next += 1;
            }
            slices += 1;
            true
        });
        assert_eq!((whole, next, slices), (true, 150, 3));
        assert!(!unroll(&body, 50, |_| false));
        assert!(unroll(&body, 0, |_| false));
    }

    #[test]
    fn a_loop_fills_a_range_upwards_downwards_or_on_the_spot() {
        let form = Form::of(&Access::plain(0, 8, Mode::Read)).unwrap();
        let first = Plain { address: 64, place: PlaceId(1), stack: StackId(2), form };
        let range = |stride: i64, turns| Strided { first, stride: stride as u64 }.range(turns);
        assert_eq!(range(8, 4), Some((64, 96)));
        assert_eq!(range(-8, 4), Some((40, 72)));
        assert_eq!(range(0, 4), Some((64, 72)));
        assert_eq!(range(16, 4), None);
        assert_eq!(range(4, 4), None);
        let high = Plain { address: u64::MAX - 15, ..first };
        assert_eq!(Strided { first: high, stride: 8 }.range(2), None);
    }

    #[test]
    fn a_form_tells_all_of_a_plain_access() {
        for mode in [Mode::Read, Mode::Write, Mode::ReadWrite] {
            for via in [
                Via::Code,
                Via::Volatile,
                Via::Vptr,
                Via::MemoryFunction,
                Via::System,
                Via::Free,
                Via::Object,
            ] {
                for size in [1, 2, 4, 8, 16] {
                    let access = Access { address: 3, size, mode, atomic: None, via };
                    let form = Form::of(&access).unwrap();
                    let plain = Plain { address: 3, place: PlaceId(1), stack: StackId(2), form };
                    assert_eq!(plain.access(), access);
                    assert_eq!(form.writes(), mode.writes());
                    assert_eq!(Form::from_bits(form.bits()), form);
                }
            }
        }
    }

    #[test]
    fn an_atomic_access_or_one_of_another_size_has_no_form() {
        for size in [0, 3, 12, 17, 32] {
            assert_eq!(Form::of(&Access::plain(0, size, Mode::Read)), None);
        }
        let atomic = Some(crate::access::MemoryOrder::Relaxed);
        assert_eq!(Form::of(&Access { atomic, ..Access::plain(0, 8, Mode::Read) }), None);
    }
}
