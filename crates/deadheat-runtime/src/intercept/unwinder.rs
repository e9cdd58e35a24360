//! What the unwinder of a program's languages orders: that is its own business.
//!
//! Its calls are followed as the program's. In a static program it takes a lock for each exception, and whenever it is asked who called
//! whom, as for the place at which a thread is created: whoever throws or creates a thread would be ordered behind all who did so before. In any it does something once, at the first exception.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::hot::thread::internal;

/// A mutex, and the control of what is done once; zeros where it has none.
static OWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];
/// Whether the unwinder was asked what it uses.
static ASKED: AtomicBool = AtomicBool::new(false);
/// Set while it is.
static ASKS: AtomicBool = AtomicBool::new(false);

type Step = unsafe extern "C" fn(*mut c_void, *mut c_void) -> c_int;
type Walk = unsafe extern "C" fn(Step, *mut c_void) -> c_int;

unsafe extern "C" fn stop(_: *mut c_void, _: *mut c_void) -> c_int {
    const END: c_int = 5;
    END
}

/// Has the unwinder look at a frame, to know what it uses. Called before a thread is created: before the first one is, no
/// other runs. At a program's start the unwinder may know no functions yet.
pub(super) fn ask() {
    let walk = weak_address!("_Unwind_Backtrace");
    if walk == 0 || ASKED.swap(true, Ordering::Relaxed) {
        return;
    }
    ASKS.store(true, Ordering::Relaxed);
    // SAFETY: the unwinder's function has this type, and calls ours.
    internal(|| unsafe { core::mem::transmute::<usize, Walk>(walk)(stop, core::ptr::null_mut()) });
    ASKS.store(false, Ordering::Relaxed);
}

/// Whether an object by which threads are ordered is the unwinder's.
#[inline(always)]
pub(super) fn owns(object: *mut c_void) -> bool {
    OWN.iter().any(|own| own.load(Ordering::Relaxed) == object as usize)
        || ASKS.load(Ordering::Relaxed) && note(object)
}

/// It uses this.
#[cold]
#[inline(never)]
fn note(object: *mut c_void) -> bool {
    let free = OWN.iter().find(|own| own.load(Ordering::Relaxed) == 0);
    free.into_iter().for_each(|own| own.store(object as usize, Ordering::Relaxed));
    true
}
