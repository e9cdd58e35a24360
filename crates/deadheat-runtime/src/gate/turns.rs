//! The order in which threads synchronise: noted in each run that provokes, and kept in a run that
//! is to bring a meeting back.
//!
//! A *turn* is one thing that one thread did: it took a lock or tried to, gave one back, created a
//! thread, signalled, woke, came to a barrier. In a run that keeps turns a thread waits for its own
//! before it does such a thing, and the thread that is to arrive second does nothing at all between
//! its last turn before the pause and the moment when the other is held. What takes its turn before
//! it can be stopped (a wait on a condition that returns) is taken out of the order.
//!
//! A side of a target may be *delayed*, too: its thread waits before one of its turns, in which it takes
//! a lock that the other needs first, until the other is held.
//!
//! No order is kept by force: a run that takes another way gives it up after a while. Nothing of it
//! is a verdict, so a wrong order costs a meeting and never makes one.

use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::gate::{MAX_PATH, head, target, thread, turn, verdict};

pub(super) use deadheat_core::gate::turn::is_turn;

use super::file::{self, head_word, target_word, thread_word, turn_word};
use super::hold;
use super::who::{self, Seat};
use super::{TURNS, WORK, locked};
use crate::hot::thread::Thread;
use crate::sys;

/// Turns of the kept order that are over: what those wait on who wait for theirs.
static OVER: AtomicU32 = AtomicU32::new(0);
/// Whether the order is kept no longer.
static GIVEN_UP: AtomicU32 = AtomicU32::new(0);
/// Whether nobody is stopped any more so that the other side comes first.
static PAUSE_GIVEN_UP: AtomicU32 = AtomicU32::new(0);

/// The thread has no turn left.
const NONE: u32 = u32::MAX;
/// How often one who waits looks at the clock.
const REST: u64 = 1_000_000;
/// The pause is given up after this part of the patience: the side that comes first may need what
/// the other does without a turn.
const PART_OF_PATIENCE: u64 = 4;

/// Whether an order is kept.
#[inline]
pub(super) fn kept() -> bool {
    file::number(head::KEPT) != 0
}

/// Whether a side is delayed.
static DELAYS: AtomicU32 = AtomicU32::new(0);

/// A gate file is in use from now on.
pub(super) fn open() {
    let delayed = |t| target_word(t, target::DELAY).load(Ordering::Relaxed) != 0;
    DELAYS.store(u32::from((0..file::number(head::TARGETS)).any(delayed)), Ordering::Relaxed);
}

/// Whether threads may have to wait before their turns.
#[inline]
pub(super) fn wanted() -> bool {
    kept() || DELAYS.load(Ordering::Relaxed) != 0
}

/// The thread begins. Under the lock.
pub(super) fn begins(seat: &mut Seat) {
    seat.row = row_of(seat);
    seat.next = next_of(seat.row, 0);
}

/// The number of a thread's record, from 1; 0 if it gets none.
fn row_of(seat: &Seat) -> u32 {
    let known = file::number(head::KNOWN);
    let len = seat.path_len as usize;
    if len > MAX_PATH {
        return 0;
    }
    let word = |row, index| thread_word(row, index).load(Ordering::Relaxed);
    let is_own = |&row: &usize| {
        word(row, thread::PATH_LEN) == len as u64
            && (0..len).all(|i| word(row, thread::PATH + i) == seat.path[i])
    };
    if let Some(row) = (0..known).find(is_own) {
        return row as u32 + 1;
    }
    if known >= file::number(head::THREADS) {
        return 0;
    }
    thread_word(known, thread::PATH_LEN).store(len as u64, Ordering::Relaxed);
    (0..len).for_each(|i| thread_word(known, thread::PATH + i).store(seat.path[i], Ordering::Relaxed));
    head_word(head::KNOWN).store(known as u64 + 1, Ordering::Relaxed);
    known as u32 + 1
}

/// The first turn of a record at or behind `from`.
fn next_of(row: u32, from: usize) -> u32 {
    let is_own = |&at: &usize| turn_word(at).load(Ordering::Relaxed) as u32 == row;
    (from..file::number(head::KEPT)).find(is_own).map_or(NONE, |at| at as u32)
}

/// How many turns are over.
pub(super) fn count() -> u64 {
    head_word(head::TURNED).load(Ordering::Relaxed)
}

/// The thread took a turn.
pub(super) fn taken(thread: *mut Thread) {
    // SAFETY: the calling thread's own state.
    unsafe { (*thread).seat.turns += 1 };
    if WORK.load(Ordering::Relaxed) & TURNS == 0 {
        return;
    }
    if kept() {
        return pass(thread);
    }
    let room = file::number(head::TURNS) as u64;
    // One beyond the room tells that there were more.
    if count() > room {
        WORK.fetch_and(!TURNS, Ordering::Relaxed);
        return;
    }
    let at = head_word(head::TURNED).fetch_add(1, Ordering::Relaxed);
    if at < room {
        // SAFETY: the calling thread's own state.
        turn_word(at as usize).store(u64::from(unsafe { (*thread).seat.row }), Ordering::Relaxed);
    }
}

