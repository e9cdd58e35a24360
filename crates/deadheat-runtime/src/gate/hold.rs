//! Holding a thread before its access until the other side comes, its time is over, or nobody
//! could come any more (Algorithm 4, lines 10 to 16).
//!
//! Invariant: a slot's thread stands in its hook from the slot's filling, under the lock, until its
//! result is given, under the lock, too. So whoever finds a slot without a result has a thread
//! before him that has not yet made its access, and is not blocked: not in a handler either.
//! Signals are kept from a thread in a slot; when one waits for it, it leaves the slot, lets the
//! handler run, and comes anew.

use core::cell::Cell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicU64, Ordering};

use deadheat_core::gate::{MAX_HELD, NO_TARGET, descriptor, flag, note, target, verdict};

use super::file::{self, descriptor_word, target_word};
use super::park::Park;
use super::{Coming, LOCK, filter, meet, turns, who};
use crate::hot::thread::Thread;
use crate::sys;

/// The result of one who leaves its slot for a signal; no note has this number.
const SIGNALLED: u32 = 1 << 8;

/// A held thread.
pub(super) struct Slot {
    /// Null: nobody.
    thread: AtomicPtr<Thread>,
    /// Where the thread waits; the result is the note that says why it goes on, or [`SIGNALLED`].
    pub(super) park: Park,
    target: AtomicU32,
    side: AtomicU32,
    /// The held access: in the holding thread's own memory, valid while the slot is taken.
    coming: AtomicPtr<Coming>,
    /// Its first byte and end, for a look without the lock.
    pub(super) first: AtomicU64,
    pub(super) end: AtomicU64,
    since: AtomicU64,
    /// How many turns were over then.
    turns: AtomicU64,
}

