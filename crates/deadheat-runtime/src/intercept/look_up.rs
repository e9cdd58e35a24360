//! Looking up names: hosts, services, users and groups; addresses as texts; patterns.

use core::ffi::{c_char, c_int, c_void};

use super::touch::{
    read_if, read_text, reads_seldom as reads, write_if, writes_seldom as writes, written_text,
};
use crate::cold::start;
use crate::sys::machine::caller_word;

/// A `struct addrinfo`.
type AddressInfo = [u64; 6];
/// A `struct passwd`.
type User = [u64; 6];
/// A `struct group`, a `struct hostent`.
type Group = [u64; 4];
type Host = [u64; 4];
/// A `regex_t`.
type Pattern = [u64; 8];
/// A `regmatch_t`.
type Match = [c_int; 2];
/// What `glob` stores of a `glob_t`.
type Names = [u64; 3];

/// The bytes of an address of a family.
fn address_len(family: c_int) -> usize {
    const AF_INET: c_int = 2;
    if family == AF_INET { 4 } else { 16 }
}

functions! {
    dh_wrap_inet_ntop / inet_ntop "inet_ntop"
        (family: c_int, from: *const u8, to: *mut c_char, room: u32) -> *const c_char, pc,
        before (),
        after got if !got.is_null() {
            reads(pc, from, address_len(family));
            written_text(pc, got);
        };
    dh_wrap_inet_pton / inet_pton "inet_pton" (family: c_int, text: *const c_char, to: *mut u8) -> c_int, pc,
        before read_text(pc, text), after got if got == 1 { writes(pc, to, address_len(family)) };
    dh_wrap_inet_aton / inet_aton "inet_aton" (text: *const c_char, to: *mut u32) -> c_int, pc,
        before read_text(pc, text), after got if got != 0 { write_if(pc, to) };
    dh_wrap_getaddrinfo / getaddrinfo "getaddrinfo"
        (host: *const c_char, service: *const c_char, hints: *const AddressInfo, to: *mut usize) -> c_int, pc,
        before {
            read_text(pc, host);
            read_text(pc, service);
            read_if(pc, hints);
        },
        after got if got == 0 { write_if(pc, to) };
    dh_wrap_gethostbyname / gethostbyname "gethostbyname" (name: *const c_char) -> *mut Host, pc,
        before read_text(pc, name), after got write_if(pc, got);
    dh_wrap_getpwnam / getpwnam "getpwnam" (name: *const c_char) -> *mut User, pc,
        before read_text(pc, name), after got write_if(pc, got);
    dh_wrap_getpwuid / getpwuid "getpwuid" (number: u32) -> *mut User, pc, before (), after got write_if(pc, got);
    dh_wrap_getgrnam / getgrnam "getgrnam" (name: *const c_char) -> *mut Group, pc,
        before read_text(pc, name), after got write_if(pc, got);
    dh_wrap_getgrgid / getgrgid "getgrgid" (number: u32) -> *mut Group, pc, before (), after got write_if(pc, got);
    dh_wrap_getpwnam_r / getpwnam_r "getpwnam_r"
        (name: *const c_char, user: *mut User, room: *mut c_char, len: usize, to: *mut *mut User) -> c_int, pc,
        before read_text(pc, name), after _got found(pc, user, to);
    dh_wrap_getpwuid_r / getpwuid_r "getpwuid_r"
        (number: u32, user: *mut User, room: *mut c_char, len: usize, to: *mut *mut User) -> c_int, pc,
        before (), after _got found(pc, user, to);
    dh_wrap_getgrnam_r / getgrnam_r "getgrnam_r"
        (name: *const c_char, group: *mut Group, room: *mut c_char, len: usize, to: *mut *mut Group) -> c_int, pc,
        before read_text(pc, name), after _got found(pc, group, to);
    dh_wrap_getgrgid_r / getgrgid_r "getgrgid_r"
        (number: u32, group: *mut Group, room: *mut c_char, len: usize, to: *mut *mut Group) -> c_int, pc,
        before (), after _got found(pc, group, to);
    dh_wrap_regcomp / regcomp "regcomp" (to: *mut Pattern, text: *const c_char, flags: c_int) -> c_int, pc,
        before read_text(pc, text), after _got write_if(pc, to);
    dh_wrap_regexec / regexec "regexec"
        (pattern: *const Pattern, text: *const c_char, count: usize, to: *mut Match, flags: c_int) -> c_int, pc,
        before {
            // Where it ends may be said elsewhere.
            if flags & REG_STARTEND == 0 {
                read_text(pc, text);
            }
        },
        after got if got == 0 && tells_where(pattern) { writes(pc, to, count) };
    dh_wrap_glob / glob "glob" (text: *const c_char, flags: c_int, failed: usize, to: *mut Names) -> c_int, pc,
        before read_text(pc, text), after _got write_if(pc, to);
    dh_wrap_scandir / scandir "scandir" (path: *const c_char, to: *mut usize, wanted: usize, order: usize) -> c_int, pc,
        before read_text(pc, path), after got if got >= 0 { write_if(pc, to) };
}

