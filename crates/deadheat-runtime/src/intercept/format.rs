//! Texts that the C library formats, `printf` and its family: into the program's memory, a stream or a descriptor. What is read to do so
//! are the format and the texts that it names.
//!
//! How long a text becomes is asked beforehand, so that who is held stands before the write.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

use super::caller::allocates;
use super::descriptor::release;
use super::directive::{Arguments, Class, Limit, Use, of_print};
use super::touch::{Unit, length, reads_seldom as reads, writes_seldom as writes};
use crate::cold::start;
use crate::sys::machine::{ArgumentList, Variadic, caller_word};

/// Records that a text is about to be formatted.
///
/// # Safety
/// Format and arguments belong together.
unsafe fn prints(pc: usize, format: *const c_char, list: *const ArgumentList) {
    if format.is_null() || !start::recording() {
        return;
    }
    // SAFETY: the format ends.
    unsafe { text::<u8>(pc, format as usize, usize::MAX) };
    let mut arguments = Arguments::new();
    // SAFETY: its characters are asked for in order, up to its end.
    of_print(&mut arguments, |at| unsafe { format.add(at).cast::<u8>().read() });
    // SAFETY: the caller's promise; the list is copied.
    unsafe { look_up_words(&mut arguments, *list) };
    let rows = arguments.rows();
    for row in rows {
        let most = |limit| match limit {
            Limit::None => usize::MAX,
            Limit::Units(units) => units,
            // Below zero it is none.
            Limit::Argument(at) => usize::try_from(rows[at].word as c_int).unwrap_or(usize::MAX),
        };
        // SAFETY: the arguments are what the format says.
        unsafe {
            match row.used {
                Use::Text(limit) => text::<u8>(pc, row.word, most(limit)),
                Use::WideText(limit) => text::<u32>(pc, row.word, most(limit)),
                Use::Count(bytes) => writes(pc, row.word as *const u8, bytes),
                Use::Nothing | Use::Bytes(_) | Use::Made => {}
            }
        }
    }
}

/// Looks up the words among some arguments.
///
/// # Safety
/// They are the list's.
pub(super) unsafe fn look_up_words(arguments: &mut Arguments, mut list: ArgumentList) {
    for row in arguments.rows_mut() {
        match row.class {
            // SAFETY: the caller's promise.
            Class::Word => row.word = unsafe { list.word() },
            Class::Double => list.pass_double(),
            Class::LongDouble => list.pass_long_double(),
        }
    }
}

/// A text is read, up to its end or `most` units.
///
/// # Safety
/// `address` is 0, or a text begins there that ends or has `most` units.
unsafe fn text<T: Unit>(pc: usize, address: usize, most: usize) {
    let text = address as *const T;
    if !text.is_null() {
        // SAFETY: so far the text is readable.
        let len = unsafe { length(text, most) };
        reads(pc, text, len.saturating_add(1).min(most));
    }
}

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
        prints(pc, format, list);
        let mut copy = *list;
        real!("vsnprintf", Real)(null_mut(), 0, format, &raw mut copy)
    };
    if let Ok(len) = usize::try_from(len) {
        writes(pc, to, room.min(len + 1));
    }
}

/// Records the text that the C library has made.
///
/// # Safety
/// If `len` is not negative, the C library has put the text's address at `to`.
unsafe fn made(pc: usize, to: *mut *mut c_char, len: c_int) -> c_int {
    if let Ok(bytes) = usize::try_from(len)
        && start::recording()
    {
        writes(pc, to, 1);
        // SAFETY: the C library has put it there.
        writes(pc, unsafe { *to }, bytes + 1);
    }
    len
}

shim_variadic!(dh_wrap_printf, 1, "rsi", printf);
shim_variadic!(dh_wrap_fprintf, 2, "rdx", fprintf);
shim_variadic!(dh_wrap___printf_chk, 2, "rdx", printf_chk);
shim_variadic!(dh_wrap___fprintf_chk, 3, "rcx", fprintf_chk);
shim_variadic!(dh_wrap_asprintf, 2, "rdx", asprintf);
shim_variadic!(dh_wrap___asprintf_chk, 3, "rcx", asprintf_chk);
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

