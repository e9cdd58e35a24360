//! Which pairs of accesses are asked about.
//!
//! Paper: section 3: a check for each variable and two threads, behind a filter that loses nothing: what one thing of the other
//! always comes before, happens-before without the edges of locks. Accesses that one thread makes in the same way without an operation of the
//! model in between have one answer.

use std::ops::Range;
use std::rc::Rc;

use deadheat_core::access::Mode;
use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::rule::conflicts;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Form;
use super::build;
use super::model::{At, Model, Target};
use super::past::Pasts;
use super::registers::uses;
use super::search::{Answer, Bounds, search};
use crate::run::told::Found;
use crate::run::{Cell, Number, Run, Use, locks};

/// Accesses of a cell by one thread, of one sort, at one place of the model.
struct Group {
    target: Target,
    mode: Mode,
    atomic: bool,
    life: u32,
    events: Vec<Number>,
}

/// What the search of a run came to.
#[derive(Debug, Default)]
pub(super) struct Result {
    pub(super) found: Vec<Found>,
    /// How many refinements were checked: one for each life of a stretch of memory and two threads of which a pair of accesses was
    /// asked about, in each window.
    pub(super) checks: u64,
    /// By pair that was asked about, each once: how many states its search visited.
    pub(super) states: Vec<usize>,
    /// For how many of them the memory did not do.
    pub(super) undecided: u64,
    /// Whether the steps were over before all pairs were asked about.
    pub(super) stopped: bool,
}

/// What is to be searched for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) all_pairs: bool,
    pub(super) form: Form,
    /// What the searches may take.
    pub(super) bounds: Bounds,
    /// How many events a window has.
    pub(super) window: Number,
}

/// All races: for each access that races with an earlier one of its window, one with each other thread, or each pair of places.
pub(super) fn find(run: &Run, mut manner: Manner) -> Result {
    let mut result = Result::default();
    let mut told = FxHashSet::default();
    let mut places = FxHashSet::default();
    let length = run.len() as Number;
    let mut from: Number = 0;
    loop {
        if manner.bounds.steps == 0 {
            result.stopped = true;
            return result;
        }
        let window = from..length.min(from.saturating_add(manner.window));
        let last = window.end == length;
        manner.bounds.take(window.clone().count() + run.cells.len());
        let model = build::model(run, window.clone(), manner.form);
        let pasts = model.control.then(|| Pasts::new(&model));
        let (verdicts, asked) = (FxHashMap::default(), FxHashSet::default());
        let mut search = Search { run, manner, model, window, pasts, verdicts, asked, told, places, result };
        for cell in &run.cells {
            if search.result.stopped {
                break;
            }
            search.cell(cell);
        }
        Search { manner, told, places, result, .. } = search;
        if last || result.stopped {
            return result;
        }
        from += (manner.window / 2).max(1);
    }
}

type Order = Rc<Vec<At>>;

/// A stretch of memory, by its first address, and the event with which its life begins.
type Variable = (u64, u32);

struct Search<'a> {
    run: &'a Run,
    manner: Manner,
    model: Model,
    window: Range<Number>,
    pasts: Option<Pasts>,
    verdicts: FxHashMap<[Target; 2], Option<Order>>,
    /// The refinements that were checked of a stretch of memory: life and threads.
    asked: FxHashSet<(u32, [u32; 2])>,
    /// The pairs that were found.
    told: FxHashSet<[Number; 2]>,
    /// The pairs of places that were, where all of them are asked for.
    places: FxHashSet<[(PlaceId, StackId, Mode); 2]>,
    result: Result,
}

