//! The project's own chores: `cargo xtask CHORE`. A table; each chore is a module.

#![forbid(unsafe_code)]

mod accept;
mod bench;
mod tidy;

use std::ffi::OsString;
use std::process::ExitCode;

/// A chore: its name, what it does in a line, and its work.
type Chore = (&'static str, &'static str, fn(&[OsString]) -> ExitCode);

const CHORES: &[Chore] = &[
    (
        "accept",
        "run acceptance lines at full count: watch, hunt, online or predict [--list] [LINE…]",
        accept::run,
    ),
    (
        "bench",
        "measure against native runs, TSan, RAPID and other ways: kernels, real, micro, gate, hunt, scenarios, std",
        bench::run,
    ),
    ("tidy", "check the rules of the house", tidy::run),
];

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let named = arguments.first().and_then(|name| CHORES.iter().find(|chore| name == chore.0));
    match named {
        Some(chore) => chore.2(&arguments[1..]),
        None => {
            eprintln!("usage: cargo xtask CHORE");
            for (name, what, _) in CHORES {
                eprintln!("  {name:8} {what}");
            }
            ExitCode::from(2)
        }
    }
}
