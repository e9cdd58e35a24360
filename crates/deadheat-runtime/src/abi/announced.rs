//! Locks that the program announces: what their users may do is judged here, since they have no words that we know.
//!
//! A lock's state is one word in a table: no lock is taken, and none is ever waited for. When the table is full, further
//! locks are not judged.

use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::event::{Fault, LockMode, Op};

use crate::hot::{log, thread};

const LOCKS: usize = 1 << 14;

/// Address and state of each lock.
static TABLE: [(AtomicU64, AtomicU64); LOCKS] = [const { (AtomicU64::new(0), AtomicU64::new(0)) }; LOCKS];

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

/// The state of a lock.
fn state(lock: u64) -> Option<&'static AtomicU64> {
    let mut at = (lock.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as usize % LOCKS;
    for _ in 0..LOCKS {
        let (address, state) = &TABLE[at];
        match address.load(Ordering::Acquire) {
            found if found == lock => return Some(state),
            0 => match address.compare_exchange(0, lock, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(state),
                Err(found) if found == lock => return Some(state),
                Err(_) => {}
            },
            _ => {}
        }
        at = (at + 1) % LOCKS;
    }
    None
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
    if let Some(state) = state(lock) {
        let now = state.load(Ordering::Relaxed);
        let not_static = if flags & flag::NOT_STATIC != 0 { NOT_STATIC } else { 0 };
        let fresh = if flags & flag::LINKER_INIT != 0 { now | STATIC } else { not_static };
        state.store(fresh, Ordering::Relaxed);
    }
    log::event(pc, &Op::Forget { object: lock });
}

/// The lock is destroyed, if it can be.
pub(super) fn destroyed(pc: usize, lock: u64, flags: u32) {
    if let Some(state) = state(lock) {
        let now = state.load(Ordering::Relaxed);
        let stays = flags & flag::LINKER_INIT != 0
            || now & STATIC != 0
            || flags & flag::NOT_STATIC != 0 && now & NOT_STATIC == 0;
        if stays {
            return;
        }
        if now & !FLAGS != 0 && me().is_some() {
            broken(pc, lock, state, Fault::DestroyLocked);
        }
        state.store(0, Ordering::Relaxed);
    }
    log::event(pc, &Op::Forget { object: lock });
}

/// The lock was taken.
pub(super) fn taken(pc: usize, lock: u64, mode: LockMode) {
    let (Some(state), Some(me)) = (state(lock), me()) else { return };
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

/// The lock is about to be given back.
pub(super) fn given(pc: usize, lock: u64, mode: LockMode) {
    let (Some(state), Some(me)) = (state(lock), me()) else { return };
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
