//! Whether a wait can end, as a reordering is played.
//!
//! On a condition variable a wait that a signal reached in the run needs one that reaches it, whichever; on a semaphore one that got
//! a post needs one that nobody else took. As many were there at the start as the run shows.

use std::collections::BTreeMap;

use deadheat_core::event::{BlockKind, Event, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::links::owned;

/// What the waits of a run need.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    /// The ends of waits on condition variables that a signal reached.
    pub(crate) reached: FxHashSet<usize>,
    /// The semaphores of posts and successful waits. What is made anew at the same address is another one.
    semaphores: FxHashMap<usize, usize>,
    /// What each semaphore counts at the start.
    start: Vec<i64>,
}

impl Waits {
    /// Looks for the semaphores of a run.
    pub(crate) fn new(events: &[Event]) -> Self {
        let mut waits = Self::default();
        let mut present: BTreeMap<u64, usize> = BTreeMap::new();
        let mut counts: Vec<i64> = Vec::new();
        for (index, event) in events.iter().enumerate() {
            if let Some((address, change)) = change(&event.op) {
                let semaphore = *present.entry(address).or_insert(counts.len());
                if semaphore == counts.len() {
                    counts.push(0);
                    waits.start.push(0);
                }
                waits.semaphores.insert(index, semaphore);
                counts[semaphore] += change;
                waits.start[semaphore] = waits.start[semaphore].max(-counts[semaphore]);
            } else if let Op::Forget { object } = event.op {
                present.remove(&object);
            } else if let Op::Alloc { address, size, kind } = event.op
                && kind != BlockKind::Benign
            {
                let end = address.saturating_add(owned(address, size, kind));
                let inside: Vec<u64> = present.range(address..end).map(|(&at, _)| at).collect();
                for at in inside {
                    present.remove(&at);
                }
            }
        }
        waits
    }
}

fn change(op: &Op) -> Option<(u64, i64)> {
    if let Op::Signal { object, kind: SyncKind::Semaphore } = *op {
        return Some((object, 1));
    }
    if let Op::Wait { object, kind: SyncKind::Semaphore, woken: true } = *op {
        return Some((object, -1));
    }
    None
}

/// Who waits, and how many posts are there.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    waits: &'a Waits,
    counts: Vec<i64>,
    /// Threads, what they wait for, and whether a signal has reached them.
    threads: Vec<(ThreadId, u64, bool)>,
}

impl<'a> Waiting<'a> {
    pub(crate) fn new(waits: &'a Waits) -> Self {
        Self { waits, counts: waits.start.clone(), threads: Vec::new() }
    }

    /// Plays one event; `false` if it ends a wait that nothing has ended.
    pub(crate) fn step(&mut self, index: usize, event: &Event) -> bool {
        if let Some((_, change)) = change(&event.op) {
            let count = &mut self.counts[self.waits.semaphores[&index]];
            *count += change;
            return *count >= 0;
        }
        if let Op::Signal { object, kind: SyncKind::Condition | SyncKind::ConditionAll } = event.op {
            let waiting = self.threads.iter_mut().filter(|(_, on, _)| *on == object);
            waiting.for_each(|(.., reached)| *reached = true);
        } else if let Op::Await { object, .. } = event.op {
            self.end(event.thread, object);
            self.threads.push((event.thread, object, false));
        } else if let Op::Wait { object, .. } = event.op {
            let reached = self.end(event.thread, object);
            return reached || !self.waits.reached.contains(&index);
        }
        true
    }

    /// A thread waits no more: whether a signal has reached it.
    fn end(&mut self, thread: ThreadId, object: u64) -> bool {
        let mine = self.threads.iter().position(|&(who, on, _)| (who, on) == (thread, object));
        mine.is_some_and(|mine| self.threads.swap_remove(mine).2)
    }
}
