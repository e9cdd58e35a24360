//! The functions that the interceptors stand in for.
//!
//! Linked statically, the linker's `--wrap` gives `__real_NAME`; linked dynamically, the next
//! definition of the name in the search order is asked for once.

use core::ffi::{c_char, c_int, c_void};
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
        #[unsafe(link_section = "deadheat_real")]
        static REAL: $crate::sys::real::Real =
            $crate::sys::real::Real::new(concat!($name, "\0"), concat!($version, "\0"));
        let mut address = REAL.known();
        if address == 0 {
            address = $crate::sys::resolve(&REAL, weak_address!(concat!("__real_", $name)));
        }
        // SAFETY: the address is that of the C function with this name, whose type is given.
        #[allow(unused_unsafe, reason = "some callers are within unsafe blocks")]
        let function = unsafe { core::mem::transmute::<usize, $type>(address) };
        function
    }};
}

/// As [`real!`], of a function that the C library may lack; `None` if it does.
macro_rules! real_if_there {
    ($name:literal, $type:ty) => {{
        #[unsafe(link_section = "deadheat_real")]
        static REAL: $crate::sys::real::Real =
            $crate::sys::real::Real::new(concat!($name, "\0"), "\0");
        let address = match (REAL.known(), weak_address!(concat!("__real_", $name))) {
            (0, 0) => REAL.look_up(),
            (0, linked) => linked,
            (known, _) => known,
        };
        // SAFETY: the address, if there is one, is that of the C function with this name, whose type is given.
        #[allow(unused_unsafe, reason = "some callers are within unsafe blocks")]
        let function = unsafe { core::mem::transmute::<usize, Option<$type>>(address) };
        function
    }};
}

type Dlsym = unsafe extern "C" fn(*mut c_void, *const c_char) -> usize;

const NEXT: *mut c_void = -1isize as *mut c_void;

/// A function that an interceptor stands in for. All of them lie in one section, so that
/// [`resolve_all`] finds them.
#[repr(C)]
pub(crate) struct Real {
    address: AtomicUsize,
    name: &'static str,
    version: &'static str,
}

impl Real {
    /// The function `name` in the version `version`, or in any if that is empty; both texts end
    /// with a NUL.
    pub(crate) const fn new(name: &'static str, version: &'static str) -> Real {
        Real { address: AtomicUsize::new(0), name, version }
    }

    /// Its address, 0 if it was not looked up yet.
    #[inline(always)]
    pub(crate) fn known(&self) -> usize {
        self.address.load(Ordering::Relaxed)
    }

    /// Whether it is the C++ library's.
    fn is_of_cxx(&self) -> bool {
        self.name.starts_with("_Z") || self.name.starts_with("__cxa_")
    }

    /// Looks it up in the libraries behind the program; 0 if there is none.
    #[cold]
    pub(crate) fn look_up(&self) -> usize {
        type Dlvsym = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char) -> usize;
        let (dlsym, dlvsym) = (weak_address!("dlsym"), weak_address!("dlvsym"));
        let mut address = 0;
        if self.version.len() > 1 && dlvsym != 0 {
            // SAFETY: the C library's `dlvsym`; both texts end with a NUL.
            address = unsafe {
                core::mem::transmute::<usize, Dlvsym>(dlvsym)(
                    NEXT,
                    self.name.as_ptr().cast(),
                    self.version.as_ptr().cast(),
                )
            };
        }
        if address == 0 && dlsym != 0 {
            // SAFETY: the C library's `dlsym`; the text ends with a NUL.
            address = unsafe { core::mem::transmute::<usize, Dlsym>(dlsym)(NEXT, self.name.as_ptr().cast()) };
        }
        self.address.store(address, Ordering::Relaxed);
        address
    }

    /// Looks it up in the libraries of plug-ins, which are not behind the program: a program in C may load C++'s with one. 0 if there is none.
    #[cold]
    fn look_up_in_plug_ins(&self) -> usize {
        /// `RTLD_LAZY | RTLD_NOLOAD`
        const LOADED: c_int = 1 | 4;
        type Dlopen = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
        type Dlclose = unsafe extern "C" fn(*mut c_void) -> c_int;
        let (dlsym, modules) = (weak_address!("dlsym"), weak_address!("_r_debug") as *const Modules);
        if dlsym == 0 || modules.is_null() {
            return 0;
        }
        // SAFETY: the C library's functions and the loader's list; all texts end with a NUL. What has the function stays loaded.
        unsafe {
            // The first one is the program.
            let mut module = (*(*modules).first).next;
            while let Some(Module { path, next, .. }) = module.as_ref() {
                let library = real!("dlopen", Dlopen)(*path, LOADED);
                if !library.is_null() {
                    let address =
                        core::mem::transmute::<usize, Dlsym>(dlsym)(library, self.name.as_ptr().cast());
                    if address != 0 {
                        self.address.store(address, Ordering::Relaxed);
                        forget_error();
                        return address;
                    }
                    real!("dlclose", Dlclose)(library);
                }
                module = *next;
            }
        }
        0
    }
}

/// The loader's `r_debug`.
#[repr(C)]
struct Modules {
    version: c_int,
    first: *const Module,
}

/// The loader's `link_map`.
#[repr(C)]
struct Module {
    bias: usize,
    path: *const c_char,
    dynamic: *const c_void,
    next: *const Module,
}

/// Forgets what the look-ups that found nothing have left for the program to be told.
fn forget_error() {
    let dlerror = weak_address!("dlerror");
    if dlerror != 0 {
        // SAFETY: the C library's `dlerror`; what it tells, that a library of another language is
        // not there, is no concern of the program's.
        unsafe { core::mem::transmute::<usize, unsafe extern "C" fn() -> *mut c_char>(dlerror)() };
    }
}

/// Finds a real function, which is at `linked` if the linker knows it, and remembers it; ends the
/// process if there is none, which only a program can bring about that calls a function of its
/// own C library that does not exist.
#[cold]
pub(crate) fn resolve(real: &Real, linked: usize) -> usize {
    if linked != 0 {
        real.address.store(linked, Ordering::Relaxed);
        return linked;
    }
    let mut address = real.look_up();
    if address == 0 {
        address = real.look_up_in_plug_ins();
    }
    if address == 0 {
        super::say(b"deadheat: the C library has no function ");
        super::say(&real.name.as_bytes()[..real.name.len() - 1]);
        crate::cold::fault(b", which the program calls\n");
    }
    address
}

/// Looks all real functions up that nobody asked for yet. A look-up takes the loader's lock: done
/// when one is first called, it would wait for ever where a program calls it under another lock
/// that a thread within the loader waits for, as a callback of `dl_iterate_phdr` does.
#[cold]
pub(crate) fn resolve_all() {
    unsafe extern "C" {
        #[link_name = "__start_deadheat_real"]
        static FIRST: u8;
        #[link_name = "__stop_deadheat_real"]
        static END: u8;
    }
    if weak_address!("__real_memcpy") != 0 {
        return; // Linked statically: the linker knows them all.
    }
    // The C++ library is in the program: another one may be behind it.
    let has_cxx = weak_address!("__real___cxa_end_catch") != 0;
    let (mut real, end) = (&raw const FIRST as *const Real, &raw const END as *const Real);
    while real < end {
        // SAFETY: the linker puts nothing but values of this type between the two.
        let entry = unsafe { &*real };
        if entry.known() == 0 && !(has_cxx && entry.is_of_cxx()) {
            entry.look_up();
        }
        // SAFETY: at most one past the last.
        real = unsafe { real.add(1) };
    }
    forget_error();
}
