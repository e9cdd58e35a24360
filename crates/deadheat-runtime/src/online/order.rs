//! The happens-before order, as it grows event by event: the rules of the offline analysis, with the same
//! names. (`deadheat_detect::clock::order` says what they are, and a test holds the two together.)
//!
//! A thread's clock in its own slot is that of its last moment with an access. Its present moment is one later, and
//! a release begins a new one if the present one had an access, or the thread learned something in it: so whoever knows a
//! slot's clock knows all that its thread knew when it published it.

use deadheat_core::access::{MemoryOrder, Mode};
use deadheat_core::event::{LockMode, SyncKind};
use deadheat_core::race::HeldLock;

use super::clock::Clock;
use super::eye::{Eye, Taken};
use super::object::{self, Bytes, Family, Found, Object, Round};
use super::set::Seen;
use super::slots;
use super::word;
use crate::hot::atomic;
use crate::hot::stripe::{Held, Shown};

/// The family of a kind; `None` for condition variables and for what is no object, which work otherwise.
const fn family(kind: SyncKind) -> Option<Family> {
    match kind {
        SyncKind::Condition | SyncKind::ConditionAll | SyncKind::Everything => None,
        SyncKind::Semaphore => Some(Family::Semaphore),
        SyncKind::Once => Some(Family::Once),
        SyncKind::Annotation => Some(Family::Annotation),
    }
}

impl Eye {
    /// Makes room for so many slots in the own clock.
    #[inline(always)]
    fn make_room(&mut self, width: usize) {
        if width > self.clock.width() {
            // Other threads may ask what this one knows while its memory changes place.
            slots::alone_with(|| self.clock.widen(width));
        }
    }

    /// Learns what another clock knows.
    #[inline]
    fn learn(&mut self, clock: &Clock) {
        self.make_room(clock.width());
        if self.clock.join(clock) {
            self.version += 1;
            self.changed = true;
        }
    }

    /// Learns what an object published, unless it is known already.
    #[inline]
    fn learn_from(&mut self, object: &Object) {
        if !self.knows(object) {
            self.learn_shown(object);
        }
    }

    /// Learns what an object shows.
    #[inline]
    fn learn_shown(&mut self, object: &Object) {
        self.learn(&object.written);
        let (slot, clock) = object.by;
        if slot != 0 && self.clock.get(slot) < clock {
            // What is shown may end before the slot of who published it.
            self.make_room(slot as usize + 1);
            self.clock.set(slot, clock);
            self.version += 1;
            self.changed = true;
        }
    }

    /// Publishes all that is known to an object that shows nothing else.
    #[inline]
    pub(super) fn publish_to(&mut self, object: &mut Object) {
        let now = self.tell();
        if object.by.0 != self.slot || object.version != self.version {
            self.show_all(object);
        }
        object.by = (self.slot, now);
        self.begin_moment();
    }

    #[inline(never)]
    fn show_all(&self, object: &mut Object) {
        object.show(&self.clock, slots::needed(&self.clock));
        object.version = self.version;
    }

    /// The own clock as it is published, after which [`Self::begin_moment`] is due.
    #[inline]
    pub(super) fn tell(&mut self) -> u64 {
        if self.used() {
            self.clock.set(self.slot, self.now());
        }
        self.clock.get(self.slot)
    }

    /// The thread now holds a lock that it took at `node`.
    pub(super) fn acquire(&mut self, owner: (u32, bool), lock: u64, mode: LockMode, node: u32) {
        self.take_lock(lock, mode, node);
        let Some(_held) = atomic::hold(lock as usize, owner) else { return };
        // SAFETY: the stripe is held.
        let object = unsafe { object::get(lock, Family::Lock) };
        self.learn_from(object);
        if mode == LockMode::Write && !object.read.is_empty() {
            self.learn(&object.read);
        }
    }

