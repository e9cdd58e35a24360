//! Text functions.
//!
//! What a function reads is found with the real functions before the call where they say it, and
//! from the result after it otherwise.

use core::ffi::{c_char, c_int};

use super::caller::allocates;
use super::touch::{compared_text, length, reads, writes};
use crate::cold::start;

type Length = unsafe extern "C" fn(*const c_char) -> usize;
type Copy = unsafe extern "C" fn(*mut c_char, *const c_char) -> *mut c_char;
type CopyChecked = unsafe extern "C" fn(*mut c_char, *const c_char, usize) -> *mut c_char;
type CopyPart = unsafe extern "C" fn(*mut c_char, *const c_char, usize) -> *mut c_char;
type CopyPartChecked = unsafe extern "C" fn(*mut c_char, *const c_char, usize, usize) -> *mut c_char;
type Compare = unsafe extern "C" fn(*const c_char, *const c_char) -> c_int;
type ComparePart = unsafe extern "C" fn(*const c_char, *const c_char, usize) -> c_int;
type Find = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_char;
type FindText = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_char;
type Span = unsafe extern "C" fn(*const c_char, *const c_char) -> usize;

/// The bytes of a text, its end included.
///
/// # Safety
/// `text` ends with a NUL.
unsafe fn whole(text: *const c_char) -> usize {
    // SAFETY: the caller's text ends.
    unsafe { real!("strlen", Length)(text) + 1 }
}

/// The bytes of a text that a function looks at which stops after `limit`.
///
/// # Safety
/// `text` ends with a NUL or has `limit` bytes.
unsafe fn part(text: *const c_char, limit: usize) -> usize {
    type Real = unsafe extern "C" fn(*const c_char, usize) -> usize;
    // SAFETY: the caller's text ends or has `limit` bytes.
    let length = unsafe { real!("strnlen", Real)(text, limit) };
    length.saturating_add(1).min(limit)
}

/// From `start` up to and with `last`.
fn up_to(start: *const c_char, last: *const c_char) -> usize {
    last as usize - start as usize + 1
}

intercept! {
    /// `strlen`
    fn dh_wrap_strlen / strlen(text: *const c_char) -> usize; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if !start::started() {
                return length::<u8>(text.cast(), usize::MAX);
            }
            let length = real!("strlen", Length)(text);
            if start::recording() {
                reads(pc, text, length + 1);
            }
            length
        }
    }
}

intercept! {
    /// `strnlen`
    fn dh_wrap_strnlen / strnlen(text: *const c_char, limit: usize) -> usize; pc {
        type Real = unsafe extern "C" fn(*const c_char, usize) -> usize;
        // SAFETY: passed on.
        let length = unsafe { real!("strnlen", Real)(text, limit) };
        if start::recording() {
            reads(pc, text, length.saturating_add(1).min(limit));
        }
        length
    }
}

macro_rules! text_copy {
    ($($export:ident / $inner:ident $name:literal; $checked_export:ident / $checked_inner:ident $checked:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut c_char, from: *const c_char) -> *mut c_char; pc {
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        let len = whole(from);
                        reads(pc, from, len);
                        writes(pc, to, len);
                    }
                    real!($name, Copy)(to, from)
                }
            }
        }
        intercept! {
            fn $checked_export / $checked_inner(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char; pc {
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        let len = whole(from);
                        reads(pc, from, len);
                        writes(pc, to, len.min(room));
                    }
                    real!($checked, CopyChecked)(to, from, room)
                }
            }
        }
    )*};
}

text_copy! {
    dh_wrap_strcpy / strcpy "strcpy"; dh_wrap___strcpy_chk / strcpy_chk "__strcpy_chk"
    dh_wrap_stpcpy / stpcpy "stpcpy"; dh_wrap___stpcpy_chk / stpcpy_chk "__stpcpy_chk"
}

