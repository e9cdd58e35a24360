//! Traces that no run can have: locks given back by strangers, taken while others hold them, threads created late and joined
//! early. No analysis panics on them, and every predicted race comes with a witness that the checker accepts, but for the
//! analyses that take such events as they are written.

mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{Evidence, LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::witness::Run;
use deadheat_detect::{Options, registry};
use support::generate::Generator;
use support::random::Random;
use support::{full, short};

/// These say in the registry that an order of theirs may then be none.
const AS_WRITTEN: [&str; 2] = ["shb", "sync-preserving"];

/// Counts what it is told, and checks the witnesses.
struct Checking<'a> {
    run: &'a Run<'a>,
    told: usize,
    witnesses: usize,
    /// Whether each pair must come with a good witness.
    checks: bool,
}

impl RaceSink for Checking<'_> {
    fn race(&mut self, _: &Race, _: &dyn LockSets) {
        self.told += 1;
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        self.told += 1;
        if self.checks {
            self.witnesses += 1;
            if let Err(broken) = self.run.check(witness, (race.earlier.thread, race.later.thread)) {
                panic!("{:?} and {:?}: {broken}: {witness:?}", race.earlier.place, race.later.place);
            }
        }
    }
}

/// What was told of all traces, and what failed.
#[derive(Default)]
struct Tally {
    told: usize,
    witnesses: usize,
    /// By analysis and sort: how often it failed, and the shortest trace.
    failures: BTreeMap<String, (usize, Vec<Event>)>,
}

impl Tally {
    /// Lets all analyses judge a trace.
    fn judge(&mut self, events: &[Event]) {
        let run = Run::new(events);
        for analysis in registry::all() {
            for (all_pairs, memory_limit) in [(false, None), (true, Some(4_000))] {
                let checks = analysis.evidence == Evidence::Predicted && !AS_WRITTEN.contains(&analysis.name);
                let mut sink = Checking { run: &run, told: 0, witnesses: 0, checks };
                let looked = catch_unwind(AssertUnwindSafe(|| {
                    let mut detector =
                        (analysis.new)(Options { all_pairs, memory_limit, ..Options::default() });
                    events.iter().for_each(|event| detector.step(event, &mut sink));
                    detector.finish(&mut sink);
                }));
                if let Err(reason) = looked {
                    let reason = reason.downcast_ref::<String>().map_or("?", String::as_str);
                    let sort = reason
                        .split(": ")
                        .nth(1)
                        .unwrap_or(reason)
                        .split(',')
                        .next_back()
                        .unwrap_or_default();
                    let name = format!("{} (limit: {memory_limit:?}): {sort}: {reason}", analysis.name);
                    let (count, shortest) = self.failures.entry(name).or_insert_with(|| (0, events.to_vec()));
                    *count += 1;
                    if shortest.len() > events.len() {
                        *shortest = events.to_vec();
                    }
                }
                self.told += sink.told;
                self.witnesses += sink.witnesses;
            }
        }
    }
}

/// Events of locks, threads and memory, whoever may do them.
fn wild(seed: u64) -> Vec<Event> {
    let mut random = Random(seed);
    let threads = 2 + random.below(3);
    let length = 6 + random.below(24);
    let of_others = random.one_in(2);
    (0..length)
        .map(|place| {
            let thread = random.below(threads) as u32;
            let child = ThreadId(random.below(threads) as u32);
            let lock = 0x9000 + 8 * random.below(2) as u64;
            let mode = if random.one_in(4) { LockMode::Read } else { LockMode::Write };
            let op = match random.below(16) {
                0..=3 => Op::Acquire { lock, mode },
                4..=6 => Op::Release { lock, mode },
                7 if of_others => Op::Fork { child },
                8 if of_others => Op::Join { child },
                9 if of_others && random.one_in(2) => Op::Begin,
                9 if of_others => Op::End,
                10 if random.one_in(4) => Op::Forget { object: lock },
                _ => {
                    let mode = random.pick(&[Mode::Read, Mode::Write]);
                    Op::Access(Access::plain(0x1000 + 8 * random.below(2) as u64, 8, mode))
                }
            };
            Event {
                thread: ThreadId(thread),
                place: PlaceId(place as u32 + 1),
                stack: StackId::EMPTY,
                times: 1,
                op,
            }
        })
        .collect()
}

/// The trace of a run that could have been, with events left out, doubled, moved, and of other threads.
fn spoiled(seed: u64, mut events: Vec<Event>) -> Vec<Event> {
    let mut random = Random(seed);
    for _ in 0..1 + random.below(4) {
        if events.len() < 2 {
            break;
        }
        let (at, to) = (random.below(events.len()), random.below(events.len()));
        // Of memory that is freed twice, or by parts, analyses and checker think differently.
        let is_memory = |at: usize| matches!(events[at].op, Op::Alloc { .. } | Op::Free { .. });
        if is_memory(at) || is_memory(to) {
            continue;
        }
        match random.below(4) {
            0 => drop(events.remove(at)),
            1 => events.insert(to, events[at]),
            2 => events.swap(at, to),
            _ => events[at].thread = events[to].thread,
        }
    }
    events.into_iter().zip(1..).map(|(event, place)| Event { place: PlaceId(place), ..event }).collect()
}

#[test]
fn no_analysis_panics_and_witnesses_are_good() {
    let count = if full() { 100_000 } else { 3_000 };
    let mut tally = Tally::default();
    for seed in 0..count {
        let long = Generator::trace(seed);
        for events in [wild(seed), spoiled(seed, short::trace(seed, 18)), spoiled(seed, long)] {
            tally.judge(&events);
        }
    }
    let Tally { told, witnesses, failures } = tally;
    for (name, (count, events)) in &failures {
        eprintln!("{name} failed {count} times; the shortest trace:");
        for (index, event) in events.iter().enumerate() {
            eprintln!("{index:3} {:?} {:?} {:x?}", event.thread, event.place, event.op);
        }
    }
    println!("{count} seeds: {told} races told, {witnesses} of them with a witness that was checked");
    assert!(failures.is_empty());
    assert!(told > count as usize && witnesses > count as usize);
}
