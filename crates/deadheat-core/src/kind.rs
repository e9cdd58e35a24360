//! The sixteen bits that say what kind of event a code address makes.
//!
//! A code address and a kind together are the *key* of a slot in the [`crate::codec`]: one call
//! of a hook always makes the same kind of event, so the kind is stored once a place and not
//! once an event.
//!
//! Layout: bits 15..12 the class; below, by class, log2 of the size (bits 2..0), the
//! [`Mode`] (4..3), and [`Via`] or [`MemoryOrder`] (7..5); or the number of a [`Sync`].

use crate::access::{Access, MemoryOrder, Mode, Via};
use crate::event::{BlockKind, Fault, LockMode, Op, SyncKind};
use crate::ids::ThreadId;

/// A kind of event, packed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Kind(pub u16);

/// Which of the five shapes a kind has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// A plain access of 1, 2, 4, 8 or 16 bytes: an address.
    Plain,
    /// A plain access to a range: an address and a size.
    Range,
    /// An atomic access: an address and a stamp.
    Atomic,
    /// A synchronisation event: an address and a stamp, for some a further number.
    Sync,
    /// A call: nothing else.
    Call,
}

const CLASS_PLAIN: u16 = 0 << 12;
const CLASS_RANGE: u16 = 1 << 12;
const CLASS_ATOMIC: u16 = 2 << 12;
const CLASS_SYNC: u16 = 3 << 12;
const CLASS_CALL: u16 = 4 << 12;
const CLASS_MASK: u16 = 0xf << 12;

const SYNC_REQUEST: u16 = 8;
const SYNC_ACQUIRE: u16 = 10;
const SYNC_RELEASE: u16 = 12;
const SYNC_FORK: u16 = 16;
const SYNC_JOIN: u16 = 17;
const SYNC_BEGIN: u16 = 18;
const SYNC_END: u16 = 19;
const SYNC_SIGNAL: u16 = 24;
const SYNC_AWAIT: u16 = 32;
const SYNC_WOKEN: u16 = 40;
const SYNC_TIMED_OUT: u16 = 48;
const SYNC_ARRIVE: u16 = 56;
const SYNC_LEAVE: u16 = 57;
const SYNC_ALLOC: u16 = 64;
const SYNC_FREE: u16 = 72;
const SYNC_FORGET: u16 = 80;
const SYNC_HIDDEN_BEGIN: u16 = 81;
const SYNC_HIDDEN_END: u16 = 82;
const SYNC_BRANCH: u16 = 83;
const SYNC_FAULT: u16 = 96;
const SYNC_FAULT_LAST: u16 = SYNC_FAULT + Fault::ALL.len() as u16 - 1;

const LOCK_FIRST: u16 = CLASS_SYNC | SYNC_REQUEST;
const LOCK_LAST: u16 = CLASS_SYNC | SYNC_RELEASE | 1;

impl Kind {
    /// A call of a function.
    pub const CALL: Kind = Kind(CLASS_CALL);

    /// A plain access of `1 << size_log2` bytes.
    #[must_use]
    pub const fn plain(size_log2: u16, mode: Mode, via: Via) -> Kind {
        Kind(CLASS_PLAIN | size_log2 | (mode as u16) << 3 | (via as u16) << 5)
    }

    /// A plain access to a range whose size is stored with the event.
    #[must_use]
    pub const fn range(mode: Mode, via: Via) -> Kind {
        Kind(CLASS_RANGE | (mode as u16) << 3 | (via as u16) << 5)
    }

    /// An atomic access of `1 << size_log2` bytes.
    #[must_use]
    pub const fn atomic(size_log2: u16, mode: Mode, order: MemoryOrder) -> Kind {
        Kind(CLASS_ATOMIC | size_log2 | (mode as u16) << 3 | (order as u16) << 5)
    }

    /// The kind of an event that is not an access, a call or a return.
    const fn sync(number: u16) -> Kind {
        Kind(CLASS_SYNC | number)
    }

    /// The size in bytes of a plain access.
    #[must_use]
    pub const fn plain_size(self) -> usize {
        1 << (self.0 & 7)
    }

    /// Whether a plain access writes.
    #[must_use]
    pub const fn plain_writes(self) -> bool {
        self.0 >> 3 & Mode::Write as u16 != 0
    }

