//! Memory: who wrote what is read, and the lives of blocks.
//!
//! Rules: an access to a byte of a block needs the block's allocation; an allocation needs the one before it of the same bytes
//! and the end of that life. Bytes have no past in a new life; those that never were in a block before are
//! not in a new life by their first heap block, as a trace may tell of an access before it tells of the allocation.

use std::ops::Range;

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};

/// Memory, cut into segments.
#[derive(Debug)]
pub(crate) struct Memory {
    bounds: Vec<u64>,
    segments: Vec<Segment>,
    /// For each event what it found in the segments of its access.
    found: Vec<Vec<Found>>,
    resets: Vec<Vec<Range<usize>>>,
    /// The blocks: where they begin, their kind and size, and whether they live.
    blocks: Vec<(u64, BlockKind, u64)>,
}

/// What is known of a segment.
#[derive(Clone, Debug, Default)]
struct Segment {
    written: Option<usize>,
    born: Option<usize>,
    freed: Option<usize>,
    /// How often it lost its past.
    life: u32,
    has_lived: bool,
}

#[derive(Clone, Copy, Debug)]
struct Found {
    segment: usize,
    life: u32,
    born: Option<usize>,
}

/// What an event does to memory.
#[derive(Debug, Default)]
pub(crate) struct Step {
    /// The access that it makes.
    pub(crate) access: Option<Access>,
    /// What it reads, and who wrote that.
    pub(crate) reads: Vec<(usize, Option<usize>)>,
}

/// The bytes that a block owns: one on the heap that starts on a multiple of 8 has its last 8 bytes whole.
pub(crate) fn owned(address: u64, size: u64, kind: BlockKind) -> u64 {
    if kind == BlockKind::Heap && address.is_multiple_of(8) {
        size.checked_next_multiple_of(8).unwrap_or(size)
    } else {
        size
    }
}

impl Memory {
    /// Cuts the memory that the events of a run speak of.
    pub(crate) fn new(events: &[Event]) -> Self {
        let mut bounds = Vec::new();
        for event in events {
            let (start, end) = match event.op {
                Op::Access(access) => (access.address, access.end()),
                Op::Alloc { address, size, kind } | Op::Free { address, size, kind } => {
                    (address, address.saturating_add(owned(address, size, kind)))
                }
                Op::Acquire { lock: object, .. }
                | Op::Release { lock: object, .. }
                | Op::Signal { object, .. }
                | Op::Await { object, .. }
                | Op::Wait { object, .. }
                | Op::Arrive { barrier: object, .. }
                | Op::Leave { barrier: object }
                | Op::Forget { object } => (object, object.saturating_add(1)),
                Op::Fence(_)
                | Op::Request { .. }
                | Op::Fork { .. }
                | Op::Join { .. }
                | Op::Begin
                | Op::End
                | Op::Branch
                | Op::Enter
                | Op::Exit
                | Op::HiddenBegin
                | Op::HiddenEnd
                | Op::Fault { .. } => continue,
            };
            bounds.extend([start, end]);
        }
        bounds.sort_unstable();
        bounds.dedup();
        let segments = vec![Segment::default(); bounds.len()];
        Self { bounds, segments, found: Vec::new(), resets: Vec::new(), blocks: Vec::new() }
    }

    /// The number of segments.
    pub(crate) fn segments(&self) -> usize {
        self.segments.len()
    }

    /// The segments from one address, at which one begins, to another, at which one ends.
    pub(crate) fn range(&self, start: u64, end: u64) -> Range<usize> {
        let index = |address: u64| self.bounds.partition_point(|&bound| bound < address);
        index(start)..index(end)
    }

    /// The segments of which an event ends the past.
    pub(crate) fn resets(&self, event: usize) -> impl Iterator<Item = usize> {
        self.resets[event].iter().cloned().flatten()
    }

