//! The facts of `spec/traces` as texts that other tools read, too.

use std::fs;
use std::path::{Path, PathBuf};

/// Those that can be said in RAPID's text format, each with its name.
pub(crate) fn facts_as_std() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/traces");
    let mut files = Vec::new();
    facts(&root, &mut files);
    files.sort();
    let text = |file: PathBuf| {
        let name = file.strip_prefix(&root).unwrap_or(&file).with_extension("");
        Some((name.display().to_string(), as_std(&fs::read_to_string(&file).expect("a fact"))?))
    };
    files.into_iter().filter_map(text).collect()
}

/// A fact as such a text; `None` if it has what that cannot say.
fn as_std(fact: &str) -> Option<String> {
    let rows = fact.lines().filter(|line| !line.starts_with('#') && !line.starts_with("expect"));
    let mut rows = rows.filter(|row| !row.trim().is_empty());
    let threads: Vec<&str> = rows.next()?.split('|').map(str::trim).collect();
    let mut text = String::new();
    for (number, row) in (1..).zip(rows) {
        let mut cells = row.split('|').map(str::trim).enumerate();
        let (thread, cell) = cells.find(|(_, cell)| !cell.is_empty())?;
        let (op, on) = cell.strip_suffix(')')?.split_once('(')?;
        let name = on.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let on = match op {
            "fork" | "join" => format!("T{}", threads.iter().position(|name| *name == on)?),
            "w" | "r" | "acq" | "rel" if name => on.to_owned(),
            _ => return None,
        };
        text += &format!("T{thread}|{op}({on})|{number}\n");
    }
    Some(text)
}

fn facts(below: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(below).expect("the facts").flatten() {
        let path = entry.path();
        if path.is_dir() { facts(&path, into) } else { into.push(path) }
    }
}