const REG_STARTEND: c_int = 4;

/// Whether a pattern is one that says where it was found (it was not made with `REG_NOSUB`).
///
/// # Safety
/// `pattern` is one that `regcomp` has made.
unsafe fn tells_where(pattern: *const Pattern) -> bool {
    const NO_SUB: u64 = 1 << 4;
    // SAFETY: the program's pattern; the last word has its flags.
    unsafe { (*pattern)[7] & NO_SUB == 0 }
}

/// What was looked up, if it was found, and where the program learns of that.
///
/// # Safety
/// `to` is null or can be read.
unsafe fn found<T>(pc: usize, entry: *mut T, to: *mut *mut T) {
    write_if(pc, to);
    // SAFETY: the C library has stored it.
    if !to.is_null() && unsafe { *to } == entry {
        write_if(pc, entry);
    }
}

shim_through_thread!(dh_wrap_getnameinfo, getnameinfo);
shim_through_thread!(dh_wrap_posix_spawn, posix_spawn);
shim_through_thread!(dh_wrap_posix_spawnp, posix_spawnp);

/// `getnameinfo`: seven arguments, so the return address comes by the thread's second word.
unsafe extern "C" fn getnameinfo(
    from: *const u8,
    size: u32,
    host: *mut c_char,
    host_room: u32,
    service: *mut c_char,
    service_room: u32,
    flags: c_int,
) -> c_int {
    type Real = unsafe extern "C" fn(*const u8, u32, *mut c_char, u32, *mut c_char, u32, c_int) -> c_int;
    let pc = caller_word();
    if start::recording() {
        reads(pc, from, size as usize);
    }
    // SAFETY: passed on; what was found are texts.
    unsafe {
        let result = real!("getnameinfo", Real)(from, size, host, host_room, service, service_room, flags);
        if result == 0 && start::recording() {
            for (text, room) in [(host, host_room), (service, service_room)] {
                if room > 0 {
                    written_text(pc, text);
                }
            }
        }
        result
    }
}

/// What starts a program and stores its process.
macro_rules! starts {
    ($($inner:ident $name:literal)*) => {$(
        unsafe extern "C" fn $inner(
            to: *mut c_int,
            path: *const c_char,
            actions: *const c_void,
            attributes: *const c_void,
            arguments: *const c_void,
            variables: *const c_void,
        ) -> c_int {
            type Real = unsafe extern "C" fn(
                *mut c_int, *const c_char, *const c_void, *const c_void, *const c_void, *const c_void,
            ) -> c_int;
            let pc = caller_word();
            // SAFETY: passed on.
            unsafe {
                if start::recording() {
                    read_text(pc, path);
                }
                let result = real!($name, Real)(to, path, actions, attributes, arguments, variables);
                if result == 0 && start::recording() {
                    write_if(pc, to);
                }
                result
            }
        }
    )*};
}

starts! {
    posix_spawn "posix_spawn"
    posix_spawnp "posix_spawnp"
}
