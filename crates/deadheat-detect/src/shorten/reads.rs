//! The reads of a witness that set the order between threads.

use std::collections::BTreeMap;

use deadheat_core::event::Op;
use deadheat_core::ids::ThreadId;
use deadheat_core::race::Block;

use super::Step;
use crate::run::{Number, Run};

/// The reads in a cut of a write of another thread that nothing else puts before them, and these writes; each once.
pub(super) fn listed(run: &Run, sequence: &[Number], cut: &[u32]) -> Vec<(Number, Step)> {
    let mut found: BTreeMap<Number, Vec<(ThreadId, u64)>> = BTreeMap::new();
    for &read in sequence.iter().filter(|&&event| run.has(cut, event)) {
        for &write in run.writers(read) {
            if run.before_any(write, read) {
                continue;
            }
            found.entry(write).or_default();
            found.entry(read).or_default().push((run.event(write).thread, run.nth(write)));
        }
    }
    let step = |(number, sees)| {
        let (event, nth) = (*run.event(number), run.nth(number));
        (number, Step { event, nth, block: None, sees })
    };
    found.into_iter().map(step).collect()
}

/// The block of memory in which the first byte of an access lies.
pub(super) fn block(run: &Run, access: Number) -> Option<Block> {
    let cell = &run.cells[run.cells_of(access).next()?];
    let so_far = &cell.uses[..cell.uses.partition_point(|used| used.event <= access)];
    let birth = so_far.iter().rev().find(|used| used.birth)?.event;
    let event = run.event(birth);
    let Op::Alloc { address, size, kind } = event.op else { return None };
    Some(Block { address, size, kind, thread: event.thread, place: event.place, stack: event.stack })
}
