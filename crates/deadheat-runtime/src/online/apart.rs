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
use super::pair::Entered;
use super::set::Seen;
use super::word::{self, ATOMIC, WRITE, is_earlier, joins, makes_up_for, stands_for, with};
use crate::sys::primitive::{AtomicU64, Ordering, fence_beside_barrier};

/// What a thread has of one set: two words, as atomic loads and others may be in moments far from each other.
pub(crate) type Place = [AtomicU64; 2];

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
    place: &Place,
    (mine, again): (u64, bool),
) -> Entered {
    let entered = match room(place, mine) {
        Room::There if again => Entered::There,
        Room::There => return Entered::There,
        Room::None => return Entered::No,
        Room::At(at, new) => {
            place[at].store(new, Ordering::Release);
            Entered::Yes
        }
    };
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

/// Puts a word of a set's kind into its thread's place, which nobody else knows yet; `false` without room.
pub(crate) fn put(place: &Place, word: u64) -> bool {
    let free = place.iter().find(|place| place.load(Ordering::Relaxed) == 0);
    free.is_some_and(|place| {
        place.store(word, Ordering::Release);
        true
    })
}
