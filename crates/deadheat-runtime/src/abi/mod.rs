//! What the compilers' thread sanitizer passes call. One line an entry, every name spelled out.

mod access;
pub(crate) mod annotate;
mod announce;
mod announced;
mod atomic;
pub(crate) mod common;
mod java;
mod memory;
mod plain;
mod report;
mod unseen;
