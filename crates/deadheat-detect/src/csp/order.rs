//! What has to come before two accesses, and what of it before what, in every order that brings them side by side.
//!
//! The least set: what the two threads did before, what that waits for, and the ends of critical sections that are in
//! the way of sections that stay open. Then what follows of exclusion and of reads that keep their writers, until nothing more does:
//! of two sections of a lock, if one begins before the other ends, it ends before the other begins; who writes
//! before a read that sees another write comes before that one; who writes behind a write that is read comes
//! behind the reading. If that goes in a circle, there is no such order. (The saturation of Pavlogiannis, *Fast, sound,
//! and effectively complete dynamic race prediction*, POPL 2020; here for locks in two modes and for registers.)
//!
//! Cost: a pass over the set for each further layer of consequences, times the threads.

use deadheat_core::event::LockMode;

use super::model::{Act, At, Lock, Model, Section, Target, Value};

/// Operations that have to come, by thread.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Set {
    /// How many there are.
    limits: Vec<u32>,
    /// How many of them must not be tainted: with branches those up to the last one, and what these depend on; else all.
    clean: Vec<u32>,
}

/// So many edges are compared in the time of a step.
const EDGES_A_STEP: usize = 16;

/// A set of operations that has to come first, and what is known of its order.
#[derive(Debug)]
pub(super) struct Order {
    /// By thread: how many operations are in the set.
    pub(super) limits: Vec<u32>,
    /// By thread: how many of its operations must not be tainted.
    clean: Vec<u32>,
    /// By thread: where its rows begin.
    bases: Vec<usize>,
    /// By operation and thread: how many of the thread's come before the operation.
    before: Vec<u32>,
    /// By operation: what comes before it, that the model does not say.
    edges: Vec<Vec<At>>,
    /// The operations in the run's order.
    sorted: Vec<At>,
    /// How many operations were looked at so far, each as often as it was.
    steps: usize,
}

/// There is no such order.
struct Contradiction;

type Checked<T> = Result<T, Contradiction>;

/// What two accesses need; `None` if they cannot stand side by side. The steps that this takes are added to `steps`.
pub(super) fn order(model: &Model, pair: [Target; 2], steps: &mut usize) -> Option<Order> {
    let mut set = closure(model, pair)?;
    loop {
        let mut order = Order::new(model, &set);
        let saturated = order.saturate(model, pair, &mut set);
        *steps += order.steps;
        match saturated {
            Ok(true) => return Some(order),
            Ok(false) => {}
            Err(Contradiction) => return None,
        }
    }
}

/// The operations that are needed by what is before two accesses.
fn closure(model: &Model, pair: [Target; 2]) -> Option<Set> {
    let mut set = Set::new(model);
    for target in pair {
        if let Some(last) = target.at.checked_sub(1) {
            set.include(model, (target.thread, last), false);
        }
        for &need in model.target_needs(target) {
            set.include(model, need, false);
        }
    }
    set.is_before(pair).then_some(set)
}

/// Adds the signals that waits of a set saw in the run, and what these need; `None` if an access is among that.
pub(super) fn with_signals(model: &Model, pair: [Target; 2], limits: &[u32]) -> Option<Vec<u32>> {
    let mut all = Set::new(model);
    for (thread, &limit) in (0..).zip(limits) {
        if let Some(last) = limit.checked_sub(1) {
            all.include(model, (thread, last), true);
        }
    }
    all.is_before(pair).then_some(all.limits)
}

