//! Races that a run found by itself, written and read back.

mod common;

use std::path::PathBuf;

use common::{Numbers, events_of, scratch, tables_with};
use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Block, HeldLock, LockSetId, Race, Side};
use deadheat_core::wire::{self, block, header, module};
use deadheat_trace::tables::Place;
use deadheat_trace::{ErrorKind, Found, FoundLock, FoundSide, Run, Tables, Trace, Writer};

const PLACES: u32 = 40;

fn any_stack(numbers: &mut Numbers, tables: &mut Tables) -> StackId {
    (0..numbers.below(6)).fold(StackId::EMPTY, |stack, _| {
        tables.stacks.push(stack, PlaceId(numbers.below(u64::from(PLACES)) as u32))
    })
}

fn any_block(numbers: &mut Numbers, holds: u64, tables: &mut Tables) -> Option<Block> {
    let kinds = [BlockKind::Heap, BlockKind::Mapping, BlockKind::Stack, BlockKind::ThreadLocal];
    let kind = kinds[numbers.below(4) as usize];
    let address = holds - numbers.below(holds.min(4096));
    let (thread, place) =
        (ThreadId(numbers.below(5) as u32), PlaceId(numbers.below(u64::from(PLACES)) as u32));
    let stack = any_stack(numbers, tables);
    (numbers.below(3) > 0).then_some(Block { address, size: 8192, kind, thread, place, stack })
}

fn any_side(numbers: &mut Numbers, address: u64, tables: &mut Tables) -> (Side, FoundSide) {
    let remembered = numbers.below(4) > 0;
    let mode = [Mode::Read, Mode::Write, Mode::ReadWrite][numbers.below(3) as usize];
    let atomic = (numbers.below(2) == 0).then_some(MemoryOrder::from_abi(numbers.below(6) as u32));
    let access = Access {
        address,
        size: 1 << numbers.below(5),
        mode,
        atomic,
        via: Via::from_bits(numbers.below(6) as u32),
    };
    let (place, stack) = if remembered {
        (PlaceId(numbers.below(u64::from(PLACES)) as u32), any_stack(numbers, tables))
    } else {
        (PlaceId::UNKNOWN, StackId::EMPTY)
    };
    let thread = ThreadId(numbers.below(5) as u32);
    let side = Side { thread, place, stack, access, locks: LockSetId::default() };
    let mut lock = |_| {
        let lock = 0x60_0000 + numbers.below(9) * 40;
        let mode = [LockMode::Write, LockMode::Read][numbers.below(2) as usize];
        FoundLock { held: HeldLock { lock, mode }, block: any_block(numbers, lock, tables) }
    };
    let locks = (0..3).map(&mut lock).collect::<Vec<_>>();
    let locks = locks[..numbers.below(4) as usize].to_vec();
    (side, FoundSide { remembered, clock: numbers.next() >> 26, locks })
}

fn any_found(numbers: &mut Numbers, tables: &mut Tables) -> Found {
    let address = 0x7f00_0000_0000 + numbers.below(1 << 20);
    let (earlier, of_earlier) = any_side(numbers, address, tables);
    let (later, of_later) = any_side(numbers, address, tables);
    let block = any_block(numbers, address, tables);
    let race = Race { earlier, later, address, block };
    Found {
        race,
        times: 1 + numbers.below(1000),
        ordered: numbers.below(2) == 0,
        sides: [of_earlier, of_later],
    }
}

/// A race with its ids replaced by what they stand for.
fn told(found: &Found, tables: &Tables) -> String {
    let way = |place: PlaceId, stack: StackId| {
        let frames: Vec<_> = tables.stacks.frames(stack).map(|place| tables.places.get(place)).collect();
        format!("{:?} {frames:?}", tables.places.get(place))
    };
    let block = |block: &Option<Block>| {
        block.map_or(String::new(), |block| {
            let Block { address, size, kind, thread, place, stack } = block;
            format!("{kind:?} {thread:?} {address:#x} {size} {}", way(place, stack))
        })
    };
    let mut text = format!("{:#x} x{} {}", found.race.address, found.times, block(&found.race.block));
    for (side, of_side) in [found.race.earlier, found.race.later].iter().zip(&found.sides) {
        let FoundSide { remembered, clock, locks } = of_side;
        let Side { thread, access, place, stack, .. } = *side;
        text += &format!("\n{thread:?} {access:?} {remembered} {clock} {}", way(place, stack));
        locks.iter().for_each(|lock| text += &format!("\n  {:?} {}", lock.held, block(&lock.block)));
    }
    text
}

