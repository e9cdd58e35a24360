//! Which objects of descriptors are told through an `epoll`, and through which.
//!
//! What goes into a pipe shows at its other end, so it is the object that counts and not the descriptor that is written to.
//!
//! Invariant: no lock, since a handler or a fork may come in between any two steps. Where two threads come together, something may be
//! told through one `epoll` more. Of one object no more than [`TRIED`] are known.

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use deadheat_core::wire::descriptor::{CELL, SPAN};

/// An object that is told; nothing if it is 0.
struct Told {
    object: AtomicU64,
    /// 1 + the number that the `epoll` goes by, and above [`FILE`] 1 + that of the descriptor which it has, if the object is that one's alone.
    by: AtomicU64,
}

const PLACES_LOG2: u32 = 14;
/// An object's places: the one that its number gives, and those behind it.
const TRIED: usize = 16;
const FILE: u32 = 32;

static TOLD: [Told; 1 << PLACES_LOG2] =
    [const { Told { object: AtomicU64::new(0), by: AtomicU64::new(0) } }; 1 << PLACES_LOG2];
/// By descriptor, the object that is told because of it.
static OBJECTS: [AtomicU64; (SPAN / CELL) as usize] = [const { AtomicU64::new(0) }; (SPAN / CELL) as usize];
/// Which of its places the next one takes that finds none free.
static NEXT: AtomicU32 = AtomicU32::new(0);

fn places(object: u64) -> impl Iterator<Item = &'static Told> {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let first = (object.wrapping_mul(SPREAD) >> (u64::BITS - PLACES_LOG2)) as usize;
    (first..first + TRIED).map(|place| &TOLD[place % TOLD.len()])
}

/// What shows at `file`, which is `object`, is told through the `epoll` that goes by `set` from now on; with `alone` until `file` is closed.
pub(super) fn add(file: c_int, object: u64, set: u32, alone: bool) {
    let Some(known) = OBJECTS.get(file as usize) else { return };
    let mut by = u64::from(set) + 1;
    if known.load(Ordering::Relaxed) != if alone { object } else { 0 } {
        forget(file);
    }
    if alone {
        by |= (file as u64 + 1) << FILE;
        known.store(object, Ordering::Relaxed);
    }
    let is_there = |place: &Told| {
        place.object.load(Ordering::Acquire) == object && place.by.load(Ordering::Relaxed) == by
    };
    if places(object).any(is_there) {
        return;
    }
    let take =
        |place: &&Told| place.object.compare_exchange(0, object, Ordering::AcqRel, Ordering::Relaxed).is_ok();
    let place = places(object).find(take).or_else(|| {
        let place = places(object).nth(NEXT.fetch_add(1, Ordering::Relaxed) as usize % TRIED)?;
        place.object.store(object, Ordering::Release);
        Some(place)
    });
    if let Some(place) = place {
        place.by.store(by, Ordering::Release);
    }
}

/// Calls for the number of each `epoll` that tells an object.
pub(super) fn each(object: u64, mut tell: impl FnMut(u64)) {
    for place in places(object) {
        if place.object.load(Ordering::Acquire) == object {
            match place.by.load(Ordering::Acquire) & ((1 << FILE) - 1) {
                0 => {}
                set => tell(set - 1),
            }
        }
    }
}

/// A descriptor is closed: what was told because of it is not any more.
pub(super) fn forget(file: c_int) {
    let object = OBJECTS.get(file as usize).map_or(0, |known| known.swap(0, Ordering::Relaxed));
    if object == 0 {
        return;
    }
    for place in places(object) {
        let by = place.by.load(Ordering::Acquire);
        if by >> FILE == file as u64 + 1
            && place.by.compare_exchange(by, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        {
            place.object.store(0, Ordering::Release);
        }
    }
}
