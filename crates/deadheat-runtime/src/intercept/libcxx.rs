//! What libc++ does within itself: it gives back the references to a `std::shared_ptr`'s counts, and whoever gives back the last one frees them, behind
//! all that others did with theirs; and it counts who arrives at a `std::barrier`, of whom the last one goes on behind all others.
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

type Arrive = unsafe extern "C" fn(*mut u8, u8) -> bool;

intercept! {
    /// `std::__1::__arrive_barrier_algorithm_base`: whether the caller is the last one, which lets the others go on by an atomic that is not the library's.
    fn dh_wrap__ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh /
        arrive_at_barrier(barrier: *mut u8, phase: u8) -> bool; pc {
        let real = real!("_ZNSt3__131__arrive_barrier_algorithm_baseEPNS_24__barrier_algorithm_baseEh", Arrive);
        let recorded = recording();
        if recorded {
            atomic::pass_on(pc, barrier as usize, false);
        }
        // SAFETY: passed on.
        let last = unsafe { real(barrier, phase) };
        if recorded && last {
            atomic::pass_on(pc, barrier as usize, true);
        }
        last
    }
}
