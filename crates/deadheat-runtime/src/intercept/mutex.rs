//! Mutexes of all kinds, spinlocks, and their C11 spelling.
//!
//! A lock that is free is taken by the `try` form, so that a request is recorded only where the
//! thread may have to wait, or holds another lock; every kind of mutex but the robust ones gives the same result either way.

use core::ffi::{c_int, c_void};

use deadheat_core::event::{LockMode, Op, SyncKind};

use super::touch::{makes, uses, uses_lock};
use super::{unwinder, words};
use crate::cold::start::recording;
use crate::cold::{modules, threads};
use crate::gate::{self, Blocked};
use crate::hot::{log, thread};

/// The previous owner died with the lock held; the caller has it now.
pub(super) const EOWNERDEAD: c_int = 130;
const EBUSY: c_int = 16;

type Lock = unsafe extern "C" fn(*mut c_void) -> c_int;
type LockUntil = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
type LockUntilOf = unsafe extern "C" fn(*mut c_void, c_int, *const c_void) -> c_int;

/// Whether a call from before `pc` orders anything that is to be known. By what locks the OpenMP library's threads wake each other
/// is its own business; what its constructs order is told otherwise.
#[inline]
pub(super) fn orders(pc: usize) -> bool {
    recording() && !modules::is_openmp(pc as u64)
}

/// As [`orders`], by a mutex.
#[inline(always)]
fn orders_by(pc: usize, mutex: *mut c_void) -> bool {
    orders(pc) && !unwinder::MUTEX.is(mutex)
}

/// Records that `lock` was taken if `result` says so, and gives `result` back.
pub(super) fn taken(pc: usize, lock: *mut c_void, mode: LockMode, result: c_int) -> c_int {
    if result == 0 || result == EOWNERDEAD {
        log::acquired(pc, lock as u64, mode);
    }
    result
}

/// Gets a lock with `attempt` if it is free; else records the request and gets it with `wait`. Under another lock a request
/// is always recorded: in which order locks are taken matters also where nobody waits.
fn obtain(
    pc: usize,
    lock: *mut c_void,
    mode: LockMode,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    gate::before_lock(pc);
    let asked = thread::holds_lock() && !gate::on();
    if asked {
        log::event(pc, &Op::Request { lock: lock as u64, mode });
    }
    let result = attempt();
    if result == 0 || result == EOWNERDEAD { result } else { request(pc, lock, mode, asked, wait) }
}

/// Records the request for a lock, unless that was done, and gets it with `wait`.
#[cold]
#[inline(never)]
fn request(pc: usize, lock: *mut c_void, mode: LockMode, asked: bool, wait: impl FnOnce() -> c_int) -> c_int {
    if !asked {
        log::event(pc, &Op::Request { lock: lock as u64, mode });
    }
    gate::blocked(Blocked::Lock, lock as u64, wait)
}

/// Tries to get a lock.
pub(super) fn try_once(pc: usize, attempt: impl FnOnce() -> c_int) -> c_int {
    gate::before_lock(pc);
    let result = attempt();
    if result != 0 && result != EOWNERDEAD {
        gate::tried_in_vain();
    }
    result
}

/// Takes a lock with `attempt` if it is free, else with `wait`, and records it.
pub(super) fn lock(
    pc: usize,
    lock: *mut c_void,
    mode: LockMode,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if recording() {
        uses::<u8>(pc, lock);
    }
    lock_within(pc, lock, mode, attempt, wait)
}

/// As [`lock`], of a lock that is the C library's own memory.
pub(super) fn lock_within(
    pc: usize,
    lock: *mut c_void,
    mode: LockMode,
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() {
        return wait();
    }
    taken(pc, lock, mode, obtain(pc, lock, mode, attempt, wait))
}

/// Records that a mutex was taken if `result` says so. Where its owner died holding it, what that
/// thread did comes before.
#[inline(always)]
fn mutex_taken(pc: usize, mutex: *mut c_void, result: c_int) -> c_int {
    if result == EOWNERDEAD {
        owner_died(pc);
    }
    if result == 0 && words::is_robust(mutex) {
        threads::expect_owner_death();
    }
    taken(pc, mutex, Write, result)
}

