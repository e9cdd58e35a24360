//! Blocks that were freed and are used behind that, in order. A use that nothing orders behind the free races with it, which is `hb`'s to tell.
//!
//! As while a program runs, small blocks are waited for: of each thread the last [`WAITING`] that it freed, and as many of all ended threads, until
//! their memory has another life.
//!
//! Blind spots: larger blocks, and those of which the allocator soon made others. An access to a block that another thread publishes without
//! synchronisation may come before the block's birth does; if something orders it behind the free of what was there before, that is told.
//!
//! Cost: a look into a small table for each access, and all that orders threads once more.

use std::collections::{BTreeMap, VecDeque};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Op};
use deadheat_core::finding::Finding;
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Plain, Strided};
use deadheat_core::race::{Block, Race, RaceSink, Side};
use deadheat_core::rule::Epoch;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::clock::blocks::{Blocks, Locks};
use crate::clock::order::Order;
use crate::clock::threads::Threads;

/// How many freed blocks of a thread are waited for.
const WAITING: usize = 64;
/// Larger ones are not.
const LARGEST: u64 = 4096;
/// Rows of the table that tells where no freed block is, and how many bytes of memory go into the same row.
const ROWS: usize = 1 << 14;
const ROW_LOG2: u32 = 5;

/// What was freed and has no other life yet.
#[derive(Debug, Default)]
pub(super) struct Freed {
    order: Order,
    blocks: Blocks,
    /// By first byte.
    waiting: BTreeMap<u64, Ended>,
    /// By part of the memory, how many blocks of `waiting` there are; empty before there was one.
    rows: Vec<u32>,
    /// What each thread freed, the oldest first: first byte and number.
    by_thread: FxHashMap<ThreadId, VecDeque<(u64, u64)>>,
    by_ended: VecDeque<(u64, u64)>,
    count: u64,
    told: FxHashSet<[(PlaceId, StackId); 2]>,
}

/// The end of a block's life.
#[derive(Clone, Copy, Debug)]
struct Ended {
    number: u64,
    epoch: Epoch,
    side: Side,
    block: Option<Block>,
}

impl Freed {
    /// Nothing was freed.
    pub(super) fn new() -> Self {
        Self { order: Order { threads: Threads::sparing(), ..Order::default() }, ..Self::default() }
    }

    /// The block that holds an address.
    pub(super) fn block(&self, address: u64) -> Option<Block> {
        self.blocks.around(address)
    }

    /// Whether an event is the birth of a block that is there already: while a program runs, that is told again for each lock.
    pub(super) fn has_born(&self, event: &Event) -> bool {
        let Op::Alloc { address, size, kind } = event.op else { return false };
        self.blocks.size_at(address, kind) == Some(size)
            && self.blocks.around(address).is_some_and(|block| {
                (block.address, block.kind, block.place, block.stack)
                    == (address, kind, event.place, event.stack)
            })
    }

    /// Takes the next event.
    pub(super) fn step(&mut self, event: &Event, sink: &mut dyn RaceSink) {
        let order = &mut self.order;
        let row = order.threads.acting(event.thread);
        match event.op {
            Op::Access(access) => match access.atomic {
                None if access.via == Via::Birth => order.threads.publish(row),
                None => self.look(event, &access, sink),
                Some(memory_order) => {
                    order.atomic_learns(row, &access, memory_order);
                    self.look(event, &access, sink);
                    self.order.atomic_publishes(row, &access, memory_order);
                }
            },
            Op::Fence(memory_order) => order.fence(row, memory_order),
            Op::Acquire { lock, mode } => order.acquire(row, lock, mode),
            Op::Release { lock, mode } => order.release(row, lock, mode),
            Op::Fork { child } => order.fork(row, child),
            Op::Join { child } => order.join(row, child),
            Op::End => {
                order.threads.end(row);
                for ended in self.by_thread.remove(&event.thread).unwrap_or_default() {
                    self.by_ended.push_back(ended);
                    let oldest = drop_oldest(&mut self.by_ended);
                    self.forget(oldest);
                }
            }
            Op::Signal { object, kind } => order.signal(row, object, kind),
            Op::Await { object, kind } => order.begin_wait(row, object, kind),
            Op::Wait { object, kind, woken } => order.end_wait(row, object, kind, woken),
            Op::Arrive { barrier, count } => order.arrive(row, barrier, count),
            Op::Leave { barrier } => order.leave(row, barrier),
            Op::Alloc { address, size, kind } => self.born(event, (address, size, kind)),
            Op::Free { address, size, kind } => self.died(event, (address, size, kind), sink),
            Op::Forget { object } => order.objects.forget(object),
            Op::Request { .. }
            | Op::Begin
            | Op::Branch
            | Op::Enter
            | Op::Exit
            | Op::HiddenBegin
            | Op::HiddenEnd
            | Op::Fault { .. } => {}
        }
    }

