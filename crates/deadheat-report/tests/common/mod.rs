//! Reports that tests are made of.
#![allow(dead_code, reason = "each test uses a part")]

use std::collections::HashMap;
use std::path::Path;

use deadheat_report::format::{Format, Style};
use deadheat_report::model::{
    Access, Finding, Frame, Grade, Hex, Location, Lock, LockMode, Module, Operation, Race, Report, Run,
    SCHEMA, Summary, Thread, USE_AFTER_FREE,
};
use deadheat_report::source::Sources;

pub(crate) struct Fixed(HashMap<&'static str, &'static str>);

impl Fixed {
    /// One file.
    pub(crate) fn of(file: &'static str, text: &'static str) -> Fixed {
        Fixed(HashMap::from([(file, text)]))
    }
}

impl Sources for Fixed {
    fn text(&self, file: &str) -> Option<String> {
        self.0.get(file).map(|text| (*text).to_owned())
    }
}

pub(crate) const CACHE: &str = "\
#include \"cache.h\"

void Cache::put(int key) {
  std::lock_guard<std::mutex> l(mu_);
  size_ = size_ + 1;
}

int Cache::size() const {
\treturn size_;
}
";

pub(crate) fn sources() -> Fixed {
    Fixed(HashMap::from([("src/cache.cpp", CACHE)]))
}

pub(crate) fn frame(function: &str, function_line: u32, file: &str, line: u32, column: u32) -> Frame {
    Frame {
        function: Some(function.to_owned()),
        file: Some(file.to_owned()),
        line: Some(line),
        column: Some(column),
        function_line: Some(function_line),
        module: Some("cache".to_owned()),
        offset: Some(Hex(0x1180 + u64::from(line))),
        ..Frame::default()
    }
}

pub(crate) fn writer() -> Access {
    let library =
        frame("std::thread::_State_impl<F>::_M_run()", 230, "/usr/include/c++/12/bits/std_thread.h", 244, 13);
    Access {
        thread: "main/1".to_owned(),
        thread_name: "worker-1".to_owned(),
        op: Operation::Write,
        size: 4,
        address: Hex(0x7f00_1234),
        frames: vec![
            frame("Cache::put(int)", 3, "src/cache.cpp", 5, 9),
            frame("worker(void*)", 10, "src/main.cpp", 14, 7),
            library,
        ],
        locks: vec![Lock {
            name: "cache.mu_".to_owned(),
            id: "cache:cache.mu_".to_owned(),
            mode: LockMode::Write,
            address: None,
        }],
        ..Access::default()
    }
}

pub(crate) fn reader() -> Access {
    Access {
        thread: "main".to_owned(),
        op: Operation::Read,
        size: 4,
        address: Hex(0x7f00_1234),
        frames: vec![
            frame("Cache::size() const", 8, "src/cache.cpp", 9, 9),
            frame("main", 20, "src/main.cpp", 31, 3),
            Frame { module: Some("libc.so.6".to_owned()), offset: Some(Hex(0x27249)), ..Frame::default() },
        ],
        ..Access::default()
    }
}

pub(crate) fn race() -> Race {
    Race {
        id: "dh-00000000".to_owned(),
        grade: Grade::Observed,
        by: vec!["hb".to_owned()],
        count: 3,
        accesses: [writer(), reader()],
        threads: vec![Thread {
            thread: "main/1".to_owned(),
            name: "worker-1".to_owned(),
            created_by: Some("main".to_owned()),
            frames: vec![
                frame("std::thread::thread()", 9, "/usr/include/c++/12/bits/std_thread.h", 9, 3),
                frame("main", 20, "src/main.cpp", 25, 5),
            ],
        }],
        location: Location::Heap {
            size: 64,
            offset: 8,
            thread: "main".to_owned(),
            frames: vec![
                frame("make_cache()", 5, "src/main.cpp", 6, 10),
                frame("main", 20, "src/main.cpp", 22, 3),
            ],
        },
        also: Vec::new(),
        witness: None,
        suggestion: None,
        order_here: None,
        seen_in: Vec::new(),
    }
}

pub(crate) fn use_after_free() -> Finding {
    let Race { mut accesses, location, threads, .. } = race();
    accesses[0].op = Operation::Free;
    Finding {
        kind: USE_AFTER_FREE.to_owned(),
        grade: Some(Grade::Observed),
        message: "`main` reads a block that `main/1` freed before".to_owned(),
        thread: "main".to_owned(),
        frames: accesses[1].frames.clone(),
        accesses: Some(Box::new(accesses)),
        location,
        threads,
        ..Finding::default()
    }
}

pub(crate) fn report(races: Vec<Race>) -> Report {
    let summary = Summary::of(&races, &[]);
    let modules = vec![Module { path: "/home/user/cache".to_owned(), build_id: "ab01".to_owned() }];
    let run = Run {
        schema: SCHEMA,
        deadheat: "0.1.0".to_owned(),
        program: "./cache".to_owned(),
        mode: "record".to_owned(),
        by: vec!["hb".to_owned()],
        threads: 2,
        events: 120,
        accesses: 100,
        modules,
        ..Run::default()
    };
    Report { run, races, findings: Vec::new(), summary }
}

/// What a format makes of reports, without colour.
pub(crate) fn written(format: &Format, reports: &[Report], sources: &dyn Sources) -> String {
    let sources = |_: &Run| -> Box<dyn Sources + '_> { Box::new(sources) };
    let style = Style { color: false, quiet: false, sources: &sources, root: Path::new("/home/user/repo") };
    let mut out = Vec::new();
    (format.write)(reports, &style, &mut out).expect("a vector takes everything");
    String::from_utf8(out).expect("text is UTF-8")
}
