//! Programs that do not do the same in each run, do not end, or leave something behind: a hunt of
//! them ends, says what was in its way and what helps, and leaves nothing running.

mod common;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use common::hunting::{built, folder, lines, processes_of, proved, run, says};
use common::{deadheat, have, interruptible, ok, said};
use serde_json::Value;

/// A counter that two threads add to, around other parts: what is done first, and before the end.
fn racy(first: &str, last: &str) -> String {
    format!(
        "#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static int counter;
static void *work(void *p) {{
    counter++;
    return p;
}}
static void race(void) {{
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
}}
int main(int count, char **values) {{
    (void)count, (void)values;
    {first}
    race();
    {last}
    return 0;
}}
"
    )
}

/// Hunts `./p`; nothing of it is left running afterwards.
fn hunt(folder: &Path, options: &[&str], arguments: &[&str], code: i32, words: &[&str]) -> Output {
    let mut all = vec!["hunt"];
    all.extend(options);
    all.extend(["--", "./p"]);
    all.extend(arguments);
    let output = says(folder, &all, code, words);
    let left = processes_of(&folder.join("p"));
    assert!(left.is_empty(), "left running: {left:?}\n{}", said(&output));
    output
}

fn coverage(folder: &Path) -> Value {
    lines(&folder.join("deadheat.hunt/report.jsonl")).pop().expect("a summary")["hunt"].clone()
}

#[test]
fn another_way_in_each_further_run_is_told_and_nothing_is_proved() {
    // The first run races; no other does.
    let source = racy("if (open(\"ran\", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) return 0;", "");
    let Some(folder) = built("another-way", &source) else { return };
    let words = ["re-runs differ from the watched run", "the program took another way", "with --setup"];
    hunt(&folder, &[], &[], 0, &words);
    assert!(proved(&folder.join("deadheat.hunt")).is_empty());
    assert!(coverage(&folder)["lost"].as_u64() >= Some(1));
    // With its state put back it is the same in each run.
    hunt(&folder, &["--setup", "rm -f ran"], &[], 66, &["data race on `counter`"]);
}

#[test]
fn a_side_that_comes_in_another_way_is_matched_by_its_code() {
    // The first run comes to the counter in the third call of a function, each other in its first.
    let source = racy("first = open(\"ran\", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0;", "")
        .replace(
            "static int counter;",
            "static int counter, first;\n__attribute__((noinline)) static void add(int *to) { ++*to; }",
        )
        .replace(
            "counter++;",
            "int own[2] = {0};\n    if (first) { add(&own[0]); add(&own[1]); }\n    add(&counter);",
        );
    let Some(folder) = built("loosely", &source) else { return };
    hunt(&folder, &[], &[], 66, &["data race on `counter`"]);
}

