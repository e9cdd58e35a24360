//! From the events of a run to what holds in every order of them.

use deadheat_core::access::{Mode, Via};
use deadheat_core::event::{BlockKind, LockMode, Op, SyncKind};
use rustc_hash::FxHashMap;

use crate::clock::blocks::owned;

use super::memory::{Cell, Extent, Extents, Use};
use super::object::{Object, Objects};
use super::section::Sections;
use super::{Keeps, Kept, Node, Number, Record, Run, Threads};

/// Whether a wait may end by another signal than in the run.
const fn any_will_do(kind: SyncKind) -> bool {
    matches!(kind, SyncKind::Condition | SyncKind::ConditionAll | SyncKind::Semaphore)
}

/// Nobody wrote; nothing is known.
const NONE: Number = Number::MAX;

pub(super) fn run(record: &Record, keeps: Keeps) -> Run {
    let Record { events, threads, .. } = record;
    let (extents, bounds) = extents(events, record.start.clone());
    let width = threads.ids.len();
    let mut builder = Builder {
        rows: vec![Vec::new(); width],
        latest: vec![0; width],
        cuts: vec![0; width],
        moments: vec![0; width],
        held: vec![Vec::new(); width],
        inside: vec![0; width],
        forks: vec![NONE; width],
        writers: vec![NONE; bounds.len()],
        lives: vec![0; bounds.len()],
        births: vec![NONE; bounds.len()],
        ends: vec![Vec::new(); bounds.len()],
        cells: bounds.iter().map(|&address| Cell { address, uses: Vec::new(), lives: Vec::new() }).collect(),
        objects: Objects::default(),
        sections: Sections::default(),
        sources: Vec::new(),
        signals: FxHashMap::default(),
        keeps,
        nodes: Vec::with_capacity(events.len()),
        threads,
        bounds,
    };
    for (kept, (extent, anew)) in events.iter().zip(extents) {
        builder.take(*kept, extent, &anew);
    }
    let Builder { nodes, rows, cuts, sources, signals, sections, mut cells, .. } = builder;
    cells.iter_mut().for_each(|cell| cell.uses.shrink_to_fit());
    let in_base = |row: &Vec<Number>| row.partition_point(|&number| (number as usize) < record.base) as u32;
    Run {
        base: rows.iter().map(in_base).collect(),
        nodes,
        rows,
        ids: threads.ids.clone(),
        counts: threads.counts.clone(),
        cuts,
        sources,
        signals,
        sections,
        cells,
        before: record.before,
        done: record.done.clone(),
        start: record.start.clone(),
    }
}

type Touched = (Option<Extent>, Vec<(u64, u64)>);

/// What each event touches, and where cells begin.
fn extents(events: &[Kept], mut known: Extents) -> (Vec<Touched>, Vec<u64>) {
    let extents: Vec<_> = events.iter().map(|kept| known.of(&kept.event)).collect();
    let mut bounds = Vec::new();
    for (extent, anew) in &extents {
        bounds.extend(extent.iter().flat_map(|extent| [extent.from, extent.to]));
        bounds.extend(anew.iter().flat_map(|&(from, to)| [from, to]));
        if bounds.len() > 1 << 16 && bounds.len() == bounds.capacity() {
            bounds.sort_unstable();
            bounds.dedup();
        }
    }
    bounds.sort_unstable();
    bounds.dedup();
    (extents, bounds)
}

struct Builder<'a> {
    rows: Vec<Vec<Number>>,
    /// By thread: which cut its next event has, unless it has sources.
    latest: Vec<u32>,
    cuts: Vec<u32>,
    moments: Vec<u32>,
    /// By thread: the locks that it holds, how often, and in which section.
    held: Vec<Vec<(u64, u32, u32)>>,
    inside: Vec<u32>,
    /// By thread: its fork, until its first event has come.
    forks: Vec<Number>,
    /// By cell: who wrote it last.
    writers: Vec<Number>,
    /// By cell: which life of the memory it is.
    lives: Vec<u32>,
    /// By cell: the birth of the block that it is in, or the event with which its present life began.
    births: Vec<Number>,
    /// By cell: the ends of blocks since that.
    ends: Vec<Vec<Number>>,
    cells: Vec<Cell>,
    objects: Objects,
    sections: Sections,
    sources: Vec<Number>,
    signals: FxHashMap<Number, Vec<Number>>,
    keeps: Keeps,
    nodes: Vec<Node>,
    threads: &'a Threads,
    bounds: Vec<u64>,
}

