//! A shadow cell: what is remembered of the accesses to some bytes that share one past.
//!
//! Eight bytes hold the common case, at most one plain write and one plain read, as two moments
//! (0: none); anything else is a crowd (see [`super::crowd`]), by its number. Nothing is implied
//! about the order of the two: after a race they may be unordered.

/// The number of moments and of crowds that a cell can tell apart.
pub(crate) const MOMENTS: usize = 1 << 31;

const CROWD: u64 = 1 << 31;
const _: () = assert!(MOMENTS as u64 == CROWD);

/// A cell; the default is the cell of bytes without a past.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell(u64);

const _: () = assert!(size_of::<Cell>() == 8);

impl Cell {
    /// Bytes without a past.
    pub(crate) const EMPTY: Cell = Cell(0);

    /// A plain write and a plain read.
    #[inline]
    pub(crate) const fn new(write: u32, read: u32) -> Self {
        Self(write as u64 | (read as u64) << 32)
    }

    /// A plain write and nothing else.
    #[inline]
    pub(crate) const fn written(write: u32) -> Self {
        Self(write as u64)
    }

    /// A crowd.
    pub(crate) const fn crowd(number: u32) -> Self {
        Self(CROWD | number as u64)
    }

    /// The crowd's number, if it is one.
    #[inline]
    pub(crate) const fn as_crowd(self) -> Option<u32> {
        if self.is_crowd() { Some((self.0 & (CROWD - 1)) as u32) } else { None }
    }

    /// Whether it is a crowd.
    #[inline]
    pub(crate) const fn is_crowd(self) -> bool {
        self.0 & CROWD != 0
    }

    /// The plain write, if the cell is no crowd.
    #[inline]
    pub(crate) const fn write(self) -> u32 {
        self.0 as u32
    }

    /// The plain read, if the cell is no crowd.
    #[inline]
    pub(crate) const fn read(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The cell as a number, for hashing.
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}
