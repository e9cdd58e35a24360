//! The environment: whoever looks for a variable reads the list that whoever sets one writes, which the C library does not guard.
//! POSIX and C leave what is not ordered there undefined.

use core::ffi::{c_char, c_int};

use super::touch::{read_if, read_text, write_if};

/// Whether there is a variable of that name.
///
/// # Safety
/// `name` is null or ends with a NUL; nobody changes the environment meanwhile.
unsafe fn is_there(name: *const c_char) -> bool {
    // SAFETY: the program's text.
    !name.is_null()
        && unsafe { !real!("getenv", unsafe extern "C" fn(*const c_char) -> *mut c_char)(name).is_null() }
}

/// The list is changed, or only looked through.
fn changes(pc: usize, does: bool) {
    if does { write_if(pc, list()) } else { read_if(pc, list()) }
}

/// Where the list is.
fn list() -> *mut usize {
    weak_address!("environ") as *mut usize
}

functions! {
    dh_wrap_getenv / getenv "getenv" (name: *const c_char) -> *mut c_char, pc,
        before {
            read_text(pc, name);
            read_if(pc, list());
        },
        after _got ();
    dh_wrap_secure_getenv / secure_getenv "secure_getenv" (name: *const c_char) -> *mut c_char, pc,
        before {
            read_text(pc, name);
            read_if(pc, list());
        },
        after _got ();
    dh_wrap_setenv / setenv "setenv" (name: *const c_char, value: *const c_char, over: c_int) -> c_int, pc,
        before {
            read_text(pc, name);
            let does = over != 0 || !is_there(name);
            if does {
                read_text(pc, value);
            }
            changes(pc, does);
        },
        after _got ();
    dh_wrap_unsetenv / unsetenv "unsetenv" (name: *const c_char) -> c_int, pc,
        before {
            read_text(pc, name);
            changes(pc, is_there(name));
        },
        after _got ();
    dh_wrap_putenv / putenv "putenv" (text: *mut c_char) -> c_int, pc,
        before {
            read_text(pc, text);
            write_if(pc, list());
        },
        after _got ();
    dh_wrap_clearenv / clearenv "clearenv" () -> c_int, pc, before write_if(pc, list()), after _got ();
}
