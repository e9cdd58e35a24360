//! Who nominates beside the conflicts: analyses of the registry, which judge a run before its conflicts are collected.
//!
//! What an analysis does with its races depends on how it tells them alone, so that one more is one line in
//! [`BY_DEFAULT`]: a race with a witness names the two accesses that can meet (an [`Occasion`], with a hint from the
//! witness how); any other, and one of an analysis whose evidence is a suspicion, only two places.
//!
//! Invariants: memory is bounded by [`Nominator::memory`] for an analysis that keeps to a bound, by [`Nominator::most_events`] for
//! one that holds the run, and by [`MOST`] for what they tell; and time by [`WORK`] for one that searches.

use deadheat_core::event::Event;
use deadheat_core::ids::{PlaceId, ThreadId};
use deadheat_core::plain::{Plain, Strided};
use deadheat_core::race::{Evidence, LockSets, Race, RaceSink, Side};
use deadheat_core::witness::Witness;
use deadheat_detect::conflict::Told;
use deadheat_detect::detector::Detector;
use deadheat_detect::registry::{self, Analysis, Options};
use deadheat_trace::{Tables, Trace, Visit};
use rustc_hash::FxHashMap;

use super::hints::{self, Hint, Turns};

/// The nomination that is always there (`deadheat_detect::conflict`), as `by` has it.
pub(crate) const CONFLICT: &str = "conflict";

/// An analysis that nominates unless others are chosen.
struct Nominator {
    /// Its name in the registry.
    name: &'static str,
    /// It judges no run of more events than this: it holds the run in memory.
    most_events: u64,
    /// About how many bytes it may take, if it keeps to such a bound.
    memory: usize,
}

/// Those that do.
const BY_DEFAULT: [Nominator; 4] = [
    Nominator { name: "sync-preserving", most_events: u64::MAX, memory: MEMORY },
    Nominator { name: "sync-reversal", most_events: MOST_HELD, memory: MEMORY },
    Nominator { name: "csp", most_events: MOST_SEARCHED, memory: MEMORY_OF_A_SEARCH },
    Nominator { name: "lockset", most_events: u64::MAX, memory: MEMORY },
];

/// How many steps an analysis may take that counts them: one or two seconds of `csp`.
const WORK: u64 = 30_000_000;
/// Events of a run of which all orders are searched; to prepare for that takes time, too.
const MOST_SEARCHED: u64 = 500_000;
/// Bytes for one search, so that a single pair does not take all steps.
const MEMORY_OF_A_SEARCH: usize = 16 << 20;
/// About how many bytes an analysis may take that keeps to a bound.
const MEMORY: usize = 1 << 30;
/// Events of a run that is held in memory. Of a random run of a million `sync-reversal` takes 270 bytes an event.
const MOST_HELD: u64 = (MEMORY / 270) as u64;
/// So many occasions are kept of each analysis for two places: enough to try in a hunt.
const OCCASIONS: u32 = 4;
/// So many occasions, and pairs of places, are kept in all.
const MOST: usize = 1 << 16;
/// Analyses are bits of a word.
const MOST_ANALYSES: usize = 32;

/// The names of those that nominate by default.
pub(crate) fn by_default() -> Vec<String> {
    BY_DEFAULT.iter().map(|nominator| nominator.name.to_owned()).collect()
}

/// Reads the name of an analysis that can nominate.
pub(crate) fn named(name: &str) -> Result<String, String> {
    if name == CONFLICT || registry::find(name).is_some() {
        return Ok(name.to_owned());
    }
    let known: Vec<&str> = registry::all().map(|analysis| analysis.name).collect();
    Err(format!("there is no such analysis; there are {CONFLICT} and {}", known.join(", ")))
}

/// Two places of the code, in no order.
type Places = [PlaceId; 2];

/// Two accesses that can meet, and who said so.
#[derive(Debug)]
pub(crate) struct Occasion {
    /// The accesses.
    pub(crate) told: Told,
    /// Who is to wait for the other, by the witness that came first.
    pub(crate) hint: Option<Hint>,
    by: u32,
}

/// What analyses told of a run.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    names: Vec<&'static str>,
    /// Pairs of accesses.
    pub(crate) occasions: Vec<Occasion>,
    numbers: FxHashMap<Told, usize>,
    /// How many occasions each analysis has told of two places.
    told: FxHashMap<(Places, usize), u32>,
    places: FxHashMap<Places, u32>,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

impl Judgement {
    /// What these analyses tell of a trace. One that can be read in part is judged by that part.
    pub(crate) fn of(trace: &mut Trace, by: &[String]) -> Judgement {
        let analyses: Vec<_> =
            by.iter().filter_map(|name| registry::find(name)).take(MOST_ANALYSES).collect();
        let mut judgement = Judgement {
            names: analyses.iter().map(|analysis| analysis.name).collect(),
            ..Judgement::default()
        };
        if analyses.is_empty() {
            return judgement;
        }
        let works = analyses.into_iter().map(Work::new).collect();
        let mut watch = Watch { works, judgement: &mut judgement, turns: Turns::default(), events: 0 };
        // What is wrong with the trace is told by whoever collects its conflicts.
        let _ = trace.drive_into(&mut watch);
        watch.finish();
        judgement
    }

