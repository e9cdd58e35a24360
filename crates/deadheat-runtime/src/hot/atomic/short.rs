//! Short ways of atomic operations while races are looked for: what is nothing new to its moment, and loads without their stripe.
//!
//! Invariant: of a load without its stripe a value and what its atomic shows go together if nobody held the stripe before the load and nobody counted a write until both were read. Cost of what is nothing new:
//! some ninety instructions. Model: [`super::detect`] with the stripe.

use super::{Outcome, STRIPE, has_one, stripe};
use crate::hot::stripe::{Shown, Stripe, Which};
use crate::hot::thread::{Holds, Thread, UNWATCHED, let_come};
use crate::online::{self, WRITE};
use crate::sys;

/// A program's spin gives the processor away after so many turns: whom it waits for may need it.
const SPINS_OF_PROGRAM: u32 = 256;

/// Each time after twice as many as before, up to so many, until it finds something new: it may as well be a loop that works and looks whether it is to stop, and what it
/// gives away on a busy machine is a slice of time.
const MOST_SPINS_OF_PROGRAM: u32 = 64 * SPINS_OF_PROGRAM;

/// The calling thread's own state, if what it does is looked at as usual: races are looked for, nothing is recorded, no hook was interrupted, and synchronisation is not ignored.
#[inline(always)]
fn looked_at() -> Option<*mut Thread> {
    let word = sys::machine::thread_word();
    if !online::looks_alone() || word <= UNWATCHED {
        return None;
    }
    let thread = word as *mut Thread;
    // SAFETY: the word is the calling thread's own state.
    let plain = unsafe { !(*thread).is_in_hook() && (*thread).ignore_sync == 0 };
    plain.then_some(thread)
}

/// Carries out a load that teaches nothing: what the atomic shows its thread knows. `None`, and nothing is learned, if it is anything else, or somebody holds the stripe and goes on to. One that
/// is nothing new to its moment, as the thread accessed the same before, calls nothing.
#[inline(always)]
pub(super) fn known_load<R>(
    (pc, address, log2): (usize, usize, u16),
    operation: &impl Fn() -> Outcome<R>,
) -> Option<R> {
    let thread = looked_at()?;
    let stripe = &STRIPE[stripe(address)];
    // SAFETY: `looked_at` gives the calling thread's own state.
    unsafe {
        if let Some(outcome) = again(thread, (pc, address), stripe, operation) {
            return Some(outcome.result);
        }
        if !has_one(address, log2) {
            return None;
        }
        let writes = stripe.quiet().or_else(|| stripe.soon_quiet())?;
        let Outcome { result, order, .. } = operation();
        let shown = stripe.shown(Which::new(address as u64, log2))?;
        if !stripe.is_still(writes) || online::teaches(thread, shown) {
            return None;
        }
        if !online::has_accessed(thread, (address, log2), 0)
            && !online::loaded(thread, (pc, address), log2, order)
        {
            return None;
        }
        remember(thread, (pc, address), writes);
        let_come(thread);
        Some(result)
    }
}

/// Carries out a relaxed operation that writes, and `reads` as well or not, and is nothing new to its moment: the thread wrote the same before, what the atomic shows it knows, and what
/// it shows stays as it is. `None`, and nothing is done, if it is anything else, or somebody holds the stripe. Calls nothing.
#[inline(always)]
pub(super) fn known_write<R>(
    (address, log2): (usize, u16),
    reads: bool,
    operation: &impl Fn() -> Outcome<R>,
) -> Option<R> {
    let thread = looked_at()?;
    // SAFETY: `looked_at` gives the calling thread's own state.
    unsafe {
        if !has_one(address, log2) || !online::has_accessed(thread, (address, log2), WRITE) {
            return None;
        }
        let holds = Holds::new(thread);
        let publishes = online::publishes(thread).filter(|_| holds.is_first())?;
        let held = STRIPE[stripe(address)].take_if_free((*thread).id)?;
        let shown = held.shown(Which::new(address as u64, log2))?;
        // A store ends what somebody else's release began; what reads, too, goes on with it. What the thread's own fence lets it publish may be shown already.
        let goes_on = publishes == Shown::NOTHING && reads && !online::teaches(thread, shown);
        if shown.by != publishes && !goes_on {
            return None;
        }
        held.wrote();
        Some(operation().result)
    }
}

/// Carries out a load that finds what the same one found just before, in the same moment; `None` if it is another, or may find something else.
///
/// # Safety
/// `thread` is the calling thread's, and in no other hook.
#[inline(always)]
unsafe fn again<R>(
    thread: *mut Thread,
    (pc, address): (usize, usize),
    stripe: &Stripe,
    load: &impl Fn() -> R,
) -> Option<R> {
    // SAFETY: the caller's promise.
    let (spin, moment) = unsafe { (&mut (*thread).spin, (*thread).eye.mine) };
    if (spin.key, spin.address, spin.moment) != (pc as u64, address as u64, moment) {
        return None;
    }
    let result = load();
    // Whoever writes counts that first.
    if stripe.writes() != spin.version {
        return None;
    }
    spin.times += 1;
    if spin.times >= spin.patience {
        spin.times = 0;
        spin.patience = (2 * spin.patience).min(MOST_SPINS_OF_PROGRAM);
        sys::yield_now();
    }
    Some(result)
}

/// Remembers a load, by which one that finds the same in the same moment is told.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(super) unsafe fn remember(thread: *mut Thread, (pc, address): (usize, usize), writes: u64) {
    // SAFETY: the caller's promise.
    unsafe {
        let spin = &mut (*thread).spin;
        (spin.key, spin.address, spin.version) = (pc as u64, address as u64, writes);
        spin.moment = (*thread).eye.mine;
        (spin.times, spin.patience) = (0, SPINS_OF_PROGRAM);
    }
}
