//! The watch rule: while a thread is held before an access, every conflicting access of another
//! thread is a race, whatever its descriptor.

use core::sync::atomic::Ordering;

use deadheat_core::gate::{NO_TARGET, access, descriptor, find, flag, head, note};

use super::file::{self, descriptor_word, find_word, head_word};
use super::hold::{SLOTS, Slot};
use super::{Coming, locked, meet, who};
use crate::hot::thread::Thread;

/// Compares an access with those that threads are held before.
pub(super) fn look(thread: *mut Thread, coming: &Coming) {
    if file::flags() & flag::WATCH == 0 {
        return;
    }
    for slot in &SLOTS {
        let touches = coming.access.address < slot.end.load(Ordering::Relaxed)
            && slot.first.load(Ordering::Relaxed) < coming.access.end();
        if touches {
            locked(|| compare(slot, thread, coming));
        }
    }
}

/// Under the lock.
fn compare(slot: &Slot, thread: *mut Thread, coming: &Coming) {
    let (t, side) = slot.aim();
    let Some((held, first)) = slot.waiting() else { return };
    if held == thread || !meet::conflict(first, coming) {
        return;
    }
    if t as u64 != NO_TARGET && is_expected(thread, coming, 2 * t + 1 - side) {
        return;
    }
    let count = head_word(head::FOUND).load(Ordering::Relaxed) as usize;
    if count >= file::number(head::FINDS) || is_known(count, t, (first.pc, coming.pc)) {
        return;
    }
    let time = file::now();
    for (at, who, what) in [(0, held, first), (1, thread, coming)] {
        let put = |index, value| {
            find_word(count, find::FOUND + at * access::SIZE + index).store(value, Ordering::Relaxed);
        };
        // SAFETY: one stands in its hook by the slot's invariant, the other is the calling one.
        unsafe { file::write_access(put, who, what, time, meet::as_of_now(what).1) };
    }
    find_word(count, find::TARGET).store(t as u64, Ordering::Relaxed);
    find_word(count, find::SIDE).store(side as u64, Ordering::Relaxed);
    find_word(count, find::TURNS).store(slot.turns(), Ordering::Relaxed);
    find_word(count, find::WHOLE).store(1, Ordering::Release);
    head_word(head::FOUND).store(count as u64 + 1, Ordering::Release);
    file::note(note::SEEN, (t, 1 - side), thread, coming.pc);
}

/// Whether the access is the very one that is waited for: the target itself will be decided by it.
fn is_expected(thread: *mut Thread, coming: &Coming, d: usize) -> bool {
    if file::code_of(d) != coming.pc {
        return false;
    }
    // SAFETY: the calling thread's own state.
    let (matches, count) = unsafe { (who::matches(thread, d), u64::from((*thread).seat.counts[d])) };
    let ordinal = descriptor_word(d, descriptor::ORDINAL).load(Ordering::Relaxed);
    file::places_alone() || matches && (ordinal == 0 || count + 1 == ordinal)
}

/// Whether a find of these two places is there already.
fn is_known(count: usize, t: usize, (first, second): (u64, u64)) -> bool {
    let of = |n, index| find_word(n, index).load(Ordering::Relaxed);
    (0..count).any(|n| {
        of(n, find::TARGET) == t as u64
            && of(n, find::FOUND + access::PC) == first
            && of(n, find::FOUND + access::SIZE + access::PC) == second
    })
}
