//! An access as the shadow remembers it: one word of 64 bits.
//!
//! ```text
//! 63..55   54     53      52..37  36..8  7..0
//! earlier  write  atomic  slot    clock  bytes of the granule
//! ```
//!
//! Zero is no access. Where `earlier` is not zero, the word is *double*: it stands for two accesses by one
//! slot. If they are plain, they are of one kind, one of the named bytes at `clock` and one of all others `earlier` steps before: so the halves of a
//! granule that a thread accesses at different moments need no word each, nor does the birth of a block that is written in part. If they are atomic, the named bytes were read at `clock` and written
//! `earlier` steps before: so the load and the exchange by which threads mostly meet need no word each.
//! The highest slot marks words that are none: [`SEALED`], links to [blocks](super::block) and names of [common sets](super::common). The one below is nobody's, and no clock knows it: it
//! marks the end of a life of a block that waits before it has another ([`freed`]).
//! The rule is `deadheat_core::rule`'s; a test compares the two.

/// Bytes that one cell stands for.
pub(crate) const GRANULE: usize = 8;

/// By how much the access of the other bytes is earlier: so many clocks up to [`EACH_CLOCK`], and above that as many [moments](STEP_LOG2).
pub(crate) const EARLIER: u64 = !0 << EARLIER_SHIFT;
pub(crate) const EARLIER_SHIFT: u32 = 55;
/// log2 of how many clocks a moment is behind the one before it: the clock between them is that of births.
pub(crate) const STEP_LOG2: u32 = 1;
/// Below this what is earlier counts clocks, so that a block's birth and what its thread wrote of it are one word.
const EACH_CLOCK: u64 = 1 << 8;
/// The access writes.
pub(crate) const WRITE: u64 = 1 << WRITE_BIT;
pub(crate) const WRITE_BIT: u32 = 54;
/// The access is atomic.
pub(crate) const ATOMIC: u64 = 1 << 53;
const SLOT_SHIFT: u32 = 37;
const CLOCK_SHIFT: u32 = 8;
/// The bytes.
pub(crate) const BYTES: u64 = 0xff;
/// Slot and clock.
pub(crate) const EPOCH: u64 = ATOMIC - 1 - BYTES;

/// In a place of a [block](super::block) whose word went: an access that everybody knows, in whose place another can come. Zero would be the set's end.
pub(crate) const VOID: u64 = moment(0, 0);

/// The largest slot.
pub(crate) const LAST_SLOT: u32 = FREED_SLOT - 1;
/// The largest clock of a slot; its thread then moves to another.
pub(crate) const LAST_CLOCK: u64 = (1 << (SLOT_SHIFT - CLOCK_SHIFT)) - 1;

const SPECIAL_SLOT: u32 = 0xffff;
const FREED_SLOT: u32 = SPECIAL_SLOT - 1;
const SPECIAL: u64 = (SPECIAL_SLOT as u64) << SLOT_SHIFT;
/// Somebody is replacing what was here; who meets it looks again.
pub(crate) const SEALED: u64 = SPECIAL;

/// A moment of a slot: the word of a plain read of all bytes.
pub(crate) const fn moment(slot: u32, clock: u64) -> u64 {
    (slot as u64) << SLOT_SHIFT | clock << CLOCK_SHIFT | BYTES
}

/// The word of the clock before.
#[inline(always)]
pub(crate) const fn before(word: u64) -> u64 {
    word - (1 << CLOCK_SHIFT)
}

/// The word's slot.
#[inline(always)]
pub(crate) const fn slot(word: u64) -> u32 {
    (word >> SLOT_SHIFT) as u32 & SPECIAL_SLOT
}

/// The word's clock.
#[inline(always)]
pub(crate) const fn clock(word: u64) -> u64 {
    word >> CLOCK_SHIFT & LAST_CLOCK
}

/// Whether the word is of a block's birth, and not of an access: births have the clocks between those of moments.
#[inline(always)]
pub(crate) const fn is_birth(word: u64) -> bool {
    !clock(word).is_multiple_of(1 << STEP_LOG2)
}

/// The write `word` of all bytes by which a block's life ended, as whoever comes to it is to find it: it conflicts with every access, and nothing is
/// ordered behind it. It is as a double word, so that no bytes need be named: where they were, and in the lower bits of what is earlier, is the slot.
#[inline(always)]
pub(crate) const fn freed(word: u64) -> u64 {
    let slot = slot(word) as u64;
    FREED | slot >> u8::BITS << EARLIER_SHIFT | word & CLOCK | slot & BYTES
}

