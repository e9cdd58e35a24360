//! The runtime that lives in the program under test.
//!
//! The compiler's thread sanitizer pass calls `abi/`, the program's calls of libc pass through
//! `intercept/`, and both end in `hot/`, which appends the event to the calling thread's own
//! block of the trace. `cold/` is what may wait: start, new blocks, threads, fork, exit.
//!
//! Invariants: nothing here allocates from the program's heap, formats text, resolves symbols or
//! starts a thread; no hook of a memory access takes a lock or an atomic operation; `errno` is
//! as the program left it. Exports exist only under `cfg(deadheat_object)`, the form in which the
//! command line links this crate into programs; as an ordinary dependency it exports nothing.
#![no_std]
#![cfg_attr(not(deadheat_object), allow(dead_code, unused_imports, unused_macros))]

#[macro_use]
mod sys;

mod abi;
mod cold;
mod gate;
mod hot;
mod intercept;
mod online;

#[cfg(deadheat_object)]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    cold::fault(b"deadheat: internal fault in the runtime, the program is stopped\n")
}

/// Named by the core library's unwind tables; nothing unwinds through this runtime.
#[cfg(deadheat_object)]
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}
