//! Races are looked for beside a recording, so that the two can be compared: what happens is appended to the thread's
//! stream and judged.
//!
//! Invariant: of two events that order threads the one with the smaller stamp was judged first. Each takes its stamp and
//! changes the clocks within one turn, and turns come one after the other (`docs/decisions/0016-recorded-and-detected.md`).
//!
//! Cost: all events that order threads wait for each other, and every access takes the general way of a recording. Model:
//! "append it, then judge it", with what the detector and the stream share in a thread handed from one to the other.

use core::ptr::null_mut;
use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::Access;
use deadheat_core::codec::Key;
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;

use super::eye::Eye;
use super::shadow::{self, REGION_LOG2};
use super::word::{self, GRANULE, WRITE};
use super::{ORDERING, across, looking, quick};
use crate::hot::log;
use crate::hot::stripe::{Held, Stripe};
use crate::hot::thread::{Busy, Frame, Thread, let_come};

/// Held during a turn.
static TURN: Stripe = Stripe::new();

/// Nobody has a turn, in a forked child whose other threads are gone.
pub(crate) fn free() {
    TURN.free();
}

/// The thread `owner` has no turn any more, in the middle of which it was cancelled.
pub(crate) fn abandon(owner: u32) {
    TURN.abandon(owner);
}

/// The thread does not go on with what it had a turn for; whether it had one.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn forget_turn(thread: *mut Thread) -> bool {
    // SAFETY: the caller's promise.
    unsafe { core::mem::take(&mut (*thread).eye.beside.in_turn) }
}

/// What a thread keeps while nothing of its is judged. All zeros if nothing is.
#[repr(C)]
pub(super) struct Beside {
    /// `Thread::clean` of the detector, which the stream's hooks must not see.
    clean: *mut Frame,
    /// The moment that it is of.
    moment: u64,
    /// Whether the thread has a turn.
    in_turn: bool,
}

impl Beside {
    /// Whether the thread has a turn.
    pub(super) const fn has_turn(&self) -> bool {
        self.in_turn
    }

    /// In a forked child: the history is not told of calls and locks, and nobody has a turn.
    pub(super) fn in_child(&mut self) {
        *self = Beside { clean: null_mut(), moment: 0, in_turn: false };
    }
}

/// Judges a plain access at an address, made before a code address, that is recorded.
pub(crate) type Look = unsafe fn(usize, usize);

/// A [`Look`] at an access of the kind `KIND` (a [`Kind`]'s bits): what its hook does by itself where nothing is recorded
/// (`sys`, `shim_access!`).
///
/// # Safety
/// Called on the accessing thread, which is watched.
pub(crate) unsafe fn look<const KIND: u16>(address: usize, pc: usize) {
    let (size, writes) = const { (Kind(KIND).plain_size(), Kind(KIND).plain_writes()) };
    if !looking() {
        return;
    }
    let thread = crate::sys::machine::thread_word() as *mut Thread;
    let offset = address % GRANULE;
    let within = if size < GRANULE { offset + size <= GRANULE } else { offset == 0 };
    let base = shadow::CELLS.get(address >> REGION_LOG2).map_or(0, |cells| cells.load(Ordering::Relaxed));
    // SAFETY: the caller's promise; the cells of a region that has some are mapped.
    unsafe {
        let mine = (*thread).eye.mine;
        if (*thread).busy != 0 || mine == 0 {
            quick::access::<KIND>(address, pc);
        } else if !within || base == 0 {
            across::on_odd_access::<KIND>(address, pc);
        } else if if writes {
            super::range::first_new::<true>(mine, address, size)
        } else {
            super::range::first_new::<false>(mine, address, size)
        }
        .is_some()
        {
            let kind = if writes { WRITE } else { 0 };
            let mine = if size < GRANULE { word::only(mine, word::bytes(offset, size)) } else { mine } | kind;
            let cell = base.wrapping_add(2 * (address - offset)) as *const shadow::Cell;
            quick::on_access::<KIND>(address, pc, mine, cell);
        }
    }
}

/// Records a plain access and judges it; `busy` is set already.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
pub(crate) unsafe fn access(thread: *mut Thread, key: Key, address: u64, look: Look) {
    // SAFETY: the caller's promise.
    unsafe {
        let seen = (*thread).internal == 0 && !log::ignored(thread, key.kind());
        if seen {
            append(thread, || log::append(thread, key, address, None, None));
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
        if seen {
            judge(thread, || look(address as usize, key.pc() as usize));
        }
        let_come(thread);
    }
}

/// Records an access to a range of bytes and judges it.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
pub(crate) unsafe fn range(thread: *mut Thread, pc: usize, access: &Access) {
    let key = Key::new(pc as u64, Kind::range(access.mode, access.via));
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).internal != 0 || log::ignored(thread, key.kind()) {
            return;
        }
        let Some(stream) = log::stream_of(thread) else { return };
        record(thread, stream, || log::append(stream, key, access.address, Some(access.size), None));
        let (address, size) = (access.address as usize, access.size as usize);
        judge(thread, || super::range(thread, pc, (address, size), access.mode, access.via));
    }
}

