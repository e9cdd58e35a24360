//! The common ways of an access: nothing new, and a word of a cell that makes room for it.
//!
//! Cost: one locked instruction for an access that takes the place of another; what is nothing new the hook itself has seen. Model: [`super::judge`], to which everything else goes.

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use deadheat_core::access::{Mode, Via};
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::block::Blocks;
use super::clock::Clock;
use super::crowd::{self, Came};
use super::eye::Eye;
use super::history::Kept;
use super::pair::{self, Entered};
use super::part;
use super::set::Seen;
use super::shadow::{self, Cell, LAST_GRANULE};
use super::word::{self, BYTES, EARLIER, GRANULE, WRITE};
use super::{JUDGING, block, common, fill, judge};
use crate::hot::thread::{self, Thread, UNWATCHED, done, let_come};
use crate::sys;

/// A plain access of the kind `KIND` (a [`Kind`]'s bits) at `address`, made before `pc`, that is new to its cell, as the hook itself
/// (`sys`, `shim_access!`) has seen. It lies within `cell`, where it is the word `mine`; one of 8 or 16 bytes has all of its cell
/// and the next. Is `cell` one byte further than a cell is, the access is new to the next alone. Calls nothing but at its end.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe extern "C" fn on_access<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    let size = const { Kind(KIND).plain_size() };
    let word = sys::machine::thread_word();
    // SAFETY: the word is the calling thread's own state; the cells are mapped.
    unsafe {
        let thread = word as *mut Thread;
        // What is to be ignored, and a handler that interrupts a hook, go the other way.
        if word <= UNWATCHED || (*thread).is_in_hook() {
            return on_other_access::<KIND>(address, pc);
        }
        if (*thread).top != (*thread).clean {
            return on_access_in_new_context::<KIND>(address, pc, mine, cell);
        }
        if size > GRANULE {
            if address.wrapping_add(GRANULE) & LAST_GRANULE == 0 {
                return on_other_access::<KIND>(address, pc);
            }
            if cell.addr() & 1 != 0 {
                return on_second_cell::<KIND>(address, pc, mine, cell.wrapping_byte_sub(1));
            }
        } else {
            let first = (*cell)[0].load(Ordering::Relaxed);
            if word::is_special(first) {
                return if const { Kind(KIND).plain_writes() } || !word::is_link(first) {
                    on_access_in_crowd::<KIND>(address, pc, mine, cell)
                } else if word::is_apart(first) {
                    on_read_in_crowd::<KIND, true>(address, pc, mine, cell)
                } else {
                    on_read_in_crowd::<KIND, false>(address, pc, mine, cell)
                };
            }
        }
        match renew::<KIND>(&*cell, mine) {
            Entered::No => return on_access_after_others::<KIND>(address, pc, mine, cell),
            Entered::Met => return on_new_access::<KIND>(address, pc, mine, cell, Entered::Met),
            Entered::There | Entered::Yes => {}
        }
        if size > GRANULE {
            let second = renew::<KIND>(&*cell.add(1), mine);
            if second > Entered::Yes {
                return on_new_second::<KIND>(address, pc, mine, cell, Entered::Yes, second);
            }
        }
        // Before it, the locked operation would wait for the stores. Who finds the word without its record looks again.
        Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
    }
}

/// As [`on_access`] of 16 bytes, where the second of its cells alone is to have it; `cell` is the first.
#[inline(never)]
unsafe extern "C" fn on_second_cell<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let second = renew::<KIND>(&*cell.add(1), mine);
        if second > Entered::Yes {
            return on_new_second::<KIND>(address, pc, mine, cell, Entered::There, second);
        }
        Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
    }
}

/// [`pair::renew`] for a kind.
#[inline(always)]
fn renew<const KIND: u16>(cell: &Cell, mine: u64) -> Entered {
    pair::renew(const { Kind(KIND).plain_writes() }, cell, pair::words(cell), mine)
}

/// [`pair::follow`] for a kind; the cell has these words.
#[inline(always)]
fn follow<const KIND: u16>(past: &Past<'_>, cell: &Cell, words: [u64; 2], mine: u64) -> Entered {
    pair::follow(const { Kind(KIND).plain_writes() }, past, cell, words, mine)
}

