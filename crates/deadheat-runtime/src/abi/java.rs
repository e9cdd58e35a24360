//! What a virtual machine announces: the heap that it manages itself, and the locks and orders of its objects.
//!
//! A collector moves objects while all threads stand still. A moved object keeps what its locks order, but its
//! bytes begin a new life. So a lock or volatile is not known by its address but by a name that moves along, which
//! stands in a table beside the heap.
//!
//! Limit: the order of C++ atomics within the heap does not move along.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use deadheat_core::event::{BlockKind, LockMode, Op, SyncKind};

use crate::hot::log;
use crate::sys;

shim!(__tsan_java_init, "rdx", on_init);
shim!(__tsan_java_alloc, "rdx", on_alloc);
shim!(__tsan_java_free, "rdx", on_free);
shim!(__tsan_java_move, "rcx", on_move);
shim!(__tsan_java_find, "rdx", on_find);
shim!(__tsan_java_finalize, "rdi", on_finalize);
shim!(__tsan_java_mutex_lock, "rsi", on_lock);
shim!(__tsan_java_mutex_unlock, "rsi", on_unlock);
shim!(__tsan_java_mutex_read_lock, "rsi", on_read_lock);
shim!(__tsan_java_mutex_read_unlock, "rsi", on_read_unlock);
shim!(__tsan_java_mutex_lock_rec, "rdx", on_lock_again);
shim!(__tsan_java_mutex_unlock_rec, "rsi", on_unlock_wholly);
shim!(__tsan_java_acquire, "rsi", on_acquire);
shim!(__tsan_java_release, "rsi", on_release);
shim!(__tsan_java_release_store, "rsi", on_release);
shim!(__tsan_java_fini, "rdi", on_end);

/// Objects begin at multiples of this.
const GRANULE: usize = 8;

/// What is noted of a granule of the heap.
#[repr(C)]
struct Row {
    /// The size of the object that begins here.
    size: AtomicU64,
    /// The number of the lock or volatile here, and how often its owner holds it; 0 if there is none.
    lock: AtomicU64,
}

/// Bits of [`Row::lock`] that count how often it is held.
const DEPTH_BITS: u32 = 20;
const DEPTH: u64 = (1 << DEPTH_BITS) - 1;

/// First byte of the heap, its size in granules, and the rows.
static HEAP: (AtomicUsize, AtomicUsize, AtomicUsize) =
    (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));

static NEXT_LOCK: AtomicU64 = AtomicU64::new(1);

/// The rows of a range of the heap; none for what is not in it.
fn rows(address: usize, size: usize) -> &'static [Row] {
    let (start, count, rows) = (&HEAP.0, &HEAP.1, &HEAP.2);
    let rows = rows.load(Ordering::Acquire) as *const Row;
    let (first, len) =
        (address.wrapping_sub(start.load(Ordering::Relaxed)) / GRANULE, size.div_ceil(GRANULE));
    let count = count.load(Ordering::Relaxed);
    if rows.is_null() || first >= count {
        return &[];
    }
    // SAFETY: there are `count` rows, which stay mapped; they are zero at first, which is a row.
    unsafe { core::slice::from_raw_parts(rows.add(first), len.min(count - first)) }
}

/// The object that stands for a lock or volatile at an address of the heap. No address of the program is such a number.
fn object(address: usize) -> u64 {
    const OBJECTS: u64 = 0xfc << 56;
    let [row] = rows(address, 1) else { return address as u64 };
    let mut word = row.lock.load(Ordering::Relaxed);
    if word == 0 {
        let new = NEXT_LOCK.fetch_add(1, Ordering::Relaxed) << DEPTH_BITS;
        word = row
            .lock
            .compare_exchange(0, new, Ordering::Relaxed, Ordering::Relaxed)
            .map_or_else(|old| old, |_| new);
    }
    OBJECTS | (word >> DEPTH_BITS) << 4
}

/// Changes how often the owner of a lock holds it; gives how often it held it before.
fn deepen(address: usize, change: i64) -> u64 {
    let [row] = rows(address, 1) else { return 1 };
    row.lock.fetch_add(change as u64, Ordering::Relaxed) & DEPTH
}

unsafe extern "C" fn on_init(start: usize, size: usize, _pc: usize) {
    let count = size / GRANULE;
    if let Ok(rows) = sys::map_anonymous(count.max(1) * size_of::<Row>()) {
        HEAP.0.store(start, Ordering::Relaxed);
        HEAP.1.store(count, Ordering::Relaxed);
        HEAP.2.store(rows as usize, Ordering::Release);
    }
}

