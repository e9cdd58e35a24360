//! `clone`, where a program calls it by itself.

use core::ffi::{c_int, c_void};

use crate::cold::{fork, start};

type Routine = unsafe extern "C" fn(*mut c_void) -> c_int;
type Real = unsafe extern "C" fn(Routine, *mut c_void, c_int, *mut c_void, usize, usize, usize) -> c_int;

/// The child shares its parent's memory: it is no process of its own to us.
const SHARES_MEMORY: c_int = 0x100;

/// What a child begins with.
struct Start {
    routine: Routine,
    argument: *mut c_void,
}

/// `clone`: a child with memory of its own is as one of `fork`. What its last arguments are is the flags' business; they
/// are passed on as they lie.
///
/// # Safety
/// As the real function.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn dh_wrap_clone(
    routine: Routine,
    stack: *mut c_void,
    flags: c_int,
    argument: *mut c_void,
    parent: usize,
    storage: usize,
    child: usize,
) -> c_int {
    let real = real!("clone", Real);
    // SAFETY: passed on; the child has a copy of what its start lies in.
    unsafe {
        if flags & SHARES_MEMORY != 0 || !start::recording() {
            return real(routine, stack, flags, argument, parent, storage, child);
        }
        let mut start = Start { routine, argument };
        fork::before_bare();
        let process = real(run, stack, flags, (&raw mut start).cast(), parent, storage, child);
        fork::after_bare(false);
        process
    }
}

/// The first function of the child.
unsafe extern "C" fn run(start: *mut c_void) -> c_int {
    fork::after_bare(true);
    // SAFETY: `dh_wrap_clone` made it; the routine is the program's.
    unsafe {
        let Start { routine, argument } = *start.cast::<Start>();
        routine(argument)
    }
}
