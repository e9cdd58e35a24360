//! What a slot remembers of its accesses: where in the code they were, in which calls, under which locks.
//!
//! A ring of records. Only an access that changes the shadow is noted; what is met without effect has
//! an earlier one of its moment. A *context* record comes first wherever the moment, the calls or the locks are
//! others than at the last record. A table leads from a clock to its first context.
//!
//! A report reads the ring of another thread while that goes on writing; it then looks whether what it read
//! was overwritten meanwhile.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, Ordering, fence};

use deadheat_core::access::{Access, Mode, Via};
use deadheat_core::event::LockMode;
use deadheat_core::race::HeldLock;

use super::list::{LINE, List};
use super::report::MOST_LOCKS as MOST_TOLD;
pub(crate) use super::ring::Kept;
use super::ring::{
    ACCESS, ADDRESS, ATOMIC, CLOCK, CONTEXT, COUNT_SHIFT, CUT, LOCK, MODE_SHIFT, MOST_LOCKS, ORDER_SHIFT,
    RANGE, Ring, SIZE, SIZE_SHIFT, VIA_SHIFT, access, is_context,
};
use super::word::GRANULE;
use super::{memory, pool};
use crate::cold::lock::Lock;
use crate::sys;
use crate::sys::primitive::{futex_wait, pause, yield_now};

/// After so many records it is time to look how much memory there is. The smallest ring has as many.
pub(super) const ROUND: u64 = 1 << 14;
const _: () = assert!(ROUND == 1 << deadheat_core::options::Memory::USUAL.history_log2);

/// What lies before the records that a history begins with.
const HEAD: usize = size_of::<History>().next_multiple_of(LINE) + LINE;
const _: () = assert!(size_of::<Shared>() <= LINE);

/// So many records are written before the count says so.
const AT_ONCE: u64 = 3;

/// One slot's memory of its accesses.
#[repr(C)]
pub(crate) struct History {
    /// How many records were ever written.
    count: AtomicU64,
    /// Where its thread writes them.
    own: UnsafeCell<Ring>,
    /// Where all others read them: the same ring as of when that was last asked, or a smaller one before it, which stays as it was.
    shared: AtomicPtr<Shared>,
    /// Whether its thread is to look how much memory it takes, and should.
    watched: AtomicBool,
    slot: u32,
    /// The clock of the moment of which an access was last waited for in vain; 0: of none.
    missed: AtomicU64,
    owners: Owners,
    /// Not 0: somebody is at the summaries of a ring, and all others do without.
    taken: AtomicU32,
}

/// A ring as those see it who look for accesses.
#[repr(C)]
struct Shared {
    ring: Ring,
    /// Its [summaries](Summary), for who has taken them; null until they are needed.
    rows: UnsafeCell<*mut Summary>,
}

/// Records that have one summary.
const SPAN: u64 = 64;

/// Of the span with a number: what may be accessed there, and its contexts. A moment's accesses that are sought one by one are mostly near each other, and
/// of a moment whose beginning is gone each that is not remembered would be sought among all records.
struct Summary {
    /// The number, and 1; 0: of none.
    of: u64,
    start: u64,
    end: u64,
    /// By a hash, the granules.
    granules: [u64; 8],
    /// The last context's record, and 1; 0: there is none.
    context: u64,
    /// The clock of all contexts; [`u64::MAX`] if they have several.
    clock: u64,
}

impl Summary {
    /// Looks through a span, behind which there is a record.
    fn of(ring: &Ring, span: u64) -> Summary {
        let mut row =
            Summary { of: span + 1, start: u64::MAX, end: 0, granules: [0; 8], context: 0, clock: 0 };
        for at in span * SPAN..(span + 1) * SPAN {
            let (head, tail) = ring.get(at);
            if head & ACCESS != 0 {
                row.add(head & ADDRESS, ring.size_at(at, u64::MAX, tail));
            } else if is_context(head) {
                let clock = head & CLOCK;
                row.clock = if row.context == 0 || row.clock == clock { clock } else { u64::MAX };
                row.context = at + 1;
            }
        }
        row
    }

    /// Whether no access of the span has any of these bytes.
    fn has_none(&self, start: u64, end: u64) -> bool {
        let of_one = granule(start) == granule(end - 1);
        self.end <= start
            || self.start >= end
            || of_one && {
                let (word, bit) = Summary::place(granule(start));
                self.granules[word] & bit == 0
            }
    }

