//! A run as a whole, for analyses that look at other orders of its events.
//!
//! [`Record`] takes the events as they come; [`Run`] is what they make: for each event what must have come before it in
//! every order in which reads keep their writers, the critical sections of each lock, and the accesses of
//! each stretch of memory. A *cut* says how many of its events each thread has done.
//!
//! What comes before an event in every order ([`Run::before`]): the thread's own events; the fork of the thread; of a join
//! all of the joined thread; of a read the writes that it saw; of a wait the signals that it saw (all posts to a semaphore
//! that were there: fewer might do, but with these any order keeps the count); of a leave the arrivals of its
//! round, and of an arrival those of the rounds before; of a new block the ends of older ones that lay there, of an access
//! its block; of an object's use its making. For condition variables and semaphores that is more than must be,
//! so that nothing is told that cannot be; for threads, locks and memory it is exact.
//!
//! Cost: linear in the events, times the threads where an event has others before it than its thread's own.

mod build;
pub(crate) mod locks;
mod memory;
mod object;
mod section;
pub(crate) mod told;
mod window;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{Event, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use rustc_hash::FxHashMap;

pub(crate) use memory::Extents;
pub use memory::{Cell, Use};
pub use section::{Section, Sections};
use window::Mark;

/// An event that matters for orders, by its number among these.
pub type Number = u32;

/// The events of a run that matter for orders, as they come.
#[derive(Debug, Default)]
pub struct Record {
    events: Vec<Kept>,
    threads: Threads,
    /// Whether branches are among the events that it holds, and whether there were any.
    keeps_branches: bool,
    has_branches: bool,
    /// How many events were taken, and how many of those that are held may tell a thread of others.
    taken: u64,
    learning: usize,
    mark: Option<Mark>,
    /// How many events at the front are from before the window.
    base: usize,
    /// How many events of the trace are, and how many of each thread.
    before: u64,
    done: Vec<u64>,
    /// The memory where the window begins.
    start: Extents,
    is_misused: bool,
}

/// An event, and how many of its thread came before it, those included that do not matter.
#[derive(Clone, Copy, Debug)]
struct Kept {
    event: Event,
    nth: u64,
    /// How many that do not matter came behind it when somebody waited for its thread.
    more: u32,
}

/// The threads, numbered as they come.
#[derive(Debug, Default)]
struct Threads {
    ids: Vec<ThreadId>,
    rows: FxHashMap<ThreadId, u32>,
    /// How many events each had.
    counts: Vec<u64>,
    /// Whether each has done nothing since it was created.
    fresh: Vec<bool>,
    /// The last event of each that is held, by its place in the record.
    last: Vec<Option<usize>>,
}

impl Threads {
    fn row(&mut self, id: ThreadId) -> u32 {
        let next = self.ids.len() as u32;
        *self.rows.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.counts.push(0);
            self.fresh.push(true);
            self.last.push(None);
            next
        })
    }
}

impl Record {
    /// One that holds branches, too.
    #[must_use]
    pub fn with_branches() -> Self {
        Self { keeps_branches: true, ..Self::default() }
    }

    /// Whether there were branches.
    #[must_use]
    pub fn has_branches(&self) -> bool {
        self.has_branches
    }

    /// Takes the next event.
    pub fn take(&mut self, event: &Event) {
        self.taken += 1;
        let row = self.threads.row(event.thread);
        let count = &mut self.threads.counts[row as usize];
        let nth = *count;
        *count += 1;
        // Each thread has an event, for who joins it, and one that waits for its creation.
        let first = std::mem::replace(&mut self.threads.fresh[row as usize], false);
        self.concerns_others(row as usize, &event.op);
        let branch = event.op == Op::Branch;
        self.has_branches |= branch;
        if first || matters(&event.op) || branch && self.keeps_branches {
            self.learning += usize::from(window::learns(&event.op));
            self.threads.last[row as usize] = Some(self.events.len());
            self.events.push(Kept { event: *event, nth, more: 0 });
        }
    }

