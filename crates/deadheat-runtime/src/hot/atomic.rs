//! Atomic operations.
//!
//! Each is carried out and stamped under the lock of its address's stripe, so that the order of
//! stamps is the order in which the operations took place and a reader of the trace knows which
//! store a load read from. Model: "do it, stamp it, append it".

mod bytes;
mod library;
mod short;

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering, fence};

use deadheat_core::access::{MemoryOrder, Mode};
use deadheat_core::codec::Key;
use deadheat_core::event::Op;
use deadheat_core::kind::Kind;
use deadheat_core::options;

use super::log;
use super::stripe::{Held, Stripe};
use super::thread::{self, Busy, Holds, Thread};
use crate::cold::{start, together};
use crate::gate;
use crate::online::{self, Operation, beside};
use crate::sys;
pub(crate) use bytes::on_bytes;
pub(crate) use library::{drop_beyond_first, drop_shared, pass_on, release_store, share};

/// Operations on 8 bytes share a stripe, so that those of different sizes on overlapping bytes are in one order; what lies across takes two.
const BYTES_LOG2: usize = 3;
const STRIPES_LOG2: u32 = 10;
pub(crate) const STRIPES: usize = 1 << STRIPES_LOG2;
static STRIPE: [Stripe; STRIPES] = [const { Stripe::new() }; STRIPES];

/// Frees all stripes, in a forked child whose other threads are gone.
pub(crate) fn free_all() {
    STRIPE.iter().for_each(Stripe::free);
    beside::free();
}

/// Frees the stripes of a thread that was cancelled in the middle of an atomic operation.
pub(crate) fn abandon(owner: u32) {
    STRIPE.iter().for_each(|stripe| stripe.abandon(owner));
    beside::abandon(owner);
}

/// Bits of the program's addresses: what is above is a name's that stands for no memory.
const ADDRESS_BITS: u32 = 47;

/// The stripe that guards an address, another one than its neighbour's. Stacks and the heaps of threads lie so that their addresses have the lower bits in common: all bits count, but those that
/// do not choose the list of an address's objects, which one stripe guards.
#[inline(always)]
pub(crate) const fn stripe(address: usize) -> usize {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let place = (address as u64 >> BYTES_LOG2) << (u64::BITS - ADDRESS_BITS + BYTES_LOG2 as u32);
    (place.wrapping_mul(SPREAD) >> (u64::BITS - STRIPES_LOG2)) as usize
}

const _: () =
    assert!(stripe(0xfd03_0000_1234_5678) == stripe(0x1234_5678) && ADDRESS_BITS == online::ADDRESS_BITS);

/// Takes the stripe of an address for a thread, by its number; `patient` as in [`Stripe::take`].
#[inline]
pub(crate) fn hold(address: usize, (owner, patient): (u32, bool)) -> Option<Held<'static>> {
    STRIPE[stripe(address)].take(owner, patient)
}

/// Whether one stripe guards all of an operation's `1 << log2` bytes.
#[inline(always)]
fn has_one(address: usize, log2: u16) -> bool {
    const BYTES: usize = 1 << BYTES_LOG2;
    address % BYTES + (1 << log2) <= BYTES
}

/// The stripes of an operation's bytes, which are held.
struct Taken {
    first: Held<'static>,
    /// Where the bytes lie across.
    second: Option<Held<'static>>,
}

impl Taken {
    /// As [`hold`], of all that an operation needs.
    #[inline(always)]
    fn new((address, log2): (usize, u16), owner: u32, patient: bool) -> Option<Taken> {
        if has_one(address, log2) {
            let first = hold(address, (owner, patient))?;
            return Some(Taken { first, second: None });
        }
        Taken::of_two([address, address + (1 << BYTES_LOG2)].map(stripe), owner, patient)
    }

    /// Two stripes, the first of the table first, wherever the operation begins: so no circle of threads waits for each other.
    #[cold]
    #[inline(never)]
    fn of_two([first, second]: [usize; 2], owner: u32, patient: bool) -> Option<Taken> {
        let take = |at: usize| STRIPE[at].take(owner, patient);
        let early = take(first.min(second))?;
        let late = take(first.max(second))?;
        let (first, second) = if first < second { (early, late) } else { (late, early) };
        Some(Taken { first, second: Some(second) })
    }

    /// Both.
    #[inline(always)]
    fn held(&self) -> (&Held<'static>, Option<&Held<'static>>) {
        (&self.first, self.second.as_ref())
    }

