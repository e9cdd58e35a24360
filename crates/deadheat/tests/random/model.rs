//! What is to be told of a program: every access is kept, and each step is judged against all before it, byte by byte.

use std::collections::{BTreeSet, HashMap};

use crate::program::{How, Part, Program, What};

/// By thread, how many of its accesses are known.
type Clock = Vec<usize>;

/// What a byte of an atomic shows, and the operation that published all of it, with its thread, if it is one's alone.
type Shown = (Clock, Option<(usize, Part)>);

/// What makes threads know of each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Object {
    Mutex(usize),
    Writers(usize),
    Readers(usize),
    Begin(usize),
    End(usize),
}

/// An access to a byte.
#[derive(Clone, Copy)]
struct Made {
    step: usize,
    thread: usize,
    /// How many accesses its thread had made with it, and how often it had published what it knows.
    count: usize,
    moment: usize,
    writes: bool,
    atomic: bool,
    /// It is the birth of the byte's block.
    birth: bool,
}

/// What the steps of a program are to be told to race.
pub(crate) struct Expected {
    /// These must be: at one of their bytes a race is new to the moment of the step's thread.
    pub(crate) must: BTreeSet<usize>,
    /// Only these may be.
    pub(crate) may: BTreeSet<usize>,
    /// The pairs of steps that race in the program's own memory. (Where a block of the heap is accessed while it is born, it depends on the recording's order
    /// whether it is that block or the one before it there.)
    pub(crate) pairs: BTreeSet<(usize, usize)>,
}

struct Model {
    clocks: Vec<Clock>,
    counts: Vec<usize>,
    moments: Vec<usize>,
    objects: HashMap<Object, Clock>,
    /// By byte of an atomic, what it shows, and by which operation of which thread alone.
    shown: HashMap<(usize, usize), Shown>,
    /// By thread, what its relaxed operations have read, and what it knew at its last release fence.
    loaded: Vec<Clock>,
    released: Vec<Option<Clock>>,
    /// By block, in which step it was born, and its byte.
    bytes: HashMap<(Option<usize>, usize), Vec<Made>>,
}

/// What is to be told of a program.
pub(crate) fn expected(program: &Program) -> Expected {
    let none = || vec![0; program.threads];
    let mut model = Model {
        clocks: vec![none(); program.threads],
        counts: none(),
        moments: none(),
        objects: HashMap::new(),
        shown: HashMap::new(),
        loaded: vec![none(); program.threads],
        released: vec![None; program.threads],
        bytes: HashMap::new(),
    };
    let mut births: HashMap<usize, usize> = HashMap::new();
    let mut expected = Expected { must: BTreeSet::new(), may: BTreeSet::new(), pairs: BTreeSet::new() };
    for (at, step) in program.steps.iter().enumerate() {
        let thread = step.thread;
        let (block, from, size, kind) = match step.what {
            What::Allocate(block, size) => {
                births.insert(block, at);
                model.bear(thread, at, size);
                continue;
            }
            What::Free(block, size) => (Some(block), 0, size, (true, false)),
            What::Access(access) => {
                (access.block, access.offset, access.size, (access.writes, access.how == How::Atomic))
            }
            what => {
                model.order(thread, what);
                continue;
            }
        };
        model.counts[thread] += 1;
        for byte in from..from + size {
            let byte = (block.map(|block| births[&block]), byte);
            let (races, is_new) = model.access((at, thread), byte, kind);
            if !races.is_empty() {
                expected.may.insert(at);
            }
            if block.is_none() {
                expected.pairs.extend(races.into_iter().map(|before| (before, at)));
            }
            if is_new {
                expected.must.insert(at);
            }
        }
    }
    expected
}

/// Adds what is shown to what is known.
fn join(known: &mut Clock, shown: &Clock) {
    known.iter_mut().zip(shown).for_each(|(known, &shown)| *known = (*known).max(shown));
}

/// The bytes of a part, each with its atomic.
fn bytes(part: Part) -> impl Iterator<Item = (usize, usize)> {
    (part.offset..part.offset + part.size).map(move |byte| (part.atomic, byte))
}

impl Model {
    fn learn(&mut self, thread: usize, object: Object) {
        if let Some(shown) = self.objects.get(&object) {
            join(&mut self.clocks[thread], shown);
        }
    }

    /// What is shown of a part's bytes.
    fn shown_of(&self, part: Part) -> Clock {
        let mut all = vec![0; self.clocks.len()];
        bytes(part).filter_map(|byte| self.shown.get(&byte)).for_each(|(shown, _)| join(&mut all, shown));
        all
    }

    /// Whether all of it was published by operations of one thread on just that part, which lies within 8 bytes.
    fn is_only_of(&self, thread: usize, part: Part) -> bool {
        let by = |byte| self.shown.get(&byte).and_then(|shown| shown.1);
        part.size <= 8 && bytes(part).all(|byte| by(byte) == Some((thread, part)))
    }

    /// What the thread knows, its own accesses as well.
    fn known(&self, thread: usize) -> Clock {
        let mut clock = self.clocks[thread].clone();
        clock[thread] = self.counts[thread];
        clock
    }

