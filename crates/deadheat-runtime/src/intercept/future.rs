//! Promises that are kept when their thread ends (`std::promise::set_value_at_thread_exit` and its like): libstdc++ makes them ready within
//! itself, behind the thread's last destructor.
//!
//! Model: each of them has a callback in a list of its thread's. Ours in its place sets the bit by which a future sees that its state is
//! ready, as an atomic operation of the thread's; then theirs sets it once more and wakes who waits. Theirs counts references, too, which
//! nobody sees: ours has one of each kind meanwhile, so that the state and its memory go in a step that is seen.

use core::ffi::c_void;
use core::sync::atomic::{AtomicUsize, Ordering};

use deadheat_core::access::MemoryOrder;

use crate::cold::start::recording;
use crate::hot::atomic::{Add, Or, Sub, on_fetch, share};

/// `std::__future_base::_State_baseV2::_Make_ready`: what a thread makes ready at its end.
#[repr(C)]
struct MakeReady {
    next: *mut MakeReady,
    callback: usize,
    /// A weak reference.
    state: *mut State,
    owners: *mut Owners,
}

/// The beginning of a `std::__future_base::_State_baseV2`.
#[repr(C)]
struct State {
    table: *const c_void,
    result: *mut c_void,
    status: u32,
}

/// A state's status if it is ready, beside which a bit tells that somebody waits.
const READY: u32 = 1;

/// The beginning of a `std::_Sp_counted_base`.
#[repr(C)]
struct Owners {
    table: *const Table,
    strong: u32,
    weak: u32,
}

/// Its virtual functions.
#[repr(C)]
struct Table {
    destructors: [usize; 2],
    dispose: unsafe extern "C" fn(*mut Owners),
    destroy: unsafe extern "C" fn(*mut Owners),
}

/// Changes a count of references as the calling thread's atomic operation, and gives what it was.
macro_rules! count {
    ($change:ty, $counter:expr, $order:ident) => {
        on_fetch::<u32, $change>(
            &raw mut $counter,
            1,
            MemoryOrder::$order as u32,
            THEIRS.load(Ordering::Relaxed) + 1,
        )
    };
}

/// The C++ library's callback, which stands for the place of what is done in it.
static THEIRS: AtomicUsize = AtomicUsize::new(0);

/// Drops a weak reference.
///
/// # Safety
/// `owners` is valid, and the caller has a weak reference, which goes.
unsafe fn drop_weak(owners: *mut Owners) {
    // SAFETY: the caller has one.
    unsafe {
        if count!(Sub, (*owners).weak, AcqRel) == 1 {
            ((*(*owners).table).destroy)(owners);
        }
    }
}

/// The thread has run its last destructors.
unsafe extern "C" fn make_ready(ready: *mut MakeReady) {
    let theirs = THEIRS.load(Ordering::Acquire);
    // SAFETY: the library's, as `set` found it; it has a weak reference, which goes with `ready`.
    unsafe {
        let call = core::mem::transmute::<usize, unsafe extern "C" fn(*mut MakeReady)>(theirs);
        if !recording() {
            return call(ready);
        }
        let owners = (*ready).owners;
        count!(Add, (*owners).weak, Relaxed);
        let owns = share(theirs + 1, &raw mut (*owners).strong);
        if owns {
            let status = &raw mut (*(*ready).state).status;
            on_fetch::<u32, Or>(status, READY, MemoryOrder::Release as u32, theirs + 1);
        }
        call(ready);
        if owns && count!(Sub, (*owners).strong, AcqRel) == 1 {
            ((*(*owners).table).dispose)(owners);
            drop_weak(owners);
        }
        drop_weak(owners);
    }
}

intercept! {
    /// `std::__future_base::_State_baseV2::_Make_ready::_M_set`
    fn dh_wrap__ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv / set(ready: *mut MakeReady); _pc {
        type Real = unsafe extern "C" fn(*mut MakeReady);
        // SAFETY: passed on; what it is put into is the calling thread's own list.
        unsafe {
            real!("_ZNSt13__future_base13_State_baseV211_Make_ready6_M_setEv", Real)(ready);
            let theirs = (*ready).callback;
            let known = THEIRS.compare_exchange(0, theirs, Ordering::AcqRel, Ordering::Acquire);
            if recording() && (known.is_ok() || known == Err(theirs)) {
                (*ready).callback = make_ready as *const () as usize;
            }
        }
    }
}
