//! What library code does with atomics of its own, where that is not seen: flags that it sets and inlined code reads, and references that it counts.

use deadheat_core::access::{MemoryOrder, Mode};

use super::{Atom, Meant, Outcome, perform};

/// Carries out a plain store that releases: a flag that library code sets and inlined code reads
/// atomically, such as a static local's guard.
pub(crate) fn release_store(pc: usize, address: usize, store: impl Fn()) {
    perform(pc, address, 0, Meant::to(Mode::Write, MemoryOrder::Release as u32), || {
        store();
        Outcome { result: (), mode: Mode::Write, order: MemoryOrder::Release }
    });
}

/// Drops one of the references that library code counts at `count`, unless it is the last one: that sees what was done before all others were
/// dropped, which nothing else does, and is left to the library. Gives whether it is dropped.
///
/// # Safety
/// `count` is valid and aligned, and one of the references is the calling thread's.
pub(crate) unsafe fn drop_shared(pc: usize, count: *mut u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { count_above(pc, count, 1, u32::MAX, MemoryOrder::Release) }
}

/// As [`drop_shared`], where the count is of the references beyond the first.
///
/// # Safety
/// As there.
pub(crate) unsafe fn drop_beyond_first(pc: usize, count: *mut u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { count_above(pc, count, 0, u32::MAX, MemoryOrder::Release) }
}

/// Takes one reference more to what library code counts at `count`, unless there is none. Gives whether it is taken.
///
/// # Safety
/// `count` is valid and aligned.
pub(crate) unsafe fn share(pc: usize, count: *mut u32) -> bool {
    // SAFETY: the caller's promise.
    unsafe { count_above(pc, count, 0, 1, MemoryOrder::Relaxed) }
}

/// Adds `step` to a count of references that is above `least`; one that is not sees how it came to be so. Gives whether it was.
///
/// # Safety
/// `count` is valid and aligned.
unsafe fn count_above(pc: usize, count: *mut u32, least: u32, step: u32, order: MemoryOrder) -> bool {
    perform(pc, count as usize, u32::LOG2, Meant::to(Mode::ReadWrite, MemoryOrder::AcqRel as u32), || {
        // SAFETY: the caller's promise.
        let mut seen = unsafe { u32::load(count) };
        while seen > least {
            // SAFETY: as above.
            match unsafe { u32::compare_exchange(count, seen, seen.wrapping_add(step)) } {
                Ok(_) => return Outcome { result: true, mode: Mode::ReadWrite, order },
                Err(now) => seen = now,
            }
        }
        Outcome { result: false, mode: Mode::Read, order: MemoryOrder::Acquire }
    })
}

/// The calling thread hands on to whoever comes to the word at `address` what it did, and what others handed on there; with `learns` it learns that. The
/// word itself is library code's, and is not touched.
pub(crate) fn pass_on(pc: usize, address: usize, learns: bool) {
    let order = if learns { MemoryOrder::AcqRel } else { MemoryOrder::Release };
    perform(pc, address, u64::LOG2, Meant::to(Mode::ReadWrite, order as u32), || Outcome {
        result: (),
        mode: Mode::ReadWrite,
        order,
    });
}
