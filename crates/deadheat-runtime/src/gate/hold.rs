//! Holding a thread before its access until the other side comes, its time is over, or nobody
//! could come any more (Algorithm 4, lines 10 to 16).
//!
//! Invariant: a slot's thread stands in its hook from the slot's filling, under the lock, until its
//! result is given, under the lock, too. So whoever finds a slot without a result has a thread
//! before him that has not yet made its access, and is not blocked.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use deadheat_core::gate::{MAX_HELD, NO_TARGET, descriptor, flag, head, note, target, verdict};

use super::file::{self, descriptor_word, target_word};
use super::{Coming, LOCK, filter, meet, who};
use crate::hot::thread::Thread;
use crate::sys;

/// The slot's thread waits.
const WAITING: u32 = 0;

/// A held thread.
pub(super) struct Slot {
    /// Null: nobody.
    thread: AtomicPtr<Thread>,
    /// What the thread waits on: [`WAITING`], or the note that says why it goes on.
    word: AtomicU32,
    target: AtomicU32,
    side: AtomicU32,
    /// The held access: in the holding thread's own memory, valid while the slot is taken.
    coming: AtomicPtr<Coming>,
    /// Its first byte and end, for a look without the lock.
    pub(super) first: AtomicU64,
    pub(super) end: AtomicU64,
    since: AtomicU64,
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            thread: AtomicPtr::new(null_mut()),
            word: AtomicU32::new(WAITING),
            target: AtomicU32::new(0),
            side: AtomicU32::new(0),
            coming: AtomicPtr::new(null_mut()),
            first: AtomicU64::new(0),
            end: AtomicU64::new(0),
            since: AtomicU64::new(0),
        }
    }
}

pub(super) static SLOTS: [Slot; MAX_HELD] = [const { Slot::free() }; MAX_HELD];
/// How many slots are taken.
static TAKEN: AtomicU32 = AtomicU32::new(0);

/// Whether somebody is held.
#[inline]
pub(super) fn anybody() -> bool {
    TAKEN.load(Ordering::Acquire) != 0
}

/// Whether the thread is held.
pub(super) fn holds(thread: *mut Thread) -> bool {
    anybody() && SLOTS.iter().any(|slot| slot.thread.load(Ordering::Relaxed) == thread)
}

impl Slot {
    /// The held thread and its access, as long as no result is given. Under the lock.
    pub(super) fn waiting(&self) -> Option<(*mut Thread, &Coming)> {
        let thread = self.thread.load(Ordering::Relaxed);
        if thread.is_null() || self.word.load(Ordering::Relaxed) != WAITING {
            return None;
        }
        // SAFETY: by the invariant the holding thread stands in `hold`, which owns the access.
        Some((thread, unsafe { &*self.coming.load(Ordering::Relaxed) }))
    }

    /// The target and the side that it is held for.
    pub(super) fn aim(&self) -> (usize, usize) {
        (self.target.load(Ordering::Relaxed) as usize, self.side.load(Ordering::Relaxed) as usize)
    }

    /// Since when the thread is held.
    pub(super) fn since(&self) -> u64 {
        self.since.load(Ordering::Relaxed)
    }

    /// One in which nobody is held. Under the lock.
    fn unused() -> Option<&'static Slot> {
        SLOTS.iter().find(|slot| slot.thread.load(Ordering::Relaxed).is_null())
    }

    /// Holds the thread, which waits next. Under the lock.
    fn fill(&self, thread: *mut Thread, coming: &Coming, (t, side): (usize, usize)) {
        self.target.store(t as u32, Ordering::Relaxed);
        self.side.store(side as u32, Ordering::Relaxed);
        self.coming.store((&raw const *coming).cast_mut(), Ordering::Relaxed);
        self.first.store(coming.access.address, Ordering::Relaxed);
        self.end.store(coming.access.end(), Ordering::Relaxed);
        self.since.store(file::now(), Ordering::Relaxed);
        self.word.store(WAITING, Ordering::Relaxed);
        self.thread.store(thread, Ordering::Release);
        TAKEN.fetch_add(1, Ordering::AcqRel);
        filter::watch(true);
    }

    /// Holds the thread no more. Under the lock.
    fn empty(&self) {
        self.thread.store(null_mut(), Ordering::Release);
        if TAKEN.fetch_sub(1, Ordering::AcqRel) == 1 {
            filter::watch(false);
        }
    }

    /// Gives the result. Under the lock; the thread is woken by [`Self::wake`].
    pub(super) fn give(&self, why: u64) {
        self.word.store(why as u32, Ordering::Release);
    }

    /// Wakes the held thread.
    pub(super) fn wake(&self) {
        sys::futex_wake(&self.word);
    }
}

/// The slot in which a thread is held for a side of a target. Under the lock.
fn slot_of(t: usize, side: usize) -> Option<&'static Slot> {
    SLOTS.iter().find(|slot| slot.waiting().is_some() && slot.aim() == (t, side))
}