/// Records that what a mutex's dead owner did comes before.
#[cold]
#[inline(never)]
pub(super) fn owner_died(pc: usize) {
    let object = threads::owner_death();
    log::event(pc, &Op::Wait { object, kind: SyncKind::Annotation, woken: true });
}

/// Takes a mutex with `attempt` if it is free, else with `wait`, and records it. `for_ever`: however long that takes.
fn mutex_lock(
    pc: usize,
    (mutex, for_ever): (*mut c_void, bool),
    attempt: impl FnOnce() -> c_int,
    wait: impl FnOnce() -> c_int,
) -> c_int {
    if !orders_by(pc, mutex) {
        return wait();
    }
    words::mutex_wanted(pc, mutex, for_ever);
    uses_lock(pc, mutex);
    // Of a robust mutex that cannot be used any more the C library's attempt says so and keeps it.
    let attempt = || if words::is_robust(mutex) { EBUSY } else { attempt() };
    mutex_taken(pc, mutex, obtain(pc, mutex, Write, attempt, wait))
}

/// Records a release, then carries it out.
pub(super) fn unlock(pc: usize, lock: *mut c_void, mode: LockMode, real: impl FnOnce() -> c_int) -> c_int {
    if orders(pc) {
        give(pc, lock, mode);
    }
    real()
}

/// Records a release.
#[inline(always)]
fn give(pc: usize, lock: *mut c_void, mode: LockMode) {
    uses_lock(pc, lock);
    log::released(pc, lock as u64, mode);
}

/// Gives back a mutex; a refused unlock is no release.
fn mutex_unlock(pc: usize, mutex: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if orders_by(pc, mutex) && !words::refuses(mutex) {
        words::mutex_given(pc, mutex);
        give(pc, mutex, Write);
    }
    real()
}

/// An object is made or destroyed: nothing that was ordered by its memory before counts.
pub(super) fn forget(pc: usize, object: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if recording() {
        log::event(pc, &Op::Forget { object: object as u64 });
    }
    real()
}

/// A lock is made or destroyed: also a write to its memory.
pub(super) fn renew(pc: usize, lock: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if recording() {
        makes::<u8>(pc, lock);
    }
    forget(pc, lock, real)
}

use LockMode::Write;

intercept! {
    /// `pthread_mutex_init`
    fn dh_wrap_pthread_mutex_init / pthread_mutex_init(mutex: *mut c_void, attributes: *const c_void) -> c_int; pc {
        // SAFETY: passed on.
        renew(pc, mutex, || unsafe { real!("pthread_mutex_init", LockUntil)(mutex, attributes) })
    }
}

intercept! {
    /// `pthread_mutex_destroy`
    fn dh_wrap_pthread_mutex_destroy / pthread_mutex_destroy(mutex: *mut c_void) -> c_int; pc {
        if orders(pc) {
            words::mutex_destroyed(pc, mutex);
        }
        // SAFETY: passed on.
        renew(pc, mutex, || unsafe { real!("pthread_mutex_destroy", Lock)(mutex) })
    }
}

intercept! {
    /// `pthread_mutex_lock`
    fn dh_wrap_pthread_mutex_lock / pthread_mutex_lock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            mutex_lock(pc, (mutex, true),
                || real!("pthread_mutex_trylock", Lock)(mutex),
                || real!("pthread_mutex_lock", Lock)(mutex))
        }
    }
}

intercept! {
    /// `pthread_mutex_trylock`
    fn dh_wrap_pthread_mutex_trylock / pthread_mutex_trylock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = try_once(pc, || unsafe { real!("pthread_mutex_trylock", Lock)(mutex) });
        if orders(pc) { mutex_taken(pc, mutex, result) } else { result }
    }
}

intercept! {
    /// `pthread_mutex_timedlock`
    fn dh_wrap_pthread_mutex_timedlock / pthread_mutex_timedlock(
        mutex: *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            mutex_lock(pc, (mutex, false),
                || real!("pthread_mutex_trylock", Lock)(mutex),
                || real!("pthread_mutex_timedlock", LockUntil)(mutex, until))
        }
    }
}

