//! Where reports go, and what of it is looked at before the program is started: no report is lost, and none is stale.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use common::{clean, deadheat, folder, ok, output, said, with};

/// What is said of the race, in the form for people.
const RACE: &str = "data race on `shared` (4 bytes)";

/// A program whose two threads write one variable in no order, and which leaves a file.
fn built(name: &str) -> PathBuf {
    let folder = folder("places", name);
    let racy = "#include <pthread.h>\n#include <fcntl.h>\nint shared;\n\
        static void *store(void *nothing) { shared = 1; return nothing; }\n\
        int main(int count, char **words) { pthread_t thread; (void)words; creat(\"started\", 0600);\n\
        if (count > 1) return 3;\n\
        pthread_create(&thread, 0, store, 0); shared = 2; pthread_join(thread, 0); return 4; }\n";
    fs::write(folder.join("racy.c"), racy).expect("written");
    ok(with(("cc", "c++")).args(["cc", "-g", "-O1", "-pthread", "-o", "racy", "racy.c"]), &folder);
    folder
}

#[track_caller]
fn check(folder: &Path, arguments: &[&str], code: i32, words: &str) -> Output {
    let ended = output(deadheat().args(arguments), folder);
    assert_eq!(ended.status.code(), Some(code), "{arguments:?}\n{}", said(&ended));
    assert!(said(&ended).contains(words), "{arguments:?}: {words}\n{}", said(&ended));
    ended
}

#[test]
fn what_cannot_be_read_or_written_is_said_before_the_program_is_started() {
    let folder = built("before");
    fs::write(folder.join("old"), "old\n").expect("written");
    for (options, code, words) in [
        (&["run", "-o", "nothere/x"][..], 70, "cannot write nothere/x: No such file"),
        (&["run", "--recorded", "-o", "nothere/x"], 70, "cannot write nothere/x: No such file"),
        (&["run", "-o", "."], 2, ". is a folder"),
        (&["run", "-o", "new", "--suppressions", "nothere"], 65, "cannot read nothere: No such file"),
        (&["run", "-o", "old", "--suppressions", "nothere"], 65, "cannot read nothere: No such file"),
        (&["hunt", "--suppressions", "nothere"], 65, "cannot read nothere: No such file"),
    ] {
        let arguments: Vec<&str> = options.iter().copied().chain(["--", "./racy"]).collect();
        let ended = check(&folder, &arguments, code, words);
        assert_eq!(said(&ended).matches("deadheat: ").count(), 1, "{}", said(&ended));
        assert!(!folder.join("started").exists(), "{arguments:?}");
    }
    assert_eq!(fs::read_to_string(folder.join("old")).expect("kept"), "old\n");
    assert!(!folder.join("new").exists());
    check(&folder, &["run", "-o", "old", "--", "./racy"], 66, "");
    assert!(fs::read_to_string(folder.join("old")).expect("written").contains(RACE));
}

/// A path may lead nowhere, or not be allowed to be followed, though a program is there.
#[test]
fn why_a_program_cannot_be_looked_at_is_said() {
    let folder = folder("places", "hidden");
    std::os::unix::fs::symlink("loop", folder.join("loop")).expect("linked");
    fs::write(folder.join("file"), "").expect("written");
    for (program, words) in [
        ("./nothere", "there is no program ./nothere; build it first, or check its path"),
        ("./file", "./file is not an executable program (chmod +x?)"),
        ("./loop/x", "cannot look at the program ./loop/x: Too many levels of symbolic links"),
        ("./file/x", "cannot look at the program ./file/x: Not a directory"),
    ] {
        check(&folder, &["run", "--", program], 69, words);
    }
}

#[test]
fn an_option_that_has_no_effect_while_the_program_runs_is_refused() {
    let folder = built("refused");
    for option in [["--memory-limit", "100"], ["--window", "100"], ["--by", "csp"]] {
        let options = ["run", option[0], option[1], "--", "./racy"];
        check(&folder, &options, 2, &format!("{} {} needs the whole run", option[0], option[1]));
        assert!(!folder.join("started").exists());
        check(
            &folder,
            &["run", "--recorded", option[0], option[1], "--fail-on", "observed", "--", "./racy", "quiet"],
            3,
            "",
        );
        fs::remove_file(folder.join("started")).expect("it was started");
    }
}

#[test]
fn what_cannot_be_written_in_the_end_is_told_on_standard_error() {
    let folder = built("after");
    for way in [&["run"][..], &["run", "--recorded"]] {
        for format in ["text", "json", "junit", "sarif", "html"] {
            let start = || way.iter().copied().chain(["--format", format, "-o", "/dev/full", "--"]);
            let racy: Vec<&str> = start().chain(["./racy"]).collect();
            let ended = check(&folder, &racy, 66, "warning: cannot write /dev/full: No space left");
            assert!(said(&ended).contains(RACE), "{format}: {}", said(&ended));
            let quiet: Vec<&str> = start().chain(["./racy", "quiet"]).collect();
            check(&folder, &quiet, 70, "warning: cannot write /dev/full: No space left");
        }
    }
}

