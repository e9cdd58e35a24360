//! Which frames reports, ids and suppressions are made of: those of the program, whatever is known of them, and never the
//! runtime's.

mod common;

use std::fs;
use std::path::Path;
use std::process::Output;

use common::{deadheat, each_compiler, ok, output, said, with};
use serde_json::Value;

/// Two variables, each written by a function that a function calls.
const PROGRAM: &str = "\
#include <pthread.h>
int one, two;
__attribute__((noinline)) static void put_one(int value) { one = value; }
__attribute__((noinline)) static void put_two(int value) { two = value; }
__attribute__((noinline)) static void both(int value) { put_one(value); put_two(value); }
static void *work(void *none) { both(2); return none; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  both(1);
  return pthread_join(thread, 0);
}
";

/// Builds `program` of a source, with these arguments more.
fn build(compilers: (&str, &str), folder: &Path, source: &str, arguments: &[&str]) {
    fs::write(folder.join("program.c"), source).expect("writable");
    let always = ["cc", "-O1", "-pthread", "program.c", "-o", "program"];
    ok(with(compilers).args(always).args(arguments), folder);
}

/// What `deadheat run` says of the program.
fn run(folder: &Path, options: &[&str]) -> Output {
    output(deadheat().arg("run").args(options).args(["--", "./program"]), folder)
}

/// The races that it tells of the program.
fn races(folder: &Path) -> Vec<Value> {
    let output = run(folder, &["--format", "json"]);
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let lines = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    lines.filter(|line| line["type"] == "race").collect()
}

#[test]
fn frames_of_the_runtime_are_told_nowhere_and_suppress_nothing() {
    each_compiler("runtime-frames", |compilers, folder| {
        build(compilers, folder, PROGRAM, &["-g"]);
        let races = races(folder);
        assert_eq!(races.len(), 2, "{races:?}");
        for access in races.iter().flat_map(|race| race["accesses"].as_array().into_iter().flatten()) {
            let outermost = access["frames"].as_array().and_then(|frames| frames.last()).expect("a stack");
            let start = if access["thread"] == "main" { "main" } else { "work" };
            assert_eq!(outermost["function"], start, "{access}");
        }
        for (line, code) in [
            ("race:threads", 66),
            ("race:run_child", 66),
            ("race:cold", 66),
            ("race:deadheat", 66),
            ("race:^both$", 0),
            ("race:^work$", 0),
        ] {
            fs::write(folder.join("list"), line).expect("writable");
            let output = run(folder, &["--suppressions", "list"]);
            assert_eq!(output.status.code(), Some(code), "{line}: {}", said(&output));
        }
    });
}

/// A library of which nothing is known but its functions, called twice in one line.
const LIBRARY: &str = "\
int one, two;
void put_one(int value) { one = value; }
void put_two(int value) { two = value; }
";
const USER: &str = "\
#include <pthread.h>
void put_one(int), put_two(int);
static void *work(void *none) { put_one(2); put_two(2); return none; }
int main(void) {
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  put_one(1), put_two(1);
  return pthread_join(thread, 0);
}
";

/// Whether each variable has a race of its own, and none is told by a place of the C library.
fn check_two(folder: &Path, library: &str) {
    let races = races(folder);
    let ids: Vec<_> = races.iter().filter_map(|race| race["id"].as_str()).collect();
    assert!(ids.len() == 2 && ids[0] != ids[1], "{races:?}");
    for race in &races {
        assert_eq!(race["count"], 1, "{race}");
        for access in race["accesses"].as_array().into_iter().flatten() {
            assert_eq!(access["frames"][0]["module"], library, "{access}");
        }
    }
    for format in ["text", "github", "markdown", "tsan"] {
        let told = said(&run(folder, &["--format", format]));
        assert!(!told.contains("libc") && told.contains(&format!("{library}+0x")), "{format}: {told}");
    }
}

#[test]
fn without_debug_information_each_race_is_told_where_it_is() {
    each_compiler("stripped", |compilers, folder| {
        build(compilers, folder, PROGRAM, &["-s"]);
        check_two(folder, "program");
    });
    each_compiler("bare-library", |compilers, folder| {
        fs::write(folder.join("library.c"), LIBRARY).expect("writable");
        let arguments = ["cc", "-g0", "-O1", "-fPIC", "-shared", "library.c", "-o", "libput.so"];
        ok(with(compilers).args(arguments), folder);
        build(compilers, folder, USER, &["-g", "-L.", "-lput", "-Wl,-rpath,$ORIGIN"]);
        check_two(folder, "libput.so");
    });
}

