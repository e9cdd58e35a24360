//! Who called the library that calls the runtime: functions without an entry hook lie between it and the innermost one that has one,
//! and the unwinder of the program's languages knows them, if it is there.
//!
//! Only rare events are worth it: it goes through all frames up to there. The stack pointers that entry hooks saw say where to stop.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{Ordering, compiler_fence};

use crate::hot::access;
use crate::hot::thread::{Thread, current, internal};

/// So many functions of libraries are told at most.
const MOST: usize = 16;
/// The unwinder goes through so many frames of the runtime at most before it comes to the call.
const OWN: usize = 64;

const GO_ON: c_int = 0;
const STOP: c_int = 5;

type Step = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;

/// What is looked for, and found.
struct Search {
    /// Where the runtime was called.
    pc: usize,
    /// The stack pointer within the innermost function that has an entry hook is not above this.
    stack: usize,
    has_come: bool,
    passed: usize,
    calls: [usize; MOST],
    count: usize,
}

/// Does `work`, called from `pc`, while the functions that lie between that call and the innermost function with an entry hook are
/// entered.
pub(crate) fn within<T>(pc: usize, work: impl FnOnce() -> T) -> T {
    let Some(thread) = current() else { return work() };
    // SAFETY: `current` gives the calling thread's own state.
    let entered = unsafe { enter(thread, pc) };
    let result = work();
    // SAFETY: as many were entered above, and all that `work` entered was left.
    (0..entered).for_each(|_| unsafe { access::on_exit() });
    result
}

/// Enters them; how many they are.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn enter(thread: *mut Thread, pc: usize) -> usize {
    let walk = weak_address!("_Unwind_Backtrace");
    // SAFETY: the calling thread's own state; the frame below `top` is filled. The unwinder's function calls ours with our data.
    unsafe {
        let top = (*thread).top;
        if walk == 0 || top == (*thread).frames || (*thread).too_deep != 0 {
            return 0;
        }
        // The hook's own return address lies below what its function had.
        let stack = (*top.sub(1)).stack as usize + size_of::<usize>();
        let mut search = Search { pc, stack, has_come: false, passed: 0, calls: [0; MOST], count: 0 };
        let walk: unsafe extern "C" fn(Step, *mut c_void) -> c_int = core::mem::transmute(walk);
        // What the unwinder itself does is none of the program's.
        internal(|| walk(step, (&raw mut search).cast()));
        compiler_fence(Ordering::SeqCst);
        let calls = &search.calls[..search.count];
        calls.iter().rev().for_each(|&call| access::on_entry(call, stack - size_of::<usize>()));
        calls.len()
    }
}

/// The unwinder is at a function.
unsafe extern "C" fn step(context: *mut c_void, search: *mut c_void) -> c_int {
    type Ask = unsafe extern "C" fn(*mut c_void) -> usize;
    // SAFETY: the unwinder's functions, which are there if it is, and our own data.
    unsafe {
        let search = &mut *search.cast::<Search>();
        let ask = |function: usize| core::mem::transmute::<usize, Ask>(function)(context);
        let (call, stack) = (ask(weak_address!("_Unwind_GetIP")), ask(weak_address!("_Unwind_GetCFA")));
        search.passed += 1;
        if stack > search.stack || search.passed > OWN + MOST || search.count == MOST {
            return STOP;
        }
        if search.has_come {
            search.calls[search.count] = call;
            search.count += 1;
        }
        search.has_come |= call == search.pc;
        GO_ON
    }
}
