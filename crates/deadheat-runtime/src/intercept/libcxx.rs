//! The references to a `std::shared_ptr`'s counts, which libc++ gives back within itself: whoever gives back the last one frees them, behind
//! all that others did with theirs.
//!
//! Model: as for [exceptions](super::exception). Those beyond the first are counted.

use crate::cold::start::recording;
use crate::hot::atomic;
use crate::sys::through::Or;

/// `std::__1::__shared_weak_count`, as libc++'s ABI has it.
#[repr(C)]
struct Counts {
    table: usize,
    owners: u64,
    /// The lower half comes first.
    others: u32,
}

shim_or! {
    /// `std::__1::__shared_weak_count::__release_weak`
    dh_wrap__ZNSt3__119__shared_weak_count14__release_weakEv, "rsi", release
}

unsafe extern "C" fn release(counts: *mut Counts, pc: usize) -> Or {
    // SAFETY: the program's counts, to which the caller has a reference.
    unsafe {
        if recording() && atomic::drop_beyond_first(pc, &raw mut (*counts).others) {
            return Or { result: 1, other: 0 };
        }
    }
    Or {
        result: 0,
        other: real!("_ZNSt3__119__shared_weak_count14__release_weakEv", unsafe extern "C" fn()) as usize,
    }
}
