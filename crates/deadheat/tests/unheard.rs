//! Nobody listens: standard error is full, or a pipe is closed. What is said is lost then, and the code stays.

mod common;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use common::{clean, deadheat, folder, ok, output, said, with};

/// A program whose two threads write one variable in no order, and one that does nothing: it ends with 3.
fn built(name: &str) -> PathBuf {
    let folder = folder("unheard", name);
    let racy = "#include <pthread.h>\n#include <unistd.h>\nint shared;\n\
        static void *store(void *nothing) { shared = 1; return nothing; }\n\
        int main(int count, char **words) { pthread_t thread; (void)words; if (count > 1) return 3;\n\
        pthread_create(&thread, 0, store, 0); shared = 2; pthread_join(thread, 0); return 4; }\n";
    fs::write(folder.join("racy.c"), racy).expect("written");
    ok(with(("cc", "c++")).args(["cc", "-g", "-O1", "-pthread", "-o", "racy", "racy.c"]), &folder);
    folder
}

/// A stream on a full disk.
fn full() -> Stdio {
    Stdio::from(File::options().write(true).open("/dev/full").expect("the full device"))
}

/// A stream that nobody reads any more.
fn closed() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    Stdio::from(writer)
}

fn run(command: &mut Command, folder: &Path, streams: (Stdio, Stdio)) -> Output {
    let command = command.current_dir(folder).stdin(Stdio::null()).stdout(streams.0).stderr(streams.1);
    let child = command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    child.wait_with_output().expect("its end")
}

/// With each standard error that takes nothing.
fn unheard(folder: &Path, arguments: &[&str]) -> [Option<i32>; 2] {
    [full, closed]
        .map(|errors| run(deadheat().args(arguments), folder, (Stdio::null(), errors())).status.code())
}

#[test]
fn the_code_does_not_depend_on_standard_error() {
    let folder = built("codes");
    for (arguments, code) in [
        (&["run", "--", "./racy"][..], 66),
        (&["run", "--recorded", "--", "./racy"], 66),
        (&["run", "--", "./racy", "quiet"], 3),
        (&["run", "--", "/bin/true"], 0),
        (&["run", "--", "./nothere"], 69),
        (&["run", "--timeout", "0.2", "--", "sleep", "60"], 124),
        (&["record", "-o", "t.dh", "--", "./racy"], 4),
        (&["analyze", "t.dh"], 66),
        (&["analyze", "nothere"], 65),
        (&["report", "nothere"], 65),
        (&["hunt", "--until-first", "--", "./racy"], 66),
        (&["--nonsense"], 2),
    ] {
        assert_eq!(unheard(&folder, arguments), [Some(code); 2], "{arguments:?}");
    }
    let heard = output(deadheat().arg("doctor"), &folder);
    assert_eq!(unheard(&folder, &["doctor"]), [heard.status.code(); 2], "{}", said(&heard));
}

#[test]
fn a_program_that_was_started_by_hand_ends_as_if_it_were_heard() {
    let folder = built("byhand");
    for (options, code) in [("", 66), ("exitcode=7", 7), ("exitcode=0", 4), ("format=rhyme", 66)] {
        for errors in [full(), closed()] {
            let mut program = Command::new(folder.join("racy"));
            clean(&mut program);
            let ended = run(program.env("DEADHEAT_OPTIONS", options), &folder, (Stdio::null(), errors));
            assert_eq!(ended.status.code(), Some(code), "{options}");
        }
    }
}

/// Whoever is asked to tell has something to tell; what code the program ends with then it knows itself.
#[test]
fn a_program_whose_races_cannot_be_told_ends_with_their_code() {
    let folder = folder("unheard", "untold");
    for options in ["", "exitcode=7", "exitcode=0"] {
        let told = output(deadheat().args(["tell-by-hand", "nothere", "1", "", "", options, ""]), &folder);
        assert_eq!(told.status.code(), Some(66), "{}", said(&told));
        assert!(said(&told).contains("nothere"), "{}", said(&told));
    }
}

#[test]
fn an_answer_that_was_read_as_far_as_somebody_wanted_is_no_fault() {
    let folder = built("answers");
    assert_eq!(
        output(deadheat().args(["record", "-o", "t.dh", "--", "./racy"]), &folder).status.code(),
        Some(4)
    );
    for (arguments, code) in [
        (&["--help"][..], 0),
        (&["--version"], 0),
        (&["completions", "bash"], 0),
        (&["trace", "info", "t.dh"], 0),
        (&["trace", "dump", "t.dh"], 0),
        (&["trace", "export", "--to", "std", "t.dh"], 0),
        (&["model", "t.dh"], 0),
        (&["analyze", "--format", "json", "t.dh"], 66),
        (&["analyze", "--format", "junit", "t.dh"], 66),
        (&["analyze", "--format", "sarif", "t.dh"], 66),
    ] {
        let ended = run(deadheat().args(["--quiet"]).args(arguments), &folder, (closed(), Stdio::piped()));
        assert_eq!(
            (ended.status.code(), &*ended.stderr),
            (Some(code), &b""[..]),
            "{arguments:?} {}",
            said(&ended)
        );
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_said_in_one_line() {
    let folder = built("full");
    assert_eq!(
        output(deadheat().args(["record", "-o", "t.dh", "--", "./racy"]), &folder).status.code(),
        Some(4)
    );
    for arguments in [&["--help"][..], &["--version"], &["completions", "bash"], &["trace", "info", "t.dh"]] {
        let ended = run(deadheat().args(arguments), &folder, (full(), Stdio::piped()));
        let told = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), told.lines().count()), (Some(70), 1), "{arguments:?} {told}");
        assert!(told.starts_with("deadheat: cannot write") && told.contains("No space left"), "{told}");
    }
}
