//! Where the model is: what each thread has done, and what that makes of locks, registers and the rest.
//!
//! A move can be taken back. What cannot be in the way of anything that is still to come is *free*: to make that move first loses no
//! order. (Partial order reduction; a free move is a persistent set of one.)
//!
//! Of `csp=control`: a thread that is tainted can do nothing that it could not do otherwise, so to read the value of the run as long as
//! it is there loses nothing; to read another one is a choice, unless it makes no difference or will not be there again. Where no
//! operation that may be done goes by what was read, beyond those that are known to come clean, taint is not looked at.

use deadheat_core::event::LockMode;

use super::model::{Act, At, Model, Target, Value, Waiting};
use super::order::Order;

/// No operation of the thread is tainted.
const CLEAN: u32 = u32::MAX;

/// A state, and what it is searched for.
#[derive(Debug)]
pub(super) struct State<'a> {
    model: &'a Model,
    order: &'a Order,
    /// By thread: how many operations it may do.
    limits: Vec<u32>,
    done: Vec<u32>,
    registers: Vec<Value>,
    /// By value: how many operations that may be done will test for it, and how many of those that have to be done.
    tested: Vec<u32>,
    needed: Vec<u32>,
    /// By lock: who has it for writing, from 1, and how many have it for reading.
    writers: Vec<u32>,
    readers: Vec<u32>,
    counts: Vec<i64>,
    waits: Vec<Waiting>,
    /// Whether taint matters.
    open: bool,
    /// By thread: its first tainted operation.
    tainted: Vec<u32>,
    trail: Vec<At>,
    /// What moves have changed: register and value.
    old: Vec<Value>,
    /// The same of waits.
    old_waits: Vec<(u32, Waiting)>,
    /// Where in `old_waits` each signal's begin.
    marks: Vec<usize>,
}

impl<'a> State<'a> {
    /// The start, from which each thread may do so many operations, up to the accesses. What `order` has has to be done.
    pub(super) fn new(model: &'a Model, order: &'a Order, limits: Vec<u32>, pair: [Target; 2]) -> Self {
        let mut state = Self {
            model,
            order,
            done: vec![0; limits.len()],
            registers: model.registers.iter().map(|register| register.first).collect(),
            tested: vec![0; model.values.len()],
            needed: vec![0; model.values.len()],
            writers: vec![0; model.locks.len()],
            readers: vec![0; model.locks.len()],
            counts: model.semaphores.iter().map(|semaphore| semaphore.first).collect(),
            waits: model.waits.iter().map(|wait| wait.first).collect(),
            open: model.control && order.leaves_open(model, &limits),
            tainted: vec![CLEAN; limits.len()],
            trail: Vec::new(),
            old: Vec::new(),
            old_waits: Vec::new(),
            marks: Vec::new(),
            limits,
        };
        for register in &model.registers {
            for (thread, tests) in (0u32..).zip(&register.tests) {
                for &(at, value) in tests {
                    let [tested, needed] = state.counts((thread, at), value);
                    let may = u32::from(at < state.limits[thread as usize]);
                    state.tested[value as usize] += tested * may;
                    state.needed[value as usize] += needed;
                }
            }
        }
        for value in pair.iter().flat_map(|&target| model.target_tests(target)) {
            state.tested[*value as usize] += 1;
            state.needed[*value as usize] += 1;
        }
        for (lock, sections) in model.locks.iter().enumerate() {
            for (thread, sections) in (1..).zip(&sections.sections) {
                match sections.first().filter(|section| section.take.is_none()).map(|section| section.mode) {
                    Some(LockMode::Write) => state.writers[lock] = thread,
                    Some(LockMode::Read) => state.readers[lock] += 1,
                    None => {}
                }
            }
        }
        state
    }

    /// The moves so far.
    pub(super) fn trail(&self) -> &[At] {
        &self.trail
    }

    /// Whether both accesses are next.
    pub(super) fn is_before(&self, pair: [Target; 2]) -> bool {
        pair.iter().all(|&target| {
            self.done[target.thread as usize] == target.at
                && self.model.target_needs(target).iter().all(|&need| self.has(need))
                && self.model.target_tests(target).iter().all(|&value| self.holds(value))
        })
    }

    /// What states differ in, as far as it matters for what is to come.
    pub(super) fn key(&self) -> Box<[u32]> {
        let registers =
            self.registers.iter().map(|&value| if self.tested[value as usize] > 0 { value + 1 } else { 0 });
        let tainted = self.tainted.iter().copied().filter(|_| self.open);
        let waits = self.waits.iter().map(|&wait| wait as u32);
        self.done.iter().copied().chain(registers).chain(waits).chain(tainted).collect()
    }

