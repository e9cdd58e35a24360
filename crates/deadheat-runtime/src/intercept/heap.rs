//! The heap and mappings: blocks come to life and die.
//!
//! Birth is recorded after the real call and death before it, so that in the order of stamps a
//! block's memory has one owner at a time.

use core::ffi::{c_int, c_void};
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, Ordering};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Op};

use super::waiting::{self, Waiting};
use super::{caller, openmp};
use crate::cold::start::{light, recording};
use crate::gate;
use crate::hot::{log, thread};
use crate::online;
use crate::sys::{self, allocator, c};

const ENOMEM: c_int = 12;
const EINVAL: c_int = 22;

/// A block was born, unless there is none.
#[inline(always)]
pub(super) fn born(pc: usize, block: *mut c_void, size: usize, kind: BlockKind) -> *mut c_void {
    let size = if kind == HEAP { counted(block, size) } else { size };
    if kind == HEAP
        && online::only()
        && let Some(thread) = thread::known()
    {
        let (what, used) = ((block as usize, size.max(1)), !caller::of(pc).is_system());
        // SAFETY: `known` gives the calling thread's own state; the block is new.
        if unsafe { online::block_born(thread, pc, what, used) } {
            return block;
        }
    }
    born_in_general(pc, block, size, kind)
}

/// Whether the program has asked how much of a block it may use.
static ASKED: AtomicBool = AtomicBool::new(false);

/// How many bytes of a block count that was asked for with this size: who asks how much of a block may be used uses all of it, so there is nothing behind it that
/// an earlier owner left.
#[inline(always)]
fn counted(block: *mut c_void, size: usize) -> usize {
    if ASKED.load(Ordering::Relaxed) && !block.is_null() {
        // SAFETY: the program's live block.
        unsafe { allocator::usable_size(block) }
    } else {
        size
    }
}

/// As [`born`].
#[cold]
#[inline(never)]
fn born_in_general(pc: usize, block: *mut c_void, size: usize, kind: BlockKind) -> *mut c_void {
    if !block.is_null() && recording() && !light() {
        // A block of no bytes still has an address, and its end is told.
        let (address, size) = (block as u64, size.max(1) as u64);
        log::event(pc, &Op::Alloc { address, size, kind });
        if !caller::of(pc).is_system() {
            // To use what somebody else has just got from the heap takes an order, too.
            let size = size.next_multiple_of(GRANULE).min(BORN);
            let (mode, via) = (Mode::Write, Via::Birth);
            log::event(pc, &Op::Access(Access { address, size, mode, atomic: None, via }));
        }
    }
    block
}

/// So many bytes of a block have a birth that a race can be with: its first ones.
pub(crate) const BORN: u64 = 4096;
/// What an allocator gives nobody else a part of.
const GRANULE: u64 = 8;

/// The program frees a block, which is given back at once or once others have been freed.
#[inline(always)]
pub(super) fn freed(pc: usize, block: *mut c_void) {
    match waits(pc, block) {
        // SAFETY: the calling thread, and the program has freed the block.
        Some(thread) => unsafe { waiting::keep(thread, block) },
        None => freed_in_general(pc, block),
    }
}

/// A block dies and is to wait: gives the calling thread, where that is the common kind of death. Otherwise nothing was done.
#[inline(always)]
fn waits(pc: usize, block: *mut c_void) -> Option<*mut thread::Thread> {
    if !online::only() || gate::on() {
        return None;
    }
    let thread = thread::known()?;
    // SAFETY: `known` gives the calling thread's own state; the program's live block, or none.
    unsafe {
        let common = !caller::of(pc).is_keeper() && (*thread).in_library == 0;
        (common && online::block_died(thread, pc, block as usize)).then_some(thread)
    }
}

/// As [`freed`].
#[cold]
#[inline(never)]
fn freed_in_general(pc: usize, block: *mut c_void) {
    let waiting = Waiting::begin(block);
    died(pc, block);
    match waiting {
        Some(waiting) => waiting.exchange(block),
        // SAFETY: a block of the program's that it freed.
        None => unsafe { allocator::free(block) },
    }
}

/// A block dies; its size is known from its birth.
fn died(pc: usize, block: *mut c_void) {
    let own = caller::of(pc).is_keeper() || openmp::in_library();
    if !block.is_null() && recording() && !own {
        // SAFETY: the program's live block.
        gate::freed(pc, block as u64, || unsafe { allocator::usable_size(block) } as u64);
        if !light() {
            log::event(pc, &Op::Free { address: block as u64, size: 0, kind: BlockKind::Heap });
        }
    }
}

