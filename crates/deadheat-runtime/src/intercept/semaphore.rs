//! Semaphores.

use core::ffi::{c_int, c_uint, c_void};

use deadheat_core::event::{Op, SyncKind};

use super::mutex::forget;
use crate::cold::start::recording;
use crate::gate::{self, Blocked};
use crate::hot::log;
use crate::sys;

type One = unsafe extern "C" fn(*mut c_void) -> c_int;
type Until = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
type UntilOf = unsafe extern "C" fn(*mut c_void, c_int, *const c_void) -> c_int;
type Init = unsafe extern "C" fn(*mut c_void, c_int, c_uint) -> c_int;

/// Records that a wait got through if `result` says so, and gives `result` back.
fn passed(pc: usize, semaphore: *mut c_void, result: c_int) -> c_int {
    if result == 0 && recording() {
        log::event(pc, &Op::Wait { object: semaphore as u64, kind: SyncKind::Semaphore, woken: true });
    }
    result
}

intercept! {
    /// `sem_init`
    fn dh_wrap_sem_init / sem_init(semaphore: *mut c_void, shared: c_int, value: c_uint) -> c_int; pc {
        // SAFETY: passed on.
        forget(pc, semaphore, || unsafe { real!("sem_init", Init)(semaphore, shared, value) })
    }
}

intercept! {
    /// `sem_destroy`
    fn dh_wrap_sem_destroy / sem_destroy(semaphore: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        forget(pc, semaphore, || unsafe { real!("sem_destroy", One)(semaphore) })
    }
}

intercept! {
    /// `sem_close`: what was posted to a semaphore that is gone is not for who gets its address.
    fn dh_wrap_sem_close / sem_close(semaphore: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = unsafe { real!("sem_close", One)(semaphore) };
        if result == 0 && recording() && !sys::is_mapped(semaphore as usize) {
            log::event(pc, &Op::Forget { object: semaphore as u64 });
        }
        result
    }
}

intercept! {
    /// `sem_post`
    fn dh_wrap_sem_post / sem_post(semaphore: *mut c_void) -> c_int; pc {
        if recording() {
            log::event(pc, &Op::Signal { object: semaphore as u64, kind: SyncKind::Semaphore });
        }
        // SAFETY: passed on.
        unsafe { real!("sem_post", One)(semaphore) }
    }
}

intercept! {
    /// `sem_wait`
    fn dh_wrap_sem_wait / sem_wait(semaphore: *mut c_void) -> c_int; pc {
        gate::before_lock(pc);
        // SAFETY: passed on.
        let wait = || unsafe { real!("sem_wait", One)(semaphore) };
        passed(pc, semaphore, gate::blocked(Blocked::Other, semaphore as u64, wait))
    }
}

intercept! {
    /// `sem_trywait`
    fn dh_wrap_sem_trywait / sem_trywait(semaphore: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        passed(pc, semaphore, unsafe { real!("sem_trywait", One)(semaphore) })
    }
}

intercept! {
    /// `sem_timedwait`
    fn dh_wrap_sem_timedwait / sem_timedwait(semaphore: *mut c_void, until: *const c_void) -> c_int; pc {
        // SAFETY: passed on.
        passed(pc, semaphore, unsafe { real!("sem_timedwait", Until)(semaphore, until) })
    }
}

intercept! {
    /// `sem_clockwait`
    fn dh_wrap_sem_clockwait / sem_clockwait(
        semaphore: *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        passed(pc, semaphore, unsafe { real!("sem_clockwait", UntilOf)(semaphore, clock, until) })
    }
}
