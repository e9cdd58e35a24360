//! Arrays that are sorted in place, texts that are taken apart, and those that are changed from one set of characters to another.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

use super::state::chosen;
use super::string::strtok_r;
use super::touch::{length, read_if, read_text, reads_seldom as reads, write_if, writes_seldom as writes};
use crate::cold::start;

/// What is sorted is written, whatever order it had.
fn sorted(pc: usize, base: *mut c_void, count: usize, size: usize) {
    if count > 1 {
        writes(pc, base.cast::<u8>(), count.saturating_mul(size));
    }
}

functions! {
    dh_wrap_qsort / qsort "qsort" (base: *mut c_void, count: usize, size: usize, order: usize) -> (), pc,
        before sorted(pc, base, count, size), after _got ();
    dh_wrap_qsort_r / qsort_r "qsort_r"
        (base: *mut c_void, count: usize, size: usize, order: usize, more: *mut c_void) -> (), pc,
        before sorted(pc, base, count, size), after _got ();
    dh_wrap_strxfrm / strxfrm "strxfrm" (to: *mut c_char, from: *const c_char, room: usize) -> usize, pc,
        before read_text(pc, from), after got if got < room { writes(pc, to, got + 1) };
    dh_wrap_mbstowcs / mbstowcs "mbstowcs" (to: *mut u32, from: *const c_char, room: usize) -> usize, pc,
        before (), after got converted(pc, to, room, got, || read_text(pc, from));
    dh_wrap_wcstombs / wcstombs "wcstombs" (to: *mut u8, from: *const u32, room: usize) -> usize, pc,
        before (), after got converted(pc, to, room, got, || {});
    dh_wrap___mbstowcs_chk / mbstowcs_chk "__mbstowcs_chk" (to: *mut u32, from: *const c_char, room: usize, all: usize) -> usize, pc,
        before (), after got converted(pc, to, room, got, || read_text(pc, from));
    dh_wrap___wcstombs_chk / wcstombs_chk "__wcstombs_chk" (to: *mut u8, from: *const u32, room: usize, all: usize) -> usize, pc,
        before (), after got converted(pc, to, room, got, || {});
    dh_wrap___wcrtomb_chk / wcrtomb_chk "__wcrtomb_chk" (to: *mut u8, wide: u32, state: *mut c_void, all: usize) -> usize, pc,
        before (), after got if got != usize::MAX && !to.is_null() { writes(pc, to, got) };
    dh_wrap_mbsrtowcs / mbsrtowcs "mbsrtowcs"
        (to: *mut u32, from: *mut *const c_char, room: usize, state: *mut c_void) -> usize, pc,
        before (), after got converted_on(pc, to, room, got, from);
    dh_wrap___mbsrtowcs_chk / mbsrtowcs_chk "__mbsrtowcs_chk"
        (to: *mut u32, from: *mut *const c_char, room: usize, state: *mut c_void, all: usize) -> usize, pc,
        before (), after got converted_on(pc, to, room, got, from);
    dh_wrap_wcsrtombs / wcsrtombs "wcsrtombs"
        (to: *mut u8, from: *mut *const u32, room: usize, state: *mut c_void) -> usize, pc,
        before (), after got converted_on(pc, to, room, got, from);
    dh_wrap___wcsrtombs_chk / wcsrtombs_chk "__wcsrtombs_chk"
        (to: *mut u8, from: *mut *const u32, room: usize, state: *mut c_void, all: usize) -> usize, pc,
        before (), after got converted_on(pc, to, room, got, from);
    dh_wrap_wcrtomb / wcrtomb "wcrtomb" (to: *mut u8, wide: u32, state: *mut c_void) -> usize, pc,
        before (), after got if got != usize::MAX && !to.is_null() { writes(pc, to, got) };
    dh_wrap_mbrtowc / mbrtowc "mbrtowc" (to: *mut u32, from: *const u8, room: usize, state: *mut c_void) -> usize, pc,
        before (),
        after got if got <= room && !from.is_null() {
            reads(pc, from, got.max(1).min(room));
            write_if(pc, to);
        };
    dh_wrap_confstr / confstr "confstr" (name: c_int, to: *mut c_char, room: usize) -> usize, pc,
        before (), after got if got > 0 && !to.is_null() { writes(pc, to, got.min(room)) };
    dh_wrap___confstr_chk / confstr_chk "__confstr_chk" (name: c_int, to: *mut c_char, room: usize, all: usize) -> usize, pc,
        before (), after got if got > 0 && !to.is_null() { writes(pc, to, got.min(room)) };
    dh_wrap_mkdtemp / mkdtemp "mkdtemp" (path: *mut c_char) -> *mut c_char, pc,
        before (), after got if !got.is_null() { chosen(pc, got) };
}