    /// The kind's shape; `None` if no such kind exists.
    #[must_use]
    pub const fn class(self) -> Option<Class> {
        Some(match self.0 & CLASS_MASK {
            CLASS_PLAIN => Class::Plain,
            CLASS_RANGE => Class::Range,
            CLASS_ATOMIC => Class::Atomic,
            CLASS_SYNC => Class::Sync,
            CLASS_CALL => Class::Call,
            _ => return None,
        })
    }

    /// log2 of the alignment that addresses of this kind usually have.
    #[must_use]
    pub const fn alignment_log2(self) -> u32 {
        const OBJECT: u32 = 3;
        match self.0 & CLASS_MASK {
            CLASS_PLAIN | CLASS_ATOMIC if self.0 & 7 < 3 => (self.0 & 7) as u32,
            CLASS_PLAIN | CLASS_ATOMIC => OBJECT,
            CLASS_SYNC => match self.0 & !CLASS_MASK {
                SYNC_REQUEST..SYNC_FORK | SYNC_SIGNAL..=SYNC_FORGET => OBJECT,
                _ => 0,
            },
            _ => 0,
        }
    }

    /// Whether an event of this kind carries a stamp.
    #[must_use]
    pub const fn stamped(self) -> bool {
        matches!(self.0 & CLASS_MASK, CLASS_ATOMIC | CLASS_SYNC)
    }

    /// Whether an event of this kind carries a number beside its address: a size or a count.
    #[must_use]
    pub const fn has_extra(self) -> bool {
        match self.0 & CLASS_MASK {
            CLASS_RANGE => true,
            CLASS_SYNC => {
                let number = self.0 & !CLASS_MASK;
                number == SYNC_ARRIVE || (number >= SYNC_ALLOC && number < SYNC_FORGET)
            }
            _ => false,
        }
    }

    /// Packs an event: its kind, its address (or thread number), its extra number.
    ///
    /// `None` for [`Op::Enter`] and [`Op::Exit`], which the codec stores as calls, and for an
    /// atomic access whose size is not a power of two up to 16.
    #[must_use]
    pub fn pack(op: &Op) -> Option<(Kind, u64, u64)> {
        let sync = |number: u16, address: u64| Some((Kind::sync(number), address, 0));
        match *op {
            Op::Access(access) => Self::pack_access(&access),
            Op::Fence(order) => sync(order as u16, 0),
            Op::Request { lock, mode } => sync(SYNC_REQUEST + mode as u16, lock),
            Op::Acquire { lock, mode } => sync(SYNC_ACQUIRE + mode as u16, lock),
            Op::Release { lock, mode } => sync(SYNC_RELEASE + mode as u16, lock),
            Op::Fork { child } => sync(SYNC_FORK, u64::from(child.0)),
            Op::Join { child } => sync(SYNC_JOIN, u64::from(child.0)),
            Op::Begin => sync(SYNC_BEGIN, 0),
            Op::End => sync(SYNC_END, 0),
            Op::Signal { object, kind } => sync(SYNC_SIGNAL + kind as u16, object),
            Op::Await { object, kind } => sync(SYNC_AWAIT + kind as u16, object),
            Op::Wait { object, kind, woken: true } => sync(SYNC_WOKEN + kind as u16, object),
            Op::Wait { object, kind, woken: false } => sync(SYNC_TIMED_OUT + kind as u16, object),
            Op::Arrive { barrier, count } => Some((Kind::sync(SYNC_ARRIVE), barrier, u64::from(count))),
            Op::Leave { barrier } => sync(SYNC_LEAVE, barrier),
            Op::Alloc { address, size, kind } => Some((Kind::sync(SYNC_ALLOC + kind as u16), address, size)),
            Op::Free { address, size, kind } => Some((Kind::sync(SYNC_FREE + kind as u16), address, size)),
            Op::Forget { object } => sync(SYNC_FORGET, object),
            Op::HiddenBegin => sync(SYNC_HIDDEN_BEGIN, 0),
            Op::HiddenEnd => sync(SYNC_HIDDEN_END, 0),
            Op::Branch => sync(SYNC_BRANCH, 0),
            Op::Fault { object, fault } => sync(SYNC_FAULT + fault as u16, object),
            Op::Enter | Op::Exit => None,
        }
    }

