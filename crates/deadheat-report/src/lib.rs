//! Grouping, suppression and rendering of data race reports.
//!
//! The road of a report: [`group::Groups`] joins what was found into one [`model::Race`] an id,
//! [`suppress::Suppressions`] takes out what the user does not want to hear, and a row of
//! [`format::FORMATS`] writes the [`model::Report`].
//!
//! Invariants: no symbolising (names are in the model already), no printing (everything is
//! written to a given stream), and no judging (grades are given). [`model`] is the one source of
//! every format.
#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod control;
pub mod format;
pub mod github;
pub mod group;
pub mod html;
pub mod illformed;
pub mod json;
pub mod junit;
pub mod model;
mod place;
pub mod reordering;
pub mod sarif;
pub mod seen;
mod side;
pub mod source;
pub mod strip;
pub mod suppress;
pub mod text;
pub mod tsan;
