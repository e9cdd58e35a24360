//! Races are written down as they are found: into blocks of the trace's file.
//!
//! Invariant: a pair of places in its calls is written once; further meetings are counted in its record, without the lock.

use core::cell::UnsafeCell;
use core::ptr::null_mut;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering};

use deadheat_core::access::Access;
use deadheat_core::event::BlockKind;
use deadheat_core::race::HeldLock;
use deadheat_core::wire::{block as wire_block, flag, race};

use super::eye::{Eye, STEP};
use super::freed::{self, Met};
use super::history::{History, Place, Site, Wanted};
use super::list::List;
use super::shadow::{self, Noted};
use super::word::{self, GRANULE};
use super::{memory, record, slots, tree};
use crate::cold::block::{self, Label};
use crate::cold::byhand;
use crate::cold::lock::Lock;
use crate::hot::thread::Thread;
use crate::intercept::BORN;
use crate::sys;

/// Calls that are written of a stack: the innermost.
const MOST_CALLS: usize = 1024;
/// Locks that are written of a side.
pub(super) const MOST_LOCKS: usize = 64;
/// Words of the longest record.
const MOST_WORDS: usize = 16 + (3 + 2 * MOST_LOCKS) * (MOST_CALLS + 16);
/// Size of a block of records.
const BLOCK: usize = 64 << 10;
/// Pairs that are told apart, at most [`MOST_PAIRS`], so that a search in the table is short.
const PAIRS: usize = 1 << 16;
const MOST_PAIRS: u32 = 3 << 14;

/// A pair's key, stored last; 0: none. And where the count of its record is; null if there was no space for that.
#[repr(C)]
struct Pair {
    key: AtomicU64,
    times: AtomicPtr<u64>,
}

/// The table of the pairs that were found so far.
static TABLE: AtomicPtr<[Pair; PAIRS]> = AtomicPtr::new(null_mut());
/// Whether there are bytes on which races are not told.
static BENIGN: AtomicBool = AtomicBool::new(false);

/// The process's races so far.
struct Report {
    lock: Lock,
    inner: UnsafeCell<Inner>,
}

struct Inner {
    /// The block that is written to, how much of it is used, and its size.
    block: *mut u8,
    used: usize,
    size: usize,
    sequence: u32,
    /// How many pairs the table has.
    pairs: u32,
    /// Where a record is put together.
    words: *mut [u64; MOST_WORDS],
    len: usize,
    benign: List<(u64, u64)>,
}

// SAFETY: `inner` is touched under `lock` alone.
unsafe impl Sync for Report {}

static REPORT: Report = Report {
    lock: Lock::new(),
    inner: UnsafeCell::new(Inner {
        block: null_mut(),
        used: 0,
        size: 0,
        sequence: 0,
        pairs: 0,
        words: null_mut(),
        len: 0,
        benign: List::new(),
    }),
};

/// How many records were written.
static RECORDS: AtomicU32 = AtomicU32::new(0);

/// How many pairs of places that race are written down so far.
pub(crate) fn records() -> u32 {
    RECORDS.load(Ordering::Acquire)
}

/// What is wrong and no race was written down: into its thread's stream.
pub(super) fn counted() {
    RECORDS.fetch_add(1, Ordering::Release);
    byhand::halt();
}

/// Runs `body` under the lock, which no handler asks for meanwhile.
fn with<R>(body: impl FnOnce(&mut Inner) -> R) -> R {
    let _quiet = sys::Quiet::new();
    // SAFETY: under the lock.
    REPORT.lock.with(|| body(unsafe { &mut *REPORT.inner.get() }))
}

/// Notes in the file that races are looked for in this run.
pub(crate) fn begin() {
    let recorded = if super::beside_recording() { flag::RECORDED } else { 0 };
    block::flags(block::header_page()).fetch_or(flag::DETECTED | recorded, Ordering::Relaxed);
    RECORDS.store(0, Ordering::Relaxed);
    with(|inner| {
        (inner.block, inner.used, inner.size, inner.sequence, inner.pairs) = (null_mut(), 0, 0, 0, 0);
        let table = TABLE.load(Ordering::Relaxed);
        if table.is_null() {
            inner.words = super::pool::map(size_of::<[u64; MOST_WORDS]>()).cast();
            TABLE.store(super::pool::map(size_of::<[Pair; PAIRS]>()).cast(), Ordering::Release);
        } else {
            // SAFETY: the table is the runtime's own.
            unsafe { sys::forget_pages(table.cast(), size_of::<[Pair; PAIRS]>()) };
        }
    });
}

