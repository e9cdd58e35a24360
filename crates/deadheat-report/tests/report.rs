//! Reports as people and programs see them, made from hand-written models.

mod common;

use std::path::Path;

use common::{frame, race, reader, report, sources, writer, written};
use deadheat_report::format::{FORMATS, Style, named};
use deadheat_report::json;
use deadheat_report::model::{
    Access, Finding, Frame, Grade, Hex, Location, Operation, OrderHere, Race, Report, Run, Suggestion,
    Summary,
};
use deadheat_report::source::{NoSources, Sources};
use expect_test::{Expect, expect};

fn shown(report: &Report, sources: &dyn Sources) -> String {
    written(named("text").expect("a format"), std::slice::from_ref(report), sources)
}

fn check(report: &Report, sources: &dyn Sources, expected: &Expect) {
    expected.assert_eq(&shown(report, sources));
}

#[test]
fn a_race_within_one_file() {
    check(
        &report(vec![race()]),
        &sources(),
        &expect![[r#"
        error[dh-00000000]: unordered: data race on heap block from `make_cache()` main.cpp:6 (4 bytes at offset 8 of 64)
         --> src/cache.cpp:5:9
          |
        5 |   size_ = size_ + 1;
          |         ^ `main/1` (worker-1) writes here, holding `cache.mu_`
        ...
        9 |     return size_;
          |            ----- `main` reads here, holding no lock
          |
          = note: write of 4 bytes by `main/1` (worker-1), holding `cache.mu_`:
                    #0 Cache::put(int) src/cache.cpp:5:9
                    #1 worker(void*) src/main.cpp:14:7
          = note: read of 4 bytes by `main`, holding no lock:
                    #0 Cache::size() const src/cache.cpp:9:9
                    #1 main src/main.cpp:31:3
          = note: `main/1` (worker-1) was created by `main`:
                    #0 main src/main.cpp:25:5
          = note: the block was allocated by `main`:
                    #0 make_cache() src/main.cpp:6:10
                    #1 main src/main.cpp:22:3
          = note: seen 3 times in this run, by hb

        deadheat: 1 race (1 unordered), seen 3 times
    "#]],
    );
}

/// A suspected race: the lock that most accesses hold, the line that does not, and what the order says.
#[test]
fn a_lock_to_hold() {
    let suggestion = Suggestion {
        lock: "cache.mu_".to_owned(),
        id: "cache:cache.mu_".to_owned(),
        held_at: 41,
        of: 44,
        instances: 1,
    };
    let order_here = Some(OrderHere::Locks);
    let suspected = Race {
        grade: Grade::Suspected,
        suggestion: Some(suggestion),
        order_here,
        by: vec!["lockset".to_owned()],
        ..race()
    };
    let whole = report(vec![suspected]);
    let text = shown(&whole, &sources());
    let told: Vec<&str> = text.lines().skip_while(|line| !line.contains("no common lock")).collect();
    expect![[r#"
          = note: no common lock; ordered here by locks that passed from one thread to the other: another run may go otherwise
          = note: `cache.mu_` protects 41 of 44 accesses
          = note: seen 3 times in this run, by lockset
        help: hold `cache.mu_` here, too
          |
        9 |     /* hold cache.mu_ */ return size_;
          |     ++++++++++++++++++++

        deadheat: 1 race (1 suspected), seen 3 times"#]]
    .assert_eq(&told.join("\n"));
    // Without the source there is no line to show.
    assert!(!shown(&whole, &NoSources).contains("help"));
    let mut json = Vec::new();
    json::write(&whole, &mut json).expect("a vector takes everything");
    let line = String::from_utf8_lossy(&json);
    let wanted = r#""suggestion":{"lock":"cache.mu_","id":"cache:cache.mu_","held_at":41,"of":44},"order_here":"locks""#;
    assert!(line.contains(wanted), "{line}");
    assert_eq!(json::read("kept", &json[..]).expect("it is read again"), [whole]);
}

#[test]
fn sources_that_are_gone() {
    check(
        &report(vec![race()]),
        &NoSources,
        &expect![[r#"
        error[dh-00000000]: unordered: data race on heap block from `make_cache()` main.cpp:6 (4 bytes at offset 8 of 64)
        --> src/cache.cpp:5:9
        ::: src/cache.cpp:9:9
         = note: write of 4 bytes by `main/1` (worker-1), holding `cache.mu_`:
                   #0 Cache::put(int) src/cache.cpp:5:9
                   #1 worker(void*) src/main.cpp:14:7
         = note: read of 4 bytes by `main`, holding no lock:
                   #0 Cache::size() const src/cache.cpp:9:9
                   #1 main src/main.cpp:31:3
         = note: `main/1` (worker-1) was created by `main`:
                   #0 main src/main.cpp:25:5
         = note: the block was allocated by `main`:
                   #0 make_cache() src/main.cpp:6:10
                   #1 main src/main.cpp:22:3
         = note: seen 3 times in this run, by hb

        deadheat: 1 race (1 unordered), seen 3 times
    "#]],
    );
}

#[test]
fn a_dead_heat_of_atomics_without_debug_information() {
    let bare = |offset| Frame {
        function: Some("push".to_owned()),
        module: Some("libq.so".to_owned()),
        offset: Some(Hex(0x9000 + offset)),
        symbol_offset: Some(Hex(offset)),
        ..Frame::default()
    };
    let mut race = race();
    race.grade = Grade::Proved;
    race.count = 1;
    race.accesses[0].frames = vec![bare(16)];
    race.accesses[1] = Access {
        op: Operation::ReadWrite,
        atomic: true,
        order: Some("relaxed".to_owned()),
        frames: vec![bare(32)],
        size: 8,
        thread: "main/2".to_owned(),
        ..reader()
    };
    race.threads.clear();
    race.location = Location::Global {
        symbol: "queue".to_owned(),
        part: String::new(),
        offset: 8,
        size: 32,
        module: "libq.so".to_owned(),
    };
    check(
        &report(vec![race]),
        &sources(),
        &expect![[r#"
        error[dh-00000000]: dead heat: data race on `queue` (4 and 8 bytes that meet at offset 8 of 32)
         |
         = note: write of 4 bytes by `main/1` (worker-1), holding `cache.mu_`:
                   #0 push (libq.so+0x9010)
         = note: atomic read-write of 8 bytes by `main/2`, holding no lock:
                   #0 push (libq.so+0x9020)

        deadheat: 1 race (1 dead heat)
    "#]],
    );
}

#[test]
fn a_line_that_races_with_itself_through_a_container() {
    let mut side = writer();
    side.locks.clear();
    let inlined = frame(
        "std::vector<int>::operator[](unsigned long)",
        1120,
        "/usr/include/c++/12/bits/stl_vector.h",
        1125,
        9,
    );
    side.frames.insert(0, Frame { inlined: true, ..inlined });
    let other = Access { thread: "main/2".to_owned(), thread_name: String::new(), ..side.clone() };
    let mut race = race();
    race.accesses = [side, other];
    race.threads.clear();
    race.count = 1;
    race.location = Location::Stack {
        thread: "main".to_owned(),
        function: Some("main".to_owned()),
        variable: None,
        file: None,
        line: None,
    };
    check(
        &report(vec![race]),
        &sources(),
        &expect![[r#"
        error[dh-00000000]: unordered: data race on the stack of `main` in `main` (4 bytes)
         --> src/cache.cpp:5:9
          |
        5 |   size_ = size_ + 1;
          |         ^
          |         |
          |         `main/1` (worker-1) writes here in `std::vector<int>::operator[](unsigned long)`, holding no lock
          |         `main/2` writes here in `std::vector<int>::operator[](unsigned long)`, holding no lock
          |
          = note: write of 4 bytes by `main/1` (worker-1), holding no lock:
                    #0 std::vector<int>::operator[](unsigned long) /usr/include/c++/12/bits/stl_vector.h:1125:9
                    #1 Cache::put(int) src/cache.cpp:5:9
                    #2 worker(void*) src/main.cpp:14:7
          = note: write of 4 bytes by `main/2`, holding no lock:
                    #0 std::vector<int>::operator[](unsigned long) /usr/include/c++/12/bits/stl_vector.h:1125:9
                    #1 Cache::put(int) src/cache.cpp:5:9
                    #2 worker(void*) src/main.cpp:14:7

        deadheat: 1 race (1 unordered)
    "#]],
    );
}

#[test]
fn a_library_s_depths_take_one_line() {
    let mut race = race();
    let string = "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >";
    let inside =
        |n: u32| frame(&format!("{string}::step_{n}()"), n, "/usr/include/c++/12/bits/basic_string.h", n, 1);
    race.accesses[0].frames.splice(0..0, (1..8).map(inside));
    let long = format!("void (anonymous namespace)::all<{}>(int)", [string; 4].join(", "));
    race.accesses[1].frames[0].function = Some(long);
    let told = shown(&report(vec![race]), &NoSources);
    let access = "\
           #0 std::string::step_1() /usr/include/c++/12/bits/basic_string.h:1:1
           #1 library code, 6 frames
           #7 Cache::put(int) src/cache.cpp:5:9
           #8 worker(void*) src/main.cpp:14:7\n";
    assert!(told.contains(access), "{told}");
    assert!(told.contains("#0 (anonymous namespace)::all src/cache.cpp:9:9"), "{told}");
}

#[test]
fn a_library_s_depths_take_one_line_wherever_they_are() {
    let mut race = race();
    let toolchain = "/home/user/.rustup/toolchains/nightly/lib/rustlib/src/rust/library";
    let fetched = "/home/user/.cargo/registry/src/somewhere-1949cf8c6b5b557f";
    let fold = |n: u32| {
        frame("<core::ops::Range>::fold", n, &format!("{toolchain}/core/src/iter/range.rs"), 20 + n, 5)
    };
    race.accesses[0].frames = vec![
        frame("<alloc::vec::Vec>::push", 3, "/rustc/59807616e1fa/library/alloc/src/vec/mod.rs", 1004, 22),
        frame("app::work::{closure#0}", 1, "src/main.rs", 8, 3),
        fold(1),
        fold(2),
        frame("rayon_core::join", 7, &format!("{fetched}/rayon-core-1.13.0/src/join/mod.rs"), 9, 1),
        fold(3),
        frame("app::main", 2, "src/main.rs", 15, 4),
    ];
    let created = [frame("app::main::{closure#0}", 1, "src/main.rs", 14, 9), fold(1), fold(2), fold(3)];
    let at_last = frame("app::main", 2, "src/main.rs", 15, 4);
    race.threads[0].frames = created.into_iter().chain([at_last]).collect();
    let told = shown(&report(vec![race]), &NoSources);
    let access = "\
           #0 <alloc::vec::Vec>::push library/alloc/src/vec/mod.rs:1004:22
           #1 app::work::{closure#0} src/main.rs:8:3
           #2 library code, 2 frames
           #4 rayon_core::join rayon-core-1.13.0/src/join/mod.rs:9:1
           #5 <core::ops::Range>::fold library/core/src/iter/range.rs:23:5
           #6 app::main src/main.rs:15:4\n";
    assert!(told.contains(access), "{told}");
    let created = "\
           #0 app::main::{closure#0} src/main.rs:14:9
           #1 library code, 3 frames
           #4 app::main src/main.rs:15:4\n";
    assert!(told.contains(created), "{told}");
}

#[test]
fn threads_that_one_stack_created_share_a_note() {
    let mut race = race();
    let mut other = race.threads[0].clone();
    "main/2".clone_into(&mut other.thread);
    race.threads.push(other);
    let told = shown(&report(vec![race.clone()]), &NoSources);
    assert!(
        told.contains("note: `main/1` (worker-1) and `main/2` (worker-1) were created by `main`:\n"),
        "{told}"
    );
    race.threads[1].frames.iter_mut().for_each(|frame| frame.line = Some(77));
    let told = shown(&report(vec![race]), &NoSources);
    assert!(told.contains("note: `main/1` (worker-1) was created by `main`:\n"), "{told}");
    assert!(told.contains("note: `main/2` (worker-1) was created by `main`:\n"), "{told}");
}

#[test]
fn uses_of_locks_and_births_of_blocks_have_words_of_their_own() {
    let mut race = race();
    race.accesses[0].via = Some("birth".to_owned());
    race.accesses[0].op = Operation::Write;
    race.accesses[0].locks.clear();
    race.accesses[1].via = Some("object".to_owned());
    race.accesses[1].op = Operation::Read;
    race.also = vec![race.location.clone()];
    let told = shown(&report(vec![race.clone()]), &sources());
    assert!(told.contains("note: the same places race on another "), "{told}");
    for words in [
        " allocates the block here\n",
        "note: allocation of 4 bytes by",
        "uses the object here",
        "note: use of the object by",
    ] {
        assert!(told.contains(words), "{words} in {told}");
    }
    race.accesses[1].op = Operation::Write;
    let told = shown(&report(vec![race]), &sources());
    for words in ["makes or ends the object here", "note: making or end of the object by"] {
        assert!(told.contains(words), "{words} in {told}");
    }
}

#[test]
fn rust_s_stacks_end_where_its_own_do() {
    let mut race = race();
    let frames = &mut race.accesses[0].frames;
    frames.truncate(1);
    let library =
        "/home/user/.rustup/toolchains/nightly/lib/rustlib/src/rust/library/std/src/sys/backtrace.rs";
    frames.push(frame("app::work::{closure#0}", 7, "src/main.rs", 8, 3));
    frames.push(frame(
        "std::sys::backtrace::__rust_begin_short_backtrace::<app::work, ()>",
        160,
        library,
        166,
        18,
    ));
    frames.push(Frame { function: Some("__rust_try".to_owned()), ..Frame::default() });
    let top = frames[0].function.clone().expect("named");
    let told = shown(&report(vec![race]), &NoSources);
    assert!(told.contains("#1 app::work::{closure#0} src/main.rs:8:3\n"), "{told}");
    assert!(told.contains(&format!("#0 {top}")) && !told.contains("__rust"), "{told}");
}

#[test]
fn what_catches_a_panic_is_code_of_the_library() {
    let mut race = race();
    let library = "/rustc/0123456789abcdef/library/std/src/panic.rs";
    let frames = &mut race.accesses[0].frames;
    frames.truncate(1);
    frames.push(frame("std::panicking::catch_unwind::do_call", 500, library, 581, 1));
    frames.push(Frame {
        function: Some("__rust_try".to_owned()),
        module: Some("app".to_owned()),
        offset: Some(Hex(0x10)),
        ..Frame::default()
    });
    frames.push(frame("std::thread::scope", 100, library, 158, 5));
    frames.push(frame("app::run", 60, "src/main.rs", 67, 5));
    let told = shown(&report(vec![race]), &NoSources);
    assert!(
        told.contains("#1 library code, 3 frames\n") && told.contains("#4 app::run src/main.rs:67:5"),
        "{told}"
    );
}

/// Code that stands for several lines has none.
#[test]
fn a_place_without_a_line_has_its_file_and_function() {
    let mut race = race();
    let top = &mut race.accesses[1].frames[0];
    (top.line, top.column, top.function_line) = (None, None, Some(4));
    (top.module, top.offset) = (Some("app".to_owned()), Some(Hex(0x123)));
    let (function, file) = (top.function.clone().expect("named"), top.file.clone().expect("known"));
    let report = report(vec![race]);
    // Without the source no line is named in which no access is.
    let without = shown(&report, &NoSources);
    assert!(without.contains(&format!("::: {file}\n")), "{without}");
    let told = shown(&report, &sources());
    for part in [format!("somewhere in `{function}`, holding"), format!("#0 {function} {file} (app+0x123)\n")]
    {
        assert!(told.contains(&part), "{part}: {told}");
    }
}

#[test]
fn a_recursion_takes_one_line() {
    let mut race = race();
    let frames = &mut race.accesses[0].frames;
    let again = frame("walk(Tree*)", 40, "src/tree.cpp", 44, 5);
    frames.splice(1..1, std::iter::repeat_n(again, 30));
    let told = shown(&report(vec![race]), &NoSources);
    let lines = "#1 walk(Tree*) src/tree.cpp:44:5, 30 times\n           #31 worker(void*)";
    assert!(told.contains(lines), "{told}");
}

#[test]
fn a_part_of_a_global() {
    let mut race = race();
    let (symbol, part, module) = ("table".to_owned(), "[3].next".to_owned(), "app".to_owned());
    race.location = Location::Global { symbol, part, offset: 56, size: 128, module };
    let told = shown(&report(vec![race]), &NoSources);
    assert!(told.contains("data race on `table[3].next` (4 bytes)\n"), "{told}");
}

/// Of races on several variables the reader learns which have the most.
#[test]
fn many_races_are_counted_by_what_they_are_on() {
    let on = |name: &str| Race { location: Location::Named { name: name.to_owned() }, ..race() };
    let end = |races: Vec<Race>| {
        let told = shown(&report(races), &NoSources);
        told[told.rfind(" races (").expect("a line at the end")..]
            .lines()
            .skip(1)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let few = vec![on("a"), on("a"), on("b"), on("b")];
    assert!(end(few).is_empty());
    let all_different = ["a", "b", "c", "d", "e"].map(on).to_vec();
    assert!(end(all_different).is_empty());
    let mut many: Vec<_> = ["b", "a", "b", "c", "c", "b"].map(on).to_vec();
    many.extend((0..2).map(|_| race()));
    let shares = ["3 on `b`", "2 on `c`", "2 on heap block from `make_cache()` main.cpp:6", "1 on `a`"];
    assert_eq!(end(many.clone()), shares.map(|line| format!("deadheat:   {line}")));
    many.extend(["d", "e", "f", "g", "h", "i"].map(on));
    let end = end(many);
    assert_eq!((end.len(), &*end[8]), (9, "deadheat:   2 on 2 others"));
}

#[test]
fn nothing_found() {
    let mut empty = report(Vec::new());
    empty.run.threads = 1;
    empty.summary.suppressed = 2;
    empty.summary.notes.push("no second thread was started, so no race could be seen".to_owned());
    check(
        &empty,
        &NoSources,
        &expect![[r#"
        deadheat: no second thread was started, so no race could be seen
        deadheat: no race found in 1 thread, 120 events and 100 accesses; 2 suppressed
    "#]],
    );
}

#[test]
fn a_finding() {
    let mut with = report(Vec::new());
    with.findings.push(Finding {
        kind: "lock-order".to_owned(),
        grade: Some(Grade::Predicted),
        message: "`a` and `b` are taken in both orders".to_owned(),
        thread: "main/1".to_owned(),
        frames: vec![frame("f", 1, "a.c", 3, 2)],
        ..Finding::default()
    });
    with.summary = Summary::of(&with.races, &with.findings);
    check(
        &with,
        &NoSources,
        &expect![[r#"
        warning: predicted: lock-order: `a` and `b` are taken in both orders
         |
         = note: `main/1` at
                   #0 f a.c:3:2

        deadheat: no race found in 2 threads, 120 events and 100 accesses; 1 other finding
    "#]],
    );
}

#[test]
fn a_race_is_short_enough_to_be_read() {
    let mut long = race();
    for access in &mut long.accesses {
        let frames = (0..200).map(|n| frame(&format!("level_{n}"), 1, "src/deep.cpp", n + 1, 1));
        access.frames = frames.collect();
    }
    let lines = shown(&report(vec![long]), &sources()).lines().count();
    assert!(lines <= 40, "{lines} lines");
}

#[test]
fn json_lines() {
    let mut out = Vec::new();
    let report = report(vec![race()]);
    json::write(&report, &mut out).expect("a vector takes everything");
    let text = String::from_utf8(out).expect("JSON is UTF-8");
    expect![[r#"
        {"type":"run","schema":1,"deadheat":"0.1.0","program":"./cache","arguments":[],"modules":[{"path":"/home/user/cache","build_id":"ab01"}],"mode":"record","by":["hb"],"threads":2,"events":120,"accesses":100,"hidden_calls":0}
        {"type":"race","id":"dh-00000000","grade":"observed","by":["hb"],"count":3,"accesses":[{"thread":"main/1","thread_name":"worker-1","op":"write","atomic":false,"size":4,"address":"0x7f001234","frames":[{"function":"Cache::put(int)","file":"src/cache.cpp","line":5,"column":9,"function_line":3,"module":"cache","offset":"0x1185"},{"function":"worker(void*)","file":"src/main.cpp","line":14,"column":7,"function_line":10,"module":"cache","offset":"0x118e"},{"function":"std::thread::_State_impl<F>::_M_run()","file":"/usr/include/c++/12/bits/std_thread.h","line":244,"column":13,"function_line":230,"module":"cache","offset":"0x1274"}],"locks":[{"name":"cache.mu_","id":"cache:cache.mu_","mode":"write"}]},{"thread":"main","op":"read","atomic":false,"size":4,"address":"0x7f001234","frames":[{"function":"Cache::size() const","file":"src/cache.cpp","line":9,"column":9,"function_line":8,"module":"cache","offset":"0x1189"},{"function":"main","file":"src/main.cpp","line":31,"column":3,"function_line":20,"module":"cache","offset":"0x119f"},{"module":"libc.so.6","offset":"0x27249"}],"locks":[]}],"threads":[{"thread":"main/1","name":"worker-1","created_by":"main","frames":[{"function":"std::thread::thread()","file":"/usr/include/c++/12/bits/std_thread.h","line":9,"column":3,"function_line":9,"module":"cache","offset":"0x1189"},{"function":"main","file":"src/main.cpp","line":25,"column":5,"function_line":20,"module":"cache","offset":"0x1199"}]}],"location":{"kind":"heap","size":64,"offset":8,"thread":"main","frames":[{"function":"make_cache()","file":"src/main.cpp","line":6,"column":10,"function_line":5,"module":"cache","offset":"0x1186"},{"function":"main","file":"src/main.cpp","line":22,"column":3,"function_line":20,"module":"cache","offset":"0x1196"}]}}
        {"type":"summary","races":1,"grades":{"observed":1},"occurrences":3,"suppressed":0,"findings":0,"notes":[]}
    "#]].assert_eq(&text);
    let again = json::read("r.jsonl", text.as_bytes()).expect("what was written can be read");
    assert_eq!(again, [report]);
}

#[test]
fn what_cannot_be_read_is_told_by_line() {
    let run = "{\"type\":\"run\",\"schema\":1}\n";
    for (input, error) in [
        ("", "r:1: the report ends without its summary"),
        ("{}\n", "r:1: no report line: missing field `type` at line 1 column 2"),
        ("{\"type\":\"race\"}\n", "r:1: a report must begin with a line of type `run`"),
        ("{\"type\":\"run\"}\n", "r:1: the run line has no schema"),
        (
            "{\"type\":\"run\",\"schema\":2}\n",
            "r:1: schema 2 is of a later version of deadheat; this one reads 1",
        ),
        (run, "r:2: the report ends without its summary"),
        (&format!("{run}{run}"), "r:2: the report before this `run` has no summary"),
        (&format!("{run}\n{{\"type\":\"noise\"}}\n"), "r:3: unknown type `noise`"),
        (
            &format!("{run}{{\"type\":\"race\",\"id\":5}}\n"),
            "r:2: invalid type: integer `5`, expected a string",
        ),
        (
            &format!("{run}{{\"type\":\"summary\"}}\n{{\"type\":\"race\"}}"),
            "r:3: a report must begin with a line of type `run`",
        ),
    ] {
        let found = json::read("r", input.as_bytes()).expect_err(input).to_string();
        assert!(found.starts_with(error), "{found}\n{error}");
    }
    let plain = json::read("r", format!("{run}{{\"type\":\"summary\",\"later\":1}}\n").as_bytes());
    assert_eq!(plain.expect("unknown fields are skipped")[0].run.schema, 1);
}

#[test]
fn every_format_has_its_own_name() {
    for format in FORMATS {
        assert!(std::ptr::eq(named(format.name).expect(format.name), format));
        assert!(!format.about.is_empty());
        let sources = sources();
        let sources = |_: &Run| -> Box<dyn Sources + '_> { Box::new(&sources) };
        let style = Style { color: true, quiet: false, sources: &sources, root: Path::new("/") };
        let mut out = Vec::new();
        (format.write)(&[report(vec![race()])], &style, &mut out).expect("a vector takes everything");
        assert!(out.ends_with(b"\n"));
        assert_eq!(out.contains(&0x1b), format.name == "text", "colour is for people");
    }
    assert!(named("nothing").is_none());
}
