//! Descriptors: the order that they make among the threads of one program, and their own lives.
//!
//! A descriptor is a thing that is used and closed: a read or a write of a cell that stands for it. So a use and a close
//! that nothing orders are a race, as they are for a block of memory. Whoever uses a descriptor uses it after it was made.
//!
//! Programs expect what comes out of a pipe, a socket or an `eventfd` to be ordered after what
//! went in, so a write releases an object and a read acquires it. The object is told by what the
//! descriptor is, which the system is asked once between what makes the descriptor and what closes it. A missed `dup` or
//! `close` makes that wrong only where what makes the next one with that number is missed, too:
//!
//! * pipes and FIFOs: by their inode, which both ends share;
//! * connected internet stream sockets: by the two ports, one object a direction;
//! * all other sockets: one object for all of them, since the peer cannot be told;
//! * `eventfd`, `epoll` and their like: by the descriptor's number, which copies share, made new at creation;
//! * regular files, devices and terminals: none. A file is shared memory, not a message.
//!
//! The objects are numbers that no address of a program can be: their highest byte is `0xfd`.

use core::ffi::c_int;
use core::ptr::addr_of;
use core::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Op, SyncKind};
use deadheat_core::options::{self, Descriptors};
use deadheat_core::wire::descriptor::{CELL, SPAN};

use super::{sent, told};
use crate::cold::{byhand, start};
use crate::hot::{log, thread};
use crate::sys;

const PIPE: u64 = 1;
const ANONYMOUS: u64 = 2;
const STREAM: u64 = 3;
const SOCKET: u64 = 4;
const CONNECTING: u64 = 5;
pub(super) const QUEUE: u64 = 6;
pub(super) const MESSAGES: u64 = 7;
pub(super) const SEMAPHORE: u64 = 8;
pub(super) const NOTHING: u64 = 9;
pub(super) const SETS: u64 = 10;
pub(super) const TIMER: u64 = 11;

/// Which way data goes through a descriptor.
#[derive(Clone, Copy)]
enum Way {
    In,
    Out,
}

pub(super) const fn object(class: u64, number: u64) -> u64 {
    const NUMBER: u64 = (1 << 48) - 1;
    0xfd << 56 | class << 48 | number & NUMBER
}

/// The object of all sockets whose peer cannot be told.
const SOCKETS: u64 = object(SOCKET, 0);

/// What descriptors order ([`Descriptors`]).
static ORDERS: AtomicU32 = AtomicU32::new(Descriptors::Each as u32);

/// Heeds what the options say of descriptors. Called once, before any other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    ORDERS.store(options::io_sync(texts) as u32, Ordering::Relaxed);
}

/// The object that orders what passes through `file`.
fn object_of(file: c_int, way: Way) -> Option<u64> {
    let orders = ORDERS.load(Ordering::Relaxed);
    if orders == Descriptors::Nothing as u32 {
        return None;
    }
    if orders == Descriptors::All as u32 || sys::is_confined() {
        // Or what it is cannot be asked any more, so all are one.
        return Some(SOCKETS);
    }
    match what_is(file)? {
        What::Pipe(number) => Some(object(PIPE, number)),
        What::Socket(inode) => Some(socket(file, inode, way)),
        What::Anonymous => Some(anonymous(file)),
        What::Nothing => None,
    }
}

/// What a descriptor is, as far as that says which object it has; what has a number shares it with its copies alone.
#[derive(Clone, Copy)]
enum What {
    Pipe(u64),
    Socket(u64),
    /// An `eventfd`, an `epoll` or the like.
    Anonymous,
    /// A file, a device or a terminal, which orders nothing.
    Nothing,
}

impl What {
    /// Where its kind is in a word, behind its number; and what is above that.
    const KIND: u32 = 48;
    const ABOVE: u32 = 51;
    const NUMBER: u64 = (1 << What::KIND) - 1;

    const fn word(self) -> u64 {
        let (kind, number) = match self {
            What::Pipe(number) => (1, number),
            What::Socket(number) => (2, number),
            What::Anonymous => (3, 0),
            What::Nothing => (4, 0),
        };
        kind << What::KIND | number & What::NUMBER
    }

    const fn of(word: u64) -> Option<What> {
        let number = word & What::NUMBER;
        match (word % (1 << What::ABOVE)) >> What::KIND {
            1 => Some(What::Pipe(number)),
            2 => Some(What::Socket(number)),
            3 => Some(What::Anonymous),
            4 => Some(What::Nothing),
            _ => None,
        }
    }
}

/// By descriptor, what it is, if that was asked; and above that how often it may have changed, so that no answer is taken for the next one's.
static KNOWN: [AtomicU64; (SPAN / CELL) as usize] = [const { AtomicU64::new(0) }; (SPAN / CELL) as usize];

