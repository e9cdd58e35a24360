//! New threads wait for others that are created behind them, until a thread blocks, none is created for a while, or for a moment.

mod common;

use std::path::Path;
use std::time::{Duration, Instant};

use common::{deadheat, each_compiler, ok, output, said, with};

/// What the program does, for how many milliseconds its threads wait at the most, and what it prints.
const CASES: &[(&str, Option<u32>, &str)] = &[
    // It has waited for a tenth of a second.
    ("asks", Some(600_000), "begun: 0\nended\n"),
    // Its creator cannot go on before it does.
    ("waits", None, "ended\n"),
    ("waits", Some(0), "ended\n"),
    ("waits", Some(20), "ended\n"),
    // It waits 5 seconds, a twentieth of what is said, as no other thread is created.
    ("waits", Some(100_000), "ended\n"),
    // Who blocks lets it go.
    ("blocks", Some(600_000), "ended\n"),
    // So does who creates another one, and gave back a lock before.
    ("unlocks", Some(600_000), "ended\n"),
    // And who takes a lock.
    ("locks", Some(600_000), "ended\n"),
    ("exchanges", Some(600_000), "ended\n"),
];

#[test]
fn a_thread_waits_until_its_creator_blocks_or_for_a_moment() {
    each_compiler("together", |compilers, folder| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/together.c");
        ok(with(compilers).args(["cc", "-O1", "-pthread", "-o", "program"]).arg(source), folder);
        for (way, most, expected) in CASES {
            let begin = Instant::now();
            let mut command = deadheat();
            if let Some(most) = most {
                command.env("DEADHEAT_OPTIONS", format!("start_together={most}"));
            }
            let output = output(command.args(["run", "--", "./program", way]), folder);
            let what = format!("{way}, {most:?}: {}", said(&output));
            assert_eq!(output.status.code(), Some(0), "{what}");
            assert_eq!(String::from_utf8_lossy(&output.stdout), *expected, "{what}");
            assert!(begin.elapsed() < Duration::from_secs(90), "{what}");
        }
    });
}
