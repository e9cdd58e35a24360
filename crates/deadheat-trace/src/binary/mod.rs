//! Our own file: `docs/trace-format.md`.

mod blocks;
mod cursor;
mod merge;
mod records;
mod writer;

pub(crate) use merge::Reader;
pub use writer::Writer;
