//! Standard input and output streams: the program's own buffers, not those inside of a `FILE`; and the lock of a stream, where the program takes it itself.

use core::ffi::{c_char, c_int, c_void};

use deadheat_core::event::LockMode;

use super::caller::allocates;
use super::mutex;
use super::touch::{length, system_reads, system_writes};
use crate::cold::start;
use crate::hot::log;

/// The bytes of a text, its end included.
///
/// # Safety
/// `text` ends with a NUL.
unsafe fn whole(text: *const c_char) -> usize {
    // SAFETY: the caller's text ends.
    unsafe { length::<u8>(text.cast(), usize::MAX) + 1 }
}

macro_rules! read_items {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(to: *mut c_void, size: usize, count: usize, file: *mut c_void) -> usize; pc {
                type Real = unsafe extern "C" fn(*mut c_void, usize, usize, *mut c_void) -> usize;
                // SAFETY: passed on.
                let got = unsafe { real!($name, Real)(to, size, count, file) };
                if start::recording() {
                    system_writes(pc, to, got.wrapping_mul(size));
                }
                got
            }
        }
    )*};
}

read_items! {
    dh_wrap_fread / fread "fread"
    dh_wrap_fread_unlocked / fread_unlocked "fread_unlocked"
}

macro_rules! read_items_checked {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(
                to: *mut c_void, room: usize, size: usize, count: usize, file: *mut c_void,
            ) -> usize; pc {
                type Real = unsafe extern "C" fn(*mut c_void, usize, usize, usize, *mut c_void) -> usize;
                // SAFETY: passed on.
                let got = unsafe { real!($name, Real)(to, room, size, count, file) };
                if start::recording() {
                    system_writes(pc, to, got.wrapping_mul(size));
                }
                got
            }
        }
    )*};
}

read_items_checked! {
    dh_wrap___fread_chk / fread_chk "__fread_chk"
    dh_wrap___fread_unlocked_chk / fread_unlocked_chk "__fread_unlocked_chk"
}

macro_rules! write_items {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(from: *const c_void, size: usize, count: usize, file: *mut c_void) -> usize; pc {
                type Real = unsafe extern "C" fn(*const c_void, usize, usize, *mut c_void) -> usize;
                // SAFETY: passed on.
                let put = unsafe { real!($name, Real)(from, size, count, file) };
                if start::recording() {
                    system_reads(pc, from, put.wrapping_mul(size));
                }
                put
            }
        }
    )*};
}

write_items! {
    dh_wrap_fwrite / fwrite "fwrite"
    dh_wrap_fwrite_unlocked / fwrite_unlocked "fwrite_unlocked"
}

macro_rules! read_line {
    ($($export:ident / $inner:ident $name:literal ($($room:ident)?))*) => {$(
        intercept! {
            fn $export / $inner(
                to: *mut c_char, $($room: usize,)? len: c_int, file: *mut c_void,
            ) -> *mut c_char; pc {
                type Real = unsafe extern "C" fn(*mut c_char, $(read_line!(@size $room),)? c_int, *mut c_void) -> *mut c_char;
                // SAFETY: passed on; a line that was read ends.
                unsafe {
                    let line = real!($name, Real)(to, $($room,)? len, file);
                    if !line.is_null() && start::recording() {
                        system_writes(pc, line, whole(line));
                    }
                    line
                }
            }
        }
    )*};
    (@size $room:ident) => { usize };
}

read_line! {
    dh_wrap_fgets / fgets "fgets" ()
    dh_wrap_fgets_unlocked / fgets_unlocked "fgets_unlocked" ()
    dh_wrap___fgets_chk / fgets_chk "__fgets_chk" (room)
    dh_wrap___fgets_unlocked_chk / fgets_unlocked_chk "__fgets_unlocked_chk" (room)
}

macro_rules! write_text {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, file: *mut c_void) -> c_int; pc {
                type Real = unsafe extern "C" fn(*const c_char, *mut c_void) -> c_int;
                // SAFETY: passed on.
                unsafe {
                    if start::recording() {
                        system_reads(pc, text, whole(text));
                    }
                    real!($name, Real)(text, file)
                }
            }
        }
    )*};
}

write_text! {
    dh_wrap_fputs / fputs "fputs"
    dh_wrap_fputs_unlocked / fputs_unlocked "fputs_unlocked"
}

intercept! {
    /// `puts`
    fn dh_wrap_puts / puts(text: *const c_char) -> c_int; pc {
        type Real = unsafe extern "C" fn(*const c_char) -> c_int;
        // SAFETY: passed on.
        unsafe {
            if start::recording() {
                system_reads(pc, text, whole(text));
            }
            real!("puts", Real)(text)
        }
    }
}

/// Records a line that was read into a buffer that the C library makes as large as it must be.
///
/// # Safety
/// If `got` is not negative, the C library has put the line's address at `line`.
unsafe fn line_read(pc: usize, line: *mut *mut c_char, room: *mut usize, got: isize) {
    if got < 0 || !start::recording() {
        return;
    }
    system_writes(pc, line, size_of::<*mut c_char>());
    system_writes(pc, room, size_of::<usize>());
    // SAFETY: the C library put a line of `got` bytes and its end there.
    system_writes(pc, unsafe { *line }, got as usize + 1);
}

intercept! {
    /// `getline`
    fn dh_wrap_getline / getline(line: *mut *mut c_char, room: *mut usize, file: *mut c_void) -> isize; pc {
        type Real = unsafe extern "C" fn(*mut *mut c_char, *mut usize, *mut c_void) -> isize;
        // SAFETY: passed on.
        unsafe {
            let got = allocates(pc, || real!("getline", Real)(line, room, file));
            line_read(pc, line, room, got);
            got
        }
    }
}

macro_rules! read_up_to {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(
                line: *mut *mut c_char, room: *mut usize, end: c_int, file: *mut c_void,
            ) -> isize; pc {
                type Real = unsafe extern "C" fn(*mut *mut c_char, *mut usize, c_int, *mut c_void) -> isize;
                // SAFETY: passed on.
                unsafe {
                    let got = allocates(pc, || real!($name, Real)(line, room, end, file));
                    line_read(pc, line, room, got);
                    got
                }
            }
        }
    )*};
}

read_up_to! {
    dh_wrap_getdelim / getdelim "getdelim"
    dh_wrap___getdelim / __getdelim "__getdelim"
}

type Lock = unsafe extern "C" fn(*mut c_void);
type TryLock = unsafe extern "C" fn(*mut c_void) -> c_int;

intercept! {
    /// `flockfile`
    fn dh_wrap_flockfile / flockfile(file: *mut c_void); pc {
        // SAFETY: passed on.
        unsafe {
            mutex::lock_within(pc, file, LockMode::Write,
                || real!("ftrylockfile", TryLock)(file),
                || {
                    real!("flockfile", Lock)(file);
                    0
                });
        }
    }
}

intercept! {
    /// `ftrylockfile`
    fn dh_wrap_ftrylockfile / ftrylockfile(file: *mut c_void) -> c_int; pc {
        // SAFETY: passed on.
        let result = mutex::try_once(pc, || unsafe { real!("ftrylockfile", TryLock)(file) });
        if start::recording() { mutex::taken(pc, file, LockMode::Write, result) } else { result }
    }
}

intercept! {
    /// `funlockfile`
    fn dh_wrap_funlockfile / funlockfile(file: *mut c_void); pc {
        if start::recording() {
            log::released(pc, file as u64, LockMode::Write);
        }
        // SAFETY: passed on.
        unsafe { real!("funlockfile", Lock)(file) };
    }
}
