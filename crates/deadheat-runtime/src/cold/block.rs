//! Handing out blocks of the trace file.
//!
//! Invariant: a block's space is reserved on the disk before it is mapped, so that a full disk is
//! an error here and never a signal in a hook; its header's magic is stored last.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::wire::{block, flag, header};

use super::lock::Lock;
use super::{archive, start};
use crate::hot::log::ROOM;
use crate::hot::thread::{self, Thread};
use crate::sys;

/// Descriptor of the trace file, or [`NO_FILE`].
static FILE: AtomicU32 = AtomicU32::new(NO_FILE);
/// Which file that is.
static DEVICE: AtomicU64 = AtomicU64::new(0);
static INODE: AtomicU64 = AtomicU64::new(0);
/// The trace is in memory alone, behind its first page.
const NO_FILE: u32 = u32::MAX;
/// The room for a trace in memory; pages are used as they are written.
static ROOM_IN_MEMORY: AtomicU64 = AtomicU64::new(0);
/// The room that is asked for, and the least that will do: a stream of a short thread takes a page.
const MOST_IN_MEMORY: usize = 4 << 30;
const ENOUGH_IN_MEMORY: usize = 64 << 20;
const LEAST_IN_MEMORY: usize = 16 << 20;
/// Address of the mapped first page.
static HEADER: AtomicU64 = AtomicU64::new(0);
/// Set when the recording stopped.
static STOPPED: AtomicU32 = AtomicU32::new(0);

/// A stream's first block: small, since thousands of short threads have little to say.
const FIRST_SIZE: usize = 4 << 10;
/// The largest block.
const LARGEST_SIZE: usize = 1 << 20;
/// From this size on the pages are mapped at once: they will all be used.
const POPULATE_FROM: usize = 128 << 10;

/// Space that ended threads did not use.
struct Spare {
    lock: Lock,
    /// Offset and size of each piece, both multiples of the page; the first `count` are there.
    pieces: core::cell::UnsafeCell<([(u64, usize); SPARE_PIECES], usize)>,
}

/// Pieces that are remembered; what comes beyond stays unused.
const SPARE_PIECES: usize = 256;

// SAFETY: the pieces are touched under `lock` alone.
unsafe impl Sync for Spare {}

static SPARE: Spare =
    Spare { lock: Lock::new(), pieces: core::cell::UnsafeCell::new(([(0, 0); SPARE_PIECES], 0)) };

impl Spare {
    fn with<R>(&self, body: impl FnOnce(&mut [(u64, usize); SPARE_PIECES], &mut usize) -> R) -> R {
        // A handler that finds a race needs a block, too.
        let _quiet = sys::Quiet::new();
        self.lock.with(|| {
            // SAFETY: under the lock.
            let (pieces, count) = unsafe { &mut *self.pieces.get() };
            body(pieces, count)
        })
    }

    fn put(&self, offset: u64, size: usize) {
        self.with(|pieces, count| {
            let end = offset + size as u64;
            let next = |piece: &&mut (u64, usize)| piece.0 + piece.1 as u64 == offset || piece.0 == end;
            if let Some(piece) = pieces[..*count].iter_mut().find(next) {
                *piece = (piece.0.min(offset), piece.1 + size);
            } else if *count < SPARE_PIECES {
                pieces[*count] = (offset, size);
                *count += 1;
            }
        });
    }

    /// A piece of `size` bytes, cut off a larger one if need be.
    fn take(&self, size: usize) -> Option<u64> {
        self.with(|pieces, count| {
            let at = pieces[..*count].iter().position(|piece| piece.1 >= size)?;
            let (offset, whole) = pieces[at];
            if whole == size {
                *count -= 1;
                pieces[at] = pieces[*count];
            } else {
                pieces[at] = (offset + size as u64, whole - size);
            }
            Some(offset)
        })
    }
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    archive::lock_for_fork();
    SPARE.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    SPARE.lock.release();
    archive::unlock_after_fork();
}

/// Begins a trace file whose first page is mapped at `page`.
pub(crate) fn begin_file(file: Option<i32>, page: *mut u8) {
    FILE.store(file.map_or(NO_FILE, |file| file as u32), Ordering::Relaxed);
    if let Some(Ok(status)) = file.map(sys::status) {
        DEVICE.store(status.device, Ordering::Relaxed);
        INODE.store(status.inode, Ordering::Relaxed);
    }
    STOPPED.store(0, Ordering::Relaxed);
    SPARE.with(|_, count| *count = 0);
    archive::begin();
    HEADER.store(page as u64, Ordering::Release);
}

