//! Condition variables and their C11 spelling.
//!
//! A wait is four events: the mutex is released, the wait begins, the wait ends (woken or timed
//! out), the mutex is acquired. A thread that is cancelled while it waits has the mutex when its
//! cleanup handlers run, so the last two are recorded by a handler of ours before theirs.

use core::ffi::{c_int, c_void};

use deadheat_core::event::{LockMode, Op, SyncKind};

use super::mutex::{EOWNERDEAD, forget, orders, owner_died};
use super::touch::{makes, uses};
use super::words;
use crate::cold::start::recording;
use crate::gate::{self, Blocked};
use crate::hot::log;

type One = unsafe extern "C" fn(*mut c_void) -> c_int;
type Two = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Until = unsafe extern "C" fn(*mut c_void, *mut c_void, *const c_void) -> c_int;
type UntilOf = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int, *const c_void) -> c_int;

/// What a wait is about.
#[repr(C)]
struct Waiting {
    pc: usize,
    condition: u64,
    mutex: u64,
}

/// The C library's `struct _pthread_cleanup_buffer`.
#[repr(C)]
struct CleanupBuffer {
    fields: [usize; 4],
}

unsafe extern "C" {
    fn _pthread_cleanup_push(
        buffer: *mut CleanupBuffer,
        routine: unsafe extern "C" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut CleanupBuffer, execute: c_int);
}

impl Waiting {
    fn ended(&self, woken: bool) {
        let wait = Op::Wait { object: self.condition, kind: SyncKind::Condition, woken };
        log::event(self.pc, &wait);
    }

    fn has_mutex(&self) {
        log::event(self.pc, &Op::Acquire { lock: self.mutex, mode: LockMode::Write });
    }
}

/// The thread is cancelled in its wait.
unsafe extern "C" fn cancelled(waiting: *mut c_void) {
    // SAFETY: `wait` pushed its own description, which lives on the cancelled stack.
    let waiting = unsafe { &*waiting.cast::<Waiting>() };
    waiting.ended(false);
    waiting.has_mutex();
}

/// Waits with `real`; `timed_out` is its result when nobody signalled in time.
fn wait(
    pc: usize,
    condition: *mut c_void,
    mutex: *mut c_void,
    timed_out: c_int,
    real: impl FnOnce() -> c_int,
) -> c_int {
    // Refused, it neither gives the mutex back nor takes it.
    if !orders(pc) || words::refuses(mutex) {
        return real();
    }
    uses::<u64>(pc, condition);
    let mut waiting = Waiting { pc, condition: condition as u64, mutex: mutex as u64 };
    log::event(pc, &Op::Release { lock: waiting.mutex, mode: LockMode::Write });
    log::event(pc, &Op::Await { object: waiting.condition, kind: SyncKind::Condition });
    let mut buffer = CleanupBuffer { fields: [0; 4] };
    // SAFETY: the buffer and the description outlive the wait, and are popped after it.
    unsafe { _pthread_cleanup_push(&raw mut buffer, cancelled, (&raw mut waiting).cast()) };
    let blocked = if timed_out == NEVER { Blocked::Other } else { Blocked::No };
    let result = gate::blocked(blocked, waiting.condition, real);
    // SAFETY: as above.
    unsafe { _pthread_cleanup_pop(&raw mut buffer, 0) };
    waiting.ended(result != timed_out);
    if result == EOWNERDEAD {
        owner_died(pc);
    }
    if result != ENOTRECOVERABLE {
        waiting.has_mutex();
    }
    result
}

/// A condition variable is made: also a write to its memory.
fn make(pc: usize, condition: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if recording() {
        makes::<u64>(pc, condition);
    }
    forget(pc, condition, real)
}

/// A condition variable is destroyed: a write to its memory. The real call waits for those who wait to leave, so
/// what it ordered is forgotten after.
fn destroy(pc: usize, condition: *mut c_void, real: impl FnOnce() -> c_int) -> c_int {
    if recording() {
        makes::<u64>(pc, condition);
    }
    let result = real();
    forget(pc, condition, || result)
}

/// Records a signal, then carries it out.
fn signal(pc: usize, object: *mut c_void, kind: SyncKind, real: impl FnOnce() -> c_int) -> c_int {
    if orders(pc) {
        log::event(pc, &Op::Signal { object: object as u64, kind });
        // The call still looks at the variable when the woken thread runs.
        uses::<u64>(pc, object);
    }
    real()
}

