//! The common way into a [block](super::block): in place of a word that makes room at once.
//!
//! As in [`super::set`]: first publish, then look at all others. A thread has mostly one word of each kind there, which
//! its next access of that kind takes the place of or makes double. What is not so simple is left to `set`.

use super::set::{Seen, is_atomic_at, put};
use super::word::{
    self, ATOMIC, BYTES, EARLIER, GRANULE, SEALED, VOID, WRITE, conflict, covers, is_double, is_earlier,
    is_special, joins, makes_up_for, outdoes, same_kind, same_moment, same_slot, same_slot_and_kind,
    stands_for, touched, with, with_plain, without,
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

/// Publishes an access in a block's set and judges it there: with its moment's word of its kind, with an earlier one of its slot and kind, in the place of one of its slot that it
/// makes up for, of one that is not needed any more, of another's that it makes up for, or of nothing; what is first in this order.
#[inline(always)]
pub(crate) fn enter(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let came = if mine & WRITE == 0 { renew(seen, set, mine) } else { Came::No };
    if came == Came::No { enter_otherwise(seen, set, mine) } else { came }
}

/// As [`enter`], of what [`renew`] does not do.
#[inline(always)]
pub(crate) fn enter_otherwise(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    if mine & ATOMIC != 0 {
        return enter_atomic(seen, set, mine);
    }
    let came = if mine & WRITE != 0 { write_in_short(seen, set, mine) } else { Came::No };
    if came == Came::No { enter_plain(seen, set, mine) } else { came }
}

/// As [`enter`], of a read in the place of its slot's earlier one of the same bytes, as most are that threads make in ever new moments, or, of a plain one, with one of other bytes.
#[inline(always)]
pub(crate) fn renew(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    match renewed(set, mine) {
        Renewed::There(word) => Came::There(word),
        Renewed::Yes(new, roomy) => {
            if !roomy {
                outdo(seen, set, (mine, new));
            }
            let came = judged::<true>(seen, set, (mine, new));
            part_by_part(set, (mine, new));
            came
        }
        Renewed::No => Came::No,
    }
}

/// As [`renew`] of a plain read, with few steps: what is not ordered and no plain read is to be judged, also if it is harmless.
#[inline(always)]
pub(crate) fn renew_in_short(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let new = match renewed(set, mine) {
        Renewed::There(word) => return Came::There(word),
        Renewed::Yes(new, roomy) => {
            if !roomy {
                outdo(seen, set, (mine, new));
            }
            new
        }
        Renewed::No => return Came::No,
    };
    for place in set {
        let word = place.load(Ordering::SeqCst);
        // A set fills from its beginning: whoever comes into this place sees the access.
        if word == 0 {
            break;
        }
        if !is_read(word) && !same_slot(word, mine) && !seen.ordered(word) {
            return Came::Met(new);
        }
    }
    part_by_part(set, (mine, new));
    Came::Yes(new)
}

/// As [`enter`], of a plain write of all bytes in the place of one of its slot's words, with few steps: of a write rather than of a read, so that its thread's next read has a place. What is not
/// ordered is to be judged, also if it is harmless. If its slot has no word there it takes a place whose word went; so does a write of some bytes, or that of its moment for others becomes one with it.
#[inline(always)]
pub(crate) fn write_in_short(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let whole = mine & BYTES == BYTES;
    let (mut own, mut void): (Option<(&AtomicU64, u64)>, Option<&AtomicU64>) = (None, None);
    let (mut others, mut count) = (0, 0);
    for place in set {
        let word = place.load(Ordering::Acquire);
        if word <= VOID {
            if word == 0 {
                break;
            }
            void = Some(place);
            continue;
        }
        // A set that is being replaced has no place, and a store over an atomic has more to do.
        if is_special(word) || word & ATOMIC != 0 {
            return Came::No;
        }
        if !same_slot(word, mine) {
            others |= word;
            count += 1;
            continue;
        }
        if stands_for(word, mine) {
            return Came::There(word);
        }
        count += 1;
        if !whole && !same_kind(word, mine) {
            // What is its own of these bytes is to go.
            if same_moment(word, mine) || touched(word) & mine & BYTES != 0 {
                return Came::No;
            }
            continue;
        }
        let writes = word & WRITE != 0;
        if own.is_none_or(|(_, other)| writes && (other & WRITE == 0 || same_moment(word, mine))) {
            own = Some((place, word));
        }
    }
    let (place, word, new) = match (own, void) {
        (Some((place, word)), _) => (place, word, if whole { mine } else { with_plain(word, mine) }),
        (None, Some(place)) => (place, VOID, mine),
        (None, None) => return Came::No,
    };
    if !put(place, word, new) {
        return Came::No;
    }
    if !whole {
        outdo(seen, set, (mine, new));
    } else if count > MOST_LEFT {
        outdo_all(seen, set, new);
    }
    for place in set {
        let word = place.load(Ordering::SeqCst);
        if word == 0 {
            break;
        }
        if !same_slot(word, mine) && !seen.ordered(word) {
            return Came::Met(new);
        }
    }
    if !whole && others & mine & BYTES != 0 && trims(mine) {
        trim(seen, set, (mine, new));
    }
    Came::Yes(new)
}

/// So many words are left where they are when a write of all bytes makes up for them: each takes a locked operation, and who comes next would mostly take its own one's place.
const MOST_LEFT: usize = 3;

/// What became of an access whose slot may have an earlier one of its kind in a set.
enum Renewed {
    There(u64),
    /// It is in the set by this word, and is to be judged; whether a place was seen whose word went.
    Yes(u64, bool),
    No,
}

/// Publishes a read in the place of the first of its slot's earlier ones that it can go in the place of, or be one word with; if its slot has no word there, in a place whose word went.
#[inline(always)]
fn renewed(set: &[AtomicU64], mine: u64) -> Renewed {
    let (mut alone, mut void) = (true, None);
    for place in set {
        let word = place.load(Ordering::Acquire);
        if same_slot_and_kind(word, mine) {
            let new = if is_earlier(word, mine) {
                mine
            } else if mine & ATOMIC == 0 {
                with_plain(word, mine)
            } else {
                0
            };
            if new == word {
                return Renewed::There(word);
            }
            if new != 0 {
                return if put(place, word, new) { Renewed::Yes(new, void.is_some()) } else { Renewed::No };
            }
            alone = false;
        } else if word <= VOID {
            if word == 0 {
                break;
            }
            void = Some(place);
        } else if same_slot(word, mine) && same_moment(word, mine) {
            alone = false;
        }
    }
    match void {
        Some(place) if alone && put(place, VOID, mine) => Renewed::Yes(mine, true),
        _ => Renewed::No,
    }
}

/// Whether a word is a plain read, as most of a crowd are: less than a seal, but for what is earlier.
#[inline(always)]
const fn is_read(word: u64) -> bool {
    word & !EARLIER < SEALED
}

/// As [`enter`], of a plain access.
#[inline(never)]
fn enter_plain(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let rest = !mine & BYTES;
    // A plain store over an atomic has more to do.
    let refuses = |word| mine & WRITE != 0 && is_atomic_at(word, mine);
    let (mut of_moment, mut joined) = ((set.len(), 0, 0), (set.len(), 0, 0));
    let (mut outdone, mut void, mut free) = ((set.len(), 0), set.len(), set.len());
    let (mut others, mut own, mut beside) = (0, 0, 0);
    for (at, place) in set.iter().enumerate() {
        let word = place.load(Ordering::Acquire);
        own += u32::from(same_slot(word, mine));
        if !same_slot(word, mine) {
            // A set fills from its beginning, and a place does not become nothing again.
            if word == 0 {
                free = at;
                break;
            }
            if word == VOID {
                void = at;
                continue;
            }
            // A set that is being replaced has no place.
            if is_special(word) || refuses(word) {
                return Came::No;
            }
            others |= word;
        } else if word & ATOMIC != 0 {
            if refuses(word) {
                return Came::No;
            }
        } else if same_moment(word, mine) {
            if stands_for(word, mine) {
                return Came::There(word);
            }
            beside += u32::from(touched(word) & mine & BYTES != 0);
            // What the moment's word of its kind has is all that the hook compares with: it goes there, wherever that is.
            let both = with_own(word, mine);
            if both != 0 && (of_moment.2 == 0 || (word ^ mine) & WRITE == 0) {
                of_moment = (at, word, both);
            }
        } else {
            // It is earlier, since it is the slot's.
            beside += u32::from(touched(word) & mine & BYTES != 0);
            if touched(word) & rest == 0 {
                if (word & !mine) & WRITE == 0 {
                    outdone = (at, word);
                }
            } else if (word ^ mine) & WRITE == 0 && joined.2 == 0 {
                joined = (at, word, with_plain(word, mine));
            }
        }
    }
    let (at, word, new) = if of_moment.2 != 0 {
        of_moment
    } else if joined.2 != 0 {
        joined
    } else if outdone.1 != 0 {
        (outdone.0, outdone.1, mine)
    } else {
        let Some((at, word)) = spare(seen, set, mine, (own, void, free)) else { return Came::No };
        (at, word, mine)
    };
    let came = if mine & WRITE == 0 {
        came::<true>(seen, &set[at], word, (mine, new), set)
    } else {
        came::<false>(seen, &set[at], word, (mine, new), set)
    };
    let taken = u32::from(same_slot(word, mine) && touched(word) & mine & BYTES != 0);
    take_bytes(seen, set, (mine, new), (beside > taken, others, came))
}

/// A place for an access, and its word, in a set that has so many of its slot, a place at `void` whose word went, and one at `free` that never had one.
#[inline(always)]
fn spare(
    seen: &impl Seen,
    set: &[AtomicU64],
    mine: u64,
    (own, void, free): (u32, usize, usize),
) -> Option<(usize, u64)> {
    let left = if own > 0 && void == set.len() { left_over(set, mine) } else { None };
    let place = |at: usize, word| (at < set.len()).then_some((at, word));
    left.or_else(|| place(void, VOID)).or_else(|| made_up_for(seen, set, mine)).or_else(|| place(free, 0))
}

/// Takes the bytes of an access, which came into the set by `new`, from its slot's words if some of these are `beside` it, and from `others` if that is asked for.
#[inline(always)]
fn take_bytes(
    seen: &impl Seen,
    set: &[AtomicU64],
    (mine, new): (u64, u64),
    (beside, others, came): (bool, u64, Came),
) -> Came {
    if beside && came != Came::No {
        trim_own(set, (mine, new));
    }
    if others & mine & BYTES != 0 && trims(mine) && came == Came::Yes(new) {
        trim(seen, set, (mine, new));
    }
    came
}

/// Whether an access takes its bytes from the words of those before it: a write of some bytes, but not of one alone, since
/// who writes byte by byte would do so for each.
#[inline(always)]
const fn trims(mine: u64) -> bool {
    let bytes = mine & BYTES;
    mine & WRITE != 0 && bytes != BYTES && bytes & (bytes - 1) != 0
}

/// Takes the bytes of a write, which the set has by `new`, from the plain words that are ordered before it, as it stands for them. So
/// writes of ever other bytes do not fill the set with words of which each has some bytes that no other has.
#[inline(never)]
fn trim(seen: &impl Seen, set: &[AtomicU64], (mine, new): (u64, u64)) {
    for place in set {
        let word = place.load(Ordering::Acquire);
        if word == 0 {
            break;
        }
        if word == VOID || word == new || word & ATOMIC != 0 || is_special(word) || !seen.ordered(word) {
            continue;
        }
        let rest = without(word, mine);
        if rest != word {
            put(place, word, if rest == 0 { VOID } else { rest });
        }
    }
}

/// As [`trim_own`] in a set that is not small, of a read of some bytes.
#[inline(always)]
fn part_by_part(set: &[AtomicU64], (mine, new): (u64, u64)) {
    if mine & (BYTES | ATOMIC) < BYTES && set.len() > FEW {
        trim_own(set, (mine, new));
    }
}

/// Takes the bytes of an access, which the set has by `new`, from its slot's other words that it makes up for: so each byte is in one of them, and who accesses a granule
/// byte by byte, now these in a moment, now those, has at most a word for each. Who looks at the set meanwhile and sees neither has published before `new` was, and is seen by its thread.
#[inline(never)]
fn trim_own(set: &[AtomicU64], (mine, new): (u64, u64)) {
    for place in set {
        let word = place.load(Ordering::Acquire);
        if word == 0 {
            break;
        }
        if !same_slot(word, mine) || word == new || word & ATOMIC != 0 || (word & !mine) & WRITE != 0 {
            continue;
        }
        let rest = without(word, mine);
        if rest != word {
            put(place, word, if rest == 0 { VOID } else { rest });
        }
    }
}

/// The word for a plain one of the moment of `mine`, which does not stand for it, and it; 0 if they are of two kinds, unless it can take the other's place.
#[inline(always)]
fn with_own(word: u64, mine: u64) -> u64 {
    if (word ^ mine) & WRITE == 0 || covers(mine, word) && outdoes(mine, word) {
        with_plain(word, mine)
    } else {
        0
    }
}

/// As [`enter`], of an atomic access.
#[inline(never)]
fn enter_atomic(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Came {
    let (mut joined, mut outdone, mut free) = (None, None, None);
    for (at, place) in set.iter().enumerate() {
        let word = place.load(Ordering::Acquire);
        if word == 0 {
            free = free.or(Some((at, 0, mine)));
            break;
        }
        if word == VOID {
            free = Some((at, VOID, mine));
            continue;
        }
        if is_special(word) {
            return Came::No;
        }
        if !same_slot(word, mine) {
            continue;
        }
        if stands_for(word, mine) {
            return Came::There(word);
        }
        let both = if joins(word, mine) { with(word, mine) } else { 0 };
        if both != 0 {
            joined = Some((at, word, both));
            break;
        }
        if covers(mine, word) && outdoes(mine, word) {
            outdone = Some((at, word, mine));
        }
    }
    let spare = || left_over(set, mine).or_else(|| made_up_for(seen, set, mine));
    let best = joined.or(outdone).or_else(|| spare().map(|(at, word)| (at, word, mine))).or(free);
    match best {
        Some((at, word, new)) => came::<false>(seen, &set[at], word, (mine, new), set),
        None => Came::No,
    }
}

/// A word of the slot of `mine` that another one of the slot makes up for: what its thread accesses in parts, now these, now those, in moments far from each other
/// would fill the set otherwise. The other may go meanwhile, but only for a word that makes up for both, or
/// where every thread knows it, and so the earlier one, too.
#[inline(never)]
fn left_over(set: &[AtomicU64], mine: u64) -> Option<(usize, u64)> {
    const MOST: usize = 16;
    let (mut own, mut count) = ([(0, 0); MOST], 0);
    for (at, place) in set.iter().enumerate() {
        let word = place.load(Ordering::Acquire);
        if !same_slot(word, mine) {
            continue;
        }
        for &(other_at, other) in &own[..count] {
            // Of the same word twice the one in front, as whoever else asks takes it.
            if makes_up_for(word, other) {
                return Some((other_at, other));
            }
            if makes_up_for(other, word) {
                return Some((at, word));
            }
        }
        if count < MOST {
            own[count] = (at, word);
            count += 1;
        }
    }
    None
}

/// A word of another slot that the access makes up for.
#[inline(never)]
fn made_up_for(seen: &impl Seen, set: &[AtomicU64], mine: u64) -> Option<(usize, u64)> {
    let words = set.iter().map(|place| place.load(Ordering::Acquire)).take_while(|&word| word != 0);
    let goes = |word| covers(mine, word) && outdoes(mine, word) && !is_special(word) && seen.ordered(word);
    words.enumerate().find(|&(_, word)| goes(word))
}

/// Puts `new`, which is or has `mine`, in the place of `old`, and judges it. `READS`: it is a read.
#[inline(always)]
fn came<const READS: bool>(
    seen: &impl Seen,
    place: &AtomicU64,
    old: u64,
    (mine, new): (u64, u64),
    set: &[AtomicU64],
) -> Came {
    if !put(place, old, new) {
        return Came::No;
    }
    outdo(seen, set, (mine, new));
    judged::<READS>(seen, set, (mine, new))
}

/// The most places of a set in which others' words stay that an access makes up for together with what its moment did before, unless that is all bytes.
const FEW: usize = if cfg!(deadheat_object) { 7 } else { 2 };

/// Takes the words out that `new` makes up for, which `mine` made all bytes of, or in a set that is not small half of them: who accesses a granule part by part
/// makes up for them only in the end, and where threads come in turn they would be one word more for each.
#[inline(always)]
fn outdo(seen: &impl Seen, set: &[AtomicU64], (mine, new): (u64, u64)) {
    // Not at each byte that is added.
    const HALF: u32 = GRANULE as u32 / 2;
    let bytes = new & BYTES;
    if (mine ^ new) & BYTES != 0 && (bytes == BYTES || set.len() > FEW && bytes.count_ones() == HALF) {
        outdo_all(seen, set, new);
    }
}

#[inline(never)]
fn outdo_all(seen: &impl Seen, set: &[AtomicU64], new: u64) {
    for place in set {
        let word = place.load(Ordering::Acquire);
        if word == 0 {
            break;
        }
        let other = word != VOID && word != new && !is_special(word);
        if other && covers(new, word) && outdoes(new, word) && seen.ordered(word) {
            put(place, word, VOID);
        }
    }
}

/// What came of an access that is in the set as or by `new`.
#[inline(always)]
fn judged<const READS: bool>(seen: &impl Seen, set: &[AtomicU64], (mine, new): (u64, u64)) -> Came {
    for place in set {
        let word = place.load(Ordering::SeqCst);
        // They do not matter to a read.
        if READS && is_read(word) || same_slot(word, mine) {
            continue;
        }
        if !seen.ordered(word) && !harmless_out_of_line(seen, word, mine) {
            return Came::Met(new);
        }
    }
    Came::Yes(new)
}

#[inline(never)]
fn harmless_out_of_line(seen: &impl Seen, word: u64, mine: u64) -> bool {
    harmless(seen, word, mine)
}

/// Whether a word of a set that is not being replaced does not race with another slot's access that is in the set.
#[inline(always)]
pub(crate) fn harmless(seen: &impl Seen, word: u64, mine: u64) -> bool {
    let unlike = |word| !conflict(word, mine) || seen.ordered(word);
    !is_special(word)
        && (unlike(word) || is_double(word) && unlike(word::later(word)) && unlike(word::earlier(word)))
}