    /// A relaxed operation reads what a part shows.
    fn look(&mut self, thread: usize, part: Part) -> Clock {
        let shown = self.shown_of(part);
        join(&mut self.loaded[thread], &shown);
        shown
    }

    /// A relaxed operation leaves a part's bytes with what they showed, of which some operation published all alone or none did, and what was known at the thread's last release fence.
    fn leave(&mut self, thread: usize, part: Part, mut shown: Clock, by: Option<(usize, Part)>) {
        let mut by = by;
        if let Some(released) = &self.released[thread] {
            join(&mut shown, released);
            by = by.filter(|by| by.0 == thread);
        }
        self.shown.extend(bytes(part).map(|byte| (byte, (shown.clone(), by))));
    }

    /// A part's bytes show what the thread knows, and nothing else.
    fn show(&mut self, thread: usize, part: Part) {
        let clock = self.known(thread);
        self.shown.extend(bytes(part).map(|byte| (byte, (clock.clone(), Some((thread, part))))));
        self.moments[thread] += 1;
    }

    /// The object shows what the thread knows from now on, beside what it showed before if it `keeps` that.
    fn publish(&mut self, thread: usize, object: Object, keeps: bool) {
        let mut clock = self.known(thread);
        if keeps && let Some(shown) = self.objects.get(&object) {
            join(&mut clock, shown);
        }
        self.objects.insert(object, clock);
        self.moments[thread] += 1;
    }

    fn order(&mut self, thread: usize, what: What) {
        match what {
            What::Lock(at) => self.learn(thread, Object::Mutex(at)),
            What::Unlock(at) => self.publish(thread, Object::Mutex(at), true),
            What::ReadLock(at) => self.learn(thread, Object::Writers(at)),
            What::WriteLock(at) => {
                self.learn(thread, Object::Writers(at));
                self.learn(thread, Object::Readers(at));
            }
            What::RwUnlock(at, true) => self.publish(thread, Object::Writers(at), true),
            What::RwUnlock(at, false) => self.publish(thread, Object::Readers(at), true),
            What::Acquire(part) => {
                let shown = self.shown_of(part);
                join(&mut self.clocks[thread], &shown);
            }
            What::Release(part) => self.show(thread, part),
            What::Exchange(part) => {
                let shown = self.shown_of(part);
                join(&mut self.clocks[thread], &shown);
                self.show(thread, part);
            }
            // A store ends what others released there.
            What::Store(part) => match self.is_only_of(thread, part) {
                true => self.leave(thread, part, self.shown_of(part), Some((thread, part))),
                false => self.leave(thread, part, vec![0; self.clocks.len()], None),
            },
            // What reads as well passes all on that it read.
            What::Pass(part) => {
                let shown = self.look(thread, part);
                let first = bytes(part).next().and_then(|byte| self.shown.get(&byte)?.1);
                let by = first.filter(|&(thread, of)| of == part && self.is_only_of(thread, part));
                self.leave(thread, part, shown, by);
            }
            What::Look(part) => _ = self.look(thread, part),
            What::AcquireFence => join(&mut self.clocks[thread], &self.loaded[thread]),
            What::ReleaseFence => {
                self.released[thread] = Some(self.known(thread));
                self.moments[thread] += 1;
            }
            What::Create(child) => {
                self.publish(thread, Object::Begin(child), false);
                self.learn(child, Object::Begin(child));
            }
            What::End => self.publish(thread, Object::End(thread), false),
            What::Join(child) => self.learn(thread, Object::End(child)),
            What::Allocate(..) | What::Free(..) | What::Access(_) => unreachable!("it orders nothing"),
        }
    }

    fn bear(&mut self, thread: usize, at: usize, size: usize) {
        self.counts[thread] += 1;
        let (count, moment) = (self.counts[thread], self.moments[thread]);
        let birth = Made { step: at, thread, count, moment, writes: true, atomic: false, birth: true };
        self.bytes.extend((0..size).map(|byte| ((Some(at), byte), vec![birth])));
    }

    /// The access that a thread makes to a byte in a step, whose count is the thread's present one: the steps that it races with, and whether that is to be told: not only with a
    /// block's birth, and nothing that its moment did before stands for it.
    fn access(
        &mut self,
        (step, thread): (usize, usize),
        byte: (Option<usize>, usize),
        (writes, atomic): (bool, bool),
    ) -> (Vec<usize>, bool) {
        let known = &self.clocks[thread];
        let before = self.bytes.entry(byte).or_default();
        let races = |made: &&Made| {
            made.thread != thread
                && (made.writes || writes)
                && !(made.atomic && atomic)
                && made.count > known[made.thread]
        };
        let stands_for = |made: &Made| {
            made.thread == thread
                && !made.birth
                && made.moment == self.moments[thread]
                && (made.writes || !writes)
                && (!made.atomic || atomic)
        };
        let all = before.iter().filter(races).map(|made| made.step).collect();
        let is_new = before.iter().filter(races).any(|made| !made.birth) && !before.iter().any(stands_for);
        let (count, moment) = (self.counts[thread], self.moments[thread]);
        before.push(Made { step, thread, count, moment, writes, atomic, birth: false });
        (all, is_new)
    }
}
