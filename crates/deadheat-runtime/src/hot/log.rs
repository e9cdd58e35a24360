//! Appending to the calling thread's stream.
//!
//! Invariant: whatever instruction the process is killed at, the stream ends with a whole record:
//! bytes behind the last record are zero, zero ends a block, and a record's first byte is stored
//! last (or the whole record with one store).

use core::sync::atomic::{AtomicU64, Ordering, compiler_fence};

use deadheat_core::access::{Access, Mode};
use deadheat_core::codec::{Key, MAX_EVENT, put_varint, tag};
use deadheat_core::event::{BlockKind, Fault, LockMode, Op};
use deadheat_core::kind::Kind;

use super::thread::{self, Busy, Frame, Thread};
use crate::cold::{self, start};
use crate::gate;
use crate::online::{self, beside};
use crate::sys;

/// The one counter that orders all synchronisation events of the process.
static STAMP: AtomicU64 = AtomicU64::new(1);

/// A fresh stamp. Taken before a release takes effect and after an acquire did.
#[inline(always)]
pub(crate) fn next_stamp() -> u64 {
    STAMP.fetch_add(1, Ordering::SeqCst)
}

/// Room that one event and its stamp, extra number and the eight bytes of a wide store may need.
pub(crate) const ROOM: usize = MAX_EVENT + 32;

/// Records an access of a handler that interrupted a hook; `look` judges it, if it is to be.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
pub(crate) unsafe fn plain_nested(thread: *mut Thread, key: Key, address: u64, look: beside::Look) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).internal != 0 || ignored(thread, key.kind()) || start::light() {
            return;
        }
        let Some(stream) = stream_of(thread) else { return };
        {
            let _busy = Busy::new(stream);
            append(stream, key, address, None, None);
        }
        if online::beside_recording() {
            look(address as usize, key.pc() as usize);
        }
    }
}

/// Records an access when the quick way does not apply; `busy` is set already. `look` judges it, if it is to be.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
pub(crate) unsafe fn plain_unpredicted(thread: *mut Thread, key: Key, address: u64, look: beside::Look) {
    // SAFETY: the caller's promise.
    unsafe {
        if online::beside_recording() {
            return beside::access(thread, key, address, look);
        }
        if (*thread).internal == 0 && !ignored(thread, key.kind()) {
            if gate::on()
                && let Some(Op::Access(access)) = key.kind().unpack(address, 0)
            {
                gate::before_access(thread, key.pc(), access);
            }
            append(thread, key, address, None, None);
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// The block is full: takes another.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
pub(crate) unsafe fn block_full(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        let _busy = Busy::new(thread);
        cold::block::next(thread);
    }
}

/// Whether the program asked not to see accesses of this kind now.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn ignored(thread: *mut Thread, kind: Kind) -> bool {
    // SAFETY: `thread` is the calling thread's.
    unsafe {
        let state = &*thread;
        if state.ignore_reads | state.ignore_writes == 0 {
            return false;
        }
        match kind.unpack(0, 1) {
            Some(Op::Access(Access { mode: Mode::Read, .. })) => state.ignore_reads != 0,
            Some(Op::Access(_)) => state.ignore_writes != 0,
            _ => false,
        }
    }
}

/// The stream to append to: the thread's own, or its second one if a hook was interrupted.
///
/// # Safety
/// `thread` is the calling thread's, or one that nobody runs.
pub(crate) unsafe fn stream_of(thread: *mut Thread) -> Option<*mut Thread> {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).busy == 0 {
            return Some(thread);
        }
        let nested = cold::threads::nested(thread)?;
        if (*nested).busy != 0 {
            // A handler that interrupts the recording of another handler has no stream: its
            // accesses are lost, its effects on the program are not.
            return None;
        }
        mark_time(nested);
        Some(nested)
    }
}

