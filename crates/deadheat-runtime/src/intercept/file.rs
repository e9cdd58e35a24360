//! `read`, `write` and their family.
//!
//! Only the bytes that were really transferred count; of what goes into a pipe or the like, which
//! is read before its release and so before the call, those that the call asks for. What goes in
//! is released before the call, what comes out acquired after it (see [`super::descriptor`]).

use core::ffi::{c_int, c_void};

use super::descriptor::{acquire, closing, created, made, release, used};
use super::sent;
use super::touch::{asked_to_read, can_read, readable, system_reads, system_writes};
use crate::cold::start;

/// A `struct iovec`.
#[derive(Clone, Copy)]
#[repr(C)]
pub(super) struct Part {
    base: *mut c_void,
    len: usize,
}

/// More parts the kernel does not take.
const MOST: usize = 1024;

/// Calls `each` for those of the `count` parts that `total` bytes fill; if that is the largest number, before the kernel is asked to read the parts.
///
/// # Safety
/// There are `count` parts, unless the kernel is still to find that it cannot read them.
pub(super) unsafe fn each_part(
    parts: *const Part,
    count: usize,
    total: isize,
    each: impl Fn(*mut c_void, usize),
) {
    let mut left = total.max(0) as usize;
    // What has taken place has read them.
    let asked = total == isize::MAX;
    if asked && !(count <= MOST && can_read(parts.addr(), count * size_of::<Part>())) {
        return;
    }
    for i in 0..count {
        if left == 0 {
            return;
        }
        // SAFETY: the caller's promise.
        let part = unsafe { parts.add(i).read() };
        let len = if asked { readable(part.base.addr(), part.len) } else { part.len }.min(left);
        each(part.base, len);
        left -= len;
    }
}

/// Transfers into one buffer. `ordered`: whether the function can be used on a pipe.
macro_rules! read_into {
    ($($export:ident / $inner:ident $name:literal $ordered:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, to: *mut c_void, len: usize $(, $more: $type)*) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, *mut c_void, usize $(, $type)*) -> isize;
                // SAFETY: passed on.
                let got = unsafe { real!($name, Real)(file, to, len $(, $more)*) };
                if got >= 0 && start::recording() {
                    if $ordered { acquire(pc, file) } else { used(pc, file) }
                    system_writes(pc, to, (got as usize).min(len));
                    if $ordered {
                        // SAFETY: so many bytes were read.
                        unsafe { sent::taken(pc, file, (to, (got as usize).min(len))) };
                    }
                }
                got
            }
        }
    )*};
}

read_into! {
    dh_wrap_read / read "read" true ();
    dh_wrap___read_chk / read_chk "__read_chk" true (room: usize);
    dh_wrap_pread / pread "pread" false (at: i64);
    dh_wrap_pread64 / pread64 "pread64" false (at: i64);
    dh_wrap___pread_chk / pread_chk "__pread_chk" false (at: i64, room: usize);
    dh_wrap___pread64_chk / pread64_chk "__pread64_chk" false (at: i64, room: usize);
    dh_wrap_recv / recv "recv" true (flags: c_int);
    dh_wrap___recv_chk / recv_chk "__recv_chk" true (room: usize, flags: c_int);
}

/// Transfers from one buffer.
macro_rules! write_from {
    ($($export:ident / $inner:ident $name:literal $ordered:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, from: *const c_void, len: usize $(, $more: $type)*) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, *const c_void, usize $(, $type)*) -> isize;
                let told = $ordered
                    && start::recording()
                    && release(pc, file, || asked_to_read(pc, from, len));
                if !$ordered {
                    used(pc, file);
                }
                // SAFETY: passed on.
                let put = unsafe { real!($name, Real)(file, from, len $(, $more)*) };
                if !told && put > 0 && start::recording() {
                    system_reads(pc, from, put as usize);
                }
                put
            }
        }
    )*};
}

write_from! {
    dh_wrap_write / write "write" true ();
    dh_wrap_pwrite / pwrite "pwrite" false (at: i64);
    dh_wrap_pwrite64 / pwrite64 "pwrite64" false (at: i64);
    dh_wrap_send / send "send" true (flags: c_int);
}

