//! Grouping, suppression and rendering of data race reports.
