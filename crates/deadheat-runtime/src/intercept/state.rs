//! What the system and the C library say of the process, its files and the machine, stored where the program asks for it.

use core::ffi::{c_char, c_int, c_void};
use core::ptr::null;

use super::caller::allocates;
use super::descriptor::made;
use super::touch::{
    asked_to_read, can_read, is_of_library, length, read_if, read_path, reads_seldom as reads, write_if,
    writes_seldom as writes, written_text,
};
use crate::cold::start;
use crate::sys::machine::STATUS;

/// A `struct stat`.
type Status = [u8; STATUS];
/// A `struct statx`.
type LongStatus = [u64; 32];
/// A `struct statfs`, a `struct statvfs`.
type FileSystem = [u64; 15];
type FileSystemOfPosix = [u64; 14];
/// A `struct utsname`.
type Name = [u8; 390];
/// A `struct rusage`.
type Used = [u64; 18];
/// A `struct sysinfo`.
type Machine = [u64; 14];
/// A `struct tms`.
type Times = [u64; 4];
/// What of a `sigset_t` the system knows.
type Signals = u64;
/// What `waitid` stores of a `siginfo_t`: the signal and why, then the process and what became of it.
type About = [c_int; 7];

/// A text of at most `room` bytes was put there.
///
/// # Safety
/// `to` is null, or a text begins there that ends or has `room` bytes.
unsafe fn cut_text(pc: usize, to: *const c_char, room: usize) {
    if !to.is_null() {
        // SAFETY: so far the buffer is the program's.
        writes(pc, to, (unsafe { length::<u8>(to.cast(), room) } + 1).min(room));
    }
}

/// An address of a socket was put where there was room for so much; its whole length is told.
///
/// # Safety
/// `len` is null or can be read.
unsafe fn address(pc: usize, to: *mut c_void, len: *mut u32, room: u32) {
    if !to.is_null() && !len.is_null() {
        // SAFETY: the system has stored it.
        writes(pc, to.cast::<u8>(), unsafe { *len }.min(room) as usize);
        writes(pc, len, 1);
    }
}

/// The room that the program says there is, if it can be read.
///
/// # Safety
/// `len` is the program's, or cannot be read.
pub(super) unsafe fn room(len: *const u32) -> u32 {
    // SAFETY: it can be read.
    if can_read(len.addr(), size_of::<u32>()) { unsafe { *len } } else { 0 }
}