    fn pack_access(access: &Access) -> Option<(Kind, u64, u64)> {
        let log2 = match access.size {
            1 => Some(0),
            2 => Some(1),
            4 => Some(2),
            8 => Some(3),
            16 => Some(4),
            _ => None,
        };
        match (access.atomic, log2) {
            (Some(order), Some(log2)) => Some((Kind::atomic(log2, access.mode, order), access.address, 0)),
            (Some(_), None) => None,
            (None, Some(log2)) if !matches!(access.via, Via::Birth) => {
                Some((Kind::plain(log2, access.mode, access.via), access.address, 0))
            }
            (None, _) => Some((Kind::range(access.mode, access.via), access.address, access.size)),
        }
    }

    /// Unpacks an event; `None` if the kind is none of ours (a corrupt trace) or a call.
    #[must_use]
    pub const fn unpack(self, address: u64, extra: u64) -> Option<Op> {
        let Some(class) = self.class() else { return None };
        match class {
            Class::Plain | Class::Range | Class::Atomic => self.unpack_access(class, address, extra),
            Class::Sync => unpack_sync(self.0 & !CLASS_MASK, address, extra),
            Class::Call => None,
        }
    }

    /// What [`Self::unpack`] gives for an atomic access, if it gives anything: without a branch.
    #[must_use]
    #[inline]
    pub const fn unpack_atomic(self, address: u64) -> Access {
        let mode = match self.0 >> 3 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            _ => Mode::ReadWrite,
        };
        let atomic = Some(MemoryOrder::from_abi((self.0 >> 5) as u32));
        Access { address, size: 1 << (self.0 & 7), mode, atomic, via: Via::Code }
    }

    /// Whether it asks for, takes or gives back a lock.
    #[must_use]
    pub const fn is_lock(self) -> bool {
        matches!(self.0, LOCK_FIRST..=LOCK_LAST)
    }

    /// What [`Self::unpack`] gives if [`Self::is_lock`].
    #[must_use]
    #[inline]
    pub const fn unpack_lock(self, lock: u64) -> Op {
        let mode = lock_mode(self.0);
        match self.0 & !(CLASS_MASK | 1) {
            SYNC_REQUEST => Op::Request { lock, mode },
            SYNC_ACQUIRE => Op::Acquire { lock, mode },
            _ => Op::Release { lock, mode },
        }
    }

    /// Whether it begins or ends the life of a heap block.
    #[must_use]
    pub const fn is_heap(self) -> bool {
        self.0 == CLASS_SYNC | SYNC_ALLOC || self.0 == CLASS_SYNC | SYNC_FREE
    }

    /// What [`Self::unpack`] gives if [`Self::is_heap`].
    #[must_use]
    #[inline]
    pub const fn unpack_heap(self, address: u64, size: u64) -> Op {
        let kind = BlockKind::Heap;
        if self.0 & !CLASS_MASK == SYNC_ALLOC {
            Op::Alloc { address, size, kind }
        } else {
            Op::Free { address, size, kind }
        }
    }

    const fn unpack_access(self, class: Class, address: u64, extra: u64) -> Option<Op> {
        let mode = match self.0 >> 3 & 3 {
            1 => Mode::Read,
            2 => Mode::Write,
            3 => Mode::ReadWrite,
            _ => return None,
        };
        let log2 = self.0 & 7;
        let high = self.0 >> 5 & 7;
        if log2 > 4 || self.0 >> 8 & 0xf != 0 {
            return None;
        }
        let (atomic, via) = if matches!(class, Class::Atomic) {
            if high > 5 {
                return None;
            }
            (Some(MemoryOrder::from_abi(high as u32)), Via::Code)
        } else {
            let via = match high {
                0 => Via::Code,
                1 => Via::Volatile,
                2 => Via::Vptr,
                3 => Via::MemoryFunction,
                4 => Via::System,
                5 => Via::Free,
                6 => Via::Object,
                7 if matches!(class, Class::Range) => Via::Birth,
                _ => return None,
            };
            (None, via)
        };
        let size = if matches!(class, Class::Range) { extra } else { 1 << log2 };
        Some(Op::Access(Access { address, size, mode, atomic, via }))
    }
}

