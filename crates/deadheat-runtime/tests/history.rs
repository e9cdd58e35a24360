//! What a slot remembers of its accesses, for those who look for one while its thread goes on.
//!
//! Who looks for an access that is not there yet waits; here its thread goes on whenever somebody waits, so what happens between two looks is told.

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
        use std::cell::RefCell;
        pub(crate) use std::sync::atomic::{AtomicU32, Ordering};

        thread_local! {
            /// What is still to happen, the next one last.
            pub(crate) static TO_COME: RefCell<Vec<Box<dyn FnOnce()>>> = const { RefCell::new(Vec::new()) };
        }

        /// The looked for thread takes its next step.
        pub(crate) fn pause() {
            if let Some(step) = TO_COME.with(|steps| steps.borrow_mut().pop()) {
                step();
            }
        }

        pub(crate) fn yield_now() {
            pause();
        }

        /// Nobody else has a lock, so this is a sleep.
        pub(crate) fn futex_wait(_: &AtomicU32, _: u32, _at_most: u64) {
            pause();
        }

        pub(crate) fn futex_wake(_: &AtomicU32) {}

        pub(crate) fn stand_back() {}
    }

    /// No signals come.
    pub(crate) struct Quiet;

    impl Quiet {
        pub(crate) fn new() -> Quiet {
            Quiet
        }
    }
}

mod cold {
    //! Where the included files look for the lock.

    pub(crate) use crate::lock;
}

mod pool {
    //! Stands in for the runtime's memory, which is never given back.

    pub(crate) fn map(size: usize) -> *mut u8 {
        Box::leak(vec![0_u128; size.div_ceil(16)].into_boxed_slice()).as_mut_ptr().cast()
    }

    pub(crate) fn room(size: usize) -> usize {
        size.max(64)
    }

    pub(crate) fn take(size: usize) -> *mut u8 {
        map(size)
    }

    pub(crate) unsafe fn give(_: *mut u8, _: usize) {}
}

mod memory {
    //! How large a history is here.

    pub(crate) fn history_records(_slot: u32) -> usize {
        crate::RECORDS
    }

    pub(crate) fn is_watched() -> bool {
        false
    }
}

mod eye {
    //! How far moments are from each other.

    pub(crate) const STEP: u64 = crate::STEP;
}

mod word {
    //! How large a granule is.

    pub(crate) const GRANULE: usize = 8;
}

mod report {
    //! How many locks are told.

    pub(crate) const MOST_LOCKS: usize = 4;
}

#[path = "../src/cold/lock.rs"]
mod lock;

#[path = "../src/online/history.rs"]
mod history;

#[path = "../src/online/list.rs"]
mod list;

#[path = "../src/online/ring.rs"]
mod ring;

use deadheat_core::access::{Access, Mode, Via};
use history::{History, Wanted};
use sys::primitive::TO_COME;

const RECORDS: usize = 1024;
const STEP: u64 = 2;

