//! Atomic operations on objects of any size, which compilers leave to libatomic: it is not instrumented, and what it does to objects of
//! up to 16 bytes it does without a lock that could be seen.
//!
//! Model: each is one atomic operation on all bytes of the object ([`atomic::on_bytes`]); locks that libatomic takes are its own
//! business. A program need not be linked with libatomic to have these functions, since they are the runtime's: where there is none,
//! they are done here, one at a time.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, Ordering};

use deadheat_core::access::Mode;

use super::touch::{system_reads, system_writes};
use crate::cold::start::recording;
use crate::hot::atomic;
use crate::sys;
use crate::sys::machine::caller_word;
use crate::sys::real::Real;

type Move = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, c_int);
type Exchange = unsafe extern "C" fn(usize, *mut c_void, *mut c_void, *mut c_void, c_int);
type CompareExchange =
    unsafe extern "C" fn(usize, *mut c_void, *mut c_void, *mut c_void, c_int, c_int) -> bool;

/// libatomic's function of a name, if the program has it.
macro_rules! library {
    ($name:literal, $type:ty) => {{
        #[unsafe(link_section = "deadheat_real")]
        static REAL: Real = Real::new(concat!($name, "\0"), "\0");
        let address = match REAL.known() {
            0 => weak_address!(concat!("__real_", $name)),
            known => known,
        };
        // SAFETY: libatomic's function, or none.
        unsafe { core::mem::transmute::<usize, Option<$type>>(address) }
    }};
}

/// One does an operation that libatomic is not there for.
static ALONE: AtomicBool = AtomicBool::new(false);

/// Does something while no other does.
fn alone<R>(operation: impl FnOnce() -> R) -> R {
    while ALONE.swap(true, Ordering::Acquire) {
        sys::yield_now();
    }
    let result = operation();
    ALONE.store(false, Ordering::Release);
    result
}

/// Copies bytes by instructions of its own: a call would be looked at.
///
/// # Safety
/// `size` bytes can be read at `from`, and written at `to`.
unsafe fn copy(size: usize, from: *const c_void, to: *mut c_void) {
    for at in 0..size {
        // SAFETY: the caller has so many bytes at both places.
        unsafe { to.cast::<u8>().add(at).write_volatile(from.cast::<u8>().add(at).read_volatile()) };
    }
}

/// Whether bytes are the same.
///
/// # Safety
/// `size` bytes can be read at both places.
unsafe fn same(size: usize, one: *const c_void, other: *const c_void) -> bool {
    // SAFETY: the caller has so many bytes at both places.
    (0..size).all(|at| unsafe {
        one.cast::<u8>().add(at).read_volatile() == other.cast::<u8>().add(at).read_volatile()
    })
}

intercept! {
    /// `__atomic_load`
    fn dh_wrap___atomic_load / load(size: usize, object: *mut c_void, to: *mut c_void, order: c_int); pc {
        let real = library!("__atomic_load", Move);
        // SAFETY: the program's object and variable.
        let operation = || unsafe {
            match real {
                Some(real) => real(size, object, to, order),
                None => alone(|| copy(size, object, to)),
            }
            ((), Mode::Read, order as u32)
        };
        atomic::on_bytes(pc, (object as usize, size), (Mode::Read, order as u32, true), operation);
        if recording() {
            system_writes(pc, to, size);
        }
    }
}

intercept! {
    /// `__atomic_store`
    fn dh_wrap___atomic_store / store(size: usize, object: *mut c_void, from: *mut c_void, order: c_int); pc {
        let real = library!("__atomic_store", Move);
        if recording() {
            system_reads(pc, from, size);
        }
        // SAFETY: the program's object and variable.
        let operation = || unsafe {
            match real {
                Some(real) => real(size, object, from, order),
                None => alone(|| copy(size, from, object)),
            }
            ((), Mode::Write, order as u32)
        };
        atomic::on_bytes(pc, (object as usize, size), (Mode::Write, order as u32, true), operation);
    }
}

intercept! {
    /// `__atomic_exchange`
    fn dh_wrap___atomic_exchange / exchange(
        size: usize, object: *mut c_void, from: *mut c_void, to: *mut c_void, order: c_int,
    ); pc {
        let real = library!("__atomic_exchange", Exchange);
        if recording() {
            system_reads(pc, from, size);
        }
        // SAFETY: the program's object and variables.
        let operation = || unsafe {
            match real {
                Some(real) => real(size, object, from, to, order),
                None => alone(|| {
                    copy(size, object, to);
                    copy(size, from, object);
                }),
            }
            ((), Mode::ReadWrite, order as u32)
        };
        atomic::on_bytes(pc, (object as usize, size), (Mode::ReadWrite, order as u32, true), operation);
        if recording() {
            system_writes(pc, to, size);
        }
    }
}

shim_through_thread!(dh_wrap___atomic_compare_exchange, compare_exchange);

/// `__atomic_compare_exchange`: six arguments, so the return address comes by the thread's second word.
unsafe extern "C" fn compare_exchange(
    size: usize,
    object: *mut c_void,
    expected: *mut c_void,
    new: *mut c_void,
    success: c_int,
    failure: c_int,
) -> bool {
    let pc = caller_word();
    let real = library!("__atomic_compare_exchange", CompareExchange);
    if recording() {
        system_reads(pc, expected, size);
        system_reads(pc, new, size);
    }
    // SAFETY: the program's object and variables.
    let operation = || unsafe {
        let done = match real {
            Some(real) => real(size, object, expected, new, success, failure),
            None => alone(|| {
                let done = same(size, object, expected);
                if done {
                    copy(size, new, object);
                } else {
                    copy(size, object, expected);
                }
                done
            }),
        };
        if done { (true, Mode::ReadWrite, success as u32) } else { (false, Mode::Read, failure as u32) }
    };
    let done =
        atomic::on_bytes(pc, (object as usize, size), (Mode::ReadWrite, success as u32, false), operation);
    if !done && recording() {
        system_writes(pc, expected, size);
    }
    done
}
