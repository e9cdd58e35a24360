//! The common ways into a cell of two words: in place of an access that makes room at once, beside what does not matter to
//! it.
//!
//! As in [`super::set`]: first publish, then look at the other word, which is judged before already and must not have
//! changed. A cell that has a block shows in its second word what somebody put into the block last
//! ([`super::block::hint`]): who finds his own access there need not look into the block.

use super::set::{Seen, is_atomic_at};
use super::word::{
    ATOMIC, BYTES, EARLIER, EARLIER_SHIFT, WRITE, WRITE_BIT, conflict, covers, freed, is_earlier,
    is_own_plain, is_special, joins, makes_up_for, outdoes, same_kind, same_moment, same_slot_and_kind, slot,
    stands_for, with, with_plain,
};
use crate::sys::primitive::{AtomicU64, Ordering, fence_after_locked};

/// How an access came into a cell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
pub(crate) enum Entered {
    /// It was there already.
    There,
    /// It is there, and is to be noted in the history.
    Yes,
    /// That is not how it is: nothing was done.
    No,
    /// It is there, is to be noted, and somebody came into the cell at the same time, or gave it a block: it is to be
    /// published once more and judged.
    Met,
}

/// What a cell's two words are.
#[inline(always)]
pub(crate) fn words(cell: &[AtomicU64; 2]) -> [u64; 2] {
    [cell[0].load(Ordering::Acquire), cell[1].load(Ordering::Acquire)]
}

/// Whether a plain access of the moment `mine`, as far as that has bytes, is nothing new to a cell with these words. For a read it does not
/// matter whether a word writes, and for none what is earlier.
#[inline(always)]
pub(crate) fn is_here<const WRITES: bool>(words: [u64; 2], mine: u64) -> bool {
    let mine = if WRITES { mine | WRITE } else { mine };
    words.iter().any(|&word| agree::<WRITES>(word, mine, !0))
}

/// Whether a word shows the access `mine`, which is plain.
#[inline(always)]
pub(crate) fn shows<const WRITES: bool>(word: u64, mine: u64) -> bool {
    agree::<WRITES>(word, mine, mine | !BYTES)
}

/// Whether a word and a plain access agree in `compared`, as far as it matters.
#[inline(always)]
fn agree<const WRITES: bool>(word: u64, mine: u64, compared: u64) -> bool {
    let unlike = const { u64::BITS - if WRITES { EARLIER_SHIFT } else { WRITE_BIT } };
    ((word ^ mine) & compared) << unlike == 0
}

/// The first of neighbouring cells to which a plain access of the moment `mine`, the word of a read of all bytes, may be new. `ends`: which
/// bytes of the first cell and of the last it has.
#[inline(always)]
pub(crate) fn first_new<const WRITES: bool>(
    cells: &[[AtomicU64; 2]],
    mine: u64,
    (head, tail): (u64, u64),
) -> Option<usize> {
    let mine = if WRITES { mine | WRITE } else { mine };
    let new = |cell: &[AtomicU64; 2], bytes: u64| {
        !words(cell).iter().any(|&word| agree::<WRITES>(word, mine, !BYTES | bytes & BYTES))
    };
    let (last, before) = cells.split_last()?;
    let Some((first, between)) = before.split_first() else {
        return new(last, head & tail).then_some(0);
    };
    if new(first, head) {
        return Some(0);
    }
    if let Some(at) = between.iter().position(|cell| new(cell, BYTES)) {
        return Some(at + 1);
    }
    new(last, tail).then_some(before.len())
}

/// Publishes a plain access in the place of the slot's own of the same kind and bytes, if all else in the cell is the slot's, too, or reads like
/// the access: what a thread mostly finds in its own memory, and in what two threads read. `writes`: what the access does, known when this is
/// compiled; `words`: what the cell's are.
#[inline(always)]
pub(crate) fn renew(writes: bool, cell: &[AtomicU64; 2], [one, other]: [u64; 2], mine: u64) -> Entered {
    // What does not conflict with a read, unless it is no access.
    let reads = |word: u64| if writes { word == 0 } else { word & (WRITE | ATOMIC) == 0 };
    if is_earlier(one, mine) {
        if is_own_plain(other, mine) || reads(other) {
            return commit([&cell[0], &cell[1]], [one, mine, other]);
        }
    } else if is_earlier(other, mine) {
        // In this order, so that what is the slot's own is found by one look.
        if is_own_plain(one, mine) {
            return commit([&cell[1], &cell[0]], [other, mine, one]);
        }
        if reads(one) && !is_special(one) {
            return commit([&cell[1], &cell[0]], [other, mine, one]);
        }
    }
    Entered::No
}