    /// As [`Held::wrote`], in each of them.
    #[inline(always)]
    fn wrote(&self) {
        self.first.wrote();
        if let Some(second) = &self.second {
            second.wrote();
        }
    }

    /// As [`Held::writes`], of all together.
    #[inline(always)]
    fn writes(&self) -> u64 {
        self.first.writes() + self.second.as_ref().map_or(0, Held::writes)
    }
}

/// What an operation turned out to do.
struct Outcome<R> {
    result: R,
    mode: Mode,
    order: MemoryOrder,
}

/// What an operation is meant to do.
struct Meant {
    mode: Mode,
    order: u32,
    /// What a compare-exchange expects to find.
    expects: Option<u128>,
}

impl Meant {
    fn to(mode: Mode, order: u32) -> Meant {
        Meant { mode, order, expects: None }
    }

    /// Whether it writes and orders nothing itself.
    #[inline(always)]
    fn writes_relaxed(&self) -> bool {
        self.mode.writes() && MemoryOrder::from_abi(self.order) == MemoryOrder::Relaxed
    }

    /// Whether it may take a lock of the program's own making.
    #[inline(always)]
    fn may_lock(&self) -> bool {
        self.mode == Mode::ReadWrite && MemoryOrder::from_abi(self.order).acquires()
    }
}

/// Carries out `operation` on the `1 << log2` bytes at `address` and records it.
#[inline]
fn perform<R>(pc: usize, address: usize, log2: u16, meant: Meant, operation: impl Fn() -> Outcome<R>) -> R {
    if meant.mode == Mode::Read
        && let Some(result) = short::known_load((pc, address, log2), &operation)
    {
        return result;
    }
    if meant.writes_relaxed()
        && let Some(result) = short::known_write((address, log2), meant.mode.reads(), &operation)
    {
        return result;
    }
    if gate::passes(pc) {
        return operation().result;
    }
    let Some(thread) = thread::current() else { return operation().result };
    // SAFETY: `current` gives the calling thread's own state.
    unsafe {
        if (*thread).internal != 0 || (*thread).ignore_sync != 0 {
            return operation().result;
        }
        let nested = (*thread).busy != 0;
        let patient = (*thread).holds == 0;
        if gate::on() && !nested {
            gated(
                thread,
                pc,
                Kind::atomic(log2, meant.mode, MemoryOrder::from_abi(meant.order)),
                address,
                &meant,
            );
        }
        if start::light() {
            return operation().result;
        }
        if online::on() {
            let what = (pc, address, log2);
            if meant.may_lock() && !nested {
                together::before_lock();
            }
            return if online::only() {
                detect(thread, nested, what, meant.mode, operation)
            } else {
                record_and_detect(thread, what, meant.mode, operation)
            };
        }
        let Some(stream) = log::stream_of(thread) else { return operation().result };
        let _busy = Busy::new(stream);
        record(stream, patient, (pc, address, log2), operation)
    }
}

/// Lets the gate hold the thread before the operation.
///
/// # Safety
/// `thread` is the calling thread's, and in no other hook.
#[cold]
unsafe fn gated(thread: *mut Thread, pc: usize, kind: Kind, address: usize, meant: &Meant) {
    let access = kind.unpack_atomic(address as u64);
    let coming = gate::Coming { access, pc: pc as u64, expects: meant.expects };
    // SAFETY: `thread` is the calling thread's.
    unsafe {
        let _busy = Busy::new(thread);
        gate::before(thread, &coming);
    }
}

/// Carries out an operation and judges it, as one step.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline]
unsafe fn detect<R>(
    thread: *mut Thread,
    nested: bool,
    (pc, address, log2): (usize, usize, u16),
    meant: Mode,
    operation: impl Fn() -> Outcome<R>,
) -> R {
    // SAFETY: the caller's promise.
    unsafe {
        let loads = !meant.writes() && !nested && online::looking() && has_one(address, log2);
        let holds = Holds::new(thread);
        let patient = !nested && holds.is_first();
        let Some(taken) = Taken::new((address, log2), (*thread).id, patient) else {
            return operation().result;
        };
        if meant.writes() {
            taken.wrote();
        }
        online::soon((address, log2), &taken.first);
        let outcome = operation();
        let (mode, order) = (outcome.mode, outcome.order);
        online::atomic(thread, &Operation { pc, address, log2, mode, order }, taken.held());
        if loads {
            short::remember(thread, (pc, address), taken.writes());
        }
        outcome.result
    }
}

