//! `cargo xtask tidy`: the rules of the house that the compiler does not know.
//!
//! Every rule is a function from the tree to complaints; the test at the end runs them all, so
//! that `cargo test` is the whole gate.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// No source file is longer.
const MAX_FILE_LINES: usize = 700;
/// No function is longer.
const MAX_FUNCTION_LINES: usize = 70;
/// `ARCHITECTURE.md` stays a map.
const MAX_ARCHITECTURE_LINES: usize = 250;

/// Which of our crates each crate may use (`ARCHITECTURE.md`, "Arrows").
const ARROWS: &[(&str, &[&str])] = &[
    ("deadheat-core", &[]),
    ("deadheat-trace", &["deadheat-core"]),
    ("deadheat-csp", &[]),
    ("deadheat-detect", &["deadheat-core", "deadheat-csp"]),
    ("deadheat-report", &["deadheat-core"]),
    ("deadheat-symbol", &[]),
    ("deadheat-runtime", &["deadheat-core"]),
    (
        "deadheat",
        &[
            "deadheat-core",
            "deadheat-trace",
            "deadheat-detect",
            "deadheat-csp",
            "deadheat-report",
            "deadheat-symbol",
            "deadheat-runtime",
        ],
    ),
];

/// A breach of a rule: where, and what.
type Complaint = String;

/// Runs the chore.
pub(crate) fn run(_arguments: &[OsString]) -> ExitCode {
    let complaints = complaints(&root());
    for complaint in &complaints {
        eprintln!("{complaint}");
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The workspace's folder: cargo's word for this run, since a binary in a target folder that two
/// checkouts share may have been compiled for the other.
pub(crate) fn root() -> PathBuf {
    let manifest =
        std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    Path::new(&manifest).parent().map_or_else(PathBuf::new, Path::to_path_buf)
}

fn complaints(root: &Path) -> Vec<Complaint> {
    let mut found = Vec::new();
    for path in tracked(root) {
        let Ok(text) = fs::read_to_string(root.join(&path)) else { continue };
        let name = path.to_string_lossy();
        machine_paths(&name, &text, &mut found);
        if name.ends_with(".rs") {
            file_length(&name, &text, &mut found);
            function_length(&name, &text, &mut found);
            module_header(&name, &text, &mut found);
            prints(&name, &text, &mut found);
        }
        if name == "ARCHITECTURE.md" && text.lines().count() > MAX_ARCHITECTURE_LINES {
            found.push(format!("{name}: over {MAX_ARCHITECTURE_LINES} lines"));
        }
    }
    for (from, to) in ARROWS {
        arrows(root, from, to, &mut found);
    }
    found
}

/// The files that git knows or would add; all files where there is no git.
fn tracked(root: &Path) -> Vec<PathBuf> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root)
        .output();
    match listed {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).lines().map(PathBuf::from).collect()
        }
        _ => Vec::new(),
    }
}

fn machine_paths(name: &str, text: &str, found: &mut Vec<Complaint>) {
    // Spelled in pieces, so that this file does not complain about itself.
    let homes = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/tmp/ba", "sh_jobs")];
    for (number, line) in text.lines().enumerate() {
        if homes.iter().any(|home| line.contains(home)) {
            found.push(format!("{name}:{}: a path of one machine", number + 1));
        }
    }
}

fn file_length(name: &str, text: &str, found: &mut Vec<Complaint>) {
    let lines = text.lines().count();
    if lines > MAX_FILE_LINES {
        found.push(format!("{name}: {lines} lines, more than {MAX_FILE_LINES}"));
    }
}

