//! Signals that threads send and that others wait for, without a handler or through one: whoever gets one comes after what was done
//! before it was sent. Who gets one that is for the process nobody knows, so all that get a signal of its number learn of it. What sends
//! one later, as `alarm` and `setitimer`, is told when it is set.
//!
//! Order: which `signalfd` takes which signals is one word for each descriptor, and who sends looks at all of them.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::event::{Op, SyncKind};
use deadheat_core::wire::descriptor::{CELL, SPAN};

use super::descriptor;
use super::signal::{got, object, object_of_thread};
use super::touch::system_writes;
use crate::cold::start::recording;
use crate::hot::{log, thread};

pub(super) const SIGALRM: c_int = 14;
const SIGVTALRM: c_int = 26;
const SIGPROF: c_int = 27;
/// Size of a `siginfo_t`, and of a `signalfd_siginfo`.
const ABOUT: usize = 128;

/// By descriptor, the signals that it takes if it is a `signalfd`.
static TAKES: [AtomicU64; (SPAN / CELL) as usize] = [const { AtomicU64::new(0) }; (SPAN / CELL) as usize];
/// All descriptors that ever were one are below.
static END: AtomicU32 = AtomicU32::new(0);

/// The thread is about to send a signal, to one thread if that is given.
pub(super) fn sending(pc: usize, signal: c_int, to: Option<usize>) {
    if signal <= 0 || !recording() || thread::current().is_none() {
        return;
    }
    let object = to.map_or_else(|| object(signal), |thread| object_of_thread(signal, thread));
    log::event(pc, &Op::Signal { object, kind: SyncKind::Annotation });
    for (file, takes) in TAKES.iter().enumerate().take(END.load(Ordering::Acquire) as usize) {
        if takes.load(Ordering::Relaxed) >> (signal - 1) & 1 != 0 {
            descriptor::notify(pc, file as c_int);
        }
    }
}

/// A descriptor is closed, or a new one has its number.
pub(super) fn forget(file: c_int) {
    if let Some(takes) = TAKES.get(file as usize)
        && takes.load(Ordering::Relaxed) != 0
    {
        takes.store(0, Ordering::Relaxed);
    }
}

/// Descriptions of signals were read from a descriptor, into so many bytes at `to`. If it is a `signalfd`, the thread has these signals: they may have been sent before it took them.
///
/// # Safety
/// The bytes were written just now.
pub(super) unsafe fn taken(pc: usize, file: c_int, (to, len): (*const c_void, usize)) {
    if TAKES.get(file as usize).is_none_or(|takes| takes.load(Ordering::Relaxed) == 0) {
        return;
    }
    for at in (0..len / ABOUT).map(|index| index * ABOUT) {
        // SAFETY: the caller's promise; a description begins with the signal's number.
        got(pc, unsafe { to.byte_add(at).cast::<c_int>().read_unaligned() });
    }
}

macro_rules! sends {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),*) $signal:expr, $to:expr;)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type),*) -> c_int; pc {
                type Real = unsafe extern "C" fn($($type),*) -> c_int;
                sending(pc, $signal, $to);
                // SAFETY: passed on.
                unsafe { real!($name, Real)($($argument),*) }
            }
        }
    )*};
}

sends! {
    dh_wrap_kill / kill "kill" (process: c_int, signal: c_int) signal, None;
    dh_wrap_killpg / killpg "killpg" (group: c_int, signal: c_int) signal, None;
    dh_wrap_tgkill / tgkill "tgkill" (process: c_int, thread: c_int, signal: c_int) signal, None;
    dh_wrap_raise / raise "raise" (signal: c_int) signal, None;
    dh_wrap_gsignal / gsignal "gsignal" (signal: c_int) signal, None;
    dh_wrap_pthread_kill / pthread_kill "pthread_kill" (thread: usize, signal: c_int) signal, Some(thread);
    dh_wrap_sigqueue / sigqueue "sigqueue" (process: c_int, signal: c_int, value: usize) signal, None;
    dh_wrap_pthread_sigqueue / pthread_sigqueue "pthread_sigqueue" (thread: usize, signal: c_int, value: usize) signal, Some(thread);
    dh_wrap_alarm / alarm "alarm" (seconds: c_int) SIGALRM, None;
    dh_wrap_ualarm / ualarm "ualarm" (first: c_int, then: c_int) SIGALRM, None;
    dh_wrap_setitimer / setitimer "setitimer" (which: c_int, new: *const c_void, old: *mut c_void) match which {
        0 => SIGALRM,
        1 => SIGVTALRM,
        2 => SIGPROF,
        _ => 0,
    }, None;
}

intercept! {
    /// `sigwait`
    fn dh_wrap_sigwait / sigwait(set: *const c_void, signal: *mut c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(*const c_void, *mut c_int) -> c_int;
        // SAFETY: passed on; the call has filled the program's variable.
        unsafe {
            let result = real!("sigwait", Real)(set, signal);
            if result == 0 && recording() {
                got(pc, *signal);
                system_writes(pc, signal, size_of::<c_int>());
            }
            result
        }
    }
}

macro_rules! waits {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(set: *const c_void, about: *mut c_void $(, $more: $type)?) -> c_int; pc {
                type Real = unsafe extern "C" fn(*const c_void, *mut c_void $(, $type)?) -> c_int;
                // SAFETY: passed on.
                let signal = unsafe { real!($name, Real)(set, about $(, $more)?) };
                if signal > 0 && recording() {
                    got(pc, signal);
                    if !about.is_null() {
                        system_writes(pc, about, ABOUT);
                    }
                }
                signal
            }
        }
    )*};
}

waits! {
    dh_wrap_sigwaitinfo / sigwaitinfo "sigwaitinfo" ();
    dh_wrap_sigtimedwait / sigtimedwait "sigtimedwait" (timeout: *const c_void);
}

intercept! {
    /// `signalfd`: a new descriptor, or other signals for the one that is given.
    fn dh_wrap_signalfd / signalfd(file: c_int, set: *const u64, flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const u64, c_int) -> c_int;
        // SAFETY: passed on; a set has all signals in its first word.
        unsafe {
            let made = real!("signalfd", Real)(file, set, flags);
            if made >= 0 && recording() {
                if made != file {
                    descriptor::created(pc, made);
                }
                if let Some(takes) = TAKES.get(made as usize) {
                    takes.store(*set, Ordering::Relaxed);
                    END.fetch_max(made as u32 + 1, Ordering::AcqRel);
                }
            }
            made
        }
    }
}

intercept! {
    /// `timerfd_settime`: whoever sees the timer run out comes after it.
    fn dh_wrap_timerfd_settime / timerfd_settime(
        file: c_int, flags: c_int, new: *const c_void, old: *mut c_void,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, *const c_void, *mut c_void) -> c_int;
        if recording() {
            descriptor::release(pc, file, || {});
        }
        // SAFETY: passed on.
        unsafe { real!("timerfd_settime", Real)(file, flags, new, old) }
    }
}
