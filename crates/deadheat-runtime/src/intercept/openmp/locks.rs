//! Locks, critical sections, and what waits for its turn: of libgomp and of LLVM's library.
//!
//! LLVM's tools are told of a lock that was given back when another thread may have it already. So these calls are looked
//! at themselves, for both libraries alike.

use core::ffi::{c_int, c_void};

use deadheat_core::event::{LockMode, Op};

use super::super::mutex::{self, renew};
use super::{acquire, release, running};
use crate::cold::start::recording;
use crate::gate::{self, Blocked};
use crate::hot::{log, thread};

/// A lock that is not free.
const BUSY: c_int = 16;

/// Takes a lock that cannot be tried, with `real`.
fn enter(pc: usize, lock: usize, real: impl FnOnce()) {
    if !recording() {
        return real();
    }
    gate::before_lock(pc);
    let (lock, mode) = (lock as u64, LockMode::Write);
    if thread::holds_lock() || gate::on() {
        log::event(pc, &Op::Request { lock, mode });
    }
    gate::blocked(Blocked::Lock, lock, real);
    log::acquired(pc, lock, mode);
}

/// Gives it back.
fn leave(pc: usize, lock: usize) {
    if recording() {
        log::released(pc, lock as u64, LockMode::Write);
    }
}

type Plain = unsafe extern "C" fn();
type OfName = unsafe extern "C" fn(*mut c_void);

/// Exports interceptors for the two ends of a section that excludes all others of its kind. The lock is known by the
/// address of the function that takes it, whose name says what it is.
macro_rules! section {
    ($start:ident / $start_inner:ident, $start_name:literal, $end:ident / $end_inner:ident, $end_name:literal) => {
        intercept! {
            /// The section begins.
            fn $start / $start_inner(); pc {
                let real = real!($start_name, Plain);
                // SAFETY: passed on.
                enter(pc, real as usize, || unsafe { real() });
            }
        }

        intercept! {
            /// The section ends.
            fn $end / $end_inner(); pc {
                leave(pc, real!($start_name, Plain) as usize);
                // SAFETY: passed on.
                unsafe { real!($end_name, Plain)() };
            }
        }
    };
}

section!(
    dh_wrap_GOMP_critical_start / critical_start,
    "GOMP_critical_start",
    dh_wrap_GOMP_critical_end / critical_end,
    "GOMP_critical_end"
);
section!(
    dh_wrap_GOMP_atomic_start / atomic_start,
    "GOMP_atomic_start",
    dh_wrap_GOMP_atomic_end / atomic_end,
    "GOMP_atomic_end"
);

intercept! {
    /// `GOMP_critical_name_start`
    fn dh_wrap_GOMP_critical_name_start / critical_name_start(name: *mut c_void); pc {
        // SAFETY: passed on.
        enter(pc, name as usize, || unsafe { real!("GOMP_critical_name_start", OfName)(name) });
    }
}

intercept! {
    /// `GOMP_critical_name_end`
    fn dh_wrap_GOMP_critical_name_end / critical_name_end(name: *mut c_void); pc {
        leave(pc, name as usize);
        // SAFETY: passed on.
        unsafe { real!("GOMP_critical_name_end", OfName)(name) };
    }
}

type Critical = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void);
type CriticalHint = unsafe extern "C" fn(*mut c_void, c_int, *mut c_void, u32);

intercept! {
    /// `__kmpc_critical`
    fn dh_wrap___kmpc_critical / kmpc_critical(place: *mut c_void, thread: c_int, name: *mut c_void); pc {
        // SAFETY: passed on.
        enter(pc, name as usize, || unsafe { real!("__kmpc_critical", Critical)(place, thread, name) });
    }
}

intercept! {
    /// `__kmpc_critical_with_hint`
    fn dh_wrap___kmpc_critical_with_hint / kmpc_critical_with_hint(
        place: *mut c_void, thread: c_int, name: *mut c_void, hint: u32,
    ); pc {
        let real = real!("__kmpc_critical_with_hint", CriticalHint);
        // SAFETY: passed on.
        enter(pc, name as usize, || unsafe { real(place, thread, name, hint) });
    }
}

intercept! {
    /// `__kmpc_end_critical`
    fn dh_wrap___kmpc_end_critical / kmpc_end_critical(
        place: *mut c_void, thread: c_int, name: *mut c_void,
    ); pc {
        leave(pc, name as usize);
        // SAFETY: passed on.
        unsafe { real!("__kmpc_end_critical", Critical)(place, thread, name) };
    }
}

