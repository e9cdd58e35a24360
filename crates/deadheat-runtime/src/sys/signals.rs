//! Keeping signals away from the calling thread for a while.

use core::ffi::c_void;

use super::machine::{BLOCKED_BEHIND_HANDLER, number, syscall};

const SIGILL: u32 = 4;
const SIGTRAP: u32 = 5;
const SIGBUS: u32 = 7;
const SIGFPE: u32 = 8;
const SIGSEGV: u32 = 11;
const SIGSYS: u32 = 31;
/// The C library's own, by which threads are cancelled: no thread begins with it blocked.
pub(crate) const SIGCANCEL: u32 = 32;
/// The C library's own, by which `setuid` reaches all threads: its handler touches nothing of ours.
const SIGSETXID: u32 = 33;
/// Those that come all the same: what a thread brings upon itself cannot wait.
const ALLOWED: [u32; 7] = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGSETXID];

/// What the kernel takes for no handler, or a smaller number.
const SIG_IGN: usize = 1;

/// Bytes of the kernel's set of signals.
const SET: usize = 8;

/// The signals that a thread blocks.
#[derive(Clone, Copy)]
pub(crate) struct Mask(u64);

impl Mask {
    /// That of a thread that blocks none.
    pub(crate) const NONE: Mask = Mask(0);

    /// That of a thread that blocks all signals but one.
    pub(crate) const fn all_but(signal: u32) -> Mask {
        Mask(!bit(signal))
    }

    /// Makes it the calling thread's. The handlers of signals that waited run now.
    pub(crate) fn set(self) {
        const SIG_SETMASK: usize = 2;
        let set = &raw const self.0 as usize;
        // SAFETY: the buffer holds a set of signals.
        unsafe { syscall(number::RT_SIGPROCMASK, [SIG_SETMASK, set, 0, SET, 0, 0]) };
    }
}

/// While it lives no handler interrupts the calling thread, and none can jump out of what it does.
pub(crate) struct Quiet {
    /// The signals that were blocked before.
    before: Mask,
}

impl Quiet {
    pub(crate) fn new() -> Quiet {
        Quiet { before: block() }
    }

    /// Lets signals come as before: what a thread is to do before it becomes another program.
    pub(crate) fn restore(&self) {
        self.before.set();
    }

    /// Lets signals wait until the mask that this gives is set again.
    pub(crate) fn keep(self) -> Mask {
        let before = self.before;
        core::mem::forget(self);
        before
    }

    /// The signals that a thread created now would block by itself.
    pub(crate) fn of_child(&self) -> Mask {
        Mask(self.before.0 & !bit(SIGCANCEL))
    }

    /// Whether a signal waits that would have come by now.
    pub(crate) fn is_wanted(&self) -> bool {
        let mut waiting = 0u64;
        // SAFETY: the buffer holds a set of signals.
        unsafe { syscall(number::RT_SIGPENDING, [&raw mut waiting as usize, SET, 0, 0, 0, 0]) };
        waiting & !self.before.0 != 0
    }

    /// Lets the signals come that wait. Their handlers run now, and may jump away.
    pub(crate) fn let_come(&self) {
        self.before.set();
        block();
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        self.before.set();
    }
}

/// Puts the handler of a signal off, from which this is called before it did anything: the calling thread gets the signal once more, of which `about` tells, and
/// blocks it behind that handler, whose `context` this is. Gives what [`let_signals_come`] lets it come by; 0 if it cannot be put off.
///
/// # Safety
/// Both are what the kernel gave the handler.
pub(crate) unsafe fn put_off(signal: u32, about: *mut c_void, context: *mut c_void) -> u64 {
    const SIG_BLOCK: usize = 0;
    // Some handlers may be interrupted by their own signal.
    let set = bit(signal);
    // SAFETY: the buffer holds a set of signals.
    unsafe { syscall(number::RT_SIGPROCMASK, [SIG_BLOCK, &raw const set as usize, 0, SET, 0, 0]) };
    let process = super::process_id() as usize;
    let thread = super::thread_id() as usize;
    // SAFETY: the caller's promise: the kernel's own description, and its own context.
    unsafe {
        let arguments = [process, thread, signal as usize, about as usize, 0, 0];
        if syscall(number::RT_TGSIGQUEUEINFO, arguments) != 0 {
            return 0;
        }
        *context.byte_add(BLOCKED_BEHIND_HANDLER).cast::<u64>() |= set;
    }
    set
}

/// Lets signals come that were [put off](put_off). Their handlers run now, and may jump away.
pub(crate) fn let_signals_come(signals: u64) {
    const SIG_UNBLOCK: usize = 1;
    let set = &raw const signals as usize;
    // SAFETY: the buffer holds a set of signals.
    unsafe { syscall(number::RT_SIGPROCMASK, [SIG_UNBLOCK, set, 0, SET, 0, 0]) };
}

/// Gives a signal that has a handler the one that `change` makes of it; all else stays as it is.
pub(crate) fn replace_handler(signal: u32, change: impl FnOnce(usize) -> usize) {
    // The kernel's `sigaction`: handler, flags, restorer, mask.
    let mut action = [0usize; 4];
    let old = action.as_mut_ptr() as usize;
    // SAFETY: the buffer holds an action.
    unsafe {
        if syscall(number::RT_SIGACTION, [signal as usize, 0, old, SET, 0, 0]) == 0 && action[0] > SIG_IGN {
            action[0] = change(action[0]);
            let new = action.as_ptr() as usize;
            syscall(number::RT_SIGACTION, [signal as usize, new, 0, SET, 0, 0]);
        }
    }
}

/// The end of a child is told to nobody from now on, and its code is kept until somebody asks.
pub(crate) fn keep_children() {
    const SIGCHLD: usize = 17;
    /// A kernel's `sigaction` that asks for the usual.
    static USUAL: [usize; 4] = [0; 4];
    // SAFETY: the buffer holds an action.
    unsafe { syscall(number::RT_SIGACTION, [SIGCHLD, USUAL.as_ptr() as usize, 0, SET, 0, 0]) };
}

/// Blocks all signals but those that are [`ALLOWED`]; gives those that were blocked before.
fn block() -> Mask {
    const SIG_BLOCK: usize = 0;
    let set = !ALLOWED.iter().fold(0u64, |set, signal| set | bit(*signal));
    let mut before = 0u64;
    let arguments = [SIG_BLOCK, &raw const set as usize, &raw mut before as usize, SET, 0, 0];
    // SAFETY: both buffers hold a set of signals.
    unsafe { syscall(number::RT_SIGPROCMASK, arguments) };
    Mask(before)
}

/// A set of one signal.
const fn bit(signal: u32) -> u64 {
    1 << (signal - 1)
}