/// Adds the ends of critical sections that others begin, and what these need; `None` if an access is among that, or if what is
/// left out can be of use: a signal or a post.
///
/// Else to leave out of an order what is not in the set leaves an order: it has the ends of sections with the sections, and of what
/// is not to be tainted it has what was read.
pub(super) fn with_ends(model: &Model, pair: [Target; 2], limits: &[u32]) -> Option<Vec<u32>> {
    let mut all = Set::new(model);
    for (thread, &limit) in (0..).zip(limits) {
        if let Some(last) = limit.checked_sub(1) {
            all.include(model, (thread, last), false);
        }
    }
    loop {
        let open: Vec<At> = model.locks.iter().flat_map(|lock| all.open_ends(lock, pair)).collect();
        if open.is_empty() {
            break;
        }
        open.into_iter().for_each(|end| all.include(model, end, false));
    }
    let mut acts = model.rows.iter().zip(&all.limits).flat_map(|(row, &limit)| &row[..limit as usize]);
    let waits = acts.any(|op| matches!(op.act, Act::Draw { .. } | Act::Wake { .. }));
    (!waits && all.is_before(pair)).then_some(all.limits)
}

impl Set {
    /// The ends of a lock's sections that begin in the set and do not end there, but for those of the accesses' threads.
    fn open_ends<'a>(&'a self, lock: &'a Lock, pair: [Target; 2]) -> impl Iterator<Item = At> + 'a {
        let others = (0u32..).zip(&lock.sections);
        let others = others.filter(move |(thread, _)| pair.iter().all(|target| target.thread != *thread));
        others.flat_map(move |(thread, sections)| {
            let limit = self.limits[thread as usize];
            let begun = sections.iter().filter(move |section| section.take.is_none_or(|take| take < limit));
            begun
                .filter_map(move |section| section.give.filter(|&give| give >= limit))
                .map(move |give| (thread, give))
        })
    }

    fn new(model: &Model) -> Self {
        let clean = if model.control { 0 } else { u32::MAX };
        Self { limits: vec![0; model.threads()], clean: vec![clean; model.threads()] }
    }

    /// Whether two accesses are not in it.
    fn is_before(&self, pair: [Target; 2]) -> bool {
        pair.iter().all(|target| self.limits[target.thread as usize] <= target.at)
    }

    /// Takes an operation, and what it needs, into the set; with the signals that waits `saw` or not.
    fn include(&mut self, model: &Model, at: At, saw: bool) {
        let mut open = vec![(at, false)];
        while let Some(((thread, at), clean)) = open.pop() {
            let limit = &mut self.limits[thread as usize];
            let from = std::mem::replace(limit, (*limit).max(at + 1));
            for new in (from..=at).map(|new| (thread, new)) {
                open.extend(model.needs(new).iter().map(|&need| (need, false)));
                if saw {
                    open.extend(model.saw(new).iter().map(|&signal| (signal, false)));
                }
                if model.control && model.op(new).decides {
                    open.push((new, true));
                }
            }
            if clean {
                let limit = &mut self.clean[thread as usize];
                let from = std::mem::replace(limit, (*limit).max(at + 1));
                for new in (from..=at).map(|new| (thread, new)) {
                    open.extend(model.follows(new).iter().map(|&followed| (followed, true)));
                    let held = model.reads(new).map(|value| model.values[value as usize]);
                    open.extend(held.filter_map(|held| Some((held.setter?, held.written))));
                }
            }
        }
    }
}

impl Order {
    fn new(model: &Model, set: &Set) -> Self {
        let Set { limits, clean } = set;
        let mut bases = Vec::with_capacity(limits.len());
        let mut sorted: Vec<At> = Vec::new();
        for (thread, &limit) in (0..).zip(limits) {
            bases.push(sorted.len());
            sorted.extend((0..limit).map(|at| (thread, at)));
        }
        let rows = sorted.len();
        sorted.sort_unstable_by_key(|&at| model.op(at).event);
        Self {
            limits: limits.clone(),
            clean: clean.clone(),
            bases,
            before: vec![0; rows * limits.len()],
            edges: vec![Vec::new(); rows],
            sorted,
            steps: rows,
        }
    }

    /// Whether an operation is in the set.
    pub(super) fn has(&self, (thread, at): At) -> bool {
        at < self.limits[thread as usize]
    }

