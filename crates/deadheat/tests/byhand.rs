//! Programs that are started by hand find their races, and have them told by the command line that linked them.

mod common;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use common::{clean, deadheat, each_compiler, folder, ok, output, with};

const SUITE: &str = "byhand";
/// What the first lines of the report say, in the form for people.
const RACE: &str = "data race on `shared` (4 bytes)";

/// The program, built with these arguments more, in a folder of the test.
fn build(pair: (&str, &str), folder: &Path, arguments: &[&str]) {
    build_of("byhand.c", pair, folder, arguments);
}

/// A program of `tests/corpus`, which may use the means of `spec/programs`.
fn build_of(name: &str, pair: (&str, &str), folder: &Path, arguments: &[&str]) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = here.join("tests/corpus").join(name);
    let headers = format!("-I{}", here.join("../../spec/programs").display());
    let arguments = arguments.iter().copied().chain([&*headers]);
    ok(with(pair).args(["cc", "-O1", "-pthread", "-o", "program"]).arg(source).args(arguments), folder);
}

/// The program built by the system's compiler, in a folder of the test's own.
fn built(name: &str) -> PathBuf {
    let folder = folder(SUITE, name);
    build(("cc", "c++"), &folder, &[]);
    folder
}

struct Ended {
    code: Option<i32>,
    signal: Option<i32>,
    out: String,
    err: String,
}

/// Starts the program by hand.
fn run(folder: &Path, way: &str, environment: &[(&str, &str)]) -> Ended {
    let mut command = Command::new(folder.join("program"));
    clean(&mut command);
    ended(command.arg(way).envs(environment.iter().copied()), folder)
}

/// Runs what starts the program.
fn ended(command: &mut Command, folder: &Path) -> Ended {
    let found = output(command, folder);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&found.stdout), text(&found.stderr));
    Ended { code: found.status.code(), signal: found.status.signal(), out, err }
}

#[test]
fn races_are_told_and_the_program_ends_as_it_would_but_for_its_code() {
    each_compiler("byhand", |pair, folder| {
        for arguments in [&[][..], &["-static"], &["-DOWN_SUPPRESSIONS"]] {
            build(pair, folder, arguments);
            let Ended { code, out, err, .. } = run(folder, "", &[]);
            assert_eq!(out, "begin\ndone\ndestructor\n", "{err}");
            if arguments == ["-DOWN_SUPPRESSIONS"] {
                assert_eq!((code, &*err), (Some(3), ""));
            } else {
                assert_eq!(code, Some(66), "{arguments:?} {err}");
                assert_eq!(err.matches(RACE).count(), 1, "{err}");
                assert!(err.contains("#0 store ") && err.contains("#0 race "), "{err}");
                assert!(err.ends_with("deadheat: 1 race (1 unordered)\n"), "{err}");
            }
        }
    });
}

#[test]
fn every_way_out_tells() {
    let folder = built("ways");
    for (way, code, out) in [
        ("_exit", 66, "begin\ndone\n"),
        ("ignoring", 66, "begin\ndone\ndestructor\n"),
        ("exec", 0, "begin\ndone\nexecuted\n"),
        ("failing-exec", 66, "begin\ndone\nchildren 0, none to wait for: 1\ndestructor\n"),
        ("fork", 0, "begin\ndestructor\nchild 66\ndestructor\n"),
    ] {
        let ended = run(&folder, way, &[]);
        assert_eq!((ended.code, &*ended.out), (Some(code), out), "{way}: {}", ended.err);
        assert_eq!(ended.err.matches(RACE).count(), 1, "{way}: {}", ended.err);
    }
    let handled = run(&folder, "atfork", &[]);
    assert_eq!(handled.code, Some(66), "{}", handled.err);
    assert!(handled.err.contains("#0 around_fork "), "{}", handled.err);
    let quick = run(&folder, "quick_exit", &[]);
    assert_eq!((quick.code, quick.err.matches(RACE).count()), (Some(66), 1), "{}", quick.err);
    let handled = run(&folder, "at_quick_exit", &[]);
    assert_eq!(handled.code, Some(66), "{}", handled.err);
    assert!(handled.err.contains("#0 at_the_end "), "{}", handled.err);
    let aborted = run(&folder, "abort", &[]);
    assert_eq!((aborted.signal, aborted.err.matches(RACE).count()), (Some(6), 1), "{}", aborted.err);
}

