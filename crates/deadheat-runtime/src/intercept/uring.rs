//! `io_uring`: the kernel reads and writes what it is told there without a call that could be seen. One line says so.

use core::ffi::c_long;
use core::sync::atomic::{AtomicBool, Ordering};

use super::{confine, exit};
use crate::cold::modules;
use crate::cold::start::{light, recording};
use crate::sys;

/// The number of `io_uring_setup`, the same on all machines.
const SETUP: c_long = 425;

/// Whether it was said.
static SAID: AtomicBool = AtomicBool::new(false);

shim_before!(dh_wrap_syscall, before_syscall);

/// `syscall`: its arguments are passed on as they are.
unsafe extern "C" fn before_syscall(number: c_long) -> unsafe extern "C" fn() {
    if number == SETUP {
        // SAFETY: both have the arguments in the same registers.
        return unsafe { core::mem::transmute::<Call, unsafe extern "C" fn()>(set_up) };
    }
    if let Some(end) = exit::by_call(number) {
        return end;
    }
    confine::before_syscall(number);
    real!("syscall", unsafe extern "C" fn())
}

type Call = unsafe extern "C" fn(c_long, usize, usize) -> c_long;

/// `io_uring_setup`: many programs try whether there is such a thing, and the kernel says mostly that there is not.
unsafe extern "C" fn set_up(number: c_long, entries: usize, parameters: usize) -> c_long {
    // SAFETY: passed on.
    let result = unsafe { real!("syscall", Call)(number, entries, parameters) };
    if result >= 0 {
        say();
    }
    result
}

/// Modules were loaded: the library that makes such calls by itself may be among them.
pub(crate) fn look() {
    if modules::has_uring() {
        say();
    }
}

fn say() {
    if recording() && !light() && !SAID.swap(true, Ordering::Relaxed) {
        sys::say(b"deadheat: what the kernel reads and writes by io_uring is not seen: races with it are not told\n");
    }
}
