//! Times: what the C library stores of them, and the one place in which it keeps those that it takes apart.

use core::ffi::{c_char, c_int, c_void};

use super::touch::{
    read_if, read_text, reads_seldom as reads, write_if, writes_seldom as writes, written_text,
};

/// A `struct timespec`, a `struct timeval`.
type Pair = [i64; 2];
/// A `struct tm`.
type Parts = [u64; 7];

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
        before read_if(pc, time), after got if got != 0 { write_if(pc, left) };
    dh_wrap_clock_nanosleep / clock_nanosleep "clock_nanosleep"
        (clock: c_int, flags: c_int, time: *const Pair, left: *mut Pair) -> c_int, pc,
        before read_if(pc, time), after got if got != 0 && flags == 0 { write_if(pc, left) };
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
    dh_wrap_asctime_r / asctime_r "asctime_r" (parts: *const Parts, to: *mut c_char) -> *mut c_char, pc,
        before read_if(pc, parts), after got written_text(pc, got);
    dh_wrap_asctime / asctime "asctime" (parts: *const Parts) -> *mut c_char, pc,
        before read_if(pc, parts), after got written_text(pc, got);
    dh_wrap_ctime_r / ctime_r "ctime_r" (time: *const i64, to: *mut c_char) -> *mut c_char, pc,
        before read_if(pc, time), after got written_text(pc, got);
    dh_wrap_ctime / ctime "ctime" (time: *const i64) -> *mut c_char, pc,
        before read_if(pc, time), after got written_text(pc, got);
    dh_wrap_strptime / strptime "strptime"
        (text: *const c_char, format: *const c_char, to: *mut Parts) -> *mut c_char, pc,
        before read_text(pc, format),
        after got if !got.is_null() {
            read(pc, text, got);
            write_if(pc, to);
        };
    dh_wrap_strftime / strftime "strftime"
        (to: *mut c_char, room: usize, format: *const c_char, parts: *const Parts) -> usize, pc,
        before {
            read_text(pc, format);
            read_if(pc, parts);
        },
        after got if got > 0 { writes(pc, to, got + 1) };
}

/// A text was read up to there.
fn read(pc: usize, text: *const c_char, end: *const c_char) {
    reads(pc, text, end as usize - text as usize);
}
