//! Signal handlers: ours runs in the place of the program's and calls that, so that what a handler must not do is seen.
//!
//! Invariant: what the program asks of its handlers and their flags is answered as if ours were not there, and ours is never taken for the program's,
//! which would call itself. A handler of ours that is left by a jump, or by a thread's end, leaves nothing behind but what [`handling`] says.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use deadheat_core::event::{Fault, Op, SyncKind};

use super::{deadly, handling};
use crate::cold::byhand;
use crate::cold::start::recording;
use crate::hot::log;
use crate::hot::thread::{self, Frame, Thread};
use crate::online;
use crate::sys::{self, c};

const SIGNALS: usize = 65;
pub(super) const SIG_DFL: usize = 0;
pub(super) const SIG_IGN: usize = 1;
/// To `sigset` no handler, but a signal that is to be blocked.
const SIG_HOLD: usize = 2;
const SIG_ERR: usize = usize::MAX;
pub(super) const SA_SIGINFO: c_int = 4;
const SA_RESETHAND: c_int = 1 << 31;
/// Where in the description of a signal it says how it came.
const SI_CODE: usize = 8;
/// The C library's own.
const SA_RESTORER: c_int = 0x0400_0000;
/// What a thread does brings these upon it, in the middle of what it does: its handler may do what the thread may.
const SYNCHRONOUS: [c_int; 7] = [4, 5, 6, 7, 8, 11, 31];

/// The C library's `struct sigaction`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Action {
    pub(super) handler: usize,
    mask: [u64; 16],
    pub(super) flags: c_int,
    restorer: usize,
}

impl Action {
    /// No handler, but what a signal does of itself.
    pub(super) const fn usual() -> Action {
        Action { handler: SIG_DFL, mask: [0; 16], flags: 0, restorer: 0 }
    }
}

/// The program's handler of each signal, and the flags that it gave last, with a handler or without.
static HANDLERS: [AtomicUsize; SIGNALS] = [const { AtomicUsize::new(SIG_DFL) }; SIGNALS];
static FLAGS: [AtomicU32; SIGNALS] = [const { AtomicU32::new(0) }; SIGNALS];

/// Our handler's address.
pub(super) fn ours() -> usize {
    on_signal as *const () as usize
}

type Handler = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);

/// The handler of all signals that the program has handlers for. The kernel gives all three arguments in any case.
unsafe extern "C" fn on_signal(signal: c_int, about: *mut c_void, context: *mut c_void) {
    let at = signal as usize % SIGNALS;
    let handler = HANDLERS[at].load(Ordering::Acquire);
    if deadly::is_told_of(signal) && FLAGS[at].load(Ordering::Relaxed) as c_int & SA_RESETHAND != 0 {
        // It was there for this one alone.
        HANDLERS[at].store(SIG_DFL, Ordering::Release);
        deadly::put(signal);
    }
    if handler <= SIG_IGN {
        if handler == SIG_DFL && deadly::is_told_of(signal) {
            // SAFETY: the kernel's description.
            unsafe { deadly::end(signal, about) };
        }
        return;
    }
    // SAFETY: the program's handler; `errno` is the calling thread's.
    unsafe {
        let before = *c::__errno_location();
        let call = core::mem::transmute::<usize, Handler>(handler);
        let thread = thread::known();
        if let Some(thread) = thread
            && thread::is_waited_for(thread)
            && put_off(thread, signal, about, context)
        {
            return;
        }
        let interrupted = thread.map(|thread| Interrupted::leave(thread, signal));
        // Whoever handles a signal knows what was done before its handler was set, and before it was sent.
        got(handler, signal);
        call(signal, about, context);
        if let (Some(thread), Some(interrupted)) = (thread, interrupted) {
            interrupted.come_back(thread);
        }
        let after = *c::__errno_location();
        if after != before && recording() {
            // As if the call of the handler were the event: the first byte of it is told.
            log::event(handler + 1, &Op::Fault { object: signal as u64, fault: Fault::SignalErrno });
            *c::__errno_location() = after;
        }
    }
}

