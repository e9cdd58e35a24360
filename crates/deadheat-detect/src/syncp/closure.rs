//! The sync-preserving closure of two accesses' pasts.
//!
//! Paper: SPClosure (POPL 2021, Definition 5 and Algorithm 1). A set of events is closed if it has what its events
//! need by thread order and reads-from (here: what their threads knew, [`Past`]), and, of two
//! sections on a lock of which both began in it and one is in write mode, the end of the one that began first in the
//! trace. A set that is closed under thread order is a number for each slot: how far.
//!
//! Departure: the paper keeps a closure and a place in each lock's lists for each variable and pair of threads. Whether
//! an access lies in the closure does not depend on the variable; so here they are kept for each pair of threads, and of
//! the lists only what a growing closure newly reaches is looked up, by its number.
//!
//! Cost: of a query, for each lock that is newly reached one binary search for each thread that took it.

use std::collections::BTreeMap;

use deadheat_core::event::LockMode;
use rustc_hash::FxHashMap;

use super::sections::Sections;
use crate::clock::past::{Moment, Past};
use crate::clock::vector::Clock;

/// What is asked: whether an earlier access and the present one race.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Query {
    /// The earlier access.
    pub(crate) earlier: Moment,
    /// The present one.
    pub(crate) now: Moment,
    /// What else must have happened: the birth of the memory.
    pub(crate) born: Moment,
}

/// An answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Answer {
    /// They race; [`Closures::done`] has what is done before.
    Race,
    /// The earlier one must be done before the present one can be, now and for ever.
    Ordered,
}

/// A set of events, closed or about to be: for each slot up to which number.
type Ideal = Vec<u32>;

/// The closures of a run so far.
#[derive(Debug, Default)]
pub(crate) struct Closures {
    /// The critical sections.
    pub(crate) sections: Sections,
    /// For each slot the closure of the past of its present event.
    presents: Vec<Present>,
    pairs: FxHashMap<(u32, u32), Pair>,
    /// What is in every closure.
    floor: Ideal,
    work: Work,
}

/// Room for a closure that is being made.
#[derive(Debug, Default)]
struct Work {
    ideal: Ideal,
    /// The same when it was last looked at.
    known: Ideal,
    /// Locks of which sections were newly reached.
    locks: Vec<u32>,
    is_listed: Vec<bool>,
}

/// The closure of the past of a slot's present event.
#[derive(Clone, Debug, Default)]
struct Present {
    ideal: Ideal,
    /// The last event that was an acquire or from which the thread learned something, when `ideal` was made.
    entered: u32,
    /// The section of which the end would be needed has none.
    impossible: bool,
}

/// What is known of the accesses of one slot as seen from another.
#[derive(Debug, Default)]
struct Pair {
    /// Accesses that are ordered before all that the other does from now on: from which number to which.
    ordered: BTreeMap<u32, u32>,
    /// The last race.
    race: Option<Raced>,
}

#[derive(Debug)]
struct Raced {
    number: u32,
    /// The last event before each of the two accesses that was an acquire or a lesson.
    entered: (u32, u32),
    done: Ideal,
}

impl Closures {
    /// What is done before the two accesses of a race, for each slot up to which number: asked for again, as few of all races
    /// want to know.
    pub(crate) fn done(&mut self, query: Query, past: &Past, clock: &Clock, entered: u32) -> &[u32] {
        let Query { earlier, now, .. } = query;
        if self.is_known(query, past, entered)
            && let Some(race) = last(&self.pairs, query)
        {
            self.work.ideal.clone_from(&race.done);
            raise(&mut self.work.ideal, Moment { number: earlier.number - 1, ..earlier });
            raise(&mut self.work.ideal, Moment { number: now.number - 1, ..now });
        } else {
            self.ask(query, past, clock, entered);
        }
        &self.work.ideal
    }

    /// Whether an access is known to be ordered before all that a slot does from now on.
    pub(crate) fn is_ordered(&self, earlier: Moment, slot: u32) -> bool {
        if self.floor.get(earlier.slot as usize).is_some_and(|&upto| upto >= earlier.number) {
            return true;
        }
        let Some(pair) = self.pairs.get(&(earlier.slot, slot)) else { return false };
        let range = pair.ordered.range(..=earlier.number).next_back();
        range.is_some_and(|(_, &to)| earlier.number <= to)
    }

