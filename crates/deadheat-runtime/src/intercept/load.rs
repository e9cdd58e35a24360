//! Modules that come and go while the program runs.

use core::ffi::{c_int, c_void};

use super::uring;
use crate::cold::{modules, start};
use crate::sys::machine::{Around, return_near};

/// Notes what was loaded or unloaded.
unsafe extern "C" fn scan() {
    if start::recording() {
        modules::scan();
        uring::look();
    }
}

// The loader looks at its caller to know whose search path holds, so it must be called as if by
// the program itself.
shim_around!(dh_wrap_dlopen, dlopen, scan);
shim_around!(dh_wrap_dlmopen, dlmopen, scan);

unsafe extern "C" fn dlopen(pc: usize) -> Around {
    // SAFETY: `pc` is in the program's code.
    Around { real: real!("dlopen", unsafe extern "C" fn()), back: unsafe { return_near(pc) } }
}

unsafe extern "C" fn dlmopen(pc: usize) -> Around {
    // SAFETY: `pc` is in the program's code.
    Around { real: real!("dlmopen", unsafe extern "C" fn()), back: unsafe { return_near(pc) } }
}

intercept! {
    /// `dlclose`
    fn dh_wrap_dlclose / dlclose(module: *mut c_void) -> c_int; _pc {
        type Real = unsafe extern "C" fn(*mut c_void) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let result = real!("dlclose", Real)(module);
            scan();
            result
        }
    }
}
