//! The public traces: those of `DEADHEAT_SHARED`, by default of `../shared` beside the workspace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use deadheat_core::event::Event;
use deadheat_trace::{ErrorKind, Trace};

/// Their folder. Says so if it is not there: the caller returns.
pub(crate) fn shared() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("DEADHEAT_SHARED").map_or_else(beside, PathBuf::from).join("traces");
    if !shared.is_dir() {
        println!("skipped: needs the shared traces");
        return None;
    }
    Some(shared)
}

/// The traces below a folder, sorted, as their paths from there.
pub(crate) fn traces(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    for topic in fs::read_dir(folder).expect("the traces").flatten().filter(|entry| entry.path().is_dir()) {
        for file in fs::read_dir(topic.path()).expect("the traces").flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let plain = name.trim_end_matches(".zst");
            if [".std", ".log", ".data"].iter().any(|kind| plain.ends_with(kind)) {
                found.push(format!("{}/{name}", topic.file_name().to_string_lossy()));
            }
        }
    }
    found.sort();
    found
}

/// The bytes of a file, which may be compressed; `None` if it is and there is no `zstd` program.
pub(crate) fn bytes(file: &Path) -> Option<Vec<u8>> {
    let packed = file.extension().is_some_and(|kind| kind == "zst");
    if !packed {
        return Some(fs::read(file).expect("a trace can be read"));
    }
    let output = Command::new("zstd").args(["-dcq".as_ref(), file.as_os_str()]).output().ok()?;
    assert!(output.status.success(), "{}: {}", file.display(), String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

/// The events of a trace; `None` if it is of a form that nobody here reads.
pub(crate) fn events(name: &str, bytes: Vec<u8>) -> Option<Vec<Event>> {
    let mut trace = match Trace::from_bytes(name, bytes, None) {
        Err(error) if error.kind == ErrorKind::Foreign => return None,
        trace => trace.unwrap_or_else(|error| panic!("{name}: {error}")),
    };
    let mut events = Vec::new();
    trace.drive(|event| events.push(*event)).unwrap_or_else(|error| panic!("{name}: {error}"));
    Some(events)
}