#[test]
fn without_races_nothing_is_said_and_nothing_is_left() {
    let folder = built("silent");
    let ended = run(&folder, "silent", &[]);
    assert_eq!((ended.code, &*ended.out, &*ended.err), (Some(3), "begin\ndestructor\n", ""));
    let off = run(&folder, "descriptors", &[("DEADHEAT_WIRE", "1;mode=off")]);
    let on = run(&folder, "descriptors", &[]);
    assert_eq!((off.code, on.code), (Some(0), Some(66)), "{}", on.err);
    assert_eq!(off.out, on.out, "the program has as many descriptors as without us");
    let names = fs::read_dir(&folder).expect("listed").flatten().map(|entry| entry.file_name());
    assert_eq!(names.collect::<Vec<_>>(), ["program"]);
}

#[test]
fn options_of_the_environment_hold() {
    let folder = built("options");
    let code = |environment: &[(&str, &str)]| run(&folder, "", environment).code;
    assert_eq!(code(&[("TSAN_OPTIONS", "exitcode=7")]), Some(7));
    assert_eq!(code(&[("TSAN_OPTIONS", "exitcode=7"), ("DEADHEAT_OPTIONS", "exitcode='8'")]), Some(8));
    assert_eq!(code(&[("TSAN_OPTIONS", "exitcode=0")]), Some(3));
    let off = run(&folder, "", &[("TSAN_OPTIONS", "verbosity=1:report_bugs=0")]);
    assert_eq!((off.code, &*off.err), (Some(3), ""));
    let halted = run(&folder, "", &[("TSAN_OPTIONS", "halt_on_error=1 abort_on_error=0")]);
    assert_eq!((halted.code, halted.out.contains("destructor")), (Some(66), false), "{}", halted.err);
    let escapes = |color: &str| run(&folder, "", &[("TSAN_OPTIONS", color)]).err.matches('\x1b').count();
    assert!(escapes("color=always") > 0 && escapes("color=auto") == 0 && escapes("") == 0);
    let shaped = run(&folder, "", &[("DEADHEAT_OPTIONS", "format=tsan")]);
    assert!(
        shaped.err.starts_with("==================\nWARNING: ThreadSanitizer: data race (pid="),
        "{}",
        shaped.err
    );
    fs::write(folder.join("list"), "race:store\n").expect("written");
    let suppressed = run(&folder, "", &[("TSAN_OPTIONS", "suppressions='list',exitcode=9")]);
    assert_eq!((suppressed.code, &*suppressed.err), (Some(3), ""));
    let away = run(&folder, "", &[("TSAN_OPTIONS", "suppressions=none")]);
    assert!(away.code == Some(66) && away.err.contains("cannot read the suppressions none"), "{}", away.err);
}

#[test]
fn the_first_race_ends_the_process_whatever_its_code() {
    let folder = built("halted");
    let halted = |options: &str| run(&folder, "", &[("DEADHEAT_OPTIONS", options)]);
    for code in [0, 7] {
        let Ended { code: found, out, err, .. } = halted(&format!("halt_on_error=1:exitcode={code}"));
        assert_eq!((found, out.contains("destructor")), (Some(code), false), "{err}");
        assert_eq!(err.matches(RACE).count(), 1, "{err}");
    }
    let aborted = halted("halt_on_error=1:abort_on_error=1");
    assert_eq!((aborted.signal, aborted.err.matches(RACE).count()), (Some(6), 1), "{}", aborted.err);
    fs::write(folder.join("list"), "race:store\n").expect("written");
    let suppressed = halted("halt_on_error=1:abort_on_error=1:exitcode=0:suppressions=list");
    let expected = (Some(3), "begin\ndone\ndestructor\n", "");
    assert_eq!((suppressed.code, &*suppressed.out, &*suppressed.err), expected);
}