/// Places a stream in time: what follows is of now and not of its last stamp, since which the
/// thread may have synchronised in its other stream.
///
/// # Safety
/// `stream` is the calling thread's, or of one that nobody runs, and not busy.
unsafe fn mark_time(stream: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        let _busy = Busy::new(stream);
        let state = &mut *stream;
        if state.at.is_null() {
            return;
        }
        let mut record = [0u8; MAX_EVENT];
        record[0] = tag::STAMP;
        state.stamp = next_stamp();
        let len = put_varint(state.stamp, &mut record, 1);
        store(state, &record[..len]);
        if state.at > state.limit {
            cold::block::next(stream);
        }
    }
}

/// Records an event with a stamp taken now. An access to a range goes to [`range`].
#[inline(always)]
pub(crate) fn event(pc: usize, op: &Op) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        if !gate::notes(thread, op) {
            event_of(thread, pc, op);
        }
    }
}

/// The thread has taken a lock.
#[inline(always)]
pub(crate) fn acquired(pc: usize, lock: u64, mode: LockMode) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        if !online::only() {
            return event(pc, &Op::Acquire { lock, mode });
        }
        if (*thread).internal | (*thread).ignore_sync == 0 {
            (*thread).locks += 1;
            online::acquired(thread, pc, lock, mode);
        }
    }
}

/// The thread is about to give a lock back.
#[inline(always)]
pub(crate) fn released(pc: usize, lock: u64, mode: LockMode) {
    let Some(thread) = thread::current() else { return };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        if !online::only() {
            return event(pc, &Op::Release { lock, mode });
        }
        if (*thread).internal | (*thread).ignore_sync == 0 {
            (*thread).locks = (*thread).locks.saturating_sub(1);
            online::released(thread, lock, mode);
        }
    }
}

/// [`event`] for a thread that is known to be the calling one.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn event_of(thread: *mut Thread, pc: usize, op: &Op) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).internal != 0 || ((*thread).ignore_sync != 0 && is_ordering(op)) {
            return;
        }
        match op {
            Op::Acquire { .. } => (*thread).locks += 1,
            Op::Release { .. } => (*thread).locks = (*thread).locks.saturating_sub(1),
            Op::Alloc { kind: BlockKind::Heap, .. } | Op::Free { kind: BlockKind::Heap, .. }
                if (*thread).signal != 0 =>
            {
                let (object, fault) = (u64::from((*thread).signal), Fault::SignalUnsafe);
                event_of(thread, pc, &Op::Fault { object, fault });
            }
            _ => {}
        }
        if online::on() {
            return if online::only() {
                online::event(thread, pc, op)
            } else {
                beside::event(thread, pc, op)
            };
        }
        if gate::on() {
            gate::event(thread, pc as u64, op);
            if start::light() {
                return;
            }
        }
        let Some((kind, address, extra)) = Kind::pack(op) else { return };
        let Some(stream) = stream_of(thread) else { return };
        let _busy = Busy::new(stream);
        let extra = kind.has_extra().then_some(extra);
        let stamp = kind.stamped().then(next_stamp);
        append(stream, Key::new(pc as u64, kind), address, extra, stamp);
    }
}

/// Whether `__tsan_ignore_sync`-like annotations hide the event.
fn is_ordering(op: &Op) -> bool {
    matches!(
        op,
        Op::Acquire { .. }
            | Op::Release { .. }
            | Op::Signal { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Fence(_)
    )
}

/// Records an access to a range of bytes: a memory or string function, a buffer of a system call.
///
/// Cost: that of a plain access if the codec predicts it and the size takes one byte. Model: the
/// general way at the end.
#[inline]
pub(crate) fn range(pc: usize, access: &Access) {
    const ONE_BYTE: u64 = 0x80;
    if access.size == 0 || gate::passes(pc) {
        return;
    }
    let Some(thread) = thread::current() else { return };
    if online::on() {
        // SAFETY: `current` gives the calling thread's own state.
        return unsafe {
            if online::only() {
                let (address, size) = (access.address as usize, access.size as usize);
                online::range(thread, pc, (address, size), access.mode, access.via);
            } else {
                beside::range(thread, pc, access);
            }
        };
    }
    let kind = Kind::range(access.mode, access.via);
    let key = Key::new(pc as u64, kind);
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        let state = &mut *thread;
        if state.busy != 0 {
            return range_nested(thread, key, access);
        }
        state.busy = 1;
        compiler_fence(Ordering::SeqCst);
        if state.top != state.clean || access.size >= ONE_BYTE {
            return range_unpredicted(thread, key, access);
        }
        let Some(packed) = state.predictor.encode_predicted(key, access.address) else {
            return range_unpredicted(thread, key, access);
        };
        // At most seven bytes and the size: one store.
        state.at.cast::<u64>().write_unaligned(packed.bits | access.size << (8 * packed.len));
        state.at = state.at.add(packed.len as usize + 1);
        compiler_fence(Ordering::SeqCst);
        state.busy = 0;
        if state.at > state.limit {
            block_full(thread);
        }
    }
}