/// [`pair::join`] for a kind; the cell has these words.
#[inline(always)]
fn join<const KIND: u16>(past: &Past<'_>, cell: &Cell, words: [u64; 2], mine: u64) -> Entered {
    pair::join(const { Kind(KIND).plain_writes() }, past, cell, words, mine)
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

/// As [`on_access`], where the first of its cells that it is new to has more than [`pair::renew`] deals with: mostly what other threads
/// did before.
#[inline(never)]
unsafe extern "C" fn on_access_after_others<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        if (*cell)[0].load(Ordering::Relaxed) == 0 && !fill::is_there(address) {
            return on_access_to_fresh_page::<KIND>(address, pc, mine, cell);
        }
        let thread = sys::machine::thread_word() as *mut Thread;
        if const { Kind(KIND).plain_size() < GRANULE } {
            let words = pair::words(&*cell);
            let entered = match pair::renew_own(&*cell, words, mine) {
                Entered::No => join::<KIND>(&past_of(thread), &*cell, words, mine),
                entered => entered,
            };
            match entered {
                Entered::No => return on_access_in_other_state::<KIND>(address, pc, mine, cell),
                Entered::Met => return on_new_access::<KIND>(address, pc, mine, cell, Entered::Met),
                Entered::There | Entered::Yes => {}
            }
            return Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
        }
        match follow::<KIND>(&past_of(thread), &*cell, pair::words(&*cell), mine) {
            Entered::No => return on_access_in_other_state::<KIND>(address, pc, mine, cell),
            Entered::Met => return on_new_access::<KIND>(address, pc, mine, cell, Entered::Met),
            Entered::There | Entered::Yes => {}
        }
        if const { Kind(KIND).plain_size() > GRANULE } {
            let words = pair::words(&*cell.add(1));
            if !is_here::<KIND>(words, mine) {
                let second = follow::<KIND>(&past_of(thread), &*cell.add(1), words, mine);
                if second != Entered::Yes {
                    return on_new_second::<KIND>(address, pc, mine, cell, Entered::Yes, second);
                }
            }
        }
        Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc));
    }
}

/// As [`on_access`], where nothing is in the first of its cells, whose page may not be there.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_access_to_fresh_page<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    fill::ahead(address);
    // SAFETY: passed on.
    unsafe { on_access_after_others::<KIND>(address, pc, mine, cell) }
}

/// As [`on_access`], where the first of its cells has more than [`pair::renew`] and [`pair::follow`] deal with, or a [block].
#[inline(never)]
unsafe extern "C" fn on_access_in_other_state<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        if word::is_special((*cell)[0].load(Ordering::Relaxed)) {
            on_access_in_crowd::<KIND>(address, pc, mine, cell);
        } else {
            on_new_access::<KIND>(address, pc, mine, cell, Entered::No);
        }
    }
}

/// As [`on_access`], where the first of its cells has a [block](super::block), of which the cell itself shows one word alone: of memory that some threads
/// read at a time, each finds its own there.
#[inline(never)]
unsafe extern "C" fn on_access_in_crowd<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    let size = const { Kind(KIND).plain_size() };
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let general = size > GRANULE && address & LAST_GRANULE == LAST_GRANULE;
        // What has one cell is looked for where it goes; but before it goes there, its context is told.
        let alone = const { Kind(KIND).plain_size() <= GRANULE };
        let told = (*thread).top == (*thread).clean;
        if !general && (!alone || !told || word::is_common((*cell)[0].load(Ordering::Relaxed))) {
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
                return let_come(thread);
            }
        }
        if (*thread).top != (*thread).clean && !tell_context() {
            return on_other_access::<KIND>(address, pc);
        }
        if general {
            return on_other_access::<KIND>(address, pc);
        }
        if const { Kind(KIND).plain_size() > GRANULE } {
            return on_new_access::<KIND>(address, pc, mine, cell, Entered::No);
        }
        if const { Kind(KIND).plain_writes() } {
            on_rest_in_crowd::<KIND>(address, pc, mine, cell)
        } else {
            on_read_in_crowd::<KIND, false>(address, pc, mine, cell)
        }
    }
}

/// As [`on_access_in_crowd`], of a read whose context the history has: with few steps if its slot has an earlier read in the block. `APART`: the cell's threads' words were seen to be [apart](super::apart).
#[inline(never)]
unsafe extern "C" fn on_read_in_crowd<const KIND: u16, const APART: bool>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let came =
            if APART { in_parts(thread, &*cell, mine) } else { in_crowd::<false>(thread, &*cell, mine) };
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        match came {
            Entered::There => {}
            Entered::Yes => Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc)),
            Entered::Met => return on_new_access::<KIND>(address, pc, mine, cell, Entered::Met),
            Entered::No => return on_rest_in_crowd::<KIND>(address, pc, mine, cell),
        }
        let_come(thread);
    }
}

