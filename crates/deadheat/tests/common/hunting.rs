//! What the tests of `deadheat hunt` share.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{deadheat, have, ok, output, said};

/// How long what is bound to happen soon may take on a machine that is very busy.
const AMPLE: Duration = Duration::from_secs(120);

/// A folder of its own, with a program in it.
pub(crate) fn built(name: &str, source: &str) -> Option<PathBuf> {
    if !have("gcc") {
        return None;
    }
    let folder = folder(name);
    build(&folder, source);
    Some(folder)
}

/// An empty folder of its own.
pub(crate) fn folder(name: &str) -> PathBuf {
    super::folder("hunt", name)
}

/// Builds the program `p` of that source.
pub(crate) fn build(folder: &Path, source: &str) {
    fs::write(folder.join("p.c"), source).expect("written");
    let arguments = ["cc", "-O1", "-g", "-pthread", "p.c", "-o", "p"];
    ok(deadheat().env("DEADHEAT_CC", "gcc").args(arguments), folder);
}

/// Runs `deadheat` with no input.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = deadheat();
    command.args(arguments).stdin(Stdio::null());
    output(&mut command, folder)
}

/// Runs `deadheat`, which is to end with this code and to say all of these words.
pub(crate) fn says(folder: &Path, arguments: &[&str], code: i32, words: &[&str]) -> Output {
    let output = run(folder, arguments);
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{}", said(&output));
    for words in words {
        assert!(said(&output).contains(words), "{arguments:?}: {words}\n{}", said(&output));
    }
    output
}

/// The lines of a file.
pub(crate) fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// The ids that a hunt's report proves.
pub(crate) fn proved(folder: &Path) -> BTreeSet<String> {
    let report = lines(&folder.join("report.jsonl"));
    let races = report.iter().filter(|line| line["type"] == "race" && line["grade"] == "proved");
    races.map(|race| race["id"].as_str().expect("an id").to_owned()).collect()
}

/// The processes that run a program.
pub(crate) fn processes_of(program: &Path) -> Vec<String> {
    let entries = fs::read_dir("/proc").expect("/proc").flatten();
    let of_it =
        entries.filter(|entry| fs::read_link(entry.path().join("exe")).is_ok_and(|path| path == program));
    of_it.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// Waits for what is bound to happen.
pub(crate) fn wait_until(what: &str, mut happened: impl FnMut() -> bool) {
    let until = Instant::now() + AMPLE;
    while !happened() {
        assert!(Instant::now() < until, "{what} did not happen");
        sleep(Duration::from_millis(1));
    }
}
