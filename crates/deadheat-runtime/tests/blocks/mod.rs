//! A cell's block, which another one or a single word may take the place of.

use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use super::growing::Knows;
use crate::crowd::{self, Came};
use crate::set::{self, Not};
use crate::word::{self, ATOMIC, WRITE};

/// A block of some words, which a larger one may take the place of.
pub(crate) struct Block {
    first: [AtomicU64; 3],
    second: [AtomicU64; 7],
    replacing: AtomicU64,
    replaced: AtomicU64,
}

impl Block {
    pub(crate) fn holding(words: [u64; 3]) -> Block {
        Block {
            first: words.map(AtomicU64::new),
            second: std::array::from_fn(|_| AtomicU64::new(0)),
            replacing: AtomicU64::new(0),
            replaced: AtomicU64::new(0),
        }
    }

    pub(crate) fn set(&self) -> &[AtomicU64] {
        if self.replaced.load(Ordering::SeqCst) == 0 { &self.first } else { &self.second }
    }

    /// As in the detector: the words that race with `mine`, which is in the block afterwards.
    pub(crate) fn enter(&self, mine: u64, seen: &Knows) -> Vec<u64> {
        let mut races = Vec::new();
        let mut came = Came::No;
        if mine & (WRITE | ATOMIC) == 0 {
            came = crowd::renew_in_short(seen, self.set(), mine);
        }
        if came == Came::No {
            came = crowd::enter(seen, self.set(), mine);
        }
        match came {
            Came::There(_) | Came::Yes(_) => return races,
            Came::Met(_) => {}
            Came::No => {
                while let Err(not) = set::publish(self.set(), mine, seen) {
                    if not == Not::Full {
                        self.replace();
                    }
                    self.wait();
                }
            }
        }
        while set::look(self.set(), mine, seen, |word| races.push(word)).is_err() {
            self.wait();
        }
        races
    }

    fn wait(&self) {
        while self.replaced.load(Ordering::SeqCst) == 0 {
            thread::yield_now();
        }
    }

    /// Puts the larger one in its place, unless another thread is about to.
    pub(crate) fn replace(&self) {
        if self.replacing.swap(1, Ordering::SeqCst) != 0 {
            return;
        }
        let mut kept = Vec::new();
        set::seal(&self.first, |word| kept.push(word));
        for (place, word) in self.second.iter().zip(kept) {
            place.store(word, Ordering::Relaxed);
        }
        self.replaced.store(1, Ordering::SeqCst);
    }

    /// Puts `mine`, a write of all bytes that is there, in its place, and what is not ordered before it.
    pub(crate) fn narrow(&self, mine: u64, seen: &Knows) {
        if self.replacing.swap(1, Ordering::SeqCst) != 0 {
            return;
        }
        let mut kept = vec![mine];
        set::seal_behind(&self.first, mine, seen, |word| kept.push(word));
        for (place, word) in self.second.iter().zip(kept) {
            place.store(word, Ordering::Relaxed);
        }
        self.replaced.store(1, Ordering::SeqCst);
    }

    /// Puts the mark of `mine`, by which the life of a heap's block ends, in its place, if all there is ordered before it; `false` if `mine` is not there.
    pub(crate) fn end(&self, mine: u64, seen: &Knows) -> bool {
        let stays = |place: &AtomicU64| set::stays(place.load(Ordering::Acquire), mine, seen);
        if self.first.iter().any(stays) || self.replacing.swap(1, Ordering::SeqCst) != 0 {
            return false;
        }
        let mut kept = Vec::new();
        set::seal_behind(&self.first, mine, seen, |word| kept.push(word));
        let ends = kept.is_empty();
        if ends {
            kept.push(word::freed(mine));
        }
        for (place, word) in self.second.iter().zip(kept) {
            place.store(word, Ordering::Relaxed);
        }
        self.replaced.store(1, Ordering::SeqCst);
        ends
    }
}
