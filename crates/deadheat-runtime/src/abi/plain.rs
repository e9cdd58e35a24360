//! What programs call to have an access of their own seen: unaligned ones of the sanitizers' common interface, and those
//! that a code generator makes for code of its own, with the place where they count.

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::kind::Kind;

use crate::hot::{access, log};
use crate::online;

/// An access of the kind `KIND` (a [`Kind`]'s bits).
///
/// # Safety
/// Called by a hook, on the accessing thread.
#[inline(always)]
unsafe fn touch<const KIND: u16>(address: usize, pc: usize) {
    // SAFETY: the caller's promise: on the accessing thread.
    unsafe {
        if online::only() {
            online::access::<KIND>(address, pc);
        } else {
            access::on_access::<KIND>(address, pc);
        }
    }
}

const fn kind(log2: u16, mode: Mode) -> u16 {
    Kind::plain(log2, mode, Via::Code).0
}

macro_rules! unaligned {
    ($($load:ident / $on_load:ident $store:ident / $on_store:ident $type:ty, $log2:literal;)*) => {$(
        shim!($load, "rsi", $on_load);
        shim!($store, "rdx", $on_store);

        unsafe extern "C" fn $on_load(from: *const $type, pc: usize) -> $type {
            // SAFETY: the program reads there.
            unsafe {
                touch::<{ kind($log2, Mode::Read) }>(from as usize, pc);
                from.read_unaligned()
            }
        }

        unsafe extern "C" fn $on_store(to: *mut $type, value: $type, pc: usize) {
            // SAFETY: the program writes there.
            unsafe {
                touch::<{ kind($log2, Mode::Write) }>(to as usize, pc);
                to.write_unaligned(value);
            }
        }
    )*};
}

unaligned! {
    __sanitizer_unaligned_load16 / on_load2 __sanitizer_unaligned_store16 / on_store2 u16, 1;
    __sanitizer_unaligned_load32 / on_load4 __sanitizer_unaligned_store32 / on_store4 u32, 2;
    __sanitizer_unaligned_load64 / on_load8 __sanitizer_unaligned_store64 / on_store8 u64, 3;
}

/// Hooks whose last argument is the place that the access counts as made at.
macro_rules! at_place {
    ($($name:ident $mode:ident $log2:literal)*) => {$(
        #[cfg(deadheat_object)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: usize, pc: usize) {
            // SAFETY: the program is about to make the access.
            unsafe { touch::<{ kind($log2, Mode::$mode) }>(address, pc) };
        }
    )*};
}

at_place! {
    __tsan_read1_pc Read 0 __tsan_read2_pc Read 1 __tsan_read4_pc Read 2 __tsan_read8_pc Read 3
    __tsan_read16_pc Read 4 __tsan_write1_pc Write 0 __tsan_write2_pc Write 1 __tsan_write4_pc Write 2
    __tsan_write8_pc Write 3 __tsan_write16_pc Write 4
}

macro_rules! range_at_place {
    ($($name:ident $mode:ident)*) => {$(
        #[cfg(deadheat_object)]
        #[unsafe(no_mangle)]
        unsafe extern "C" fn $name(address: usize, size: usize, pc: usize) {
            let (address, size) = (address as u64, size as u64);
            log::range(pc, &Access { address, size, mode: Mode::$mode, atomic: None, via: Via::Code });
        }
    )*};
}

range_at_place! { __tsan_read_range_pc Read __tsan_write_range_pc Write }
