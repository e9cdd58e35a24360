//! Sets of more than two words, for the cells that need them.
//!
//! A cell that has no room is sealed, its words are put [in order](super::fewest) and, if that does not help, copied into a block, and its first word becomes a link to that. A
//! block without room is replaced in the same way, by one of the size that its words need.
//!
//! **When a block is used again.** A thread may still look at a block after it was replaced. So it is *retired* first, and
//! used again when every thread was seen outside of its hooks after that: `membarrier` makes the plain stores that mark a
//! hook visible without a locked operation in each.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::AtomicU32;

use super::chain::{append, cut, first_of};
use super::common::{self, Memo, Row, Table};
use super::fewest::fewest;
use super::list::List;
use super::pair::Entered;
use super::part;
use super::places::Near;
use super::pool;
use super::set::{self, Not};
use super::slots;
use super::span;
use super::word::{self, SEALED};
use crate::cold::lock::Lock;
use crate::sys;
use crate::sys::primitive::{AtomicU64, Ordering, pause, yield_now};

/// Sizes of blocks: 64 bytes shifted by up to this; the last has room for every slot twice.
const CLASSES: usize = 15;
/// The class of the blocks of the smallest size whose words are [apart](super::part).
pub(super) const APART: u32 = CLASSES as u32;
/// How many lists of free blocks there are.
const LISTS: usize = CLASSES + 1;
const SMALLEST: usize = 64;
/// How much a thread takes from the pool at once.
const CHUNK: usize = 1 << 16;
/// How many blocks are retired before it is asked whether they can be used again.
const MANY: u32 = 512;
/// How many a thread takes at once of those that are for all: there may be others who need some.
const BATCH: usize = 256;
/// How many when it begins.
const FEW: usize = 16;
/// How many blocks that were retired a thread keeps, about, when they are free; more are for all.
const SPARE: u32 = 256;

/// A set of words behind a header. It is aligned to 64 bytes.
#[repr(C)]
pub(crate) struct Block {
    /// In a list: the next one.
    pub(super) next: *mut Block,
    pub(super) class: u32,
    /// What [`super::part`] notes: how often a word took its thread's earlier one's place; of one whose words are apart, its number, as long as it is there.
    pub(super) noted: AtomicU32,
}

impl Block {
    /// The words.
    ///
    /// # Safety
    /// The block is whole and not used for anything else.
    #[inline(always)]
    pub(crate) unsafe fn set<'a>(this: *mut Block) -> &'a [AtomicU64] {
        // SAFETY: the words begin behind the header and take the rest of the block.
        unsafe { core::slice::from_raw_parts(this.add(1).cast(), room((*this).class)) }
    }
}

/// The blocks that a thread has at hand.
#[repr(C)]
pub(crate) struct Blocks {
    free: [*mut Block; LISTS],
    /// How many of them came from retired ones, less those that were taken.
    spare: u32,
    retired: *mut Block,
    retired_count: u32,
    ask_at: u32,
    /// Blocks that were retired before it was asked who may look at them, and the slots of those of whom nothing else was
    /// seen since.
    waiting: *mut Block,
    lookers: List<u32>,
    /// How many cells were full; at which of them it is asked next what every thread knows; how far that was put off.
    full: u32,
    known_at: u32,
    put_off: u32,
    /// How often it was asked to show an access beside a link.
    hints: u32,
    at: usize,
    end: usize,
    /// Its places in sets whose words are [apart](super::apart).
    pub(super) near: Near,
    /// What the thread knows of sets that cells have in common.
    pub(crate) memo: Memo,
}

impl Blocks {
    /// None at hand.
    const fn new() -> Blocks {
        Blocks {
            free: [null_mut(); LISTS],
            spare: 0,
            retired: null_mut(),
            retired_count: 0,
            ask_at: 0,
            waiting: null_mut(),
            lookers: List::new(),
            full: 0,
            known_at: 0,
            put_off: 0,
            hints: 0,
            at: 0,
            end: 0,
            near: Near::new(),
            memo: Memo::new(),
        }
    }

