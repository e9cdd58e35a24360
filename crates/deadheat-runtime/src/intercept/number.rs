//! Numbers: read out of texts, taken apart, drawn.

use core::ffi::{c_char, c_int, c_long};
use core::ptr::null_mut;

use super::touch::{reads_seldom as reads, write_if, writes_seldom as writes};
use crate::cold::start;

/// A text was read up to and with the character at `last`, whose address is stored where that is asked for.
///
/// # Safety
/// `end` is null or the program's.
unsafe fn read(pc: usize, text: *const c_char, last: *mut c_char, end: *mut *mut c_char) {
    if start::recording() && !last.is_null() {
        reads(pc, text, last as usize - text as usize + 1);
        write_if(pc, end);
    }
    if !end.is_null() {
        // SAFETY: the caller's promise.
        unsafe { end.write(last) };
    }
}

macro_rules! reads_whole {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, end: *mut *mut c_char, base: c_int) -> c_long; pc {
                type Real = unsafe extern "C" fn(*const c_char, *mut *mut c_char, c_int) -> c_long;
                let mut last = null_mut();
                // SAFETY: passed on.
                unsafe {
                    let number = real!($name, Real)(text, &raw mut last, base);
                    read(pc, text, last, end);
                    number
                }
            }
        }
    )*};
}

// With and without a sign, and of all lengths that are those of a `long`.
reads_whole! {
    dh_wrap_strtol / strtol "strtol"
    dh_wrap_strtoul / strtoul "strtoul"
    dh_wrap_strtoll / strtoll "strtoll"
    dh_wrap_strtoull / strtoull "strtoull"
    dh_wrap_strtoimax / strtoimax "strtoimax"
    dh_wrap_strtoumax / strtoumax "strtoumax"
    dh_wrap___isoc23_strtol / isoc23_strtol "__isoc23_strtol"
    dh_wrap___isoc23_strtoul / isoc23_strtoul "__isoc23_strtoul"
    dh_wrap___isoc23_strtoll / isoc23_strtoll "__isoc23_strtoll"
    dh_wrap___isoc23_strtoull / isoc23_strtoull "__isoc23_strtoull"
    dh_wrap___isoc23_strtoimax / isoc23_strtoimax "__isoc23_strtoimax"
    dh_wrap___isoc23_strtoumax / isoc23_strtoumax "__isoc23_strtoumax"
}

macro_rules! reads_with_point {
    ($($export:ident / $inner:ident $name:literal $type:ty;)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char, end: *mut *mut c_char) -> $type; pc {
                type Real = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> $type;
                let mut last = null_mut();
                // SAFETY: passed on.
                unsafe {
                    let number = real!($name, Real)(text, &raw mut last);
                    read(pc, text, last, end);
                    number
                }
            }
        }
    )*};
}

reads_with_point! {
    dh_wrap_strtod / strtod "strtod" f64;
    dh_wrap_strtof / strtof "strtof" f32;
}

/// What is `strtol` in decimal by definition.
macro_rules! reads_decimal {
    ($($export:ident / $inner:ident $type:ty;)*) => {$(
        intercept! {
            fn $export / $inner(text: *const c_char) -> $type; pc {
                // SAFETY: passed on.
                unsafe { strtol(text, null_mut(), 10, pc) as $type }
            }
        }
    )*};
}

reads_decimal! {
    dh_wrap_atoi / atoi c_int;
    dh_wrap_atol / atol c_long;
    dh_wrap_atoll / atoll i64;
}

intercept! {
    /// `atof`
    fn dh_wrap_atof / atof(text: *const c_char) -> f64; pc {
        // SAFETY: passed on.
        unsafe { strtod(text, null_mut(), pc) }
    }
}

functions! {
    dh_wrap_rand_r / rand_r "rand_r" (seed: *mut u32) -> c_int, pc, before write_if(pc, seed), after _got ();
    dh_wrap_nrand48 / nrand48 "nrand48" (seed: *mut u16) -> c_long, pc, before writes(pc, seed, 3), after _got ();
    dh_wrap_jrand48 / jrand48 "jrand48" (seed: *mut u16) -> c_long, pc, before writes(pc, seed, 3), after _got ();
    dh_wrap_erand48 / erand48 "erand48" (seed: *mut u16) -> f64, pc, before writes(pc, seed, 3), after _got ();
    // The places that the next one is made of, in front of all else.
    dh_wrap_random_r / random_r "random_r" (state: *mut [usize; 2], to: *mut i32) -> c_int, pc,
        before write_if(pc, state), after got if got == 0 { write_if(pc, to) };
}

/// What takes a number with a point, which comes in a register of its own, and stores a part of it.
macro_rules! takes_apart {
    ($($export:ident / $inner:ident $name:literal $type:ty, $part:ty;)*) => {$(
        shim!($export, "rsi", $inner);

        unsafe extern "C" fn $inner(number: $type, to: *mut $part, pc: usize) -> $type {
            type Real = unsafe extern "C" fn($type, *mut $part) -> $type;
            if start::recording() {
                write_if(pc, to);
            }
            // SAFETY: passed on.
            unsafe { real!($name, Real)(number, to) }
        }
    )*};
}

takes_apart! {
    dh_wrap_frexp / frexp "frexp" f64, c_int;
    dh_wrap_frexpf / frexpf "frexpf" f32, c_int;
    dh_wrap_modf / modf "modf" f64, f64;
    dh_wrap_modff / modff "modff" f32, f32;
}
