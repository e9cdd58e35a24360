//! From a part of a run to its model.

use std::collections::BTreeMap;
use std::ops::Range;

use deadheat_core::event::{BlockKind, LockMode, Op as Event, SyncKind};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Form;
use super::model::{
    Act, At, Held, Lock, Model, Op, Register, Section, Semaphore, Target, Value, Wait, Waiting,
};
use super::registers::{Needed, needed};
use crate::clock::blocks::owned;
use crate::run::{Number, Run};

/// The model of the events of a window of a run, which was made for this form; those before it have happened in their order.
pub(super) fn model(run: &Run, window: Range<Number>, form: Form) -> Model {
    let registers = needed(run, &window, form);
    let control = form == Form::Control;
    let mut builder =
        Builder { run, window, control, wanted: FxHashSet::default(), acts: FxHashMap::default() };
    builder.find_wanted();
    let locks = builder.locks();
    let semaphores = builder.semaphores();
    let (waits, conditions) = builder.waits();
    for register in &registers {
        builder.acts.extend(register.touches.iter().map(|touch| (touch.event, Act::Step)));
    }
    let mut model = Model {
        rows: Vec::new(),
        needs: Vec::new(),
        touches: Vec::new(),
        values: Vec::new(),
        registers: Vec::new(),
        locks: Vec::new(),
        semaphores: Vec::new(),
        waits: Vec::new(),
        conditions,
        control,
        tells: Vec::new(),
    };
    builder.rows(&mut model);
    builder.link(&mut model);
    set_registers(run, &mut model, &registers);
    model.tells = if control { tells(&model) } else { Vec::new() };
    model.locks = locks.into_iter().map(|lock| lock.sections(run, &model)).collect();
    model.semaphores = semaphores.into_iter().map(|semaphore| semaphore.draws(&model)).collect();
    let place = |event: Option<Number>| event.and_then(|event| at(run, &model, event));
    model.waits = waits
        .into_iter()
        .map(|wait| Wait {
            condition: wait.condition,
            first: wait.first,
            begin: place(wait.begin),
            end: place(wait.end),
        })
        .collect();
    model
}

/// Where the operation of an event is.
fn at(run: &Run, model: &Model, event: Number) -> Option<At> {
    let Target { thread, at, own } = model.target(run.place(event).0, event);
    own.then_some((thread, at))
}

struct Builder<'a> {
    run: &'a Run,
    window: Range<Number>,
    control: bool,
    /// Events that others wait for.
    wanted: FxHashSet<Number>,
    /// What events do that do something, registers left out.
    acts: FxHashMap<Number, Act>,
}

/// A lock of which more than one thread wants something: its sections with their threads and events.
struct Locked {
    address: u64,
    sections: Vec<(usize, LockMode, Option<Number>, Option<Number>)>,
}

/// A semaphore's count: the least that it was, at the start of the window, now; and who draws and posts in the window.
#[derive(Default)]
struct Count {
    least: i64,
    first: i64,
    now: i64,
    draws: Vec<Number>,
    posts: Vec<Number>,
}

struct Counted {
    address: u64,
    first: i64,
    number: u32,
}

struct Waited {
    condition: u32,
    first: Waiting,
    begin: Option<Number>,
    end: Option<Number>,
}