    /// See [`super::Links::common_lives`].
    pub(crate) fn common_lives(&self, one: usize, other: usize) -> Vec<Option<usize>> {
        let (mine, theirs) = (&self.found[one], &self.found[other]);
        let common = theirs.iter().filter(|found| {
            let same = |mine: &&Found| mine.segment == found.segment && mine.life == found.life;
            mine.iter().any(|mine| same(&mine))
        });
        let mut births: Vec<Option<usize>> = common.map(|found| found.born).collect();
        births.sort_unstable();
        births.dedup();
        births
    }

    /// The next event; what it needs is added to `needs`.
    pub(crate) fn step(&mut self, index: usize, event: &Event, needs: &mut Vec<usize>) -> Step {
        self.found.push(Vec::new());
        self.resets.push(Vec::new());
        match event.op {
            Op::Access(access) => self.access(index, access, needs),
            Op::Alloc { address, size, kind } => {
                self.alloc(index, (address, size, kind), needs);
                Step::default()
            }
            Op::Free { address, size, kind } => self.free(index, (address, size, kind), needs),
            Op::Acquire { lock: object, .. }
            | Op::Release { lock: object, .. }
            | Op::Signal { object, .. }
            | Op::Await { object, .. }
            | Op::Wait { object, .. }
            | Op::Arrive { barrier: object, .. }
            | Op::Leave { barrier: object }
            | Op::Forget { object } => {
                let segment = self.range(object, object.saturating_add(1)).start;
                needs.extend(self.segments.get(segment).and_then(|segment| segment.born));
                Step::default()
            }
            Op::Fence(_)
            | Op::Request { .. }
            | Op::Fork { .. }
            | Op::Join { .. }
            | Op::Begin
            | Op::End
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => Step::default(),
        }
    }

    fn access(&mut self, index: usize, access: Access, needs: &mut Vec<usize>) -> Step {
        let mut reads = Vec::new();
        for number in self.range(access.address, access.end()) {
            let segment = &mut self.segments[number];
            self.found[index].push(Found { segment: number, life: segment.life, born: segment.born });
            needs.extend(segment.born);
            if access.mode.reads() {
                reads.push((number, segment.written));
            }
            if access.mode.writes() {
                segment.written = Some(index);
            }
        }
        Step { access: Some(access), reads }
    }

    fn alloc(&mut self, index: usize, (address, size, kind): (u64, u64, BlockKind), needs: &mut Vec<usize>) {
        self.blocks.retain(|&(at, of, _)| (at, of) != (address, kind));
        self.blocks.push((address, kind, size));
        if kind == BlockKind::Benign {
            return;
        }
        for number in self.range(address, address.saturating_add(owned(address, size, kind))) {
            let segment = &mut self.segments[number];
            if segment.has_lived || kind != BlockKind::Heap {
                needs.extend(segment.born);
                needs.extend(segment.freed);
                *segment = Segment { life: segment.life + 1, ..Segment::default() };
                self.resets[index].push(number..number + 1);
            }
            segment.has_lived = true;
            segment.born = Some(index);
        }
    }

    fn free(
        &mut self,
        index: usize,
        (address, size, kind): (u64, u64, BlockKind),
        needs: &mut Vec<usize>,
    ) -> Step {
        let block = self.blocks.iter().position(|&(at, of, _)| (at, of) == (address, kind));
        let live = block.map_or(0, |block| self.blocks.swap_remove(block).2);
        let size = owned(address, if size == 0 { live } else { size }, kind);
        let access = Access { via: Via::Free, ..Access::plain(address, size, Mode::Write) };
        if size == 0 {
            return Step::default();
        }
        let step = self.access(index, access, needs);
        for number in self.range(address, access.end()) {
            let segment = &mut self.segments[number];
            segment.freed = Some(index);
            segment.has_lived |= kind != BlockKind::Benign;
            if kind == BlockKind::Descriptor {
                // The next file with this number may be opened unseen.
                *segment = Segment {
                    life: segment.life + 1,
                    freed: Some(index),
                    has_lived: true,
                    ..Segment::default()
                };
                self.resets[index].push(number..number + 1);
            }
        }
        step
    }
}