/// The write that a word [of a block's end](freed) stands for.
pub(crate) const fn of_freed(word: u64) -> u64 {
    let slot = word >> EARLIER_SHIFT << u8::BITS & SPECIAL_SLOT as u64 | word & BYTES;
    WRITE | slot << SLOT_SHIFT | word & CLOCK | BYTES
}

/// Whether the word is [of a block's end](freed).
#[inline(always)]
pub(crate) const fn is_freed(word: u64) -> bool {
    slot(word) == FREED_SLOT
}

const FREED: u64 = 1 << 63 | WRITE | (FREED_SLOT as u64) << SLOT_SHIFT;
const CLOCK: u64 = LAST_CLOCK << CLOCK_SHIFT;

/// Whether the word is no access but a seal or a link.
#[inline(always)]
pub(crate) const fn is_special(word: u64) -> bool {
    word & SPECIAL == SPECIAL
}

/// The link to a block at an address that is a multiple of 64.
pub(crate) const fn link(address: usize) -> u64 {
    let unit = address as u64 >> 6;
    SPECIAL | unit & LOW | unit >> SLOT_SHIFT << EARLIER_SHIFT
}

/// The address of the block that a link names; 0 for a seal. Not for the [name](is_common) of a set.
pub(crate) const fn linked(word: u64) -> usize {
    ((word & LOW | (word & !APART) >> EARLIER_SHIFT << SLOT_SHIFT) << 6) as usize
}

/// In a link: what threads did is [apart](super::apart). No address has so many bits.
const APART: u64 = 1 << 62;

/// The link to a set whose words are [apart](super::apart), from that to its block.
pub(crate) const fn apart(link: u64) -> u64 {
    link | APART
}

/// Whether a word is a seal, or a link to a block whose words are a cell's own and not [apart](super::apart).
#[inline(always)]
pub(crate) const fn is_own_link(word: u64) -> bool {
    word & (COMMON | APART) == SPECIAL
}

/// Whether a word is a link to a set whose words are [apart](super::apart).
#[inline(always)]
pub(crate) const fn is_apart(word: u64) -> bool {
    word & (COMMON | APART) == SPECIAL | APART
}

/// In the first word of each cell of a [span](super::span): a seal, but for the bit.
pub(crate) const WIDE: u64 = SEALED | WRITE;
/// A span's word for no access.
pub(crate) const NOTHING: u64 = SEALED | WRITE;
/// Added to a [span's word](said) for a write: a block's life ended by it.
pub(crate) const ENDED: u64 = 1 << 63;

/// As which word a span has a plain access to all bytes, or none. To whoever takes it for a word of a cell it is a seal.
#[inline(always)]
pub(crate) const fn said(word: u64) -> u64 {
    if word == 0 {
        return NOTHING;
    }
    let slot = slot(word) as u64;
    SPECIAL | slot >> u8::BITS << EARLIER_SHIFT | word & (WRITE | CLOCK) | slot & BYTES
}

/// The access to all bytes, or none, for which a span has this word; the [mark](freed) if a block's life [ended] by it.
///
/// [ended]: ENDED
#[inline(always)]
pub(crate) const fn meant(said: u64) -> u64 {
    if said == NOTHING {
        return 0;
    }
    let slot = (said & !ENDED) >> EARLIER_SHIFT << u8::BITS | said & BYTES;
    let word = said & (WRITE | CLOCK) | slot << SLOT_SHIFT | BYTES;
    if said & ENDED != 0 { freed(word) } else { word }
}

/// Whether that is a [span's word](said), and not a seal.
#[inline(always)]
pub(crate) const fn is_said(word: u64) -> bool {
    is_special(word) && word != SEALED
}

/// Whether a span can have a word of a cell: one of a plain access to all bytes, or none.
#[inline(always)]
pub(crate) const fn can_be_said(word: u64) -> bool {
    word == 0 || word & (BYTES | EARLIER | ATOMIC) == BYTES && !is_special(word)
}

/// Bits of the number of a row of [`super::common`].
pub(crate) const ROW_BITS: u32 = 12;
const AGE_BITS: u32 = SLOT_SHIFT - ROW_BITS;
/// The last age of a row that a name can have.
pub(crate) const LAST_AGE: u64 = (1 << (AGE_BITS + 8)) - 1;
/// In a name: it is none of a block's links, whose addresses have fewer bits.
const COMMON: u64 = SPECIAL | 1 << 63;