/// Records an access to a range by a handler that interrupted a hook.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
unsafe fn range_nested(thread: *mut Thread, key: Key, access: &Access) {
    // SAFETY: `thread` is the calling thread's.
    unsafe {
        if (*thread).internal != 0 || ignored(thread, key.kind()) || start::light() {
            return;
        }
        let Some(stream) = stream_of(thread) else { return };
        let _busy = Busy::new(stream);
        append(stream, key, access.address, Some(access.size), None);
    }
}

/// Records an access to a range when the quick way does not apply.
///
/// # Safety
/// `thread` is the calling thread's and marked busy.
#[cold]
#[inline(never)]
unsafe fn range_unpredicted(thread: *mut Thread, key: Key, access: &Access) {
    // SAFETY: `thread` is the calling thread's.
    unsafe {
        if (*thread).internal == 0 && !ignored(thread, key.kind()) {
            if gate::on() {
                gate::before_access(thread, key.pc(), *access);
            }
            append(thread, key, access.address, Some(access.size), None);
        }
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// Appends one event, after the calls and returns that led to it.
///
/// # Safety
/// `stream` is the calling thread's and marked busy.
pub(crate) unsafe fn append(
    stream: *mut Thread,
    key: Key,
    address: u64,
    extra: Option<u64>,
    stamp: Option<u64>,
) {
    // SAFETY: the caller's promise.
    unsafe {
        tell_stack(stream);
        append_bare(stream, key, address, extra, stamp);
    }
}

/// As [`append`], with the calls that the trace has.
///
/// # Safety
/// As there.
#[inline]
unsafe fn append_bare(stream: *mut Thread, key: Key, address: u64, extra: Option<u64>, stamp: Option<u64>) {
    // SAFETY: the caller's promise.
    unsafe {
        let state = &mut *stream;
        if state.at.is_null() {
            return;
        }
        let mut head = [0u8; MAX_EVENT];
        let mut len = state.predictor.encode(key, address, &mut head);
        if let Some(extra) = extra {
            len = put_varint(extra, &mut head, len);
        }
        if let Some(stamp) = stamp {
            len = put_varint(stamp.wrapping_sub(state.stamp), &mut head, len);
            state.stamp = stamp;
        }
        store(state, &head[..len]);
        if state.at > state.limit {
            cold::block::next(stream);
        }
    }
}

/// Appends an event whose calls are told from the outermost one on: while races are looked for nothing else is
/// appended, and what the trace knows of the calls is not kept up. Beside a recording the event is in the stream already.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn tell_anew(thread: *mut Thread, pc: usize, op: &Op) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((kind, address, extra)) = Kind::pack(op) else { return };
        if (*thread).busy != 0 || online::beside_recording() {
            return;
        }
        let top = (*thread).top;
        if top.offset_from((*thread).frames) as usize > MOST_TOLD {
            let _quiet = sys::Quiet::new();
            return tell_from(thread, pc as u64, (1..=MOST_TOLD).map(|at| (*top.sub(at)).call), op);
        }
        let _busy = Busy::new(thread);
        let low = (*thread).low;
        (*thread).low = (*thread).frames;
        let extra = kind.has_extra().then_some(extra);
        append(thread, Key::new(pc as u64, kind), address, extra, kind.stamped().then(next_stamp));
        (*thread).low = low;
        (*thread).clean = core::ptr::null_mut();
    }
}

