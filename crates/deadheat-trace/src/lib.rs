//! The trace file of the deadheat race detector: write, read, check, merge, import and export.
//!
//! [`Trace::open`] takes a recorded trace or one of the text formats; [`Trace::drive`] hands its
//! events to a closure in an order that is a linear extension of happens-before, and
//! [`Trace::tables`] then says what the ids in the events stand for. `docs/trace-format.md`
//! describes the file.
//!
//! Invariants: nothing here judges races. Any bytes are either read or refused with the place
//! and the reason: no panic, no endless loop, and memory that grows with the input only.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod binary;
pub mod census;
mod error;
mod found;
#[doc(hidden)]
pub mod fuzz;
mod hash;
mod source;
mod summary;
pub mod tables;
mod text;
mod trace;
mod visit;
pub mod wellformed;

pub use binary::Writer;
pub use error::{At, Error, ErrorKind};
pub use found::{Found, FoundLock, FoundSide};
pub use summary::{Dirt, Ending, Format, Run, Summary};
pub use tables::Tables;
pub use text::StdWriter;
pub use trace::Trace;
pub use visit::Visit;
