//! The analyses of the deadheat race detector.