#[test]
fn what_differs_at_random_is_proved_only_where_it_meets() {
    // Which of the counters of a table are raced for is random in each run.
    let source = "#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
static int table[64];
static int at[2];
static void *work(void *p) {
    table[*(int *)p]++;
    return p;
}
int main(void) {
    pthread_t a, b;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    srand(now.tv_nsec ^ getpid());
    at[0] = rand() % 4;
    at[1] = rand() % 4;
    pthread_create(&a, 0, work, &at[0]);
    pthread_create(&b, 0, work, &at[1]);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";
    let Some(folder) = built("random", source) else { return };
    for number in 0..4 {
        let output = run(&folder, &["hunt", "--", "./p"]);
        assert!(matches!(output.status.code(), Some(0 | 66)), "{number}\n{}", said(&output));
        for line in lines(&folder.join("deadheat.hunt/report.jsonl")) {
            let accesses = line["accesses"].as_array().map(Vec::as_slice).unwrap_or_default();
            if let [one, other] = accesses {
                assert_eq!(one["address"], other["address"], "{line}");
                assert_ne!(one["thread"], other["thread"], "{line}");
            }
        }
    }
}

#[test]
fn a_program_that_never_ends_is_ended() {
    // Neither thread ever calls anything.
    let source = "#include <pthread.h>
static volatile int counter;
static void *work(void *p) {
    for (;;) counter++;
    return p;
}
int main(void) {
    pthread_t a;
    pthread_create(&a, 0, work, 0);
    for (;;) counter++;
}
";
    let Some(folder) = built("endless", source) else { return };
    for limit in [&["--timeout", "1s", "--max-runs", "2"][..], &["--budget", "2s"]] {
        let mut arguments = vec!["hunt"];
        arguments.extend(limit);
        arguments.extend(["--", "./p"]);
        let output = run(&folder, &arguments);
        // How much of it runs in a second is the machine's affair.
        assert!(matches!(output.status.code(), Some(66 | 124)), "{}", said(&output));
        assert!(said(&output).contains("ran past its time"), "{}", said(&output));
        assert!(processes_of(&folder.join("p")).is_empty(), "{}", said(&output));
        let report = lines(&folder.join("deadheat.hunt/report.jsonl"));
        assert!(!report.iter().any(|line| line["type"] == "finding"), "it does so in each run");
    }
}

#[test]
fn a_program_that_ignores_being_asked_is_ended_too() {
    let source = racy("signal(SIGTERM, SIG_IGN);", "for (;;) pause();");
    let Some(folder) = built("deaf", &source) else { return };
    let words = ["ran past its time", "data race on `counter`"];
    hunt(&folder, &["--timeout", "3s"], &[], 66, &words);
}

#[test]
fn threads_without_number_and_without_end() {
    // A run is as long as its threads are scheduled late: what they do without end is seldom an access.
    let source = "#include <pthread.h>
#include <sched.h>
#include <unistd.h>
static volatile int counter;
static int begun;
static void *work(void *p) {
    for (int i = 0; i < 10000; i++) counter++;
    __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED);
    for (;; counter++)
        for (int i = 0; i < 100; i++) sched_yield();
    return p;
}
int main(void) {
    pthread_t threads[64];
    for (int i = 0; i < 64; i++) pthread_create(&threads[i], 0, work, 0);
    while (__atomic_load_n(&begun, __ATOMIC_RELAXED) < 64) usleep(1000);
    return 0;
}
";
    let Some(folder) = built("crowd", source) else { return };
    hunt(&folder, &[], &[], 66, &["data race on `counter`"]);
}

#[test]
fn a_child_is_not_hunted_and_that_is_said() {
    // What runs on in the background would be ended.
    let source = racy("if (fork() == 0) { race(); _exit(0); }", "wait(0);");
    let Some(folder) = built("forking", &source) else { return };
    let words = ["started 1 further process", "data race on `counter`"];
    hunt(&folder, &[], &[], 66, &words);
}

#[test]
fn what_a_command_starts_goes_on_until_its_teardown() {
    let needs = "if (access(\"up\", F_OK)) return 9;";
    let Some(folder) = built("service", &racy(needs, "")) else { return };
    let setup = "sleep 600 & echo $! >up";
    let teardown = "kill $(cat up) && rm up";
    let options = ["-j", "1", "--setup", setup, "--teardown", teardown];
    let output = hunt(&folder, &options, &[], 66, &["data race on `counter`"]);
    assert!(!said(&output).contains("ended in another way"), "{}", said(&output));
}

/// As daemons do it: a child of a child, in a session of its own.
const INTO_THE_BACKGROUND: &str = "if (fork() == 0) {
        setsid();
        if (fork() == 0) { BODY for (;;) pause(); }
        _exit(0);
    }";