/// Carries out an operation and records it. `patient`: no hook that this one's handler interrupted holds anything.
///
/// # Safety
/// `stream` is the calling thread's and marked busy.
#[inline]
unsafe fn record<R>(
    stream: *mut Thread,
    patient: bool,
    (pc, address, log2): (usize, usize, u16),
    operation: impl FnOnce() -> Outcome<R>,
) -> R {
    // SAFETY: the caller's promise. A thread's two streams have its number.
    let (owner, _holds) = unsafe { ((*stream).id, Holds::new(stream)) };
    let Some(taken) = Taken::new((address, log2), owner, patient) else { return operation().result };
    let outcome = operation();
    let key = Key::new(pc as u64, Kind::atomic(log2, outcome.mode, outcome.order));
    // SAFETY: the caller's promise.
    unsafe {
        if outcome.mode.writes() {
            taken.wrote();
        } else if log::repeat(stream, key, address as u64, taken.writes()) {
            return outcome.result;
        }
        let version = taken.writes();
        let stamp = log::next_stamp();
        drop(taken);
        log::append(stream, key, address as u64, None, Some(stamp));
        if !outcome.mode.writes() {
            log::remember_load(stream, key, address as u64, version);
        }
    }
    outcome.result
}

/// Carries out an operation, records it and judges it, as one step among all that order threads.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
unsafe fn record_and_detect<R>(
    thread: *mut Thread,
    (pc, address, log2): (usize, usize, u16),
    meant: Mode,
    operation: impl Fn() -> Outcome<R>,
) -> R {
    // SAFETY: the caller's promise.
    unsafe {
        let Some(turn) = beside::Turn::take(thread) else { return operation().result };
        let taken = Taken::new((address, log2), (*thread).id, turn.patient());
        let Some(taken) = taken else { return operation().result };
        if meant.writes() {
            taken.wrote();
        }
        let outcome = operation();
        let kind = Kind::atomic(log2, outcome.mode, outcome.order);
        let key = Key::new(pc as u64, kind);
        let (load, version) = (!meant.writes(), taken.writes());
        if load && turn.repeats(key, address as u64, version) {
            drop((taken, turn));
            sys::yield_now();
            return outcome.result;
        }
        turn.record(key, address as u64, None, load.then_some(version));
        let (mode, order) = (outcome.mode, outcome.order);
        turn.judge(|| online::atomic(thread, &Operation { pc, address, log2, mode, order }, taken.held()));
        outcome.result
    }
}

/// An integer that can be accessed atomically. The operations are sequentially consistent (but for [`Atom::store`]),
/// whatever order the program asked for: stronger than asked is always allowed.
pub(crate) trait Atom: Copy + Eq {
    /// log2 of the size.
    const LOG2: u16;
    /// The value, its bytes in memory first.
    fn wide(self) -> u128;
    /// # Safety
    /// For all: `at` is valid and aligned.
    unsafe fn load(at: *mut Self) -> Self;
    /// A store that releases.
    /// # Safety
    /// As above.
    unsafe fn store(at: *mut Self, new: Self);
    /// # Safety
    /// As above.
    unsafe fn swap(at: *mut Self, new: Self) -> Self;
    /// # Safety
    /// As above.
    unsafe fn compare_exchange(at: *mut Self, expected: Self, new: Self) -> Result<Self, Self>;
    /// Applies `f` and gives what was there before.
    /// # Safety
    /// As above.
    unsafe fn update(at: *mut Self, f: impl Fn(Self) -> Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe {
            let mut seen = Self::load(at);
            loop {
                match Self::compare_exchange(at, seen, f(seen)) {
                    Ok(before) => return before,
                    Err(now) => seen = now,
                }
            }
        }
    }
}

macro_rules! atom {
    ($integer:ty, $atomic:ty, $log2:literal) => {
        impl Atom for $integer {
            const LOG2: u16 = $log2;

            fn wide(self) -> u128 {
                u128::from(self)
            }

            #[inline]
            unsafe fn load(at: *mut Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.load(Ordering::SeqCst)
            }

            #[inline]
            unsafe fn store(at: *mut Self, new: Self) {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.store(new, Ordering::Release);
            }

            #[inline]
            unsafe fn swap(at: *mut Self, new: Self) -> Self {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.swap(new, Ordering::SeqCst)
            }

            #[inline]
            unsafe fn compare_exchange(at: *mut Self, expected: Self, new: Self) -> Result<Self, Self> {
                // SAFETY: the caller's promise.
                let atomic = unsafe { <$atomic>::from_ptr(at) };
                atomic.compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
            }
        }
    };
}

