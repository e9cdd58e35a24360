//! Handlers of signals: whoever handles one knows what was done before the handler was set.
//!
//! In the place of a program's handler stands one of ours, which calls it. What a program asks the system about its
//! handlers is answered as if its own were there.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use deadheat_core::event::{Op, SyncKind};

use crate::cold::start;
use crate::hot::{log, thread};

/// Numbers of signals, and one more.
const SIGNALS: usize = 65;

/// The program's handlers, by signal, and their flags.
static HANDLERS: [(AtomicUsize, AtomicU32); SIGNALS] =
    [const { (AtomicUsize::new(0), AtomicU32::new(0)) }; SIGNALS];

/// The C library's `struct sigaction`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Action {
    handler: usize,
    mask: [u64; 16],
    flags: c_int,
    restorer: usize,
}

/// The usual; to be ignored; and what says that setting a handler failed.
const DEFAULT: usize = 0;
const IGNORE: usize = 1;
const FAILED: usize = usize::MAX;
/// The handler takes three arguments.
const WITH_DETAILS: c_int = 4;
/// What is interrupted goes on.
const RESTART: c_int = 0x1000_0000;

type Handler = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);

/// The object that a signal's handler learns from.
fn object(signal: c_int) -> u64 {
    0xfb << 56 | signal as u64
}

/// Stands in for the program's handlers.
unsafe extern "C" fn handle(signal: c_int, details: *mut c_void, context: *mut c_void) {
    let handler = HANDLERS[signal as usize % SIGNALS].0.load(Ordering::Acquire);
    let thread = thread::current();
    // What the interrupted code has ignored is nothing to the handler.
    // SAFETY: `current` gives the calling thread's own state.
    let ignored = thread.map_or(0, |thread| unsafe { core::mem::take(&mut (*thread).ignore_sync) });
    let kind = SyncKind::Annotation;
    log::event(handler, &Op::Wait { object: object(signal), kind, woken: true });
    // SAFETY: the program's handler; one with fewer parameters leaves the other arguments alone.
    unsafe {
        core::mem::transmute::<usize, Handler>(handler)(signal, details, context);
        if let Some(thread) = thread {
            (*thread).ignore_sync += ignored;
        }
    }
}

type Real = unsafe extern "C" fn(c_int, *const Action, *mut Action) -> c_int;

/// Sets a handler, and gives the one before into `old`.
unsafe fn set(pc: usize, signal: c_int, new: *const Action, old: *mut Action) -> c_int {
    let real = real!("sigaction", Real);
    let Some((handler, flags)) = HANDLERS.get(signal as usize).filter(|_| start::recording()) else {
        // SAFETY: passed on.
        return unsafe { real(signal, new, old) };
    };
    let before = (handler.load(Ordering::Relaxed), flags.load(Ordering::Relaxed));
    // SAFETY: the program's structures, where they are given.
    unsafe {
        let mut ours = None;
        if let Some(&action) = new.as_ref() {
            let mut action = action;
            if !matches!(action.handler, DEFAULT | IGNORE) {
                flags.store(action.flags as u32, Ordering::Relaxed);
                handler.store(action.handler, Ordering::Release);
                log::event(pc, &Op::Signal { object: object(signal), kind: SyncKind::Annotation });
                action.handler = handle as *const () as usize;
                action.flags |= WITH_DETAILS;
            }
            ours = Some(action);
        }
        let given = ours.as_ref().map_or(core::ptr::null(), core::ptr::from_ref);
        let result = real(signal, given, old);
        if result != 0 && !new.is_null() {
            flags.store(before.1, Ordering::Relaxed);
            handler.store(before.0, Ordering::Release);
        } else if let Some(old) = old.as_mut()
            && old.handler == handle as *const () as usize
        {
            (old.handler, old.flags) = (before.0, before.1 as c_int);
        }
        result
    }
}

intercept! {
    /// `sigaction`
    fn dh_wrap_sigaction / sigaction(signal: c_int, new: *const Action, old: *mut Action) -> c_int; pc {
        // SAFETY: passed on.
        unsafe { set(pc, signal, new, old) }
    }
}

intercept! {
    /// `signal`: the handler stays, and what it interrupts goes on.
    fn dh_wrap_signal / signal(number: c_int, handler: usize) -> usize; pc {
        type Real = unsafe extern "C" fn(c_int, usize) -> usize;
        if !start::recording() || handler == FAILED {
            // SAFETY: passed on.
            return unsafe { real!("signal", Real)(number, handler) };
        }
        let mut mask = [0; 16];
        if (1..SIGNALS as c_int).contains(&number) {
            mask[0] = 1 << (number - 1);
        }
        let new = Action { handler, mask, flags: RESTART, restorer: 0 };
        let mut old = Action { handler: DEFAULT, mask: [0; 16], flags: 0, restorer: 0 };
        // SAFETY: both are whole.
        let result = unsafe { set(pc, number, &raw const new, &raw mut old) };
        if result == 0 { old.handler } else { FAILED }
    }
}
