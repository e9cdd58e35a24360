//! Our own file: `docs/trace-format.md`.

mod ahead;
mod blocks;
mod cursor;
mod decode;
mod merge;
mod races;
mod records;
mod window;
mod writer;

pub(crate) use merge::Reader;
pub use writer::Writer;