/// Exports interceptors for the two ends of a reduction: where the threads take turns, they do so under a lock.
macro_rules! reduction {
    ($start:ident / $start_inner:ident, $start_name:literal, $end:ident / $end_inner:ident, $end_name:literal) => {
        shim_through_thread!($start, $start_inner);

        unsafe extern "C" fn $start_inner(
            place: *mut c_void,
            thread: c_int,
            count: c_int,
            size: usize,
            data: *mut c_void,
            reduce: *mut c_void,
            lock: *mut c_void,
        ) -> c_int {
            type Real = unsafe extern "C" fn(
                *mut c_void,
                c_int,
                c_int,
                usize,
                *mut c_void,
                *mut c_void,
                *mut c_void,
            ) -> c_int;
            /// The thread is to add its part without further means.
            const ALONE: c_int = 1;
            let pc = crate::sys::machine::caller_word();
            // SAFETY: passed on.
            let result = unsafe { real!($start_name, Real)(place, thread, count, size, data, reduce, lock) };
            if result == ALONE
                && let Some(task) = running()
            {
                task.reduces = true;
                log::acquired(pc, lock as u64, LockMode::Write);
            }
            result
        }

        intercept! {
            /// The thread has added its part. Where it did so by atomics it holds no lock.
            fn $end / $end_inner(place: *mut c_void, thread: c_int, lock: *mut c_void); pc {
                if running().is_some_and(|task| core::mem::take(&mut task.reduces)) {
                    leave(pc, lock as usize);
                }
                // SAFETY: passed on.
                unsafe { real!($end_name, Critical)(place, thread, lock) };
            }
        }
    };
}

reduction!(
    dh_wrap___kmpc_reduce / kmpc_reduce,
    "__kmpc_reduce",
    dh_wrap___kmpc_end_reduce / kmpc_end_reduce,
    "__kmpc_end_reduce"
);
reduction!(
    dh_wrap___kmpc_reduce_nowait / kmpc_reduce_nowait,
    "__kmpc_reduce_nowait",
    dh_wrap___kmpc_end_reduce_nowait / kmpc_end_reduce_nowait,
    "__kmpc_end_reduce_nowait"
);

/// It is the turn of this iteration's `ordered` block.
pub(super) fn enter_ordered(pc: usize) {
    if let Some(task) = running().filter(|task| !task.team.is_null()) {
        // SAFETY: the team of the task that runs.
        acquire(pc, unsafe { &raw const (*task.team).ordered });
    }
}

/// The block is over.
pub(super) fn leave_ordered(pc: usize) {
    if let Some(task) = running().filter(|task| !task.team.is_null()) {
        // SAFETY: the team of the task that runs.
        release(pc, unsafe { &raw const (*task.team).ordered });
    }
}

/// What other iterations wait for was done.
pub(super) fn post_doacross(pc: usize) {
    if let Some(task) = running().filter(|task| !task.team.is_null()) {
        // SAFETY: the team of the task that runs.
        release(pc, unsafe { &raw const (*task.team).doacross });
    }
}

/// What other iterations did was waited for.
pub(super) fn wait_doacross(pc: usize) {
    if let Some(task) = running().filter(|task| !task.team.is_null()) {
        // SAFETY: the team of the task that runs.
        acquire(pc, unsafe { &raw const (*task.team).doacross });
    }
}

type Turn = unsafe extern "C" fn(*mut c_void, c_int);
type Iteration = unsafe extern "C" fn(*mut c_void, c_int, *const i64);

intercept! {
    /// `__kmpc_ordered`
    fn dh_wrap___kmpc_ordered / kmpc_ordered(place: *mut c_void, thread: c_int); pc {
        // SAFETY: passed on.
        unsafe { real!("__kmpc_ordered", Turn)(place, thread) };
        enter_ordered(pc);
    }
}

intercept! {
    /// `__kmpc_end_ordered`
    fn dh_wrap___kmpc_end_ordered / kmpc_end_ordered(place: *mut c_void, thread: c_int); pc {
        leave_ordered(pc);
        // SAFETY: passed on.
        unsafe { real!("__kmpc_end_ordered", Turn)(place, thread) };
    }
}