macro_rules! text_copy_part {
    ($($export:ident / $inner:ident $name:literal; $checked_export:ident / $checked_inner:ident $checked:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut c_char, from: *const c_char, len: usize) -> *mut c_char; pc {
                // SAFETY: passed on. The rest of `to` is filled with zeros.
                unsafe {
                    if start::recording() {
                        reads(pc, from, part(from, len));
                        writes(pc, to, len);
                    }
                    real!($name, CopyPart)(to, from, len)
                }
            }
        }
        intercept! {
            fn $checked_export / $checked_inner(
                to: *mut c_char, from: *const c_char, len: usize, room: usize,
            ) -> *mut c_char; pc {
                // SAFETY: passed on.
                unsafe {
                    if start::recording() && len <= room {
                        reads(pc, from, part(from, len));
                        writes(pc, to, len);
                    }
                    real!($checked, CopyPartChecked)(to, from, len, room)
                }
            }
        }
    )*};
}

text_copy_part! {
    dh_wrap_strncpy / strncpy "strncpy"; dh_wrap___strncpy_chk / strncpy_chk "__strncpy_chk"
    dh_wrap_stpncpy / stpncpy "stpncpy"; dh_wrap___stpncpy_chk / stpncpy_chk "__stpncpy_chk"
}

/// Records that `read` bytes of `from` are appended to the text `to`, whose end is written anew.
///
/// # Safety
/// `to` ends with a NUL.
unsafe fn append(pc: usize, to: *mut c_char, from: *const c_char, read: usize, written: usize) {
    // SAFETY: the caller's text ends.
    unsafe {
        let before = whole(to);
        reads(pc, to, before);
        reads(pc, from, read);
        writes(pc, to.add(before - 1), written);
    }
}

intercept! {
    /// `strcat`
    fn dh_wrap_strcat / strcat(to: *mut c_char, from: *const c_char) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let len = whole(from);
                append(pc, to, from, len, len);
            }
            real!("strcat", Copy)(to, from)
        }
    }
}

intercept! {
    /// `__strcat_chk`
    fn dh_wrap___strcat_chk / strcat_chk(to: *mut c_char, from: *const c_char, room: usize) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let len = whole(from);
                append(pc, to, from, len, len);
            }
            real!("__strcat_chk", CopyChecked)(to, from, room)
        }
    }
}

intercept! {
    /// `strncat`: always ends what it wrote.
    fn dh_wrap_strncat / strncat(to: *mut c_char, from: *const c_char, limit: usize) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let read = part(from, limit);
                append(pc, to, from, read, length::<u8>(from.cast(), limit) + 1);
            }
            real!("strncat", CopyPart)(to, from, limit)
        }
    }
}

intercept! {
    /// `__strncat_chk`
    fn dh_wrap___strncat_chk / strncat_chk(
        to: *mut c_char, from: *const c_char, limit: usize, room: usize,
    ) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let read = part(from, limit);
                append(pc, to, from, read, length::<u8>(from.cast(), limit) + 1);
            }
            real!("__strncat_chk", CopyPartChecked)(to, from, limit, room)
        }
    }
}

/// Records what a comparison looks at.
///
/// # Safety
/// The texts end or have `limit` bytes.
unsafe fn compare(pc: usize, one: *const c_char, other: *const c_char, limit: usize, fold: bool) {
    // Letters beyond ASCII count as different: in a locale that folds them, what follows the first
    // such pair is not recorded.
    let same = |a: u8, b: u8| if fold { a.eq_ignore_ascii_case(&b) } else { a == b };
    // SAFETY: the caller's promise.
    let seen = unsafe { compared_text::<u8>(one.cast(), other.cast(), limit, same) };
    reads(pc, one, seen);
    reads(pc, other, seen);
}

intercept! {
    /// `strcmp`
    fn dh_wrap_strcmp / strcmp(one: *const c_char, other: *const c_char) -> c_int; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if start::recording() {
                compare(pc, one, other, usize::MAX, false);
            } else if !start::started() {
                return compare_early(one.cast(), other.cast(), usize::MAX);
            }
            real!("strcmp", Compare)(one, other)
        }
    }
}