impl Builder<'_> {
    /// The events of another thread that one waits for, but those that its thread's events waited for already.
    fn news<'a>(&'a self, event: Number, of: &'a [Number]) -> impl Iterator<Item = Number> + 'a {
        let (thread, place) = self.run.place(event);
        let last = place.checked_sub(1).map(|last| self.run.row(thread)[last as usize]);
        let known = move |source: Number| last.is_some_and(|last| self.run.before(source, last));
        of.iter().copied().filter(move |&source| source >= self.window.start && !known(source))
    }

    fn find_wanted(&mut self) {
        let mut wanted = FxHashSet::default();
        for event in self.window.clone() {
            wanted.extend(self.news(event, self.run.sources(event)));
        }
        self.wanted = wanted;
    }

    /// The locks that can be in somebody's way.
    fn locks(&mut self) -> Vec<Locked> {
        let mut locks: Vec<Locked> = Vec::new();
        let mut numbers: FxHashMap<u64, usize> = FxHashMap::default();
        for thread in 0..self.run.threads() {
            // By lock: how often it is held.
            let mut held: FxHashMap<u64, u32> = FxHashMap::default();
            for &event in self.run.row(thread).iter().take_while(|&&event| event < self.window.end) {
                let here = self.window.contains(&event).then_some(event);
                if let Event::Acquire { lock, mode } = self.run.event(event).op {
                    let number = *numbers.entry(lock).or_insert_with(|| {
                        locks.push(Locked { address: lock, sections: Vec::new() });
                        locks.len() - 1
                    });
                    let depth = held.entry(lock).or_insert(0);
                    *depth += 1;
                    if *depth == 1 {
                        locks[number].sections.push((thread, mode, here, None));
                    }
                } else if let Event::Release { lock, .. } = self.run.event(event).op
                    && let Some(depth) = held.get_mut(&lock).filter(|depth| **depth > 0)
                {
                    *depth -= 1;
                    if *depth == 0 {
                        locks[numbers[&lock]].end(here);
                    }
                }
            }
        }
        locks.retain(Locked::matters);
        for (number, lock) in (0..).zip(&locks) {
            for &(_, mode, take, give) in &lock.sections {
                self.acts.extend(take.map(|event| (event, Act::Take { lock: number, mode })));
                self.acts.extend(give.map(|event| (event, Act::Give { lock: number, mode })));
            }
        }
        locks
    }

    /// The semaphores at which somebody may have to wait.
    fn semaphores(&mut self) -> Vec<Counted> {
        let (mut counts, mut gone): (BTreeMap<u64, Count>, Vec<(u64, Count)>) = (BTreeMap::new(), Vec::new());
        for event in 0..self.run.len() as Number {
            let op = self.run.event(event).op;
            if let Event::Signal { object, kind: SyncKind::Semaphore } = op {
                counts.entry(object).or_default().change(1, event, &self.window);
            } else if let Event::Wait { object, kind: SyncKind::Semaphore, woken: true } = op {
                counts.entry(object).or_default().change(-1, event, &self.window);
            } else if let Event::Forget { object } = op {
                // What is made there anew is another semaphore.
                gone.extend(counts.remove_entry(&object));
            } else if let Event::Alloc { address, size, kind } = op
                && kind != BlockKind::Benign
            {
                let end = address.saturating_add(owned(address, size, kind));
                let addresses: Vec<u64> = counts.range(address..end).map(|(&address, _)| address).collect();
                gone.extend(addresses.iter().filter_map(|address| counts.remove_entry(address)));
            }
        }
        let mut semaphores = Vec::new();
        for (address, Count { least, first, draws, posts, .. }) in counts.into_iter().chain(gone) {
            let first = first - least;
            if first >= draws.len() as i64 {
                continue;
            }
            let number = semaphores.len() as u32;
            self.acts.extend(posts.into_iter().map(|event| (event, Act::Post { semaphore: number })));
            self.acts.extend(draws.into_iter().map(|event| (event, Act::Draw { semaphore: number })));
            semaphores.push(Counted { address, first, number });
        }
        semaphores
    }

    /// The waits that need a signal, and the condition variables.
    fn waits(&mut self) -> (Vec<Waited>, Vec<u64>) {
        let mut waits: Vec<Waited> = Vec::new();
        let mut conditions: Vec<u64> = Vec::new();
        let Self { run, ref window, .. } = *self;
        let window = window.clone();
        for thread in 0..run.threads() {
            let mut began: FxHashMap<u64, Number> = FxHashMap::default();
            for &event in run.row(thread).iter().take_while(|&&event| event < window.end) {
                if let Event::Await { object, .. } = run.event(event).op {
                    began.insert(object, event);
                } else if let Event::Wait { object, kind, .. } = run.event(event).op
                    && let Some(begin) = began.remove(&object)
                    && is_condition(kind)
                    && window.contains(&event)
                {
                    waits.extend(self.wait((begin, event), waits.len() as u32, object, &mut conditions));
                }
            }
        }
        for event in window {
            if let Event::Signal { object, kind } = run.event(event).op
                && is_condition(kind)
                && let Some(condition) = conditions.iter().position(|&other| other == object)
            {
                self.acts.insert(event, Act::Signal { condition: condition as u32 });
            }
        }
        (waits, conditions)
    }

    /// A wait that ends in the window, if it needs a signal.
    fn wait(
        &mut self,
        (begin, end): (Number, Number),
        wait: u32,
        object: u64,
        conditions: &mut Vec<u64>,
    ) -> Option<Waited> {
        let &first = self.run.signals(end).first()?;
        let number = conditions.iter().position(|&other| other == object);
        let condition = number.unwrap_or_else(|| {
            conditions.push(object);
            conditions.len() - 1
        });
        let before = begin < self.window.start;
        let first = match before {
            true if first < self.window.start => Waiting::Reached,
            true => Waiting::Begun,
            false => Waiting::Not,
        };
        self.acts.insert(end, Act::Wake { wait });
        if !before {
            self.acts.insert(begin, Act::Await { wait });
        }
        Some(Waited { condition: condition as u32, first, begin: (!before).then_some(begin), end: Some(end) })
    }

    /// Puts down the operations of each thread.
    fn rows(&self, model: &mut Model) {
        for thread in 0..self.run.threads() {
            let mut row = Vec::new();
            for &event in self.run.row(thread).iter().filter(|event| self.window.contains(event)) {
                let act = self.acts.get(&event).copied();
                let waits = || self.news(event, self.run.sources(event)).next().is_some();
                let decides = self.control && self.decides(event);
                // A branch behind one has nothing new to go by.
                let news = decides && !row.last().is_some_and(|last: &Op| last.decides);
                if act.is_some() || self.wanted.contains(&event) || waits() || news || self.hands_over(event)
                {
                    let act = act.unwrap_or(Act::Step);
                    row.push(Op { event, act, needs: [0; 3], saw: [0; 2], follows: [0; 2], decides });
                }
            }
            model.rows.push(row);
        }
    }

    /// Says what each waits for.
    fn link(&self, model: &mut Model) {
        for thread in 0..model.threads() {
            for index in 0..model.rows[thread].len() {
                let event = model.rows[thread][index].event;
                let needs = self.run.needs(event);
                let reads = &self.run.sources(event)[needs.len()..];
                let mut ends = [model.needs.len() as u32; 4];
                for (list, end) in [needs, reads, self.run.signals(event)].into_iter().zip(1..) {
                    let places: Vec<At> =
                        self.news(event, list).filter_map(|source| at(self.run, model, source)).collect();
                    model.needs.extend(places);
                    ends[end] = model.needs.len() as u32;
                }
                let follows = self.follows(model, event);
                model.needs.extend(follows);
                let op = &mut model.rows[thread][index];
                (op.needs, op.saw) = ([ends[0], ends[1], ends[2]], [ends[2], ends[3]]);
                op.follows = [ends[3], model.needs.len() as u32];
            }
        }
    }

    /// Whether the thread of an event does what it does next by what it has read.
    fn decides(&self, event: Number) -> bool {
        let reads =
            self.run.access(event).is_some_and(|access| access.atomic.is_some() && access.mode.reads());
        reads || self.run.event(event).op == Event::Branch
    }

    /// Whether one thread takes taint over from another there.
    fn hands_over(&self, event: Number) -> bool {
        let passes = matches!(self.run.event(event).op, Event::Fork { .. } | Event::Join { .. });
        self.control && (passes || self.fork(event).is_some())
    }

    /// The creation of the thread of which an event is the first.
    fn fork(&self, event: Number) -> Option<Number> {
        let thread = self.run.event(event).thread;
        let creates = |need: &Number| self.run.event(*need).op == Event::Fork { child: thread };
        self.run.needs(event).iter().copied().find(creates).filter(|fork| self.window.contains(fork))
    }

    /// The operations that one follows in other threads.
    fn follows(&self, model: &Model, event: Number) -> Vec<At> {
        if !self.control {
            return Vec::new();
        }
        let fork = self.fork(event).and_then(|fork| at(self.run, model, fork));
        let last = || {
            let Event::Join { child } = self.run.event(event).op else { return None };
            let child = (0..self.run.threads()).find(|&row| self.run.id(row) == child)?;
            let ops = model.rows[child].partition_point(|op| op.event < event);
            (child != self.run.place(event).0).then_some((child as u32, ops.checked_sub(1)? as u32))
        };
        fork.into_iter().chain(last()).collect()
    }
}

