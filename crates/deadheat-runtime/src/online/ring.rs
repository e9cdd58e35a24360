//! The records of a [history](super::history), and the ring that they lie in.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::eye::STEP;

/// One record of 16 bytes.
///
/// ```text
///          first, from bit 63                       second
/// access   1 | atomic | order 3 | via 3 | mode 2 | address 48 (and 6 unused)   log2 of the size, or 15: 4 (at 60) | the size: 12 | pc 48
/// size     0 1 | size of the range before           0
/// context  0 0 1 | locks 12 (at 48) | clock 38      node
/// lock     0 0 0 1 | mode (at 48) | address 48      0
/// ```
#[repr(C)]
struct Record {
    first: AtomicU64,
    second: AtomicU64,
}

pub(super) const ACCESS: u64 = 1 << 63;
pub(super) const SIZE: u64 = 1 << 62;
pub(super) const CONTEXT: u64 = 1 << 61;
pub(super) const LOCK: u64 = 1 << 60;
pub(super) const ADDRESS: u64 = (1 << 48) - 1;
pub(super) const COUNT_SHIFT: u32 = 48;
pub(super) const MOST_LOCKS: usize = (1 << 12) - 1;
pub(super) const MODE_SHIFT: u32 = 48;
pub(super) const VIA_SHIFT: u32 = 50;
pub(super) const ORDER_SHIFT: u32 = 53;
pub(super) const ATOMIC: u64 = 1 << 56;
pub(super) const SIZE_SHIFT: u32 = 60;
/// The size is beside it, or, where that is 0, comes in a record of its own.
pub(super) const RANGE: u64 = 15;
pub(super) const CLOCK: u64 = (1 << 38) - 1;
/// In the table of beginnings: the clock's first records are gone, and it is remembered from here on alone.
pub(super) const CUT: u64 = 1 << 63;

/// Records, and by their clocks where moments begin among them: as many of each, a power of two.
///
/// Invariant: a record has a place of its own among the last that fit.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    /// How many records there are, less one.
    pub(super) mask: u64,
    records: *const Record,
    begins: *const AtomicU64,
}

impl Ring {
    /// How much memory one of so many records takes.
    pub(super) const fn size(records: usize) -> usize {
        records * (size_of::<Record>() + size_of::<AtomicU64>())
    }

    /// One of so many records.
    ///
    /// # Safety
    /// From `memory` on there are [`Self::size`] bytes for as long as it is used, all zeros, aligned as records are.
    pub(super) unsafe fn lay(memory: *mut u8, records: usize) -> Ring {
        let ring: *const Record = memory.cast();
        // SAFETY: the tables lie in the memory.
        Ring { mask: records as u64 - 1, records: ring, begins: unsafe { ring.add(records) }.cast() }
    }

    /// The record of a number; those of the last `mask + 1` numbers are there.
    #[inline(always)]
    fn record(&self, at: u64) -> &Record {
        // SAFETY: there are `mask + 1` records; what `lay` was promised.
        unsafe { &*self.records.add((at & self.mask) as usize) }
    }

    /// Where a clock begins.
    #[inline(always)]
    pub(super) fn begin(&self, clock: u64) -> &AtomicU64 {
        // SAFETY: the table has `mask + 1` entries; what `lay` was promised.
        unsafe { &*self.begins.add(((clock / STEP) & self.mask) as usize) }
    }

    /// Writes a record.
    #[inline(always)]
    pub(super) fn put(&self, at: u64, (first, second): (u64, u64)) {
        let record = self.record(at);
        record.first.store(first, Ordering::Relaxed);
        record.second.store(second, Ordering::Relaxed);
    }

    /// Reads a record.
    pub(super) fn get(&self, at: u64) -> (u64, u64) {
        let record = self.record(at);
        (record.first.load(Ordering::Relaxed), record.second.load(Ordering::Relaxed))
    }