impl Slot {
    const fn free() -> Slot {
        Slot {
            thread: AtomicPtr::new(null_mut()),
            park: Park::new(),
            target: AtomicU32::new(0),
            side: AtomicU32::new(0),
            coming: AtomicPtr::new(null_mut()),
            first: AtomicU64::new(0),
            end: AtomicU64::new(0),
            since: AtomicU64::new(0),
            turns: AtomicU64::new(0),
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

/// Whether the thread is held and nothing has freed it yet. Under the lock.
pub(super) fn waits(thread: *mut Thread) -> bool {
    SLOTS.iter().any(|slot| slot.waiting().is_some_and(|(held, _)| held == thread))
}

/// Whether the thread is held.
pub(super) fn holds(thread: *mut Thread) -> bool {
    anybody() && SLOTS.iter().any(|slot| slot.thread.load(Ordering::Relaxed) == thread)
}

impl Slot {
    /// The held thread and its access, as long as no result is given. Under the lock.
    pub(super) fn waiting(&self) -> Option<(*mut Thread, &Coming)> {
        let thread = self.thread.load(Ordering::Relaxed);
        if !self.park.is_waiting() {
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
        SLOTS.iter().find(|slot| slot.park.is_free())
    }

    /// Holds the thread, which waits next. Under the lock.
    fn fill(&self, thread: *mut Thread, coming: &Coming, (t, side): (usize, usize), since: u64) {
        self.target.store(t as u32, Ordering::Relaxed);
        self.side.store(side as u32, Ordering::Relaxed);
        self.coming.store((&raw const *coming).cast_mut(), Ordering::Relaxed);
        self.first.store(coming.access.address, Ordering::Relaxed);
        self.end.store(coming.access.end(), Ordering::Relaxed);
        self.since.store(since, Ordering::Relaxed);
        self.turns.store(turns::count(), Ordering::Relaxed);
        self.thread.store(thread, Ordering::Release);
        self.park.take();
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

    /// Until when the thread is held.
    fn until(&self) -> u64 {
        let of_target = |index| target_word(self.aim().0, index).load(Ordering::Relaxed);
        // Where places alone count, earlier visits have used up some of the time.
        self.since() + of_target(target::BOUND).saturating_sub(of_target(target::WAITED))
    }

    /// How many turns were over when it was held and are now, as a word of the file.
    pub(super) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed) | turns::count() << 32
    }
}

/// The slot in which a thread is held for a side of a target. Under the lock.
fn slot_of(t: usize, side: usize) -> Option<&'static Slot> {
    SLOTS.iter().find(|slot| slot.waiting().is_some() && slot.aim() == (t, side))
}

/// A thread comes to the access of descriptor `d`, for the time that the descriptor means.
pub(super) fn arrive(thread: *mut Thread, coming: &Coming, d: usize) {
    let quiet = sys::Quiet::new();
    let reached = descriptor_word(d, descriptor::REACHED);
    if reached.load(Ordering::Relaxed) == 0 {
        reached.store(file::now().max(1), Ordering::Relaxed);
    }
    let arrival = Arrival { thread, coming, aim: (d / 2, d % 2), since: file::now(), silent: Cell::new(0) };
    let mut again = false;
    while arrival.come(&quiet, again) == SIGNALLED {
        // What the handlers do is seen: nothing of this hook is half done.
        // SAFETY: the calling thread's own state.
        unsafe { (*thread).busy = 0 };
        quiet.let_come();
        // SAFETY: as above.
        unsafe { (*thread).busy = 1 };
        again = true;
    }
    file::cut_if_done();
}

/// A thread comes to an access of descriptor `d`, which nobody is held for.
pub(super) fn come_by(thread: *mut Thread, coming: &Coming, d: usize) {
    let _quiet = sys::Quiet::new();
    LOCK.acquire();
    let reached = descriptor_word(d, descriptor::REACHED);
    if reached.load(Ordering::Relaxed) == 0 {
        reached.store(file::now().max(1), Ordering::Relaxed);
    }
    match slot_of(d / 2, 1 - d % 2) {
        Some(slot)
            if slot
                .waiting()
                .is_some_and(|(held, first)| held != thread && meet::conflict(first, coming)) =>
        {
            meet::meet(slot, thread, coming);
        }
        _ => LOCK.release(),
    }
}

/// A thread before an access that it may be held at.
struct Arrival<'a> {
    thread: *mut Thread,
    coming: &'a Coming,
    aim: (usize, usize),
    since: u64,
    /// How many looks in a row found nobody who could come.
    silent: Cell<u32>,
}

impl Arrival<'_> {
    /// Meets who is held for the other side, or is held; `again`: after a signal. Gives why the
    /// thread goes on, 0 if it was not held.
    fn come(&self, quiet: &sys::Quiet, again: bool) -> u32 {
        let (t, side) = self.aim;
        LOCK.acquire();
        if !again {
            // Counted under the lock: else who is held for the other side might find the access passed
            // while this thread is on its way here.
            // SAFETY: the calling thread's own state.
            unsafe { (*self.thread).seat.counts[2 * t + side] += 1 };
        }
        if target_word(t, target::VERDICT).load(Ordering::Relaxed) != verdict::OPEN {
            LOCK.release();
        } else if let Some(slot) = slot_of(t, 1 - side) {
            // Line 11: the other side is pending, and the target is undecided.
            meet::meet(slot, self.thread, self.coming);
        } else if slot_of(t, side).is_some() {
            // Line 10: this side was published by another thread at the same instruction.
            LOCK.release();
        } else if let Some(slot) = self.take_slot() {
            if !again {
                file::note(note::HELD, self.aim, self.thread, self.coming.pc);
            }
            LOCK.release();
            let why = self.wait(slot, quiet);
            if why == note::FREED_BY_MEETING as u32 && file::flags() & flag::TURNED != 0 {
                meet::let_first_go(self.thread);
            }
            return why;
        } else {
            file::note(note::NOT_HELD, self.aim, self.thread, self.coming.pc);
            LOCK.release();
        }
        0
    }

