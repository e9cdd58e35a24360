//! `deadheat trace agree`: whether the races that a run found by itself are those that `hb` finds in its recording.
//!
//! The two remember different accesses of those that race, and the run writes a pair of places once. So what has to hold is:
//! *a race that the run found* is, by its two places, an unordered pair of `hb`, and `hb` tells a race at its byte; *a race that `hb`
//! tells* has the places of one that the run found, or the run found another at its byte. The second need not hold of a run
//! that forgot accesses for want of memory, or gave up: the trace says so, and the first holds all the same.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use deadheat_core::event::Event;
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::plain::{Plain, Strided};
use deadheat_core::race::{LockSets, Race, RaceSink, Side};
use deadheat_detect::detector::Detector;
use deadheat_detect::hb::Hb;
use deadheat_detect::registry::Options;
use deadheat_trace::{Found, Tables, Trace, Visit};

use super::dump;
use crate::args::Common;
use crate::exit::{Exit, Failure};
use crate::say;

/// Differences that are told of a trace.
const MOST_TOLD: usize = 20;

/// What to compare.
#[derive(clap::Args)]
pub(super) struct Args {
    /// The traces, as `deadheat run --trace` makes them
    #[arg(required = true, value_name = "TRACE")]
    traces: Vec<PathBuf>,
}

/// Compares; the code is 1 if they do not agree.
pub(super) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let mut all = true;
    for path in &args.traces {
        let mut trace = Trace::open(path).map_err(|error| super::failure(&error))?;
        if !trace.run().is_some_and(|run| run.detected && run.recorded) {
            return Err(Failure::usage(format!(
                "{}: is not of a run that was recorded and found its races by itself; make one with \
                 `deadheat run --trace FILE`",
                path.display()
            )));
        }
        let mut offline = Offline::default();
        trace.drive_into(&mut offline).map_err(|error| super::failure(&error))?;
        offline.finish();
        let differences = offline.differences(trace.found());
        let reason = reason(&trace);
        let (excused, differences): (Vec<_>, Vec<_>) =
            differences.into_iter().partition(|difference| reason.is_some() && !difference.online);
        let (online, offline) =
            (trace.found().iter().filter(|found| !found.ordered).count(), offline.pairs.kept.len());
        let mut text = format!(
            "{}: {} pairs of places found while it ran, {} unordered in the recording: ",
            path.display(),
            online,
            offline
        );
        match differences.len() {
            0 => text.push_str("they agree"),
            count => {
                let _ = write!(text, "they differ in {count}");
                all = false;
            }
        }
        if let Some(reason) = reason
            && !excused.is_empty()
        {
            let _ = write!(text, "; {} of the recording the run could not find: {reason}", excused.len());
        }
        if !common.quiet || !differences.is_empty() {
            say::answer(format!("{text}\n").as_bytes())?;
        }
        for difference in differences.iter().take(MOST_TOLD) {
            say::answer(format!("  {}\n", difference.text(trace.tables())).as_bytes())?;
        }
    }
    Ok(if all { Exit::SUCCESS } else { Exit::Program(1) })
}

/// Why a run could not find all that is in its recording, if it could not.
fn reason(trace: &Trace) -> Option<&'static str> {
    let run = trace.run()?;
    match (run.forgot, run.gave_up) {
        (_, true) => Some("it had no memory to look for races to the end"),
        (true, false) => Some("memory_limit_mb was reached, and earlier accesses were forgotten"),
        (false, false) => None,
    }
}

/// A side as far as two races can differ here: where, and whether it writes and is atomic.
type Way = (PlaceId, bool, bool);

/// Two sides, in no order.
type Pair = [Way; 2];

fn way(side: &Side) -> Way {
    (side.place, side.access.mode.writes(), side.access.atomic.is_some())
}

fn pair(race: &Race) -> Pair {
    let (one, other) = (way(&race.earlier), way(&race.later));
    if one <= other { [one, other] } else { [other, one] }
}

/// The bytes that both sides touch, from the first.
fn bytes(race: &Race) -> (u64, u64) {
    let end = race.earlier.access.end().min(race.later.access.end());
    (race.address, end.max(race.address + 1))
}

/// Bytes, as the ends of ranges by where they begin.
#[derive(Default)]
struct Bytes(BTreeMap<u64, u64>);

impl Bytes {
    fn add(&mut self, (mut from, mut to): (u64, u64)) {
        while let Some((&start, &end)) = self.0.range(..=to).next_back()
            && end >= from
        {
            self.0.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.0.insert(from, to);
    }

    fn has(&self, byte: u64) -> bool {
        self.0.range(..=byte).next_back().is_some_and(|(_, &end)| byte < end)
    }
}

/// Every unordered pair of places.
#[derive(Default)]
struct Pairs {
    kept: HashSet<Pair>,
    places: HashSet<Way>,
}

impl RaceSink for Pairs {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.kept.insert(pair(race));
        self.places.extend(pair(race));
    }
}

/// What is told for each racing access: at which byte, and with whom.
#[derive(Default)]
struct Each {
    told: BTreeSet<(u64, Pair)>,
    bytes: Bytes,
}

impl RaceSink for Each {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        if self.told.insert((race.address, pair(race))) {
            self.bytes.add(bytes(race));
        }
    }
}

/// `hb` at work, in both its forms.
struct Offline {
    hb: [Hb; 2],
    each: Each,
    pairs: Pairs,
}

impl Default for Offline {
    fn default() -> Offline {
        let hb = [false, true].map(|all_pairs| Hb::new(Options { all_pairs, ..Options::default() }));
        Offline { hb, each: Each::default(), pairs: Pairs::default() }
    }
}