/// `__vsnprintf_chk`, called from before `pc`.
///
/// # Safety
/// As for `__vsnprintf_chk`.
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
///
/// # Safety
/// Format and arguments belong together.
unsafe fn goes_into(pc: usize, file: c_int, format: *const c_char, list: *const ArgumentList) {
    if start::recording() {
        // SAFETY: format and arguments belong together.
        unsafe { prints(pc, format, list) };
        release(pc, file, || {});
    }
}

intercept! {
    /// `vdprintf`
    fn dh_wrap_vdprintf / vdprintf(file: c_int, format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const c_char, *mut ArgumentList) -> c_int;
        // SAFETY: passed on.
        unsafe {
            goes_into(pc, file, format, list);
            real!("vdprintf", Real)(file, format, list)
        }
    }
}

intercept! {
    /// `__vdprintf_chk`
    fn dh_wrap___vdprintf_chk / vdprintf_chk(
        file: c_int, flag: c_int, format: *const c_char, list: *mut ArgumentList,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, *const c_char, *mut ArgumentList) -> c_int;
        // SAFETY: passed on.
        unsafe {
            goes_into(pc, file, format, list);
            real!("__vdprintf_chk", Real)(file, flag, format, list)
        }
    }
}

/// `printf`
unsafe extern "C" fn printf(format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vprintf(format, &raw mut (*rest).list, (*rest).pc) }
}

/// `fprintf`
unsafe extern "C" fn fprintf(file: *mut c_void, format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vfprintf(file, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__printf_chk`
unsafe extern "C" fn printf_chk(flag: c_int, format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vprintf_chk(flag, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__fprintf_chk`
unsafe extern "C" fn fprintf_chk(
    file: *mut c_void,
    flag: c_int,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vfprintf_chk(file, flag, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `asprintf`
unsafe extern "C" fn asprintf(to: *mut *mut c_char, format: *const c_char, rest: *mut Variadic) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vasprintf(to, format, &raw mut (*rest).list, (*rest).pc) }
}

/// `__asprintf_chk`
unsafe extern "C" fn asprintf_chk(
    to: *mut *mut c_char,
    flag: c_int,
    format: *const c_char,
    rest: *mut Variadic,
) -> c_int {
    // SAFETY: the shim made it.
    unsafe { vasprintf_chk(to, flag, format, &raw mut (*rest).list, (*rest).pc) }
}

macro_rules! prints {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type,)* format: *const c_char, list: *mut ArgumentList) -> c_int; pc {
                type Real = unsafe extern "C" fn($($type,)* *const c_char, *mut ArgumentList) -> c_int;
                // SAFETY: passed on.
                unsafe {
                    prints(pc, format, list);
                    real!($name, Real)($($argument,)* format, list)
                }
            }
        }
    )*};
}

prints! {
    dh_wrap_vprintf / vprintf "vprintf" ();
    dh_wrap_vfprintf / vfprintf "vfprintf" (file: *mut c_void);
    dh_wrap___vprintf_chk / vprintf_chk "__vprintf_chk" (flag: c_int);
    dh_wrap___vfprintf_chk / vfprintf_chk "__vfprintf_chk" (file: *mut c_void, flag: c_int);
}

macro_rules! makes {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(
                to: *mut *mut c_char, $($argument: $type,)* format: *const c_char, list: *mut ArgumentList,
            ) -> c_int; pc {
                type Real = unsafe extern "C" fn(*mut *mut c_char, $($type,)* *const c_char, *mut ArgumentList) -> c_int;
                // SAFETY: passed on.
                unsafe {
                    prints(pc, format, list);
                    let len = allocates(pc, || real!($name, Real)(to, $($argument,)* format, list));
                    made(pc, to, len)
                }
            }
        }
    )*};
}

makes! {
    dh_wrap_vasprintf / vasprintf "vasprintf" ();
    dh_wrap___vasprintf_chk / vasprintf_chk "__vasprintf_chk" (flag: c_int);
}