/// What a descriptor is; `None` if it is not open.
fn what_is(file: c_int) -> Option<What> {
    let known = KNOWN.get(file as usize);
    let word = known.map_or(0, |known| known.load(Ordering::Acquire));
    if let Some(what) = What::of(word) {
        return Some(what);
    }
    let what = ask(file)?;
    // A child of `vfork` has its own descriptors, and its parent's memory.
    if let Some(known) = known.filter(|_| byhand::is_ours()) {
        // If it changed meanwhile the next one asks.
        let _ = known.compare_exchange(word, word | what.word(), Ordering::AcqRel, Ordering::Relaxed);
    }
    Some(what)
}

/// As [`what_is`], by the system.
fn ask(file: c_int) -> Option<What> {
    const KIND: u32 = 0o170_000;
    const FIFO: u32 = 0o010_000;
    const SOCK: u32 = 0o140_000;
    const NO_KIND: u32 = 0;
    let status = sys::status(file).ok()?;
    Some(match status.mode & KIND {
        FIFO => What::Pipe(status.device << 32 ^ status.inode),
        SOCK => What::Socket(status.inode),
        NO_KIND => What::Anonymous,
        _ => What::Nothing,
    })
}

/// What a descriptor is has to be asked anew.
fn changes(file: c_int) {
    if let Some(known) = KNOWN.get(file as usize) {
        let next = |word: u64| Some(((word >> What::ABOVE) + 1) << What::ABOVE);
        let _ = known.fetch_update(Ordering::AcqRel, Ordering::Relaxed, next);
    }
}

/// The object of an `eventfd`, an `epoll` or the like.
fn anonymous(file: c_int) -> u64 {
    object(ANONYMOUS, u64::from(number(file)))
}

/// By descriptor, 1 + the number that it goes by, where that is another one's; and [`COPIED`].
static NUMBERS: [AtomicU32; (SPAN / CELL) as usize] = [const { AtomicU32::new(0) }; (SPAN / CELL) as usize];
/// Others went by the descriptor's own number: what is new there does not.
const COPIED: u32 = 1 << 31;
/// Numbers from here on are no descriptor's.
const FRESH: u32 = 1 << 30;
static NEXT_FRESH: AtomicU32 = AtomicU32::new(0);

/// The number that a descriptor goes by.
fn number(file: c_int) -> u32 {
    let known = NUMBERS.get(file as usize).map_or(0, |known| known.load(Ordering::Acquire)) & !COPIED;
    known.checked_sub(1).unwrap_or(file as u32)
}

/// A descriptor goes by another number from now on, or by its own.
fn goes_by(file: c_int, other: Option<u32>) {
    if let Some(known) = NUMBERS.get(file as usize) {
        let copied = known.load(Ordering::Relaxed) & COPIED;
        known.store(copied | other.map_or(0, |number| number + 1), Ordering::Release);
    }
}

/// `copy` is a copy of `file` from now on, unless it is none.
pub(super) fn copied(file: c_int, copy: c_int) {
    if file >= 0 && copy >= 0 && byhand::is_ours() {
        let number = number(file);
        if let Some(original) = NUMBERS.get(number as usize) {
            original.fetch_or(COPIED, Ordering::AcqRel);
        }
        goes_by(copy, Some(number));
    }
}

/// By descriptor, a socket that it was and whom that talks to: its inode, and behind it its own and its peer's port, or zeros for a socket whose peer cannot be told. What is
/// asked of the system is only which socket it is, not each time all of that.
static PEERS: [AtomicU64; (SPAN / CELL) as usize] = [const { AtomicU64::new(0) }; (SPAN / CELL) as usize];

fn socket(file: c_int, inode: u64, way: Way) -> u64 {
    const PORTS: u32 = 32;
    let known = PEERS.get(file as usize).filter(|_| inode != 0 && inode >> (u64::BITS - PORTS) == 0);
    let word = known.map_or(0, |known| known.load(Ordering::Relaxed));
    let ports = if word != 0 && word >> PORTS == inode {
        word as u32
    } else {
        let ports = match sys::peer(file) {
            sys::Peer::Ports(own, peer) => u32::from(own) << u16::BITS | u32::from(peer),
            sys::Peer::NotYet => return SOCKETS,
            sys::Peer::Untold => 0,
        };
        if let Some(known) = known {
            known.store(inode << PORTS | u64::from(ports), Ordering::Relaxed);
        }
        ports
    };
    match (ports, way) {
        (0, _) => SOCKETS,
        (ports, Way::Out) => object(STREAM, u64::from(ports)),
        (ports, Way::In) => object(STREAM, u64::from(ports.rotate_left(u16::BITS))),
    }
}

/// Room for the cells, which begin at a multiple of their size within it. Nothing is ever stored there; what never changes at
/// all would be put into each program's file.
static CELLS: [AtomicU8; 2 * SPAN as usize] = [const { AtomicU8::new(0) }; 2 * SPAN as usize];