functions! {
    dh_wrap_statfs / statfs "statfs" (path: *const c_char, to: *mut FileSystem) -> c_int, pc, before read_path(pc, path), after got if got == 0 { write_if(pc, to) };
    dh_wrap_fstatfs / fstatfs "fstatfs" (file: c_int, to: *mut FileSystem) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_statvfs / statvfs "statvfs" (path: *const c_char, to: *mut FileSystemOfPosix) -> c_int, pc, before read_path(pc, path), after got if got == 0 { write_if(pc, to) };
    dh_wrap_fstatvfs / fstatvfs "fstatvfs" (file: c_int, to: *mut FileSystemOfPosix) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_getrlimit / getrlimit "getrlimit" (what: c_int, to: *mut [u64; 2]) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_setrlimit / setrlimit "setrlimit" (what: c_int, from: *const [u64; 2]) -> c_int, pc, before read_if(pc, from), after _got ();
    dh_wrap_prlimit / prlimit "prlimit" (process: c_int, what: c_int, from: *const [u64; 2], to: *mut [u64; 2]) -> c_int, pc, before read_if(pc, from), after got if got == 0 { write_if(pc, to) };
    dh_wrap_mkstemp / mkstemp "mkstemp" (path: *mut c_char) -> c_int, pc, before (), after got named(pc, path, got);
    dh_wrap_mkostemp / mkostemp "mkostemp" (path: *mut c_char, flags: c_int) -> c_int, pc, before (), after got named(pc, path, got);
    dh_wrap_statfs64 / statfs64 "statfs64" (path: *const c_char, to: *mut FileSystem) -> c_int, pc, before read_path(pc, path), after got if got == 0 { write_if(pc, to) };
    dh_wrap_fstatfs64 / fstatfs64 "fstatfs64" (file: c_int, to: *mut FileSystem) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_statvfs64 / statvfs64 "statvfs64" (path: *const c_char, to: *mut FileSystemOfPosix) -> c_int, pc, before read_path(pc, path), after got if got == 0 { write_if(pc, to) };
    dh_wrap_fstatvfs64 / fstatvfs64 "fstatvfs64" (file: c_int, to: *mut FileSystemOfPosix) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_getrlimit64 / getrlimit64 "getrlimit64" (what: c_int, to: *mut [u64; 2]) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_setrlimit64 / setrlimit64 "setrlimit64" (what: c_int, from: *const [u64; 2]) -> c_int, pc, before read_if(pc, from), after _got ();
    dh_wrap_prlimit64 / prlimit64 "prlimit64" (process: c_int, what: c_int, from: *const [u64; 2], to: *mut [u64; 2]) -> c_int, pc, before read_if(pc, from), after got if got == 0 { write_if(pc, to) };
    dh_wrap_mkstemp64 / mkstemp64 "mkstemp64" (path: *mut c_char) -> c_int, pc, before (), after got named(pc, path, got);
    dh_wrap_mkostemp64 / mkostemp64 "mkostemp64" (path: *mut c_char, flags: c_int) -> c_int, pc, before (), after got named(pc, path, got);
    dh_wrap_statx / statx "statx" (folder: c_int, path: *const c_char, flags: c_int, mask: u32, to: *mut LongStatus) -> c_int, pc, before read_path(pc, path), after got if got == 0 { write_if(pc, to) };
    dh_wrap_uname / uname "uname" (to: *mut Name) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_gethostname / gethostname "gethostname" (to: *mut c_char, room: usize) -> c_int, pc, before (), after got if got == 0 { cut_text(pc, to, room) };
    dh_wrap___gethostname_chk / gethostname_chk "__gethostname_chk" (to: *mut c_char, room: usize, all: usize) -> c_int, pc, before (), after got if got == 0 { cut_text(pc, to, room) };
    dh_wrap_getdomainname / getdomainname "getdomainname" (to: *mut c_char, room: usize) -> c_int, pc, before (), after got if got == 0 { cut_text(pc, to, room) };
    dh_wrap___getdomainname_chk / getdomainname_chk "__getdomainname_chk" (to: *mut c_char, room: usize, all: usize) -> c_int, pc, before (), after got if got == 0 { cut_text(pc, to, room) };
    dh_wrap_sysinfo / sysinfo "sysinfo" (to: *mut Machine) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_times / times "times" (to: *mut Times) -> i64, pc, before (), after got if got != -1 { write_if(pc, to) };
    dh_wrap_getrusage / getrusage "getrusage" (who: c_int, to: *mut Used) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_getitimer / getitimer "getitimer" (which: c_int, to: *mut [u64; 4]) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_timerfd_gettime / timerfd_gettime "timerfd_gettime" (file: c_int, to: *mut [u64; 4]) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_wait / wait "wait" (status: *mut c_int) -> c_int, pc, before (), after got if got > 0 { write_if(pc, status) };
    dh_wrap_waitpid / waitpid "waitpid" (process: c_int, status: *mut c_int, options: c_int) -> c_int, pc, before (), after got if got > 0 { write_if(pc, status) };
    dh_wrap_wait3 / wait3 "wait3" (status: *mut c_int, options: c_int, used: *mut Used) -> c_int, pc, before (), after got if got > 0 { write_if(pc, status); write_if(pc, used) };
    dh_wrap_wait4 / wait4 "wait4" (process: c_int, status: *mut c_int, options: c_int, used: *mut Used) -> c_int, pc, before (), after got if got > 0 { write_if(pc, status); write_if(pc, used) };
    dh_wrap_waitid / waitid "waitid" (kind: c_int, process: u32, to: *mut About, options: c_int) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_getcwd / getcwd "getcwd" (to: *mut c_char, room: usize) -> *mut c_char, pc, before (), after got if got == to { written_text(pc, got) };
    dh_wrap___getcwd_chk / getcwd_chk "__getcwd_chk" (to: *mut c_char, room: usize, all: usize) -> *mut c_char, pc, before (), after got if got == to { written_text(pc, got) };
    dh_wrap_readlink / readlink "readlink" (path: *const c_char, to: *mut u8, room: usize) -> isize, pc, before read_path(pc, path), after got if got > 0 { writes(pc, to, got as usize) };
    dh_wrap___readlink_chk / readlink_chk "__readlink_chk" (path: *const c_char, to: *mut u8, room: usize, all: usize) -> isize, pc, before read_path(pc, path), after got if got > 0 { writes(pc, to, got as usize) };
    dh_wrap_readlinkat / readlinkat "readlinkat" (folder: c_int, path: *const c_char, to: *mut u8, room: usize) -> isize, pc, before read_path(pc, path), after got if got > 0 { writes(pc, to, got as usize) };
    dh_wrap___readlinkat_chk / readlinkat_chk "__readlinkat_chk" (folder: c_int, path: *const c_char, to: *mut u8, room: usize, all: usize) -> isize, pc, before read_path(pc, path), after got if got > 0 { writes(pc, to, got as usize) };
    dh_wrap_getrandom / getrandom "getrandom" (to: *mut u8, room: usize, flags: u32) -> isize, pc, before (), after got if got > 0 { writes(pc, to, got as usize) };
    dh_wrap_getentropy / getentropy "getentropy" (to: *mut u8, room: usize) -> c_int, pc, before (), after got if got == 0 { writes(pc, to, room) };
    dh_wrap_setsockopt / setsockopt "setsockopt" (file: c_int, level: c_int, option: c_int, from: *const u8, size: u32) -> c_int, pc, before if !from.is_null() { asked_to_read(pc, from, size as usize) }, after _got ();
    dh_wrap_bind / bind "bind" (file: c_int, from: *const u8, size: u32) -> c_int, pc, before if !from.is_null() { asked_to_read(pc, from, size as usize) }, after _got ();
    dh_wrap_pthread_sigmask / pthread_sigmask "pthread_sigmask" (how: c_int, from: *const Signals, to: *mut Signals) -> c_int, pc, before read_if(pc, from), after got if got == 0 { write_if(pc, to) };
    dh_wrap_sigprocmask / sigprocmask "sigprocmask" (how: c_int, from: *const Signals, to: *mut Signals) -> c_int, pc, before read_if(pc, from), after got if got == 0 { write_if(pc, to) };
    dh_wrap_sigpending / sigpending "sigpending" (to: *mut Signals) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_sigemptyset / sigemptyset "sigemptyset" (to: *mut Signals) -> c_int, pc, before write_if(pc, to), after _got ();
    dh_wrap_sigfillset / sigfillset "sigfillset" (to: *mut Signals) -> c_int, pc, before write_if(pc, to), after _got ();
    dh_wrap_sigaddset / sigaddset "sigaddset" (to: *mut Signals, signal: c_int) -> c_int, pc, before write_if(pc, to), after _got ();
    dh_wrap_sigdelset / sigdelset "sigdelset" (to: *mut Signals, signal: c_int) -> c_int, pc, before write_if(pc, to), after _got ();
    dh_wrap_sigismember / sigismember "sigismember" (from: *const Signals, signal: c_int) -> c_int, pc, before read_if(pc, from), after _got ();
    dh_wrap_sem_getvalue / sem_getvalue "sem_getvalue" (semaphore: *mut c_void, to: *mut c_int) -> c_int, pc, before (), after got if got == 0 { write_if(pc, to) };
    dh_wrap_sched_getaffinity / sched_getaffinity "sched_getaffinity" (process: c_int, size: usize, to: *mut u8) -> c_int, pc, before (), after got if got == 0 { writes(pc, to, size) };
    dh_wrap_pthread_getaffinity_np / pthread_getaffinity_np "pthread_getaffinity_np" (thread: usize, size: usize, to: *mut u8) -> c_int, pc, before (), after got if got == 0 { writes(pc, to, size) };
    dh_wrap_pthread_getname_np / pthread_getname_np "pthread_getname_np" (thread: usize, to: *mut c_char, room: usize) -> c_int, pc, before (), after got if got == 0 { written_text(pc, to) };
    dh_wrap_getgroups / getgroups "getgroups" (room: c_int, to: *mut u32) -> c_int, pc, before (), after got if got > 0 && room > 0 { writes(pc, to, got as usize) };
    dh_wrap___getgroups_chk / getgroups_chk "__getgroups_chk" (room: c_int, to: *mut u32, all: usize) -> c_int, pc, before (), after got if got > 0 && room > 0 { writes(pc, to, got as usize) };
    dh_wrap_ttyname_r / ttyname_r "ttyname_r" (file: c_int, to: *mut c_char, room: usize) -> c_int, pc, before (), after got if got == 0 { written_text(pc, to) };
    dh_wrap___ttyname_r_chk / ttyname_r_chk "__ttyname_r_chk" (file: c_int, to: *mut c_char, room: usize, all: usize) -> c_int, pc, before (), after got if got == 0 { written_text(pc, to) };
    dh_wrap_mincore / mincore "mincore" (from: *mut c_void, len: usize, to: *mut u8) -> c_int, pc, before (), after got if got == 0 { writes(pc, to, len.div_ceil(4096)) };
}

