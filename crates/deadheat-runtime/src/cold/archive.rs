//! The streams of ended threads, of a trace that is in memory alone: a page for each would add up, as threads come and go for as
//! long as the program runs. Here they take what they need, and get their pages back when the trace is written.
//!
//! Invariant: a stream is in the archive before its block goes; what is in both is written once.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicU64, Ordering};

use deadheat_core::wire::{block as wire_block, header};

use super::block;
use super::lock::Lock;
use crate::sys;

/// How much is mapped at once.
const CHUNK: usize = 1 << 18;
const PAGE: usize = header::PAGE as usize;
const WORD: usize = size_of::<u64>();

/// Records behind a head: the block's offset in the trace, its length, its bytes up to a multiple of 8.
#[repr(C)]
struct Chunk {
    next: *mut Chunk,
    /// How many bytes are used, this head included.
    used: AtomicU64,
}

struct Archive {
    lock: Lock,
    first: UnsafeCell<*mut Chunk>,
}

// SAFETY: `first` is changed under `lock` alone, and read in a copy of the process or by its last thread.
unsafe impl Sync for Archive {}

static ARCHIVE: Archive = Archive { lock: Lock::new(), first: UnsafeCell::new(null_mut()) };

/// Keeps the first `len` bytes of the block at `offset`; `false` if there is no room.
pub(super) fn keep(offset: u64, bytes: &[u8]) -> bool {
    let size = 2 * WORD + bytes.len().next_multiple_of(WORD);
    if bytes.len() >= PAGE {
        return false;
    }
    let _quiet = sys::Quiet::new();
    ARCHIVE.lock.with(|| {
        // SAFETY: under the lock; what lies behind `used` is nobody's yet.
        unsafe {
            let first = ARCHIVE.first.get();
            if (*first).is_null() || (**first).used.load(Ordering::Relaxed) as usize + size > CHUNK {
                let Ok(chunk) = sys::map_anonymous(CHUNK) else { return false };
                let chunk = chunk.cast::<Chunk>();
                chunk.write(Chunk { next: *first, used: AtomicU64::new(size_of::<Chunk>() as u64) });
                *first = chunk;
            }
            let used = (**first).used.load(Ordering::Relaxed) as usize;
            let at = (*first).cast::<u8>().add(used);
            at.cast::<u64>().write(offset);
            at.cast::<u64>().add(1).write(bytes.len() as u64);
            core::ptr::copy_nonoverlapping(bytes.as_ptr(), at.add(2 * WORD), bytes.len());
            (**first).used.store((used + size) as u64, Ordering::Release);
        }
        true
    })
}

/// Calls `each` with what is kept and was not found at its old place in the trace.
fn each(trace: &[u8], mut each: impl FnMut(&[u8]) -> Result<(), sys::Errno>) -> Result<(), sys::Errno> {
    let same = |start: usize, kept: &[u8]| {
        let identity = wire_block::STREAM..wire_block::SEQUENCE + size_of::<u32>();
        let there = trace.get(start..start + wire_block::HEADER);
        there
            .is_some_and(|there| there[..4] == kept[..4] && there[identity.clone()] == kept[identity.clone()])
    };
    // SAFETY: chunks stay mapped, and are filled up to `used`.
    unsafe {
        let mut chunk = *ARCHIVE.first.get();
        while !chunk.is_null() {
            let used = (*chunk).used.load(Ordering::Acquire) as usize;
            let mut at = size_of::<Chunk>();
            while at < used {
                let head = chunk.cast::<u8>().add(at).cast::<u64>();
                let (offset, len) = (head.read() as usize, head.add(1).read() as usize);
                let kept = core::slice::from_raw_parts(head.add(2).cast::<u8>(), len);
                if !same(offset, kept) {
                    each(kept)?;
                }
                at += 2 * WORD + len.next_multiple_of(WORD);
            }
            chunk = (*chunk).next;
        }
    }
    Ok(())
}

/// Writes the trace that is in memory, with a page for each stream that is kept here, into a file.
pub(super) fn write(file: i32) -> Result<(), sys::Errno> {
    let trace = block::in_memory();
    let (Some(first), Some(rest)) = (trace.get(..PAGE), trace.get(PAGE..)) else { return Ok(()) };
    let mut end = trace.len() as u64;
    each(trace, |_| {
        end += header::PAGE;
        Ok(())
    })?;
    let mut page = [0; PAGE];
    page.copy_from_slice(first);
    page[header::END..][..WORD].copy_from_slice(&end.to_le_bytes());
    sys::write_all(file, &page)?;
    sys::write_all(file, rest)?;
    each(trace, |kept| {
        page.fill(0);
        page[..kept.len()].copy_from_slice(kept);
        page[wire_block::SIZE..][..WORD].copy_from_slice(&header::PAGE.to_le_bytes());
        sys::write_all(file, &page)
    })
}

/// Another trace begins: nothing is kept of it yet.
pub(super) fn begin() {
    // SAFETY: the process has one thread.
    unsafe {
        let mut chunk = core::mem::replace(&mut *ARCHIVE.first.get(), null_mut());
        while !chunk.is_null() {
            let next = (*chunk).next;
            sys::unmap(chunk.cast(), CHUNK);
            chunk = next;
        }
    }
}

/// Takes the lock for a fork.
pub(super) fn lock_for_fork() {
    ARCHIVE.lock.acquire();
}

/// Gives the lock back after a fork.
pub(super) fn unlock_after_fork() {
    ARCHIVE.lock.release();
}
