//! Threads that are created one behind the other begin together.
//!
//! A short thread may have ended before its creator has made the next one. Whatever both use, a lock or a count of the threads,
//! then orders all that the one did before all that the other does, and their race is not there in this run. So a thread waits
//! before its first step as long as threads are created one behind the other: until no creation has begun for a short time, or some thread blocks, as a
//! creator does that joins what it has created. A creator that goes on with other work is not to be through with it before its threads begin, and it may
//! wait for them in ways that are not seen. One that gives back a lock or the like between two creations orders what it did before that behind what its threads do when they take it at last: then they
//! begin as they come. One that takes a lock before they do lets them begin first, too.

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use deadheat_core::options;

use crate::gate;
use crate::hot::thread::known;
use crate::online;
use crate::sys;

/// How often threads were let go.
static LET_GO: AtomicU32 = AtomicU32::new(0);
/// How many threads are created and have not taken their first step, of those that are let go together: the next ones and the last ones, by how
/// often threads were let go before, even or odd.
static COMING: [AtomicU32; 2] = [const { AtomicU32::new(0) }; 2];
/// How many threads are being created at present.
static CREATING: AtomicU32 = AtomicU32::new(0);
/// When a creation ended last.
static CREATED: AtomicU64 = AtomicU64::new(0);
/// Set while one of those that wait looks how long ago that was.
static LOOKING: AtomicBool = AtomicBool::new(false);
/// How many nanoseconds a thread waits at the most.
static MOMENT: AtomicU64 = AtomicU64::new(0);
/// The part of this for which it waits behind the last creation.
const BEHIND: u64 = 20;
/// Threads of higher numbers do not wait: a program that has so many would lose too much time if it waits for each in a way that is not seen.
const MOST_THREADS: u32 = 1000;

/// So often a thread lets others run that are about to take their first steps.
const AWAKE: u32 = 200;

/// Takes the options; no other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    MOMENT.store(options::start_together(texts), Ordering::Relaxed);
}

/// From now on threads begin as they come.
pub(crate) fn cease() {
    MOMENT.store(0, Ordering::Relaxed);
}

/// How many of those are coming that wait for this.
fn coming(let_go: u32) -> &'static AtomicU32 {
    &COMING[let_go as usize % 2]
}

/// A thread is about to be created. What it shall [wait](wait) with; nothing if it begins `at_once`, as those do then that wait.
pub(super) fn comes(id: u32, at_once: bool) -> Option<u32> {
    if !online::on() || gate::on() || id >= MOST_THREADS || MOMENT.load(Ordering::Relaxed) == 0 {
        return None;
    }
    if at_once {
        go_and_lead();
        return None;
    }
    let let_go = LET_GO.load(Ordering::Relaxed);
    coming(let_go).fetch_add(1, Ordering::Relaxed);
    Some(let_go)
}

/// It takes its first step, or never will.
pub(super) fn came(let_go: u32) {
    coming(let_go).fetch_sub(1, Ordering::Relaxed);
}

/// A thread is being created while this lives.
pub(crate) struct Creating(());

impl Creating {
    /// It begins.
    pub(crate) fn new() -> Creating {
        CREATING.fetch_add(1, Ordering::Relaxed);
        Creating(())
    }
}

impl Drop for Creating {
    fn drop(&mut self) {
        if MOMENT.load(Ordering::Relaxed) != 0 {
            CREATED.store(sys::monotonic(), Ordering::Relaxed);
        }
        CREATING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The calling thread, which [came](comes) with that, waits for the others.
pub(super) fn wait(let_go: u32) {
    let mut rests = false;
    if LET_GO.load(Ordering::Relaxed) == let_go {
        if LOOKING.swap(true, Ordering::Acquire) {
            sys::futex_wait(&LET_GO, let_go, MOMENT.load(Ordering::Relaxed));
        } else {
            rests = wait_for_creators(let_go);
            LOOKING.store(false, Ordering::Release);
        }
    }
    came(let_go);
    // One wakes the next, as who woke all would leave them to the processor that it is about to give up itself.
    sys::futex_wake_one(&LET_GO);
    lead(let_go, if rests { AWAKE } else { 0 });
}

/// Lets those run that were let go and are about to take their first steps, but no more than [`AWAKE`] times with those that it was done.
fn lead(let_go: u32, mut tries: u32) {
    while coming(let_go).load(Ordering::Relaxed) != 0 && tries < AWAKE {
        sys::yield_now();
        tries += 1;
    }
}

/// Waits until all are let go, or no thread was created for a while, and lets them go then: `true`, as their creator is at other work meanwhile.
fn wait_for_creators(let_go: u32) -> bool {
    let (begin, most) = (sys::monotonic(), MOMENT.load(Ordering::Relaxed));
    while LET_GO.load(Ordering::Relaxed) == let_go {
        let created = CREATED.load(Ordering::Relaxed);
        let now = sys::monotonic();
        let rests = CREATING.load(Ordering::Relaxed) == 0 && now.saturating_sub(created) >= most / BEHIND;
        if rests || now - begin >= most {
            self::let_go();
            return true;
        }
        sys::futex_wait(&LET_GO, let_go, most / BEHIND);
    }
    false
}

/// The calling thread is about to take a lock. If it is one that creates threads, those that wait begin, and take their first steps: if they took that lock behind it, what it did since it
/// created them would be ordered before all that they do then.
#[inline]
pub(crate) fn before_lock() {
    if are_coming() {
        lead_before_lock();
    }
}

#[cold]
#[inline(never)]
fn lead_before_lock() {
    // SAFETY: `known` gives the calling thread's own state.
    if known().is_some_and(|thread| unsafe { (*thread).created_at } != 0) {
        go_and_lead();
    }
}

/// Lets those go that wait, and lets them take their first steps.
fn go_and_lead() {
    let waiting = LET_GO.load(Ordering::Relaxed);
    go();
    lead(waiting, 0);
}

/// Whether threads wait.
#[inline(always)]
fn are_coming() -> bool {
    coming(LET_GO.load(Ordering::Relaxed)).load(Ordering::Relaxed) != 0
}

/// The calling thread may block: threads that wait do so no more.
#[inline]
pub(crate) fn go() {
    if are_coming() {
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
    COMING.iter().for_each(|count| count.store(0, Ordering::Relaxed));
    CREATING.store(0, Ordering::Relaxed);
    LOOKING.store(false, Ordering::Relaxed);
}
