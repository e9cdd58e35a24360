//! Synchronisation objects: what each of them lets its next user see.
//!
//! An object is found by its address under the stripe of `hot::atomic` that also guards the atomic operations there, so
//! that an operation and what it orders are one step.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use super::clock::Clock;
use super::list::{LINE, List};
use super::pool;
use super::shadow::{self, REGION_LOG2, REGIONS};
use super::word;
use crate::hot::atomic::{STRIPES, stripe};
use crate::hot::stripe::Shown;
use crate::sys;

/// What kind of object. One address may hold one of each.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    Lock,
    Atomic,
    Semaphore,
    Once,
    Annotation,
    Condition,
    Barrier,
    /// An ended thread; its number is the address.
    Thread,
}

impl Family {
    /// Whether it is in memory, where it goes when that has a new life.
    pub(crate) fn is_in_memory(self) -> bool {
        self != Family::Thread
    }

    /// Whether it goes when the life of its memory ends already. Who was in a barrier or waited for a condition may say that the wait is over only after another has freed them.
    pub(crate) fn ends_with_memory(self) -> bool {
        !matches!(self, Family::Thread | Family::Barrier | Family::Condition)
    }
}

/// One object. What an atomic operation asks of it is in its first line of the processor's caches; behind it is a line for `written`, so that both can be fetched
/// at once.
#[repr(C, align(64))]
pub(crate) struct Object {
    next: *mut Object,
    address: u64,
    family: Family,
    /// For an atomic: how many bytes it has. They lie within [`STEP`], and no other atomic has one of them.
    size: u8,
    /// For an atomic: the number of the thread that published all that is shown, by an operation on just these bytes, so that its own stores
    /// continue its release sequences; 0: none.
    pub(crate) own: u32,
    /// Who published `written` last, if that is exactly what it knew: its slot, and the clock by which others can tell
    /// whether they know it. It counts where `written` has an earlier one of that slot.
    pub(crate) by: (u32, u64),
    /// How often that thread had learned something by then.
    pub(crate) version: u64,
    /// What was published: for a lock, by the last holder in write mode.
    pub(crate) written: Clock,
    /// For a lock: what holders in read mode published since then.
    pub(crate) read: Clock,
    /// For a condition variable: who waits, and what was signalled since then.
    pub(crate) waiters: List<(u32, *mut Clock)>,
    /// For a barrier.
    pub(crate) barrier: Barrier,
}

/// Who arrived at a barrier and who left it.
pub(crate) struct Barrier {
    /// The rounds that somebody has not left yet; the last is the one being gathered, if `open`.
    pub(crate) rounds: List<Round>,
    /// The number of the first of `rounds`.
    pub(crate) first: u64,
    pub(crate) open: bool,
    pub(crate) inside: List<(u32, u64)>,
}

/// Bytes of an object and the line behind it.
const WITH_LINE: usize = size_of::<Object>() + LINE;

impl Object {
    /// The addresses of the lines that an operation on the object at `address` changes.
    #[inline(always)]
    pub(crate) const fn lines(address: usize) -> [usize; 2] {
        [address, address + size_of::<Object>()]
    }

    /// The first `width` slots of a clock are shown, and nothing else.
    pub(crate) fn show(&mut self, clock: &Clock, width: usize) {
        self.shrink(width);
        self.written.assign_first(clock, width);
    }

    /// Nothing is shown.
    pub(crate) fn show_nothing(&mut self) {
        self.shrink(0);
        self.written.clear();
    }

    /// Gives memory back that is far more than what is shown needs.
    #[inline(always)]
    fn shrink(&mut self, width: usize) {
        if self.written.is_too_wide(width) {
            let [_, line] = Object::lines(&raw const *self as usize);
            self.written.drop_all();
            // SAFETY: the line behind the object is its own (`make`).
            unsafe { self.written.borrow_line(line as *mut u64) };
        }
    }