/// A thread comes to the access of descriptor `d`, for the time that the descriptor means.
pub(super) fn arrive(thread: *mut Thread, coming: &Coming, d: usize) {
    let (t, side) = (d / 2, d % 2);
    LOCK.acquire();
    let reached = descriptor_word(d, descriptor::REACHED);
    if reached.load(Ordering::Relaxed) == 0 {
        reached.store(file::now().max(1), Ordering::Relaxed);
    }
    if target_word(t, target::VERDICT).load(Ordering::Relaxed) != verdict::OPEN {
        return LOCK.release();
    }
    if let Some(slot) = slot_of(t, 1 - side) {
        // Line 11: the other side is pending, and the target is undecided.
        return meet::meet(slot, thread, coming);
    }
    if slot_of(t, side).is_some() {
        // Line 10: this side was published by another thread at the same instruction.
        return LOCK.release();
    }
    match take_slot(thread, coming, (t, side)) {
        Some(slot) => {
            LOCK.release();
            wait(slot, thread, coming.pc);
        }
        None => {
            file::note(note::NOT_HELD, (t, side), thread, coming.pc);
            LOCK.release();
        }
    }
    file::cut_if_done();
}

/// Takes a slot for the thread, if it may be held. Under the lock.
fn take_slot(thread: *mut Thread, coming: &Coming, (t, side): (usize, usize)) -> Option<&'static Slot> {
    // SAFETY: the lock is held.
    let living = unsafe { who::living() };
    if living < 2 {
        // Nobody else is there to come.
        file::decide_unless_places(t, verdict::QUIESCENT);
        return None;
    }
    let held = TAKEN.load(Ordering::Relaxed) as usize;
    let may = held + 2 <= living && (file::places_alone() || !crosses(thread, 2 * t + 1 - side));
    let Some(slot) = Slot::unused().filter(|_| may) else {
        file::decide_unless_places(t, verdict::BUSY);
        return None;
    };
    slot.fill(thread, coming, (t, side));
    target_word(t, target::HELD).store(side as u64 + 1, Ordering::Relaxed);
    file::note(note::HELD, (t, side), thread, coming.pc);
    Some(slot)
}

/// Holds a thread before an access for so many nanoseconds, for no target: what conflicts with it
/// meanwhile is seen by the watch rule.
pub(super) fn sample(thread: *mut Thread, coming: &Coming, delay: u64) {
    LOCK.acquire();
    let Some(slot) = Slot::unused() else { return LOCK.release() };
    slot.fill(thread, coming, (NO_TARGET as usize, 0));
    LOCK.release();
    let until = slot.since() + delay;
    loop {
        let now = file::now();
        if now >= until {
            break;
        }
        sys::futex_wait(&slot.word, WAITING, until - now);
    }
    LOCK.with(|| slot.empty());
}

/// Whether the thread that would be waited for is held in wait of this one. Under the lock.
fn crosses(thread: *mut Thread, other: usize) -> bool {
    SLOTS.iter().filter_map(|slot| Some((slot.waiting()?.0, slot.aim()))).any(|(held, (t, side))| {
        // SAFETY: both threads are alive: one is calling, one is held.
        unsafe { who::is_named(held, other) && who::is_named(thread, 2 * t + 1 - side) }
    })
}

/// How soon a held thread looks whether anybody could come, and how long it lets that rest at most.
const FIRST_LOOK: u64 = 1_000_000;
const LONGEST_REST: u64 = 16_000_000;
/// How many looks in a row must find nobody.
const LOOKS: u32 = 2;

/// Waits until the slot has a result, and frees it.
fn wait(slot: &'static Slot, thread: *mut Thread, pc: u64) {
    let (t, side) = slot.aim();
    let of_target = |index| target_word(t, index).load(Ordering::Relaxed);
    // Where places alone count, earlier visits have used up some of the time.
    let until = slot.since() + of_target(target::BOUND).saturating_sub(of_target(target::WAITED));
    let anyone = file::flags() & (flag::ANYBODY | flag::PLACES) != 0;
    let mut rest = FIRST_LOOK;
    let mut quiet = 0;
    loop {
        let now = file::now();
        if slot.word.load(Ordering::Acquire) == WAITING && now < until {
            sys::futex_wait(&slot.word, WAITING, rest.min(until - now));
        }
        rest = (rest * 2).min(LONGEST_REST);
        if slot.word.load(Ordering::Acquire) != WAITING {
            break;
        }
        LOCK.acquire();
        // The guard: only an undecided target is given up, and only while it is undecided.
        if slot.word.load(Ordering::Relaxed) == WAITING {
            // SAFETY: the lock is held.
            let come = unsafe { who::could_come(thread, 2 * t + 1 - side, anyone) };
            quiet = if come { 0 } else { quiet + 1 };
            if quiet >= LOOKS {
                give_up(slot, t, (verdict::QUIESCENT, note::FREED_BY_QUIET));
            } else if file::now() >= until {
                give_up(slot, t, (verdict::NONE, note::FREED_BY_TIME));
            }
        }
        LOCK.release();
    }
    LOCK.acquire();
    file::note(u64::from(slot.word.load(Ordering::Relaxed)), (t, side), thread, pc);
    target_word(t, target::HELD).store(0, Ordering::Relaxed);
    slot.empty();
    LOCK.release();
}

/// Line 16, under the lock.
fn give_up(slot: &Slot, t: usize, (what, why): (u64, u64)) {
    if target_word(t, target::VERDICT).load(Ordering::Relaxed) == verdict::OPEN {
        let waited = file::now().saturating_sub(slot.since());
        target_word(t, target::WAITED).fetch_add(waited, Ordering::Relaxed);
        match what {
            verdict::NONE => file::decide(t, what),
            _ => file::decide_unless_places(t, what),
        }
    }
    slot.give(why);
}
