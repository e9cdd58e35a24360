//! Sockets, and waiting for many descriptors at once (`epoll`).

use core::ffi::{c_int, c_void};

use super::descriptor::{accepted, acquire, connecting, created, made, release, told_by, used};
use super::file::both_made;
use super::state::room;
use super::touch::{asked_to_read, system_reads, system_writes};
use crate::cold::start;
use crate::sys::machine::caller_word;

shim_through_thread!(dh_wrap_recvfrom, recvfrom);
shim_through_thread!(dh_wrap___recvfrom_chk, recvfrom_chk);
shim_through_thread!(dh_wrap_sendto, sendto);

/// Takes account of what `receive` gives, into `len` bytes at `to` and the sender's address, whose room is at its length.
///
/// # Safety
/// They are the program's, as for `recvfrom`.
unsafe fn received(
    pc: usize,
    file: c_int,
    (to, len): (*mut c_void, usize),
    (sender, sender_len): (*mut c_void, *mut u32),
    receive: impl FnOnce() -> isize,
) -> isize {
    // SAFETY: the caller's promise. The system cuts the sender's address to the room it finds and tells its
    // whole length.
    unsafe {
        let room = if sender.is_null() { 0 } else { room(sender_len) };
        let got = receive();
        if got >= 0 && start::recording() {
            acquire(pc, file);
            system_writes(pc, to, (got as usize).min(len));
            if room > 0 {
                system_writes(pc, sender, (*sender_len).min(room) as usize);
                system_writes(pc, sender_len, size_of::<u32>());
            }
        }
        got
    }
}

/// `recvfrom`: six arguments, so the return address comes by the thread's second word.
unsafe extern "C" fn recvfrom(
    file: c_int,
    to: *mut c_void,
    len: usize,
    flags: c_int,
    sender: *mut c_void,
    sender_len: *mut u32,
) -> isize {
    type Real = unsafe extern "C" fn(c_int, *mut c_void, usize, c_int, *mut c_void, *mut u32) -> isize;
    let pc = caller_word();
    // SAFETY: passed on.
    unsafe {
        received(pc, file, (to, len), (sender, sender_len), || {
            real!("recvfrom", Real)(file, to, len, flags, sender, sender_len)
        })
    }
}

/// The same with the room that there is at `to`.
unsafe extern "C" fn recvfrom_chk(
    file: c_int,
    to: *mut c_void,
    len: usize,
    all: usize,
    flags: c_int,
    sender: *mut c_void,
    sender_len: *mut u32,
) -> isize {
    type Real = unsafe extern "C" fn(c_int, *mut c_void, usize, usize, c_int, *mut c_void, *mut u32) -> isize;
    let pc = caller_word();
    // SAFETY: passed on.
    unsafe {
        received(pc, file, (to, len), (sender, sender_len), || {
            real!("__recvfrom_chk", Real)(file, to, len, all, flags, sender, sender_len)
        })
    }
}

/// `sendto`, as [`recvfrom`].
unsafe extern "C" fn sendto(
    file: c_int,
    from: *const c_void,
    len: usize,
    flags: c_int,
    receiver: *const c_void,
    receiver_len: u32,
) -> isize {
    type Real = unsafe extern "C" fn(c_int, *const c_void, usize, c_int, *const c_void, u32) -> isize;
    let pc = caller_word();
    let told = start::recording() && release(pc, file, || asked_to_read(pc, from, len));
    // SAFETY: passed on.
    let put = unsafe { real!("sendto", Real)(file, from, len, flags, receiver, receiver_len) };
    if !told && put > 0 && start::recording() {
        system_reads(pc, from, put as usize);
    }
    put
}

intercept! {
    /// `socketpair`
    fn dh_wrap_socketpair / socketpair(
        family: c_int, kind: c_int, protocol: c_int, ends: *mut [c_int; 2],
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, c_int, *mut [c_int; 2]) -> c_int;
        // SAFETY: passed on.
        let result = unsafe { real!("socketpair", Real)(family, kind, protocol, ends) };
        if result == 0 && start::recording() {
            both_made(pc, ends);
        }
        result
    }
}

