//! An order of the events of a cut in which each lock's open section is the last.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use deadheat_core::event::{LockMode, Op, SyncKind};
use rustc_hash::FxHashMap;

use super::{closure, play};
use crate::run::{Number, Run};

/// How the events of a cut can come.
pub(super) enum Order {
    /// In the run's order.
    AsItWas,
    /// In this one.
    Turned(Vec<Number>),
}

/// An order of the events of a cut in which open sections come last among those of their locks; `None` if none is found.
/// What else there is stays as it was, if it can.
pub(super) fn order(run: &Run, cut: &[u32]) -> Option<Order> {
    let open = closure::open(run, cut);
    let turned = open.iter().filter(|&&section| !behind(run, cut, section).is_empty());
    let Some(from) = turned.map(|&section| run.sections.all[section as usize].taken).min() else {
        return Some(Order::AsItWas);
    };
    // What lies before the window stays where it is.
    if run.is_base(from) {
        return None;
    }
    let mut graph = Graph::new(run, cut, from);
    for &section in &open {
        graph.put_last(section, &behind(run, cut, section));
    }
    let rest = graph.sorted().or_else(|| play::play(run, cut, from, &open))?;
    let before = (0..from).filter(|&number| run.has(cut, number));
    Some(Order::Turned(before.chain(rest).collect()))
}

/// The sections of a cut that an open one excludes and that began behind it.
fn behind(run: &Run, cut: &[u32], open: u32) -> Vec<u32> {
    let lock = run.sections.all[open as usize].lock;
    let sections = &run.sections.by_lock[lock as usize];
    let at = sections.partition_point(|&section| section <= open);
    let there = |&section: &u32| {
        run.has(cut, run.sections.all[section as usize].taken) && run.sections.exclude(open, section)
    };
    sections[at..].iter().copied().filter(there).collect()
}

/// Pairs of the beginning of a wait on a condition variable and a signal that it saw, both from some event on: where they stay in
/// this order, the wait sees what it saw.
pub(super) fn waited(run: &Run, cut: &[u32], from: Number) -> Vec<[Number; 2]> {
    let mut pairs = Vec::new();
    for number in (from..run.len() as Number).filter(|&number| run.has(cut, number)) {
        let Op::Wait { object, kind: SyncKind::Condition | SyncKind::ConditionAll, woken: true } =
            run.event(number).op
        else {
            continue;
        };
        let (thread, at) = run.place(number);
        let begins =
            |&event: &Number| matches!(run.event(event).op, Op::Await { object: on, .. } if on == object);
        let Some(begin) = run.row(thread)[..at as usize].iter().copied().rev().find(begins) else { continue };
        if begin < from {
            continue;
        }
        let signals = run.needs(number).iter().copied();
        let signals = signals
            .filter(|&event| matches!(run.event(event).op, Op::Signal { object: on, .. } if on == object));
        pairs.extend(signals.filter(|&signal| signal > begin).map(|signal| [begin, signal]));
    }
    pairs
}

/// The events of a cut from some event on, each with those that it must come behind.
struct Graph<'a> {
    run: &'a Run,
    numbers: Vec<Number>,
    places: FxHashMap<Number, u32>,
    /// By event: what comes behind it.
    next: Vec<Vec<u32>>,
    /// By event: behind how many it comes.
    waits: Vec<u32>,
}

/// The sections of a lock that have ended: the last one that excludes all, and those of readers since.
#[derive(Default)]
struct Ended {
    writer: Option<u32>,
    readers: Vec<u32>,
}

impl Ended {
    /// Behind which ends a section begins that stays open.
    fn before_open(&self, mode: LockMode) -> Vec<u32> {
        let readers = if mode == LockMode::Write { &self.readers[..] } else { &[] };
        self.writer.iter().chain(readers).copied().collect()
    }

    /// A section ends: behind which ends it comes.
    fn before(&mut self, mode: LockMode, end: u32) -> Vec<u32> {
        let mut before: Vec<u32> = self.writer.into_iter().collect();
        match mode {
            LockMode::Write => {
                before.append(&mut self.readers);
                self.writer = Some(end);
            }
            LockMode::Read => self.readers.push(end),
        }
        before
    }
}

impl<'a> Graph<'a> {
    fn new(run: &'a Run, cut: &[u32], from: Number) -> Self {
        let numbers: Vec<Number> =
            (from..run.len() as Number).filter(|&number| run.has(cut, number)).collect();
        let places = numbers.iter().zip(0..).map(|(&number, place)| (number, place)).collect();
        let (next, waits) = (vec![Vec::new(); numbers.len()], vec![0; numbers.len()]);
        let mut graph = Self { run, numbers, places, next, waits };
        graph.keep_threads_and_sources();
        graph.keep_memory();
        graph.keep_sections(cut);
        for [begin, signal] in waited(run, cut, from) {
            let (begin, signal) = (graph.places[&begin], graph.places[&signal]);
            graph.edge(begin, signal);
        }
        graph
    }

