//! Threads that are created one behind the other begin together.
//!
//! A short thread may have ended before its creator has made the next one. Whatever both use, a lock or a count of the threads,
//! then orders all that the one did before all that the other does, and their race is not there in this run. So a thread waits
//! before its first step until some thread blocks, as its creator does that has created all and joins them, but only for a moment:
//! its creator may wait for it in ways that are not seen.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::options;

use crate::gate;
use crate::online;
use crate::sys;

/// How often threads were let go.
static LET_GO: AtomicU32 = AtomicU32::new(0);
/// How many threads are created and have not taken their first step.
static COMING: AtomicU32 = AtomicU32::new(0);
/// How many nanoseconds a thread waits at the most.
static MOMENT: AtomicU64 = AtomicU64::new(0);
/// Threads of higher numbers do not wait: a program that has so many would lose too much time if it waits for each in a way that is not seen.
const MOST_THREADS: u32 = 1000;

/// So often a thread lets others run that are about to take their first steps.
const AWAKE: u32 = 200;

/// Takes the options; no other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    MOMENT.store(options::start_together(texts), Ordering::Relaxed);
}

/// A thread is about to be created. What it shall [wait](wait) with.
pub(super) fn comes(id: u32) -> Option<u32> {
    if !online::on() || gate::on() || id >= MOST_THREADS || MOMENT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    COMING.fetch_add(1, Ordering::Relaxed);
    Some(LET_GO.load(Ordering::Relaxed))
}

/// It takes its first step, or never will.
pub(super) fn came() {
    COMING.fetch_sub(1, Ordering::Relaxed);
}

/// The calling thread, which [came](comes) with that, waits for the others.
pub(super) fn wait(let_go: u32) {
    if LET_GO.load(Ordering::Relaxed) == let_go {
        sys::futex_wait(&LET_GO, let_go, MOMENT.load(Ordering::Relaxed));
    }
    came();
    // One wakes the next, as who woke all would leave them to the processor that it is about to give up itself.
    sys::futex_wake_one(&LET_GO);
    let mut tries = 0;
    while COMING.load(Ordering::Relaxed) != 0 && tries < AWAKE {
        sys::yield_now();
        tries += 1;
    }
}

/// The calling thread may block: threads that wait do so no more.
#[inline]
pub(crate) fn go() {
    if COMING.load(Ordering::Relaxed) != 0 {
        let_go();
    }
}

#[cold]
fn let_go() {
    LET_GO.fetch_add(1, Ordering::Relaxed);
    sys::futex_wake_one(&LET_GO);
}

/// In a forked child, which has no other thread.
pub(crate) fn in_child() {
    COMING.store(0, Ordering::Relaxed);
}
