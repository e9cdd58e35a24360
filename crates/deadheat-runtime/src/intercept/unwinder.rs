//! What the unwinder of a program's languages orders: that is its own business.
//!
//! Its calls are followed as the program's. In a static program it takes a lock for each exception, and whenever it is asked who called
//! whom, as for the place at which a thread is created: whoever throws or creates a thread would be ordered behind all who did so before. In any it does something once, at the first exception.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::hot::thread::internal;

/// An object by which threads are ordered that is the unwinder's: its address, or 0 where it has none.
pub(super) struct Own(AtomicUsize);

/// The mutex that it locks.
pub(super) static MUTEX: Own = Own(AtomicUsize::new(0));
/// The control of what it does once.
pub(super) static ONCE: Own = Own(AtomicUsize::new(0));
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

impl Own {
    /// Whether an object is that one.
    #[inline(always)]
    pub(super) fn is(&self, object: *mut c_void) -> bool {
        self.0.load(Ordering::Relaxed) == object as usize || ASKS.load(Ordering::Relaxed) && self.note(object)
    }

    /// The unwinder uses this.
    #[cold]
    #[inline(never)]
    fn note(&self, object: *mut c_void) -> bool {
        self.0.store(object as usize, Ordering::Relaxed);
        true
    }
}
