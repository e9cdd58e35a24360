//! Which cells have their threads' words [apart](super::apart), and how they come to that and back.
//!
//! A block counts, of each few accesses one, how often reads, or atomic accesses, took the place of earlier ones of their threads; a plain write, or an access of the other kind, lets it begin anew. When
//! there were many its words are put apart. Each time they have to be united again the cell has to wait twice as long, since a barrier of all threads takes some microseconds.
//!
//! The block of such a cell has a number, by which threads find their [places](super::places), and the few words that are of another kind. It is not changed as
//! long as a cell names it, and used again as others are, when nobody can look at it.

use core::sync::atomic::{AtomicU32, Ordering};

use super::apart::{self, Kind, Place};
use super::block::{self, APART, Block, Blocks};
use super::list::List;
use super::pair::Entered;
use super::places::{self, Near};
use super::set::{self, Seen};
use super::slots;
use super::word::{self, SEALED};
use crate::sys;
use crate::sys::primitive::AtomicU64;

/// Of so many accesses one is counted.
pub(super) const EACH: u32 = 8;
/// After so many counted accesses of one kind a block's words are put apart, or that shifted by how often they were united: some microseconds are saved by then.
const OFTEN: u32 = 16;
/// The most that it is shifted by.
const LATEST: u32 = 15;
/// A set of so many words is put apart when there is no room.
const MANY: usize = 30;

// What a block notes: how often, of which kind, and how often it was united.
const COUNT: u32 = (1 << 26) - 1;
const ATOMICS: u32 = 1 << 26;
const UNITED_SHIFT: u32 = 27;

/// How often the words of a cell were united, as its blocks note it.
///
/// # Safety
/// The block is whole, and its words are not apart.
pub(super) unsafe fn kept(block: *mut Block) -> u32 {
    // SAFETY: the caller's promise.
    unsafe { (*block).noted.load(Ordering::Relaxed) >> UNITED_SHIFT << UNITED_SHIFT }
}

/// Takes account of an access that came into a cell's block, whose words these are, and puts them apart if it is time.
///
/// # Safety
/// The set is a block's. The calling thread is marked busy and is in no other hook; `blocks` are its own.
#[inline(always)]
pub(super) unsafe fn count(set: &[AtomicU64], cell: &[AtomicU64; 2], mine: u64, blocks: &mut Blocks) {
    // SAFETY: the words are behind the header. It is a note: what two write at once may be either's.
    unsafe {
        let block = set.as_ptr().cast::<Block>().sub(1);
        let noted = &(*block).noted;
        let kind = match Kind::of(mine) {
            Some(Kind::Reads) => 0,
            Some(Kind::Atomics) => ATOMICS,
            None => {
                let before = noted.load(Ordering::Relaxed);
                if before & COUNT != 0 {
                    noted.store(before & !COUNT, Ordering::Relaxed);
                }
                return;
            }
        };
        if !blocks.now_and_then() {
            return;
        }
        let before = noted.load(Ordering::Relaxed);
        if (before ^ kind) & ATOMICS != 0 {
            return noted.store(before & !COUNT ^ ATOMICS, Ordering::Relaxed);
        }
        noted.store(before + 1, Ordering::Relaxed);
        if (before & COUNT) + 1 >= OFTEN << (before >> UNITED_SHIFT) {
            noted.store(before & !COUNT, Ordering::Relaxed);
            part(cell, mine, blocks);
        }
    }
}

/// Shows by which `word` the access `mine` is in a cell's block, and [takes account](count) of it if it was `noted`.
///
/// # Safety
/// As [`count`].
#[inline]
pub(super) unsafe fn came(
    (set, cell): (&[AtomicU64], &[AtomicU64; 2]),
    (mine, word): (u64, u64),
    noted: bool,
    blocks: &mut Blocks,
) {
    block::hint(cell, word, blocks);
    if noted {
        // SAFETY: the caller's promise.
        unsafe { count(set, cell, mine, blocks) };
    }
}

/// Puts the words of a cell's block apart that has no room for `mine`, if they are many and were not united often; `false` if nothing was done.
///
/// # Safety
/// As [`count`].
pub(super) unsafe fn make_room(
    (set, cell): (&[AtomicU64], &[AtomicU64; 2]),
    mine: u64,
    blocks: &mut Blocks,
) -> bool {
    const SELDOM: u32 = 4;
    // SAFETY: the caller's promise: the words of a block are behind its header.
    unsafe {
        set.len() >= MANY
            && kept(set.as_ptr().cast::<Block>().sub(1).cast_mut()) < SELDOM << UNITED_SHIFT
            && part(cell, mine, blocks)
    }
}

