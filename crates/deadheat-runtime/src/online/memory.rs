//! How much memory the detector takes, and what it does when there is no more.
//!
//! Invariant: what is forgotten makes races go untold, and never makes one up: every word that is left stands for an access that was
//! made, and what orders accesses is not forgotten.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering, compiler_fence};

use deadheat_core::options::{self, Memory};
use deadheat_core::wire::flag;

use super::history::{History, ROUND};
use super::{shadow, slots};
use crate::cold::{self, block};
use crate::hot::thread::Thread;
use crate::sys;

/// log2 of the records of a slot's history.
static HISTORY_LOG2: AtomicU32 = AtomicU32::new(Memory::USUAL.history_log2);
/// How many bytes the process is to have in memory at the most; 0: as many as it likes.
static LIMIT: AtomicUsize = AtomicUsize::new(0);
/// From how many bytes on something is forgotten next.
static NEXT: AtomicUsize = AtomicUsize::new(0);
/// Whether somebody looks how much there is.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// Whether the limit was reached.
static REACHED: AtomicBool = AtomicBool::new(false);
/// Whether the process ends if there is no memory.
static DIES: AtomicBool = AtomicBool::new(true);
/// Whether somebody says that there is none.
static SAYS: AtomicBool = AtomicBool::new(false);
/// How often twofold the histories are to be larger than they were to be at first, since accesses were not remembered.
static GROWN_LOG2: AtomicU32 = AtomicU32::new(0);
/// How many bytes the larger ones take.
static GROWN: AtomicUsize = AtomicUsize::new(0);
/// What is left for work that has begun when there is no more memory; 0: nothing.
static RESERVE: AtomicUsize = AtomicUsize::new(0);
static RESERVE_USED: AtomicUsize = AtomicUsize::new(0);

const RESERVE_SIZE: usize = 16 << 20;
/// All larger histories take at most so many bytes.
const MOST_GROWN: usize = 64 << 20;
const MOST_GROWN_LOG2: u32 = 4;
/// From this size on a range is judged in parts, between which it is asked how much memory there is.
pub(super) const PART: usize = 8 << 20;

/// Takes the options; no other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    let Memory { history_log2, limit, dies } = options::memory(texts);
    HISTORY_LOG2.store(history_log2, Ordering::Relaxed);
    LIMIT.store(limit, Ordering::Relaxed);
    NEXT.store(limit, Ordering::Relaxed);
    DIES.store(dies, Ordering::Relaxed);
    if !dies && let Ok(reserve) = sys::map_anonymous(RESERVE_SIZE) {
        RESERVE.store(reserve as usize, Ordering::Relaxed);
    }
}

/// How many records a slot's history has at first: a power of two. Few threads that run at once have more than the option says, if
/// memory is not limited.
pub(super) fn history_records(slot: u32) -> usize {
    let doubled = match slot {
        _ if is_limited() => 0,
        ..16 => 2,
        16..64 => 1,
        _ => 0,
    };
    1 << (HISTORY_LOG2.load(Ordering::Relaxed) + doubled)
}

/// Whether there is something to look for from the first record on.
pub(super) fn is_watched() -> bool {
    is_limited() || GROWN_LOG2.load(Ordering::Relaxed) != 0
}

/// How many records a slot's history is to have by now.
fn wanted_records(slot: u32) -> usize {
    history_records(slot) << GROWN_LOG2.load(Ordering::Relaxed)
}

/// An access of which the shadow tells is not in its history any more: from now on more is remembered, four times and then sixteen times as much, as long as
/// all that takes no more than [`MOST_GROWN`].
#[cold]
pub(super) fn forgotten(history: &History) {
    let (slot, records) = history.extent();
    let log2 = GROWN_LOG2.load(Ordering::Relaxed);
    let known = is_limited() || records < wanted_records(slot) || log2 == MOST_GROWN_LOG2;
    if known || GROWN_LOG2.compare_exchange(log2, log2 + 2, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        return;
    }
    slots::each_history(|history| history.watch(true));
}

/// The calling thread's history is [watched](History::watch): what there is to do about memory. `clock`: its moment's, of which a context is noted next.
///
/// # Safety
/// As for [`look`].
#[cold]
#[inline(never)]
pub(super) unsafe fn watch(thread: *mut Thread, history: &History, clock: u64) {
    if !is_limited() {
        history.watch(false);
        return grow(history, clock);
    }
    // SAFETY: the caller's promise.
    unsafe {
        if history.count() >= (*thread).eye.looked + ROUND {
            (*thread).eye.looked = history.count();
            look(thread);
        }
    }
}

