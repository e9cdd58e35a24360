//! Freed blocks that wait before they have another life: while races are looked for, what still uses one shall find what it left
//! there, and not the allocator's own notes or another block.
//!
//! What has waited is given out again by its thread, without a word to the allocator, as far as there is not too much of it.
//!
//! Invariant: a block is given out again only if it was freed once, which the detector [notes](online::has_waited). What is freed
//! twice while it waits goes back to the allocator twice, which may say so.

use core::cell::UnsafeCell;
use core::ffi::c_void;
use core::ptr::null_mut;

use crate::cold::lock::Lock;
use crate::hot::thread::{self, Thread};
use crate::online;
use crate::sys::allocator;

/// A thread's freed blocks.
#[repr(C)]
pub(crate) struct Freed {
    /// Those that wait.
    blocks: [*mut c_void; WAITING],
    next: usize,
    /// The block that is about to wait.
    dying: *mut c_void,
    /// By size, the one that is given out next: a list through the blocks' first words.
    ready: [*mut c_void; CLASSES],
    /// The bytes of all of these.
    ready_size: usize,
}

/// How many blocks wait for each thread.
const WAITING: usize = 64;
/// Larger ones do not wait: so at most 256 KiB a thread are kept.
pub(crate) const LARGEST: usize = 4096;
/// Of blocks that have waited as many bytes are kept.
const MOST_READY: usize = 64 << 10;
/// From one size of the allocator's to the next, and what it has before each block.
const STEP: usize = 16;
const HEAD: usize = 8;
/// Larger ones are not given out again.
const CLASSES: usize = 66;

impl Freed {
    const fn new() -> Freed {
        Freed {
            blocks: [null_mut(); WAITING],
            next: 0,
            dying: null_mut(),
            ready: [null_mut(); CLASSES],
            ready_size: 0,
        }
    }

    /// Whether the block at an address, whose life ends now, waits before it has another.
    pub(crate) fn keeps(&self, address: u64) -> bool {
        self.dying as u64 == address
    }

    /// A block waits; gives the one that waited longest.
    #[inline(always)]
    fn exchange(&mut self, block: *mut c_void) -> *mut c_void {
        let oldest = core::mem::replace(&mut self.blocks[self.next % WAITING], block);
        self.next = self.next.wrapping_add(1);
        oldest
    }

    /// At the end of the thread they wait among those of other ended threads.
    pub(crate) fn leave(&mut self) {
        for block in &mut self.blocks {
            let block = core::mem::replace(block, null_mut());
            if !block.is_null() {
                // SAFETY: under the lock. The program's blocks, freed once.
                give_back(LEFT.lock.with(|| unsafe { (*LEFT.freed.get()).exchange(block) }));
            }
        }
        for first in &mut self.ready {
            while !first.is_null() {
                let block = *first;
                // SAFETY: a block of the list, which leads to the next.
                *first = unsafe { *block.cast() };
                give_back(block);
            }
        }
        self.ready_size = 0;
    }
}

/// What ended threads have freed.
struct Left {
    lock: Lock,
    freed: UnsafeCell<Freed>,
}

// SAFETY: `freed` is touched under `lock` alone.
unsafe impl Sync for Left {}

static LEFT: Left = Left { lock: Lock::new(), freed: UnsafeCell::new(Freed::new()) };

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    LEFT.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    LEFT.lock.release();
}

/// A block that is about to be freed and to wait.
pub(super) struct Waiting {
    /// The calling thread.
    thread: *mut Thread,
    /// It was freed before, has waited, and is kept for another life.
    kept: bool,
}

impl Waiting {
    /// `None` if the block does not wait.
    pub(super) fn begin(block: *mut c_void) -> Option<Waiting> {
        if block.is_null() || !online::on() {
            return None;
        }
        let thread = thread::current()?;
        // SAFETY: the program's live block; the calling thread's own state.
        unsafe {
            if (*thread).internal | (*thread).busy != 0 || allocator::usable_size(block) > LARGEST {
                return None;
            }
            (*thread).freed.dying = block;
        }
        Some(Waiting { thread, kept: online::freed_again(block as usize) })
    }

    /// It does not wait after all, or does so now.
    pub(super) fn end(self) {
        // SAFETY: the calling thread's own state.
        unsafe { (*self.thread).freed.dying = null_mut() };
    }

    /// The block waits now; the one that waited longest is given back.
    pub(super) fn exchange(self, block: *mut c_void) {
        if !self.kept {
            // SAFETY: the calling thread's own state.
            give_back(unsafe { (*self.thread).freed.exchange(block) });
        }
        self.end();
    }
}

/// A block of the [common kind](online::block_died), which is noted as one that waits, does so; the one that waited longest is
/// kept for another life or given back.
///
/// # Safety
/// `thread` is the calling thread's, and the program has freed the block.
#[inline(always)]
pub(super) unsafe fn keep(thread: *mut Thread, block: *mut c_void) {
    // SAFETY: the caller's promise. A block that has waited is nobody's.
    unsafe {
        let freed = &mut (*thread).freed;
        let oldest = freed.exchange(block);
        if oldest.is_null() {
            return;
        }
        let size = allocator::usable_size(oldest) + HEAD;
        let room = size / STEP < CLASSES && freed.ready_size + size <= MOST_READY;
        if !room || !online::has_waited(oldest as usize) {
            return give_back(oldest);
        }
        let first = &mut freed.ready[size / STEP];
        oldest.cast::<*mut c_void>().write(*first);
        *first = oldest;
        freed.ready_size += size;
    }
}

/// Gives a block back that waited, if there is one.
#[inline(never)]
fn give_back(block: *mut c_void) {
    if !block.is_null() {
        online::waited(block as usize);
        // SAFETY: a block of the program's that it freed.
        unsafe { allocator::free(block) };
    }
}

/// A block of so many bytes: one that has waited, or one of the allocator's. It is to be told as born.
#[inline(always)]
pub(super) fn allocate(size: usize) -> *mut c_void {
    let block = take(size);
    if !block.is_null() {
        return block;
    }
    // SAFETY: a plain number.
    unsafe { allocator::malloc(size) }
}

/// A block of so many bytes that has waited, or none. It is to be told as born.
#[inline(always)]
pub(super) fn take(size: usize) -> *mut c_void {
    let class = (size.saturating_add(HEAD + STEP - 1) / STEP).max(2);
    if class < CLASSES
        && online::only()
        && let Some(thread) = thread::known()
    {
        // SAFETY: `known` gives the calling thread's own state; a block of the list leads to the next.
        unsafe {
            let freed = &mut (*thread).freed;
            let block = freed.ready[class];
            if !block.is_null() && online::tells_lives(thread) {
                freed.ready[class] = *block.cast();
                freed.ready_size -= class * STEP;
                return block;
            }
        }
    }
    null_mut()
}
