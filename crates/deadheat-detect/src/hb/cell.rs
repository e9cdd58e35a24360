//! A shadow cell: what is remembered of the accesses to some bytes that share one past.
//!
//! Sixteen bytes hold the common case, at most one plain write and one plain read, as two
//! moments; anything else is a crowd (see [`super::crowd`]), by its number. Nothing is implied
//! about the order of the two: after a race they may be unordered.

use crate::shadow::Past;

/// The number of sites and of crowds that a cell can tell apart.
pub(crate) const NUMBERS: usize = 1 << 31;

const CROWD: u64 = 1 << 63;
const _: () = assert!((NUMBERS as u64) << 32 == CROWD);

/// When something was accessed and by whom: a site, and the clock of its slot then.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct Moment(u64);

impl Moment {
    /// No access.
    pub(crate) const NONE: Moment = Moment(0);

    /// An access at a site when its slot's clock stood there.
    #[inline]
    pub(crate) const fn new(site: u32, clock: u32) -> Self {
        Self((site as u64) << 32 | clock as u64)
    }

    /// The site; 0 if it is no access.
    #[inline]
    pub(crate) const fn site(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The clock of the site's slot.
    #[inline]
    pub(crate) const fn clock(self) -> u32 {
        self.0 as u32
    }

    /// The moment as a number, for hashing.
    pub(crate) const fn bits(self) -> u64 {
        self.0
    }
}

/// A cell; the default is the cell of bytes without a past.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell {
    write: Moment,
    read: Moment,
}

const _: () = assert!(size_of::<Cell>() == 16);

impl Past for Cell {
    const EMPTY: Cell = Cell { write: Moment::NONE, read: Moment::NONE };

    fn is_counted(self) -> bool {
        self.is_crowd()
    }

    /// Its read alone: all of a cell lies in one line of a processor's cache.
    #[inline]
    fn bits(self) -> u64 {
        self.read.0
    }
}

impl Cell {
    /// A plain write and a plain read.
    #[inline]
    pub(crate) const fn new(write: Moment, read: Moment) -> Self {
        Self { write, read }
    }

    /// A plain write and nothing else.
    #[inline]
    pub(crate) const fn written(write: Moment) -> Self {
        Self { write, read: Moment::NONE }
    }

    /// A crowd.
    pub(crate) const fn crowd(number: u32) -> Self {
        Self::written(Moment(CROWD | number as u64))
    }

    /// The crowd's number, if it is one.
    #[inline]
    pub(crate) const fn as_crowd(self) -> Option<u32> {
        if self.is_crowd() { Some(self.write.clock()) } else { None }
    }

    /// Whether it is a crowd.
    #[inline]
    pub(crate) const fn is_crowd(self) -> bool {
        self.write.0 & CROWD != 0
    }

    /// The plain write, if the cell is no crowd.
    #[inline]
    pub(crate) const fn write(self) -> Moment {
        self.write
    }

    /// The plain read, if the cell is no crowd.
    #[inline]
    pub(crate) const fn read(self) -> Moment {
        self.read
    }

    /// A plain write takes the place of whatever was there.
    #[inline]
    pub(crate) fn set_written(&mut self, write: Moment) {
        self.write = write;
        self.read = Moment::NONE;
    }

    /// A plain read takes the place of the one that was there, if the cell is no crowd.
    #[inline]
    pub(crate) fn set_read(&mut self, read: Moment) {
        self.read = read;
    }

    /// The cell as a number, for hashing.
    pub(crate) const fn key(self) -> u64 {
        self.write.0 ^ self.read.0.rotate_left(29)
    }
}