impl Builder<'_> {
    fn take(&mut self, kept: Kept, extent: Option<Extent>, anew: &[(u64, u64)]) {
        let number = self.nodes.len() as Number;
        let thread = self.threads.rows[&kept.event.thread];
        let row = thread as usize;
        let mut needs = Vec::new();
        let fork = std::mem::replace(&mut self.forks[row], NONE);
        needs.extend(Some(fork).filter(|&fork| fork != NONE));
        let cells = extent.map_or((0, 0), |extent| (self.cell(extent.from), self.cell(extent.to)));
        let section = self.synchronise(&kept, number, row, &mut needs);
        let mut synchronises = section.is_some() || fork != NONE;
        let mut reads = Vec::new();
        if let Some(extent) = extent {
            synchronises |= self.touch(number, extent, (&mut needs, &mut reads));
        }
        self.begin_lives(number, anew);
        for list in [&mut needs, &mut reads] {
            list.retain(|&source| source < number && self.nodes[source as usize].thread != thread);
            list.sort_unstable();
            list.dedup();
        }
        let sources = self.keep(&needs, &reads);
        if self.learn(row, sources) || synchronises {
            self.moments[row] += 1;
        }
        let at = self.rows[row].len() as u32;
        self.rows[row].push(number);
        self.nodes.push(Node {
            kept,
            thread,
            at,
            cut: self.latest[row],
            sources,
            cells,
            moment: self.moments[row],
            inside: self.inside[row],
            section: section.unwrap_or(NONE),
        });
        if synchronises {
            self.moments[row] += 1;
        }
    }

    fn cell(&self, address: u64) -> u32 {
        self.bounds.partition_point(|&bound| bound < address) as u32
    }

    fn keep(&mut self, needs: &[Number], reads: &[Number]) -> [u32; 3] {
        let from = self.sources.len() as u32;
        self.sources.extend_from_slice(needs);
        self.sources.extend_from_slice(reads);
        [from, from + needs.len() as u32, self.sources.len() as u32]
    }

    /// A thread's next event has those sources: whether that is anything new to the thread.
    fn learn(&mut self, row: usize, [from, _, to]: [u32; 3]) -> bool {
        let width = self.rows.len();
        let cut = |latest: u32| latest as usize * width..(latest as usize + 1) * width;
        let news = self.sources[from as usize..to as usize].iter().any(|&source| {
            let node = &self.nodes[source as usize];
            self.cuts[cut(self.latest[row])][node.thread as usize] <= node.at
        });
        if !news {
            return false;
        }
        let start = self.cuts.len();
        self.cuts.extend_from_within(cut(self.latest[row]));
        for index in from..to {
            let node = &self.nodes[self.sources[index as usize] as usize];
            for thread in 0..width {
                let theirs = self.cuts[cut(node.cut)][thread];
                let own = if thread == node.thread as usize { node.at + 1 } else { theirs };
                let mine = &mut self.cuts[start + thread];
                *mine = (*mine).max(own).max(theirs);
            }
        }
        // A thread knows itself by where it is.
        self.cuts[start + row] = 0;
        self.latest[row] = (start / width) as u32;
        true
    }

    /// What an access or a birth needs and reads, and what it leaves; whether it orders anything.
    fn touch(
        &mut self,
        number: Number,
        extent: Extent,
        (needs, reads): (&mut Vec<Number>, &mut Vec<Number>),
    ) -> bool {
        let cells = self.cell(extent.from) as usize..self.cell(extent.to) as usize;
        let (mode, atomic, via) = extent.access.map_or((Mode::Write, false, Via::Birth), |access| {
            (access.mode, access.atomic.is_some(), access.via)
        });
        let birth = extent.access.is_none();
        for cell in cells {
            if self.births[cell] != NONE {
                needs.push(self.births[cell]);
            }
            if birth {
                needs.append(&mut self.ends[cell]);
                self.births[cell] = number;
            } else if self.keeps.writers && mode.reads() && self.writers[cell] != NONE {
                reads.push(self.writers[cell]);
            }
            if via == Via::Free {
                self.ends[cell].push(number);
            }
            if mode.writes() && !birth {
                self.writers[cell] = number;
            }
            let life = self.lives[cell];
            self.cells[cell].uses.push(Use { event: number, mode, atomic, life, birth });
        }
        birth || atomic || via == Via::Free
    }

    fn begin_lives(&mut self, number: Number, anew: &[(u64, u64)]) {
        for &(from, to) in anew {
            for cell in self.cell(from) as usize..self.cell(to) as usize {
                self.lives[cell] = number + 1;
                self.births[cell] = number;
                self.cells[cell].lives.push(number);
                self.writers[cell] = NONE;
            }
        }
    }

    /// What an event on a synchronisation object needs, and what it leaves: the section that it begins or ends, if it does; `None`
    /// if it is no such event.
    fn synchronise(
        &mut self,
        kept: &Kept,
        number: Number,
        row: usize,
        needs: &mut Vec<Number>,
    ) -> Option<Number> {
        let thread = row as u32;
        let mut section = NONE;
        match kept.event.op {
            Op::Access(_) | Op::Free { .. } => return None,
            Op::Fork { child } => {
                // A trace may know of a thread before it is created.
                if let Some(&child) = self.threads.rows.get(&child) {
                    self.forks[child as usize] = number;
                }
            }
            Op::Join { child } => {
                if let Some(&child) = self.threads.rows.get(&child) {
                    let fork = Some(self.forks[child as usize]).filter(|&fork| fork != NONE);
                    needs.extend(self.rows[child as usize].last().copied().or(fork));
                }
            }
            Op::Acquire { lock, mode } => {
                self.use_object(lock, thread, number, needs);
                section = self.acquire(row, (lock, mode), number);
            }
            Op::Release { lock, .. } => {
                self.use_object(lock, thread, number, needs);
                section = self.release(row, lock, number);
            }
            Op::Signal { object, kind } => {
                self.use_object(object, thread, number, needs).signal(thread, number, kind)
            }
            Op::Await { object, .. } => self.use_object(object, thread, number, needs).begin_wait(thread),
            Op::Wait { kind: SyncKind::Everything, .. } => {
                needs.extend(self.rows.iter().filter_map(|row| row.last().copied()));
            }
            Op::Wait { object, kind, woken } => {
                let saw = self.use_object(object, thread, number, needs).end_wait(thread, kind, woken);
                if woken && any_will_do(kind) && !self.keeps.signals {
                    self.signals.insert(number, saw);
                } else {
                    needs.extend(saw);
                }
            }
            Op::Arrive { barrier, count } => {
                let saw = self.use_object(barrier, thread, number, needs).arrive(thread, number, count);
                needs.extend(saw);
            }
            Op::Leave { barrier } => {
                let saw = self.use_object(barrier, thread, number, needs).leave(thread);
                needs.extend(saw);
            }
            Op::Alloc { address, size, kind } => self.forget_range(address, size, kind, needs),
            Op::Forget { object } => self.forget(object, row, number, needs),
            Op::Fence(_)
            | Op::Request { .. }
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => return None,
        }
        Some(section)
    }

    /// An object is made or destroyed.
    fn forget(&mut self, object: u64, row: usize, number: Number, needs: &mut Vec<Number>) {
        needs.extend(self.birth_at(object));
        needs.extend(self.objects.make(object, number));
        let others = self.held.iter().enumerate().filter(|&(other, _)| other != row);
        let is_held = others.flat_map(|(_, held)| held).any(|&(lock, ..)| lock == object);
        self.sections.well_formed &= !is_held;
        self.sections.forget(object);
    }

    /// What lies in a new block is new.
    fn forget_range(&mut self, address: u64, size: u64, kind: BlockKind, needs: &mut Vec<Number>) {
        if kind != BlockKind::Benign {
            let to = address.saturating_add(owned(address, size, kind));
            needs.extend(self.objects.forget_range(address, to));
            self.sections.forget_range(address, to);
        }
    }

    /// A thread takes a lock: the section that begins, if one does.
    fn acquire(&mut self, row: usize, (lock, mode): (u64, LockMode), number: Number) -> Number {
        let held = &mut self.held[row];
        if let Some((_, depth, _)) = held.iter_mut().find(|(address, ..)| *address == lock) {
            *depth += 1;
            return NONE;
        }
        let section = self.sections.begin(lock, mode, number);
        held.push((lock, 1, section));
        let others =
            self.held.iter().enumerate().filter(|&(other, _)| other != row).flat_map(|(_, held)| held);
        for &(address, _, other) in others {
            // Also if it was made anew meanwhile.
            let excludes =
                mode == LockMode::Write || self.sections.all[other as usize].mode == LockMode::Write;
            self.sections.well_formed &= address != lock || !excludes;
        }
        self.enter(row);
        section
    }

    /// A thread gives a lock back: the section that ends, if one does.
    fn release(&mut self, row: usize, lock: u64, number: Number) -> Number {
        let held = &mut self.held[row];
        let Some(at) = held.iter().rposition(|&(address, ..)| address == lock) else {
            self.sections.well_formed = false;
            return NONE;
        };
        held[at].1 -= 1;
        if held[at].1 > 0 {
            return NONE;
        }
        let (.., section) = held.remove(at);
        self.sections.all[section as usize].given = Some(number);
        self.enter(row);
        section
    }

    /// The object at an address, which a thread uses.
    fn use_object(&mut self, at: u64, thread: u32, number: Number, needs: &mut Vec<Number>) -> &mut Object {
        let birth = self.birth_at(at);
        let object = self.objects.find(at, birth);
        needs.extend(object.made());
        object.used(thread, number);
        object
    }

    /// The birth of the block at an address.
    fn birth_at(&self, at: u64) -> Option<Number> {
        let cell = self.bounds.partition_point(|&bound| bound <= at).checked_sub(1);
        cell.map(|cell| self.births[cell]).filter(|&birth| birth != NONE)
    }

    /// A thread is in the sections of the locks that it holds.
    fn enter(&mut self, row: usize) {
        let inside: Vec<u32> = self.held[row].iter().map(|&(.., section)| section).collect();
        self.inside[row] = self.sections.intern(&inside);
    }
}
