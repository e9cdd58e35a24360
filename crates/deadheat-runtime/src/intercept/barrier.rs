//! Barriers.

use core::ffi::{c_int, c_uint, c_void};

use deadheat_core::event::Op;

use super::mutex::renew;
use super::touch::{makes, uses};
use crate::cold::start::recording;
use crate::gate::{self, Blocked};
use crate::hot::log;

type One = unsafe extern "C" fn(*mut c_void) -> c_int;
type Init = unsafe extern "C" fn(*mut c_void, *const c_void, c_uint) -> c_int;

/// How many threads the barrier waits for, which glibc keeps in the third word.
///
/// # Safety
/// `barrier` is one of the C library's that is initialised.
unsafe fn count_of(barrier: *const c_void) -> u32 {
    const COUNT: usize = 2;
    // SAFETY: the program's barrier; the word does not change while it is in use.
    unsafe { barrier.cast::<u32>().add(COUNT).read_volatile() }
}

intercept! {
    /// `pthread_barrier_init`
    fn dh_wrap_pthread_barrier_init / pthread_barrier_init(
        barrier: *mut c_void, attributes: *const c_void, count: c_uint,
    ) -> c_int; pc {
        // SAFETY: passed on.
        renew(pc, barrier, || unsafe { real!("pthread_barrier_init", Init)(barrier, attributes, count) })
    }
}

intercept! {
    /// `pthread_barrier_destroy`: what it ordered counts until it is made again, since who was in it may still have to say that it is through.
    fn dh_wrap_pthread_barrier_destroy / pthread_barrier_destroy(barrier: *mut c_void) -> c_int; pc {
        if recording() {
            makes::<u8>(pc, barrier);
        }
        // SAFETY: passed on.
        unsafe { real!("pthread_barrier_destroy", One)(barrier) }
    }
}

intercept! {
    /// `pthread_barrier_wait`
    fn dh_wrap_pthread_barrier_wait / pthread_barrier_wait(barrier: *mut c_void) -> c_int; pc {
        let real = real!("pthread_barrier_wait", One);
        // SAFETY: passed on.
        unsafe {
            if !recording() {
                return real(barrier);
            }
            uses::<u8>(pc, barrier);
            log::event(pc, &Op::Arrive { barrier: barrier as u64, count: count_of(barrier) });
            let result = gate::blocked(Blocked::Other, barrier as u64, || real(barrier));
            // Who destroys it must know that the others are through.
            uses::<u8>(pc, barrier);
            log::event(pc, &Op::Leave { barrier: barrier as u64 });
            result
        }
    }
}