/// Once more than `noted`, which counts how often words were united or could not be put apart.
const fn once_more(noted: u32) -> u32 {
    let united = noted >> UNITED_SHIFT;
    (if united < LATEST { united + 1 } else { LATEST }) << UNITED_SHIFT
}

// What a block whose words are apart notes: its number, of which kind they are, and whether it has some of another.
const NUMBER: u32 = (1 << 24) - 1;
const OF_ATOMICS: u32 = 1 << 31;
const HAS_OTHERS: u32 = 1 << 30;

/// In a block whose words are apart: how often they were united, as [`kept`] says it, then the words of another kind.
///
/// # Safety
/// The block is whole, its words are apart, and it is not used again meanwhile.
unsafe fn others<'a>(block: *mut Block) -> (&'a AtomicU64, &'a [AtomicU64]) {
    // SAFETY: the caller's promise: it is a whole block of words that are apart.
    unsafe {
        let words = Block::set(block);
        (&words[0], &words[1..])
    }
}

/// Publishes an access in a cell whose threads' words are [apart](super::apart), if it is of their kind. `again`: it was published in the cell before, but may not be judged yet.
///
/// # Safety
/// The calling thread, of whose slot the access is, is marked busy and is in no other hook; `near` is its own.
#[inline(always)]
pub(super) unsafe fn enter(
    cell: &[AtomicU64; 2],
    (mine, again): (u64, bool),
    seen: &impl Seen,
    near: &mut Near,
) -> Entered {
    let link = cell[0].load(Ordering::Acquire);
    if !word::is_apart(link) {
        return Entered::No;
    }
    // SAFETY: a link is to a whole block; who is busy keeps it from being used again.
    unsafe {
        let block = word::linked(link) as *mut Block;
        let noted = (*block).noted.load(Ordering::Relaxed);
        let kind = if noted & OF_ATOMICS != 0 { Kind::Atomics } else { Kind::Reads };
        if Kind::of(mine) != Some(kind) {
            return Entered::No;
        }
        let place = near.place(word::slot(mine), noted & NUMBER);
        let rest = || places::rest(word::slot(mine), noted & NUMBER);
        let others = if noted & HAS_OTHERS != 0 { others(block).1 } else { &[] };
        apart::enter(seen, (&cell[0], link), others, (place, rest), (mine, again))
    }
}

/// As [`enter`], where somebody may be about to put the words apart just now.
///
/// # Safety
/// As there; `blocks` are the calling thread's.
#[inline(never)]
pub(super) unsafe fn come(
    cell: &[AtomicU64; 2],
    access: (u64, bool),
    seen: &impl Seen,
    blocks: &mut Blocks,
) -> Entered {
    let mut spins = 0;
    while cell[0].load(Ordering::Acquire) == SEALED {
        block::wait(&mut spins);
    }
    // SAFETY: passed on.
    unsafe { enter(cell, access, seen, &mut blocks.near) }
}

/// Whether an access is nothing new to its thread's place in the set that a cell names by `link`.
///
/// # Safety
/// As [`enter`].
#[inline(always)]
pub(super) unsafe fn has(link: u64, mine: u64) -> bool {
    // SAFETY: as there.
    let noted = unsafe { (*(word::linked(link) as *mut Block)).noted.load(Ordering::Relaxed) };
    places::find(word::slot(mine), noted & NUMBER).is_some_and(|place| apart::has(place, mine))
}

/// Puts the words of a cell's block apart, for accesses of the kind of `mine`; `false` if nothing was done.
///
/// # Safety
/// The calling thread is marked busy and is in no other hook; `blocks` are its own.
#[cold]
#[inline(never)]
pub(super) unsafe fn part(cell: &[AtomicU64; 2], mine: u64, blocks: &mut Blocks) -> bool {
    let first = cell[0].load(Ordering::Acquire);
    let old = word::linked(first) as *mut Block;
    let Some(kind) = Kind::of(mine) else { return false };
    if !word::is_own_link(first) || old.is_null() {
        return false;
    }
    // A handler of a signal that comes meanwhile might wait for locks that are held here.
    let _quiet = sys::Quiet::new();
    // SAFETY: a link is to a whole block; who is busy keeps it from being used again. Who seals the cell replaces it.
    unsafe {
        let later = once_more(kept(old));
        let fit = || misfits(Block::set(old), kind) < MOST && can_unite();
        let Some(new) = (if fit() { fresh(blocks) } else { None }) else {
            (*old).noted.store(later, Ordering::Relaxed);
            return false;
        };
        if cell[0].compare_exchange(first, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
            blocks.retire(new);
            return false;
        }
        let (united, others) = others(new);
        united.store(u64::from(kept(old)), Ordering::Relaxed);
        let number = (*new).noted.load(Ordering::Relaxed);
        let (mut words, mut count, mut fits) = (List::new(), 0, true);
        set::seal(Block::set(old), |word| {
            if slots::all_know(word) {
                return;
            }
            words.push(word);
            let slot = word::slot(word);
            let place = || places::find(slot, number).unwrap_or_else(|| places::make(slot, number));
            let rest = || places::rest(slot, number);
            let placed = Kind::of(word) == Some(kind) && apart::put(place(), rest, word);
            if !placed && fits {
                fits = others.get(count).is_some_and(|other| {
                    other.store(word, Ordering::Relaxed);
                    true
                });
                count += 1;
            }
        });
        let of_atomics = if kind == Kind::Atomics { OF_ATOMICS } else { 0 };
        let has_others = if count != 0 { HAS_OTHERS } else { 0 };
        (*new).noted.store(number | of_atomics | has_others, Ordering::Relaxed);
        let link = if fits {
            word::apart(word::link(new as usize))
        } else {
            blocks.retire(new);
            blocks.holding(&words, later)
        };
        cell[0].store(link, Ordering::SeqCst);
        words.drop_all();
        blocks.retire(old);
        fits
    }
}