atom!(u8, AtomicU8, 0);
atom!(u16, AtomicU16, 1);
atom!(u32, AtomicU32, 2);
atom!(u64, AtomicU64, 3);

impl Atom for u128 {
    const LOG2: u16 = 4;

    fn wide(self) -> u128 {
        self
    }

    unsafe fn load(at: *mut Self) -> Self {
        // SAFETY: the caller's promise. Storing zero over zero changes nothing.
        unsafe { sys::machine::compare_exchange_16(at, 0, 0) }
    }

    unsafe fn store(at: *mut Self, new: Self) {
        // SAFETY: the caller's promise.
        unsafe { Self::swap(at, new) };
    }

    unsafe fn swap(at: *mut Self, new: Self) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::update(at, |_| new) }
    }

    unsafe fn compare_exchange(at: *mut Self, expected: Self, new: Self) -> Result<Self, Self> {
        // SAFETY: the caller's promise.
        let found = unsafe { sys::machine::compare_exchange_16(at, expected, new) };
        if found == expected { Ok(found) } else { Err(found) }
    }
}

/// What makes any order the strongest, if the options say so; else 0.
static STRONGEST: AtomicU32 = AtomicU32::new(0);

/// Heeds what the options say of atomic operations. Called once, before any other thread runs.
pub(crate) fn begin(texts: &[&[u8]]) {
    const SEQ_CST: u32 = 5;
    STRONGEST.store(if options::forces_seq_cst(texts) { SEQ_CST } else { 0 }, Ordering::Relaxed);
}

/// The order that an operation is taken to ask for.
#[inline(always)]
fn asked(order: u32) -> u32 {
    order | STRONGEST.load(Ordering::Relaxed)
}

/// `load(at, order)`.
pub(crate) unsafe extern "C" fn on_load<T: Atom>(at: *mut T, order: u32, pc: usize) -> T {
    let order = asked(order);
    perform(pc, at as usize, T::LOG2, Meant::to(Mode::Read, order), || Outcome {
        // SAFETY: the program's own atomic operation.
        result: unsafe { T::load(at) },
        mode: Mode::Read,
        order: MemoryOrder::from_abi(order),
    })
}

/// `store(at, value, order)`.
pub(crate) unsafe extern "C" fn on_store<T: Atom>(at: *mut T, value: T, order: u32, pc: usize) {
    let order = asked(order);
    perform(pc, at as usize, T::LOG2, Meant::to(Mode::Write, order), || {
        let order = MemoryOrder::from_abi(order);
        // SAFETY: the program's own atomic operation.
        unsafe {
            if order == MemoryOrder::SeqCst {
                T::swap(at, value);
            } else {
                T::store(at, value);
            }
        }
        Outcome { result: (), mode: Mode::Write, order }
    });
}

/// `exchange(at, value, order)`.
pub(crate) unsafe extern "C" fn on_exchange<T: Atom>(at: *mut T, value: T, order: u32, pc: usize) -> T {
    let order = asked(order);
    perform(pc, at as usize, T::LOG2, Meant::to(Mode::ReadWrite, order), || Outcome {
        // SAFETY: the program's own atomic operation.
        result: unsafe { T::swap(at, value) },
        mode: Mode::ReadWrite,
        order: MemoryOrder::from_abi(order),
    })
}

/// A `fetch_…` operation: gives what was there before.
pub(crate) trait Change<T> {
    /// # Safety
    /// `at` is valid and aligned.
    unsafe fn fetch(at: *mut T, operand: T) -> T;
}

macro_rules! change {
    ($name:ident, $fetch:ident, |$old:ident, $operand:ident| $body:expr) => {
        pub(crate) struct $name;
        change!(@ $name, u8, AtomicU8, $fetch);
        change!(@ $name, u16, AtomicU16, $fetch);
        change!(@ $name, u32, AtomicU32, $fetch);
        change!(@ $name, u64, AtomicU64, $fetch);
        impl Change<u128> for $name {
            unsafe fn fetch(at: *mut u128, $operand: u128) -> u128 {
                // SAFETY: the caller's promise.
                unsafe { u128::update(at, |$old| $body) }
            }
        }
    };
    (@ $name:ident, $integer:ty, $atomic:ty, $fetch:ident) => {
        impl Change<$integer> for $name {
            #[inline]
            unsafe fn fetch(at: *mut $integer, operand: $integer) -> $integer {
                // SAFETY: the caller's promise.
                unsafe { <$atomic>::from_ptr(at) }.$fetch(operand, Ordering::SeqCst)
            }
        }
    };
}

