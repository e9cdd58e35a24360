//! The watched order from outside: `deadheat record --order`.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use common::{deadheat, have, ok, output, said};

/// A folder of its own for a test.
fn folder(name: &str) -> PathBuf {
    common::folder("order", name)
}

const PROGRAM: &str = "\
#include <pthread.h>
#include <stdio.h>
static int shared;
extern int from_library(int *);
static void *first(void *unused)
{
    shared = 1;
    return unused;
}
static void *second(void *unused)
{
    shared = 2;
    return unused;
}
int main(void)
{
    pthread_t one, two;
    pthread_create(&one, 0, first, 0);
    pthread_create(&two, 0, second, 0);
    pthread_join(one, 0);
    pthread_join(two, 0);
    printf(\"%d\\n\", shared + from_library(&shared));
    return 0;
}
";

const LIBRARY: &str = "\
int from_library(int *p)
{
    return *p == 3;
}
";

/// Builds the program and its library in a folder.
fn build(folder: &Path, debug: &str) {
    fs::write(folder.join("two.c"), PROGRAM).expect("written");
    fs::write(folder.join("lib.c"), LIBRARY).expect("written");
    let flags = ["cc", debug, "-O1"];
    ok(deadheat().args(flags).args(["-shared", "-fPIC", "-o", "liblib.so", "lib.c"]), folder);
    ok(
        deadheat().args(flags).args(["-pthread", "-o", "two", "two.c", "liblib.so", "-Wl,-rpath,$ORIGIN"]),
        folder,
    );
}

/// Records the program in an order.
fn record(folder: &Path, order: &str, more: &[&str]) -> Output {
    fs::write(folder.join("o.order"), order).expect("written");
    let output = output(
        deadheat().args(["record", "-o", "t.dh", "--order", "o.order"]).args(more).args(["--", "./two"]),
        folder,
    );
    assert!(!folder.join("t.dh.gate").exists(), "the gate file is gone");
    output
}

#[test]
fn places_that_are_not_there_are_refused_with_their_line() {
    if !have("cc") {
        return;
    }
    let folder = folder("refused");
    build(&folder, "-g");
    for (order, reason) in [
        ("# nothing\n\n", "o.order: there is no place in it"),
        ("two.c\n", "o.order:1: two.c: a place is written file.c:LINE"),
        (
            "two.c:7\n\ntwo.c:3 # no code\n",
            "o.order:3: two.c:3: there is no code at that line; the nearest lines",
        ),
        ("no.c:7\n", "o.order:1: no.c:7: the debug information has no source file of that name"),
        ("two.c:7\ntwo.c:7\n", "o.order:2: two.c:7: this place is in line 1 already"),
        ("libno.so!lib.c:3\n", "o.order:1: libno.so!lib.c:3: there is no module libno.so beside the program"),
        ("two+0x1\n", "there is no code at that offset of "),
    ] {
        let output = record(&folder, order, &[]);
        assert_eq!(output.status.code(), Some(65), "{order:?}\n{}", said(&output));
        assert!(said(&output).contains(reason), "{order:?}\n{}", said(&output));
    }
    build(&folder, "-g0");
    let output = record(&folder, "two.c:7\n", &[]);
    assert_eq!(output.status.code(), Some(65), "{}", said(&output));
    assert!(said(&output).contains("there is no debug information; compile with -g"), "{}", said(&output));
}
#[test]
fn the_order_is_that_of_the_file_whatever_the_program_would_do() {
    if !have("cc") {
        return;
    }
    let folder = folder("kept");
    build(&folder, "-g");
    for (order, last) in [("two.c:7\ntwo.c:12\nliblib.so!lib.c:3", "2"), ("two.c:12\ntwo.c:7\nlib.c:3", "1")]
    {
        for _ in 0..5 {
            let output = record(&folder, order, &[]);
            assert_eq!(output.status.code(), Some(0), "{}", said(&output));
            assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), last, "{order:?}\n{}", said(&output));
            assert!(!said(&output).contains("warning"), "{}", said(&output));
        }
    }
}

#[test]
fn an_order_that_cannot_be_kept_is_given_up_and_told() {
    if !have("cc") {
        return;
    }
    let folder = folder("given_up");
    build(&folder, "-g");
    // The join that would let the first step happen waits for the second one.
    let output = record(&folder, "lib.c:3\ntwo.c:7\n", &["--order-patience", "200ms"]);
    assert_eq!(output.status.code(), Some(0), "the program's own code\n{}", said(&output));
    let told = "warning: o.order:1: lib.c:3: this place was not passed within 0.2 s";
    assert!(said(&output).contains(told), "{}", said(&output));
}
