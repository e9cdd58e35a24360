//! The process ends in an orderly way.

use core::ffi::c_void;
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU32, AtomicU64, Ordering};

use deadheat_core::options;
use deadheat_core::wire::{flag, header};

use super::{block, byhand, start, threads};
use crate::hot::thread::{current, internal};
use crate::online;
use crate::sys::{self, c};

/// Runs after the program's own destructors.
#[cfg(deadheat_object)]
#[used]
#[unsafe(link_section = ".fini_array")]
static FINISH: unsafe extern "C" fn() = finish;

/// For how many nanoseconds at the most the process waits for its other threads.
static WAITS: AtomicU64 = AtomicU64::new(0);

/// Takes the options; no other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    WAITS.store(options::wait_at_exit(texts), Ordering::Relaxed);
}

/// Waits for the other threads, as long as the options say: what they still do is looked at, and which of them end without being joined is known.
fn wait_for_others() {
    const STEP: u64 = 1_000_000;
    let waits = WAITS.load(Ordering::Relaxed);
    if waits == 0 || sys::is_confined() {
        return;
    }
    wait(waits, STEP, || online::on() && online::running() > 1);
}

/// Waits as long as `goes_on` says so, which is asked every `step`, and for `at_most`, both in nanoseconds.
fn wait(at_most: u64, step: u64, goes_on: impl Fn() -> bool) {
    let (nothing, start) = (AtomicU32::new(0), sys::monotonic());
    while goes_on() && sys::monotonic().saturating_sub(start) < at_most {
        sys::futex_wait(&nothing, 0, step);
    }
}

unsafe extern "C" fn finish() {
    if start::recording() && !start::light() {
        wait_for_others();
        threads::tell_leaks();
        if let Some(thread) = current() {
            // SAFETY: `current` gives the calling thread's own state.
            unsafe { threads::tell_ignored(thread) };
        }
    }
    mark_clean();
    if byhand::on() {
        // What is registered now runs when the libraries' destructors are through, too.
        // SAFETY: the function stays; a failure means that nothing is told.
        unsafe { c::__cxa_atexit(last, core::ptr::null_mut(), core::ptr::null_mut()) };
    }
}

/// The last of the program's own ends with its code, or with that of a program which has races.
unsafe extern "C" fn last(_: *mut c_void) {
    let code = leave(0);
    if code != 0 {
        // SAFETY: within `exit` it goes on with what is left to do, and ends with this code.
        unsafe { real!("exit", unsafe extern "C" fn(core::ffi::c_int) -> !)(code) };
    }
}

/// The kernel's number of the thread that ends the process; 0 while none does.
static ENDING: AtomicU32 = AtomicU32::new(0);
/// Whether the first thread ends alone, and the process goes on.
static FIRST_GOES: AtomicBool = AtomicBool::new(false);

/// The calling thread is about to end the process: if another one does so already, it waits, as it does with C libraries of today. With others the second one finds nothing left to do, and ends the process
/// while the first one is telling its races.
pub(crate) fn take_turn() {
    const STEP: u64 = 100_000_000;
    /// Who is waited for may wait for the calling thread.
    const AT_MOST: u64 = 10_000_000_000;
    if !byhand::on() || sys::is_confined() || !byhand::is_ours() {
        return;
    }
    let me = sys::thread_id();
    if ENDING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed).is_err_and(|other| other != me) {
        wait(AT_MOST, STEP, || true);
    }
}

/// In a forked child: nobody ends it.
pub(crate) fn in_child() {
    ENDING.store(0, Ordering::Relaxed);
}

/// The calling thread ends itself.
pub(crate) fn one_goes() {
    if byhand::on() && !sys::is_confined() && sys::process_id() == sys::thread_id() {
        FIRST_GOES.store(true, Ordering::Relaxed);
    }
}

/// Has the first thread [take its turn](take_turn) when it returns from `main`. Called once, by that thread.
pub(crate) fn take_turn_behind_main() {
    type AtEnd = unsafe extern "C" fn(
        unsafe extern "C" fn(*mut c_void),
        *mut c_void,
        *const c_void,
    ) -> core::ffi::c_int;
    /// What `exit` begins with, and what a thread's own end does, too.
    unsafe extern "C" fn ends(_: *mut c_void) {
        if !FIRST_GOES.load(Ordering::Relaxed) {
            take_turn();
        }
    }
    let at_end = weak_address!("__cxa_thread_atexit_impl");
    if at_end != 0 {
        // SAFETY: the C library's function; the address says of which module the function is.
        unsafe {
            let at_end = core::mem::transmute::<usize, AtEnd>(at_end);
            internal(|| at_end(ends, core::ptr::null_mut(), (&raw const ENDING).cast()));
        }
    }
}

/// With which code the program ends by a quick exit, as far as that was seen.
static QUICK: AtomicI32 = AtomicI32::new(0);
/// Whether [`behind_all`] is called then.
static BEHIND_ALL: AtomicBool = AtomicBool::new(false);

/// Has the races of a program told that was started by hand when the functions have run that it registers for a quick exit. Called once, before any of them is.
pub(crate) fn tell_behind_quick_exits() {
    // SAFETY: the function stays.
    let failed = unsafe { c::__cxa_at_quick_exit(behind_all, core::ptr::null_mut()) };
    BEHIND_ALL.store(failed == 0, Ordering::Relaxed);
}

/// The first function that was registered for a quick exit, and so the last that runs.
unsafe extern "C" fn behind_all(_: *mut c_void) {
    let wanted = QUICK.load(Ordering::Relaxed);
    let code = leave(wanted);
    if code != wanted {
        sys::exit(code);
    }
}

/// The program is about to end by `exit` with `code`, which it still may.
pub(crate) fn leave_in_turn(code: i32) -> i32 {
    take_turn();
    code
}

/// The program is about to end by a quick exit; gives the code to go on with.
pub(crate) fn leave_quickly(code: i32) -> i32 {
    if !BEHIND_ALL.load(Ordering::Relaxed) {
        return leave(code);
    }
    QUICK.store(code, Ordering::Relaxed);
    code
}

/// The process is about to end with `code`, or to become another program: tells its races, if it is to. Gives the code
/// to end with.
pub(crate) fn leave(code: i32) -> i32 {
    mark_clean();
    byhand::tell(code)
}

/// Notes in the trace that the process ends because it wants to. Threads that go on, and a failed
/// `exec`, may still add events.
pub(crate) fn mark_clean() {
    let page = block::header_page();
    if !start::recording() || page.is_null() {
        return;
    }
    if sys::is_confined() {
        // Neither who it is nor when it is can be asked any more.
        block::flags(page).fetch_or(flag::CLEAN, Ordering::Relaxed);
        return;
    }
    // A child of `vfork` still runs in its parent's memory.
    // SAFETY: the first page stays mapped; the field is aligned.
    if unsafe { page.add(header::PID).cast::<u32>().read() } != sys::process_id() {
        return;
    }
    if !block::stopped() {
        block::flags(page).fetch_or(flag::CLEAN, Ordering::Relaxed);
    }
    // SAFETY: the first page stays mapped; the field is aligned.
    unsafe { page.add(header::ENDED).cast::<u64>().write_volatile(sys::now()) };
}