/// The thread's turn is over, be it before those of others.
fn pass(thread: *mut Thread) {
    locked(|| {
        // SAFETY: the calling thread's own state.
        let seat = unsafe { &mut (*thread).seat };
        if seat.next == NONE {
            return;
        }
        turn_word(seat.next as usize).fetch_or(turn::OVER, Ordering::Relaxed);
        seat.next = next_of(seat.row, seat.next as usize + 1);
        let mut over = OVER.load(Ordering::Relaxed) as usize;
        while over < file::number(head::KEPT) && turn_word(over).load(Ordering::Relaxed) & turn::OVER != 0 {
            over += 1;
        }
        OVER.store(over as u32, Ordering::Release);
    });
    sys::futex_wake(&OVER);
}

/// The thread is about to take a turn.
pub(super) fn before(thread: *mut Thread) {
    if kept() {
        wait(thread);
    }
    if DELAYS.load(Ordering::Relaxed) != 0 {
        (0..file::number(head::TARGETS)).for_each(|t| delay(thread, t));
    }
}

/// Waits until the other side of a target is held, if the thread is delayed for it in this turn. If it is waited for by just that
/// thread, for a target that comes before this one, it goes on.
fn delay(thread: *mut Thread, t: usize) {
    let word = target_word(t, target::DELAY).load(Ordering::Relaxed);
    let is_open = || target_word(t, target::VERDICT).load(Ordering::Relaxed) == verdict::OPEN;
    let (side, other) = ((word & 1) as usize, 1 - (word & 1) as usize);
    // SAFETY: the calling thread's own state.
    let due =
        unsafe { u64::from((*thread).seat.turns) + 1 == word >> 1 && who::is_named(thread, 2 * t + side) };
    if !due || !is_open() {
        return;
    }
    let until = file::now() + target_word(t, target::BOUND).load(Ordering::Relaxed);
    let mut quiet = 0;
    while target_word(t, target::HELD).load(Ordering::Relaxed) != other as u64 + 1
        && is_open()
        && quiet < hold::LOOKS
        && file::now() < until
    {
        sys::futex_wait(&OVER, OVER.load(Ordering::Relaxed), REST);
        // SAFETY: under the lock.
        let come = locked(|| unsafe {
            !hold::is_held_for(thread, 2 * t + other, t) && who::could_come(thread, 2 * t + other, false)
        });
        quiet = if come { 0 } else { quiet + 1 };
    }
}

/// Waits until it is the thread's turn.
fn wait(thread: *mut Thread) {
    // SAFETY: the calling thread's own state.
    let (row, next) = unsafe { ((*thread).seat.row, (*thread).seat.next) };
    let until = file::now() + head_word(head::PATIENCE).load(Ordering::Relaxed);
    while row != 0 && GIVEN_UP.load(Ordering::Relaxed) == 0 {
        let over = OVER.load(Ordering::Acquire);
        if (next == over && (over < pause() || is_held())) || is_decided() {
            return;
        }
        if file::now() > until {
            GIVEN_UP.store(1, Ordering::Relaxed);
        }
        sys::futex_wait(&OVER, over, REST);
    }
}

/// Before an access: the thread that is to come second waits until the other is held.
pub(super) fn pause_before(thread: *mut Thread) {
    let second = 1 - file::number(head::FIRST) % 2;
    // SAFETY: the calling thread's own state.
    if unsafe { (*thread).seat.next < pause() || !who::is_named(thread, second) } {
        return;
    }
    let patience = head_word(head::PATIENCE).load(Ordering::Relaxed);
    let until = file::now() + patience / PART_OF_PATIENCE;
    while !is_held() && GIVEN_UP.load(Ordering::Relaxed) | PAUSE_GIVEN_UP.load(Ordering::Relaxed) == 0 {
        if file::now() > until {
            PAUSE_GIVEN_UP.store(1, Ordering::Relaxed);
        }
        sys::futex_wait(&OVER, OVER.load(Ordering::Relaxed), REST);
    }
}

/// The number of turns before the first side is held.
fn pause() -> u32 {
    file::number(head::PAUSE) as u32
}

/// Whether the side that comes first is held, or was.
fn is_held() -> bool {
    target_word(0, target::HELD).load(Ordering::Relaxed) == file::number(head::FIRST) as u64 + 1
        || is_decided()
}

fn is_decided() -> bool {
    target_word(0, target::VERDICT).load(Ordering::Relaxed) != verdict::OPEN
}
