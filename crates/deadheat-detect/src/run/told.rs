//! From a race of two events to what is told of it.

use deadheat_core::access::Access;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::{HeldLock, Race, RaceSink, Side};
use deadheat_core::witness::Witness;

use super::{Extents, Number, Run};
use crate::clock::blocks::Locks;
use crate::clock::lockset::LockTable;

/// A race that was found.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) earlier: Number,
    pub(crate) later: Number,
    /// The first byte that both touch.
    pub(crate) address: u64,
    /// What is done before them, by thread.
    pub(crate) cut: Vec<u32>,
    /// In which order, if not in the run's: of the events from some on at least those between which it matters.
    pub(crate) order: Option<Vec<Number>>,
}

/// Tells races, which are in the order of their later accesses.
pub(crate) fn tell(run: &Run, found: &[Found], sink: &mut dyn RaceSink) {
    let mut extents: Extents = run.start.clone();
    let mut locks = LockTable::default();
    let mut found = found.iter().peekable();
    for number in 0..run.len() as Number {
        while let Some(race) = found.next_if(|race| race.later == number) {
            if extents.blocks.is_benign(race.address) {
                continue;
            }
            let sides = [race.earlier, race.later].map(|event| side(run, event, &mut locks));
            let [Some(earlier), Some(later)] = sides else { continue };
            let address = earlier.access.address.max(later.access.address);
            let told = Race { earlier, later, address, block: extents.blocks.around(address) };
            let done = done(run, race);
            let order = race.order.as_ref().map(|order| steps(run, race, order));
            let first = if order.is_some() { run.before_window() } else { 0 };
            let witness = Witness { first, done: &done, order: order.as_deref() };
            sink.predicted(&told, &witness, &Locks { locks: &locks, blocks: &extents.blocks });
        }
        extents.of(run.event(number));
    }
}

/// An access as a side of a race.
fn side(run: &Run, number: Number, locks: &mut LockTable) -> Option<Side> {
    let event = run.event(number);
    let mut set = Default::default();
    for &section in run.inside(number) {
        let section = &run.sections.all[section as usize];
        set = locks.with(set, HeldLock { lock: section.address, mode: section.mode });
    }
    let access: Access = run.access(number)?;
    Some(Side { thread: event.thread, place: event.place, stack: event.stack, access, locks: set })
}

/// How many events each thread has done before the race.
fn done(run: &Run, race: &Found) -> Vec<(ThreadId, u64)> {
    let threads = (0..run.threads()).filter_map(|thread| {
        let racing = [race.earlier, race.later].into_iter().find(|&event| run.place(event).0 == thread);
        let last = race.cut[thread].checked_sub(1).map(|last| run.done(run.row(thread)[last as usize]));
        let before = Some(run.done_before(thread)).filter(|&done| done > 0);
        Some((run.id(thread), racing.map(|event| run.nth(event)).or(last).or(before)?))
    });
    threads.collect()
}

/// An order of events as threads and how many events they do next, those included that do not matter.
fn steps(run: &Run, race: &Found, order: &[Number]) -> Vec<(ThreadId, u64)> {
    let mut counts: Vec<u64> = (0..run.threads()).map(|thread| run.done_before(thread)).collect();
    let mut steps: Vec<(ThreadId, u64)> = Vec::new();
    let mut advance = |thread: usize, to: u64| {
        let count = to - std::mem::replace(&mut counts[thread], to);
        match steps.last_mut() {
            Some((last, so_far)) if *last == run.id(thread) => *so_far += count,
            _ if count > 0 => steps.push((run.id(thread), count)),
            _ => {}
        }
    };
    for &event in order {
        advance(run.place(event).0, run.done(event));
    }
    for event in [race.earlier, race.later] {
        advance(run.place(event).0, run.nth(event));
    }
    steps
}