    /// What another clock knows is to be shown, too.
    pub(crate) fn show_too(&mut self, clock: &Clock) {
        // Who published last goes among what is shown.
        let (slot, last) = core::mem::take(&mut self.by);
        if slot != 0 {
            self.written.set(slot, last);
        }
        self.written.join(clock);
    }

    /// What is to be noted of it in its stripe.
    #[inline(always)]
    pub(crate) fn shown(&self) -> Shown {
        Shown { by: self.shown_by(), object: &raw const *self as u64 }
    }

    /// The access that whoever knows all that is shown knows; [`Shown::NOTHING`] if nothing is, and one that nobody knows if that cannot be said.
    #[inline(always)]
    fn shown_by(&self) -> u64 {
        let (slot, clock) = self.by;
        if self.written.is_empty() {
            Shown::NOTHING
        } else if slot != 0 {
            word::moment(slot, clock)
        } else {
            word::SEALED
        }
    }

    /// Whether it is an atomic that has one of these bytes, which are in the same list.
    #[inline(always)]
    fn has_of(&self, (address, size): Bytes) -> bool {
        self.family == Family::Atomic
            && self.address < address + size
            && address < self.address + u64::from(self.size)
    }

    /// The bytes that an atomic has of these, which are in the same list.
    pub(crate) fn bytes_of(&self, (address, size): Bytes) -> Bytes {
        let from = self.address.max(address);
        (from, (self.address + u64::from(self.size)).min(address + size) - from)
    }

    /// Adds what is shown to a clock.
    pub(crate) fn join_into(&self, clock: &mut Clock) {
        clock.join(&self.written);
        let (slot, shown) = self.by;
        if slot != 0 && clock.get(slot) < shown {
            clock.set(slot, shown);
        }
    }
}

/// One round of a barrier.
#[derive(Clone, Copy)]
pub(crate) struct Round {
    pub(crate) arrived: u32,
    pub(crate) left: u32,
    pub(crate) clock: *mut Clock,
}

/// A clock of its own memory that knows nothing.
pub(crate) fn make_clock() -> *mut Clock {
    let clock = pool::take(size_of::<Clock>()).cast::<Clock>();
    // SAFETY: the memory is large enough and ours.
    unsafe { clock.write(Clock::new()) };
    clock
}

/// Gives it back.
///
/// # Safety
/// It came from [`make_clock`], and nobody uses it any more.
pub(crate) unsafe fn drop_clock(clock: *mut Clock) {
    // SAFETY: the caller's promise.
    unsafe {
        (*clock).drop_all();
        pool::give(clock.cast(), size_of::<Clock>());
    }
}

/// By region of the address space: what to add to the first address of 8 bytes to come to their objects, a list that is
/// touched while their stripe is held; 0 where there are none.
static LISTS: [AtomicUsize; REGIONS] = [const { AtomicUsize::new(0) }; REGIONS];

/// Bits of an address that choose its list.
pub(crate) const ADDRESS_BITS: u32 = (REGIONS << REGION_LOG2).ilog2();
/// Bytes of addresses that share a list; they share a stripe, too.
const STEP: u64 = 8;

/// The list that holds an address's objects; `None` if nothing is near it yet and none is to be made, or without memory.
#[inline]
fn list(address: u64, make: bool) -> Option<*mut *mut Object> {
    const SHARE: usize = STEP as usize / size_of::<*mut Object>();
    let address = address as usize % (1 << ADDRESS_BITS);
    let region = address >> REGION_LOG2;
    let mut base = LISTS[region].load(Ordering::Acquire);
    if base == 0 {
        if !make {
            return None;
        }
        base = shadow::map(&LISTS[region], (region << REGION_LOG2) / SHARE, (1 << REGION_LOG2) / SHARE);
        if base == 0 {
            return None;
        }
    }
    Some(base.wrapping_add(address / STEP as usize * size_of::<*mut Object>()) as *mut *mut Object)
}

