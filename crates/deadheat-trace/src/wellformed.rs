//! Doubts: what a sequence of events should not hold.
//!
//! Nothing here stops an analysis; `deadheat trace info` tells the counts, so that a strange
//! verdict can be traced back to a strange trace.
//!
//! Invariant: memory grows with the threads and with the locks held, not with the events.

use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::ThreadId;

use crate::hash::Map;

/// The sorts of doubt.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Doubt {
    /// A lock is taken while another thread holds it, not both as readers.
    HeldTwice,
    /// A lock is released by a thread that does not hold it.
    NotHeld,
    /// A thread ends while it holds a lock.
    HeldAtThreadEnd,
    /// An event precedes its thread's beginning.
    BeforeBegin,
    /// An event follows its thread's end.
    AfterEnd,
    /// An event follows the join of its thread.
    AfterJoin,
    /// A thread is joined that was never forked.
    JoinUnforked,
    /// A thread is forked that was forked before or has events already.
    ForkKnown,
    /// A thread has events, but its creation was not seen.
    Unforked,
    /// A barrier is left by a thread that did not arrive.
    LeaveUnarrived,
    /// A wait ends that did not begin.
    WaitUnbegun,
}

impl Doubt {
    /// Every sort with a phrase for it.
    pub const ALL: [(Doubt, &'static str); 11] = [
        (Doubt::HeldTwice, "locks taken while another thread held them"),
        (Doubt::NotHeld, "locks released by a thread that did not hold them"),
        (Doubt::HeldAtThreadEnd, "locks held when their thread ended"),
        (Doubt::BeforeBegin, "events before their thread's beginning"),
        (Doubt::AfterEnd, "events after their thread's end"),
        (Doubt::AfterJoin, "events after their thread was joined"),
        (Doubt::JoinUnforked, "joins of a thread that was never forked"),
        (Doubt::ForkKnown, "forks of a thread that was there before"),
        (Doubt::Unforked, "threads whose creation was not seen"),
        (Doubt::LeaveUnarrived, "barriers left without arriving"),
        (Doubt::WaitUnbegun, "waits that ended without beginning"),
    ];
}

/// What is known of a thread.
#[derive(Clone, Copy, Default)]
struct Thread {
    seen: bool,
    forked: bool,
    begun: bool,
    ended: bool,
    joined: bool,
}

/// Watches a sequence of events for doubts.
#[derive(Default)]
pub struct Doubts {
    counts: [u64; Doubt::ALL.len()],
    threads: Vec<Thread>,
    holders: Map<u64, Vec<Holder>>,
    /// What each thread began and did not end: waits and barriers.
    pending: Map<(u32, u64), u32>,
    /// Whether the trace announces its waits at all (imported ones often do not).
    announced: bool,
}

struct Holder {
    thread: ThreadId,
    mode: LockMode,
    depth: u32,
}

impl Doubts {
    /// Takes an event.
    pub fn step(&mut self, event: &Event) {
        self.order_in_thread(event);
        let thread = event.thread;
        match event.op {
            Op::Acquire { lock, mode } => self.acquire(thread, lock, mode),
            Op::Release { lock, .. } => self.release(thread, lock),
            Op::Fork { child } => self.fork(child),
            Op::Join { child } => self.join(child),
            Op::Arrive { barrier, .. } => self.begin(thread, barrier),
            Op::Leave { barrier } => self.end(thread, barrier, Doubt::LeaveUnarrived),
            Op::Await { object, .. } => {
                self.announced = true;
                self.begin(thread, object);
            }
            Op::Wait { object, .. } if self.announced => self.end(thread, object, Doubt::WaitUnbegun),
            Op::Begin => self.thread(thread).begun = true,
            Op::End => self.thread_end(thread),
            Op::Wait { .. } | Op::Request { .. } | Op::Signal { .. } | Op::Forget { .. } => {}
            Op::Access(_) | Op::Fence(_) | Op::Branch | Op::Enter | Op::Exit => {}
            Op::Alloc { .. } | Op::Free { .. } | Op::HiddenBegin | Op::HiddenEnd | Op::Fault { .. } => {}
        }
    }

    /// Each sort of doubt that arose: a phrase, and how often.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let count = |doubt: Doubt| self.count(doubt);
        Doubt::ALL.iter().map(move |&(doubt, phrase)| (phrase, count(doubt))).filter(|row| row.1 > 0)
    }

    /// How often a doubt arose.
    #[must_use]
    pub fn count(&self, doubt: Doubt) -> u64 {
        self.counts[doubt as usize]
    }

    fn doubt(&mut self, doubt: Doubt) {
        self.counts[doubt as usize] += 1;
    }

    fn thread(&mut self, id: ThreadId) -> &mut Thread {
        if id.index() >= self.threads.len() {
            self.threads.resize(id.index() + 1, Thread::default());
        }
        &mut self.threads[id.index()]
    }