/// By thread: the operations at which it matters whether it is tainted.
fn tells(model: &Model) -> Vec<Vec<u32>> {
    let followed: FxHashSet<At> = (0u32..)
        .zip(&model.rows)
        .flat_map(|(thread, row)| (0..row.len() as u32).map(move |at| (thread, at)))
        .flat_map(|at| model.follows(at).iter().copied())
        .collect();
    let tells = |thread: u32, row: &Vec<Op>| -> Vec<u32> {
        let told = |at: &u32| {
            let op = &row[*at as usize];
            op.decides || !model.sets(op.act).is_empty() || followed.contains(&(thread, *at))
        };
        (0..row.len() as u32).filter(told).collect()
    };
    (0..).zip(&model.rows).map(|(thread, row)| tells(thread, row)).collect()
}

const fn is_condition(kind: SyncKind) -> bool {
    matches!(kind, SyncKind::Condition | SyncKind::ConditionAll)
}

impl Count {
    fn change(&mut self, change: i64, event: Number, window: &Range<Number>) {
        self.now += change;
        self.least = self.least.min(self.now);
        if event < window.start {
            self.first = self.now;
        } else if event < window.end {
            if change < 0 { &mut self.draws } else { &mut self.posts }.push(event);
        }
    }
}

impl Locked {
    /// Whether two threads' sections exclude each other.
    fn matters(&self) -> bool {
        let first = self.sections.first().map(|&(thread, ..)| thread);
        self.sections.iter().any(|&(thread, ..)| Some(thread) != first)
            && self.sections.iter().any(|&(_, mode, ..)| mode == LockMode::Write)
    }