/// Records anything but an access of the program's code, and judges it.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
pub(crate) unsafe fn event(thread: *mut Thread, pc: usize, op: &Op) {
    let Some((kind, address, extra)) = Kind::pack(op) else { return };
    // SAFETY: the caller's promise.
    unsafe {
        let Some(turn) = Turn::take(thread) else { return };
        turn.record(Key::new(pc as u64, kind), address, kind.has_extra().then_some(extra), None);
        turn.judge(|| super::event(thread, pc, op));
    }
}

/// A turn of the calling thread: nobody else takes a stamp meanwhile, or changes a clock.
pub(crate) struct Turn {
    thread: *mut Thread,
    stream: *mut Thread,
    held: Option<Held<'static>>,
}

impl Turn {
    /// Waits for a turn. `None` for a handler that interrupted its own thread's, and where nothing can be recorded: what
    /// happens is then neither recorded nor judged.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    pub(crate) unsafe fn take(thread: *mut Thread) -> Option<Turn> {
        // SAFETY: the caller's promise.
        unsafe {
            if (*thread).eye.beside.in_turn || (*thread).busy == ORDERING {
                return None;
            }
            let stream = log::stream_of(thread)?;
            // Before it is taken: a handler that comes then must not wait for its own thread.
            (*thread).eye.beside.in_turn = true;
            compiler_fence(Ordering::SeqCst);
            let held = TURN.take((*thread).id, stream == thread);
            (*thread).eye.beside.in_turn = held.is_some();
            held.map(|held| Turn { thread, stream, held: Some(held) })
        }
    }

    /// Whether the thread may wait for others: it interrupts no hook.
    pub(crate) fn patient(&self) -> bool {
        self.stream == self.thread
    }

    /// Appends an event, with a stamp if its kind has one. `load` is what to remember of an atomic load: how often its
    /// stripe had been written to.
    ///
    /// # Safety
    /// The turn is the calling thread's.
    pub(crate) unsafe fn record(&self, key: Key, address: u64, extra: Option<u64>, load: Option<u64>) {
        // SAFETY: the caller's promise; `take` gave the thread's own streams.
        unsafe {
            record(self.thread, self.stream, || {
                let stamp = key.kind().stamped().then(log::next_stamp);
                log::append(self.stream, key, address, extra, stamp);
                if let Some(version) = load {
                    log::remember_load(self.stream, key, address, version);
                }
            });
        }
    }

    /// Whether an atomic load is the last one once more, which is counted.
    ///
    /// # Safety
    /// The turn is the calling thread's.
    pub(crate) unsafe fn repeats(&self, key: Key, address: u64, version: u64) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let _busy = Busy::new(self.stream);
            log::repeat(self.stream, key, address, version)
        }
    }

    /// Judges what was recorded.
    ///
    /// # Safety
    /// The turn is the calling thread's.
    pub(crate) unsafe fn judge(&self, body: impl FnOnce()) {
        // SAFETY: the caller's promise.
        unsafe { judge(self.thread, body) };
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.held = None;
        compiler_fence(Ordering::SeqCst);
        // SAFETY: the calling thread's own state, which outlives its hook.
        unsafe {
            (*self.thread).eye.beside.in_turn = false;
            let_come(self.thread);
        }
    }
}

/// Appends to one of the thread's streams.
///
/// # Safety
/// `thread` is the calling thread's, and `stream` is what [`log::stream_of`] gave for it.
unsafe fn record(thread: *mut Thread, stream: *mut Thread, body: impl FnOnce()) {
    // SAFETY: the caller's promise: both are the calling thread's.
    unsafe {
        let _busy = Busy::new(stream);
        if stream == thread { append(thread, body) } else { body() }
    }
}

/// Appends to the thread's own stream. `low` says what neither the stream nor the tree of calls knows, so
/// both are told.
///
/// # Safety
/// `thread` is the calling thread's and marked busy.
unsafe fn append(thread: *mut Thread, body: impl FnOnce()) {
    // SAFETY: the caller's promise: the calling thread's own state.
    unsafe {
        let low = (*thread).low;
        if (*thread).eye.beside.clean > low {
            (*thread).eye.beside.clean = null_mut();
        }
        body();
        (*thread).low = low;
        Eye::node(thread);
        (*thread).clean = null_mut();
    }
}

/// Judges what was recorded. For as long the thread has `clean` as the detector left it, if that still holds: no other
/// moment began, no lock was taken or given back, and no function below it was left.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn judge(thread: *mut Thread, body: impl FnOnce()) {
    // SAFETY: the caller's promise: the calling thread's own state.
    unsafe {
        if (*thread).busy != 0 {
            return body();
        }
        let eye = &raw mut (*thread).eye;
        let Beside { clean, moment, .. } = (*eye).beside;
        if moment == (*eye).mine && !(*eye).relocked && clean <= (*thread).low {
            (*thread).clean = clean;
        }
        body();
        (*eye).beside.clean = (*thread).clean;
        (*eye).beside.moment = (*eye).mine;
        (*thread).clean = null_mut();
    }
}
