//! What all imported formats share: ids for names, and the mending of dirty lock use.
//!
//! Real traces hold reentrant acquires, releases of locks that were never taken, and locks held
//! at the end. Only the outermost acquire and release of a thread are delivered, so a lock is
//! not released early; a release without an acquire is left out. [`Dirt`] counts both.

use std::slice;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_core::wire::LOCK_BASE;

use crate::summary::{Dirt, Summary};
use crate::tables::{Interner, Names, Short, Tables};
use crate::visit::Visit;
use crate::wellformed::First;

/// Thread names `T0` to this are found without a search.
const DIRECT: usize = 1 << 12;

/// How many usual lines are looked up together.
pub(crate) const BATCH: usize = 16;

/// One event of a text.
pub(crate) type Parsed = (ThreadId, PlaceId, Op);

/// Every imported variable has this size.
pub(crate) const SIZE: u64 = 8;

/// What most lines say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum What {
    Read,
    Write,
    Acquire,
    Release,
}

/// A line of the usual sort, whose name is not looked up yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    pub(crate) thread: ThreadId,
    pub(crate) place: PlaceId,
    pub(crate) what: What,
    pub(crate) name: Short,
}

impl Usual {
    /// The variable's or lock's address, if it is known.
    #[inline(always)]
    fn look(&self, names: &Names) -> Option<u64> {
        match self.what {
            What::Read | What::Write => names.look_variable(self.name),
            What::Acquire | What::Release => names.look_lock(self.name),
        }
    }

    /// The event; `address` is that of its variable or lock, if it is known.
    #[inline(always)]
    pub(crate) fn complete(&self, import: &mut Import<'_>, address: Option<u64>) -> Parsed {
        let names = &mut import.tables.names;
        let address = match (address, self.what) {
            (Some(address), _) => address,
            (None, What::Read | What::Write) => names.variable(&self.name.bytes()),
            (None, What::Acquire | What::Release) => names.lock(&self.name.bytes()),
        };
        let mode = LockMode::Write;
        let op = match self.what {
            What::Read => Op::Access(Access::plain(address, SIZE, Mode::Read)),
            What::Write => Op::Access(Access::plain(address, SIZE, Mode::Write)),
            What::Acquire => Op::Acquire { lock: address, mode },
            What::Release => Op::Release { lock: address, mode },
        };
        (self.thread, self.place, op)
    }
}

/// Why a line is no event: the column, from 0, and the reason.
#[derive(Debug)]
pub(crate) struct Wrong(pub(crate) usize, pub(crate) &'static str);

/// The state of an import.
pub(crate) struct Import<'a> {
    pub(crate) tables: &'a mut Tables,
    threads: Interner,
    /// Thread ids by number in `T0`, plus 1.
    direct: Vec<u32>,
    /// Who holds each lock, and how often.
    holders: Vec<Vec<(ThreadId, u32)>>,
    dirt: Dirt,
    events: u64,
    accesses: u64,
}

impl<'a> Import<'a> {
    pub(crate) fn new(tables: &'a mut Tables) -> Self {
        let (threads, direct, holders) = (Interner::default(), vec![0; DIRECT], Vec::new());
        Import { tables, threads, direct, holders, dirt: Dirt::default(), events: 0, accesses: 0 }
    }

    /// The thread of that name. `T5` and `5` are one thread.
    #[inline]
    pub(crate) fn thread(&mut self, name: &[u8]) -> ThreadId {
        let digits = name.strip_prefix(b"T").unwrap_or(name);
        match number(digits) {
            Some(number) if number < DIRECT as u64 && (digits[0] != b'0' || digits.len() == 1) => {
                match self.direct[number as usize] {
                    0 => self.thread_by_name(digits, true),
                    id => ThreadId(id - 1),
                }
            }
            Some(_) => self.thread_by_name(digits, true),
            None => self.thread_by_name(name, false),
        }
    }

    /// The thread `T` and a number, written without leading zeros, if it is known.
    #[inline(always)]
    pub(crate) fn thread_by_number(&self, number: u64) -> Option<ThreadId> {
        self.direct.get(usize::try_from(number).ok()?)?.checked_sub(1).map(ThreadId)
    }

    #[cold]
    fn thread_by_name(&mut self, name: &[u8], numbered: bool) -> ThreadId {
        let known = self.threads.len();
        let id = self.threads.intern(name);
        if id as usize == known {
            let text = String::from_utf8_lossy(name);
            let thread = self.tables.threads.name(ThreadId(id));
            *thread = if numbered { format!("T{text}") } else { text.into_owned() };
        }
        if let Some(number) = number(name)
            && let Some(direct) = self.direct.get_mut(number as usize)
            && (name[0] != b'0' || name.len() == 1)
        {
            *direct = id + 1;
        }
        ThreadId(id)
    }

