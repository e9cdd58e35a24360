//! `fork`.

use core::ffi::c_int;

use crate::cold;

intercept! {
    /// `fork`: the child records into a trace of its own.
    fn dh_wrap_fork / fork() -> c_int; _pc {
        type Real = unsafe extern "C" fn() -> c_int;
        // SAFETY: passed on.
        cold::fork::fork(|| unsafe { real!("fork", Real)() })
    }
}
