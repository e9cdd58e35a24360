//! The runtime's own locks under a model checker: every interleaving of a few threads.
//!
//! The files under test are included as they are; what they use of `sys::primitive` is the model
//! checker's here.

#![allow(dead_code, reason = "the included files serve more than these tests")]
#![allow(clippy::arc_with_non_send_sync, reason = "the model checker sees who is in a cell when")]

mod sys {
    pub(crate) mod primitive {
        //! Stands in for the runtime's `sys::primitive`.

        pub(crate) use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
        use loom::sync::{Condvar, Mutex};
        pub(crate) use loom::thread::yield_now;

        loom::lazy_static! {
            /// Whether the time of every sleep is over, and what sleepers sleep on.
            static ref SLEEP: (Mutex<bool>, Condvar) = (Mutex::new(false), Condvar::new());
        }

        /// Sleeps while the word is `expected` and the time is not over.
        pub(crate) fn futex_wait(word: &AtomicU32, expected: u32, _at_most: u64) {
            let late = SLEEP.0.lock().expect("nobody panics");
            if word.load(Ordering::SeqCst) == expected && !*late {
                drop(SLEEP.1.wait(late).expect("nobody panics"));
            }
        }

        /// Wakes all sleepers: those of other words wake for nothing, as is allowed.
        pub(crate) fn futex_wake(_word: &AtomicU32) {
            let _late = SLEEP.0.lock().expect("nobody panics");
            SLEEP.1.notify_all();
        }

        /// The time of every sleep is over.
        pub(crate) fn be_late() {
            *SLEEP.0.lock().expect("nobody panics") = true;
            SLEEP.1.notify_all();
        }

        /// Whether it is.
        pub(crate) fn is_late() -> bool {
            *SLEEP.0.lock().expect("nobody panics")
        }

        /// A locked operation is a fence on some machines; the model checker's is none.
        pub(crate) fn fence_after_locked() {
            loom::sync::atomic::fence(Ordering::SeqCst);
        }

        /// Every failed attempt lets the others run: the model has no time to spin.
        pub(crate) fn pause() {
            loom::thread::yield_now();
        }

        pub(crate) fn stand_back() {
            pause();
        }