    /// Answers a query. `clock` is what the present thread knows, `entered` the number of its last acquire or lesson.
    pub(crate) fn ask(&mut self, query: Query, past: &Past, clock: &Clock, entered: u32) -> Answer {
        let Query { earlier, now, born } = query;
        if !self.renew(now, past, clock, entered) {
            return Answer::Ordered;
        }
        let present = &self.presents[now.slot as usize];
        let present_of_earlier = get(&present.ideal, earlier.slot);
        if present_of_earlier >= earlier.number {
            self.pair(query).put(0, present_of_earlier);
            return Answer::Ordered;
        }
        if self.is_known(query, past, entered) {
            return Answer::Race;
        }
        let before = Moment { number: earlier.number - 1, ..earlier };
        let (learned, knew) = past.knew(before);
        let entered = (self.sections.last_acquire(before).max(learned), entered);
        let is_born = born.number <= get(&present.ideal, born.slot);
        self.work.ideal.clone_from(&present.ideal);
        match last(&self.pairs, query) {
            Some(race) => {
                self.work.known.clone_from(&race.done);
                join(&mut self.work.ideal, &race.done);
            }
            None => self.work.known.clone_from(&present.ideal),
        }
        raise(&mut self.work.ideal, before);
        join(&mut self.work.ideal, knew);
        if !is_born {
            join(&mut self.work.ideal, past.knew(born).1);
            raise(&mut self.work.ideal, born);
        }
        let closed = self.work.close(&self.sections, past, Some(earlier));
        let reached = get(&self.work.ideal, earlier.slot);
        if closed && reached < earlier.number {
            if is_born {
                let done = self.work.ideal.clone();
                self.pair(query).race = Some(Raced { number: earlier.number, entered, done });
            }
            return Answer::Race;
        }
        if is_born {
            self.pair(query).put(earlier.number, reached.max(earlier.number));
        }
        Answer::Ordered
    }

    /// Whether the query's is a race since another was one, and neither thread has taken a lock or learned anything since.
    fn is_known(&self, query: Query, past: &Past, entered: u32) -> bool {
        let Query { earlier, now, born } = query;
        let Some(race) = last(&self.pairs, query).filter(|race| race.entered.1 == entered) else {
            return false;
        };
        let Some(present) = self.presents.get(now.slot as usize) else { return false };
        let before = Moment { number: earlier.number - 1, ..earlier };
        let then = self.sections.last_acquire(before).max(past.knew(before).0);
        race.entered.0 == then && born.number <= get(&present.ideal, born.slot)
    }

    fn pair(&mut self, query: Query) -> &mut Pair {
        self.pairs.entry((query.earlier.slot, query.now.slot)).or_default()
    }

    /// Makes the closure of the past of a slot's present event; `false` if there is none.
    fn renew(&mut self, now: Moment, past: &Past, clock: &Clock, entered: u32) -> bool {
        let index = now.slot as usize;
        if index >= self.presents.len() {
            let fresh = Present { ideal: self.floor.clone(), ..Present::default() };
            self.presents.resize(index + 1, fresh);
        }
        let present = &mut self.presents[index];
        if present.entered == entered && entered != 0 {
            raise(&mut present.ideal, Moment { number: now.number - 1, ..now });
            return !present.impossible;
        }
        self.work.known.clone_from(&present.ideal);
        self.work.ideal.clone_from(&present.ideal);
        join(&mut self.work.ideal, clock.as_slice());
        let own = &mut self.work.ideal[index];
        // The clock has the present event, too.
        *own = (now.number - 1).max(get(&self.floor, now.slot));
        present.impossible |= !self.work.close(&self.sections, past, None);
        present.ideal.clone_from(&self.work.ideal);
        present.entered = entered;
        !present.impossible
    }

    /// Puts all up to the number that `upto` has for each slot into every closure from now on, and forgets what is only
    /// needed to tell more of it. `upto` is closed.
    pub(crate) fn forget(&mut self, upto: &[u32]) {
        self.floor = upto.to_vec();
        self.sections.forget(upto);
        self.pairs.clear();
        self.presents.clear();
    }

    /// The number of pairs of threads of which something is known.
    pub(crate) fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// About how many bytes they take.
    pub(crate) fn memory(&self) -> usize {
        let ideal = 4 * self.floor.len().max(self.presents.len());
        let pairs = self.pairs.values();
        let ordered: usize = pairs.map(|pair| pair.ordered.len()).sum();
        self.sections.memory()
            + (self.presents.len() + self.pairs.len()) * (ideal + size_of::<Pair>())
            + ordered * 24
    }
}