    /// The thread gives a lock back. `mode` counts only if it was never seen taking it.
    pub(super) fn release(&mut self, owner: (u32, bool), lock: u64, mode: LockMode) {
        let mode = self.give_lock(lock).unwrap_or(mode);
        let Some(_held) = atomic::hold(lock as usize, owner) else { return };
        // SAFETY: the stripe is held.
        let object = unsafe { object::get(lock, Family::Lock) };
        match mode {
            LockMode::Write => {
                self.publish_to(object);
                object.read.clear();
            }
            LockMode::Read => {
                self.tell();
                object.read.join(&self.clock);
                self.begin_moment();
            }
        }
    }

    fn take_lock(&mut self, lock: u64, mode: LockMode, node: u32) {
        self.relocked = true;
        if let Some(at) = self.held.iter().rposition(|held| held.lock == lock) {
            self.taken[at].depth += 1;
            return;
        }
        self.held.push(HeldLock { lock, mode });
        self.taken.push(Taken { depth: 1, node });
    }

    fn give_lock(&mut self, lock: u64) -> Option<LockMode> {
        self.relocked = true;
        let at = self.held.iter().rposition(|held| held.lock == lock)?;
        let mode = self.held[at].mode;
        if self.taken[at].depth > 1 {
            self.taken[at].depth -= 1;
        } else {
            self.held.remove(at);
            self.taken.remove(at);
        }
        Some(mode)
    }

    /// The thread ends; `id` is its number.
    pub(super) fn publish_end(&mut self, owner: (u32, bool), id: u32) -> u64 {
        let last = self.tell();
        let address = thread_address(id);
        if !self.unjoined
            && let Some(_held) = atomic::hold(address as usize, owner)
        {
            // SAFETY: the stripe is held.
            unsafe { object::get(address, Family::Thread) }.written.assign(&self.clock);
        }
        last
    }

    /// The thread has seen another end.
    pub(super) fn join(&mut self, owner: (u32, bool), id: u32) {
        let address = thread_address(id);
        let Some(_held) = atomic::hold(address as usize, owner) else { return };
        // SAFETY: the stripe is held.
        unsafe {
            if let Some(object) = object::find(address, Family::Thread) {
                self.learn(&object.written);
                object::remove(address, |family| family == Family::Thread);
            }
        }
    }

    /// What a thread that this one creates knows at first.
    pub(super) fn hand_on(&mut self, child: &mut Clock) {
        self.tell();
        child.assign(&self.clock);
        self.begin_moment();
    }

    /// The thread wakes waiters or publishes what it did.
    pub(super) fn signal(&mut self, owner: (u32, bool), address: u64, kind: SyncKind) {
        let Some(held) = atomic::hold(address as usize, owner) else { return };
        self.tell();
        // SAFETY: the stripe is held; a waiter's clock lives as long as it waits.
        unsafe {
            match family(kind) {
                Some(family) => {
                    object::get(address, family).written.join(&self.clock);
                    if family == Family::Annotation && is_memory(address) {
                        self.announce(address, &held);
                    }
                }
                None => {
                    let Some(object) = object::find(address, Family::Condition) else { return };
                    object.waiters.iter().for_each(|waiter| {
                        (*waiter.1).join(&self.clock);
                    });
                    if object.waiters.is_empty() {
                        return;
                    }
                }
            }
        }
        self.begin_moment();
    }

    /// Whoever acquires the atomic or the lock at an address sees what the thread announced there, too.
    ///
    /// # Safety
    /// The stripe is held.
    unsafe fn announce(&self, address: u64, held: &Held<'_>) {
        // SAFETY: passed on.
        unsafe {
            let mut is_shown = false;
            object::each_atomic((address, 1), |object| {
                object.show_too(&self.clock);
                is_shown = true;
            });
            if !is_shown {
                object::get_atomic((address, 1)).show_too(&self.clock);
            }
            held.forget();
            if let Some(lock) = object::find(address, Family::Lock) {
                lock.show_too(&self.clock);
            }
        }
    }

    /// The thread begins to wait.
    pub(super) fn begin_wait(&mut self, owner: (u32, bool), id: u32, address: u64, kind: SyncKind) {
        if family(kind).is_some() {
            return;
        }
        let Some(_held) = atomic::hold(address as usize, owner) else { return };
        // SAFETY: the stripe is held.
        let waiters = unsafe { &mut object::get(address, Family::Condition).waiters };
        match waiters.iter().find(|waiter| waiter.0 == id) {
            // SAFETY: its clock lives.
            Some(waiter) => unsafe { (*waiter.1).clear() },
            None => waiters.push((id, object::make_clock())),
        }
    }