/// How many words of a set are of another kind than those that are to be apart, or too many of their slot for its place.
fn misfits(set: &[AtomicU64], kind: Kind) -> usize {
    let word = |place: &AtomicU64| place.load(Ordering::Relaxed);
    let mut count = 0;
    for (at, place) in set.iter().enumerate() {
        let one = word(place);
        if one <= word::VOID || slots::all_know(one) {
            continue;
        }
        let same = |other: u64| word::same_slot(one, other) && Kind::of(other) == Some(kind);
        let in_front = || set[..at].iter().filter(|place| same(word(place))).count();
        count += usize::from(Kind::of(one) != Some(kind) || in_front() >= apart::MOST);
    }
    count
}

/// Whether the others can be made to pass a barrier: not known yet, so, or not so.
static BARRIER: AtomicU32 = AtomicU32::new(UNKNOWN);
const UNKNOWN: u32 = 0;
const THERE: u32 = 1;
const NOT_THERE: u32 = 2;

/// Whether words that are apart can be united.
fn can_unite() -> bool {
    match BARRIER.load(Ordering::Relaxed) {
        UNKNOWN => barrier(),
        known => known == THERE,
    }
}

/// All other threads pass a barrier; `false` if they cannot be made to.
fn barrier() -> bool {
    let passed = sys::barrier_for_all();
    BARRIER.store(if passed { THERE } else { NOT_THERE }, Ordering::Relaxed);
    passed
}

/// How many words of another kind a set whose words are apart can have.
const MOST: usize = 5;

/// A block for words that are apart, and places without any. `None` if there are too many.
fn fresh(blocks: &mut Blocks) -> Option<*mut Block> {
    let block = blocks.take(APART);
    // SAFETY: it is nobody else's.
    unsafe {
        let noted = &(*block).noted;
        let number = noted.load(Ordering::Relaxed) & NUMBER;
        noted.store(number, Ordering::Relaxed);
        if number != 0 {
            places::each(number, |place| place.store(0, Ordering::Relaxed));
            return Some(block);
        }
        let number = places::number();
        noted.store(number, Ordering::Relaxed);
        if number == 0 {
            blocks.retire(block);
            return None;
        }
        Some(block)
    }
}

/// Gives a cell whose words are apart, which it names by `link`, a block of them, unless somebody else is about to.
///
/// # Safety
/// As [`part`].
#[cold]
#[inline(never)]
pub(super) unsafe fn unite(cell: &[AtomicU64; 2], link: u64, blocks: &mut Blocks) {
    // As above.
    let _quiet = sys::Quiet::new();
    if cell[0].compare_exchange(link, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err() {
        return;
    }
    // A program that has forbidden it since words were put apart loses nothing that was stored some time ago.
    barrier();
    // SAFETY: the caller's promise; the cell is sealed by us.
    unsafe {
        let block = word::linked(link) as *mut Block;
        let noted = (*block).noted.load(Ordering::Relaxed);
        let (united, others) = others(block);
        let mut words = List::new();
        let mut keep = |place: &AtomicU64| {
            let word = place.load(Ordering::Acquire);
            if word > word::VOID && !slots::all_know(word) {
                words.push(word);
            }
        };
        others.iter().for_each(&mut keep);
        places::each(noted & NUMBER, keep);
        let of_atomics = if noted & OF_ATOMICS != 0 { ATOMICS } else { 0 };
        let united = once_more(united.load(Ordering::Relaxed) as u32);
        let link = blocks.holding(&words, united | of_atomics);
        cell[0].store(link, Ordering::SeqCst);
        words.drop_all();
        blocks.retire(block);
    }
}

const _: () = assert!(size_of::<Place>() == 16 && LATEST < 1 << (u32::BITS - UNITED_SHIFT));
