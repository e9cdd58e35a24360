//! Slots: the places in vector clocks in which threads count their moments.
//!
//! Invariant: as offline, two accesses with the same slot were made by one thread, or by two of which the one had
//! ended and was known whole to whoever created the other. So a slot's accesses are ordered and its clock never goes
//! back, and ten thousand threads that follow each other need few slots. Of threads that ended without anybody who learned of their last
//! moment, as detached ones do, the last [`MOST_RETIRED`] keep theirs; then the oldest slot goes to a new thread as if it knew it.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};

use super::clock::Clock;
use super::history::History;
use super::list::List;
use super::shadow::Noted;
use super::word::{self, LAST_CLOCK, LAST_SLOT};
use deadheat_core::event::BlockKind;

use crate::cold::lock::Lock;
use crate::hot::thread::Thread;
use crate::sys;

/// How many are retired before the oldest is used again by a thread that does not know what was done in it. Races of what was done there with
/// that thread, and with those who learn of it, are not told any more.
const MOST_RETIRED: usize = 256;

struct Slots {
    lock: Lock,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    /// Slots whose threads ended, and their last clocks: the oldest first.
    retired: List<(u32, u64)>,
    /// How many slots there are; they are counted from 1.
    count: u32,
    /// By slot, the least clock of it that a thread knows: a place to find it.
    least: List<u64>,
    /// How many of them have a thread.
    running: u32,
    /// Whether the last clock of a thread that ended is not kept any more: nobody can be asked whether he knows it.
    lost: bool,
}

// SAFETY: `inner` is touched under `lock` alone.
unsafe impl Sync for Slots {}

static SLOTS: Slots = Slots {
    lock: Lock::new(),
    inner: UnsafeCell::new(Inner {
        retired: List::new(),
        least: List::new(),
        count: 0,
        running: 0,
        lost: false,
    }),
};

/// Runs `body` under the lock. No handler interrupts it: one that asks for the lock, too, as its first access may, would wait
/// for what it interrupted.
fn locked<R>(body: impl FnOnce() -> R) -> R {
    let _quiet = sys::Quiet::new();
    SLOTS.lock.with(body)
}

/// Of each slot: its thread at present, and what it remembers.
struct Row {
    thread: AtomicPtr<Thread>,
    history: AtomicPtr<History>,
}

static ROWS: [Row; LAST_SLOT as usize + 1] =
    [const { Row { thread: AtomicPtr::new(null_mut()), history: AtomicPtr::new(null_mut()) } };
        LAST_SLOT as usize + 1];

/// The history of a slot.
pub(crate) fn history(slot: u32) -> *mut History {
    ROWS[slot as usize % ROWS.len()].history.load(Ordering::Acquire)
}

/// Calls `each` with the histories that there are.
pub(super) fn each_history(mut each: impl FnMut(&History)) {
    let count = locked(count);
    for row in ROWS.iter().take(count + 1) {
        // SAFETY: a history stays mapped.
        if let Some(history) = unsafe { row.history.load(Ordering::Acquire).as_ref() } {
            each(history);
        }
    }
}

/// A slot for a thread that begins with the clock `known`: one that it knows whole, or a fresh one; and its first clock. The
/// process ends if 65 533 threads run at once. One that nobody was seen creating begins with no clock; it [may be told](needed) what every thread knows.
pub(crate) fn take(thread: *mut Thread, id: u32, known: &mut Clock) -> (u32, u64) {
    let (slot, clock) = locked(|| {
        // SAFETY: under the lock.
        let inner = unsafe { &mut *SLOTS.inner.get() };
        if known.is_empty() && inner.count != 0 {
            inner.meet_unseen(known);
        }
        let (slot, clock) = inner.choose(known);
        if ROWS[slot as usize].thread.swap(thread, Ordering::AcqRel).is_null() {
            inner.running += 1;
        }
        if inner.running > 1 {
            super::look();
        }
        (slot, clock)
    });
    let row = &ROWS[slot as usize];
    if row.history.load(Ordering::Relaxed).is_null() {
        row.history.store(History::make(slot), Ordering::Release);
    }
    // SAFETY: a history stays mapped.
    unsafe { (*history(slot)).owned_by(id, clock) };
    (slot, clock)
}

