//! A forked child is a run of its own, with a trace of its own.
//!
//! Invariant: none of the runtime's locks is held over `fork`, and the child never touches its
//! parent's trace.

use super::{block, byhand, modules, start, threads};
use crate::gate;
use crate::hot::atomic;
use crate::hot::thread::{UNWATCHED, current, internal};
use crate::online;
use crate::sys;

/// Calls `fork` and sets the child up.
pub(crate) fn fork(real: impl FnOnce() -> i32) -> i32 {
    if !start::recording() {
        return real();
    }
    let parent = sys::process_id();
    // While the gate's lock is held nothing that runs meanwhile may come to it: no handler of a
    // signal, and nothing of what the program registered with `pthread_atfork`.
    let quiet = gate::on().then(sys::Quiet::new);
    let thread = current();
    threads::lock_for_fork();
    modules::lock_for_fork();
    block::lock_for_fork();
    gate::lock_for_fork();
    if online::on() {
        online::lock_for_fork();
    }
    let result = if quiet.is_some() { internal(real) } else { real() };
    if online::on() {
        online::unlock_after_fork();
    }
    gate::unlock_after_fork();
    block::unlock_after_fork();
    modules::unlock_after_fork();
    threads::unlock_after_fork();
    if result == 0
        && let Some(thread) = thread
    {
        in_child(thread, parent);
    }
    result
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
        sys::machine::set_thread_word(UNWATCHED);
        return;
    }
    byhand::in_child();
    start::copy_arguments(page, block::header_page());
    modules::forget();
    modules::scan();
    // SAFETY: `current` gave the calling thread's own state, and the file is open.
    unsafe {
        online::in_child(thread);
        threads::restart_in_child(thread);
    }
}
