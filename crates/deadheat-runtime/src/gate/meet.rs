//! Two threads before their accesses: do these conflict now?

use deadheat_core::access::{Access, Mode};
use deadheat_core::gate::{access, flag, note, target, verdict};

use super::file::{self, target_word};
use super::hold::Slot;
use super::{Coming, LOCK};
use crate::hot::thread::Thread;
use crate::sys;
use core::sync::atomic::Ordering;

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
    slot.park.give(if race { note::FREED_BY_MEETING } else { note::FREED_BY_MOVE } as u32);
    LOCK.release();
    if race && file::flags() & flag::TRAP != 0 {
        // Both stand before their accesses: whoever debugs the process looks at them now.
        sys::trap();
    }
    slot.park.wake();
    file::cut_if_done();
}
