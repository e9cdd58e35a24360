//! What may wait: start, blocks, threads, modules, fork, exit.

mod archive;
pub(crate) mod block;
pub(crate) mod byhand;
pub(crate) mod callers;
pub(crate) mod exit;
pub(crate) mod fork;
mod help;
pub(crate) mod lock;
pub(crate) mod modules;
mod names;
pub(crate) mod options;
pub(crate) mod rescue;
pub(crate) mod start;
pub(crate) mod states;
pub(crate) mod threads;
pub(crate) mod together;

use crate::sys;

/// Says `message` and ends the process with the exit code for a fault of deadheat's own.
pub(crate) fn fault(message: &[u8]) -> ! {
    const OWN_FAULT: i32 = 70;
    sys::say(message);
    sys::exit(OWN_FAULT)
}