    /// The accesses that were told, in the order of [`Self::occasions`].
    pub(crate) fn pairs(&self) -> Vec<Told> {
        self.occasions.iter().map(|occasion| occasion.told).collect()
    }

    /// Who told one of these occasions, or these places.
    pub(crate) fn by(&self, occasions: &[u32], places: [PlaceId; 2]) -> Vec<String> {
        let of_places = self.places.get(&ordered(places)).copied().unwrap_or(0);
        let of_accesses = occasions.iter().map(|&number| self.occasions[number as usize].by);
        let by = of_accesses.fold(of_places, |all, by| all | by);
        let told = self.names.iter().enumerate().filter(|(number, _)| by >> number & 1 != 0);
        told.map(|(_, name)| (*name).to_owned()).collect()
    }

    fn take_places(&mut self, analysis: usize, places: Places) {
        if self.places.len() < MOST || self.places.contains_key(&places) {
            *self.places.entry(places).or_default() |= 1 << analysis;
        }
    }

    /// Whether an analysis has told as many occasions of two places as are kept.
    fn has_enough(&self, analysis: usize, places: Places) -> bool {
        self.told.get(&(places, analysis)).is_some_and(|&count| count >= OCCASIONS)
    }

    fn take(&mut self, analysis: usize, places: Places, told: Told, hint: impl FnOnce() -> Option<Hint>) {
        if let Some(&number) = self.numbers.get(&told) {
            self.occasions[number].by |= 1 << analysis;
            return;
        }
        let count = self.told.entry((places, analysis)).or_default();
        if *count < OCCASIONS && self.occasions.len() < MOST {
            *count += 1;
            self.numbers.insert(told, self.occasions.len());
            self.occasions.push(Occasion { told, hint: hint(), by: 1 << analysis });
        }
    }
}

fn ordered(mut places: Places) -> Places {
    places.sort_unstable();
    places
}

/// An analysis at work.
struct Work {
    analysis: &'static Analysis,
    /// `None`: the run has too many events for it.
    detector: Option<Box<dyn Detector>>,
    most_events: u64,
}

impl Work {
    fn new(analysis: &'static Analysis) -> Work {
        let nominator = BY_DEFAULT.iter().find(|nominator| nominator.name == analysis.name);
        let memory = nominator.map_or(MEMORY, |nominator| nominator.memory);
        let options = Options { memory_limit: Some(memory), work_limit: Some(WORK), ..Options::default() };
        Work {
            analysis,
            detector: Some((analysis.new)(options)),
            // What another analysis does with a long run is not known here.
            most_events: nominator.map_or(MOST_HELD, |nominator| nominator.most_events),
        }
    }
}

/// Shows a run to the analyses.
struct Watch<'a> {
    works: Vec<Work>,
    judgement: &'a mut Judgement,
    turns: Turns,
    events: u64,
}

impl Watch<'_> {
    /// So many more events come: those whom that is too many leave.
    fn coming(&mut self, count: u64) {
        self.events += count;
        for work in &mut self.works {
            if self.events > work.most_events && work.detector.take().is_some() {
                let (name, most) = (work.analysis.name, work.most_events);
                self.judgement
                    .notes
                    .push(format!("{name} nominated nothing: the run has more than {most} events"));
            }
        }
    }

    fn each(&mut self, mut show: impl FnMut(&mut dyn Detector, &mut Hear<'_>)) {
        for (number, work) in self.works.iter_mut().enumerate() {
            let Some(detector) = &mut work.detector else { continue };
            let predicts = work.analysis.evidence >= Evidence::Predicted;
            let (name, turns) = (work.analysis.name, &self.turns);
            let mut hear = Hear { number, name, predicts, judgement: self.judgement, turns };
            show(&mut **detector, &mut hear);
        }
    }

    fn finish(mut self) {
        self.each(|detector, hear| detector.finish(hear));
    }
}

impl Visit for Watch<'_> {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        self.coming(1);
        self.each(|detector, hear| detector.step(event, hear));
        self.turns.event(event);
        true
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], _: &Tables) -> bool {
        self.coming(accesses.len() as u64);
        self.each(|detector, hear| detector.plain(thread, accesses, hear));
        self.turns.accesses(thread, accesses.len() as u64);
        true
    }

    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, _: &Tables) -> bool {
        let count = body.len() as u64 * u64::from(turns);
        self.coming(count);
        self.each(|detector, hear| detector.looped(thread, body, turns, hear));
        self.turns.accesses(thread, count);
        true
    }
}

