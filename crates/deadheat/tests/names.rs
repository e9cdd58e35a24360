//! Threads that the program numbers itself: the numbers hold over runs that create the threads in
//! another order, and the races between them are provable although ordinals are not.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use common::{COMPILERS, deadheat, have, ok, output, said, with};
use serde_json::Value;

/// Workers that all do their work in one place of the code, each another number of times. In what
/// order they are created is in the file `order`. C and C++.
const POOL: &str = r#"
#include <pthread.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C"
#endif
unsigned long deadheat_thread_name(void *(*routine)(void *), void *argument);
extern int numbers[2];
void *work(void *argument);
static int shared, own[8];
int numbers[2] = {1, 3};
static __attribute__((noinline)) void touch(int *place) { *place += 1; }
void *work(void *argument) {
    int number = *(int *)argument;
    for (int i = 0; i <= number; i++)
        touch(i < number ? &own[number] : &shared);
    return 0;
}
void pool(int backward);
#ifdef NUMBERED
unsigned long deadheat_thread_name(void *(*routine)(void *), void *argument) {
    return routine == work ? (unsigned long)*(int *)argument : 0;
}
#endif
int main(void) {
    FILE *file = fopen("order", "r");
    int backward = file && fgetc(file) == 'b';
    pool(backward);
    return file ? fclose(file) : 1;
}
"#;

/// What creates the threads.
const CREATE: &str = r#"
#include <pthread.h>
extern int numbers[2];
void *work(void *argument);
void pool(int backward);
void pool(int backward) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, &numbers[backward ? 1 - i : i]);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
}
"#;

/// How the program is put together.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Form {
    Dynamic,
    Static,
    /// The threads are created in a shared library.
    Library,
}

/// A folder of its own with the program `p` in it.
fn build(name: &str, compilers: (&str, &str), cxx: bool, form: Form, numbered: bool) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names").join(name).join(compilers.0);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    let ending = if cxx { "cpp" } else { "c" };
    let (pool, create) = (format!("pool.{ending}"), format!("create.{ending}"));
    fs::write(folder.join(&pool), POOL).expect("written");
    fs::write(folder.join(&create), CREATE).expect("written");
    let compile = || {
        let mut command = with(compilers);
        command.args([if cxx { "c++" } else { "cc" }, "-O1", "-g", "-pthread"]);
        command
    };
    let mut command = compile();
    command.args(numbered.then_some("-DNUMBERED")).arg(&pool).args(["-o", "p"]);
    match form {
        Form::Dynamic => command.arg(&create),
        Form::Static => command.args([create.as_str(), "-static"]),
        Form::Library => {
            ok(compile().args(["-shared", "-fPIC", "-o", "libcreate.so", &create]), &folder);
            command.args(["libcreate.so", "-rdynamic", "-Wl,-rpath,$ORIGIN"])
        }
    };
    ok(&mut command, &folder);
    folder
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Watches a run in which the threads are created in that order: the sides of what is nominated.
fn sides(folder: &Path, order: &str) -> BTreeSet<(String, u64, String)> {
    fs::write(folder.join("order"), order).expect("written");
    let arguments = ["hunt", "--max-runs", "0", "-o", order, "--", "./p"];
    let output = output(deadheat().args(arguments).stdin(Stdio::null()), folder);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    let targets = lines(&folder.join(order).join("targets.jsonl"));
    let sides = targets.iter().flat_map(|target| target["sides"].as_array().expect("sides"));
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    sides
        .map(|side| (text(&side["thread"]), side["ordinal"].as_u64().expect("a number"), text(&side["op"])))
        .collect()
}

#[test]
fn numbers_hold_over_runs_that_create_threads_in_another_order() {
    for (at, compilers) in COMPILERS.into_iter().enumerate() {
        for (number, form) in [Form::Dynamic, Form::Static, Form::Library].into_iter().enumerate() {
            let cxx = (at + number) % 2 == 1;
            if !have(compilers.0) || !have(compilers.1) {
                continue;
            }
            let folder = build(&format!("{form:?}"), compilers, cxx, form, true);
            let forward = sides(&folder, "forward");
            let threads: BTreeSet<&str> = forward.iter().map(|(thread, ..)| thread.as_str()).collect();
            assert_eq!(threads, BTreeSet::from(["main/#1", "main/#3"]), "{form:?} {compilers:?}");
            assert_eq!(forward, sides(&folder, "backward"), "{form:?} {compilers:?}");
        }
    }
}