/// How many objects there are on pages, by the low bits of the page's number: most pages have none.
static ON_PAGES: [AtomicU32; 1 << 16] = [const { AtomicU32::new(0) }; 1 << 16];
const PAGE_LOG2: u32 = 12;

fn on_page(address: u64) -> &'static AtomicU32 {
    &ON_PAGES[(address >> PAGE_LOG2) as usize % ON_PAGES.len()]
}

/// The object at an address will be looked for soon.
#[inline(always)]
pub(crate) fn soon(address: u64) {
    if let Some(list) = list(address, false) {
        sys::machine::prefetch_to_write(list as usize);
    }
}

/// The object at an address, if there is one.
///
/// # Safety
/// The address's stripe is held.
#[inline]
pub(crate) unsafe fn find<'a>(address: u64, family: Family) -> Option<&'a mut Object> {
    // SAFETY: the caller's promise.
    unsafe {
        let mut at = *list(address, false)?;
        while !at.is_null() {
            if (*at).address == address && (*at).family == family {
                return Some(&mut *at);
            }
            at = (*at).next;
        }
    }
    None
}

/// The object at an address, made if need be.
///
/// # Safety
/// The address's stripe is held.
#[inline]
pub(crate) unsafe fn get<'a>(address: u64, family: Family) -> &'a mut Object {
    // SAFETY: the caller's promise.
    unsafe {
        match find(address, family) {
            Some(object) => object,
            None => make((address, 1), family),
        }
    }
}

/// Bytes within [`STEP`]: the first, and how many.
pub(crate) type Bytes = (u64, u64);

/// What an access's `size` bytes are within [`STEP`] bytes, and what in the next; nothing more is asked for.
pub(crate) const fn parts(address: u64, size: u64) -> [Bytes; 2] {
    let next = (address | (STEP - 1)) + 1;
    let first = if next - address < size { next - address } else { size };
    [(address, first), (next, size - first)]
}

/// What of the atomics is at an operation's bytes.
pub(crate) enum Found<'a> {
    /// One has just these, or none has any of them.
    Alone(Option<&'a mut Object>),
    /// One has some of them, and not all, or others as well.
    Cut,
}

/// Looks for the atomic of these bytes.
///
/// # Safety
/// Their stripe is held.
#[inline]
pub(crate) unsafe fn atomic<'a>((address, size): Bytes) -> Found<'a> {
    let mut cuts = false;
    // SAFETY: the caller's promise.
    unsafe {
        let Some(list) = list(address, false) else { return Found::Alone(None) };
        let mut at = *list;
        while !at.is_null() {
            if (*at).has_of((address, size)) {
                if ((*at).address, u64::from((*at).size)) == (address, size) {
                    return Found::Alone(Some(&mut *at));
                }
                cuts = true;
            }
            at = (*at).next;
        }
    }
    if cuts { Found::Cut } else { Found::Alone(None) }
}

/// An atomic of these bytes, of which none has any.
///
/// # Safety
/// As [`atomic`].
pub(crate) unsafe fn make_atomic<'a>(bytes: Bytes) -> &'a mut Object {
    // SAFETY: the caller's promise.
    unsafe { make(bytes, Family::Atomic) }
}

/// The atomic of these bytes, made if need be; none that has others has any of them.
///
/// # Safety
/// As [`atomic`].
#[inline]
pub(crate) unsafe fn get_atomic<'a>(bytes: Bytes) -> &'a mut Object {
    // SAFETY: the caller's promise.
    unsafe {
        match atomic(bytes) {
            Found::Alone(Some(object)) => object,
            _ => make(bytes, Family::Atomic),
        }
    }
}

/// Calls `each` with the atomics that have one of these bytes.
///
/// # Safety
/// As [`atomic`]; `each` takes none out.
pub(crate) unsafe fn each_atomic(bytes: Bytes, mut each: impl FnMut(&mut Object)) {
    // SAFETY: the caller's promise. What is made meanwhile comes first in the list.
    unsafe {
        let Some(list) = list(bytes.0, false) else { return };
        let mut at = *list;
        while !at.is_null() {
            if (*at).has_of(bytes) {
                each(&mut *at);
            }
            at = (*at).next;
        }
    }
}

