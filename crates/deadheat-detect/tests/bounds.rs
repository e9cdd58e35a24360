//! The predictions with too little memory: what they tell stays true, that they forget is told, and the memory is bounded.

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::race::{LockSets, Race, RaceSink};
use deadheat_core::witness::Witness;
use deadheat_detect::hb::Hb;
use deadheat_detect::reversal::Reversal;
use deadheat_detect::shb::Shb;
use deadheat_detect::syncp::SyncPreserving;
use deadheat_detect::witness::Run;
use deadheat_detect::{Detector, Options, registry};
use support::generate::Generator;
use support::random::Random;
use support::{full, short};

/// Checks witnesses, if it has the run; counts races and what was forgotten.
#[derive(Default)]
struct Counting<'a> {
    run: Option<&'a Run<'a>>,
    races: usize,
    turned: usize,
    /// How many of them begin with a part of the run as it was.
    begun: usize,
    forgotten: Vec<u64>,
}

impl RaceSink for Counting<'_> {
    fn race(&mut self, _: &Race, _: &dyn LockSets) {
        self.races += 1;
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, _: &dyn LockSets) {
        self.races += 1;
        self.turned += usize::from(witness.order.is_some());
        self.begun += usize::from(witness.first > 0);
        let checked = self.run.map(|run| run.check(witness, (race.earlier.thread, race.later.thread)));
        if let Some(Err(broken)) = checked {
            panic!("{:?} and {:?}: {broken}: {witness:?}", race.earlier.place, race.later.place);
        }
    }

    fn forgot(&mut self, events: u64) {
        self.forgotten.push(events);
    }
}

fn judge<'a>(name: &str, events: &[Event], run: &'a Run<'a>, options: Options) -> Counting<'a> {
    let mut sink = Counting { run: Some(run), ..Counting::default() };
    let mut detector = (registry::find(name).expect("it is registered").new)(options);
    let looked = catch_unwind(AssertUnwindSafe(|| {
        events.iter().for_each(|event| detector.step(event, &mut sink));
        detector.finish(&mut sink);
    }));
    if let Err(reason) = looked {
        println!("{name}, {options:?}, forgot {:?}", sink.forgotten);
        for (index, event) in events.iter().enumerate() {
            println!("{index:3} {:?} {:?} {:x?}", event.thread, event.place, event.op);
        }
        resume_unwind(reason);
    }
    sink
}

/// Windows of a few events: each race told is one, and at the end of the run at most its length was forgotten.
#[test]
fn sync_reversal_tells_what_is_true_in_small_windows() {
    let count = if full() { 100_000 } else { 4_000 };
    let (mut all, mut some, mut turned, mut begun, mut times) = (0, 0, 0, 0, 0);
    for seed in 0..count {
        for events in [short::trace(seed, 40), Generator::trace(seed)] {
            let run = Run::new(&events);
            all += judge("sync-reversal", &events, &run, Options::default()).races;
            for limit in [2_000, 6_000] {
                let options =
                    Options { memory_limit: Some(limit), all_pairs: seed % 4 == 0, ..Options::default() };
                let sink = judge("sync-reversal", &events, &run, options);
                assert!(sink.forgotten.is_sorted(), "{:?}", sink.forgotten);
                assert!(sink.forgotten.last().is_none_or(|&events_gone| events_gone <= events.len() as u64));
                (some, turned) = (some + sink.races, turned + sink.turned);
                (begun, times) = (begun + sink.begun, times + sink.forgotten.len());
            }
        }
    }
    println!(
        "{count} seeds: {all} races, {some} in twice as many windowed runs, {turned} turned, {begun} behind a beginning, {times} times"
    );
    assert!(
        times > count as usize && begun > 0 && some < 2 * all && some * 4 > all,
        "{all} {some} {begun} {times}"
    );
}

/// A long run in which ever new memory is used and many locks are passed on.
fn long(events: u64, mut each: impl FnMut(&Event)) {
    let mut random = Random(7);
    let mut held: [Option<u64>; 4] = [None; 4];
    for number in 0..events {
        let thread = random.below(4);
        let lock = 0x1000 + 8 * random.below(6) as u64;
        let op = match (held[thread], random.below(8)) {
            (None, 0..=2) if !held.contains(&Some(lock)) => {
                held[thread] = Some(lock);
                Op::Acquire { lock, mode: LockMode::Write }
            }
            (Some(lock), 0..=2) => {
                held[thread] = None;
                Op::Release { lock, mode: LockMode::Write }
            }
            _ => {
                // Mostly memory of one's own, some that all share; both move on.
                let base = 0x10_0000 + number / 64 * 128;
                let own = if random.one_in(8) { 0 } else { 0x1000_0000 * (1 + thread as u64) };
                let mode = random.pick(&[Mode::Read, Mode::Write]);
                Op::Access(Access::plain(own + base + 8 * random.below(16) as u64, 8, mode))
            }
        };
        let place = PlaceId(1 + (random.below(500)) as u32);
        each(&Event { thread: ThreadId(thread as u32), place, stack: StackId::EMPTY, times: 1, op });
    }
}

/// Runs the long run through an analysis; the most memory that it took, what it takes without a limit, and how often it forgot.
fn peak<D: Detector>(new: fn(Options) -> D, memory: fn(&D) -> usize, limit: usize) -> (usize, usize, usize) {
    let length = 200_000;
    let (mut most, mut sink) = (0, Counting::default());
    let mut bounded = new(Options { memory_limit: Some(limit), ..Options::default() });
    long(length, |event| {
        bounded.step(event, &mut sink);
        most = most.max(memory(&bounded));
    });
    let mut free = new(Options::default());
    long(length, |event| free.step(event, &mut Counting::default()));
    (most, memory(&free), sink.forgotten.len())
}

#[test]
fn memory_stays_below_the_limit() {
    const LIMIT: usize = 1 << 20;
    let rows = [
        ("hb", peak(Hb::new, Hb::memory, LIMIT)),
        ("sync-preserving", peak(SyncPreserving::new, SyncPreserving::memory, LIMIT)),
        ("sync-reversal", peak(Reversal::new, Reversal::memory, LIMIT)),
        ("shb", peak(Shb::new, Shb::memory, LIMIT)),
    ];
    for (name, (most, free, times)) in rows {
        println!("{name}: {most} bytes at most, {free} without a limit, forgot {times} times");
        // The memory is looked at now and then.
        assert!(most < LIMIT + LIMIT / 4, "{name}: {most}");
        assert!(free > 2 * LIMIT && times > 1, "{name}: {free} {times}");
    }
}
