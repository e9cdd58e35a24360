//! Stretches of memory, and who used them.
//!
//! Invariant: no access and no block has only a part of a cell.

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::race::Block;

use super::Number;
use crate::clock::blocks::{Blocks, owned};

/// A stretch of memory.
#[derive(Debug)]
pub struct Cell {
    /// Its first byte.
    pub address: u64,
    /// Who used it, in the order of the run.
    pub uses: Vec<Use>,
    /// The events with which a new life of the memory began.
    pub lives: Vec<Number>,
}

/// A use of a cell: an access, or the birth of a block there.
#[derive(Clone, Copy, Debug)]
pub struct Use {
    /// The event.
    pub event: Number,
    /// What it does.
    pub mode: Mode,
    /// Whether it is atomic.
    pub atomic: bool,
    /// In which life of the memory.
    pub life: u32,
    /// Whether it is no access, but a birth.
    pub birth: bool,
}

/// The bytes that an event accesses, or that come to life with it, from the first one to behind the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The access; none: a birth.
    pub(crate) access: Option<Access>,
}

/// Finds out which bytes events touch. To be asked for each event in turn.
#[derive(Clone, Debug, Default)]
pub(crate) struct Extents {
    /// The blocks that there are behind the last event asked for.
    pub(crate) blocks: Blocks,
}

impl Extents {
    /// The bytes of an event, and which of them are there anew behind it.
    pub(crate) fn of(&mut self, event: &Event) -> (Option<Extent>, Vec<(u64, u64)>) {
        if let Op::Access(access) = event.op {
            let extent = Extent { from: access.address, to: access.end(), access: Some(access) };
            return (Some(extent).filter(|_| access.size > 0), Vec::new());
        }
        if let Op::Free { address, size, kind } = event.op {
            return self.end(address, size, kind);
        }
        if let Op::Alloc { address, size, kind } = event.op
            && size > 0
        {
            let anew = self.begin(event, (address, size), kind);
            let to = address.saturating_add(owned(address, size, kind));
            let extent = Extent { from: address, to, access: None };
            return (Some(extent).filter(|_| kind != BlockKind::Benign), anew);
        }
        (None, Vec::new())
    }

    fn begin(&mut self, event: &Event, (address, size): (u64, u64), kind: BlockKind) -> Vec<(u64, u64)> {
        let to = address.saturating_add(owned(address, size, kind));
        let mut anew = Vec::new();
        match kind {
            BlockKind::Benign => {}
            BlockKind::Heap => self.blocks.lived(address, to, |from, to| anew.push((from, to))),
            BlockKind::Mapping | BlockKind::Stack | BlockKind::ThreadLocal | BlockKind::Descriptor => {
                anew.push((address, to));
            }
        }
        let Event { thread, place, stack, .. } = *event;
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        anew
    }

    fn end(&mut self, address: u64, size: u64, kind: BlockKind) -> (Option<Extent>, Vec<(u64, u64)>) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        self.blocks.remove(address, size, kind);
        let access =
            Access { via: Via::Free, ..Access::plain(address, owned(address, size, kind), Mode::Write) };
        // The next file with this number may be opened unseen.
        let anew = if kind == BlockKind::Descriptor { vec![(address, access.end())] } else { Vec::new() };
        let extent = Extent { from: address, to: access.end(), access: Some(access) };
        (Some(extent).filter(|_| size > 0), anew)
    }
}