/// As [`renew`], of any plain access, if all that is in the cell is plain and the slot's: with its word of the same kind, in the place of what it outdoes or of nothing.
#[inline(always)]
pub(crate) fn renew_own(cell: &[AtomicU64; 2], [one, other]: [u64; 2], mine: u64) -> Entered {
    let own = |word| word == 0 || is_own_plain(word, mine);
    if !own(one) || !own(other) {
        return Entered::No;
    }
    let join = |word: u64| match word {
        0 => 0,
        _ if (word ^ mine) & WRITE == 0 => with_plain(word, mine),
        _ => 0,
    };
    let makes_room = |word: u64| word == 0 || mine & WRITE != 0 && covers(mine, word);
    let first = |new: u64| commit([&cell[0], &cell[1]], [one, new, other]);
    let second = |new: u64| commit([&cell[1], &cell[0]], [other, new, one]);
    match (join(one), join(other)) {
        (0, 0) if makes_room(one) => first(mine),
        (0, 0) if makes_room(other) => second(mine),
        // Who reads this part and then that in each of its moments has all of the last one and of the one before.
        (0, 0) if makes_up_for(one, other) => second(mine),
        (0, 0) if makes_up_for(other, one) => first(mine),
        (0, 0) => Entered::No,
        (0, new) => second(new),
        (new, _) => first(new),
    }
}

/// As [`renew`], of a plain access to some bytes: with its moment's word of the same kind for others, if what is beside it is ordered, or reads as the access does.
#[inline(always)]
pub(crate) fn join(
    writes: bool,
    seen: &impl Seen,
    cell: &[AtomicU64; 2],
    [one, other]: [u64; 2],
    mine: u64,
) -> Entered {
    if is_special(one) {
        return Entered::No;
    }
    let quiet = |word: u64| {
        word == 0 || !writes && word & (WRITE | ATOMIC) == 0 || word & ATOMIC == 0 && seen.ordered(word)
    };
    if same_kind(one, mine) && quiet(other) {
        return commit([&cell[0], &cell[1]], [one, with_plain(one, mine), other]);
    }
    if same_kind(other, mine) && quiet(one) {
        return commit([&cell[1], &cell[0]], [other, with_plain(other, mine), one]);
    }
    Entered::No
}

/// As [`renew`], of a plain access of all bytes, if all that is in the cell is plain and ordered before it: in the place of nothing or of
/// what it outdoes, of the slot's own rather than another's.
#[inline(always)]
pub(crate) fn follow(
    writes: bool,
    seen: &impl Seen,
    cell: &[AtomicU64; 2],
    [one, other]: [u64; 2],
    mine: u64,
) -> Entered {
    if (one | other) & ATOMIC != 0 || !seen.ordered(one) {
        return Entered::No;
    }
    let reads = |word: u64| word & WRITE == 0;
    let first = || commit([&cell[0], &cell[1]], [one, mine, other]);
    let second = || commit([&cell[1], &cell[0]], [other, mine, one]);
    if other == 0 {
        return if writes || reads(one) { first() } else { second() };
    }
    if !seen.ordered(other) {
        return Entered::No;
    }
    // Of two reads or writes the slot's own, of two others the first; a read goes nowhere else.
    match (reads(one) != writes, reads(other) != writes) {
        (true, true) if is_own_plain(other, mine) => second(),
        (false, true) => second(),
        (true, _) => first(),
        (false, false) if writes => first(),
        (false, false) => Entered::No,
    }
}

/// Whether an access is a plain store over an atomic of a cell's words, which has more to do.
#[inline(always)]
const fn goes_over_atomic([one, other]: [u64; 2], mine: u64) -> bool {
    mine & (WRITE | ATOMIC) == WRITE
        && (one | other) & ATOMIC != 0
        && (is_atomic_at(one, mine) || is_atomic_at(other, mine))
}

/// Publishes an access in the place of nothing, beside its moment's other bytes, or of an ordered access that it covers
/// and outdoes, if all else in the cell is ordered or does not conflict. `ask`: whether it may be there already; `PLAIN`: it
/// is no atomic access.
#[inline(always)]
pub(crate) fn again<const PLAIN: bool>(
    seen: &impl Seen,
    cell: &[AtomicU64; 2],
    mine: u64,
    ask: bool,
) -> Entered {
    let [one, other] = words(cell);
    // What a cell with a block has beside its link is a copy.
    if is_special(one) {
        return if ask && stands_for(other, mine) { Entered::There } else { Entered::No };
    }
    if ask && (stands_for(one, mine) || stands_for(other, mine)) {
        return Entered::There;
    }
    if goes_over_atomic([one, other], mine) {
        return Entered::No;
    }
    let (known, other_known) = (seen.ordered(one), seen.ordered(other));
    // What the slot has of this kind goes first: so it has one word of each kind.
    let new = own::<PLAIN>(one, mine);
    if new != 0 && harmless(other, mine, other_known) {
        return commit([&cell[0], &cell[1]], [one, new, other]);
    }
    let new = own::<PLAIN>(other, mine);
    if new != 0 && harmless(one, mine, known) {
        return commit([&cell[1], &cell[0]], [other, new, one]);
    }
    // A write goes in the place of a write, so that a read has room beside it.
    let better = other & !one & mine & WRITE != 0 && goes(other, mine, other_known);
    if !better && goes(one, mine, known) && harmless(other, mine, other_known) {
        return commit([&cell[0], &cell[1]], [one, mine, other]);
    }
    if goes(other, mine, other_known) && harmless(one, mine, known) {
        return commit([&cell[1], &cell[0]], [other, mine, one]);
    }
    Entered::No
}