intercept! {
    /// `__kmpc_doacross_post`
    fn dh_wrap___kmpc_doacross_post / kmpc_doacross_post(place: *mut c_void, thread: c_int, at: *const i64); pc {
        post_doacross(pc);
        // SAFETY: passed on.
        unsafe { real!("__kmpc_doacross_post", Iteration)(place, thread, at) };
    }
}

intercept! {
    /// `__kmpc_doacross_wait`
    fn dh_wrap___kmpc_doacross_wait / kmpc_doacross_wait(place: *mut c_void, thread: c_int, at: *const i64); pc {
        // SAFETY: passed on.
        unsafe { real!("__kmpc_doacross_wait", Iteration)(place, thread, at) };
        wait_doacross(pc);
    }
}

type Lock = unsafe extern "C" fn(*mut c_void);
type Test = unsafe extern "C" fn(*mut c_void) -> c_int;

/// Exports interceptors for the locks of one kind.
macro_rules! locks {
    ($init:ident / $init_inner:ident, $init_name:literal, $destroy:ident / $destroy_inner:ident, $destroy_name:literal,
     $set:ident / $set_inner:ident, $set_name:literal, $test:ident / $test_inner:ident, $test_name:literal,
     $unset:ident / $unset_inner:ident, $unset_name:literal) => {
        intercept! {
            /// The lock is made.
            fn $init / $init_inner(lock: *mut c_void); pc {
                renew(pc, lock, || {
                    // SAFETY: passed on.
                    unsafe { real!($init_name, "OMP_3.0", Lock)(lock) };
                    0
                });
            }
        }

        intercept! {
            /// The lock is destroyed.
            fn $destroy / $destroy_inner(lock: *mut c_void); pc {
                renew(pc, lock, || {
                    // SAFETY: passed on.
                    unsafe { real!($destroy_name, "OMP_3.0", Lock)(lock) };
                    0
                });
            }
        }

        intercept! {
            /// The lock is taken.
            fn $set / $set_inner(lock: *mut c_void); pc {
                let (test, set) = (real!($test_name, "OMP_3.0", Test), real!($set_name, "OMP_3.0", Lock));
                // SAFETY: passed on.
                let attempt = || if unsafe { test(lock) } != 0 { 0 } else { BUSY };
                let wait = || {
                    // SAFETY: passed on.
                    unsafe { set(lock) };
                    0
                };
                mutex::lock(pc, lock, LockMode::Write, attempt, wait);
            }
        }

        intercept! {
            /// The lock is taken if it is free.
            fn $test / $test_inner(lock: *mut c_void) -> c_int; pc {
                let mut count = 0;
                let result = mutex::try_once(pc, || {
                    // SAFETY: passed on.
                    count = unsafe { real!($test_name, "OMP_3.0", Test)(lock) };
                    if count != 0 { 0 } else { BUSY }
                });
                if recording() {
                    mutex::taken(pc, lock, LockMode::Write, result);
                }
                count
            }
        }

        intercept! {
            /// The lock is given back.
            fn $unset / $unset_inner(lock: *mut c_void); pc {
                mutex::unlock(pc, lock, LockMode::Write, || {
                    // SAFETY: passed on.
                    unsafe { real!($unset_name, "OMP_3.0", Lock)(lock) };
                    0
                });
            }
        }
    };
}

locks!(
    dh_wrap_omp_init_lock / init_lock,
    "omp_init_lock",
    dh_wrap_omp_destroy_lock / destroy_lock,
    "omp_destroy_lock",
    dh_wrap_omp_set_lock / set_lock,
    "omp_set_lock",
    dh_wrap_omp_test_lock / test_lock,
    "omp_test_lock",
    dh_wrap_omp_unset_lock / unset_lock,
    "omp_unset_lock"
);
locks!(
    dh_wrap_omp_init_nest_lock / init_nest_lock,
    "omp_init_nest_lock",
    dh_wrap_omp_destroy_nest_lock / destroy_nest_lock,
    "omp_destroy_nest_lock",
    dh_wrap_omp_set_nest_lock / set_nest_lock,
    "omp_set_nest_lock",
    dh_wrap_omp_test_nest_lock / test_nest_lock,
    "omp_test_nest_lock",
    dh_wrap_omp_unset_nest_lock / unset_nest_lock,
    "omp_unset_nest_lock"
);
