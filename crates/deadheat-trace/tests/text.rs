//! The formats of other tools.

mod common;

use common::{events_of, public_trace, scratch};
use deadheat_core::event::{Event, Op};
use deadheat_trace::{Error, Format, Run, StdWriter, Tables, Trace, Writer};

fn std_text(text: &str) -> Trace {
    Trace::from_bytes("t.std", text.as_bytes().to_vec(), Some(Format::Std)).expect("any bytes open as STD")
}

/// Events with their ids told in words.
fn told(trace: &mut Trace) -> Vec<String> {
    let mut lines = Vec::new();
    trace
        .drive_while(|event, tables| {
            lines.push(line_of(event, tables));
            true
        })
        .expect("readable to the end");
    lines
}

fn line_of(event: &Event, tables: &Tables) -> String {
    let name = |id| tables.threads.get(id).map_or("?", |thread| thread.name.as_str()).to_owned();
    let object = |address| tables.names.get(address).unwrap_or("?").to_owned();
    let op = match event.op {
        Op::Access(access) => format!("{:?} {}", access.mode, object(access.address)),
        Op::Acquire { lock, .. } => format!("acquire {}", object(lock)),
        Op::Release { lock, .. } => format!("release {}", object(lock)),
        Op::Fork { child } => format!("fork {}", name(child)),
        Op::Join { child } => format!("join {}", name(child)),
        Op::Signal { object: id, .. } => object(id),
        Op::Wait { object: id, .. } => format!("wait for {}", object(id)),
        other => format!("{other:?}"),
    };
    format!("{}: {op} at {:?}", name(event.thread), tables.places.get(event.place))
}

fn as_std(trace: &mut Trace) -> String {
    let mut out = Vec::new();
    let mut writer = StdWriter::new(&mut out, true);
    trace
        .drive_while(|event, tables| {
            writer.event(event, tables).expect("memory takes everything");
            true
        })
        .expect("readable to the end");
    writer.finish().expect("memory takes everything");
    String::from_utf8(out).expect("names are text")
}

#[test]
fn every_operation_of_std_is_read() {
    let text = "T0|begin(T0)|0\nT0|fork(T1)|1\n\nT1|req(l)|2\r\nT1|acq(l)|2\nT1|r(a[f(1)])|3\n T1 | w( x ) | 4 \n\
                T1|rel(l)|5\nT1|branch(x)|6\nT1|end(T1)|6\n0|join(1)|7";
    let mut trace = std_text(text);
    let lines = told(&mut trace);
    let named = |line| format!("Named {{ function: \"\", file: \"\", line: {line}, column: 0 }}");
    assert_eq!(lines[4], format!("T1: Read a[f(1)] at {}", named(3)));
    assert_eq!(lines[5], format!("T1: Write x at {}", named(4)));
    assert_eq!(lines[9], format!("T0: join T1 at {}", named(7)));
    assert_eq!(lines.len(), 10);
    assert_eq!(trace.tables().threads.path(deadheat_core::ids::ThreadId(1)), "main/1");
}

#[test]
fn dirty_locks_are_mended_and_counted() {
    let text = "T0|acq(l)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT1|acq(l)|4\nT1|rel(l)|5\nT0|rel(l)|6\nT0|rel(l)|7\n\
                T0|acq(m)|8\n";
    let mut trace = std_text(text);
    let lines: Vec<String> =
        told(&mut trace).iter().map(|line| line.split(" at").next().unwrap_or("").to_owned()).collect();
    assert_eq!(lines, ["T0: acquire l", "T1: acquire l", "T1: release l", "T0: release l", "T0: acquire m"]);
    let dirt = trace.summary().dirt;
    assert_eq!((dirt.reentrant_acquires, dirt.reentrant_releases), (1, 1));
    assert_eq!((dirt.releases_not_held, dirt.acquires_of_held, dirt.held_at_end), (1, 1, 1));
}

#[test]
fn errors_name_line_and_column() {
    for (text, expected) in [
        ("T0|w(x)|1\nT0|jump(x)|2\n", "t.std:2:4: unknown operation"),
        ("T0|w(x)|here\n", "t.std:1:9: the location is no number"),
        ("T0|w(x|1\n", "t.std:1:5: this bracket is not closed"),
        ("T0|w|1\n", "t.std:1:4: the operation has no operand"),
        ("T0|w()|1\n", "t.std:1:6: the operand is missing"),
        ("|w(x)|1\n", "t.std:1:1: the thread's name is missing"),
        ("\n\nhello\n", "t.std:3:1: an event is"),
    ] {
        let mut trace = std_text(text);
        let error = trace.drive(|_| {}).expect_err(text);
        assert!(error.to_string().starts_with(expected), "{error}");
    }
    let mut trace = Trace::from_bytes("t.log", b"1,WRITE,3,A.java:1:2,1\n1,HOP,3,nil,1\n".to_vec(), None)
        .expect("a log of shbee");
    let mut events = 0;
    let error = trace.drive(|_| events += 1).expect_err("HOP is nothing");
    assert_eq!((events, error.to_string().split(": ").next()), (1, Some("t.log:2:3")));
}

#[test]
fn lines_longer_than_the_buffer_are_read_and_endless_ones_refused() {
    let name = "x".repeat(600_000);
    let mut trace = std_text(&format!("T0|w({name})|1\nT0|r({name})|2\n"));
    assert_eq!(events_of(&mut trace).len(), 2);
    let mut trace = std_text(&format!("T0|w(x)|1\n{}", "y".repeat(3 << 20)));
    let error = trace.drive(|_| {}).expect_err("no line is as long");
    assert_eq!(error.to_string(), "t.std:2:1: the line is too long");
}

