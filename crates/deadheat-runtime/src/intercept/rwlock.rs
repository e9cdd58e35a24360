//! Read-write locks.

use core::ffi::{c_int, c_void};

use deadheat_core::event::LockMode::{self, Read, Write};

use super::mutex::{lock, renew, taken, try_once, unlock};
use super::words;
use crate::cold::start::recording;

type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
type LockUntil = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
type LockUntilOf = unsafe extern "C" fn(*mut c_void, c_int, *const c_void) -> c_int;

/// Takes a lock with `attempt` if it is free, else with `wait`, and records it.
fn take(
    pc: usize,
    rwlock: *mut c_void,
    mode: LockMode,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if recording() {
        words::rwlock_wanted(pc, rwlock, mode);
    }
    lock(pc, rwlock, mode, attempt, wait)
}

intercept! {
    /// `pthread_rwlock_init`
    fn dh_wrap_pthread_rwlock_init / pthread_rwlock_init(
        rwlock: *mut c_void, attributes: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        renew(pc, rwlock, || unsafe { real!("pthread_rwlock_init", LockUntil)(rwlock, attributes) })
    }
}

intercept! {
    /// `pthread_rwlock_destroy`
    fn dh_wrap_pthread_rwlock_destroy / pthread_rwlock_destroy(rwlock: *mut c_void) -> c_int; pc {
        if recording() {
            words::rwlock_destroyed(pc, rwlock);
        }
        // SAFETY: passed on.
        renew(pc, rwlock, || unsafe { real!("pthread_rwlock_destroy", Lock)(rwlock) })
    }
}

intercept! {
    /// `pthread_rwlock_rdlock`
    fn dh_wrap_pthread_rwlock_rdlock / pthread_rwlock_rdlock(rwlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Read,
                || real!("pthread_rwlock_tryrdlock", Lock)(rwlock),
                || real!("pthread_rwlock_rdlock", Lock)(rwlock))
        }
    }
}

intercept! {
    /// `pthread_rwlock_tryrdlock`
    fn dh_wrap_pthread_rwlock_tryrdlock / pthread_rwlock_tryrdlock(rwlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = try_once(pc, || unsafe { real!("pthread_rwlock_tryrdlock", Lock)(rwlock) });
        if recording() { taken(pc, rwlock, Read, result) } else { result }
    }
}

intercept! {
    /// `pthread_rwlock_timedrdlock`
    fn dh_wrap_pthread_rwlock_timedrdlock / pthread_rwlock_timedrdlock(
        rwlock: *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Read,
                || real!("pthread_rwlock_tryrdlock", Lock)(rwlock),
                || real!("pthread_rwlock_timedrdlock", LockUntil)(rwlock, until))
        }
    }
}

intercept! {
    /// `pthread_rwlock_clockrdlock`
    fn dh_wrap_pthread_rwlock_clockrdlock / pthread_rwlock_clockrdlock(
        rwlock: *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Read,
                || real!("pthread_rwlock_tryrdlock", Lock)(rwlock),
                || real!("pthread_rwlock_clockrdlock", LockUntilOf)(rwlock, clock, until))
        }
    }
}

intercept! {
    /// `pthread_rwlock_wrlock`
    fn dh_wrap_pthread_rwlock_wrlock / pthread_rwlock_wrlock(rwlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Write,
                || real!("pthread_rwlock_trywrlock", Lock)(rwlock),
                || real!("pthread_rwlock_wrlock", Lock)(rwlock))
        }
    }
}

intercept! {
    /// `pthread_rwlock_trywrlock`
    fn dh_wrap_pthread_rwlock_trywrlock / pthread_rwlock_trywrlock(rwlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = try_once(pc, || unsafe { real!("pthread_rwlock_trywrlock", Lock)(rwlock) });
        if recording() { taken(pc, rwlock, Write, result) } else { result }
    }
}

intercept! {
    /// `pthread_rwlock_timedwrlock`
    fn dh_wrap_pthread_rwlock_timedwrlock / pthread_rwlock_timedwrlock(
        rwlock: *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Write,
                || real!("pthread_rwlock_trywrlock", Lock)(rwlock),
                || real!("pthread_rwlock_timedwrlock", LockUntil)(rwlock, until))
        }
    }
}

intercept! {
    /// `pthread_rwlock_clockwrlock`
    fn dh_wrap_pthread_rwlock_clockwrlock / pthread_rwlock_clockwrlock(
        rwlock: *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            take(pc, rwlock, Write,
                || real!("pthread_rwlock_trywrlock", Lock)(rwlock),
                || real!("pthread_rwlock_clockwrlock", LockUntilOf)(rwlock, clock, until))
        }
    }
}

intercept! {
    /// `pthread_rwlock_unlock`
    fn dh_wrap_pthread_rwlock_unlock / pthread_rwlock_unlock(rwlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            if recording() {
                words::rwlock_given(pc, rwlock);
            }
            let mode = words::held_mode(rwlock);
            unlock(pc, rwlock, mode, || real!("pthread_rwlock_unlock", Lock)(rwlock))
        }
    }
}