intercept! {
    /// `pthread_mutex_clocklock`
    fn dh_wrap_pthread_mutex_clocklock / pthread_mutex_clocklock(
        mutex: *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            mutex_lock(pc, (mutex, false),
                || real!("pthread_mutex_trylock", Lock)(mutex),
                || real!("pthread_mutex_clocklock", LockUntilOf)(mutex, clock, until))
        }
    }
}

intercept! {
    /// `pthread_mutex_unlock`
    fn dh_wrap_pthread_mutex_unlock / pthread_mutex_unlock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        mutex_unlock(pc, mutex, || unsafe { real!("pthread_mutex_unlock", Lock)(mutex) })
    }
}

intercept! {
    /// `mtx_init`
    fn dh_wrap_mtx_init / mtx_init(mutex: *mut c_void, kind: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        // SAFETY: passed on.
        renew(pc, mutex, || unsafe { real!("mtx_init", Real)(mutex, kind) })
    }
}

intercept! {
    /// `mtx_destroy`
    fn dh_wrap_mtx_destroy / mtx_destroy(mutex: *mut c_void); pc {
        type Real = unsafe extern "C" fn(*mut c_void);
        if recording() {
            words::mutex_destroyed(pc, mutex);
        }
        renew(pc, mutex, || {
            // SAFETY: passed on.
            unsafe { real!("mtx_destroy", Real)(mutex) };
            0
        });
    }
}

intercept! {
    /// `mtx_lock`
    fn dh_wrap_mtx_lock / mtx_lock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            mutex_lock(pc, (mutex, true),
                || real!("mtx_trylock", Lock)(mutex),
                || real!("mtx_lock", Lock)(mutex))
        }
    }
}

intercept! {
    /// `mtx_trylock`
    fn dh_wrap_mtx_trylock / mtx_trylock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = try_once(pc, || unsafe { real!("mtx_trylock", Lock)(mutex) });
        if recording() { taken(pc, mutex, Write, result) } else { result }
    }
}

intercept! {
    /// `mtx_timedlock`
    fn dh_wrap_mtx_timedlock / mtx_timedlock(mutex: *mut c_void, until: *const c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            lock(pc, mutex, Write,
                || real!("mtx_trylock", Lock)(mutex),
                || real!("mtx_timedlock", LockUntil)(mutex, until))
        }
    }
}

intercept! {
    /// `mtx_unlock`
    fn dh_wrap_mtx_unlock / mtx_unlock(mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        mutex_unlock(pc, mutex, || unsafe { real!("mtx_unlock", Lock)(mutex) })
    }
}

intercept! {
    /// `pthread_spin_init`
    fn dh_wrap_pthread_spin_init / pthread_spin_init(spinlock: *mut c_void, shared: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_void, c_int) -> c_int;
        // SAFETY: passed on.
        renew(pc, spinlock, || unsafe { real!("pthread_spin_init", Real)(spinlock, shared) })
    }
}

intercept! {
    /// `pthread_spin_destroy`
    fn dh_wrap_pthread_spin_destroy / pthread_spin_destroy(spinlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        renew(pc, spinlock, || unsafe { real!("pthread_spin_destroy", Lock)(spinlock) })
    }
}

intercept! {
    /// `pthread_spin_lock`
    fn dh_wrap_pthread_spin_lock / pthread_spin_lock(spinlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            lock(pc, spinlock, Write,
                || real!("pthread_spin_trylock", Lock)(spinlock),
                || real!("pthread_spin_lock", Lock)(spinlock))
        }
    }
}

intercept! {
    /// `pthread_spin_trylock`
    fn dh_wrap_pthread_spin_trylock / pthread_spin_trylock(spinlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = try_once(pc, || unsafe { real!("pthread_spin_trylock", Lock)(spinlock) });
        if recording() { taken(pc, spinlock, Write, result) } else { result }
    }
}

intercept! {
    /// `pthread_spin_unlock`
    fn dh_wrap_pthread_spin_unlock / pthread_spin_unlock(spinlock: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        unlock(pc, spinlock, Write, || unsafe { real!("pthread_spin_unlock", Lock)(spinlock) })
    }
}