/// Begins a trace in memory; gives its first page.
pub(crate) fn begin_in_memory() -> Result<*mut u8, sys::Errno> {
    let mut size = MOST_IN_MEMORY;
    loop {
        match sys::map_anonymous(size) {
            Ok(page) => {
                sys::no_huge_pages(page, size);
                ROOM_IN_MEMORY.store(size as u64, Ordering::Relaxed);
                return Ok(page);
            }
            Err(error) if size <= LEAST_IN_MEMORY => return Err(error),
            // The address space is limited, and others want of it, too.
            Err(_) => size = size.min(2 * ENOUGH_IN_MEMORY) / 2,
        }
    }
}

/// Writes the trace that is in memory into a file.
pub(crate) fn write_to(file: i32) -> Result<(), sys::Errno> {
    archive::write(file)
}

/// The bytes of a trace in memory so far, but for streams that are in the archive.
pub(crate) fn in_memory() -> &'static [u8] {
    let page = header_page();
    if page.is_null() || FILE.load(Ordering::Relaxed) != NO_FILE {
        return &[];
    }
    let len = end(page).load(Ordering::Acquire).min(ROOM_IN_MEMORY.load(Ordering::Relaxed));
    // SAFETY: the room is mapped for good; who reads it does so in a copy of the process or of words that stay.
    unsafe { core::slice::from_raw_parts(page, len as usize) }
}

/// The mapped first page; null if nothing is recorded.
pub(crate) fn header_page() -> *mut u8 {
    HEADER.load(Ordering::Acquire) as *mut u8
}

/// Whether the recording stopped early.
pub(crate) fn stopped() -> bool {
    STOPPED.load(Ordering::Relaxed) != 0
}

/// The file's end of handed-out space.
fn end(page: *mut u8) -> &'static AtomicU64 {
    // SAFETY: the first page stays mapped as long as the process; the field is aligned.
    unsafe { AtomicU64::from_ptr(page.add(header::END).cast()) }
}

/// The file's flags.
pub(crate) fn flags(page: *mut u8) -> &'static AtomicU64 {
    // SAFETY: as for `end`.
    unsafe { AtomicU64::from_ptr(page.add(header::FLAGS).cast()) }
}

/// A block that was handed out: its mapping and its size.
pub(crate) struct Block {
    pub(crate) start: *mut u8,
    pub(crate) size: usize,
    pub(crate) offset: u64,
}

/// What a block's header says.
pub(crate) struct Label {
    pub(crate) kind: u32,
    pub(crate) stream: u32,
    pub(crate) thread: u32,
    pub(crate) sequence: u32,
    pub(crate) used: u64,
}

/// Reserves, maps and labels a block; `None` if the disk is full (the recording then stops).
pub(crate) fn take(size: usize, label: &Label) -> Option<Block> {
    let page = header_page();
    if page.is_null() || stopped() {
        return None;
    }
    let spare = SPARE.take(size);
    let offset = spare.unwrap_or_else(|| end(page).fetch_add(size as u64, Ordering::Relaxed));
    let Ok(start) = map(page, offset, size, spare.is_some()) else {
        stop(page);
        return None;
    };
    // SAFETY: the mapping is `size` bytes long and not used by anybody else yet.
    unsafe {
        start.add(block::KIND).cast::<u32>().write(label.kind);
        start.add(block::SIZE).cast::<u64>().write(size as u64);
        start.add(block::STREAM).cast::<u32>().write(label.stream);
        start.add(block::THREAD).cast::<u32>().write(label.thread);
        start.add(block::SEQUENCE).cast::<u32>().write(label.sequence);
        start.add(block::USED).cast::<u64>().write(label.used);
        core::sync::atomic::fence(Ordering::Release);
        start.cast::<u32>().write_volatile(block::MAGIC);
    }
    Some(Block { start, size, offset })
}

/// Maps a part of the trace that was handed out.
fn map(page: *mut u8, offset: u64, size: usize, reserved: bool) -> Result<*mut u8, sys::Errno> {
    let file = FILE.load(Ordering::Relaxed);
    if file == NO_FILE {
        let fits = offset + size as u64 <= ROOM_IN_MEMORY.load(Ordering::Relaxed);
        return if fits { Ok(page.wrapping_add(offset as usize)) } else { Err(sys::Errno(sys::EFBIG)) };
    }
    let file = if sys::is_confined() { file as i32 } else { descriptor(file as i32)? };
    if !reserved {
        sys::allocate_file(file, offset, size)?;
    }
    sys::map_file(file, offset, size, size >= POPULATE_FROM)
}

