//! The runtime's own memory functions.
//!
//! The compiler turns copies and fills into calls of these names; the C library's would lead
//! through the program's (that is, our) interceptors. The build renames the references.

#[cfg(deadheat_object)]
use core::arch::asm;

/// Up to so many bytes are copied word by word.
#[cfg(deadheat_object)]
const FEW: usize = 128;

/// `memcpy`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    const WORD: usize = size_of::<u64>();
    // SAFETY: the caller's promise.
    unsafe {
        // Mostly they are clocks of few threads, for which the one instruction takes longer to begin than this takes in all.
        if len <= FEW && len.is_multiple_of(WORD) {
            let mut at = 0;
            while at < len {
                to.add(at).cast::<u64>().write_unaligned(from.add(at).cast::<u64>().read_unaligned());
                at += WORD;
                // The compiler must not make a call of this very function of it.
                asm!("", options(nostack, preserves_flags));
            }
            return to;
        }
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") len => _,
            options(nostack, preserves_flags));
    }
    to
}

/// `memmove`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: copying upwards never reads what it wrote.
        return unsafe { dh_own_memcpy(to, from, len) };
    }
    let mut at = len;
    while at > 0 {
        at -= 1;
        // SAFETY: the caller's promise; downwards never reads what it wrote.
        unsafe { to.add(at).write_volatile(from.add(at).read_volatile()) };
    }
    to
}

/// `memset`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_memset(to: *mut u8, byte: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    unsafe {
        asm!("rep stosb", inout("rdi") to => _, in("al") byte as u8, inout("rcx") len => _,
            options(nostack, preserves_flags));
    }
    to
}

/// `memcmp` and `bcmp`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_memcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    let mut at = 0;
    while at < len {
        // SAFETY: the caller's promise.
        let (a, b) = unsafe { (one.add(at).read_volatile(), other.add(at).read_volatile()) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
        at += 1;
    }
    0
}

/// `bcmp`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_bcmp(one: *const u8, other: *const u8, len: usize) -> i32 {
    // SAFETY: passed on.
    unsafe { dh_own_memcmp(one, other, len) }
}

/// `strlen`.
///
/// # Safety
/// As C's.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
unsafe extern "C" fn dh_own_strlen(text: *const u8) -> usize {
    let mut len = 0;
    // SAFETY: the caller's promise: the text ends.
    while unsafe { text.add(len).read_volatile() } != 0 {
        len += 1;
    }
    len
}