    /// Takes over what a smaller one has, in which `count` records were written.
    pub(super) fn take_over(&self, smaller: &Ring, count: u64) {
        let first = count.saturating_sub(smaller.mask + 1);
        for at in first..count {
            self.put(at, smaller.get(at));
        }
        for clock in (0..=smaller.mask).map(|entry| entry * STEP) {
            let begins = smaller.begin(clock).load(Ordering::Relaxed);
            let at = begins & !CUT;
            if !(first..count).contains(&at) {
                continue;
            }
            let (head, _) = smaller.get(at);
            if is_context(head) {
                self.begin(head & CLOCK).store(begins, Ordering::Relaxed);
            }
        }
    }

    /// How many bytes the access at a record has, of `count` records, whose second word is this.
    pub(super) fn size_at(&self, at: u64, count: u64, tail: u64) -> u64 {
        match tail >> SIZE_SHIFT {
            RANGE if beside(tail) != 0 => beside(tail),
            RANGE if at + 1 < count => self.get(at + 1).0 & ADDRESS,
            RANGE => 1,
            log2 => 1 << log2,
        }
    }
}

/// Whether the record whose first word is this is a context.
pub(super) const fn is_context(head: u64) -> bool {
    head & (ACCESS | SIZE | CONTEXT) == CONTEXT
}

/// An access of a hook as it is noted.
#[derive(Clone, Copy)]
pub(crate) struct Kept {
    pub(super) first: u64,
    pub(super) second: u64,
}

impl Kept {
    /// What is the same for all accesses of a kind.
    pub(crate) const fn new(kind: Kind) -> Kept {
        let Some(Op::Access(access)) = kind.unpack(0, 1) else { return Kept { first: 0, second: 0 } };
        Kept {
            first: ACCESS | (access.mode as u64) << MODE_SHIFT | (access.via as u64) << VIA_SHIFT,
            second: (access.size.trailing_zeros() as u64) << SIZE_SHIFT,
        }
    }

    /// What is the same for all ranges that are accessed so; the size is missing.
    pub(crate) const fn of_range(kind: Kind) -> Kept {
        Kept { second: RANGE << SIZE_SHIFT, ..Kept::new(kind) }
    }

    /// The largest size that is within a record.
    pub(crate) const MOST: usize = (1 << (SIZE_SHIFT - COUNT_SHIFT)) - 1;

    /// The range has this size.
    #[inline(always)]
    pub(crate) const fn of_size(self, size: usize) -> Kept {
        Kept { second: self.second | (size as u64) << COUNT_SHIFT, ..self }
    }

    /// An atomic access.
    #[inline(always)]
    pub(crate) const fn atomic((address, log2): (u64, u32), mode: Mode, order: MemoryOrder, pc: u64) -> Kept {
        let kind = ATOMIC | (mode as u64) << MODE_SHIFT | (order as u64) << ORDER_SHIFT;
        Kept {
            first: ACCESS | kind | (Via::Code as u64) << VIA_SHIFT | address & ADDRESS,
            second: (log2 as u64) << SIZE_SHIFT | pc & ADDRESS,
        }
    }

    /// The access at an address of the program, made before `pc`: both have no more bits than [`ADDRESS`].
    #[inline(always)]
    pub(crate) const fn at(self, address: usize, pc: usize) -> Kept {
        Kept { first: self.first | address as u64, second: self.second | pc as u64 }
    }

    /// The access, and before which code address it was made.
    pub(crate) fn access(self) -> (Access, u64) {
        let size = match self.second >> SIZE_SHIFT {
            RANGE => beside(self.second),
            log2 => 1 << log2,
        };
        (access(self.first, size), self.second & ADDRESS)
    }
}

/// The size in a record whose second word is this; 0 if it is in a record of its own.
const fn beside(second: u64) -> u64 {
    second >> COUNT_SHIFT & Kept::MOST as u64
}

/// What a record's first word says of an access of `size` bytes.
pub(super) fn access(first: u64, size: u64) -> Access {
    let mode = match first >> MODE_SHIFT & 3 {
        1 => Mode::Read,
        2 => Mode::Write,
        _ => Mode::ReadWrite,
    };
    Access {
        address: first & ADDRESS,
        size,
        mode,
        atomic: (first & ATOMIC != 0).then(|| MemoryOrder::from_abi((first >> ORDER_SHIFT & 7) as u32)),
        via: Via::from_bits((first >> VIA_SHIFT & 7) as u32),
    }
}