    /// The section that began last is over: here, or before the window.
    fn end(&mut self, here: Option<Number>) {
        if here.is_none() {
            self.sections.pop();
        } else if let Some((.., give)) = self.sections.last_mut() {
            *give = here;
        }
    }

    fn sections(self, run: &Run, model: &Model) -> Lock {
        let mut sections = vec![Vec::new(); run.threads()];
        for (thread, mode, take, give) in self.sections {
            let place = |event: Option<Number>| event.and_then(|event| at(run, model, event));
            let [take, give] = [take, give].map(|event| place(event).map(|(_, at)| at));
            sections[thread].push(Section { mode, take, give });
        }
        Lock { address: self.address, sections }
    }
}

impl Counted {
    fn draws(self, model: &Model) -> Semaphore {
        let draws = |row: &Vec<Op>| -> Vec<u32> {
            let draw = Act::Draw { semaphore: self.number };
            (0..).zip(row).filter(|(_, op)| op.act == draw).map(|(at, _)| at).collect()
        };
        Semaphore { address: self.address, first: self.first, draws: model.rows.iter().map(draws).collect() }
    }
}

/// Adds what operations test and set.
fn set_registers(run: &Run, model: &mut Model, needed: &[Needed]) {
    // By operation: the blocks and the values that it tests, and what it sets.
    let mut touches: FxHashMap<At, [Vec<Value>; 3]> = FxHashMap::default();
    for (number, register) in (0..).zip(needed) {
        let mut value = |setter, written| {
            model.values.push(Held { register: number, setter, written });
            model.values.len() as Value - 1
        };
        let first = value(None, false);
        let mut now = first;
        let mut sets = vec![Vec::new(); run.threads()];
        let mut tests = vec![Vec::new(); run.threads()];
        for touch in &register.touches {
            let thread = run.place(touch.event).0;
            let at = model.rows[thread].partition_point(|op| op.event < touch.event) as u32;
            let place = (thread as u32, at);
            let lists = touches.entry(place).or_default();
            if touch.tests {
                lists[usize::from(!register.block)].push(now);
                tests[thread].push((at, now));
            }
            if touch.sets {
                now = value(Some(place), !touch.begins);
                lists[2].push(now);
                sets[thread].push((at, now));
            }
        }
        let Needed { address, block, .. } = *register;
        model.registers.push(Register { first, address, block, sets, tests });
    }
    for (thread, row) in (0..).zip(&mut model.rows) {
        for (at, op) in (0..).zip(row) {
            let Some(lists) = touches.remove(&(thread, at)) else { continue };
            let mut ends = [model.touches.len() as u32; 4];
            for (list, end) in lists.into_iter().zip(1..) {
                model.touches.extend(list);
                ends[end] = model.touches.len() as u32;
            }
            op.act = Act::Touch(ends);
        }
    }
}
