//! Messages in parts, and many of them at once: `sendmsg`, `recvmmsg` and the like.

use core::ffi::{c_int, c_void};

use super::descriptor::{acquire, release};
use super::file::{Part, each_part};
use super::touch::{can_read, system_reads, system_writes};
use crate::cold::start;

/// A `struct msghdr`, its first half.
#[repr(C)]
struct Message {
    name: *mut c_void,
    name_len: u32,
    parts: *const Part,
    part_count: usize,
}

impl Message {
    /// The call fills the first `total` bytes.
    ///
    /// # Safety
    /// There are as many parts as it says.
    unsafe fn filled(&self, pc: usize, total: isize) {
        // SAFETY: the caller's promise.
        unsafe { each_part(self.parts, self.part_count, total, |to, len| system_writes(pc, to, len)) };
    }

    /// The call reads the first `total` bytes; if that is the largest number, it is still to come.
    ///
    /// # Safety
    /// As for [`Self::filled`].
    unsafe fn read(&self, pc: usize, total: isize) {
        // SAFETY: the caller's promise.
        unsafe { each_part(self.parts, self.part_count, total, |from, len| system_reads(pc, from, len)) };
    }
}

/// A `struct mmsghdr`: a message, the other half of it, and how many bytes of it were transferred.
#[repr(C)]
struct Counted {
    message: Message,
    rest: [usize; 3],
    len: u32,
}

const _: () = assert!(size_of::<Counted>() == 64);

/// Of more messages a call takes no more than so many.
const MOST: u32 = 1024;

intercept! {
    /// `recvmsg`
    fn dh_wrap_recvmsg / recvmsg(file: c_int, message: *mut Message, flags: c_int) -> isize; pc {
        type Real = unsafe extern "C" fn(c_int, *mut Message, c_int) -> isize;
        // SAFETY: passed on.
        unsafe {
            let got = real!("recvmsg", Real)(file, message, flags);
            if got >= 0 && start::recording() {
                acquire(pc, file);
                (*message).filled(pc, got);
            }
            got
        }
    }
}

intercept! {
    /// `sendmsg`
    fn dh_wrap_sendmsg / sendmsg(file: c_int, message: *const Message, flags: c_int) -> isize; pc {
        type Real = unsafe extern "C" fn(c_int, *const Message, c_int) -> isize;
        // SAFETY: passed on.
        unsafe {
            let read = || {
                if can_read(message.addr(), size_of::<Message>()) {
                    (*message).read(pc, isize::MAX);
                }
            };
            let told = start::recording() && release(pc, file, read);
            let put = real!("sendmsg", Real)(file, message, flags);
            if !told && put > 0 && start::recording() {
                (*message).read(pc, put);
            }
            put
        }
    }
}

/// The messages of a call that transferred `count` of them.
///
/// # Safety
/// There are as many, and they are the program's.
unsafe fn transferred<'a>(messages: *mut Counted, count: c_int) -> &'a [Counted] {
    if count <= 0 || messages.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { core::slice::from_raw_parts(messages, count as usize) }
}

intercept! {
    /// `recvmmsg`
    fn dh_wrap_recvmmsg / recvmmsg(
        file: c_int, messages: *mut Counted, room: u32, flags: c_int, timeout: *mut c_void,
    ) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut Counted, u32, c_int, *mut c_void) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let count = real!("recvmmsg", Real)(file, messages, room, flags, timeout);
            if count >= 0 && start::recording() {
                acquire(pc, file);
                for got in transferred(messages, count) {
                    got.message.filled(pc, got.len as isize);
                    system_writes(pc, &raw const got.len, size_of::<u32>());
                }
            }
            count
        }
    }
}

intercept! {
    /// `sendmmsg`
    fn dh_wrap_sendmmsg / sendmmsg(file: c_int, messages: *mut Counted, count: u32, flags: c_int) -> c_int; pc {
        type Real = unsafe extern "C" fn(c_int, *mut Counted, u32, c_int) -> c_int;
        // SAFETY: passed on.
        unsafe {
            let read = || {
                let all = count.min(MOST);
                if can_read(messages.addr(), all as usize * size_of::<Counted>()) {
                    transferred(messages, all as c_int).iter().for_each(|put| put.message.read(pc, isize::MAX));
                }
            };
            let told = start::recording() && release(pc, file, read);
            let sent = real!("sendmmsg", Real)(file, messages, count, flags);
            if start::recording() {
                for put in transferred(messages, sent) {
                    if !told {
                        put.message.read(pc, put.len as isize);
                    }
                    system_writes(pc, &raw const put.len, size_of::<u32>());
                }
            }
            sent
        }
    }
}