/// As [`again`], of an atomic access: at once where its slot's earlier atomic access makes room beside nothing that matters.
#[inline(always)]
pub(crate) fn renew_atomic(seen: &impl Seen, cell: &[AtomicU64; 2], mine: u64) -> Entered {
    let [one, other] = words(cell);
    if stands_for(one, mine) || stands_for(other, mine) {
        return Entered::There;
    }
    let second = !joins(one, mine);
    let (at, old, beside) = if second { (1, other, one) } else { (0, one, other) };
    if !second || joins(other, mine) {
        // No link, and no end of a block's life, looks like an atomic access.
        let quiet = beside == 0 || beside & ATOMIC != 0 || harmless(beside, mine, seen.ordered(beside));
        let new = if quiet { with(old, mine) } else { 0 };
        if new != 0 {
            return commit([&cell[at], &cell[1 - at]], [old, new, beside]);
        }
    }
    again_out_of_line(seen, cell, mine)
}

#[inline(never)]
fn again_out_of_line(seen: &impl Seen, cell: &[AtomicU64; 2], mine: u64) -> Entered {
    match again::<false>(seen, cell, mine, false) {
        Entered::No => beside_later(seen, cell, mine),
        entered => entered,
    }
}

/// Publishes an atomic access in the place of a word that the other one makes up for, which is ordered: mostly a block's birth, behind which its thread wrote all of the granule.
#[inline(always)]
fn beside_later(seen: &impl Seen, cell: &[AtomicU64; 2], mine: u64) -> Entered {
    let [one, other] = words(cell);
    if is_special(one) || is_special(other) {
        Entered::No
    } else if makes_up_for(other, one) && seen.ordered(other) {
        commit([&cell[0], &cell[1]], [one, mine, other])
    } else if makes_up_for(one, other) && seen.ordered(one) {
        commit([&cell[1], &cell[0]], [other, mine, one])
    } else {
        Entered::No
    }
}

/// Whether a word is ordered before an access, or does not conflict with it.
#[inline(always)]
const fn harmless(word: u64, mine: u64, known: bool) -> bool {
    known || !is_special(word) && !conflict(word, mine)
}

/// The word for the slot's earlier access and this one; 0 if it is not the slot's, or one word cannot say it.
#[inline(always)]
const fn own<const PLAIN: bool>(word: u64, mine: u64) -> u64 {
    match PLAIN {
        true if same_slot_and_kind(word, mine) => with_plain(word, mine),
        false if joins(word, mine) => with(word, mine),
        _ => 0,
    }
}

/// Whether an access can take the place of a word, or of nothing.
#[inline(always)]
const fn goes(word: u64, mine: u64, known: bool) -> bool {
    known && (word == 0 || outdoes(mine, word)) && covers(mine, word)
}

/// Where an access goes in a cell.
pub(crate) enum Room {
    /// It is there already.
    There,
    /// In the place of the first word.
    First,
    /// In that of the second.
    Second,
    /// That is not how it is.
    None,
}

/// Where a plain access of all bytes goes in a cell with these words, as ranges have it: if nothing is in the way but what it outdoes, or for a read the
/// slot's earlier one.
#[inline(always)]
pub(crate) fn room(seen: &impl Seen, [one, other]: [u64; 2], mine: u64) -> Room {
    // A write of the moment stands for a read.
    let compared = !EARLIER & if mine & WRITE != 0 { !0 } else { !WRITE };
    if (one ^ mine) & compared == 0 || (other ^ mine) & compared == 0 {
        return Room::There;
    }
    let known = |word| word == 0 || seen.ordered(word);
    if (one | other) & ATOMIC != 0 || !known(one) || !known(other) {
        return Room::None;
    }
    let goes = |word: u64| word == 0 || (word ^ mine) & WRITE == 0;
    match (goes(one), goes(other)) {
        (true, _) => Room::First,
        (false, true) => Room::Second,
        (false, false) => Room::None,
    }
}