macro_rules! resolves {
    ($($export:ident / $inner:ident $name:literal ($($room:ident: $type:ty)?);)*) => {$(
        intercept! {
            fn $export / $inner(path: *const c_char, to: *mut c_char $(, $room: $type)?) -> *mut c_char; pc {
                type Real = unsafe extern "C" fn(*const c_char, *mut c_char $(, $type)?) -> *mut c_char;
                // SAFETY: passed on; what is named is what the program hands over.
                unsafe {
                    let function = real!($name, Real);
                    if !start::recording() || !is_of_library(function as usize) {
                        return function(path, to $(, $room)?);
                    }
                    read_path(pc, path);
                    let got = allocates(pc, || function(path, to $(, $room)?));
                    if got == to && !got.is_null() {
                        written_text(pc, got);
                    }
                    got
                }
            }
        }
    )*};
}

resolves! {
    dh_wrap_realpath / realpath "realpath" ();
    dh_wrap___realpath_chk / realpath_chk "__realpath_chk" (all: usize);
}

/// What `stat` and its like were before the C library's version 2.33: functions that say for which version of the structure they are.
const VERSION: c_int = 1;

/// What stores the state of a file, with what its name is, if it has one, and where that goes.
macro_rules! tells_state {
    ($($export:ident / $inner:ident $name:literal $old:literal ($($argument:ident: $type:ty),*) $path:expr, $to:expr;)*) => {$(
        intercept! {
            fn $export / $inner($($argument: $type),*) -> c_int; pc {
                type Real = unsafe extern "C" fn($($type),*) -> c_int;
                type Old = unsafe extern "C" fn(c_int, $($type),*) -> c_int;
                // SAFETY: passed on.
                unsafe {
                    let real = real_if_there!($name, Real);
                    let looks = looks(real.map(|real| real as usize));
                    if looks {
                        read_path(pc, $path);
                    }
                    let result = match real {
                        Some(real) => real($($argument),*),
                        None => real!($old, Old)(VERSION, $($argument),*),
                    };
                    if looks && result == 0 {
                        write_if(pc, $to);
                    }
                    result
                }
            }
        }
    )*};
}

