//! The common ways of an access: nothing new, and a word of a cell that makes room for it.
//!
//! Cost: one locked instruction for an access that takes the place of another; what is nothing new the hook itself has seen. Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::block::Blocks;
use super::clock::Clock;
use super::eye::Eye;
use super::history::Kept;
use super::object;
use super::pair::{self, Entered};
use super::set::Seen;
use super::shadow::{self, Cell, LAST_GRANULE, REGION_LOG2, REGIONS};
use super::word::{self, ATOMIC, BYTES, EARLIER, GRANULE, WRITE};
use super::{JUDGING, block, judge};
use crate::hot::thread::{self, Thread, UNWATCHED};
use crate::sys;

/// A plain access of the kind `KIND` (a [`Kind`]'s bits) at `address`, made before `pc`, that is new to its cell, as the hook itself
/// (`sys`, `shim_access!`) has seen. It lies within `cell`, where it has `bytes`; one of 8 or 16 bytes has all of its cell
/// and the next. Calls nothing but at its end.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe extern "C" fn on_access<const KIND: u16>(
    address: usize,
    pc: usize,
    bytes: u64,
    cell: *const Cell,
) {
    let size = const { Kind(KIND).plain_size() };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state; the cells are mapped.
    unsafe {
        let thread = word as *mut Thread;
        // What is to be ignored, and a handler that interrupts a hook, go the other way.
        if word <= UNWATCHED || (*thread).busy | (*thread).internal != 0 {
            return on_other_access::<KIND>(address, pc);
        }
        if word::is_special((*cell)[0].load(Ordering::Relaxed)) {
            return on_access_in_crowd::<KIND>(address, pc, bytes, cell);
        }
        if (*thread).top != (*thread).clean {
            return on_access_in_new_context::<KIND>(address, pc, bytes, cell);
        }
        if size > GRANULE && address & LAST_GRANULE == LAST_GRANULE {
            return on_access_in_general::<KIND>(address, pc);
        }
        let mine = word_of::<KIND>(thread, bytes);
        if size > GRANULE {
            // One that is there is left alone, so that only what is not is to be published again.
            let words = pair::words(&*cell);
            let first =
                if is_here::<KIND>(words, mine) { Entered::There } else { pair::renew(&*cell, words, mine) };
            match first {
                Entered::No => return on_access_after_others::<KIND>(address, pc, bytes, cell),
                Entered::Met => return on_new_access::<KIND>(address, pc, bytes, cell, first),
                Entered::There | Entered::Yes => {}
            }
            let words = pair::words(&*cell.add(1));
            if !is_here::<KIND>(words, mine) {
                let second = pair::renew(&*cell.add(1), words, mine);
                if second != Entered::Yes {
                    Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
                    return on_new_second::<KIND>(address, pc, cell, second);
                }
            }
        } else {
            match pair::renew(&*cell, pair::words(&*cell), mine) {
                Entered::No if size == GRANULE => {
                    return on_access_after_others::<KIND>(address, pc, bytes, cell);
                }
                Entered::No => return on_new_access::<KIND>(address, pc, bytes, cell, Entered::No),
                Entered::Met => return on_new_access::<KIND>(address, pc, bytes, cell, Entered::Met),
                Entered::There | Entered::Yes => {}
            }
        }
        // Before it, the locked operation would wait for the stores. Who finds the word without its record looks again.
        Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
    }
}

/// The word of an access of a kind, which has those bytes of its cell.
///
/// # Safety
/// `thread` is the calling thread's, which does not ignore accesses.
#[inline(always)]
unsafe fn word_of<const KIND: u16>(thread: *mut Thread, bytes: u64) -> u64 {
    // SAFETY: the caller's promise.
    let mine = unsafe { (*thread).eye.mine };
    let kind = const { if Kind(KIND).plain_writes() { WRITE } else { 0 } };
    let part = const { Kind(KIND).plain_size() } < GRANULE;
    (if part { word::only(mine, bytes & BYTES) } else { mine }) | kind
}