impl Inner {
    /// A thread comes that nobody was seen creating and that knows nothing.
    fn meet_unseen(&mut self, known: &mut Clock) {
        if TRIMS.load(Ordering::Relaxed) != YES {
            return TRIMS.store(NO, Ordering::Relaxed);
        }
        for (slot, all) in (0..).zip(&KNOWN[..=self.count as usize]) {
            known.set(slot, all.load(Ordering::Relaxed));
        }
    }

    /// A slot that a thread which knows `known` can go on with, or a fresh one; and its next clock, an even number.
    fn choose(&mut self, known: &Clock) -> (u32, u64) {
        let inner = self;
        let known = |&(slot, last): &(u32, u64)| last <= known.get(slot);
        let reusable = inner.retired.iter().enumerate().filter(|(_, retired)| known(retired));
        let reusable = reusable.min_by_key(|(_, (slot, _))| *slot).map(|(at, _)| at);
        if let Some(at) = reusable {
            let (slot, last) = inner.retired.remove(at);
            return (slot, last + 2);
        }
        if inner.retired.len() >= MOST_RETIRED || inner.count == LAST_SLOT && !inner.retired.is_empty() {
            let (slot, last) = inner.retired.remove(0);
            inner.lost = true;
            PASSED_ON[slot as usize].store(last, Ordering::Relaxed);
            ANY_PASSED_ON.store(true, Ordering::Release);
            return (slot, last + 2);
        }
        if inner.count == LAST_SLOT {
            crate::cold::fault(b"deadheat: more than 65532 threads at once; the program is stopped\n");
        }
        inner.count += 1;
        (inner.count, 2)
    }
}

/// A slot's thread ended at its clock `last`.
pub(crate) fn give(slot: u32, last: u64) {
    locked(|| {
        // SAFETY: under the lock.
        let inner = unsafe { &mut *SLOTS.inner.get() };
        if !ROWS[slot as usize].thread.swap(null_mut(), Ordering::AcqRel).is_null() {
            inner.running -= 1;
        }
        if last >= LAST_CLOCK - 2 {
            inner.lost = true;
        } else {
            inner.retired.push((slot, last));
        }
    });
}

/// By slot, up to which clock it was of a thread before, if the present one does not know what that knew.
static PASSED_ON: [AtomicU64; LAST_SLOT as usize + 1] = [const { AtomicU64::new(0) }; LAST_SLOT as usize + 1];
/// Whether there is such a slot.
static ANY_PASSED_ON: AtomicBool = AtomicBool::new(false);

/// Whether who knows a slot's clock knows all that was known when it was published. A thread that was given the slot of one
/// that it knows nothing of counts that one's clocks as known, and so does who learns of it.
#[inline(always)]
pub(crate) fn tells(slot: u32, clock: u64) -> bool {
    !ANY_PASSED_ON.load(Ordering::Acquire)
        || clock > PASSED_ON[slot as usize % PASSED_ON.len()].load(Ordering::Relaxed)
}

/// Calls `then` if the one thread that runs knows all that others did, as its clock says. Nobody can come meanwhile.
pub(crate) fn if_alone(known: &Clock, then: impl FnOnce()) {
    locked(|| {
        // SAFETY: under the lock.
        let inner = unsafe { &mut *SLOTS.inner.get() };
        if inner.running == 1
            && !inner.lost
            && inner.retired.iter().all(|&(slot, last)| last <= known.get(slot))
        {
            then();
        }
    });
}

/// By slot, the last clock that every thread knows: nothing races with an access up to it any more.
static KNOWN: [AtomicU64; LAST_SLOT as usize + 1] = [const { AtomicU64::new(0) }; LAST_SLOT as usize + 1];

/// Whether every thread knows the access, so that it need not be remembered.
#[inline]
pub(crate) fn all_know(word: u64) -> bool {
    word::clock(word) <= KNOWN[word::slot(word) as usize % KNOWN.len()].load(Ordering::Relaxed)
}