intercept! {
    /// `socket`
    fn dh_wrap_socket / socket(family: c_int, kind: c_int, protocol: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, c_int) -> c_int;
        // SAFETY: passed on.
        let file = unsafe { real!("socket", Real)(family, kind, protocol) };
        made(pc, file);
        file
    }
}

intercept! {
    /// `shutdown`: the other side may see the end.
    fn dh_wrap_shutdown / shutdown(file: c_int, how: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int) -> c_int;
        if start::recording() {
            release(pc, file, || {});
        }
        // SAFETY: passed on.
        unsafe { real!("shutdown", Real)(file, how) }
    }
}

intercept! {
    /// `connect`
    fn dh_wrap_connect / connect(file: c_int, peer: *const c_void, len: u32) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *const c_void, u32) -> c_int;
        if start::recording() {
            used(pc, file);
            connecting(pc, file);
        }
        // SAFETY: passed on.
        unsafe { real!("connect", Real)(file, peer, len) }
    }
}

intercept! {
    /// `accept`
    fn dh_wrap_accept / accept(file: c_int, peer: *mut c_void, len: *mut u32) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_void, *mut u32) -> c_int;
        // SAFETY: passed on.
        let connection = unsafe { real!("accept", Real)(file, peer, len) };
        if connection >= 0 && start::recording() {
            used(pc, file);
            accepted(pc);
            made(pc, connection);
        }
        connection
    }
}

intercept! {
    /// `accept4`
    fn dh_wrap_accept4 / accept4(file: c_int, peer: *mut c_void, len: *mut u32, flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut c_void, *mut u32, c_int) -> c_int;
        // SAFETY: passed on.
        let connection = unsafe { real!("accept4", Real)(file, peer, len, flags) };
        if connection >= 0 && start::recording() {
            used(pc, file);
            accepted(pc);
            made(pc, connection);
        }
        connection
    }
}

macro_rules! epoll_create {
    ($($export:ident / $inner:ident $name:literal)*) => {$(
        intercept! {
            fn $export / $inner(argument: c_int) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int) -> c_int;
                // SAFETY: passed on.
                let file = unsafe { real!($name, Real)(argument) };
                if start::recording() {
                    created(pc, file);
                }
                file
            }
        }
    )*};
}

epoll_create! {
    dh_wrap_epoll_create / epoll_create "epoll_create"
    dh_wrap_epoll_create1 / epoll_create1 "epoll_create1"
}

/// Size of a `struct epoll_event`.
const EVENT: usize = 12;

intercept! {
    /// `epoll_ctl`: whoever is told of the descriptor later sees what was done up to here.
    fn dh_wrap_epoll_ctl / epoll_ctl(set: c_int, what: c_int, file: c_int, event: *mut c_void) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, c_int, c_int, *mut c_void) -> c_int;
        const REMOVE: c_int = 2;
        if start::recording() {
            used(pc, file);
            if what != REMOVE {
                told_by(file, set);
            }
            release(pc, set, || {
                if what != REMOVE && !event.is_null() {
                    system_reads(pc, event, EVENT);
                }
            });
        }
        // SAFETY: passed on.
        unsafe { real!("epoll_ctl", Real)(set, what, file, event) }
    }
}

macro_rules! epoll_wait {
    ($($export:ident / $inner:ident $name:literal ($($more:ident: $type:ty),*);)*) => {$(
        intercept! {
            fn $export / $inner(set: c_int, events: *mut c_void, room: c_int $(, $more: $type)*) -> c_int; pc {
                type Real = unsafe extern "C" fn(c_int, *mut c_void, c_int $(, $type)*) -> c_int;
                // SAFETY: passed on.
                let count = unsafe { real!($name, Real)(set, events, room $(, $more)*) };
                if count > 0 && start::recording() {
                    acquire(pc, set);
                    system_writes(pc, events, count as usize * EVENT);
                }
                count
            }
        }
    )*};
}

epoll_wait! {
    dh_wrap_epoll_wait / epoll_wait "epoll_wait" (timeout: c_int);
    dh_wrap_epoll_pwait / epoll_pwait "epoll_pwait" (timeout: c_int, signals: *const c_void);
    dh_wrap_epoll_pwait2 / epoll_pwait2 "epoll_pwait2" (timeout: *const c_void, signals: *const c_void);
}
