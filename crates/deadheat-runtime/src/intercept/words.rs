//! What the C library keeps in its locks, and what it says about how the program uses them.
//!
//! A rule is judged by the lock's own words at the moment of the call, so what happened before need not have been seen.
//! Laid out as in glibc, by words of four bytes.

use core::ffi::c_void;
use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::event::{Fault, LockMode, Op};

use crate::cold::threads;
use crate::hot::log;

/// `pthread_mutex_t`.
mod mutex {
    pub(super) const LOCK: usize = 0;
    pub(super) const OWNER: usize = 2;
    pub(super) const KIND: usize = 4;
    /// The bits of the kind that say how the mutex behaves: normal, recursive, error-checking, adaptive.
    pub(super) const BEHAVIOUR: u32 = 3;
    pub(super) const RECURSIVE: u32 = 1;
    pub(super) const CHECKING: u32 = 2;
    /// Kinds that notice their owner's death (they refuse a stranger's unlock, too).
    pub(super) const ROBUST: u32 = 16;
    /// It may be taken by a transaction, without a word in it.
    pub(super) const ELIDED: u32 = 256;
    /// All bits that a kind may have. That of a destroyed mutex has all others, too.
    pub(super) const KINDS: u32 = 0x3ff;
}

/// `pthread_rwlock_t`.
mod rwlock {
    pub(super) const READERS: usize = 0;
    /// Readers are counted above these bits.
    pub(super) const READER_SHIFT: u32 = 3;
    pub(super) const WRITER: usize = 6;
}

fn word(lock: *const c_void, index: usize) -> u32 {
    // SAFETY: the program's lock, or what it takes for one: the real function reads it, too.
    unsafe { lock.cast::<u32>().add(index).read_volatile() }
}

/// Whether an unlock by the calling thread will be refused, and so passes nothing on.
pub(super) fn refuses(lock: *const c_void) -> bool {
    let kind = word(lock, mutex::KIND);
    let checked =
        matches!(kind & mutex::BEHAVIOUR, mutex::RECURSIVE | mutex::CHECKING) || kind & mutex::ROBUST != 0;
    checked && word(lock, mutex::OWNER) != threads::kernel_id()
}

/// Whether the mutex notices its owner's death.
pub(super) fn is_robust(lock: *const c_void) -> bool {
    word(lock, mutex::KIND) & mutex::ROBUST != 0
}

/// How the lock that the caller is about to give back is held. While somebody holds it for
/// writing nobody else holds it at all, so its owner's number tells.
pub(super) fn held_mode(lock: *const c_void) -> LockMode {
    if word(lock, rwlock::WRITER) != 0 { LockMode::Write } else { LockMode::Read }
}

/// The number of the thread that forked this process, which may hold locks that the child gives back.
static FORKED: AtomicU32 = AtomicU32::new(0);

/// The calling thread is about to fork.
pub(crate) fn before_fork() {
    FORKED.store(threads::kernel_id(), Ordering::Relaxed);
}

/// Whether the calling thread is the one with that number, or goes on for it.
fn is_own(owner: u32) -> bool {
    owner == threads::kernel_id() || owner == FORKED.load(Ordering::Relaxed)
}

/// Tells that a lock is misused.
#[cold]
#[inline(never)]
fn misused(pc: usize, lock: *const c_void, fault: Fault) {
    log::event(pc, &Op::Fault { object: lock as u64, fault });
}

fn is_invalid(lock: *const c_void) -> bool {
    word(lock, mutex::KIND) & !mutex::KINDS != 0
}

/// A mutex is about to be taken, if need be by waiting for it, `for_ever` or for some time: who holds it already may do that.
#[inline]
pub(super) fn mutex_wanted(pc: usize, lock: *const c_void, for_ever: bool) {
    if is_invalid(lock) {
        return misused(pc, lock, Fault::InvalidLock);
    }
    // Who holds it wrote that itself, so a look without order is enough.
    let behaviour = word(lock, mutex::KIND) & mutex::BEHAVIOUR;
    let again = word(lock, mutex::LOCK) != 0 && word(lock, mutex::OWNER) == threads::kernel_id();
    if for_ever && again && behaviour != mutex::RECURSIVE && behaviour != mutex::CHECKING {
        misused(pc, lock, Fault::DoubleLock);
    }
}

/// A mutex is about to be given back, which is not refused.
#[inline]
pub(super) fn mutex_given(pc: usize, lock: *const c_void) {
    let kind = word(lock, mutex::KIND);
    if is_invalid(lock) {
        return misused(pc, lock, Fault::InvalidLock);
    }
    if kind & mutex::ELIDED == 0 && (word(lock, mutex::LOCK) == 0 || !is_own(word(lock, mutex::OWNER))) {
        misused(pc, lock, Fault::UnlockNotHeld);
    }
}

/// A mutex is about to be destroyed.
pub(super) fn mutex_destroyed(pc: usize, lock: *const c_void) {
    if is_invalid(lock) {
        misused(pc, lock, Fault::InvalidLock);
    } else if word(lock, mutex::LOCK) != 0 {
        misused(pc, lock, Fault::DestroyLocked);
    }
}

/// A read-write lock is about to be taken, if need be by waiting for it.
#[inline]
pub(super) fn rwlock_wanted(pc: usize, lock: *const c_void, mode: LockMode) {
    let writer = word(lock, rwlock::WRITER);
    if writer != 0 && writer == threads::kernel_id() {
        misused(pc, lock, if mode == LockMode::Read { Fault::ReadLockOfWritten } else { Fault::DoubleLock });
    }
}

/// A read-write lock is about to be given back.
#[inline]
pub(super) fn rwlock_given(pc: usize, lock: *const c_void) {
    let writer = word(lock, rwlock::WRITER);
    if writer != 0 && !is_own(writer) {
        misused(pc, lock, Fault::ReadUnlockOfWritten);
    } else if writer == 0 && word(lock, rwlock::READERS) >> rwlock::READER_SHIFT == 0 {
        misused(pc, lock, Fault::UnlockNotHeld);
    }
}

/// A read-write lock is about to be destroyed.
pub(super) fn rwlock_destroyed(pc: usize, lock: *const c_void) {
    if word(lock, rwlock::WRITER) != 0 || word(lock, rwlock::READERS) >> rwlock::READER_SHIFT != 0 {
        misused(pc, lock, Fault::DestroyLocked);
    }
}