/// The address of a descriptor's cell.
fn cell(file: c_int) -> Option<u64> {
    let start = (addr_of!(CELLS) as u64).next_multiple_of(SPAN);
    let offset = u64::try_from(file).ok()? * CELL;
    (offset < SPAN).then_some(start + offset)
}

/// A part of a cell that an access touches.
const TOUCHED: u64 = 8;

fn touch(pc: usize, file: c_int, mode: Mode) {
    if let Some(address) = cell(file) {
        log::range(pc, &Access { address, size: TOUCHED, mode, atomic: None, via: Via::Object });
    }
}

/// The thread uses a descriptor.
pub(super) fn used(pc: usize, file: c_int) {
    if start::recording() {
        touch(pc, file, Mode::Read);
    }
}

/// A descriptor was made, unless `file` is none. A number that was replaced (`dup2`) is often in use elsewhere on
/// purpose: that is a use only.
fn born(pc: usize, file: c_int, mode: Mode) {
    changes(file);
    if let Some(address) = cell(file).filter(|_| start::recording() && byhand::is_ours()) {
        told::forget(file);
        sent::forget(file);
        log::event(pc, &Op::Alloc { address, size: CELL, kind: BlockKind::Descriptor });
        touch(pc, file, mode);
    }
}

/// A descriptor was made, unless `file` is none.
pub(super) fn made(pc: usize, file: c_int) {
    born(pc, file, Mode::Write);
}

/// A descriptor was put in another's place.
pub(super) fn replaced(pc: usize, file: c_int) {
    born(pc, file, Mode::Read);
}

/// A descriptor is about to be closed: the other side of a pipe or socket may see its end.
pub(super) fn closing(pc: usize, file: c_int) {
    changes(file);
    // A child of `vfork` closes its own descriptors, and does so in its parent's memory.
    if !start::recording() || !byhand::is_ours() {
        return;
    }
    let is_open = sys::is_confined() || what_is(file).is_some();
    if !is_open {
        return;
    }
    release(pc, file, || {});
    changes(file);
    goes_by(file, None);
    told::forget(file);
    sent::forget(file);
    if let Some(address) = cell(file) {
        log::event(pc, &Op::Free { address, size: TOUCHED, kind: BlockKind::Descriptor });
    }
}

pub(super) fn signal(pc: usize, object: u64) {
    log::event(pc, &Op::Signal { object, kind: SyncKind::Annotation });
}

pub(super) fn wait(pc: usize, object: u64) {
    log::event(pc, &Op::Wait { object, kind: SyncKind::Annotation, woken: true });
}

/// Something is about to go into `file`, or its end is about to show at the other side. Before
/// that `first` is recorded: what the call itself reads, since whoever gets the message may then
/// use that memory again. Gives whether the descriptor orders anything.
pub(super) fn release(pc: usize, file: c_int, first: impl FnOnce()) -> bool {
    if thread::current().is_none() {
        return false;
    }
    used(pc, file);
    let Some(object) = object_of(file, Way::Out) else { return false };
    first();
    show(pc, object);
    true
}

/// Something is about to show at what an object stands for, and at each `epoll` that tells of it.
fn show(pc: usize, object: u64) {
    signal(pc, object);
    told::each(object, |set| signal(pc, self::object(ANONYMOUS, set)));
}

/// Something is about to show at the `signalfd` `file`, without being put there.
pub(super) fn notify(pc: usize, file: c_int) {
    show(pc, anonymous(file));
}

/// What shows at `file` is told through the `epoll` `set` from now on: who is told of it there comes after what went in, also
/// if nothing is read.
pub(super) fn told_by(file: c_int, set: c_int) {
    if let Some(object) = object_of(file, Way::In) {
        told::add(file, object, number(set), object != SOCKETS);
    }
}

/// Something came out of `file`.
pub(super) fn acquire(pc: usize, file: c_int) {
    used(pc, file);
    if thread::current().is_some()
        && let Some(object) = object_of(file, Way::In)
    {
        wait(pc, object);
    }
}

/// `file` is a new `eventfd`, `epoll` or the like: what an earlier one with this number ordered is over.
pub(super) fn created(pc: usize, file: c_int) {
    if file >= 0 {
        made(pc, file);
        let is_copied =
            NUMBERS.get(file as usize).is_some_and(|known| known.load(Ordering::Relaxed) & COPIED != 0);
        goes_by(file, is_copied.then(|| FRESH | (NEXT_FRESH.fetch_add(1, Ordering::Relaxed) % FRESH)));
        log::event(pc, &Op::Forget { object: anonymous(file) });
    }
}

/// The thread is about to connect a socket, which may have had another peer.
pub(super) fn connecting(pc: usize, file: c_int) {
    if let Some(known) = PEERS.get(file as usize) {
        known.store(0, Ordering::Relaxed);
    }
    signal(pc, object(CONNECTING, 0));
}

/// The thread accepted a connection.
pub(super) fn accepted(pc: usize) {
    wait(pc, object(CONNECTING, 0));
}
