//! A cell of the shadow as `online::block` lets it grow, in miniature: what a test includes has the atomics that it gives
//! `sys::primitive`.

use crate::pair::{self, Entered};
use crate::set::{self, Not, Seen};
use crate::sys::primitive::{AtomicU64, Ordering, yield_now};
use crate::word::{self, ATOMIC, BYTES, WRITE};

/// A cell that grows: sealed, its words copied into a larger set, then linked.
pub(crate) struct Cell {
    pair: [AtomicU64; 2],
    linked: AtomicU64,
    large: [AtomicU64; 6],
}

/// A thread that knows what is up to `known` in the slots 1 and 2.
pub(crate) struct Knows(pub(crate) [u64; 2]);

impl Seen for Knows {
    fn ordered(&self, word: u64) -> bool {
        let slot = (word::slot(word) as usize).checked_sub(1);
        slot.is_none_or(|slot| self.0.get(slot).is_some_and(|&known| word::clock(word) <= known))
    }
}

impl Cell {
    /// One that holds these words.
    pub(crate) fn holding(words: [u64; 2]) -> Cell {
        Cell {
            pair: words.map(AtomicU64::new),
            linked: AtomicU64::new(0),
            large: std::array::from_fn(|_| AtomicU64::new(0)),
        }
    }

    /// The words that race with `mine`, which is in the cell afterwards.
    pub(crate) fn enter(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        let mut races = Vec::new();
        if self.linked.load(Ordering::SeqCst) == 0 {
            let mut entered = match mine & ATOMIC {
                0 => self.at_once(mine, seen),
                _ => Entered::No,
            };
            if entered == Entered::No {
                entered = match mine & ATOMIC {
                    0 => pair::again::<true>(seen, &self.pair, mine, true),
                    _ => pair::again::<false>(seen, &self.pair, mine, true),
                };
            }
            if entered == Entered::No {
                entered = pair::replace(seen, &self.pair, mine);
            }
            if entered <= Entered::Yes {
                return races;
            }
        }
        loop {
            let set = if self.linked.load(Ordering::SeqCst) == 0 { &self.pair[..] } else { &self.large[..] };
            match set::publish(set, mine, seen) {
                Ok(_) => {}
                Err(Not::Full) => {
                    self.grow();
                    continue;
                }
                Err(Not::Sealed) => {
                    yield_now();
                    continue;
                }
            }
            if set::look(set, mine, seen, |word| races.push(word)).is_ok() {
                if set.len() > self.pair.len() {
                    // As `block::hint`: the cell shows a copy.
                    self.pair[1].store(mine, Ordering::Relaxed);
                }
                return races;
            }
            yield_now();
        }
    }

    /// Publishes a plain access in a way that is not for all.
    fn at_once(&self, mine: u64, seen: &Knows) -> Entered {
        if word::slot(mine) == 2 && mine & (WRITE | BYTES) == WRITE | BYTES {
            // As a range goes over it.
            let (done, _, met) = pair::over(seen, std::slice::from_ref(&self.pair), mine);
            return if done == 1 { Entered::Yes } else { met };
        }
        // As a hook's access.
        let words = pair::words(&self.pair);
        if words.iter().any(|&word| word::stands_for(word, mine)) {
            return Entered::There;
        }
        let entered = pair::renew(mine & WRITE != 0, &self.pair, words, mine);
        if entered != Entered::No {
            return entered;
        }
        let way = if mine & BYTES == BYTES { pair::follow } else { pair::join };
        way(mine & WRITE != 0, seen, &self.pair, pair::words(&self.pair), mine)
    }

    /// Puts the mark of a block's end into the cell, as `online::freed` does; the words that race with it.
    #[allow(dead_code, reason = "not for all who include this")]
    pub(crate) fn end(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        if self.linked.load(Ordering::SeqCst) == 0 && pair::end(seen, &self.pair, mine) == Entered::Yes {
            return Vec::new();
        }
        let races = self.enter(mine, seen);
        let set = if self.linked.load(Ordering::SeqCst) == 0 { &self.pair[..] } else { &self.large[..] };
        for place in set {
            let word = place.load(Ordering::Relaxed);
            if word != 0 && !word::is_special(word) && word::same_moment(word, mine) {
                let _ = place.compare_exchange(word, word::freed(mine), Ordering::SeqCst, Ordering::Relaxed);
            }
        }
        races
    }

    fn grow(&self) {
        let first = self.pair[0].load(Ordering::Acquire);
        if word::is_special(first)
            || self.pair[0]
                .compare_exchange(first, word::SEALED, Ordering::SeqCst, Ordering::Relaxed)
                .is_err()
        {
            return;
        }
        let mut kept = Vec::new();
        kept.extend((first != 0).then_some(first));
        set::seal(&self.pair[1..], |word| kept.push(word));
        for (place, word) in self.large.iter().zip(kept) {
            place.store(word, Ordering::Relaxed);
        }
        self.linked.store(1, Ordering::SeqCst);
    }
}

/// The word of a thread's access at its clock 1, later ones at its clock 2.
pub(crate) fn at(slot: u32, clock: u64, kind: u64, bytes: u64) -> u64 {
    word::only(word::moment(slot, clock), bytes) | kind
}