const fn unpack_sync(number: u16, address: u64, extra: u64) -> Option<Op> {
    let low = number & 7;
    Some(match number {
        0..=5 => Op::Fence(MemoryOrder::from_abi(number as u32)),
        SYNC_REQUEST..=9 => Op::Request { lock: address, mode: lock_mode(number) },
        SYNC_ACQUIRE..=11 => Op::Acquire { lock: address, mode: lock_mode(number) },
        SYNC_RELEASE..=13 => Op::Release { lock: address, mode: lock_mode(number) },
        SYNC_FORK | SYNC_JOIN => {
            if address > u32::MAX as u64 {
                return None;
            }
            let child = ThreadId(address as u32);
            if number == SYNC_FORK { Op::Fork { child } } else { Op::Join { child } }
        }
        SYNC_BEGIN => Op::Begin,
        SYNC_END => Op::End,
        SYNC_SIGNAL..=55 => {
            let Some(kind) = sync_kind(low) else { return None };
            match number & !7 {
                SYNC_SIGNAL => Op::Signal { object: address, kind },
                SYNC_AWAIT => Op::Await { object: address, kind },
                SYNC_WOKEN => Op::Wait { object: address, kind, woken: true },
                _ => Op::Wait { object: address, kind, woken: false },
            }
        }
        SYNC_ARRIVE => {
            if extra > u32::MAX as u64 {
                return None;
            }
            Op::Arrive { barrier: address, count: extra as u32 }
        }
        SYNC_LEAVE => Op::Leave { barrier: address },
        SYNC_ALLOC..=69 | SYNC_FREE..=77 => {
            let Some(kind) = BlockKind::from_number(low as u32) else { return None };
            if number < SYNC_FREE {
                Op::Alloc { address, size: extra, kind }
            } else {
                Op::Free { address, size: extra, kind }
            }
        }
        SYNC_FORGET => Op::Forget { object: address },
        SYNC_HIDDEN_BEGIN => Op::HiddenBegin,
        SYNC_HIDDEN_END => Op::HiddenEnd,
        SYNC_BRANCH => Op::Branch,
        SYNC_FAULT..=SYNC_FAULT_LAST => {
            Op::Fault { object: address, fault: Fault::ALL[(number - SYNC_FAULT) as usize] }
        }
        _ => return None,
    })
}

const fn lock_mode(number: u16) -> LockMode {
    if number & 1 == 0 { LockMode::Write } else { LockMode::Read }
}

const fn sync_kind(low: u16) -> Option<SyncKind> {
    Some(match low {
        0 => SyncKind::Condition,
        1 => SyncKind::ConditionAll,
        2 => SyncKind::Semaphore,
        3 => SyncKind::Once,
        4 => SyncKind::Annotation,
        5 => SyncKind::Everything,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_that_unpacks_packs_to_itself() {
        let mut known = 0;
        for bits in 0..=u16::MAX {
            let kind = Kind(bits);
            let extra = if kind.has_extra() { 3 } else { 0 };
            let Some(op) = kind.unpack(7, extra) else { continue };
            known += 1;
            if kind.class() == Some(Class::Atomic) {
                assert_eq!(op, Op::Access(kind.unpack_atomic(7)));
            }
            if kind.is_lock() {
                assert_eq!(op, kind.unpack_lock(7));
            }
            if kind.is_heap() {
                assert_eq!(op, kind.unpack_heap(7, 3));
            }
            let lock = matches!(op, Op::Request { .. } | Op::Acquire { .. } | Op::Release { .. });
            assert_eq!(kind.is_lock(), lock, "{op:?}");
            let (again, address, size) = Kind::pack(&op).expect("what unpacks is storable");
            if kind.class() == Some(Class::Range) {
                // The size decides whether a range is stored as a plain access.
                assert_eq!((address, size), (7, 3));
                continue;
            }
            assert_eq!(again, kind, "{op:?}");
            assert_eq!(size, extra, "{op:?}");
            let without_address = matches!(
                op,
                Op::Fence(_) | Op::Begin | Op::End | Op::HiddenBegin | Op::HiddenEnd | Op::Branch
            );
            assert_eq!(address, if without_address { 0 } else { 7 }, "{op:?}");
        }
        assert!(known > 150, "{known} kinds");
    }
}