    /// Whether an operation has to find a value: what it reads otherwise would be in its way.
    fn insists(&self, at: At, value: Value) -> bool {
        self.order.is_clean(at) || self.model.registers[self.model.register(value)].block
    }

    /// How often a test counts as one that is to come, and as one that has to.
    fn counts(&self, at: At, value: Value) -> [u32; 2] {
        let insists = self.insists(at, value);
        [insists || self.open, insists && self.order.has(at)].map(u32::from)
    }

    fn is_tainted(&self, (thread, at): At) -> bool {
        self.tainted[thread as usize] <= at
    }

    /// Whether a value is there as in the run.
    fn is_as_it_was(&self, value: Value) -> bool {
        let held = self.model.values[value as usize];
        self.holds(value) && !held.setter.is_some_and(|setter| held.written && self.is_tainted(setter))
    }

    /// Whether a value that is not there as in the run never will be.
    fn is_gone(&self, value: Value) -> bool {
        self.model.values[value as usize]
            .setter
            .is_none_or(|setter| self.has(setter) || setter.1 >= self.limits[setter.0 as usize])
    }

    /// Whether an operation is tainted whatever it reads.
    fn follows_taint(&self, at: At) -> bool {
        self.is_tainted(at) || self.model.follows(at).iter().any(|&followed| self.is_tainted(followed))
    }

    /// Whether an operation would be tainted.
    fn taints(&self, at: At) -> bool {
        self.follows_taint(at) || self.model.reads(at).any(|value| !self.is_as_it_was(value))
    }

    /// Whether it makes no difference, or cannot come otherwise, whether an operation is tainted.
    fn is_settled(&self, at: At) -> bool {
        if !self.open || self.follows_taint(at) {
            return true;
        }
        let mut others = self.model.reads(at).filter(|&value| !self.is_as_it_was(value)).peekable();
        if others.peek().is_none() || others.any(|value| self.is_gone(value)) {
            return true;
        }
        let tells = &self.model.tells[at.0 as usize];
        let next = tells.get(tells.partition_point(|&other| other < at.1));
        next.is_none_or(|&next| next >= self.limits[at.0 as usize])
    }

    /// The moves that can be made, in the run's order, those first that have to be.
    pub(super) fn moves(&self) -> Vec<u32> {
        let mut moves: Vec<u32> = (0..self.done.len() as u32).filter(|&thread| self.can(thread)).collect();
        moves.sort_unstable_by_key(|&thread| {
            let at = (thread, self.done[thread as usize]);
            (!self.order.has(at), self.model.op(at).event)
        });
        moves
    }

    /// Makes moves that are free, until there are none.
    pub(super) fn advance(&mut self) {
        let mut moved = true;
        while moved {
            moved = false;
            for thread in 0..self.done.len() as u32 {
                while self.go_on(thread) {
                    moved = true;
                }
            }
        }
    }

    /// Makes a thread's next move, or goes through its next sections, if that is free; whether it did.
    fn go_on(&mut self, thread: u32) -> bool {
        if self.can(thread) && self.is_free(thread) {
            self.act(thread);
            return true;
        }
        self.pass(thread)
    }

    fn is_over(&self, thread: u32) -> bool {
        self.done[thread as usize] >= self.limits[thread as usize]
    }

    fn has(&self, (thread, at): At) -> bool {
        at < self.done[thread as usize]
    }

    fn holds(&self, value: Value) -> bool {
        self.registers[self.model.register(value)] == value
    }

    /// Whether a thread can do its next operation, and the operations that have to be done can still be.
    fn can(&self, thread: u32) -> bool {
        let at = (thread, self.done[thread as usize]);
        if self.is_over(thread) {
            return false;
        }
        let come = if self.order.has(at) {
            self.order.before(at).iter().zip(&self.done).all(|(before, done)| before <= done)
        } else {
            self.model.needs(at).iter().all(|&need| self.has(need))
        };
        come && self.acts(at)
    }