/// Formatted code closes a function with a brace at the indentation of its `fn`.
fn function_length(name: &str, text: &str, found: &mut Vec<Complaint>) {
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let indent = line.len() - line.trim_start().len();
        let code = line.trim_start();
        if code.starts_with('}') {
            while let Some(&(start, depth)) = open.last() {
                if depth < indent {
                    break;
                }
                open.pop();
                let length = number - start + 1;
                if depth == indent && length > MAX_FUNCTION_LINES {
                    found.push(format!("{name}:{}: a function of {length} lines", start + 1));
                }
            }
        }
        let signature = ["fn ", "pub fn ", "pub(crate) fn ", "pub(super) fn ", "unsafe fn ", "const fn "]
            .iter()
            .any(|start| code.starts_with(start));
        if signature && !line.trim_end().ends_with([';', '}']) {
            open.push((number, indent));
        }
    }
}

fn module_header(name: &str, text: &str, found: &mut Vec<Complaint>) {
    if !text.trim_start().starts_with("//!") {
        found.push(format!("{name}: no module header"));
    }
}

/// Only the command line, chores, tests, examples and build scripts (whose words cargo reads) print; the command line does not
/// by macros that panic where nobody listens.
fn prints(name: &str, text: &str, found: &mut Vec<Complaint>) {
    let command_line = name.starts_with("crates/deadheat/src/");
    let library = name.starts_with("crates/deadheat-")
        && !name.contains("/tests")
        && !name.contains("/examples/")
        && !name.ends_with("/build.rs");
    let tests = text.find("#[cfg(test)]").unwrap_or(text.len());
    for (number, line) in text[..tests].lines().enumerate() {
        let code = line.trim_start();
        if library && (code.starts_with("println!") || code.starts_with("eprintln!")) {
            found.push(format!("{name}:{}: a library prints", number + 1));
        }
        if command_line && !code.starts_with("//") && code.contains("println!") {
            found.push(format!("{name}:{}: `say!` prints, and does not panic", number + 1));
        }
    }
}

/// The crate's manifest names no crate of ours that its arrows do not allow.
fn arrows(root: &Path, from: &str, to: &[&str], found: &mut Vec<Complaint>) {
    let manifest = root.join("crates").join(from).join("Cargo.toml");
    let Ok(text) = fs::read_to_string(&manifest) else { return };
    let uses = text.split("[dependencies]").nth(1).unwrap_or("");
    let uses = uses.split("\n[").next().unwrap_or("");
    for line in uses.lines() {
        let used = line.split(['.', ' ', '=']).next().unwrap_or("");
        if used.starts_with("deadheat-") && !to.contains(&used) {
            found.push(format!("crates/{from}/Cargo.toml: uses {used}, against the arrows"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let complaints = complaints(&root());
        assert!(complaints.is_empty(), "{}", complaints.join("\n"));
    }

    #[test]
    fn the_code_is_formatted() {
        let status =
            Command::new("cargo").args(["fmt", "--all", "--check", "--quiet"]).current_dir(root()).status();
        match status {
            Ok(status) => assert!(status.success(), "run `cargo fmt`"),
            Err(_) => eprintln!("skipped: needs cargo fmt"),
        }
    }

    #[test]
    fn long_functions_are_found() {
        let mut found = Vec::new();
        let body = "    let x = 1;\n".repeat(MAX_FUNCTION_LINES);
        function_length("a.rs", &format!("fn long() {{\n{body}}}\n\nfn short() {{\n}}\n"), &mut found);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn prints_are_found() {
        let mut found = Vec::new();
        prints("crates/deadheat-core/src/a.rs", "    println!();\n    say!();\n", &mut found);
        prints("crates/deadheat/src/a.rs", "// As `eprintln!`.\n_ => anstream::eprintln!(),\n", &mut found);
        prints("crates/deadheat/tests/a.rs", "    println!();\n", &mut found);
        assert_eq!(found.len(), 2, "{found:?}");
    }

    #[test]
    fn foreign_paths_are_found() {
        let mut found = Vec::new();
        machine_paths("a.md", concat!("see /wo", "rk/x"), &mut found);
        assert_eq!(found.len(), 1);
    }
}
