//! The happens-before order of a run, as it grows event by event.
//!
//! Rules, one function each: program order, locks (write and read mode), fork and join,
//! semaphores, one-time initialisation, announced orders, condition variables, barriers, and
//! the synchronises-with of C++ for atomics and fences:
//!
//! - A release store begins a release sequence. A store of another thread ends it; a read-modify-write continues it, and heads
//!   a sequence of its own if it releases. A store of the thread that began it continues it, as in C++11 to C++17 and C11 to C17:
//!   programs rely on it that are right by those, C++20 gave it up for the sake of its text, and no compiler is known to make use of that.
//!   Where another thread has headed a sequence meanwhile, it ends all the same.
//! - An acquire load that reads from a release sequence sees what its head published. A relaxed
//!   load leaves that to the thread's next acquire fence.
//! - A relaxed store publishes what the thread's last release fence could see.
//! - A seq_cst operation or fence is an acquire-release one. The single total order of seq_cst
//!   operations restricts which values may be read; it makes nothing happen before anything
//!   else, so no edge is drawn from it.
//! - A plain store to bytes of an atomic ends their release sequences, as it writes values
//!   that nobody released.
//! - What a program announces at an address (`__tsan_release`) is seen by who acquires an atomic
//!   or a lock there, whatever is stored behind it but by a release; who acquires what was
//!   announced (`__tsan_acquire`) sees what these show.
//! - Atomics are known by their bytes. Where a program accesses some of them in operations of several sizes (which the
//!   standards do not speak of), a load sees what is shown of each byte that it reads, and a read-modify-write passes on all of that with
//!   each byte that it writes: they are one value, as they were when it read them. A thread's own store continues only what it published by operations on the same
//!   bytes.

