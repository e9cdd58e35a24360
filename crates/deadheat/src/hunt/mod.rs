//! The hunt: nominate conflicting pairs, re-run the program and hold each pair until it meets.
//!
//! The paper is RaceHunter. The road: [`nominate`] makes [`targets`] of the watched run's trace, with
//! what [`nominators`] tell of it and the [`hints`] of their witnesses;
//! [`plan`] schedules them into runs; [`engine`] starts those through [`pool`], each with a
//! [`gatefile`], reads its [`outcome`], and writes to the [`log`] what [`proof`] and [`finding`]
//! tell of it; [`told`] makes the report of the log. [`warden`] ends what runs leave behind.
//! [`witness`] and [`again`] bring one proof's pair together once more, outside of a hunt, in the
//! order of its [`turns`].

pub(crate) mod again;
pub(crate) mod engine;
pub(crate) mod finding;
pub(crate) mod folder;
pub(crate) mod gate;
pub(crate) mod gatefile;
pub(crate) mod hints;
pub(crate) mod log;
pub(crate) mod manner;
pub(crate) mod nominate;
pub(crate) mod nominators;
pub(crate) mod outcome;
pub(crate) mod plan;
pub(crate) mod pool;
pub(crate) mod progress;
pub(crate) mod proof;
pub(crate) mod targets;
pub(crate) mod told;
pub(crate) mod turns;
pub(crate) mod warden;
pub(crate) mod witness;
