//! What the compilers' thread sanitizer passes call. One line an entry, every name spelled out.

mod access;
pub(crate) mod annotate;
mod announce;
mod announced;
mod atomic;
mod java;
mod memory;
mod plain;
mod report;
mod unseen;
