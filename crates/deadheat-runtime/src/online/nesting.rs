//! Locks that are asked for under others: each new nesting is put into its thread's stream once, as if the locks that are
//! held were taken just now. From that the command line finds lock orders with the same analysis as from a recording.
//!
//! Cost: nothing but a look at the number of locks held for a lock that is taken alone; for one that is taken under others
//! a hash of these, and a look into a table.
//!
//! Invariant: what is in a stream is true: while a lock is told as held it is. While a thread tells one no other tells of a block, in which it may lie.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::event::{BlockKind, Fault, LockMode, Op};
use deadheat_core::race::HeldLock;

use super::{shadow, tree};
use crate::cold::lock::Lock;
use crate::hot::log;
use crate::hot::thread::Thread;
use crate::sys;

/// Nestings and faults that are told apart; further ones are not told.
const MOST: usize = 1 << 15;
const TABLE: usize = 2 * MOST;
/// Nestings under more locks are not told: who takes all of a table's locks one after the other would tell each as often as it has locks.
const DEEPEST: usize = 64;

/// The hashes of those that were told.
static SEEN: [AtomicU64; TABLE] = [const { AtomicU64::new(0) }; TABLE];
static COUNT: AtomicU32 = AtomicU32::new(0);
/// One thread tells at a time.
static TELLING: Lock = Lock::new();

/// Which addresses are told in nestings, by a hash: [`TOLD`], and how often a lock there was forgotten since.
static LIVES: [AtomicU32; 1 << 12] = [const { AtomicU32::new(0) }; 1 << 12];
const TOLD: u32 = 1 << 31;

/// Whether a lock was asked for under one with a lower address ([`UPWARDS`]), and one with a higher.
static ORDERS: AtomicU32 = AtomicU32::new(0);
const UPWARDS: u32 = 1;
const DOWNWARDS: u32 = 2;

/// How many nestings are told, if there can be a cycle in them: some cycle's least lock is asked for under a greater one,
/// and the greatest under a lesser one.
pub(super) fn suspicious() -> u32 {
    let both = ORDERS.load(Ordering::Relaxed) == UPWARDS | DOWNWARDS;
    if both { COUNT.load(Ordering::Relaxed) } else { 0 }
}

/// In a forked child, which tells all anew.
pub(super) fn forget_all() {
    // Another thread of the parent may have been telling.
    TELLING.release();
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    SEEN.iter().chain(&ASKED).for_each(|seen| seen.store(0, Ordering::Relaxed));
    COUNT.store(0, Ordering::Relaxed);
    ORDERS.store(0, Ordering::Relaxed);
}

fn mix(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

fn life(lock: u64) -> &'static AtomicU32 {
    &LIVES[(mix(0, lock) >> 40) as usize % LIVES.len()]
}

/// Whether what has this hash is told for the first time.
pub(super) fn is_first(hash: u64) -> bool {
    let hash = hash.max(1);
    let mut at = hash as usize % TABLE;
    loop {
        match SEEN[at].load(Ordering::Relaxed) {
            0 => {}
            seen if seen == hash => return false,
            _ => {
                at = (at + 1) % TABLE;
                continue;
            }
        }
        if COUNT.load(Ordering::Relaxed) as usize >= MOST {
            return false;
        }
        match SEEN[at].compare_exchange(0, hash, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                COUNT.fetch_add(1, Ordering::Relaxed);
                return true;
            }
            Err(_) => continue,
        }
    }
}

/// The hash of a fault at a place.
pub(super) fn of_fault(pc: usize, object: u64, fault: u64) -> u64 {
    mix(mix(mix(1, pc as u64), object), fault)
}

/// The thread asks for a lock.
///
/// # Safety
/// `thread` is the calling thread's, and in no hook but this one.
#[inline]
pub(super) unsafe fn request(thread: *mut Thread, pc: usize, lock: u64, mode: LockMode) {
    // SAFETY: the caller's promise.
    unsafe {
        let eye = &(*thread).eye;
        let depth = eye.held.len();
        if depth == 0 || depth > DEEPEST || eye.held.iter().any(|held| held.lock == lock) {
            return;
        }
        let of = |hash, lock: u64, mode: LockMode| {
            let life = life(lock).load(Ordering::Relaxed) & !TOLD;
            mix(mix(hash, lock), u64::from(life) << 1 | mode as u64)
        };
        let who = mix(2, u64::from((*thread).id) << 32 | u64::from(eye.relations));
        let hash = eye.held.iter().fold(who, |hash, held| of(hash, held.lock, held.mode));
        if is_first(of(hash, lock, mode)) {
            tell(thread, pc, lock, mode);
        }
    }
}

/// Locks of which it was asked in which block they lie, by a hash: with their lives.
static ASKED: [AtomicU64; 1 << 12] = [const { AtomicU64::new(0) }; 1 << 12];

/// Whether it was asked already; it is now.
fn was_asked(lock: u64) -> bool {
    let life = life(lock).load(Ordering::Relaxed) & !TOLD;
    let hash = mix(mix(4, lock), u64::from(life)).max(1);
    ASKED[(hash >> 40) as usize % ASKED.len()].swap(hash, Ordering::Relaxed) == hash
}

