//! The one comparison of happens-before with the oracle.

use std::collections::BTreeSet;

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::PlaceId;
use deadheat_core::plain::{Form, Plain};
use deadheat_core::race::{HeldLock, LockSets, Race, RaceSink, Side};
use deadheat_detect::hb::Hb;
use deadheat_detect::oracle::Oracle;
use deadheat_detect::{Detector, Options};

/// Keeps what it is given, with the locks spelled out and the event at which it came.
#[derive(Default)]
struct Keep {
    now: usize,
    races: Vec<(usize, Race, Vec<HeldLock>, Vec<HeldLock>)>,
}

impl RaceSink for Keep {
    fn race(&mut self, race: &Race, locks: &dyn LockSets) {
        let held = |side: &Side| locks.locks(side.locks).to_vec();
        self.races.push((self.now, *race, held(&race.earlier), held(&race.later)));
    }
}

/// A race with the locks of its sides.
type Told = (Race, Vec<HeldLock>, Vec<HeldLock>);

impl Keep {
    fn told(&self) -> Vec<Told> {
        self.races.iter().cloned().map(|(_, race, earlier, later)| (race, earlier, later)).collect()
    }
}

/// What tells two accesses of one place apart in a pair of places.
type Kind = (PlaceId, bool, bool);

/// Runs `hb` with and without all pairs over a trace and compares it with the oracle. Gives the
/// number of racy events; a difference is told with the trace.
pub(crate) fn agree(events: &[Event]) -> usize {
    match std::panic::catch_unwind(|| compare(events)) {
        Ok(racy) => racy,
        Err(reason) => {
            for (index, event) in events.iter().enumerate() {
                eprintln!("{index:3} {:?} {:?} {:x?}", event.thread, event.place, event.op);
            }
            std::panic::resume_unwind(reason)
        }
    }
}

fn compare(events: &[Event]) -> usize {
    let oracle = Oracle::new(events);
    let pairs = oracle.races();
    let racy: BTreeSet<usize> = pairs.iter().map(|&(_, later)| later).collect();

    // With as many sweeps as possible, too: they must not show. Short traces have no use for them.
    let sweeping = (events.len() > 6).then(|| Hb::new(Options::default()).sweeping_after(1));
    for (hb, in_bulk) in [(Some(Hb::new(Options::default())), hb_again(1 << 16)), (sweeping, hb_again(1))] {
        let Some(hb) = hb else { continue };
        let (one, counted) = run(events, hb);
        assert_eq!(run_in_bulk(events, in_bulk), (one.told(), counted), "the same in bulk");
        let found: BTreeSet<usize> = one.races.iter().map(|&(at, ..)| at).collect();
        assert_eq!(found, racy, "the racy events");
        assert_eq!(counted, racy.len() as u64, "the count of racy events");
        one.races.iter().for_each(|race| check_race(events, &oracle, &pairs, race));
    }

    let (all, counted) = run(events, Hb::new(Options { all_pairs: true, ..Options::default() }));
    assert_eq!(counted, racy.len() as u64, "the count of racy events, all pairs");
    all.races.iter().for_each(|race| check_race(events, &oracle, &pairs, race));
    let kind = |access: deadheat_core::access::Access, place| -> Kind {
        (place, access.mode.writes(), access.atomic.is_some())
    };
    let ordered = |one: Kind, other: Kind| (one.min(other), one.max(other));
    let told: BTreeSet<(Kind, Kind)> = all
        .races
        .iter()
        .map(|(_, race, ..)| {
            ordered(kind(race.earlier.access, race.earlier.place), kind(race.later.access, race.later.place))
        })
        .collect();
    let expected: BTreeSet<(Kind, Kind)> = pairs
        .iter()
        .map(|&(earlier, later)| {
            let side = |index: usize| {
                let access = oracle.access(index).expect("a race is between accesses");
                kind(access, events[index].place)
            };
            ordered(side(earlier), side(later))
        })
        .collect();
    assert_eq!(told, expected, "the pairs of places");
    assert_eq!(told.len(), all.races.len(), "each pair is told once");
    racy.len()
}

fn run(events: &[Event], mut hb: Hb) -> (Keep, u64) {
    let mut keep = Keep::default();
    for (index, event) in events.iter().enumerate() {
        keep.now = index;
        hb.step(event, &mut keep);
    }
    hb.finish(&mut keep);
    (keep, hb.counts().racy_events)
}

fn hb_again(sweeping: usize) -> Hb {
    Hb::new(Options::default()).sweeping_after(sweeping)
}

/// The same with plain accesses of a thread that follow each other taken at once: the races and
/// the count of racy events.
fn run_in_bulk(events: &[Event], mut hb: Hb) -> (Vec<Told>, u64) {
    let mut keep = Keep::default();
    let plain = |event: &Event| match event.op {
        Op::Access(access) => Form::of(&access).map(|form| Plain {
            address: access.address,
            place: event.place,
            stack: event.stack,
            form,
        }),
        _ => None,
    };
    for group in events
        .chunk_by(|one, next| one.thread == next.thread && plain(one).is_some() && plain(next).is_some())
    {
        match group.iter().map(plain).collect::<Option<Vec<Plain>>>() {
            Some(accesses) => {
                hb.coming(&accesses);
                hb.plain(group[0].thread, &accesses, &mut keep);
            }
            None => hb.step(&group[0], &mut keep),
        }
    }
    hb.finish(&mut keep);
    (keep.told(), hb.counts().racy_events)
}

/// A told race is one of the oracle's, told with the accesses and the locks that were there.
fn check_race(
    events: &[Event],
    oracle: &Oracle<'_>,
    pairs: &[(usize, usize)],
    (at, race, earlier_locks, later_locks): &(usize, Race, Vec<HeldLock>, Vec<HeldLock>),
) {
    let same = |index: usize, side: &Side, locks: &[HeldLock]| {
        let event = &events[index];
        (event.thread, event.place, event.stack) == (side.thread, side.place, side.stack)
            && oracle.access(index) == Some(side.access)
            && held(events, index) == locks
    };
    assert!(same(*at, &race.later, later_locks), "the later side of {race:?}");
    let found =
        pairs.iter().any(|&(earlier, later)| later == *at && same(earlier, &race.earlier, earlier_locks));
    assert!(found, "no such race: {race:?} {earlier_locks:?}");
    for side in [race.earlier, race.later] {
        assert!((side.access.address..side.access.end()).contains(&race.address), "the byte of {race:?}");
    }
}

/// The locks that the thread of an event holds at it, outermost takings only.
pub(crate) fn held(events: &[Event], index: usize) -> Vec<HeldLock> {
    let mut locks: Vec<(HeldLock, u32)> = Vec::new();
    for event in events[..index].iter().filter(|event| event.thread == events[index].thread) {
        if let Op::Acquire { lock, mode } = event.op {
            match locks.iter_mut().find(|(held, _)| held.lock == lock) {
                Some((_, depth)) => *depth += 1,
                None => locks.push((HeldLock { lock, mode }, 1)),
            }
        } else if let Op::Release { lock, .. } = event.op {
            locks.iter_mut().filter(|(held, _)| held.lock == lock).for_each(|(_, depth)| *depth -= 1);
            locks.retain(|&(_, depth)| depth > 0);
        }
    }
    locks.into_iter().map(|(held, _)| held).collect()
}
