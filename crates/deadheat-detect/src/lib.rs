//! The analyses: from the events of a run to its races.
//!
//! Each analysis is one file or folder, one row of the [`registry`], and one column of the facts
//! in `spec/traces`. They share [`clock`] and `shadow` and know nothing of each other.
//!
//! Invariants: pure (no input or output, no time, no threads, no `unsafe`); the same events give
//! the same races in the same order; each analysis matches the events without a wildcard.
#![forbid(unsafe_code)]
#![deny(missing_docs)]
#![deny(clippy::wildcard_enum_match_arm)]

pub mod clock;
pub mod conflict;
pub mod csp;
pub mod detector;
pub mod findings;
pub mod hb;
mod how;
pub mod lockset;
mod marks;
pub mod oracle;
pub mod registry;
pub mod reversal;
pub mod run;
mod shadow;
pub mod shb;
pub mod shorten;
pub mod syncp;
pub mod witness;

pub use detector::Detector;
pub use registry::{ANALYSES, Analysis, Options};