    fn add(&mut self, start: u64, size: u64) {
        let end = start.saturating_add(size.max(1));
        (self.start, self.end) = (self.start.min(start), self.end.max(end));
        let granules = granule(start)..=granule(end - 1);
        if end - start > Kept::MOST as u64 {
            self.granules = [u64::MAX; 8];
            return;
        }
        for granule in granules {
            let (word, bit) = Summary::place(granule);
            self.granules[word] |= bit;
        }
    }

    /// Which bit a granule has.
    fn place(granule: u64) -> (usize, u64) {
        let hash = granule.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55;
        ((hash >> 6) as usize, 1 << (hash & 63))
    }
}

/// The number of the granule of an address.
const fn granule(address: u64) -> u64 {
    address / GRANULE as u64
}

/// The summaries of a ring, taken for as long as it lives.
struct Reading<'a> {
    taken: &'a AtomicU32,
    shared: &'a Shared,
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        self.taken.store(0, Ordering::Release);
    }
}

impl Reading<'_> {
    /// The summary of a span, all of whose records are there.
    fn summary(&mut self, span: u64) -> &Summary {
        let Shared { ring, rows } = self.shared;
        // SAFETY: taken; there is a row for each span of the ring.
        let row = unsafe { &mut *(*rows.get()).add((span & (ring.mask / SPAN)) as usize) };
        if row.of != span + 1 {
            *row = Summary::of(ring, span);
        }
        row
    }
}

/// How far a look for an access has come.
#[derive(Default)]
struct Looked {
    /// The next record, and the context of the one before it.
    at: u64,
    context: u64,
    begun: bool,
}

struct Owners {
    lock: Lock,
    /// Thread numbers, and the clocks, of 29 bits, from which on they had the slot.
    rows: UnsafeCell<List<(u32, u32)>>,
}

/// Where an access was.
pub(crate) struct Place {
    pub(crate) access: Access,
    pub(crate) pc: u64,
    /// The call that it was made in: a node of the tree.
    pub(crate) node: u32,
}

/// What was found of an access.
pub(crate) struct Site {
    pub(crate) access: Access,
    pub(crate) pc: u64,
    /// The call that it was made in: a node of the tree.
    pub(crate) node: u32,
    /// The locks that were held, as many as are told. They take no memory of the pool, whose lock the thread may hold that a
    /// handler interrupted which looks for this.
    locks: [HeldLock; MOST_TOLD],
    lock_count: usize,
}

impl Site {
    /// The locks that were held.
    pub(crate) fn locks(&self) -> &[HeldLock] {
        &self.locks[..self.lock_count]
    }
}

/// How a look for an access went.
enum Found<T> {
    Site(T),
    /// Its moment is not remembered any more, or was without it.
    Forgotten,
    /// Its moment is the last one of the history, which does not have it yet.
    NotYet,
    /// The history does not have its moment yet.
    ToCome,
}

