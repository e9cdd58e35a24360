//! Memory and text functions of wide characters.

use core::ffi::c_int;

use super::caller::allocates;
use super::touch::{compared_text, length, reads, writes};
use crate::cold::start;

/// A C `wchar_t`, without its sign.
type Wide = u32;

type Copy = unsafe extern "C" fn(*mut Wide, *const Wide, usize) -> *mut Wide;
type Compare = unsafe extern "C" fn(*const Wide, *const Wide) -> c_int;
type ComparePart = unsafe extern "C" fn(*const Wide, *const Wide, usize) -> c_int;
type Find = unsafe extern "C" fn(*const Wide, Wide) -> *mut Wide;

/// The characters of a text, its end included.
///
/// # Safety
/// `text` ends with a zero.
unsafe fn whole(text: *const Wide) -> usize {
    // SAFETY: the caller's text ends.
    unsafe { length(text, usize::MAX) + 1 }
}

/// From `start` up to and with `last`.
fn up_to(start: *const Wide, last: *const Wide) -> usize {
    (last as usize - start as usize) / size_of::<Wide>() + 1
}

macro_rules! copies {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, from: *const Wide, count: usize) -> *mut Wide; pc {
                if start::recording() {
                    reads(pc, from, count);
                    writes(pc, to, count);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Copy)(to, from, count) }
            }
        }
    )*};
}

copies! {
    dh_wrap_wmemcpy / wmemcpy "wmemcpy"
    dh_wrap_wmemmove / wmemmove "wmemmove"
    dh_wrap_wmempcpy / wmempcpy "wmempcpy"
}

macro_rules! fortified_copies {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, from: *const Wide, count: usize, room: usize) -> *mut Wide; pc {
                type Real = unsafe extern "C" fn(*mut Wide, *const Wide, usize, usize) -> *mut Wide;
                if start::recording() && count <= room {
                    reads(pc, from, count);
                    writes(pc, to, count);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Real)(to, from, count, room) }
            }
        }
    )*};
}

fortified_copies! {
    dh_wrap___wmemcpy_chk / wmemcpy_chk "__wmemcpy_chk"
    dh_wrap___wmemmove_chk / wmemmove_chk "__wmemmove_chk"
    dh_wrap___wmempcpy_chk / wmempcpy_chk "__wmempcpy_chk"
}

macro_rules! fills {
    ($($export:ident / $inner:ident $name:literal ($($room:ident: $type:ty)?))*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, wide: Wide, count: usize $(, $room: $type)?) -> *mut Wide; pc {
                type Real = unsafe extern "C" fn(*mut Wide, Wide, usize $(, $type)?) -> *mut Wide;
                if start::recording() $(&& count <= $room)? {
                    writes(pc, to, count);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Real)(to, wide, count $(, $room)?) }
            }
        }
    )*};
}

fills! {
    dh_wrap_wmemset / wmemset "wmemset" ()
    dh_wrap___wmemset_chk / wmemset_chk "__wmemset_chk" (room: usize)
}

intercept! {
    /// `wmemcmp`
    fn dh_wrap_wmemcmp / wmemcmp(one: *const Wide, other: *const Wide, count: usize) -> c_int; pc {
        // SAFETY: passed on; both have `count` characters.
        unsafe {
            if start::recording() {
                let mut seen = 0;
                while seen < count {
                    seen += 1;
                    if one.add(seen - 1).read_volatile() != other.add(seen - 1).read_volatile() {
                        break;
                    }
                }
                reads(pc, one, seen);
                reads(pc, other, seen);
            }
            real!("wmemcmp", ComparePart)(one, other, count)
        }
    }
}

intercept! {
    /// `wmemchr`
    fn dh_wrap_wmemchr / wmemchr(block: *const Wide, wide: Wide, count: usize) -> *mut Wide; pc {
        type Real = unsafe extern "C" fn(*const Wide, Wide, usize) -> *mut Wide;
        // SAFETY: passed on.
        let hit = unsafe { real!("wmemchr", Real)(block, wide, count) };
        if start::recording() {
            reads(pc, block, if hit.is_null() { count } else { up_to(block, hit) });
        }
        hit
    }
}

intercept! {
    /// `wcslen`
    fn dh_wrap_wcslen / wcslen(text: *const Wide) -> usize; pc {
        type Real = unsafe extern "C" fn(*const Wide) -> usize;
        // SAFETY: passed on.
        let length = unsafe { real!("wcslen", Real)(text) };
        if start::recording() {
            reads(pc, text, length + 1);
        }
        length
    }
}

intercept! {
    /// `wcsnlen`
    fn dh_wrap_wcsnlen / wcsnlen(text: *const Wide, limit: usize) -> usize; pc {
        type Real = unsafe extern "C" fn(*const Wide, usize) -> usize;
        // SAFETY: passed on.
        let length = unsafe { real!("wcsnlen", Real)(text, limit) };
        if start::recording() {
            reads(pc, text, length.saturating_add(1).min(limit));
        }
        length
    }
}

