//! The threads as the gate sees them: their spawn paths, what they wait for, and who could still
//! come to an access.
//!
//! Invariant: the list of threads changes under the gate's lock alone; a thread leaves it before
//! its state is given back.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::gate::{FOREIGN, MAX_DESCRIPTORS, MAX_PATH, NAMED, access, descriptor, head};

use super::file::{self, descriptor_word, head_word};
use super::{hold, locked, turns};
use crate::hot::thread::{Busy, Frame, Thread, UNWATCHED};
use crate::sys;

/// What a thread may be blocked in.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Blocked {
    /// Nothing: it runs, or waits for something that ends by itself.
    No = 0,
    /// A lock, which its owner gives back.
    Lock = 1,
    /// The end of the thread with this number.
    Join = 2,
    /// Anything that any other thread may end: a condition, a semaphore, a barrier.
    Other = 3,
}

/// What the gate knows of a thread; part of its state.
#[repr(C)]
pub(crate) struct Seat {
    /// U: the ordinals of its spawn and those of its ancestors; empty for the first thread.
    pub(crate) path: [u64; MAX_PATH],
    pub(crate) path_len: u32,
    /// N of the thread state: threads that it spawned and the program gave no number.
    pub(crate) spawned: u32,
    /// The kernel's number of the thread.
    pub(crate) kernel_id: u32,
    /// What it is blocked in: a [`Blocked`], and the object.
    pub(crate) blocked: u32,
    pub(crate) blocked_on: u64,
    /// The step of the watched order that it is passing, from 1; 0: none.
    pub(crate) passing: u32,
    /// The number of its record among the threads that take turns, from 1; 0: none.
    pub(crate) row: u32,
    /// Its next turn of a kept order.
    pub(crate) next: u32,
    /// How many turns it took, and in which one it took the first of the locks that it holds.
    pub(crate) turns: u32,
    pub(crate) locked_in: u32,
    locks_len: AtomicU32,
    locks: [AtomicU64; access::MAX_LOCKS],
    /// Which of its accesses are held as samples.
    pub(super) draws: super::sample::Draws,
    /// C: how many accesses matched each descriptor.
    pub(crate) counts: [u32; MAX_DESCRIPTORS],
}

impl Seat {
    /// The locks that it holds, the first taken first. Asked of another thread's seat it may be
    /// a moment behind.
    pub(crate) fn locks(&self) -> impl DoubleEndedIterator<Item = u64> + ExactSizeIterator + '_ {
        let held = self.locks_len.load(Ordering::Relaxed) as usize;
        self.locks[..held].iter().map(|lock| lock.load(Ordering::Relaxed))
    }

    #[inline]
    pub(super) fn take(&mut self, lock: u64) {
        let len = self.locks_len.load(Ordering::Relaxed);
        if len == 0 {
            self.locked_in = self.turns;
        }
        if let Some(free) = self.locks.get(len as usize) {
            free.store(lock, Ordering::Relaxed);
            self.locks_len.store(len + 1, Ordering::Relaxed);
        }
    }

    #[inline]
    pub(super) fn give(&self, lock: u64) {
        let len = self.locks_len.load(Ordering::Relaxed);
        // Most often the last that was taken.
        let last = self.locks.get(len.wrapping_sub(1) as usize);
        if last.is_some_and(|last| last.load(Ordering::Relaxed) == lock) {
            return self.locks_len.store(len - 1, Ordering::Relaxed);
        }
        let Some(at) = self.locks().rposition(|held| held == lock) else { return };
        for i in at + 1..len as usize {
            self.locks[i - 1].store(self.locks[i].load(Ordering::Relaxed), Ordering::Relaxed);
        }
        self.locks_len.store(len - 1, Ordering::Relaxed);
    }

    /// The number that the program gave the thread.
    pub(crate) fn given(&self) -> Option<u64> {
        let last = *self.path.get((self.path_len as usize).checked_sub(1)?)?;
        (last & NAMED != 0).then_some(last & !NAMED)
    }

    /// Whether the thread's creation was not seen.
    pub(crate) fn is_foreign(&self) -> bool {
        self.path_len == 1 && self.path[0] & FOREIGN != 0
    }

    /// The path of the next thread that this one spawns (Algorithm 1), or of one that the program
    /// gives a number: then that stands for the ordinal, and the thread is not counted.
    pub(crate) fn spawn_into(&mut self, child: &mut Seat, given: u64) {
        self.spawned += u32::from(given == 0);
        child.path = self.path;
        let len = self.path_len as usize;
        if len < MAX_PATH {
            child.path[len] = if given == 0 { u64::from(self.spawned) } else { NAMED | given };
        }
        child.path_len = self.path_len + 1;
    }
}

/// Threads that are created but have not begun.
static UNBORN: AtomicU32 = AtomicU32::new(0);

