//! Asynchronous cancellation: the C library ends a thread out of the handler of a signal of its own, whatever that interrupts. Ours runs in its place and
//! [puts it off](super::signal), as it does with the program's handlers: what an atomic operation did would be seen and never be told of.
//!
//! The C library installs its handler when something is cancelled for the first time, and looks for it at once. So a thread that does nothing is
//! cancelled before, in programs that ask for cancellation of this kind, and in these alone: others are not touched.

use core::ffi::{c_int, c_void};
use core::ptr::{null, null_mut};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use super::signal;
use crate::cold::start;
use crate::hot::thread;
use crate::sys::{self, c::Pthread};

/// `PTHREAD_CANCEL_ASYNCHRONOUS`
const ASYNCHRONOUS: c_int = 1;

/// Whether a thread asked for it.
static IS_WANTED: AtomicBool = AtomicBool::new(false);
/// The C library's handler, in whose place ours is; 0: it is not.
static HANDLER: AtomicUsize = AtomicUsize::new(0);

/// The handler that [`HANDLER`] is.
type Handler = unsafe extern "C" fn(c_int, *mut c_void, *mut c_void);
/// `pthread_cancel`
type Cancel = unsafe extern "C" fn(Pthread) -> c_int;

/// Our handler. The C library's ends the thread, and unwinds the stack through ours.
unsafe extern "C" fn on_cancel(signal: c_int, about: *mut c_void, context: *mut c_void) {
    // SAFETY: what the kernel gave, handed on; the handler was there before ours.
    unsafe {
        if let Some(thread) = thread::known()
            && thread::is_waited_for(thread)
            && signal::put_off(thread, signal, about, context)
        {
            return;
        }
        core::mem::transmute::<usize, Handler>(HANDLER.load(Ordering::Acquire))(signal, about, context);
    }
}

/// Puts ours in the place of the C library's handler, if that is there.
fn stand_in() {
    let ours = on_cancel as *const () as usize;
    sys::replace_handler(sys::SIGCANCEL, |handler| {
        if handler != ours {
            HANDLER.store(handler, Ordering::Release);
        }
        ours
    });
}

/// Cancels a thread that does nothing, and ends it.
#[cold]
fn begin_cancelling(cancel: Cancel) {
    type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
    type Create = unsafe extern "C" fn(*mut Pthread, *const c_void, Routine, *mut c_void) -> c_int;
    type Join = unsafe extern "C" fn(Pthread, *mut *mut c_void) -> c_int;
    /// Longer than it takes; who waits looks again.
    const A_WHILE: u64 = 1_000_000_000;

    /// Waits until the word is set, and touches nothing where a thread can be cancelled.
    unsafe extern "C" fn wait(word: *mut c_void) -> *mut c_void {
        sys::machine::set_thread_word(thread::UNWATCHED);
        // SAFETY: the word lives until the thread is joined.
        let word = unsafe { &*word.cast::<AtomicU32>() };
        while word.load(Ordering::Acquire) == 0 {
            sys::futex_wait(word, 0, A_WHILE);
        }
        null_mut()
    }

    let (create, join) = (real_if_there!("pthread_create", Create), real_if_there!("pthread_join", Join));
    let (Some(create), Some(join)) = (create, join) else { return };
    let word = AtomicU32::new(0);
    // The new thread handles no signal of the program's.
    let _quiet = sys::Quiet::new();
    thread::internal(|| {
        // SAFETY: as their types say; the word outlives the thread.
        unsafe {
            let mut other = 0;
            if create(&raw mut other, null(), wait, word.as_ptr().cast()) == 0 {
                cancel(other);
                word.store(1, Ordering::Release);
                sys::futex_wake(&word);
                join(other, null_mut());
            }
        }
    });
}

intercept! {
    /// `pthread_setcanceltype`
    fn dh_wrap_pthread_setcanceltype / pthread_setcanceltype(kind: c_int, old: *mut c_int) -> c_int; _pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_int) -> c_int;
        let real = real!("pthread_setcanceltype", Real);
        if kind == ASYNCHRONOUS && start::recording() && !sys::is_confined() {
            IS_WANTED.store(true, Ordering::Relaxed);
            stand_in();
        }
        // SAFETY: passed on. The thread may end here.
        unsafe { real(kind, old) }
    }
}

intercept! {
    /// `pthread_cancel`
    fn dh_wrap_pthread_cancel / pthread_cancel(thread: Pthread) -> c_int; _pc {
        let real = real!("pthread_cancel", Cancel);
        if IS_WANTED.load(Ordering::Relaxed) && HANDLER.load(Ordering::Relaxed) == 0 && start::recording() {
            begin_cancelling(real);
            stand_in();
        }
        // SAFETY: passed on. The thread may be the calling one, and end here.
        unsafe { real(thread) }
    }
}