/// The name of no set, in no cell.
pub(crate) const NO_NAME: u64 = COMMON;

/// The name of the set that a row of [`super::common`] has at an age, which is not 0.
pub(crate) const fn name(row: usize, age: u64) -> u64 {
    let young = age & ((1 << AGE_BITS) - 1);
    COMMON | row as u64 | young << ROW_BITS | age >> AGE_BITS << EARLIER_SHIFT
}

/// Whether a word is the name of a set of [`super::common`].
#[inline(always)]
pub(crate) const fn is_common(word: u64) -> bool {
    word & COMMON == COMMON
}

/// Whether a word is a link or a seal: whether it is [special](is_special), and no [name](is_common).
#[inline(always)]
pub(crate) const fn is_link(word: u64) -> bool {
    word & COMMON == SPECIAL
}

/// The row and the age of a name.
pub(crate) const fn common(name: u64) -> (usize, u64) {
    let row = name & ((1 << ROW_BITS) - 1);
    let old = (name & !COMMON) >> EARLIER_SHIFT;
    (row as usize, (name & LOW) >> ROW_BITS | old << AGE_BITS)
}

/// What of a link is below its slot.
const LOW: u64 = (1 << SLOT_SHIFT) - 1;

/// The access `word` to the bytes `bytes` alone.
pub(crate) const fn only(word: u64, bytes: u64) -> u64 {
    word & !BYTES | bytes
}

/// The bytes of the granule that `size` bytes from `offset` on are; both end within it.
pub(crate) const fn bytes(offset: usize, size: usize) -> u64 {
    ((1 << size) - 1) << offset & BYTES
}

/// Whether the word stands for two accesses.
pub(crate) const fn is_double(word: u64) -> bool {
    word & EARLIER != 0 && !is_special(word) && !is_freed(word)
}

/// The access, or the later one of a double word.
#[inline(always)]
pub(crate) const fn later(word: u64) -> u64 {
    word & !EARLIER
}

/// The earlier access of a double word; 0 of any other.
pub(crate) const fn earlier(word: u64) -> u64 {
    if !is_double(word) {
        return 0;
    }
    let other = if word & ATOMIC != 0 { later(word) | WRITE } else { later(word) ^ BYTES };
    other - (distance(word) << CLOCK_SHIFT)
}

/// What is left of a plain word if these bytes need not be remembered: the word itself where one cannot say it, and 0 if it is nothing.
pub(crate) const fn without(word: u64, bytes: u64) -> u64 {
    let (one, other) = (left(later(word), bytes), left(earlier(word), bytes));
    if one != 0 && other != 0 { word } else { one | other }
}

/// As [`without`], of one access.
const fn left(access: u64, bytes: u64) -> u64 {
    let rest = access & !(bytes & BYTES);
    if rest & BYTES == 0 { 0 } else { rest }
}

/// All bytes that a word stands for.
#[inline(always)]
pub(crate) const fn touched(word: u64) -> u64 {
    if word & EARLIER != 0 && word & ATOMIC == 0 { BYTES } else { word & BYTES }
}

/// Whether an access that a word stands for writes.
#[inline(always)]
pub(crate) const fn writes(word: u64) -> bool {
    word & WRITE != 0 || word & EARLIER != 0 && word & ATOMIC != 0
}

/// Whether `mine` is a later access of a word's slot, of a kind that [`with`] can be asked for.
#[inline(always)]
pub(crate) const fn joins(word: u64, mine: u64) -> bool {
    if mine & ATOMIC == 0 {
        return same_slot_and_kind(word, mine);
    }
    (word ^ mine) & (SPECIAL | ATOMIC) == 0
}

/// As [`with`], of atomic accesses.
#[inline]
const fn with_atomic(word: u64, mine: u64) -> u64 {
    if covers(mine, word) && outdoes(mine, word) {
        return mine;
    }
    if same_kind(word, mine) && word & EARLIER == 0 {
        return word | mine & BYTES;
    }
    if mine & WRITE == 0 && writes(word) && (word ^ mine) & BYTES == 0 {
        return later_than(clock(word) - distance(word), mine);
    }
    0
}

/// The word for `word` and a later access that [joins] it; 0 if one word cannot say it.
#[inline(always)]
pub(crate) const fn with(word: u64, mine: u64) -> u64 {
    if mine & ATOMIC != 0 { with_atomic(word, mine) } else { with_plain(word, mine) }
}