use deadheat_core::access::{Access, MemoryOrder};
use deadheat_core::event::{LockMode, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::HeldLock;

use super::atomics::parts;
use super::lockset::{LockTable, Released};
use super::objects::{Objects, Point};
use super::threads::Threads;
use super::vector::Clock;

/// Threads, locks and objects, and what each of them knows of the others' past.
#[derive(Debug, Default)]
pub struct Order {
    /// The threads and their clocks.
    pub threads: Threads,
    /// The lock sets.
    pub locks: LockTable,
    /// The objects.
    pub objects: Objects,
}

impl Order {
    /// The thread now holds a lock.
    pub fn acquire(&mut self, row: usize, lock: u64, mode: LockMode) {
        let thread = self.threads.row_mut(row);
        let outermost = thread.held.take(lock, mode, thread.locks);
        let object = self.objects.lock(lock);
        thread.clock.join(&object.written);
        if mode == LockMode::Write {
            thread.clock.join(&object.read);
        }
        if outermost {
            thread.locks = self.locks.with(thread.locks, HeldLock { lock, mode });
        }
    }

    /// The thread gives a lock back. `mode` counts only if it was never seen taking it.
    ///
    /// A lock that was taken more than once stays held, but what was done is published all the
    /// same: nobody can see it before the last release, which publishes more, unless the trace
    /// lacks that one.
    pub fn release(&mut self, row: usize, lock: u64, mode: LockMode) {
        let thread = self.threads.row_mut(row);
        let released = thread.held.give(lock);
        let mode = match released {
            Released::Inner(held) | Released::Outer(held, _) => held,
            Released::Unheld => mode,
        };
        let object = self.objects.lock(lock);
        match mode {
            LockMode::Write => {
                object.written.assign(&thread.clock);
                object.read.clear();
            }
            LockMode::Read => object.read.join(&thread.clock),
        }
        if let Released::Outer(_, others) = released {
            thread.locks = others.unwrap_or_else(|| self.locks.without(thread.locks, lock));
        }
        self.threads.publish(row);
    }

    /// The thread creates another.
    pub fn fork(&mut self, row: usize, child: ThreadId) {
        self.threads.fork(row, child);
    }

    /// The thread has seen another end.
    pub fn join(&mut self, row: usize, child: ThreadId) {
        self.threads.join(row, child);
    }

    /// The thread wakes waiters or publishes what it did.
    pub fn signal(&mut self, row: usize, object: u64, kind: SyncKind) {
        let clock = &self.threads.row(row).clock;
        match Point::of(kind) {
            Some(Point::Annotation) => self.objects.announce(object, clock),
            Some(family) => self.objects.point(object, family).join(clock),
            None => {
                if !self.objects.condition(object).signal(clock) {
                    return;
                }
            }
        }
        self.threads.publish(row);
    }

    /// The thread begins to wait.
    pub fn begin_wait(&mut self, row: usize, object: u64, kind: SyncKind) {
        if Point::of(kind).is_none() {
            self.objects.condition(object).begin(self.threads.row(row).id);
        }
    }

    /// The thread's wait is over.
    pub fn end_wait(&mut self, row: usize, object: u64, kind: SyncKind, woken: bool) {
        if kind == SyncKind::Everything {
            return self.threads.learn_all(row);
        }
        let thread = self.threads.row_mut(row);
        match Point::of(kind) {
            Some(Point::Annotation) if woken => self.objects.announced(object, &mut thread.clock),
            Some(family) if woken => thread.clock.join(self.objects.point(object, family)),
            Some(_) => {}
            None => {
                let seen = self.objects.condition(object).end(thread.id);
                if let Some(seen) = seen.filter(|_| woken) {
                    thread.clock.join(&seen);
                }
            }
        }
    }

    /// The thread arrives at a barrier.
    pub fn arrive(&mut self, row: usize, barrier: u64, count: u32) {
        let thread = self.threads.row(row);
        self.objects.barrier(barrier).arrive(thread.id, &thread.clock, count);
        self.threads.publish(row);
    }

    /// The thread leaves a barrier.
    pub fn leave(&mut self, row: usize, barrier: u64) {
        let thread = self.threads.row_mut(row);
        self.objects.barrier(barrier).leave(thread.id, &mut thread.clock);
    }

    /// The thread passes a fence.
    pub fn fence(&mut self, row: usize, order: MemoryOrder) {
        let thread = self.threads.row_mut(row);
        if order.acquires() {
            thread.clock.join(&thread.fences.loaded);
        }
        if order.releases() {
            thread.fences.released.assign(&thread.clock);
            self.threads.publish(row);
        }
    }

    /// What an atomic access learns. It comes before the access itself is judged: an access
    /// happens after everything that it synchronises with.
    pub fn atomic_learns(&mut self, row: usize, access: &Access, order: MemoryOrder) {
        if !access.mode.reads() {
            return;
        }
        let thread = self.threads.row_mut(row);
        let known = if order.acquires() { &mut thread.clock } else { &mut thread.fences.loaded };
        self.objects.each_shown(access, |shown| known.join(shown));
    }

    /// What an atomic access publishes. It comes after the access itself was judged: who
    /// synchronises with an access has seen it.
    pub fn atomic_publishes(&mut self, row: usize, access: &Access, order: MemoryOrder) {
        if !access.mode.writes() {
            return;
        }
        let Some(bytes) = self.objects.alone(access) else {
            return self.atomic_publishes_across(row, access, order);
        };
        let thread = self.threads.row(row);
        let own = Some(thread.id);
        if order.releases() {
            let atomic = self.objects.atomic_mut(bytes);
            if access.mode.reads() {
                atomic.shown.join(&thread.clock);
                atomic.own = own.filter(|_| order.acquires());
            } else {
                atomic.shown.assign(&thread.clock);
                atomic.own = own;
            }
            return self.threads.publish(row);
        }
        if !access.mode.reads() && self.objects.atomic(bytes).is_some_and(|atomic| atomic.own != own) {
            self.objects.silence_atomic(bytes);
        }
        let published = &thread.fences.released;
        if !published.is_empty() {
            let atomic = self.objects.atomic_mut(bytes);
            atomic.shown.join(published);
            atomic.own = atomic.own.filter(|_| atomic.own == own);
        }
    }

    /// As [`Self::atomic_publishes`], of an access to other bytes than those of atomics that have some of them, or to bytes of more than a granule. What
    /// it read it passes on with all that it wrote.
    #[cold]
    fn atomic_publishes_across(&mut self, row: usize, access: &Access, order: MemoryOrder) {
        let (reads, releases) = (access.mode.reads(), order.releases());
        let mut shown = Clock::default();
        let mut is_over = false;
        self.objects.each_shown(access, |seen| {
            is_over = true;
            if reads {
                shown.join(seen);
            }
        });
        let thread = self.threads.row(row);
        shown.join(if releases { &thread.clock } else { &thread.fences.released });
        if shown.is_empty() && (reads || !is_over) {
            return;
        }
        let is_own = releases && (!reads || order.acquires()) && parts(access).count() == 1;
        let own = Some(thread.id).filter(|_| is_own);
        self.objects.cut(access, |atomic, announced| {
            atomic.shown.assign(&shown);
            if let Some(announced) = announced.filter(|_| !reads && !releases) {
                atomic.shown.join(announced);
            }
            atomic.own = own;
        });
        if releases {
            self.threads.publish(row);
        }
    }
}
