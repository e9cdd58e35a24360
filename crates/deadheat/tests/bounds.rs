//! `deadheat analyze --memory-limit`: the memory of the process is bounded by it, and the report says that it bound.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use nix::sys::resource::{UsageWho, getrusage};

/// A long trace of four threads that use ever new variables, each its own, and pass on some locks.
fn trace(events: u32) -> String {
    let (mut text, mut state, mut held) = (String::new(), 5_u64, [None; 4]);
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..events {
        let thread = random(4) as usize;
        let lock = random(6);
        let what = match (held[thread], random(8)) {
            (None, 0..=2) if !held.contains(&Some(lock)) => {
                held[thread] = Some(lock);
                format!("acq(l{lock})")
            }
            (Some(lock), 0..=2) => {
                held[thread] = None;
                format!("rel(l{lock})")
            }
            _ => {
                let access = if random(2) == 0 { 'r' } else { 'w' };
                format!("{access}(v{thread}_{})", u64::from(number) / 64 * 16 + random(16))
            }
        };
        let _ = writeln!(text, "T{thread}|{what}|{}", 1 + random(500));
    }
    text.push_str("T0|w(last)|900\nT1|w(last)|901\n");
    text
}

/// Judges a trace; the report, and the most memory that any process of this test had so far, in KiB.
fn analyze(folder: &Path, by: &str, more: &[&str]) -> (String, i64) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    command.args(["analyze", "t.std", "--by", by]).args(more).current_dir(folder);
    let output = command.output().expect("deadheat starts");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(0), "{told}");
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("there were children");
    (told, usage.max_rss())
}

#[test]
fn the_memory_of_the_process_is_bounded() {
    const LIMIT: i64 = 8;
    let folder = std::env::temp_dir().join(format!("deadheat-bounds-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    fs::write(folder.join("t.std"), trace(400_000)).expect("the temporary folder can be written");
    // What the trace itself takes, its names and places, and what is kept to tell a race.
    let (_, least) = analyze(&folder, "sync-preserving", &["--memory-limit", "1"]);
    let mut bounded = least;
    for by in ["sync-reversal", "shb", "sync-preserving"] {
        let (told, most) = analyze(&folder, by, &["--memory-limit", &LIMIT.to_string()]);
        println!("{by}: {} KiB more with a limit of {LIMIT} MiB than with 1", most - least);
        assert!(told.contains(&format!("{by} had to forget the first ")), "{told}");
        assert!(told.contains("predicted: data race on `last`"), "{told}");
        bounded = most;
    }
    let (told, free) = analyze(&folder, "sync-reversal", &[]);
    println!("sync-reversal: {} KiB more without a limit", free - least);
    assert!(!told.contains("had to forget"), "{told}");
    let _ = fs::remove_dir_all(&folder);
    // There is some that an analysis takes and does not count.
    assert!(bounded - least < 3 * LIMIT * 1024, "{bounded} {least}");
    assert!(free - least > 2 * (bounded - least), "{free} {bounded} {least}");
}
