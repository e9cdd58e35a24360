//! One function a reader that must survive any bytes: for fuzzers, here and in `fuzz/`.
//!
//! Each panics where a promise is broken: the same bytes read twice give the same events, the
//! summary counts what was delivered, and an error says where it is.

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::wire::{self, block, flag, header, module};

use crate::census::Census;
use crate::error::{At, ErrorKind};
use crate::found::{Found, FoundSide};
use crate::summary::Format;
use crate::tables::Tables;
use crate::text::StdWriter;
use crate::trace::Trace;
use crate::wellformed::Doubts;

/// A function that reads any bytes.
pub type Target = fn(&[u8]);

/// Every target with its name, which is also that of its folder of inputs in `spec/corpus/`.
pub const TARGETS: [(&str, Target); 7] = [
    ("deadheat", deadheat),
    ("records", records),
    ("races", races),
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
    let mut file = page(flag::CLEAN);
    for (stream, records) in [(0_u32, one), (1, other)] {
        let start = add_block(&mut file, block::EVENTS, records);
        put(&mut file, start + block::STREAM, &stream.to_le_bytes());
        put(&mut file, start + block::THREAD, &stream.to_le_bytes());
    }
    check(file, Some(Format::Deadheat));
}

/// Our own file with a module from 0x1000 to 0x9000 and one block of races: the bytes are its content.
pub fn races(bytes: &[u8]) {
    let mut file = page(flag::CLEAN | flag::DETECTED | flag::ACCESSED);
    let mut known = [0; module::SIZE];
    put(&mut known, module::START, &0x1000_u64.to_le_bytes());
    put(&mut known, module::END, &0x9000_u64.to_le_bytes());
    add_block(&mut file, block::MODULES, &known);
    add_block(&mut file, block::RACES, bytes);
    check(file, Some(Format::Deadheat));
}

/// The first page.
fn page(flags: u64) -> Vec<u8> {
    let mut file = vec![0; header::PAGE as usize];
    put(&mut file, 0, &header::MAGIC);
    put(&mut file, header::VERSION, &wire::VERSION.to_le_bytes());
    put(&mut file, header::FLAGS, &flags.to_le_bytes());
    file
}

/// Adds a block; gives where it starts.
fn add_block(file: &mut Vec<u8>, kind: u32, content: &[u8]) -> usize {
    let start = file.len();
    file.resize(start + (block::HEADER + content.len()).next_multiple_of(header::PAGE as usize), 0);
    let size = (file.len() - start) as u64;
    put(file, start, &block::MAGIC.to_le_bytes());
    put(file, start + block::KIND, &kind.to_le_bytes());
    put(file, start + block::SIZE, &size.to_le_bytes());
    let used = if kind == block::EVENTS { 0 } else { content.len() as u64 };
    put(file, start + block::USED, &used.to_le_bytes());
    put(file, start + block::HEADER, content);
    start
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
    assert!(events == 0 && trace.found().is_empty() || paths > 0, "events and races have threads");
}

/// Reads all; gives the number of events but calls and returns, a sum of all of them, and the
/// error in words.
fn read(trace: &mut Trace) -> (u64, u64, Option<String>) {
    let (mut census, mut doubts) = (Census::default(), Doubts::default());
    let mut text = StdWriter::new(::std::io::sink(), true);
    let (mut events, mut sum) = (0, 0_u64);
    let end = trace.drive_while(|event, tables| {
        assert!(is_known(event.place, event.stack, tables) && event.times > 0);
        census.step(event);
        doubts.step(event);
        text.event(event, tables).expect("a sink takes everything");
        events += u64::from(!matches!(event.op, Op::Enter | Op::Exit));
        sum = crate::hash::fold(sum, digest(event));
        true
    });
    for found in trace.found() {
        sum = crate::hash::fold(sum, found_digest(found, trace.tables()));
    }
    let error = end.err().map(|error| {
        let placed = error.at != At::File && error.kind != ErrorKind::Io;
        assert!(placed, "{error} says where it is");
        error.to_string()
    });
    (events, sum, error)
}

fn is_known(place: PlaceId, stack: StackId, tables: &Tables) -> bool {
    (place.0 as usize) < tables.places.len() && (stack.0 as usize) < tables.stacks.len()
}

fn found_digest(found: &Found, tables: &Tables) -> u64 {
    let mut sum = found.race.address ^ found.times;
    for (side, FoundSide { clock, locks, .. }) in
        [&found.race.earlier, &found.race.later].into_iter().zip(&found.sides)
    {
        assert!(is_known(side.place, side.stack, tables) && tables.threads.get(side.thread).is_some());
        sum = crate::hash::fold(sum, side.access.address ^ clock ^ u64::from(side.place.0) << 32);
        sum = crate::hash::fold(sum, u64::from(side.stack.0) ^ u64::from(side.thread.0) << 32);
        for block in locks.iter().filter_map(|lock| lock.block).chain(found.race.block) {
            assert!(is_known(block.place, block.stack, tables) && tables.threads.get(block.thread).is_some());
            sum = crate::hash::fold(sum, block.address ^ block.size);
        }
    }
    sum
}

fn digest(event: &Event) -> u64 {
    let operand = match event.op {
        Op::Access(access) => access.address ^ access.size,
        Op::Alloc { address, size, .. } | Op::Free { address, size, .. } => address ^ size,
        _ => 0,
    };
    operand ^ u64::from(event.place.0) << 32 ^ u64::from(event.stack.0) ^ u64::from(event.thread.0) << 48
}