/// A thread is about to be created; it will begin, or [`is_not_born`] is told.
pub(crate) fn will_be_born() {
    UNBORN.fetch_add(1, Ordering::Relaxed);
}

/// A thread could not be created.
pub(crate) fn is_not_born() {
    UNBORN.fetch_sub(1, Ordering::Relaxed);
}

/// For each descriptor, whether the thread that it names has ended.
static GONE: [AtomicU32; MAX_DESCRIPTORS] = [const { AtomicU32::new(0) }; MAX_DESCRIPTORS];

/// Threads whose creation was not seen so far.
static FOREIGNERS: AtomicU32 = AtomicU32::new(0);

/// A thread whose creation was not seen gets the next number among those.
pub(crate) fn name_foreign(seat: &mut Seat) {
    seat.path[0] = FOREIGN | u64::from(FOREIGNERS.fetch_add(1, Ordering::Relaxed) + 1);
    seat.path_len = 1;
}

/// Threads that are kept apart at once; with more, those beyond count as able to come.
const MOST: usize = 1024;

struct List {
    live: UnsafeCell<[*mut Thread; MOST]>,
    count: UnsafeCell<usize>,
    beyond: UnsafeCell<usize>,
}

// SAFETY: all cells are touched under the gate's lock alone.
unsafe impl Sync for List {}

static LIST: List =
    List { live: UnsafeCell::new([null_mut(); MOST]), count: UnsafeCell::new(0), beyond: UnsafeCell::new(0) };

/// The live threads.
///
/// # Safety
/// The gate's lock is held.
unsafe fn live() -> &'static [*mut Thread] {
    // SAFETY: the caller's promise.
    unsafe { &(&*LIST.live.get())[..*LIST.count.get()] }
}

/// How many threads live, those included that are created but have not begun.
///
/// # Safety
/// The gate's lock is held.
pub(super) unsafe fn living() -> usize {
    // SAFETY: the caller's promise.
    unsafe { *LIST.count.get() + *LIST.beyond.get() + UNBORN.load(Ordering::Relaxed) as usize }
}

/// The thread begins.
pub(super) fn begins(thread: *mut Thread) {
    locked(|| {
        // SAFETY: under the lock; the calling thread's own state.
        unsafe {
            (*thread).seat.kernel_id = sys::thread_id();
            turns::begins(&mut (*thread).seat);
            if (*thread).seat.path_len > 0 && !(*thread).seat.is_foreign() {
                UNBORN.fetch_sub(1, Ordering::Relaxed);
            }
            let (live, count) = (&mut *LIST.live.get(), &mut *LIST.count.get());
            if *count < MOST {
                live[*count] = thread;
                *count += 1;
            } else {
                *LIST.beyond.get() += 1;
            }
            let most = head_word(head::MOST_THREADS);
            if most.load(Ordering::Relaxed) < living() as u64 {
                most.store(living() as u64, Ordering::Relaxed);
            }
        }
    });
}

/// The thread ends.
pub(super) fn ends(thread: *mut Thread) {
    locked(|| {
        // SAFETY: under the lock; the calling thread's own state.
        unsafe {
            let named = (0..file::number(head::DESCRIPTORS)).filter(|&d| is_named(thread, d));
            named.for_each(|d| GONE[d].store(1, Ordering::Relaxed));
            let (live, count) = (&mut *LIST.live.get(), &mut *LIST.count.get());
            if let Some(at) = live[..*count].iter().position(|&other| other == thread) {
                *count -= 1;
                live[at] = live[*count];
            } else {
                let beyond = &mut *LIST.beyond.get();
                *beyond = beyond.saturating_sub(1);
            }
        }
    });
}

/// Runs `wait` with the calling thread marked as blocked.
pub(super) fn blocked<R>(what: Blocked, object: u64, wait: impl FnOnce() -> R) -> R {
    let word = sys::machine::thread_word();
    if word <= UNWATCHED {
        return wait();
    }
    let thread = word as *mut Thread;
    // SAFETY: the calling thread's own state; others read these two words as they are.
    unsafe {
        if (*thread).seat.passing != 0 && (*thread).busy == 0 {
            let _busy = Busy::new(thread);
            super::order::passed_by(thread);
        }
        // In a handler that interrupted a wait both waits are the thread's.
        let outer = ((*thread).seat.blocked, (*thread).seat.blocked_on);
        (&raw mut (*thread).seat.blocked_on).write_volatile(object);
        (&raw mut (*thread).seat.blocked).write_volatile(what as u32);
        let result = wait();
        (&raw mut (*thread).seat.blocked_on).write_volatile(outer.1);
        (&raw mut (*thread).seat.blocked).write_volatile(outer.0);
        result
    }
}

