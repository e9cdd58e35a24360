//! `spec/library.txt`: what the functions of the C library read and write for a program.

mod common;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::{fs, iter};

use common::{deadheat, each_compiler, ok, output, said, with};
use serde_json::Value;

/// A row of the specification.
struct Row {
    name: String,
    variables: String,
    one: String,
    other: String,
    races: bool,
    /// Whether it is about what the library has once for all, which other rows are about, too.
    alone: bool,
}

fn rows() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/library.txt");
    let text = fs::read_to_string(path).expect("the specification");
    let lines = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(row).collect()
}

fn row(line: &str) -> Row {
    // A `|` within a format has no blanks around it.
    let columns: Vec<&str> = line.split(" | ").map(str::trim).collect();
    let [name, variables, one, other, races] = columns[..] else { panic!("five columns: {line}") };
    assert!(["race", "race alone", "none"].contains(&races), "{line}");
    let own = |code: &str| code.replace('@', &format!("{name}_"));
    let (variables, one, other) = (own(variables), own(one), own(other));
    Row { name: name.to_owned(), variables, one, other, races: races != "none", alone: races == "race alone" }
}

/// A program in which one thread does what is in one column, and another one what is in the next: at any time, or behind it. That is of all
/// rows, or of those that its arguments name.
fn program(rows: &[Row]) -> String {
    let mut text = include_str!("corpus/library.c").to_owned();
    for Row { name, variables, one, other, .. } in rows {
        for declaration in variables.split_inclusive(';') {
            let _ = writeln!(text, "static {}", declaration.trim());
        }
        let _ = writeln!(text, "__attribute__((noinline)) static void one_{name}(void) {{ {one} }}");
        let _ = writeln!(text, "__attribute__((noinline)) static void other_{name}(void) {{ {other} }}");
    }
    text.push_str("static const struct row rows[] = {\n");
    for Row { name, alone, .. } in rows {
        let _ = writeln!(text, "    {{\"{name}\", {}, one_{name}, other_{name}}},", u8::from(*alone));
    }
    text.push_str("};\n\n");
    text.push_str(include_str!("corpus/library_main.c"));
    text
}

/// The races of a report.
fn races_in(report: &Path) -> Vec<Value> {
    let text = fs::read_to_string(report).expect("a report");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines.filter(|line| line["type"] == "race").collect()
}

/// The rows of which both sides are in one race.
fn racing(report: &Path) -> BTreeSet<String> {
    let row = |race: &Value| {
        let side = |side: usize, start: &str| -> Option<String> {
            let frames = race["accesses"][side]["frames"].as_array()?.iter();
            let mut names = frames.filter_map(|frame| frame["function"].as_str());
            names.find_map(|name| name.strip_prefix(start)).map(str::to_owned)
        };
        [[0, 1], [1, 0]].into_iter().find_map(|[one, other]| {
            let row = side(one, "one_")?;
            (side(other, "other_")? == row).then_some(row)
        })
    };
    races_in(report).iter().filter_map(row).collect()
}

#[test]
fn what_the_library_touches_races() {
    let rows = rows();
    let text = program(&rows);
    each_compiler("library", |compilers, folder| {
        fs::write(folder.join("library.c"), &text).expect("written");
        for options in [&["-O0"][..], &["-O2", "-D_FORTIFY_SOURCE=2"]] {
            let build = ["cc", "-w", "-pthread", "-o", "library", "library.c", "-lm"];
            ok(with(compilers).args(build).args(options), folder);
            for way in [&[][..], &["--recorded"]] {
                let what = format!("{compilers:?} {options:?} {way:?}");
                let told = |arguments: &[&str], code: i32| {
                    let start = ["run", "--format", "json", "-o", "r.jsonl"];
                    let command = [&start, way, &["--", "./library"], arguments].concat();
                    let output = output(deadheat().args(command), folder);
                    let said = said(&output);
                    // What a program that died would have done behind that is not told.
                    assert!(!said.contains("was killed by"), "{what} {arguments:?}: {said}");
                    assert_eq!(output.status.code(), Some(code), "{what} {arguments:?}: {said}");
                    racing(&folder.join("r.jsonl"))
                };
                let mut found = told(&["apart"], 66);
                for row in rows.iter().filter(|row| row.alone) {
                    found.extend(told(&["apart", &row.name], 66));
                }
                let expected = rows.iter().filter(|row| row.races).map(|row| row.name.clone()).collect();
                let missed: Vec<_> = BTreeSet::difference(&expected, &found).collect();
                let wrong: Vec<_> = found.difference(&expected).collect();
                assert!(missed.is_empty() && wrong.is_empty(), "{what}: missed {missed:?}, wrong {wrong:?}");
                told(&["behind"], 0);
            }
        }
    });
}

