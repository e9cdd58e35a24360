//! The accesses to a byte that a later one may race with.

use deadheat_core::access::Access;

use crate::clock::past::Moment;

/// What is remembered of the bytes of a cell.
#[derive(Clone, Default, Debug)]
pub(crate) struct History {
    /// The last event that wrote them in this life.
    pub(crate) written: Moment,
    /// The event that brought them to life.
    pub(crate) born: Moment,
    /// The last event that ended their life.
    pub(crate) freed: Moment,
    writes: Vec<Line>,
    reads: Vec<Line>,
}

/// The accesses of one slot, plain or atomic, in their order.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) slot: u32,
    is_atomic: bool,
    pub(crate) entries: Vec<Entry>,
    /// For slots that looked: how many of the entries are ordered before all that the slot does from now on.
    seen: Vec<(u32, u32)>,
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Its first byte.
    pub(crate) address: u64,
    /// Its number in its slot.
    pub(crate) number: u32,
    /// What tells it from others.
    pub(crate) site: u32,
}

impl History {
    /// The lines of other slots than `slot` of which the accesses conflict with `access`.
    pub(crate) fn conflicting(&mut self, slot: u32, access: &Access) -> impl Iterator<Item = &mut Line> {
        let Self { writes, reads, .. } = self;
        let reads = if access.mode.writes() { &mut reads[..] } else { &mut [] };
        let is_atomic = access.atomic.is_some();
        writes.iter_mut().chain(reads).filter(move |line| line.slot != slot && !(line.is_atomic && is_atomic))
    }

    /// Remembers an access. It may take the place of the line's last one if `replaces` says so; how many bytes
    /// that takes.
    pub(crate) fn push(
        &mut self,
        slot: u32,
        access: &Access,
        entry: Entry,
        replaces: impl Fn(&Entry) -> bool,
    ) -> usize {
        let is_atomic = access.atomic.is_some();
        let lines = if access.mode.writes() { &mut self.writes } else { &mut self.reads };
        let known = lines.iter().position(|line| (line.slot, line.is_atomic) == (slot, is_atomic));
        let (index, before) = match known {
            Some(index) => (index, lines[index].bytes()),
            None => {
                lines.push(Line { slot, is_atomic, entries: Vec::new(), seen: Vec::new() });
                (lines.len() - 1, 0)
            }
        };
        let line = &mut lines[index];
        match line.entries.last_mut() {
            Some(last) if replaces(last) => {
                *last = entry;
                let others = line.entries.len() as u32 - 1;
                line.seen.iter_mut().for_each(|(_, seen)| *seen = (*seen).min(others));
                0
            }
            _ => {
                line.entries.push(entry);
                line.bytes() - before
            }
        }
    }

    /// Forgets the accesses of which `keep` says so, by slot; how many bytes are left.
    pub(crate) fn retain(&mut self, keep: impl Fn(Moment) -> bool) -> usize {
        let mut left = 0;
        for lines in [&mut self.writes, &mut self.reads] {
            for line in lines.iter_mut() {
                let slot = line.slot;
                line.entries.retain(|entry| keep(Moment { slot, number: entry.number }));
                line.entries.shrink_to_fit();
                line.seen.clear();
                line.seen.shrink_to_fit();
            }
            lines.retain(|line| !line.entries.is_empty());
            left += lines.iter().map(Line::bytes).sum::<usize>();
        }
        for moment in [&mut self.written, &mut self.born, &mut self.freed] {
            if moment.number > 0 && !keep(*moment) {
                *moment = Moment::default();
            }
        }
        left
    }

    /// About how many bytes it takes on the heap.
    pub(crate) fn bytes(&self) -> usize {
        self.writes.iter().chain(&self.reads).map(Line::bytes).sum()
    }

    /// Forgets all accesses, in a new life; how many bytes they took.
    pub(crate) fn clear(&mut self) -> usize {
        let count = self.bytes();
        *self = Self::default();
        count
    }

    /// Whether nothing is remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.writes.is_empty()
            && self.reads.is_empty()
            && [self.written, self.born, self.freed].iter().all(|moment| moment.number == 0)
    }

    /// Visits the entries, to change them.
    pub(crate) fn entries_mut(&mut self) -> impl Iterator<Item = &mut Entry> {
        self.writes.iter_mut().chain(&mut self.reads).flat_map(|line| &mut line.entries)
    }
}

impl Line {
    /// About how many bytes it takes.
    fn bytes(&self) -> usize {
        const SEEN: usize = 4 * size_of::<(u32, u32)>();
        size_of::<Line>() + SEEN + self.entries.capacity() * size_of::<Entry>()
    }

    /// How many of the entries a slot need not look at any more.
    pub(crate) fn seen(&self, slot: u32) -> usize {
        self.seen.iter().find(|(by, _)| *by == slot).map_or(0, |&(_, seen)| seen as usize)
    }

    /// A slot need not look at the first `seen` entries any more.
    pub(crate) fn see(&mut self, slot: u32, seen: usize) {
        let seen = seen as u32;
        match self.seen.iter_mut().find(|(by, _)| *by == slot) {
            Some((_, known)) => *known = seen,
            None => self.seen.push((slot, seen)),
        }
    }
}
