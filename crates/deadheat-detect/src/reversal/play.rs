//! An order found by doing the events: whichever of the run's first can come next does.
//!
//! Where an order that keeps all writes in place goes in a circle ([`super::order`]), a write of an open section may come behind
//! what others read since. Each step keeps to the rules, so what comes of it is a correct order; it may get stuck where there
//! is one.

use deadheat_core::event::LockMode;
use rustc_hash::FxHashMap;

use super::order::waited;
use crate::run::{Number, Run};

/// The events of a cut from `from` on in an order in which the `open` sections come last among those of their locks; `None` if none was found.
pub(super) fn play(run: &Run, cut: &[u32], from: Number, open: &[u32]) -> Option<Vec<Number>> {
    let mut game = Game::new(run, cut, from, open);
    let mut order = Vec::with_capacity(game.left);
    while game.left > 0 {
        let next = (0..run.threads())
            .filter_map(|thread| game.next(thread))
            .filter(|&event| game.can(event))
            .min()?;
        game.act(next);
        order.push(next);
    }
    Some(order)
}

/// Who wrote what is in a cell; `Number::MAX`: whoever did before the first event.
type Writer = Number;

struct Game<'a> {
    run: &'a Run,
    cut: &'a [u32],
    from: Number,
    /// By thread: how many events it has done.
    done: Vec<u32>,
    left: usize,
    /// By cell: what is in it.
    cells: FxHashMap<usize, Writer>,
    /// By cell and write: how many reads of it are to come.
    readers: FxHashMap<(usize, Writer), u32>,
    /// By event and cell: the write that it reads.
    reads: FxHashMap<(Number, usize), Writer>,
    /// By lock: who holds it.
    holders: FxHashMap<u32, Vec<u32>>,
    /// By lock: how many sections are to end before one that stays open may begin.
    closing: FxHashMap<u32, usize>,
    /// By signal: the waits that have to begin before it.
    waited: FxHashMap<Number, Vec<Number>>,
    open: &'a [u32],
}

impl<'a> Game<'a> {
    fn new(run: &'a Run, cut: &'a [u32], from: Number, open: &'a [u32]) -> Self {
        let done =
            (0..run.threads()).map(|thread| run.row(thread).partition_point(|&event| event < from) as u32);
        let done: Vec<u32> = done.zip(cut).map(|(done, &cut)| done.min(cut)).collect();
        let left = cut.iter().zip(&done).map(|(&cut, &done)| (cut - done) as usize).sum();
        let mut game = Self {
            run,
            cut,
            from,
            done,
            left,
            cells: FxHashMap::default(),
            readers: FxHashMap::default(),
            reads: FxHashMap::default(),
            holders: FxHashMap::default(),
            closing: FxHashMap::default(),
            waited: FxHashMap::default(),
            open,
        };
        game.prepare();
        game
    }

    /// Who reads what, and which sections are held at the start and will end.
    fn prepare(&mut self) {
        for [begin, signal] in waited(self.run, self.cut, self.from) {
            self.waited.entry(signal).or_default().push(begin);
        }
        let mut written: FxHashMap<usize, Writer> = FxHashMap::default();
        for event in self.from..self.run.len() as Number {
            if !self.run.has(self.cut, event) {
                continue;
            }
            let reads = self.run.access(event).is_some_and(|access| access.mode.reads());
            for cell in self.run.cells_of(event) {
                if reads {
                    let writer = written.get(&cell).copied().unwrap_or(Writer::MAX);
                    self.reads.insert((event, cell), writer);
                    *self.readers.entry((cell, writer)).or_default() += 1;
                }
                if self.run.changes(event) {
                    written.insert(cell, event);
                }
            }
        }
        for (number, section) in (0..).zip(&self.run.sections.all) {
            if !self.run.has(self.cut, section.taken) || self.open.contains(&number) {
                continue;
            }
            let over = section.given.is_some_and(|end| end < self.from);
            if !over {
                *self.closing.entry(section.lock).or_default() += 1;
            }
        }
        let run = self.run;
        for (thread, &done) in self.done.iter().enumerate() {
            let last = done.checked_sub(1).map(|last| run.row(thread)[last as usize]);
            for &section in last.map_or(&[][..], |last| run.inside(last)) {
                self.holders.entry(run.sections.all[section as usize].lock).or_default().push(section);
            }
        }
    }

    fn next(&self, thread: usize) -> Option<Number> {
        let done = self.done[thread];
        (done < self.cut[thread]).then(|| self.run.row(thread)[done as usize])
    }

    fn can(&self, event: Number) -> bool {
        let there = |&source: &Number| {
            let (thread, at) = self.run.place(source);
            at < self.done[thread]
        };
        let waits = self.waited.get(&event).map_or(&[][..], Vec::as_slice);
        if !self.run.sources(event).iter().chain(waits).all(there) {
            return false;
        }
        if let Some(section) = self.run.section(event)
            && self.run.sections.all[section as usize].taken == event
            && !self.can_take(section)
        {
            return false;
        }
        self.run.cells_of(event).all(|cell| {
            let now = self.cells.get(&cell).copied().unwrap_or(Writer::MAX);
            let read = self.reads.get(&(event, cell));
            let waiting =
                self.readers.get(&(cell, now)).copied().unwrap_or(0) - u32::from(read == Some(&now));
            read.is_none_or(|&writer| writer == now) && (!self.run.changes(event) || waiting == 0)
        })
    }

    fn can_take(&self, section: u32) -> bool {
        let Self { run, .. } = self;
        let lock = run.sections.all[section as usize].lock;
        let holders = self.holders.get(&lock).map_or(&[][..], Vec::as_slice);
        let last =
            !self.open.contains(&section) || self.closing.get(&lock).is_none_or(|&closing| closing == 0);
        let readers = run.sections.all[section as usize].mode == LockMode::Read;
        (last || readers) && !holders.iter().any(|&holder| run.sections.exclude(holder, section))
    }

    fn act(&mut self, event: Number) {
        let (thread, _) = self.run.place(event);
        self.done[thread] += 1;
        self.left -= 1;
        for cell in self.run.cells_of(event) {
            if let Some(&writer) = self.reads.get(&(event, cell))
                && let Some(readers) = self.readers.get_mut(&(cell, writer))
            {
                *readers -= 1;
            }
            if self.run.changes(event) {
                self.cells.insert(cell, event);
            }
        }
        let Some(section) = self.run.section(event) else { return };
        let lock = self.run.sections.all[section as usize].lock;
        let holders = self.holders.entry(lock).or_default();
        if self.run.sections.all[section as usize].taken == event {
            holders.push(section);
        } else {
            holders.retain(|&holder| holder != section);
            if let Some(closing) = self.closing.get_mut(&lock) {
                *closing -= 1;
            }
        }
    }
}