    fn acts(&self, at: At) -> bool {
        let act = self.model.op(at).act;
        if self.open && self.model.op(at).decides && self.taints(at) {
            return false;
        }
        match act {
            Act::Step | Act::Give { .. } | Act::Post { .. } | Act::Signal { .. } | Act::Await { .. } => true,
            Act::Take { lock, mode } => self.is_free_lock(lock, mode),
            Act::Touch(_) => {
                let tests = self.model.tests(act);
                tests.iter().all(|&value| self.holds(value) || !self.insists(at, value))
                    && self.model.sets(act).iter().all(|&value| {
                        let now = self.registers[self.model.register(value)];
                        let mine = if tests.contains(&now) { self.counts(at, now)[1] } else { 0 };
                        self.needed[now as usize] == mine
                    })
            }
            Act::Draw { semaphore } => self.counts[semaphore as usize] > 0,
            Act::Wake { wait } => self.waits[wait as usize] == Waiting::Reached,
        }
    }

    fn is_free_lock(&self, lock: u32, mode: LockMode) -> bool {
        let lock = lock as usize;
        self.writers[lock] == 0 && (mode == LockMode::Read || self.readers[lock] == 0)
    }

    /// Whether a move that can be made is in the way of none that may come.
    fn is_free(&self, thread: u32) -> bool {
        let at = (thread, self.done[thread as usize]);
        let act = self.model.op(at).act;
        match act {
            Act::Step | Act::Give { .. } | Act::Post { .. } | Act::Await { .. } | Act::Wake { .. } => true,
            Act::Take { lock, mode } => self.comes_first(at, |other| self.next_take(lock, mode, other)),
            Act::Touch(_) => {
                let tests = self.model.tests(act);
                let unseen = |&value: &Value| {
                    let now = self.registers[self.model.register(value)];
                    let mine = if tests.contains(&now) { self.counts(at, now)[0] } else { 0 };
                    self.tested[now as usize] == mine && self.tested[value as usize] == 0
                };
                let first = |&value: &Value| {
                    let register = self.model.register(value);
                    self.comes_first(at, |other| self.next_touch(register, other))
                };
                self.is_settled(at) && self.model.sets(act).iter().all(|value| unseen(value) || first(value))
            }
            Act::Draw { semaphore } => {
                let draws = &self.model.semaphores[semaphore as usize].draws;
                let left: usize = draws
                    .iter()
                    .enumerate()
                    .map(|(other, draws)| {
                        let from = draws.partition_point(|&at| at < self.done[other]);
                        draws.partition_point(|&at| at < self.limits[other]) - from
                    })
                    .sum();
                self.counts[semaphore as usize] >= left as i64
            }
            Act::Signal { condition } => self.model.waits.iter().zip(&self.waits).all(|(wait, now)| {
                let to_come = wait.begin.is_some_and(|(other, begin)| {
                    other != thread && !self.has((other, begin)) && begin < self.limits[other as usize]
                });
                wait.condition != condition || *now != Waiting::Not || !to_come
            }),
        }
    }

    /// Whether an operation has to come before the next of each other thread that is in its way.
    fn comes_first(&self, at: At, next: impl Fn(u32) -> Option<u32>) -> bool {
        (0..self.done.len() as u32).filter(|&other| other != at.0).all(|other| {
            let next = next(other).map(|next| (other, next));
            next.is_none_or(|next| {
                self.order.has(at) && self.order.has(next) && self.order.is_before(at, next)
            })
        })
    }

    /// Where a thread next takes a lock so that a mode excludes it.
    fn next_take(&self, lock: u32, mode: LockMode, thread: u32) -> Option<u32> {
        let sections = &self.model.locks[lock as usize].sections[thread as usize];
        let done = self.done[thread as usize];
        let from = sections.partition_point(|section| section.take.is_none_or(|take| take < done));
        let excluded = sections[from..]
            .iter()
            .find(|section| mode == LockMode::Write || section.mode == LockMode::Write);
        excluded.and_then(|section| section.take).filter(|&take| take < self.limits[thread as usize])
    }

    /// Where a thread next tests or sets a register.
    fn next_touch(&self, register: usize, thread: u32) -> Option<u32> {
        let register = &self.model.registers[register];
        let done = self.done[thread as usize];
        let next = |list: &Vec<(u32, Value)>| {
            let from = list.partition_point(|&(at, _)| at < done);
            list.get(from).map(|&(at, _)| at)
        };
        let lists = [&register.tests[thread as usize], &register.sets[thread as usize]];
        lists.into_iter().filter_map(next).min().filter(|&at| at < self.limits[thread as usize])
    }

