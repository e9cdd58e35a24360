//! Plain accesses, function entry and exit.
//!
//! Cost: an access that the codec predicts takes about thirty instructions and stores one word
//! behind the last record; an entry stores a frame, which its hook does by itself. Model: "append (place, kind, address) to the
//! thread's sequence of events".

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::codec::Key;
use deadheat_core::kind::Kind;

use super::log;
use super::thread::{self, Frame, Thread};
use crate::gate;
use crate::online::beside;
use crate::sys;

/// Records an access of the kind `KIND` (a [`Kind`]'s bits) at `address`, made before `pc`.
///
/// # Safety
/// Called by a hook, on the accessing thread.
pub(crate) unsafe extern "C" fn on_access<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: passed on.
    let Some(thread) = thread::known() else { return unsafe { on_unknown_access::<KIND>(address, pc) } };
    let key = Key::new(pc as u64, Kind(KIND));
    // SAFETY: `known` gives the calling thread's own state.
    unsafe {
        let state = &mut *thread;
        if state.busy != 0 {
            return log::plain_nested(thread, key, address as u64, beside::look::<KIND>);
        }
        // From here on a handler records elsewhere, so what is found now stays true.
        state.busy = 1;
        compiler_fence(Ordering::SeqCst);
        if state.top != state.clean {
            return log::plain_unpredicted(thread, key, address as u64, beside::look::<KIND>);
        }
        let Some(packed) = state.predictor.encode_predicted(key, address as u64) else {
            return log::plain_unpredicted(thread, key, address as u64, beside::look::<KIND>);
        };
        state.at.cast::<u64>().write_unaligned(packed.bits);
        state.at = state.at.add(packed.len as usize);
        compiler_fence(Ordering::SeqCst);
        state.busy = 0;
        if state.at > state.limit {
            log::block_full(thread);
        }
    }
}

/// As [`on_access`], by a thread that is not known yet, which is attached, or one that is not watched. The common way has no
/// call but at its end, hence no frame.
#[cold]
#[inline(never)]
unsafe extern "C" fn on_unknown_access<const KIND: u16>(address: usize, pc: usize) {
    if thread::current().is_some() {
        // SAFETY: passed on.
        unsafe { on_access::<KIND>(address, pc) };
    }
}

/// A function was entered; it was called from before `call`, and its stack pointer is `stack`. The entry hook does the same by itself, if it can
/// (`sys`, `shim_entry!`).
///
/// # Safety
/// Called on the entering thread.
pub(crate) unsafe fn on_entry(call: usize, stack: usize) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state; `top` is within its frames.
    unsafe {
        let state = &mut *thread;
        if state.top == state.frames_end {
            state.too_deep += 1;
            // The hooks would leave functions that are in no frame.
            sys::machine::set_frames_word(0);
            return;
        }
        // A handler leaves the next frame as it was (`intercept::signal`).
        state.top.write(Frame { call: call as u64, stack: stack as u64 });
        compiler_fence(Ordering::SeqCst);
        state.top = state.top.add(1);
    }
}

/// As [`on_entry`], where the hook could not do it. From now on it can.
///
/// # Safety
/// Called by the entry hook.
pub(crate) unsafe extern "C" fn on_entry_in_general(call: usize, stack: usize) {
    if follows() {
        // SAFETY: passed on.
        unsafe { on_entry(call, stack) };
    }
}

/// The innermost function is left. The exit hook does the same by itself, if it can.
///
/// # Safety
/// Called on the leaving thread.
pub(crate) unsafe fn on_exit() {
    let Some(thread) = thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        let state = &mut *thread;
        if state.too_deep != 0 {
            state.too_deep -= 1;
        } else if state.top != state.frames {
            leave_to(state, state.top.sub(1));
        }
    }
}

/// As [`on_exit`], where the hook could not do it.
///
/// # Safety
/// Called by the exit hook.
pub(crate) unsafe extern "C" fn on_exit_in_general() {
    if follows() {
        // SAFETY: passed on.
        unsafe { on_exit() };
    }
}

/// Whether the calling thread follows its calls: then its hooks do it from now on, if all of its functions have frames.
fn follows() -> bool {
    if gate::FRAMES.load(Ordering::Relaxed) == 0 {
        return false;
    }
    let Some(thread) = thread::current() else { return false };
    // SAFETY: `current` gives the calling thread's own state.
    if unsafe { (*thread).too_deep } == 0 {
        sys::machine::set_frames_word(thread as usize);
    }
    true
}

/// Leaves functions until `top` is the next free frame.
#[inline(always)]
pub(crate) fn leave_to(state: &mut Thread, top: *mut Frame) {
    state.top = top;
    if top < state.low {
        state.low = top;
        state.clean = core::ptr::null_mut();
    }
}