    /// A block whose words are zero.
    pub(super) fn take(&mut self, class: u32) -> *mut Block {
        let size = size(class);
        let free = class as usize;
        let rest = if self.end - self.at < size { REST } else { 0 };
        if self.free[free].is_null() && HERITAGE.some.load(Ordering::Relaxed) & (1 << free | rest) != 0 {
            // What one thread gives back may be what another needs.
            shared(|all| {
                self.free[free] = cut(&mut all.free[free], BATCH);
                if self.free[free].is_null() && self.end - self.at < size {
                    self.take_rest(all);
                }
            });
        }
        if self.free[free].is_null() {
            self.carve(class);
        }
        let block = self.free[free];
        // SAFETY: free blocks are nobody's.
        unsafe {
            self.free[free] = (*block).next;
            block.add(1).cast::<u8>().write_bytes(0, size - size_of::<Block>());
        }
        self.spare = self.spare.saturating_sub(1);
        block
    }

    /// The link to a block that holds these words, and has room for some more. `noted`: what [`part`] remembers of it.
    pub(super) fn holding(&mut self, words: &[u64], noted: u32) -> u64 {
        const MORE: usize = 2;
        let class = (0..CLASSES as u32).find(|&class| room(class) >= words.len() + MORE);
        let block = self.take(class.unwrap_or(CLASSES as u32 - 1));
        // SAFETY: it is nobody else's yet.
        let places = unsafe {
            (*block).noted.store(noted, Ordering::Relaxed);
            Block::set(block)
        };
        places.iter().zip(words).for_each(|(place, &word)| place.store(word, Ordering::Relaxed));
        word::link(block as usize)
    }

    /// The link to a block of twice the size that has the words of an old one, which are taken out there.
    ///
    /// # Safety
    /// The old one's cell is sealed by the calling thread.
    unsafe fn twice(&mut self, old: *mut Block) -> u64 {
        // SAFETY: the caller's promise; the new one is nobody else's yet.
        unsafe {
            let block = self.take(((*old).class + 1).min(CLASSES as u32 - 1));
            (*block).noted.store(part::kept(old), Ordering::Relaxed);
            let mut places = Block::set(block).iter();
            set::seal(Block::set(old), |word| {
                if let Some(place) = places.next() {
                    place.store(word, Ordering::Relaxed);
                }
            });
            word::link(block as usize)
        }
    }

    /// Makes fresh blocks, some of a small class.
    fn carve(&mut self, class: u32) {
        const SOME: usize = 1024;
        let size = size(class);
        let mut put = |block: *mut Block| {
            let next = core::mem::replace(&mut self.free[class as usize], block);
            // SAFETY: fresh memory, which is ours.
            unsafe { block.write(Block { next, class, noted: AtomicU32::new(0) }) };
        };
        if size >= CHUNK {
            return put(pool::map(size).cast());
        }
        if self.end - self.at < size {
            self.at = pool::map(CHUNK) as usize;
            self.end = self.at + CHUNK;
        }
        for _ in 0..(SOME / size).clamp(1, (self.end - self.at) / size) {
            put(self.at as *mut Block);
            self.at += size;
        }
    }

    /// A block that no cell links to any more.
    ///
    /// # Safety
    /// The calling thread took its link away.
    pub(crate) unsafe fn retire(&mut self, block: *mut Block) {
        // SAFETY: nobody else puts it into a list; its header is read by nobody but for the class, which stays.
        unsafe { (*block).next = self.retired };
        self.retired = block;
        self.retired_count += 1;
        if self.retired_count >= self.ask_at.max(MANY) {
            self.reclaim();
        }
    }

