//! The trace file of the deadheat race detector: write, read, check, merge, import and export.