/// Publishes a plain access in a cell's block, if it has one, in the place of its slot's earlier one there if there is one, and if it does not write (`WRITES`) or has all bytes. What [met](Entered::Met) somebody
/// is to be judged.
///
/// # Safety
/// The calling thread is marked busy.
#[inline(always)]
pub(super) unsafe fn in_crowd<const WRITES: bool>(thread: *mut Thread, cell: &Cell, mine: u64) -> Entered {
    let first = cell[0].load(Ordering::Acquire);
    let block = word::linked(first);
    if !word::is_own_link(first) || block == 0 {
        if !WRITES && word::is_apart(first) {
            // SAFETY: the caller's promise.
            return unsafe { in_parts(thread, cell, mine) };
        }
        if !WRITES && word::is_common(first) {
            // SAFETY: the caller's promise: the calling thread's own state.
            let memo = unsafe { &mut (*thread).eye.blocks.memo };
            return common::known(memo, cell, [first, 0], mine).unwrap_or(Entered::No);
        }
        return Entered::No;
    }
    // It is mostly going to be changed: its line is not to come twice.
    sys::machine::prefetch_to_write(block);
    // SAFETY: the caller's promise; a block that a cell shows to a busy thread is not used again before that is in no hook.
    unsafe {
        let set = block::Block::set(block as *mut _);
        let came = if WRITES {
            crowd::write_in_short(&past_of(thread), set, mine)
        } else {
            crowd::renew_in_short(&past_of(thread), set, mine)
        };
        let (entered, word) = match came {
            Came::There(word) => (Entered::There, word),
            Came::Yes(word) => (Entered::Yes, word),
            Came::Met(_) => return Entered::Met,
            Came::No => return Entered::No,
        };
        if cell[0].load(Ordering::Acquire) == first {
            block::show(cell, word, &mut (*thread).eye.blocks);
        }
        if entered == Entered::Yes {
            part::count(set, cell, mine, &mut (*thread).eye.blocks);
        }
        entered
    }
}

/// As [`in_crowd`] of a read, of a cell whose threads' words were seen to be [apart](super::apart).
///
/// # Safety
/// `thread` is the calling thread's, marked busy and in no other hook; `mine` is of its slot.
#[inline(always)]
unsafe fn in_parts(thread: *mut Thread, cell: &Cell, mine: u64) -> Entered {
    // SAFETY: the caller's promise.
    unsafe {
        let blocks = &mut (*thread).eye.blocks;
        let entered = part::enter(cell, (mine, false), &past_of(thread), &mut blocks.near);
        if entered == Entered::There {
            // Its thread came back, and mostly does so again soon.
            block::hint(cell, mine, blocks);
        }
        entered
    }
}

/// As [`on_access_in_crowd`], of what is not a read in the place of an earlier one.
#[inline(never)]
unsafe extern "C" fn on_rest_in_crowd<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        match enter_crowd(thread, &*cell, mine) {
            Entered::There => {}
            Entered::Yes => Eye::keep(thread, const { Kept::new(Kind(KIND)) }.at(address, pc)),
            entered => return on_new_access::<KIND>(address, pc, mine, cell, entered),
        }
        let_come(thread);
    }
}