/// Notes in the file that a thread made an access that was seen.
pub(crate) fn accessed() {
    let page = block::header_page();
    if !page.is_null() {
        block::flags(page).fetch_or(flag::ACCESSED, Ordering::Relaxed);
    }
}

/// No memory has a lower address: accesses by null pointers fault, and a program that goes on behind that made none.
pub(crate) const NOWHERE: u64 = 4096;

/// Races on these bytes are not told.
pub(crate) fn benign(start: u64, end: u64) {
    if end <= NOWHERE {
        return;
    }
    with(|inner| inner.benign.push((start, end)));
    BENIGN.store(true, Ordering::Release);
}

/// One side of a race.
struct Side<'a> {
    thread: u32,
    clock: u64,
    /// Nothing is known of the other thread's access any more but what its word says.
    known: bool,
    access: Access,
    pc: u64,
    node: u32,
    locks: &'a [HeldLock],
}

/// An access of the calling thread, as it is told.
#[derive(Clone, Copy)]
pub(crate) struct Mine<'a> {
    pub(crate) access: &'a Access,
    pub(crate) pc: u64,
    /// Its word in the cell.
    pub(crate) word: u64,
    /// The address of the cell's first byte.
    pub(crate) granule: u64,
}

/// The calling thread's access races with those that `other` stands for: its thread may have come to the bytes of a moment in several places.
///
/// # Safety
/// `thread` is the calling thread's.
#[cold]
#[inline(never)]
pub(crate) unsafe fn found(thread: *mut Thread, mine: Mine<'_>, other: u64) {
    if word::is_freed(other) {
        // SAFETY: the caller's promise.
        unsafe { behind(thread, mine, other) };
        return;
    }
    let history = slots::history(word::slot(other));
    if history.is_null() {
        return;
    }
    let mut common = mine.word & other & word::BYTES;
    while common != 0 {
        let first = common.trailing_zeros();
        let bytes = word::bytes(first as usize, (!(common >> first)).trailing_zeros() as usize);
        // SAFETY: the caller's promise; histories stay mapped.
        common &= !unsafe { found_at(thread, &mine, word::only(other, bytes), &*history) };
    }
}

/// The calling thread's access races with the first one that `other` stands for, whose bytes are neighbours. Gives the bytes of the granule for which that is all: those of that access.
///
/// # Safety
/// `thread` is the calling thread's.
unsafe fn found_at(thread: *mut Thread, mine: &Mine<'_>, other: u64, history: &History) -> u64 {
    let bytes = other & word::BYTES;
    let start = mine.granule + u64::from(bytes.trailing_zeros());
    let end = start + u64::from(bytes.count_ones());
    let of = |access: &Access| {
        let from = access.address.max(mine.granule) - mine.granule;
        let upto = access.end().min(mine.granule + GRANULE as u64) - mine.granule;
        word::bytes(from as usize, (upto - from) as usize)
    };
    let clock = word::clock(other);
    let (writes, atomic) = (other & word::WRITE != 0, other & word::ATOMIC != 0);
    let wanted = Wanted { clock, writes, atomic, start, end };
    let place = if word::is_birth(other) { None } else { history.find_place(&wanted) };
    if let Some(Place { access, pc, node }) = &place {
        // SAFETY: the caller's promise.
        let own = way(mine.access, mine.pc, unsafe { Eye::node(thread) });
        if count(key(race::RACE, way(access, *pc, *node), own)) {
            return of(access);
        }
    }
    // A handler that finds a race, too, would wait for a lock that this thread holds.
    let quiet = sys::Quiet::new();
    // SAFETY: the caller's promise.
    let later = unsafe { side(thread, mine) };
    if word::is_birth(other) {
        if let Some(earlier) = birth(start, clock) {
            let written = with(|inner| inner.race(race::RACE, [&earlier, &later], start));
            drop(quiet);
            // SAFETY: the caller's promise.
            unsafe { told(thread, written) };
        }
        return word::BYTES;
    }
    // What was not found is not looked for twice.
    let site = place.and_then(|_| history.find(&wanted));
    if site.is_none() {
        memory::forgotten(history);
    }
    let Some(owner) = history.owner(clock) else { return word::BYTES };
    let mut earlier = Side {
        thread: owner,
        clock,
        known: false,
        access: of_word(other, start, end),
        pc: 0,
        node: 0,
        locks: &[],
    };
    if let Some(site) = &site {
        let Site { access, pc, node, .. } = *site;
        earlier = Side { known: true, access, pc, node, locks: site.locks(), ..earlier };
    }
    let written = with(|inner| inner.race(race::RACE, [&earlier, &later], start));
    drop(quiet);
    // SAFETY: the caller's promise.
    unsafe { told(thread, written) };
    site.map_or(word::BYTES, |site| of(&site.access))
}

