//! Atomic operations: what one learns, its access, and what it publishes, while its stripe is held.
//!
//! Cost: for the common one a look for its object, a locked instruction in its cell, and a record. Model: [`in_general`].

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};

use super::eye::Eye;
use super::history::Kept;
use super::object::{self, Bytes, Found, Object};
use super::pair::{self, Entered};
use super::shadow::{self, Cell};
use super::word::{self, ATOMIC, GRANULE, WRITE};
use super::{JUDGING, ORDERING, enter, judge, looking, ordering, quick};
use crate::hot::stripe::{Held, Shown, Which};
use crate::hot::thread::Thread;
use crate::sys;

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

    /// Its bytes, if they lie within a granule.
    #[inline(always)]
    const fn bytes(&self) -> Bytes {
        (self.address as u64, 1 << self.log2)
    }

    /// As which atomic's what it finds is noted.
    #[inline(always)]
    const fn which(&self) -> Which {
        Which::new(self.address as u64, self.log2)
    }

    #[inline(always)]
    fn kept(&self) -> Kept {
        let place = (self.address as u64, u32::from(self.log2));
        Kept::atomic(place, self.mode, self.order, self.pc as u64)
    }
}

/// The lines that an operation is about to change, whose stripe is held, are fetched at once: each locked instruction waits for its own alone, and all behind it
/// would wait for that.
#[inline(always)]
pub(crate) fn soon((address, log2): (usize, u16), held: &Held<'_>) {
    sys::machine::prefetch_to_write(address);
    if let Some(cell) = shadow::cell(address) {
        sys::machine::prefetch_to_write(core::ptr::from_ref(cell) as usize);
    }
    if let Some(shown) = held.shown(Which::new(address as u64, log2)) {
        Object::lines(shown.object as usize).into_iter().for_each(sys::machine::prefetch_to_write);
    } else {
        object::soon(address as u64);
    }
}

/// The stripes of an operation's bytes: the first in the table, and the other if they have two.
pub(crate) type Stripes<'a> = (&'a Held<'a>, Option<&'a Held<'a>>);

/// Takes account of an operation, whose stripes are held; a write is counted.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(never)]
pub(crate) unsafe fn atomic(thread: *mut Thread, what: &Operation, stripes: Stripes<'_>) {
    let (held, _) = stripes;
    // SAFETY: the caller's promise; what is noted is there.
    unsafe {
        let Some(cell) = cell_of(thread, what) else { return in_general(thread, what, stripes) };
        let shown = held.shown(what.which());
        let object = match shown {
            Some(shown) => (shown.object as *mut Object).as_mut(),
            None => match object::atomic(what.bytes()) {
                Found::Alone(object) => object,
                Found::Cut => return in_general(thread, what, stripes),
            },
        };
        if let Some(object) = &object
            && what.mode.reads()
            && !(*thread).eye.knows(object)
        {
            learn(thread, what.order, object);
        }
        enter_cell(thread, what, cell);
        if what.mode.writes() {
            publish(thread, what, (object, shown.is_some()), held);
        } else if shown.is_none() {
            held.wrote();
            show(what, object.as_deref(), held);
        }
    }
}

/// Takes account of a load from which nothing is to be learned, whose stripe is not held; `false`, and nothing was done, if it has no cell, or its thread is not looked at.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(never)]
pub(crate) unsafe fn loaded(
    thread: *mut Thread,
    (pc, address): (usize, usize),
    log2: u16,
    order: MemoryOrder,
) -> bool {
    let what = Operation { pc, address, log2, mode: Mode::Read, order };
    // SAFETY: the caller's promise.
    unsafe {
        let Some(cell) = cell_of(thread, &what) else { return false };
        enter_cell(thread, &what, cell);
    }
    true
}

/// Whether there is something to be learned from what was noted of an atomic.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn teaches(thread: *mut Thread, shown: Shown) -> bool {
    // SAFETY: the caller's promise.
    shown.by != Shown::NOTHING && unsafe { !(*thread).eye.knows_moment(shown.by) }
}