    fn order_in_thread(&mut self, event: &Event) {
        let thread = self.thread(event.thread);
        let known = *thread;
        thread.seen = true;
        if !known.seen && !known.forked && event.thread != ThreadId::FIRST {
            self.doubt(Doubt::Unforked);
        }
        if known.ended {
            self.doubt(Doubt::AfterEnd);
        }
        if known.joined {
            self.doubt(Doubt::AfterJoin);
        }
        if event.op == Op::Begin && known.seen && !known.begun {
            self.doubt(Doubt::BeforeBegin);
        }
    }

    fn acquire(&mut self, thread: ThreadId, lock: u64, mode: LockMode) {
        let holders = self.holders.entry(lock).or_default();
        if let Some(own) = holders.iter_mut().find(|holder| holder.thread == thread) {
            own.depth += 1;
            return;
        }
        let twice = holders.iter().any(|holder| mode == LockMode::Write || holder.mode == LockMode::Write);
        holders.push(Holder { thread, mode, depth: 1 });
        if twice {
            self.doubt(Doubt::HeldTwice);
        }
    }

    fn release(&mut self, thread: ThreadId, lock: u64) {
        let holders = self.holders.get_mut(&lock);
        let at = holders.as_ref().and_then(|all| all.iter().position(|holder| holder.thread == thread));
        let (Some(holders), Some(at)) = (holders, at) else { return self.doubt(Doubt::NotHeld) };
        holders[at].depth -= 1;
        if holders[at].depth == 0 {
            holders.swap_remove(at);
        }
        if holders.is_empty() {
            self.holders.remove(&lock);
        }
    }

    fn fork(&mut self, child: ThreadId) {
        let thread = self.thread(child);
        let known = thread.seen || thread.forked || child == ThreadId::FIRST;
        thread.forked = true;
        if known {
            self.doubt(Doubt::ForkKnown);
        }
    }

    fn join(&mut self, child: ThreadId) {
        let thread = self.thread(child);
        thread.joined = true;
        if !thread.forked && child != ThreadId::FIRST {
            self.doubt(Doubt::JoinUnforked);
        }
    }

    fn begin(&mut self, thread: ThreadId, object: u64) {
        *self.pending.entry((thread.0, object)).or_default() += 1;
    }

    fn end(&mut self, thread: ThreadId, object: u64, otherwise: Doubt) {
        match self.pending.get_mut(&(thread.0, object)) {
            Some(1) => {
                self.pending.remove(&(thread.0, object));
            }
            Some(more) => *more -= 1,
            None => self.doubt(otherwise),
        }
    }

    fn thread_end(&mut self, id: ThreadId) {
        self.thread(id).ended = true;
        let mut held = 0;
        for holders in self.holders.values() {
            held += holders.iter().filter(|holder| holder.thread == id).count() as u64;
        }
        self.counts[Doubt::HeldAtThreadEnd as usize] += held;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use deadheat_core::event::SyncKind;
    use deadheat_core::ids::{PlaceId, StackId};

    fn doubts(events: &[(u32, Op)]) -> Vec<(&'static str, u64)> {
        let mut doubts = Doubts::default();
        for &(thread, op) in events {
            let (thread, place, stack) = (ThreadId(thread), PlaceId::UNKNOWN, StackId::EMPTY);
            doubts.step(&Event { thread, place, stack, times: 1, op });
        }
        doubts.rows().collect()
    }

    const WRITE: LockMode = LockMode::Write;
    const READ: LockMode = LockMode::Read;

    #[test]
    fn an_orderly_run_leaves_no_doubt() {
        let (child, lock, kind) = (ThreadId(1), 64, SyncKind::Condition);
        let events = [
            (0, Op::Begin),
            (0, Op::Fork { child }),
            (1, Op::Begin),
            (0, Op::Acquire { lock, mode: WRITE }),
            (0, Op::Acquire { lock, mode: WRITE }),
            (0, Op::Release { lock, mode: WRITE }),
            (0, Op::Release { lock, mode: WRITE }),
            (0, Op::Acquire { lock: 8, mode: READ }),
            (1, Op::Acquire { lock: 8, mode: READ }),
            (1, Op::Release { lock: 8, mode: READ }),
            (0, Op::Release { lock: 8, mode: READ }),
            (0, Op::Await { object: 16, kind }),
            (0, Op::Wait { object: 16, kind, woken: false }),
            (1, Op::Arrive { barrier: 24, count: 1 }),
            (1, Op::Leave { barrier: 24 }),
            (1, Op::End),
            (0, Op::Join { child }),
        ];
        assert_eq!(doubts(&events), []);
    }

    #[test]
    fn each_doubt_is_counted() {
        let (child, kind) = (ThreadId(1), SyncKind::Condition);
        let events = [
            (0, Op::Join { child }),
            (1, Op::Branch),
            (1, Op::Begin),
            (0, Op::Fork { child }),
            (0, Op::Acquire { lock: 8, mode: WRITE }),
            (1, Op::Acquire { lock: 8, mode: READ }),
            (1, Op::End),
            (1, Op::Release { lock: 9, mode: WRITE }),
            (0, Op::Leave { barrier: 4 }),
            (0, Op::Await { object: 6, kind }),
            (0, Op::Wait { object: 5, kind, woken: true }),
        ];
        let found = doubts(&events);
        assert_eq!(found.len(), Doubt::ALL.len(), "{found:?}");
    }
}
