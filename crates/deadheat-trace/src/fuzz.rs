//! One function a reader that must survive any bytes: for fuzzers, here and in `fuzz/`.
//!
//! Each panics where a promise is broken: the same bytes read twice give the same events, the
//! summary counts what was delivered, and an error says where it is.

use deadheat_core::event::{Event, Op};
use deadheat_core::wire::{self, block, flag, header};

use crate::census::Census;
use crate::error::{At, ErrorKind};
use crate::summary::Format;
use crate::text::StdWriter;
use crate::trace::Trace;
use crate::wellformed::Doubts;

/// A function that reads any bytes.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also that of its folder of inputs in `spec/corpus/`.
pub const TARGETS: [(&str, Target); 6] = [
    ("deadheat", deadheat),
    ("records", records),
    ("std", std),
    ("shbee", shbee),
    ("rapidbin", rapidbin),
    ("any", any),
];

/// Our own file.
pub fn deadheat(bytes: &[u8]) {
    check(bytes.to_vec(), Some(Format::Deadheat));
}

/// Our own file with sound blocks: the bytes are the records of two streams, cut at the first
/// `ff ff`.
pub fn records(bytes: &[u8]) {
    let cut = bytes.windows(2).position(|pair| pair == [0xff, 0xff]).unwrap_or(bytes.len());
    let (one, other) = bytes.split_at(cut);
    let mut file = vec![0; header::PAGE as usize];
    file[..8].copy_from_slice(&header::MAGIC);
    put(&mut file, header::VERSION, &wire::VERSION.to_le_bytes());
    put(&mut file, header::FLAGS, &flag::CLEAN.to_le_bytes());
    for (stream, records) in [(0_u32, one), (1, other)] {
        let start = file.len();
        file.resize(start + (block::HEADER + records.len()).next_multiple_of(header::PAGE as usize), 0);
        let size = (file.len() - start) as u64;
        put(&mut file, start, &block::MAGIC.to_le_bytes());
        put(&mut file, start + block::KIND, &block::EVENTS.to_le_bytes());
        put(&mut file, start + block::SIZE, &size.to_le_bytes());
        put(&mut file, start + block::STREAM, &stream.to_le_bytes());
        put(&mut file, start + block::THREAD, &stream.to_le_bytes());
        put(&mut file, start + block::HEADER, records);
    }
    check(file, Some(Format::Deadheat));
}

/// STD.
pub fn std(bytes: &[u8]) {
    check(bytes.to_vec(), Some(Format::Std));
}

/// Logs of shbee.
pub fn shbee(bytes: &[u8]) {
    check(bytes.to_vec(), Some(Format::Shbee));
}

/// RapidBin.
pub fn rapidbin(bytes: &[u8]) {
    check(bytes.to_vec(), Some(Format::RapidBin));
}

/// Whatever the bytes are taken for.
pub fn any(bytes: &[u8]) {
    check(bytes.to_vec(), None);
}

fn put(file: &mut [u8], at: usize, bytes: &[u8]) {
    file[at..at + bytes.len()].copy_from_slice(bytes);
}

fn check(bytes: Vec<u8>, format: Option<Format>) {
    let mut trace = match Trace::from_bytes("fuzz", bytes, format) {
        Ok(trace) => trace,
        Err(error) => return assert!(!error.reason.is_empty()),
    };
    trace.deliver_calls(true);
    let first = read(&mut trace);
    let second = read(&mut trace);
    assert_eq!(first, second, "two readings differ");
    let events = first.0;
    assert_eq!(trace.summary().events, events, "the summary counts what was delivered");
    let tables = trace.tables();
    let paths: usize = tables.threads.iter().map(|(id, _)| tables.threads.path(id).len()).sum();
    assert!(events == 0 || paths > 0, "events have threads");
}

/// Reads all; gives the number of events but calls and returns, a sum of all of them, and the
/// error in words.
fn read(trace: &mut Trace) -> (u64, u64, Option<String>) {
    let (mut census, mut doubts) = (Census::default(), Doubts::default());
    let mut text = StdWriter::new(::std::io::sink(), true);
    let (mut events, mut sum) = (0, 0_u64);
    let end = trace.drive_while(|event, tables| {
        census.step(event);
        doubts.step(event);
        text.event(event, tables).expect("a sink takes everything");
        events += u64::from(!matches!(event.op, Op::Enter | Op::Exit));
        sum = crate::hash::fold(sum, digest(event));
        assert!((event.stack.0 as usize) < tables.stacks.len() && event.times > 0);
        assert!((event.place.0 as usize) < tables.places.len());
        true
    });
    let error = end.err().map(|error| {
        let placed = error.at != At::File && error.kind != ErrorKind::Io;
        assert!(placed, "{error} says where it is");
        error.to_string()
    });
    (events, sum, error)
}

fn digest(event: &Event) -> u64 {
    let operand = match event.op {
        Op::Access(access) => access.address ^ access.size,
        Op::Alloc { address, size, .. } | Op::Free { address, size, .. } => address ^ size,
        _ => 0,
    };
    operand ^ u64::from(event.place.0) << 32 ^ u64::from(event.stack.0) ^ u64::from(event.thread.0) << 48
}
