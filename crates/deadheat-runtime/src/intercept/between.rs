//! What the system moves from one descriptor to another: who does it sees what went into the one, and is seen by who gets it out of the
//! other.

use core::ffi::{c_int, c_uint};

use super::descriptor::{acquire, release};
use super::touch::{system_reads, system_writes};
use crate::cold::start::recording;
use crate::sys::machine::caller_word;

/// Something is about to go from `from` to `to`.
fn before<const PLACES: usize>(pc: usize, to: c_int, places: [*mut i64; PLACES]) {
    if recording() {
        for place in places.into_iter().filter(|place| !place.is_null()) {
            system_reads(pc, place, size_of::<i64>());
        }
        release(pc, to, || {});
    }
}

/// So many bytes went, or none.
fn after<const PLACES: usize>(pc: usize, from: c_int, places: [*mut i64; PLACES], moved: isize) -> isize {
    if moved > 0 && recording() {
        acquire(pc, from);
        for place in places.into_iter().filter(|place| !place.is_null()) {
            system_writes(pc, place, size_of::<i64>());
        }
    }
    moved
}

macro_rules! sends_file {
    ($($export:ident / $inner:ident $name:literal;)*) => {$(
        intercept! {
            fn $export / $inner(to: c_int, from: c_int, place: *mut i64, len: usize) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, c_int, *mut i64, usize) -> isize;
                before(pc, to, [place]);
                // SAFETY: passed on.
                after(pc, from, [place], unsafe { real!($name, Real)(to, from, place, len) })
            }
        }
    )*};
}

sends_file! {
    dh_wrap_sendfile / sendfile "sendfile";
    dh_wrap_sendfile64 / sendfile64 "sendfile64";
}

macro_rules! moves {
    ($($export:ident / $inner:ident $name:literal;)*) => {$(
        shim_through_thread!($export, $inner);

        unsafe extern "C" fn $inner(
            from: c_int,
            from_place: *mut i64,
            to: c_int,
            to_place: *mut i64,
            len: usize,
            flags: c_uint,
        ) -> isize {
            type Real = unsafe extern "C" fn(c_int, *mut i64, c_int, *mut i64, usize, c_uint) -> isize;
            let pc = caller_word();
            let places = [from_place, to_place];
            before(pc, to, places);
            // SAFETY: passed on.
            let moved = unsafe { real!($name, Real)(from, from_place, to, to_place, len, flags) };
            after(pc, from, places, moved)
        }
    )*};
}

moves! {
    dh_wrap_splice / splice "splice";
    dh_wrap_copy_file_range / copy_file_range "copy_file_range";
}

intercept! {
    /// `tee`: what is in the one pipe is in the other, too.
    fn dh_wrap_tee / tee(from: c_int, to: c_int, len: usize, flags: c_uint) -> isize; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, usize, c_uint) -> isize;
        before(pc, to, []);
        // SAFETY: passed on.
        after(pc, from, [], unsafe { real!("tee", Real)(from, to, len, flags) })
    }
}