    /// Takes a slot for the thread, if it may be held. Under the lock.
    fn take_slot(&self) -> Option<&'static Slot> {
        let (t, side) = self.aim;
        // SAFETY: the lock is held.
        let living = unsafe { who::living() };
        if living < 2 {
            // Nobody else is there to come.
            target_word(t, target::DELAY).store(0, Ordering::Relaxed);
            file::decide_unless_places(t, verdict::QUIESCENT);
            return None;
        }
        let held = TAKEN.load(Ordering::Relaxed) as usize;
        let crosses = !file::places_alone() && crosses(self.thread, 2 * t + 1 - side);
        let Some(slot) = Slot::unused().filter(|_| held + 2 <= living && !crosses) else {
            file::decide_unless_places(t, verdict::BUSY);
            return None;
        };
        slot.fill(self.thread, self.coming, self.aim, self.since);
        target_word(t, target::HELD).store(side as u64 + 1, Ordering::Relaxed);
        // Whom it met at this access and was to go before: that one need not wait as long.
        meet::comes(self.thread);
        Some(slot)
    }

    /// Waits until the slot has a result, and frees it.
    fn wait(&self, slot: &'static Slot, quiet: &sys::Quiet) -> u32 {
        let (t, side) = self.aim;
        let until = slot.until();
        let anyone = file::flags() & (flag::ANYBODY | flag::PLACES) != 0;
        let mut next = FIRST_LOOK;
        let mut stills = 0;
        let mut result = 0;
        let rest = || {
            let left = until.checked_sub(file::now())?;
            let time = next.min(left);
            next = (next * 2).min(LONGEST_REST);
            Some(time)
        };
        // The guard: only an undecided target is given up, and only while it is undecided.
        let look = || {
            // SAFETY: the lock is held.
            let come = unsafe { who::could_come(self.thread, 2 * t + 1 - side, anyone) };
            // Held threads that wait for each other: nothing changes before the first of them is
            // freed, so it need not use up its time.
            // SAFETY: as above.
            let still = come && is_first(slot) && unsafe { who::all_stand_still() };
            stills = if still { stills + 1 } else { 0 };
            self.silent.set(if come { 0 } else { self.silent.get() + 1 });
            if self.silent.get() >= LOOKS {
                Some(self.give_up(verdict::QUIESCENT, note::FREED_BY_QUIET))
            } else if stills >= LOOKS || file::now() >= until {
                Some(self.give_up(verdict::NONE, note::FREED_BY_TIME))
            } else {
                quiet.is_wanted().then_some(SIGNALLED)
            }
        };
        slot.park.wait(&LOCK, rest, look, |why| {
            result = why;
            if why != SIGNALLED {
                file::note(u64::from(why), self.aim, self.thread, self.coming.pc);
            }
            target_word(t, target::HELD).store(0, Ordering::Relaxed);
            slot.empty();
        });
        result
    }

    /// The side, and the turn in which its thread took the first of its locks, as a delay.
    fn locked(&self) -> u64 {
        // SAFETY: the calling thread's own state.
        let seat = unsafe { &(*self.thread).seat };
        if seat.locks().len() == 0 { 0 } else { u64::from(seat.locked_in) << 1 | self.aim.1 as u64 }
    }

    /// Line 16, under the lock: what is decided, and the note that says why the thread goes on.
    fn give_up(&self, what: u64, why: u64) -> u32 {
        let (t, _) = self.aim;
        if target_word(t, target::VERDICT).load(Ordering::Relaxed) == verdict::OPEN {
            let waited = file::now().saturating_sub(self.since);
            target_word(t, target::WAITED).fetch_add(waited, Ordering::Relaxed);
            if what == verdict::QUIESCENT {
                target_word(t, target::DELAY).store(self.locked(), Ordering::Relaxed);
            }
            match what {
                verdict::NONE => file::decide(t, what),
                _ => file::decide_unless_places(t, what),
            }
        }
        why as u32
    }
}

/// Holds a thread before an access for so many nanoseconds, or until a signal comes, for no target:
/// what conflicts with it meanwhile is seen by the watch rule.
pub(super) fn sample(thread: *mut Thread, coming: &Coming, delay: u64) {
    let quiet = sys::Quiet::new();
    LOCK.acquire();
    let Some(slot) = Slot::unused() else { return LOCK.release() };
    slot.fill(thread, coming, (NO_TARGET as usize, 0), file::now());
    LOCK.release();
    let until = slot.since() + delay;
    let rest = || until.checked_sub(file::now());
    let look = || {
        let over = quiet.is_wanted() || file::now() >= until;
        over.then_some(note::FREED_BY_TIME as u32)
    };
    slot.park.wait(&LOCK, rest, look, |_| slot.empty());
}

/// Whether of all held threads that of this slot is freed first: its target is the least likely to meet, since
/// they are numbered by that. Under the lock.
fn is_first(slot: &Slot) -> bool {
    SLOTS.iter().all(|other| other.waiting().is_none() || other.aim() <= slot.aim())
}

/// Whether the thread that would be waited for is held in wait of this one. Under the lock.
fn crosses(thread: *mut Thread, other: usize) -> bool {
    SLOTS.iter().filter_map(|slot| Some((slot.waiting()?.0, slot.aim()))).any(|(held, (t, side))| {
        // SAFETY: both threads are alive: one is calling, one is held.
        unsafe { who::is_named(held, other) && who::is_named(thread, 2 * t + 1 - side) }
    })
}

/// Whether the thread that descriptor `other` names is held in wait of this one, for a target that comes before `t`.
///
/// # Safety
/// The gate's lock is held; the thread is alive.
pub(super) unsafe fn is_held_for(thread: *mut Thread, other: usize, t: usize) -> bool {
    SLOTS.iter().filter_map(|slot| Some((slot.waiting()?.0, slot.aim()))).any(|(held, (target, side))| {
        // SAFETY: who is held is alive; of the other the caller says so.
        target < t && unsafe { who::is_named(held, other) && who::is_named(thread, 2 * target + 1 - side) }
    })
}

/// How soon a held thread looks whether anybody could come, and how long it lets that rest at most.
const FIRST_LOOK: u64 = 1_000_000;
const LONGEST_REST: u64 = 16_000_000;
/// How many looks in a row must find nobody.
pub(super) const LOOKS: u32 = 2;
