//! Happens-before against brute force: all small traces, and many random ones.

mod support;

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