/// A history, with what its thread does.
#[derive(Clone, Copy)]
struct Slot(&'static History);

impl Slot {
    fn new() -> Slot {
        // SAFETY: it is never given back.
        Slot(unsafe { &*History::make(0) })
    }

    /// The thread goes on in the moment of a clock, in the call `node`.
    fn begin(self, clock: u64, node: u32) {
        self.0.context((clock, self.0.count()), node, &[]);
    }

    /// It writes four bytes at an address.
    fn write(self, address: u64) {
        let access = Access { address, size: 4, mode: Mode::Write, atomic: None, via: Via::Code };
        self.0.access(&access, 0x1000);
    }

    /// In which call the write at an address was in the moment of a clock, if that is told; nothing of what is to come is left then.
    fn find(self, clock: u64, address: u64, to_come: impl FnOnce() + 'static) -> Option<u32> {
        TO_COME.with(|steps| steps.borrow_mut().push(Box::new(to_come)));
        let wanted = Wanted { clock, writes: true, atomic: false, start: address, end: address + 4 };
        let site = self.0.find(&wanted);
        let waited = TO_COME.with(|steps| steps.borrow_mut().drain(..).next().is_none());
        assert_eq!(waited, site.is_some(), "what is forgotten is not waited for, and nothing else is told");
        site.map(|site| site.node)
    }
}

/// Moments that begin one after the other, each with one access, until there are so many.
fn after_moments(count: u64) -> Slot {
    let slot = Slot::new();
    for clock in 1..=count {
        slot.begin(clock * STEP, 1);
        slot.write(0x10);
    }
    slot
}

#[test]
fn the_first_access_of_a_moment_is_waited_for() {
    // Up to where the table of clocks and the ring have come round several times.
    for moments in 0..4 * RECORDS as u64 {
        let slot = after_moments(moments);
        let clock = (moments + 1) * STEP;
        let found = slot.find(clock, 0x20, move || {
            slot.begin(clock, 7);
            slot.write(0x20);
        });
        assert_eq!(found, Some(7), "after {moments} moments");
    }
}

#[test]
fn a_moment_that_comes_before_its_access_is_waited_for() {
    let slot = after_moments(3);
    TO_COME.with(|steps| steps.borrow_mut().push(Box::new(move || slot.write(0x20))));
    assert_eq!(slot.find(4 * STEP, 0x20, move || slot.begin(4 * STEP, 7)), Some(7));
}

#[test]
fn what_its_thread_is_long_about_is_waited_for_and_what_never_comes_once() {
    let slot = after_moments(3);
    let steps =
        |count: usize| -> Vec<Box<dyn FnOnce()>> { (0..count).map(|_| Box::new(|| {}) as _).collect() };
    TO_COME.with(|to_come| {
        to_come.borrow_mut().push(Box::new(move || slot.write(0x20)));
        to_come.borrow_mut().push(Box::new(move || slot.begin(4 * STEP, 7)));
        to_come.borrow_mut().extend(steps(800));
    });
    assert_eq!(slot.find(4 * STEP, 0x20, || {}), Some(7));
    let looks = |clock: u64| {
        let wanted = Wanted { clock, writes: true, atomic: false, start: 0x30, end: 0x34 };
        TO_COME.with(|to_come| to_come.borrow_mut().extend(steps(2000)));
        assert!(slot.0.find(&wanted).is_none());
        2000 - TO_COME.with(|to_come| to_come.borrow_mut().drain(..).count())
    };
    assert_eq!([looks(5 * STEP), looks(5 * STEP), looks(6 * STEP)], [900, 400, 900]);
}

#[test]
fn what_is_forgotten_is_not_waited_for() {
    let slot = after_moments(RECORDS as u64);
    assert_eq!(slot.find(STEP, 0x10, || {}), None);
    // A moment so long that its beginning is gone.
    let slot = Slot::new();
    slot.begin(STEP, 1);
    for address in 0..2 * RECORDS as u64 {
        slot.write(0x100 + 4 * address);
    }
    slot.begin(2 * STEP, 1);
    slot.write(0x10);
    assert_eq!(slot.find(STEP, 0x100, || {}), None);
}

/// Numbers that are the same in every run.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[test]
fn the_first_access_is_found_among_many() {
    let mut numbers = Numbers(1);
    for round in 0..40 {
        let slot = Slot::new();
        // Some moments before it, so that it begins anywhere in a span.
        for clock in 1..=numbers.next(100) {
            slot.begin(clock * STEP, 1);
            slot.write(0x10);
        }
        let clock = 1000 * STEP;
        let (mut made, mut node) = (Vec::new(), 2);
        slot.begin(clock, node);
        let places = [40, 400, 4000][round % 3];
        for _ in 0..400 {
            if numbers.next(3) == 0 {
                node += 1;
                slot.0.context((clock, 0), node, &[]);
            }
            let address = 0x1000 + 4 * numbers.next(places);
            let size = [1, 4, 8, 24, 700][numbers.next(5) as usize % if round % 2 == 0 { 3 } else { 5 }];
            let mode = if numbers.next(2) == 0 { Mode::Read } else { Mode::Write };
            slot.0.access(&Access { address, size, mode, atomic: None, via: Via::Code }, 0x1000);
            made.push((address, size, mode.writes(), node));
        }
        // What comes behind it is another moment's.
        slot.begin(clock + STEP, 1);
        for at in 0..200 {
            slot.write(0x1000 + 4 * (at * places / 200));
        }
        for at in 0..places {
            let (start, end) = (0x1000 + 4 * at, 0x1004 + 4 * at);
            for writes in [false, true] {
                let hit = |made: &&(u64, u64, bool, u32)| {
                    made.0 < end && made.0 + made.1 > start && made.2 == writes
                };
                let expected = made.iter().find(hit).map(|made| made.3);
                let site = slot.0.find(&Wanted { clock, writes, atomic: false, start, end });
                assert_eq!(site.map(|site| site.node), expected, "round {round}, at {start:#x}");
            }
        }
    }
}

impl Slot {
    /// It remembers so many times as many records from now on, just before it notes a context in the moment of a clock.
    fn grow(self, clock: u64, times: usize) {
        let records = self.0.extent().1 * times;
        // SAFETY: fresh memory that is never given back.
        unsafe { self.0.grow(clock, (pool::map(History::room(records)), records)) };
    }

    /// In which call the write at an address was in the moment of a clock, if that is remembered.
    fn remembered(self, clock: u64, address: u64) -> Option<u32> {
        let wanted = Wanted { clock, writes: true, atomic: false, start: address, end: address + 4 };
        self.0.find(&wanted).map(|site| site.node)
    }
}

#[test]
fn one_that_grows_remembers_what_it_did_and_more_from_then_on() {
    const TIMES: usize = 4;
    let mut numbers = Numbers(7);
    let mut kept = 0;
    for round in 0..60 {
        // One that stays as it is, one that grows somewhere, and one that was large from the beginning.
        let slots = [Slot::new(), Slot::new(), Slot::new()];
        let [_, grows, large] = slots;
        large.grow(STEP, TIMES);
        let moments = [10, 100, 1000][round % 3];
        let grown = 1 + numbers.next(moments);
        let mut since = 0;
        let mut writes = Vec::new();
        for moment in 1..=moments {
            let clock = moment * STEP;
            slots.iter().for_each(|slot| slot.begin(clock, 0));
            for at in 0..numbers.next(4 * RECORDS as u64 / moments) {
                let node = writes.len() as u32;
                // In the midst of a moment, too.
                if moment == grown && at == 3 {
                    grows.grow(clock, TIMES);
                    since = grows.0.count();
                }
                if at % 3 == 0 {
                    slots.iter().for_each(|slot| slot.0.context((clock, u64::MAX), node, &[]));
                }
                let address = 0x1000 + 8 * at;
                slots.iter().for_each(|slot| slot.write(address));
                writes.push((clock, address, grows.0.count()));
            }
        }
        for &(clock, address, number) in &writes {
            let [in_small, in_grown, in_large] = slots.map(|slot| slot.remembered(clock, address));
            assert!(
                in_grown.is_none() || in_grown == in_large,
                "round {round}: {in_grown:?}, not {in_large:?}"
            );
            assert!(in_grown.is_some() || in_small.is_none(), "round {round}: {clock} {address:#x}");
            let fits = grows.0.count() - number < (RECORDS * TIMES / 2) as u64;
            if since != 0 && clock > grown * STEP && fits {
                assert!(in_grown.is_some(), "round {round}: {clock} {address:#x} was after it grew");
                kept += usize::from(in_small.is_none());
            }
        }
    }
    assert!(kept > 10_000, "{kept}");
}

#[test]
fn one_that_grows_while_somebody_looks_is_read_as_it_is_then() {
    let slot = after_moments(3 * RECORDS as u64);
    let clock = (3 * RECORDS as u64 + 1) * STEP;
    let found = slot.find(clock, 0x20, move || {
        slot.grow(clock, 4);
        slot.begin(clock, 7);
        slot.write(0x20);
    });
    assert_eq!(found, Some(7));
    // A moment that began before, of which what comes is remembered, too.
    let slot = after_moments(RECORDS as u64 / 2);
    let clock = (RECORDS as u64 / 2 + 1) * STEP;
    slot.begin(clock, 1);
    (0..2 * RECORDS as u64).for_each(|address| slot.write(0x100 + 4 * address));
    slot.grow(clock, 4);
    slot.0.context((clock, 0), 8, &[]);
    let found = slot.find(clock, 0x20, move || slot.write(0x20));
    assert_eq!(found, Some(8));
}