/// `matches(d, u, a, stack)` without the code address, which fits.
///
/// # Safety
/// `thread` is the calling thread's.
pub(super) unsafe fn matches(thread: *mut Thread, d: usize) -> bool {
    let of = |index| descriptor_word(d, index).load(Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe {
        if of(descriptor::ONLY_THREAD) != 0 && !is_named(thread, d) {
            return false;
        }
        let calls = of(descriptor::CALLS_LEN) as usize;
        let mut frame: *mut Frame = (*thread).top;
        if (frame.offset_from((*thread).frames) as usize) < calls {
            return false;
        }
        (0..calls.min(descriptor::MAX_CALLS)).all(|i| {
            frame = frame.sub(1);
            (*frame).call == file::return_address(of(descriptor::CALLS + i))
        })
    }
}

/// Whether the thread is the one that the descriptor names.
///
/// # Safety
/// The thread is alive.
pub(super) unsafe fn is_named(thread: *mut Thread, d: usize) -> bool {
    let of = |index| descriptor_word(d, index).load(Ordering::Relaxed);
    // SAFETY: a live thread's path does not change.
    let seat = unsafe { &(*thread).seat };
    let len = seat.path_len as usize;
    len as u64 == of(descriptor::PATH_LEN)
        && len <= MAX_PATH
        && (0..len).all(|i| seat.path[i] == of(descriptor::PATH + i))
}

/// Whether somebody could still come to the access of descriptor `d`, while `held` waits for it.
/// Only the thread that the descriptor names is looked at, unless it never was, or `anybody` may.
///
/// # Safety
/// The gate's lock is held.
pub(super) unsafe fn could_come(held: *mut Thread, d: usize, anybody: bool) -> bool {
    // SAFETY: under the lock the threads of the list are alive.
    unsafe {
        if *LIST.beyond.get() > 0 {
            return true;
        }
        let expected = live().iter().copied().find(|&thread| is_named(thread, d));
        let is_held = |thread| thread == held;
        if !anybody && let Some(thread) = expected {
            let wanted = descriptor_word(d, descriptor::ORDINAL).load(Ordering::Relaxed);
            // One that is waited for whichever time it is made (0) is never passed.
            let passed = wanted > 0 && u64::from((*thread).seat.counts[d]) >= wanted;
            return !passed && could_go_on(thread, &is_held, 0);
        }
        if UNBORN.load(Ordering::Relaxed) > 0 {
            return true;
        }
        if !anybody && GONE[d].load(Ordering::Relaxed) != 0 {
            return false;
        }
        live().iter().any(|&thread| could_go_on(thread, &is_held, 0))
    }
}

/// Whether nobody can go on unless a held thread does.
///
/// # Safety
/// The gate's lock is held.
pub(super) unsafe fn all_stand_still() -> bool {
    // SAFETY: under the lock the threads of the list are alive.
    unsafe {
        *LIST.beyond.get() == 0
            && UNBORN.load(Ordering::Relaxed) == 0
            && !live().iter().any(|&thread| could_go_on(thread, &hold::waits, 0))
    }
}

/// How far chains of waiting threads are followed.
const DEEPEST: usize = 8;

/// Whether a thread runs, or waits for somebody who does, while those that `is_held` names are
/// held and no others.
///
/// # Safety
/// The gate's lock is held, and `thread` is one of the [`live`] ones.
unsafe fn could_go_on(thread: *mut Thread, is_held: &impl Fn(*mut Thread) -> bool, depth: usize) -> bool {
    if is_held(thread) {
        return false;
    }
    // SAFETY: the caller holds the gate's lock, so the threads of the list are alive.
    unsafe {
        let what = (&raw const (*thread).seat.blocked).read_volatile();
        let object = (&raw const (*thread).seat.blocked_on).read_volatile();
        if hold::holds(thread) || what == Blocked::No as u32 || depth == DEEPEST {
            return true;
        }
        // It may have been woken and not have come far enough to say so.
        if !sys::sleeps((*thread).seat.kernel_id) {
            return true;
        }
        if what == Blocked::Join as u32 {
            return live()
                .iter()
                .copied()
                .find(|&other| u64::from((*other).id) == object)
                .is_none_or(|other| could_go_on(other, is_held, depth + 1));
        }
        if what == Blocked::Lock as u32 {
            let mut owners = live()
                .iter()
                .copied()
                .filter(|&other| other != thread && (*other).seat.locks().any(|lock| lock == object));
            return owners.all(|owner| could_go_on(owner, is_held, depth + 1));
        }
        live().iter().copied().any(|other| {
            let what = (&raw const (*other).seat.blocked).read_volatile();
            other != thread
                && (what != Blocked::Other as u32 || hold::holds(other))
                && could_go_on(other, is_held, depth + 1)
        })
    }
}
