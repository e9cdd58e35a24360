//! Threads: create, join, exit, names.

use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use deadheat_core::event::Op;
use deadheat_core::ids::ThreadId;

use super::unwinder;
use crate::abi::annotate::name_current;
use crate::cold::together::Creating;
use crate::cold::{callers, modules, start, threads};
use crate::gate::{self, Blocked};
use crate::hot::{log, thread};
use crate::sys::Quiet;
use crate::sys::c::{self, Pthread};

type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(*mut Pthread, *const c_void, Routine, *mut c_void) -> c_int;

intercept! {
    /// `pthread_create`
    fn dh_wrap_pthread_create / pthread_create(
        thread: *mut Pthread, attributes: *const c_void, routine: Routine, argument: *mut c_void,
    ) -> c_int; pc {
        let real = real!("pthread_create", Create);
        // SAFETY: the program's own arguments, or ours in their place.
        unsafe {
            let creating = Creating::new();
            let child = if start::recording() {
                let start = (routine as usize, argument as usize);
                let given = threads::number_of_child(start.0, start.1);
                let gives_stack = gives_stack(attributes);
                unwinder::ask();
                callers::within(pc, || threads::prepare_child(pc, start, given, gives_stack))
            } else {
                None
            };
            let Some(child) = child else { return real(thread, attributes, routine, argument) };
            // The new thread begins with the signals blocked that this one blocks.
            if let Some(thread) = thread::known() {
                thread::let_come(thread);
            }
            let quiet = (!MASKS_GIVEN.load(Ordering::Relaxed)).then(Quiet::new);
            let (first, data) = child.start(quiet.as_ref());
            let id = child.id();
            // The OpenMP library joins its own threads, if at all, when the process ends. The thread may end the attributes' life.
            let joinable = !detaches(attributes) && !modules::is_openmp(pc as u64);
            let result = thread::internal(|| real(thread, attributes, first, data));
            drop(creating);
            if result == 0 {
                child.created(id, *thread, joinable);
            } else {
                child.failed();
            }
            result
        }
    }
}

/// Whether the program has given thread attributes a mask of signals. A thread then has that mask
/// from the C library before its first step, and no thread's first step is kept from handlers.
static MASKS_GIVEN: AtomicBool = AtomicBool::new(false);

intercept! {
    /// `pthread_attr_setsigmask_np`
    fn dh_wrap_pthread_attr_setsigmask_np / pthread_attr_setsigmask_np(
        attributes: *mut c_void, mask: *const c_void,
    ) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*mut c_void, *const c_void) -> c_int;
        MASKS_GIVEN.store(true, Ordering::Relaxed);
        // SAFETY: passed on.
        unsafe { real!("pthread_attr_setsigmask_np", Real)(attributes, mask) }
    }
}

/// Whether thread attributes name a stack. Those that do not give address and size whose sum is 0.
///
/// # Safety
/// `attributes` is null or initialised.
unsafe fn gives_stack(attributes: *const c_void) -> bool {
    let mut low = core::ptr::null_mut::<c_void>();
    let mut size = 0;
    if attributes.is_null() {
        return false;
    }
    // SAFETY: the program's attributes, and our own variables.
    let known = unsafe { c::pthread_attr_getstack(attributes, &raw mut low, &raw mut size) } == 0;
    known && !low.is_null() && (low as usize).wrapping_add(size) != 0
}

/// Whether thread attributes say that nobody will join the thread.
///
/// # Safety
/// `attributes` is null or initialised.
unsafe fn detaches(attributes: *const c_void) -> bool {
    const DETACHED: c_int = 1;
    let mut state = 0;
    // SAFETY: the program's attributes, and our own variable.
    !attributes.is_null()
        && unsafe { c::pthread_attr_getdetachstate(attributes, &raw mut state) } == 0
        && state == DETACHED
}

/// Lets a thread go with `real`.
fn detach(thread: Pthread, real: impl FnOnce() -> c_int) -> c_int {
    if start::recording() {
        // From then on the name may be another thread's.
        threads::detached(thread);
    }
    real()
}

intercept! {
    /// `pthread_detach`
    fn dh_wrap_pthread_detach / pthread_detach(thread: Pthread) -> c_int; _pc {
        type Real = unsafe extern "C" fn(Pthread) -> c_int;
        // SAFETY: passed on.
        detach(thread, || unsafe { real!("pthread_detach", Real)(thread) })
    }
}

