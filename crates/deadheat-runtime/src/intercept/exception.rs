//! The references to a C++ exception, which libstdc++ and libc++abi count within themselves: whoever drops the last one destroys the exception,
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

/// How a C++ library lays out `__cxa_exception`, behind which the exception object lies, and `__cxa_dependent_exception`, which shares the object of
/// another. Both begin alike, and these are offsets of their parts.
struct Layout {
    /// What the class of an exception of the library is; that of a dependent one is one more.
    name: u64,
    class: usize,
    /// The one caught before.
    next: usize,
    /// How many handlers are in it; negative if it was thrown again.
    handlers: usize,
    /// In a dependent one the object that it shares.
    shared: usize,
    size: usize,
    /// How far before its object the references are counted.
    count: usize,
}

const LIBSTDCXX: Layout = Layout {
    name: u64::from_be_bytes(*b"GNUCC++\0"),
    class: 80,
    next: 32,
    handlers: 40,
    shared: 0,
    size: 112,
    count: 128,
};

const LIBCXXABI: Layout = Layout {
    name: u64::from_be_bytes(*b"CLNGC++\0"),
    class: 96,
    next: 48,
    handlers: 56,
    shared: 8,
    size: 128,
    count: 120,
};

impl Layout {
    /// Whether an exception is of this library, and then whether it is a dependent one.
    ///
    /// # Safety
    /// It is one that a library has caught.
    unsafe fn has(&self, header: *mut u8) -> Option<bool> {
        // SAFETY: the caller's promise; of one that is not C++'s the class of the first library and what lies behind it are there.
        match unsafe { header.add(self.class).cast::<u64>().read() }.wrapping_sub(self.name) {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Drops a reference to an exception object, if it is not the last one.
    ///
    /// # Safety
    /// The object is of this library, and the caller has a reference.
    unsafe fn dropped(&self, pc: usize, object: *mut u8) -> bool {
        // SAFETY: the count lies there.
        unsafe { atomic::drop_shared(pc, object.sub(self.count).cast()) }
    }
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

unsafe extern "C" fn release(pointer: *mut *mut u8, pc: usize) -> Or {
    // SAFETY: the program's `exception_ptr`.
    unsafe {
        if recording() && !(*pointer).is_null() && LIBSTDCXX.dropped(pc, *pointer) {
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
///
/// # Safety
/// A handler of the calling thread's ends, so that the C++ library is there.
unsafe fn ended(pc: usize) -> bool {
    type Globals = unsafe extern "C" fn() -> *mut *mut u8;
    type Free = unsafe extern "C" fn(*mut u8);
    // SAFETY: the calling thread's own list of what it caught.
    unsafe {
        let caught = library!("__cxa_get_globals", Globals)();
        let header = *caught;
        let of = |layout: &'static Layout| layout.has(header).map(|dependent| (layout, dependent));
        let known = if header.is_null() { None } else { of(&LIBSTDCXX).or_else(|| of(&LIBCXXABI)) };
        let Some((layout, dependent)) = known else { return false };
        if header.add(layout.handlers).cast::<c_int>().read() != 1 {
            return false;
        }
        let object = if dependent {
            header.add(layout.shared).cast::<*mut u8>().read()
        } else {
            header.add(layout.size)
        };
        if !layout.dropped(pc, object) {
            return false;
        }
        *caught = header.add(layout.next).cast::<*mut u8>().read();
        if dependent {
            library!("__cxa_free_dependent_exception", Free)(header);
        }
        true
    }
}

shim_or! {
    /// `__cxa_decrement_exception_refcount`: of libc++abi, which libc++ calls.
    dh_wrap___cxa_decrement_exception_refcount, "rsi", drop_exception
}

unsafe extern "C" fn drop_exception(object: *mut u8, pc: usize) -> Or {
    // SAFETY: the program's exception, to which the caller has a reference, or null.
    unsafe {
        if recording() && !object.is_null() && LIBCXXABI.dropped(pc, object) {
            return Or { result: 1, other: 0 };
        }
    }
    Or { result: 0, other: real!("__cxa_decrement_exception_refcount", unsafe extern "C" fn()) as usize }
}
