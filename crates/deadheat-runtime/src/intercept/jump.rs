//! Jumps out of functions: `longjmp` and its like.
//!
//! A function that is jumped out of never calls its exit hook, so the call stack is cut here, to
//! the functions whose stack frames are still there where the jump lands.
//!
//! `swapcontext` and `setcontext` are left alone: a program that switches stacks by them says so
//! with the fiber interface, or its functions' call sites are told as those of the stack that was
//! left. Entries and exits balance in the long run either way.

use core::ffi::{c_int, c_void};

use crate::abi::annotate::leave_below;
use crate::cold::start;
use crate::sys::machine::jump_target_stack;

macro_rules! jumps {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(buffer: *mut c_void, value: c_int) -> !; _pc {
                type Real = unsafe extern "C" fn(*mut c_void, c_int) -> !;
                // SAFETY: passed on; the program filled the buffer by `setjmp`.
                unsafe {
                    if start::recording() {
                        leave_below(jump_target_stack(buffer.cast_const().cast()));
                    }
                    real!($name, Real)(buffer, value)
                }
            }
        }
    )*};
}

jumps! {
    dh_wrap_longjmp / longjmp "longjmp"
    dh_wrap__longjmp / _longjmp "_longjmp"
    dh_wrap_siglongjmp / siglongjmp "siglongjmp"
    dh_wrap___longjmp_chk / longjmp_chk "__longjmp_chk"
}
