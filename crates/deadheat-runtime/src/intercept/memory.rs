//! Memory functions: copies, fills, comparisons and searches.
//!
//! Programs call them before the runtime has started (from the resolver of an indirect function,
//! from the start of a static program): there the runtime's own copies do the work.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use deadheat_core::options;

use super::touch::{compared, compares, copies, reads, writes};
use crate::cold::start;
use crate::online;

type Copy = unsafe extern "C" fn(*mut c_void, *const c_void, usize) -> *mut c_void;
type Fill = unsafe extern "C" fn(*mut c_void, c_int, usize) -> *mut c_void;
type Compare = unsafe extern "C" fn(*const c_void, *const c_void, usize) -> c_int;
type Search = unsafe extern "C" fn(*const c_void, c_int, usize) -> *mut c_void;

intercept! {
    /// `memcpy`
    fn dh_wrap_memcpy / memcpy(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if start::recording() {
                copies(pc, to, from, len);
            } else if !start::started() {
                core::ptr::copy_nonoverlapping::<u8>(from.cast(), to.cast(), len);
                return to;
            }
            real!("memcpy", Copy)(to, from, len)
        }
    }
}

intercept! {
    /// `memmove`
    fn dh_wrap_memmove / memmove(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if start::recording() {
                copies(pc, to, from, len);
            } else if !start::started() {
                core::ptr::copy::<u8>(from.cast(), to.cast(), len);
                return to;
            }
            real!("memmove", Copy)(to, from, len)
        }
    }
}

intercept! {
    /// `memset`
    fn dh_wrap_memset / memset(to: *mut c_void, byte: c_int, len: usize) -> *mut c_void; pc {
        // SAFETY: passed on, or done as the caller asks.
        unsafe {
            if start::recording() {
                writes::<u8>(pc, to.cast(), len);
            } else if !start::started() {
                core::ptr::write_bytes::<u8>(to.cast(), byte as u8, len);
                return to;
            }
            real!("memset", Fill)(to, byte, len)
        }
    }
}

/// What clang and rustc call in place of `memcpy`.
///
/// # Safety
/// As `memcpy`.
pub(crate) unsafe extern "C" fn on_memcpy(
    to: *mut c_void,
    from: *const c_void,
    len: usize,
    pc: usize,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memcpy(to, from, len, pc) }
}

/// What clang and rustc call in place of `memmove`.
///
/// # Safety
/// As `memmove`.
pub(crate) unsafe extern "C" fn on_memmove(
    to: *mut c_void,
    from: *const c_void,
    len: usize,
    pc: usize,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memmove(to, from, len, pc) }
}

/// What clang and rustc call in place of `memset`.
///
/// # Safety
/// As `memset`.
pub(crate) unsafe extern "C" fn on_memset(
    to: *mut c_void,
    byte: c_int,
    len: usize,
    pc: usize,
) -> *mut c_void {
    // SAFETY: passed on.
    unsafe { memset(to, byte, len, pc) }
}

/// The fortified forms: the real one checks the room and ends the program if it is too small.
macro_rules! fortified_copy {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut c_void, from: *const c_void, len: usize, room: usize) -> *mut c_void; pc {
                type Real = unsafe extern "C" fn(*mut c_void, *const c_void, usize, usize) -> *mut c_void;
                if start::recording() && len <= room {
                    copies(pc, to, from, len);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Real)(to, from, len, room) }
            }
        }
    )*};
}

fortified_copy! {
    dh_wrap___memcpy_chk / memcpy_chk "__memcpy_chk"
    dh_wrap___memmove_chk / memmove_chk "__memmove_chk"
    dh_wrap___mempcpy_chk / mempcpy_chk "__mempcpy_chk"
}

intercept! {
    /// `__memset_chk`
    fn dh_wrap___memset_chk / memset_chk(to: *mut c_void, byte: c_int, len: usize, room: usize) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(*mut c_void, c_int, usize, usize) -> *mut c_void;
        if start::recording() && len <= room {
            writes::<u8>(pc, to.cast(), len);
        }
        // SAFETY: passed on.
        unsafe { real!("__memset_chk", Real)(to, byte, len, room) }
    }
}

macro_rules! copy_of_end {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut c_void, from: *const c_void, len: usize) -> *mut c_void; pc {
                if start::recording() {
                    copies(pc, to, from, len);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Copy)(to, from, len) }
            }
        }
    )*};
}

copy_of_end! {
    dh_wrap_mempcpy / mempcpy "mempcpy"
    dh_wrap___mempcpy / __mempcpy "__mempcpy"
}

intercept! {
    /// `bcopy`
    fn dh_wrap_bcopy / bcopy(from: *const c_void, to: *mut c_void, len: usize); pc {
        type Real = unsafe extern "C" fn(*const c_void, *mut c_void, usize);
        if start::recording() {
            reads::<u8>(pc, from.cast(), len);
            writes::<u8>(pc, to.cast(), len);
        }
        // SAFETY: passed on.
        unsafe { real!("bcopy", Real)(from, to, len) }
    }
}

intercept! {
    /// `bzero`
    fn dh_wrap_bzero / bzero(to: *mut c_void, len: usize); pc {
        type Real = unsafe extern "C" fn(*mut c_void, usize);
        if start::recording() {
            writes::<u8>(pc, to.cast(), len);
        }
        // SAFETY: passed on.
        unsafe { real!("bzero", Real)(to, len) }
    }
}

intercept! {
    /// `explicit_bzero`
    fn dh_wrap_explicit_bzero / explicit_bzero(to: *mut c_void, len: usize); pc {
        type Real = unsafe extern "C" fn(*mut c_void, usize);
        if start::recording() {
            writes::<u8>(pc, to.cast(), len);
        }
        // SAFETY: passed on.
        unsafe { real!("explicit_bzero", Real)(to, len) }
    }
}