    /// Makes retired blocks free that nobody can look at any more: since they were retired, each other thread was seen
    /// outside of a hook. With more threads than processors some always stand in one, but not always the same.
    #[cold]
    #[inline(never)]
    fn reclaim(&mut self) {
        self.ask_at = self.retired_count + MANY;
        if !sys::barrier_for_all() {
            return;
        }
        if !self.waiting.is_null() {
            slots::still_busy(&mut self.lookers);
            self.release_unless_seen();
        }
        if self.waiting.is_null() {
            self.waiting = core::mem::replace(&mut self.retired, null_mut());
            (self.retired_count, self.ask_at) = (0, 0);
            slots::busy(&mut self.lookers);
            self.release_unless_seen();
        }
    }

    /// Gives all free and retired blocks to all, as far as those who may look at them leave their hooks soon.
    pub(crate) fn share(&mut self) {
        const TRIES: u32 = 1000;
        for _ in 0..TRIES {
            if self.retired.is_null() && self.waiting.is_null() {
                break;
            }
            self.reclaim();
            yield_now();
        }
        shared(|blocks| {
            for (all, own) in blocks.free.iter_mut().zip(&mut self.free) {
                append(all, core::mem::replace(own, null_mut()));
            }
        });
        self.spare = 0;
    }

    /// Makes the waiting blocks free if nobody is left who may look at them.
    fn release_unless_seen(&mut self) {
        if !self.lookers.is_empty() {
            return;
        }
        let mut rest = core::mem::replace(&mut self.waiting, null_mut());
        while self.spare < SPARE
            && let Some((block, class)) = first_of(&mut rest)
        {
            // SAFETY: the block is the caller's alone.
            unsafe { (*block).next = self.free[class] };
            self.free[class] = block;
            self.spare += 1;
        }
        for_all(rest);
    }

    /// Of the accesses that cells [showed](show), whether the last is one of each [few](part::EACH); not always that to the same of some cells in turn.
    #[inline(always)]
    pub(super) fn now_and_then(&self) -> bool {
        self.hints.wrapping_mul(0x9e37_79b1) < u32::MAX / part::EACH
    }

    /// A cell is full: whether it can be asked now what every thread knows. Where that helps to no room it is asked more seldom.
    fn may_ask(&mut self) -> bool {
        const SELDOM: u32 = 1 << 10;
        self.full = self.full.wrapping_add(1);
        if self.full < self.known_at {
            return false;
        }
        self.put_off = (self.put_off * 2).clamp(1, SELDOM);
        self.known_at = self.full + self.put_off;
        true
    }

    /// Takes over what an ended thread had at hand.
    pub(crate) fn adopt(&mut self, other: &mut Blocks) {
        self.cut_rest(other);
        for (own, theirs) in self.free.iter_mut().zip(other.free) {
            append(own, theirs);
        }
        append(&mut self.retired, other.retired);
        append(&mut self.retired, other.waiting);
        self.retired_count += other.retired_count;
        other.lookers.drop_all();
        *other = Blocks::new();
    }

    /// Takes over a little of what is for all, and what was retired if that is much: a thread that ends soon would have gone through all of it for nothing. What it
    /// needs others may need meanwhile.
    fn take_over(&mut self, all: &mut Blocks) {
        for (own, theirs) in self.free.iter_mut().zip(&mut all.free) {
            append(own, cut(theirs, FEW));
        }
        if all.retired_count >= MANY {
            append(&mut self.retired, core::mem::replace(&mut all.retired, null_mut()));
            self.retired_count += core::mem::take(&mut all.retired_count);
        }
        self.take_rest(all);
    }

    /// Exchanges the own rest of a chunk for that of others if theirs is larger.
    fn take_rest(&mut self, other: &mut Blocks) {
        if self.end - self.at < other.end - other.at {
            core::mem::swap(&mut self.at, &mut other.at);
            core::mem::swap(&mut self.end, &mut other.end);
        }
    }

    /// Keeps the larger of two rests of chunks, and the blocks that the other has room for.
    fn cut_rest(&mut self, other: &mut Blocks) {
        self.take_rest(other);
        while other.end - other.at >= SMALLEST {
            let block = other.at as *mut Block;
            other.at += SMALLEST;
            // SAFETY: nobody has had it yet.
            unsafe { block.write(Block { next: self.free[0], class: 0, noted: AtomicU32::new(0) }) };
            self.free[0] = block;
        }
    }
}

