//! Waiting for many descriptors at once, without an `epoll`: who is told that something shows at one comes after what went in
//! there, also if nothing is read.

use core::ffi::{c_int, c_void};
use core::mem::offset_of;

use super::descriptor::acquire;
use super::touch::{system_reads, system_writes};
use crate::cold::start;
use crate::sys::machine::caller_word;

/// A `struct pollfd`.
#[repr(C)]
struct Polled {
    file: c_int,
    wanted: i16,
    found: i16,
}

/// Of what is found: something can be read, or there is an end or an error, which the other side has brought about.
const SHOWS: i16 = 0x20db;

/// More descriptors in one call are looked at one by one no more.
const MANY: usize = 1024;

/// Which descriptors are waited for, and for what, is read.
fn wanted(pc: usize, files: *mut Polled, count: usize) {
    if start::recording() {
        for file in (0..count.min(MANY)).map(|at| files.wrapping_add(at)) {
            system_reads(pc, file, offset_of!(Polled, found));
        }
    }
}

/// What was found is stored for each.
fn stored(pc: usize, files: *mut Polled, count: usize, found: c_int) {
    if found >= 0 && start::recording() {
        for file in (0..count.min(MANY)).map(|at| files.wrapping_add(at).cast::<u8>()) {
            system_writes(pc, file.wrapping_add(offset_of!(Polled, found)), size_of::<i16>());
        }
    }
}

macro_rules! poll {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(files: *mut Polled, count: usize $(, $more: $type)*) -> c_int; pc {
                type Real = unsafe extern "C" fn(*mut Polled, usize $(, $type)*) -> c_int;
                wanted(pc, files, count);
                // SAFETY: passed on.
                let found = unsafe { real!($name, Real)(files, count $(, $more)*) };
                stored(pc, files, count, found);
                if found > 0 && start::recording() {
                    // SAFETY: the call has filled the program's variables.
                    let files = unsafe { core::slice::from_raw_parts(files, count) };
                    files.iter().filter(|file| file.found & SHOWS != 0).for_each(|file| acquire(pc, file.file));
                }
                found
            }
        }
    )*};
}

poll! {
    dh_wrap_poll / poll "poll" (timeout: c_int);
    dh_wrap___poll_chk / poll_chk "__poll_chk" (timeout: c_int, room: usize);
    dh_wrap_ppoll / ppoll "ppoll" (timeout: *const c_void, signals: *const c_void);
    dh_wrap___ppoll_chk / ppoll_chk "__ppoll_chk" (timeout: *const c_void, signals: *const c_void, room: usize);
}

/// Learns what shows at the first `count` descriptors of a set.
///
/// # Safety
/// It is null or has room for so many.
unsafe fn learn(pc: usize, count: c_int, set: *const u64) {
    if set.is_null() {
        return;
    }
    for file in 0..count {
        // SAFETY: the caller's promise.
        let word = unsafe { set.add(file as usize / u64::BITS as usize).read() };
        if word >> (file as u32 % u64::BITS) & 1 != 0 {
            acquire(pc, file);
        }
    }
}

intercept! {
    /// `select`
    fn dh_wrap_select / select(
        count: c_int, reads: *mut u64, writes: *mut u64, others: *mut u64, timeout: *mut c_void,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut u64, *mut u64, *mut u64, *mut c_void) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let found = real!("select", Real)(count, reads, writes, others, timeout);
            if found > 0 && start::recording() {
                learn(pc, count, reads);
            }
            found
        }
    }
}

shim_through_thread!(dh_wrap_pselect, pselect);

/// `pselect`: six arguments, so the return address comes by the thread's second word.
unsafe extern "C" fn pselect(
    count: c_int,
    reads: *mut u64,
    writes: *mut u64,
    others: *mut u64,
    timeout: *const c_void,
    signals: *const c_void,
) -> c_int {
    type Real =
        unsafe extern "C" fn(c_int, *mut u64, *mut u64, *mut u64, *const c_void, *const c_void) -> c_int;
    let pc = caller_word();
    // SAFETY: passed on.
    unsafe {
        let found = real!("pselect", Real)(count, reads, writes, others, timeout, signals);
        if found > 0 && start::recording() {
            learn(pc, count, reads);
        }
        found
    }
}
