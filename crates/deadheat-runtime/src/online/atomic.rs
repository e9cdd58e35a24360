//! Atomic operations: what one learns, its access, and what it publishes, while its stripe is held.
//!
//! Cost: for the common one a look for its object, a locked instruction in its cell, and a record. Model: [`in_general`].

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};

use super::eye::Eye;
use super::history::Kept;
use super::object::{self, Family, Object};
use super::pair::{self, Entered};
use super::shadow::{self, Cell};
use super::word::{self, ATOMIC, GRANULE, WRITE};
use super::{JUDGING, ORDERING, enter, judge, looking, ordering, quick};
use crate::hot::thread::Thread;

/// An atomic operation that took place just now.
#[derive(Clone, Copy)]
pub(crate) struct Operation {
    pub(crate) pc: usize,
    pub(crate) address: usize,
    /// log2 of its size.
    pub(crate) log2: u16,
    pub(crate) mode: Mode,
    pub(crate) order: MemoryOrder,
}

impl Operation {
    fn access(&self) -> Access {
        let Operation { address, log2, mode, order, .. } = *self;
        Access { address: address as u64, size: 1 << log2, mode, atomic: Some(order), via: Via::Code }
    }

    #[inline(always)]
    fn kept(&self) -> Kept {
        let place = (self.address as u64, u32::from(self.log2));
        Kept::atomic(place, self.mode, self.order, self.pc as u64)
    }
}

/// Takes account of an operation, whose stripe is held.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(never)]
pub(crate) unsafe fn atomic(thread: *mut Thread, what: &Operation) {
    let (address, size) = (what.address, 1 << what.log2);
    // SAFETY: the caller's promise; the cells are mapped.
    unsafe {
        let state = &*thread;
        let other = state.busy | state.internal | state.ignore_reads | state.ignore_writes;
        if other != 0 || state.eye.is_out() || !looking() || address % GRANULE + size > GRANULE {
            return in_general(thread, what);
        }
        let Some(cell) = shadow::cell(address) else { return in_general(thread, what) };
        let object = object::find(address as u64, Family::Atomic);
        if let Some(object) = &object
            && what.mode.reads()
            && !state.eye.knows(object)
        {
            learn(thread, what.order, object);
        }
        let kind = if what.mode.writes() { WRITE | ATOMIC } else { ATOMIC };
        let mine = word::only((*thread).eye.mine, word::bytes(address % GRANULE, size)) | kind;
        match pair::renew_atomic(&quick::past_of(thread), cell, mine) {
            Entered::There => {}
            Entered::Yes => {
                (*thread).busy = JUDGING;
                compiler_fence(Ordering::SeqCst);
                note(thread, what);
                compiler_fence(Ordering::SeqCst);
                (*thread).busy = 0;
            }
            entered => publish_access(thread, what, (cell, mine), entered),
        }
        if what.mode.writes() {
            publish(thread, what, object);
        }
    }
}

/// The thread learns what an object shows.
unsafe fn learn(thread: *mut Thread, order: MemoryOrder, object: &Object) {
    // SAFETY: the caller's promise.
    unsafe {
        (*thread).busy = ORDERING;
        compiler_fence(Ordering::SeqCst);
        (*thread).eye.atomic_learns(order, object);
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// Notes the access in the history.
#[inline(always)]
unsafe fn note(thread: *mut Thread, what: &Operation) {
    // SAFETY: the caller's promise: the calling thread's own state, and it is busy.
    unsafe {
        if (*thread).top != (*thread).clean {
            Eye::tell_moment(thread);
        }
        Eye::keep(thread, what.kept());
    }
}

/// Publishes the access in its cell where that is not done in few steps.
#[inline(never)]
unsafe fn publish_access(
    thread: *mut Thread,
    what: &Operation,
    (cell, mine): (&Cell, u64),
    entered: Entered,
) {
    // SAFETY: the caller's promise.
    unsafe {
        (*thread).busy = JUDGING;
        compiler_fence(Ordering::SeqCst);
        let mut noted = false;
        let mut note = || {
            if !noted {
                noted = true;
                note(thread, what);
            }
        };
        let place = (cell, what.address & !(GRANULE - 1));
        let access = || (what.access(), what.pc as u64);
        enter(thread, place, (mine, true), entered, (&mut note, &access));
        compiler_fence(Ordering::SeqCst);
        (*thread).busy = 0;
    }
}

/// What an operation that writes publishes.
#[inline(always)]
unsafe fn publish(thread: *mut Thread, what: &Operation, object: Option<&mut Object>) {
    let Operation { mode, order, .. } = *what;
    // SAFETY: the caller's promise.
    unsafe {
        let nothing = !order.releases() && (*thread).eye.released.is_empty();
        if nothing && (mode.reads() || object.as_ref().is_none_or(|object| object.written.is_empty())) {
            return;
        }
        if let Some(object) = object
            && order.releases()
            && (order.acquires() || !mode.reads() || (*thread).eye.knows(object))
        {
            return ordering(thread, |eye| eye.publish_to(object));
        }
        publish_in_general(thread, what);
    }
}

#[inline(never)]
unsafe fn publish_in_general(thread: *mut Thread, what: &Operation) {
    let Operation { address, mode, order, .. } = *what;
    // SAFETY: the caller's promise.
    unsafe {
        let object = object::find(address as u64, Family::Atomic);
        if (*thread).eye.atomic_can_publish(mode, order, object.as_deref()) {
            ordering(thread, |eye| eye.atomic_publishes(address as u64, mode, order));
        }
    }
}

/// As [`atomic`].
#[cold]
#[inline(never)]
unsafe fn in_general(thread: *mut Thread, what: &Operation) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).eye.slot == 0 || (*thread).busy == ORDERING || super::has_given_up() {
            return;
        }
        let object = object::find(what.address as u64, Family::Atomic);
        if let Some(object) = &object
            && what.mode.reads()
            && !(*thread).eye.knows(object)
        {
            ordering(thread, |eye| eye.atomic_learns(what.order, object));
        }
        judge(thread, &what.access(), what.pc as u64);
        if what.mode.writes() {
            publish_in_general(thread, what);
        }
    }
}
