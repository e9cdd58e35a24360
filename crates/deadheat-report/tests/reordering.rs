//! The order behind a predicted race, as text.

mod common;

use common::{frame, race, report, sources, written};
use deadheat_report::format::named;
use deadheat_report::model::{Grade, LockMode, Race};
use deadheat_report::reordering::{Act, Deed, KIND, Reordering, VERSION};
use expect_test::{Expect, expect};

fn act(thread: usize, event: u64, op: Deed, object: &str, (file, line): (&str, u32)) -> Act {
    Act {
        thread,
        event,
        op,
        object: object.to_owned(),
        frames: vec![frame("f", 1, file, line, 2)],
        ..Act::default()
    }
}

fn reordering(operations: Option<Vec<Act>>) -> Reordering {
    Reordering {
        kind: KIND.to_owned(),
        version: VERSION,
        threads: ["main/1", "main", "main/2"].map(str::to_owned).to_vec(),
        done: vec![7, 20, 3],
        order: None,
        operations,
        left_out: 0,
    }
}

fn predicted(reordering: &Reordering) -> Race {
    let witness = Some(reordering.to_json().expect("it is JSON"));
    Race { grade: Grade::Predicted, by: vec!["shb".to_owned()], count: 1, witness, ..race() }
}

/// The last notes of a race: its order.
fn told(reordering: &Reordering) -> String {
    let report = report(vec![predicted(reordering)]);
    let text = written(named("text").expect("a format"), &[report], &sources());
    let lines = text.lines().skip_while(|line| !line.contains("side by side"));
    let lines: Vec<&str> = lines.take_while(|line| !line.is_empty()).collect();
    assert!(lines.len() <= 20 && lines.iter().all(|line| line.chars().count() <= 100), "{text}");
    // Without the gutter, which is as wide as the line numbers of the race's source need.
    let gutter = lines.first().map_or(0, |line| line.len() - line.trim_start().len());
    let lines: Vec<&str> = lines.iter().map(|line| line.get(gutter..).unwrap_or(line)).collect();
    lines.join("\n")
}

fn check(reordering: &Reordering, expected: &Expect) {
    expected.assert_eq(&told(reordering));
}

#[test]
fn each_thread_has_its_column() {
    let mut reads = act(0, 6, Deed::Read, "ready", ("src/main.cpp", 12));
    reads.sees = vec![(2, 1)];
    let mut shared = act(2, 0, Deed::Lock, "table", ("src/table.cpp", 7));
    shared.mode = LockMode::Read;
    let mut writes = act(2, 1, Deed::Write, "ready", ("src/table.cpp", 8));
    writes.atomic = true;
    let acts = vec![act(1, 3, Deed::Create, "main/1", ("src/main.cpp", 25)), shared, writes, reads];
    check(
        &reordering(Some(acts)),
        &expect![[r#"
              = note: they come side by side in this order:
                        A: cache.cpp, B: main.cpp, C: table.cpp
                        `main/1` (worker-1)       | `main`             | others
                                                  | B:25 create main/1 |
                                                  |                    | C:7 main/2: lock table for readi…
                                                  |                    | C:8 main/2: atomic write ready
                        B:12 read ready of main/2 |                    |
                        --------------------------+--------------------+----------------------------------
                        A:5 write the block       | A:9 read the block |"#]],
    );
}

#[test]
fn places_and_names_that_are_too_long_are_cut() {
    let file = "src/the_cache_of_everything_that_was_ever_seen.cpp";
    let name = "Cache<std::string, std::vector<int>>::instance().guard";
    let acts = vec![
        act(0, 1, Deed::Lock, "m", (file, 1234)),
        act(1, 1, Deed::Lock, name, (file, 7)),
        act(2, 1, Deed::Unlock, name, (file, 88)),
    ];
    check(
        &reordering(Some(acts)),
        &expect![[r#"
              = note: they come side by side in this order:
                        A: cache.cpp, B: …f_everything_that_was_ever_seen.cpp
                        `main/1` (worker-1) | `main`                        | others
                        B:1234 lock m       |                               |
                                            | B:7 lock Cache<std::string, … |
                                            |                               | B:88 main/2: unlock Cache<s…
                        --------------------+-------------------------------+-----------------------------
                        A:5 write the block | A:9 read the block            |"#]],
    );
}

#[test]
fn of_many_operations_the_last_are_told_and_some_of_each_thread() {
    let mut acts: Vec<Act> =
        (0..5).map(|n| act(0, n, Deed::Lock, "a", ("src/cache.cpp", n as u32 + 1))).collect();
    acts.extend((0..30).map(|n| act(2, n, Deed::Lock, "b", ("src/cache.cpp", n as u32 + 100))));
    check(
        &Reordering { left_out: 1000, ..reordering(Some(acts)) },
        &expect![[r#"
              = note: they come side by side in this order (lines of cache.cpp):
                        `main/1` (worker-1) | `main`           | others
                        ... 1002 operations left out
                        3 lock a            |                  |
                        4 lock a            |                  |
                        5 lock a            |                  |
                        ... 20 operations left out
                                            |                  | 120 main/2: lock b
                                            |                  | 121 main/2: lock b
                                            |                  | 122 main/2: lock b
                                            |                  | 123 main/2: lock b
                                            |                  | 124 main/2: lock b
                                            |                  | 125 main/2: lock b
                                            |                  | 126 main/2: lock b
                                            |                  | 127 main/2: lock b
                                            |                  | 128 main/2: lock b
                                            |                  | 129 main/2: lock b
                        --------------------+------------------+-------------------
                        5 write the block   | 9 read the block |"#]],
    );
}

#[test]
fn there_may_be_nothing_to_list() {
    check(
        &reordering(Some(Vec::new())),
        &expect!["= note: they come side by side if each thread just runs on: nothing sets an order before"],
    );
    check(
        &reordering(None),
        &expect![[r#"
              = note: they come side by side behind 30 events of the run in another order,
                        which was not looked at further: there are too many races"#]],
    );
}

/// A witness that speaks of threads that it does not have, or of another form, is not drawn.
#[test]
fn what_is_not_understood_is_not_told() {
    let broken = reordering(Some(vec![act(3, 0, Deed::Lock, "m", ("a.c", 1))]));
    assert_eq!(told(&broken), "");
    assert_eq!(told(&Reordering { version: VERSION + 1, ..reordering(Some(Vec::new())) }), "");
    assert_eq!(told(&Reordering { done: vec![1], ..reordering(Some(Vec::new())) }), "");
    let read = Reordering::of(&predicted(&reordering(None)));
    assert_eq!(read, Some(reordering(None)));
}
