//! A word for each lock that the program announces, found by the lock's address, and for each timer, found by its object.
//!
//! A lock's place is one of the [`WINDOW`] behind where its address leads in a table; where those of the first table are taken, in the
//! next, which is larger and mapped when it is needed. So what a look-up costs depends neither on how many locks there are nor on how
//! many were.
//!
//! Invariants: no lock is taken, and none is ever waited for. A place that was taken is never free again but for another lock
//! ([`GONE`]), so behind a free one there is nothing. A lock is entered by who has it to himself, as making it and taking it for
//! writing are; a program that does otherwise may have its misuse told once more, or not at all.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::sys;

/// A lock's address and its word.
struct Place {
    lock: AtomicU64,
    word: AtomicU64,
}

/// How many places of each table may be a lock's.
const WINDOW: usize = 8;
const FIRST_LOG2: u32 = 12;
/// Each table has so many times the places of the one before.
const GROWTH_LOG2: u32 = 3;
const TABLES: usize = 6;
/// The address in a place whose lock is gone.
const GONE: u64 = 1;

static FIRST: [Place; places(0)] =
    [const { Place { lock: AtomicU64::new(0), word: AtomicU64::new(0) } }; places(0)];
/// The tables behind the first.
static FURTHER: [AtomicPtr<Place>; TABLES - 1] = [const { AtomicPtr::new(null_mut()) }; TABLES - 1];

/// How many places a table has. Those that begin in the last `WINDOW` have their window end there.
const fn places(table: usize) -> usize {
    (1 << (FIRST_LOG2 + table as u32 * GROWTH_LOG2)) + WINDOW
}

/// A table, if it is there.
fn table(number: usize) -> Option<&'static [Place]> {
    let Some(further) = number.checked_sub(1) else { return Some(&FIRST) };
    let places_there = FURTHER.get(further)?.load(Ordering::Acquire);
    if places_there.is_null() {
        return None;
    }
    // SAFETY: a table of so many places that is never given back; zero pages are free places.
    Some(unsafe { core::slice::from_raw_parts(places_there, places(number)) })
}

/// A table, made if it is not there; `None` if there is no memory for it, or if it would be one too many.
fn make_table(number: usize) -> Option<&'static [Place]> {
    if let Some(there) = table(number) {
        return Some(there);
    }
    let size = places(number) * size_of::<Place>();
    let further = FURTHER.get(number.checked_sub(1)?)?;
    let made = sys::map_anonymous(size).ok()?.cast::<Place>();
    if further.compare_exchange(null_mut(), made, Ordering::AcqRel, Ordering::Acquire).is_err() {
        // SAFETY: nobody else knows of it.
        unsafe { sys::unmap(made.cast(), size) };
    }
    table(number)
}

/// The places of a table that may be a lock's.
fn window(table: &'static [Place], lock: u64) -> &'static [Place] {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let log2 = (table.len() - WINDOW).trailing_zeros();
    let first = (lock.wrapping_mul(SPREAD) >> (u64::BITS - log2)) as usize;
    &table[first..first + WINDOW]
}

/// A lock's place, if it has one.
fn place(lock: u64) -> Option<&'static Place> {
    for number in 0..TABLES {
        for place in window(table(number)?, lock) {
            match place.lock.load(Ordering::Acquire) {
                found if found == lock => return Some(place),
                0 => return None,
                _ => {}
            }
        }
    }
    None
}

/// A lock's word, if it has one.
pub(crate) fn find(lock: u64) -> Option<&'static AtomicU64> {
    place(lock).map(|place| &place.word)
}

/// A lock's word, which is 0 if it had none. `None` if there is no room for it.
pub(crate) fn enter(lock: u64) -> Option<&'static AtomicU64> {
    if let Some(word) = find(lock) {
        return Some(word);
    }
    for number in 0..TABLES {
        for place in window(make_table(number)?, lock) {
            let was = place.lock.load(Ordering::Relaxed);
            if (was == 0 || was == GONE)
                && place.lock.compare_exchange(was, lock, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            {
                return Some(&place.word);
            }
        }
    }
    None
}

/// The lock is gone, and its word with it.
pub(crate) fn remove(lock: u64) {
    if let Some(place) = place(lock) {
        place.word.store(0, Ordering::Relaxed);
        place.lock.store(GONE, Ordering::Release);
    }
}
