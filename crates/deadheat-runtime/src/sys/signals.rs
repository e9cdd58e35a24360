//! Keeping signals away from the calling thread for a while.

use super::machine::{number, syscall};

const SIGILL: u32 = 4;
const SIGTRAP: u32 = 5;
const SIGBUS: u32 = 7;
const SIGFPE: u32 = 8;
const SIGSEGV: u32 = 11;
const SIGSYS: u32 = 31;
/// The C library's own, by which `setuid` reaches all threads: its handler touches nothing of ours.
const SIGSETXID: u32 = 33;
/// Those that come all the same: what a thread brings upon itself cannot wait.
const ALLOWED: [u32; 7] = [SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV, SIGSYS, SIGSETXID];

/// Bytes of the kernel's set of signals.
const SET: usize = 8;

/// While it lives no handler interrupts the calling thread, and none can jump out of what it does.
pub(crate) struct Quiet {
    /// The signals that were blocked before.
    before: u64,
}

impl Quiet {
    pub(crate) fn new() -> Quiet {
        Quiet { before: block() }
    }

    /// Whether a signal waits that would have come by now.
    pub(crate) fn is_wanted(&self) -> bool {
        let mut waiting = 0u64;
        // SAFETY: the buffer holds a set of signals.
        unsafe { syscall(number::RT_SIGPENDING, [&raw mut waiting as usize, SET, 0, 0, 0, 0]) };
        waiting & !self.before != 0
    }

    /// Lets the signals come that wait. Their handlers run now, and may jump away.
    pub(crate) fn let_come(&self) {
        restore(self.before);
        block();
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        restore(self.before);
    }
}

/// Blocks all signals but those that are [`ALLOWED`]; gives those that were blocked before.
fn block() -> u64 {
    const SIG_BLOCK: usize = 0;
    let set = !ALLOWED.iter().fold(0u64, |set, signal| set | 1 << (signal - 1));
    let mut before = 0u64;
    let arguments = [SIG_BLOCK, &raw const set as usize, &raw mut before as usize, SET, 0, 0];
    // SAFETY: both buffers hold a set of signals.
    unsafe { syscall(number::RT_SIGPROCMASK, arguments) };
    before
}

fn restore(set: u64) {
    const SIG_SETMASK: usize = 2;
    // SAFETY: the buffer holds a set of signals.
    unsafe { syscall(number::RT_SIGPROCMASK, [SIG_SETMASK, &raw const set as usize, 0, SET, 0, 0]) };
}