    /// Whether an operation must not be tainted, by what is known: those it reads from are in the set.
    pub(super) fn is_clean(&self, (thread, at): At) -> bool {
        at < self.clean[thread as usize]
    }

    /// Whether some operation of the first so many of each thread goes by what its thread has read, and is not known to come clean.
    pub(super) fn leaves_open(&self, model: &Model, limits: &[u32]) -> bool {
        let rows = model.rows.iter().zip(&self.clean).zip(limits);
        let mut open = rows.filter_map(|((row, &clean), &limit)| row.get(clean as usize..limit as usize));
        open.any(|row| row.iter().any(|op| op.decides))
    }

    /// By thread: how many operations come before one of the set.
    pub(super) fn before(&self, at: At) -> &[u32] {
        let row = self.row(at) * self.limits.len();
        &self.before[row..row + self.limits.len()]
    }

    /// Whether one operation comes before another one of the set.
    pub(super) fn is_before(&self, one: At, other: At) -> bool {
        self.before(other)[one.0 as usize] > one.1
    }

    fn row(&self, (thread, at): At) -> usize {
        self.bases[thread as usize] + at as usize
    }

    /// Whether that was all; else the set has to be larger.
    fn saturate(&mut self, model: &Model, pair: [Target; 2], set: &mut Set) -> Checked<bool> {
        loop {
            self.close(model)?;
            let mut news = false;
            for lock in &model.locks {
                news |= self.exclude(model, lock, pair, set)?;
            }
            if set.limits != self.limits {
                return if set.is_before(pair) { Ok(false) } else { Err(Contradiction) };
            }
            for register in 0..model.registers.len() {
                news |= self.keep_values(model, register)?;
            }
            for target in pair {
                for &value in model.target_tests(target) {
                    news |= self.end_with(model, value)?;
                }
            }
            if !news {
                return Ok(true);
            }
        }
    }

    /// What comes before what comes before, comes before.
    fn close(&mut self, model: &Model) -> Checked<()> {
        let width = self.limits.len();
        let mut mine = vec![0; width];
        let mut changed = true;
        while changed {
            changed = false;
            self.steps += self.sorted.len();
            for index in 0..self.sorted.len() {
                let (thread, at) = self.sorted[index];
                let row = self.row((thread, at));
                mine.copy_from_slice(&self.before[row * width..][..width]);
                if let Some(last) = at.checked_sub(1) {
                    self.join(&mut mine, (thread, last));
                }
                for &need in model.needs((thread, at)) {
                    self.join(&mut mine, need);
                }
                for &edge in &self.edges[row] {
                    self.join(&mut mine, edge);
                }
                if mine[thread as usize] > at {
                    return Err(Contradiction);
                }
                let known = &mut self.before[row * width..][..width];
                if *known != mine[..] {
                    known.copy_from_slice(&mine);
                    changed = true;
                }
            }
        }
        Ok(())
    }

    fn join(&self, mine: &mut [u32], at: At) {
        for (mine, &theirs) in mine.iter_mut().zip(self.before(at)) {
            *mine = (*mine).max(theirs);
        }
        let own = &mut mine[at.0 as usize];
        *own = (*own).max(at.1 + 1);
    }

    /// Puts one operation of the set before another; whether that is new.
    fn put(&mut self, one: At, other: At) -> Checked<bool> {
        if one == other || self.is_before(other, one) {
            return Err(Contradiction);
        }
        if self.is_before(one, other) {
            return Ok(false);
        }
        let row = self.row(other);
        self.steps += 1 + self.edges[row].len() / EDGES_A_STEP;
        let new = !self.edges[row].contains(&one);
        if new {
            self.edges[row].push(one);
        }
        Ok(new)
    }

