//! Texts that the C library formats into the program's memory, `sprintf` and its family, or into a descriptor. What it
//! reads to do so is not seen.
//!
//! How long a text becomes is asked beforehand, so that who is held stands before the write.

use core::ffi::{c_char, c_int};
use core::ptr::null_mut;

use super::descriptor::release;
use super::touch::writes;
use crate::cold::start;
use crate::sys::machine::{ArgumentList, Variadic, caller_word};

/// Records that a text is about to be formatted to where there is room for so many bytes.
///
/// # Safety
/// Format and arguments belong together.
unsafe fn formats(pc: usize, to: *mut c_char, room: usize, format: *const c_char, list: *const ArgumentList) {
    type Real = unsafe extern "C" fn(*mut c_char, usize, *const c_char, *mut ArgumentList) -> c_int;
    if !start::recording() {
        return;
    }
    // SAFETY: the caller's promise; the list's copy is used up in its place.
    let len = unsafe {
        let mut copy = *list;
        real!("vsnprintf", Real)(null_mut(), 0, format, &raw mut copy)
    };
    if let Ok(len) = usize::try_from(len) {
        writes(pc, to, room.min(len + 1));
    }
}

shim_variadic!(dh_wrap_sprintf, 2, "rdx", sprintf);
shim_variadic!(dh_wrap_snprintf, 3, "rcx", snprintf);
shim_variadic!(dh_wrap___sprintf_chk, 4, "r8", sprintf_chk);
shim_variadic!(dh_wrap___snprintf_chk, 5, "r9", snprintf_chk);
shim_variadic!(dh_wrap_dprintf, 2, "rdx", dprintf);
shim_variadic!(dh_wrap___dprintf_chk, 3, "rcx", dprintf_chk);
shim_through_thread!(dh_wrap___vsnprintf_chk, vsnprintf_chk);

/// `sprintf`
unsafe extern "C" fn sprintf(to: *mut c_char, format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vsprintf(to, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `snprintf`
unsafe extern "C" fn snprintf(
    to: *mut c_char,
    room: usize,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vsnprintf(to, room, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__sprintf_chk`
unsafe extern "C" fn sprintf_chk(
    to: *mut c_char,
    flag: c_int,
    size: usize,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vsprintf_chk(to, flag, size, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__snprintf_chk`
unsafe extern "C" fn snprintf_chk(
    to: *mut c_char,
    room: usize,
    flag: c_int,
    size: usize,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { checked((*rest).pc, (to, room), (flag, size), (format, &raw mut (*rest).list)) }
}

/// `__vsnprintf_chk`
unsafe extern "C" fn vsnprintf_chk(
    to: *mut c_char,
    room: usize,
    flag: c_int,
    size: usize,
    format: *const c_char,
    list: *mut ArgumentList,
) -> c_int {
    let pc = caller_word();
    // SAFETY: passed on.
    unsafe { checked(pc, (to, room), (flag, size), (format, list)) }
}

unsafe fn checked(
    pc: usize,
    (to, room): (*mut c_char, usize),
    (flag, size): (c_int, usize),
    (format, list): (*const c_char, *mut ArgumentList),
) -> c_int {
    type Real =
        unsafe extern "C" fn(*mut c_char, usize, c_int, usize, *const c_char, *mut ArgumentList) -> c_int;
    // SAFETY: passed on.
    unsafe {
        formats(pc, to, room, format, list);
        real!("__vsnprintf_chk", Real)(to, room, flag, size, format, list)
    }
}

intercept! {
    /// `vsprintf`
    fn dh_wrap_vsprintf / vsprintf(to: *mut c_char, format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_char, *const c_char, *mut ArgumentList) -> c_int;
        // SAFETY: passed on.
        unsafe {
            formats(pc, to, usize::MAX, format, list);
            real!("vsprintf", Real)(to, format, list)
        }
    }
}

intercept! {
    /// `vsnprintf`
    fn dh_wrap_vsnprintf / vsnprintf(
        to: *mut c_char, room: usize, format: *const c_char, list: *mut ArgumentList,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_char, usize, *const c_char, *mut ArgumentList) -> c_int;
        // SAFETY: passed on.
        unsafe {
            formats(pc, to, room, format, list);
            real!("vsnprintf", Real)(to, room, format, list)
        }
    }
}

intercept! {
    /// `__vsprintf_chk`
    fn dh_wrap___vsprintf_chk / vsprintf_chk(
        to: *mut c_char, flag: c_int, size: usize, format: *const c_char, list: *mut ArgumentList,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_char, c_int, usize, *const c_char, *mut ArgumentList) -> c_int;
        // SAFETY: passed on.
        unsafe {
            formats(pc, to, usize::MAX, format, list);
            real!("__vsprintf_chk", Real)(to, flag, size, format, list)
        }
    }
}

/// `dprintf`
unsafe extern "C" fn dprintf(file: c_int, format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vdprintf(file, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__dprintf_chk`
unsafe extern "C" fn dprintf_chk(
    file: c_int,
    flag: c_int,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vdprintf_chk(file, flag, format, &raw mut (*rest).list, (*rest).pc) }
}

/// A text is about to go into a descriptor.
fn goes_into(pc: usize, file: c_int) {
    if start::recording() {
        release(pc, file, || {});
    }
}

intercept! {
    /// `vdprintf`
    fn dh_wrap_vdprintf / vdprintf(file: c_int, format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const c_char, *mut ArgumentList) -> c_int;
        goes_into(pc, file);
        // SAFETY: passed on.
        unsafe { real!("vdprintf", Real)(file, format, list) }
    }
}

intercept! {
    /// `__vdprintf_chk`
    fn dh_wrap___vdprintf_chk / vdprintf_chk(
        file: c_int, flag: c_int, format: *const c_char, list: *mut ArgumentList,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, *const c_char, *mut ArgumentList) -> c_int;
        goes_into(pc, file);
        // SAFETY: passed on.
        unsafe { real!("__vdprintf_chk", Real)(file, flag, format, list) }
    }
}
