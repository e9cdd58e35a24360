//! Traces with branches, from traces without.

use std::collections::BTreeMap;

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, ThreadId};

use super::random::Random;

/// The trace with branches behind some of its events, more often behind reads, at least one of them. The place of an event is its
/// number, from 1.
pub(crate) fn with_branches(seed: u64, events: &[Event]) -> Vec<Event> {
    let mut random = Random(seed ^ 0xb4a2_c4e5);
    let mut branchy = Vec::new();
    for event in events {
        branchy.push(*event);
        let reads = matches!(event.op, Op::Access(access) if access.mode.reads());
        if random.one_in(if reads { 3 } else { 10 }) {
            branchy.push(Event { op: Op::Branch, ..*event });
        }
    }
    if let Some(&last) = branchy.last()
        && !branchy.iter().any(|event| event.op == Op::Branch)
    {
        branchy.push(Event { op: Op::Branch, ..last });
    }
    numbered(branchy)
}

/// The trace with a branch behind each event that reads.
pub(crate) fn with_all_branches(events: &[Event]) -> Vec<Event> {
    let behind = |event: &Event| {
        let reads = matches!(event.op, Op::Access(access) if access.mode.reads());
        let branch = reads.then_some(Event { op: Op::Branch, ..*event });
        [Some(*event), branch].into_iter().flatten().collect::<Vec<_>>()
    };
    numbered(events.iter().flat_map(behind).collect())
}

/// The trace with a branch behind each so-many-th read of each thread.
pub(crate) fn with_some_branches(events: &[Event], each: u64) -> Vec<Event> {
    let mut reads: BTreeMap<ThreadId, u64> = BTreeMap::new();
    let mut branchy = Vec::new();
    for event in events {
        branchy.push(*event);
        if matches!(event.op, Op::Access(access) if access.mode.reads()) {
            let count = reads.entry(event.thread).or_default();
            *count += 1;
            branchy.extend(count.is_multiple_of(each).then_some(Event { op: Op::Branch, ..*event }));
        }
    }
    branchy
}

/// The events with their numbers, from 1, as their places.
pub(crate) fn numbered(mut events: Vec<Event>) -> Vec<Event> {
    for (place, event) in (1..).zip(&mut events) {
        event.place = PlaceId(place);
    }
    events
}