/// Runs `body`, which tells, while no other thread tells, and no handler comes.
fn telling<R>(body: impl FnOnce() -> R) -> R {
    let _quiet = sys::Quiet::new();
    TELLING.with(body)
}

/// Tells of a nesting: the locks that are held, then the request.
///
/// # Safety
/// As for [`request`].
#[cold]
#[inline(never)]
unsafe fn tell(thread: *mut Thread, pc: usize, lock: u64, mode: LockMode) {
    // SAFETY: the calling thread's own state, whose locks do not change meanwhile: no handler comes.
    telling(|| unsafe {
        let eye = &raw const (*thread).eye;
        let (held, taken) = (&*(*eye).held, &*(*eye).taken);
        tell_block(thread, lock);
        for (&HeldLock { lock: other, mode }, taken) in held.iter().zip(taken) {
            tell_taken(thread, other, mode, taken.node);
            ORDERS.fetch_or(if other < lock { UPWARDS } else { DOWNWARDS }, Ordering::Relaxed);
        }
        life(lock).fetch_or(TOLD, Ordering::Relaxed);
        log::tell_anew(thread, pc, &Op::Request { lock, mode });
        for &HeldLock { lock, mode } in held.iter().rev() {
            log::tell_bare(thread, pc, &Op::Release { lock, mode });
        }
    });
}

/// Tells of the heap's block that holds a lock, once, as if it were allocated now: by that the lock has a name. Told again while one of its locks is held, that would look like another.
///
/// # Safety
/// As for [`log::tell_from`].
unsafe fn tell_block(thread: *mut Thread, lock: u64) {
    if was_asked(lock) {
        return;
    }
    let Some(noted) = shadow::noted_near(lock as usize).filter(|noted| noted.kind == BlockKind::Heap as u32)
    else {
        return;
    };
    if !is_first(mix(mix(mix(3, noted.address as u64), noted.size as u64), u64::from(noted.node))) {
        return;
    }
    let mut calls = tree::calls(noted.node);
    let pc = calls.next().unwrap_or(0);
    let (address, size) = (noted.address as u64, noted.size as u64);
    // SAFETY: the caller's promise.
    unsafe { log::tell_from(thread, pc, calls, &Op::Alloc { address, size, kind: BlockKind::Heap }) };
}

/// Tells that a lock which the thread holds was taken at a node of the tree of calls.
///
/// # Safety
/// As for [`log::tell_from`].
unsafe fn tell_taken(thread: *mut Thread, lock: u64, mode: LockMode, node: u32) {
    life(lock).fetch_or(TOLD, Ordering::Relaxed);
    // SAFETY: the caller's promise.
    unsafe { tell_block(thread, lock) };
    let mut calls = tree::calls(node);
    let pc = calls.next().unwrap_or(0);
    // SAFETY: the caller's promise.
    unsafe { log::tell_from(thread, pc, calls, &Op::Acquire { lock, mode }) };
}

/// Tells a fault about a lock: where it was taken before it, if the thread holds it.
///
/// # Safety
/// `thread` is the calling thread's, and in no hook but this one.
pub(super) unsafe fn tell_fault(thread: *mut Thread, pc: usize, lock: u64, fault: Fault) {
    // SAFETY: the calling thread's own state, whose locks do not change meanwhile: no handler comes.
    telling(|| unsafe {
        let eye = &(*thread).eye;
        let held = eye
            .held
            .iter()
            .position(|held| held.lock == lock)
            .map(|at| (eye.held[at].mode, eye.taken[at].node));
        match held {
            Some((mode, node)) => tell_taken(thread, lock, mode, node),
            None => tell_block(thread, lock),
        }
        log::tell_anew(thread, pc, &Op::Fault { object: lock, fault });
        if let Some((mode, _)) = held {
            log::tell_bare(thread, pc, &Op::Release { lock, mode });
        }
    });
}

/// Locks within 8 bytes whose lives have ended, as far as they were told of.
#[derive(Default)]
pub(super) struct Gone {
    locks: [u64; 8],
    count: usize,
}

impl Gone {
    pub(super) fn add(&mut self, lock: u64) {
        let told = life(lock).load(Ordering::Relaxed) & TOLD != 0;
        if told && self.count < self.locks.len() && !self.locks[..self.count].contains(&lock) {
            self.locks[self.count] = lock;
            self.count += 1;
        }
    }

    /// As [`forget`], of each.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn forget(&self, thread: *mut Thread) {
        if self.count != 0 {
            let _quiet = sys::Quiet::new();
            // SAFETY: passed on.
            self.locks[..self.count].iter().for_each(|&lock| unsafe { forget(thread, lock) });
        }
    }
}

/// A lock's life ends: what is told of the next one there is another lock's.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline]
pub(super) unsafe fn forget(thread: *mut Thread, lock: u64) {
    let life = life(lock);
    if life.load(Ordering::Relaxed) & TOLD != 0 {
        life.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { log::tell_bare(thread, 0, &Op::Forget { object: lock }) };
    }
}
