//! Times: what the C library stores of them, and the one place in which it keeps those that it takes apart.

use core::ffi::{c_char, c_int, c_void};

use super::touch::{
    read_if, read_text, reads_seldom as reads, write_if, writes_seldom as writes, written_text,
};
use crate::cold::start;
use crate::sys;

/// A `struct timespec`, a `struct timeval`.
type Pair = [i64; 2];
/// A `struct tm`.
type Parts = [c_int; 14];
/// What of it is told, up to the day of the week.
type Shown = [c_int; 7];

functions! {
    dh_wrap_time / time "time" (to: *mut i64) -> i64, pc, before (), after _got write_if(pc, to);
    dh_wrap_clock_gettime / clock_gettime "clock_gettime" (clock: c_int, to: *mut Pair) -> c_int, pc,
        before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_clock_getres / clock_getres "clock_getres" (clock: c_int, to: *mut Pair) -> c_int, pc,
        before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_clock_settime / clock_settime "clock_settime" (clock: c_int, to: *const Pair) -> c_int, pc,
        before read_if(pc, to), after _got ();
    dh_wrap_timespec_get / timespec_get "timespec_get" (to: *mut Pair, base: c_int) -> c_int, pc,
        before (), after got if got != 0 { write_if(pc, to) };
    dh_wrap_gettimeofday / gettimeofday "gettimeofday" (to: *mut Pair, zone: *mut c_void) -> c_int, pc,
        before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_nanosleep / nanosleep "nanosleep" (time: *const Pair, left: *mut Pair) -> c_int, pc,
        before read_if(pc, time), after got if got != 0 && *sys::c::__errno_location() == EINTR { write_if(pc, left) };
    dh_wrap_clock_nanosleep / clock_nanosleep "clock_nanosleep"
        (clock: c_int, flags: c_int, time: *const Pair, left: *mut Pair) -> c_int, pc,
        before read_if(pc, time), after got if got == EINTR && flags == 0 { write_if(pc, left) };
    dh_wrap_localtime_r / localtime_r "localtime_r" (time: *const i64, to: *mut Parts) -> *mut Parts, pc,
        before read_if(pc, time), after got write_if(pc, got);
    dh_wrap_gmtime_r / gmtime_r "gmtime_r" (time: *const i64, to: *mut Parts) -> *mut Parts, pc,
        before read_if(pc, time), after got write_if(pc, got);
    dh_wrap_localtime / localtime "localtime" (time: *const i64) -> *mut Parts, pc,
        before read_if(pc, time), after got write_if(pc, got);
    dh_wrap_gmtime / gmtime "gmtime" (time: *const i64) -> *mut Parts, pc,
        before read_if(pc, time), after got write_if(pc, got);
    dh_wrap_mktime / mktime "mktime" (parts: *mut Parts) -> i64, pc,
        before read_if(pc, parts), after got if got != -1 { write_if(pc, parts) };
    dh_wrap_timegm / timegm "timegm" (parts: *mut Parts) -> i64, pc,
        before read_if(pc, parts), after got if got != -1 { write_if(pc, parts) };
    dh_wrap_asctime_r / asctime_r "asctime_r" (parts: *const Shown, to: *mut c_char) -> *mut c_char, pc,
        before read_if(pc, parts), after got written_text(pc, got);
    dh_wrap_asctime / asctime "asctime" (parts: *const Shown) -> *mut c_char, pc,
        before read_if(pc, parts), after got written_text(pc, got);
    dh_wrap_ctime_r / ctime_r "ctime_r" (time: *const i64, to: *mut c_char) -> *mut c_char, pc,
        before read_if(pc, time), after got written_text(pc, got);
    dh_wrap_ctime / ctime "ctime" (time: *const i64) -> *mut c_char, pc,
        before read_if(pc, time), after got written_text(pc, got);
    dh_wrap_strftime / strftime "strftime"
        (to: *mut c_char, room: usize, format: *const c_char, parts: *const Parts) -> usize, pc,
        before {
            read_text(pc, format);
            read_parts(pc, format, parts);
        },
        after got if got > 0 { writes(pc, to, got + 1) };
}

const EINTR: c_int = 4;

// The parts of a time, by their places in it.
const SECOND: u32 = 1;
const MINUTE: u32 = 1 << 1;
const HOUR: u32 = 1 << 2;
const DAY: u32 = 1 << 3;
const MONTH: u32 = 1 << 4;
const YEAR: u32 = 1 << 5;
const DAY_OF_WEEK: u32 = 1 << 6;
const DAY_OF_YEAR: u32 = 1 << 7;

/// Which parts a conversion of `strftime` needs. What depends on the language is left out but for what is in all of them.
const fn parts_of(conversion: u8) -> u32 {
    match conversion {
        b'Y' | b'y' | b'C' => YEAR,
        b'm' | b'b' | b'B' | b'h' => MONTH,
        b'd' | b'e' => DAY,
        b'H' | b'k' | b'I' | b'l' | b'p' | b'P' => HOUR,
        b'M' => MINUTE,
        b'S' => SECOND,
        b'a' | b'A' | b'u' | b'w' => DAY_OF_WEEK,
        b'j' => DAY_OF_YEAR,
        b'U' | b'W' => DAY_OF_YEAR | DAY_OF_WEEK,
        b'G' | b'g' | b'V' => YEAR | DAY_OF_YEAR | DAY_OF_WEEK,
        b'D' | b'F' | b'x' => YEAR | MONTH | DAY,
        b'R' => HOUR | MINUTE,
        b'T' | b'r' | b'X' => HOUR | MINUTE | SECOND,
        b'c' | b's' => YEAR | MONTH | DAY | HOUR | MINUTE | SECOND,
        _ => 0,
    }
}

/// Records that the parts are read that a format names.
///
/// # Safety
/// The format ends.
unsafe fn read_parts(pc: usize, format: *const c_char, parts: *const Parts) {
    let (mut named, mut at, mut converts) = (0, format.cast::<u8>(), false);
    loop {
        // SAFETY: the caller's promise.
        let character = unsafe { at.read() };
        match character {
            0 => break,
            b'%' => converts = !converts,
            // Flags, a width, and other forms of the same.
            b'_' | b'-' | b'0'..=b'9' | b'^' | b'#' | b'+' | b'E' | b'O' => {}
            _ if converts => {
                named |= parts_of(character);
                converts = false;
            }
            _ => {}
        }
        at = at.wrapping_add(1);
    }
    let parts = parts.cast::<c_int>();
    for part in (0..u32::BITS).filter(|part| named >> part & 1 != 0) {
        read_if(pc, parts.wrapping_add(part as usize));
    }
}

intercept! {
    /// `strptime`: the parts that it changes are those that the text is about.
    fn dh_wrap_strptime / strptime(text: *const c_char, format: *const c_char, to: *mut Parts) -> *mut c_char; pc {
        type Real = unsafe extern "C" fn(*const c_char, *const c_char, *mut Parts) -> *mut c_char;
        // SAFETY: passed on.
        unsafe {
            let before = if start::recording() { *to } else { [0; 14] };
            let end = real!("strptime", Real)(text, format, to);
            if start::recording() && !end.is_null() {
                read_text(pc, format);
                reads(pc, text, end as usize - text as usize);
                for (part, before) in before.iter().enumerate() {
                    let part = to.cast::<c_int>().wrapping_add(part);
                    if part.read() != *before {
                        write_if(pc, part);
                    }
                }
            }
            end
        }
    }
}
