//! The formats of other tools: bytes to events, one line or word at a time.
//!
//! Invariant: a text is never held whole; what grows with it are the tables of names.

mod export;
mod import;
mod lines;
mod rapidbin;
mod shbee;
mod std;

pub use export::StdWriter;
pub(crate) use lines::drive;
pub(crate) use rapidbin::{Rapid, looks_like_rapidbin};
pub(crate) use shbee::{Shbee, looks_like_shbee};
pub(crate) use std::{Std, looks_like_std};