pub(super) const HEAP: BlockKind = BlockKind::Heap;

intercept! {
    /// `malloc`
    fn dh_wrap_malloc / malloc(size: usize) -> *mut c_void; pc {
        born(pc, waiting::allocate(size), size, HEAP)
    }
}

intercept! {
    /// `calloc`
    fn dh_wrap_calloc / calloc(count: usize, size: usize) -> *mut c_void; pc {
        if let Some(total) = count.checked_mul(size)
            && let block = waiting::take(total)
            && !block.is_null()
        {
            // SAFETY: the block has as many bytes.
            unsafe { block.cast::<u8>().write_bytes(0, total) };
            return born(pc, block, total, HEAP);
        }
        // SAFETY: passed on; a product that overflows gives no block.
        born(pc, unsafe { allocator::calloc(count, size) }, count.wrapping_mul(size), HEAP)
    }
}

intercept! {
    /// `realloc`: the old block dies and the new one is born, even where it does not move.
    fn dh_wrap_realloc / realloc(block: *mut c_void, size: usize) -> *mut c_void; pc {
        let old = if !block.is_null() && recording() {
            // SAFETY: the program's live block.
            unsafe { allocator::usable_size(block) }
        } else {
            0
        };
        if size > old && online::looking() && !block.is_null() {
            if let Some(thread) = waits(pc, block) {
                return moved(pc, (block, old), size, |moved| {
                    if moved {
                        // SAFETY: the calling thread, and the program has freed the block.
                        unsafe { waiting::keep(thread, block) }
                    }
                });
            }
            if let Some(waiting) = Waiting::begin(block) {
                died(pc, block);
                return moved(pc, (block, old), size, |moved| if moved { waiting.exchange(block) } else { waiting.end() });
            }
        }
        died(pc, block);
        // SAFETY: passed on.
        let new = unsafe { allocator::realloc(block, size) };
        if new.is_null() && !block.is_null() && size != 0 {
            born(pc, block, old, HEAP);
        }
        born(pc, new, size, HEAP)
    }
}

/// A block that died gets more room elsewhere: what still uses the old one shall find what was left there. `waits`: it waits, if
/// there is room elsewhere.
fn moved(
    pc: usize,
    (block, old): (*mut c_void, usize),
    size: usize,
    waits: impl FnOnce(bool),
) -> *mut c_void {
    let new = waiting::allocate(size);
    if new.is_null() {
        waits(false);
        born(pc, block, old, HEAP);
        return new;
    }
    // SAFETY: the program's live block and a new one, both of which have as many bytes.
    unsafe { core::ptr::copy_nonoverlapping(block.cast::<u8>(), new.cast(), old) };
    waits(true);
    born(pc, new, size, HEAP)
}

intercept! {
    /// `reallocarray`
    fn dh_wrap_reallocarray / reallocarray(block: *mut c_void, count: usize, size: usize) -> *mut c_void; pc {
        let Some(total) = count.checked_mul(size) else {
            // SAFETY: the calling thread's `errno`.
            unsafe { *c::__errno_location() = ENOMEM };
            return null_mut();
        };
        // SAFETY: passed on.
        unsafe { realloc(block, total, pc) }
    }
}

intercept! {
    /// `free`
    fn dh_wrap_free / free(block: *mut c_void); pc {
        freed(pc, block);
    }
}

intercept! {
    /// `malloc_usable_size`: from now on all that may be used of a block is part of it.
    fn dh_wrap_malloc_usable_size / malloc_usable_size(block: *mut c_void) -> usize; pc {
        // SAFETY: passed on.
        let usable = unsafe { allocator::usable_size(block) };
        if !ASKED.load(Ordering::Relaxed) && !ASKED.swap(true, Ordering::Relaxed) && recording() && !light() {
            let known = online::live_size(block as usize).next_multiple_of(GRANULE as usize);
            if known != 0 && known < usable {
                let (address, size) = ((block as usize + known) as u64, (usable - known) as u64);
                log::event(pc, &Op::Alloc { address, size, kind: HEAP });
            }
        }
        usable
    }
}

fn aligned(pc: usize, alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: plain numbers.
    born(pc, unsafe { allocator::memalign(alignment, size) }, size, HEAP)
}

const PAGE: usize = 4096;

intercept! {
    /// `memalign`
    fn dh_wrap_memalign / memalign(alignment: usize, size: usize) -> *mut c_void; pc {
        aligned(pc, alignment, size)
    }
}

intercept! {
    /// `aligned_alloc`
    fn dh_wrap_aligned_alloc / aligned_alloc(alignment: usize, size: usize) -> *mut c_void; pc {
        aligned(pc, alignment, size)
    }
}