    /// Goes through a critical section, and those inside, if nothing is in the way of that; whether it did.
    fn pass(&mut self, thread: u32) -> bool {
        let start = self.trail.len();
        let mut depth = 0;
        while self.can(thread) {
            match self.model.op((thread, self.done[thread as usize])).act {
                Act::Take { .. } => depth += 1,
                Act::Give { .. } if depth > 0 => depth -= 1,
                Act::Step
                | Act::Give { .. }
                | Act::Touch(_)
                | Act::Post { .. }
                | Act::Draw { .. }
                | Act::Signal { .. }
                | Act::Await { .. }
                | Act::Wake { .. } => {
                    if depth == 0 || !self.is_free(thread) {
                        break;
                    }
                }
            }
            self.act(thread);
            if depth == 0 {
                return true;
            }
        }
        self.back(start);
        false
    }

    /// Does a thread's next operation.
    pub(super) fn act(&mut self, thread: u32) {
        let at = (thread, self.done[thread as usize]);
        let act = self.model.op(at).act;
        if self.open && self.tainted[thread as usize] == CLEAN && self.taints(at) {
            self.tainted[thread as usize] = at.1;
        }
        self.done[thread as usize] += 1;
        self.trail.push(at);
        match act {
            Act::Step => {}
            Act::Take { lock, mode: LockMode::Write } => self.writers[lock as usize] = thread + 1,
            Act::Take { lock, mode: LockMode::Read } => self.readers[lock as usize] += 1,
            Act::Give { lock, mode: LockMode::Write } => self.writers[lock as usize] = 0,
            Act::Give { lock, mode: LockMode::Read } => self.readers[lock as usize] -= 1,
            Act::Touch(_) => {
                for &value in self.model.tests(act) {
                    let [tested, needed] = self.counts(at, value);
                    self.tested[value as usize] -= tested;
                    self.needed[value as usize] -= needed;
                }
                for &value in self.model.sets(act) {
                    let now = &mut self.registers[self.model.register(value)];
                    self.old.push(std::mem::replace(now, value));
                }
            }
            Act::Post { semaphore } => self.counts[semaphore as usize] += 1,
            Act::Draw { semaphore } => self.counts[semaphore as usize] -= 1,
            Act::Signal { condition } => {
                self.marks.push(self.old_waits.len());
                for (number, wait) in (0..).zip(&mut self.waits) {
                    let reached = self.model.waits[number as usize].condition == condition;
                    if reached && *wait == Waiting::Begun {
                        self.old_waits.push((number, std::mem::replace(wait, Waiting::Reached)));
                    }
                }
            }
            Act::Await { wait } => self.set_wait(wait, Waiting::Begun),
            Act::Wake { wait } => self.set_wait(wait, Waiting::Not),
        }
    }

    fn set_wait(&mut self, wait: u32, to: Waiting) {
        self.marks.push(self.old_waits.len());
        self.old_waits.push((wait, std::mem::replace(&mut self.waits[wait as usize], to)));
    }

    /// Takes moves back, to where there were so many.
    pub(super) fn back(&mut self, to: usize) {
        while self.trail.len() > to {
            let Some(at) = self.trail.pop() else { return };
            let (thread, _) = at;
            let act = self.model.op(at).act;
            self.done[thread as usize] -= 1;
            if self.tainted[thread as usize] == at.1 {
                self.tainted[thread as usize] = CLEAN;
            }
            match act {
                Act::Step => {}
                Act::Take { lock, mode: LockMode::Write } => self.writers[lock as usize] = 0,
                Act::Take { lock, mode: LockMode::Read } => self.readers[lock as usize] -= 1,
                Act::Give { lock, mode: LockMode::Write } => self.writers[lock as usize] = thread + 1,
                Act::Give { lock, mode: LockMode::Read } => self.readers[lock as usize] += 1,
                Act::Touch(_) => {
                    for &value in self.model.tests(act) {
                        let [tested, needed] = self.counts(at, value);
                        self.tested[value as usize] += tested;
                        self.needed[value as usize] += needed;
                    }
                    for &value in self.model.sets(act).iter().rev() {
                        if let Some(old) = self.old.pop() {
                            self.registers[self.model.register(value)] = old;
                        }
                    }
                }
                Act::Post { semaphore } => self.counts[semaphore as usize] -= 1,
                Act::Draw { semaphore } => self.counts[semaphore as usize] += 1,
                Act::Signal { .. } | Act::Await { .. } | Act::Wake { .. } => {
                    let mark = self.marks.pop().unwrap_or(0);
                    for (wait, old) in self.old_waits.drain(mark..).rev() {
                        self.waits[wait as usize] = old;
                    }
                }
            }
        }
    }
}