/// Writes a trace with two threads and races; gives their words.
fn write(seed: u64, races: usize) -> (PathBuf, Vec<String>) {
    let mut numbers = Numbers(seed);
    let mut tables = tables_with(PLACES);
    let path = scratch(&format!("found-{seed}.dh"));
    let run = Run { detected: true, accessed: true, ..Run::default() };
    let mut writer = Writer::create(&path, &run).expect("writable");
    for (thread, op) in [(0, Op::Begin), (0, Op::Fork { child: ThreadId(1) }), (1, Op::Begin), (1, Op::End)] {
        let (thread, place, stack) = (ThreadId(thread), PlaceId(1), StackId::EMPTY);
        writer.event(&Event { thread, place, stack, times: 1, op }, &tables).expect("storable");
    }
    let mut written = Vec::new();
    for _ in 0..races {
        let found = any_found(&mut numbers, &mut tables);
        writer.found(&found, &tables).expect("storable");
        written.push(told(&found, &tables));
    }
    writer.finish(&tables, true).expect("writable");
    (path, written)
}

fn read(trace: &Trace) -> Vec<String> {
    trace.found().iter().map(|found| told(found, trace.tables())).collect()
}

#[test]
fn every_race_comes_back() {
    for seed in 1..6 {
        // The last fill more than one block.
        let (path, written) = write(seed, if seed == 5 { 3000 } else { 50 });
        let mut trace = Trace::open(&path).expect("readable");
        assert!(trace.run().is_some_and(|run| run.detected && run.accessed));
        assert!(trace.found().is_empty(), "nothing was driven yet");
        for _ in 0..2 {
            let summary = trace.drive(|_| {}).expect("readable to the end");
            assert_eq!(summary.events, 4);
            assert_eq!(read(&trace), written, "seed {seed}");
        }
    }
}

/// Where the blocks of races begin.
fn races_in(bytes: &[u8]) -> Vec<usize> {
    let number = |at: usize, len: usize| {
        bytes[at..at + len].iter().rev().fold(0, |number, &byte| number << 8 | usize::from(byte))
    };
    let (mut at, mut found) = (header::PAGE as usize, Vec::new());
    while at < bytes.len() {
        if number(at + block::KIND, 4) == block::RACES as usize {
            found.push(at);
        }
        at += number(at + block::SIZE, 8);
    }
    found
}

#[test]
fn a_corrupt_race_ends_the_reading_and_those_before_it_stay() {
    let (path, written) = write(11, 4);
    let bytes = std::fs::read(path).expect("just written");
    let start = races_in(&bytes)[0] + block::HEADER;
    let size = |at: usize| 8 * usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]));
    let third = start + size(start) + size(start + size(start));
    let flags = third + 3 * 8 + 4;
    for (at, value, reason, offset) in [
        (third + 3, 0xff, "a race does not fit its block", third),
        (third, 9, "a race is longer than its record", third),
        (third + 3 * 8 + 3, 0xff, "an impossible thread number", third + 3 * 8),
    ] {
        let mut bytes = bytes.clone();
        bytes[at] = value;
        let mut trace = Trace::from_bytes("t", bytes, None).expect("a trace");
        let error = trace.drive(|_| {}).expect_err("corrupt");
        assert_eq!(error.kind, ErrorKind::Corrupt);
        assert_eq!(error.to_string(), format!("t: byte {offset}: {reason}"));
        assert_eq!(read(&trace), written[..2]);
        assert_eq!(trace.summary().events, 4);
    }
    let mut bytes = bytes.clone();
    bytes[flags] &= !3;
    let mut trace = Trace::from_bytes("t", bytes, None).expect("a trace");
    let error = trace.drive(|_| {}).expect_err("corrupt");
    assert!(error.reason == "an access that neither reads nor writes", "{error}");
    assert_eq!(read(&trace), written[..2]);
}