intercept! {
    /// `posix_memalign`
    fn dh_wrap_posix_memalign / posix_memalign(
        result: *mut *mut c_void, alignment: usize, size: usize,
    ) -> c_int; pc {
        if !alignment.is_power_of_two() || !alignment.is_multiple_of(size_of::<usize>()) {
            return EINVAL;
        }
        let errno = c::KeepErrno::new();
        let block = aligned(pc, alignment, size);
        drop(errno);
        if block.is_null() {
            return ENOMEM;
        }
        // SAFETY: the program's variable.
        unsafe { *result = block };
        0
    }
}

intercept! {
    /// `valloc`
    fn dh_wrap_valloc / valloc(size: usize) -> *mut c_void; pc {
        aligned(pc, PAGE, size)
    }
}

intercept! {
    /// `pvalloc`
    fn dh_wrap_pvalloc / pvalloc(size: usize) -> *mut c_void; pc {
        aligned(pc, PAGE, size.next_multiple_of(PAGE))
    }
}

type Map = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, c_int, i64) -> *mut c_void;
const MAP_FAILED: *mut c_void = usize::MAX as *mut c_void;

fn mapped(pc: usize, address: *mut c_void, size: usize) -> *mut c_void {
    if address == MAP_FAILED {
        return address;
    }
    born(pc, address, size.next_multiple_of(PAGE), BlockKind::Mapping)
}

shim_through_thread!(dh_wrap_mmap, mmap);
shim_through_thread!(dh_wrap_mmap64, mmap);

/// `mmap` and `mmap64`, which are one function here.
unsafe extern "C" fn mmap(
    address: *mut c_void,
    size: usize,
    protection: c_int,
    flags: c_int,
    file: c_int,
    offset: i64,
) -> *mut c_void {
    let pc = sys::machine::caller_word();
    // SAFETY: passed on.
    mapped(pc, unsafe { real!("mmap", Map)(address, size, protection, flags, file, offset) }, size)
}

fn unmapped(pc: usize, address: *mut c_void, size: usize) {
    if recording() && size != 0 {
        let size = size.next_multiple_of(PAGE) as u64;
        log::event(pc, &Op::Free { address: address as u64, size, kind: BlockKind::Mapping });
    }
}

intercept! {
    /// `munmap`
    fn dh_wrap_munmap / munmap(address: *mut c_void, size: usize) -> c_int; pc {
        type Real = unsafe extern "C" fn(*mut c_void, usize) -> c_int;
        unmapped(pc, address, size);
        // SAFETY: passed on.
        unsafe { real!("munmap", Real)(address, size) }
    }
}

intercept! {
    /// `shmat`: a segment may get the address that another one had, which nobody needs to know of.
    fn dh_wrap_shmat / shmat(segment: c_int, address: *mut c_void, flags: c_int) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_void, c_int) -> *mut c_void;
        // SAFETY: passed on.
        let address = unsafe { real!("shmat", Real)(segment, address, flags) };
        let size = if address != MAP_FAILED && recording() { sys::segment_size(segment) } else { 0 };
        if size == 0 { address } else { mapped(pc, address, size) }
    }
}

intercept! {
    /// `mremap`
    fn dh_wrap_mremap / mremap(
        old: *mut c_void, old_size: usize, size: usize, flags: c_int, new: *mut c_void,
    ) -> *mut c_void; pc {
        type Real = unsafe extern "C" fn(*mut c_void, usize, usize, c_int, *mut c_void) -> *mut c_void;
        let real = real!("mremap", Real);
        let (old_size, size) = (old_size.next_multiple_of(PAGE), size.next_multiple_of(PAGE));
        if flags & !MREMAP_MAYMOVE == 0 && old_size != 0 {
            if size < old_size {
                unmapped(pc, old.wrapping_byte_add(size), old_size - size);
            }
            // What moves ends before it may be another's: whether it does is tried first, as the system does.
            // SAFETY: passed on.
            let result = unsafe { real(old, old_size, size, 0, new) };
            if result == old && size > old_size {
                mapped(pc, old.wrapping_byte_add(old_size), size - old_size);
            }
            // SAFETY: the C library's variable of this thread.
            let moves = flags == MREMAP_MAYMOVE && unsafe { *c::__errno_location() } == ENOMEM;
            if result != MAP_FAILED || !moves {
                return result;
            }
        }
        unmapped(pc, old, old_size);
        // SAFETY: passed on.
        mapped(pc, unsafe { real(old, old_size, size, flags, new) }, size)
    }
}

const MREMAP_MAYMOVE: c_int = 1;