impl Pair {
    /// The accesses from one number to another are ordered.
    fn put(&mut self, from: u32, to: u32) {
        let (mut from, mut to) = (from, to);
        while let Some((&start, &end)) = self.ordered.range(..=to.saturating_add(1)).next_back()
            && end.saturating_add(1) >= from
        {
            self.ordered.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.ordered.insert(from, to);
    }
}

impl Work {
    /// Lets `ideal` grow until it is closed, as `known` was. `false` if it cannot be, or as soon as `stop` is in it.
    fn close(&mut self, sections: &Sections, past: &Past, stop: Option<Moment>) -> bool {
        self.is_listed.resize(sections.locks(), false);
        let possible = loop {
            self.follow(sections, past);
            if stop.is_some_and(|stop| get(&self.ideal, stop.slot) >= stop.number) {
                break false;
            }
            let Some(lock) = self.locks.pop() else { break true };
            self.is_listed[lock as usize] = false;
            if !self.end_sections(sections, lock) {
                break false;
            }
        };
        for lock in self.locks.drain(..) {
            self.is_listed[lock as usize] = false;
        }
        possible
    }

    /// Follows thread order and reads-from, and lists the locks that were newly reached.
    fn follow(&mut self, sections: &Sections, past: &Past) {
        let mut grown = true;
        while grown {
            grown = false;
            for slot in 0..self.ideal.len() {
                let (before, upto) = (get(&self.known, slot as u32), self.ideal[slot]);
                if upto <= before {
                    continue;
                }
                grown = true;
                raise(&mut self.known, Moment { slot: slot as u32, number: upto });
                let (from, knew) = past.knew(Moment { slot: slot as u32, number: upto });
                if from > before {
                    join(&mut self.ideal, knew);
                }
                sections.taken(slot as u32, before, upto, |lock| {
                    if !std::mem::replace(&mut self.is_listed[lock as usize], true) {
                        self.locks.push(lock);
                    }
                });
            }
        }
    }

    /// Adds the ends of the sections on a lock that began before another one did with which they cannot overlap.
    fn end_sections(&mut self, sections: &Sections, lock: u32) -> bool {
        let lines = sections.lines(lock);
        let last = |ideal: &[u32], index: usize| {
            let line = &lines[index];
            let upto = get(ideal, line.slot);
            let behind = line.sections.partition_point(|section| section.acquire <= upto);
            behind.checked_sub(1).map(|index| line.sections[index])
        };
        let (mut any, mut written) = (0, 0);
        for (index, line) in lines.iter().enumerate() {
            if let Some(section) = last(&self.known, index) {
                any = any.max(section.rank);
                if line.mode == LockMode::Write {
                    written = written.max(section.rank);
                }
            }
        }
        // What is added now has no section on this lock that began later but in slots that are looked at again.
        for (index, line) in lines.iter().enumerate() {
            let Some(section) = last(&self.known, index) else { continue };
            let next = if line.mode == LockMode::Write { any } else { written };
            if section.rank < next {
                if section.release.number == 0 {
                    return false;
                }
                raise(&mut self.ideal, section.release);
            }
        }
        true
    }
}

/// The last race between the threads of a query, if what it needed the query's needs, too.
fn last(pairs: &FxHashMap<(u32, u32), Pair>, Query { earlier, now, .. }: Query) -> Option<&Raced> {
    let race = pairs.get(&(earlier.slot, now.slot))?.race.as_ref();
    race.filter(|race| race.number <= earlier.number)
}

fn get(ideal: &[u32], slot: u32) -> u32 {
    ideal.get(slot as usize).copied().unwrap_or(0)
}

fn raise(ideal: &mut Ideal, to: Moment) {
    let index = to.slot as usize;
    if index >= ideal.len() {
        ideal.resize(index + 1, 0);
    }
    ideal[index] = ideal[index].max(to.number);
}

fn join(ideal: &mut Ideal, other: &[u32]) {
    if other.len() > ideal.len() {
        ideal.resize(other.len(), 0);
    }
    for (mine, theirs) in ideal.iter_mut().zip(other) {
        *mine = (*mine).max(*theirs);
    }
}
