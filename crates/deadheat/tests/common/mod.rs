//! What the tests of the compiler wrappers share: the real binary, the tiny projects, and one
//! check that goes the whole way from instrumentation to the report.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod facts;
pub(crate) mod hunting;
pub(crate) mod public;
pub(crate) mod scenario;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The compilers that are tested where they are found: C, C++.
pub(crate) const COMPILERS: [(&str, &str); 2] = [("gcc", "g++"), ("clang-19", "clang++-19")];

/// An empty folder of its own for a test of a suite.
pub(crate) fn folder(suite: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(suite).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    folder
}

/// `deadheat`, in an environment that names no compilers.
pub(crate) fn deadheat() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    clean(&mut command);
    command
}

/// `deadheat` as a shell starts it in the foreground: an interrupt ends it, though the tests may run in the
/// background, where it is ignored.
pub(crate) fn interruptible() -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=INT", env!("CARGO_BIN_EXE_deadheat")]);
    clean(&mut command);
    command
}

/// `deadheat` with these real compilers.
pub(crate) fn with((c, cxx): (&str, &str)) -> Command {
    let mut command = deadheat();
    command.env("DEADHEAT_CC", c).env("DEADHEAT_CXX", cxx);
    command
}

/// Takes away what the caller's environment would change, and keeps the cache to ourselves.
pub(crate) fn clean(command: &mut Command) {
    let taken = ["CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "MAKEFLAGS", "DEADHEAT_CC", "DEADHEAT_CXX"];
    let taken = taken.into_iter().chain(["DEADHEAT", "DEADHEAT_OPTIONS", "TSAN_OPTIONS"]);
    for name in taken {
        command.env_remove(name);
    }
    command.env("DEADHEAT_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
    command.env("CCACHE_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("ccache"));
}

/// A folder of its own for a test, with the tiny project in it.
pub(crate) fn project(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects").join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    for entry in fs::read_dir(here.join("tests/projects")).expect("the projects").flatten() {
        fs::copy(entry.path(), folder.join(entry.file_name())).expect("copied");
    }
    folder
}

/// Runs a command in a folder and shows what it said if it fails.
pub(crate) fn ok(command: &mut Command, folder: &Path) -> Output {
    let output = output(command, folder);
    assert!(output.status.success(), "{command:?}\n{}", said(&output));
    output
}

/// Runs a command in a folder.
pub(crate) fn output(command: &mut Command, folder: &Path) -> Output {
    command.current_dir(folder).output().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// What a command printed.
pub(crate) fn said(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{}\n{}{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// Runs the program by hand, then under `deadheat run`: both must catch the store's race.
pub(crate) fn races(folder: &Path, command: &[&str]) {
    let mut by_hand = Command::new(command[0]);
    clean(&mut by_hand);
    by_hand.args(&command[1..]);
    let mut run = deadheat();
    run.args(["run", "--"]).args(command);
    for mut way in [by_hand, run] {
        let output = output(&mut way, folder);
        assert_eq!(output.status.code(), Some(66), "{way:?}\n{}", said(&output));
        assert!(said(&output).contains("store.c:"), "{way:?}\n{}", said(&output));
    }
}

/// Whether a tool is there. Says so if it is not: the caller returns.
pub(crate) fn have(tool: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join(tool).is_file());
    if !found {
        println!("skipped: needs {tool}");
    }
    found
}

/// Runs a test with each compiler that is there.
pub(crate) fn each_compiler(name: &str, test: impl Fn((&'static str, &'static str), &Path)) {
    for pair in COMPILERS {
        if have(pair.0) && have(pair.1) {
            test(pair, &project(&format!("{name}-{}", pair.0)));
        }
    }
}

/// The symbols of a file, as `nm` prints them.
pub(crate) fn symbols(path: &Path) -> String {
    let output = Command::new("nm").arg(path).output().expect("nm runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