intercept! {
    /// `strncmp`
    fn dh_wrap_strncmp / strncmp(one: *const c_char, other: *const c_char, limit: usize) -> c_int; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if start::recording() {
                compare(pc, one, other, limit, false);
            } else if !start::started() {
                return compare_early(one.cast(), other.cast(), limit);
            }
            real!("strncmp", ComparePart)(one, other, limit)
        }
    }
}

/// `strcmp` or `strncmp` before the runtime has started.
///
/// # Safety
/// The texts end or have `limit` bytes.
unsafe fn compare_early(one: *const u8, other: *const u8, limit: usize) -> c_int {
    // SAFETY: the caller's promise: the texts end or have `limit` bytes.
    unsafe {
        match compared_text::<u8>(one, other, limit, |a, b| a == b) {
            0 => 0,
            seen => c_int::from(one.add(seen - 1).read()) - c_int::from(other.add(seen - 1).read()),
        }
    }
}

intercept! {
    /// `strcasecmp`
    fn dh_wrap_strcasecmp / strcasecmp(one: *const c_char, other: *const c_char) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                compare(pc, one, other, usize::MAX, true);
            }
            real!("strcasecmp", Compare)(one, other)
        }
    }
}

intercept! {
    /// `strncasecmp`
    fn dh_wrap_strncasecmp / strncasecmp(one: *const c_char, other: *const c_char, limit: usize) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                compare(pc, one, other, limit, true);
            }
            real!("strncasecmp", ComparePart)(one, other, limit)
        }
    }
}

intercept! {
    /// `strchr`
    fn dh_wrap_strchr / strchr(text: *const c_char, wanted: c_int) -> *mut c_char; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if !start::started() {
                return find_early(text, wanted as u8);
            }
            let hit = real!("strchr", Find)(text, wanted);
            if start::recording() {
                reads(pc, text, if hit.is_null() { whole(text) } else { up_to(text, hit) });
            }
            hit
        }
    }
}

/// `strchr` before the runtime has started.
///
/// # Safety
/// `text` ends with a NUL.
unsafe fn find_early(text: *const c_char, wanted: u8) -> *mut c_char {
    let mut at = text.cast::<u8>();
    // SAFETY: the caller's text ends.
    unsafe {
        while at.read() != wanted {
            if at.read() == 0 {
                return core::ptr::null_mut();
            }
            at = at.add(1);
        }
    }
    at.cast_mut().cast()
}

intercept! {
    /// `strrchr`: always looks at the whole text.
    fn dh_wrap_strrchr / strrchr(text: *const c_char, wanted: c_int) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                reads(pc, text, whole(text));
            }
            real!("strrchr", Find)(text, wanted)
        }
    }
}

intercept! {
    /// `strchrnul`
    fn dh_wrap_strchrnul / strchrnul(text: *const c_char, wanted: c_int) -> *mut c_char; pc {
        // SAFETY: passed on.
        let hit = unsafe { real!("strchrnul", Find)(text, wanted) };
        if start::recording() {
            reads(pc, text, up_to(text, hit));
        }
        hit
    }
}

macro_rules! find_text {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, wanted: *const c_char) -> *mut c_char; pc {
                // SAFETY: passed on. The text is read up to the end of the first match.
                unsafe {
                    let hit = real!($name, FindText)(text, wanted);
                    if start::recording() {
                        let len = whole(wanted);
                        let seen = if hit.is_null() { whole(text) } else { hit as usize - text as usize + len - 1 };
                        reads(pc, text, seen);
                        reads(pc, wanted, len);
                    }
                    hit
                }
            }
        }
    )*};
}

find_text! {
    dh_wrap_strstr / strstr "strstr"
    dh_wrap_strcasestr / strcasestr "strcasestr"
}

macro_rules! span {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, set: *const c_char) -> usize; pc {
                // SAFETY: passed on.
                unsafe {
                    let span = real!($name, Span)(text, set);
                    if start::recording() {
                        reads(pc, text, span + 1);
                        reads(pc, set, whole(set));
                    }
                    span
                }
            }
        }
    )*};
}

span! {
    dh_wrap_strspn / strspn "strspn"
    dh_wrap_strcspn / strcspn "strcspn"
}

