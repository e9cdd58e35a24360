//! A set of remembered accesses, which threads change without a lock.
//!
//! A cell is a set of two words, a [block](super::block) one of more. Who accesses first *publishes*: puts its word
//! into the set by a compare-and-swap, into the place of nothing or of a word that it makes up for. Then it *looks* at
//! all others and judges them.
//!
//! **None is missed.** Of two threads that access at once each publishes by a locked operation before it looks, so
//! one of them at least sees the other. A word goes, or loses bytes, only when a word that takes its place, or was published elsewhere in the set before, is ordered behind it,
//! covers those bytes and conflicts with whatever it conflicted with, or when every thread knows it; so whoever would have raced with the old word
//! races with the new one, or with its thread, which looks after it published and then sees the other. Nothing else is forgotten: a
//! set without room is replaced by a larger one.
//!
//! Checked by a model checker in `tests/model.rs` and against a brute-force oracle in `tests/shadow.rs`.

use super::word::{
    self, ATOMIC, BYTES, SEALED, VOID, conflict, covers, is_freed, is_special, makes_up_for, outdoes,
    same_kind, slot, stands_for,
};
use crate::sys::primitive::{AtomicU64, Ordering, fence_after_locked};

/// What a thread knows of the others' past.
pub(crate) trait Seen {
    /// Whether an access happened before what the thread does now; nothing did, and a word that is no access did not.
    fn ordered(&self, word: u64) -> bool;

    /// Whether every thread knows that it happened, so that nothing will race with it any more.
    fn forgettable(&self, word: u64) -> bool {
        let _ = word;
        false
    }
}

/// Why an access could not be dealt with in this set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Not {
    /// No word can go, and none is free.
    Full,
    /// The set is being replaced, or was.
    Sealed,
}

/// Where a word can go, the best first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// It is there: the same moment and kind, perhaps with fewer bytes.
    Joined,
    /// In the place of one that it makes up for.
    Outdone,
    Free,
    /// In the place of one that nothing can race with.
    Forgotten,
    /// In the place of one that another of the set makes up for.
    Stale,
}

/// Puts `mine` into the set. Does nothing if a word of the same moment stands for it already: `Ok(false)`.
pub(crate) fn publish(set: &[AtomicU64], mine: u64, seen: &impl Seen) -> Result<bool, Not> {
    loop {
        let mut best: Option<(Room, usize, u64, u64)> = None;
        for (at, place) in set.iter().enumerate() {
            let word = place.load(Ordering::Acquire);
            let (room, new) = if word == 0 || word == VOID {
                (Room::Free, mine)
            } else if is_special(word) {
                return Err(Not::Sealed);
            } else if stands_for(word, mine) {
                return Ok(false);
            } else if same_kind(word, mine) && word::with(word, mine) != 0 {
                (Room::Joined, word::with(word, mine))
            } else if covers(mine, word) && outdoes(mine, word) && seen.ordered(word) {
                (Room::Outdone, mine)
            } else if seen.forgettable(word) {
                (Room::Forgotten, mine)
            } else {
                continue;
            };
            if best.is_none_or(|(other, ..)| room < other) {
                best = Some((room, at, word, new));
            }
        }
        let best = best.or_else(|| stale(set).map(|(at, word)| (Room::Stale, at, word, mine)));
        let Some((_, at, old, new)) = best else { return Err(Not::Full) };
        if put(&set[at], old, new) {
            return Ok(true);
        }
    }
}

/// A word that another of the set makes up for. Of the same word twice it is the one in front, whoever asks: so two who ask at once do not take both out.
#[cold]
fn stale(set: &[AtomicU64]) -> Option<(usize, u64)> {
    let words = || set.iter().map(|place| place.load(Ordering::Acquire)).enumerate();
    let stale = |at, word| {
        words().any(|(other, by)| {
            (other > at || other < at && by != word) && !is_special(by) && makes_up_for(by, word)
        })
    };
    words().find(|&(at, word)| word != 0 && !is_special(word) && stale(at, word))
}

/// Looks at all words but those of the own slot, and gives each that races with `mine` to `race`, and that of a [block's end](word::freed), ordered or
/// not.
pub(crate) fn look(
    set: &[AtomicU64],
    mine: u64,
    seen: &impl Seen,
    mut race: impl FnMut(u64),
) -> Result<(), Not> {
    let mut before = 0;
    for place in set {
        let word = place.load(Ordering::SeqCst);
        // The same may be there more than once.
        if word == 0 || core::mem::replace(&mut before, word) == word {
            continue;
        }
        if is_special(word) {
            return Err(Not::Sealed);
        }
        if slot(word) == slot(mine) {
            continue;
        }
        if is_freed(word) {
            race(word);
            continue;
        }
        for word in [word::later(word), word::earlier(word)] {
            if conflict(word, mine) && !seen.ordered(word) {
                race(word);
            }
        }
    }
    Ok(())
}

/// Takes all words out of a set for good and hands them to `keep`.
pub(crate) fn seal(set: &[AtomicU64], mut keep: impl FnMut(u64)) {
    for place in set {
        let word = place.swap(SEALED, Ordering::SeqCst);
        if word != 0 && !is_special(word) {
            keep(word);
        }
    }
}

/// As [`seal`], of a set behind which `mine` is, the calling thread's write of all bytes: hands on what [is not before it](stays).
pub(crate) fn seal_behind(set: &[AtomicU64], mine: u64, seen: &impl Seen, mut keep: impl FnMut(u64)) {
    seal(set, |word| {
        if stays(word, mine, seen) {
            keep(word);
        }
    });
}

/// Whether a word of a set is to be remembered beside the calling thread's write of all bytes: one that did not happen before it.
#[inline(always)]
pub(crate) fn stays(word: u64, mine: u64, seen: &impl Seen) -> bool {
    word > VOID && slot(word) != slot(mine) && !seen.ordered(word)
}

/// Whether the set holds an atomic access to one of the bytes of `mine`.
pub(crate) fn has_atomic(set: &[AtomicU64], mine: u64) -> bool {
    set.iter().any(|place| is_atomic_at(place.load(Ordering::Relaxed), mine))
}

/// Whether a word is an atomic access to one of the bytes of `mine`.
#[inline(always)]
pub(crate) const fn is_atomic_at(word: u64, mine: u64) -> bool {
    word & ATOMIC != 0 && word & mine & BYTES != 0 && !is_special(word)
}

/// Puts `mine` in the place of `old`, if that is still there. It is to be judged then.
#[inline]
pub(crate) fn put(place: &AtomicU64, old: u64, mine: u64) -> bool {
    let put = place.compare_exchange(old, mine, Ordering::SeqCst, Ordering::Relaxed).is_ok();
    fence_after_locked();
    put
}
