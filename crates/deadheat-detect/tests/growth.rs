//! Memory grows with what the program touched, not with the length of its trace.

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::hb::Hb;
use deadheat_detect::{Detector, Options};

struct Nothing;

impl RaceSink for Nothing {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        panic!("no race is in these traces: {race:?}");
    }
}

fn event(thread: u32, place: u32, op: Op) -> Event {
    event_under(StackId::EMPTY, thread, place, op)
}

fn event_under(stack: StackId, thread: u32, place: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), place: PlaceId(place), stack, times: 1, op }
}

fn write(address: u64) -> Op {
    Op::Access(Access::plain(address, 8, Mode::Write))
}

/// Four threads pass a lock around and write to shared words, read a shared table and count with
/// an atomic: every round is at a call stack that no other round has.
fn round(hb: &mut Hb, number: u64) {
    let (lock, stack) = (0x9000, StackId(number as u32));
    for thread in 0..4 {
        let mut step = |place, op| hb.step(&event_under(stack, thread, place, op), &mut Nothing);
        step(1, Op::Acquire { lock, mode: LockMode::Write });
        for word in 0..8 {
            step(2 + word as u32, write(0x1_0000 + (number * 8 + word) % 1000 * 8));
        }
        step(10, Op::Release { lock, mode: LockMode::Write });
        let read = Access::plain(0x4_0000 + number % 500 * 8, 8, Mode::Read);
        step(11, Op::Access(read));
        let order = Some(MemoryOrder::Relaxed);
        let add = Access { atomic: order, ..Access::plain(0x5_0000 + number % 50 * 8, 8, Mode::ReadWrite) };
        step(12, Op::Access(add));
    }
}

#[test]
fn a_longer_trace_takes_no_more_memory() {
    let mut hb = Hb::new(Options::default());
    (0..5_000).for_each(|number| round(&mut hb, number));
    let early = hb.memory();
    (5_000..50_000).for_each(|number| round(&mut hb, number));
    let (late, counts) = (hb.memory(), hb.counts());
    println!("{early} bytes after 5 000 rounds, {late} after 50 000, {} sweeps", counts.sweeps);
    assert!(counts.sweeps > 5, "{counts:?}");
    assert!(late <= early * 3 / 2, "{early} bytes grew to {late}");
}

#[test]
fn ten_thousand_short_threads_are_cheap() {
    let mut hb = Hb::new(Options::default());
    for child in 1..=10_000 {
        hb.step(&event(0, 1, Op::Fork { child: ThreadId(child) }), &mut Nothing);
        hb.step(&event(child, 2, write(0x1_0000)), &mut Nothing);
        hb.step(&event(child, 3, Op::End), &mut Nothing);
        hb.step(&event(0, 4, Op::Join { child: ThreadId(child) }), &mut Nothing);
        hb.step(&event(0, 5, write(0x1_0000)), &mut Nothing);
    }
    assert_eq!(hb.threads(), 10_001);
    let each = hb.memory() / 10_000;
    assert!(each < 1000, "{each} bytes a thread");
}