/// A program's own functions are called, whatever names they have, and what they are given is nobody's business.
#[test]
fn own_functions_with_names_of_the_library_are_called() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/own_names.c");
    each_compiler("own_names", |compilers, folder| {
        for (object, define) in [("calls.o", "-UDEFINES"), ("has.o", "-DDEFINES")] {
            let compile = ["cc", "-w", "-g", "-c", define, "-o", object];
            ok(with(compilers).args(compile).arg(&source), folder);
        }
        for options in [&[][..], &["-static"]] {
            ok(
                with(compilers).args(["cc", "calls.o", "has.o", "-pthread", "-o", "own"]).args(options),
                folder,
            );
            let output = output(deadheat().args(["run", "--", "./own"]), folder);
            assert_eq!(output.status.code(), Some(0), "{compilers:?} {options:?}: {}", said(&output));
            assert_eq!(String::from_utf8_lossy(&output.stdout), "8 1 6 6 5\n", "{compilers:?} {options:?}");
        }
    });
}

/// The kernel is asked about memory that it cannot read, and for more than there is: the program is answered as without.
#[test]
fn what_cannot_be_read_is_the_kernels_to_tell() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/unreadable.c");
    each_compiler("unreadable", |compilers, folder| {
        let options = ["-w", "-g", "-pthread", "-o"];
        ok(Command::new(compilers.0).args(options).arg("plain").arg(&source), folder);
        let plain = output(&mut Command::new("./plain"), folder);
        for linked in [&[][..], &["-static"]] {
            ok(with(compilers).arg("cc").args(options).arg("asks").arg(&source).args(linked), folder);
            for way in [&["run", "--", "./asks"][..], &["record", "-o", "t.dht", "--", "./asks"]] {
                let output = output(deadheat().args(way), folder);
                let text = String::from_utf8_lossy(&output.stdout);
                assert_eq!(
                    output.status.code(),
                    Some(0),
                    "{compilers:?} {linked:?} {way:?}: {text}{}",
                    said(&output)
                );
                assert_eq!(text, String::from_utf8_lossy(&plain.stdout), "{compilers:?} {linked:?} {way:?}");
            }
        }
    });
}

/// Who is cancelled while it waits in a function that is looked at is unwound, as without.
#[test]
fn who_is_cancelled_in_a_function_is_unwound() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/cancelled.cc");
    each_compiler("cancelled", |compilers, folder| {
        for options in [&[][..], &["-static"]] {
            let build = ["c++", "-g", "-O1", "-pthread", "-o", "cancelled"];
            ok(with(compilers).args(build).args(options).arg(&source), folder);
            // clang takes `scanf` for a function that no exception leaves, also without us.
            let scanf = (compilers.1 == "g++").then_some("scanf");
            for function in ["nanosleep", "clock_nanosleep"].into_iter().chain(scanf) {
                let output = output(deadheat().args(["run", "--", "./cancelled", function]), folder);
                assert_eq!(output.status.code(), Some(0), "{compilers:?} {options:?}: {}", said(&output));
                let text = String::from_utf8_lossy(&output.stdout);
                assert_eq!(text, "ended, cancelled\n", "{compilers:?} {options:?} {function}");
            }
        }
    });
}

/// What the compiler's own library locks when an exception is thrown or a thread is created orders nothing that is the program's.
#[test]
fn the_unwinder_orders_nothing() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/unwinding.cc");
    each_compiler("unwinding", |compilers, folder| {
        for options in [&[][..], &["-static"], &["-static-pie"]] {
            let build = ["c++", "-g", "-O1", "-pthread", "-o", "unwinding"];
            ok(with(compilers).args(build).args(options).arg(&source), folder);
            for way in [&[][..], &["--recorded"]] {
                let start = ["run", "--format", "json", "-o", "r.jsonl"];
                let output = output(deadheat().args([&start, way, &["--", "./unwinding"]].concat()), folder);
                let variables: BTreeSet<String> = races_in(&folder.join("r.jsonl"))
                    .iter()
                    .map(|race| race["location"]["symbol"].to_string())
                    .collect();
                let text = said(&output);
                assert_eq!(variables.len(), 2, "{compilers:?} {options:?} {way:?}: {variables:?} {text}");
            }
        }
    });
}

/// Names are there once, and a name says what its row is about.
#[test]
fn rows_have_names() {
    let rows = rows();
    let names: BTreeSet<&str> = rows.iter().map(|row| &*row.name).collect();
    assert_eq!(names.len(), rows.len());
    let other = iter::once("vsscanf_number").chain([
        "vprintf_text",
        "iconv_text",
        "iconv_target",
        "iconv_behind_the_target",
    ]);
    let other: BTreeSet<&str> = other.collect();
    for Row { name, one, other: second, .. } in rows.iter().filter(|row| !other.contains(&*row.name)) {
        let is_there = |end: usize| {
            let function = &name[..end];
            one.contains(&format!("{function}(")) || second.contains(&format!("{function}("))
        };
        let ends = name.match_indices('_').map(|(at, _)| at);
        assert!(ends.into_iter().any(is_there) || one.contains("environ"), "{name}: {one}");
    }
}
