//! What may be otherwise than in the run where a read sees another write.
//!
//! An event is *tainted* if a byte that it reads was written by another event than in the run, or by a tainted one, or if an
//! event is that it follows: the one before it in its thread, the creation of its thread, the last one of the thread that it
//! joins. What a tainted event writes, and what its thread reads later, may have any value; that it is done at all is taken for
//! granted up to the next branch. No branch is tainted, and no atomic access that reads: whether it writes may
//! depend on what it sees (compare and exchange).
//!
//! Departure from Huang, Meredith and Roșu (*Maximal sound predictive race detection with control flow abstraction*, PLDI
//! 2014): taint goes along forks and joins, too, as a thread may be handed a value by them, and values are not looked at.

use deadheat_core::event::Op;

use super::Run;

/// What is tainted so far.
pub(super) struct Taint<'a> {
    run: &'a Run<'a>,
    tainted: Vec<bool>,
}

impl<'a> Taint<'a> {
    pub(super) fn new(run: &'a Run<'a>) -> Self {
        Self { run, tainted: vec![false; run.events.len()] }
    }

    /// An event is done, which sees another writer somewhere or not: whether that may be.
    pub(super) fn step(&mut self, event: usize, changed: bool) -> bool {
        let Self { run, .. } = *self;
        let of = |thread| run.threads.get(&thread).map_or(&[][..], Vec::as_slice);
        let before = |thread| {
            let events: &[usize] = of(thread);
            events[..events.partition_point(|&other| other < event)].last().copied()
        };
        let joined = if let Op::Join { child } = run.events[event].op { before(child) } else { None };
        let follows = before(run.events[event].thread).into_iter().chain(joined);
        let writers = run.links.reads[event].iter().filter_map(|&(_, writer)| writer);
        let sources = follows.chain(run.links.begins[event].iter().copied()).chain(writers);
        let tainted = changed || sources.into_iter().any(|source| self.tainted[source]);
        self.tainted[event] = tainted;
        !tainted || !self.decides(event)
    }

    /// Whether its thread does what it does next by what it has read.
    fn decides(&self, event: usize) -> bool {
        let reads =
            self.run.access(event).is_some_and(|access| access.atomic.is_some() && access.mode.reads());
        reads || self.run.events[event].op == Op::Branch
    }
}
