//! What the tests of this crate share.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod branches;
pub(crate) mod check;
pub(crate) mod generate;
pub(crate) mod naive;
pub(crate) mod orders;
pub(crate) mod random;
pub(crate) mod short;
pub(crate) mod statement1;
pub(crate) mod std_format;
pub(crate) mod told;

/// Whether the acceptance run at full count is wanted.
pub(crate) fn full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").is_ok_and(|level| level == "full")
}