/// What [`History::find`] looks for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted {
    pub(crate) clock: u64,
    pub(crate) writes: bool,
    pub(crate) atomic: bool,
    /// The bytes, one of which it touched.
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl History {
    /// An empty one for a slot. Its memory is used as it fills.
    pub(crate) fn make(slot: u32) -> *mut History {
        let records = memory::history_records(slot);
        let made = pool::map(HEAD + Ring::size(records));
        // SAFETY: fresh memory, which holds the tables behind the rest; all zeros is an empty history but for these fields.
        unsafe {
            let history = made.cast::<History>();
            let shared = made.add(size_of::<History>().next_multiple_of(LINE)).cast::<Shared>();
            (*shared).ring = Ring::lay(made.add(HEAD), records);
            *(*history).own.get() = (*shared).ring;
            (*history).shared = AtomicPtr::new(shared);
            (*history).slot = slot;
            (*history).watched = AtomicBool::new(memory::is_watched());
            history
        }
    }

    /// Remembers more from now on: what it remembers so far it goes on to remember. For its thread, just before it notes a context of its
    /// moment, whose clock this is; no handler of it writes meanwhile.
    ///
    /// # Safety
    /// `memory` has [`Self::room`] for so many records, all zeros, for good, and they are more than there are.
    pub(super) unsafe fn grow(&self, clock: u64, (memory, records): (*mut u8, usize)) {
        let count = self.count();
        // SAFETY: the caller's promise; the thread's own state.
        unsafe {
            let shared = memory.cast::<Shared>();
            (*shared).ring = Ring::lay(memory.add(LINE), records);
            let (ring, smaller) = (&(*shared).ring, *self.own());
            ring.take_over(&smaller, count);
            if smaller.mask < count - (smaller.begin(clock).load(Ordering::Relaxed) & !CUT).min(count) {
                ring.begin(clock).store(count | CUT, Ordering::Relaxed);
            }
            *self.own.get() = *ring;
            self.shared.store(shared, Ordering::Release);
        }
    }

    /// How much memory it takes to remember so many records.
    pub(super) const fn room(records: usize) -> usize {
        LINE + Ring::size(records)
    }

    /// Its slot, and how many records are remembered.
    pub(super) fn extent(&self) -> (u32, usize) {
        (self.slot, self.shared().ring.mask as usize + 1)
    }

    /// Its thread is to look how much memory there is and should be, or need not any more.
    pub(super) fn watch(&self, watched: bool) {
        self.watched.store(watched, Ordering::Relaxed);
    }

    /// Whether its thread is to do so.
    #[inline(always)]
    pub(super) fn is_watched(&self) -> bool {
        self.watched.load(Ordering::Relaxed)
    }

    /// Where its thread writes.
    #[inline(always)]
    fn own(&self) -> &Ring {
        // SAFETY: only its thread asks, which alone changes it.
        unsafe { &*self.own.get() }
    }

    /// Where all others read. To be asked after [`Self::count`]: then all those records are there that are not too old.
    fn shared(&self) -> &Shared {
        // SAFETY: what is shared stays.
        unsafe { &*self.shared.load(Ordering::Acquire) }
    }

    /// The thread `id` has the slot from `clock` on.
    pub(crate) fn owned_by(&self, id: u32, clock: u64) {
        // A handler that finds a race asks who had the slot.
        let _quiet = sys::Quiet::new();
        self.owners.lock.with(|| {
            // SAFETY: under the lock.
            unsafe { (*self.owners.rows.get()).push((id, clock as u32)) };
        });
    }

    /// Which thread had the slot at `clock`.
    pub(crate) fn owner(&self, clock: u64) -> Option<u32> {
        self.owners.lock.with(|| {
            // SAFETY: under the lock.
            let rows = unsafe { &*self.owners.rows.get() };
            rows.iter().rev().find(|row| u64::from(row.1) <= clock).map(|row| row.0)
        })
    }

    /// How many records were ever written.
    #[inline(always)]
    pub(crate) fn count(&self) -> u64 {
        self.count.load(Ordering::Relaxed)
    }

    #[inline(always)]
    fn put(&self, first: u64, second: u64) -> u64 {
        let count = self.count.load(Ordering::Relaxed);
        self.own().put(count, (first, second));
        self.count.store(count + 1, Ordering::Release);
        count + 1
    }

    /// A context is about to be noted.
    #[inline(always)]
    fn reach(&self, (clock, begun): (u64, u64)) {
        let ring = self.own();
        let begins = ring.begin(clock);
        let count = self.count();
        if count == begun {
            begins.store(count, Ordering::Relaxed);
        } else if count - (begins.load(Ordering::Relaxed) & !CUT) > ring.mask {
            begins.store(count | CUT, Ordering::Relaxed);
        }
    }

    /// Notes a context without locks, and in it the access by which the life of a small block ends.
    #[inline(always)]
    pub(crate) fn end_in(&self, (clock, begun): (u64, u64), node: u32, block: (usize, usize), pc: u64) {
        const KIND: u64 = (Mode::Write as u64) << MODE_SHIFT | (Via::Free as u64) << VIA_SHIFT;
        let (address, size) = (block.0 as u64, block.1 as u64);
        self.reach((clock, begun));
        let count = self.count();
        let ring = self.own();
        ring.put(count, (CONTEXT | clock, u64::from(node)));
        let exact = size.is_power_of_two();
        let log2 = if exact { u64::from(size.trailing_zeros()) } else { RANGE };
        ring.put(count + 1, (ACCESS | KIND | address & ADDRESS, log2 << SIZE_SHIFT | pc & ADDRESS));
        // What is behind the last record is nobody's; there are at the most `AT_ONCE`.
        ring.put(count + 2, (SIZE | size, 0));
        self.count.store(count + if exact { 2 } else { 3 }, Ordering::Release);
    }

    /// Notes the context of what follows. `begun`: how many records there were when the moment began.
    #[inline]
    pub(crate) fn context(&self, (clock, begun): (u64, u64), node: u32, locks: &[HeldLock]) {
        self.reach((clock, begun));
        // More are not told of.
        let locks = &locks[..locks.len().min(MOST_TOLD)];
        self.put(CONTEXT | (locks.len() as u64) << COUNT_SHIFT | clock, u64::from(node));
        for held in locks {
            self.put(LOCK | (held.mode as u64) << COUNT_SHIFT | held.lock & ADDRESS, 0);
        }
    }

    /// As [`Self::context`], with few steps where at most one lock is held and the moment's beginning is there, or is now; `false` if that
    /// is not so.
    #[inline(always)]
    pub(crate) fn context_in_short(&self, (clock, begun): (u64, u64), node: u32, locks: &[HeldLock]) -> bool {
        let count = self.count();
        let ring = self.own();
        let begins = ring.begin(clock);
        if locks.len() > 1 || count == 0 {
            return false;
        }
        if count == begun {
            begins.store(count, Ordering::Relaxed);
        } else if count - (begins.load(Ordering::Relaxed) & !CUT) > ring.mask {
            return false;
        }
        self.put(CONTEXT | (locks.len() as u64) << COUNT_SHIFT | clock, u64::from(node));
        if let [held] = locks {
            self.put(LOCK | (held.mode as u64) << COUNT_SHIFT | held.lock & ADDRESS, 0);
        }
        true
    }

    /// Notes an access of a hook; `true` once a round.
    #[inline(always)]
    pub(crate) fn keep(&self, kept: Kept) -> bool {
        self.put(kept.first, kept.second).is_multiple_of(ROUND)
    }

    /// Notes an access.
    #[inline]
    pub(crate) fn access(&self, access: &Access, pc: u64) {
        let log2 =
            if access.size.is_power_of_two() { u64::from(access.size.trailing_zeros()) } else { RANGE };
        let log2 = if log2 < RANGE { log2 } else { RANGE };
        let order = access.atomic.map_or(0, |order| ATOMIC | (order as u64) << ORDER_SHIFT);
        let kind = (access.mode as u64) << MODE_SHIFT | (access.via as u64) << VIA_SHIFT | order;
        let size = if log2 == RANGE && access.size <= Kept::MOST as u64 { access.size } else { 0 };
        let second = log2 << SIZE_SHIFT | size << COUNT_SHIFT | pc & ADDRESS;
        self.put(ACCESS | kind | access.address & ADDRESS, second);
        if log2 == RANGE && size == 0 {
            self.put(SIZE | access.size & ADDRESS, 0);
        }
    }

    /// Looks for the first access of a moment to some bytes. `None` if it is not remembered any more.
    ///
    /// An access is noted right after the shadow shows it, the first one of a moment together with that, so what is not there yet is waited for, also where its thread
    /// has no processor meanwhile. What never comes, as what a handler does that interrupted a hook, is waited for once.
    pub(crate) fn find(&self, wanted: &Wanted) -> Option<Site> {
        self.find_as(wanted, site)
    }

    /// As [`Self::find`], but for the locks.
    pub(crate) fn find_place(&self, wanted: &Wanted) -> Option<Place> {
        self.find_as(wanted, |_, place| place)
    }

    /// As [`Self::find`]. `make`: what is to be had of the place of an access, and of the record that tells of its calls and locks.
    fn find_as<T>(&self, wanted: &Wanted, make: impl Fn((&Ring, u64), Place) -> T) -> Option<T> {
        const FEW: u32 = 10;
        let mut looked = Looked::default();
        for attempt in 0.. {
            match self.find_now(wanted, &mut looked, &make) {
                Found::Site(site) => return Some(site),
                Found::Forgotten => break,
                // Mostly it was in the part that is gone.
                Found::NotYet
                    if attempt >= FEW
                        && self.shared().ring.begin(wanted.clock).load(Ordering::Relaxed) & CUT != 0 =>
                {
                    break;
                }
                Found::NotYet | Found::ToCome => {
                    if !self.wait(attempt, wanted.clock) {
                        break;
                    }
                }
            }
        }
        None
    }

    /// Waits for an access of the moment of a clock for the so manyth time; `false` if it was long enough.
    fn wait(&self, attempt: u32, clock: u64) -> bool {
        const SPINS: u32 = 200;
        const YIELDS: u32 = SPINS + 200;
        const SLEEPS: u32 = YIELDS + 500;
        const MILLISECOND: u64 = 1_000_000;
        match attempt {
            ..SPINS => pause(),
            SPINS..YIELDS => yield_now(),
            YIELDS..SLEEPS if self.missed.load(Ordering::Relaxed) != clock => {
                futex_wait(&AtomicU32::new(0), 0, MILLISECOND);
            }
            _ => {
                self.missed.store(clock, Ordering::Relaxed);
                return false;
            }
        }
        true
    }

    fn find_now<T>(
        &self,
        wanted: &Wanted,
        looked: &mut Looked,
        make: impl Fn((&Ring, u64), Place) -> T,
    ) -> Found<T> {
        let count = self.count.load(Ordering::Acquire);
        let shared = self.shared();
        let ring = &shared.ring;
        let begin = ring.begin(wanted.clock).load(Ordering::Relaxed) & !CUT;
        // What was looked at before is not looked at again.
        if !looked.begun || looked.at <= begin {
            *looked = Looked { at: begin, context: 0, begun: false };
        }
        // Few records are looked at as fast.
        let reading = if count - looked.at.min(count) > 4 * SPAN { self.reading(shared) } else { None };
        let found = find_from((begin, count), ring, reading, wanted, looked, make);
        fence(Ordering::Acquire);
        // What was written meanwhile went over the oldest records.
        let gone = self.count.load(Ordering::Relaxed) > begin + ring.mask - AT_ONCE;
        match found {
            Found::Forgotten if is_to_come(ring, wanted.clock, count) => Found::ToCome,
            _ if gone => Found::Forgotten,
            found => found,
        }
    }

    /// The summaries, unless somebody is at them.
    fn reading<'a>(&'a self, shared: &'a Shared) -> Option<Reading<'a>> {
        self.taken.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).ok()?;
        let reading = Reading { taken: &self.taken, shared };
        // SAFETY: taken; all zeros are summaries of nothing.
        unsafe {
            let rows = shared.rows.get();
            if (*rows).is_null() {
                *rows =
                    pool::map((shared.ring.mask as usize + 1) / SPAN as usize * size_of::<Summary>()).cast();
            }
        }
        Some(reading)
    }
}