macro_rules! text_copies {
    ($($export:ident / $inner:ident $name:literal ($($room:ident: $type:ty)?))*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, from: *const Wide $(, $room: $type)?) -> *mut Wide; pc {
                type Real = unsafe extern "C" fn(*mut Wide, *const Wide $(, $type)?) -> *mut Wide;
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        let count = whole(from);
                        reads(pc, from, count);
                        writes(pc, to, count);
                    }
                    real!($name, Real)(to, from $(, $room)?)
                }
            }
        }
    )*};
}

text_copies! {
    dh_wrap_wcscpy / wcscpy "wcscpy" ()
    dh_wrap_wcpcpy / wcpcpy "wcpcpy" ()
    dh_wrap___wcscpy_chk / wcscpy_chk "__wcscpy_chk" (room: usize)
    dh_wrap___wcpcpy_chk / wcpcpy_chk "__wcpcpy_chk" (room: usize)
}

macro_rules! text_copies_of_part {
    ($($export:ident / $inner:ident $name:literal ($($room:ident: $type:ty)?))*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, from: *const Wide, count: usize $(, $room: $type)?) -> *mut Wide; pc {
                type Real = unsafe extern "C" fn(*mut Wide, *const Wide, usize $(, $type)?) -> *mut Wide;
                // SAFETY: passed on. The rest of `to` is filled with zeros.
                unsafe {
                    if start::recording() {
                        reads(pc, from, length(from, count).saturating_add(1).min(count));
                        writes(pc, to, count);
                    }
                    real!($name, Real)(to, from, count $(, $room)?)
                }
            }
        }
    )*};
}

text_copies_of_part! {
    dh_wrap_wcsncpy / wcsncpy "wcsncpy" ()
    dh_wrap_wcpncpy / wcpncpy "wcpncpy" ()
    dh_wrap___wcsncpy_chk / wcsncpy_chk "__wcsncpy_chk" (room: usize)
    dh_wrap___wcpncpy_chk / wcpncpy_chk "__wcpncpy_chk" (room: usize)
}

macro_rules! appends {
    ($($export:ident / $inner:ident $name:literal ($($room:ident: $type:ty)?))*) => {$(
        intercept! {
            fn $export / $inner(to: *mut Wide, from: *const Wide $(, $room: $type)?) -> *mut Wide; pc {
                type Real = unsafe extern "C" fn(*mut Wide, *const Wide $(, $type)?) -> *mut Wide;
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        let (before, count) = (whole(to), whole(from));
                        reads(pc, to, before);
                        reads(pc, from, count);
                        writes(pc, to.add(before - 1), count);
                    }
                    real!($name, Real)(to, from $(, $room)?)
                }
            }
        }
    )*};
}

appends! {
    dh_wrap_wcscat / wcscat "wcscat" ()
    dh_wrap___wcscat_chk / wcscat_chk "__wcscat_chk" (room: usize)
}

intercept! {
    /// `wcscmp`
    fn dh_wrap_wcscmp / wcscmp(one: *const Wide, other: *const Wide) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let seen = compared_text(one, other, usize::MAX, |a, b| a == b);
                reads(pc, one, seen);
                reads(pc, other, seen);
            }
            real!("wcscmp", Compare)(one, other)
        }
    }
}

intercept! {
    /// `wcsncmp`
    fn dh_wrap_wcsncmp / wcsncmp(one: *const Wide, other: *const Wide, limit: usize) -> c_int; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                let seen = compared_text(one, other, limit, |a, b| a == b);
                reads(pc, one, seen);
                reads(pc, other, seen);
            }
            real!("wcsncmp", ComparePart)(one, other, limit)
        }
    }
}

intercept! {
    /// `wcschr`
    fn dh_wrap_wcschr / wcschr(text: *const Wide, wanted: Wide) -> *mut Wide; pc {
        // SAFETY: passed on.
        unsafe {
            let hit = real!("wcschr", Find)(text, wanted);
            if start::recording() {
                reads(pc, text, if hit.is_null() { whole(text) } else { up_to(text, hit) });
            }
            hit
        }
    }
}

intercept! {
    /// `wcsrchr`: always looks at the whole text.
    fn dh_wrap_wcsrchr / wcsrchr(text: *const Wide, wanted: Wide) -> *mut Wide; pc {
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                reads(pc, text, whole(text));
            }
            real!("wcsrchr", Find)(text, wanted)
        }
    }
}

intercept! {
    /// `wcsdup`
    fn dh_wrap_wcsdup / wcsdup(text: *const Wide) -> *mut Wide; pc {
        type Real = unsafe extern "C" fn(*const Wide) -> *mut Wide;
        // SAFETY: passed on.
        unsafe {
            let copy = allocates(pc, || real!("wcsdup", Real)(text));
            if start::recording() {
                let count = whole(text);
                reads(pc, text, count);
                writes(pc, copy, if copy.is_null() { 0 } else { count });
            }
            copy
        }
    }
}