/// Publishes a plain access of all bytes in neighbouring cells, from the first one on as long as there is [room]. How many cells have it then, whether it is new to any of them, and whether
/// it is in the next one, too, where somebody was [met](Entered::Met).
#[inline(never)]
pub(crate) fn over(seen: &impl Seen, cells: &[[AtomicU64; 2]], mine: u64) -> (usize, bool, Entered) {
    let mut new = false;
    for (at, cell) in cells.iter().enumerate() {
        let [one, other] = words(cell);
        let entered = match room(seen, [one, other], mine) {
            Room::There => continue,
            Room::First => commit([&cell[0], &cell[1]], [one, mine, other]),
            Room::Second => commit([&cell[1], &cell[0]], [other, mine, one]),
            Room::None => Entered::No,
        };
        if entered != Entered::Yes {
            return (at, new, entered);
        }
        new = true;
    }
    (cells.len(), new, Entered::No)
}

/// Where the write `mine` of all bytes by which a block's life ends goes in a cell with these words, if nothing but what is ordered is in the way. What atomics showed went
/// before, with the objects in the block.
#[inline(always)]
pub(crate) fn room_to_end(seen: &impl Seen, [one, other]: [u64; 2], mine: u64) -> Room {
    let known = |word| word == 0 || seen.ordered(word);
    if !known(one) || !known(other) {
        return Room::None;
    }
    if goes_with_end(other, mine) && !same_moment(one, mine) { Room::Second } else { Room::First }
}

/// Whether the second word of a cell goes with the end `mine`: who frees a block shall not find its own access there. Mostly it read what another wrote.
#[inline(always)]
pub(crate) const fn goes_with_end(other: u64, mine: u64) -> bool {
    other != 0 && same_moment(other, mine)
}

/// Publishes the write `mine` of all bytes by which a block's life ends as [such](freed), where there is [room](room_to_end).
#[inline(always)]
pub(crate) fn end(seen: &impl Seen, cell: &[AtomicU64; 2], mine: u64) -> Entered {
    let [one, other] = words(cell);
    // Mostly the slot's own is all that is there.
    if other == 0 && is_own_plain(one, mine) {
        return commit([&cell[0], &cell[1]], [one, freed(mine), 0]);
    }
    match room_to_end(seen, [one, other], mine) {
        Room::First => {
            let entered = commit([&cell[0], &cell[1]], [one, freed(mine), other]);
            if goes_with_end(other, mine) {
                let _ = cell[1].compare_exchange(other, 0, Ordering::SeqCst, Ordering::Relaxed);
            }
            entered
        }
        Room::Second => commit([&cell[1], &cell[0]], [other, freed(mine), one]),
        Room::There | Room::None => Entered::No,
    }
}

/// Publishes an access in the place of nothing, of a word of its own moment and kind, or of one that it makes up for,
/// if the cell's other word does not race with it.
#[inline]
pub(crate) fn replace(seen: &impl Seen, cell: &[AtomicU64; 2], mine: u64) -> Entered {
    let one = cell[0].load(Ordering::Acquire);
    let other = cell[1].load(Ordering::Acquire);
    if stands_for(one, mine) || stands_for(other, mine) {
        return Entered::There;
    }
    // What a cell with a block has beside its link is a copy.
    if is_special(one) || goes_over_atomic([one, other], mine) {
        return Entered::No;
    }
    let room = |word: u64| {
        if word == 0 {
            return mine;
        }
        if same_kind(word, mine) {
            return with(word, mine);
        }
        let makes_room = covers(mine, word) && outdoes(mine, word) && !is_special(word) && seen.ordered(word);
        if makes_room { mine } else { 0 }
    };
    let new = if makes_up_for(other, one) { mine } else { room(one) };
    if new != 0 {
        return judged(seen, [&cell[0], &cell[1]], [one, new, other]);
    }
    let new = if makes_up_for(one, other) { mine } else { room(other) };
    if new != 0 {
        return judged(seen, [&cell[1], &cell[0]], [other, new, one]);
    }
    Entered::No
}

/// Puts `new` in the place of `old`, unless the cell's other word races with it.
#[inline(always)]
fn judged(seen: &impl Seen, places: [&AtomicU64; 2], words: [u64; 3]) -> Entered {
    let [_, new, other] = words;
    let harmless = other == 0
        || slot(other) == slot(new)
        || !is_special(other) && (!conflict(other, new) || seen.ordered(other));
    if harmless { commit(places, words) } else { Entered::No }
}

/// Puts `new` in the place of `old`; the cell's other word was judged before.
#[inline(always)]
pub(crate) fn commit([place, beside]: [&AtomicU64; 2], [old, new, other]: [u64; 3]) -> Entered {
    if place.compare_exchange(old, new, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return Entered::No;
    }
    fence_after_locked();
    // Who published meanwhile has seen this word or is seen here.
    if beside.load(Ordering::SeqCst) == other { Entered::Yes } else { Entered::Met }
}
