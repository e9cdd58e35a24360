//! The order that descriptors make among the threads of one program.
//!
//! Programs expect what comes out of a pipe, a socket or an `eventfd` to be ordered after what
//! went in, so a write releases an object and a read acquires it. The object is told by what the
//! descriptor is at the time of the call, not by a table that a missed `dup` or `close` would
//! make wrong:
//!
//! * pipes and FIFOs: by their inode, which both ends share;
//! * connected internet stream sockets: by the two ports, one object a direction;
//! * all other sockets: one object for all of them, since the peer cannot be told;
//! * `eventfd`, `epoll` and their like: by the descriptor's number, made new at creation;
//! * regular files, devices and terminals: none. A file is shared memory, not a message.
//!
//! The objects are numbers that no address of a program can be: their highest byte is `0xfd`.

use core::ffi::c_int;

use deadheat_core::event::{Op, SyncKind};

use crate::hot::{log, thread};
use crate::sys;

const PIPE: u64 = 1;
const ANONYMOUS: u64 = 2;
const STREAM: u64 = 3;
const SOCKET: u64 = 4;
const CONNECTING: u64 = 5;

/// Which way data goes through a descriptor.
#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

const fn object(class: u64, number: u64) -> u64 {
    const NUMBER: u64 = (1 << 48) - 1;
    0xfd << 56 | class << 48 | number & NUMBER
}

/// The object that orders what passes through `file`.
fn object_of(file: c_int, way: Way) -> Option<u64> {
    const KIND: u32 = 0o170_000;
    const FIFO: u32 = 0o010_000;
    const SOCK: u32 = 0o140_000;
    const NO_KIND: u32 = 0;
    let status = sys::status(file).ok()?;
    match status.mode & KIND {
        FIFO => Some(object(PIPE, status.device << 32 ^ status.inode)),
        SOCK => Some(socket(file, way)),
        NO_KIND => Some(object(ANONYMOUS, file as u64)),
        _ => None,
    }
}

fn socket(file: c_int, way: Way) -> u64 {
    match sys::stream_ports(file) {
        Some((own, peer)) => {
            let (from, to) = match way {
                Way::Out => (own, peer),
                Way::In => (peer, own),
            };
            object(STREAM, u64::from(from) << 16 | u64::from(to))
        }
        None => object(SOCKET, 0),
    }
}

fn signal(pc: usize, object: u64) {
    log::event(pc, &Op::Signal { object, kind: SyncKind::Annotation });
}

fn wait(pc: usize, object: u64) {
    log::event(pc, &Op::Wait { object, kind: SyncKind::Annotation, woken: true });
}

/// Something is about to go into `file`, or its end is about to show at the other side. Before
/// that `first` is recorded: what the call itself reads, since whoever gets the message may then
/// use that memory again. Gives whether the descriptor orders anything.
pub(super) fn release(pc: usize, file: c_int, first: impl FnOnce()) -> bool {
    if thread::current().is_none() {
        return false;
    }
    let Some(object) = object_of(file, Way::Out) else { return false };
    first();
    signal(pc, object);
    true
}

/// Something came out of `file`.
pub(super) fn acquire(pc: usize, file: c_int) {
    if thread::current().is_some()
        && let Some(object) = object_of(file, Way::In)
    {
        wait(pc, object);
    }
}

/// `file` is a new `eventfd` or `epoll`: what an earlier one with this number ordered is over.
pub(super) fn created(pc: usize, file: c_int) {
    if file >= 0 {
        log::event(pc, &Op::Forget { object: object(ANONYMOUS, file as u64) });
    }
}

/// The thread is about to connect a socket.
pub(super) fn connecting(pc: usize) {
    signal(pc, object(CONNECTING, 0));
}

/// The thread accepted a connection.
pub(super) fn accepted(pc: usize) {
    wait(pc, object(CONNECTING, 0));
}