/// Whether all moments of which the history had something when it had `count` records are before a clock. What the table says of that is of another one then.
fn is_to_come(ring: &Ring, clock: u64, count: u64) -> bool {
    let mut heads = (count.saturating_sub(ring.mask)..count).rev().map(|at| ring.get(at).0);
    let last = heads.find(|&head| is_context(head));
    last.map_or(count == 0, |head| head & CLOCK < clock)
}

/// Looks from where a moment begins.
fn find_from<T>(
    (begin, count): (u64, u64),
    ring: &Ring,
    mut reading: Option<Reading<'_>>,
    wanted: &Wanted,
    looked: &mut Looked,
    make: impl Fn((&Ring, u64), Place) -> T,
) -> Found<T> {
    if begin >= count || count - begin > ring.mask {
        return Found::Forgotten;
    }
    while looked.at < count {
        let at = looked.at;
        if looked.begun
            && at.is_multiple_of(SPAN)
            && count - at > SPAN
            && let Some(summary) = reading.as_mut().map(|reading| reading.summary(at / SPAN))
            && summary.has_none(wanted.start, wanted.end)
            && (summary.context == 0 || summary.clock == wanted.clock)
        {
            looked.at += SPAN;
            if summary.context != 0 {
                looked.context = summary.context - 1;
            }
            continue;
        }
        let (head, tail) = ring.get(at);
        if head & ACCESS != 0 {
            if let Some(access) = fits(ring, at, count, wanted) {
                let node = ring.get(looked.context).1 as u32;
                return Found::Site(make((ring, looked.context), Place { access, pc: tail & ADDRESS, node }));
            }
        } else if is_context(head) {
            if head & CLOCK != wanted.clock {
                return Found::Forgotten;
            }
            looked.context = at;
        } else if !looked.begun {
            return Found::Forgotten;
        }
        looked.begun = true;
        looked.at += 1;
    }
    Found::NotYet
}

/// The access at a record, if it is one that is wanted.
fn fits(ring: &Ring, at: u64, count: u64, wanted: &Wanted) -> Option<Access> {
    let (head, tail) = ring.get(at);
    let found = access(head, ring.size_at(at, count, tail));
    let fits = found.address < wanted.end
        && found.end() > wanted.start
        && found.mode.writes() == wanted.writes
        && found.atomic.is_some() == wanted.atomic;
    fits.then_some(found)
}

/// What there is to say of the place of an access, behind the record of its context.
fn site((ring, context): (&Ring, u64), Place { access, pc, node }: Place) -> Site {
    let head = ring.get(context).0;
    let mut locks = [HeldLock { lock: 0, mode: LockMode::Write }; MOST_TOLD];
    let lock_count = MOST_TOLD.min((head >> COUNT_SHIFT) as usize & MOST_LOCKS);
    for (at, held) in locks.iter_mut().enumerate().take(lock_count) {
        let (lock, _) = ring.get(context + 1 + at as u64);
        let mode = if lock >> COUNT_SHIFT & 1 == 0 { LockMode::Write } else { LockMode::Read };
        *held = HeldLock { lock: lock & ADDRESS, mode };
    }
    Site { access, pc, node, locks, lock_count }
}
