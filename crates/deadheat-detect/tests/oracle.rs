//! Happens-before against brute force: all small traces, and many random ones.

mod support;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use support::generate::Generator;
use support::{check, full};

#[test]
fn random_traces() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut racy_traces, mut racy_events, mut longest) = (0, 0, 0);
    for seed in 0..count {
        let events = Generator::trace(seed);
        longest = longest.max(events.len());
        let racy = check::agree(&events);
        racy_traces += usize::from(racy > 0);
        racy_events += racy;
    }
    println!("{count} traces of up to {longest} events: {racy_traces} with races, {racy_events} racy events");
    // Both outcomes must be common, or the comparison would mean little.
    assert!(racy_traces * 10 > count as usize && racy_traces * 10 < count as usize * 9, "{racy_traces}");
}

/// A thread repeats one read of a byte that others read and write, long enough for each shortcut
/// to be taken; the write must be seen through all of them.
#[test]
fn repeated_reads_see_a_write_in_between() {
    let event = |thread, place, mode| Event {
        thread: ThreadId(thread),
        place: PlaceId(place),
        stack: StackId::EMPTY,
        times: 1,
        op: Op::Access(Access::plain(0x1000, 4, mode)),
    };
    for repeats in 0..6 {
        let mut events = vec![event(0, 1, Mode::Read)];
        events.extend((0..repeats).map(|_| event(1, 2, Mode::Read)));
        events.push(event(2, 3, Mode::Write));
        events.extend((0..repeats).map(|_| event(1, 2, Mode::Read)));
        assert_eq!(check::agree(&events), 1 + repeats);
    }
}