#[test]
fn reports_go_to_a_log_of_the_process() {
    let folder = built("log");
    let log = |start: &str| {
        let names = fs::read_dir(&folder).expect("listed").flatten().map(|entry| entry.path());
        let is_log =
            |path: &PathBuf| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(start));
        fs::read_to_string(names.into_iter().find(is_log).expect("a log")).expect("readable")
    };
    let ended = run(&folder, "", &[("TSAN_OPTIONS", "log_path=told")]);
    assert_eq!((ended.code, &*ended.err), (Some(66), ""));
    assert!(log("told.").contains(RACE));
    let ended = run(&folder, "", &[("TSAN_OPTIONS", "log_path=named log_exe_name=1 log_suffix=.txt")]);
    assert_eq!((ended.code, &*ended.err), (Some(66), ""));
    assert!(log("named.program.").contains(RACE));
    let names = fs::read_dir(&folder).expect("listed").flatten().map(|entry| entry.file_name());
    let is_whole = |name: &str| {
        let number = name.strip_prefix("named.program.").and_then(|rest| rest.strip_suffix(".txt"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    assert!(names.into_iter().any(|name| is_whole(&name.to_string_lossy())), "{folder:?}");
    for (format, words) in
        [("text", RACE), ("tsan", "WARNING: ThreadSanitizer"), ("json", "\"symbol\":\"shared\"")]
    {
        let options = format!("log_path=stdout format={format}");
        let ended = run(&folder, "", &[("DEADHEAT_OPTIONS", &options)]);
        assert_eq!((ended.code, &*ended.err), (Some(66), ""));
        assert!(ended.out.contains(words) && ended.out.contains("done\n"), "{}", ended.out);
    }
    let names = fs::read_dir(&folder).expect("listed").flatten().map(|entry| entry.file_name());
    assert!(!names.into_iter().any(|name| name.to_string_lossy().starts_with("std")));
    build(("cc", "c++"), &folder, &["-DOWN_OPTIONS"]);
    let ended = run(&folder, "", &[]);
    assert_eq!((ended.code, &*ended.err), (Some(5), ""));
    assert!(log("own.").contains(RACE));
}

#[test]
fn the_folder_that_a_compiler_ran_in_is_no_part_of_a_file_s_name() {
    let folder = folder(SUITE, "wherever");
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let map = format!("-ffile-prefix-map={}=/proc/self/cwd", corpus.display());
    build(("cc", "c++"), &folder, &[&map]);
    let ended = run(&folder, "", &[]);
    assert!(ended.err.contains("--> byhand.c:"), "{}", ended.err);
}

#[test]
fn what_cannot_be_meant_is_named() {
    let folder = built("unknown");
    let options =
        [("TSAN_OPTIONS", "detect_deadlocks=1 halt=1"), ("DEADHEAT_OPTIONS", "exitcode=many:format=rhyme")];
    let Ended { code, err, .. } = run(&folder, "", &options);
    assert_eq!(code, Some(66));
    for line in [
        "deadheat: warning: TSAN_OPTIONS: there is no option `halt`\n",
        "deadheat: warning: DEADHEAT_OPTIONS: not a number from 0 to 255 for `exitcode`\n",
        "deadheat: warning: DEADHEAT_OPTIONS: there is no format `rhyme`; this is `text`\n",
    ] {
        assert!(err.contains(line), "{line} in {err}");
    }
    assert_eq!(err.matches("warning").count(), 3, "{err}");
    assert!(err.contains(RACE), "{err}");
}

/// Whatever is wrong with an option, the race is told, with the code that was asked for.
#[test]
fn what_is_wrong_with_an_option_keeps_nothing_from_being_told() {
    let folder = built("wrong");
    fs::create_dir(folder.join("inner")).expect("made");
    fs::write(folder.join("list"), "race:elsewhere\nrubbish\nbogus:store\nrace:\n").expect("written");
    for (options, warnings) in [
        ("log_path=away/log", &["cannot write away/log."][..]),
        ("suppressions=inner", &["cannot read the suppressions inner: Is a directory"]),
        ("suppressions=away", &["cannot read the suppressions away: No such file or directory"]),
        (
            "suppressions=list",
            &["list:2: `rubbish` has no `type:`", "list:3: unknown type `bogus`", "list:4: `race:`"],
        ),
        ("report_atomic_races=maybe", &["DEADHEAT_OPTIONS: neither 0 nor 1 for `report_atomic_races`"]),
        ("history_size=99 memory_limit_mb=abc", &["for `history_size`", "for `memory_limit_mb`"]),
        ("format='text", &["since a quote is not closed, of `format`"]),
    ] {
        let options = format!("exitcode=9 {options}");
        let Ended { code, err, .. } = run(&folder, "", &[("DEADHEAT_OPTIONS", &options)]);
        assert!(code == Some(9) && err.contains(RACE), "{options}: {code:?} {err}");
        assert_eq!(err.matches("deadheat: warning: ").count(), warnings.len(), "{options}: {err}");
        for warning in warnings {
            assert!(err.contains(warning), "{options}: {err}");
        }
    }
}

#[test]
fn without_the_command_line_places_and_a_trace_are_left() {
    let folder = built("gone");
    let Ended { code, err, out, .. } = run(&folder, "", &[("DEADHEAT", "/nonexistent/deadheat")]);
    assert_eq!((code, &*out), (Some(66), "begin\ndone\ndestructor\n"), "{err}");
    let program = folder.join("program");
    let place = |line: &str| {
        let (_, rest) = line.split_once(&format!("{}+0x", program.display())).expect("module and offset");
        let offset = rest.split([' ', '\n']).next().unwrap_or_default().to_owned();
        let resolved =
            ok(Command::new("addr2line").arg("-e").arg(&program).arg(format!("0x{offset}")), &folder);
        String::from_utf8_lossy(&resolved.stdout).into_owned()
    };
    let source = include_str!("corpus/byhand.c");
    let line = |mark: &str| 1 + source.lines().position(|line| line.contains(mark)).expect("marked");
    let told = err.lines().next().unwrap_or_default();
    let sides: Vec<&str> = told.split(" and ").collect();
    let mut places: Vec<String> = sides.iter().map(|side| place(side)).collect();
    places.sort();
    let expected = [line("the second thread's"), line("the first thread's")];
    for (place, line) in places.iter().zip(expected) {
        assert!(place.contains(&format!("byhand.c:{line}")), "{place} in {err}");
    }
    assert!(err.contains("cannot run /nonexistent/deadheat"), "{err}");
    let (_, command) = err.trim_end().rsplit_once(": deadheat ").expect("the command that finishes the job");
    let analyzed = output(common::deadheat().args(command.split(' ')), &folder);
    assert_eq!(analyzed.status.code(), Some(66), "{}", common::said(&analyzed));
    assert!(common::said(&analyzed).contains(RACE), "{}", common::said(&analyzed));
}

/// It may be there, and the loader does not get the libraries that it needs.
#[test]
fn a_command_line_that_does_not_do_its_work_is_as_good_as_none() {
    let folder = built("unloadable");
    // One descriptor is the trace, and the loader gets none.
    let mut shell = Command::new("sh");
    clean(&mut shell);
    let ended = ended(shell.args(["-c", "ulimit -n 4; exec ./program"]), &folder);
    assert_eq!(ended.code, Some(66), "{}", ended.err);
    assert!(ended.err.contains("deadheat: data race: write of 4 bytes at "), "{}", ended.err);
    assert!(ended.err.contains(", which tells more; where there is another one: "), "{}", ended.err);
    let told = run(&folder, "", &[("DEADHEAT_OPTIONS", "exitcode=127")]);
    assert_eq!(told.code, Some(127), "{}", told.err);
    assert!(told.err.contains(RACE) && !told.err.contains("cannot run"), "{}", told.err);
}

#[test]
fn a_program_with_a_small_stack_has_its_races_told() {
    let folder = built("small");
    let mut shell = Command::new("sh");
    clean(&mut shell);
    let ended = ended(shell.args(["-c", "ulimit -s 64; exec ./program"]), &folder);
    assert!(ended.code == Some(66) && ended.err.matches(RACE).count() == 1, "{}", ended.err);
}

/// Builds a program of `spec/programs` in a folder of the test's own.
fn built_of_spec(name: &str) -> PathBuf {
    let folder = folder(SUITE, &name.replace('/', "-"));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs").join(format!("{name}.c"));
    ok(with(("cc", "c++")).args(["cc", "-g", "-pthread", "-o", "program"]).arg(source), &folder);
    folder
}

#[test]
fn a_child_that_is_forked_behind_threads_tells_what_its_parent_would() {
    let folder = built_of_spec("fork/child_after_threads");
    let Ended { err, .. } = run(&folder, "", &[]);
    assert!(
        err.contains("data race on `value` (4 bytes)") && !err.contains("no instrumented access"),
        "{err}"
    );
}

#[test]
fn findings_are_told_in_the_words_of_other_tools_and_can_be_turned_off() {
    for (name, words, option, suppression) in [
        (
            "misuse/unlock_free",
            "unlock of an unlocked mutex (or by a wrong thread)",
            "report_mutex_bugs",
            "mutex:main",
        ),
        ("misuse/destroy_held", "destroy of a locked mutex", "report_destroy_locked", "mutex:main"),
        (
            "lock_order/opposite",
            "lock-order-inversion (potential deadlock)",
            "detect_deadlocks",
            "deadlock:^backwards$",
        ),
        ("leaks/thread", "thread leak", "report_thread_leaks", "thread:main"),
        (
            "handlers/allocates",
            "signal-unsafe call inside of a signal",
            "report_signal_unsafe",
            "signal:^handler$",
        ),
    ] {
        let folder = built_of_spec(name);
        let shaped = run(&folder, "", &[("DEADHEAT_OPTIONS", "format=tsan")]);
        let first = format!("==================\nWARNING: ThreadSanitizer: {words} (pid=");
        assert!(shaped.code == Some(66) && shaped.err.starts_with(&first), "{name}: {}", shaped.err);
        assert_eq!(shaped.err.matches("WARNING").count(), 1, "{name}: {}", shaped.err);
        assert!(
            shaped.err.contains(&format!("SUMMARY: ThreadSanitizer: {words} ")),
            "{name}: {}",
            shaped.err
        );
        let off = run(&folder, "", &[("TSAN_OPTIONS", &format!("{option}=0"))]);
        assert_eq!((off.code, &*off.err), (Some(0), ""), "{name}");
        fs::write(folder.join("list"), suppression).expect("written");
        let suppressed = run(&folder, "", &[("TSAN_OPTIONS", "suppressions=list")]);
        assert_eq!((suppressed.code, &*suppressed.err), (Some(0), ""), "{name}");
    }
}

#[test]
fn a_lock_order_is_told_with_as_many_stacks_as_are_asked_for() {
    let folder = built_of_spec("lock_order/opposite");
    let told = |options: &str| run(&folder, "", &[("DEADHEAT_OPTIONS", options)]).err;
    let brief = told("format=tsan");
    for line in [
        "  Cycle in lock order graph: M1 (0x",
        "  Mutex M2 acquired here while holding mutex M1 in thread T1:\n    #0 forwards ",
        "  Hint: use TSAN_OPTIONS=second_deadlock_stack=1 to get more informative warning message\n",
        "  Mutex M1 acquired here while holding mutex M2 in thread T2:\n    #0 backwards ",
        "  Thread T2 (main/2) created by main thread at:\n",
    ] {
        assert_eq!(brief.matches(line).count(), 1, "{line} in {brief}");
    }
    let whole = told("format=tsan:second_deadlock_stack=1");
    for line in [
        "  Mutex M1 previously acquired by the same thread here:\n    #0 forwards ",
        "  Mutex M2 previously acquired",
    ] {
        assert_eq!(whole.matches(line).count(), 1, "{line} in {whole}");
    }
    assert!(!whole.contains("Hint"), "{whole}");
}

#[test]
fn a_process_that_ends_waits_for_its_threads_if_asked() {
    let folder = folder(SUITE, "lingers");
    let source = "#include <pthread.h>\n#include <unistd.h>\n\
        static int pipes[2];\n\
        static void *waits(void *nothing) { char c; return read(pipes[0], &c, 1) == 1 ? nothing : &pipes; }\n\
        __attribute__((destructor)) static void last(void) { write(pipes[1], \"\", 1); }\n\
        int main(void) { pthread_t thread; pipe(pipes); pthread_create(&thread, 0, waits, 0); return 0; }\n";
    fs::write(folder.join("lingers.c"), source).expect("written");
    ok(with(("cc", "c++")).args(["cc", "-g", "-pthread", "-o", "program", "lingers.c"]), &folder);
    let waited = run(&folder, "", &[("TSAN_OPTIONS", "atexit_sleep_ms=60000")]);
    assert_eq!(waited.code, Some(66), "{}", waited.err);
    assert!(waited.err.contains("thread-leak"), "{}", waited.err);
}

#[test]
fn a_comparison_reads_up_to_the_first_difference_if_asked() {
    let folder = built_of_spec("memory/memcmp");
    let recorded = |options: &str| {
        let mut run = common::deadheat();
        run.args(["run", "--recorded", "--", "./program"]).env("TSAN_OPTIONS", options);
        common::said(&output(&mut run, &folder))
    };
    let by_hand = |options: &str| run(&folder, "", &[("TSAN_OPTIONS", options)]).err;
    for (options, races) in [("", 2), ("strict_memcmp=0", 1)] {
        for told in [by_hand(options), recorded(options)] {
            assert_eq!(told.matches("error[dh-").count(), races, "{told}");
        }
    }
}

#[test]
fn locks_of_the_heap_are_told_by_where_they_were_allocated() {
    let folder = built_of_spec("lock_order/heap");
    let recorded = output(common::deadheat().args(["run", "--recorded", "--", "./program"]), &folder);
    for told in [run(&folder, "", &[]).err, common::said(&recorded)] {
        let first = told.lines().find(|line| line.contains("lock-order")).unwrap_or_default();
        let names: Vec<&str> = first.split('`').filter(|part| part.contains("+8 at 0x")).collect();
        assert!(names.iter().all(|name| name.starts_with("heap block from open_account ")), "{told}");
        assert!(matches!(&names[..], [one, other] if one != other), "{told}");
    }
}

#[test]
fn locks_far_behind_the_beginning_of_a_block_are_told_by_it() {
    let folder = folder(SUITE, "far_locks");
    build_of("far_locks.c", ("cc", "c++"), &folder, &[]);
    let Ended { code, err, .. } = run(&folder, "", &[]);
    assert_eq!(code, Some(66), "{err}");
    let first = err.lines().find(|line| line.contains("lock-order")).unwrap_or_default();
    assert_eq!(first.matches("`heap block from main far_locks.c:18+3276").count(), 2, "{err}");
}

/// Their block is told once: told again between them it would be another, in which the first is not held.
#[test]
fn locks_of_one_block_are_told_as_of_one() {
    let folder = folder(SUITE, "nested");
    build_of("nested.c", ("cc", "c++"), &folder, &[]);
    let Ended { code, err, .. } = run(&folder, "", &[]);
    assert_eq!(code, Some(66), "{err}");
    assert!(err.contains("data race on `value`") && !err.contains("not well formed"), "{err}");
}

#[test]
fn a_thread_that_is_cancelled_in_an_atomic_operation_leaves_it_to_others() {
    let folder = folder(SUITE, "cancelled");
    build_of("cancelled.c", ("cc", "c++"), &folder, &[]);
    let Ended { code, out, err, .. } = run(&folder, "", &[]);
    assert_eq!((code, &*out), (Some(66), "ended\n"), "{err}");
    assert!(err.contains(RACE), "{err}");
}

/// A table of lines names some file or other for code that is of no line.
#[test]
fn code_of_no_line_is_told_by_where_its_function_is() {
    const RACY: &str = "# 1 \"declared.c\"\n#include <pthread.h>\nint shared;\nvoid *store(void *nothing) {\n\
        # 0 \"elsewhere.c\"\n    shared = 1;\n# 5 \"declared.c\"\n    return nothing;\n}\n\
        int main(void) {\n    pthread_t threads[2];\n\
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, store, 0);\n\
        for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);\n    return 0;\n}\n";
    each_compiler("no-line", |pair, folder| {
        std::fs::write(folder.join("racy.c"), RACY).expect("written");
        ok(with(pair).args(["cc", "-g", "-O1", "-pthread", "-o", "program", "racy.c"]), folder);
        let Ended { err, .. } = run(folder, "", &[]);
        // Of gcc the code has the line of the function.
        let place = ["--> declared.c\n", "--> declared.c:3:"].iter().any(|place| err.contains(place));
        assert!(err.contains(RACE) && place, "{err}");
        assert!(!err.contains("elsewhere.c"), "{err}");
    });
}

#[test]
fn an_order_that_one_thread_broke_is_told_by_hand_alone() {
    let folder = folder(SUITE, "one-thread");
    let source = "#include <pthread.h>\n\
        pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;\n\
        static void nested(pthread_mutex_t *first, pthread_mutex_t *second) {\n\
        pthread_mutex_lock(first); pthread_mutex_lock(second);\n\
        pthread_mutex_unlock(second); pthread_mutex_unlock(first); }\n\
        int main(void) { nested(&one, &other); nested(&other, &one); return 0; }\n";
    fs::write(folder.join("order.c"), source).expect("written");
    ok(with(("cc", "c++")).args(["cc", "-g", "-pthread", "-o", "program", "order.c"]), &folder);
    let told = run(&folder, "", &[]);
    assert_eq!(told.code, Some(66), "{}", told.err);
    assert!(told.err.contains("warning: suspected: lock-order: `one` and `other`"), "{}", told.err);
    for arguments in [&["run"][..], &["run", "--recorded"]] {
        let output = output(common::deadheat().args(arguments).args(["--", "./program"]), &folder);
        assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
        assert!(!common::said(&output).contains("lock-order"), "{}", common::said(&output));
    }
}

#[test]
fn a_program_that_wants_to_see_its_race_is_shown_it() {
    each_compiler("callback", |pair, folder| {
        for arguments in [&[][..], &["-static"]] {
            build_of("callback.c", pair, folder, arguments);
            let Ended { code, out, err, .. } = run(folder, "", &[]);
            assert_eq!(code, Some(66), "{arguments:?} {err}");
            let expected = "\
current: 1
answer: 1
data-race: 2 accesses, 1 locations, 1 mutexes, 2 threads
thread 0 reads 8 at 8, atomic 0, in main 1, in store 0
its thread: 1, 0, running 1, known 1
thread 1 writes 8 at 8, atomic 0, in main 0, in store 1
its thread: 1, 1, running 0, known 0
location: 1, heap of 16, the block 1, by 0
mutex: 1, ours 1
beyond: 0 0 0
seen 1, shown now: 0, answer: 0
";
            assert_eq!(out, expected, "{arguments:?} {err}");
        }
    });
}

/// A signal that ends the program does so in the same way, and the races are told before; the program is answered as if nobody
/// looked at signals.
#[test]
fn races_are_told_before_a_signal_ends_the_program() {
    let [sigint, sigill, sigabrt, sigusr1, sigsegv, sigpipe, sigterm] = [2, 4, 6, 10, 11, 13, 15];
    each_compiler("byhand-signals", |pair, folder| {
        for linked in [&[][..], &["-static"]] {
            build_of("signals.c", pair, folder, linked);
            for (way, signal) in [
                ("fault", sigsegv),
                ("trap", sigill),
                ("assert", sigabrt),
                ("killed", sigterm),
                ("stopped", sigint),
                ("pipe", sigpipe),
                ("handled", sigsegv),
                ("once", sigusr1),
                ("vfork", sigint),
                ("fork", sigint),
            ] {
                let told = run(folder, way, &[]);
                assert_eq!((told.code, told.signal), (None, Some(signal)), "{way}: {}", told.err);
                assert_eq!(told.err.matches(RACE).count(), 1, "{way}: {}", told.err);
                let mut command = Command::new(folder.join("program"));
                clean(&mut command);
                let silent = ended(command.args(["none", way]), folder);
                assert_eq!((silent.code, silent.signal), (None, Some(signal)), "{way}: {}", silent.err);
                assert!(!silent.err.contains("deadheat:"), "{way}: {}", silent.err);
            }
            // It ignores the signal until it says otherwise.
            let mut ignoring = Command::new("sh");
            clean(&mut ignoring);
            let told = ended(ignoring.args(["-c", "trap '' INT; exec ./program stopped"]), folder);
            assert_eq!((told.code, told.signal), (None, Some(sigint)), "{}", told.err);
            assert_eq!(told.err.matches(RACE).count(), 1, "{}", told.err);
            for way in ["ignored", "borrowed"] {
                let told = run(folder, way, &[]);
                assert_eq!((told.code, told.err.matches(RACE).count()), (Some(66), 1), "{way}: {}", told.err);
            }
            let off = run(folder, "fault", &[("TSAN_OPTIONS", "handle_segv=0")]);
            assert_eq!((off.signal, off.err.as_str()), (Some(sigsegv), ""));
        }
    });
}

/// What the compilers' sanitizers share is there, and means what it says.
#[test]
fn the_common_interface_of_sanitizers_answers() {
    each_compiler("byhand-common", |pair, folder| {
        build_of("common.c", pair, folder, &["-g", "-rdynamic"]);
        let told = ended(&mut by_hand(folder, &[]), folder);
        assert_eq!((told.code, told.err.matches(RACE).count()), (Some(66), 1), "{}", told.err);
        assert!(!told.err.contains("the last word"), "{}", told.err);
        assert!(told.err.contains("SUMMARY: deadheat: of its own\n"), "{}", told.err);
        let stack: Vec<&str> = told.err.lines().take_while(|line| line.starts_with("    #")).collect();
        assert!(stack.len() >= 2 && stack[0].contains(" in inner ("), "{}", told.err);
        assert!(stack[1].contains(" in main (") && stack[1].contains("/program+0x"), "{}", told.err);
        let halted = ended(by_hand(folder, &["it's"]).env("DEADHEAT_OPTIONS", "halt_on_error=1"), folder);
        assert_eq!((halted.code, halted.err.matches(RACE).count()), (Some(66), 0), "{}", halted.err);
        assert!(halted.err.ends_with("the last word\n"), "{}", halted.err);
        let files = fs::read_dir(folder).expect("readable").flatten();
        let log = files.map(|file| file.path()).find(|path| path.to_string_lossy().contains("it's."));
        let log = fs::read_to_string(log.expect("a log")).expect("readable");
        assert_eq!(log.matches(RACE).count(), 1, "{log}");
    });
}

/// The program in a folder, to be started by hand.
fn by_hand(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(folder.join("program"));
    clean(&mut command);
    command.args(arguments);
    command
}

/// As under ThreadSanitizer, so that Rust's threads do not lock what no other program's do. A handler of the program's can hand the
/// fault on, and what it puts back is nothing.
#[test]
fn rust_s_library_is_told_that_somebody_handles_faults() {
    for (name, library, answers) in
        [("asks", None, "0 0 0\n"), ("asks-rust", Some("libstd-0123456789abcdef.rlib"), "1 0 1\n")]
    {
        let folder = folder(SUITE, name);
        if let Some(library) = library {
            fs::write(folder.join(library), "!<arch>\n").expect("writable");
        }
        build_of("asks.c", ("cc", "c++"), &folder, &library.into_iter().collect::<Vec<_>>());
        for way in ["", "run"] {
            let ended = match way {
                "" => run(&folder, "", &[]),
                _ => ended(deadheat().args(["run", "--", "./program"]), &folder),
            };
            assert_eq!(ended.out, answers, "{}", ended.err);
            assert!(
                ended.signal == Some(11) || ended.code == Some(128 + 11),
                "{:?} {}",
                ended.code,
                ended.err
            );
        }
    }
}

/// A fiber has the name that its creator gave it before the first switch, and knows nothing of an earlier one in the same memory.
#[test]
fn a_fiber_has_its_name_and_no_other_s_order() {
    each_compiler("fibers", |pair, folder| {
        build_of("fibers.c", pair, folder, &["-g"]);
        let told = run(folder, "", &[]);
        assert!(told.code == Some(66) && told.err.contains(RACE), "{}", told.err);
        assert!(told.err.contains("`main/2` (reader) reads here"), "{}", told.err);
    });
}

/// What the C library allocates for the program is told with the place that asked for it.
#[test]
fn a_block_of_the_library_is_from_who_asked_for_it() {
    each_compiler("made", |pair, folder| {
        build_of("made.c", pair, folder, &["-g"]);
        for way in ["recorded", "by hand"] {
            let told = if way == "recorded" {
                ended(deadheat().args(["run", "--recorded", "--", "./program"]), folder).err
            } else {
                run(folder, "", &[]).err
            };
            for maker in ["strdup", "strndup", "wcsdup", "asprintf", "realpath", "getline"] {
                let name = format!("data race on heap block from `made_by_{maker}` made.c:");
                assert!(told.contains(&name), "{way}: no {name} in {told}");
            }
        }
    });
}