/// Whether a plain access of all bytes of a cell is nothing new to it, which has these words.
#[inline(always)]
fn is_here<const KIND: u16>(words: [u64; 2], mine: u64) -> bool {
    if const { Kind(KIND).plain_writes() } {
        pair::is_here::<true>(words, mine)
    } else {
        pair::is_here::<false>(words, mine)
    }
}

/// As [`on_access`] of whole cells, where the first has more than [`pair::renew`] deals with: mostly what other threads did before.
#[inline(never)]
unsafe extern "C" fn on_access_after_others<const KIND: u16>(
    address: usize,
    pc: usize,
    bytes: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let mine = word_of::<KIND>(thread, bytes);
        match pair::follow(&past_of(thread), &*cell, pair::words(&*cell), mine) {
            Entered::No => return on_new_access::<KIND>(address, pc, bytes, cell, Entered::No),
            Entered::Met => return on_new_access::<KIND>(address, pc, bytes, cell, Entered::Met),
            Entered::There | Entered::Yes => {}
        }
        if const { Kind(KIND).plain_size() > GRANULE } {
            let words = pair::words(&*cell.add(1));
            if !is_here::<KIND>(words, mine) {
                let second = pair::follow(&past_of(thread), &*cell.add(1), words, mine);
                if second != Entered::Yes {
                    Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
                    return on_new_second::<KIND>(address, pc, cell, second);
                }
            }
        }
        Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
    }
}

/// As [`on_access`], where the first of its cells has a [block](super::block), of which the cell itself shows one word alone: of memory that some threads
/// read at a time, each finds its own there.
#[inline(never)]
unsafe extern "C" fn on_access_in_crowd<const KIND: u16>(
    address: usize,
    pc: usize,
    bytes: u64,
    cell: *const Cell,
) {
    let size = const { Kind(KIND).plain_size() };
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let general = size > GRANULE && address & LAST_GRANULE == LAST_GRANULE;
        if !general {
            let mine = word_of::<KIND>(thread, bytes);
            (*thread).busy = JUDGING;
            compiler_fence(Ordering::SeqCst);
            let blocks = &mut (*thread).eye.blocks;
            let known = is_in_set::<KIND>(&*cell, mine, blocks)
                && (size <= GRANULE || is_in_set::<KIND>(&*cell.add(1), mine, blocks));
            let name = (*cell)[0].load(Ordering::Relaxed);
            if known && word::is_common(name) && blocks.memo.has(name, (*thread).eye.mine) {
                // The hook finds by itself what is in this set.
                sys::machine::set_name_word(name);
            }
            compiler_fence(Ordering::SeqCst);
            (*thread).busy = 0;
            if known {
                return;
            }
        }
        if (*thread).top != (*thread).clean && !tell_context() {
            return on_other_access::<KIND>(address, pc);
        }
        if general {
            return on_access_in_general::<KIND>(address, pc);
        }
        on_new_access::<KIND>(address, pc, bytes, cell, Entered::No);
    }
}

/// Whether a plain access is nothing new to a cell, of which its block is asked, too, or what the thread knows of the set that it names.
///
/// # Safety
/// The calling thread is marked busy; `blocks` are its own.
#[inline(always)]
unsafe fn is_in_set<const KIND: u16>(cell: &Cell, mine: u64, blocks: &mut Blocks) -> bool {
    let first = cell[0].load(Ordering::Relaxed);
    if word::is_common(first) {
        return blocks.memo.has(first, mine);
    }
    // SAFETY: the caller's promise.
    let Some(set) = (unsafe { block::set_of(cell, blocks, false) }) else { return false };
    for place in set {
        let word = place.load(Ordering::Relaxed);
        let here = if const { Kind(KIND).plain_writes() } {
            pair::shows::<true>(word, mine)
        } else {
            pair::shows::<false>(word, mine)
        };
        if here {
            return true;
        }
        if word == 0 {
            break;
        }
    }
    false
}

