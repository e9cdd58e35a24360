//! The common ways into a cell of two words: in place of the thread's own earlier access, or of one that makes room at
//! once.
//!
//! As in [`super::set`]: first publish, then look at the other word, which is judged before already and must not have
//! changed.

use super::set::Seen;
use super::word::{
    ATOMIC, WRITE, conflict, covers, is_special, outdoes, same_kind, same_moment, same_slot_and_kind, slot,
};
use crate::sys::primitive::{AtomicU64, Ordering, fence_after_locked};

/// How [`replace`] went.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Entered {
    Yes,
    /// That is not how it is: nothing was done.
    No,
    /// Yes, and somebody came into the cell at the same time, who is to be judged.
    Met,
}

/// Publishes an access in the place of nothing, of a word of its own moment and kind, or of one that it makes up for,
/// if the cell's other word does not race with it. `ask`: whether it may be there already. `note` puts it into the
/// history.
#[inline(always)]
pub(crate) fn replace(
    seen: &impl Seen,
    cell: &[AtomicU64; 2],
    mine: u64,
    ask: bool,
    note: impl FnOnce(),
) -> Entered {
    let one = cell[0].load(Ordering::Acquire);
    let other = cell[1].load(Ordering::Acquire);
    let stands = |word| same_moment(word, mine) && covers(word, mine) && outdoes(word, mine);
    if ask && (stands(one) || stands(other)) {
        return Entered::Yes;
    }
    // A plain store over an atomic has more to do.
    if mine & (WRITE | ATOMIC) == WRITE && (one | other) & ATOMIC != 0 {
        return Entered::No;
    }
    // The thread's own earlier access of this kind is there in most cases.
    let again = |word: u64| same_slot_and_kind(word, mine) && covers(mine, word);
    if again(one) || one == 0 {
        return commit([&cell[0], &cell[1]], [one, mine, other], seen, note);
    }
    if again(other) {
        return commit([&cell[1], &cell[0]], [other, mine, one], seen, note);
    }
    let room = |word: u64| {
        if same_kind(word, mine) {
            return word | mine;
        }
        let makes_room =
            word == 0 || covers(mine, word) && outdoes(mine, word) && !is_special(word) && seen.ordered(word);
        if makes_room { mine } else { 0 }
    };
    let new = room(one);
    if new != 0 {
        return commit([&cell[0], &cell[1]], [one, new, other], seen, note);
    }
    let new = room(other);
    if new != 0 {
        return commit([&cell[1], &cell[0]], [other, new, one], seen, note);
    }
    Entered::No
}

/// Puts `new` in the place of `old`, unless the cell's other word races with it.
#[inline(always)]
fn commit(
    [place, beside]: [&AtomicU64; 2],
    [old, new, other]: [u64; 3],
    seen: &impl Seen,
    note: impl FnOnce(),
) -> Entered {
    let harmless = other == 0
        || slot(other) == slot(new)
        || !is_special(other) && (!conflict(other, new) || seen.ordered(other));
    if !harmless {
        return Entered::No;
    }
    if place.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return Entered::No;
    }
    fence_after_locked();
    // Before it, the locked operation would wait for the stores. Who finds the word without its record looks again.
    note();
    // Who published meanwhile has seen this word or is seen here.
    if beside.load(Ordering::SeqCst) == other { Entered::Yes } else { Entered::Met }
}