intercept! {
    /// `__explicit_bzero_chk`
    fn dh_wrap___explicit_bzero_chk / explicit_bzero_chk(to: *mut c_void, len: usize, room: usize); pc {
        type Real = unsafe extern "C" fn(*mut c_void, usize, usize);
        if start::recording() && len <= room {
            writes::<u8>(pc, to.cast(), len);
        }
        // SAFETY: passed on.
        unsafe { real!("__explicit_bzero_chk", Real)(to, len, room) }
    }
}

intercept! {
    /// `swab`: an odd last byte is not touched.
    fn dh_wrap_swab / swab(from: *const c_void, to: *mut c_void, len: isize); pc {
        type Real = unsafe extern "C" fn(*const c_void, *mut c_void, isize);
        if start::recording() {
            let pairs = len.max(0) as usize & !1;
            reads::<u8>(pc, from.cast(), pairs);
            writes::<u8>(pc, to.cast(), pairs);
        }
        // SAFETY: passed on.
        unsafe { real!("swab", Real)(from, to, len) }
    }
}

intercept! {
    /// `memccpy`: ends behind the first `byte`.
    fn dh_wrap_memccpy / memccpy(
        to: *mut c_void, from: *const c_void, byte: c_int, len: usize,
    ) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(*mut c_void, *const c_void, c_int, usize) -> *mut c_void;
        // SAFETY: passed on.
        let end = unsafe { real!("memccpy", Real)(to, from, byte, len) };
        if start::recording() {
            let copied = if end.is_null() { len } else { end as usize - to as usize };
            reads::<u8>(pc, from.cast(), copied);
            writes::<u8>(pc, to.cast(), copied);
        }
        end
    }
}

/// Whether a comparison reads all of both blocks. It compares so many characters, says the standard, and what is behind their first difference is really looked
/// at, by words and vectors.
static COMPARES_ALL: AtomicBool = AtomicBool::new(true);

/// Takes the options; no other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    COMPARES_ALL.store(options::compares_all(texts), Ordering::Relaxed);
}

/// What `memcmp` or `bcmp` says of blocks that differ in the last of so many bytes, if at all.
///
/// # Safety
/// Both blocks have `len` bytes.
#[inline(always)]
unsafe fn compare(one: *const u8, other: *const u8, len: usize) -> c_int {
    // SAFETY: the caller's promise: both have them.
    unsafe {
        match len {
            0 => 0,
            len => c_int::from(one.add(len - 1).read()) - c_int::from(other.add(len - 1).read()),
        }
    }
}

macro_rules! comparison {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(one: *const c_void, other: *const c_void, len: usize) -> c_int; pc {
                // SAFETY: passed on, or done as the caller asks.
                unsafe {
                    if start::started() && !start::recording() {
                        return real!($name, Compare)(one, other, len);
                    }
                    let alike = compared(one.cast(), other.cast(), len);
                    let seen = if COMPARES_ALL.load(Ordering::Relaxed) { len } else { alike };
                    if online::only() {
                        compares(pc, one, other, seen);
                    } else if start::recording() {
                        reads::<u8>(pc, one.cast(), seen);
                        reads::<u8>(pc, other.cast(), seen);
                        return real!($name, Compare)(one, other, len);
                    }
                    compare(one.cast(), other.cast(), alike)
                }
            }
        }
    )*};
}

comparison! {
    dh_wrap_memcmp / memcmp "memcmp"
    dh_wrap_bcmp / bcmp "bcmp"
}

intercept! {
    /// `memchr`
    fn dh_wrap_memchr / memchr(block: *const c_void, byte: c_int, len: usize) -> *mut c_void; pc {
        // SAFETY: passed on.
        let hit = unsafe { real!("memchr", Search)(block, byte, len) };
        if start::recording() {
            let seen = if hit.is_null() { len } else { hit as usize - block as usize + 1 };
            reads::<u8>(pc, block.cast(), seen);
        }
        hit
    }
}

intercept! {
    /// `memrchr`: searches from the end.
    fn dh_wrap_memrchr / memrchr(block: *const c_void, byte: c_int, len: usize) -> *mut c_void; pc {
        // SAFETY: passed on.
        let hit = unsafe { real!("memrchr", Search)(block, byte, len) };
        if start::recording() {
            let first = if hit.is_null() { block } else { hit.cast_const() };
            reads::<u8>(pc, first.cast(), len - (first as usize - block as usize));
        }
        hit
    }
}

intercept! {
    /// `rawmemchr`
    fn dh_wrap_rawmemchr / rawmemchr(block: *const c_void, byte: c_int) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(*const c_void, c_int) -> *mut c_void;
        // SAFETY: passed on.
        let hit = unsafe { real!("rawmemchr", Real)(block, byte) };
        if start::recording() {
            reads::<u8>(pc, block.cast(), hit as usize - block as usize + 1);
        }
        hit
    }
}

intercept! {
    /// `memmem`
    fn dh_wrap_memmem / memmem(
        block: *const c_void, len: usize, wanted: *const c_void, wanted_len: usize,
    ) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(*const c_void, usize, *const c_void, usize) -> *mut c_void;
        // SAFETY: passed on.
        let hit = unsafe { real!("memmem", Real)(block, len, wanted, wanted_len) };
        if start::recording() && wanted_len <= len {
            let seen = if hit.is_null() { len } else { hit as usize - block as usize + wanted_len };
            reads::<u8>(pc, block.cast(), if wanted_len == 0 { 0 } else { seen });
            reads::<u8>(pc, wanted.cast(), wanted_len);
        }
        hit
    }
}
