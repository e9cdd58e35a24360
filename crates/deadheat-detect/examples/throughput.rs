//! How many events a second an analysis judges, without a reader: `cargo run --release --example
//! throughput [MILLIONS [KERNEL|all [ANALYSIS [bulk]]]]`, `hb` if none is named; `bulk` hands a thread's plain accesses
//! between two other events over at once, as a reader does. The events are made before the clock starts, which
//! counts processor time (Linux); each kernel is a shape of
//! memory use, not a program.

use std::hint::black_box;

use deadheat_core::access::{Access, MemoryOrder, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_detect::hb::Hb;
use deadheat_detect::lockset::Lockset;
use deadheat_detect::lockset::state::Rules;
use deadheat_detect::{Detector, Options, registry};

const THREADS: u32 = 8;
/// The events of a thread in a row, as a reader that merges by stamps delivers them.
const RUN: usize = 64;
const ARRAY: u64 = 0x10_0000;
const TABLE: u64 = 0x1000_0000;
const LOCK: u64 = 0x2000_0000;

struct Count(u64);

impl RaceSink for Count {
    fn race(&mut self, _: &Race, _: &dyn LockSets) {
        self.0 += 1;
    }
}

fn event(thread: u32, place: u32, op: Op) -> Event {
    Event { thread: ThreadId(thread), place: PlaceId(place), stack: StackId(thread + 1), times: 1, op }
}

fn plain(thread: u32, place: u32, address: u64, size: u64, mode: Mode) -> Event {
    event(thread, place, Op::Access(Access::plain(address, size, mode)))
}

/// A kernel: the events of one run of a thread, by the number of the run.
type Kernel = fn(thread: u32, run: u64, events: &mut Vec<Event>);

/// Each thread sweeps its own array of 8-byte words: load, load, store.
fn sweep(thread: u32, run: u64, events: &mut Vec<Event>) {
    let base = ARRAY + u64::from(thread) * 0x10_0000;
    for step in 0..RUN as u64 / 3 {
        let index = (run * (RUN as u64 / 3) + step) % 100_000;
        events.push(plain(thread, 10, base + index * 8, 8, Mode::Read));
        events.push(plain(thread, 11, base + (index + 1) * 8, 8, Mode::Read));
        events.push(plain(thread, 12, base + index * 8, 8, Mode::Write));
    }
}

/// All threads read one array of 4-byte words that the first thread wrote.
fn shared_read(thread: u32, run: u64, events: &mut Vec<Event>) {
    if run == 0 && thread == 0 {
        (0..65_536).for_each(|index| events.push(plain(0, 9, ARRAY + index * 4, 4, Mode::Write)));
        (1..THREADS).for_each(|child| events.push(event(0, 8, Op::Fork { child: ThreadId(child) })));
    }
    for step in 0..RUN as u64 {
        let index = (run * RUN as u64 + step) % 65_536;
        events.push(plain(thread, 10, ARRAY + index * 4, 4, Mode::Read));
    }
}

/// Random cells of a table of 64 MB, each thread its own quarter of an eighth: no cache helps.
fn pointer_chase(thread: u32, run: u64, events: &mut Vec<Event>) {
    let mut state = run * 977 + u64::from(thread);
    for _ in 0..RUN {
        state = state.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29) ^ run;
        let index = state % (1 << 20);
        events.push(plain(thread, 10, TABLE + u64::from(thread) * (8 << 20) + index * 8, 8, Mode::Read));
    }
}

/// Objects that each have a lock: lock, read and write the four words of one, unlock.
fn objects(thread: u32, run: u64, events: &mut Vec<Event>) {
    for step in 0..RUN as u64 / 6 {
        let object = (run * 7919 + step * 131 + u64::from(thread) * 17) % 4096;
        let (lock, mode) = (TABLE + object * 128, LockMode::Write);
        events.push(event(thread, 60, Op::Acquire { lock, mode }));
        for word in 1..5 {
            let mode = if word % 2 == 0 { Mode::Write } else { Mode::Read };
            events.push(plain(thread, 60 + word, lock + 64 + u64::from(word) * 8, 8, mode));
        }
        events.push(event(thread, 65, Op::Release { lock, mode }));
    }
}

/// One word that all threads write under one lock.
fn counter(thread: u32, _: u64, events: &mut Vec<Event>) {
    let (lock, mode) = (LOCK, LockMode::Write);
    for _ in 0..RUN / 4 {
        events.push(event(thread, 70, Op::Acquire { lock, mode }));
        events.push(plain(thread, 71, TABLE, 8, Mode::Read));
        events.push(plain(thread, 72, TABLE, 8, Mode::Write));
        events.push(event(thread, 73, Op::Release { lock, mode }));
    }
}

/// A locked hash table: lock, eight accesses at four places, unlock.
fn locked(thread: u32, run: u64, events: &mut Vec<Event>) {
    for step in 0..RUN as u64 / 10 {
        let bucket = (run * 7 + step * 13 + u64::from(thread)) % 1000;
        let (lock, mode) = (LOCK + bucket % 16 * 64, LockMode::Write);
        events.push(event(thread, 20, Op::Acquire { lock, mode }));
        for place in 0..8 {
            let mode = if place % 4 == 3 { Mode::Write } else { Mode::Read };
            let address = TABLE + (bucket % 16 * 1000 + bucket) * 64 + u64::from(place) * 8;
            events.push(plain(thread, 21 + place % 4, address, 8, mode));
        }
        events.push(event(thread, 25, Op::Release { lock, mode }));
    }
}

