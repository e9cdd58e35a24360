//! Our own file, written and read back.

mod common;

use common::{Numbers, events_of, scratch, tables_with};
use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, Fault, LockMode, Op, SyncKind};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::Strided;
use deadheat_trace::{Ending, ErrorKind, Run, Tables, Trace, Visit, Writer};

/// Any event, of few threads.
fn any_event(numbers: &mut Numbers, stacks: &[StackId]) -> Event {
    let address = 0x7f00_0000_0000 + numbers.below(1 << 20) * 4;
    let object = 0x60_0000 + numbers.below(8) * 40;
    let lock_mode = if numbers.below(3) == 0 { LockMode::Read } else { LockMode::Write };
    let kind = [SyncKind::Condition, SyncKind::ConditionAll, SyncKind::Semaphore, SyncKind::Annotation];
    let kind = kind[numbers.below(4) as usize];
    let mode = [Mode::Read, Mode::Write, Mode::ReadWrite][numbers.below(3) as usize];
    let order = MemoryOrder::from_abi(numbers.below(6) as u32);
    let access = |size, atomic, via| Op::Access(Access { address, size, mode, atomic, via });
    let op = match numbers.below(32) {
        0 => access(1 << numbers.below(5), Some(order), Via::Code),
        1 => access(numbers.below(500), None, Via::MemoryFunction),
        2 => Op::Fence(order),
        3 => Op::Request { lock: object, mode: lock_mode },
        4 => Op::Acquire { lock: object, mode: lock_mode },
        5 => Op::Release { lock: object, mode: lock_mode },
        6 => Op::Signal { object, kind },
        7 => Op::Await { object, kind },
        8 => Op::Wait { object, kind, woken: numbers.below(2) == 0 },
        9 => Op::Arrive { barrier: object, count: numbers.below(9) as u32 },
        10 => Op::Leave { barrier: object },
        11 => Op::Alloc { address, size: numbers.below(1 << 30), kind: BlockKind::Heap },
        12 => Op::Free { address, size: 0, kind: BlockKind::Stack },
        13 => Op::Forget { object },
        14 => Op::Branch,
        15 => Op::HiddenBegin,
        16 => Op::HiddenEnd,
        17 => Op::Fork { child: ThreadId(20 + numbers.below(9) as u32) },
        18 => Op::Join { child: ThreadId(20 + numbers.below(9) as u32) },
        19 => Op::Begin,
        20 => Op::End,
        21 => Op::Fault { object, fault: Fault::ALL[numbers.below(Fault::ALL.len() as u64) as usize] },
        _ => access(1 << numbers.below(5), None, [Via::Code, Via::Vptr][numbers.below(2) as usize]),
    };
    Event {
        thread: ThreadId(numbers.below(5) as u32),
        place: PlaceId(numbers.below(200) as u32),
        stack: stacks[numbers.below(stacks.len() as u64) as usize],
        times: if numbers.below(20) == 0 { 1 + numbers.below(1000) as u32 } else { 1 },
        op,
    }
}

fn any_stacks(numbers: &mut Numbers, tables: &mut Tables) -> Vec<StackId> {
    let mut stacks = vec![StackId::EMPTY];
    for _ in 0..50 {
        let parent = stacks[numbers.below(stacks.len() as u64) as usize];
        stacks.push(tables.stacks.push(parent, PlaceId(numbers.below(40) as u32)));
    }
    stacks
}

/// An event with its ids replaced by what they stand for.
fn told(event: &Event, tables: &Tables) -> String {
    let frames: Vec<_> = tables.stacks.frames(event.stack).map(|place| tables.places.get(place)).collect();
    format!(
        "{:?} x{} {:?} {frames:?} {:?}",
        event.thread,
        event.times,
        tables.places.get(event.place),
        event.op
    )
}

