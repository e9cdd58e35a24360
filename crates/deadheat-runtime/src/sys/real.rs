//! The functions that the interceptors stand in for.
//!
//! Linked statically, the linker's `--wrap` gives `__real_NAME`; linked dynamically, the next
//! definition of the name in the search order is asked for once.

use core::ffi::{c_char, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

/// The real function behind an interceptor, as a function pointer of type `$type`.
///
/// `real!("name", type)` or `real!("name", "GLIBC_2.3.2", type)` where the C library has an old
/// version of the name that a plain look-up might find.
macro_rules! real {
    ($name:literal, $type:ty) => {
        real!($name, "", $type)
    };
    ($name:literal, $version:literal, $type:ty) => {{
        static ADDRESS: core::sync::atomic::AtomicUsize = core::sync::atomic::AtomicUsize::new(0);
        let mut address = ADDRESS.load(core::sync::atomic::Ordering::Relaxed);
        if address == 0 {
            address = $crate::sys::resolve(
                &ADDRESS,
                weak_address!(concat!("__real_", $name)),
                concat!($name, "\0"),
                concat!($version, "\0"),
            );
        }
        // SAFETY: the address is that of the C function with this name, whose type is given.
        #[allow(unused_unsafe, reason = "some callers are within unsafe blocks")]
        let function = unsafe { core::mem::transmute::<usize, $type>(address) };
        function
    }};
}

const NEXT: *mut c_void = -1isize as *mut c_void;

/// Finds a real function and remembers it; ends the process if there is none, which only a
/// program can bring about that calls a function of its own C library that does not exist.
#[cold]
pub(crate) fn resolve(cell: &AtomicUsize, linked: usize, name: &str, version: &str) -> usize {
    let address = look_up(cell, linked, name, version);
    if address == 0 {
        super::say(b"deadheat: the C library has no function ");
        super::say(&name.as_bytes()[..name.len() - 1]);
        crate::cold::fault(b", which the program calls\n");
    }
    address
}

/// Finds a real function and remembers it; 0 if there is none.
#[cold]
pub(crate) fn look_up(cell: &AtomicUsize, linked: usize, name: &str, version: &str) -> usize {
    type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> usize;
    type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> usize;
    let mut address = linked;
    let (dlsym, dlvsym) = (weak_address!("dlsym"), weak_address!("dlvsym"));
    if address == 0 && version.len() > 1 && dlvsym != 0 {
        // SAFETY: the C library's `dlvsym`; both texts end with a NUL.
        address = unsafe {
            core::mem::transmute::<usize, Dlvsym>(dlvsym)(NEXT, name.as_ptr().cast(), version.as_ptr().cast())
        };
    }
    if address == 0 && dlsym != 0 {
        // SAFETY: the C library's `dlsym`; the text ends with a NUL.
        address = unsafe { core::mem::transmute::<usize, Dlsym>(dlsym)(NEXT, name.as_ptr().cast()) };
    }
    cell.store(address, Ordering::Relaxed);
    address
}
