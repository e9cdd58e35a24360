//! Whose code calls an interceptor of the heap: looked up once for each place, as long as no module comes.
//!
//! Cost: one load and one comparison. Model: [`look_up`].

use core::sync::atomic::{AtomicU64, Ordering};

use super::touch::from_program;
use crate::cold::modules;
use crate::cold::start::recording;
use crate::hot::access;

/// What is known of a place that calls.
#[derive(Clone, Copy)]
pub(super) struct Caller(u64);

/// It is the C library's own, the loader's, or the OpenMP library's: what they allocate for themselves they guard by locks that
/// nobody sees.
const SYSTEM: u64 = 1;
/// It is the loader's or the OpenMP library's: what they let the program see of their own, and free, is guarded so, too.
const KEEPER: u64 = 2;
/// The bits below a place.
const BITS: u32 = 2;

impl Caller {
    /// Whether it is a part of the system, not of the program.
    #[inline(always)]
    pub(super) fn is_system(self) -> bool {
        self.0 & SYSTEM != 0
    }

    /// Whether what it frees is its own.
    #[inline(always)]
    pub(super) fn is_keeper(self) -> bool {
        self.0 & KEEPER != 0
    }
}

const PLACES_LOG2: u32 = 8;
/// By the low bits of places: the one that was looked up last, and what it is.
static PLACES: [AtomicU64; 1 << PLACES_LOG2] = [const { AtomicU64::new(0) }; 1 << PLACES_LOG2];

/// What the place before `pc` is.
#[inline(always)]
pub(super) fn of(pc: usize) -> Caller {
    let place = &PLACES[(pc ^ pc >> PLACES_LOG2) % PLACES.len()];
    let found = place.load(Ordering::Relaxed);
    if found >> BITS == pc as u64 { Caller(found) } else { look_up(place, pc) }
}

#[cold]
#[inline(never)]
fn look_up(place: &AtomicU64, pc: usize) -> Caller {
    let code = pc as u64;
    let is = |what: bool, bit: u64| if what { bit } else { 0 };
    let system = !from_program(pc) || modules::is_system(code);
    let keeper = modules::is_loader(code) || modules::is_openmp(code);
    let found = code << BITS | is(system, SYSTEM) | is(keeper, KEEPER);
    place.store(found, Ordering::Relaxed);
    Caller(found)
}

/// A module came: its places are not known yet, nor whether they are of the system.
pub(crate) fn forget() {
    PLACES.iter().for_each(|place| place.store(0, Ordering::Relaxed));
}

/// Runs a function of the library that allocates for the program, which calls it before `pc`: what it allocates is told with that place behind the library's own.
pub(super) fn allocates<R>(pc: usize, call: impl FnOnce() -> R) -> R {
    if !recording() {
        return call();
    }
    let here = 0u8;
    // SAFETY: on the calling thread; the call is left behind.
    unsafe {
        access::on_entry_in_general(pc, &raw const here as usize);
        let result = call();
        access::on_exit_in_general();
        result
    }
}
