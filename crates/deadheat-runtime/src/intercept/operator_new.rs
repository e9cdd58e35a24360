//! C++'s `operator new` and `operator delete`, by their mangled names.
//!
//! They are here only so that a block's place is the program's and not the C++ library's. When
//! memory runs out the library's own takes over: it knows the new handler and the exception, which goes from there to the
//! program and not through here.

use core::ffi::c_void;

use super::heap::{HEAP, born, freed};
use super::waiting::allocate;
use crate::sys::allocator;
use crate::sys::through::Or;

/// The allocator's block of so many bytes, at least one, at a multiple of `alignment`.
fn aligned(alignment: usize, size: usize) -> *mut c_void {
    // SAFETY: plain numbers.
    unsafe { allocator::memalign(alignment, size.max(1)) }
}

/// Exports a form of `operator new`: its name, the register behind its parameters, its further parameters, how memory is asked for.
macro_rules! new {
    ($export:ident / $inner:ident, $name:literal, $register:literal, ($($argument:ident),*), $size:ident => $allocate:expr) => {
        shim_or! {
            /// A form of `operator new`.
            $export, $register, $inner
        }

        unsafe extern "C" fn $inner($size: usize, $($argument: usize,)* pc: usize) -> Or {
            let block = $allocate;
            if block.is_null() {
                return Or { result: 0, other: real!($name, unsafe extern "C" fn()) as usize };
            }
            Or { result: born(pc, block, $size, HEAP) as usize, other: 0 }
        }
    };
}

new!(dh_wrap__Znwm / new, "_Znwm", "rsi", (), size => allocate(size.max(1)));
new!(dh_wrap__Znam / new_array, "_Znam", "rsi", (), size => allocate(size.max(1)));
new!(dh_wrap__ZnwmRKSt9nothrow_t / new_or_null, "_ZnwmRKSt9nothrow_t", "rdx", (_tag), size =>
    allocate(size.max(1)));
new!(dh_wrap__ZnamRKSt9nothrow_t / new_array_or_null, "_ZnamRKSt9nothrow_t", "rdx", (_tag), size =>
    allocate(size.max(1)));
new!(dh_wrap__ZnwmSt11align_val_t / new_aligned, "_ZnwmSt11align_val_t", "rdx", (alignment), size =>
    aligned(alignment, size));
new!(dh_wrap__ZnamSt11align_val_t / new_array_aligned, "_ZnamSt11align_val_t", "rdx", (alignment), size =>
    aligned(alignment, size));
new!(dh_wrap__ZnwmSt11align_val_tRKSt9nothrow_t / new_aligned_or_null,
    "_ZnwmSt11align_val_tRKSt9nothrow_t", "rcx", (alignment, _tag), size =>
    aligned(alignment, size));
new!(dh_wrap__ZnamSt11align_val_tRKSt9nothrow_t / new_array_aligned_or_null,
    "_ZnamSt11align_val_tRKSt9nothrow_t", "rcx", (alignment, _tag), size =>
    aligned(alignment, size));

/// Exports forms of `operator delete`; what follows the block (size, alignment, tag) says nothing
/// that its birth did not.
macro_rules! delete {
    ($($export:ident / $inner:ident ($($argument:ident),*);)*) => {$(
        intercept! {
            /// A form of `operator delete`.
            fn $export / $inner(block: *mut c_void $(, $argument: usize)*); pc {
                freed(pc, block);
            }
        }
    )*};
}

delete! {
    dh_wrap__ZdlPv / delete ();
    dh_wrap__ZdaPv / delete_array ();
    dh_wrap__ZdlPvm / delete_sized (_size);
    dh_wrap__ZdaPvm / delete_array_sized (_size);
    dh_wrap__ZdlPvRKSt9nothrow_t / delete_tagged (_tag);
    dh_wrap__ZdaPvRKSt9nothrow_t / delete_array_tagged (_tag);
    dh_wrap__ZdlPvSt11align_val_t / delete_aligned (_alignment);
    dh_wrap__ZdaPvSt11align_val_t / delete_array_aligned (_alignment);
    dh_wrap__ZdlPvmSt11align_val_t / delete_sized_aligned (_size, _alignment);
    dh_wrap__ZdaPvmSt11align_val_t / delete_array_sized_aligned (_size, _alignment);
    dh_wrap__ZdlPvSt11align_val_tRKSt9nothrow_t / delete_aligned_tagged (_alignment, _tag);
    dh_wrap__ZdaPvSt11align_val_tRKSt9nothrow_t / delete_array_aligned_tagged (_alignment, _tag);
}
