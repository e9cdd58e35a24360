//! A process is forked: its child begins without a past.

use super::{block, memory, nesting, on, pool, report, shadow, slots};
use crate::hot::thread::Thread;

/// Takes the detector's locks before a fork.
pub(crate) fn lock_for_fork() {
    report::lock_for_fork();
    slots::lock_for_fork();
    block::lock_for_fork();
    pool::lock_for_fork();
}

/// Gives them back.
pub(crate) fn unlock_after_fork() {
    pool::unlock_after_fork();
    block::unlock_after_fork();
    slots::unlock_after_fork();
    report::unlock_after_fork();
}

/// In a forked child, whose trace's file is open: nothing has happened yet, and no other thread is there.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn in_child(thread: *mut Thread) {
    if on() {
        // SAFETY: the caller's promise.
        unsafe {
            shadow::forget_all();
            memory::in_child();
            slots::alone((*thread).eye.slot);
            report::begin();
            nesting::forget_all();
            (*thread).eye.in_child();
        }
    }
}
