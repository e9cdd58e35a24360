//! The hunt: nominate conflicting pairs, re-run the program and hold each pair until it meets.
//!
//! The paper is RaceHunter. `gatefile` and `outcome` are what is said to a run and what it
//! answers; both follow `deadheat_core::gate`.

pub(crate) mod again;
pub(crate) mod gate;
pub(crate) mod gatefile;
pub(crate) mod nominate;
pub(crate) mod outcome;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod proof;
pub(crate) mod targets;
pub(crate) mod witness;