impl Search<'_> {
    fn cell(&mut self, cell: &Cell) {
        let accesses: Vec<Use> = uses(cell, &self.window).iter().filter(|at| !at.birth).copied().collect();
        let Some(first) = accesses.first() else { return };
        let (thread, _) = self.run.place(first.event);
        if !accesses.iter().any(|at| at.mode.writes())
            || accesses.iter().all(|at| self.run.place(at.event).0 == thread)
        {
            return;
        }
        self.asked.clear();
        let mut groups: Vec<Vec<Group>> = (0..self.run.threads()).map(|_| Vec::new()).collect();
        for now in &accesses {
            let (thread, _) = self.run.place(now.event);
            let target = self.model.target(thread, now.event);
            join(&mut groups[thread], target, now);
            for (other, groups) in groups.iter().enumerate() {
                if other != thread {
                    self.against(cell.address, groups, (target, now));
                }
            }
        }
    }

    /// Looks for a race of an access with the latest fitting one of another thread.
    fn against(&mut self, address: u64, groups: &[Group], (target, now): (Target, &Use)) {
        for group in groups.iter().rev() {
            self.manner.bounds.take(1);
            let before = |pasts: &Pasts| pasts.is_before(&self.model, group.target, target);
            if self.pasts.as_ref().is_some_and(before) {
                // So does who comes behind it in every order that the accesses are reached in.
                return;
            }
            let behind = group.events.partition_point(|&event| self.run.before_any(event, now.event));
            let Some(&candidate) = group.events.get(behind) else {
                // Who comes behind one access in every order comes behind all before it.
                return;
            };
            if group.life != now.life || !conflicts(group.mode, group.atomic, now.mode, now.atomic) {
                continue;
            }
            let variable = (address, now.life);
            if self.manner.all_pairs {
                for &earlier in &group.events[behind..] {
                    self.new_places(variable, [group.target, target], [earlier, now.event]);
                }
                continue;
            }
            let pair = [candidate, now.event];
            if self.told.contains(&pair) || self.races(variable, [group.target, target], pair) {
                return;
            }
        }
    }

    /// Looks whether a pair races, unless one of its places does.
    fn new_places(&mut self, variable: Variable, targets: [Target; 2], pair: [Number; 2]) {
        let mut places = pair.map(|number| {
            let event = self.run.event(number);
            (event.place, event.stack, self.run.access(number).map_or(Mode::Write, |access| access.mode))
        });
        places.sort_unstable_by_key(|&(place, stack, mode)| (place, stack, mode as u8));
        if !self.places.contains(&places) && self.races(variable, targets, pair) {
            self.places.insert(places);
        }
    }

    fn races(&mut self, (address, life): Variable, targets: [Target; 2], pair: [Number; 2]) -> bool {
        let known = self.verdicts.get(&targets).cloned();
        if known.is_none() && self.manner.bounds.steps == 0 {
            self.result.stopped = true;
        }
        if self.result.stopped {
            return false;
        }
        let mut threads = targets.map(|target| target.thread);
        threads.sort_unstable();
        self.result.checks += u64::from(self.asked.insert((life, threads)));
        let verdict = known.unwrap_or_else(|| {
            let before = self.manner.bounds.states;
            let answer = search(&self.model, targets, &mut self.manner.bounds);
            self.result.states.push(self.manner.bounds.states - before);
            let verdict = match answer {
                Answer::Race(order) => Some(Rc::new(order)),
                Answer::None => None,
                Answer::OutOfMemory => {
                    self.result.undecided += 1;
                    None
                }
                Answer::OutOfSteps => {
                    self.result.stopped = true;
                    None
                }
            };
            self.verdicts.insert(targets, verdict.clone());
            verdict
        });
        let Some(order) = verdict else { return false };
        let found = self.found(address, pair, &order);
        if !self.run.sections.well_formed && !locks::exclude(self.run, self.events(&found).into_iter()) {
            return false;
        }
        self.told.insert(pair);
        self.result.found.push(found);
        true
    }

    /// All events that come before a race, in their order.
    fn events(&self, found: &Found) -> Vec<Number> {
        let Self { run, .. } = self;
        let Some(order) = &found.order else {
            return (0..run.len() as Number).filter(|&event| run.has(&found.cut, event)).collect();
        };
        let mut done = vec![0; run.threads()];
        let mut events = Vec::new();
        // What the two threads do behind the last operation that is ordered is told in this order.
        let last = [found.earlier, found.later].map(|event| {
            let (thread, _) = run.place(event);
            (thread, found.cut[thread] as usize)
        });
        for (thread, to) in order
            .iter()
            .map(|&event| run.place(event))
            .map(|(thread, at)| (thread, at as usize + 1))
            .chain(last)
        {
            let from = done[thread];
            done[thread] = from.max(to);
            events.extend_from_slice(run.row(thread).get(from..to).unwrap_or(&[]));
        }
        events
    }

    /// What is told of a pair behind some operations.
    fn found(&self, address: u64, pair: [Number; 2], order: &[At]) -> Found {
        let Self { run, model, window, .. } = self;
        let mut cut: Vec<u32> = (0..run.threads())
            .map(|thread| run.row(thread).partition_point(|&at| at < window.start) as u32)
            .collect();
        let events: Vec<Number> = order.iter().map(|&at| model.op(at).event).collect();
        for &event in &events {
            let (thread, at) = run.place(event);
            cut[thread] = at + 1;
        }
        for event in pair {
            let (thread, at) = run.place(event);
            cut[thread] = at;
        }
        let order = (!events.is_sorted()).then(|| (0..window.start).chain(events).collect());
        let [earlier, later] = pair;
        Found { earlier, later, address, cut, order }
    }
}

/// Puts an access into its group.
fn join(groups: &mut Vec<Group>, target: Target, now: &Use) {
    let Use { event, mode, atomic, life, .. } = *now;
    let recent = groups.iter_mut().rev().take_while(|group| group.target == target);
    let same = |group: &&mut Group| (group.mode, group.atomic, group.life) == (mode, atomic, life);
    if let Some(group) = recent.into_iter().find(same) {
        group.events.push(event);
        return;
    }
    groups.push(Group { target, mode, atomic, life, events: vec![event] });
}