/// Hears what one analysis tells.
struct Hear<'a> {
    number: usize,
    name: &'static str,
    /// Whether its evidence is a prediction or better.
    predicts: bool,
    judgement: &'a mut Judgement,
    turns: &'a Turns,
}

impl RaceSink for Hear<'_> {
    fn race(&mut self, race: &Race, _: &dyn LockSets) {
        self.judgement.take_places(self.number, ordered([race.earlier.place, race.later.place]));
    }

    fn again(&mut self, earlier: &Side, later: &Side) -> bool {
        let places = ordered([earlier.place, later.place]);
        self.predicts && self.judgement.has_enough(self.number, places)
    }

    fn predicted(&mut self, race: &Race, witness: &Witness<'_>, locks: &dyn LockSets) {
        if !self.predicts {
            return self.race(race, locks);
        }
        let threads = [race.earlier.thread, race.later.thread];
        let mut events = threads.map(|thread| (thread, hints::done(witness, thread)));
        events.sort_unstable();
        let places = ordered([race.earlier.place, race.later.place]);
        let hint = || self.turns.hint(witness, threads);
        self.judgement.take(self.number, places, Told { events }, hint);
    }

    fn forgot(&mut self, events: u64) {
        let note = format!("{} had too little memory: it forgot the run's first {events} events", self.name);
        self.judgement.notes.push(note);
    }

    fn undecided(&mut self, pairs: u64) {
        let note = format!("{} had too little memory to decide {pairs} pairs of accesses", self.name);
        self.judgement.notes.push(note);
    }

    fn stopped(&mut self) {
        let note = format!("{} looked at a part of the run only, so that the hunt can begin", self.name);
        self.judgement.notes.push(note);
    }
}

#[cfg(test)]
mod tests {
    use deadheat_core::access::{Access, Mode};
    use deadheat_core::event::Op;
    use deadheat_core::ids::StackId;

    use super::*;

    /// Two threads of which each makes one write at a place of its own: a race in every order.
    fn writes() -> [Event; 2] {
        [1, 2].map(|number| Event {
            thread: ThreadId(number),
            place: PlaceId(number),
            stack: StackId::EMPTY,
            times: 1,
            op: Op::Access(Access::plain(0x1000, 4, Mode::Write)),
        })
    }

    /// What analyses tell of the writes, each judging so many events at most.
    fn judged(names: &[&str], most_events: u64) -> Judgement {
        let work =
            |name: &&str| Work { most_events, ..Work::new(registry::find(name).expect("it is registered")) };
        let works: Vec<Work> = names.iter().map(work).collect();
        let names = works.iter().map(|work| work.analysis.name).collect();
        let mut judgement = Judgement { names, ..Judgement::default() };
        let mut watch = Watch { works, judgement: &mut judgement, turns: Turns::default(), events: 0 };
        let tables = Tables::default();
        assert!(writes().iter().all(|event| watch.event(event, &tables)));
        watch.finish();
        judgement
    }

    #[test]
    fn predictions_name_accesses_and_others_places() {
        let judgement = judged(&["sync-preserving", "lockset", "sync-reversal", "csp", "hb"], 2);
        assert_eq!(judgement.pairs(), [Told { events: [(ThreadId(1), 0), (ThreadId(2), 0)] }]);
        assert_eq!(judgement.occasions[0].hint, None);
        let places = [PlaceId(2), PlaceId(1)];
        assert_eq!(judgement.by(&[], places), ["lockset", "hb"]);
        assert_eq!(judgement.by(&[0], places), ["sync-preserving", "lockset", "sync-reversal", "csp", "hb"]);
        assert!(judgement.by(&[], [PlaceId(1), PlaceId(3)]).is_empty());
        assert!(judgement.notes.is_empty());
    }

    #[test]
    fn a_run_that_is_too_long_is_not_judged_and_that_is_said() {
        let judgement = judged(&["sync-reversal"], 1);
        assert!(judgement.pairs().is_empty());
        assert_eq!(judgement.notes, ["sync-reversal nominated nothing: the run has more than 1 events"]);
    }

    #[test]
    fn what_an_analysis_left_is_said() {
        let (mut judgement, turns) = (Judgement::default(), Turns::default());
        let mut hear =
            Hear { number: 0, name: "csp", predicts: true, judgement: &mut judgement, turns: &turns };
        hear.undecided(3);
        hear.stopped();
        hear.forgot(7);
        let notes = [
            "csp had too little memory to decide 3 pairs of accesses",
            "csp looked at a part of the run only, so that the hunt can begin",
            "csp had too little memory: it forgot the run's first 7 events",
        ];
        assert_eq!(judgement.notes, notes);
    }

    #[test]
    fn who_nominates_is_in_the_registry() {
        assert!(by_default().iter().all(|name| named(name).as_ref() == Ok(name)));
        assert_eq!(named(CONFLICT), Ok(CONFLICT.to_owned()));
        assert!(named("guess").expect_err("it is none").contains("sync-preserving"));
    }
}