/// Counters that all threads add to, with work of their own in between.
fn atomics(thread: u32, run: u64, events: &mut Vec<Event>) {
    for step in 0..RUN as u64 / 4 {
        let add = Access {
            atomic: Some(MemoryOrder::AcqRel),
            ..Access::plain(LOCK + step % 4 * 64, 8, Mode::ReadWrite)
        };
        events.push(event(thread, 30, Op::Access(add)));
        for place in 0..3 {
            let address = ARRAY + u64::from(thread) * 4096 + (run + u64::from(place)) % 500 * 8;
            events.push(plain(thread, 31 + place, address, 8, Mode::Write));
        }
    }
}

/// Bytes and words mixed in one buffer of each thread.
fn mixed_sizes(thread: u32, run: u64, events: &mut Vec<Event>) {
    let base = ARRAY + u64::from(thread) * 0x1_0000;
    for step in 0..RUN as u64 / 4 {
        let at = base + (run * (RUN as u64 / 4) + step) % 4000 * 16;
        events.push(plain(thread, 40, at, 1, Mode::Read));
        events.push(plain(thread, 41, at + 1, 1, Mode::Write));
        events.push(plain(thread, 42, at + 4, 4, Mode::Read));
        events.push(plain(thread, 43, at + 8, 8, Mode::Write));
    }
}

/// Pages copied with `memcpy`, 200 bytes at a time.
fn copies(thread: u32, run: u64, events: &mut Vec<Event>) {
    let base = ARRAY + u64::from(thread) * 0x10_0000;
    for step in 0..RUN as u64 / 2 {
        let at = (run * (RUN as u64 / 2) + step) % 2000 * 200;
        events.push(plain(thread, 50, base + at, 200, Mode::Read));
        events.push(plain(thread, 51, base + 0x8_0000 + at, 200, Mode::Write));
    }
}

const KERNELS: [(&str, Kernel); 9] = [
    ("sweep", sweep),
    ("shared-read", shared_read),
    ("pointer-chase", pointer_chase),
    ("locked", locked),
    ("atomics", atomics),
    ("mixed-sizes", mixed_sizes),
    ("copies", copies),
    ("objects", objects),
    ("counter", counter),
];

/// The processor time of this thread, which a busy machine does not stretch as much as the clock.
fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = told.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}

/// Runs of plain accesses of one thread, each with its first event, and what stands between them.
fn parts(events: &[Event]) -> Vec<(Event, Vec<Plain>)> {
    let plain = |event: &Event| match event.op {
        Op::Access(access) => Form::of(&access).map(|form| Plain {
            address: access.address,
            place: event.place,
            stack: event.stack,
            form,
        }),
        _ => None,
    };
    events
        .chunk_by(|one, next| one.thread == next.thread && plain(one).is_some() && plain(next).is_some())
        .map(|run| (run[0], run.iter().filter_map(plain).collect()))
        .collect()
}

/// Judges all events; gives the seconds that took, the races, and the bytes of memory where they are known.
fn judge(events: &[Event], analysis: &str, in_bulk: bool) -> (f64, u64, usize) {
    let mut sink = Count(0);
    let parts = if in_bulk { parts(events) } else { Vec::new() };
    let mut run = |detector: &mut dyn Detector| {
        let start = cpu_seconds();
        if in_bulk {
            for (event, plain) in &parts {
                if plain.is_empty() {
                    detector.step(black_box(event), &mut sink);
                } else {
                    detector.coming(plain);
                    detector.plain(event.thread, black_box(plain), &mut sink);
                }
            }
        } else {
            events.iter().for_each(|event| detector.step(black_box(event), &mut sink));
        }
        cpu_seconds() - start
    };
    match analysis {
        "hb" => {
            let mut hb = Hb::new(Options::default());
            (run(&mut hb), hb.counts().racy_events, hb.memory())
        }
        "lockset" => {
            let mut lockset = Lockset::new(Rules::LETKO, Options::default());
            (run(&mut lockset), sink.0, lockset.memory())
        }
        name => {
            let analysis = registry::find(name).expect("there is such an analysis");
            (run(&mut *(analysis.new)(Options::default())), sink.0, 0)
        }
    }
}

fn main() {
    let millions: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let only = std::env::args().nth(2).filter(|only| only != "all");
    let analysis = std::env::args().nth(3).unwrap_or_else(|| "hb".to_owned());
    let in_bulk = std::env::args().nth(4).is_some_and(|word| word == "bulk");
    println!("{:14} {:>9} {:>8} {:>7} {:>9}", "kernel", "Mevents/s", "ns", "races", "memory MB");
    for (name, kernel) in
        KERNELS.into_iter().filter(|&(name, _)| only.as_ref().is_none_or(|only| only == name))
    {
        let mut events = Vec::with_capacity(millions * 1_000_000 + 200_000);
        let mut run = 0;
        while events.len() < millions * 1_000_000 {
            (0..THREADS).for_each(|thread| kernel(thread, run, &mut events));
            run += 1;
        }
        let (seconds, races, memory) = judge(&events, &analysis, in_bulk);
        let rate = events.len() as f64 / seconds / 1e6;
        println!("{name:14} {rate:9.1} {:8.2} {races:7} {:9.1}", 1e3 / rate, memory as f64 / 1e6);
    }
}