/// Gives free blocks to all.
fn for_all(mut list: *mut Block) {
    let mut ends = [(null_mut(), null_mut()); LISTS];
    while let Some((block, class)) = first_of(&mut list) {
        let (first, last): &mut (*mut Block, *mut Block) = &mut ends[class];
        if first.is_null() {
            *last = block;
        }
        // SAFETY: the list's blocks are the caller's.
        unsafe { (*block).next = *first };
        *first = block;
    }
    if ends.iter().any(|(first, _)| !first.is_null()) {
        shared(|all| {
            for (all, (first, last)) in all.free.iter_mut().zip(ends).filter(|(_, ends)| !ends.0.is_null()) {
                // SAFETY: the last of a list that is ours.
                unsafe { (*last).next = *all };
                *all = first;
            }
        });
    }
}

/// What ended threads had at hand, and what others have too many of.
struct Heritage {
    lock: Lock,
    blocks: UnsafeCell<Blocks>,
    /// Of which classes there are free blocks, and whether there is a rest of a chunk ([`REST`]), so that nobody need look in vain.
    some: AtomicU32,
}

const REST: u32 = 1 << LISTS;

// SAFETY: `blocks` are touched under `lock` alone.
unsafe impl Sync for Heritage {}

static HERITAGE: Heritage =
    Heritage { lock: Lock::new(), blocks: UnsafeCell::new(Blocks::new()), some: AtomicU32::new(0) };

/// Works with the blocks that are for all. No handler of a signal comes meanwhile: its hooks might want them, too.
fn shared(body: impl FnOnce(&mut Blocks)) {
    let _quiet = sys::Quiet::new();
    HERITAGE.lock.with(|| {
        // SAFETY: under the lock.
        let blocks = unsafe { &mut *HERITAGE.blocks.get() };
        body(blocks);
        let rest = if blocks.end == blocks.at { 0 } else { REST };
        let free = blocks.free.iter().enumerate().filter(|(_, first)| !first.is_null());
        HERITAGE.some.store(free.fold(rest, |some, (class, _)| some | 1 << class), Ordering::Relaxed);
    });
}

/// Takes over an ended thread's blocks, for whoever needs some.
pub(crate) fn bequeath(blocks: &mut Blocks) {
    shared(|shared| shared.adopt(blocks));
}

/// Gives a thread that begins some of what ended ones left.
pub(crate) fn inherit(blocks: &mut Blocks) {
    shared(|shared| blocks.take_over(shared));
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    HERITAGE.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    HERITAGE.lock.release();
}

/// How often somebody who waits for a seal to go looks before the processor is given away.
const SPINS: u32 = 200;

/// The sets that cells have in common.
static COMMON: Table<{ common::ROWS }> = Table(
    [const { Row { age: AtomicU64::new(0), words: [const { AtomicU64::new(0) }; common::MOST] } };
        common::ROWS],
);

/// Publishes a plain access in a cell that has a [common set](common) or, if it is `full`, shall have one. `blocks` are the calling thread's, and patient.
#[inline]
pub(crate) fn enter_common(
    cell: &[AtomicU64; 2],
    mine: u64,
    seen: &impl set::Seen,
    blocks: &mut Blocks,
    full: bool,
) -> Entered {
    common::enter((&COMMON, &mut blocks.memo), seen, cell, mine, full)
}

