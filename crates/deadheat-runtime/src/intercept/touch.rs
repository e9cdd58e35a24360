//! How the interceptors of memory, string and file functions record what those touch.
//!
//! Invariant: only bytes that the real function really looks at or changes are named, and nothing
//! here reads a byte that the real function would not read.

use core::ffi::{c_char, c_void};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use crate::cold::modules;
use crate::gate;
use crate::hot::{log, thread};
use crate::online::{self, Kept};
use crate::sys;

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

/// Whether a real function is the C library's, and not one of a static program that has the same name: what that is given is
/// nobody's business here, and may be anything.
#[inline(always)]
pub(super) fn is_of_library(function: usize) -> bool {
    let end = behind_program as *const () as usize;
    weak_address!("__real_memcpy") == 0 || function > end || weak_address!("main") > end
}

/// A function of the runtime, for its address.
#[inline(never)]
fn behind_program() {}

/// The bits of the [`Kind`] of an access to a range.
const fn kind(mode: Mode, via: Via) -> u16 {
    Kind::range(mode, via).0
}

const READ: u16 = kind(Mode::Read, Via::MemoryFunction);
const WRITE: u16 = kind(Mode::Write, Via::MemoryFunction);

/// An access of the kind `KIND` (a [`Kind`]'s bits).
#[inline(always)]
fn touch<const KIND: u16>(pc: usize, address: usize, len: usize) {
    if online::only() {
        if online::looking() {
            look::<KIND>(address, len, pc);
        }
    } else if !gate::passes(pc) && from_program(pc) {
        let Some(Op::Access(access)) = Kind(KIND).unpack(address as u64, len as u64) else { return };
        if access.via == Via::MemoryFunction && gate::sees_parts() {
            parts(pc, &access);
        } else {
            log::range(pc, &access);
        }
    }
}

/// Looks for races with an access to a range by the calling thread, if it is the program's.
#[inline(never)]
fn look<const KIND: u16>(address: usize, len: usize, pc: usize) {
    if !is_known::<KIND>(moment(), address, len) {
        look_closely::<KIND>(address, len, pc);
    }
}

/// As [`look`], with a copy.
#[inline(never)]
fn look_at_copy(to: usize, from: usize, len: usize, pc: usize) {
    let mine = moment();
    if !is_known::<READ>(mine, from, len) {
        look_at_copy_closely(to, from, len, pc);
    } else if !is_known::<WRITE>(mine, to, len) {
        look_closely::<WRITE>(to, len, pc);
    }
}

/// As [`look`], at two places.
#[inline(never)]
fn look_at_two(one: usize, other: usize, len: usize, pc: usize) {
    let mine = moment();
    if !is_known::<READ>(mine, one, len) {
        look_at_two_closely(one, other, len, pc);
    } else if !is_known::<READ>(mine, other, len) {
        look_closely::<READ>(other, len, pc);
    }
}

/// As [`look_at_two`], where the first may be new.
#[inline(never)]
fn look_at_two_closely(one: usize, other: usize, len: usize, pc: usize) {
    look_closely::<READ>(one, len, pc);
    look::<READ>(other, len, pc);
}

/// As [`look_at_copy`], where what is read may be new.
#[inline(never)]
fn look_at_copy_closely(to: usize, from: usize, len: usize, pc: usize) {
    look_closely::<READ>(from, len, pc);
    look::<WRITE>(to, len, pc);
}

/// The present moment of the calling thread: the word of a read of all bytes; 0 if it has none.
#[inline(always)]
fn moment() -> u64 {
    // SAFETY: `known` gives the calling thread's own state.
    thread::known().map_or(0, |thread| unsafe { (*thread).eye.mine })
}

/// Whether an access of a moment is nothing new.
#[inline(always)]
fn is_known<const KIND: u16>(mine: u64, address: usize, len: usize) -> bool {
    mine != 0
        && if const { Kind(KIND).plain_writes() } {
            online::is_known_range::<true>(mine, address, len)
        } else {
            online::is_known_range::<false>(mine, address, len)
        }
}

