//! The watched order: places in the order in which they are to be passed for the first time.
//!
//! A thread that comes to a place before its turn waits for it. A place counts as passed when the
//! thread that passes it comes to its next event, blocks or ends, or after a moment; so what it did
//! there has happened. Nothing of this is synchronisation of the program, and nothing of it is
//! recorded.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::gate::{head, note};

use super::file::{self, head_word};
use super::locked;
use crate::hot::thread::Thread;
use crate::sys;

/// Steps that were passed: what those who wait for their turn wait on.
static PASSED: AtomicU32 = AtomicU32::new(0);
/// The step that a thread is passing, from 1; 0: none.
static PASSING: AtomicU32 = AtomicU32::new(0);
/// Since when, in nanoseconds since the start.
static SINCE: AtomicU64 = AtomicU64::new(0);

/// After this time a place counts as passed though its thread came to no other event.
const MOMENT: u64 = 4_000_000;
/// How often one who waits looks at the clock.
const REST: u64 = 1_000_000;

/// Whether there is an order to keep.
#[inline]
pub(super) fn wanted() -> bool {
    file::number(head::STEPS) != 0
}

/// The thread comes to an event at `pc`.
pub(super) fn step(thread: *mut Thread, pc: u64) {
    passed_by(thread);
    let Some(step) = file::step_of(pc) else { return };
    let patience = head_word(head::PATIENCE).load(Ordering::Relaxed);
    let until = file::now() + patience;
    loop {
        let passed = PASSED.load(Ordering::Acquire);
        if over() || (step as u32) < passed || PASSING.load(Ordering::Relaxed) == step as u32 + 1 {
            return;
        }
        if step as u32 == passed && claim(thread, step, pc) {
            return;
        }
        let now = file::now();
        if PASSING.load(Ordering::Relaxed) == passed + 1 && now > SINCE.load(Ordering::Relaxed) + MOMENT {
            pass(passed + 1);
        } else if now > until {
            give_up(passed);
            return;
        } else {
            sys::futex_wait(&PASSED, passed, REST);
        }
    }
}

/// Whether the order is kept no longer.
fn over() -> bool {
    head_word(head::GIVEN_UP).load(Ordering::Relaxed) != 0
}

/// It is this step's turn: the thread passes it, if it is the first there.
fn claim(thread: *mut Thread, step: usize, pc: u64) -> bool {
    locked(|| {
        if PASSING.load(Ordering::Relaxed) != 0 || PASSED.load(Ordering::Relaxed) != step as u32 {
            return false;
        }
        SINCE.store(file::now(), Ordering::Relaxed);
        PASSING.store(step as u32 + 1, Ordering::Relaxed);
        // SAFETY: the calling thread's own state.
        unsafe { (*thread).seat.passing = step as u32 + 1 };
        file::note(note::STEP, (step, 0), thread, pc);
        true
    })
}

/// What the thread was passing is passed.
pub(super) fn passed_by(thread: *mut Thread) {
    // SAFETY: the calling thread's own state.
    let passing = unsafe { core::mem::replace(&mut (*thread).seat.passing, 0) };
    if passing != 0 {
        pass(passing);
    }
}

/// The step, from 1, is passed.
fn pass(step: u32) {
    locked(|| {
        if PASSING.load(Ordering::Relaxed) == step {
            PASSING.store(0, Ordering::Relaxed);
            PASSED.store(step, Ordering::Release);
            head_word(head::PASSED).store(u64::from(step), Ordering::Relaxed);
        }
    });
    sys::futex_wake(&PASSED);
}

/// Nobody came to the next step for too long.
fn give_up(passed: u32) {
    head_word(head::GIVEN_UP).store(u64::from(passed) + 1, Ordering::Relaxed);
    sys::futex_wake(&PASSED);
}
