//! What runs at every access: no lock, no allocation, no panic, no formatting.

pub(crate) mod access;
pub(crate) mod atomic;
pub(crate) mod log;
pub(crate) mod stripe;
pub(crate) mod thread;