/// As [`on_access`], where there is more in the first of its cells than [`pair::renew`] and [`pair::follow`] deal with (`first`:
/// [`Entered::No`]), or where they [met](Entered::Met) somebody.
#[inline(never)]
unsafe extern "C" fn on_new_access<const KIND: u16>(
    address: usize,
    pc: usize,
    bytes: u64,
    cell: *const Cell,
    first: Entered,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let mine = word_of::<KIND>(thread, bytes);
        let past = past_of(thread);
        let first =
            if first == Entered::No { pair::again::<true>(&past, &*cell, mine, false) } else { first };
        let second = if const { Kind(KIND).plain_size() > GRANULE } {
            pair::again::<true>(&past, &*cell.add(1), mine, true)
        } else {
            Entered::There
        };
        // As in `on_access`, behind the locked operations.
        if first == Entered::Yes || second == Entered::Yes {
            Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
        }
        if first > Entered::Yes || second > Entered::Yes {
            let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
            enter_here(address & !(GRANULE - 1), mine, cell, kept, [first, second]);
        }
    }
}

/// As [`on_new_access`], where that is so in the second cell, and the access is noted.
#[inline(never)]
unsafe extern "C" fn on_new_second<const KIND: u16>(
    address: usize,
    pc: usize,
    cell: *const Cell,
    second: Entered,
) {
    // SAFETY: as there.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let mine = word_of::<KIND>(thread, BYTES);
        let second = if second == Entered::No {
            pair::again::<true>(&past_of(thread), &*cell.add(1), mine, false)
        } else {
            second
        };
        if second > Entered::Yes {
            let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
            enter_here(address & !(GRANULE - 1), mine, cell, kept, [Entered::Yes, second]);
        }
    }
}

/// Publishes an access in one or two cells that do not make room so easily.
#[inline(never)]
unsafe fn enter_here(granule: usize, mine: u64, cell: *const Cell, kept: Kept, entered: [Entered; 2]) {
    // SAFETY: as in `on_access`.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        // If one of the two is there, so is the record.
        let mut noted = entered.contains(&Entered::Yes);
        let mut note = || {
            if !noted {
                noted = true;
                Eye::keep(thread, kept);
            }
        };
        for (at, entered) in entered.into_iter().enumerate() {
            if entered > Entered::Yes {
                let place = (&*cell.add(at), granule + at * GRANULE);
                super::enter(thread, place, (mine, true), entered, (&mut note, &|| kept.access()));
            }
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// A plain access that does not lie as [`on_access`] wants it, or whose cell is not there yet.
///
/// # Safety
/// As there.
pub(crate) unsafe extern "C" fn on_odd_access<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state.
    unsafe {
        let thread = word as *mut Thread;
        if word <= UNWATCHED || (*thread).busy | (*thread).internal != 0 {
            return on_other_access::<KIND>(address, pc);
        }
        let mine = (*thread).eye.mine;
        let new = if writes {
            first_new::<true>(mine, address, size)
        } else {
            first_new::<false>(mine, address, size)
        };
        if new.is_none() {
            return;
        }
        if (*thread).top != (*thread).clean && !tell_context() {
            return on_other_access::<KIND>(address, pc);
        }
        on_access_in_general::<KIND>(address, pc);
    }
}

/// As [`on_access`], where the history does not have moment, calls and locks yet.
#[inline(never)]
unsafe extern "C" fn on_access_in_new_context<const KIND: u16>(
    address: usize,
    pc: usize,
    bytes: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook.
    unsafe {
        if tell_context() {
            on_access::<KIND>(address, pc, bytes, cell);
        } else {
            on_other_access::<KIND>(address, pc);
        }
    }
}

/// Tells the calling thread's history of moment, calls and locks; `false` if accesses are ignored.
#[inline(never)]
unsafe fn tell_context() -> bool {
    // SAFETY: the caller found the calling thread's state and that it is in no other hook.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        Eye::tell_context(thread);
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        (*thread).top == (*thread).clean
    }
}

