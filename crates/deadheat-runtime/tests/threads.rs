//! The runtime's locks, sets, clocks and memory under threads that really run, for ThreadSanitizer and Miri to watch
//! (`cargo xtask accept online tsan miri`).
//!
//! The files under test are included as they are. Unlike the model checker's tests these see few interleavings; but each access of the
//! code is watched, and Miri also sees what is done with memory.

#![allow(dead_code, reason = "the included files serve more than these tests")]

#[macro_use]
mod sys {
    //! Stands in for the runtime's `sys`.

    /// As the runtime's.
    macro_rules! constructor {
        ($(#[$doc:meta])* $visible:vis fn $name:ident() -> $type:ty $body:block) => {
            $(#[$doc])*
            $visible const fn $name() -> $type $body
        };
    }

    pub(crate) mod primitive {
        pub(crate) use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
        pub(crate) use std::thread::yield_now;

        /// A sleep that ends for nothing, as is allowed.
        pub(crate) fn futex_wait(_: &AtomicU32, _: u32, _at_most: u64) {
            yield_now();
        }

        pub(crate) fn futex_wake(_: &AtomicU32) {}

        pub(crate) fn fence_after_locked() {}

        pub(crate) fn pause() {
            yield_now();
        }

        pub(crate) fn stand_back() {
            pause();
        }

        pub(crate) fn step_back() {
            pause();
        }
    }

    use std::alloc::{Layout, alloc_zeroed, dealloc};

    fn pages(size: usize) -> Layout {
        Layout::from_size_align(size, 4096).expect("a size of pages")
    }

    pub(crate) fn map_anonymous(size: usize) -> Result<*mut u8, ()> {
        // SAFETY: no size is zero.
        let memory = unsafe { alloc_zeroed(pages(size)) };
        if memory.is_null() { Err(()) } else { Ok(memory) }
    }

    pub(crate) unsafe fn unmap(memory: *mut u8, size: usize) {
        // SAFETY: it was mapped so.
        unsafe { dealloc(memory, pages(size)) };
    }
}

mod cold {
    //! Where the included files look for the lock.

    pub(crate) use crate::lock;

    pub(crate) fn fault(reason: &[u8]) -> ! {
        panic!("{}", String::from_utf8_lossy(reason))
    }
}

#[path = "../src/cold/lock.rs"]
mod lock;

#[path = "../src/hot/stripe.rs"]
mod stripe;

#[path = "../src/gate/park.rs"]
mod park;

#[path = "../src/online/clock.rs"]
mod clock;

#[path = "../src/online/list.rs"]
mod list;

#[path = "../src/online/pair.rs"]
mod pair;

#[path = "../src/online/pool.rs"]
mod pool;

mod memory {
    //! What the pool asks where there is no memory.

    pub(crate) fn from_reserve(_: usize) -> *mut u8 {
        panic!("there is memory");
    }
}

#[path = "../src/online/set.rs"]
mod set;

#[path = "../src/online/word.rs"]
mod word;

mod growing;

use std::cell::UnsafeCell;
use std::sync::Barrier;
use std::thread;

use clock::Clock;
use growing::{Cell, Knows, at};
use lock::Lock;
use park::Park;
use stripe::Stripe;
use word::{ATOMIC, WRITE};

/// How often; Miri is a thousand times as slow.
const TIMES: usize = if cfg!(miri) { 20 } else { 5_000 };

/// What threads share; who has it is what is tested.
struct Shared<T>(UnsafeCell<T>);

// SAFETY: not kept by anybody: the sanitizer and Miri are to see that the code under test does.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Shared<T> {
    fn new(value: T) -> Shared<T> {
        Shared(UnsafeCell::new(value))
    }

    #[expect(clippy::mut_from_ref, reason = "who has it alone is what is tested")]
    unsafe fn alone(&self) -> &mut T {
        // SAFETY: the caller's promise.
        unsafe { &mut *self.0.get() }
    }
}

/// Runs a body on some threads, each given its number, from one moment on.
fn together<R: Send>(count: usize, body: impl Fn(usize) -> R + Sync) -> Vec<R> {
    let start = Barrier::new(count);
    thread::scope(|scope| {
        let started = |number| {
            let (body, start) = (&body, &start);
            scope.spawn(move || {
                start.wait();
                body(number)
            })
        };
        let threads: Vec<_> = (0..count).map(started).collect();
        threads.into_iter().map(|thread| thread.join().expect("it ends")).collect()
    })
}

#[test]
fn a_lock_has_one_holder() {
    let (lock, count) = (Lock::new(), Shared::new(0));
    together(4, |_| {
        for _ in 0..TIMES {
            // SAFETY: under the lock.
            lock.with(|| *unsafe { count.alone() } += 1);
        }
    });
    // SAFETY: nobody else is there.
    assert_eq!(*unsafe { count.alone() }, 4 * TIMES);
}

#[test]
fn a_stripe_has_one_holder_and_counts_the_writes() {
    let (stripe, count) = (Stripe::new(), Shared::new(0));
    together(4, |number| {
        for _ in 0..TIMES {
            let held = stripe.take(number as u32, true).expect("a patient taker gets it");
            // SAFETY: under the stripe.
            *unsafe { count.alone() } += 1;
            held.wrote();
        }
    });
    // SAFETY: nobody else is there.
    assert_eq!((*unsafe { count.alone() }, stripe.writes()), (4 * TIMES, 4 * TIMES as u64));
}

/// What is done before a result is given is seen by who got it.
#[test]
fn a_result_brings_what_was_done_before_it() {
    let (lock, park, note) = (Lock::new(), Park::new(), Shared::new(0));
    together(2, |number| {
        for time in 1..=TIMES as u32 {
            if number == 0 {
                lock.with(|| park.take());
                let mut result = 0;
                park.wait(&lock, || Some(0), || None, |given| result = given);
                // SAFETY: the other one wrote it before it gave the result, and waits for the next.
                assert_eq!((result, *unsafe { note.alone() }), (time, time));
            } else {
                let given = || {
                    let waits = park.is_waiting();
                    if waits {
                        // SAFETY: the other one waits.
                        *unsafe { note.alone() } = time;
                        park.give(time);
                    }
                    waits
                };
                while !lock.with(given) {
                    thread::yield_now();
                }
                park.wake();
            }
        }
    });
}

/// Of any two conflicting accesses at once one at least sees the other, whatever was in the cell.
#[test]
fn of_accesses_at_once_one_sees_the_other() {
    let kinds = [0, WRITE, ATOMIC, ATOMIC | WRITE];
    let bytes = [0xff, 0x0f, 0xf0, 0x18];
    let before = [[0, 0], [at(1, 1, WRITE, 0xff), 0], [at(2, 1, 0, 0x0f), at(1, 1, 0, 0xf0)]];
    for time in 0..TIMES {
        let choice = |number: usize| (time * 7 + number * 5) / [1, 3][number];
        let mine = |number: usize| {
            let kind = kinds[choice(number) % 4];
            at(number as u32 + 1, 2, kind, bytes[choice(number) / 4 % 4])
        };
        let cell = Cell::holding(before[time % before.len()]);
        let known = [[2, 1], [1, 2]];
        let races = together(2, |number| cell.enter(mine(number), &Knows(known[number])));
        let expected = word::conflict(mine(0), mine(1));
        let told = races.iter().flatten().count();
        assert_eq!(told > 0, expected, "{:x} {:x} {races:x?}", mine(0), mine(1));
    }
}

/// Memory of the pool is whole and one thread's alone from when it is taken to when it is given back.
#[test]
fn memory_is_one_owners() {
    together(3, |number| {
        let mut held: Vec<(*mut u8, usize)> = Vec::new();
        for time in 0..TIMES / 4 {
            let size = (time * 7919 + number) % (20 << (time % 13)) + 1;
            let piece = pool::take(size);
            assert!(piece.addr().is_multiple_of(16));
            // SAFETY: just taken; each piece is as large as was asked for.
            unsafe {
                piece.write_bytes(number as u8, size.min(256));
                piece.add(size - 1).write(number as u8);
            }
            held.push((piece, size));
            if time % 3 == 2 {
                for (piece, size) in held.drain(..2) {
                    // SAFETY: this thread's until it is given back, which is once.
                    unsafe {
                        let whole = std::slice::from_raw_parts(piece, size.min(256));
                        assert!(whole.iter().all(|&byte| byte == number as u8));
                        assert_eq!(piece.add(size - 1).read(), number as u8);
                        pool::give(piece, size);
                    }
                }
            }
        }
    });
}

/// What is taken for a size is enough, and not much more.
#[test]
fn rooms_are_close_to_what_is_asked_for() {
    for size in 0..300_000 {
        let room = pool::room(size);
        assert!(room >= size && room.is_multiple_of(16) && pool::room(room) == room, "{size}: {room}");
        assert!(room <= (size + size / 4).max(size + 16), "{size}: {room}");
    }
}

/// A clock that is passed on under a lock loses nothing: whoever has it knows all that was released into it before.
/// A clock uses the line that it was lent as long as it has room there, loses nothing when it leaves it, and gives back its own memory alone.
#[test]
fn a_borrowed_line_is_left_when_it_is_full_and_never_given_back() {
    let line = pool::take(list::LINE).cast::<u64>();
    let mut clock = Clock::new();
    // SAFETY: the line is this test's.
    unsafe { clock.borrow_line(line) };
    assert!(clock.is_empty());
    for slot in 0..20 {
        clock.set(slot, u64::from(slot) + 100);
        // SAFETY: as above; what is there was written.
        assert_eq!(unsafe { line.add(slot.min(7) as usize).read() }, u64::from(slot.min(7)) + 100);
    }
    assert!((0..20).all(|slot| clock.get(slot) == u64::from(slot) + 100));
    let grown = pool::room(20 * size_of::<u64>());
    clock.drop_all();
    let pieces = [pool::take(list::LINE), pool::take(grown)];
    assert!(!pieces.contains(&line.cast()), "the line was given back");
    // SAFETY: all of them are this test's.
    unsafe {
        let mut other = Clock::new();
        other.borrow_line(line);
        other.set(3, 1);
        other.drop_all();
        assert_ne!(pool::take(list::LINE), line.cast(), "the line was given back");
    }
}

#[test]
fn a_clock_under_a_lock_loses_nothing() {
    let (lock, shared) = (Lock::new(), Shared::new((Clock::new(), [0; 4])));
    together(4, |number| {
        let slot = number as u32 * 40 + 1;
        let mut known = Clock::new();
        for time in 1..=TIMES as u64 / 10 {
            known.set(slot, time);
            lock.with(|| {
                // SAFETY: under the lock.
                let (clock, released) = unsafe { shared.alone() };
                known.join(clock);
                clock.join(&known);
                released[number] = time;
                for (other, &time) in released.iter().enumerate() {
                    assert_eq!(
                        (known.get(other as u32 * 40 + 1), clock.get(other as u32 * 40 + 1)),
                        (time, time)
                    );
                }
            });
        }
        known.drop_all();
    });
}
