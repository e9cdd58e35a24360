//! Projects under the usual build systems, unchanged, through `deadheat build`.

mod common;

use std::path::Path;
use std::process::Command;

use common::{clean, each_compiler, have, ok, output, races, said, with};

fn build(pair: (&'static str, &'static str), folder: &Path, command: &str) {
    ok(with(pair).args(["build", "--"]).args(command.split_whitespace()), folder);
}

#[test]
fn make() {
    if !have("make") {
        return;
    }
    each_compiler("make", |pair, folder| {
        build(pair, folder, "make");
        races(folder, &["./program"]);
        let again = ok(with(pair).args(["build", "--", "make"]), folder);
        assert!(said(&again).contains("nothing was compiled through deadheat"), "{}", said(&again));
        // A makefile that names its compiler itself is not obeyed by the variable, but by PATH.
        ok(Command::new("rm").args(["program", "main.o", "store.o", "libstore.a"]), folder);
        build(pair, folder, &format!("make CC={}", pair.0));
        races(folder, &["./program"]);
    });
}

#[test]
fn make_with_two_words() {
    if !have("make") {
        return;
    }
    each_compiler("two-words", |pair, folder| {
        let mut command = Command::new("make");
        clean(&mut command);
        command.env("DEADHEAT_CC", pair.0).arg(format!("CC={} cc", env!("CARGO_BIN_EXE_deadheat")));
        ok(&mut command, folder);
        races(folder, &["./program"]);
    });
}

#[test]
fn autoconf() {
    if !have("autoconf") || !have("make") {
        return;
    }
    each_compiler("autoconf", |pair, folder| {
        ok(Command::new("rm").arg("Makefile"), folder);
        ok(&mut Command::new("autoconf"), folder);
        build(pair, folder, "./configure");
        build(pair, folder, "make");
        races(folder, &["./program"]);
    });
}

#[test]
fn cmake() {
    if !have("cmake") {
        return;
    }
    for (generator, tool, step) in
        [("Unix Makefiles", "make", "make -C out"), ("Ninja", "ninja", "ninja -C out")]
    {
        if !have(tool) {
            continue;
        }
        each_compiler(&format!("cmake-{tool}"), |pair, folder| {
            ok(with(pair).args(["build", "--", "cmake", "-B", "out", "-G", generator]), folder);
            // The second step needs no deadheat: the paths of the compilers are remembered.
            let mut command = Command::new("sh");
            clean(&mut command);
            ok(command.args(["-c", step]), folder);
            races(folder, &["out/program"]);
            races(folder, &["out/program_cxx"]);
        });
    }
}

#[test]
fn meson() {
    if !have("meson") || !have("ninja") {
        return;
    }
    each_compiler("meson", |pair, folder| {
        build(pair, folder, "meson setup out");
        build(pair, folder, "ninja -C out");
        races(folder, &["out/program"]);
        races(folder, &["out/program_cxx"]);
    });
}

#[test]
fn the_code_of_the_build_comes_through() {
    each_compiler("code", |pair, folder| {
        let failed = output(with(pair).args(["build", "--", "sh", "-c", "$CC -c none.c; exit 7"]), folder);
        assert_eq!(failed.status.code(), Some(7));
        let missing = output(with(pair).args(["build", "--", "no-such-build-system"]), folder);
        assert_eq!(missing.status.code(), Some(69), "{}", said(&missing));
    });
}