/// As [`look`], where it may be new.
#[inline(never)]
fn look_closely<const KIND: u16>(address: usize, len: usize, pc: usize) {
    let kind = const { Kept::of_range(Kind(KIND)) };
    if !from_program(pc) || thread::current().is_none() {
        return;
    }
    // SAFETY: the calling thread makes the access, and is watched.
    unsafe {
        if const { Kind(KIND).plain_writes() } {
            online::publish_range::<true>(address, len, pc, kind);
        } else {
            online::publish_range::<false>(address, len, pc, kind);
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
    touch::<{ READ }>(pc, from as usize, count.wrapping_mul(size_of::<T>()));
}

/// Records that a memory or string function writes.
#[inline(always)]
pub(crate) fn writes<T>(pc: usize, to: *const T, count: usize) {
    touch::<{ WRITE }>(pc, to as usize, count.wrapping_mul(size_of::<T>()));
}

/// Records that a memory function reads as many bytes as it writes elsewhere.
#[inline(always)]
pub(crate) fn copies(pc: usize, to: *const c_void, from: *const c_void, len: usize) {
    if !online::only() {
        reads::<u8>(pc, from.cast(), len);
        writes::<u8>(pc, to.cast(), len);
    } else if online::looking() {
        look_at_copy(to as usize, from as usize, len, pc);
    }
}

/// Looks for races with a comparison, which reads as many bytes of the one as of the other.
#[inline(always)]
pub(crate) fn compares(pc: usize, one: *const c_void, other: *const c_void, len: usize) {
    if online::looking() {
        look_at_two(one as usize, other as usize, len, pc);
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
    touch::<{ kind(Mode::Read, Via::Object) }>(pc, object as usize, size_of::<T>());
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
    touch::<{ kind(Mode::Write, Via::Object) }>(pc, object as usize, size_of::<T>());
}

/// Records that the system read the program's memory.
pub(crate) fn system_reads<T>(pc: usize, from: *const T, len: usize) {
    touch::<{ kind(Mode::Read, Via::System) }>(pc, from as usize, len);
}

/// Records that the system wrote to the program's memory.
pub(crate) fn system_writes<T>(pc: usize, to: *const T, len: usize) {
    touch::<{ kind(Mode::Write, Via::System) }>(pc, to as usize, len);
}

/// How many of `len` bytes there are up to and with the first in which two blocks differ.
///
/// # Safety
/// The C functions may read all `len` bytes of both.
#[inline(always)]
pub(crate) unsafe fn compared(one: *const u8, other: *const u8, len: usize) -> usize {
    const STEP: usize = size_of::<u64>();
    // What differs in the eight bytes from one on; the lowest bits are the first byte's.
    let differs = |at: usize| {
        // SAFETY: the caller's promise; `at + STEP` is not behind `len`.
        let words = unsafe {
            (one.add(at).cast::<u64>().read_unaligned(), other.add(at).cast::<u64>().read_unaligned())
        };
        u64::from_le(words.0 ^ words.1)
    };
    let mut at = 0;
    if len < STEP {
        while at < len {
            at += 1;
            // SAFETY: the caller's promise.
            if unsafe { one.add(at - 1).read_volatile() != other.add(at - 1).read_volatile() } {
                break;
            }
        }
        return at;
    }
    loop {
        let differing = differs(at);
        if differing != 0 {
            return at + (differing.trailing_zeros() / u8::BITS) as usize + 1;
        }
        if at + STEP == len {
            return len;
        }
        // The last step may have bytes of the one before it, which are alike.
        at = (at + STEP).min(len - STEP);
    }
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

/// As [`reads`], out of line: for the many functions that are called seldom.
#[inline(always)]
pub(super) fn reads_seldom<T>(pc: usize, from: *const T, count: usize) {
    reads_bytes(pc, from.cast(), count.wrapping_mul(size_of::<T>()));
}

/// As [`writes`], out of line.
#[inline(always)]
pub(super) fn writes_seldom<T>(pc: usize, to: *const T, count: usize) {
    writes_bytes(pc, to.cast(), count.wrapping_mul(size_of::<T>()));
}

#[inline(never)]
fn reads_bytes(pc: usize, from: *const u8, len: usize) {
    if !from.is_null() {
        reads(pc, from, len);
    }
}

#[inline(never)]
fn writes_bytes(pc: usize, to: *const u8, len: usize) {
    if !to.is_null() {
        writes(pc, to, len);
    }
}

/// Records that a thing is read, if it is there.
#[inline(always)]
pub(super) fn read_if<T>(pc: usize, from: *const T) {
    reads_seldom(pc, from, 1);
}

/// Records that a thing is written, if it is there.
#[inline(always)]
pub(super) fn write_if<T>(pc: usize, to: *mut T) {
    writes_seldom(pc, to, 1);
}

/// Records that a text is read up to its end, if it is there.
///
/// # Safety
/// It ends.
#[inline(never)]
pub(super) unsafe fn read_text(pc: usize, text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        reads_bytes(pc, text.cast(), unsafe { length::<u8>(text.cast(), usize::MAX) } + 1);
    }
}

/// As [`read_text`], of a text that the kernel reads: the program may ask it about memory that cannot be read, and is told so.
///
/// # Safety
/// It ends, or what is behind it cannot be read.
#[inline(never)]
pub(super) unsafe fn read_path(pc: usize, text: *const c_char) {
    let mut at = text.addr();
    while can_read(at, 1) {
        let room = PAGE - at % PAGE;
        // SAFETY: the page can be read.
        let len = unsafe { length::<u8>(text.with_addr(at).cast(), room) };
        at += len;
        if len < room {
            return reads_bytes(pc, text.cast(), at - text.addr() + 1);
        }
    }
}

/// Records that the kernel is asked to read memory, of which it reads what it can.
#[inline(never)]
pub(super) fn asked_to_read<T>(pc: usize, from: *const T, len: usize) {
    system_reads(pc, from, readable(from.addr(), len));
}

/// How many bytes the kernel can read if it is asked for so many: of few all are taken for granted.
pub(super) fn readable(address: usize, len: usize) -> usize {
    const FEW: usize = 1 << 16;
    // Nor does it read more at once.
    const MOST: usize = (1 << 31) - PAGE;
    if len <= FEW {
        return len;
    }
    let end = address.saturating_add(len.min(MOST));
    let mut at = address;
    while at < end && can_read(at, 1) {
        at = (at | (PAGE - 1)).saturating_add(1);
    }
    at.min(end) - address
}

/// How much of memory can be read or cannot, together.
const PAGE: usize = 4096;

/// Whether memory can be read that the kernel is going to be asked to read: what it would refuse is not looked at before. Of a program that has
/// confined itself it is taken for granted.
pub(super) fn can_read(address: usize, len: usize) -> bool {
    let end = address.saturating_add(len);
    // Not the first bytes: they may be those at the null pointer, which stands for nothing.
    let mut pages = (address / PAGE..end.div_ceil(PAGE)).map(|page| page * PAGE + PAGE / 2);
    address != 0 && (sys::is_confined() || pages.all(sys::can_read))
}

/// Records that a text was written up to its end, if it is there.
///
/// # Safety
/// It ends.
#[inline(never)]
pub(super) unsafe fn written_text(pc: usize, text: *const c_char) {
    if !text.is_null() {
        // SAFETY: the caller's promise.
        writes_bytes(pc, text.cast(), unsafe { length::<u8>(text.cast(), usize::MAX) } + 1);
    }
}
