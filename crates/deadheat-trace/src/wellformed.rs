//! Doubts: what a sequence of events should not hold.
//!
//! Nothing here stops an analysis; `deadheat trace info` tells the counts, so that a strange
//! verdict can be traced back to a strange trace. Some doubts break a [rule](Doubt::rule) that every run keeps: a trace
//! with one is not well formed, and `deadheat analyze` says so with the first place of each.
//!
//! Invariant: memory grows with the threads and with the locks held, not with the events.

use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};

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

    /// The name of the rule that every run keeps and that is broken by it, if it is more than strange.
    #[must_use]
    pub const fn rule(self) -> Option<&'static str> {
        match self {
            Doubt::HeldTwice => Some("acquire-held"),
            Doubt::NotHeld => Some("release-not-held"),
            Doubt::BeforeBegin => Some("event-before-begin"),
            Doubt::AfterEnd => Some("event-after-end"),
            Doubt::AfterJoin => Some("event-after-join"),
            Doubt::ForkKnown => Some("late-fork"),
            Doubt::HeldAtThreadEnd
            | Doubt::JoinUnforked
            | Doubt::Unforked
            | Doubt::LeaveUnarrived
            | Doubt::WaitUnbegun => None,
        }
    }
}

/// Where a doubt first arose.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct First {
    /// The event's number, from 1.
    pub event: u64,
    /// Who did it.
    pub thread: ThreadId,
    /// Where in the code.
    pub place: PlaceId,
    /// The call sites above that place.
    pub stack: StackId,
    /// The lock that it is about.
    pub lock: Option<u64>,
    /// The other thread that it is about: who holds the lock, or who is created.
    pub other: Option<ThreadId>,
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
pub struct Doubts {
    counts: [u64; Doubt::ALL.len()],
    firsts: [Option<First>; Doubt::ALL.len()],
    /// The present event.
    now: First,
    /// How many more like it come with it.
    more: u64,
    threads: Vec<Thread>,
    holders: Map<u64, Vec<Holder>>,
    /// What each thread began and did not end: waits and barriers.
    pending: Map<(u32, u64), u32>,
    /// Whether the trace announces its waits at all (imported ones often do not).
    announced: bool,
}

impl Default for Doubts {
    fn default() -> Self {
        let (thread, place, stack) = (ThreadId::FIRST, PlaceId::UNKNOWN, StackId::EMPTY);
        Self {
            counts: Default::default(),
            firsts: Default::default(),
            now: First { event: 0, thread, place, stack, lock: None, other: None },
            more: 0,
            threads: Vec::new(),
            holders: Map::default(),
            pending: Map::default(),
            announced: false,
        }
    }
}

struct Holder {
    thread: ThreadId,
    mode: LockMode,
    depth: u32,
}