/// Hunts with the threads created in one order in the watched run and in the other in re-runs.
fn hunt(folder: &Path, most: &str) -> Vec<Value> {
    let setup = "if [ $DEADHEAT_RUN = 0 ]; then echo forward > order; else echo backward > order; fi";
    let arguments = ["hunt", "--max-runs", most, "--setup", setup, "-o", "hunt", "--", "./p"];
    let output = output(deadheat().args(arguments).stdin(Stdio::null()), folder);
    let report = lines(&folder.join("hunt/report.jsonl"));
    let proved: Vec<Value> =
        report.into_iter().filter(|line| line["type"] == "race" && line["grade"] == "proved").collect();
    let expected = if proved.is_empty() { 0 } else { 66 };
    assert_eq!(output.status.code(), Some(expected), "{}", said(&output));
    proved
}

#[test]
fn what_ordinals_cannot_select_numbers_do() {
    if !have("gcc") {
        return;
    }
    let numbered = hunt(&build("numbered", COMPILERS[0], false, Form::Dynamic, true), "10");
    assert!(!numbered.is_empty(), "proved in re-runs of the other order");
    for race in &numbered {
        let threads: BTreeSet<_> = [0, 1].map(|side| race["accesses"][side]["thread"].as_str()).into();
        assert_eq!(threads, BTreeSet::from([Some("main/#1"), Some("main/#3")]));
    }
    // The first re-run holds what the watched run's ordinals select, which is never there.
    let counted = hunt(&build("counted", COMPILERS[0], false, Form::Dynamic, false), "1");
    assert!(counted.is_empty(), "{counted:?}");
}

/// Threads made behind the runtime's back and announced. Each writes what the creator reads.
const ANNOUNCED: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
extern unsigned long deadheat_announce_thread(void) __attribute__((weak));
extern unsigned long deadheat_announce_named_thread(unsigned long) __attribute__((weak));
extern void deadheat_begin_thread(unsigned long) __attribute__((weak));
typedef int create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
typedef int join(pthread_t, void **);
int values[2];
static void *work(unsigned long *pair) {
    values[pair[1]] = 1;
    return 0;
}
static __attribute__((no_sanitize("thread"))) void *start(void *argument) {
    unsigned long *pair = argument;
    if (deadheat_begin_thread)
        deadheat_begin_thread(pair[0]);
    return work(pair);
}
int main(void) {
    void *libc = dlopen("libc.so.6", RTLD_NOW);
    create *make = (create *)dlsym(libc, "pthread_create");
    join *wait = (join *)dlsym(libc, "pthread_join");
    pthread_t threads[2];
    unsigned long pairs[2][2] = {{0, 0}, {0, 1}};
    if (deadheat_announce_thread)
        pairs[0][0] = deadheat_announce_thread();
    if (make(&threads[0], 0, start, pairs[0]))
        return 1;
    if (deadheat_announce_named_thread)
        pairs[1][0] = deadheat_announce_named_thread(7);
    if (make(&threads[1], 0, start, pairs[1]))
        return 1;
    int sum = values[0];
    sum += values[1];
    for (int i = 0; i < 2; i++)
        wait(threads[i], 0);
    return sum > 2;
}
"#;

#[test]
fn announced_threads_have_a_path() {
    if !have("gcc") {
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("names/announced");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder for the test");
    fs::write(folder.join("p.c"), ANNOUNCED).expect("written");
    ok(with(COMPILERS[0]).args(["cc", "-O1", "-g", "-pthread", "p.c", "-o", "p"]), &folder);
    let threads: BTreeSet<String> = sides(&folder, "none").into_iter().map(|(thread, ..)| thread).collect();
    let expected = ["main", "main/#7", "main/1"].map(str::to_owned);
    assert_eq!(threads, BTreeSet::from(expected));
    let report = hunt(&folder, "20");
    assert_eq!(report.len(), 2, "both are proved: {report:?}");
}
