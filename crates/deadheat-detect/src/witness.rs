//! The checker of witnesses: whether another order of a run's events is one that the program could have taken.
//!
//! It looks at the run and the witness alone, and shares nothing with the analyses that make witnesses but the alphabet and the
//! meaning of a conflict. [`Run::new`] finds once what each event of the run needs (`links`); [`Run::check`] then plays a
//! reordering event by event. A reordering is accepted if
//!
//! - each thread does a beginning of what it did, in its order; its creation comes before its first event, all that it
//!   did before whoever joins it;
//! - locks exclude: nobody takes one that another holds, unless both do so for reading;
//! - each read sees for each byte the same last write as in the run, or none as there; atomics and the reading half of
//!   read-modify-writes, too. The end of a block's life is a write;
//! - what a thread learned from, or waited for, was there: a signal while it waited, a post that nobody took, one-time initialisations,
//!   announced orders, the arrivals of a barrier's round, and whatever else [`crate::clock::links`] keeps (found again here, by itself);
//! - memory lives as it did: who accesses a block has it allocated before, and a block's bytes are not
//!   allocated anew before the end of their former life;
//! - and then two threads stand before conflicting accesses to a common byte of one life.
//!
//! [`Run::check_control`] asks less of reads, if the run has branches (`taint`).
//!
//! Conservative: of what orders beyond locks and data only orders as in the run are accepted, where
//! another might do, too (another allocation of the same bytes).
//!
//! Cost: time and memory of the order of the run's length, times the ranges that its accesses divide memory into.

mod links;
mod locks;
mod taint;
mod waits;

use std::fmt;

use deadheat_core::access::Access;
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::ThreadId;
use deadheat_core::rule::conflicts;
use deadheat_core::witness::Witness;
use rustc_hash::FxHashMap;

use links::Links;
use locks::Locks;
use taint::Taint;
use waits::Waiting;

/// The rule that a witness breaks.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Rule {
    /// A thread does more events than it did in the run, or the order does not add up to what is done.
    Count,
    /// What the event needs has not happened: the event with that index.
    Missing(usize),
    /// A lock is taken that another thread holds.
    Exclusion,
    /// A wait ends that no signal has reached, or for which no post is left.
    Waits,
    /// A byte is read that was last written by another event than in the run.
    ReadsFrom,
    /// What it depends on was read from another event than in the run.
    Control,
    /// There are not exactly two threads with the wanted next accesses.
    Accesses,
    /// The two accesses do not conflict on a byte of one life.
    Conflict,
}

/// A broken rule and where.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Broken {
    /// The rule.
    pub rule: Rule,
    /// The index of the event at which it is broken; `None` if that is no single event.
    pub event: Option<usize>,
}

impl fmt::Display for Broken {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.rule {
            Rule::Count => write!(out, "the events do not add up")?,
            Rule::Missing(needed) => write!(out, "event {needed}, which it needs, has not happened")?,
            Rule::Exclusion => write!(out, "the lock is held by another thread")?,
            Rule::Waits => write!(out, "nothing has ended the wait")?,
            Rule::ReadsFrom => write!(out, "a byte was written by another event than in the run")?,
            Rule::Control => write!(out, "it may depend on a read that sees another write than in the run")?,
            Rule::Accesses => write!(out, "the two threads do not stand before the accesses")?,
            Rule::Conflict => write!(out, "the accesses do not conflict on a byte of one life")?,
        }
        match self.event {
            Some(event) => write!(out, " (event {event})"),
            None => Ok(()),
        }
    }
}

/// A run that witnesses are checked against.
#[derive(Debug)]
pub struct Run<'a> {
    events: &'a [Event],
    threads: FxHashMap<ThreadId, Vec<usize>>,
    links: Links,
}

impl<'a> Run<'a> {
    /// Looks through the events of a run, in the order of its trace.
    #[must_use]
    pub fn new(events: &'a [Event]) -> Self {
        let mut threads: FxHashMap<ThreadId, Vec<usize>> = FxHashMap::default();
        for (index, event) in events.iter().enumerate() {
            threads.entry(event.thread).or_default().push(index);
        }
        Self { events, threads, links: Links::new(events) }
    }

    /// The events that must have happened before one can, by their indices: all but the writes that it reads and those of its own
    /// thread.
    #[must_use]
    pub fn needs(&self, event: usize) -> Vec<usize> {
        self.links.all_needs(event).copied().collect()
    }

    /// The creation of the thread whose first event this is, if it is one and the run has it.
    #[must_use]
    pub fn begins(&self, event: usize) -> &[usize] {
        &self.links.begins[event]
    }

    /// The events that wrote what one reads.
    #[must_use]
    pub fn writers(&self, event: usize) -> Vec<usize> {
        self.links.reads[event].iter().filter_map(|&(_, writer)| writer).collect()
    }

    /// The access that an event makes, if it is one; the end of a block's life is a write.
    #[must_use]
    pub fn access(&self, event: usize) -> Option<Access> {
        self.links.accesses[event]
    }

    /// The births of memory of which one must have happened before two events can meet in a conflict on a byte: each is
    /// the allocation of a byte that they conflict on (`None`: it was never allocated). Empty if they do not conflict.
    #[must_use]
    pub fn lives(&self, one: usize, other: usize) -> Vec<Option<usize>> {
        let (one, other) = (one.min(other), one.max(other));
        let (Some(first), Some(second)) = (self.links.accesses[one], self.links.accesses[other]) else {
            return Vec::new();
        };
        let atomic = |access: &Access| access.atomic.is_some();
        if !conflicts(first.mode, atomic(&first), second.mode, atomic(&second)) {
            return Vec::new();
        }
        self.links.common_lives(one, other)
    }