/// Gives a cell that has a common set one of its own with the same words.
#[cold]
#[inline(never)]
fn dissolve(cell: &[AtomicU64; 2], name: u64, blocks: &mut Blocks) {
    let words = COMMON.read(name);
    let words = words.get();
    if words.len() <= cell.len() {
        let word = |at| words.get(at).copied().unwrap_or(0);
        common::become_pair(cell, name, [word(0), word(1)]);
        return;
    }
    if cell[0].compare_exchange(name, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_ok() {
        cell[0].store(blocks.holding(words, 0), Ordering::SeqCst);
    }
}

/// In a forked child, where no cell has a past.
pub(crate) fn forget_common() {
    COMMON.forget_all();
}

/// The set that a cell stands for at present: its own two words, or its block's; a common one, or one whose words are apart, becomes its own before. `None` if that has to
/// wait and the caller must not.
///
/// # Safety
/// The calling thread is marked busy, so that the block stays; `blocks` are its own.
#[inline]
pub(crate) unsafe fn set_of<'a>(
    cell: &'a [AtomicU64; 2],
    blocks: &mut Blocks,
    patient: bool,
) -> Option<&'a [AtomicU64]> {
    let mut spins = 0;
    loop {
        let first = cell[0].load(Ordering::Acquire);
        if !word::is_special(first) {
            return Some(cell);
        }
        let block = word::linked(first) as *mut Block;
        if word::is_own_link(first) && !block.is_null() {
            // SAFETY: a link is to a whole block; who is busy keeps it from being used again.
            return Some(unsafe { Block::set(block) });
        }
        // SAFETY: passed on.
        if !unsafe { make_own(cell, first, blocks, (patient, &mut spins)) } {
            return None;
        }
    }
}

/// Has a cell, whose first word is `first`, get words of its own, or waits for who sees to that; `false` if it has to wait and must not.
///
/// # Safety
/// As [`set_of`].
#[inline(never)]
unsafe fn make_own(
    cell: &[AtomicU64; 2],
    first: u64,
    blocks: &mut Blocks,
    (patient, spins): (bool, &mut u32),
) -> bool {
    // SAFETY: only the shadow's cells say that.
    if first == word::WIDE && unsafe { span::leave(cell, *spins) } {
        return true;
    }
    if !patient {
        return false;
    }
    if word::is_common(first) {
        dissolve(cell, first, blocks);
    } else if word::is_apart(first) {
        // SAFETY: the caller's promise.
        unsafe { part::unite(cell, first, blocks) };
    } else {
        wait(spins);
    }
    true
}

/// Waits for who sealed a cell.
pub(super) fn wait(spins: &mut u32) {
    *spins += 1;
    if *spins < SPINS { pause() } else { yield_now() }
}

/// How many words are put in order; more are left as they are.
const ORDERED: usize = 32;

/// Puts words in order that are to be a cell's; gives how many they are then.
fn put_in_order(words: &mut [u64], seen: &impl set::Seen) -> usize {
    let mut count = 0;
    for at in 0..words.len() {
        if words[at] != 0 && !seen.forgettable(words[at]) {
            words[count] = words[at];
            count += 1;
        }
    }
    fewest(&mut words[..count])
}

/// How many bytes a block of a class has.
const fn size(class: u32) -> usize {
    if class == APART { SMALLEST } else { SMALLEST << class }
}

/// How many words a block of a class has room for.
const fn room(class: u32) -> usize {
    size(class) / size_of::<u64>() - size_of::<Block>() / size_of::<u64>()
}

/// Gives the cell room for another word, unless somebody else is about to: what is there is put in order before. Where that is enough a cell without
/// a block keeps its two words; one with a block has one from then on.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
#[cold]
#[inline(never)]
unsafe fn grow(cell: &[AtomicU64; 2], seen: &impl set::Seen, blocks: &mut Blocks) {
    let first = cell[0].load(Ordering::Acquire);
    let old = word::linked(first) as *mut Block;
    let linked = word::is_special(first);
    if linked && (old.is_null() || word::is_common(first) || word::is_apart(first))
        || cell[0].compare_exchange(first, SEALED, Ordering::SeqCst, Ordering::Relaxed).is_err()
    {
        return;
    }
    let (mut words, mut count) = ([0; ORDERED], 0);
    let mut keep = |word| {
        words[count] = word;
        count += 1;
    };
    // SAFETY: the cell is sealed, by us: nobody else replaces its block or makes one.
    unsafe {
        if !linked {
            keep(first);
            set::seal(&cell[1..], keep);
            let count = put_in_order(&mut words[..count], seen);
            if count < cell.len() {
                cell[1].store(0, Ordering::Release);
                cell[0].store(if count == 0 { 0 } else { words[0] }, Ordering::SeqCst);
            } else {
                cell[0].store(blocks.holding(&words[..count], 0), Ordering::SeqCst);
            }
            return;
        }
        if room((*old).class) > ORDERED {
            cell[0].store(blocks.twice(old), Ordering::SeqCst);
        } else {
            set::seal(Block::set(old), keep);
            let count = put_in_order(&mut words[..count], seen);
            cell[0].store(blocks.holding(&words[..count], part::kept(old)), Ordering::SeqCst);
        }
        blocks.retire(old);
    }
}