/// What is noted of an atomic that shows just what relaxed operations of the thread publish; [`Shown::NOTHING`] if they publish nothing. `None` if that has no note.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn publishes(thread: *mut Thread) -> Option<u64> {
    // SAFETY: the caller's promise.
    let eye = unsafe { &(*thread).eye };
    let moment = if eye.released.is_empty() { Shown::NOTHING } else { eye.fence_moment() };
    (eye.released.is_empty() || moment != Shown::NOTHING).then_some(moment)
}

/// Whether the cell of an operation on `1 << log2` bytes, which has all of them, shows that the thread accessed these in this moment, and wrote them if `kind` is [`WRITE`]: then
/// an atomic access to them is nothing new, whether that was atomic or not.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn has_accessed(thread: *mut Thread, (address, log2): (usize, u16), kind: u64) -> bool {
    // SAFETY: the caller's promise; a thread that is not looked at has a word that is in no cell.
    let eye = unsafe { &(*thread).eye };
    let Some(cell) = shadow::known_cell(address) else { return false };
    let matters = word::EPOCH | word::bytes(address % GRANULE, 1 << log2) | kind;
    let shows = |word: u64| (word ^ (eye.mine | kind)) & matters == 0;
    !eye.is_out() && pair::words(cell).into_iter().any(shows)
}

/// The cell of an operation, if that is all that it has, and the thread is to be looked at.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
unsafe fn cell_of<'a>(thread: *mut Thread, what: &Operation) -> Option<&'a Cell> {
    let (address, size) = (what.address, 1 << what.log2);
    // SAFETY: the caller's promise; the cells are mapped.
    let state = unsafe { &*thread };
    let other = state.busy | state.internal | state.ignore_reads | state.ignore_writes;
    if other != 0 || state.eye.is_out() || !looking() || address % GRANULE + size > GRANULE {
        return None;
    }
    shadow::cell(address)
}

/// Publishes an access in its cell and judges it.
///
/// # Safety
/// `thread` is the calling thread's, for which [`cell_of`] gave `cell` just now.
#[inline(always)]
unsafe fn enter_cell(thread: *mut Thread, what: &Operation, cell: &Cell) {
    // SAFETY: the caller's promise.
    unsafe {
        let bytes = word::bytes(what.address % GRANULE, 1 << what.log2);
        let kind = if what.mode.writes() { WRITE | ATOMIC } else { ATOMIC };
        let mine = word::only((*thread).eye.mine, bytes) | kind;
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
    }
}

/// Notes in the stripe what the atomic shows.
#[inline(always)]
fn show(what: &Operation, object: Option<&Object>, held: &Held<'_>) {
    let shown = match object {
        Some(object) => object.shown(),
        None => Shown { by: Shown::NOTHING, object: 0 },
    };
    held.show(what.which(), shown);
}

/// The thread learns what an object shows.
///
/// # Safety
/// `thread` is the calling thread's, has a slot, and is in no other hook; the object's stripe is held.
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
///
/// # Safety
/// `thread` is the calling thread's, has a slot, and is busy.
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
///
/// # Safety
/// As for [`enter_cell`].
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

/// What an operation that writes publishes. `object`: what shows it at present, and whether that is noted.
///
/// # Safety
/// `thread` is the calling thread's, has a slot, and is in no other hook; `held` is the stripe of the
/// operation's address, which `object` is found by.
#[inline(always)]
unsafe fn publish(
    thread: *mut Thread,
    what: &Operation,
    (object, noted): (Option<&mut Object>, bool),
    held: &Held<'_>,
) {
    let Operation { mode, order, .. } = *what;
    // SAFETY: the caller's promise.
    unsafe {
        let fenced = !(*thread).eye.released.is_empty();
        let nothing = !order.releases() && !fenced;
        let shows_the_same =
            |object: &&mut Object| object.written.is_empty() || (*thread).eye.continues(object);
        let shows_fence = |object: &&mut Object| (*thread).eye.shows_fence(object, mode.reads());
        let stays = match nothing {
            true => mode.reads() || object.as_ref().is_none_or(shows_the_same),
            false => fenced && !order.releases() && object.as_ref().is_some_and(shows_fence),
        };
        if stays {
            if !noted {
                show(what, object.as_deref(), held);
            }
            return;
        }
        match object {
            Some(object)
                if order.releases() && (order.acquires() || !mode.reads() || (*thread).eye.knows(object)) =>
            {
                ordering(thread, |eye| release(eye, what, object));
                show(what, Some(object), held);
            }
            None if order.releases() => publish_first(thread, what, held),
            _ => publish_in_general(thread, what, held),
        }
    }
}