intercept! {
    /// `strpbrk`
    fn dh_wrap_strpbrk / strpbrk(text: *const c_char, set: *const c_char) -> *mut c_char; pc {
        // SAFETY: passed on.
        unsafe {
            let hit = real!("strpbrk", FindText)(text, set);
            if start::recording() {
                reads(pc, text, if hit.is_null() { whole(text) } else { up_to(text, hit) });
                reads(pc, set, whole(set));
            }
            hit
        }
    }
}

macro_rules! tokens {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            pub(super) fn $export / $inner(text: *mut c_char, set: *const c_char, rest: *mut *mut c_char) -> *mut c_char; pc {
                type Real = unsafe extern "C" fn(*mut c_char, *const c_char, *mut *mut c_char) -> *mut c_char;
                // SAFETY: passed on. `rest` holds a position within the text.
                unsafe {
                    if !start::recording() {
                        return real!($name, Real)(text, set, rest);
                    }
                    reads(pc, set, whole(set));
                    if text.is_null() {
                        reads(pc, rest, 1);
                    }
                    let from = if text.is_null() { *rest } else { text };
                    let token = real!($name, Real)(text, set, rest);
                    writes(pc, rest, 1);
                    if token.is_null() {
                        reads(pc, from, if from.is_null() { 0 } else { whole(from) });
                        return token;
                    }
                    // Either behind the separator, now zero, that ended the token, or at the text's end.
                    let len = whole(token);
                    let separated = *rest as usize == token as usize + len;
                    reads(pc, from, token as usize - from as usize + len);
                    writes(pc, token.add(len - 1), usize::from(separated));
                    token
                }
            }
        }
    )*};
}

tokens! {
    dh_wrap_strtok_r / strtok_r "strtok_r"
    dh_wrap___strtok_r / __strtok_r "__strtok_r"
}

macro_rules! duplicate {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char) -> *mut c_char; pc {
                type Real = unsafe extern "C" fn(*const c_char) -> *mut c_char;
                // SAFETY: passed on.
                unsafe {
                    let copy = allocates(pc, || real!($name, Real)(text));
                    if start::recording() {
                        let len = whole(text);
                        reads(pc, text, len);
                        writes(pc, copy, if copy.is_null() { 0 } else { len });
                    }
                    copy
                }
            }
        }
    )*};
}

duplicate! {
    dh_wrap_strdup / strdup "strdup"
    dh_wrap___strdup / __strdup "__strdup"
}

macro_rules! duplicate_part {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, limit: usize) -> *mut c_char; pc {
                type Real = unsafe extern "C" fn(*const c_char, usize) -> *mut c_char;
                // SAFETY: passed on. The copy ends even where the text was cut.
                unsafe {
                    let copy = allocates(pc, || real!($name, Real)(text, limit));
                    if start::recording() {
                        reads(pc, text, part(text, limit));
                        writes(pc, copy, if copy.is_null() { 0 } else { whole(copy) });
                    }
                    copy
                }
            }
        }
    )*};
}

duplicate_part! {
    dh_wrap_strndup / strndup "strndup"
    dh_wrap___strndup / __strndup "__strndup"
}

intercept! {
    /// `strerror_r`, GNU's: the text is in the buffer or is one of the C library's own.
    fn dh_wrap_strerror_r / strerror_r(number: c_int, room: *mut c_char, len: usize) -> *mut c_char; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_char, usize) -> *mut c_char;
        // SAFETY: passed on.
        unsafe {
            let text = real!("strerror_r", Real)(number, room, len);
            if text == room && len > 0 && start::recording() {
                writes(pc, text, whole(text));
            }
            text
        }
    }
}

intercept! {
    /// `strerror_r`, POSIX's
    fn dh_wrap___xpg_strerror_r / xpg_strerror_r(number: c_int, room: *mut c_char, len: usize) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_char, usize) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let result = real!("__xpg_strerror_r", Real)(number, room, len);
            if len > 0 && start::recording() {
                writes(pc, room, whole(room));
            }
            result
        }
    }
}