    /// The thread's wait is over.
    pub(super) fn end_wait(&mut self, owner: (u32, bool), id: u32, address: u64, wait: (SyncKind, bool)) {
        let (kind, woken) = wait;
        let Some(_held) = atomic::hold(address as usize, owner) else { return };
        // SAFETY: the stripe is held; the waiter's clock is its own.
        unsafe {
            match family(kind) {
                Some(family) if woken => {
                    if let Some(object) = object::find(address, family) {
                        self.learn(&object.written);
                    }
                    if family == Family::Annotation && is_memory(address) {
                        object::each_atomic((address, 1), |object| self.learn_from(object));
                        if let Some(object) = object::find(address, Family::Lock) {
                            self.learn_from(object);
                        }
                    }
                }
                Some(_) => {}
                None => {
                    let Some(object) = object::find(address, Family::Condition) else { return };
                    let Some(at) = object.waiters.iter().position(|waiter| waiter.0 == id) else { return };
                    let (_, seen) = object.waiters.swap_remove(at);
                    if woken {
                        self.learn(&*seen);
                    }
                    object::drop_clock(seen);
                }
            }
        }
    }

    /// The thread learns what any thread did so far.
    pub(super) fn learn_all(&mut self) {
        slots::alone_with(|| self.clock.widen(slots::count() + 1));
        slots::each_present(|slot, clock| {
            // A slot that came meanwhile is of a thread that did nothing yet.
            if (slot as usize) < self.clock.width() && slot != self.slot && self.clock.get(slot) < clock {
                self.clock.set(slot, clock);
                self.version += 1;
                self.changed = true;
            }
        });
    }

    /// The thread arrives at a barrier that waits for `count`.
    pub(super) fn arrive(&mut self, owner: (u32, bool), id: u32, address: u64, count: u32) {
        let Some(_held) = atomic::hold(address as usize, owner) else { return };
        self.tell();
        // SAFETY: the stripe is held.
        let barrier = unsafe { &mut object::get(address, Family::Barrier).barrier };
        if !barrier.open {
            barrier.rounds.push(Round { arrived: 0, left: 0, clock: object::make_clock() });
            barrier.open = true;
        }
        let last = barrier.rounds.len() - 1;
        let round = &mut barrier.rounds[last];
        round.arrived += 1;
        // SAFETY: a round's clock lives as long as the round.
        unsafe { (*round.clock).join(&self.clock) };
        barrier.open = count == 0 || round.arrived < count;
        let number = barrier.first + last as u64;
        if let Some(at) = barrier.inside.iter().position(|inside| inside.0 == id) {
            let (_, earlier) = barrier.inside.swap_remove(at);
            leave_round(barrier, earlier);
        }
        barrier.inside.push((id, number));
        self.begin_moment();
    }

    /// The thread leaves a barrier.
    pub(super) fn leave(&mut self, owner: (u32, bool), id: u32, address: u64) {
        let Some(_held) = atomic::hold(address as usize, owner) else { return };
        // SAFETY: the stripe is held.
        let Some(object) = (unsafe { object::find(address, Family::Barrier) }) else { return };
        let barrier = &mut object.barrier;
        let Some(at) = barrier.inside.iter().position(|inside| inside.0 == id) else { return };
        let (_, number) = barrier.inside.swap_remove(at);
        let at = (number - barrier.first) as usize;
        if let Some(round) = barrier.rounds.get(at) {
            // SAFETY: a round's clock lives as long as the round.
            self.learn(unsafe { &*round.clock });
        }
        if at + 1 == barrier.rounds.len() {
            barrier.open = false;
        }
        leave_round(barrier, number);
    }

