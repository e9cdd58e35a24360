//! Holding accesses apart, as a gate file says: provocation (RaceHunter, Algorithms 3 and 4, with
//! the watch rule), and the watched order.
//!
//! A thread that comes to an access which may matter asks here before it makes it ([`before`]), and
//! may be held. Verdicts, and the accesses found, go into the shared file at once.
//!
//! Invariants: a verdict is given once, under the lock; a race is told only while both threads
//! stand before their accesses, neither blocked nor timed out. Without a gate file nothing here runs.

mod file;
mod filter;
mod hold;
mod meet;
mod order;
mod park;
mod sample;
mod turns;
mod watch;
mod who;

use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Op};
use deadheat_core::gate::{MAX_DESCRIPTORS, descriptor, flag, head, target, verdict};

pub(crate) use file::module_loaded;
pub(crate) use filter::{FRAMES, MASK, TABLE, let_none_pass, passes};
pub(crate) use who::{Blocked, Seat, is_not_born, name_foreign, will_be_born};

use crate::cold::lock::Lock;
use crate::cold::together;
use crate::hot::thread::{Busy, Thread, UNWATCHED};
use crate::sys;
use file::{descriptor_word, head_word, target_word};

/// Guards verdicts, slots and the list of threads. Held for short work only, never while waiting,
/// and only with signals kept away: a handler might jump out of that work.
static LOCK: Lock = Lock::new();

/// Runs `body` under the lock.
fn locked<R>(body: impl FnOnce() -> R) -> R {
    let _quiet = sys::Quiet::new();
    LOCK.with(body)
}

/// What is to be done with a gate file, in bits: 0 without one.
static WORK: AtomicU32 = AtomicU32::new(0);

/// There is a gate file.
const USED: u32 = 1;
/// Events are recorded, too.
const RECORDED: u32 = 2;
/// A thread may have to wait before it synchronises: an order is kept, or a side is delayed.
const STOPS: u32 = 4;
/// Turns are noted in the file.
const TURNS: u32 = 8;

/// Whether memory and string functions are seen inside.
static PARTS: AtomicU32 = AtomicU32::new(0);

/// Whether what a memory or string function touches are many accesses, one for each word.
#[inline]
pub(crate) fn sees_parts() -> bool {
    PARTS.load(Ordering::Relaxed) != 0
}

/// Whether a gate file is in use.
#[inline(always)]
pub(crate) fn on() -> bool {
    WORK.load(Ordering::Relaxed) != 0
}

fn stops() -> bool {
    WORK.load(Ordering::Relaxed) & STOPS != 0
}

/// An access that is about to happen.
#[derive(Clone, Copy)]
pub(crate) struct Coming {
    /// The access. Of a compare-exchange it is what it does if it succeeds.
    pub(crate) access: Access,
    /// The hook's return address.
    pub(crate) pc: u64,
    /// What a compare-exchange expects to find; `None` for what cannot fail.
    pub(crate) expects: Option<u128>,
}

/// Maps the gate file whose path ends with a NUL and takes it for this process. `filtered`: accesses
/// that no descriptor speaks of need not come here.
pub(crate) fn open(path: &core::ffi::CStr, filtered: bool) -> bool {
    if !file::map(path) {
        return false;
    }
    filter::set_idle(filtered && !turns::kept() && !sample::wanted());
    filter::want_frames(file::wants_frames());
    turns::open();
    PARTS.store(u32::from(file::flags() & flag::PARTS != 0), Ordering::Relaxed);
    let bit = |bit, set| if set { bit } else { 0 };
    let stops = bit(STOPS, order::wanted() || turns::wanted());
    let work = USED | TURNS | stops | bit(RECORDED, !filtered);
    WORK.store(work, Ordering::Release);
    true
}

/// The thread is about to make an access; it goes on when this returns.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
pub(crate) unsafe fn before(thread: *mut Thread, coming: &Coming) {
    meet::comes(thread);
    if order::wanted() {
        order::step(thread, coming.pc);
    }
    if turns::kept() {
        turns::pause_before(thread);
    }
    if hold::anybody() {
        watch::look(thread, coming);
    }
    if filter::armed(coming.pc) {
        meet_descriptors(thread, coming);
    }
    if sample::wanted() {
        // SAFETY: the caller's promise.
        unsafe { sample::turn(thread, coming) };
    }
}

