//! The predictions against all correct reorderings of random traces: each race that `sync-reversal`, `sync-preserving` and
//! `shb` tell is one in some correct reordering, the witness is one, and `sync-reversal` finds nearly all there are.

mod support;

use std::collections::BTreeSet;

use deadheat_core::event::Event;
use deadheat_detect::oracle::Oracle;
use deadheat_detect::oracle::reorder::{Reads, races};
use support::generate::Generator;
use support::orders::{OTHERS, within};
use support::told::told;
use support::{full, short};

/// How many racy accesses `sync-reversal` tells, how many of the races are in another order than the run's, and how many racy accesses
/// there are.
fn check(events: &[Event]) -> (usize, usize, usize) {
    let (possible, told) = (races(events, Reads::Kept), told("sync-reversal", false, events));
    let turned = told.iter().filter(|(_, witness)| witness.order.is_some()).count();
    let racy: BTreeSet<usize> = possible.keys().map(|&(_, later)| later).collect();
    let found: BTreeSet<usize> = told.iter().map(|&((_, later), _)| later).collect();
    (found.len(), turned, racy.len())
}

#[test]
fn short_traces() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut found, mut turned, mut racy, mut hidden) = (0, 0, 0, 0);
    for seed in 0..count {
        let events = short::trace(seed, 18);
        within(seed, &OTHERS, &events);
        let (some, other, all) = check(&events);
        (found, turned, racy) = (found + some, turned + other, racy + all);
        hidden += usize::from(some > 0 && Oracle::new(&events).races().is_empty());
    }
    println!(
        "{count} traces: {found} of {racy} racy accesses, {turned} races with sections turned round, {hidden} traces without a race in the run's order"
    );
    assert!(found * 100 > racy * 99 && turned > 0 && hidden > 0, "{found} of {racy}, {turned}, {hidden}");
}

#[test]
fn traces_of_every_sort() {
    let count = if full() { 100_000 } else { 5_000 };
    let (mut found, mut racy) = (0, 0);
    for seed in 0..count {
        let mut events = Generator::trace(seed);
        events.truncate(14);
        for (place, event) in events.iter_mut().enumerate() {
            event.place = deadheat_core::ids::PlaceId(place as u32 + 1);
        }
        // The others look at the bytes that two accesses have in common; here whole accesses must lie as they did, and
        // these traces have some that reach over the edges of blocks.
        within(seed, &["sync-reversal"], &events);
        let (some, _, all) = check(&events);
        (found, racy) = (found + some, racy + all);
    }
    println!("{count} traces: {found} of {racy} racy accesses");
    assert!(found * 100 > racy * 98, "{found} of {racy}");
}