#[test]
fn a_file_cut_within_its_races_gives_those_before() {
    let (path, written) = write(12, 40);
    let bytes = std::fs::read(path).expect("just written");
    let start = races_in(&bytes)[0] + block::HEADER;
    let mut told = 0;
    for len in (start..start + 4000).step_by(97) {
        let mut trace = Trace::from_bytes("t", bytes[..len].to_vec(), None).expect("a trace");
        let error = trace.drive(|_| {}).expect_err("something is missing");
        assert_eq!(
            (error.kind, error.reason.as_str()),
            (ErrorKind::Truncated, "the file ends within a block")
        );
        // The places lie behind the races and are cut off.
        let read = trace.found();
        assert!(read.len() >= told && read.len() < written.len());
        told = read.len();
    }
    assert!(told > 3, "{told}");
}

/// Tables in which a module lies at 0x10000.
fn tables_with_module() -> Tables {
    let mut bytes = vec![0; 2 * header::PAGE as usize];
    let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
    put(0, &header::MAGIC);
    put(header::VERSION, &wire::VERSION.to_le_bytes());
    put(header::FLAGS, &wire::flag::CLEAN.to_le_bytes());
    let start = header::PAGE as usize;
    put(start, &block::MAGIC.to_le_bytes());
    put(start + block::KIND, &block::MODULES.to_le_bytes());
    put(start + block::SIZE, &header::PAGE.to_le_bytes());
    put(start + block::USED, &(module::SIZE as u64).to_le_bytes());
    let record = start + block::HEADER;
    for (field, number) in [(module::BIAS, 0x10000_u64), (module::START, 0x10000), (module::END, 0x20000)] {
        put(record + field, &number.to_le_bytes());
    }
    let mut trace = Trace::from_bytes("modules", bytes, None).expect("a trace");
    trace.drive(|_| {}).expect("readable");
    trace.into_tables()
}

#[test]
fn a_place_is_the_same_in_an_event_and_in_a_race() {
    let mut tables = tables_with_module();
    let (module, _) = tables.modules.iter().next().expect("it was loaded");
    let [place, call, other] = [0x123, 0x456, 0x789].map(|offset| tables.places.code(module, offset));
    let stack = tables.stacks.push(StackId::EMPTY, call);
    let path = scratch("found-places.dh");
    let run = Run { detected: true, ..Run::default() };
    let mut writer = Writer::create(&path, &run).expect("writable");
    let event = Event { thread: ThreadId(0), place, stack, times: 1, op: Op::Fork { child: ThreadId(1) } };
    writer.event(&event, &tables).expect("storable");
    let side = |thread, place, stack| Side {
        thread: ThreadId(thread),
        place,
        stack,
        access: Access::plain(64, 4, Mode::Write),
        locks: LockSetId::default(),
    };
    let (earlier, later) = (side(0, place, stack), side(1, other, StackId::EMPTY));
    let of_side = FoundSide { remembered: true, clock: 1, locks: Vec::new() };
    let race = Race { earlier, later, address: 64, block: None };
    let found = Found { race, times: 2, ordered: false, sides: [of_side.clone(), of_side] };
    writer.found(&found, &tables).expect("storable");
    writer.finish(&tables, true).expect("writable");
    let mut trace = Trace::open(&path).expect("readable");
    let event = events_of(&mut trace)[0];
    let [read] = trace.found() else { panic!("one race") };
    assert_eq!((read.race.earlier.place, read.race.earlier.stack), (event.place, event.stack));
    let code = |place| trace.tables().places.get(place);
    assert_eq!(code(event.place), Place::Code { module, offset: 0x123 });
    assert_eq!(code(read.race.later.place), Place::Code { module, offset: 0x789 });
    assert!(!trace.run().is_some_and(|run| run.accessed));
}
