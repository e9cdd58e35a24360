//! Options of other tools that programs started by hand heed, too.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{clean, folder, ok, output, with};

/// A program of `tests/corpus`, built by the system's compiler in a folder of the test's own.
fn built(name: &str, test: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder("options", test);
    let headers = format!("-I{}", here.join("../../spec/programs").display());
    let source = here.join("tests/corpus").join(name);
    ok(with(("cc", "c++")).args(["cc", "-O1", "-pthread", "-o", "program", &headers]).arg(source), &folder);
    folder
}

/// Starts the program with these options.
fn run(folder: &Path, way: &str, options: &str) -> Output {
    let mut command = Command::new(folder.join("program"));
    clean(&mut command);
    output(command.arg(way).env("TSAN_OPTIONS", options), folder)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_orders_threads_is_as_the_options_say() {
    let folder = built("orders.c", "orders");
    for (way, options, code) in [
        ("relaxed", "", 66),
        ("relaxed", "force_seq_cst_atomics=1", 0),
        ("pipe", "", 0),
        ("pipe", "io_sync=0", 66),
        ("pipe", "io_sync=2", 0),
        ("pipes", "", 66),
        ("pipes", "io_sync=2", 0),
    ] {
        let ended = run(&folder, way, options);
        assert_eq!(ended.status.code(), Some(code), "{way} {options}: {}", text(&ended.stderr));
        for watched in [&["run"][..], &["run", "--recorded"]] {
            let mut command = with(("cc", "c++"));
            command.args(watched).args(["--quiet", "--", "./program", way]).env("TSAN_OPTIONS", options);
            let ended = output(&mut command, &folder);
            assert_eq!(
                ended.status.code(),
                Some(code),
                "{watched:?} {way} {options}: {}",
                text(&ended.stderr)
            );
        }
    }
}

#[test]
fn files_are_told_from_where_the_prefix_ends() {
    let folder = built("orders.c", "prefix");
    for (format, told) in [
        ("text", "--> corpus/orders.c:"),
        ("text", "dh_use(value);"),
        ("tsan", "#0 main corpus/orders.c:"),
        ("tsan", "SUMMARY: ThreadSanitizer: data race corpus/orders.c:"),
        ("json", "\"file\":\"corpus/orders.c\""),
    ] {
        let ended = run(&folder, "relaxed", &format!("strip_path_prefix=deadheat/tests/:format={format}"));
        let err = text(&ended.stderr);
        assert!(err.contains(told) && !err.contains("deadheat/tests/corpus"), "{format}: {err}");
    }
}

#[test]
fn options_stand_in_files_too() {
    let folder = built("orders.c", "files");
    fs::write(folder.join("first"), "exitcode=7\ninclude=second.%b nonsense=1").expect("a file");
    fs::write(folder.join("second.program"), "log_path='log of it'").expect("a file");
    let ended = run(&folder, "relaxed", "include=first:log_suffix=.txt");
    assert_eq!(ended.status.code(), Some(7));
    assert_eq!(text(&ended.stderr), "deadheat: warning: first: there is no option `nonsense`\n");
    let logs = fs::read_dir(&folder)
        .expect("the folder")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let logs: Vec<String> =
        logs.filter(|name| name.starts_with("log of it.") && name.ends_with(".txt")).collect();
    assert_eq!(logs.len(), 1, "{logs:?}");
    let ended = run(&folder, "pipe", "include_if_exists=none:exitcode=5");
    assert_eq!((ended.status.code(), &*text(&ended.stderr)), (Some(0), ""));
    let ended = run(&folder, "pipe", "include=none:exitcode=5");
    let warning = "deadheat: warning: include: there is no file to read of up to 32 KiB `none`\n";
    assert_eq!((ended.status.code(), &*text(&ended.stderr)), (Some(0), warning));
}

#[test]
fn the_program_tells_its_options() {
    let folder = built("orders.c", "help");
    let ended = run(&folder, "pipe", "help=1");
    let err = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(0));
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/by-hand.md"))
        .expect("the page");
    let table =
        page.lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |").map(|(names, _)| names));
    let documented: Vec<&str> =
        table.flat_map(|names| names.split(", ")).map(|name| name.trim_matches('`')).collect();
    let told: Vec<&str> = err
        .lines()
        .filter_map(|line| line.strip_prefix("  ")?.split_once('='))
        .map(|(name, _)| name)
        .collect();
    let told: Vec<&str> = told.into_iter().filter(|name| !name.starts_with(' ')).collect();
    let sorted = |mut names: Vec<&str>| {
        names.sort_unstable();
        names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(sorted(told), sorted(documented));
}
