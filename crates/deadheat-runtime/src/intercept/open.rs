//! Descriptors come and go: files that are opened, copies, streams.

use core::ffi::{c_char, c_int, c_uint, c_void};

use super::descriptor::{closing, copied, created, made, replaced, used};
use super::touch::{is_of_library, read_path, read_text};
use crate::cold::start;

/// Functions whose result is a new descriptor. An argument too many, where a function takes it only at times, does no
/// harm.
macro_rules! opens {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),*) $path:ident;)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type),*) -> c_int; pc {
                type Real = unsafe extern "C" fn($($type),*) -> c_int;
                // SAFETY: passed on.
                let file = unsafe {
                    let function = real!($name, Real);
                    if start::recording() && is_of_library(function as usize) {
                        read_path(pc, $path);
                    }
                    function($($argument),*)
                };
                made(pc, file);
                file
            }
        }
    )*};
}

opens! {
    dh_wrap_open / open "open" (path: *const c_char, flags: c_int, mode: c_uint) path;
    dh_wrap_open64 / open64 "open64" (path: *const c_char, flags: c_int, mode: c_uint) path;
    dh_wrap_openat / openat "openat" (folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) path;
    dh_wrap_openat64 / openat64 "openat64" (folder: c_int, path: *const c_char, flags: c_int, mode: c_uint) path;
    dh_wrap___open_2 / open_2 "__open_2" (path: *const c_char, flags: c_int) path;
    dh_wrap___open64_2 / open64_2 "__open64_2" (path: *const c_char, flags: c_int) path;
    dh_wrap___openat_2 / openat_2 "__openat_2" (folder: c_int, path: *const c_char, flags: c_int) path;
    dh_wrap___openat64_2 / openat64_2 "__openat64_2" (folder: c_int, path: *const c_char, flags: c_int) path;
    dh_wrap_creat / creat "creat" (path: *const c_char, mode: c_uint) path;
    dh_wrap_creat64 / creat64 "creat64" (path: *const c_char, mode: c_uint) path;
    dh_wrap_memfd_create / memfd_create "memfd_create" (name: *const c_char, flags: c_uint) name;
}

/// Functions whose result is a new descriptor that orders by its number.
macro_rules! creates {
    ($($export:ident / $inner:ident $name:literal ($($argument:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type),*) -> c_int; pc {
                type Real = unsafe extern "C" fn($($type),*) -> c_int;
                // SAFETY: passed on.
                let file = unsafe { real!($name, Real)($($argument),*) };
                if start::recording() {
                    created(pc, file);
                }
                file
            }
        }
    )*};
}

creates! {
    dh_wrap_timerfd_create / timerfd_create "timerfd_create" (clock: c_int, flags: c_int);
    dh_wrap_inotify_init / inotify_init "inotify_init" ();
    dh_wrap_inotify_init1 / inotify_init1 "inotify_init1" (flags: c_int);
}

intercept! {
    /// `dup`
    fn dh_wrap_dup / dup(file: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int) -> c_int;
        used(pc, file);
        // SAFETY: passed on.
        let copy = unsafe { real!("dup", Real)(file) };
        made(pc, copy);
        copied(file, copy);
        copy
    }
}

macro_rules! controls {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            /// Of what it does, that a descriptor is copied. The third argument is passed on whatever it is, if there is one.
            fn $export / $inner(file: c_int, command: c_int, argument: usize) -> c_int; pc {
                const F_DUPFD: c_int = 0;
                const F_DUPFD_CLOEXEC: c_int = 1030;
                type Real = unsafe extern "C" fn(c_int, c_int, usize) -> c_int;
                let copies = [F_DUPFD, F_DUPFD_CLOEXEC].contains(&command);
                if copies {
                    used(pc, file);
                }
                // SAFETY: passed on.
                let result = unsafe { real!($name, Real)(file, command, argument) };
                if copies {
                    made(pc, result);
                    copied(file, result);
                }
                result
            }
        }
    )*};
}

controls! {
    dh_wrap_fcntl / fcntl "fcntl"
    dh_wrap_fcntl64 / fcntl64 "fcntl64"
}

macro_rules! duplicates {
    ($($export:ident / $inner:ident $name:literal ($($flags:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, to: c_int $(, $flags: $type)?) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int, c_int $(, $type)?) -> c_int;
                used(pc, file);
                used(pc, to);
                // SAFETY: passed on.
                let copy = unsafe { real!($name, Real)(file, to $(, $flags)?) };
                if copy != file {
                    replaced(pc, copy);
                    copied(file, copy);
                }
                copy
            }
        }
    )*};
}

duplicates! {
    dh_wrap_dup2 / dup2 "dup2" ();
    dh_wrap_dup3 / dup3 "dup3" (flags: c_int);
}

unsafe extern "C" {
    fn fileno_unlocked(stream: *mut c_void) -> c_int;
}

/// A stream was opened, unless it is null.
fn opened(pc: usize, stream: *mut c_void) -> *mut c_void {
    if !stream.is_null() && start::recording() {
        // SAFETY: the C library's stream.
        made(pc, unsafe { fileno_unlocked(stream) });
    }
    stream
}

macro_rules! opens_stream {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(path: *const c_char, mode: *const c_char) -> *mut c_void; pc {
                type Real = unsafe extern "C" fn(*const c_char, *const c_char) -> *mut c_void;
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        read_path(pc, path);
                        read_text(pc, mode);
                    }
                    opened(pc, real!($name, Real)(path, mode))
                }
            }
        }
    )*};
}

opens_stream! {
    dh_wrap_fopen / fopen "fopen"
    dh_wrap_fopen64 / fopen64 "fopen64"
}

macro_rules! opens_stream_again {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            /// Another file comes into the place of the stream's.
            fn $export / $inner(
                path: *const c_char, mode: *const c_char, stream: *mut c_void,
            ) -> *mut c_void; pc {
                type Real = unsafe extern "C" fn(*const c_char, *const c_char, *mut c_void) -> *mut c_void;
                // SAFETY: passed on; a stream that comes out is open.
                unsafe {
                    if start::recording() {
                        if !path.is_null() {
                            read_path(pc, path);
                        }
                        read_text(pc, mode);
                    }
                    let stream = real!($name, Real)(path, mode, stream);
                    if !stream.is_null() && start::recording() {
                        replaced(pc, fileno_unlocked(stream));
                    }
                    stream
                }
            }
        }
    )*};
}

opens_stream_again! {
    dh_wrap_freopen / freopen "freopen"
    dh_wrap_freopen64 / freopen64 "freopen64"
}

intercept! {
    /// `fclose`
    fn dh_wrap_fclose / fclose(stream: *mut c_void) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_void) -> c_int;
        if !stream.is_null() && start::recording() {
            // SAFETY: the program's stream, which is open.
            closing(pc, unsafe { fileno_unlocked(stream) });
        }
        // SAFETY: passed on.
        unsafe { real!("fclose", Real)(stream) }
    }
}