/// An atomic of just these bytes that shows nothing: of those that had some of them others are left with the rest.
///
/// # Safety
/// As [`atomic`].
#[cold]
pub(crate) unsafe fn cut<'a>(bytes: Bytes) -> &'a mut Object {
    let (start, end) = (bytes.0, bytes.0 + bytes.1);
    // SAFETY: the caller's promise.
    unsafe {
        each_atomic(bytes, |old| {
            for (from, to) in [(old.address, start), (end, old.address + u64::from(old.size))] {
                if from < to {
                    let rest = make((from, to - from), Family::Atomic);
                    rest.written.assign(&old.written);
                    (rest.by, rest.version) = (old.by, old.version);
                }
            }
        });
        remove_of(start, |object| object.has_of(bytes));
        make(bytes, Family::Atomic)
    }
}

/// By stripe, memory of objects that went: what is made at the same addresses takes it, and waits for no other thread.
static SPARE: [[AtomicPtr<Object>; 2]; STRIPES] =
    [const { [const { AtomicPtr::new(null_mut()) }; 2] }; STRIPES];

/// Memory for the object of an address, whose stripe is held; a handler may come in between any two steps.
fn take_memory(address: u64) -> *mut Object {
    for spare in &SPARE[stripe(address as usize)] {
        if !spare.load(Ordering::Relaxed).is_null() {
            let object = spare.swap(null_mut(), Ordering::Acquire);
            if !object.is_null() {
                return object;
            }
        }
    }
    pool::take(WITH_LINE).cast()
}

/// Gives back what [`take_memory`] gave for an address, whose stripe is held.
///
/// # Safety
/// Nobody uses it any more.
unsafe fn give_memory(object: *mut Object, address: u64) {
    let keeps = |spare: &AtomicPtr<Object>| {
        spare.load(Ordering::Relaxed).is_null()
            && spare.compare_exchange(null_mut(), object, Ordering::Release, Ordering::Relaxed).is_ok()
    };
    if !SPARE[stripe(address as usize)].iter().any(keeps) {
        // SAFETY: the caller's promise.
        unsafe { pool::give(object.cast(), WITH_LINE) };
    }
}

/// Makes the object of an address, with so many bytes if it is an atomic.
///
/// # Safety
/// The address's stripe is held.
unsafe fn make<'a>((address, size): Bytes, family: Family) -> &'a mut Object {
    on_page(address).fetch_add(1, Ordering::Relaxed);
    let object = take_memory(address);
    let barrier = Barrier { rounds: List::new(), first: 0, open: false, inside: List::new() };
    let (mut written, read, waiters) = (Clock::new(), Clock::new(), List::new());
    // SAFETY: the caller's promise; the memory is ours, and the line lasts as long as the object.
    unsafe {
        written.borrow_line(object.add(1).cast());
        // Without memory for the list nothing is looked at any more, and nobody finds the object again.
        let mut nowhere = null_mut();
        let list = list(address, true).unwrap_or(&raw mut nowhere);
        let next = *list;
        object.write(Object {
            next,
            address,
            family,
            size: size as u8,
            own: 0,
            by: (0, 0),
            version: 0,
            written,
            read,
            waiters,
            barrier,
        });
        *list = object;
        &mut *object
    }
}

/// Takes out the objects at an address that `which` names.
///
/// # Safety
/// The address's stripe is held.
pub(crate) unsafe fn remove(address: u64, which: impl Fn(Family) -> bool) {
    // SAFETY: passed on.
    unsafe { remove_of(address, |object| object.address == address && which(object.family)) };
}

