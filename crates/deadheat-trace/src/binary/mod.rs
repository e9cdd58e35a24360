//! Our own file: `docs/trace-format.md`.

mod blocks;
mod cursor;
mod merge;
mod records;

pub(crate) use merge::Reader;
