//! What libc++ counts within itself, in programs of `spec/programs` that libstdc++ builds for all other tests: references to what is shared.

mod common;

use std::path::Path;

use common::{deadheat, have, ok, output, project, said, with};

/// Programs, and the exit codes. That a rethrown exception may be gone while it is used needs a `std::exception_ptr` that is moved: libc++ 19 copies it.
const PROGRAMS: [(&str, i32); 7] = [
    ("exception_ptr", 66),
    ("exception_ptr_ok", 0),
    ("exception_ptr_caught", 66),
    ("exception_ptr_caught_ok", 0),
    ("exception_ptr_rethrown_ok", 0),
    ("weak_ptr", 66),
    ("weak_ptr_ok", 0),
];

#[test]
fn references_that_libcxx_counts_order_the_end_of_what_they_are_to() {
    let folder = project("libcxx");
    let build = |source: &Path, into: &str| {
        let mut command = with(("clang-19", "clang++-19"));
        command
            .args(["c++", "-std=c++17", "-stdlib=libc++", "-O1", "-g", "-pthread", "-o", into])
            .arg(source);
        command
    };
    std::fs::write(folder.join("probe.cpp"), "#include <memory>\nint main() {}\n").expect("writable");
    if !have("clang++-19") || !output(&mut build(Path::new("probe.cpp"), "probe"), &folder).status.success() {
        println!("skipped: needs libc++");
        return;
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs/cxx");
    for (name, code) in PROGRAMS {
        ok(&mut build(&programs.join(format!("{name}.cpp")), name), &folder);
        let told = output(deadheat().args(["run", "--", &format!("./{name}")]), &folder);
        assert_eq!(told.status.code(), Some(code), "{name}: {}", said(&told));
    }
}