tells_state! {
    dh_wrap_stat / stat "stat" "__xstat" (path: *const c_char, to: *mut Status) path, to;
    dh_wrap_stat64 / stat64 "stat64" "__xstat64" (path: *const c_char, to: *mut Status) path, to;
    dh_wrap_lstat / lstat "lstat" "__lxstat" (path: *const c_char, to: *mut Status) path, to;
    dh_wrap_lstat64 / lstat64 "lstat64" "__lxstat64" (path: *const c_char, to: *mut Status) path, to;
    dh_wrap_fstat / fstat "fstat" "__fxstat" (file: c_int, to: *mut Status) null(), to;
    dh_wrap_fstat64 / fstat64 "fstat64" "__fxstat64" (file: c_int, to: *mut Status) null(), to;
    dh_wrap_fstatat / fstatat "fstatat" "__fxstatat"
        (folder: c_int, path: *const c_char, to: *mut Status, flags: c_int) path, to;
    dh_wrap_fstatat64 / fstatat64 "fstatat64" "__fxstatat64"
        (folder: c_int, path: *const c_char, to: *mut Status, flags: c_int) path, to;
}

/// Whether what such a function does is looked at: one that is the program's own is its own business.
fn looks(real: Option<usize>) -> bool {
    start::recording() && real.is_none_or(is_of_library)
}

/// A file was made, or a folder, of which the last six characters of the name were chosen.
///
/// # Safety
/// The name ends.
pub(super) unsafe fn chosen(pc: usize, path: *mut c_char) {
    const CHOSEN: usize = 6;
    // SAFETY: the caller's promise.
    let len = unsafe { length::<u8>(path.cast(), usize::MAX) };
    reads(pc, path, len + 1);
    writes(pc, path.wrapping_add(len.saturating_sub(CHOSEN)), CHOSEN.min(len));
}

/// As [`chosen`], of a file, if it was made.
///
/// # Safety
/// If the file was made, the name ends.
unsafe fn named(pc: usize, path: *mut c_char, file: c_int) {
    made(pc, file);
    if file >= 0 {
        // SAFETY: the program's text.
        unsafe { chosen(pc, path) };
    }
}

/// What stores the address of a socket where there is room for so much.
macro_rules! stores_address {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(file: c_int, to: *mut c_void, len: *mut u32) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int, *mut c_void, *mut u32) -> c_int;
                // SAFETY: passed on.
                unsafe {
                    let before = room(len);
                    let result = real!($name, Real)(file, to, len);
                    if result == 0 && start::recording() {
                        address(pc, to, len, before);
                    }
                    result
                }
            }
        }
    )*};
}

stores_address! {
    dh_wrap_getsockname / getsockname "getsockname"
    dh_wrap_getpeername / getpeername "getpeername"
}

intercept! {
    /// `getsockopt`
    fn dh_wrap_getsockopt / getsockopt(file: c_int, level: c_int, option: c_int, to: *mut c_void, len: *mut u32) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void, *mut u32) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let before = room(len);
            let result = real!("getsockopt", Real)(file, level, option, to, len);
            if result == 0 && start::recording() {
                address(pc, to, len, before);
            }
            result
        }
    }
}