impl Doubts {
    /// Takes an event.
    pub fn step(&mut self, event: &Event) {
        let &Event { thread, place, stack, .. } = event;
        let number = self.now.event + self.more + 1;
        (self.now, self.more) = (First { event: number, thread, place, stack, lock: None, other: None }, 0);
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
            // What is made anew nobody holds.
            Op::Forget { object } => drop(self.holders.remove(&object)),
            Op::Alloc { kind: BlockKind::Benign, .. } => {}
            Op::Alloc { address, size, .. } if !self.holders.is_empty() => {
                self.holders.retain(|&lock, _| lock < address || lock - address >= size);
            }
            Op::Wait { .. } | Op::Request { .. } | Op::Signal { .. } | Op::Alloc { .. } => {}
            Op::Access(_) | Op::Fence(_) | Op::Branch | Op::Enter | Op::Exit => {}
            Op::Free { .. } | Op::HiddenBegin | Op::HiddenEnd | Op::Fault { .. } => {}
        }
    }

    /// Takes so many accesses of one thread, of which `first` is the first.
    pub fn accesses(&mut self, first: &Event, count: u64) {
        self.step(first);
        let ended = self.threads.get(first.thread.index()).copied().unwrap_or_default();
        self.more = count.saturating_sub(1);
        for (doubt, arises) in [(Doubt::AfterEnd, ended.ended), (Doubt::AfterJoin, ended.joined)] {
            self.counts[doubt as usize] += if arises { self.more } else { 0 };
        }
    }

    /// Each sort of doubt that breaks a rule: its rule, a phrase, how often it arose, and where first.
    pub fn broken(&self) -> impl Iterator<Item = (&'static str, &'static str, u64, First)> {
        let first = |doubt: Doubt| self.firsts[doubt as usize];
        let count = |doubt: Doubt| self.count(doubt);
        Doubt::ALL
            .iter()
            .filter_map(move |&(doubt, phrase)| Some((doubt.rule()?, phrase, count(doubt), first(doubt)?)))
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
        self.firsts[doubt as usize].get_or_insert(self.now);
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
        self.now.lock = Some(lock);
        let holders = self.holders.entry(lock).or_default();
        if let Some(own) = holders.iter_mut().find(|holder| holder.thread == thread) {
            own.depth += 1;
            return;
        }
        let excluding =
            holders.iter().find(|holder| mode == LockMode::Write || holder.mode == LockMode::Write);
        let excluding = excluding.map(|holder| holder.thread);
        holders.push(Holder { thread, mode, depth: 1 });
        if excluding.is_some() {
            self.now.other = excluding;
            self.doubt(Doubt::HeldTwice);
        }
    }

    fn release(&mut self, thread: ThreadId, lock: u64) {
        self.now.lock = Some(lock);
        let Some(holders) = self.holders.get_mut(&lock) else { return self.doubt(Doubt::NotHeld) };
        let own = holders.iter().position(|holder| holder.thread == thread);
        // Who does not hold it gives it back for who has it longest.
        let at = own.unwrap_or(0);
        let holder = holders[at].thread;
        holders[at].depth -= 1;
        if holders[at].depth == 0 || own.is_none() {
            holders.remove(at);
        }
        if holders.is_empty() {
            self.holders.remove(&lock);
        }
        if own.is_none() {
            self.now.other = Some(holder);
            self.doubt(Doubt::NotHeld);
        }
    }

    fn fork(&mut self, child: ThreadId) {
        let thread = self.thread(child);
        let known = thread.seen || thread.forked || child == ThreadId::FIRST;
        thread.forked = true;
        if known {
            self.now.other = Some(child);
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
        // Who asks for a lock whose holder is gone gets it where the program can live with that.
        self.holders.retain(|_, holders| {
            let before = holders.len();
            holders.retain(|holder| holder.thread != id);
            self.counts[Doubt::HeldAtThreadEnd as usize] += (before - holders.len()) as u64;
            !holders.is_empty()
        });
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

    /// A broken rule: how often, and the first event, with its lock and its other thread.
    type Broken = (&'static str, u64, u64, Option<u64>, Option<u32>);

    /// The rules that are broken.
    fn broken(events: &[(u32, Op)]) -> Vec<Broken> {
        let mut doubts = Doubts::default();
        for &(thread, op) in events {
            let (thread, place, stack) = (ThreadId(thread), PlaceId::UNKNOWN, StackId::EMPTY);
            doubts.step(&Event { thread, place, stack, times: 1, op });
        }
        let row = |(rule, _, count, first): (&'static str, &str, u64, First)| {
            (rule, count, first.event, first.lock, first.other.map(|other| other.0))
        };
        doubts.broken().map(row).collect()
    }

    #[test]
    fn a_broken_rule_is_told_with_its_first_event() {
        let (lock, mode, child) = (64, WRITE, ThreadId(1));
        let events = [
            (0, Op::Acquire { lock, mode }),
            (1, Op::Release { lock, mode }),
            (1, Op::Release { lock, mode }),
            (1, Op::Acquire { lock, mode }),
            (0, Op::Acquire { lock, mode }),
            (0, Op::Fork { child }),
        ];
        let expected = [
            ("acquire-held", 1, 5, Some(64), Some(1)),
            ("release-not-held", 2, 2, Some(64), Some(0)),
            ("late-fork", 1, 6, None, Some(1)),
        ];
        assert_eq!(broken(&events), expected);
    }

    #[test]
    fn a_lock_that_is_made_anew_or_whose_holder_is_gone_is_free() {
        let (lock, mode) = (64, WRITE);
        let acquire = Op::Acquire { lock, mode };
        let alloc = Op::Alloc { address: 60, size: 8, kind: BlockKind::Heap };
        for between in [(0, Op::Forget { object: lock }), (2, alloc), (0, Op::End)] {
            assert_eq!(broken(&[(0, acquire), between, (1, acquire)]), [], "{between:?}");
        }
        let beside = Op::Alloc { address: 56, size: 8, kind: BlockKind::Heap };
        assert_eq!(broken(&[(0, acquire), (0, beside), (1, acquire)]).len(), 1);
    }

    #[test]
    fn accesses_count_whole() {
        let (mut doubts, place, stack) = (Doubts::default(), PlaceId::UNKNOWN, StackId::EMPTY);
        let event = |thread, op| Event { thread: ThreadId(thread), place, stack, times: 1, op };
        doubts.step(&event(1, Op::End));
        doubts.accesses(&event(1, Op::Branch), 10);
        doubts.step(&event(1, Op::Release { lock: 8, mode: WRITE }));
        assert_eq!(doubts.count(Doubt::AfterEnd), 11);
        let numbers: Vec<u64> = doubts.broken().map(|(.., first)| first.event).collect();
        assert_eq!(numbers, [12, 2]);
    }
}
