//! The few functions and types of the C library that the runtime calls by name.

use core::ffi::{c_char, c_int, c_void};

/// A C `size_t`.
pub(crate) type Size = usize;

/// A thread as the C library names it.
pub(crate) type Pthread = usize;

unsafe extern "C" {
    pub(crate) fn __errno_location() -> *mut c_int;
    pub(crate) fn pthread_self() -> Pthread;
    pub(crate) fn pthread_key_create(
        key: *mut u32,
        destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    ) -> c_int;
    pub(crate) fn pthread_setspecific(key: u32, value: *const c_void) -> c_int;
    pub(crate) fn pthread_attr_destroy(attr: *mut c_void) -> c_int;
    pub(crate) fn pthread_attr_getstack(
        attr: *const c_void,
        address: *mut *mut c_void,
        size: *mut Size,
    ) -> c_int;
    pub(crate) fn pthread_attr_getdetachstate(attr: *const c_void, state: *mut c_int) -> c_int;
    pub(crate) fn pthread_getattr_np(thread: Pthread, attr: *mut c_void) -> c_int;
    pub(crate) fn __cxa_atexit(
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
        library: *mut c_void,
    ) -> c_int;
    pub(crate) fn __cxa_at_quick_exit(
        function: unsafe extern "C" fn(*mut c_void),
        data: *mut c_void,
    ) -> c_int;
    pub(crate) fn __register_atfork(
        before: Option<unsafe extern "C" fn()>,
        after: Option<unsafe extern "C" fn()>,
        after_in_child: Option<unsafe extern "C" fn()>,
        library: *mut c_void,
    ) -> c_int;
    pub(crate) fn dl_iterate_phdr(
        each: unsafe extern "C" fn(*mut Module, Size, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// `struct dl_phdr_info`, its stable part.
#[repr(C)]
pub(crate) struct Module {
    pub(crate) bias: u64,
    pub(crate) name: *const c_char,
    pub(crate) headers: *const ProgramHeader,
    pub(crate) header_count: u16,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// `Elf64_Phdr`.
#[repr(C)]
pub(crate) struct ProgramHeader {
    pub(crate) kind: u32,
    pub(crate) flags: u32,
    pub(crate) offset: u64,
    pub(crate) address: u64,
    pub(crate) physical: u64,
    pub(crate) file_size: u64,
    pub(crate) size: u64,
    pub(crate) alignment: u64,
}

/// A `pthread_attr_t`, by size.
#[repr(C, align(16))]
pub(crate) struct Attributes(pub(crate) [u8; 64]);

/// Keeps the C library's `errno` over what happens while it lives.
pub(crate) struct KeepErrno(c_int);

impl KeepErrno {
    pub(crate) fn new() -> Self {
        // SAFETY: the C library gives a valid pointer for the calling thread.
        KeepErrno(unsafe { *__errno_location() })
    }
}

impl Drop for KeepErrno {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { *__errno_location() = self.0 };
    }
}