    /// Checks that the reordering is one and ends before two accesses that race: the next events of `threads`. Gives these
    /// two events, by their indices.
    pub fn check(
        &self,
        witness: &Witness<'_>,
        threads: (ThreadId, ThreadId),
    ) -> Result<(usize, usize), Broken> {
        self.check_with(witness, threads, None)
    }

    /// The same, but that a read may see another write if no branch that is done can depend on it. In a run that has no branches
    /// each read has to see its own.
    pub fn check_control(
        &self,
        witness: &Witness<'_>,
        threads: (ThreadId, ThreadId),
    ) -> Result<(usize, usize), Broken> {
        let branches = self.events.iter().any(|event| event.op == Op::Branch);
        self.check_with(witness, threads, branches.then(|| Taint::new(self)))
    }

    fn check_with(
        &self,
        witness: &Witness<'_>,
        threads: (ThreadId, ThreadId),
        taint: Option<Taint<'_>>,
    ) -> Result<(usize, usize), Broken> {
        let order = self.order(witness)?;
        let done = self.play(&order, taint)?;
        let next = |thread: ThreadId| {
            let mine = self.threads.get(&thread)?;
            mine.iter().copied().find(|&event| !done[event])
        };
        let accesses = Broken { rule: Rule::Accesses, event: None };
        let (Some(one), Some(other)) = (next(threads.0), next(threads.1)) else { return Err(accesses) };
        if threads.0 == threads.1 {
            return Err(accesses);
        }
        let lives = self.lives(one, other);
        if !lives.iter().any(|birth| birth.is_none_or(|birth| done[birth])) {
            return Err(Broken { rule: Rule::Conflict, event: Some(one.max(other)) });
        }
        for event in [one, other] {
            // An access needs nothing but that its thread has begun; what it would read is not read yet.
            if let Some(&missing) = self.links.begins[event].iter().find(|&&needed| !done[needed]) {
                return Err(Broken { rule: Rule::Missing(missing), event: Some(event) });
            }
        }
        Ok((one, other))
    }

    /// The events of the reordering, in its order.
    fn order(&self, witness: &Witness<'_>) -> Result<Vec<usize>, Broken> {
        let count = |event| Broken { rule: Rule::Count, event };
        let mut order = Vec::new();
        for (at, &(thread, done)) in witness.done.iter().enumerate() {
            let mine = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
            let mine = usize::try_from(done).ok().and_then(|done| mine.get(..done));
            order.extend_from_slice(mine.ok_or(count(None))?);
            if witness.done[..at].iter().any(|&(other, _)| other == thread) {
                return Err(count(None));
            }
        }
        let Some(turns) = witness.order else {
            order.sort_unstable();
            return Ok(order);
        };
        let mut taken: FxHashMap<ThreadId, usize> = FxHashMap::default();
        let mut turned = Vec::with_capacity(order.len());
        let first = usize::try_from(witness.first).ok().and_then(|first| self.events.get(..first));
        for (index, event) in first.ok_or(count(None))?.iter().enumerate() {
            *taken.entry(event.thread).or_default() += 1;
            turned.push(index);
        }
        for &(thread, events) in turns {
            let taken = taken.entry(thread).or_default();
            let mine = self.threads.get(&thread).map_or(&[][..], Vec::as_slice);
            let upto = usize::try_from(events).ok().and_then(|events| taken.checked_add(events));
            let some = upto.and_then(|upto| mine.get(*taken..upto)).ok_or(count(None))?;
            turned.extend_from_slice(some);
            *taken += some.len();
        }
        let total = |thread: ThreadId| taken.get(&thread).map_or(0, |&events| events as u64);
        let adds_up = witness.done.iter().all(|&(thread, done)| total(thread) == done);
        if adds_up && turned.len() == order.len() { Ok(turned) } else { Err(count(None)) }
    }

    /// Plays the events; which of all the events of the run are done then. Without `taint` reads keep their writers.
    fn play(&self, order: &[usize], mut taint: Option<Taint<'_>>) -> Result<Vec<bool>, Broken> {
        let mut done = vec![false; self.events.len()];
        let mut written: Vec<Option<usize>> = vec![None; self.links.segments()];
        let mut locks = Locks::default();
        let mut waiting = Waiting::new(&self.links.waits);
        for &event in order {
            let broken = |rule| Broken { rule, event: Some(event) };
            if let Some(&missing) = self.links.all_needs(event).find(|&&needed| !done[needed]) {
                return Err(broken(Rule::Missing(missing)));
            }
            if !locks.step(&self.events[event]) {
                return Err(broken(Rule::Exclusion));
            }
            if !waiting.step(event, &self.events[event]) {
                return Err(broken(Rule::Waits));
            }
            let changed = self.links.reads[event].iter().any(|&(segment, writer)| written[segment] != writer);
            let (may, rule) = match &mut taint {
                Some(taint) => (taint.step(event, changed), Rule::Control),
                None => (!changed, Rule::ReadsFrom),
            };
            if !may {
                return Err(broken(rule));
            }
            for segment in self.links.writes(event) {
                written[segment] = Some(event);
            }
            for segment in self.links.resets(event) {
                written[segment] = None;
            }
            done[event] = true;
        }
        Ok(done)
    }
}
