//! How fast `conflict` turns a long trace into ranked targets: `cargo run --release --example
//! nomination [MILLIONS]`. Events are made in pieces outside the clock, which counts processor
//! time (Linux); each kernel is a shape of memory use, not a program. The first has 10 000
//! conflicting pairs of places.

use std::hint::black_box;

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain};
use deadheat_detect::conflict::{Calls, Conflict, Options};

const THREADS: u32 = 4;
const OWN: u64 = 0x1000_0000;
const SHARED: u64 = 0x2_0000_0000;
const LOCK: u64 = 0x3_0000_0000;
/// Conflicting pairs of places: as many words, each with two places.
const PAIRS: u64 = 10_000;

/// Every stack is one call from its place's function, and one from the thread's first.
struct Shallow;

impl Calls for Shallow {
    fn calls(&self, stack: StackId) -> Vec<PlaceId> {
        vec![PlaceId(1_000_000 + stack.0), PlaceId(1_000_000)]
    }
}

fn event(thread: u32, place: u64, stack: u64, op: Op) -> Event {
    let (place, stack) = (PlaceId(place as u32 + 1), StackId(stack as u32));
    Event { thread: ThreadId(thread), place, stack, times: 1, op }
}

fn access(address: u64, size: u64, mode: Mode) -> Op {
    Op::Access(Access::plain(address, size, mode))
}

/// Spread numbers: the same on every machine.
fn mix(number: u64) -> u64 {
    let mixed = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

/// A kernel: the events of one short stretch of a thread, by its number. A reader delivers longer ones.
type Kernel = fn(thread: u32, stretch: u64, events: &mut Vec<Event>);

/// A function's loop goes over some words of its thread's: two loads and a store each. Now and
/// then comes a shared word, which the first thread writes and others read, a third of them under
/// a lock.
fn pairs(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let at = mix(stretch * 4 + u64::from(thread));
    let chunk = (at >> 32) % (1 << 12);
    let function = chunk % 250 * 4 + at % 4;
    let base = OWN + u64::from(thread) * (64 << 20) + chunk * 64;
    for step in 0..24 {
        let mode = if step % 3 == 2 { Mode::Write } else { Mode::Read };
        let place = 30_000 + function * 3 + step % 3;
        events.push(event(thread, place, function & 3, access(base + step / 3 * 8, 8, mode)));
    }
    let word = stretch * 7919 % PAIRS;
    let (mode, side) = if thread == 0 { (Mode::Write, 0) } else { (Mode::Read, 1) };
    let (lock, exclusive) = (LOCK + word % 64 * 64, LockMode::Write);
    let locked = word.is_multiple_of(3);
    if locked {
        events.push(event(thread, 1, 0, Op::Acquire { lock, mode: exclusive }));
    }
    let op = access(SHARED + word * 8, 8, mode);
    events.push(event(thread, 3 + word * 2 + side, stretch & 1, op));
    if locked {
        events.push(event(thread, 2, 0, Op::Release { lock, mode: exclusive }));
    }
}

/// As many functions touch the words of random objects, each by four stacks: no cache helps.
fn scattered(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let at = mix(stretch * 4 + u64::from(thread));
    let object = (at >> 32) % (1 << 14);
    let base = OWN + u64::from(thread) * (64 << 20) + object * 64;
    for step in 0..8 {
        let mode = if step % 3 == 2 { Mode::Write } else { Mode::Read };
        let place = 30_000 + (object % 200 * 4 + at % 4) * 8 + step;
        events.push(event(thread, place, at >> 60 & 3, access(base + step * 8, 8, mode)));
    }
}

/// Each thread goes over the same few words again and again.
fn hot_loop(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    for step in 0..32 {
        let word = (stretch * 32 + step) % 256;
        events.push(event(thread, 10, 0, access(OWN + u64::from(thread) * 4096 + word * 8, 8, Mode::Write)));
    }
}

/// Each thread sweeps its own array of words, which is much larger than what is remembered.
fn sweep(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let base = OWN + u64::from(thread) * (256 << 20);
    for step in 0..16 {
        let index = stretch * 8 + step / 2;
        let mode = if step % 2 == 1 { Mode::Write } else { Mode::Read };
        events.push(event(thread, 10 + step % 2, 0, access(base + index * 8, 8, mode)));
    }
}

/// A few words under one lock, reached by a thousand stacks at ten places, as in an allocator.
fn hot_words(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let stack = mix(stretch) % 1000;
    events.push(event(thread, 1, stack, Op::Acquire { lock: LOCK, mode: LockMode::Write }));
    for step in 0..10 {
        let mode = if step % 3 == 2 { Mode::Write } else { Mode::Read };
        let address = SHARED + mix(stretch ^ step) % 8 * 8;
        events.push(event(thread, 10 + step, stack, access(address, 8, mode)));
    }
    events.push(event(thread, 2, stack, Op::Release { lock: LOCK, mode: LockMode::Write }));
}

/// Counters that all threads add to atomically, with work of their own in between.
fn atomics(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    for step in 0..4 {
        let address = SHARED + mix(stretch + step) % 16 * 64;
        let add = Access { atomic: Some(MemoryOrder::Relaxed), ..Access::plain(address, 8, Mode::ReadWrite) };
        events.push(event(thread, 30 + step, 0, Op::Access(add)));
        let own = OWN + u64::from(thread) * 4096 + mix(stretch) % 500 * 8;
        events.push(event(thread, 31, 0, access(own, 8, Mode::Write)));
    }
}

/// Buffers of 64 KiB that one thread fills and all parse byte by byte.
fn buffers(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let buffer = SHARED + (stretch / 64 % 16) * (1 << 16);
    if thread == 0 && stretch.is_multiple_of(8) {
        let fill = Access { via: Via::System, ..Access::plain(buffer, 1 << 16, Mode::Write) };
        events.push(event(thread, 40, 0, Op::Access(fill)));
    }
    for step in 0..32 {
        let byte = stretch % 64 * 1024 + u64::from(thread) * 256 + step;
        events.push(event(thread, 41 + step % 2, 0, access(buffer + byte, 1, Mode::Read)));
    }
}

/// Blocks of the heap that live shortly, some of which another thread frees.
fn heap(thread: u32, stretch: u64, events: &mut Vec<Event>) {
    let (kind, size) = (BlockKind::Heap, 16 + mix(stretch) % 6 * 24);
    let address = |stretch: u64, thread: u32| OWN + u64::from(thread) * (16 << 20) + stretch % 50_000 * 256;
    events.push(event(thread, 50, stretch % 50, Op::Alloc { address: address(stretch, thread), size, kind }));
    for step in 0..4 {
        let mode = if step == 0 { Mode::Write } else { Mode::Read };
        events.push(event(thread, 51 + step, 0, access(address(stretch, thread) + step % 2 * 8, 8, mode)));
    }
    if stretch >= 100 {
        let from = if stretch.is_multiple_of(10) { (thread + 1) % THREADS } else { thread };
        let gone = Op::Free { address: address(stretch - 100, from), size: 0, kind };
        events.push(event(thread, 56, stretch % 50, gone));
    }
}

const KERNELS: [(&str, Kernel); 8] = [
    ("pairs", pairs),
    ("scattered", scattered),
    ("hot-loop", hot_loop),
    ("sweep", sweep),
    ("hot-words", hot_words),
    ("atomics", atomics),
    ("buffers", buffers),
    ("heap", heap),
];

/// The processor time of this thread, which a busy machine does not stretch as much as the clock.
fn cpu_seconds() -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanoseconds: f64 = told.split(' ').next().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}