impl Offline {
    fn finish(&mut self) {
        let [each, pairs] = &mut self.hb;
        each.finish(&mut self.each);
        pairs.finish(&mut self.pairs);
    }

    /// In what the races that the run found differ from these.
    fn differences(&self, found: &[Found]) -> Vec<Difference> {
        let mut differences = Vec::new();
        let (mut known, mut at) = (HashSet::new(), Bytes::default());
        for found in found.iter().filter(|found| !found.ordered) {
            let race = &found.race;
            known.insert(pair(race));
            at.add(bytes(race));
            let remembered = found.sides.iter().all(|side| side.remembered);
            let is_pair = if remembered {
                self.pairs.kept.contains(&pair(race))
            } else {
                // Of the other side nothing but the byte is known.
                let sides = [&race.earlier, &race.later].into_iter().zip(&found.sides);
                sides.filter(|(_, of)| of.remembered).all(|(side, _)| self.pairs.places.contains(&way(side)))
            };
            if !is_pair || !self.each.bytes.has(race.address) {
                differences.push(Difference { online: true, pair: pair(race), address: race.address });
            }
        }
        for &(address, pair) in &self.each.told {
            if !known.contains(&pair) && !at.has(address) {
                differences.push(Difference { online: false, pair, address });
            }
        }
        differences
    }
}

impl Visit for Offline {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        let [each, pairs] = &mut self.hb;
        each.step(event, &mut self.each);
        pairs.step(event, &mut self.pairs);
        true
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], _: &Tables) -> bool {
        let [each, pairs] = &mut self.hb;
        each.plain(thread, accesses, &mut self.each);
        pairs.plain(thread, accesses, &mut self.pairs);
        true
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, _: &Tables) -> bool {
        let [each, pairs] = &mut self.hb;
        each.looped(thread, body, turns, &mut self.each);
        pairs.looped(thread, body, turns, &mut self.pairs);
        true
    }
}

/// A race that only one of the two tells.
struct Difference {
    online: bool,
    pair: Pair,
    address: u64,
}

impl Difference {
    fn text(&self, tables: &Tables) -> String {
        let side = |&(place, writes, atomic): &Way| {
            let operation = if writes { "write" } else { "read" };
            let mut text = format!("{}{operation} at ", if atomic { "atomic " } else { "" });
            dump::place(place, tables, &mut text);
            text
        };
        let who = if self.online { "found while it ran" } else { "found in the recording" };
        let [one, other] = &self.pair;
        format!("only {who}, at {:#x}: {} and {}", self.address, side(one), side(other))
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::access::{Access, Mode};
    use deadheat_core::ids::StackId;
    use deadheat_core::race::{HeldLock, LockSetId};
    use deadheat_trace::FoundSide;

    use super::*;

    struct NoLocks;

    impl LockSets for NoLocks {
        fn locks(&self, _: LockSetId) -> &[HeldLock] {
            &[]
        }
    }

    #[test]
    fn bytes_are_joined() {
        let mut bytes = Bytes::default();
        [(8, 12), (20, 24), (12, 14), (0, 4), (3, 9)].into_iter().for_each(|range| bytes.add(range));
        assert_eq!(bytes.0, BTreeMap::from([(0, 14), (20, 24)]));
        let has: Vec<u64> = (0..30).filter(|&byte| bytes.has(byte)).collect();
        assert_eq!(has, (0..14).chain(20..24).collect::<Vec<_>>());
    }

    /// A race of thread 1 at one place with thread 2 at another, both writing 4 bytes.
    fn race(address: u64, places: [u32; 2]) -> Race {
        let side = |thread: u32, place: u32| Side {
            thread: ThreadId(thread),
            place: PlaceId(place),
            stack: StackId(0),
            access: Access::plain(address, 4, Mode::Write),
            locks: LockSetId(0),
        };
        Race { earlier: side(1, places[0]), later: side(2, places[1]), address, block: None }
    }

    /// How many races are told by the run alone, and how many by the recording alone.
    fn differ(found: &[Race], recorded: &[Race]) -> (usize, usize) {
        let mut offline = Offline::default();
        for race in recorded {
            offline.each.race(race, &NoLocks);
            offline.pairs.race(race, &NoLocks);
        }
        let side = FoundSide { remembered: true, clock: 1, locks: Vec::new() };
        let of = |&race: &Race| Found { race, times: 1, ordered: false, sides: [side.clone(), side.clone()] };
        let differences = offline.differences(&found.iter().map(of).collect::<Vec<_>>());
        let online = differences.iter().filter(|difference| difference.online).count();
        (online, differences.len() - online)
    }

    #[test]
    fn places_or_bytes_agree() {
        let (one, other) = (race(64, [1, 2]), race(128, [1, 2]));
        assert_eq!(differ(&[one], &[one]), (0, 0));
        // The order of the two does not matter, and a pair is told once.
        assert_eq!(differ(&[race(64, [2, 1])], &[one, other]), (0, 0));
        // Another race at the same byte stands for this one, but must be one of the recording.
        assert_eq!(differ(&[one], &[one, race(64, [1, 3])]), (0, 0));
        assert_eq!(differ(&[race(64, [1, 3])], &[one]), (1, 0));
        // What only one of the two tells.
        assert_eq!(differ(&[one, race(256, [4, 5])], &[one]), (1, 0));
        assert_eq!(differ(&[one], &[one, race(256, [4, 5])]), (0, 1));
        assert_eq!(differ(&[], &[one, other]), (0, 2));
        // The places of a race, at a byte where the recording has none.
        assert_eq!(differ(&[other], &[one]), (1, 0));
    }
}