/// As [`on_access`], in general.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_other_access<const KIND: u16>(address: usize, pc: usize) {
    if !super::looking() {
        return;
    }
    let Some(thread) = thread::current() else { return };
    if let Some(Op::Access(access)) = Kind(KIND).unpack(address as u64, 0) {
        // SAFETY: `current` gives the calling thread's own state.
        unsafe { judge(thread, &access, pc as u64) };
    }
}

/// An access of code that no hook has looked at.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe fn access<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: passed on.
    unsafe { on_other_access::<KIND>(address, pc) };
}

/// As [`on_access`], wherever it lies.
#[inline(never)]
unsafe extern "C" fn on_access_in_general<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    // SAFETY: as in `on_access`.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let moment = word::only((*thread).eye.mine, 0) | if writes { WRITE } else { 0 };
        let range = (address, address.saturating_add(size));
        super::enter_all(thread, range, (moment, true), || Eye::keep(thread, kept), || kept.access());
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// An access to a range of bytes.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn range(
    thread: *mut Thread,
    pc: usize,
    (address, size): (usize, usize),
    mode: Mode,
    via: Via,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let mine = (*thread).eye.mine;
        let known = if mode.writes() {
            is_known_whole::<true>(mine, address, size)
        } else {
            is_known_whole::<false>(mine, address, size)
        };
        if !known {
            range_in_general(thread, pc, (address, size), mode, via);
        }
    }
}

/// Whether an access to whole cells is nothing new to any of them, as far as it shows at once.
#[inline(always)]
fn is_known_whole<const WRITES: bool>(mine: u64, address: usize, size: usize) -> bool {
    let region = address >> REGION_LOG2;
    let end = address.wrapping_add(size);
    let inside = region < REGIONS && end.wrapping_sub(1) >> REGION_LOG2 == region;
    if !inside || !(address | size).is_multiple_of(GRANULE) {
        return false;
    }
    let base = shadow::CELLS[region].load(Ordering::Relaxed);
    // SAFETY: the region's cells are mapped.
    base != 0
        && unsafe {
            let first = base.wrapping_add(address * 2) as *const Cell;
            let cells = core::slice::from_raw_parts(first, size / GRANULE);
            cells.iter().all(|cell| pair::is_here::<WRITES>(pair::words(cell), mine))
        }
}

