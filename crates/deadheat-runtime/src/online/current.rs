//! Who the calling thread is, and what it ignores.

use core::sync::atomic::{Ordering, compiler_fence};

use super::eye::Eye;
use super::{ORDERING, has_given_up, ordering};
use crate::hot::thread::{Thread, UNWATCHED, done};
use crate::sys;

/// The calling thread is this one from now on: a fiber, or one that ignores other things than before.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn become_current(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    sys::machine::set_moment_word(unsafe { (*thread).eye.mine });
}

/// The calling thread goes on as another: a fiber, or what it was before.
///
/// # Safety
/// Nobody runs `thread`.
pub(crate) unsafe fn switch_to(thread: *mut Thread) {
    let before = sys::machine::thread_word();
    // SAFETY: the caller's promise; the word is the calling thread's own state.
    unsafe {
        // A handler that comes between must not take the one's moment for the other's.
        let outer = (*thread).busy;
        (*thread).busy = ORDERING;
        // It may have run in another thread of the system last.
        (*thread).kernel_id = if before > UNWATCHED { (*(before as *mut Thread)).kernel_id } else { 0 };
        compiler_fence(Ordering::SeqCst);
        sys::machine::set_thread_word(thread as usize);
        become_current(thread);
        done(thread, outer);
    }
}

/// The calling thread jumps out of a handler that interrupted the runtime, perhaps in a change of its clocks.
///
/// # Safety
/// `thread` is the calling thread's, in no hook.
pub(crate) unsafe fn begin_anew(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        (*thread).clean = core::ptr::null_mut();
        if (*thread).eye.slot != 0 && !has_given_up() {
            ordering(thread, Eye::end_moment);
            become_current(thread);
        }
    }
}

/// A handler begins that may have interrupted a hook between an access's word and its record: what the present moment has is published by what the handler releases.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn interrupted(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe { (*thread).eye.changed = true };
}

/// The calling thread ignores reads, writes and synchronisation by so many requests more, or fewer.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn ignore(thread: *mut Thread, (reads, writes, sync): (i32, i32, i32)) {
    // SAFETY: the caller's promise: the calling thread's own state.
    unsafe {
        let outer = (*thread).busy;
        (*thread).busy = ORDERING;
        compiler_fence(Ordering::SeqCst);
        let reads = (*thread).ignore_reads.saturating_add_signed(reads);
        let writes = (*thread).ignore_writes.saturating_add_signed(writes);
        let out = reads | writes != 0;
        // Whatever a handler finds here, accesses are ignored or have a moment.
        if !out {
            settle(thread, out);
        }
        (*thread).ignore_reads = reads;
        (*thread).ignore_writes = writes;
        (*thread).ignore_sync = (*thread).ignore_sync.saturating_add_signed(sync);
        compiler_fence(Ordering::SeqCst);
        settle(thread, out);
        done(thread, outer);
    }
}

/// The thread's accesses have a moment, or are `out` of all.
///
/// # Safety
/// As for [`ignore`].
unsafe fn settle(thread: *mut Thread, out: bool) {
    // SAFETY: the caller's promise.
    unsafe {
        (*thread).clean = core::ptr::null_mut();
        (*thread).eye.ignore(out);
        become_current(thread);
    }
    compiler_fence(Ordering::SeqCst);
}
