//! What libc++ does within itself, in programs of `spec/programs` that libstdc++ builds for all other tests: it counts references to what is shared and who
//! arrives at a barrier, and sets the flag of what is done once.

mod common;

use std::path::Path;

use common::{deadheat, have, ok, output, project, said, with};

/// Programs, and the exit codes. That a rethrown exception may be gone while it is used needs a `std::exception_ptr` that is moved: libc++ 19 copies it.
const PROGRAMS: [(&str, i32); 13] = [
    ("cxx/exception_ptr", 66),
    ("cxx/exception_ptr_ok", 0),
    ("cxx/exception_ptr_caught", 66),
    ("cxx/exception_ptr_caught_ok", 0),
    ("cxx/exception_ptr_rethrown_ok", 0),
    ("cxx/weak_ptr", 66),
    ("cxx/weak_ptr_ok", 0),
    ("cxx/barrier", 66),
    ("cxx/barrier_ok", 0),
    ("once/left", 66),
    ("once/left_ok", 0),
    ("once/std_call_once", 66),
    ("once/std_call_once_ok", 0),
];

#[test]
fn what_libcxx_does_within_itself_orders_threads() {
    let folder = project("libcxx");
    let build = |source: &Path, into: &str| {
        let mut command = with(("clang-19", "clang++-19"));
        command
            .args(["c++", "-std=c++20", "-stdlib=libc++", "-O1", "-g", "-pthread", "-o", into])
            .arg(source);
        command
    };
    std::fs::write(folder.join("probe.cpp"), "#include <memory>\nint main() {}\n").expect("writable");
    if !have("clang++-19") || !output(&mut build(Path::new("probe.cpp"), "probe"), &folder).status.success() {
        println!("skipped: needs libc++");
        return;
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs");
    for (name, code) in PROGRAMS {
        let built = name.replace('/', "-");
        ok(&mut build(&programs.join(format!("{name}.cpp")), &built), &folder);
        let told = output(deadheat().args(["run", "--", &format!("./{built}")]), &folder);
        assert_eq!(told.status.code(), Some(code), "{name}: {}", said(&told));
    }
}