/// An object is new: its bytes and locks have no past.
unsafe extern "C" fn on_alloc(address: usize, size: usize, pc: usize) {
    clear(rows(address, size));
    if let [first, ..] = rows(address, size) {
        first.size.store(size as u64, Ordering::Relaxed);
    }
    log::event(pc, &Op::Alloc { address: address as u64, size: size as u64, kind: BlockKind::Heap });
}

/// Objects are gone. The collector found that nobody uses them, so this is no access.
unsafe extern "C" fn on_free(address: usize, size: usize, _pc: usize) {
    clear(rows(address, size));
}

fn clear(rows: &[Row]) {
    for row in rows {
        if row.size.load(Ordering::Relaxed) | row.lock.load(Ordering::Relaxed) != 0 {
            row.size.store(0, Ordering::Relaxed);
            row.lock.store(0, Ordering::Relaxed);
        }
    }
}

/// Objects move, perhaps to where they overlap themselves. All threads stand still.
unsafe extern "C" fn on_move(from: usize, to: usize, size: usize, pc: usize) {
    let (old, new) = (rows(from, size), rows(to, size));
    let count = old.len().min(new.len());
    let carry = |at: usize| {
        new[at].size.store(old[at].size.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        new[at].lock.store(old[at].lock.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    };
    if from < to {
        (0..count).rev().for_each(carry)
    } else {
        (0..count).for_each(carry)
    }
    let kind = BlockKind::Heap;
    log::event(pc, &Op::Alloc { address: to as u64, size: size as u64, kind });
    for (at, row) in new.iter().enumerate() {
        let size = row.size.load(Ordering::Relaxed);
        if size != 0 {
            log::event(pc, &Op::Alloc { address: (to + at * GRANULE) as u64, size, kind });
        }
    }
}

/// The first object from `*from` on and before `to`: writes where it begins and gives its size; 0 if there is none.
unsafe extern "C" fn on_find(from: *mut usize, to: usize, _pc: usize) -> usize {
    // SAFETY: the program's variable.
    let start = unsafe { *from }.next_multiple_of(GRANULE);
    for (at, row) in rows(start, to.saturating_sub(start)).iter().enumerate() {
        let size = row.size.load(Ordering::Relaxed);
        if size != 0 {
            // SAFETY: as above.
            unsafe { *from = start + at * GRANULE };
            return size as usize;
        }
    }
    0
}

/// What ran before an object was found unused happened before its finalizer: all that any thread did so far.
unsafe extern "C" fn on_finalize(pc: usize) {
    log::event(pc, &Op::Wait { object: 0, kind: SyncKind::Everything, woken: true });
}

/// The machine ends. The process's end tells what was found, and says so in its code.
unsafe extern "C" fn on_end(_pc: usize) -> c_int {
    0
}

fn lock(address: usize, mode: LockMode, pc: usize) {
    log::event(pc, &Op::Acquire { lock: object(address), mode });
}

fn unlock(address: usize, mode: LockMode, pc: usize) {
    log::event(pc, &Op::Release { lock: object(address), mode });
}

unsafe extern "C" fn on_lock(address: usize, pc: usize) {
    lock(address, LockMode::Write, pc);
    deepen(address, 1);
}

unsafe extern "C" fn on_unlock(address: usize, pc: usize) {
    deepen(address, -1);
    unlock(address, LockMode::Write, pc);
}

unsafe extern "C" fn on_read_lock(address: usize, pc: usize) {
    lock(address, LockMode::Read, pc);
}

unsafe extern "C" fn on_read_unlock(address: usize, pc: usize) {
    unlock(address, LockMode::Read, pc);
}

/// Takes a lock again as often as [`on_unlock_wholly`] said.
unsafe extern "C" fn on_lock_again(address: usize, times: c_int, pc: usize) {
    for _ in 0..times {
        lock(address, LockMode::Write, pc);
    }
    deepen(address, times.into());
}

/// Gives a lock back however often it is held, and says how often that was.
unsafe extern "C" fn on_unlock_wholly(address: usize, pc: usize) -> c_int {
    let times = deepen(address, 0);
    deepen(address, -(times as i64));
    for _ in 0..times {
        unlock(address, LockMode::Write, pc);
    }
    times as c_int
}

unsafe extern "C" fn on_acquire(address: usize, pc: usize) {
    log::event(pc, &Op::Wait { object: object(address), kind: SyncKind::Annotation, woken: true });
}

unsafe extern "C" fn on_release(address: usize, pc: usize) {
    log::event(pc, &Op::Signal { object: object(address), kind: SyncKind::Annotation });
}
