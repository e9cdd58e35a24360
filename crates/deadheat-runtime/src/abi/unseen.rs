//! A barrier that orders nothing as far as anybody looks: with it a test makes two threads meet in an order of its choice
//! and keeps their accesses unordered.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::hot::thread;
use crate::sys;

/// The low bits of the word say how many threads it waits for; the others count arrivals.
const COUNT_BITS: u32 = 10;
const ARRIVAL: u32 = 1 << COUNT_BITS;
/// A waiter looks again after so many nanoseconds, whether it was woken or not.
const LOOK_AGAIN: u64 = 1_000_000_000;

/// Makes a barrier for `count` threads.
///
/// # Safety
/// Nobody uses the barrier yet.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_testonly_barrier_init(barrier: *mut u32, count: u32) {
    if count == 0 || count >= ARRIVAL {
        crate::cold::fault(b"deadheat: a barrier of the test interface is for 1 to 1023 threads\n");
    }
    // SAFETY: the program's variable.
    unsafe { barrier.write(count) };
}

/// Waits for the others.
///
/// # Safety
/// The barrier was made.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_testonly_barrier_wait(barrier: *mut u32) {
    // SAFETY: the program's variable, which only these functions use.
    let word = unsafe { AtomicU32::from_ptr(barrier) };
    let before = word.fetch_add(ARRIVAL, Ordering::SeqCst);
    let count = before % ARRIVAL;
    let round = |word: u32| word / ARRIVAL / count;
    if round(before.wrapping_add(ARRIVAL)) != round(before) {
        sys::futex_wake(word);
        return;
    }
    loop {
        let now = word.load(Ordering::SeqCst);
        if round(now) != round(before) {
            return;
        }
        sys::futex_wait(word, now, LOOK_AGAIN);
    }
}

/// How many functions the calling thread has entered and not left.
///
/// # Safety
/// None: it looks at the calling thread's own state.
#[cfg_attr(deadheat_object, unsafe(no_mangle))]
unsafe extern "C" fn __tsan_testonly_shadow_stack_current_size() -> usize {
    // SAFETY: `current` gives the calling thread's own state; both are of one list of frames.
    thread::current().map_or(0, |thread| unsafe { (*thread).top.offset_from((*thread).frames) as usize })
}
