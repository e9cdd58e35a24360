//! `deadheat csp check` on files: verdicts, counterexamples, exit codes, errors with their places.

mod common;

use std::fs;
use std::path::Path;

use common::{deadheat, folder};

/// The paper's model of its listing 1.1: a race on `y`, none on `x`.
const LISTING: &str = "\
datatype T = t1 | t2
datatype M = m
datatype V = x | y
channel read, write : T.V
channel lock, unlock : T.M
channel race

THREAD1 = write.t1.y -> lock.t1.m -> write.t1.x -> unlock.t1.m -> SKIP
THREAD2 = lock.t2.m -> write.t2.x -> unlock.t2.m -> write.t2.y -> SKIP
MUTEX(i) = lock?t!i -> unlock.t.i -> MUTEX(i)
SYNC = {|lock, unlock|}
PROGRAM = (THREAD1 ||| THREAD2) [|SYNC|] MUTEX(m)

RW(v) = {read.t1.v, write.t1.v, read.t2.v, write.t2.v}
PATTERN(v) = ERROR(v) /\\ ([] e:union(SYNC, RW(v)) @ e -> PATTERN(v))
ERROR(v) = read.t1.v -> write.t2.v -> race -> STOP
        [] read.t2.v -> write.t1.v -> race -> STOP
        [] write.t1.v -> read.t2.v -> race -> STOP
        [] write.t1.v -> write.t2.v -> race -> STOP
        [] write.t2.v -> read.t1.v -> race -> STOP
        [] write.t2.v -> write.t1.v -> race -> STOP
SYSTEM(v) = (PROGRAM [|union(SYNC, RW(v))|] PATTERN(v)) \\ diff(Events, {race})
assert STOP [T= SYSTEM(x)
assert STOP [T= SYSTEM(y)
";

/// Runs `deadheat csp check`: the code, standard output and standard error.
fn check(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let mut command = deadheat();
    let output =
        command.args(["csp", "check"]).args(arguments).current_dir(folder).output().expect("deadheat starts");
    let text = |bytes| String::from_utf8(bytes).expect("output is UTF-8");
    (output.status.code().expect("deadheat is not killed"), text(output.stdout), text(output.stderr))
}

#[test]
fn the_papers_listing_has_one_race() {
    let folder = folder("csp", "listing");
    fs::write(folder.join("listing.csp"), LISTING).expect("writable");
    let expected = "\
23: STOP [T= SYSTEM(x): holds
24: STOP [T= SYSTEM(y): fails
  trace: <race>
  steps: [lock.t2.m] [write.t2.x] [unlock.t2.m] [write.t1.y] [write.t2.y] [race]
";
    let expected = expected.replace("[race]", "race");
    for jobs in ["1", "3"] {
        let found = check(&folder, &["listing.csp", "-j", jobs]);
        assert_eq!((found.0, found.1.as_str(), found.2.as_str()), (1, expected.as_str(), ""));
    }
    let (code, out, _) = check(&folder, &["-v", "listing.csp"]);
    assert!(code == 1 && out.contains(" transitions, "), "{out}");
}

#[test]
fn what_holds_ends_with_0_and_what_memory_ends_with_69() {
    let folder = folder("csp", "codes");
    let holds = "channel a, b\nP = a -> b -> P\nassert P [T= P\nassert P |~| STOP [T= P\n";
    fs::write(folder.join("holds.csp"), holds).expect("writable");
    let (code, out, err) = check(&folder, &["holds.csp"]);
    let expected = "3: P [T= P: holds\n4: (P |~| STOP) [T= P: holds\n";
    assert_eq!((code, out.as_str(), err.as_str()), (0, expected, ""));
    let wide = "N = {0..8}\nchannel c : N.{0..8}\nassert STOP [T= (||| i:N @ P(i, 0)) \\ Events\n\
                P(i, n) = n < 9 & c.i.n -> P(i, n + 1)\n";
    fs::write(folder.join("wide.csp"), wide).expect("writable");
    let (code, out, err) = check(&folder, &["wide.csp", "--memory", "1"]);
    assert_eq!(code, 69, "{out}{err}");
    assert!(out.contains("out of memory after 65536 states of the product\n"), "{out}");
    assert_eq!(err, "deadheat: memory for an assertion; give more with --memory MIB\n");
    fs::write(folder.join("nothing.csp"), "P = STOP\n").expect("writable");
    let (code, out, err) = check(&folder, &["nothing.csp"]);
    assert_eq!((code, out.as_str(), err.as_str()), (0, "", "deadheat: nothing.csp asserts nothing\n"));
}

#[test]
fn bad_text_ends_with_65_and_says_where() {
    let folder = folder("csp", "bad");
    for (text, message) in [
        ("P = -> STOP\n", "bad.csp:1:5: expected a process, an event or a value, found `->`"),
        ("channel a\nP = a -> Q\n", "bad.csp:2:10: expected a name that is defined, found `Q`"),
        ("assert STOP [F= STOP\n", "bad.csp:1:13: expected"),
        ("P = P [] STOP\nassert P [T= P\n", "bad.csp:2: the first step of P is defined by P itself"),
    ] {
        fs::write(folder.join("bad.csp"), text).expect("writable");
        let (code, out, err) = check(&folder, &["bad.csp"]);
        assert_eq!((code, out.as_str()), (65, ""), "{text}");
        assert!(err.starts_with(&format!("deadheat: {message}")), "{err}");
    }
    assert_eq!(check(&folder, &["absent.csp"]).0, 65);
    fs::write(folder.join("bytes.csp"), [0xff, 0xfe]).expect("writable");
    assert_eq!(check(&folder, &["bytes.csp"]).0, 65);
    assert_eq!(check(&folder, &[]).0, 2);
    assert_eq!(check(&folder, &["bad.csp", "-j", "0"]).0, 2);
}
