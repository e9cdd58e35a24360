//! A forked child is a run of its own, with a trace of its own.
//!
//! Invariant: none of the runtime's locks is held over `fork`, and the child never touches its
//! parent's trace.

use core::sync::atomic::{AtomicU32, Ordering};

use super::{block, byhand, modules, start, threads, together};
use crate::gate;
use crate::hot::atomic;
use crate::hot::thread::{UNWATCHED, current};
use crate::intercept::{self, words};
use crate::online;
use crate::sys::{self, c};

/// What the program registered for forks is seen, too, and may wait for others: the runtime's locks are taken
/// behind the last of that, and given back before the first. Also reaches forks from within the C library.
pub(crate) fn register() {
    // SAFETY: the functions stay. Ours are the first to be registered, so they run next to the fork itself.
    unsafe { c::__register_atfork(Some(before), Some(after), Some(after_in_child), core::ptr::null_mut()) };
}

/// The process that forks.
static PARENT: AtomicU32 = AtomicU32::new(0);
/// The signals that the thread blocks which forks: a handler that finds a race meanwhile, or comes to the gate, would wait for locks of its own thread's.
static mut MASK: sys::Mask = sys::Mask::NONE;

/// The program is about to fork by a system call of its own, so that nobody calls the functions of [`register`].
pub(crate) fn before_bare() {
    if start::recording() {
        // SAFETY: nothing is asked of the caller.
        unsafe { before() };
    }
}

/// The program has forked by a system call of its own.
pub(crate) fn after_bare(in_child: bool) {
    if start::recording() {
        // SAFETY: the calling thread has taken the locks.
        unsafe { if in_child { after_in_child() } else { after() } };
    }
}

unsafe extern "C" fn before() {
    words::before_fork();
    let mask = sys::Quiet::new().keep();
    lock();
    online::lock_for_fork();
    // SAFETY: under the locks.
    unsafe { MASK = mask };
    PARENT.store(sys::process_id(), Ordering::Relaxed);
}

unsafe extern "C" fn after() {
    // SAFETY: under the locks.
    let mask = unsafe { MASK };
    online::unlock_after_fork();
    unlock();
    mask.set();
}

unsafe extern "C" fn after_in_child() {
    let parent = PARENT.load(Ordering::Relaxed);
    // SAFETY: the calling thread has taken the locks.
    unsafe { after() };
    if let Some(thread) = current() {
        in_child(thread, parent);
    }
}

fn lock() {
    intercept::lock_for_fork();
    threads::lock_for_fork();
    modules::lock_for_fork();
    block::lock_for_fork();
    gate::lock_for_fork();
}

fn unlock() {
    gate::unlock_after_fork();
    block::unlock_after_fork();
    modules::unlock_after_fork();
    threads::unlock_after_fork();
    intercept::unlock_after_fork();
}

fn in_child(thread: *mut crate::hot::thread::Thread, parent: u32) {
    atomic::free_all();
    if gate::on() {
        gate::off_in_child();
    }
    if start::light() {
        sys::machine::set_thread_word(UNWATCHED);
        return;
    }
    let page = block::header_page();
    if block::stopped() || !start::open_trace(parent) {
        start::stop();
        online::stop();
        sys::machine::set_thread_word(UNWATCHED);
        return;
    }
    byhand::in_child();
    together::in_child();
    start::copy_arguments(page, block::header_page());
    modules::forget();
    modules::scan();
    // SAFETY: `current` gave the calling thread's own state, and the file is open.
    unsafe {
        online::in_child(thread);
        threads::restart_in_child(thread);
    }
}
