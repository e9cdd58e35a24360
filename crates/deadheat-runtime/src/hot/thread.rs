//! What the runtime knows of the calling thread.
//!
//! Invariant: only the thread itself (and a signal handler on it) touches its `Thread`. A handler
//! that interrupts a hook finds `busy` set and records into the thread's second stream instead.

use core::sync::atomic::{Ordering, compiler_fence};

use deadheat_core::codec::Predictor;

use crate::gate::Seat;
use crate::online;
use crate::sys;

/// The thread word before the first hook of a thread.
pub(crate) const UNKNOWN: usize = 0;
/// The thread word of a thread that is not watched (any more).
pub(crate) const UNWATCHED: usize = 1;

/// A function that was entered and not left.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Frame {
    /// Where it was called: the return address.
    pub(crate) call: u64,
    /// The stack pointer in its entry hook, by which `longjmp` knows what it leaves.
    pub(crate) stack: u64,
}

/// How many functions a thread can have entered at once before deeper ones are no longer told
/// apart (they keep the call sites of the outer ones).
pub(crate) const MAX_FRAMES: usize = 1 << 16;

/// One watched thread.
#[repr(C)]
pub(crate) struct Thread {
    /// Set while a hook of this thread changes what is below.
    pub(crate) busy: u32,
    /// Above zero while the runtime itself, or what it called, is running: nothing is recorded.
    pub(crate) internal: u32,
    /// Where the next record goes.
    pub(crate) at: *mut u8,
    /// A record that would begin behind this needs a new block first.
    pub(crate) limit: *mut u8,
    /// The next free frame.
    pub(crate) top: *mut Frame,
    /// Equal to `top` exactly if a plain access may be appended without a further question: the
    /// trace has this stack, and nothing is to be ignored.
    pub(crate) clean: *mut Frame,
    /// The lowest `top` since the stack was last told to the trace.
    pub(crate) low: *mut Frame,
    /// The `top` that the trace knows.
    pub(crate) told: *mut Frame,
    /// The first frame.
    pub(crate) frames: *mut Frame,
    /// Behind the last frame.
    pub(crate) frames_end: *mut Frame,
    /// Functions entered beyond the last frame.
    pub(crate) too_deep: u64,
    /// The stream's last stamp.
    pub(crate) stamp: u64,
    /// Set while the thread holds a stripe for an atomic operation, or is about to, and is not busy: a handler that interrupts
    /// it does not wait for another stripe for ever.
    pub(crate) holds: u32,
    /// The signals whose handlers are [put off](let_come), as the kernel's set of them.
    pub(crate) put_off: u64,
    /// The last atomic load, for telling a spin.
    pub(crate) spin: Spin,
    /// The thread's number in the trace.
    pub(crate) id: u32,
    /// The stream's number.
    pub(crate) stream: u32,
    /// Number of the stream's next block.
    pub(crate) sequence: u32,
    /// Depth of `AnnotateIgnoreReadsBegin`.
    pub(crate) ignore_reads: u32,
    /// Depth of `AnnotateIgnoreWritesBegin`.
    pub(crate) ignore_writes: u32,
    /// Depth of ignored synchronisation.
    pub(crate) ignore_sync: u32,
    /// The present block.
    pub(crate) block: *mut u8,
    /// Its size.
    pub(crate) block_size: usize,
    /// Where it is in the file.
    pub(crate) block_offset: u64,
    /// The stream for handlers that interrupt a hook; none until one does.
    pub(crate) nested: *mut Thread,
    /// Lowest address of the thread's stack, and the address behind it (0: unknown).
    pub(crate) stack: (u64, u64),
    /// How often the thread's end was put off to let other destructors run first.
    pub(crate) destructor_rounds: usize,
    /// Locks that the thread holds, each as often as it took it.
    pub(crate) locks: u32,
    /// The signal whose handler runs, if it came from outside; 0: none.
    pub(crate) signal: u32,
    /// The handlers that it is in.
    pub(crate) handlers: crate::intercept::handling::Handlers,
    /// The record of the race that is shown to the program at present, or null.
    pub(crate) shown: *const u64,
    /// The kernel's number of the thread; 0 until it is asked for.
    pub(crate) kernel_id: u32,
    /// It is a fiber that nobody has switched to yet.
    pub(crate) is_fresh_fiber: bool,
    /// The program gave the thread its stack: memory that has a past and a future.
    pub(crate) given_stack: bool,
    /// What it begins [together](crate::cold::together) with others with, if it does.
    pub(crate) together: Option<u32>,
    /// It begins at once: its creator synchronised with somebody since it created the thread before.
    pub(crate) begins_at_once: bool,
    /// The moment that began when it created a thread last; 0 if it did not.
    pub(crate) created_at: u64,
    /// What `pthread_create` was given.
    pub(crate) start: (usize, usize),
    /// The signals that are blocked when the thread's routine begins, if others are before.
    pub(crate) mask: Option<sys::Mask>,
    /// Routine and control of the innermost `pthread_once` that is about to run.
    pub(crate) once: (usize, usize),
    /// The OpenMP task that it runs, or null.
    pub(crate) task: *mut crate::intercept::Task,
    /// Above zero while it is in the OpenMP library.
    pub(crate) in_library: u32,
    /// Next in a list of unused ones.
    pub(crate) next: *mut Thread,
    /// Blocks that it freed and that are not given back yet.
    pub(crate) freed: crate::intercept::Freed,
    /// What the online detector knows of the thread.
    pub(crate) eye: crate::online::Eye,
    /// What the gate knows of the thread.
    pub(crate) seat: Seat,
    /// The stream's codec.
    pub(crate) predictor: Predictor,
}

