//! One-time initialisation: `pthread_once`, `call_once`, that of libc++, static locals' guards.
//!
//! What the initialiser did happens before every return of the call.

use core::ffi::{c_int, c_void};

use deadheat_core::event::{Op, SyncKind};

use super::unwinder;
use crate::abi::annotate::leave_below;
use crate::cold::start::recording;
use crate::hot::thread::current;
use crate::hot::{access, atomic, log};
use crate::sys::through::{self, Two};

/// The routine of the innermost `pthread_once` that has not called it yet, and its control.
type Pending = (usize, usize);

shim_routine!(run_pending, pending, ran, left);

/// Our routine.
fn own() -> usize {
    run_pending as *const () as usize
}

unsafe extern "C" fn nothing() {}

/// What is to run in place of our routine.
unsafe extern "C" fn pending() -> Two {
    let Some(thread) = current() else { return Two(nothing as *const () as usize, 0) };
    // SAFETY: `before` left the pending routine in the calling thread's state just before.
    let (routine, control): Pending = unsafe { (*thread).once };
    // It may have been left before.
    log::event(own(), &Op::Wait { object: control as u64, kind: SyncKind::Once, woken: true });
    Two(routine, control)
}

/// The routine has run, or was left: the next one comes after it.
unsafe extern "C" fn ran(control: usize) {
    log::event(own(), &Op::Signal { object: control as u64, kind: SyncKind::Once });
}

/// What an unwinder asks of a function: whether it leaves it, and not only looks who would stop it.
const LEAVES: c_int = 2;
/// The answer of one that it may leave.
const GOES_ON: c_int = 8;

/// The personality routine of our own one: it was left by an exception, or by the end of its thread. Whoever runs it next does so after that.
#[unsafe(link_section = ".text.0.left")]
unsafe extern "C" fn left(_: c_int, actions: c_int, _: u64, _: *mut c_void, context: *mut c_void) -> c_int {
    if actions & LEAVES != 0
        // SAFETY: the unwinder's.
        && let Some(control) = unsafe { through::kept_at(context) }
    {
        // SAFETY: nothing is asked of the caller.
        unsafe { ran(control) };
    }
    GOES_ON
}

/// That of who called it: what was entered since is left.
#[unsafe(link_section = ".text.0.left_all")]
unsafe extern "C" fn left_all(
    _: c_int,
    actions: c_int,
    _: u64,
    _: *mut c_void,
    context: *mut c_void,
) -> c_int {
    if actions & LEAVES != 0
        // SAFETY: the unwinder's.
        && let Some(stack) = unsafe { through::kept_at(context) }
    {
        // SAFETY: the calling thread goes on there.
        unsafe { leave_below(stack as u64) };
    }
    GOES_ON
}

/// Before the real function: our routine goes in place of the program's.
///
/// # Safety
/// The shim calls what this gives next, and [`after`] or [`left_all`] behind it.
unsafe fn before(control: *mut c_void, routine: usize, (pc, stack): (usize, usize), real: usize) -> Two {
    let followed = recording() && !unwinder::ONCE.is(control);
    let Some(thread) = (if followed { current() } else { None }) else { return Two(real, routine) };
    // SAFETY: the calling thread's own state; a function is entered, which is left behind the real one.
    unsafe {
        (*thread).once = (routine, control as usize);
        access::on_entry(pc, stack);
    }
    Two(real, own())
}

/// Behind the real function.
unsafe extern "C" fn after(control: *mut c_void, pc: usize, result: c_int, passed: usize) -> c_int {
    if passed == own() {
        // SAFETY: `before` entered it.
        unsafe { access::on_exit() };
        log::event(pc, &Op::Wait { object: control as u64, kind: SyncKind::Once, woken: true });
    }
    result
}

shim_caller!(dh_wrap_pthread_once, before_pthread_once, after, left_all);