#[test]
fn what_goes_into_the_background_is_ended_and_that_is_said() {
    let daemon = INTO_THE_BACKGROUND.replace("BODY", "race();");
    let source = racy(&daemon, "");
    let Some(folder) = built("daemon", &source) else { return };
    let words = ["in the background", "stay in the foreground", "data race on `counter`"];
    hunt(&folder, &[], &[], 66, &words);
    // One that has taken off the mark in its environment is known by its parents.
    let unmarked = INTO_THE_BACKGROUND.replace(
        "BODY",
        "static char *none[] = {0}; static char *self[] = {\"p\", \"wait\", 0}; execve(\"./p\", self, none);",
    );
    let source = racy(&format!("if (count > 1) for (;;) pause();\n{unmarked}"), "");
    let Some(folder) = built("unmarked", &source) else { return };
    hunt(&folder, &[], &[], 66, &["data race on `counter`"]);
}

#[test]
fn a_port_is_free_again_for_the_next_run() {
    // The server's child lives on and keeps the port, as servers' helpers do.
    let body = INTO_THE_BACKGROUND.replace("BODY", "");
    let first = format!(
        "int s = socket(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in at = {{.sin_family = AF_INET, .sin_port = htons(atoi(values[1]))}};
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(s, (struct sockaddr *)&at, sizeof at) || listen(s, 1)) {{ perror(\"bind\"); return 9; }}
    {body}"
    );
    let Some(folder) = built("port", &racy(&first, "")) else { return };
    let free = TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr()).expect("a port").port();
    let port = free.to_string();
    let output = hunt(&folder, &["-j", "1"], &[&port], 66, &["data race on `counter`"]);
    assert!(!said(&output).contains("ended in another way"), "{}", said(&output));
}

#[test]
fn what_goes_into_the_background_while_its_parent_ends_is_ended() {
    // The one between is seen on its way out, when it has no environment any more and its child still has it as
    // parent: giving its memory back takes longer than the program's end does.
    let first = "int between = fork();
    if (between == 0) {
        setsid();
        if (fork() == 0) for (;;) pause();
        size_t size = 1 << 29;
        char *much = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        madvise(much, size, MADV_NOHUGEPAGE);
        for (size_t at = 0; at < size; at += 4096) much[at] = 1;
        _exit(0);
    }";
    let last = "char name[64], byte;
    snprintf(name, sizeof name, \"/proc/%d/environ\", between);
    for (ssize_t some = 1; some > 0;) {
        int file = open(name, O_RDONLY);
        some = read(file, &byte, 1);
        close(file);
    }";
    let Some(folder) = built("between", &racy(first, last)) else { return };
    hunt(&folder, &[], &[], 66, &["in the background (1 process)", "data race on `counter`"]);
}

#[test]
fn runs_that_end_in_another_way_are_counted_and_help_is_named() {
    let first = "if (open(\"ran\", O_CREAT | O_EXCL | O_WRONLY, 0600) < 0) return 9;";
    let Some(folder) = built("codes", &racy(first, "")) else { return };
    let words = ["ended in another way", "which ended with code 0", "ended with code 9", "--isolate", "-j 1"];
    hunt(&folder, &[], &[], 0, &words);
    hunt(&folder, &["--isolate", "--setup", "rm -f ran"], &[], 66, &["data race on `counter`"]);
}

#[test]
fn each_run_has_its_own_folder_if_asked() {
    let first = "if (mkdir(\"made\", 0700)) return 9;";
    let Some(folder) = built("folders", &racy(first, "rmdir(\"made\");")) else { return };
    let output = hunt(&folder, &["--isolate", "-j", "2"], &[], 66, &["data race on `counter`"]);
    assert!(!said(&output).contains("ended in another way"), "{}", said(&output));
    assert!(!folder.join("made").exists());
}

#[test]
fn a_crash_before_anything_ran_is_no_fault_of_the_hunt() {
    let Some(folder) = built("crash", "int main(void) { *(volatile int *)8 = 1; return 0; }") else { return };
    hunt(&folder, &[], &[], 139, &["no second thread", "was killed by SIGSEGV"]);
    let later = racy("", "abort();");
    let Some(folder) = built("abort", &later) else { return };
    hunt(&folder, &[], &[], 66, &["data race on `counter`"]);
    let report = lines(&folder.join("deadheat.hunt/report.jsonl"));
    assert!(!report.iter().any(|line| line["type"] == "finding"), "it does so in each run");
}

#[test]
fn a_terminal_is_not_waited_for() {
    // Whoever asks the terminal itself is told that there is none.
    let asks = "int t = open(\"/dev/tty\", O_RDWR); char c; if (t >= 0) { (void)!read(t, &c, 1); close(t); }
    (void)!read(0, &c, 1);";
    let Some(folder) = built("terminal", &racy(asks, "")) else { return };
    if !have("script") {
        return;
    }
    let command = format!("{} hunt -- ./p", env!("CARGO_BIN_EXE_deadheat"));
    let mut script = Command::new("script");
    script.args(["-qec", &command, "typescript"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    common::clean(&mut script);
    let mut child = script.current_dir(&folder).stderr(Stdio::piped()).spawn().expect("script runs");
    let typed = child.stdin.take();
    std::io::Write::write_all(&mut typed.as_ref().expect("its input"), b"x\n").expect("typed");
    let output = child.wait_with_output().expect("its end");
    drop(typed);
    let text = fs::read_to_string(folder.join("typescript")).unwrap_or_default();
    assert_eq!(output.status.code(), Some(66), "{}\n{text}", said(&output));
    for words in ["reads nothing from this terminal", "data race on `counter`"] {
        assert!(text.contains(words), "{words}\n{text}");
    }
    let report = lines(&folder.join("deadheat.hunt/report.jsonl"));
    assert!(!report.iter().any(|line| line["type"] == "finding"), "no re-run waited\n{text}");
}

#[test]
fn an_interrupted_first_run_ends_the_hunt() {
    let source = racy("puts(\"here\"); fflush(stdout);", "for (;;) pause();");
    let Some(folder) = built("interrupted-first", &source) else { return };
    let mut command = interruptible();
    command.args(["hunt", "--", "./p"]).current_dir(&folder).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("started");
    let mut here = [0; 5];
    std::io::Read::read_exact(child.stdout.as_mut().expect("its output"), &mut here).expect("it began");
    let pid = child.id().to_string();
    ok(Command::new("kill").args(["-INT", &pid]), &folder);
    let output = child.wait_with_output().expect("its end");
    assert_eq!(output.status.code(), Some(130), "{}", said(&output));
    assert!(said(&output).contains("--timeout TIME"), "{}", said(&output));
    assert!(processes_of(&folder.join("p")).is_empty());
}

#[test]
fn a_library_of_another_build_is_named() {
    if !have("gcc") {
        return;
    }
    let folder = folder("library");
    let compile = |arguments: &[&str]| {
        let mut all = vec!["cc", "-O1", "-g", "-pthread"];
        all.extend(arguments);
        ok(deadheat().env("DEADHEAT_CC", "gcc").args(all), &folder);
    };
    let library = |source: &str| {
        fs::write(folder.join("l.c"), source).expect("written");
        compile(&["-fPIC", "-shared", "l.c", "-o", "libl.so"]);
    };
    let program =
        racy("", "").replace("static int counter;", "void add(void);").replace("counter++", "add()");
    fs::write(folder.join("p.c"), program).expect("written");
    library("static int counter; void add(void) { counter++; }");
    compile(&["p.c", "-L.", "-ll", "-Wl,-rpath,$ORIGIN", "-o", "p"]);
    hunt(&folder, &["-o", "old"], &[], 66, &["data race on `counter`"]);
    library("static int counter; void add(void) { counter += 3; }");
    let words = ["another build of libl.so:", "nominate anew"];
    hunt(&folder, &["-o", "new", "--targets", "old/targets.jsonl"], &[], 65, &words);
}