/// The calling thread remembers more, if more is wanted and there is memory for it.
fn grow(history: &History, clock: u64) {
    // What a handler notes meanwhile would be lost.
    let _quiet = sys::Quiet::new();
    let (slot, records) = history.extent();
    let mut wanted = wanted_records(slot);
    while wanted > records {
        let room = History::room(wanted);
        let fits = GROWN.fetch_add(room, Ordering::Relaxed) + room <= MOST_GROWN;
        if fits && let Ok(memory) = sys::map_anonymous(room) {
            // SAFETY: fresh memory, which is never given back.
            return unsafe { history.grow(clock, (memory, wanted)) };
        }
        GROWN.fetch_sub(room, Ordering::Relaxed);
        wanted >>= 2;
    }
}

/// There is no memory: the process ends, or from now on nothing is looked at.
#[cold]
pub(crate) fn none() {
    if DIES.load(Ordering::Relaxed) {
        note(flag::GAVE_UP);
        while SAYS.swap(true, Ordering::Relaxed) {
            // The thread that says so ends the process.
            sys::yield_now();
        }
        cold::fault(
            b"deadheat: no memory for the race detector itself; raise the limit (ulimit -v), or set \
              DEADHEAT_OPTIONS=die_without_memory=0 to go on undetected\n",
        );
    }
    if super::give_up() {
        note(flag::GAVE_UP);
        sys::say(
            b"deadheat: no memory for the race detector itself: from here on the program runs undetected\n",
        );
    }
}

/// Memory for somebody who cannot do without, although there is none; the process ends if there is none left of that, either.
pub(super) fn from_reserve(size: usize) -> *mut u8 {
    none();
    let reserve = RESERVE.load(Ordering::Relaxed);
    let at = RESERVE_USED.fetch_add(size.next_multiple_of(PAGE), Ordering::Relaxed);
    if reserve == 0 || at + size > RESERVE_SIZE {
        cold::fault(b"deadheat: no memory left to go on undetected with\n");
    }
    (reserve + at) as *mut u8
}

const PAGE: usize = 4096;

fn note(flag: u64) {
    let page = block::header_page();
    if !page.is_null() {
        block::flags(page).fetch_or(flag, Ordering::Relaxed);
    }
}

/// Whether there is a limit.
#[inline(always)]
pub(super) fn is_limited() -> bool {
    LIMIT.load(Ordering::Relaxed) != 0
}

/// Looks how much memory the process has; if too much, what is remembered of accesses is forgotten. What the program has itself
/// may be too much already: the next time is when a quarter of the limit has come to it.
///
/// # Safety
/// `thread` is the calling thread's, which is busy and holds on to no block.
#[cold]
#[inline(never)]
pub(super) unsafe fn look(thread: *mut Thread) {
    if !is_limited() {
        return;
    }
    // No handler that never returns may leave the others waiting.
    let _quiet = sys::Quiet::new();
    if LOOKING.swap(true, Ordering::Acquire) {
        // SAFETY: the caller's promise: the calling thread's own state, and it looks at no block.
        return unsafe { wait(thread) };
    }
    let limit = LIMIT.load(Ordering::Relaxed);
    match sys::resident_size() {
        None => {
            LIMIT.store(0, Ordering::Relaxed);
            sys::say(b"deadheat: memory_limit_mb cannot be kept: /proc/self/statm cannot be read\n");
        }
        Some(size) if size > NEXT.load(Ordering::Relaxed) => {
            // SAFETY: passed on; one thread at a time comes here.
            unsafe { shadow::give_back(&mut (*thread).eye.blocks) };
            let left = sys::resident_size().unwrap_or(size);
            NEXT.store(limit.max(left + limit / 4), Ordering::Relaxed);
            note(flag::FORGOT);
            if !REACHED.swap(true, Ordering::Relaxed) {
                sys::say(
                    b"deadheat: memory_limit_mb is reached: accesses so far are forgotten, races with them are not told\n",
                );
            }
        }
        Some(_) => {}
    }
    LOOKING.store(false, Ordering::Release);
}

/// Waits until the thread that looks has done so: else the others would take memory faster than it can give some back. What
/// waits is in no hook.
///
/// # Safety
/// As for [`look`]; no handler comes meanwhile.
unsafe fn wait(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        let busy = core::mem::replace(&mut (*thread).busy, 0);
        compiler_fence(Ordering::SeqCst);
        while LOOKING.load(Ordering::Acquire) {
            sys::yield_now();
        }
        (*thread).busy = busy;
        compiler_fence(Ordering::SeqCst);
    }
}

/// In a forked child: nothing was forgotten yet, and nobody else looks.
pub(super) fn in_child() {
    LOOKING.store(false, Ordering::Relaxed);
    REACHED.store(false, Ordering::Relaxed);
    NEXT.store(LIMIT.load(Ordering::Relaxed), Ordering::Relaxed);
}
