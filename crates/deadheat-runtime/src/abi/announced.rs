//! Locks that the program announces: what their users may do is judged here, since they have no words that we know.
//!
//! A lock's state is one [word](states), which none has of which nothing is known.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::event::{Fault, LockMode, Op};

use crate::cold::states;
use crate::hot::{log, thread};

/// The bits of a state in which its writer's number is kept, plus 1.
const WRITER: u64 = (1 << 32) - 1;
/// How often the writer holds it, above its number.
const DEPTH: u64 = 1 << 32;
/// It was misused: that is told once.
const BROKEN: u64 = 1 << 63;
/// It is a static variable: who makes or destroys it at the start or the end may still use it.
const STATIC: u64 = 1 << 62;
/// It is known to be none.
const NOT_STATIC: u64 = 1 << 61;
const FLAGS: u64 = BROKEN | STATIC | NOT_STATIC;

/// Flags of the interface by which a lock is made and destroyed.
pub(super) mod flag {
    /// It is initialised before the program runs.
    pub(in crate::abi) const LINKER_INIT: u32 = 1;
    /// It is none that is initialised before the program runs.
    pub(in crate::abi) const NOT_STATIC: u32 = 1 << 8;
}

/// The calling thread's number, plus 1; `None` while it does nothing that is to be judged.
fn me() -> Option<u64> {
    let thread = thread::current()?;
    // SAFETY: the calling thread's own state.
    unsafe { ((*thread).internal | (*thread).ignore_sync == 0).then(|| u64::from((*thread).id) + 1) }
}

/// Tells a fault, the first of its lock.
fn broken(pc: usize, lock: u64, state: &AtomicU64, fault: Fault) {
    if state.fetch_or(BROKEN, Ordering::Relaxed) & BROKEN == 0 {
        log::event(pc, &Op::Fault { object: lock, fault });
    }
}

/// The lock is made; of a static one it may be told while it is in use.
pub(super) fn made(pc: usize, lock: u64, flags: u32) {
    let is_static = flags & flag::LINKER_INIT != 0;
    let is_known = flags & flag::NOT_STATIC != 0;
    let state = if is_static || is_known { states::enter(lock) } else { states::find(lock) };
    if let Some(state) = state {
        let now = state.load(Ordering::Relaxed);
        let fresh = match (is_static, is_known) {
            (true, _) => now | STATIC,
            (false, true) => NOT_STATIC,
            (false, false) => 0,
        };
        state.store(fresh, Ordering::Relaxed);
    }
    log::event(pc, &Op::Forget { object: lock });
}

/// The lock is destroyed, if it can be.
pub(super) fn destroyed(pc: usize, lock: u64, flags: u32) {
    let state = states::find(lock);
    let now = state.map_or(0, |state| state.load(Ordering::Relaxed));
    let stays = flags & flag::LINKER_INIT != 0
        || now & STATIC != 0
        || flags & flag::NOT_STATIC != 0 && now & NOT_STATIC == 0;
    if stays {
        return;
    }
    if let Some(state) = state {
        if now & !FLAGS != 0 && me().is_some() {
            broken(pc, lock, state, Fault::DestroyLocked);
        }
        states::remove(lock);
    }
    log::event(pc, &Op::Forget { object: lock });
}

/// The lock was taken.
pub(super) fn taken(pc: usize, lock: u64, mode: LockMode) {
    let state = if mode == LockMode::Write { states::enter(lock) } else { states::find(lock) };
    let (Some(state), Some(me)) = (state, me()) else { return };
    let now = state.load(Ordering::Relaxed);
    match (mode, now & WRITER) {
        (LockMode::Write, 0) => state.store(now & FLAGS | DEPTH | me, Ordering::Relaxed),
        // Whether it may be taken again by its holder the program knows.
        (LockMode::Write, writer) if writer == me => state.store(now + DEPTH, Ordering::Relaxed),
        (LockMode::Write, _) => broken(pc, lock, state, Fault::DoubleLock),
        (LockMode::Read, 0) => {}
        (LockMode::Read, _) => broken(pc, lock, state, Fault::ReadLockOfWritten),
    }
}

/// How often the calling thread holds the lock for writing; 1 if nothing of that is known.
pub(super) fn depth(lock: u64) -> i32 {
    let now = states::find(lock).map_or(0, |state| state.load(Ordering::Relaxed));
    match me() {
        Some(me) if now & WRITER == me => ((now & !FLAGS) / DEPTH) as i32,
        _ => 1,
    }
}

/// The lock is about to be given back.
pub(super) fn given(pc: usize, lock: u64, mode: LockMode) {
    let state = if mode == LockMode::Write { states::enter(lock) } else { states::find(lock) };
    let (Some(state), Some(me)) = (state, me()) else { return };
    let now = state.load(Ordering::Relaxed);
    match (mode, now & WRITER) {
        (LockMode::Write, writer) if writer == me => {
            let left = now - DEPTH;
            let free = left & !FLAGS < DEPTH;
            state.store(if free { left & FLAGS } else { left }, Ordering::Relaxed);
        }
        (LockMode::Write, _) => broken(pc, lock, state, Fault::UnlockNotHeld),
        (LockMode::Read, 0) => {}
        (LockMode::Read, _) => broken(pc, lock, state, Fault::ReadUnlockOfWritten),
    }
}