/// Suppressions for programs that are started by hand do not hold under `deadheat run`, which says so.
#[test]
fn suppressions_that_do_not_hold_are_named() {
    const ENVIRONMENT: &str = "deadheat: warning: the `suppressions` of TSAN_OPTIONS hold only where";
    const OWN: &str = "deadheat: the program's __tsan_default_suppressions() holds only where";
    each_compiler("unheeded", |compilers, folder| {
        fs::write(folder.join("list"), "race:both\n").expect("writable");
        let own = "const char *__tsan_default_suppressions(void) { return \"race:both\"; }\n";
        for (source, environment, options, code, told) in [
            (PROGRAM.to_owned(), "", &[][..], 66, [false, false]),
            (PROGRAM.to_owned(), "suppressions=list", &[], 66, [true, false]),
            (format!("{PROGRAM}{own}"), "", &[], 66, [false, true]),
            (format!("{PROGRAM}{own}"), "", &["--recorded"], 66, [false, true]),
            (format!("{PROGRAM}{own}"), "", &["--suppressions", "list"], 0, [false, false]),
        ] {
            build(compilers, folder, &source, &["-g"]);
            let mut command = deadheat();
            command.env("TSAN_OPTIONS", environment).arg("run").args(options).args(["--", "./program"]);
            let output = output(&mut command, folder);
            let text = said(&output);
            assert_eq!(output.status.code(), Some(code), "{text}");
            let found = [ENVIRONMENT, OWN].map(|line| text.matches(line).count());
            assert_eq!(found, told.map(usize::from), "{text}");
        }
    });
}

/// A library that nothing instruments, two of whose functions lie between the program and the call that creates a thread.
const STARTS: &str = "\
#include <thread>
__attribute__((noinline)) static std::thread inner(void (*routine)()) { return std::thread(routine); }
__attribute__((noinline)) std::thread start(void (*routine)()) { std::thread made = inner(routine); return made; }
";
const STARTED: &str = "\
#include <thread>
std::thread start(void (*routine)());
int value;
static void work() { value = 1; }
__attribute__((noinline)) static std::thread once() {
  return start(work);
}
int main() {
  std::thread thread = once();
  value = 2;
  thread.join();
}
";

/// A thread that a library creates is told with the program's line that called the library.
#[test]
fn a_thread_that_a_library_creates_is_told_by_who_called_the_library() {
    each_compiler("created", |(c, cxx), folder| {
        fs::write(folder.join("starts.cpp"), STARTS).expect("writable");
        fs::write(folder.join("started.cpp"), STARTED).expect("writable");
        let mut library = std::process::Command::new(cxx);
        ok(library.args(["-O2", "-fPIC", "-shared", "starts.cpp", "-o", "libstarts.so"]), folder);
        ok(std::process::Command::new(cxx).args(["-O2", "-c", "starts.cpp"]), folder);
        let shared = &["-L.", "-lstarts", "-Wl,-rpath,$ORIGIN"][..];
        for (way, optimisation) in [(shared, "-O0"), (shared, "-O2"), (&["starts.o", "-static"], "-O2")] {
            let always = ["c++", "-g", optimisation, "-pthread", "started.cpp", "-o", "program"];
            ok(with((c, cxx)).args(always).args(way), folder);
            for recorded in [&[][..], &["--recorded"]] {
                let options = [&["--format", "json"], recorded].concat();
                let told = String::from_utf8_lossy(&run(folder, &options).stdout).into_owned();
                let race = told.lines().find(|line| line.contains("\"race\"")).expect("a race");
                let race: Value = serde_json::from_str(race).expect("a line of JSON");
                let threads = race["threads"].as_array().expect("threads");
                let made = threads.iter().find(|row| row["created_by"] == "main").expect("who created it");
                let lines = made["frames"].as_array().into_iter().flatten();
                let of_program = |frame: &&Value| frame["file"] == "started.cpp";
                let lines: Vec<_> = lines.filter(of_program).map(|frame| frame["line"].clone()).collect();
                assert_eq!(lines, [6, 9], "{way:?} {recorded:?}: {made}");
            }
        }
    });
}

/// A library that is not instrumented may order what it calls: that is said, with what leaves its races out.
#[test]
fn races_in_what_a_library_calls_that_is_not_instrumented_are_told_with_a_note() {
    const LIBRARY: &str =
        "void call(void (*function)(int), int value) { function(value); __asm__ volatile(\"\"); }\n";
    let program = PROGRAM
        .replace("int one, two;", "int one, two;\nvoid call(void (*function)(int), int value);")
        .replace("both(2);", "call(both, 2);");
    each_compiler("uninstrumented", |compilers, folder| {
        fs::write(folder.join("library.c"), LIBRARY).expect("writable");
        let plain = ["cc", "-O1", "-fno-sanitize=thread", "-g0", "-shared", "-fPIC", "library.c", "-o"];
        ok(with(compilers).args(plain).arg("libcall.so"), folder);
        build(compilers, folder, &program, &["-g", "libcall.so", "-Wl,-rpath,$ORIGIN"]);
        let told = run(folder, &[]);
        let note = "deadheat: 2 races are in code that a library calls which is not instrumented, `libcall.so`: what it orders is \
                    not seen.";
        assert!(said(&told).contains(note), "{}", said(&told));
        fs::write(folder.join("list"), "called_from_lib:libcall.so").expect("writable");
        let left_out = run(folder, &["--suppressions", "list"]);
        assert_eq!(left_out.status.code(), Some(0), "{}", said(&left_out));
        assert!(!said(&left_out).contains("not instrumented"), "{}", said(&left_out));
    });
}

