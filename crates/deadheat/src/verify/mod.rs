//! Is a race mended? A rebuilt program is watched, the two sides of the race are found again in it,
//! and what conflicts there is provoked.
//!
//! Invariant: "ordered now" is said only of sides that were executed, that conflict, and that did
//! not meet when they were provoked; and with what ordered them.

mod edges;
mod sites;
mod words;

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use deadheat_core::gate::flag;
use deadheat_report::model::{Race, Report};
use deadheat_symbol::Symbolizer;
use deadheat_trace::Trace;

use crate::child::End;
use crate::exit::Failure;
use crate::hunt::again::Again;
use crate::hunt::nominate::{Means, Nominated, nominate, place_text};
use crate::hunt::outcome::Verdict;
use crate::hunt::targets::{Rank, Target};
use crate::hunt::turns::Delay;
use crate::tell::resolve::Resolver;
use edges::Edges;
use sites::{Lines, Sites, Wanted};

/// The most targets that are provoked, and how many of them in one run.
const MOST_TARGETS: usize = 16;
const AT_ONCE: usize = 8;
/// How long one side waits for the other: as long as the watched run took, within these.
const BOUNDS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));

/// What became of a race.
#[derive(Debug)]
pub(crate) enum Answer {
    /// Something orders the two accesses.
    OrderedNow(Vec<String>),
    /// They met, or nothing ordered them.
    StillRaces(Vec<String>, Option<Box<Report>>),
    /// One of them is in the program no more.
    SiteGone(String),
    /// The run did not come to both.
    CouldNotReach(String),
    /// Both were executed, through pointers, but not on the same memory in two threads.
    Apart(String),
}

/// What is asked.
pub(crate) struct Question<'a> {
    /// The race as it was.
    pub(crate) race: &'a Race,
    /// The rebuilt program.
    pub(crate) again: Again<'a>,
    /// How often each pair is provoked.
    pub(crate) tries: u32,
}

/// The watched run of the rebuilt program.
pub(crate) struct Watched<'a> {
    /// Its trace.
    pub(crate) trace: &'a Path,
    /// How long it took.
    pub(crate) took: Duration,
    /// How it ended.
    pub(crate) end: End,
}

impl Question<'_> {
    /// Answers by the trace of a watched run, and by provoking what it nominates.
    pub(crate) fn answer(&self, watched: &Watched<'_>) -> Result<Answer, Failure> {
        let folder = std::env::current_dir().unwrap_or_default();
        let wanted = Wanted::of(self.race)?;
        let open = || Trace::open(watched.trace).map_err(|error| Failure::input(error.to_string()));
        let mut sites = Sites::read(&mut open()?, &folder, &wanted, Lines::Nearest);
        if let Some(answer) = sites.missing(&wanted, watched.end) {
            return Ok(answer);
        }
        let mut trace = open()?;
        let mut edges = Edges::read(&mut trace, &sites);
        if sites.moved && edges.is_empty() {
            // The mending moved the lines: what the functions have in common is what is meant.
            let all = Sites::read(&mut open()?, &folder, &wanted, Lines::All);
            let further = Edges::read(&mut open()?, &all);
            if !further.is_empty() {
                (sites, edges) = (all, further);
            }
        }
        let (nominated, _, _) = nominate(&mut open()?, &Means::default(), Symbolizer::default(), &folder);
        let targets = matching(nominated, &sites);
        if let Some(answer) = self.provoke(&targets, &wanted, watched)? {
            return Ok(answer);
        }
        let resolver = RefCell::new(Resolver::new(trace.tables(), &folder));
        let named = |step: &edges::Step| {
            let frame = resolver.borrow_mut().key(step.place, step.stack);
            frame.map_or("?".to_owned(), |frame| place_text(&frame))
        };
        Ok(words::judge(&sites, &edges, &targets, &named, self.tries))
    }

    /// Provokes the targets; an answer if two met that are the race.
    fn provoke(
        &self,
        targets: &[Target],
        wanted: &Wanted,
        watched: &Watched<'_>,
    ) -> Result<Option<Answer>, Failure> {
        let mut left: Vec<(Target, Option<Delay>)> =
            targets.iter().take(MOST_TARGETS).map(|target| (target.clone(), None)).collect();
        // One run more for those that only came in the wrong order.
        for number in 0..=self.tries {
            // All together first; those that were in each other's way, and on each further try, alone.
            let at_once = if number == 0 { AT_ONCE } else { 1 };
            left.retain(|(_, delay)| number < self.tries || delay.is_some());
            let mut again = Vec::new();
            for armed in left.chunks(at_once) {
                if let Some(answer) = self.run(armed, wanted, watched, &mut again)? {
                    return Ok(Some(answer));
                }
            }
            left = again;
        }
        Ok(None)
    }

    fn run(
        &self,
        armed: &[(Target, Option<Delay>)],
        wanted: &Wanted,
        watched: &Watched<'_>,
        again: &mut Vec<(Target, Option<Delay>)>,
    ) -> Result<Option<Answer>, Failure> {
        let bound = watched.took.clamp(BOUNDS.0, BOUNDS.1);
        let began = Instant::now();
        let (armed, delays): (Vec<Target>, Vec<_>) = armed.iter().cloned().unzip();
        let tried = self.again.go(&armed, &delays, bound, flag::WATCH)?;
        let same = |race: &&Race| race.id == self.race.id || wanted.is(race);
        if let Some(race) = tried.races.iter().find(same) {
            let told = format!("they met, {:.1} s into a provoked run", began.elapsed().as_secs_f64());
            let report = tried.report(vec![race.clone()], Vec::new());
            return Ok(Some(Answer::StillRaces(vec![told], Some(Box::new(report)))));
        }
        // Nobody could come: no further try tells more, unless the held thread had a lock that the
        // other wanted. Else it was bad luck, perhaps.
        for (target, state) in armed.into_iter().zip(&tried.targets) {
            if state.verdict != Verdict::Quiescent || state.delay.is_some() {
                again.push((target, state.delay));
            }
        }
        Ok(None)
    }
}

/// The targets between the two sides, the likeliest first.
fn matching(nominated: Nominated, sites: &Sites) -> Vec<Target> {
    let is = |target: &Target| {
        let [one, other] = target.sides.each_ref().map(|side| {
            let module = target.modules.get(side.code.module).map_or("", |module| &module.name);
            sites.sides_at(module, side.code.offset.0)
        });
        (one[0] && other[1]) || (one[1] && other[0])
    };
    let mut targets: Vec<Target> = nominated.targets.into_iter().filter(is).collect();
    targets.sort_by_key(|target| target.rank);
    targets
}

/// Whether a target says that nothing ordered its sides in the watched run.
fn unordered(target: &Target) -> bool {
    target.rank == Rank::Unordered
}