/// The calling thread's access as a side.
///
/// # Safety
/// `thread` is the calling thread's, which holds what it holds as long as the side is used.
unsafe fn side<'a>(thread: *mut Thread, mine: &Mine<'_>) -> Side<'a> {
    // SAFETY: the caller's promise.
    unsafe {
        let node = Eye::node(thread);
        let eye = &(*thread).eye;
        Side {
            thread: (*thread).id,
            clock: eye.now(),
            known: true,
            access: *mine.access,
            pc: mine.pc,
            node,
            locks: &eye.held,
        }
    }
}

/// The calling thread's access met the [mark](word::freed) of a block's end.
///
/// # Safety
/// As for [`found`].
#[cold]
#[inline(never)]
unsafe fn behind(thread: *mut Thread, mine: Mine<'_>, mark: u64) {
    let start = mine.granule + u64::from((mine.word & word::BYTES).trailing_zeros());
    // SAFETY: the caller's promise.
    let (end, waiting) = match unsafe { freed::met(thread, &mine, mark, start) } {
        // SAFETY: the caller's promise.
        Met::Word(end) => return unsafe { found(thread, mine, end) },
        Met::Nothing => return,
        Met::Use(end, waiting) => (end, waiting),
    };
    let quiet = sys::Quiet::new();
    // SAFETY: the caller's promise.
    let later = unsafe { side(thread, &mine) };
    let history = slots::history(word::slot(end));
    if history.is_null() {
        return;
    }
    let (clock, access) = (word::clock(end), freed::last(&waiting));
    // SAFETY: histories stay mapped.
    let history = unsafe { &*history };
    let Some(owner) = history.owner(clock) else { return };
    let wanted = Wanted { clock, writes: true, atomic: false, start: access.address, end: access.end() };
    let site = history.find(&wanted).filter(|site| site.access == access);
    let earlier = Side {
        thread: owner,
        clock,
        known: true,
        access,
        pc: tree::calls(waiting.node).next().unwrap_or(0),
        node: tree::parent(waiting.node),
        locks: site.as_ref().map_or(&[], |site| site.locks()),
    };
    let written = with(|inner| inner.race(race::USE_AFTER_FREE, [&earlier, &later], start));
    drop(quiet);
    // SAFETY: the caller's promise.
    unsafe { told(thread, written) };
}

/// A race was judged, and written down at `written` if it is a new one.
///
/// # Safety
/// As for [`record::show`], if there is a record.
unsafe fn told(thread: *mut Thread, written: Option<*const u64>) {
    if let Some(record) = written {
        // SAFETY: the caller's promise; blocks of records stay mapped.
        unsafe { record::show(thread, record) };
    }
    byhand::halt();
}

/// The birth of the block that holds an address.
fn birth(address: u64, clock: u64) -> Option<Side<'static>> {
    use deadheat_core::access::{Mode, Via};
    let (_, Noted { address, size, node, thread, .. }) = block_of(address)?;
    let size = (size as u64).min(BORN);
    let access = Access { address: address as u64, size, mode: Mode::Write, atomic: None, via: Via::Birth };
    let (pc, node) = (tree::calls(node).next().unwrap_or(0), tree::parent(node));
    Some(Side { thread, clock, known: true, access, pc, node, locks: &[] })
}

