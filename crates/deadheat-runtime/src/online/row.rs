//! Neighbouring cells, and a plain access that has bytes of each: where it is new, and the common ways into them.
//!
//! As in [`super::pair`]: what is done in one cell is what a hook does there.

use super::pair::{self, Entered};
use super::set::Seen;
use super::word::{BYTES, EARLIER, WRITE, is_special};
use crate::sys::primitive::AtomicU64;

type Cell = [AtomicU64; 2];

/// Which bytes a range has of its first cell and, if there are others, of its last, which may be the same one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ends {
    /// In which byte of the first cell it begins, and in which of the last it ends.
    pub(crate) first: usize,
    pub(crate) last: usize,
}

impl Ends {
    /// What of a word to compare in the first cell.
    #[inline(always)]
    const fn head(self) -> u64 {
        !0 << self.first
    }

    /// What of a word to compare in the last cell.
    #[inline(always)]
    const fn tail(self) -> u64 {
        !((BYTES << 1 << self.last) & BYTES)
    }
}

/// Whether a plain access of the moment `mine`, the word of a read of all bytes, is nothing new to any of neighbouring cells, as far as they show
/// it themselves.
#[inline(always)]
pub(crate) fn is_known<const WRITES: bool>(cells: &[Cell], mine: u64, ends: Ends) -> bool {
    let Some((last, before)) = cells.split_last() else { return true };
    let mine = if WRITES { mine | WRITE } else { mine };
    let mut compared = matters::<WRITES>() & ends.head();
    for cell in before {
        if !shows(pair::words(cell), mine, compared) {
            return false;
        }
        compared = matters::<WRITES>();
    }
    shows(pair::words(last), mine, compared & ends.tail())
}

/// As [`is_known`], of an access to all bytes of its cells.
#[inline(always)]
pub(crate) fn is_known_whole<const WRITES: bool>(cells: &[Cell], mine: u64) -> bool {
    cells.iter().all(|cell| pair::is_here::<WRITES>(pair::words(cell), mine))
}

/// What of a word matters to whoever asks whether it shows an access: for a read not whether it writes, and for none what is earlier.
const fn matters<const WRITES: bool>() -> u64 {
    if WRITES { !EARLIER } else { !(EARLIER | WRITE) }
}

/// Whether one of a cell's words shows the access `mine` as far as they are compared.
#[inline(always)]
fn shows(words: [u64; 2], mine: u64, compared: u64) -> bool {
    words.iter().any(|&word| (word ^ mine) & compared == 0)
}

/// A plain access on its way into neighbouring cells.
pub(crate) struct Row<'a> {
    cells: &'a [Cell],
    /// The word of an access of its moment and kind to all bytes.
    mine: u64,
    /// What of a word to compare in the next cell, and in the last.
    next: u64,
    tail: u64,
    new: bool,
}

impl<'a> Row<'a> {
    /// The access of the moment `mine`, the word of one of its kind to all bytes, to these cells.
    #[inline(always)]
    pub(crate) const fn new(cells: &'a [Cell], mine: u64, ends: Ends) -> Row<'a> {
        Row { cells, mine, next: ends.head(), tail: ends.tail(), new: false }
    }

    /// Goes on with the cells as long as the ways lead into them that need a cell's words alone. Gives the first into which they do not, the word of the access
    /// there, and what came of them; the next call goes on behind it.
    #[inline(always)]
    pub(crate) fn publish<const WRITES: bool>(
        &mut self,
        seen: &impl Seen,
    ) -> Option<(&'a Cell, u64, Entered)> {
        while let Some((cell, rest)) = self.cells.split_first() {
            let compared = self.next & if rest.is_empty() { self.tail } else { !0 };
            (self.cells, self.next) = (rest, !0);
            let words = pair::words(cell);
            if shows(words, self.mine, compared & matters::<WRITES>()) {
                continue;
            }
            let mine = self.mine & compared;
            let mut entered = pair::renew(WRITES, cell, words, mine);
            if entered == Entered::No && !is_special(words[0]) {
                entered = after_others::<WRITES>(seen, cell, words, mine);
            }
            if entered != Entered::Yes {
                return Some((cell, mine, entered));
            }
            self.new = true;
        }
        None
    }

    /// Whether the access was new to a cell that was not given.
    #[inline(always)]
    pub(crate) const fn is_new(&self) -> bool {
        self.new
    }
}

/// Publishes a plain access where [`pair::renew`] does not lead, in a cell that has no block.
#[inline(never)]
fn after_others<const WRITES: bool>(seen: &impl Seen, cell: &Cell, words: [u64; 2], mine: u64) -> Entered {
    if mine & BYTES == BYTES {
        let entered = pair::follow(WRITES, seen, cell, words, mine);
        if entered != Entered::No {
            return entered;
        }
    }
    pair::again::<true>(seen, cell, mine, false)
}
