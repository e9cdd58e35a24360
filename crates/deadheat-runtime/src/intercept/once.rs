//! One-time initialisation: `pthread_once`, `call_once`, static locals' guards.
//!
//! What the initialiser did happens before every return of the call.

use core::ffi::{c_int, c_void};

use deadheat_core::event::{Op, SyncKind};

use crate::cold::start::recording;
use crate::hot::thread::current;
use crate::hot::{atomic, log};

type Routine = unsafe extern "C-unwind" fn();
type Once = unsafe extern "C-unwind" fn(*mut c_void, Routine) -> c_int;

/// The routine of the innermost `pthread_once` that has not called it yet, and its control.
type Pending = (usize, usize);

/// Runs in place of the program's routine.
unsafe extern "C-unwind" fn run_pending() {
    let Some(thread) = current() else { return };
    // SAFETY: `once` left the pending routine in the calling thread's state just before.
    unsafe {
        let (routine, control): Pending = (*thread).once;
        core::mem::transmute::<usize, Routine>(routine)();
        let done = Op::Signal { object: control as u64, kind: SyncKind::Once };
        log::event(routine, &done);
    }
}

/// Runs `real` with our routine in place of the program's, and records what it orders.
unsafe fn once(
    pc: usize,
    control: *mut c_void,
    routine: Routine,
    real: impl FnOnce(Routine) -> c_int,
) -> c_int {
    let thread = if recording() { current() } else { None };
    let Some(thread) = thread else { return real(routine) };
    // SAFETY: the calling thread's own state.
    let result = unsafe {
        let outer = (*thread).once;
        (*thread).once = (routine as usize, control as usize);
        let result = real(run_pending);
        (*thread).once = outer;
        result
    };
    log::event(pc, &Op::Wait { object: control as u64, kind: SyncKind::Once, woken: true });
    result
}

intercept! {
    /// `pthread_once`
    fn dh_wrap_pthread_once / pthread_once(control: *mut c_void, routine: Routine) -> c_int; pc {
        // SAFETY: passed on.
        unsafe { once(pc, control, routine, |routine| real!("pthread_once", Once)(control, routine)) }
    }
}

intercept! {
    /// `call_once`
    fn dh_wrap_call_once / call_once(control: *mut c_void, routine: Routine); pc {
        type Real = unsafe extern "C-unwind" fn(*mut c_void, Routine);
        // SAFETY: passed on.
        unsafe {
            once(pc, control, routine, |routine| {
                real!("call_once", Real)(control, routine);
                0
            });
        }
    }
}

type Guard = unsafe extern "C" fn(*mut u8) -> c_int;

intercept! {
    /// `__cxa_guard_acquire`: 0 if the local is initialised already. The compiler reads the
    /// guard's first byte atomically before it calls, so the order goes through that byte.
    fn dh_wrap___cxa_guard_acquire / cxa_guard_acquire(guard: *mut u8) -> c_int; pc {
        const ACQUIRE: u32 = 2;
        // SAFETY: passed on; the guard is the program's.
        unsafe {
            let result = real!("__cxa_guard_acquire", Guard)(guard);
            if result == 0 && recording() {
                atomic::on_load::<u8>(guard, ACQUIRE, pc);
            }
            result
        }
    }
}

intercept! {
    /// `__cxa_guard_release`: the local is initialised.
    fn dh_wrap___cxa_guard_release / cxa_guard_release(guard: *mut u8); pc {
        type Real = unsafe extern "C" fn(*mut u8);
        let real = real!("__cxa_guard_release", Real);
        if recording() {
            // SAFETY: passed on.
            atomic::release_store(pc, guard as usize, || unsafe { real(guard) });
        } else {
            // SAFETY: passed on.
            unsafe { real(guard) };
        }
    }
}