/// Of how many calls of [`find_known_in_turn`] one does it.
static EACH: AtomicU32 = AtomicU32::new(1);
static TURN: AtomicU32 = AtomicU32::new(0);

/// As [`find_known`], which takes a step for each slot of each thread: where these are many, most calls do nothing. `false` of such.
pub(crate) fn find_known_in_turn() -> bool {
    let each = EACH.load(Ordering::Relaxed);
    let its = each == 1 || TURN.fetch_add(1, Ordering::Relaxed).is_multiple_of(each);
    if its {
        find_known();
    }
    its
}

/// Clocks of so many slots are published whole.
const FEW: usize = 64;
/// Whether what every thread knows is left out of what others publish: [`YES`] or [`NO`] once that is decided, under the lock.
static TRIMS: AtomicU8 = AtomicU8::new(0);
const YES: u8 = 1;
const NO: u8 = 2;

/// How many slots of a clock, from the first on, are to be published: at the end of one that is long, those are left out of which every thread knows as much. So objects of a program
/// that had a thousand threads once do not keep a number for each of them.
///
/// Whoever learns from the object knows what is left out, as it was known to all who ran then; but not a thread that nobody was seen creating. So one that comes later is told what every
/// thread knows, and if one came before, nothing is left out.
#[inline]
pub(crate) fn needed(clock: &Clock) -> usize {
    if clock.width() <= FEW { clock.width() } else { needed_of_many(clock) }
}

#[inline(never)]
fn needed_of_many(clock: &Clock) -> usize {
    /// Of so many clocks that stay long, one asks what every thread knows.
    const ASKS: u32 = 64;
    match TRIMS.load(Ordering::Relaxed) {
        YES => {}
        NO => return clock.width(),
        _ => {
            begin_to_trim();
            return clock.width();
        }
    }
    let needed = || {
        (1..clock.width()).rev().find(|&slot| !all_know(word::moment(slot as u32, clock.get(slot as u32))))
    };
    let count = || needed().map_or(1, |last| last + 1);
    let before = count();
    if before <= FEW || !LONG.fetch_add(1, Ordering::Relaxed).is_multiple_of(ASKS) || !find_known_in_turn() {
        return before;
    }
    count()
}

/// How many clocks stayed long.
static LONG: AtomicU32 = AtomicU32::new(0);

/// From now on it is left out of clocks what every thread knows, if that is not decided yet; the next one begins with it.
#[cold]
fn begin_to_trim() {
    locked(|| {
        if TRIMS.load(Ordering::Relaxed) != NO {
            TRIMS.store(YES, Ordering::Relaxed);
        }
    });
}

/// Brings up to date what every thread knows. A thread that nobody was seen creating is not waited for: what was known to
/// all before it came counts as known to it.
pub(crate) fn find_known() {
    /// So many steps are little beside what it takes to make room otherwise.
    const LITTLE: usize = 1 << 14;
    locked(|| {
        // SAFETY: under the lock.
        let Inner { count, least, running, .. } = unsafe { &mut *SLOTS.inner.get() };
        let slots = *count as usize + 1;
        EACH.store((slots * *running as usize / LITTLE).max(1) as u32, Ordering::Relaxed);
        least.clear();
        for row in &ROWS[1..slots] {
            let thread = row.thread.load(Ordering::Acquire);
            if thread.is_null() {
                continue;
            }
            // SAFETY: the memory of a `Thread` stays mapped; a running thread's clock only grows, and changes its place
            // under this lock alone.
            let known = |slot: usize| unsafe { (*thread).eye.clock.get(slot as u32) };
            if least.is_empty() {
                (0..slots).for_each(|slot| least.push(known(slot)));
            } else {
                least.iter_mut().enumerate().for_each(|(slot, least)| *least = known(slot).min(*least));
            }
        }
        for (known, &least) in KNOWN.iter().zip(least.iter()).skip(1) {
            known.fetch_max(least, Ordering::Relaxed);
        }
    });
}