intercept! {
    /// `thrd_detach`
    fn dh_wrap_thrd_detach / thrd_detach(thread: Pthread) -> c_int; _pc {
        type Real = unsafe extern "C" fn(Pthread) -> c_int;
        // SAFETY: passed on.
        detach(thread, || unsafe { real!("thrd_detach", Real)(thread) })
    }
}

/// Waits for a thread with `wait` and records the join if that succeeded.
fn join(pc: usize, thread: Pthread, wait: impl FnOnce() -> c_int) -> c_int {
    if !start::recording() {
        return wait();
    }
    // The name may be given to another thread as soon as the wait is over.
    let before = threads::id_of(thread);
    let result = match before {
        Some(id) => gate::blocked(Blocked::Join, u64::from(id), wait),
        None => wait(),
    };
    if result == 0
        && let Some(id) = before.or_else(|| threads::id_of(thread))
    {
        log::event(pc, &Op::Join { child: ThreadId(id) });
        threads::forget(thread, id);
    }
    result
}

type Join = unsafe extern "C" fn(Pthread, *mut *mut c_void) -> c_int;
type JoinTimed = unsafe extern "C" fn(Pthread, *mut *mut c_void, *const c_void) -> c_int;
type JoinClock = unsafe extern "C" fn(Pthread, *mut *mut c_void, c_int, *const c_void) -> c_int;

intercept! {
    /// `pthread_join`
    fn dh_wrap_pthread_join / pthread_join(thread: Pthread, value: *mut *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        join(pc, thread, || unsafe { real!("pthread_join", Join)(thread, value) })
    }
}

intercept! {
    /// `pthread_tryjoin_np`
    fn dh_wrap_pthread_tryjoin_np / pthread_tryjoin_np(
        thread: Pthread, value: *mut *mut c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        join(pc, thread, || unsafe { real!("pthread_tryjoin_np", Join)(thread, value) })
    }
}

intercept! {
    /// `pthread_timedjoin_np`
    fn dh_wrap_pthread_timedjoin_np / pthread_timedjoin_np(
        thread: Pthread, value: *mut *mut c_void, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        join(pc, thread, || unsafe { real!("pthread_timedjoin_np", JoinTimed)(thread, value, until) })
    }
}

intercept! {
    /// `pthread_clockjoin_np`
    fn dh_wrap_pthread_clockjoin_np / pthread_clockjoin_np(
        thread: Pthread, value: *mut *mut c_void, clock: c_int, until: *const c_void,
    ) -> c_int; pc {
        // SAFETY: passed on.
        join(pc, thread, || unsafe {
            real!("pthread_clockjoin_np", JoinClock)(thread, value, clock, until)
        })
    }
}

/// A C11 start routine gives an `int`.
type Routine11 = unsafe extern "C" fn(*mut c_void) -> c_int;
type Create11 = unsafe extern "C" fn(*mut Pthread, Routine11, *mut c_void) -> c_int;

intercept! {
    /// `thrd_create`: the C library runs the routine as a thread of its own making, so it is
    /// passed on as a POSIX thread whose result is the `int`.
    fn dh_wrap_thrd_create / thrd_create(
        thread: *mut Pthread, routine: Routine11, argument: *mut c_void,
    ) -> c_int; pc {
        const THRD_ERROR: c_int = 2;
        const THRD_NOMEM: c_int = 3;
        const ENOMEM: c_int = 12;
        // SAFETY: passed on. The C library's `thrd_join` reads the thread's result as a pointer
        // whose low half is the `int`, whichever way the thread was made.
        unsafe {
            if !start::recording() {
                return real!("thrd_create", Create11)(thread, routine, argument);
            }
            let routine = core::mem::transmute::<Routine11, Routine>(routine);
            match pthread_create(thread, core::ptr::null(), routine, argument, pc) {
                0 => 0,
                ENOMEM => THRD_NOMEM,
                _ => THRD_ERROR,
            }
        }
    }
}

intercept! {
    /// `thrd_join`
    fn dh_wrap_thrd_join / thrd_join(thread: Pthread, value: *mut c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(Pthread, *mut c_int) -> c_int;
        // SAFETY: passed on.
        join(pc, thread, || unsafe { real!("thrd_join", Real)(thread, value) })
    }
}

intercept! {
    /// `pthread_setname_np`
    fn dh_wrap_pthread_setname_np / pthread_setname_np(thread: Pthread, name: *const c_char) -> c_int; _pc {
        type Real = unsafe extern "C" fn(Pthread, *const c_char) -> c_int;
        // SAFETY: passed on; the name is the program's text.
        unsafe {
            if start::recording() && thread == c::pthread_self() {
                name_current(name);
            }
            real!("pthread_setname_np", Real)(thread, name)
        }
    }
}