    /// What an event means for other threads: one may be created, or waited for.
    fn concerns_others(&mut self, own: usize, op: &Op) {
        match *op {
            Op::Fork { child } => {
                let child = self.threads.row(child) as usize;
                self.threads.fresh[child] = true;
            }
            Op::Join { child } => {
                let child = self.threads.row(child) as usize;
                if child != own {
                    self.round_up(child);
                }
            }
            Op::Wait { kind: SyncKind::Everything, .. } => {
                (0..self.threads.ids.len())
                    .filter(|&thread| thread != own)
                    .for_each(|thread| self.round_up(thread));
            }
            Op::Access(_)
            | Op::Acquire { .. }
            | Op::Release { .. }
            | Op::Signal { .. }
            | Op::Await { .. }
            | Op::Wait { .. }
            | Op::Arrive { .. }
            | Op::Leave { .. }
            | Op::Alloc { .. }
            | Op::Free { .. }
            | Op::Forget { .. }
            | Op::Fence(_)
            | Op::Request { .. }
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }

    /// Who waits for all that a thread did so far waits also for what does not matter.
    fn round_up(&mut self, thread: usize) {
        if let Some(kept) = self.threads.last[thread].and_then(|last| self.events.get_mut(last)) {
            kept.more = (self.threads.counts[thread] - kept.nth - 1) as u32;
        }
    }

    /// How many events it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// Whether it holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The run.
    #[must_use]
    pub fn into_run(self, keeps: Keeps) -> Run {
        build::run(&self, keeps)
    }

    /// The run so far.
    #[must_use]
    pub fn run(&self, keeps: Keeps) -> Run {
        build::run(self, keeps)
    }
}

/// What of a run has to come before an event in every order, besides what always has to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Keeps {
    /// The writes that it reads.
    pub writers: bool,
    /// Of a wait on a condition variable or semaphore all signals that it saw, though one may do; else [`Run::signals`] has them.
    pub signals: bool,
}

impl Keeps {
    /// Both.
    pub const ALL: Self = Self { writers: true, signals: true };
}

/// Whether an event has a part in what orders are possible.
const fn matters(op: &Op) -> bool {
    match op {
        Op::Access(_)
        | Op::Acquire { .. }
        | Op::Release { .. }
        | Op::Fork { .. }
        | Op::Join { .. }
        | Op::Signal { .. }
        | Op::Await { .. }
        | Op::Wait { .. }
        | Op::Arrive { .. }
        | Op::Leave { .. }
        | Op::Alloc { .. }
        | Op::Free { .. }
        | Op::Forget { .. } => true,
        // What a fence orders, the reads that it speaks of order by their writers.
        Op::Fence(_)
        | Op::Request { .. }
        | Op::Begin
        | Op::End
        | Op::Branch
        | Op::Enter
        | Op::Exit
        | Op::HiddenBegin
        | Op::HiddenEnd
        | Op::Fault { .. } => false,
    }
}

/// A run.
#[derive(Debug)]
pub struct Run {
    nodes: Vec<Node>,
    /// By thread: its events.
    rows: Vec<Vec<Number>>,
    ids: Vec<ThreadId>,
    /// By thread: how many events it had, those included that do not matter.
    counts: Vec<u64>,
    /// Cuts, one behind the other: what comes before some event, its own thread left out.
    cuts: Vec<u32>,
    /// Events that come before an event, besides the one before it in its thread: see [`Node::sources`].
    sources: Vec<Number>,
    /// By wait: the signals that it saw, if they are not among its sources.
    signals: FxHashMap<Number, Vec<Number>>,
    /// The sections of each lock.
    pub sections: Sections,
    /// Stretches of memory.
    pub cells: Vec<Cell>,
    /// How many events of the trace lie before the window, how many of each thread, and which of those that are held do.
    before: u64,
    done: Vec<u64>,
    base: Vec<u32>,
    /// The memory where the window begins.
    start: Extents,
}

