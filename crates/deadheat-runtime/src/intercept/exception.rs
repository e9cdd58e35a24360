//! The references to a C++ exception, which libstdc++ counts within itself: whoever drops the last one destroys the exception,
//! behind all that others did with theirs.
//!
//! Model: one that is not the last is dropped here, in one step with the order that it makes. The last one belongs to its thread alone
//! and stays for the real function. That is gone to and not called: destructors may throw, or end the thread.

use core::ffi::c_int;

use crate::cold::start::recording;
use crate::hot::atomic;
use crate::sys::real::Real;
use crate::sys::resolve;
use crate::sys::through::Or;

/// `__cxa_exception`, behind which the exception object lies, or `__cxa_dependent_exception`, which shares the object of another: as the C++ ABI
/// and libstdc++ have them.
#[repr(C)]
struct Header {
    /// The object that a dependent one shares.
    shared: *mut Header,
    destructor: usize,
    ends: [usize; 2],
    /// The one caught before.
    next: *mut Header,
    /// How many handlers are in it; negative if it was thrown again.
    handlers: c_int,
    found: [usize; 4],
    class: u64,
    unwinder: [usize; 3],
}

/// What the class of a C++ exception of libstdc++ is; that of a dependent one is one more.
const CLASS: u64 = u64::from_be_bytes(*b"GNUCC++\0");
const DEPENDENT: u64 = CLASS + 1;

/// How far before its object the references are counted.
const COUNT: usize = size_of::<Header>() + 16;
const _: () = assert!(COUNT == 128 && core::mem::offset_of!(Header, class) == 80);

/// Drops a reference to an exception object, if it is not the last one.
unsafe fn dropped(pc: usize, object: *mut Header) -> bool {
    // SAFETY: the count lies there, and the caller has a reference.
    unsafe { atomic::drop_shared(pc, object.byte_sub(COUNT).cast()) }
}

/// Calls the C++ library's function of a name that nothing stands in for: in a static program it has its own name alone.
macro_rules! library {
    ($name:literal, $type:ty) => {{
        #[unsafe(link_section = "deadheat_real")]
        static REAL: Real = Real::new(concat!($name, "\0"), "\0");
        let mut address = REAL.known();
        if address == 0 {
            address = resolve(&REAL, weak_address!($name));
        }
        core::mem::transmute::<usize, $type>(address)
    }};
}

shim_or! {
    /// `std::__exception_ptr::exception_ptr::_M_release`
    dh_wrap__ZNSt15__exception_ptr13exception_ptr10_M_releaseEv, "rsi", release
}

unsafe extern "C" fn release(pointer: *mut *mut Header, pc: usize) -> Or {
    // SAFETY: the program's `exception_ptr`.
    unsafe {
        if recording() && !(*pointer).is_null() && dropped(pc, *pointer) {
            return Or { result: 1, other: 0 };
        }
    }
    Or {
        result: 0,
        other: real!("_ZNSt15__exception_ptr13exception_ptr10_M_releaseEv", unsafe extern "C" fn()) as usize,
    }
}

shim_or! {
    /// `__cxa_end_catch`: the last handler that is in an exception drops its reference.
    dh_wrap___cxa_end_catch, "rdi", end_catch
}

unsafe extern "C" fn end_catch(pc: usize) -> Or {
    // SAFETY: a handler ends, so the C++ library is there.
    if recording() && unsafe { ended(pc) } {
        return Or { result: 1, other: 0 };
    }
    Or { result: 0, other: real!("__cxa_end_catch", unsafe extern "C" fn()) as usize }
}

/// Does all that the end of a handler does, where that is to drop a reference that is not the last one. Gives whether it is.
unsafe fn ended(pc: usize) -> bool {
    type Globals = unsafe extern "C" fn() -> *mut *mut Header;
    type Free = unsafe extern "C" fn(*mut Header);
    // SAFETY: the calling thread's own list of what it caught. Of an exception that is not C++'s the class alone is there.
    unsafe {
        let caught = library!("__cxa_get_globals", Globals)();
        let header = *caught;
        let class = if header.is_null() { 0 } else { (*header).class };
        if class != CLASS && class != DEPENDENT || (*header).handlers != 1 {
            return false;
        }
        let object = if class == CLASS { header.add(1) } else { (*header).shared };
        if !dropped(pc, object) {
            return false;
        }
        *caught = (*header).next;
        if class == DEPENDENT {
            library!("__cxa_free_dependent_exception", Free)(header);
        }
        true
    }
}