change!(Add, fetch_add, |old, operand| old.wrapping_add(operand));
change!(Sub, fetch_sub, |old, operand| old.wrapping_sub(operand));
change!(And, fetch_and, |old, operand| old & operand);
change!(Or, fetch_or, |old, operand| old | operand);
change!(Xor, fetch_xor, |old, operand| old ^ operand);
change!(Nand, fetch_nand, |old, operand| !(old & operand));

/// `fetch_…(at, operand, order)`.
pub(crate) unsafe extern "C" fn on_fetch<T: Atom, C: Change<T>>(
    at: *mut T,
    operand: T,
    order: u32,
    pc: usize,
) -> T {
    let order = asked(order);
    perform(pc, at as usize, T::LOG2, Meant::to(Mode::ReadWrite, order), || Outcome {
        // SAFETY: the program's own atomic operation.
        result: unsafe { C::fetch(at, operand) },
        mode: Mode::ReadWrite,
        order: MemoryOrder::from_abi(order),
    })
}

/// A failed compare-exchange is a load with the failure order.
fn exchanged<T>(result: Result<T, T>, order: u32, failure: u32) -> Outcome<Result<T, T>> {
    match result {
        Ok(_) => Outcome { result, mode: Mode::ReadWrite, order: MemoryOrder::from_abi(order) },
        Err(_) => Outcome { result, mode: Mode::Read, order: MemoryOrder::from_abi(failure) },
    }
}

/// `compare_exchange_val(at, expected, new, order, failure)`: gives what was there.
pub(crate) unsafe extern "C" fn on_exchange_value<T: Atom>(
    at: *mut T,
    expected: T,
    new: T,
    order: u32,
    failure: u32,
    pc: usize,
) -> T {
    let (order, failure) = (asked(order), asked(failure));
    let meant = Meant { mode: Mode::ReadWrite, order, expects: Some(expected.wide()) };
    let result = perform(pc, at as usize, T::LOG2, meant, || {
        // SAFETY: the program's own atomic operation.
        exchanged(unsafe { T::compare_exchange(at, expected, new) }, order, failure)
    });
    result.unwrap_or_else(|found| found)
}

/// `compare_exchange_strong(at, &expected, new, order, failure)`: gives whether it succeeded,
/// and stores what it found in `expected` if not.
pub(crate) unsafe extern "C" fn on_exchange_flag<T: Atom>(
    at: *mut T,
    expected: *mut T,
    new: T,
    order: u32,
    failure: u32,
    pc: usize,
) -> bool {
    let (order, failure) = (asked(order), asked(failure));
    // SAFETY: `expected` is the program's own variable.
    let expects = Some(unsafe { expected.read_unaligned() }.wide());
    let meant = Meant { mode: Mode::ReadWrite, order, expects };
    let result = perform(pc, at as usize, T::LOG2, meant, || {
        // SAFETY: the program's own atomic operation; `expected` is its own variable.
        exchanged(unsafe { T::compare_exchange(at, expected.read_unaligned(), new) }, order, failure)
    });
    if let Err(found) = result {
        // SAFETY: as above.
        unsafe { expected.write_unaligned(found) };
    }
    result.is_ok()
}

/// [`on_exchange_value`] for 16 bytes, whose arguments leave no register for the caller.
pub(crate) unsafe extern "C" fn on_exchange_value_16(
    at: *mut u128,
    expected: u128,
    new: u128,
    order: u32,
    failure: u32,
) -> u128 {
    let pc = sys::machine::caller_word();
    // SAFETY: passed on.
    unsafe { on_exchange_value(at, expected, new, order, failure, pc) }
}

/// [`on_exchange_flag`] for 16 bytes, whose arguments leave no register for the caller.
pub(crate) unsafe extern "C" fn on_exchange_flag_16(
    at: *mut u128,
    expected: *mut u128,
    new: u128,
    order: u32,
    failure: u32,
) -> bool {
    let pc = sys::machine::caller_word();
    // SAFETY: passed on.
    unsafe { on_exchange_flag(at, expected, new, order, failure, pc) }
}

/// `atomic_thread_fence(order)`.
pub(crate) unsafe extern "C" fn on_fence(order: u32, pc: usize) {
    fence(Ordering::SeqCst);
    let order = MemoryOrder::from_abi(asked(order));
    if order != MemoryOrder::Relaxed {
        log::event(pc, &Op::Fence(order));
    }
}