const ETIMEDOUT: c_int = 110;
/// The mutex's owner died and nobody made it consistent: the caller has not got it.
const ENOTRECOVERABLE: c_int = 131;
const THRD_TIMEDOUT: c_int = 4;
/// No result of a wait without a time limit.
const NEVER: c_int = -1;

use SyncKind::{Condition, ConditionAll};

intercept! {
    /// `pthread_cond_init`
    fn dh_wrap_pthread_cond_init / pthread_cond_init(condition: *mut c_void, attributes: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        make(pc, condition, || unsafe {
            real!("pthread_cond_init", "GLIBC_2.3.2", Two)(condition, attributes)
        })
    }
}

intercept! {
    /// `pthread_cond_destroy`
    fn dh_wrap_pthread_cond_destroy / pthread_cond_destroy(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        destroy(pc, condition, || unsafe { real!("pthread_cond_destroy", "GLIBC_2.3.2", One)(condition) })
    }
}

intercept! {
    /// `pthread_cond_signal`
    fn dh_wrap_pthread_cond_signal / pthread_cond_signal(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        signal(pc, condition, Condition, || unsafe {
            real!("pthread_cond_signal", "GLIBC_2.3.2", One)(condition)
        })
    }
}

intercept! {
    /// `pthread_cond_broadcast`
    fn dh_wrap_pthread_cond_broadcast / pthread_cond_broadcast(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        signal(pc, condition, ConditionAll, || unsafe {
            real!("pthread_cond_broadcast", "GLIBC_2.3.2", One)(condition)
        })
    }
}

intercept! {
    /// `pthread_cond_wait`
    fn dh_wrap_pthread_cond_wait / pthread_cond_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        wait(pc, condition, mutex, NEVER, || unsafe {
            real!("pthread_cond_wait", "GLIBC_2.3.2", Two)(condition, mutex)
        })
    }
}

intercept! {
    /// `pthread_cond_timedwait`
    fn dh_wrap_pthread_cond_timedwait / pthread_cond_timedwait(
        condition: *mut c_void, mutex: *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        wait(pc, condition, mutex, ETIMEDOUT, || unsafe {
            real!("pthread_cond_timedwait", "GLIBC_2.3.2", Until)(condition, mutex, until)
        })
    }
}

intercept! {
    /// `pthread_cond_clockwait`
    fn dh_wrap_pthread_cond_clockwait / pthread_cond_clockwait(
        condition: *mut c_void, mutex: *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        wait(pc, condition, mutex, ETIMEDOUT, || unsafe {
            real!("pthread_cond_clockwait", UntilOf)(condition, mutex, clock, until)
        })
    }
}

intercept! {
    /// `cnd_init`
    fn dh_wrap_cnd_init / cnd_init(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        make(pc, condition, || unsafe { real!("cnd_init", One)(condition) })
    }
}

intercept! {
    /// `cnd_destroy`
    fn dh_wrap_cnd_destroy / cnd_destroy(condition: *mut c_void); pc {
        type Real = unsafe extern "C" fn(*mut c_void);
        destroy(pc, condition, || {
            // SAFETY: passed on.
            unsafe { real!("cnd_destroy", Real)(condition) };
            0
        });
    }
}

intercept! {
    /// `cnd_signal`
    fn dh_wrap_cnd_signal / cnd_signal(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        signal(pc, condition, Condition, || unsafe { real!("cnd_signal", One)(condition) })
    }
}

intercept! {
    /// `cnd_broadcast`
    fn dh_wrap_cnd_broadcast / cnd_broadcast(condition: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        signal(pc, condition, ConditionAll, || unsafe { real!("cnd_broadcast", One)(condition) })
    }
}

intercept! {
    /// `cnd_wait`
    fn dh_wrap_cnd_wait / cnd_wait(condition: *mut c_void, mutex: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        wait(pc, condition, mutex, NEVER, || unsafe { real!("cnd_wait", Two)(condition, mutex) })
    }
}

intercept! {
    /// `cnd_timedwait`
    fn dh_wrap_cnd_timedwait / cnd_timedwait(
        condition: *mut c_void, mutex: *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        wait(pc, condition, mutex, THRD_TIMEDOUT, || unsafe {
            real!("cnd_timedwait", Until)(condition, mutex, until)
        })
    }
}