#[test]
fn every_event_comes_back_in_the_order_written() {
    for seed in 1..12 {
        let mut numbers = Numbers(seed);
        let mut tables = tables_with(200);
        let stacks = any_stacks(&mut numbers, &mut tables);
        let path = scratch(&format!("order-{seed}.dh"));
        let run =
            Run { pid: 7, arguments: vec!["prog".into(), "a b".into(), String::new()], ..Run::default() };
        let mut writer = Writer::create(&path, &run).expect("writable");
        let mut written = Vec::new();
        for _ in 0..numbers.below(30_000) {
            let event = any_event(&mut numbers, &stacks);
            writer.event(&event, &tables).expect("storable");
            written.push(told(&event, &tables));
        }
        writer.finish(&tables, true).expect("writable");
        let mut trace = Trace::open(&path).expect("readable");
        let mut read = Vec::new();
        let driven = trace.drive_while(|event, tables| {
            read.push(told(event, tables));
            true
        });
        let summary = driven.expect("readable to the end");
        assert_eq!(read.len(), written.len(), "seed {seed}");
        for (number, (read, written)) in read.iter().zip(&written).enumerate() {
            assert_eq!(read, written, "seed {seed}, event {number}");
        }
        assert_eq!(summary.events, written.len() as u64);
        assert_eq!(summary.ending, Ending::Clean);
        assert!(summary.event_bytes < summary.bytes, "each byte is counted once");
        assert_eq!(trace.run().expect("a run").arguments, run.arguments);
    }
}

/// Takes loops as they come, each access of them as told at its time.
#[derive(Default)]
struct Loops {
    told: Vec<String>,
    turns: u64,
}

impl Visit for Loops {
    fn event(&mut self, event: &Event, tables: &Tables) -> bool {
        self.told.push(told(event, tables));
        true
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, tables: &Tables) -> bool {
        self.turns += u64::from(turns);
        (0..turns).all(|turn| body.iter().all(|access| self.event(&access.at(turn).event(thread), tables)))
    }
}

/// The accesses of nested loops, with what breaks them in between: calls, locks, odd addresses, repeats.
fn loop_events(numbers: &mut Numbers, outer: StackId) -> Vec<Event> {
    let mut events = Vec::new();
    for _ in 0..60 {
        let thread = ThreadId(numbers.below(3) as u32);
        let body: Vec<(u32, u64, u64)> =
            (0..1 + numbers.below(if numbers.0.is_multiple_of(4) { 40 } else { 13 }))
                .map(|at| {
                    let stride = [8, 8, 0, 24, 8_u64.wrapping_neg(), 4096][numbers.below(6) as usize];
                    (1 + at as u32, 0x10_0000 + numbers.below(4096) * 8, stride)
                })
                .collect();
        let stack = if numbers.below(3) == 0 { outer } else { StackId::EMPTY };
        let turns = if numbers.below(20) == 0 { 20_000 } else { numbers.below(90) };
        for turn in 0..turns {
            for &(place, address, stride) in &body {
                let address = address.wrapping_add(stride.wrapping_mul(turn));
                let address = if numbers.below(3000) == 0 { address ^ 64 } else { address };
                let mode = if place % 3 == 0 { Mode::Write } else { Mode::Read };
                let times = if numbers.below(2000) == 0 { 3 } else { 1 };
                let op = Op::Access(Access::plain(address, 8, mode));
                events.push(Event { thread, place: PlaceId(place), stack, times, op });
            }
        }
        let op = match numbers.below(3) {
            0 => Op::Acquire { lock: 0x60_0000, mode: LockMode::Write },
            1 => Op::Release { lock: 0x60_0000, mode: LockMode::Write },
            _ => Op::Branch,
        };
        events.push(Event { thread, place: PlaceId(30), stack, times: 1, op });
    }
    events
}