/// As [`before`], for an access without a compare-exchange.
///
/// # Safety
/// As for [`before`].
pub(crate) unsafe fn before_access(thread: *mut Thread, pc: u64, access: Access) {
    // SAFETY: the caller's promise.
    unsafe { before(thread, &Coming { access, pc, expects: None }) };
}

/// Algorithm 4, lines 3 to 9: counts the access for each descriptor that it matches. Where the other side is held already
/// the two meet: only then may the thread be held for further targets, while that one goes on.
fn meet_descriptors(thread: *mut Thread, coming: &Coming) {
    let count = head_word(head::DESCRIPTORS).load(Ordering::Relaxed) as usize;
    let is_awaited =
        |d: usize| target_word(d / 2, target::HELD).load(Ordering::Relaxed) == (1 - d % 2) as u64 + 1;
    let mut met = [false; MAX_DESCRIPTORS];
    for d in (0..count).filter(|&d| file::code_of(d) == coming.pc && is_awaited(d)) {
        met[d] = true;
        meet_descriptor(thread, coming, d);
    }
    for d in (0..count).filter(|&d| file::code_of(d) == coming.pc && !met[d]) {
        meet_descriptor(thread, coming, d);
    }
}

/// The same for one descriptor, whose code address is that of the access.
fn meet_descriptor(thread: *mut Thread, coming: &Coming, d: usize) {
    descriptor_word(d, descriptor::VISITS).fetch_add(1, Ordering::Relaxed);
    let answer = target_word(d / 2, target::VERDICT).load(Ordering::Acquire);
    // One that was waited for in vain is counted on: when it comes tells how long to wait the next time.
    let is_late =
        || answer == verdict::NONE && descriptor_word(d, descriptor::REACHED).load(Ordering::Relaxed) == 0;
    if answer != verdict::OPEN && !is_late() {
        return;
    }
    if file::places_alone() {
        return hold::arrive(thread, coming, d);
    }
    // SAFETY: the calling thread's own state.
    let matched = unsafe { who::matches(thread, d) };
    if !matched {
        return;
    }
    if descriptor_word(d, descriptor::ORDINAL).load(Ordering::Relaxed) == 0 {
        return hold::come_by(thread, coming, d);
    }
    // SAFETY: as above; `d` is below the number of counters.
    let times = u64::from(unsafe { (*thread).seat.counts[d] }) + 1;
    if descriptor_word(d, descriptor::COUNT).load(Ordering::Relaxed) < times {
        descriptor_word(d, descriptor::COUNT).store(times, Ordering::Relaxed);
    }
    if times == descriptor_word(d, descriptor::ORDINAL).load(Ordering::Relaxed) {
        hold::arrive(thread, coming, d);
    } else {
        // SAFETY: as above.
        unsafe { (*thread).seat.counts[d] += 1 };
    }
}

