//! What the tests of this crate share.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::path::PathBuf;

use deadheat_core::event::Event;
use deadheat_trace::{Tables, Trace};

/// A small, repeatable source of numbers (xorshift).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// The next number, below `limit`.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit.max(1)
    }
}

/// A path in this crate's scratch folder.
pub(crate) fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Tables with that many places, the unknown one included.
pub(crate) fn tables_with(places: u32) -> Tables {
    let mut tables = Tables::default();
    for line in 1..places {
        tables.places.named(b"work", b"work.c", line, line % 7);
    }
    tables
}

/// All events of a trace.
pub(crate) fn events_of(trace: &mut Trace) -> Vec<Event> {
    let mut events = Vec::new();
    trace.drive(|event| events.push(*event)).expect("readable to the end");
    events
}

/// A public trace, or `None` (and a line that says so) where it or the means to unpack it is
/// absent.
pub(crate) fn public_trace(name: &str) -> Option<Vec<u8>> {
    let folder = std::env::var_os("DEADHEAT_TRACES").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/traces")),
        PathBuf::from,
    );
    let path = folder.join(name);
    if let Ok(bytes) = std::fs::read(&path) {
        return Some(bytes);
    }
    let packed = folder.join(format!("{name}.zst"));
    if !packed.exists() {
        println!("skipped: needs {} (DEADHEAT_TRACES names the folder)", path.display());
        return None;
    }
    let output = std::process::Command::new("zstd").arg("-dcq").arg(&packed).output();
    match output {
        Ok(output) if output.status.success() => Some(output.stdout),
        _ => {
            println!("skipped: needs zstd");
            None
        }
    }
}
