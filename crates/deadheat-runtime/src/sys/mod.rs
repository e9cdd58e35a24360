//! The system as one short list: raw calls, thread-local word, real functions.
//!
//! Invariant: machine-specific code is in the files `x86_64*.rs` alone.

#[macro_use]
#[cfg(target_arch = "x86_64")]
#[path = "x86_64.rs"]
pub(crate) mod machine;

#[macro_use]
#[cfg(target_arch = "x86_64")]
#[path = "x86_64_frames.rs"]
mod frames;

#[macro_use]
#[cfg(target_arch = "x86_64")]
#[path = "x86_64_through.rs"]
pub(crate) mod through;

#[macro_use]
pub(crate) mod real;

#[macro_use]
pub(crate) mod primitive;

pub(crate) mod allocator;
pub(crate) mod c;
pub(crate) mod calls;
mod memory;
mod signals;
pub(crate) use calls::*;
pub(crate) use real::{resolve, resolve_all};
pub(crate) use signals::{Mask, Quiet, SIGCANCEL, keep_children, let_signals_come, put_off, replace_handler};