    /// Takes plain accesses of a thread.
    pub(super) fn plain(&mut self, thread: ThreadId, accesses: &[Plain], sink: &mut dyn RaceSink) {
        if self.waiting.is_empty() {
            return;
        }
        for access in accesses {
            let (first, last) = (access.address, access.address.wrapping_add(access.form.size() - 1));
            if self.rows[row_of(first)] | self.rows[row_of(last)] != 0 {
                self.look(&access.event(thread), &access.access(), sink);
            }
        }
    }

    /// Whether accesses of a loop may be to what was freed.
    pub(super) fn concerns(&self, body: &[Strided], turns: u32) -> bool {
        !self.waiting.is_empty()
            && body.iter().any(|access| {
                let (first, last) = (access.first.access(), access.at(turns.saturating_sub(1)).access());
                let range = (first.address.min(last.address), first.end().max(last.end()));
                self.around(range.0, range.1).is_some()
            })
    }

    fn born(&mut self, event: &Event, (address, size, kind): (u64, u64, BlockKind)) {
        let Event { thread, place, stack, .. } = *event;
        let end = address.saturating_add(size);
        self.blocks.insert(Block { address, size, kind, thread, place, stack });
        if kind != BlockKind::Benign {
            self.order.objects.forget_range(address, end);
            while let Some((start, Ended { number, .. })) = self.around(address, end.max(address + 1)) {
                self.forget(Some((start, number)));
            }
        }
    }

    fn died(&mut self, event: &Event, (address, size, kind): (u64, u64, BlockKind), sink: &mut dyn RaceSink) {
        let size = if size == 0 { self.blocks.size_at(address, kind).unwrap_or(0) } else { size };
        let access = Access { via: Via::Free, ..Access::plain(address, size, Mode::Write) };
        if kind == BlockKind::Heap && size != 0 {
            self.look(event, &access, sink);
        }
        let block = self.blocks.around(address);
        self.blocks.remove(address, size, kind);
        if kind != BlockKind::Heap || size == 0 || size > LARGEST {
            return;
        }
        while let Some((start, Ended { number, .. })) = self.around(address, address + size) {
            self.forget(Some((start, number)));
        }
        let row = self.order.threads.acting(event.thread);
        let clock = self.order.threads.now(row);
        let (slot, locks) = (self.order.threads.row(row).slot, self.order.threads.row(row).locks);
        let Event { thread, place, stack, .. } = *event;
        let side = Side { thread, place, stack, access, locks };
        self.count += 1;
        let number = self.count;
        self.waiting.insert(address, Ended { number, epoch: Epoch { thread: slot, clock }, side, block });
        self.rows.resize(ROWS, 0);
        each_row(&access, |row| self.rows[row] += 1);
        let freed = self.by_thread.entry(thread).or_default();
        freed.push_back((address, number));
        let oldest = drop_oldest(freed);
        self.forget(oldest);
    }

    /// A block is not waited for any more.
    fn forget(&mut self, which: Option<(u64, u64)>) {
        let Some((start, number)) = which else { return };
        if self.waiting.get(&start).is_some_and(|ended| ended.number == number)
            && let Some(ended) = self.waiting.remove(&start)
        {
            each_row(&ended.side.access, |row| self.rows[row] -= 1);
        }
    }

    /// A freed block that has a byte of a range.
    fn around(&self, start: u64, end: u64) -> Option<(u64, Ended)> {
        let (&first, ended) = self.waiting.range(..end).next_back()?;
        (ended.side.access.end() > start).then_some((first, *ended))
    }

    /// Judges an access.
    fn look(&mut self, event: &Event, access: &Access, sink: &mut dyn RaceSink) {
        if self.waiting.is_empty() || access.size == 0 {
            return;
        }
        let Some((start, ended)) = self.around(access.address, access.end()) else { return };
        let row = self.order.threads.acting(event.thread);
        let thread = self.order.threads.row(row);
        if thread.slot != ended.epoch.thread && !thread.clock.covers(ended.epoch) {
            return;
        }
        let Event { place, stack, .. } = *event;
        if !self.told.insert([(ended.side.place, ended.side.stack), (place, stack)]) {
            return;
        }
        let later = Side { thread: event.thread, place, stack, access: *access, locks: thread.locks };
        let used =
            Race { earlier: ended.side, later, address: access.address.max(start), block: ended.block };
        if !self.blocks.is_benign(used.address) {
            let locks = &Locks { locks: &self.order.locks, blocks: &self.blocks };
            sink.finding(&Finding::UseAfterFree { used: &used, locks });
        }
    }
}

/// Takes the oldest away if there are more than are waited for.
fn drop_oldest(freed: &mut VecDeque<(u64, u64)>) -> Option<(u64, u64)> {
    if freed.len() > WAITING { freed.pop_front() } else { None }
}

fn row_of(address: u64) -> usize {
    (address >> ROW_LOG2) as usize % ROWS
}

/// Calls `each` with the rows of a small block.
fn each_row(access: &Access, each: impl FnMut(usize)) {
    let (first, last) = (access.address >> ROW_LOG2, (access.end() - 1) >> ROW_LOG2);
    (first..=last).map(|row| row as usize % ROWS).for_each(each);
}