/// How many slots there are, counted from 1. For who has the lock.
pub(crate) fn count() -> usize {
    // SAFETY: under the lock.
    unsafe { (*SLOTS.inner.get()).count as usize }
}

/// The largest slot that there is.
pub(crate) fn highest() -> u32 {
    locked(count) as u32
}

/// Calls `each` with every slot and the clock that its last or present moment has.
pub(crate) fn each_present(mut each: impl FnMut(u32, u64)) {
    locked(|| {
        // SAFETY: under the lock.
        let retired = unsafe { &(*SLOTS.inner.get()).retired };
        retired.iter().for_each(|&(slot, last)| each(slot, last));
        for (slot, row) in ROWS.iter().enumerate().take(count() + 1).skip(1) {
            let thread = row.thread.load(Ordering::Acquire);
            if !thread.is_null() {
                // SAFETY: the memory of a `Thread` stays mapped; its clock changes its place under this lock alone.
                each(slot as u32, unsafe { (*thread).eye.latest() });
            }
        }
    });
}

/// Runs `change`, which moves the memory of a running thread's clock, while nobody asks what threads know.
pub(crate) fn alone_with(change: impl FnOnce()) {
    locked(change);
}

/// Puts the slots of all other threads that are in a hook just now into a list.
pub(crate) fn busy(slots: &mut List<u32>) {
    slots.clear();
    // SAFETY: under the lock.
    let count = locked(|| unsafe { (*SLOTS.inner.get()).count });
    for slot in 0..=count {
        if is_busy(slot) {
            slots.push(slot);
        }
    }
}

/// Takes those out of the list that are in no hook just now, or were given back.
pub(crate) fn still_busy(slots: &mut List<u32>) {
    let mut at = 0;
    while at < slots.len() {
        if is_busy(slots[at]) {
            at += 1;
        } else {
            slots.swap_remove(at);
        }
    }
}

fn is_busy(slot: u32) -> bool {
    let thread = ROWS[slot as usize].thread.load(Ordering::Acquire);
    // SAFETY: the memory of a `Thread` stays mapped; its word may be read at any time.
    !thread.is_null()
        && thread as usize != sys::machine::thread_word()
        && unsafe { (&raw const (*thread).busy).read_volatile() } != 0
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    SLOTS.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    SLOTS.lock.release();
}

/// In a forked child: no other thread is there any more.
pub(crate) fn alone(slot: u32) {
    for (at, row) in ROWS.iter().enumerate().take(count() + 1) {
        if at != slot as usize {
            row.thread.store(null_mut(), Ordering::Relaxed);
        }
    }
    // SAFETY: no other thread is there.
    unsafe { (*SLOTS.inner.get()).running = 1 };
}

/// How many threads run.
pub(crate) fn running() -> u32 {
    // SAFETY: under the lock.
    locked(|| unsafe { (*SLOTS.inner.get()).running })
}

/// The thread-local storage or the stack of a running thread that holds an address.
pub(crate) fn storage_of(address: u64) -> Option<(BlockKind, Noted)> {
    // SAFETY: under the lock.
    let count = locked(|| unsafe { (*SLOTS.inner.get()).count }) as usize;
    ROWS[..=count].iter().find_map(|row| {
        let thread = row.thread.load(Ordering::Acquire);
        if thread.is_null() {
            return None;
        }
        // SAFETY: the memory of a `Thread` stays mapped; these fields are set at its beginning.
        let (id, storage, stack) = unsafe { ((*thread).id, (*thread).eye.thread_local, (*thread).stack) };
        let noted = |start: u64, size: u64| Noted {
            address: start as usize,
            size: size as usize,
            kind: 0,
            node: 0,
            thread: id,
        };
        if address.wrapping_sub(storage.0) < storage.1 {
            return Some((BlockKind::ThreadLocal, noted(storage.0, storage.1)));
        }
        let size = stack.1.saturating_sub(stack.0);
        (address.wrapping_sub(stack.0) < size).then(|| (BlockKind::Stack, noted(stack.0, size)))
    })
}
