//! The common way into a [block](super::block): in place of a word that makes room at once.
//!
//! As in [`super::set`]: first publish, then look at all others. A thread has mostly one word of each kind there, which
//! its next access of that kind takes the place of or makes double. What is not so simple is left to `set`.

use super::set::{Seen, put};
use super::word::{
    self, ATOMIC, SEALED, WRITE, conflict, covers, is_double, is_earlier, is_special, joins, makes_up_for,
    outdoes, same_slot, stands_for, with,
};
use crate::sys::primitive::{AtomicU64, Ordering};

/// How an access came into a block, and as or by which word it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Came {
    /// It was there already.
    There(u64),
    /// It is there, and is to be noted in the history.
    Yes(u64),
    /// It is there and is to be noted, and a word may race with it, or the block is being replaced: it is to be judged.
    Met(u64),
    /// That is not how it is: nothing was done.
    No,
}

/// Where an access can go, the best first.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Room {
    /// To its slot's word of its kind.
    Own,
    /// In the place of one that it makes up for.
    Outdone,
    Free,
    Nowhere,
}

/// Publishes an access in a block's set and judges it there.
#[inline(never)]
pub(crate) fn enter(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    if mine & WRITE == 0 {
        let came = renew(seen, set, mine);
        if came != Came::No {
            return came;
        }
    }
    enter_anew(seen, set, mine)
}

/// As [`enter`], of a read in the place of its slot's earlier one, or with it.
#[inline(always)]
pub(crate) fn renew(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    match replace(set, mine) {
        Came::Yes(new) => judged(seen, set, (mine, new)),
        came => came,
    }
}

/// As [`enter`], of what does not take the place of its slot's earlier read.
#[inline(never)]
fn enter_anew(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let mut best = (Room::Nowhere, 0, 0, 0);
    for (at, place) in set.iter().enumerate() {
        let word = place.load(Ordering::Acquire);
        // A set fills from its beginning, and a place does not become free again.
        if word == 0 {
            if best.0 > Room::Free {
                best = (Room::Free, at, 0, mine);
            }
            break;
        }
        // A plain store over an atomic has more to do; a set that is being replaced has no place.
        if is_special(word) || mine & (WRITE | ATOMIC) == WRITE && word & ATOMIC != 0 {
            return Came::No;
        }
        let own = same_slot(word, mine);
        if own && stands_for(word, mine) {
            return Came::There(word);
        }
        let both = if own && joins(word, mine) { with(word, mine) } else { 0 };
        if both != 0 {
            best = (Room::Own, at, word, both);
            break;
        }
        if best.0 > Room::Outdone && covers(mine, word) && outdoes(mine, word) && (own || seen.ordered(word))
        {
            best = (Room::Outdone, at, word, mine);
        }
    }
    let (mut room, at, mut old, mut new) = best;
    let mut place = &set[at];
    if room >= Room::Free
        && let Some((other, word)) = left_over(set, mine)
    {
        (room, place, old, new) = (Room::Outdone, other, word, mine);
    }
    if room == Room::Nowhere || !put(place, old, new) {
        return Came::No;
    }
    judged(seen, set, (mine, new))
}

/// Publishes a read in the place of its slot's earlier one, or with it, without a look at others.
#[inline(always)]
fn replace(set: &[AtomicU64], mine: u64) -> Came {
    for place in set {
        let word = place.load(Ordering::Acquire);
        if same_slot(word, mine) {
            if is_earlier(word, mine) {
                return came(place, word, mine);
            }
            if stands_for(word, mine) {
                return Came::There(word);
            }
        } else if word == 0 {
            break;
        }
    }
    replace_otherwise(set, mine)
}

/// As [`replace`], where none of the slot's words is of the same bytes.
#[inline(never)]
fn replace_otherwise(set: &[AtomicU64], mine: u64) -> Came {
    for place in set {
        let word = place.load(Ordering::Acquire);
        if word == 0 {
            break;
        }
        let new = if same_slot(word, mine) && joins(word, mine) { with(word, mine) } else { 0 };
        if new == word && new != 0 {
            return Came::There(word);
        }
        if new != 0 {
            return came(place, word, new);
        }
    }
    match left_over(set, mine) {
        Some((place, word)) => came(place, word, mine),
        None => Came::No,
    }
}

/// Puts `new` in the place of `word`.
#[inline(always)]
fn came(place: &AtomicU64, word: u64, new: u64) -> Came {
    if put(place, word, new) { Came::Yes(new) } else { Came::No }
}

/// A word of the slot of `mine` that another one of the slot makes up for: what its thread accesses in parts, now these, now those, in moments far from each other
/// would fill the set otherwise. The other may go meanwhile, but only for a word that makes up for both, or
/// where every thread knows it, and so the earlier one, too.
fn left_over(set: &[AtomicU64], mine: u64) -> Option<(&AtomicU64, u64)> {
    let own = || {
        let words = set.iter().map(|place| (place, place.load(Ordering::Acquire)));
        words.take_while(|&(_, word)| word != 0).filter(|&(_, word)| same_slot(word, mine))
    };
    own().find(|&(place, word)| {
        own().any(|(other, by)| !core::ptr::eq(other, place) && makes_up_for(by, word))
    })
}

/// What came of an access that is in the set as or by `new`.
#[inline(always)]
fn judged(seen: &impl Seen, set: &[AtomicU64], (mine, new): (u64, u64)) -> Came {
    let reads = mine & WRITE == 0;
    for place in set {
        let word = place.load(Ordering::SeqCst);
        // Most words of a crowd are plain reads, and most of those no double ones: less than a seal.
        if reads && word < SEALED {
            continue;
        }
        if !same_slot(word, mine) && !harmless(seen, word, mine) {
            return Came::Met(new);
        }
    }
    Came::Yes(new)
}

/// Whether a word of a set that is not being replaced does not race with another slot's access that is in the set.
#[inline(always)]
pub(crate) fn harmless(seen: &impl Seen, word: u64, mine: u64) -> bool {
    let unlike = |word| !conflict(word, mine) || seen.ordered(word);
    !is_special(word)
        && (unlike(word) || is_double(word) && unlike(word::later(word)) && unlike(word::earlier(word)))
}
