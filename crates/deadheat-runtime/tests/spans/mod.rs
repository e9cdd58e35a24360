//! Two cells of the shadow that may be a span, as `online` goes into them.

use crate::growing::{Knows, at};
use crate::pair::{self, Entered};
use crate::set;
use crate::span::{self, Worth};
use crate::sys::primitive::{AtomicU64, Ordering, yield_now};
use crate::word::{self, WRITE};

/// Two cells, which may be a span.
pub(crate) struct Span(pub(crate) [[AtomicU64; 2]; 2]);

impl Span {
    /// One whose cells have these words; if they are one, `by` the write of the first slot at that clock.
    pub(crate) fn holding(words: [u64; 2], by: Option<u64>) -> Span {
        let span = Span([(); 2].map(|()| words.map(AtomicU64::new)));
        if let Some(by) = by {
            assert_eq!(
                span::over(&Knows([by; 2]), &span.0, at(1, by, WRITE, 0xff), &mut Worth(Worth::MOST)),
                Entered::Yes
            );
        }
        span
    }

    /// As a range has all cells: the words that race with `mine`, which is in each of them afterwards.
    pub(crate) fn enter_all(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        match span::over(seen, &self.0, mine, &mut Worth(Worth::MOST)) {
            Entered::There | Entered::Yes => Vec::new(),
            Entered::No | Entered::Met => (0..2).flat_map(|at| self.enter(at, mine, seen)).collect(),
        }
    }

    /// As an access has one cell.
    pub(crate) fn enter(&self, at: usize, mine: u64, seen: &Knows) -> Vec<u64> {
        let cell = &self.0[at];
        if pair::again::<true>(seen, cell, mine, true) == Entered::Yes {
            return Vec::new();
        }
        loop {
            self.wait(at);
            let mut races = Vec::new();
            if set::publish(cell, mine, seen).is_ok()
                && set::look(cell, mine, seen, |word| races.push(word)).is_ok()
            {
                return races;
            }
            yield_now();
        }
    }

    /// As `block::set_of` does.
    pub(crate) fn wait(&self, at: usize) {
        while self.0[at][0].load(Ordering::Acquire) == word::WIDE {
            if !span::unfold(&self.0) {
                yield_now();
            }
        }
    }

    /// Whether a cell has an access, or what makes up for it.
    pub(crate) fn has(&self, at: usize, mine: u64) -> bool {
        self.wait(at);
        pair::words(&self.0[at]).iter().any(|&word| word::makes_up_for(word, mine))
    }
}
