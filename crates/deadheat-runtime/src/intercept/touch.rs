//! How the interceptors of memory, string and file functions record what those touch.
//!
//! Invariant: only bytes that the real function really looks at or changes are named, and nothing
//! here reads a byte that the real function would not read.

use core::ffi::c_void;

use deadheat_core::access::{Access, Mode, Via};

use crate::cold::modules;
use crate::gate;
use crate::hot::{log, thread};
use crate::online;

/// Whether a call from before `pc` is the program's. Linked statically, the C library's calls
/// among its own functions pass through the interceptors, too, and what it does under its own
/// locks is its own business. There the runtime is linked behind the program's objects and in
/// front of the C library; if it is not, nothing is left out. What the OpenMP library touches is its own business, too.
#[inline(always)]
pub(super) fn from_program(pc: usize) -> bool {
    !modules::is_openmp(pc as u64) && is_in_front(pc)
}

/// As [`from_program`], of a call that is not the OpenMP library's.
#[inline(always)]
fn is_in_front(pc: usize) -> bool {
    let end = behind_program as *const () as usize;
    weak_address!("__real_memcpy") == 0 || pc < end || weak_address!("main") > end
}

/// A function of the runtime, for its address.
#[inline(never)]
fn behind_program() {}

#[inline(always)]
fn touch(pc: usize, address: usize, len: usize, mode: Mode, via: Via) {
    if online::only() {
        if online::looking()
            && from_program(pc)
            && let Some(thread) = thread::current()
        {
            // SAFETY: `current` gives the calling thread's own state.
            unsafe { online::range(thread, pc, (address, len), mode, via) };
        }
    } else if !gate::passes(pc) && from_program(pc) {
        let access = Access { address: address as u64, size: len as u64, mode, atomic: None, via };
        if via == Via::MemoryFunction && gate::sees_parts() {
            parts(pc, &access);
        } else {
            log::range(pc, &access);
        }
    }
}

/// Records each aligned word of a range as an access of its own, the lowest first.
#[cold]
fn parts(pc: usize, whole: &Access) {
    const WORD: u64 = 8;
    let mut address = whole.address;
    while address < whole.end() {
        let end = (address - address % WORD + WORD).min(whole.end());
        log::range(pc, &Access { address, size: end - address, ..*whole });
        address = end;
    }
}

/// Records that a memory or string function reads.
#[inline(always)]
pub(crate) fn reads<T>(pc: usize, from: *const T, count: usize) {
    touch(pc, from as usize, count.wrapping_mul(size_of::<T>()), Mode::Read, Via::MemoryFunction);
}

/// Records that a memory or string function writes.
#[inline(always)]
pub(crate) fn writes<T>(pc: usize, to: *const T, count: usize) {
    touch(pc, to as usize, count.wrapping_mul(size_of::<T>()), Mode::Write, Via::MemoryFunction);
}

/// Records that a memory function reads as many bytes as it writes elsewhere.
#[inline(always)]
pub(crate) fn copies(pc: usize, to: *const c_void, from: *const c_void, len: usize) {
    if !online::only() {
        reads::<u8>(pc, from.cast(), len);
        writes::<u8>(pc, to.cast(), len);
    } else if online::looking()
        && from_program(pc)
        && let Some(thread) = thread::current()
    {
        // SAFETY: `current` gives the calling thread's own state.
        unsafe {
            online::range(thread, pc, (from as usize, len), Mode::Read, Via::MemoryFunction);
            online::range(thread, pc, (to as usize, len), Mode::Write, Via::MemoryFunction);
        }
    }
}

/// Records that a lock or the like is used as the thing in memory that it is. What happens to its bytes inside of the
/// library is the library's business; it is enough that they are there.
#[inline(always)]
pub(crate) fn uses<T>(pc: usize, object: *const c_void) {
    if size_of::<T>() == 1 && online::only() {
        if from_program(pc) {
            uses_online(pc, object);
        }
        return;
    }
    touch(pc, object as usize, size_of::<T>(), Mode::Read, Via::Object);
}

/// As [`uses`], of a lock and a call that is not the OpenMP library's.
#[inline(always)]
pub(super) fn uses_lock(pc: usize, lock: *const c_void) {
    if !online::only() {
        uses::<u8>(pc, lock);
    } else if is_in_front(pc) {
        uses_online(pc, lock);
    }
}

#[inline(always)]
fn uses_online(pc: usize, object: *const c_void) {
    if let Some(thread) = thread::current() {
        // SAFETY: `current` gives the calling thread's own state.
        unsafe { online::used(thread, pc, object as usize) };
    }
}

/// Records that a lock or the like is made or destroyed.
pub(crate) fn makes<T>(pc: usize, object: *const c_void) {
    touch(pc, object as usize, size_of::<T>(), Mode::Write, Via::Object);
}

/// Records that the system read the program's memory.
pub(crate) fn system_reads<T>(pc: usize, from: *const T, len: usize) {
    touch(pc, from as usize, len, Mode::Read, Via::System);
}

/// Records that the system wrote to the program's memory.
pub(crate) fn system_writes<T>(pc: usize, to: *const T, len: usize) {
    touch(pc, to as usize, len, Mode::Write, Via::System);
}

/// How many bytes of `len` a comparison looks at: up to and with the first difference.
///
/// # Safety
/// Up to there both are readable.
pub(crate) unsafe fn compared(one: *const u8, other: *const u8, len: usize) -> usize {
    const STEP: usize = size_of::<u64>();
    let mut at = 0;
    // SAFETY: the C functions may read all `len` bytes of both.
    unsafe {
        while len - at >= STEP
            && one.add(at).cast::<u64>().read_unaligned() == other.add(at).cast::<u64>().read_unaligned()
        {
            at += STEP;
        }
        while at < len {
            at += 1;
            if one.add(at - 1).read_volatile() != other.add(at - 1).read_volatile() {
                break;
            }
        }
    }
    at
}

/// A unit of text: a byte, or a wide character.
pub(crate) trait Unit: Copy + PartialEq {
    /// What ends a text.
    const END: Self;
}

impl Unit for u8 {
    const END: u8 = 0;
}

impl Unit for u32 {
    const END: u32 = 0;
}

/// How many units of two texts a comparison looks at: up to and with the first difference, the
/// end, or `limit`.
///
/// # Safety
/// Up to there both are readable.
pub(crate) unsafe fn compared_text<T: Unit>(
    one: *const T,
    other: *const T,
    limit: usize,
    same: impl Fn(T, T) -> bool,
) -> usize {
    let mut at = 0;
    while at < limit {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        at += 1;
        if a == T::END || !same(a, b) {
            break;
        }
    }
    at
}

/// The length of a text, or `limit` if it is not shorter.
///
/// # Safety
/// Up to its end or `limit` the text is readable.
pub(crate) unsafe fn length<T: Unit>(text: *const T, limit: usize) -> usize {
    let mut at = 0;
    // SAFETY: the caller's promise.
    while at < limit && unsafe { text.add(at).read_volatile() } != T::END {
        at += 1;
    }
    at
}
