//! Values that the C library reads out of texts, `scanf` and its family.
//!
//! What is named is what was stored: the values that it says it has read, and counts that cannot have been missed.

use core::ffi::{c_char, c_int, c_void};

use super::directive::{Arguments, Use, of_scan};
use super::format::look_up_words;
use super::touch::{Unit, length, read_text, writes_seldom as writes};
use crate::cold::start;
use crate::sys::machine::{ArgumentList, Variadic};

/// Records that a text is about to be read: the C library looks at all of it, whatever the format asks for.
///
/// # Safety
/// `text` is null or ends with a NUL.
unsafe fn scans(pc: usize, text: *const c_char) {
    if start::recording() {
        // SAFETY: the caller's text ends.
        unsafe { read_text(pc, text) };
    }
}

/// Records what was stored: the first `values` ones.
///
/// # Safety
/// Format and arguments belong together.
unsafe fn scanned(pc: usize, format: *const c_char, list: ArgumentList, values: c_int) -> c_int {
    let Ok(stored) = usize::try_from(values) else { return values };
    if !start::recording() {
        return values;
    }
    let mut arguments = Arguments::new();
    // SAFETY: the format ends; its characters are asked for in order.
    of_scan(&mut arguments, |at| unsafe { format.add(at).cast::<u8>().read() });
    // SAFETY: the caller's promise.
    unsafe { look_up_words(&mut arguments, list) };
    let mut before = 0;
    for row in arguments.rows() {
        let to = row.word;
        if let Use::Count(bytes) = row.used {
            if before < stored || before == stored && row.follows {
                writes(pc, to as *const u8, bytes);
            }
            continue;
        }
        if before == stored {
            return values;
        }
        before += usize::from(row.used != Use::Nothing);
        // SAFETY: a value was stored there.
        unsafe {
            match row.used {
                Use::Text(_) => text::<u8>(pc, to),
                Use::WideText(_) => text::<u32>(pc, to),
                Use::Bytes(bytes) => writes(pc, to as *const u8, bytes),
                Use::Made => writes(pc, to as *const usize, 1),
                Use::Nothing | Use::Count(_) => {}
            }
        }
    }
    values
}

/// Records a text that was stored.
///
/// # Safety
/// A text was stored at `address`, and ends.
unsafe fn text<T: Unit>(pc: usize, address: usize) {
    let text = address as *const T;
    // SAFETY: a text was stored there.
    writes(pc, text, unsafe { length(text, usize::MAX) } + 1);
}

/// From standard input.
macro_rules! scans_input {
    ($($export:ident / $inner:ident, $export_list:ident / $inner_list:ident $name:literal;)*) => {$(
        shim_variadic!($export, 1, "rsi", $inner);

        unsafe extern "C" fn $inner(format: *const c_char, rest: *mut Variadic) -> c_int {
            // SAFETY: the shim made it.
            unsafe { $inner_list(format, &raw mut (*rest).list, (*rest).pc) }
        }

        intercept! {
            fn $export_list / $inner_list(format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
                type Real = unsafe extern "C" fn(*const c_char, *mut ArgumentList) -> c_int;
                // SAFETY: passed on; the list is used up.
                unsafe {
                    let before = *list;
                    let values = real!($name, Real)(format, list);
                    scanned(pc, format, before, values)
                }
            }
        }
    )*};
}

/// From a stream or a text, of which `before` tells.
macro_rules! scans_from {
    ($($export:ident / $inner:ident, $export_list:ident / $inner_list:ident $name:literal ($from:ident: $type:ty) $before:expr;)*) => {$(
        shim_variadic!($export, 2, "rdx", $inner);

        unsafe extern "C" fn $inner(from: $type, format: *const c_char, rest: *mut Variadic) -> c_int {
            // SAFETY: the shim made it.
            unsafe { $inner_list(from, format, &raw mut (*rest).list, (*rest).pc) }
        }

        intercept! {
            fn $export_list / $inner_list($from: $type, format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
                type Real = unsafe extern "C" fn($type, *const c_char, *mut ArgumentList) -> c_int;
                let told: unsafe fn(usize, $type) = $before;
                // SAFETY: passed on; the list is used up.
                unsafe {
                    told(pc, $from);
                    let before = *list;
                    let values = real!($name, Real)($from, format, list);
                    scanned(pc, format, before, values)
                }
            }
        }
    )*};
}

/// Of a stream nothing is told beforehand.
///
/// # Safety
/// Nothing is asked of the caller: it is `unsafe` since [`scans`] is.
unsafe fn nothing(_: usize, _: *mut c_void) {}

scans_input! {
    dh_wrap_scanf / scanf, dh_wrap_vscanf / vscanf "vscanf";
    dh_wrap___isoc99_scanf / isoc99_scanf, dh_wrap___isoc99_vscanf / isoc99_vscanf "__isoc99_vscanf";
    dh_wrap___isoc23_scanf / isoc23_scanf, dh_wrap___isoc23_vscanf / isoc23_vscanf "__isoc23_vscanf";
}

scans_from! {
    dh_wrap_fscanf / fscanf, dh_wrap_vfscanf / vfscanf "vfscanf" (file: *mut c_void) nothing;
    dh_wrap_sscanf / sscanf, dh_wrap_vsscanf / vsscanf "vsscanf" (from: *const c_char) scans;
    dh_wrap___isoc99_fscanf / isoc99_fscanf, dh_wrap___isoc99_vfscanf / isoc99_vfscanf "__isoc99_vfscanf" (file: *mut c_void) nothing;
    dh_wrap___isoc99_sscanf / isoc99_sscanf, dh_wrap___isoc99_vsscanf / isoc99_vsscanf "__isoc99_vsscanf" (from: *const c_char) scans;
    dh_wrap___isoc23_fscanf / isoc23_fscanf, dh_wrap___isoc23_vfscanf / isoc23_vfscanf "__isoc23_vfscanf" (file: *mut c_void) nothing;
    dh_wrap___isoc23_sscanf / isoc23_sscanf, dh_wrap___isoc23_vsscanf / isoc23_vsscanf "__isoc23_vsscanf" (from: *const c_char) scans;
}