/// The trace file's descriptor, which was this; another one if the program has closed that, as those do that close all, or has made it one of its own.
fn descriptor(file: i32) -> Result<i32, sys::Errno> {
    let is_ours = |file| {
        let ours = (DEVICE.load(Ordering::Relaxed), INODE.load(Ordering::Relaxed));
        sys::status(file).is_ok_and(|status| (status.device, status.inode) == ours)
    };
    if is_ours(file) {
        return Ok(file);
    }
    let again = start::open_again()?;
    if !is_ours(again) {
        sys::close(again);
        return Err(sys::Errno(sys::EBADF));
    }
    let swap = FILE.compare_exchange(file as u32, again as u32, Ordering::Relaxed, Ordering::Relaxed);
    Ok(swap.map_or_else(
        |other| {
            sys::close(again);
            other as i32
        },
        |_| again,
    ))
}

/// Nothing is written into the block any more.
///
/// # Safety
/// Nothing uses the mapping any more.
pub(crate) unsafe fn close(start: *mut u8, size: usize) {
    if FILE.load(Ordering::Relaxed) != NO_FILE {
        // SAFETY: the caller's promise.
        unsafe { sys::unmap(start, size) };
    }
}

/// Gives back a stream's last block: the pages behind its last record are another's from now on.
///
/// # Safety
/// The stream will not be appended to any more.
pub(crate) unsafe fn give_back(stream: *mut Thread) {
    // SAFETY: the caller's promise; the block is `block_size` bytes long.
    unsafe {
        let state = &*stream;
        if state.block.is_null() {
            return;
        }
        let page = header::PAGE as usize;
        let len = state.at.offset_from(state.block) as usize;
        let in_memory = FILE.load(Ordering::Relaxed) == NO_FILE;
        // SAFETY: as above; what a block of a page holds is shorter than that.
        if in_memory && archive::keep(state.block_offset, core::slice::from_raw_parts(state.block, len)) {
            state.block.cast::<u32>().write_volatile(0);
            core::sync::atomic::fence(Ordering::Release);
            state.block.write_bytes(0, len);
            SPARE.put(state.block_offset, state.block_size);
            return;
        }
        // One byte more than was written: the zero that ends the events.
        let used = (state.at.offset_from(state.block) as usize + 1).next_multiple_of(page);
        if used < state.block_size {
            state.block.add(block::SIZE).cast::<u64>().write_volatile(used as u64);
            SPARE.put(state.block_offset + used as u64, state.block_size - used);
        }
        close(state.block, state.block_size);
    }
}

/// Ends a stream, of whose next record a part may be there, with its last whole one.
///
/// # Safety
/// The stream is the calling thread's, and will not be appended to any more.
pub(crate) unsafe fn cut_off(stream: *mut Thread) {
    // SAFETY: the caller's promise; a block has that much behind its limit, and what is behind its last record is zero.
    unsafe {
        let state = &*stream;
        if !state.at.is_null() {
            let end = state.block.add(state.block_size);
            state.at.write_bytes(0, ROOM.min(end.offset_from(state.at) as usize));
        }
    }
}

fn stop(page: *mut u8) {
    if STOPPED.swap(1, Ordering::Relaxed) == 0 {
        flags(page).fetch_or(flag::NO_SPACE, Ordering::Relaxed);
        sys::say(b"deadheat: no space left for the trace; the recording stops here, the program goes on\n");
    }
}

/// Gives `stream` its next block; stops watching the thread if there is none.
///
/// # Safety
/// `stream` is the calling thread's (or not yet running) and marked busy.
pub(crate) unsafe fn next(stream: *mut Thread) {
    if start::light() {
        return;
    }
    // A thread that is cancelled in the middle of this would have half of the old block and half of the new one.
    let _quiet = sys::Quiet::new();
    // SAFETY: the caller's promise; the old block is used by this stream alone.
    unsafe {
        let state = &mut *stream;
        if !state.block.is_null() {
            close(state.block, state.block_size);
        }
        let size = (FIRST_SIZE << state.sequence.min(8)).min(LARGEST_SIZE);
        let label = Label {
            kind: block::EVENTS,
            stream: state.stream,
            thread: state.id,
            sequence: state.sequence,
            used: 0,
        };
        let Some(block) = take(size, &label) else {
            state.block = core::ptr::null_mut();
            state.at = core::ptr::null_mut();
            state.limit = core::ptr::null_mut();
            if sys::machine::thread_word() > thread::UNWATCHED {
                sys::machine::set_thread_word(thread::UNWATCHED);
            }
            return;
        };
        state.sequence += 1;
        state.block = block.start;
        state.block_size = size;
        state.block_offset = block.offset;
        state.at = block.start.add(block::HEADER);
        state.limit = block.start.add(size - ROOM);
    }
}

const _: () = assert!(FIRST_SIZE > block::HEADER + 2 * ROOM);
const _: () = assert!((FIRST_SIZE as u64).is_multiple_of(header::PAGE));