/// So may one that creates the program's threads, whatever calls them.
#[test]
fn races_of_threads_that_a_library_created_which_is_not_instrumented_are_told_with_a_note() {
    const LIBRARY: &str = "\
#include <pthread.h>
pthread_t start(void *(*function)(void *)) { pthread_t thread; pthread_create(&thread, 0, function, 0); return thread; }
";
    let program = PROGRAM
        .replace("int one, two;", "int one, two;\npthread_t start(void *(*function)(void *));")
        .replace("pthread_create(&thread, 0, work, 0);", "thread = start(work);");
    each_compiler("uninstrumented-creator", |compilers, folder| {
        fs::write(folder.join("library.c"), LIBRARY).expect("writable");
        let plain = ["cc", "-O1", "-fno-sanitize=thread", "-g0", "-shared", "-fPIC", "library.c", "-o"];
        ok(with(compilers).args(plain).arg("libstart.so"), folder);
        build(compilers, folder, &program, &["-g", "libstart.so", "-Wl,-rpath,$ORIGIN"]);
        let told = run(folder, &[]);
        let note = "deadheat: 2 races are of threads that a library created which is not instrumented, `libstart.so`: what it orders \
                    is not seen.";
        assert!(said(&told).contains(note), "{}", said(&told));
    });
}

/// Between any two instructions of `put_between` in the first thread, those of the runtime among them, a handler calls functions.
const STEPS: &str = "\
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
int shared, handled;
__attribute__((noinline)) static void deeper(int value) { handled += value; }
__attribute__((noinline)) static void deep(int value) { deeper(value); deeper(value); }
static void handle(int signal) { deep(signal); }
__attribute__((noinline)) static void put(int value) { shared = value; }
__attribute__((noinline)) static void put_between(int value) { put(value); put(value + 1); }
static void step(long on) {
  __asm__ volatile(\"pushfq\\n andq $~0x100, (%%rsp)\\n orq %0, (%%rsp)\\n popfq\" : : \"r\"(on << 8) : \"memory\", \"cc\");
}
static void *work(void *none) { put_between(3); return none; }
int main(void) {
  struct sigaction action = {.sa_handler = handle};
  sigaction(SIGTRAP, &action, 0);
  pthread_t thread;
  pthread_create(&thread, 0, work, 0);
  step(1);
  put_between(1);
  step(0);
  pthread_join(thread, 0);
  if (handled < 100 * SIGTRAP) abort();
  return 0;
}
";

#[test]
#[cfg(target_arch = "x86_64")]
fn a_handler_between_any_two_instructions_leaves_the_calls_as_they_were() {
    each_compiler("handler-between", |compilers, folder| {
        build(compilers, folder, STEPS, &["-g", "-mno-red-zone"]);
        let races = races(folder);
        let of_shared: Vec<&Value> =
            races.iter().filter(|race| race["accesses"][0]["frames"][0]["function"] == "put").collect();
        assert_eq!(of_shared.len(), races.len(), "{races:?}");
        for access in races.iter().flat_map(|race| race["accesses"].as_array().into_iter().flatten()) {
            let functions = access["frames"].as_array().into_iter().flatten().map(|frame| &frame["function"]);
            let outermost = if access["thread"] == "main" { "main" } else { "work" };
            assert!(functions.eq(["put", "put_between", outermost]), "{access}");
        }
    });
}

/// Two threads, each under a lock of its own; the locks are of one place of allocation.
const LOCKS: &str = "\
#include <pthread.h>
#include <stdlib.h>
int shared;
static pthread_mutex_t *make(void) { pthread_mutex_t *lock = malloc(sizeof *lock); pthread_mutex_init(lock, 0); return lock; }
static void *work(void *lock) {
  pthread_mutex_lock(lock);
  shared++;
  pthread_mutex_unlock(lock);
  return 0;
}
int main(void) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, work, make());
  for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
  return 0;
}
";

#[test]
fn two_locks_of_one_name_are_told_apart() {
    each_compiler("locks-apart", |compilers, folder| {
        build(compilers, folder, LOCKS, &["-g"]);
        for race in races(folder) {
            let locks = [0, 1].map(|side| &race["accesses"][side]["locks"][0]);
            assert_eq!(locks[0]["name"], locks[1]["name"], "{race}");
            assert!(locks.iter().all(|lock| lock["address"].is_string()), "{race}");
            assert_ne!(locks[0]["address"], locks[1]["address"], "{race}");
        }
        let told = said(&run(folder, &[]));
        assert!(told.contains("holding `heap block from make program.c:4+0 at 0x"), "{told}");
        let told = said(&run(folder, &["--format", "tsan"]));
        assert!(told.contains("(mutexes: write M1)") && told.contains("(mutexes: write M2)"), "{told}");
    });
}
