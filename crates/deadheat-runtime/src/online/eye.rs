//! What the detector keeps for each thread.

use core::ptr::null_mut;
use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::access::Access;
use deadheat_core::race::HeldLock;

use super::beside::Beside;
use super::block::Blocks;
use super::clock::Clock;
use super::common::Memo;
use super::history::{History, Kept};
use super::list::List;
use super::span::Worth;
use super::tree::{self, Near};
use super::word::{self, LAST_CLOCK, WRITE};
use super::{freed, memory, slots};
use crate::hot::thread::Thread;

/// One thread's part of the detector. All zeros is that of a thread that did nothing yet.
#[repr(C)]
pub(crate) struct Eye {
    /// The word of a plain read of all bytes at this moment, or one that is in no cell while accesses are ignored.
    pub(crate) mine: u64,
    /// The slot; 0: none yet.
    pub(crate) slot: u32,
    /// A number that no other thread has, of this process or of one that it was forked from; 0 as long as there is no slot.
    pub(super) number: u32,
    /// Whether accesses are ignored.
    out: bool,
    /// Whether the thread learned something in this moment.
    pub(super) changed: bool,
    /// Whether it took or gave back a lock since the history was told of its locks.
    pub(super) relocked: bool,
    history: *mut History,
    /// How many records the history had when this moment began.
    begun: u64,
    /// How many it had when it was looked how much memory there is.
    pub(super) looked: u64,
    /// How often the thread learned something; begins with the thread's number, so that no two threads' are equal.
    pub(super) version: u64,
    /// By slot, what is known; in the own slot, the last moment with an access.
    pub(super) clock: Clock,
    /// What relaxed loads have read and the next acquire fence will learn.
    pub(super) loaded: Clock,
    /// What the last release fence lets later relaxed stores publish.
    pub(super) released: Clock,
    /// The fence as the one who [publishes](super::object::Object::by) that: the slot and the clock by which others can tell whether they know it; no slot if there was no fence.
    pub(super) fenced: (u32, u64),
    /// How often the thread had learned something by then.
    pub(super) fenced_version: u64,
    pub(super) held: List<HeldLock>,
    /// How often each of them was taken, and where: a node of the tree of calls.
    pub(super) taken: List<Taken>,
    /// Nobody can join the thread, which is about to end.
    pub(crate) unjoined: bool,
    /// How often the thread created or joined another.
    pub(super) relations: u32,
    /// The thread-local storage of the executable: first byte and size.
    pub(super) thread_local: (u64, u64),
    pub(super) blocks: Blocks,
    pub(super) spans: Worth,
    /// The node of each frame below `Thread::low`.
    pub(crate) nodes: *mut u32,
    /// Nodes that it came to.
    pub(crate) near: *const Near,
    /// What races are looked for with beside a recording.
    pub(super) beside: Beside,
}

/// How a lock is held.
#[derive(Clone, Copy)]
pub(super) struct Taken {
    /// How often it was taken.
    pub(super) depth: u32,
    /// Where it was taken first.
    pub(super) node: u32,
}

/// From one moment to the next. The number between is that of the births of the later one ([`word::is_birth`]): so a block's
/// birth is no access of its thread's that would stand for later ones.
pub(super) const STEP: u64 = 1 << word::STEP_LOG2;

/// How many numbers were given. A forked child goes on from there: what objects remember of its parent's threads is of none of its own.
static NUMBERS: AtomicU32 = AtomicU32::new(0);

/// In no cell: neither an access nor a link.
const OUT: u64 = word::SEALED | word::BYTES;

impl Eye {
    /// The clock of the present moment: an even number.
    #[inline(always)]
    pub(super) fn now(&self) -> u64 {
        self.clock.get(self.slot) + STEP
    }

    /// The word of the blocks that are born in the present moment, which accesses count in: before its accesses, behind all that was
    /// published.
    #[inline(always)]
    pub(super) fn birth(&mut self) -> u64 {
        self.changed = true;
        word::before(self.mine) | WRITE
    }

