//! A shadow cell: what is remembered of bytes that share one past.
//!
//! Sixteen bytes hold what most bytes ever are: nothing, freshly allocated, or used by one thread, whose last access
//! is kept. Bytes that several threads use name a [record](super::records).

use deadheat_core::race::LockSetId;

use crate::shadow::Past;

/// The number of sites, rows and records that a cell can tell apart.
pub(crate) const NUMBERS: u32 = 1 << 30;

/// An access: its site, the locks held, and its slots' clocks then, by all order of the run and by the order that is not of
/// locks. That the locks are no part of the site keeps sites few where each object has a lock of its own.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Moment {
    pub(crate) site: u32,
    pub(crate) locks: LockSetId,
    pub(crate) clock: u32,
    pub(crate) firm: u32,
}

impl Moment {
    /// No access.
    pub(crate) const NONE: Moment = Moment { site: 0, locks: LockSetId(0), clock: 0, firm: 0 };
}

/// A cell: a moment whose site's upper two bits say what it is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Cell(Moment);

const _: () = assert!(size_of::<Cell>() == 16);

/// What a cell says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Says {
    /// Nobody accessed the bytes (Virgin).
    Nothing,
    /// The thread in this row alone accessed them since it allocated them (Virgin: their initialisation).
    Fresh(u32),
    /// One thread alone accessed them (Exclusive); its last access.
    Exclusive(Moment),
    /// Several threads did (Shared, Shared-Modified, Race): the number of a record.
    Several(u32),
}

const FRESH: u32 = 1;
const EXCLUSIVE: u32 = 2;
const SEVERAL: u32 = 3;
const TAG: u32 = 30;

impl Cell {
    #[inline]
    const fn tagged(tag: u32, moment: Moment) -> Self {
        Self(Moment { site: moment.site | tag << TAG, ..moment })
    }

    /// Bytes of a fresh block of the thread in a row.
    pub(crate) const fn fresh(row: u32) -> Self {
        Self::tagged(FRESH, Moment { site: row, ..Moment::NONE })
    }

    /// Bytes that one thread uses.
    #[inline]
    pub(crate) const fn exclusive(last: Moment) -> Self {
        Self::tagged(EXCLUSIVE, last)
    }

    /// Bytes that several threads use.
    pub(crate) const fn several(record: u32) -> Self {
        Self::tagged(SEVERAL, Moment { site: record, ..Moment::NONE })
    }

    /// The number of the record that it names; of another record if it names none. Without a branch.
    #[inline]
    pub(crate) const fn record(self) -> u32 {
        (self.0.site & (NUMBERS - 1)) * (self.0.site >> TAG == SEVERAL) as u32
    }

    /// What it says.
    #[inline]
    pub(crate) const fn says(self) -> Says {
        let number = self.0.site & (NUMBERS - 1);
        match self.0.site >> TAG {
            FRESH => Says::Fresh(number),
            EXCLUSIVE => Says::Exclusive(Moment { site: number, ..self.0 }),
            SEVERAL => Says::Several(number),
            _ => Says::Nothing,
        }
    }
}

impl Past for Cell {
    const EMPTY: Cell = Cell(Moment::NONE);

    #[inline]
    fn is_counted(self) -> bool {
        self.0.site >> TAG == SEVERAL
    }

    #[inline]
    fn bits(self) -> u64 {
        u64::from(self.0.site)
    }
}
