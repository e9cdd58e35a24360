//! Timers, and what else has the C library call a function in a thread that it makes itself: that thread comes after what was done
//! before the timer was set, or the message sent.
//!
//! A timer's word in [`states`] is the signal that it sends, or the [`Call`] that it makes, which no number of a signal can be.

use core::ffi::{c_int, c_void};
use core::sync::atomic::Ordering;

use deadheat_core::event::Op;

use super::descriptor::{TIMER, object, signal, wait};
use super::queue::queue;
use super::sent::{SIGALRM, sending};
use super::touch::system_writes;
use crate::cold::start::recording;
use crate::cold::states;
use crate::hot::{log, thread};
use crate::online;
use crate::sys::allocator;

const SIGNALS: u64 = 65;
const SIGEV_NONE: c_int = 1;
const SIGEV_THREAD: c_int = 2;

/// The C library's `struct sigevent`, as far as it is used.
#[derive(Clone, Copy)]
#[repr(C)]
struct Wish {
    value: usize,
    signal: c_int,
    kind: c_int,
    function: usize,
    attributes: usize,
    rest: [usize; 4],
}

/// A function that is to be called in a thread of its own, and the queue whose message it is called for. What a timer has is never
/// given back: a call may still be under way when the timer is gone.
#[derive(Clone, Copy)]
struct Call {
    function: usize,
    value: usize,
    queue: u64,
}

impl Call {
    /// The object that orders it.
    fn object(call: *const Call) -> u64 {
        object(TIMER, call as u64)
    }

    /// The wish with our function in the place of the program's, if it is one for a call and there is memory for it.
    fn instead(wish: &Wish, queue: u64, ours: usize) -> Option<(Wish, *mut Call)> {
        if wish.kind != SIGEV_THREAD {
            return None;
        }
        // SAFETY: a plain number, and fresh memory of that size.
        unsafe {
            let call = allocator::malloc(size_of::<Call>()).cast::<Call>();
            if call.is_null() {
                return None;
            }
            call.write(Call { function: wish.function, value: wish.value, queue });
            Some((Wish { value: call as usize, function: ours, ..*wish }, call))
        }
    }

    /// Calls it, as the thread that was made for it.
    ///
    /// # Safety
    /// The function may be called with the value.
    unsafe fn make(self, own: u64) {
        if recording() {
            wait(self.function, own);
            if self.queue != 0 {
                wait(self.function, self.queue);
            }
        }
        // SAFETY: the program's function and value.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn(usize)>(self.function)(self.value) }
    }
}

/// A timer that calls a function has run out.
unsafe extern "C" fn ran_out(call: *const Call) {
    // SAFETY: `timer_create` made it.
    unsafe { (*call).make(Call::object(call)) }
}

/// A queue that was empty has a message.
unsafe extern "C" fn arrived(call: *mut Call) {
    // SAFETY: `mq_notify` made it, for this one time.
    unsafe {
        let made = *call;
        allocator::free(call.cast());
        made.make(Call::object(call));
    }
}

/// What a timer's word is found by.
fn name(timer: usize) -> u64 {
    object(TIMER, timer as u64)
}

intercept! {
    /// `timer_create`
    fn dh_wrap_timer_create / timer_create(clock: c_int, wish: *const Wish, timer: *mut usize) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const Wish, *mut usize) -> c_int;
        // SAFETY: passed on, with our function where the program's was; the call fills the program's variable.
        unsafe {
            let wished = if recording() { wish.as_ref() } else { None };
            let ours = wished.and_then(|wish| Call::instead(wish, 0, ran_out as *const () as usize));
            let passed = ours.as_ref().map_or(wish, |(wish, _)| wish);
            let result = real!("timer_create", Real)(clock, passed, timer);
            if result != 0 || !recording() {
                return result;
            }
            system_writes(pc, timer, size_of::<usize>());
            let word = match (ours, wished) {
                (Some((_, call)), _) => call as u64,
                (None, Some(wish)) if wish.kind == SIGEV_NONE => 0,
                (None, Some(wish)) => wish.signal as u64,
                (None, None) => SIGALRM as u64,
            };
            if let Some(known) = states::enter(name(*timer)) {
                known.store(word, Ordering::Relaxed);
            }
            result
        }
    }
}

intercept! {
    /// `timer_settime`: whoever sees the timer run out comes after it.
    fn dh_wrap_timer_settime / timer_settime(
        timer: usize, flags: c_int, new: *const c_void, old: *mut c_void,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(usize, c_int, *const c_void, *mut c_void) -> c_int;
        if recording() && thread::current().is_some() && let Some(known) = states::find(name(timer)) {
            match known.load(Ordering::Relaxed) {
                number @ 0..SIGNALS => sending(pc, number as c_int, None),
                call => {
                    online::expect_others();
                    signal(pc, Call::object(call as *const Call));
                }
            }
        }
        // SAFETY: passed on.
        unsafe { real!("timer_settime", Real)(timer, flags, new, old) }
    }
}

intercept! {
    /// `timer_delete`
    fn dh_wrap_timer_delete / timer_delete(timer: usize) -> c_int; _pc {
        type Real = unsafe extern "C" fn(usize) -> c_int;
        if recording() {
            states::remove(name(timer));
        }
        // SAFETY: passed on.
        unsafe { real!("timer_delete", Real)(timer) }
    }
}

intercept! {
    /// `mq_notify`: a call that is made for a message comes after whoever asked for it, and who sent the message.
    fn dh_wrap_mq_notify / mq_notify(file: c_int, wish: *const Wish) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const Wish) -> c_int;
        // SAFETY: passed on, with our function where the program's was; a call that is not to be is nobody's.
        unsafe {
            let wished = if recording() { wish.as_ref() } else { None };
            let sent = queue(file).unwrap_or(0);
            let ours = wished.and_then(|wish| Call::instead(wish, sent, arrived as *const () as usize));
            let Some((passed, call)) = ours else { return real!("mq_notify", Real)(file, wish) };
            // A call that was made before may have been in its place.
            log::event(pc, &Op::Forget { object: Call::object(call) });
            online::expect_others();
            signal(pc, Call::object(call));
            let result = real!("mq_notify", Real)(file, &raw const passed);
            if result != 0 {
                allocator::free(call.cast());
            }
            result
        }
    }
}