/// As [`range`].
#[inline(never)]
unsafe fn range_in_general(
    thread: *mut Thread,
    pc: usize,
    (address, size): (usize, usize),
    mode: Mode,
    via: Via,
) {
    if !super::looking() || size == 0 {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe {
        let mine = (*thread).eye.mine;
        let new = if mode.writes() {
            first_new::<true>(mine, address, size)
        } else {
            first_new::<false>(mine, address, size)
        };
        if let Some(from) = new {
            range_from(thread, pc, (from, address, size), mode, via);
        }
    }
}

/// As [`range`], of which the bytes before `from` are nothing new.
#[inline(never)]
unsafe fn range_from(
    thread: *mut Thread,
    pc: usize,
    (from, address, size): (usize, usize, usize),
    mode: Mode,
    via: Via,
) {
    let access = Access { address: address as u64, size: size as u64, mode, atomic: None, via };
    // SAFETY: passed on.
    unsafe { super::judge_part(thread, &access, (from, access.end() as usize), pc as u64) };
}

/// Whether an atomic access that took place just now, while its stripe is held, is nothing new: the moment has made it already, nobody ever
/// published anything there, and it publishes nothing either.
///
/// # Safety
/// `thread` is the calling thread's, and in no other hook.
#[inline]
pub(crate) unsafe fn is_known(
    thread: *mut Thread,
    (address, size): (usize, usize),
    mode: Mode,
    order: MemoryOrder,
) -> bool {
    // SAFETY: the caller's promise; the cells are mapped.
    unsafe {
        let eye = &(*thread).eye;
        let publishes = mode.writes() && (order.releases() || !eye.released.is_empty());
        if publishes || address % GRANULE + size > GRANULE || object::any_near(address as u64) {
            return false;
        }
        let Some(cell) = shadow::cell(address) else { return false };
        let bytes = word::bytes(address % GRANULE, size);
        let (mine, kind) =
            if mode.writes() { (eye.mine | ATOMIC | WRITE, 0) } else { (eye.mine | ATOMIC, WRITE) };
        let there = |word: &AtomicU64| {
            (word.load(Ordering::Relaxed) ^ mine) & !(kind | EARLIER) & (bytes | !BYTES) == 0
        };
        there(&cell[0]) || there(&cell[1])
    }
}

/// The thread uses a lock or the like as the thing in memory that it is: a read of its first byte.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline]
pub(crate) unsafe fn used(thread: *mut Thread, pc: usize, object: usize) {
    if !super::looking() {
        return;
    }
    let Some(cell) = shadow::cell(object) else { return };
    let bytes = word::bytes(object % GRANULE, 1);
    // SAFETY: the caller's promise.
    unsafe {
        let mine = word::only((*thread).eye.mine, bytes);
        let there = |word: &AtomicU64| {
            (word.load(Ordering::Relaxed) ^ mine) & !(WRITE | EARLIER) & (bytes | !BYTES) == 0
        };
        if !there(&cell[0]) && !there(&cell[1]) {
            on_access::<{ Kind::plain(0, Mode::Read, Via::Object).0 }>(object, pc, bytes, cell);
        }
    }
}

/// What a thread knows of the others' past.
pub(super) struct Past<'a> {
    slot: u32,
    clock: &'a Clock,
}

impl Seen for Past<'_> {
    #[inline(always)]
    fn ordered(&self, word: u64) -> bool {
        word::slot(word) == self.slot || self.clock.ordered(word)
    }

    #[inline(always)]
    fn forgettable(&self, word: u64) -> bool {
        super::slots::all_know(word)
    }
}

/// What a thread knows.
///
/// # Safety
/// `thread` is the calling thread's; its clock does not change meanwhile.
#[inline(always)]
pub(super) unsafe fn past_of<'a>(thread: *mut Thread) -> Past<'a> {
    // SAFETY: the caller's promise.
    unsafe { Past { slot: (*thread).eye.slot, clock: &(*thread).eye.clock } }
}

/// The first byte of a range in whose cell an access of the moment `mine` (the word of a read of all bytes) may be
/// new. Looks at the cells' own words alone.
#[inline(always)]
pub(super) fn first_new<const WRITES: bool>(mine: u64, address: usize, size: usize) -> Option<usize> {
    let last = address.wrapping_add(size).wrapping_sub(1);
    if (address ^ last) >> REGION_LOG2 != 0 || address >> REGION_LOG2 >= REGIONS || size == 0 {
        return Some(address);
    }
    let base = shadow::CELLS[address >> REGION_LOG2].load(Ordering::Relaxed);
    if base == 0 {
        return Some(address);
    }
    let granule = address & !(GRANULE - 1);
    // SAFETY: the region's cells are mapped.
    let cells = unsafe {
        let first = base.wrapping_add(granule * 2) as *const Cell;
        core::slice::from_raw_parts(first, (last - granule) / GRANULE + 1)
    };
    let ends = (BYTES << (address % GRANULE), BYTES >> (GRANULE - 1 - last % GRANULE));
    pair::first_new::<WRITES>(cells, mine, ends).map(|at| address.max(granule + at * GRANULE))
}