/// Puts off a signal's handler until the thread has given back what others wait for, or has changed what is known; `false` if it has to run now.
///
/// # Safety
/// `thread` is the calling thread's; `about` and `context` are what the kernel gave the handler, which has not begun.
#[cold]
pub(super) unsafe fn put_off(
    thread: *mut Thread,
    signal: c_int,
    about: *mut c_void,
    context: *mut c_void,
) -> bool {
    let flags = FLAGS[signal as usize % SIGNALS].load(Ordering::Relaxed) as c_int;
    // SAFETY: the caller's promise. Somebody sent it if that is not above zero.
    let is_sent = unsafe { about.byte_add(SI_CODE).cast::<c_int>().read() } <= 0;
    // The first cannot wait, the next would have no handler any more, and who is confined may not send itself one.
    if SYNCHRONOUS.contains(&signal) && !is_sent || flags & SA_RESETHAND != 0 || sys::is_confined() {
        return false;
    }
    // SAFETY: as above.
    unsafe {
        let signals = sys::put_off(signal as u32, about, context);
        (*thread).put_off |= signals;
        signals != 0
    }
}

/// The object that a signal's handler learns from, and who waits for it, whichever thread it is for.
pub(super) fn object(signal: c_int) -> u64 {
    0xfb << 56 | signal as u64
}

/// The same of a signal that is for one thread, by its `pthread_t`.
pub(super) fn object_of_thread(signal: c_int, thread: usize) -> u64 {
    const ADDRESS: u64 = (1 << 47) - 1;
    0xfb << 56 | (thread as u64 & ADDRESS) << 8 | signal as u64
}

/// The calling thread has a signal, or a handler of it begins.
pub(super) fn got(pc: usize, signal: c_int) {
    // SAFETY: as any thread may.
    let me = unsafe { c::pthread_self() };
    for object in [object(signal), object_of_thread(signal, me)] {
        log::event(pc, &Op::Wait { object, kind: SyncKind::Annotation, woken: true });
    }
}

/// What a thread was about when a handler interrupted it.
struct Interrupted {
    before: handling::Interrupted,
    /// The next free frame, if there is one: the entry hook may have filled it already.
    frame: Option<Frame>,
}

impl Interrupted {
    /// A handler begins.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(always)]
    unsafe fn leave(thread: *mut Thread, signal: c_int) -> Interrupted {
        let here = 0u8;
        // SAFETY: the caller's promise; `top` is within the thread's frames.
        unsafe {
            let before = handling::begin(thread, &raw const here as u64);
            online::interrupted(thread);
            if !SYNCHRONOUS.contains(&signal) {
                (*thread).signal = signal as u32;
            }
            let has_room = (*thread).top != (*thread).frames_end;
            Interrupted { before, frame: has_room.then(|| (*thread).top.read()) }
        }
    }

    /// The handler has returned.
    ///
    /// # Safety
    /// As for [`Self::leave`].
    unsafe fn come_back(self, thread: *mut Thread) {
        // SAFETY: the caller's promise; `top` is within the thread's frames.
        unsafe {
            handling::end(thread, self.before);
            if let Some(frame) = self.frame.filter(|_| (*thread).top != (*thread).frames_end) {
                (*thread).top.write(frame);
            }
        }
    }
}

/// Whether handlers of a signal are known. A child of `vfork` has its own, but what is known is its parent's.
fn is_known(signal: c_int) -> bool {
    recording() && (0..SIGNALS as c_int).contains(&signal) && (sys::is_confined() || byhand::is_ours())
}

/// What the program gave a signal last: its handler, also if that is not there any more, and the flags.
fn given(signal: c_int) -> (usize, c_int) {
    let at = signal as usize % SIGNALS;
    (HANDLERS[at].load(Ordering::Acquire), FLAGS[at].load(Ordering::Relaxed) as c_int)
}