/// Publishes an access in a cell and looks at the others; gives those that race to `race`. `false` if nothing was new.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
#[inline]
pub(crate) unsafe fn access(
    cell: &[AtomicU64; 2],
    mine: u64,
    seen: &impl set::Seen,
    blocks: &mut Blocks,
    patient: bool,
    mut race: impl FnMut(u64),
) -> bool {
    let mut published = false;
    loop {
        if patient {
            // SAFETY: the caller's promise.
            match unsafe { part::come(cell, (mine, published), seen, blocks) } {
                Entered::There => return published,
                Entered::Yes => return true,
                Entered::No => {}
                Entered::Met => published = true,
            }
        }
        // SAFETY: the caller's promise.
        let Some(set) = (unsafe { set_of(cell, blocks, patient) }) else { return published };
        match set::publish(set, mine, seen) {
            Ok(new) => published |= new,
            Err(Not::Sealed) => continue,
            Err(Not::Full) if patient => {
                let forgettable = |place: &AtomicU64| seen.forgettable(place.load(Ordering::Relaxed));
                if blocks.may_ask() && slots::find_known_in_turn() && set.iter().any(forgettable) {
                    blocks.put_off = 0;
                    continue;
                }
                if enter_common(cell, mine, seen, blocks, true) == Entered::Yes {
                    return true;
                }
                // SAFETY: the caller's promise.
                unsafe {
                    if !part::make_room((set, cell), mine, blocks) {
                        grow(cell, seen, blocks);
                    }
                }
                continue;
            }
            Err(Not::Full) => return published,
        }
        if !published || set::look(set, mine, seen, &mut race).is_ok() {
            return published;
        }
    }
}

/// Shows in a cell that has a block an access that is in the block, so that its thread need not look there when it makes
/// the access again. It is a copy: whoever puts a word over it sees that the cell has a block.
#[inline]
pub(crate) fn hint(cell: &[AtomicU64; 2], word: u64, blocks: &mut Blocks) {
    // While it grows, the second word may not be a copy yet.
    let first = cell[0].load(Ordering::Acquire);
    if word::is_link(first) && word::linked(first) != 0 {
        show(cell, word, blocks);
    }
}

/// As [`hint`], of a cell whose words are [apart](super::apart), so that threads do not wait for its line: another's copy there stays.
#[inline]
pub(crate) fn hint_beside_none(cell: &[AtomicU64; 2], word: u64, blocks: &mut Blocks) {
    let before = cell[1].load(Ordering::Relaxed);
    if before == 0 || word::same_slot(before, word) {
        hint(cell, word, blocks);
    }
}

/// As [`hint`], of a cell that was seen to have a block. Others' copies give way
/// only now and then, so that threads that access a cell in turn do not take it from each other each time.
#[inline(always)]
pub(crate) fn show(cell: &[AtomicU64; 2], word: u64, blocks: &mut Blocks) {
    const SELDOM: u32 = 16;
    let before = cell[1].load(Ordering::Relaxed);
    blocks.hints = blocks.hints.wrapping_add(1);
    if word::same_slot(before, word) || blocks.hints.is_multiple_of(SELDOM) {
        cell[1].store(word, Ordering::Relaxed);
    }
}
