//! What the synchronisation of a run needs in any other order of its events, for analyses that predict: order that is
//! kept as it was.
//!
//! A wait keeps all that it learned from, by the rules of [`super::order`]. Beyond them, so that an operation
//! does in the reordering what it did in the run:
//!
//! - a wait on a semaphore that got nothing keeps all earlier posts and waits, or it might get something;
//! - who arrives at a barrier keeps the arrivals of the earlier rounds, or it might be counted in one of them;
//! - who uses an object keeps its last making or destruction, and the birth of the memory in which it lies.

use std::collections::BTreeMap;

use deadheat_core::event::{Op, SyncKind};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

use super::order::Order;
use super::past::{Moment, Now, Past};
use super::vector::Clock;

/// What is remembered beside the order's own objects.
#[derive(Debug, Default)]
pub struct Links {
    /// For each semaphore the waits on it that got something, and the posts.
    used: BTreeMap<u64, Clock>,
    barriers: BTreeMap<u64, Rounds>,
    forgotten: FxHashMap<u64, Moment>,
}

/// The rounds of a barrier. One is over when it is full, or when somebody leaves it.
#[derive(Debug, Default)]
struct Rounds {
    /// Who arrived in the present round.
    arrived: Vec<ThreadId>,
    /// What those know that did.
    arriving: Clock,
    /// What those know that arrived in the rounds before it.
    over: Clock,
}

impl Links {
    /// A thread does something that may use an object: it learns of the object's making. The object, if there is one.
    pub fn touch(&self, order: &mut Order, past: &Past, now: Now, op: &Op) -> Option<u64> {
        let object = match *op {
            Op::Acquire { lock, .. } | Op::Release { lock, .. } => lock,
            Op::Signal { object, .. }
            | Op::Await { object, .. }
            | Op::Wait { object, .. }
            | Op::Forget { object } => object,
            Op::Arrive { barrier, .. } | Op::Leave { barrier } => barrier,
            Op::Access(_)
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => return None,
        };
        if let Some(&forgotten) = self.forgotten.get(&object) {
            past.teach(&mut order.threads.row_mut(now.row).clock, forgotten);
        }
        Some(object)
    }

    /// The moments at which objects were made or destroyed.
    pub fn makings(&self) -> impl Iterator<Item = Moment> {
        self.forgotten.values().copied()
    }

    /// An object is made or destroyed.
    pub fn forget(&mut self, order: &mut Order, now: Now, object: u64) {
        order.objects.forget(object);
        self.forgotten.insert(object, now.at);
        self.used.remove(&object);
        self.barriers.remove(&object);
    }

    /// Memory gets a new life, and with it the objects that lie in it.
    pub fn forget_range(&mut self, order: &mut Order, start: u64, end: u64) {
        order.objects.forget_range(start, end);
        forget_range(&mut self.used, start, end);
        forget_range(&mut self.barriers, start, end);
    }

    /// A thread wakes waiters.
    pub fn signal(&mut self, order: &mut Order, now: Now, object: u64, kind: SyncKind) {
        order.signal(now.row, object, kind);
        if kind == SyncKind::Semaphore {
            self.used.entry(object).or_default().join(&order.threads.row(now.row).clock);
        }
    }

    /// A thread's wait is over.
    pub fn wait(&mut self, order: &mut Order, now: Now, (object, kind, woken): (u64, SyncKind, bool)) {
        order.end_wait(now.row, object, kind, woken);
        if kind == SyncKind::Semaphore {
            let used = self.used.entry(object).or_default();
            let clock = &mut order.threads.row_mut(now.row).clock;
            if woken {
                used.join(clock);
            } else {
                clock.join(used);
            }
        }
    }

    /// A thread arrives at a barrier.
    pub fn arrive(&mut self, order: &mut Order, now: Now, barrier: u64, count: u32) {
        let rounds = self.barriers.entry(barrier).or_default();
        let thread = order.threads.row(now.row).id;
        let clock = &mut order.threads.row_mut(now.row).clock;
        clock.join(&rounds.over);
        rounds.arriving.join(clock);
        rounds.arrived.push(thread);
        if count > 0 && rounds.arrived.len() >= count as usize {
            rounds.end();
        }
        order.arrive(now.row, barrier, count);
    }

    /// A thread leaves a barrier.
    pub fn leave(&mut self, order: &mut Order, now: Now, barrier: u64) {
        order.leave(now.row, barrier);
        if let Some(rounds) = self.barriers.get_mut(&barrier)
            && rounds.arrived.contains(&order.threads.row(now.row).id)
        {
            rounds.end();
        }
    }
}

fn forget_range<T>(objects: &mut BTreeMap<u64, T>, start: u64, end: u64) {
    while let Some((&object, _)) = objects.range(start..end.max(start)).next() {
        objects.remove(&object);
    }
}

impl Rounds {
    fn end(&mut self) {
        self.over.join(&self.arriving);
        self.arriving.clear();
        self.arrived.clear();
    }
}