    fn edge(&mut self, from: u32, to: u32) {
        self.next[from as usize].push(to);
        self.waits[to as usize] += 1;
    }

    fn keep_threads_and_sources(&mut self) {
        let mut latest = vec![None; self.run.threads()];
        for place in 0..self.numbers.len() as u32 {
            let number = self.numbers[place as usize];
            let (thread, _) = self.run.place(number);
            if let Some(before) = latest[thread].replace(place) {
                self.edge(before, place);
            }
            for source in self.run.sources(number) {
                if let Some(&source) = self.places.get(source) {
                    self.edge(source, place);
                }
            }
        }
    }

    /// Reads keep their writers, and writes that somebody reads their order; of two that nobody reads either may come first.
    fn keep_memory(&mut self) {
        let mut cells: FxHashMap<usize, Vec<u32>> = FxHashMap::default();
        for place in 0..self.numbers.len() as u32 {
            for cell in self.run.cells_of(self.numbers[place as usize]) {
                cells.entry(cell).or_default().push(place);
            }
        }
        let mut cells: Vec<_> = cells.into_iter().collect();
        cells.sort_unstable();
        for (_, uses) in cells {
            self.keep_cell(&uses);
        }
    }

    fn keep_cell(&mut self, uses: &[u32]) {
        // Who read what is there, and who wrote behind them what nobody reads.
        let (mut readers, mut unread) = (Vec::new(), Vec::new());
        for (at, &place) in uses.iter().enumerate() {
            let access = self.run.access(self.numbers[place as usize]);
            let reads = |place: u32| {
                self.run.access(self.numbers[place as usize]).is_some_and(|access| access.mode.reads())
            };
            let is_read = uses.get(at + 1).is_some_and(|&next| reads(next));
            if access.is_none_or(|access| access.mode.writes()) {
                for &reader in &readers {
                    self.edge(reader, place);
                }
                if is_read || access.is_none() {
                    readers.clear();
                    for write in unread.drain(..) {
                        self.edge(write, place);
                    }
                } else {
                    unread.push(place);
                }
            }
            if access.is_some_and(|access| access.mode.reads()) {
                readers.push(place);
            }
        }
    }

    /// Closed sections of a lock stay as they were; an open one that came behind some still does.
    fn keep_sections(&mut self, cut: &[u32]) {
        let mut locks: FxHashMap<u32, Ended> = FxHashMap::default();
        for place in 0..self.numbers.len() as u32 {
            let number = self.numbers[place as usize];
            let Some(section) = self.run.section(number) else { continue };
            let section = &self.run.sections.all[section as usize];
            let end = section.given.filter(|&end| self.run.has(cut, end));
            let last = locks.entry(section.lock).or_default();
            match end {
                // Both ends of a section are kept in the place of one change: who comes next comes behind its end.
                Some(end) if section.taken == number => {
                    let end = self.places[&end];
                    for before in last.before(section.mode, end) {
                        self.edge(before, place);
                    }
                }
                Some(end) if end == number && !self.places.contains_key(&section.taken) => {
                    let _ = last.before(section.mode, place);
                }
                None if section.taken == number => {
                    for before in last.before_open(section.mode) {
                        self.edge(before, place);
                    }
                }
                Some(_) | None => {}
            }
        }
    }

    /// An open section begins behind the end of each other one that it excludes.
    fn put_last(&mut self, open: u32, behind: &[u32]) {
        let all = &self.run.sections.all;
        let taken = all[open as usize].taken;
        let Some(&place) = self.places.get(&taken) else { return };
        for &section in behind {
            if let Some(end) = all[section as usize].given.and_then(|end| self.places.get(&end).copied()) {
                self.edge(end, place);
            }
        }
    }

    /// The events in an order, those first that came first; `None` if there is none.
    fn sorted(mut self) -> Option<Vec<Number>> {
        let mut ready: BinaryHeap<Reverse<u32>> = (0..self.numbers.len() as u32)
            .filter(|&place| self.waits[place as usize] == 0)
            .map(Reverse)
            .collect();
        let mut sorted = Vec::with_capacity(self.numbers.len());
        while let Some(Reverse(place)) = ready.pop() {
            sorted.push(self.numbers[place as usize]);
            for next in std::mem::take(&mut self.next[place as usize]) {
                let waits = &mut self.waits[next as usize];
                *waits -= 1;
                if *waits == 0 {
                    ready.push(Reverse(next));
                }
            }
        }
        (sorted.len() == self.numbers.len()).then_some(sorted)
    }
}
