//! The handlers that a thread is in, and what is put right when they are left by a jump.
//!
//! What a handler interrupted of the runtime's own is then never finished: stripes that it held are given back, and where no records are
//! written, of which the next depends on the last, the thread is in no hook any more. A cell that it had sealed stays so.

use crate::hot::atomic;
use crate::hot::thread::Thread;
use crate::online;

/// Handlers within handlers, from the outermost on, of which so much is known; those within count as part of the last.
const KNOWN: usize = 6;

/// What a handler interrupted.
#[derive(Clone, Copy)]
pub(super) struct Interrupted {
    /// Where the stack was when the handler began.
    stack: u64,
    busy: u32,
    holds: u32,
    /// The signal of the handler around it, as [`Thread::signal`] tells.
    signal: u32,
    /// How deep synchronisation was ignored.
    ignored: u32,
    /// How deep it was in what is the runtime's own.
    internal: u32,
}

/// The handlers that a thread is in. All zeros: none.
pub(crate) struct Handlers {
    /// How many.
    depth: u32,
    known: [Interrupted; KNOWN],
}

impl Handlers {
    /// What the innermost one interrupted; `None` outside of all.
    fn innermost(&self) -> Option<Interrupted> {
        let known = (self.depth as usize).min(KNOWN);
        self.known[..known].last().copied()
    }
}

/// A handler begins whose stack is at `stack`. What the interrupted code has ignored of synchronisation is nothing to it, and what it does is the program's, also where the runtime's
/// own was interrupted: that does not go on if it is left by a jump.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(super) unsafe fn begin(thread: *mut Thread, stack: u64) -> Interrupted {
    // SAFETY: the caller's promise.
    unsafe {
        let interrupted = Interrupted {
            stack,
            busy: (*thread).busy,
            holds: (*thread).holds,
            signal: (*thread).signal,
            ignored: core::mem::take(&mut (*thread).ignore_sync),
            internal: core::mem::take(&mut (*thread).internal),
        };
        let handlers = &mut (*thread).handlers;
        if let Some(known) = handlers.known.get_mut(handlers.depth as usize) {
            *known = interrupted;
        }
        handlers.depth += 1;
        interrupted
    }
}

/// The innermost handler, which has [interrupted](begin) this, has returned.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(super) unsafe fn end(thread: *mut Thread, interrupted: Interrupted) {
    // SAFETY: the caller's promise.
    unsafe {
        let handlers = &mut (*thread).handlers;
        handlers.depth = handlers.depth.saturating_sub(1);
        ((*thread).signal, (*thread).ignore_sync) = (interrupted.signal, interrupted.ignored);
        (*thread).internal = interrupted.internal;
    }
}

/// The handlers for whose stack this says `left` are left by a jump, and with them what they interrupted of our own.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn leave(thread: *mut Thread, left: impl Fn(u64) -> bool) {
    // SAFETY: the caller's promise; what was interrupted does not go on.
    unsafe {
        let mut out_of = false;
        while let Some(at) = (*thread).handlers.innermost().filter(|at| left(at.stack)) {
            (*thread).handlers.depth = ((*thread).handlers.depth as usize).min(KNOWN) as u32 - 1;
            (*thread).signal = at.signal;
            (*thread).ignore_sync += at.ignored;
            out_of = true;
        }
        if !out_of {
            return;
        }
        let around = (*thread).handlers.innermost();
        let (busy, holds) = around.map_or((0, 0), |around| (around.busy, around.holds));
        let had_turn = around.is_none() && online::forget_turn(thread);
        if ((*thread).busy, (*thread).holds) == (busy, holds) && !had_turn {
            return;
        }
        (*thread).holds = holds;
        if busy | holds == 0 {
            atomic::abandon((*thread).id);
        }
        if online::on() && !online::beside_recording() {
            (*thread).busy = busy;
            if let Some(nested) = (*thread).nested.as_mut() {
                nested.busy = 0;
            }
            if busy == 0 {
                online::begin_anew(thread);
            }
        }
    }
}