    /// The thread passes a fence.
    pub(super) fn fence(&mut self, order: MemoryOrder) {
        if order.acquires() {
            let loaded = core::mem::replace(&mut self.loaded, Clock::new());
            self.learn(&loaded);
            self.loaded = loaded;
        }
        if order.releases() {
            self.fenced = (self.slot, self.tell());
            self.fenced_version = self.version;
            self.released.assign(&self.clock);
            self.begin_moment();
        }
    }

    /// Whether a relaxed operation behind a release fence leaves what an atomic shows as it is: what was known at the fence, and nothing else, unless the operation `reads` or
    /// continues what this thread released.
    #[inline(always)]
    pub(super) fn shows_fence(&self, object: &Object, reads: bool) -> bool {
        let ((slot, clock), (own, fence)) = (object.by, self.fenced);
        slot == own
            && own == self.slot
            && if reads || self.continues(object) { clock >= fence } else { clock == fence }
    }

    /// The last release fence, as a moment that whoever knows all that was known there knows; [`Shown::NOTHING`] if there was none in the present slot.
    #[inline(always)]
    pub(super) fn fence_moment(&self) -> u64 {
        let (slot, clock) = self.fenced;
        if slot == self.slot { word::moment(slot, clock) } else { Shown::NOTHING }
    }

    /// An atomic shows, too, what was known at the thread's last release fence.
    fn show_fence(&self, object: &mut Object) {
        let (slot, clock) = object.by;
        let within = || slot != 0 && self.released.get(slot) >= clock && slots::tells(slot, clock);
        if object.written.is_empty() || within() {
            object.show(&self.released, slots::needed(&self.released));
            (object.by, object.version) = (self.fenced, self.fenced_version);
        } else if !self.shows_fence(object, true) {
            object.show_too(&self.released);
        }
    }

    /// Whether all that an object shows is known.
    #[inline(always)]
    pub(super) fn knows(&self, object: &Object) -> bool {
        let (slot, clock) = object.by;
        let reached = || slot == self.slot || self.clock.get(slot) >= clock;
        object.written.is_empty() || slot != 0 && reached() && slots::tells(slot, clock)
    }

    /// Whether a moment of any thread, as a word, is known; one of no slot is not.
    #[inline(always)]
    pub(super) fn knows_moment(&self, word: u64) -> bool {
        (word::slot(word) == self.slot || self.clock.ordered(word))
            && slots::tells(word::slot(word), word::clock(word))
    }

    /// What an atomic access learns, before it is judged. The stripe is held.
    #[inline]
    pub(super) fn atomic_learns(&mut self, order: MemoryOrder, object: &Object) {
        if order.acquires() {
            self.learn_shown(object);
        } else {
            object.join_into(&mut self.loaded);
        }
    }

    /// Whether an atomic access changes what its object shows.
    #[inline]
    pub(super) fn atomic_can_publish(&self, mode: Mode, order: MemoryOrder, object: Option<&Object>) -> bool {
        let ends = || {
            !mode.reads()
                && object.is_some_and(|object| !self.continues(object) && !object.written.is_empty())
        };
        mode.writes() && (order.releases() || !self.released.is_empty() || ends())
    }

    /// What an atomic access publishes, after it was judged, if no atomic has some of its bytes and others as well. The stripe is held.
    #[inline]
    pub(super) fn atomic_publishes(&mut self, bytes: Bytes, mode: Mode, order: MemoryOrder) {
        let continues = mode.reads();
        if !order.releases() {
            return self.stores(bytes, continues);
        }
        // SAFETY: the stripe is held.
        let object = unsafe { object::get_atomic(bytes) };
        object.own = if !continues || order.acquires() { self.number } else { 0 };
        if !continues || order.acquires() || self.knows(object) {
            // What the object shows is known to this thread: all that it knows is all that is to be shown.
            self.publish_to(object);
        } else {
            self.tell();
            object.show_too(&self.clock);
            self.begin_moment();
        }
    }
}

impl Eye {
    /// Whether a store of this thread continues what an atomic shows.
    #[inline(always)]
    pub(super) fn continues(&self, object: &Object) -> bool {
        object.own == self.number && object.own != 0
    }