/// Publishes an access in a cell's block. What [met](Entered::Met) somebody is to be judged.
///
/// # Safety
/// `thread` is the calling thread's, and in no other hook.
#[inline(never)]
unsafe fn enter_crowd(thread: *mut Thread, cell: &Cell, mine: u64) -> Entered {
    // SAFETY: the caller's promise.
    unsafe {
        let past = past_of(thread);
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let blocks = &mut (*thread).eye.blocks;
        let mut entered = Entered::No;
        if !word::is_common(cell[0].load(Ordering::Acquire))
            && let Some(set) = block::set_of(cell, blocks, false)
            && set.len() > cell.len()
        {
            let word;
            (entered, word) = match crowd::enter_otherwise(&past, set, mine) {
                Came::There(word) => (Entered::There, word),
                Came::Yes(word) => (Entered::Yes, word),
                Came::Met(_) => (Entered::Met, 0),
                Came::No => (Entered::No, 0),
            };
            if word != 0 {
                block::hint(cell, word, blocks);
            }
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        entered
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
    if word::is_apart(first) {
        // SAFETY: the caller's promise.
        return const { !Kind(KIND).plain_writes() } && unsafe { part::has(first, mine) };
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
            // Its thread mostly comes back soon.
            block::hint(cell, word, blocks);
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
    mine: u64,
    cell: *const Cell,
    first: Entered,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
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
            return enter_here(address & !(GRANULE - 1), [mine; 2], cell, kept, [first, second]);
        }
        let_come(thread);
    }
}

/// As [`on_new_access`], where that is so in the second cell, and `first` is how it came into the other.
#[inline(never)]
unsafe extern "C" fn on_new_second<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
    first: Entered,
    second: Entered,
) {
    // SAFETY: as there.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        let kept = const { Kept::new(Kind(KIND)) }.at(address, pc);
        if first == Entered::Yes {
            Eye::keep(thread, kept);
        }
        let second = if second == Entered::No {
            pair::again::<true>(&past_of(thread), &*cell.add(1), mine, true)
        } else {
            second
        };
        if second == Entered::Yes && first == Entered::There {
            Eye::keep(thread, kept);
        }
        if second > Entered::Yes {
            enter_here(address & !(GRANULE - 1), [mine; 2], cell, kept, [first, second]);
        }
    }
}

/// Publishes an access, whose words these are, in one or two cells that do not make room so easily.
///
/// # Safety
/// As [`on_access`]; the calling thread is in no other hook.
#[inline(never)]
pub(super) unsafe fn enter_here(
    granule: usize,
    mine: [u64; 2],
    cell: *const Cell,
    kept: Kept,
    entered: [Entered; 2],
) {
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
                super::enter(thread, place, (mine[at], true), entered, (&mut note, &|| kept.access()));
            }
        }
        done(thread, 0);
    }
}

/// As [`on_access`], where the history does not have moment, calls and locks yet.
#[inline(never)]
unsafe extern "C" fn on_access_in_new_context<const KIND: u16>(
    address: usize,
    pc: usize,
    mine: u64,
    cell: *const Cell,
) {
    // SAFETY: `on_access` found the calling thread's state and that it is in no other hook; the cells are mapped.
    unsafe {
        let first = cell.wrapping_byte_sub(cell.addr() & 1);
        if word::is_special(mine) {
            if !is_ignored_or_here::<KIND>(&*first, address) {
                on_other_access::<KIND>(address, pc);
            }
        } else if word::is_special((*first)[0].load(Ordering::Relaxed)) {
            on_access_in_crowd::<KIND>(address, pc, mine, first);
        } else if tell_context() {
            on_access::<KIND>(address, pc, mine, cell);
        } else {
            on_other_access::<KIND>(address, pc);
        }
    }
}

/// Whether a plain access of a thread that ignores accesses of one kind or of all is of those, or is nothing new to its moment and the `cell`.
///
/// # Safety
/// The calling thread is watched.
unsafe fn is_ignored_or_here<const KIND: u16>(cell: &Cell, address: usize) -> bool {
    // SAFETY: the caller's promise.
    let thread = unsafe { &*(sys::machine::thread_word() as *const Thread) };
    let (writes, size) = const { (Kind(KIND).plain_writes(), Kind(KIND).plain_size()) };
    if thread.ignores(writes) || thread.eye.slot == 0 || address % GRANULE + size > GRANULE {
        return thread.ignores(writes);
    }
    let mine = thread.eye.moment() | word::bytes(address % GRANULE, size);
    pair::words(cell).into_iter().any(|word| {
        if writes { pair::shows::<true>(word, mine | WRITE) } else { pair::shows::<false>(word, mine) }
    })
}

/// Tells the calling thread's history of moment, calls and locks; `false` if accesses are ignored, or the history does not have them any more.
///
/// # Safety
/// The calling thread is watched, and in no hook.
#[inline(never)]
pub(super) unsafe fn tell_context() -> bool {
    // SAFETY: the caller found the calling thread's state and that it is in no other hook.
    unsafe {
        let thread = sys::machine::thread_word() as *mut Thread;
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        Eye::tell_moment(thread);
        done(thread, 0);
        // A handler that was put off until now may have begun another moment.
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
            on_access::<{ Kind::plain(0, Mode::Read, Via::Object).0 }>(object, pc, mine, cell);
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