    /// The same where accesses may be ignored.
    pub(super) fn birth_anyway(&mut self) -> u64 {
        self.changed = true;
        word::before(word::moment(self.slot, self.now())) | WRITE
    }

    /// Whether the present moment has an access, or the thread learned something in it.
    #[inline(always)]
    pub(super) fn used(&self) -> bool {
        // SAFETY: a thread with a slot has its history.
        self.changed || unsafe { (*self.history).count() } != self.begun
    }

    /// The clock of the last moment with an access, as another thread sees it.
    pub(super) fn latest(&self) -> u64 {
        match self.history.is_null() || !self.used() {
            true => self.clock.get(self.slot),
            false => self.now(),
        }
    }

    /// What was known until now has been published, and the own clock is that of the last moment: a new one begins.
    #[inline]
    pub(super) fn begin_moment(&mut self) {
        // SAFETY: a thread with a slot has its history.
        self.begun = unsafe { (*self.history).count() };
        self.changed = false;
        self.refresh();
    }

    /// The bytes that this moment has accessed may have a new life: what comes is told apart from that.
    pub(super) fn end_moment(&mut self) {
        self.tell();
        self.begin_moment();
    }

    fn refresh(&mut self) {
        self.mine = if self.out { OUT } else { word::moment(self.slot, self.now()) };
    }

    /// Accesses are ignored from now on, or no more.
    pub(crate) fn ignore(&mut self, out: bool) {
        if self.slot != 0 {
            self.out = out;
            self.refresh();
        }
    }

    /// Gives a thread that knows `self.clock` a slot.
    pub(super) fn settle(&mut self, thread: *mut Thread, id: u32) {
        let (slot, clock) = slots::take(thread, id, &mut self.clock);
        slots::alone_with(|| {
            self.clock.reserve_line();
            self.clock.set(slot, clock - STEP);
        });
        self.slot = slot;
        if self.number == 0 {
            self.number = NUMBERS.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        }
        self.history = slots::history(slot);
        self.version = u64::from(self.number) << 32;
        super::block::inherit(&mut self.blocks);
        self.looked = 0;
        self.begin_moment();
    }

    /// The clock of the slot is used up: the thread goes on in another.
    #[cold]
    pub(super) fn move_on(&mut self, thread: *mut Thread, id: u32) {
        if self.now() + STEP > LAST_CLOCK {
            self.settle(thread, id);
        }
    }

    /// The word of no bytes at the present moment.
    #[inline(always)]
    pub(super) fn moment(&self) -> u64 {
        word::only(word::moment(self.slot, self.now()), 0)
    }

    /// In a forked child, where the thread is the first of a run of its own.
    pub(super) fn in_child(&mut self) {
        const FIRST: u32 = 0;
        // SAFETY: a thread with a slot has its history.
        let history = unsafe { &*self.history };
        history.owned_by(FIRST, self.now());
        if history.count() != 0 {
            super::report::accessed();
        }
        self.beside.in_child();
        self.blocks.memo = Memo::new();
    }

    /// Notes an access in the history.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline]
    pub(super) unsafe fn note(thread: *mut Thread, access: &Access, pc: u64) {
        // SAFETY: the caller's promise; a thread with a slot has its history.
        unsafe {
            if (*thread).top != (*thread).clean {
                Eye::tell_context(thread);
            }
            (*(*thread).eye.history).access(access, pc);
        }
    }