    /// What an atomic access that does not release publishes, if no atomic has some of its bytes and others as well. The stripe is held.
    fn stores(&self, bytes: Bytes, reads: bool) {
        // SAFETY: the stripe is held.
        unsafe {
            let Found::Alone(object) = object::atomic(bytes) else { return };
            let own = object.as_ref().is_some_and(|object| self.continues(object));
            if let Some(object) = object
                && !reads
                && !own
            {
                silence_all(object, bytes.0);
            }
            if !self.released.is_empty() {
                let object = object::get_atomic(bytes);
                self.show_fence(object);
                object.own = if own { object.own } else { 0 };
            }
        }
    }

    /// As [`Self::atomic_publishes`], of an access to other bytes than those of atomics that have some of them, or to two granules. What it read it passes on with all
    /// that it wrote. The stripes of both are held.
    #[cold]
    pub(super) fn atomic_publishes_across(&mut self, parts: &[Bytes; 2], mode: Mode, order: MemoryOrder) {
        let (reads, releases) = (mode.reads(), order.releases());
        let parts = || parts.iter().copied().filter(|part| part.1 != 0);
        let (mut shown, mut is_over) = (Clock::new(), false);
        let mut see = |object: &mut Object| {
            is_over = true;
            if reads {
                object.join_into(&mut shown);
            }
        };
        // SAFETY: the stripes are held.
        unsafe { parts().for_each(|part| object::each_atomic(part, &mut see)) };
        if releases {
            self.tell();
            shown.join(&self.clock);
        } else {
            shown.join(&self.released);
        }
        if !shown.is_empty() || !reads && is_over {
            let is_own = releases && (!reads || order.acquires()) && parts().count() == 1;
            for bytes in parts() {
                // SAFETY: as above.
                let object = unsafe { object::cut(bytes) };
                if !reads && !releases {
                    silence_all(object, bytes.0);
                }
                object.show_too(&shown);
                object.own = if is_own { self.number } else { 0 };
            }
        }
        shown.drop_all();
        if releases {
            self.begin_moment();
        }
    }
}

/// A store that publishes nothing ends what atomics showed of these bytes, but for what was announced there. Their stripe is held.
pub(super) fn silence(bytes: Bytes) {
    let (mut silenced, mut count) = ([(0, 0); 8], 0);
    // SAFETY: the stripe is held.
    unsafe {
        object::each_atomic(bytes, |object| {
            silenced[count] = object.bytes_of(bytes);
            count += 1;
        });
        for &bytes in &silenced[..count] {
            let object = match object::atomic(bytes) {
                Found::Alone(Some(object)) => object,
                _ => object::cut(bytes),
            };
            silence_all(object, bytes.0);
        }
    }
}

/// As [`silence`], of all bytes of an atomic, which begins at an address.
fn silence_all(object: &mut Object, address: u64) {
    object.by = (0, 0);
    object.own = 0;
    // SAFETY: the stripe is held.
    match unsafe { object::find(address, Family::Annotation) } {
        Some(announced) => object.show(&announced.written, announced.written.width()),
        None => object.show_nothing(),
    }
}

/// Nobody joins the thread with this number, which has ended.
pub(super) fn forget_end(owner: (u32, bool), id: u32) {
    let address = thread_address(id);
    if let Some(_held) = atomic::hold(address as usize, owner) {
        // SAFETY: the stripe is held.
        unsafe { object::remove(address, |family| family == Family::Thread) };
    }
}

/// Whether something in memory can be there, and not what the runtime numbers itself.
const fn is_memory(address: u64) -> bool {
    address >> 56 == 0
}

/// Under which address an ended thread is kept.
fn thread_address(id: u32) -> u64 {
    u64::from(id) << 4
}

fn leave_round(barrier: &mut object::Barrier, number: u64) {
    let at = (number - barrier.first) as usize;
    if let Some(round) = barrier.rounds.get_mut(at) {
        round.left += 1;
    }
    while let Some(round) = barrier.rounds.first()
        && round.left >= round.arrived
        && (barrier.rounds.len() > 1 || !barrier.open)
    {
        // SAFETY: nobody is in the round any more.
        unsafe { object::drop_clock(round.clock) };
        barrier.rounds.remove(0);
        barrier.first += 1;
    }
}