    /// Delivers an event, if it is not one to leave out; says whether to go on.
    #[inline]
    pub(crate) fn deliver(&mut self, (thread, place, op): Parsed, visit: &mut impl Visit) -> bool {
        match op {
            Op::Access(access) => {
                self.accesses += 1;
                self.tables.threads.see(thread);
                if let Some(form) = Form::of(&access) {
                    self.events += 1;
                    let plain = Plain { address: access.address, place, stack: StackId::EMPTY, form };
                    return visit.plain(thread, slice::from_ref(&plain), self.tables);
                }
            }
            _ if !self.note(thread, place, op) => return true,
            _ => {}
        }
        self.events += 1;
        visit.event(&Event { thread, place, stack: StackId::EMPTY, times: 1, op }, self.tables)
    }

    /// Delivers usual lines, and empties the list; says whether to go on.
    ///
    /// All names are looked for before the first event is delivered: so the waits for the table's
    /// memory overlap.
    #[inline]
    pub(crate) fn deliver_all(&mut self, batch: &mut Vec<Usual>, visit: &mut impl Visit) -> bool {
        let mut addresses = [None; BATCH];
        for (address, usual) in addresses.iter_mut().zip(&*batch) {
            *address = usual.look(&self.tables.names);
        }
        for (address, usual) in addresses.into_iter().zip(&*batch) {
            let parsed = usual.complete(self, address);
            if !self.deliver(parsed, visit) {
                return false;
            }
        }
        batch.clear();
        true
    }

    /// Notes what an event that is no access means for threads and locks; `false` to leave it out.
    fn note(&mut self, thread: ThreadId, place: PlaceId, op: Op) -> bool {
        let row = self.tables.threads.see(thread);
        match op {
            Op::Acquire { lock, .. } => self.acquire(thread, lock),
            Op::Release { lock, .. } => self.release(thread, place, lock),
            Op::Fork { child } => {
                self.tables.threads.fork(thread, child, (place, StackId::EMPTY));
                true
            }
            Op::Begin => {
                row.begun = true;
                true
            }
            Op::End => {
                row.ended = true;
                true
            }
            _ => true,
        }
    }

    fn acquire(&mut self, thread: ThreadId, lock: u64) -> bool {
        let holders = self.holders(lock);
        if let Some((_, depth)) = holders.iter_mut().find(|(holder, _)| *holder == thread) {
            *depth += 1;
            self.dirt.reentrant_acquires += 1;
            return false;
        }
        let held = !holders.is_empty();
        holders.push((thread, 1));
        self.dirt.acquires_of_held += u64::from(held);
        true
    }

    fn release(&mut self, thread: ThreadId, place: PlaceId, lock: u64) -> bool {
        let event = self.events + 1;
        let holders = self.holders(lock);
        let Some(at) = holders.iter().position(|(holder, _)| *holder == thread) else {
            let other = holders.first().map(|&(holder, _)| holder);
            let first = First { event, thread, place, stack: StackId::EMPTY, lock: Some(lock), other };
            self.dirt.first_release_not_held.get_or_insert(first);
            self.dirt.releases_not_held += 1;
            return false;
        };
        holders[at].1 -= 1;
        if holders[at].1 > 0 {
            self.dirt.reentrant_releases += 1;
            return false;
        }
        holders.remove(at);
        true
    }

    fn holders(&mut self, lock: u64) -> &mut Vec<(ThreadId, u32)> {
        let number = ((lock - LOCK_BASE) / 8) as usize;
        if number >= self.holders.len() {
            self.holders.resize_with(number + 1, Vec::new);
        }
        &mut self.holders[number]
    }

    /// Tells what was read.
    pub(crate) fn sum_up(mut self, summary: &mut Summary) {
        self.dirt.held_at_end = self.holders.iter().map(|holders| holders.len() as u64).sum();
        summary.dirt = self.dirt;
        summary.events = self.events;
        summary.accesses = self.accesses;
        summary.accesses_made = self.accesses;
    }
}

/// The number that the digits spell, if they are digits and no more than 19.
#[inline]
pub(crate) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > 19 {
        return None;
    }
    let mut value = 0;
    for &byte in digits {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + u64::from(byte - b'0');
    }
    Some(value)
}
