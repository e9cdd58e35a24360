//! Loops taken at once: the same accesses race as when they are taken one after the other.

mod support;

use std::collections::HashSet;

use deadheat_core::access::{Access, MemoryOrder, Mode, Via};
use deadheat_core::event::{BlockKind, Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::plain::{Form, Plain, Strided};
use deadheat_core::race::{LockSets, Race, RaceSink, Side};
use deadheat_detect::hb::Hb;
use deadheat_detect::{Detector, Options};
use support::random::Random;

/// What a thread does next.
enum Next {
    Loop(Vec<Strided>, u32),
    Other(Op),
}

/// The later sides of what is told: with which of several earlier ones an access is told depends on
/// the order in which accesses of one thread and epoch are remembered. But it is one that was made.
#[derive(Default)]
struct Later {
    told: Vec<Side>,
    made: HashSet<(ThreadId, PlaceId, u64, u64)>,
}

impl Later {
    fn make(&mut self, thread: ThreadId, place: PlaceId, access: &Access) {
        self.made.insert((thread, place, access.address, access.size));
    }
}

impl RaceSink for Later {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        let Side { thread, place, access, .. } = race.earlier;
        assert!((access.address..access.end()).contains(&race.address), "{race:?}");
        assert!(thread != race.later.thread, "{race:?}");
        assert!(self.made.contains(&(thread, place, access.address, access.size)), "{race:?}");
        if self.told.last() != Some(&race.later) {
            self.told.push(race.later);
        }
    }
}

const BASE: u64 = 0x1_0000;

fn any_loop(random: &mut Random) -> Next {
    let most = if random.one_in(4) { 100 } else { 12 };
    let turns = 2 + random.below(most) as u32;
    let mut body: Vec<Strided> = (0..1 + random.below(3))
        .map(|_| {
            let size = 1 << random.below(5);
            let mode = random.pick(&[Mode::Read, Mode::Read, Mode::Write, Mode::ReadWrite]);
            let access = Access { mode, via: Via::Code, ..Access::plain(0, size, mode) };
            let form = Form::of(&access).expect("of a size that has a form");
            let at = random.below(512) as u64;
            let at = if random.one_in(3) { at } else { at & !(size - 1) };
            let place = PlaceId(1 + random.below(4) as u32);
            let size = size as i64;
            let stride = random.pick(&[size, size, -size, 0, 3, 2 * size, -16, 96, 136]);
            let first = Plain { address: BASE + 0x4000 + at, place, stack: StackId::EMPTY, form };
            Strided { first, stride: stride as u64 }
        })
        .collect();
    if random.one_in(2) {
        unroll(random, &mut body);
    }
    Next::Loop(body, turns)
}

/// Makes several places of one access of a body, as a compiler does: most often they fill a range together.
fn unroll(random: &mut Random, body: &mut Vec<Strided>) {
    let times = 1 + random.below(6) as u64;
    let old = body[0];
    let size = old.first.form.size();
    let spread = if random.one_in(8) { 2 * size } else { size };
    let stride = if random.one_in(2) { size * times } else { (size * times).wrapping_neg() };
    body[0] = Strided { stride, ..old };
    for time in 1..times {
        let first = Plain {
            address: old.first.address + time * spread,
            place: PlaceId(10 + random.below(8) as u32),
            ..old.first
        };
        body.insert(random.below(body.len() + 1), Strided { first, stride });
    }
}

fn any_other(random: &mut Random) -> Next {
    let address = BASE + 0x4000 + random.below(1024) as u64;
    let lock = 0x100 + random.below(2) as u64 * 64;
    let size = 1 << random.below(4);
    let atomic = Some(random.pick(&[MemoryOrder::Relaxed, MemoryOrder::AcqRel]));
    let mode = random.pick(&[Mode::Read, Mode::Write, Mode::ReadWrite]);
    let (start, len) = (address & !63, 64 * (1 + random.below(6) as u64));
    Next::Other(match random.below(8) {
        0 | 1 => Op::Acquire { lock, mode: LockMode::Write },
        2 | 3 => Op::Release { lock, mode: LockMode::Write },
        4 => Op::Access(Access { atomic, ..Access::plain(address & !(size - 1), size, mode) }),
        5 => Op::Access(Access::plain(address, random.below(300) as u64, mode)),
        6 => Op::Alloc { address: start, size: len, kind: BlockKind::Heap },
        _ => Op::Free { address: start, size: len, kind: BlockKind::Heap },
    })
}

/// Both ways of taking a trace.
struct Both {
    at_once: (Hb, Later),
    one_by_one: (Hb, Later),
}

impl Both {
    fn step(&mut self, thread: ThreadId, op: Op) {
        let place = PlaceId(9);
        let event = Event { thread, place, stack: StackId::EMPTY, times: 1, op };
        for (_, later) in [&mut self.at_once, &mut self.one_by_one] {
            match op {
                Op::Access(access) => later.make(thread, place, &access),
                Op::Free { address, size, .. } => {
                    later.make(thread, place, &Access::plain(address, size, Mode::Write));
                }
                _ => {}
            }
        }
        self.at_once.0.step(&event, &mut self.at_once.1);
        self.one_by_one.0.step(&event, &mut self.one_by_one.1);
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32) {
        for plain in (0..turns).flat_map(|turn| body.iter().map(move |access| access.at(turn))) {
            for (_, later) in [&mut self.at_once, &mut self.one_by_one] {
                later.make(thread, plain.place, &plain.access());
            }
        }
        self.at_once.0.looped(thread, body, turns, &mut self.at_once.1);
        for plain in (0..turns).flat_map(|turn| body.iter().map(move |access| access.at(turn))) {
            self.one_by_one.0.step(&plain.event(thread), &mut self.one_by_one.1);
        }
    }
}

/// Takes a random trace; gives how many accesses race. In every second trace one lock orders all.
fn check(seed: u64) -> u64 {
    let mut random = Random(seed);
    let sweeping = if seed.is_multiple_of(3) { 8 } else { 1 << 16 };
    let fresh = || (Hb::new(Options::default()).sweeping_after(sweeping), Later::default());
    let mut both = Both { at_once: fresh(), one_by_one: fresh() };
    let (lock, mode) = (0x800, LockMode::Write);
    for step in 0..40 {
        let thread = ThreadId(random.below(3) as u32);
        if seed.is_multiple_of(2) {
            both.step(thread, Op::Acquire { lock, mode });
        }
        match if random.one_in(2) { any_loop(&mut random) } else { any_other(&mut random) } {
            Next::Loop(body, turns) => both.looped(thread, &body, turns),
            Next::Other(op) => both.step(thread, op),
        }
        if seed.is_multiple_of(2) {
            both.step(thread, Op::Release { lock, mode });
        }
        let count = |hb: &Hb| (hb.counts().racy_events, hb.counts().accesses);
        let Both { at_once, one_by_one } = &both;
        assert_eq!(count(&at_once.0), count(&one_by_one.0), "seed {seed}, step {step}");
        assert_eq!(at_once.1.told, one_by_one.1.told, "seed {seed}, step {step}");
    }
    both.at_once.0.counts().racy_events
}

#[test]
fn what_races_in_a_loop_races_in_its_accesses() {
    let seeds = 3_000;
    let racy = (1..=seeds).filter(|&seed| check(seed) > 0).count();
    println!("{racy} of {seeds} traces race");
    assert!((1_000..2_000).contains(&racy), "{racy}");
}