#[test]
fn shbee_logs_are_read() {
    let log = "1,WR,1,A.java:10:13,1\n1,SIG,7,nil,7\n2,WT,7,nil,7\n2,LK,4,nil,4\n2,READ,1,A.java:11:2,2\n\
               2,UNLOCK,4,nil,4\n2,SIGNALJOIN,9,nil,9\n1,WAITJOIN,9,nil,9\n1,SIGNALNOTIFY,5,B.java:1:1,5\n\
               2,WAITNOTIFY,5,nil,5\n";
    let mut trace = Trace::from_bytes("t.log", log.as_bytes().to_vec(), None).expect("a log of shbee");
    assert_eq!(trace.format(), Format::Shbee);
    let lines = told(&mut trace);
    assert_eq!(lines[0], "T1: Write 1 at Named { function: \"\", file: \"A.java\", line: 10, column: 13 }");
    assert_eq!(
        lines[1..4],
        ["T1: signal 7 at Unknown", "T2: wait for signal 7 at Unknown", "T2: acquire 4 at Unknown"]
    );
    assert_eq!(lines.len(), 10);
    assert_eq!(trace.tables().threads.path(deadheat_core::ids::ThreadId(1)), "main/1");
}

/// Public traces of our formats, and how many events they have where that is known.
const PUBLIC: [(&str, Option<u64>); 21] = [
    ("real/account.std", Some(15)),
    ("real/bubblesort.std", Some(1654)),
    ("real/bufwriter.std", None),
    ("real/derby.std", Some(75076)),
    ("real/freiburg_Bensalem.std", None),
    ("real/freiburg_jigsaw.std", None),
    ("real/jigsaw.std", None),
    ("real/lang.std", None),
    ("real/mergesort.std", None),
    ("real/moldyn.std", None),
    ("real/readerswriters.std", None),
    ("real/twostage.std", None),
    ("shbee/account.log", None),
    ("shbee/boundedbuffer.log", None),
    ("shbee/bubblesort.log", None),
    ("shbee/hiddenRace.log", None),
    ("shbee/testrwd.log", None),
    ("rapidbin/Account.data", None),
    ("rapidbin/Bensalem.data", None),
    ("rapidbin/Dbcp1.data", None),
    ("rapidbin/jigsaw.data", Some(143_021)),
];

#[test]
fn public_traces_survive_every_conversion() {
    for (name, events) in PUBLIC {
        let Some(bytes) = public_trace(name) else { continue };
        let size = bytes.len() as u64;
        let mut trace = Trace::from_bytes(name, bytes, None).expect(name);
        let lines = told(&mut trace);
        let summary = *trace.summary();
        assert_eq!((summary.bytes, summary.events), (size, lines.len() as u64), "{name}");
        if let Some(events) = events {
            let dirt = summary.dirt;
            let left_out = dirt.reentrant_acquires + dirt.reentrant_releases + dirt.releases_not_held;
            assert_eq!(summary.events + left_out, events, "{name}");
        }
        let path = scratch(&format!("{}.dh", name.replace('/', "-")));
        convert(&mut trace, &path).expect(name);
        let mut ours = Trace::open(&path).expect(name);
        assert_eq!(told(&mut ours), lines, "{name}");
        if trace.format() != Format::Shbee {
            let text = as_std(&mut trace);
            let mut again = std_text(&text);
            assert_eq!(as_std(&mut again), text, "{name}");
            assert_eq!(as_std(&mut ours), text, "{name}");
        }
    }
}

fn convert(trace: &mut Trace, path: &std::path::Path) -> Result<(), Error> {
    let mut writer = Writer::create(path, &Run { imported: true, ..Run::default() })?;
    let mut failed = None;
    trace.drive_while(|event, tables| {
        failed = writer.event(event, tables).err();
        failed.is_none()
    })?;
    match failed {
        Some(error) => Err(error),
        None => writer.finish(trace.tables(), true),
    }
}

#[test]
fn the_dirt_of_a_public_trace_is_told() {
    let Some(bytes) = public_trace("rapidbin/jigsaw.data") else { return };
    let mut trace = Trace::from_bytes("jigsaw", bytes, None).expect("RapidBin");
    assert_eq!(trace.format(), Format::RapidBin);
    let dirt = trace.drive(|_| {}).expect("readable to the end").dirt;
    // Counted apart by a short script that keeps a depth for each lock and thread.
    assert_eq!((dirt.reentrant_acquires, dirt.acquires_of_held, dirt.releases_not_held), (11_037, 4, 0));
}

#[test]
fn a_cut_rapidbin_file_tells_how_much_is_missing() {
    let mut bytes = vec![0; 18 + 8 * 3 + 5];
    bytes[17] = 9;
    bytes[18 + 6] = 0b0000_1100;
    let mut trace = Trace::from_bytes("cut.data", bytes, Some(Format::RapidBin)).expect("any bytes open");
    let mut events = 0;
    let error = trace.drive(|_| events += 1).expect_err("six are missing");
    assert_eq!(error.to_string(), "cut.data: byte 47: 6 of the events that the header announces are missing");
    assert_eq!(events, 2, "a write, and one acquire of the two");
}
