//! Two threads before their accesses: do these conflict now, and who goes on first?

use deadheat_core::access::{Access, Mode};
use deadheat_core::gate::{access, flag, note, target, verdict};

use super::file::{self, target_word};
use super::hold::Slot;
use super::{Coming, LOCK};
use crate::hot::thread::Thread;
use crate::sys;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Of two that met, the one that goes on first, until it comes to its next hook.
static FIRST: AtomicPtr<Thread> = AtomicPtr::new(null_mut());
/// How often such a one came: what the other sleeps on.
static CAME: AtomicU32 = AtomicU32::new(0);
/// For how long the other lets it go first: it may come to no hook any more.
const LONGEST: u64 = 50_000_000;
/// The side that came later in the watched run.
const LATER: usize = 1;

/// What an access does if it is made now: a compare-exchange that would fail only reads.
pub(super) fn as_of_now(coming: &Coming) -> (Access, bool) {
    let Some(expected) = coming.expects else { return (coming.access, false) };
    let mut found = [0u8; 16];
    let size = (coming.access.size as usize).min(found.len());
    for (i, byte) in found.iter_mut().enumerate().take(size) {
        // SAFETY: the program is about to access these bytes. One whose change falls between two
        // of them takes part in another race; what is proved here does not rest on the value.
        *byte = unsafe { (coming.access.address as *const u8).add(i).read_volatile() };
    }
    let fails = u128::from_le_bytes(found) != expected;
    (if fails { Access { mode: Mode::Read, ..coming.access } } else { coming.access }, fails)
}

/// The conflict test (1.1): the threads differ, the bytes overlap, one writes, one is plain.
pub(super) fn conflict(one: &Coming, other: &Coming) -> bool {
    let ((a, _), (b, _)) = (as_of_now(one), as_of_now(other));
    a.address < b.end()
        && b.address < a.end()
        && (a.mode.writes() || b.mode.writes())
        && (a.atomic.is_none() || b.atomic.is_none())
}

/// Both sides of a target have come (line 11). Under the lock, which this gives back.
pub(super) fn meet(slot: &'static Slot, thread: *mut Thread, coming: &Coming) {
    let (t, side) = slot.aim();
    let Some((held, first)) = slot.waiting() else { return LOCK.release() };
    let race = conflict(first, coming);
    if !race && file::places_alone() {
        // The next visit is as good as this one, and may be the other half of a copy.
        return LOCK.release();
    }
    let time = file::now();
    for (at, who, what) in [(side, held, first), (1 - side, thread, coming)] {
        let put = |index, value| {
            target_word(t, target::FOUND + at * access::SIZE + index).store(value, Ordering::Relaxed);
        };
        // SAFETY: one stands in its hook by the slot's invariant, the other is the calling one.
        unsafe { file::write_access(put, who, what, time, as_of_now(what).1) };
    }
    file::note(note::MET, (t, 1 - side), thread, coming.pc);
    target_word(t, target::TURNS).store(slot.turns(), Ordering::Relaxed);
    target_word(t, target::FIRST).store(side as u64, Ordering::Relaxed);
    target_word(t, target::WAITED).fetch_add(time.saturating_sub(slot.since()), Ordering::Relaxed);
    file::decide(t, if race { verdict::RACE } else { verdict::MOVED });
    let turned = race && file::flags() & flag::TURNED != 0;
    if turned {
        FIRST.store(if side == LATER { held } else { thread }, Ordering::Relaxed);
    }
    slot.park.give(if race { note::FREED_BY_MEETING } else { note::FREED_BY_MOVE } as u32);
    LOCK.release();
    if race && file::flags() & flag::TRAP != 0 {
        // Both stand before their accesses: whoever debugs the process looks at them now.
        sys::trap();
    }
    slot.park.wake();
    if turned {
        let_first_go(thread);
    }
    file::cut_if_done();
}

/// The thread is one of two that met, and lets the other go if that one is to go first: until it comes to
/// its next hook, so that it made its access.
///
/// What a run does behind a meeting depends on who wins it, and the watched run showed one way.
pub(super) fn let_first_go(thread: *mut Thread) {
    let first = FIRST.load(Ordering::Relaxed);
    let until = file::now() + LONGEST;
    loop {
        let came = CAME.load(Ordering::Acquire);
        let now = file::now();
        if first == thread || first.is_null() || FIRST.load(Ordering::Relaxed) != first || now >= until {
            return;
        }
        sys::futex_wait(&CAME, came, until - now);
    }
}

/// The thread came to a hook.
#[inline]
pub(super) fn comes(thread: *mut Thread) {
    if FIRST.load(Ordering::Relaxed) == thread {
        FIRST.store(null_mut(), Ordering::Relaxed);
        CAME.fetch_add(1, Ordering::Release);
        sys::futex_wake(&CAME);
    }
}
