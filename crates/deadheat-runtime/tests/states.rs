//! The words of announced locks, beside a map that is asked the same.

#![allow(dead_code, reason = "the included files serve more than these tests")]

mod sys {
    //! Stands in for the runtime's `sys`.

    pub(crate) fn map_anonymous(size: usize) -> Result<*mut u8, ()> {
        let layout = std::alloc::Layout::from_size_align(size, 4096).map_err(|_| ())?;
        // SAFETY: of some size.
        Ok(unsafe { std::alloc::alloc_zeroed(layout) })
    }

    pub(crate) unsafe fn unmap(address: *mut u8, size: usize) {
        let layout = std::alloc::Layout::from_size_align(size, 4096).expect("as it was made");
        // SAFETY: the caller's promise.
        unsafe { std::alloc::dealloc(address, layout) }
    }
}

#[path = "../src/cold/states.rs"]
mod states;

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

/// Locks that come and go.
#[test]
fn a_lock_has_its_word_until_it_is_gone() {
    let mut known = HashMap::new();
    let mut random = 1u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    // First few locks that come and go, then more than the first tables have room for, then all go.
    for (locks, steps) in [(50, 20_000), (200_000, 1_000_000)] {
        for step in 1..=steps {
            let lock = 0x7f00_0000_0000 + 40 * next(locks);
            match next(3) {
                0 => {
                    assert_eq!(states::find(lock).map(|word| word.load(Relaxed)), known.remove(&lock));
                    states::remove(lock);
                    assert!(states::find(lock).is_none());
                }
                _ => {
                    let word = states::enter(lock).expect("room");
                    assert_eq!(word.load(Relaxed), known.get(&lock).copied().unwrap_or(0));
                    word.store(step, Relaxed);
                    known.insert(lock, step);
                }
            }
        }
    }
    for (lock, word) in &known {
        assert_eq!(states::find(*lock).map(|word| word.load(Relaxed)), Some(*word));
    }
    for lock in known.keys() {
        states::remove(*lock);
    }
    assert!(known.keys().all(|lock| states::find(*lock).is_none()));
}

/// Threads that use locks of their own, each entered by one of them.
#[test]
fn threads_find_their_own_locks() {
    std::thread::scope(|scope| {
        for thread in 1..=4u64 {
            scope.spawn(move || {
                for round in 0..200 {
                    for lock in 0..100 {
                        let lock = thread << 40 | lock << 4;
                        states::enter(lock).expect("room").store(lock + round, Relaxed);
                    }
                    for lock in 0..100 {
                        let lock = thread << 40 | lock << 4;
                        assert_eq!(states::find(lock).map(|word| word.load(Relaxed)), Some(lock + round));
                        states::remove(lock);
                    }
                }
            });
        }
    });
}