/// `pthread_once`
unsafe extern "C" fn before_pthread_once(
    control: *mut c_void,
    routine: usize,
    pc: usize,
    stack: usize,
) -> Two {
    // SAFETY: passed on.
    unsafe { before(control, routine, (pc, stack), real!("pthread_once", unsafe extern "C" fn()) as usize) }
}

shim_caller!(dh_wrap_call_once, before_call_once, after, left_all);

/// `call_once`
unsafe extern "C" fn before_call_once(control: *mut c_void, routine: usize, pc: usize, stack: usize) -> Two {
    // SAFETY: passed on.
    unsafe { before(control, routine, (pc, stack), real!("call_once", unsafe extern "C" fn()) as usize) }
}

shim_routine!(run_libcxx, pending_in_libcxx, ran_in_libcxx, left_libcxx);

unsafe extern "C" fn pending_in_libcxx() -> Two {
    let Some(thread) = current() else { return Two(nothing as *const () as usize, 0) };
    // SAFETY: `routine_of_libcxx` left it in the calling thread's state just before.
    let (routine, flag): Pending = unsafe { (*thread).once };
    Two(routine, flag)
}

/// The flag says next that the routine has run. Inlined code reads it atomically before it calls, so the order goes through the flag.
unsafe extern "C" fn ran_in_libcxx(flag: usize) {
    if flag != 0 {
        atomic::pass_on(run_libcxx as *const () as usize, flag, false);
    }
}

/// As [`left`]: who runs it next does so behind a mutex.
#[unsafe(link_section = ".text.0.left_libcxx")]
unsafe extern "C" fn left_libcxx(_: c_int, _: c_int, _: u64, _: *mut c_void, _: *mut c_void) -> c_int {
    GOES_ON
}

shim_third! {
    /// `std::__1::__call_once`
    dh_wrap__ZNSt3__111__call_onceERVmPvPFvS2_E, routine_of_libcxx
}

unsafe extern "C" fn routine_of_libcxx(flag: usize, _: usize, routine: usize, _: usize) -> Two {
    let real = real!("_ZNSt3__111__call_onceERVmPvPFvS2_E", unsafe extern "C" fn()) as usize;
    let Some(thread) = (if recording() { current() } else { None }) else { return Two(real, routine) };
    // SAFETY: the calling thread's own state.
    unsafe { (*thread).once = (routine, flag) };
    Two(real, run_libcxx as *const () as usize)
}

type Guard = unsafe extern "C" fn(*mut u8) -> c_int;

intercept! {
    /// `__cxa_guard_acquire`: 0 if the local is initialised already; else an initialiser may have been left by an exception. The compiler reads the
    /// guard's first byte atomically before it calls, so the order goes through that byte.
    fn dh_wrap___cxa_guard_acquire / cxa_guard_acquire(guard: *mut u8) -> c_int; pc {
        const ACQUIRE: u32 = 2;
        // SAFETY: passed on; the guard is the program's.
        unsafe {
            let result = real!("__cxa_guard_acquire", Guard)(guard);
            if recording() {
                atomic::on_load::<u8>(guard, ACQUIRE, pc);
            }
            result
        }
    }
}

/// Gives a guard back, the local being initialised or not.
fn give(pc: usize, guard: *mut u8, real: unsafe extern "C" fn(*mut u8)) {
    // SAFETY: the guard is the program's.
    let give = || unsafe { real(guard) };
    if recording() { atomic::release_store(pc, guard as usize, give) } else { give() }
}

intercept! {
    /// `__cxa_guard_release`: the local is initialised.
    fn dh_wrap___cxa_guard_release / cxa_guard_release(guard: *mut u8); pc {
        give(pc, guard, real!("__cxa_guard_release", unsafe extern "C" fn(*mut u8)));
    }
}

intercept! {
    /// `__cxa_guard_abort`: the initialiser was left by an exception, and the next one comes after it.
    fn dh_wrap___cxa_guard_abort / cxa_guard_abort(guard: *mut u8); pc {
        give(pc, guard, real!("__cxa_guard_abort", unsafe extern "C" fn(*mut u8)));
    }
}