/// The most memory that this process has had, in MiB, since it last asked.
fn peak_mib() -> f64 {
    let told = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = told.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or_default();
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().unwrap_or(0.0);
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    kib / 1024.0
}

/// What a reader delivers: one event, or plain accesses of a thread that follow each other.
enum Piece {
    Event(Event),
    Plain(ThreadId, Vec<Plain>),
}

fn plain(event: &Event) -> Option<Plain> {
    let Event { place, stack, .. } = *event;
    match event.op {
        Op::Access(access) => {
            Form::of(&access).map(|form| Plain { address: access.address, place, stack, form })
        }
        _ => None,
    }
}

fn together(one: &Event, next: &Event) -> bool {
    one.thread == next.thread && plain(one).is_some() && plain(next).is_some()
}

fn piece(events: &[Event]) -> Piece {
    match events.iter().map(plain).collect() {
        Some(accesses) => Piece::Plain(events[0].thread, accesses),
        None => Piece::Event(events[0]),
    }
}

fn feed(conflict: &mut Conflict, pieces: &[Piece]) {
    for piece in pieces {
        match piece {
            Piece::Event(event) => conflict.step(event),
            Piece::Plain(thread, accesses) => conflict.plain(*thread, accesses),
        }
    }
}

fn main() {
    let millions: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10);
    let only = std::env::args().nth(2);
    println!(
        "{:10} {:>7} {:>7} {:>7} {:>7} {:>8} {:>8}  dropped",
        "kernel", "s", "finish", "ns", "MiB", "pairs", "targets"
    );
    let wanted = |name| only.as_ref().is_none_or(|only| only == name);
    for (name, kernel) in KERNELS.into_iter().filter(|&(name, _)| wanted(name)) {
        peak_mib();
        let mut conflict = Conflict::new(Options::default());
        (1..THREADS).for_each(|child| conflict.step(&event(0, 3, 0, Op::Fork { child: ThreadId(child) })));
        let (mut count, mut stretch, mut seconds) = (0, 0, 0.0);
        let (mut events, mut pieces) = (Vec::new(), Vec::new());
        while count < millions * 1_000_000 {
            events.clear();
            while events.len() < 50_000 {
                (0..THREADS).for_each(|thread| kernel(thread, stretch, &mut events));
                stretch += 1;
            }
            count += events.len() as u64;
            pieces.clear();
            pieces.extend(events.chunk_by(together).map(piece));
            let start = cpu_seconds();
            feed(&mut conflict, black_box(&pieces));
            seconds += cpu_seconds() - start;
        }
        let start = cpu_seconds();
        let nomination = conflict.finish(&Shallow);
        let last = cpu_seconds() - start;
        seconds += last;
        println!(
            "{name:10} {seconds:7.2} {last:7.2} {:7.1} {:7.0} {:8} {:8}  {:?}",
            seconds * 1e9 / count as f64,
            peak_mib(),
            nomination.pairs,
            nomination.targets.len(),
            nomination.dropped
        );
    }
}