/// As [`with`], of plain accesses.
#[inline(always)]
pub(crate) const fn with_plain(word: u64, mine: u64) -> u64 {
    if same_kind(word, mine) {
        let both = word | mine & BYTES;
        return if both & BYTES == BYTES { later(both) } else { both };
    }
    if covers(mine, word) {
        return mine;
    }
    // All other bytes must be of one earlier moment.
    let rest = !mine & BYTES;
    let older = if word & EARLIER != 0 && rest & word == 0 {
        clock(word) - distance(word)
    } else if rest & !word == 0 {
        clock(word)
    } else {
        return 0;
    };
    later_than(older, mine)
}

/// The double word for `mine` and an access of its slot at the clock `older`; 0 if there is none for that distance.
#[inline(always)]
const fn later_than(older: u64, mine: u64) -> u64 {
    let earlier = clock(mine).wrapping_sub(older);
    let steps = if earlier < EACH_CLOCK {
        earlier
    } else {
        // An odd distance is too far as well.
        (earlier - EACH_CLOCK).rotate_right(STEP_LOG2).saturating_add(EACH_CLOCK)
    };
    if steps == 0 || steps >= 1 << (u64::BITS - EARLIER_SHIFT) { 0 } else { mine | steps << EARLIER_SHIFT }
}

/// How many clocks earlier the earlier access of a double word is.
#[inline(always)]
const fn distance(word: u64) -> u64 {
    let steps = word >> EARLIER_SHIFT;
    let moments = steps.saturating_sub(EACH_CLOCK);
    steps - moments + (moments << STEP_LOG2)
}

/// Whether two accesses have a byte in common and conflict: one writes, and not both are atomic.
#[inline(always)]
pub(crate) const fn conflict(one: u64, other: u64) -> bool {
    touched(one) & touched(other) != 0 && (writes(one) || writes(other)) && one & other & ATOMIC == 0
}

/// Whether whatever conflicts with `old` conflicts with `new` as well, as far as the bytes are `new`'s.
#[inline(always)]
pub(crate) const fn outdoes(new: u64, old: u64) -> bool {
    (new & ATOMIC == 0 || old & ATOMIC != 0) && (new & WRITE != 0 || !writes(old))
}

/// Whether all bytes of `old` are among those of `new`'s later access.
#[inline(always)]
pub(crate) const fn covers(new: u64, old: u64) -> bool {
    touched(old) & !new == 0
}

/// Whether two accesses are of one moment.
#[inline(always)]
pub(crate) const fn same_moment(one: u64, other: u64) -> bool {
    (one ^ other) & EPOCH == 0
}

/// Whether two accesses, if double the later ones, are of one moment and of one kind.
#[inline(always)]
pub(crate) const fn same_kind(one: u64, other: u64) -> bool {
    (one ^ other) & !(BYTES | EARLIER) == 0
}

/// Whether two accesses are of one slot.
#[inline(always)]
pub(crate) const fn same_slot(one: u64, other: u64) -> bool {
    (one ^ other) & SPECIAL == 0
}

/// Whether whoever looks for `mine` finds it in `word`, an access of the same moment.
#[inline(always)]
pub(crate) const fn stands_for(word: u64, mine: u64) -> bool {
    same_moment(word, mine) && covers(word, mine) && outdoes(word, mine)
}

/// Whether two accesses are of one slot and one kind.
#[inline(always)]
pub(crate) const fn same_slot_and_kind(one: u64, other: u64) -> bool {
    later(one ^ other) >> SLOT_SHIFT == 0
}

/// Whether a word is that of another moment of an access's slot, of the same kind and the same bytes, and of nothing else.
#[inline(always)]
pub(crate) const fn is_earlier(word: u64, mine: u64) -> bool {
    (word ^ mine) & !(LAST_CLOCK << CLOCK_SHIFT) == 0
}

/// Whether a word is of plain accesses of `mine`'s slot, which is plain.
#[inline(always)]
pub(crate) const fn is_own_plain(word: u64, mine: u64) -> bool {
    (word ^ mine) & (SPECIAL | ATOMIC) == 0
}

/// Whether `later` alone is enough to remember both, whoever looks: it is of the same slot and not earlier, covers and
/// outdoes the other, or it is the same word.
#[inline(always)]
pub(crate) const fn makes_up_for(later: u64, earlier: u64) -> bool {
    later == earlier
        || slot(later) == slot(earlier)
            && clock(later) >= clock(earlier)
            && covers(later, earlier)
            && outdoes(later, earlier)
}