/// Gives a handler of the program's to a signal by `set`, which gets the one that is to be installed; `flags` are the program's. What was there before
/// is given back, if ours is in its place. Whoever learnt of ours by a way that is not seen, and puts it back, has the last one of the program's again.
fn install(
    pc: usize,
    signal: c_int,
    (handler, flags): (usize, c_int),
    set: impl FnOnce(usize) -> bool,
) -> (usize, c_int) {
    let at = signal as usize % SIGNALS;
    let before = given(signal);
    let handler = if handler == deadly::usual() { SIG_DFL } else { handler };
    if handler == ours() {
        set(handler);
        return before;
    }
    let is_own = handler > SIG_IGN;
    let has_ours = is_own || handler == SIG_DFL && deadly::is_told_of(signal);
    FLAGS[at].store(flags as u32, Ordering::Relaxed);
    if has_ours {
        HANDLERS[at].store(handler, Ordering::Release);
    }
    if is_own {
        log::event(pc, &Op::Signal { object: object(signal), kind: SyncKind::Annotation });
    }
    if !set(if has_ours { ours() } else { handler }) {
        HANDLERS[at].store(before.0, Ordering::Release);
        FLAGS[at].store(before.1 as u32, Ordering::Relaxed);
    }
    before
}

intercept! {
    /// `sigaction`
    fn dh_wrap_sigaction / sigaction(signal: c_int, action: *const c_void, old: *mut c_void) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const c_void, *mut c_void) -> c_int;
        let real = real!("sigaction", Real);
        if !is_known(signal) {
            // SAFETY: passed on.
            return unsafe { real(signal, action, old) };
        }
        // SAFETY: the program's actions, which the C library reads and writes in the same way.
        unsafe {
            let mut result = 0;
            let before = if action.is_null() {
                result = real(signal, action, old);
                given(signal)
            } else {
                let mut own = action.cast::<Action>().read();
                install(pc, signal, (own.handler, own.flags), |handler| {
                    if handler == ours() {
                        own.flags |= SA_SIGINFO;
                    }
                    own.handler = handler;
                    result = real(signal, (&raw const own).cast(), old);
                    result == 0
                })
            };
            if result == 0 && !old.is_null() {
                answer(&mut *old.cast::<Action>(), before);
                if action.is_null() {
                    deadly::answer(signal, &mut *old.cast::<Action>());
                }
            }
            result
        }
    }
}

/// What the system tells of a signal becomes what the program has given it.
fn answer(old: &mut Action, before: (usize, c_int)) {
    // A handler that is there for one signal alone is gone then, and its flags stay.
    let is_reset = old.handler == SIG_DFL && old.flags & SA_RESETHAND != 0;
    if old.handler == ours() {
        old.handler = before.0;
        if before.0 == SIG_DFL && old.flags & !SA_RESTORER == deadly::FLAGS {
            old.flags = before.1;
        }
    } else if !is_reset {
        return;
    }
    old.flags = old.flags & !SA_SIGINFO | before.1 & SA_SIGINFO;
}

macro_rules! signal {
    ($($export:ident / $inner:ident $name:literal ($($none:ident),*);)*) => {$(
        intercept! {
            fn $export / $inner(number: c_int, handler: usize) -> usize; pc {
                type Real = unsafe extern "C" fn(c_int, usize) -> usize;
                let real = real!($name, Real);
                if !is_known(number) {
                    // SAFETY: passed on.
                    return unsafe { real(number, handler) };
                }
                let mut result = SIG_ERR;
                let mut set = |handler| {
                    // SAFETY: passed on.
                    result = unsafe { real(number, handler) };
                    result != SIG_ERR
                };
                let before = if [SIG_ERR $(, $none)*].contains(&handler) {
                    set(handler);
                    given(number)
                } else {
                    install(pc, number, (handler, 0), set)
                };
                if result == ours() { before.0 } else { result }
            }
        }
    )*};
}

// `__sysv_signal` is what `signal` means in a program that asks for no more than the C standard has. What is in parentheses is no handler.
signal! {
    dh_wrap_signal / signal "signal" ();
    dh_wrap_bsd_signal / bsd_signal "bsd_signal" ();
    dh_wrap_ssignal / ssignal "ssignal" ();
    dh_wrap_sysv_signal / sysv_signal "sysv_signal" ();
    dh_wrap___sysv_signal / internal_sysv_signal "__sysv_signal" ();
    dh_wrap_sigset / sigset "sigset" (SIG_HOLD);
}
