//! Message queues of POSIX and of System V, and System V's semaphores: who gets a message comes after what was done before it was
//! sent, and who takes from a semaphore after those who gave.
//!
//! POSIX's queues are told by their inodes, System V's things by their numbers. A semaphore is two objects: what those learn who
//! take from it, and what those learn who wait for it to be nothing.

use core::ffi::{c_char, c_int, c_long, c_uint, c_void};

use super::descriptor::{MESSAGES, NOTHING, QUEUE, SEMAPHORE, SETS, object, signal, wait};
use super::touch::{asked_to_read, can_read, system_reads, system_writes};
use crate::cold::start::recording;
use crate::hot::thread;
use crate::sys;

/// The object of a POSIX queue.
pub(super) fn queue(file: c_int) -> Option<u64> {
    thread::current()?;
    if sys::is_confined() {
        return Some(object(QUEUE, 0));
    }
    let status = sys::status(file).ok()?;
    Some(object(QUEUE, status.device << 32 ^ status.inode))
}

macro_rules! queue_send {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, from: *const c_char, len: usize, rank: c_uint $(, $more: $type)?) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int, *const c_char, usize, c_uint $(, $type)?) -> c_int;
                if recording() && let Some(object) = queue(file) {
                    asked_to_read(pc, from, len);
                    signal(pc, object);
                }
                // SAFETY: passed on.
                unsafe { real!($name, Real)(file, from, len, rank $(, $more)?) }
            }
        }
    )*};
}

queue_send! {
    dh_wrap_mq_send / mq_send "mq_send" ();
    dh_wrap_mq_timedsend / mq_timedsend "mq_timedsend" (until: *const c_void);
}

macro_rules! queue_receive {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, to: *mut c_char, len: usize, rank: *mut c_uint $(, $more: $type)?) -> isize; pc {
                type Real = unsafe extern "C" fn(c_int, *mut c_char, usize, *mut c_uint $(, $type)?) -> isize;
                // SAFETY: passed on.
                let got = unsafe { real!($name, Real)(file, to, len, rank $(, $more)?) };
                if got >= 0 && recording() && let Some(object) = queue(file) {
                    wait(pc, object);
                    system_writes(pc, to, got as usize);
                    if !rank.is_null() {
                        system_writes(pc, rank, size_of::<c_uint>());
                    }
                }
                got
            }
        }
    )*};
}

queue_receive! {
    dh_wrap_mq_receive / mq_receive "mq_receive" ();
    dh_wrap_mq_timedreceive / mq_timedreceive "mq_timedreceive" (until: *const c_void);
}

/// A message's kind, before its text.
const KIND: usize = size_of::<c_long>();

intercept! {
    /// `msgsnd`
    fn dh_wrap_msgsnd / msgsnd(queue: c_int, message: *const c_void, len: usize, flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const c_void, usize, c_int) -> c_int;
        if recording() && thread::current().is_some() {
            asked_to_read(pc, message, len.saturating_add(KIND));
            signal(pc, object(MESSAGES, queue as u64));
        }
        // SAFETY: passed on.
        unsafe { real!("msgsnd", Real)(queue, message, len, flags) }
    }
}

intercept! {
    /// `msgrcv`
    fn dh_wrap_msgrcv / msgrcv(queue: c_int, message: *mut c_void, len: usize, kind: c_long, flags: c_int) -> isize; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_void, usize, c_long, c_int) -> isize;
        // SAFETY: passed on.
        let got = unsafe { real!("msgrcv", Real)(queue, message, len, kind, flags) };
        if got >= 0 && recording() && thread::current().is_some() {
            wait(pc, object(MESSAGES, queue as u64));
            system_writes(pc, message, KIND + got as usize);
        }
        got
    }
}

/// A `struct sembuf`: what is to be done with one semaphore of a set.
#[derive(Clone, Copy)]
#[repr(C)]
struct Step {
    number: u16,
    change: i16,
    flags: i16,
}

impl Step {
    /// What those learn who take from the semaphore, or else those who wait for it to be nothing.
    fn object(self, set: c_int, takes: bool) -> u64 {
        object(if takes { SEMAPHORE } else { NOTHING }, (set as u64) << u16::BITS | u64::from(self.number))
    }
}

/// Does what `real` does to a set of semaphores.
///
/// # Safety
/// `steps` is null or there are `count` steps, which stay as they are until `real` returns.
unsafe fn operate(
    pc: usize,
    set: c_int,
    steps: *const Step,
    count: usize,
    real: impl FnOnce() -> c_int,
) -> c_int {
    if !recording() || thread::current().is_none() {
        return real();
    }
    // More the kernel does not take.
    const MOST: usize = 500;
    let count = if count <= MOST && can_read(steps.addr(), count * size_of::<Step>()) { count } else { 0 };
    system_reads(pc, steps, count * size_of::<Step>());
    // SAFETY: the program has so many steps, which can be read.
    let steps = if count == 0 { &[] } else { unsafe { core::slice::from_raw_parts(steps, count) } };
    for step in steps.iter().filter(|step| step.change != 0) {
        signal(pc, step.object(set, step.change > 0));
    }
    let result = real();
    if result == 0 {
        let learns = |step: &&Step| step.change <= 0;
        steps.iter().filter(learns).for_each(|step| wait(pc, step.object(set, step.change < 0)));
        if steps.iter().any(|step| learns(&step)) {
            wait(pc, object(SETS, set as u64));
        }
    }
    result
}

macro_rules! semaphores {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(set: c_int, steps: *const Step, count: usize $(, $more: $type)?) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int, *const Step, usize $(, $type)?) -> c_int;
                // SAFETY: passed on.
                unsafe { operate(pc, set, steps, count, || real!($name, Real)(set, steps, count $(, $more)?)) }
            }
        }
    )*};
}

semaphores! {
    dh_wrap_semop / semop "semop" ();
    dh_wrap_semtimedop / semtimedop "semtimedop" (timeout: *const c_void);
}

intercept! {
    /// `semctl`: who sets semaphores may let others go on. Its fourth argument is there or not.
    fn dh_wrap_semctl / semctl(set: c_int, number: c_int, what: c_int, argument: usize) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, c_int, usize) -> c_int;
        const SET_ONE: c_int = 16;
        const SET_ALL: c_int = 17;
        if recording() && matches!(what, SET_ONE | SET_ALL) && thread::current().is_some() {
            signal(pc, object(SETS, set as u64));
        }
        // SAFETY: passed on.
        unsafe { real!("semctl", Real)(set, number, what, argument) }
    }
}