/// An event of a run.
#[derive(Debug)]
struct Node {
    kept: Kept,
    thread: u32,
    /// Its place among its thread's events.
    at: u32,
    /// Which of the cuts it has.
    cut: u32,
    /// Where its sources are: those without which it cannot come, and behind them those whose values it reads.
    sources: [u32; 3],
    /// The cells that it touches.
    cells: (u32, u32),
    /// How often its thread has synchronised before.
    moment: u32,
    /// The sections that its thread is in behind it.
    inside: u32,
    /// The section that it begins or ends.
    section: u32,
}

impl Run {
    /// How many threads there are.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.rows.len()
    }

    /// How many events there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// An event.
    #[must_use]
    pub fn event(&self, number: Number) -> &Event {
        &self.nodes[number as usize].kept.event
    }

    /// The thread of an event, by its row, and the event's place among the thread's.
    #[must_use]
    pub fn place(&self, number: Number) -> (usize, u32) {
        let node = &self.nodes[number as usize];
        (node.thread as usize, node.at)
    }

    /// The events of a thread, by its row.
    #[must_use]
    pub fn row(&self, thread: usize) -> &[Number] {
        &self.rows[thread]
    }

    /// The id of a thread, by its row.
    #[must_use]
    pub fn id(&self, thread: usize) -> ThreadId {
        self.ids[thread]
    }

    /// The access that an event makes; the end of a block's life is a write to its bytes.
    #[must_use]
    pub fn access(&self, number: Number) -> Option<Access> {
        let node = &self.nodes[number as usize];
        if let Op::Free { address, .. } = node.kept.event.op {
            let end = self.cells.get(node.cells.1 as usize).map_or(address, |cell| cell.address);
            let size = end.saturating_sub(address);
            return Some(Access { via: Via::Free, ..Access::plain(address, size, Mode::Write) });
        }
        if let Op::Access(access) = node.kept.event.op { Some(access) } else { None }
    }

    /// Whether an event writes its cells, or gives them a new life.
    #[must_use]
    pub fn changes(&self, number: Number) -> bool {
        self.access(number).is_none_or(|access| access.mode.writes())
    }

    /// How many events an event's thread had before it, those that do not matter for orders included.
    #[must_use]
    pub fn nth(&self, number: Number) -> u64 {
        self.nodes[number as usize].kept.nth
    }

    /// How often the thread of an event had synchronised before it. Accesses of one moment have the same before them, but for
    /// their thread's own accesses.
    #[must_use]
    pub fn moment(&self, number: Number) -> u32 {
        self.nodes[number as usize].moment
    }

    /// The events that come before one in every order, besides those of its thread.
    #[must_use]
    pub fn sources(&self, number: Number) -> &[Number] {
        let [from, _, to] = self.nodes[number as usize].sources;
        &self.sources[from as usize..to as usize]
    }

    /// The events without which one cannot come, besides those of its thread and the writes that it reads.
    #[must_use]
    pub fn needs(&self, number: Number) -> &[Number] {
        let [from, reads, _] = self.nodes[number as usize].sources;
        &self.sources[from as usize..reads as usize]
    }

    /// The signals that a wait saw, where the run was made without [`Keeps::signals`].
    #[must_use]
    pub fn signals(&self, number: Number) -> &[Number] {
        self.signals.get(&number).map_or(&[], Vec::as_slice)
    }

    /// The events whose values it reads.
    #[must_use]
    pub fn writers(&self, number: Number) -> &[Number] {
        let [_, reads, to] = self.nodes[number as usize].sources;
        &self.sources[reads as usize..to as usize]
    }

    /// The cells that an event touches: its bytes.
    #[must_use]
    pub fn cells_of(&self, number: Number) -> std::ops::Range<usize> {
        let (from, to) = self.nodes[number as usize].cells;
        from as usize..to as usize
    }

    /// The sections that an event's thread is in behind it, as places in [`Sections::all`].
    #[must_use]
    pub fn inside(&self, number: Number) -> &[u32] {
        self.sections.set(self.nodes[number as usize].inside)
    }

    /// How many events an event's thread had with it: if it is the last one that matters, all.
    #[must_use]
    pub fn done(&self, number: Number) -> u64 {
        let (thread, at) = self.place(number);
        let last = self.rows[thread].len() == at as usize + 1;
        let with = self.nth(number) + 1 + u64::from(self.nodes[number as usize].kept.more);
        if last { self.counts[thread] } else { with.max(self.done_before(thread)) }
    }

    /// How many events of the trace lie before the window, and come first in every order.
    #[must_use]
    pub fn before_window(&self) -> u64 {
        self.before
    }

    /// How many events of a thread, by its row, do.
    #[must_use]
    pub fn done_before(&self, thread: usize) -> u64 {
        self.done.get(thread).copied().unwrap_or(0)
    }

    /// Whether an event lies before the window.
    #[must_use]
    pub fn is_base(&self, number: Number) -> bool {
        self.has(&self.base, number)
    }

    /// The events that lie before the window, as a cut.
    #[must_use]
    pub fn base(&self) -> &[u32] {
        &self.base
    }

    /// The section that an event begins or ends, as a place in [`Sections::all`].
    #[must_use]
    pub fn section(&self, number: Number) -> Option<u32> {
        Some(self.nodes[number as usize].section).filter(|&section| section != Number::MAX)
    }

    /// Takes an event, and all that comes before it in every order, into a cut.
    pub fn include(&self, cut: &mut [u32], number: Number) {
        let node = &self.nodes[number as usize];
        self.include_before(cut, number);
        let own = &mut cut[node.thread as usize];
        *own = (*own).max(node.at + 1);
    }

    /// Takes all that comes before an event in every order into a cut, but not the event.
    pub fn include_before(&self, cut: &mut [u32], number: Number) {
        let node = &self.nodes[number as usize];
        for (mine, &theirs) in cut.iter_mut().zip(self.cut(node.cut)) {
            *mine = (*mine).max(theirs);
        }
        let own = &mut cut[node.thread as usize];
        *own = (*own).max(node.at);
    }

    /// Takes all without which an event cannot come next in its thread into a cut: as [`Self::include_before`], but for the
    /// writes that it reads.
    pub fn include_past(&self, cut: &mut [u32], number: Number) {
        let node = &self.nodes[number as usize];
        if let Some(before) = node.at.checked_sub(1) {
            self.include(cut, self.rows[node.thread as usize][before as usize]);
        }
        let [from, reads, _] = node.sources;
        for &source in &self.sources[from as usize..reads as usize] {
            self.include(cut, source);
        }
    }

    /// Whether an event is in a cut.
    #[must_use]
    pub fn has(&self, cut: &[u32], number: Number) -> bool {
        let (thread, at) = self.place(number);
        at < cut[thread]
    }

    /// Whether one event comes before another in every order.
    #[must_use]
    pub fn before(&self, one: Number, other: Number) -> bool {
        let (thread, at) = self.place(one);
        let (its_thread, its_at) = self.place(other);
        if thread == its_thread {
            return at < its_at;
        }
        at < self.cut(self.nodes[other as usize].cut)[thread]
    }

    /// Whether one event comes before another in every order, whatever the other reads.
    #[must_use]
    pub fn before_any(&self, one: Number, other: Number) -> bool {
        let node = &self.nodes[other as usize];
        let up_to = |last: Number| one == last || self.before(one, last);
        let [from, reads, _] = node.sources;
        node.at.checked_sub(1).is_some_and(|at| up_to(self.rows[node.thread as usize][at as usize]))
            || self.sources[from as usize..reads as usize].iter().any(|&source| up_to(source))
    }

    fn cut(&self, number: u32) -> &[u32] {
        let width = self.rows.len();
        &self.cuts[number as usize * width..][..width]
    }
}
