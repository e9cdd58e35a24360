//! The places of threads in sets whose words are [apart](super::apart): by slot, and by the set's number.
//!
//! Invariant: a slot's places are written by its thread alone, but for those of a set that no cell names. They come as they are needed, and stay.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use super::apart::{Place, Rest};
use super::pool;
use super::slots;
use super::word::LAST_SLOT;
use crate::sys;
use crate::sys::primitive::AtomicU64;

/// How many places lie together: 1 KiB.
const TOGETHER: usize = 64;
/// How many of these a slot has.
const EACH: usize = 64;
/// How many sets can be apart at a time. An access there waits for the block's line, then for its own place's: that is less than a block costs that moves from thread to thread where both are in the caches, and more where
/// they are not. (A hundred thousand numbers that four threads read in turn took 2.3 times as long without a limit.)
const MOST: usize = TOGETHER * EACH;

type Group<T> = [T; TOGETHER];
type Directory<T> = [AtomicPtr<Group<T>>; EACH];
type Table<T> = [AtomicPtr<Directory<T>>; LAST_SLOT as usize + 1];

static PLACES: Table<Place> = [const { AtomicPtr::new(null_mut()) }; LAST_SLOT as usize + 1];
/// What threads have where two words do not do: few of their places are asked for.
static RESTS: Table<Rest> = [const { AtomicPtr::new(null_mut()) }; LAST_SLOT as usize + 1];

/// How many numbers were given.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// A number that no set had; 0 if there is none.
pub(super) fn number() -> u32 {
    if NUMBERS.load(Ordering::Relaxed) as usize >= MOST - 1 {
        return 0;
    }
    let number = NUMBERS.fetch_add(1, Ordering::Relaxed) + 1;
    if (number as usize) < MOST { number } else { 0 }
}

/// The places of a thread's slot that it was at last.
#[repr(C)]
pub(super) struct Near {
    /// The slot, and which of its places they are.
    key: u64,
    places: *const Group<Place>,
}

impl Near {
    /// None.
    pub(super) const fn new() -> Near {
        Near { key: 0, places: core::ptr::null() }
    }

    /// A slot's place in the set of a number.
    #[inline(always)]
    pub(super) fn place(&mut self, slot: u32, number: u32) -> &'static Place {
        let key = (u64::from(slot) << u32::BITS) | (u64::from(number) / TOGETHER as u64);
        if self.key != key {
            let place = find(slot, number).unwrap_or_else(|| make(slot, number));
            self.key = key;
            self.places = core::ptr::from_ref(place).wrapping_sub(number as usize % TOGETHER).cast();
        }
        // SAFETY: what is there stays mapped.
        unsafe { &(*self.places)[number as usize % TOGETHER] }
    }
}

/// A slot's place in the set of a number, if it was asked for before.
#[inline(always)]
pub(super) fn find(slot: u32, number: u32) -> Option<&'static Place> {
    find_in(&PLACES, slot, number)
}

/// A slot's place in the set of a number.
#[cold]
#[inline(never)]
pub(super) fn make(slot: u32, number: u32) -> &'static Place {
    make_in(&PLACES, slot, number)
}

/// What a slot has in the set of a number beside its place.
#[inline(always)]
pub(super) fn rest(slot: u32, number: u32) -> &'static Rest {
    #[cold]
    #[inline(never)]
    fn make(slot: u32, number: u32) -> &'static Rest {
        make_in(&RESTS, slot, number)
    }
    find_in(&RESTS, slot, number).unwrap_or_else(|| make(slot, number))
}

#[inline(always)]
fn find_in<T>(table: &'static Table<T>, slot: u32, number: u32) -> Option<&'static T> {
    let number = number as usize;
    // SAFETY: what is there stays mapped.
    unsafe {
        let directory = table[slot as usize % table.len()].load(Ordering::Acquire).as_ref()?;
        let group = directory[number / TOGETHER % EACH].load(Ordering::Acquire).as_ref()?;
        Some(&group[number % TOGETHER])
    }
}

fn make_in<T>(table: &'static Table<T>, slot: u32, number: u32) -> &'static T {
    // A handler of a signal that comes meanwhile might wait for the pool's lock.
    let _quiet = sys::Quiet::new();
    let number = number as usize;
    // SAFETY: what is there stays mapped.
    unsafe {
        let directory = &*made(&table[slot as usize % table.len()]);
        let group = &*made(&directory[number / TOGETHER % EACH]);
        &group[number % TOGETHER]
    }
}

/// What a pointer is to, all zeros if it is not there yet.
fn made<T>(pointer: &AtomicPtr<T>) -> *mut T {
    let old = pointer.load(Ordering::Acquire);
    if !old.is_null() {
        return old;
    }
    let new = pool::take(size_of::<T>()).cast::<T>();
    // SAFETY: the memory is ours; all of it may be zero.
    unsafe { new.write_bytes(0, 1) };
    match pointer.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => new,
        Err(other) => {
            // SAFETY: nobody else knows it.
            unsafe { pool::give(new.cast(), size_of::<T>()) };
            other
        }
    }
}

/// Calls `each` with the places of all slots in the set of a number.
pub(super) fn each(number: u32, mut each: impl FnMut(&AtomicU64)) {
    for slot in 1..=slots::highest() {
        if let Some(place) = find(slot, number) {
            place.iter().for_each(&mut each);
        }
        if let Some(rest) = find_in(&RESTS, slot, number) {
            rest.iter().for_each(&mut each);
        }
    }
}