/// Transfers into several buffers.
macro_rules! read_into_parts {
    ($($export:ident / $inner:ident $name:literal $ordered:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, parts: *const Part, count: c_int $(, $more: $type)*) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, *const Part, c_int $(, $type)*) -> isize;
                // SAFETY: passed on.
                unsafe {
                    let got = real!($name, Real)(file, parts, count $(, $more)*);
                    if got >= 0 && start::recording() {
                        if $ordered { acquire(pc, file) } else { used(pc, file) }
                        each_part(parts, count as usize, got, |to, len| system_writes(pc, to, len));
                    }
                    got
                }
            }
        }
    )*};
}

read_into_parts! {
    dh_wrap_readv / readv "readv" true ();
    dh_wrap_preadv / preadv "preadv" false (at: i64);
    dh_wrap_preadv64 / preadv64 "preadv64" false (at: i64);
    dh_wrap_preadv2 / preadv2 "preadv2" true (at: i64, flags: c_int);
    dh_wrap_preadv64v2 / preadv64v2 "preadv64v2" true (at: i64, flags: c_int);
}

/// Transfers from several buffers.
macro_rules! write_from_parts {
    ($($export:ident / $inner:ident $name:literal $ordered:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, parts: *const Part, count: c_int $(, $more: $type)*) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, *const Part, c_int $(, $type)*) -> isize;
                // SAFETY: passed on.
                unsafe {
                    let read = |total| {
                        each_part(parts, count as usize, total, |from, len| system_reads(pc, from, len));
                    };
                    let told = $ordered && start::recording() && release(pc, file, || read(isize::MAX));
                    if !$ordered {
                        used(pc, file);
                    }
                    let put = real!($name, Real)(file, parts, count $(, $more)*);
                    if !told && put > 0 && start::recording() {
                        read(put);
                    }
                    put
                }
            }
        }
    )*};
}

write_from_parts! {
    dh_wrap_writev / writev "writev" true ();
    dh_wrap_pwritev / pwritev "pwritev" false (at: i64);
    dh_wrap_pwritev64 / pwritev64 "pwritev64" false (at: i64);
    dh_wrap_pwritev2 / pwritev2 "pwritev2" true (at: i64, flags: c_int);
    dh_wrap_pwritev64v2 / pwritev64v2 "pwritev64v2" true (at: i64, flags: c_int);
}

intercept! {
    /// `close`: the other side of a pipe or socket may see its end.
    fn dh_wrap_close / close(file: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int) -> c_int;
        closing(pc, file);
        // SAFETY: passed on.
        unsafe { real!("close", Real)(file) }
    }
}

/// The call has made a pair of descriptors.
pub(super) fn both_made(pc: usize, ends: *const [c_int; 2]) {
    system_writes(pc, ends, size_of::<[c_int; 2]>());
    // SAFETY: the call filled the program's variables.
    unsafe { (*ends).into_iter().for_each(|file| made(pc, file)) };
}

intercept! {
    /// `pipe`
    fn dh_wrap_pipe / pipe(ends: *mut [c_int; 2]) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut [c_int; 2]) -> c_int;
        // SAFETY: passed on.
        let result = unsafe { real!("pipe", Real)(ends) };
        if result == 0 && start::recording() {
            both_made(pc, ends);
        }
        result
    }
}

intercept! {
    /// `pipe2`
    fn dh_wrap_pipe2 / pipe2(ends: *mut [c_int; 2], flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut [c_int; 2], c_int) -> c_int;
        // SAFETY: passed on.
        let result = unsafe { real!("pipe2", Real)(ends, flags) };
        if result == 0 && start::recording() {
            both_made(pc, ends);
        }
        result
    }
}

intercept! {
    /// `eventfd`
    fn dh_wrap_eventfd / eventfd(value: u32, flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(u32, c_int) -> c_int;
        // SAFETY: passed on.
        let file = unsafe { real!("eventfd", Real)(value, flags) };
        if start::recording() {
            created(pc, file);
        }
        file
    }
}

intercept! {
    /// `eventfd_read`
    fn dh_wrap_eventfd_read / eventfd_read(file: c_int, value: *mut u64) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut u64) -> c_int;
        // SAFETY: passed on.
        let result = unsafe { real!("eventfd_read", Real)(file, value) };
        if result == 0 && start::recording() {
            acquire(pc, file);
            system_writes(pc, value, size_of::<u64>());
        }
        result
    }
}

intercept! {
    /// `eventfd_write`
    fn dh_wrap_eventfd_write / eventfd_write(file: c_int, value: u64) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, u64) -> c_int;
        if start::recording() {
            release(pc, file, || {});
        }
        // SAFETY: passed on.
        unsafe { real!("eventfd_write", Real)(file, value) }
    }
}