/// A text of wide or other characters was made of another one, so many without the end.
fn converted<T>(pc: usize, to: *mut T, room: usize, got: usize, from: impl Fn()) {
    if to.is_null() || got == usize::MAX {
        return;
    }
    if got < room {
        from();
    }
    writes(pc, to, if got < room { got + 1 } else { got });
}

/// The same where the text is given by a variable, which says then how far it went.
fn converted_on<T, F>(pc: usize, to: *mut T, room: usize, got: usize, from: *mut *const F) {
    if !to.is_null() && got != usize::MAX {
        converted(pc, to, room, got, || {});
        writes(pc, from, 1);
    }
}

/// Where `strtok` goes on: all threads have it in common.
static mut STRTOK_STATE: *mut c_char = null_mut();

intercept! {
    /// `strtok`
    fn dh_wrap_strtok / strtok(text: *mut c_char, set: *const c_char) -> *mut c_char; pc {
        // SAFETY: passed on; the state is the C library's, which no other function knows.
        unsafe { strtok_r(text, set, &raw mut STRTOK_STATE, pc) }
    }
}

intercept! {
    /// `strsep`
    fn dh_wrap_strsep / strsep(rest: *mut *mut c_char, set: *const c_char) -> *mut c_char; pc {
        type Real = unsafe extern "C" fn(*mut *mut c_char, *const c_char) -> *mut c_char;
        // SAFETY: passed on. `rest` holds a position within the text, or null.
        unsafe {
            let token = real!("strsep", Real)(rest, set);
            if start::recording() {
                read_if(pc, rest);
                if !token.is_null() {
                    read_text(pc, set);
                    write_if(pc, rest);
                    let len = length::<u8>(token.cast(), usize::MAX);
                    reads(pc, token, len + 1);
                    // What ended the token is zero now.
                    writes(pc, token.add(len), usize::from(!(*rest).is_null()));
                }
            }
            token
        }
    }
}

/// Where a text goes on, if there is one.
///
/// # Safety
/// `text` is null or can be read.
unsafe fn place(text: *mut *mut c_char) -> *mut c_char {
    // SAFETY: the program's, if it is there.
    if text.is_null() { null_mut() } else { unsafe { *text } }
}

intercept! {
    /// `iconv`
    fn dh_wrap_iconv / iconv(
        how: *mut c_void, from: *mut *mut c_char, left: *mut usize, to: *mut *mut c_char, room: *mut usize,
    ) -> usize; pc {
        type Real = unsafe extern "C" fn(
            *mut c_void, *mut *mut c_char, *mut usize, *mut *mut c_char, *mut usize,
        ) -> usize;
        // SAFETY: passed on.
        unsafe {
            let before = (place(from), place(to));
            let result = real!("iconv", Real)(how, from, left, to, room);
            if start::recording() {
                for (text, size, begin, written) in [(from, left, before.0, false), (to, room, before.1, true)] {
                    if begin.is_null() {
                        continue;
                    }
                    write_if(pc, text);
                    write_if(pc, size);
                    let count = (*text as usize).wrapping_sub(begin as usize);
                    if written { writes(pc, begin, count) } else { reads(pc, begin, count) }
                }
            }
            result
        }
    }
}