    /// What follows of a lock's sections.
    fn exclude(&mut self, model: &Model, lock: &Lock, pair: [Target; 2], set: &mut Set) -> Checked<bool> {
        let mut news = false;
        for (thread, sections) in (0..).zip(&lock.sections) {
            let racing = pair.iter().any(|target| target.thread == thread);
            let limit = self.limits[thread as usize];
            for section in sections.iter().take_while(|section| section.take.is_none_or(|take| take < limit))
            {
                let give = section.give.filter(|&give| give < limit);
                if give.is_none() && !racing && section.give.is_some() {
                    continue;
                }
                for other in (0..).zip(&lock.sections).filter(|&(other, _)| other != thread) {
                    let up_to = give.map_or(self.limits[other.0 as usize], |give| {
                        self.before((thread, give))[other.0 as usize]
                    });
                    news |= self.put_behind(model, (thread, section), other, up_to, set)?;
                }
            }
        }
        Ok(news)
    }

    /// The last of another thread's sections up to an operation that excludes this one has to be over when it begins.
    fn put_behind(
        &mut self,
        model: &Model,
        (thread, section): (u32, &Section),
        (other, sections): (u32, &Vec<Section>),
        up_to: u32,
        set: &mut Set,
    ) -> Checked<bool> {
        let count = sections.partition_point(|other| other.take.is_none_or(|take| take < up_to));
        let excludes = |other: &&Section| section.mode == LockMode::Write || other.mode == LockMode::Write;
        let Some(last) = sections[..count].iter().rev().find(excludes) else { return Ok(false) };
        let (Some(take), Some(give)) = (section.take, last.give) else { return Err(Contradiction) };
        if !self.has((other, give)) {
            set.include(model, (other, give), false);
            return Ok(false);
        }
        self.put((other, give), (thread, take))
    }

    /// What follows of the values that a register has to have.
    fn keep_values(&mut self, model: &Model, register: usize) -> Checked<bool> {
        let register = &model.registers[register];
        let mut news = false;
        for (thread, tests) in (0..).zip(&register.tests) {
            let limit = self.limits[thread as usize];
            for &(at, value) in tests.iter().take_while(|&&(at, _)| at < limit) {
                if !register.block && !self.is_clean((thread, at)) {
                    break;
                }
                if let Some(setter) = model.values[value as usize].setter.filter(|_| model.control) {
                    news |= self.put(setter, (thread, at))?;
                }
                for (other, sets) in (0..).zip(&register.sets) {
                    let sets = &sets[..sets.partition_point(|&set| self.has((other, set.0)))];
                    news |= self.keep_value(model, (thread, at), value, other, sets)?;
                }
            }
        }
        Ok(news)
    }

    fn keep_value(
        &mut self,
        model: &Model,
        test: At,
        value: Value,
        other: u32,
        sets: &[(u32, Value)],
    ) -> Checked<bool> {
        let mut news = false;
        let setter = model.values[value as usize].setter;
        let before = self.before(test)[other as usize];
        let last = sets[..sets.partition_point(|&(at, _)| at < before)].last();
        if let Some(&(at, _)) = last.filter(|&&(_, set)| set != value) {
            news |= self.put((other, at), setter.ok_or(Contradiction)?)?;
        }
        let behind =
            |&(at, _): &(u32, Value)| setter.is_none_or(|setter| self.is_before(setter, (other, at)));
        let first = sets.partition_point(|set| !behind(set));
        if let Some(&(at, _)) = sets.get(first)
            && (other, at) != test
        {
            news |= self.put(test, (other, at))?;
        }
        Ok(news)
    }

    /// A register has to have a value at the end.
    fn end_with(&mut self, model: &Model, value: Value) -> Checked<bool> {
        let setter = model.values[value as usize].setter;
        let mut news = false;
        for (other, sets) in (0..).zip(&model.registers[model.register(value)].sets) {
            let last = sets[..sets.partition_point(|&(at, _)| self.has((other, at)))].last();
            if let Some(&(at, _)) = last.filter(|&&(_, set)| set != value) {
                news |= self.put((other, at), setter.ok_or(Contradiction)?)?;
            }
        }
        Ok(news)
    }
}