    /// As [`Self::note`], of the end of a small block's life, just after [`Self::node`].
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(never)]
    pub(super) unsafe fn note_end(thread: *mut Thread, block: (usize, usize), pc: u64) {
        // SAFETY: the caller's promise; a thread with a slot has its history, and all frames have their nodes.
        unsafe {
            let state = &mut *thread;
            let eye = &mut state.eye;
            let history = &*eye.history;
            let common = eye.held.is_empty() && !eye.out && !history.is_watched() && history.count() != 0;
            if state.top == state.clean || !common || state.low != state.top || state.top == state.frames {
                return Eye::note(thread, &freed::end_of(block), pc);
            }
            let node = *eye.nodes.add(state.top.offset_from(state.frames) as usize - 1);
            history.end_in((word::clock(eye.mine), eye.begun), node, block, pc);
            eye.relocked = false;
            state.clean = state.top;
        }
    }

    /// As [`Self::tell_context`], with few steps where at most one lock is held.
    ///
    /// # Safety
    /// As there.
    #[inline(always)]
    pub(super) unsafe fn tell_moment(thread: *mut Thread) {
        // SAFETY: the caller's promise; a thread with a slot has its history.
        unsafe {
            if (*thread).eye.is_out() || (*(*thread).eye.history).is_watched() {
                return Eye::tell_context(thread);
            }
            let node = Eye::node(thread);
            let eye = &mut (*thread).eye;
            let moment = (word::clock(eye.mine), eye.begun);
            if !(*eye.history).context_in_short(moment, node, &eye.held) {
                return Eye::tell_context(thread);
            }
            eye.relocked = false;
            (*thread).clean = (*thread).top;
        }
    }

    /// Notes moment, calls and locks in the history. As in a recording `Thread::clean` is the `top` for which nothing has
    /// to be told before an access.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(never)]
    pub(super) unsafe fn tell_context(thread: *mut Thread) {
        // SAFETY: the caller's promise; a thread with a slot has its history.
        unsafe {
            let history = &*(*thread).eye.history;
            if history.is_watched() {
                memory::watch(thread, history, (*thread).eye.now());
            }
            let node = Eye::node(thread);
            let eye = &(*thread).eye;
            if history.count() == 0 {
                super::report::accessed();
                super::rest(&eye.clock);
            }
            history.context((eye.now(), eye.begun), node, &eye.held);
            (*thread).eye.relocked = false;
            let eye = &(*thread).eye;
            (*thread).clean = if eye.out { null_mut() } else { (*thread).top };
        }
    }

    /// Whether accesses are ignored, or the thread has no slot.
    #[inline(always)]
    pub(super) fn is_out(&self) -> bool {
        self.mine == OUT || self.mine == 0
    }

    /// Notes an access of a hook whose context the history has.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(always)]
    pub(super) unsafe fn keep(thread: *mut Thread, kept: Kept) {
        // SAFETY: the caller's promise; a thread with a slot has its history.
        unsafe {
            if (*(*thread).eye.history).keep(kept) {
                // The next access comes by `tell_context`, which looks how much memory there is.
                (*thread).clean = null_mut();
            }
        }
    }

    /// The present calls, as a node of the tree. Calls that nothing was noted in are not in the tree.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(always)]
    pub(super) unsafe fn node(thread: *mut Thread) -> u32 {
        // SAFETY: the caller's promise; frames below `top` are filled, and so are nodes below `low`.
        unsafe {
            let state = &mut *thread;
            let (nodes, near) = (state.eye.nodes, &*state.eye.near);
            let known = state.low.offset_from(state.frames) as usize;
            let depth = state.top.offset_from(state.frames) as usize;
            let mut node = if known == 0 { 0 } else { *nodes.add(known - 1) };
            for at in known..depth {
                node = tree::child(near, node, (*state.frames.add(at)).call);
                nodes.add(at).write(node);
            }
            state.low = state.top;
            node
        }
    }

    /// The node of a call from before `pc` in the present calls.
    ///
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(always)]
    pub(super) unsafe fn node_of_call(thread: *mut Thread, pc: u64) -> u32 {
        // SAFETY: passed on; the table is the thread's.
        unsafe { tree::child(&*(*thread).eye.near, Eye::node(thread), pc) }
    }

    /// The thread has ended: gives back what it knew.
    pub(super) fn drop_all(&mut self) {
        self.clock.drop_all();
        self.loaded.drop_all();
        self.released.drop_all();
        self.held.drop_all();
        self.taken.drop_all();
        (self.slot, self.history, self.unjoined) = (0, null_mut(), false);
        self.fenced = (0, 0);
    }
}