impl Thread {
    /// Whether accesses of a kind are ignored at present.
    #[inline(always)]
    pub(crate) fn ignores(&self, writes: bool) -> bool {
        (if writes { self.ignore_writes } else { self.ignore_reads }) != 0
    }

    /// Whether a hook of the thread, or the runtime itself, is running.
    #[inline(always)]
    pub(crate) fn is_in_hook(&self) -> bool {
        // SAFETY: plain numbers. They are not to be read as one: what was stored in half of it just now would have to be in the cache before.
        unsafe { (&raw const self.busy).read_volatile() | (&raw const self.internal).read_volatile() != 0 }
    }
}

/// The last atomic load that was recorded.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Spin {
    pub(crate) key: u64,
    pub(crate) address: u64,
    /// How often the stripe had been written to.
    pub(crate) version: u64,
    /// Where its record ended; equal to `Thread::at` if it is the last one.
    pub(crate) end: *mut u8,
    /// Where the repeat record behind it begins, or null.
    pub(crate) repeat: *mut u8,
    pub(crate) times: u32,
    /// While races are looked for: after how many turns the processor is given away.
    pub(crate) patience: u32,
    /// While races are looked for: the moment of the load.
    pub(crate) moment: u64,
}

/// The calling thread if it is watched. Attaches it if it is not known yet.
#[inline(always)]
pub(crate) fn current() -> Option<*mut Thread> {
    let word = sys::machine::thread_word();
    if word > UNWATCHED { Some(word as *mut Thread) } else { unknown(word) }
}

#[cold]
#[inline(never)]
fn unknown(word: usize) -> Option<*mut Thread> {
    if word == UNKNOWN { crate::cold::start::attach() } else { None }
}

/// The calling thread if it is watched already.
#[inline]
pub(crate) fn known() -> Option<*mut Thread> {
    let word = sys::machine::thread_word();
    (word > UNWATCHED).then_some(word as *mut Thread)
}

/// Whether the calling thread holds a lock.
#[inline]
pub(crate) fn holds_lock() -> bool {
    // SAFETY: `known` gives the calling thread's own state.
    known().is_some_and(|thread| unsafe { (*thread).locks != 0 })
}

/// Marks the thread busy while it lives, and orders the mark for handlers on the same thread.
pub(crate) struct Busy(*mut Thread);

impl Busy {
    /// # Safety
    /// `thread` is the calling thread's.
    #[inline(always)]
    pub(crate) unsafe fn new(thread: *mut Thread) -> Busy {
        // SAFETY: the caller's promise.
        unsafe { (*thread).busy = 1 };
        compiler_fence(Ordering::SeqCst);
        Busy(thread)
    }
}

impl Drop for Busy {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `new`; the thread outlives its hook.
        unsafe {
            (*self.0).busy = 0;
            let_come(self.0);
        }
    }
}

/// Marks the thread as one that holds what others wait for while it lives: a stripe mostly. A handler that comes meanwhile does not wait for others for ever, and that of a
/// signal from outside is put off: it might wait for one who waits for the thread.
pub(crate) struct Holds {
    thread: *mut Thread,
    before: u32,
}

impl Holds {
    /// # Safety
    /// `thread` is the calling thread's, or its stream for handlers.
    #[inline(always)]
    pub(crate) unsafe fn new(thread: *mut Thread) -> Holds {
        // SAFETY: the caller's promise.
        let before = unsafe { core::mem::replace(&mut (*thread).holds, 1) };
        compiler_fence(Ordering::SeqCst);
        Holds { thread, before }
    }

    /// Whether no hook that this one's handler interrupted holds anything.
    #[inline(always)]
    pub(crate) fn is_first(&self) -> bool {
        self.before == 0
    }
}

impl Drop for Holds {
    #[inline(always)]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        // SAFETY: as in `new`; the thread outlives its hook.
        unsafe {
            (*self.thread).holds = self.before;
            let_come(self.thread);
        }
    }
}

/// What the thread marked itself busy for is done, within what it was `outer` busy with.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn done(thread: *mut Thread, outer: u32) {
    compiler_fence(Ordering::SeqCst);
    // SAFETY: the caller's promise.
    unsafe {
        (*thread).busy = outer;
        let_come(thread);
    }
}

/// Whether a handler that interrupts the thread now would keep others waiting for ever if it waited for them, or could not change what is known.
///
/// # Safety
/// `thread` is the calling thread's.
pub(crate) unsafe fn is_waited_for(thread: *mut Thread) -> bool {
    // SAFETY: the caller's promise.
    unsafe { (*thread).holds != 0 || online::is_at_work(thread) }
}

/// The thread has given back what others wait for: handlers that were put off run now, unless it has more of that.
///
/// # Safety
/// `thread` is the calling thread's.
#[inline(always)]
pub(crate) unsafe fn let_come(thread: *mut Thread) {
    // SAFETY: the caller's promise. A handler may change it at any time.
    unsafe {
        if (&raw const (*thread).put_off).read_volatile() != 0 {
            let_come_now(thread);
        }
    }
}

/// # Safety
/// As [`let_come`].
#[cold]
#[inline(never)]
unsafe fn let_come_now(thread: *mut Thread) {
    // SAFETY: the caller's promise.
    unsafe {
        if !is_waited_for(thread) {
            sys::let_signals_come(core::mem::take(&mut (*thread).put_off));
        }
    }
}

/// Runs `body` as the runtime's own: what it calls is not recorded.
pub(crate) fn internal<R>(body: impl FnOnce() -> R) -> R {
    let word = sys::machine::thread_word();
    if word <= UNWATCHED {
        return body();
    }
    let thread = word as *mut Thread;
    // SAFETY: the word is the calling thread's `Thread`.
    unsafe { (*thread).internal += 1 };
    let result = body();
    // SAFETY: as above.
    unsafe { (*thread).internal -= 1 };
    result
}
