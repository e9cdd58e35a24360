//! Signals that end the program: one that was started by hand tells its races before.
//!
//! Invariant: the program ends by the signal all the same, with the code, the core file and the place that it would have had, and is answered
//! as if no handler were there (`signal`); only Rust's standard library is not ([`answer`]).

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicU32, Ordering};

use deadheat_core::options;

use super::signal::{Action, SA_SIGINFO, SIG_DFL, SIG_IGN, ours};
use crate::cold::byhand;
use crate::sys;

/// Those that end a program which says nothing of them, each with the option that leaves it alone, if there is one.
const DEADLY: [(c_int, &str); 22] = [
    (1, ""),
    (2, ""),
    (3, ""),
    (4, "handle_sigill"),
    (5, "handle_sigtrap"),
    (6, "handle_abort"),
    (7, "handle_sigbus"),
    (8, "handle_sigfpe"),
    (10, ""),
    (11, "handle_segv"),
    (12, ""),
    (13, ""),
    (14, ""),
    (15, ""),
    (16, ""),
    (24, ""),
    (25, ""),
    (26, ""),
    (27, ""),
    (29, ""),
    (30, ""),
    (31, ""),
];
/// Faults: who goes on comes to the same one again.
const FAULTS: [c_int; 4] = [4, 7, 8, 11];
/// Where a signal's description says where it comes from; a fault's is above 0.
const CODE: usize = 8;

/// The flags of our handler where the program has none: what the kernel tells of them is not the program's.
pub(super) const FLAGS: c_int = SA_SIGINFO | SA_ONSTACK;
const SA_ONSTACK: c_int = 0x0800_0000;

/// The signals that end the program and are told of, as bits.
static TOLD_OF: AtomicU32 = AtomicU32::new(0);
/// The kernel's number of the thread that the program ends in.
static DYING: AtomicU32 = AtomicU32::new(0);

type Set = unsafe extern "C" fn(c_int, *const c_void, *mut c_void) -> c_int;

fn real() -> Set {
    real!("sigaction", Set)
}

/// Puts our handler where the program has none, now and later. Called once, before any other thread runs; `texts` are the options.
pub(crate) fn begin(texts: &[&[u8]]) {
    for (signal, option) in DEADLY {
        let is_off = || options::value(texts, option).and_then(options::yes) == Some(false);
        let wanted = option.is_empty() || !is_off();
        let mut action = Action::usual();
        // SAFETY: the C library writes the action that is there, and reads ours.
        unsafe {
            if !wanted || real()(signal, core::ptr::null(), (&raw mut action).cast()) != 0 {
                continue;
            }
            if action.handler <= SIG_IGN {
                TOLD_OF.fetch_or(1 << signal, Ordering::Relaxed);
            }
            // One that whoever started the program has it ignore is told of when the program does not any more.
            if action.handler == SIG_DFL {
                put(signal);
            }
        }
    }
}

/// Puts our handler where there is none.
pub(super) fn put(signal: c_int) {
    let mut own = Action::usual();
    (own.handler, own.flags) = (ours(), FLAGS);
    // SAFETY: the C library reads the action.
    unsafe { real()(signal, (&raw const own).cast(), core::ptr::null_mut()) };
}

/// Whether our handler is there where the program has none and does not ignore the signal.
pub(super) fn is_told_of(signal: c_int) -> bool {
    (0..32).contains(&signal) && TOLD_OF.load(Ordering::Relaxed) >> signal & 1 != 0
}

/// In the handler of a signal that ends the program: tells the races, and lets it end.
///
/// # Safety
/// `about` is the kernel's description of the signal.
pub(super) unsafe fn end(signal: c_int, about: *const c_void) {
    // A child of `vfork` shares this memory, and not the end.
    if byhand::is_ours() {
        let me = sys::thread_id();
        match DYING.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => {
                byhand::tell(0);
            }
            // What tells is at fault itself.
            Err(other) if other == me => {}
            // The process ends soon.
            Err(other) => loop {
                sys::futex_wait(&DYING, other, 1_000_000_000);
            },
        }
    }
    // SAFETY: the kernel's description; an action as the C library has it.
    unsafe {
        let usual = Action::usual();
        real()(signal, (&raw const usual).cast(), core::ptr::null_mut());
        let code = about.cast::<u8>().add(CODE).cast::<c_int>().read();
        if code <= 0 || !FAULTS.contains(&signal) {
            // It comes when this handler is left.
            sys::send_self(signal as u32);
        }
    }
}

/// Ends the process by the signal of `abort`, whatever the program does with that.
pub(crate) fn abort() {
    const ABORT: c_int = 6;
    let usual = Action::usual();
    // SAFETY: the C library reads the action.
    unsafe { real()(ABORT, (&raw const usual).cast(), core::ptr::null_mut()) };
    sys::send_self(ABORT as u32);
    sys::Mask::all_but(ABORT as u32).set();
}

/// A handler that ends the program by a signal as it would end without one.
pub(super) fn usual() -> usize {
    end_by as *const () as usize
}

unsafe extern "C" fn end_by(signal: c_int, about: *mut c_void, _context: *mut c_void) {
    // SAFETY: the kernel's description.
    unsafe { end(signal, about) };
}

/// A program in Rust that asks who handles a fault is told that somebody does, as under other tools. Where nobody did, the standard
/// library would put its own handler there, and for that each thread would take a lock at its beginning and at its end: short threads
/// that nothing else orders would look ordered.
pub(super) fn answer(signal: c_int, action: &mut Action) {
    const BUS: c_int = 7;
    const SEGV: c_int = 11;
    if action.handler == SIG_DFL
        && [BUS, SEGV].contains(&signal)
        && weak_address!("deadheat_program_is_rust") != 0
    {
        action.handler = usual();
    }
}

/// In a forked child, which has not ended yet.
pub(crate) fn in_child() {
    DYING.store(0, Ordering::Relaxed);
}
