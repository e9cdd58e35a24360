//! Sets whose threads' words are apart: each thread has its own in memory that it alone writes.
//!
//! What many threads read in ever new moments, as tables that a server's threads look into, would move a block's line of the caches from one to the
//! other with each access, and each would look at all others' words. Reads do not matter to each other, nor do atomic accesses; so
//! where nothing else comes a thread stores its word where only it stores, and is done. Whoever comes with something else
//! [unites](super::part::unite) the words in a set of the common kind before.
//!
//! **None is missed.** A thread stores its word, then looks whether the cell still names the set. Who unites takes the name away, then has all other threads pass a
//! barrier (`membarrier`), then reads their words: so a word that he does not see was stored by a thread that will see the name gone, and comes to the
//! cell once more.

use super::crowd::harmless;
use super::fewest::is_made_up_for;
use super::pair::Entered;
use super::set::Seen;
use super::word::{self, ATOMIC, WRITE, is_earlier, joins, makes_up_for, stands_for, with, without};
use crate::sys::primitive::{AtomicU64, Ordering, fence_beside_barrier};

/// What a thread has of one set: two words, as atomic loads and others may be in moments far from each other.
pub(crate) type Place = [AtomicU64; 2];

/// What it has where two words do not do: who reads a granule byte by byte, each in another moment, needs one for each byte, and one that is double may be in the way.
pub(crate) type Rest = [AtomicU64; 8];

/// Which of the accesses that do not matter to each other a set has apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Plain reads.
    Reads,
    /// Atomic accesses.
    Atomics,
}

impl Kind {
    /// That of an access or of both that a double word stands for; a plain write has none.
    #[inline(always)]
    pub(crate) const fn of(mine: u64) -> Option<Kind> {
        if mine & ATOMIC != 0 {
            return Some(Kind::Atomics);
        }
        if mine & WRITE == 0 { Some(Kind::Reads) } else { None }
    }
}

/// Where an access of a thread's goes in its place.
enum Room {
    /// It is there already.
    There,
    /// In the place of this word, as or by the other.
    At(usize, u64),
    /// Two words cannot say it.
    None,
}

/// Publishes an access of a set's kind in its thread's own place; `link` is what the cell's first word was when the place was looked up, and `others` are the words of the set that are
/// of another kind. `again`: it was published before, but may not be judged yet.
#[inline(always)]
pub(crate) fn enter(
    seen: &impl Seen,
    (first, link): (&AtomicU64, u64),
    others: &[AtomicU64],
    (place, rest): (&Place, impl FnOnce() -> &'static Rest),
    (mine, again): (u64, bool),
) -> Entered {
    let entered = match room(place, mine) {
        Room::At(at, new) => {
            place[at].store(new, Ordering::Release);
            Entered::Yes
        }
        Room::There => Entered::There,
        Room::None => into_rest(place, rest(), mine),
    };
    if entered == Entered::No || entered == Entered::There && !again {
        return entered;
    }
    fence_beside_barrier();
    if first.load(Ordering::SeqCst) != link {
        return Entered::Met;
    }
    for other in others {
        let word = other.load(Ordering::Relaxed);
        if word == 0 {
            break;
        }
        if !word::same_slot(word, mine) && !harmless(seen, word, mine) {
            return Entered::Met;
        }
    }
    entered
}

/// Whether an access is nothing new to its thread's place.
#[inline(always)]
pub(crate) fn has(place: &Place, mine: u64) -> bool {
    place.iter().any(|word| stands_for(word.load(Ordering::Relaxed), mine))
}

#[inline(always)]
fn room(place: &Place, mine: u64) -> Room {
    let words @ [one, other] = [place[0].load(Ordering::Relaxed), place[1].load(Ordering::Relaxed)];
    if is_earlier(one, mine) {
        return if one == mine { Room::There } else { Room::At(0, mine) };
    }
    if stands_for(one, mine) || stands_for(other, mine) {
        return Room::There;
    }
    for (at, word) in words.into_iter().enumerate() {
        let new = match word {
            0 => mine,
            _ if joins(word, mine) => with(word, mine),
            _ => 0,
        };
        if new != 0 {
            return Room::At(at, new);
        }
    }
    if makes_up_for(one, other) {
        Room::At(1, mine)
    } else if makes_up_for(other, one) {
        Room::At(0, mine)
    } else {
        Room::None
    }
}

/// Publishes an access in a thread's place that has no room for it in its first two words.
#[inline(never)]
fn into_rest(place: &Place, rest: &Rest, mine: u64) -> Entered {
    let places = || place.iter().chain(rest);
    let (mut same, mut joined, mut free) = (None, None, None);
    for place in places() {
        let word = place.load(Ordering::Relaxed);
        if word == 0 {
            free = free.or(Some((place, mine)));
        } else if stands_for(word, mine) {
            return Entered::There;
        } else if is_earlier(word, mine) {
            same = Some((place, mine));
        } else if joined.is_none() && joins(word, mine) {
            let both = with(word, mine);
            joined = (both != 0).then_some((place, both));
        }
    }
    let Some((at, new)) = same.or(joined).or(free).or_else(|| made_up_for(place, rest, mine)) else {
        return Entered::No;
    };
    at.store(new, Ordering::Release);
    // Of the others it takes its bytes: so each byte is in one of them, unless that is a double one. Who unites the words meanwhile and has seen neither has taken the name away before.
    for other in places().filter(|_| mine & ATOMIC == 0) {
        let word = other.load(Ordering::Relaxed);
        let left = without(word, mine);
        if word != 0 && word != new && left != word {
            other.store(left, Ordering::Release);
        }
    }
    Entered::Yes
}

/// A word of a thread's place that others of it make up for together.
#[cold]
fn made_up_for<'a>(place: &'a Place, rest: &'a Rest, mine: u64) -> Option<(&'a AtomicU64, u64)> {
    let mut words = [0; MOST];
    for (word, place) in words.iter_mut().zip(place.iter().chain(rest)) {
        *word = place.load(Ordering::Relaxed);
    }
    let at = (0..MOST).find(|&at| is_made_up_for(&words, at))?;
    place.iter().chain(rest).nth(at).map(|place| (place, mine))
}

/// How many words a thread can have of one set.
pub(crate) const MOST: usize = (size_of::<Place>() + size_of::<Rest>()) / size_of::<u64>();

/// Puts a word of a set's kind into its thread's place, which nobody else knows yet; `false` without room.
pub(crate) fn put(place: &Place, rest: impl FnOnce() -> &'static Rest, word: u64) -> bool {
    let is_free = |place: &&AtomicU64| place.load(Ordering::Relaxed) == 0;
    let free = place.iter().find(is_free).or_else(|| rest().iter().find(is_free));
    free.is_some_and(|place| {
        place.store(word, Ordering::Release);
        true
    })
}