/// An event other than an access: before it takes effect if it releases, after it did if it
/// acquires. Of a handler that interrupted a hook nothing is noted.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline]
pub(crate) unsafe fn event(thread: *mut Thread, pc: u64, op: &Op) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).busy != 0 {
            return;
        }
        meet::comes(thread);
        if stops() && releases(op) {
            let _busy = Busy::new(thread);
            if order::wanted() {
                order::step(thread, pc);
            }
            if turns::wanted() && turns::is_turn(op) {
                turns::before(thread);
            }
        }
        if turns::is_turn(op) {
            turns::taken(thread);
        }
        match *op {
            Op::Acquire { lock, .. } => (*thread).seat.take(lock),
            Op::Release { lock, .. } => (*thread).seat.give(lock),
            Op::Free { address, size, kind: BlockKind::Mapping } => freed(pc as usize, address, || size),
            Op::Begin => {
                let _busy = Busy::new(thread);
                who::begins(thread);
            }
            Op::End => {
                let _busy = Busy::new(thread);
                order::passed_by(thread);
                who::ends(thread);
            }
            Op::Access(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Arrive { .. }
            | Op::Fence(_)
            | Op::Join { .. }
            | Op::Wait { .. }
            | Op::Leave { .. }
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Forget { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }
}

/// Notes a lock that the thread took or gave back; `false` if more than that may be to be done, or
/// the event is another.
///
/// Cost: some twenty instructions where the kind of event is known. Model: [`event`].
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn notes(thread: *mut Thread, op: &Op) -> bool {
    let (Op::Acquire { lock, .. } | Op::Release { lock, .. }) = *op else { return false };
    // SAFETY: the caller's promise.
    let state = unsafe { &mut *thread };
    if WORK.load(Ordering::Relaxed) != USED || state.busy | state.internal | state.ignore_sync != 0 {
        return false;
    }
    state.seat.turns += 1;
    if let Op::Acquire { .. } = op {
        state.seat.take(lock)
    } else {
        state.seat.give(lock)
    }
    true
}

/// Whether an event is told before it takes effect, so that the thread can still be held there.
fn releases(op: &Op) -> bool {
    matches!(
        op,
        Op::Request { .. }
            | Op::Release { .. }
            | Op::Fork { .. }
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Arrive { .. }
    )
}

/// A block is about to die: a write to all its bytes.
#[inline]
pub(crate) fn freed(pc: usize, address: u64, size: impl FnOnce() -> u64) {
    if !on() || passes(pc) {
        return;
    }
    let Some(thread) = crate::hot::thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        if (*thread).internal == 0 && (*thread).busy == 0 {
            let access = Access { address, size: size(), mode: Mode::Write, atomic: None, via: Via::Free };
            let _busy = Busy::new(thread);
            before_access(thread, pc as u64, access);
        }
    }
}

/// The thread is about to take a lock or a semaphore, at `pc`: a place that a watched order may
/// name, and a turn.
#[inline]
pub(crate) fn before_lock(pc: usize) {
    if stops() {
        stop(pc);
    } else {
        together::before_lock();
    }
}

#[cold]
#[inline(never)]
fn stop(pc: usize) {
    idle(|thread| {
        if order::wanted() {
            order::step(thread, pc as u64);
        }
        if turns::wanted() {
            turns::before(thread);
        }
    });
}

/// The thread tried to take a lock in vain: that was its turn.
#[inline]
pub(crate) fn tried_in_vain() {
    if on() {
        idle(turns::taken);
    }
}

/// Runs `what` for the calling thread if it is watched. A handler that interrupted a hook passes.
fn idle(what: impl FnOnce(*mut Thread)) {
    let word = crate::sys::machine::thread_word();
    if word > UNWATCHED {
        let thread = word as *mut Thread;
        // SAFETY: the calling thread's own state.
        unsafe {
            if (*thread).busy == 0 {
                let _busy = Busy::new(thread);
                what(thread);
            }
        }
    }
}

/// Runs `wait`, which may block the calling thread for as long as others like, marked as blocked.
#[inline]
pub(crate) fn blocked<R>(what: Blocked, object: u64, wait: impl FnOnce() -> R) -> R {
    if !on() {
        together::go();
        return wait();
    }
    who::blocked(what, object, wait)
}

/// The calling thread jumps out of functions: it is blocked no more. In a provocation it is in no
/// hook any more, either, since what a hook changes is the gate's own and is changed with signals
/// kept away; but the recording of an event may have been left half done.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn jumps(thread: *mut Thread) {
    if on() {
        // SAFETY: the caller's promise.
        unsafe {
            (&raw mut (*thread).seat.blocked).write_volatile(Blocked::No as u32);
            if crate::cold::start::light() {
                (*thread).busy = 0;
            }
        }
    }
}

/// In a forked child: it is not steered, and leaves its parent's file alone.
pub(crate) fn off_in_child() {
    WORK.store(0, Ordering::Relaxed);
    filter::let_all_pass();
    file::forget();
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    LOCK.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    LOCK.release();
}
