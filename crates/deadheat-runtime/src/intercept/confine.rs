//! Filters of system calls that a program puts on itself (`seccomp`). They know the calls that the program makes, and some end it at any other: from then on the runtime
//! asks for no pages ahead of their use, which is a call that programs do not make, and not what a descriptor is, or what time it is; its threads begin as they come.
//! In the strict mode nothing is looked at any more.

use core::ffi::{c_int, c_long};

use crate::cold::{start, together};
use crate::online;
use crate::sys;

/// `prctl`'s way to put a filter on.
const SET_SECCOMP: c_int = 22;

shim_before!(dh_wrap_prctl, before_prctl);

/// Its mode in which a program can read, write and end alone.
const STRICT: usize = 1;

/// `prctl`: its arguments are passed on as they are.
unsafe extern "C" fn before_prctl(option: c_int, mode: usize) -> unsafe extern "C" fn() {
    if option == SET_SECCOMP {
        confined();
        if mode == STRICT {
            // There is no memory any more for what is still to be found.
            start::stop();
            online::stop();
        }
    }
    real!("prctl", unsafe extern "C" fn())
}

/// The runtime makes no calls that it can do without.
fn confined() {
    sys::confine();
    together::cease();
}

/// The program is about to make a system call of this number by itself.
pub(super) fn before_syscall(number: c_long) {
    if number == sys::machine::number::SECCOMP as c_long {
        confined();
    }
}