/// What a word says of its access.
fn of_word(word: u64, start: u64, end: u64) -> Access {
    use deadheat_core::access::{MemoryOrder, Mode, Via};
    let mode = if word & word::WRITE != 0 { Mode::Write } else { Mode::Read };
    let atomic = (word & word::ATOMIC != 0).then_some(MemoryOrder::Relaxed);
    Access { address: start, size: end - start, mode, atomic, via: Via::Code }
}

impl Inner {
    /// Writes a race, or what else is told of two accesses, down, or counts it. Gives the record, if it is a new one.
    fn race(&mut self, kind: u64, sides: [&Side<'_>; 2], address: u64) -> Option<*const u64> {
        if address < NOWHERE || self.benign.iter().any(|range| (range.0..range.1).contains(&address)) {
            return None;
        }
        let ways = sides.map(|side| way(&side.access, side.pc, side.node));
        let pair = key(kind, ways[0], ways[1]);
        let Err(free) = find(pair)? else { return None };
        if self.pairs == MOST_PAIRS {
            return None;
        }
        self.pairs += 1;
        self.put_together(kind, sides, address);
        let count = self.write();
        free.times.store(count, Ordering::Relaxed);
        free.key.store(pair, Ordering::Release);
        // SAFETY: a count lies within its record.
        (!count.is_null()).then(|| unsafe { count.cast_const().sub(race::TIMES) })
    }

    fn push(&mut self, word: u64) {
        if self.len < MOST_WORDS {
            // SAFETY: the words are mapped, and this is within them.
            unsafe { (*self.words)[self.len] = word };
            self.len += 1;
        }
    }

    fn put_together(&mut self, kind: u64, [earlier, later]: [&Side<'_>; 2], address: u64) {
        self.len = 0;
        self.push(0);
        self.push(1);
        self.push(address);
        self.side(earlier);
        self.side(later);
        self.block(block_of(address));
        let words = self.len as u64;
        // SAFETY: the words are mapped.
        unsafe { (*self.words)[0] = words | kind << 32 };
    }

    fn side(&mut self, side: &Side<'_>) {
        let Access { address, size, mode, atomic, via } = side.access;
        let mut flags = mode as u64 | (via as u64) << race::VIA_SHIFT;
        if let Some(order) = atomic {
            flags |= race::ATOMIC | (order as u64) << race::ORDER_SHIFT;
        }
        if side.known {
            flags |= race::SITE;
        }
        self.push(u64::from(side.thread) | flags << 32);
        self.push(address);
        self.push(size);
        self.push(side.pc);
        self.push(side.clock / STEP);
        let counts = self.len;
        self.push(0);
        let calls = self.calls(side.node);
        let locks = &side.locks[..side.locks.len().min(MOST_LOCKS)];
        for held in locks {
            self.push(held.lock);
            self.push(held.mode as u64);
            self.block(block_of(held.lock));
        }
        // SAFETY: the words are mapped.
        unsafe { (*self.words)[counts] = calls as u64 | (locks.len() as u64) << 32 };
    }

    /// The calls that lead to a node, the outermost first; gives how many.
    fn calls(&mut self, node: u32) -> usize {
        let begin = self.len;
        tree::calls(node).take(MOST_CALLS).for_each(|call| self.push(call));
        // SAFETY: the words are mapped, and filled up to `len`.
        unsafe { (&mut (*self.words))[begin..self.len].reverse() };
        self.len - begin
    }

    fn block(&mut self, block: Option<(BlockKind, Noted)>) {
        let (kind, noted) = match block {
            Some((kind, noted)) => (kind as u32, noted),
            None => (race::NO_BLOCK, Noted { address: 0, size: 0, kind: 0, node: 0, thread: 0 }),
        };
        self.push(u64::from(kind) | u64::from(noted.thread) << 32);
        self.push(noted.address as u64);
        self.push(noted.size as u64);
        let pc = self.len;
        self.push(0);
        self.push(0);
        let mut calls = tree::calls(noted.node);
        let place = calls.next().unwrap_or(0);
        drop(calls);
        let mut count = self.calls(noted.node);
        if count > 0 {
            // The innermost is the place of the allocation itself.
            self.len -= 1;
            count -= 1;
        }
        // SAFETY: the words are mapped.
        unsafe {
            (*self.words)[pc] = place;
            (*self.words)[pc + 1] = count as u64;
        }
    }

    /// Writes the record into the file; gives where its count is, or null if there is no space.
    fn write(&mut self) -> *mut u64 {
        let bytes = self.len * size_of::<u64>();
        if self.size - self.used < bytes + size_of::<u64>() {
            let size = BLOCK.max((wire_block::HEADER + bytes + size_of::<u64>()).next_multiple_of(4096));
            let label =
                Label { kind: wire_block::RACES, stream: 0, thread: 0, sequence: self.sequence, used: 0 };
            let Some(taken) = block::take(size, &label) else { return null_mut() };
            (self.block, self.used, self.size) = (taken.start, wire_block::HEADER, taken.size);
            self.sequence += 1;
        }
        // SAFETY: the block has room; its field for the bytes used is aligned.
        unsafe {
            let at = self.block.add(self.used).cast::<u64>();
            core::ptr::copy_nonoverlapping((&raw const (*self.words)).cast(), at, self.len);
            self.used += bytes;
            let used = AtomicU64::from_ptr(self.block.add(wire_block::USED).cast());
            used.store((self.used - wire_block::HEADER) as u64, Ordering::Release);
            RECORDS.fetch_add(1, Ordering::Release);
            at.add(race::TIMES)
        }
    }
}

/// Counts one more meeting of a pair, if it was written down.
fn count(pair: u64) -> bool {
    !BENIGN.load(Ordering::Acquire) && matches!(find(pair), Some(Ok(())))
}

/// Counts one more meeting of a pair that is in the table, or gives the place where it would be; `None` if there is no table.
fn find(pair: u64) -> Option<Result<(), &'static Pair>> {
    // SAFETY: null, or a table that stays mapped; zeros are a pair. A count lies in a block that stays mapped.
    unsafe {
        let table = TABLE.load(Ordering::Acquire).as_ref()?;
        let from = pair as usize % PAIRS;
        let row = table[from..]
            .iter()
            .chain(table)
            .find(|row| [0, pair].contains(&row.key.load(Ordering::Acquire)))?;
        if row.key.load(Ordering::Acquire) != pair {
            return Some(Err(row));
        }
        let times = row.times.load(Ordering::Relaxed);
        if !times.is_null() {
            AtomicU64::from_ptr(times).fetch_add(1, Ordering::Relaxed);
        }
        Some(Ok(()))
    }
}

/// What tells two pairs apart, of what tells their sides apart: never 0.
fn key(kind: u64, earlier: u64, later: u64) -> u64 {
    (earlier ^ later.rotate_left(1) ^ (kind - race::RACE)).max(1)
}

/// What tells two sides apart.
fn way(access: &Access, pc: u64, node: u32) -> u64 {
    let kind = access.mode as u64 | u64::from(access.atomic.is_some()) << 2;
    let way = pc ^ u64::from(node) << 36 ^ kind << 60;
    way.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// The block that holds an address: a thread's storage or stack, a heap block or a mapping.
fn block_of(address: u64) -> Option<(BlockKind, Noted)> {
    slots::storage_of(address).or_else(|| {
        let noted = shadow::noted_around(address as usize)?;
        Some((BlockKind::from_number(noted.kind)?, noted))
    })
}

/// The heap block, live or freed, that holds an address: where it begins, and its size.
pub(crate) fn heap_block(address: usize) -> Option<(usize, usize)> {
    let noted = shadow::noted_around(address)?;
    (BlockKind::from_number(noted.kind) == Some(BlockKind::Heap)).then_some((noted.address, noted.size))
}

/// Takes the lock for a fork.
pub(crate) fn lock_for_fork() {
    REPORT.lock.acquire();
}

/// Gives the lock back after a fork.
pub(crate) fn unlock_after_fork() {
    REPORT.lock.release();
}
