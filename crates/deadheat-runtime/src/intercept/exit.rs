//! The ways out of a program that run no destructors: quick exits, and becoming another program.
//!
//! A program that ends by `exit` or by returning from `main` passes `cold::exit` by itself; several threads that end it do so one by one.

use core::ffi::{c_char, c_int, c_long};

use crate::cold::byhand::tell;
use crate::cold::exit::{leave, leave_in_turn, leave_quickly, one_goes};
use crate::cold::threads;
use crate::sys::machine::number;

macro_rules! ends {
    ($($export:ident / $inner:ident $name:literal $leave:ident)*) => {$(
        intercept! {
            fn $export / $inner(code: c_int) -> !; _pc {
                type Real = unsafe extern "C" fn(c_int) -> !;
                let code = $leave(code);
                // SAFETY: passed on.
                unsafe { real!($name, Real)(code) }
            }
        }
    )*};
}

ends! {
    dh_wrap_exit / exit "exit" leave_in_turn
    dh_wrap__exit / _exit "_exit" leave
    dh_wrap__Exit / exit_now "_Exit" leave
    dh_wrap_quick_exit / quick_exit "quick_exit" leave_quickly
}

shim_before!(dh_wrap_pthread_exit, before_pthread_exit);

/// `pthread_exit`: its argument is passed on as it is.
unsafe extern "C" fn before_pthread_exit() -> unsafe extern "C" fn() {
    one_goes();
    real!("pthread_exit", unsafe extern "C" fn())
}

shim_before!(dh_wrap_thrd_exit, before_thrd_exit);

/// `thrd_exit`: the same.
unsafe extern "C" fn before_thrd_exit() -> unsafe extern "C" fn() {
    one_goes();
    real!("thrd_exit", unsafe extern "C" fn())
}

intercept! {
    /// `abort`
    fn dh_wrap_abort / abort() -> !; _pc {
        type Real = unsafe extern "C" fn() -> !;
        tell(0);
        // SAFETY: passed on.
        unsafe { real!("abort", Real)() }
    }
}

type Texts = *const *const c_char;

intercept! {
    /// `execve`
    fn dh_wrap_execve / execve(path: *const c_char, arguments: Texts, environment: Texts) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*const c_char, Texts, Texts) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("execve", Real)(path, arguments, environment) }
    }
}

intercept! {
    /// `execv`
    fn dh_wrap_execv / execv(path: *const c_char, arguments: Texts) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*const c_char, Texts) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("execv", Real)(path, arguments) }
    }
}

intercept! {
    /// `execvp`
    fn dh_wrap_execvp / execvp(file: *const c_char, arguments: Texts) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*const c_char, Texts) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("execvp", Real)(file, arguments) }
    }
}

intercept! {
    /// `execvpe`
    fn dh_wrap_execvpe / execvpe(file: *const c_char, arguments: Texts, environment: Texts) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*const c_char, Texts, Texts) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("execvpe", Real)(file, arguments, environment) }
    }
}

intercept! {
    /// `fexecve`
    fn dh_wrap_fexecve / fexecve(file: c_int, arguments: Texts, environment: Texts) -> c_int; _pc {
        type Real = unsafe extern "C" fn(c_int, Texts, Texts) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("fexecve", Real)(file, arguments, environment) }
    }
}

intercept! {
    /// `execveat`
    fn dh_wrap_execveat / execveat(
        folder: c_int, path: *const c_char, arguments: Texts, environment: Texts, flags: c_int,
    ) -> c_int; _pc {
        type Real = unsafe extern "C" fn(c_int, *const c_char, Texts, Texts, c_int) -> c_int;
        leave(0);
        // SAFETY: passed on.
        unsafe { real!("execveat", Real)(folder, path, arguments, environment, flags) }
    }
}

/// The forms with the arguments in a row: notes the end, then goes to the real one with the
/// arguments as they are.
macro_rules! in_a_row {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        shim_before!($export, $inner);

        unsafe extern "C" fn $inner() -> unsafe extern "C" fn() {
            leave(0);
            real!($name, unsafe extern "C" fn())
        }
    )*};
}

in_a_row! {
    dh_wrap_execl / execl "execl"
    dh_wrap_execlp / execlp "execlp"
    dh_wrap_execle / execle "execle"
}

type Call = unsafe extern "C" fn(c_long, c_int) -> c_long;

/// The program is about to make the system call of this number by itself: what to call in place of `syscall`, if it is one that ends the process. One that ends the thread ends it
/// here, too.
pub(super) fn by_call(number: c_long) -> Option<unsafe extern "C" fn()> {
    const EXIT: c_long = number::EXIT as c_long;
    const EXIT_GROUP: c_long = number::EXIT_GROUP as c_long;

    unsafe extern "C" fn end_all(number: c_long, code: c_int) -> c_long {
        let code = leave(code);
        // SAFETY: passed on.
        unsafe { real!("syscall", Call)(number, code) }
    }

    match number {
        EXIT => {
            one_goes();
            threads::end_at_once();
            None
        }
        // SAFETY: both have the arguments in the same registers.
        EXIT_GROUP => Some(unsafe { core::mem::transmute::<Call, unsafe extern "C" fn()>(end_all) }),
        _ => None,
    }
}