#[test]
fn loops_come_as_the_accesses_that_they_make() {
    let mut all_turns = 0;
    for seed in 1..8 {
        let mut numbers = Numbers(seed * 77);
        let mut tables = tables_with(60);
        let outer = tables.stacks.push(StackId::EMPTY, PlaceId(31));
        let events = loop_events(&mut numbers, outer);
        let path = scratch(&format!("loops-{seed}.dh"));
        let mut writer = Writer::create(&path, &Run::default()).expect("writable");
        for event in &events {
            writer.event(event, &tables).expect("storable");
        }
        writer.finish(&tables, true).expect("writable");
        let mut trace = Trace::open(&path).expect("readable");
        let mut loops = Loops::default();
        let summary = trace.drive_into(&mut loops).expect("readable to the end");
        assert_eq!(loops.told.len(), events.len(), "seed {seed}");
        for (number, (read, written)) in loops.told.iter().zip(&events).enumerate() {
            assert_eq!(*read, told(written, &tables), "seed {seed}, event {number}");
        }
        assert_eq!(summary.events, events.len() as u64);
        let made: u64 = events
            .iter()
            .filter(|event| matches!(event.op, Op::Access(_)))
            .map(|event| u64::from(event.times))
            .sum();
        assert_eq!(summary.accesses_made, made);
        all_turns += loops.turns;
    }
    assert!(all_turns > 100_000, "{all_turns} turns were taken at once");
}

#[test]
fn calls_come_back_when_they_are_asked_for() {
    let mut tables = tables_with(9);
    let outer = tables.stacks.push(StackId::EMPTY, PlaceId(1));
    let event = |place, stack, op| Event { thread: ThreadId(0), place: PlaceId(place), stack, times: 1, op };
    let load = Op::Access(Access::plain(64, 8, Mode::Read));
    let events = [
        event(0, StackId::EMPTY, Op::Begin),
        event(1, StackId::EMPTY, Op::Enter),
        event(2, outer, load),
        event(3, outer, Op::Enter),
        event(0, outer, Op::Exit),
        event(2, outer, load),
        event(0, StackId::EMPTY, Op::Exit),
        event(4, StackId::EMPTY, load),
    ];
    tables.stacks.push(outer, PlaceId(3));
    let path = scratch("calls.dh");
    let mut writer = Writer::create(&path, &Run::default()).expect("writable");
    for event in &events {
        writer.event(event, &tables).expect("storable");
    }
    writer.finish(&tables, true).expect("writable");
    let mut trace = Trace::open(&path).expect("readable");
    assert_eq!(events_of(&mut trace).len(), 4);
    trace.deliver_calls(true);
    let ops: Vec<Op> = events_of(&mut trace).iter().map(|event| event.op).collect();
    assert_eq!(ops, events.map(|event| event.op));
}

#[test]
fn a_file_cut_anywhere_gives_a_prefix_and_an_error() {
    let mut numbers = Numbers(5);
    let mut tables = tables_with(200);
    let stacks = any_stacks(&mut numbers, &mut tables);
    let path = scratch("cut.dh");
    let mut writer = Writer::create(&path, &Run::default()).expect("writable");
    for _ in 0..6_000 {
        writer.event(&any_event(&mut numbers, &stacks), &tables).expect("storable");
    }
    writer.finish(&tables, true).expect("writable");
    let bytes = std::fs::read(&path).expect("just written");
    let open = |bytes: Vec<u8>| Trace::from_bytes("cut.dh", bytes, None);
    let all = events_of(&mut open(bytes.clone()).expect("whole"));
    let mut whole = 0;
    for _ in 0..60 {
        let len = numbers.below(bytes.len() as u64) as usize;
        let error = match open(bytes[..len].to_vec()) {
            Err(error) => error,
            Ok(mut trace) => {
                let mut count = 0;
                let ended = trace.drive(|_| count += 1);
                assert!(count <= all.len());
                whole += count;
                ended.expect_err("something is missing")
            }
        };
        let expected = if len < 8 { ErrorKind::Foreign } else { ErrorKind::Truncated };
        assert_eq!(error.kind, expected, "{len}: {error}");
    }
    assert!(whole > all.len(), "cut files give events");
}

#[test]
fn a_later_version_is_refused() {
    let path = scratch("future.dh");
    Writer::create(&path, &Run::default())
        .expect("writable")
        .finish(&Tables::default(), true)
        .expect("writable");
    let mut bytes = std::fs::read(&path).expect("just written");
    bytes[8] = 99;
    let error = Trace::from_bytes("f", bytes, None).expect_err("a later version");
    assert_eq!(error.kind, ErrorKind::Future);
    assert_eq!(error.to_string(), "f: byte 8: the trace has version 99; this deadheat reads version 2");
}