#[test]
fn a_log_that_cannot_be_written_whole_is_told_on_standard_error() {
    let folder = built("log");
    // The log is on a full disk: the process that makes the link is the one that becomes the program.
    let mut shell = Command::new("sh");
    clean(&mut shell);
    shell
        .args(["-c", "ln -s /dev/full log.$$; exec ./racy"])
        .env("DEADHEAT_OPTIONS", "log_path=log exitcode=9");
    let ended = output(&mut shell, &folder);
    assert_eq!(ended.status.code(), Some(9), "{}", said(&ended));
    for words in ["warning: cannot write log.", "No space left", "this is standard error", RACE] {
        assert!(said(&ended).contains(words), "{words}: {}", said(&ended));
    }
}

#[test]
fn a_run_of_which_nothing_was_seen_has_a_report_that_says_so() {
    let folder = folder("places", "unseen");
    for way in [&["run"][..], &["run", "--recorded"]] {
        for (format, words) in [
            ("text", "no instrumented access was seen"),
            ("json", "{\"type\":\"run\",\"schema\":1,"),
            ("html", "no instrumented access was seen"),
            ("tsan", "no instrumented access was seen"),
            ("sarif", "\"results\": []"),
            ("junit", "<skipped"),
            ("github", "::notice title=deadheat::no instrumented access was seen"),
            ("markdown", "no instrumented access was seen"),
        ] {
            fs::write(folder.join("report"), "stale\n").expect("written");
            let all = |options: &[&'static str]| {
                let all = way.iter().copied().chain(["--format", format]).chain(options.iter().copied());
                all.chain(["--", "/bin/sh", "-c", "exit 3"]).collect::<Vec<_>>()
            };
            check(&folder, &all(&["-o", "report"]), 3, "nothing was seen");
            let report = fs::read_to_string(folder.join("report")).expect("written");
            assert!(report.contains(words) && !report.contains("stale"), "{format}: {report}");
            let ended = check(&folder, &all(&[]), 3, "nothing was seen");
            let told = String::from_utf8_lossy(&ended.stdout).into_owned();
            let expected = if ["text", "tsan"].contains(&format) { "" } else { &report };
            assert_eq!(told, expected, "{format}");
        }
    }
}

/// The forms for programs are whole also where nothing could be read at all.
#[test]
fn a_report_of_nothing_replaces_the_one_that_was_there() {
    let folder = folder("places", "unreadable");
    fs::write(folder.join("broken"), "no trace\n").expect("written");
    for (format, words) in
        [("json", ""), ("junit", "<testsuites"), ("sarif", "\"runs\": []"), ("html", "</html>")]
    {
        fs::write(folder.join("report"), "stale\n").expect("written");
        check(&folder, &["analyze", "broken", "--format", format, "-o", "report"], 65, "broken");
        let report = fs::read_to_string(folder.join("report")).expect("written");
        assert!(report.contains(words) && !report.contains("stale"), "{format}: {report}");
    }
}

#[test]
fn a_process_that_becomes_another_program_adds_to_its_log() {
    let folder = folder("places", "becoming");
    let source = "#include <pthread.h>\n#include <unistd.h>\nint first, second;\n\
        static void *store(void *to) { *(int *)to = 1; return to; }\n\
        static void race(int *to) { pthread_t thread; pthread_create(&thread, 0, store, to); *to = 2;\n\
        pthread_join(thread, 0); }\n\
        int main(int count, char **words) { race(count > 1 ? &second : &first);\n\
        if (count == 1) execl(words[0], words[0], \"again\", (char *)0);\n return 4; }\n";
    fs::write(folder.join("twice.c"), source).expect("written");
    ok(with(("cc", "c++")).args(["cc", "-g", "-O1", "-pthread", "-o", "twice", "twice.c"]), &folder);
    // A log of another process that had the same id, long ago.
    let script = "echo stale >log.$$; touch -d '1 hour ago' log.$$; echo $$; exec ./twice";
    let mut shell = Command::new("sh");
    clean(&mut shell);
    let ended = output(shell.args(["-c", script]).env("DEADHEAT_OPTIONS", "log_path=log"), &folder);
    assert_eq!((ended.status.code(), &*ended.stderr), (Some(66), &b""[..]), "{}", said(&ended));
    let process = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
    let log = fs::read_to_string(folder.join(format!("log.{process}"))).expect("a log");
    for words in ["data race on `first`", "data race on `second`"] {
        assert_eq!(log.matches(words).count(), 1, "{words}: {log}");
    }
    assert!(!log.contains("stale"), "{log}");
}