/// As [`tell_anew`], of an event for whose calls nobody asks: it has those of the one before.
///
/// # Safety
/// As there.
pub(crate) unsafe fn tell_bare(thread: *mut Thread, pc: usize, op: &Op) {
    // SAFETY: the caller's promise.
    unsafe {
        let Some((kind, address, extra)) = Kind::pack(op) else { return };
        if (*thread).busy != 0 || online::beside_recording() {
            return;
        }
        let _busy = Busy::new(thread);
        let extra = kind.has_extra().then_some(extra);
        append_bare(thread, Key::new(pc as u64, kind), address, extra, kind.stamped().then(next_stamp));
    }
}

/// So many calls of an event are told at the most while races are looked for, the innermost: a report shows no more, and where fibers are switched unseen, calls
/// are left that nobody saw the end of.
const MOST_TOLD: usize = 256;

/// As [`tell_anew`], of an event that had other calls above it: `calls`, the innermost first.
///
/// # Safety
/// `thread` is the calling thread's, and no handler interrupts it meanwhile.
pub(crate) unsafe fn tell_from(
    thread: *mut Thread,
    pc: u64,
    calls: impl Iterator<Item = u64> + Clone,
    op: &Op,
) {
    // SAFETY: the caller's promise. The frames above `top` are free.
    unsafe {
        let Some((kind, address, extra)) = Kind::pack(op) else { return };
        if (*thread).busy != 0 || (*thread).at.is_null() || online::beside_recording() {
            return;
        }
        let _busy = Busy::new(thread);
        let (low, top) = ((*thread).low, (*thread).top);
        // The trace is told to leave all calls, and then those of the event.
        (*thread).low = (*thread).frames;
        (*thread).top = (*thread).frames;
        tell_stack(thread);
        let room = (*thread).frames_end.offset_from(top) as usize;
        let depth = calls.clone().take(MOST_TOLD).count().min(room);
        for (at, call) in (0..depth).rev().zip(calls) {
            top.add(at).write(Frame { call, stack: 0 });
        }
        ((*thread).told, (*thread).low, (*thread).top) = (top, top, top.add(depth));
        let extra = kind.has_extra().then_some(extra);
        append(thread, Key::new(pc, kind), address, extra, kind.stamped().then(next_stamp));
        // So many calls the trace knows now.
        ((*thread).told, (*thread).low) = ((*thread).frames.add(depth), low);
        (*thread).top = top;
        (*thread).clean = core::ptr::null_mut();
    }
}

/// Tells the trace which functions were left and entered since the last event.
///
/// # Safety
/// `stream` is the calling thread's and marked busy.
pub(crate) unsafe fn tell_stack(stream: *mut Thread) {
    // SAFETY: the caller's promise; frames below `top` are filled.
    unsafe {
        let state = &mut *stream;
        if state.at.is_null() {
            return;
        }
        let left = state.told.offset_from(state.low) as usize;
        if left > 0 {
            if left <= 8 {
                store(state, &[tag::POP | (left - 1) as u8]);
            } else {
                let mut record = [0u8; 12];
                record[0] = tag::POP_MANY;
                let len = put_varint(left as u64, &mut record, 1);
                store(state, &record[..len]);
            }
        }
        let mut frame: *mut Frame = state.low;
        state.told = state.low;
        while frame < state.top {
            let mut record = [0u8; MAX_EVENT];
            let len = state.predictor.encode_call((*frame).call, &mut record);
            store(state, &record[..len]);
            frame = frame.add(1);
            state.told = frame;
            state.low = frame;
            if state.at > state.limit {
                cold::block::next(stream);
                if state.at.is_null() {
                    return;
                }
            }
        }
        state.low = state.told;
        if state.ignore_reads | state.ignore_writes | state.internal == 0 && !gate::on() {
            state.clean = state.told;
        }
    }
}

