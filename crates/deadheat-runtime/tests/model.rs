//! The runtime's own locks under a model checker: every interleaving of a few threads.
//!
//! The files under test are included as they are; what they use of `sys::primitive` is the model
//! checker's here.

#![allow(dead_code, reason = "the included files serve more than these tests")]
#![allow(clippy::arc_with_non_send_sync, reason = "the model checker sees who is in a cell when")]

mod sys {
    pub(crate) mod primitive {
        //! Stands in for the runtime's `sys::primitive`.

        pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};
        pub(crate) use loom::thread::yield_now;

        /// Every failed attempt lets the others run: the model has no time to spin.
        pub(crate) fn pause() {
            loom::thread::yield_now();
        }
    }
}

macro_rules! constructor {
    ($(#[$doc:meta])* $visible:vis fn $name:ident() -> $type:ty $body:block) => {
        $(#[$doc])*
        $visible fn $name() -> $type $body
    };
}

#[path = "../src/cold/lock.rs"]
mod lock;

#[path = "../src/hot/stripe.rs"]
mod stripe;

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use lock::Lock;
use stripe::Stripe;

/// The checker complains if two threads are in the cell at once.
#[test]
fn a_lock_has_one_holder() {
    loom::model(|| {
        let shared = Arc::new((Lock::new(), UnsafeCell::new(0)));
        let other = Arc::clone(&shared);
        let add = |shared: &(Lock, UnsafeCell<u32>)| {
            shared.0.with(|| {
                // SAFETY: under the lock; the checker proves that it is enough.
                shared.1.with_mut(|value| unsafe { *value += 1 });
            });
        };
        let thread = thread::spawn(move || add(&other));
        add(&shared);
        thread.join().expect("the thread ends");
        // SAFETY: the other thread has ended.
        shared.0.with(|| shared.1.with(|value| assert_eq!(unsafe { *value }, 2)));
    });
}

/// Two threads store to one location and take stamps: the later stamp's value stays.
#[test]
fn stamps_under_a_stripe_follow_the_order_of_the_stores() {
    loom::model(|| {
        let shared = Arc::new((Stripe::new(), AtomicU64::new(0), AtomicU64::new(1)));
        let store = |shared: &(Stripe, AtomicU64, AtomicU64), value: u64| {
            let held = shared.0.take(value as u32, true).expect("a patient taker gets it");
            shared.1.store(value, Ordering::Relaxed);
            held.wrote();
            shared.2.fetch_add(1, Ordering::Relaxed)
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || store(&other, 7));
        let mine = store(&shared, 5);
        let theirs = thread.join().expect("the thread ends");
        assert_ne!(mine, theirs);
        let expected = if mine > theirs { 5 } else { 7 };
        assert_eq!(shared.1.load(Ordering::Relaxed), expected);
        assert_eq!(shared.0.take(0, true).map(|held| held.writes()), Some(2));
    });
}

/// A load under the stripe sees the store with the greatest stamp below its own.
#[test]
fn a_load_sees_the_last_store_before_its_stamp() {
    loom::model(|| {
        let shared = Arc::new((Stripe::new(), AtomicU64::new(0), AtomicU64::new(1)));
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || {
            let _held = other.0.take(1, true).expect("a patient taker gets it");
            other.1.store(9, Ordering::Relaxed);
            other.2.fetch_add(1, Ordering::Relaxed)
        });
        let (seen, mine) = {
            let _held = shared.0.take(0, true).expect("a patient taker gets it");
            (shared.1.load(Ordering::Relaxed), shared.2.fetch_add(1, Ordering::Relaxed))
        };
        let theirs = thread.join().expect("the thread ends");
        assert_eq!(seen, if theirs < mine { 9 } else { 0 });
    });
}

/// A handler that interrupted the holder shares the stripe, and does not free it.
#[test]
fn a_handler_shares_the_stripe_of_its_thread() {
    loom::model(|| {
        let shared = Arc::new((Stripe::new(), UnsafeCell::new(0)));
        let add = |shared: &(Stripe, UnsafeCell<u32>), owner: u32| {
            let _held = shared.0.take(owner, true).expect("a patient taker gets it");
            drop(shared.0.take(owner, false).expect("the holder's handler gets it"));
            // SAFETY: under the stripe; the checker proves that it is enough.
            shared.1.with_mut(|value| unsafe { *value += 1 });
        };
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || add(&other, 1));
        add(&shared, 0);
        thread.join().expect("the thread ends");
        let _held = shared.0.take(0, true).expect("nobody holds it");
        // SAFETY: the other thread has ended.
        shared.1.with(|value| assert_eq!(unsafe { *value }, 2));
    });
}