        pub(crate) fn step_back() {
            pause();
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

#[path = "../src/gate/park.rs"]
mod park;

#[path = "../src/online/crowd.rs"]
mod crowd;

#[path = "../src/online/pair.rs"]
mod pair;

#[path = "../src/online/set.rs"]
mod set;

#[path = "../src/online/span.rs"]
mod span;

#[path = "../src/online/word.rs"]
mod word;

#[path = "../src/online/clock.rs"]
mod clock;

#[path = "../src/online/list.rs"]
mod list;

mod pool {
    //! Where the clocks have their memory: here the test's own, which is not given back.

    /// How many bytes [`take`] gives for `size`.
    pub(crate) fn room(size: usize) -> usize {
        size.next_power_of_two()
    }

    pub(crate) fn take(size: usize) -> *mut u8 {
        Vec::leak(vec![0u64; size.div_ceil(8)]).as_mut_ptr().cast()
    }

    pub(crate) unsafe fn give(_: *mut u8, _: usize) {}
}

mod blocks;

mod growing;

mod spans;

mod cold {
    //! Where the included files look for the lock.
    pub(crate) use crate::lock;
}

use std::sync::Arc;

use loom::cell::UnsafeCell;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

use blocks::Block;
use clock::Clock;
use growing::{Cell, Knows, at};
use lock::Lock;
use park::Park;
use spans::Span;
use stripe::{Shown, Stripe, Which};
use word::{ATOMIC, WRITE};

/// Explores a model: with `DEADHEAT_ACCEPT=full` all its runs of at most `most` switches of threads that could go on, or all that
/// there are. Else those of one switch less, and at most two, which take a fraction of the time.
fn explore(most: Option<usize>, model: impl Fn() + Sync + Send + 'static) {
    const FEW: usize = 2;
    let full = std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full");
    let few = most.map_or(FEW, |most| (most - 1).clamp(1, FEW));
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = if full { most } else { Some(few) };
    builder.check(model);
}

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

/// Who takes the stripe only if it is free has it alone, and leaves it to its holder if it is not.
#[test]
fn who_asks_for_a_free_stripe_has_it_alone_or_leaves_it() {
    loom::model(|| {
        let shared = Arc::new((Stripe::new(), UnsafeCell::new(0)));
        // SAFETY: under the stripe; the checker proves that it is enough.
        let add = |shared: &(Stripe, UnsafeCell<u32>)| shared.1.with_mut(|value| unsafe { *value += 1 });
        let other = Arc::clone(&shared);
        // Twice: what the first attempt frees by mistake the second has.
        let attempt = move |_| other.0.take_if_free(1).map(|_held| add(&other)).is_some();
        let thread = thread::spawn(move || (0..2).any(attempt));
        let held = shared.0.take(0, true).expect("a patient taker gets it");
        add(&shared);
        drop(held);
        let both = thread.join().expect("the thread ends");
        let _held = shared.0.take_if_free(0).expect("nobody has it any more");
        // SAFETY: the other thread has ended.
        shared.1.with(|value| assert_eq!(unsafe { *value }, 1 + u32::from(both)));
    });
}

/// A load without the stripe has the note that goes with the value, or none that counts.
#[test]
fn what_is_noted_of_an_atomic_goes_with_its_value() {
    const WHICH: Which = Which::new(0x1234_5678, 2);
    loom::model(|| {
        let shared = Arc::new((Stripe::new(), AtomicU64::new(0)));
        let noted = |by| Shown { by, object: 10 * by };
        let store = move |shared: &(Stripe, AtomicU64), value: u64| {
            let held = shared.0.take(1, true).expect("a patient taker gets it");
            held.wrote();
            shared.1.store(value, Ordering::Relaxed);
            held.show(WHICH, noted(value));
        };
        store(&shared, 1);
        let other = Arc::clone(&shared);
        let thread = thread::spawn(move || store(&other, 2));
        if let Some(writes) = shared.0.quiet() {
            let value = shared.1.load(Ordering::Acquire);
            let shown = shared.0.shown(WHICH);
            if shared.0.is_still(writes) {
                assert_eq!(shown, Some(noted(value)));
            }
        }
        thread.join().expect("the thread ends");
        assert_eq!(shared.0.shown(WHICH), Some(noted(2)));
        assert_eq!(shared.0.quiet(), Some(2));
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

/// What the two sides of a target share, as the gate does.
struct Target {
    lock: Lock,
    parks: [Park; 2],
    verdict: UnsafeCell<u32>,
    /// Whether a side's thread stands before its access.
    stands: [UnsafeCell<bool>; 2],
}

const OPEN: u32 = 0;
const MET: u32 = 1;
const LATE: u32 = 2;
const SIGNALLED: u32 = 3;

impl Target {
    fn new() -> Target {
        let stands = [UnsafeCell::new(false), UnsafeCell::new(false)];
        Target {
            lock: Lock::new(),
            parks: [Park::new(), Park::new()],
            verdict: UnsafeCell::new(OPEN),
            stands,
        }
    }

    /// Under the lock; an undecided target is decided, once.
    fn decide(&self, verdict: u32) {
        // SAFETY: under the lock; the checker proves that it is enough.
        let before = self.verdict.with_mut(|known| unsafe { std::mem::replace(&mut *known, verdict) });
        assert_eq!(before, OPEN);
    }

    /// A side comes and meets the other, or waits for it: what came of it, `OPEN` if it came too
    /// late to wait. `signals`: so often a signal takes it away, and it comes anew.
    fn come(&self, side: usize, mut signals: u32) -> u32 {
        loop {
            let result = self.come_once(side, &mut signals);
            if result != SIGNALLED {
                return result;
            }
        }
    }

    fn come_once(&self, side: usize, signals: &mut u32) -> u32 {
        let (mine, other) = (&self.parks[side], &self.parks[1 - side]);
        self.lock.acquire();
        // SAFETY: under the lock, as all accesses to the cells.
        if self.verdict.with(|known| unsafe { *known }) != OPEN {
            self.lock.release();
            return OPEN;
        }
        if other.is_waiting() {
            // SAFETY: as above.
            assert!(self.stands[1 - side].with(|stands| unsafe { *stands }), "a meeting of one");
            self.decide(MET);
            other.give(MET);
            self.lock.release();
            other.wake();
            return MET;
        }
        assert!(mine.is_free());
        mine.take();
        // SAFETY: as above.
        self.stands[side].with_mut(|stands| unsafe { *stands = true });
        self.lock.release();
        let mut result = OPEN;
        let sleeps = *signals == 0;
        let look = || {
            if *signals > 0 {
                *signals -= 1;
                return Some(SIGNALLED);
            }
            sys::primitive::is_late().then(|| {
                self.decide(LATE);
                LATE
            })
        };
        mine.wait(
            &self.lock,
            || sleeps.then_some(1),
            look,
            |why| {
                result = why;
                // SAFETY: as above.
                self.stands[side].with_mut(|stands| unsafe { *stands = false });
            },
        );
        result
    }
}

/// Runs two sides against each other, and `meanwhile` on a third thread.
fn sides(signals: u32, meanwhile: Option<fn()>, check: fn(u32, u32)) {
    explore(Some(3), move || {
        let target = Arc::new(Target::new());
        let other = Arc::clone(&target);
        let thread = thread::spawn(move || other.come(1, 0));
        let third = meanwhile.map(thread::spawn);
        let mine = target.come(0, signals);
        let theirs = thread.join().expect("the thread ends");
        if let Some(third) = third {
            third.join().expect("the thread ends");
        }
        check(mine, theirs);
        // SAFETY: the other threads have ended.
        let verdict = target.verdict.with(|verdict| unsafe { *verdict });
        assert_eq!(verdict, mine.max(theirs));
        assert!(target.parks.iter().all(Park::is_free));
    });
}

/// No wake-up is lost: two sides that wait for each other without end meet.
#[test]
fn two_sides_of_a_target_meet() {
    sides(0, None, |mine, theirs| assert_eq!((mine, theirs), (MET, MET)));
}

/// A side that a signal took away comes anew, and misses nobody who came meanwhile.
#[test]
fn a_signal_costs_no_meeting() {
    sides(2, None, |mine, theirs| assert_eq!((mine, theirs), (MET, MET)));
}

/// The time may be over at any moment: both met, or one waited in vain and the other came too late.
#[test]
fn a_meeting_takes_two_or_the_time_is_over() {
    sides(0, Some(sys::primitive::be_late), |mine, theirs| {
        assert!(matches!((mine, theirs), (MET, MET) | (LATE, OPEN) | (OPEN, LATE)), "{mine} {theirs}");
    });
}

/// The clock of what was there before, from which one can go back by a step of a double word, and of what comes.
const BEFORE: u64 = 3;
const NOW: u64 = 4;

/// Two threads, slots 1 and 2, access at once what neither knows of the other; `before` was there already and is known to
/// both. One of them at least sees the other, and nobody sees a race with what is known.
fn meet(before: [u64; 2], one: u64, other: u64) {
    explore(None, move || {
        let cell = Arc::new(Cell::holding(before));
        let theirs = Arc::clone(&cell);
        let thread = thread::spawn(move || theirs.enter(other, &Knows([BEFORE, NOW])));
        let mut races = cell.enter(one, &Knows([NOW, BEFORE]));
        races.extend(thread.join().expect("the thread ends"));
        assert!(!races.is_empty(), "missed");
        assert!(races.iter().all(|&word| word == one || word == other), "{races:x?}");
    });
}

/// Of two accesses at once one sees the other, whatever was in the cell: nothing, one's own or the other's earlier access, and
/// accesses to other bytes, for which the cell has to grow.
#[test]
fn of_two_accesses_at_once_one_sees_the_other() {
    const READ: u64 = 0;
    let (all, low, high) = (0xff, 0x0f, 0xf0);
    let writes = |slot, bytes| at(slot, NOW, WRITE, bytes);
    // Of the high bytes just before, of the others a step earlier.
    let double = |slot, kind| at(slot, BEFORE, kind, high) | 1 << word::EARLIER_SHIFT;
    for before in [
        [0, 0],
        [double(1, WRITE), double(2, READ)],
        // Read just before, written a step earlier.
        [at(1, BEFORE, ATOMIC, all) | 1 << word::EARLIER_SHIFT, at(2, BEFORE, WRITE, all)],
        [at(1, BEFORE, WRITE, all), 0],
        [at(2, BEFORE, READ, all), 0],
        [at(1, BEFORE, WRITE, all), at(2, BEFORE, READ, all)],
        [at(1, BEFORE, READ, high), at(2, BEFORE, READ, high)],
    ] {
        meet(before, writes(1, all), writes(2, all));
        meet(before, writes(1, low), at(2, NOW, READ, low));
        meet(before, at(1, NOW, READ, all), writes(2, low));
        meet(before, writes(1, low), at(2, NOW, ATOMIC | WRITE, all));
        meet(before, writes(1, low), at(2, NOW, ATOMIC, all));
    }
}

/// Of the end of a block's life and an access at the same time one sees the other.
#[test]
fn of_an_end_and_an_access_at_once_one_sees_the_other() {
    let end = at(1, 2, WRITE, 0xff);
    for before in
        [[0, 0], [at(1, 1, WRITE, 0xff), at(2, 1, 0, 0x0f)], [at(1, 2, 0, 0xf0), at(1, 2, WRITE, 0x0f)]]
    {
        for other in [at(2, 2, WRITE, 0x0f), at(2, 2, 0, 0xff), at(2, 2, ATOMIC, 0xff)] {
            explore(None, move || {
                let cell = Arc::new(Cell::holding(before));
                let theirs = Arc::clone(&cell);
                let thread = thread::spawn(move || theirs.enter(other, &Knows([1, 2])));
                let mut races = cell.end(end, &Knows([2, 1]));
                races.extend(thread.join().expect("the thread ends"));
                // What is of the end's own moment the other has met instead of the end, or both.
                assert!(!races.is_empty(), "missed");
                let known =
                    |word| word == end || word == other || word == word::freed(end) || before.contains(&word);
                assert!(races.iter().all(|&word| known(word)), "{races:x?}");
            });
        }
    }
}

/// Of a range's access to a span, or to cells that it makes one, and another's to one of its cells or to all, one sees the other, and both are there afterwards.
#[test]
fn of_two_accesses_to_a_span_one_sees_the_other() {
    let all = 0xff;
    let before = at(1, BEFORE, WRITE, all);
    for (words, is) in
        [([0, 0], false), ([before, 0], false), ([before, at(2, BEFORE, 0, all)], false), ([0, 0], true)]
    {
        // Beside a word of some bytes a cell has no room for that of others.
        let some = if words[1] == 0 { 0x0f } else { all };
        for (one, other, cell) in [
            (at(1, NOW, WRITE, all), at(2, NOW, WRITE, some), Some(0)),
            (at(1, NOW, WRITE, all), at(2, NOW, 0, some), Some(1)),
            (at(1, NOW, 0, all), at(2, NOW, WRITE, all), Some(1)),
            (at(1, NOW, WRITE, all), at(2, NOW, 0, all), None),
            (at(1, NOW, WRITE, all), at(2, NOW, WRITE, all), None),
        ] {
            explore(Some(3), move || {
                let span = Arc::new(Span::holding(words, is.then_some(BEFORE)));
                let theirs = Arc::clone(&span);
                let thread = thread::spawn(move || match cell {
                    Some(at) => theirs.enter(at, other, &Knows([BEFORE, NOW])),
                    None => theirs.enter_all(other, &Knows([BEFORE, NOW])),
                });
                let mut races = span.enter_all(one, &Knows([NOW, BEFORE]));
                // As whoever comes to a cell next.
                let _ = span::unfold(&span.0);
                races.extend(thread.join().expect("the thread ends"));
                assert!(!races.is_empty(), "missed");
                assert!(races.iter().all(|&word| word == one || word == other), "{races:x?}");
                for at in 0..2 {
                    assert!(span.has(at, one), "lost");
                    assert!(cell.is_some_and(|cell| cell != at) || span.has(at, other), "lost");
                }
            });
        }
    }
}

/// The same while a third thread comes to one of the cells.
#[test]
fn of_two_ranges_one_sees_the_other_while_their_span_goes() {
    let all = 0xff;
    for (one, other) in [(WRITE, 0), (WRITE, WRITE), (0, WRITE)] {
        // With more, two that wait for the third can keep the processor between them for ever.
        explore(Some(1), move || {
            let (one, other) = (at(1, NOW, one, all), at(2, NOW, other, all));
            let span = Arc::new(Span::holding([0, 0], Some(BEFORE)));
            let (theirs, third) = (Arc::clone(&span), Arc::clone(&span));
            let thread = thread::spawn(move || theirs.enter_all(other, &Knows([BEFORE, NOW])));
            let goes = thread::spawn(move || span::unfold(&third.0));
            let mut races = span.enter_all(one, &Knows([NOW, BEFORE]));
            races.extend(thread.join().expect("the thread ends"));
            goes.join().expect("the thread ends");
            assert!(!races.is_empty(), "missed");
            for at in 0..2 {
                assert!(span.has(at, one) && span.has(at, other), "lost");
            }
        });
    }
}

/// Of two accesses to a block at once one sees the other, and both are there, also while a third thread puts a larger one in its place.
#[test]
fn of_two_accesses_to_a_block_one_sees_the_other() {
    let (all, low) = (0xff, 0x0f);
    let befores = [
        [0, 0, 0],
        [at(2, 1, WRITE, 0x3c), word::VOID, word::VOID],
        [at(1, 1, 0, all), at(2, 1, 0, all), 0],
        [at(1, 1, WRITE, all), at(2, 1, WRITE, low), at(2, 1, 0, all)],
    ];
    for (before, replaces) in befores.into_iter().flat_map(|before| [(before, false), (before, true)]) {
        for (one, other) in [
            (at(1, 2, WRITE, all), at(2, 2, WRITE, low)),
            (at(1, 2, 0, all), at(2, 2, WRITE, all)),
            (at(1, 2, WRITE, low), at(2, 2, ATOMIC | WRITE, all)),
        ] {
            // With more, two that wait for the third can keep the processor between them for ever.
            explore(Some(if replaces { 2 } else { 3 }), move || {
                let block = Arc::new(Block::holding(before));
                let (theirs, third) = (Arc::clone(&block), Arc::clone(&block));
                let thread = thread::spawn(move || theirs.enter(other, &Knows([1, 2])));
                let replacer = replaces.then(|| thread::spawn(move || third.replace()));
                let mut races = block.enter(one, &Knows([2, 1]));
                races.extend(thread.join().expect("the thread ends"));
                if let Some(replacer) = replacer {
                    replacer.join().expect("the thread ends");
                }
                assert!(!races.is_empty(), "missed");
                assert!(races.iter().all(|&word| word == one || word == other), "{races:x?}");
                for mine in [one, other] {
                    let words = block.set().iter().map(|place| place.load(Ordering::SeqCst));
                    assert!(words.into_iter().any(|word| word::stands_for(word, mine)), "{mine:x} is lost");
                }
            });
        }
    }
}

/// A block is given back by who wrote all bytes last, or as the life ends of the heap's block that it is of: an access at the same time sees the write, or the mark of the end, or is seen, and both
/// are there afterwards.
#[test]
fn of_a_write_that_gives_its_block_back_and_an_access_one_sees_the_other() {
    let all = 0xff;
    let others = [at(2, 2, WRITE, 0x0f), at(2, 2, 0, all), at(2, 2, ATOMIC | WRITE, all)];
    for (other, dies) in others.into_iter().flat_map(|other| [(other, false), (other, true)]) {
        explore(Some(3), move || {
            let one = at(1, 2, WRITE, all);
            let block = Arc::new(Block::holding([at(1, 1, WRITE, all), at(2, 1, 0, all), word::VOID]));
            let theirs = Arc::clone(&block);
            let thread = thread::spawn(move || theirs.enter(other, &Knows([1, 2])));
            let knows = Knows([2, 1]);
            let ended = dies && block.end(one, &knows);
            let mut races = if ended { Vec::new() } else { block.enter(one, &knows) };
            if !dies {
                block.narrow(one, &knows);
            }
            races.extend(thread.join().expect("the thread ends"));
            assert!(!races.is_empty(), "missed");
            let words: Vec<u64> = block.set().iter().map(|place| place.load(Ordering::SeqCst)).collect();
            let has = |mine: u64| words.iter().any(|&word| word == mine || word::stands_for(word, mine));
            assert!(has(other), "{other:x} is lost");
            assert!(has(if ended { word::freed(one) } else { one }), "{one:x} is lost");
        });
    }
}

/// Of two threads that need the place of a word which a set has twice one takes it, and the word stays.
#[test]
fn of_a_word_that_is_there_twice_one_stays() {
    let (low, high) = (0x0f, 0xf0);
    let twice = at(1, 1, WRITE, low);
    explore(Some(3), move || {
        let block = Arc::new(Block::holding([twice, twice, at(3, 1, 0, high)]));
        let theirs = Arc::clone(&block);
        let thread = thread::spawn(move || theirs.enter(at(2, 2, 0, high), &Knows([0, 2])));
        let mut races = block.enter(at(1, 2, 0, high), &Knows([2, 0]));
        races.extend(thread.join().expect("the thread ends"));
        assert!(races.is_empty(), "{races:x?}");
        assert!(block.set().iter().any(|place| place.load(Ordering::SeqCst) == twice), "lost");
    });
}

/// Who takes the bytes of a new access from his own earlier word hides none of them from who comes at the same time.
#[test]
fn who_takes_bytes_from_his_own_word_hides_none() {
    let both = 0x03;
    for (kind, byte) in [(0, 0x01), (0, 0x02), (WRITE, 0x01), (WRITE, 0x02)] {
        explore(Some(3), move || {
            let block = Arc::new(Block::holding([word::VOID, at(1, 1, kind, both), 0]));
            let theirs = Arc::clone(&block);
            let thread = thread::spawn(move || theirs.enter(at(2, 2, WRITE, byte), &Knows([0, 2])));
            let mut races = block.enter(at(1, 2, kind, 0x01), &Knows([2, 0]));
            races.extend(thread.join().expect("the thread ends"));
            assert!(races.iter().any(|race| race & byte != 0), "missed: {races:x?}");
            let words = block.set().iter().map(|place| place.load(Ordering::SeqCst));
            let own = words
                .filter(|&word| word::same_slot(word, at(1, 0, 0, 0)))
                .fold(0, |all, word| all | word & both);
            assert_eq!(own, both, "lost");
        });
    }
}

/// Two threads pass a lock's clock on: each releases what it knows into it and acquires what is in it. Who comes second knows
/// all that the first knew, and the clock is whole whenever somebody has the lock.
#[test]
fn what_is_released_is_known_to_who_acquires_later() {
    loom::model(|| {
        let lock = Arc::new((Lock::new(), UnsafeCell::new(Clock::new())));
        let other = Arc::clone(&lock);
        let pass = |lock: &(Lock, UnsafeCell<Clock>), slot: u32| {
            let mut known = Clock::new();
            known.set(slot, 7);
            lock.0.with(|| {
                // SAFETY: under the lock; the checker proves that it is enough.
                lock.1.with_mut(|clock| unsafe {
                    known.join(&*clock);
                    (*clock).join(&known);
                });
            });
            [1, 2].map(|slot| known.get(slot))
        };
        let thread = thread::spawn(move || pass(&other, 2));
        let mine = pass(&lock, 1);
        let theirs = thread.join().expect("the thread ends");
        assert!(matches!((mine, theirs), ([7, 0], [7, 7]) | ([7, 7], [0, 7])), "{mine:?} {theirs:?}");
    });
}

#[test]
fn a_handler_does_not_wait_for_the_stripe_that_its_own_thread_holds() {
    loom::model(|| {
        let stripe = Stripe::new();
        let held = stripe.take(1, true);
        assert!(held.is_some());
        // Neither one that came while the hook was not marked busy, nor one that shares it.
        assert!(stripe.take(1, true).is_none());
        assert!(stripe.take(1, false).is_some());
        drop(held);
        assert!(stripe.take(1, true).is_some());
    });
}
