//! What every part of deadheat means by an event, an access, a race.
//!
//! Invariants: no `std`, no allocation, no `unsafe`, no dependencies. The runtime inside the
//! program under test, the trace reader and every analysis share these definitions, so a word
//! has one meaning everywhere.
#![no_std]
#![forbid(unsafe_code)]
#![deny(missing_docs)]

pub mod access;
pub mod codec;
pub mod event;
pub mod finding;
pub mod gate;
pub mod ids;
pub mod kind;
pub mod options;
pub mod plain;
pub mod race;
pub mod rule;
pub mod wire;
pub mod witness;