/// A thread publishes all that it knows, to an atomic that shows nothing else behind the operation.
#[inline(always)]
fn release(eye: &mut Eye, what: &Operation, object: &mut Object) {
    let begins = what.order.acquires() || !what.mode.reads();
    object.own = if begins { eye.number } else { 0 };
    eye.publish_to(object);
}

/// As [`publish`], of an operation that releases, to an atomic of which nothing is known yet.
///
/// # Safety
/// As there.
#[inline(never)]
unsafe fn publish_first(thread: *mut Thread, what: &Operation, held: &Held<'_>) {
    // Of operations on some of its bytes and others it may be noted that nothing is shown.
    held.forget();
    let mut made = None;
    // SAFETY: the caller's promise; no atomic has any of the bytes.
    unsafe {
        ordering(thread, |eye| {
            let object = object::make_atomic(what.bytes());
            release(eye, what, object);
            made = Some(&*object);
        });
    }
    show(what, made, held);
}

/// As [`publish`], where that is not done in few steps.
///
/// # Safety
/// As for [`super::ordering`]; `held` is the stripe of the operation's bytes, which no atomic has some of and others as well.
#[inline(never)]
unsafe fn publish_in_general(thread: *mut Thread, what: &Operation, held: &Held<'_>) {
    let Operation { mode, order, .. } = *what;
    // SAFETY: the caller's promise.
    unsafe {
        let object = alone(what);
        if (*thread).eye.atomic_can_publish(mode, order, object.as_deref()) {
            if object.is_none() {
                // Of operations on some of its bytes and others it may be noted that nothing is shown.
                held.forget();
            }
            ordering(thread, |eye| eye.atomic_publishes(what.bytes(), mode, order));
        }
        show(what, alone(what).as_deref(), held);
    }
}

/// The atomic of an operation's bytes, which no other has one of.
///
/// # Safety
/// Their stripe is held.
unsafe fn alone<'a>(what: &Operation) -> Option<&'a mut Object> {
    // SAFETY: the caller's promise.
    match unsafe { object::atomic(what.bytes()) } {
        Found::Alone(object) => object,
        Found::Cut => None,
    }
}

/// As [`atomic`].
///
/// # Safety
/// As there.
#[cold]
#[inline(never)]
unsafe fn in_general(thread: *mut Thread, what: &Operation, (held, other): Stripes<'_>) {
    // SAFETY: the caller's promise.
    unsafe {
        if (*thread).eye.slot == 0 || (*thread).busy == ORDERING || super::has_given_up() {
            return;
        }
        let (address, size) = what.bytes();
        let parts @ [_, (_, beyond)] = object::parts(address, size);
        if what.mode.reads() {
            parts.into_iter().filter(|part| part.1 != 0).for_each(|part| {
                object::each_atomic(part, |object| {
                    if !(*thread).eye.knows(object) {
                        ordering(thread, |eye| eye.atomic_learns(what.order, object));
                    }
                });
            });
        }
        judge(thread, &what.access(), what.pc as u64);
        if !what.mode.writes() {
            return;
        }
        if beyond == 0 && matches!(object::atomic((address, size)), Found::Alone(_)) {
            return publish_in_general(thread, what, held);
        }
        ordering(thread, |eye| eye.atomic_publishes_across(&parts, what.mode, what.order));
        held.forget();
        if let Some(other) = other {
            other.forget();
        }
    }
}