/// Stores one record, its first byte last.
///
/// # Safety
/// The stream is marked busy, and its block has room for the record, which is not empty.
#[inline(always)]
unsafe fn store(state: &mut Thread, record: &[u8]) {
    // SAFETY: the block has `ROOM` behind `limit`, and no record is longer.
    unsafe {
        let at = state.at;
        core::ptr::copy_nonoverlapping(record.as_ptr().add(1), at.add(1), record.len() - 1);
        compiler_fence(Ordering::SeqCst);
        at.write_volatile(record[0]);
        state.at = at.add(record.len());
    }
}

/// Counts one more of the atomic load that was recorded last, if nothing came in between.
///
/// # Safety
/// `stream` is the calling thread's and marked busy.
pub(crate) unsafe fn repeat(stream: *mut Thread, key: Key, address: u64, version: u64) -> bool {
    const RECORD: usize = 6;
    // SAFETY: the caller's promise; a repeat record is within the present block.
    unsafe {
        let state = &mut *stream;
        let spin = &mut state.spin;
        if state.at != spin.end
            || spin.key != key.0
            || spin.address != address
            || spin.version != version
            || state.top != state.told
            || state.low != state.told
            || state.at.is_null()
        {
            return false;
        }
        if spin.repeat.is_null() {
            let at = state.at;
            for i in 1..RECORD {
                at.add(i).write_volatile(padded_varint(1)[i - 1]);
            }
            compiler_fence(Ordering::SeqCst);
            at.write_volatile(tag::REPEAT);
            spin.repeat = at;
            spin.times = 1;
            state.at = at.add(RECORD);
            spin.end = state.at;
            if state.at > state.limit {
                cold::block::next(stream);
            }
        } else {
            if spin.times == u32::MAX {
                return false;
            }
            spin.times += 1;
            let bytes = padded_varint(spin.times);
            // One store of the four low digits; the fifth changes once in 2^28 times.
            spin.repeat.add(5).write_volatile(bytes[4]);
            spin.repeat
                .add(1)
                .cast::<u32>()
                .write_unaligned(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]));
        }
        true
    }
}

/// A number as a varint of five bytes, whatever its size, so that it can be changed in place.
fn padded_varint(number: u32) -> [u8; 5] {
    let digit = |i: u32| (number >> (7 * i) & 0x7f) as u8;
    [digit(0) | 0x80, digit(1) | 0x80, digit(2) | 0x80, digit(3) | 0x80, digit(4)]
}

/// Remembers the atomic load that was recorded last, for [`repeat`].
///
/// # Safety
/// `stream` is the calling thread's and marked busy.
pub(crate) unsafe fn remember_load(stream: *mut Thread, key: Key, address: u64, version: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let state = &mut *stream;
        state.spin = thread::Spin {
            key: key.0,
            address,
            version,
            end: state.at,
            repeat: core::ptr::null_mut(),
            times: 0,
            patience: 0,
            moment: 0,
        };
    }
}

/// Appends the thread's name.
pub(crate) fn name(thread: *mut Thread, name: &[u8]) {
    // SAFETY: called with the calling thread's own state.
    unsafe {
        let Some(stream) = stream_of(thread) else { return };
        let _busy = Busy::new(stream);
        let state = &mut *stream;
        if state.at.is_null() || name.len() > MAX_NAME {
            return;
        }
        let mut record = [0u8; 2 + MAX_NAME];
        record[0] = tag::NAME;
        record[1] = name.len() as u8;
        record[2..2 + name.len()].copy_from_slice(name);
        store(state, &record[..2 + name.len()]);
        if state.at > state.limit {
            cold::block::next(stream);
        }
    }
}

/// Appends the number that the program gave the thread.
///
/// # Safety
/// `thread` is the calling thread's, and nothing was appended yet.
pub(crate) unsafe fn given(thread: *mut Thread, number: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let _busy = Busy::new(thread);
        if (*thread).at.is_null() {
            return;
        }
        let mut record = [0u8; MAX_EVENT];
        record[0] = tag::GIVEN;
        let len = put_varint(number, &mut record, 1);
        store(&mut *thread, &record[..len]);
    }
}

/// The longest thread name that the kernel keeps, and then some.
const MAX_NAME: usize = 31;
const _: () = assert!(MAX_NAME + 2 <= ROOM && MAX_EVENT + 8 <= ROOM);