/// Takes out those objects of an address's list that `which` names.
///
/// # Safety
/// The address's stripe is held.
unsafe fn remove_of(address: u64, mut which: impl FnMut(&Object) -> bool) {
    // SAFETY: the callers hold the stripe; what is taken out is nobody's.
    unsafe {
        let Some(mut link) = list(address, false) else { return };
        while !(*link).is_null() {
            let object = *link;
            if which(&*object) {
                *link = (*object).next;
                on_page((*object).address).fetch_sub(1, Ordering::Relaxed);
                drop_object(object);
            } else {
                link = &raw mut (*object).next;
            }
        }
    }
}

/// Gives an object back.
///
/// # Safety
/// It came from [`make`], is in no list any more, and nobody uses it.
unsafe fn drop_object(object: *mut Object) {
    // SAFETY: it is in no list any more.
    unsafe {
        let state = &mut *object;
        state.written.drop_all();
        state.read.drop_all();
        state.waiters.iter().for_each(|waiter| drop_clock(waiter.1));
        state.waiters.drop_all();
        state.barrier.rounds.iter().for_each(|round| drop_clock(round.clock));
        state.barrier.rounds.drop_all();
        state.barrier.inside.drop_all();
        give_memory(object, state.address);
    }
}

/// Whether there may be objects in a range of addresses, which is within one region.
#[inline(always)]
pub(crate) fn may_be_within(start: usize, end: usize) -> bool {
    let pages = start as u64 >> PAGE_LOG2..=(end as u64 - 1) >> PAGE_LOG2;
    LISTS[start >> REGION_LOG2].load(Ordering::Acquire) != 0
        && pages.into_iter().any(|page| on_page(page << PAGE_LOG2).load(Ordering::Relaxed) != 0)
}

/// Calls `each` with every address in a range that may hold an object.
pub(crate) fn in_range(start: u64, end: u64, mut each: impl FnMut(u64)) {
    let end = end.min((REGIONS as u64) << REGION_LOG2);
    let mut at = start;
    while at < end {
        let region = at >> REGION_LOG2;
        if LISTS[region as usize].load(Ordering::Acquire) == 0 {
            at = (region + 1) << REGION_LOG2;
            continue;
        }
        let next = ((at >> PAGE_LOG2) + 1) << PAGE_LOG2;
        if on_page(at).load(Ordering::Relaxed) != 0 {
            in_page(at, next.min(end), &mut each);
        }
        at = next;
    }
}

fn in_page(start: u64, end: u64, each: &mut impl FnMut(u64)) {
    let mut at = start & !(STEP - 1);
    while at < end {
        // SAFETY: only whether the list is empty; an object that comes meanwhile is of the new life.
        if list(at, false).is_some_and(|list| unsafe { !list.read_volatile().is_null() }) {
            each(at);
        }
        at += STEP;
    }
}

/// Takes out all objects of these families whose addresses are in a range that is within 8 bytes from `at`, and in `start..end`; calls
/// `gone` with each of these addresses.
///
/// # Safety
/// The stripe of `at` is held.
pub(crate) unsafe fn remove_near(
    at: u64,
    (start, end): (u64, u64),
    which: fn(Family) -> bool,
    mut gone: impl FnMut(u64),
) {
    // SAFETY: the caller's promise.
    unsafe {
        cut_at_ends(at, start, end);
        remove_of(at, |object| {
            let goes = which(object.family) && object.address >= start && object.address < end;
            if goes {
                gone(object.address);
            }
            goes
        });
    }
}

/// Of atomics that lie across an end of a range no part stays within.
///
/// # Safety
/// As [`remove_near`].
unsafe fn cut_at_ends(at: u64, start: u64, end: u64) {
    let first = at & !(STEP - 1);
    let (from, to) = (start.max(first), end.min(first + STEP));
    if from < to && to - from < STEP {
        // SAFETY: the caller's promise.
        unsafe {
            if matches!(atomic((from, to - from)), Found::Cut) {
                cut((from, to - from));
            }
        }
    }
}
