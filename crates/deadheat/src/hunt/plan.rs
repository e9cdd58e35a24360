//! Which targets are tried in which run, how long each side waits, and when a target is given up.
//!
//! Pure: knows nothing of processes, files or time but durations. Follows 1.6.3 to 1.6.7 of the
//! project's algorithms. Departures: a group is told apart by the race
//! that a meeting proves too, so that a library's code called from two places is two groups; pairs
//! that something ordered in the watched run are tried less often, since most of them are ordered
//! in every run; a second wait may last as long as any, rather than twice the first; targets that are armed
//! together share that time; and a thread that was held with a lock for which the other waited lets the other
//! come first the next time. What waits are measured by (m) is how long the program runs now, beside other runs.
//!
//! A predicted pair begins where that ends: its witness says which side comes first, and it is waited for longer, since it can come.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::time::Duration;

use deadheat_core::gate::MAX_TARGETS;

use super::targets::{Rank, Standing, Target};
use super::turns::Delay;

/// How many targets are armed in one run, by the number of the try. Later ones are alone.
const PER_RUN: [usize; 2] = [32, 16];
/// As long as a run has fewer targets, those that share a code address may be armed together.
const FEW: usize = 4;
/// How often a target is tried that nothing ordered in the watched run.
pub(crate) const TRIES: u32 = 4;
/// After so many misses of one group its further targets go last.
const MISSES: u32 = 3;
/// How often a side may come when it cannot be held before that counts as a try.
const MOST_BUSY: u32 = 3;
/// Waiting may take so many times as long as a run (k).
const K: f64 = 1.5;
/// A run counts as at most so many times as long as the watched one.
const SLOWEST: u32 = 4;
/// The part of the run that a first wait may take.
const FIRST_WAIT: f64 = 0.25;
/// The shortest first wait, and what is added to a wait that follows a measured distance.
const SLACK: Duration = Duration::from_millis(50);
/// The least bound of all waits, for programs that run for a few milliseconds.
const LEAST_CAP: Duration = Duration::from_millis(100);
/// The shortest wait for a pair that is known to be able to meet: it ends sooner if nobody can come any more, and is
/// missed only by who is slow.
const LEAST_PREDICTED: Duration = Duration::from_millis(500);

const _: () = assert!(PER_RUN[0] <= MAX_TARGETS && PER_RUN[1] <= PER_RUN[0]);

/// What came of a target in one run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) enum Verdict {
    /// The two met: a proof.
    Race,
    /// The wait was over before the other side came.
    None,
    /// Nobody who could have come was left running.
    Quiescent,
    /// Both came, with accesses elsewhere.
    Moved,
    /// A side came when it could not be held.
    Busy,
    /// A side was never there.
    Lost,
    /// The run ended before it could be decided, by no fault of the target.
    Undecided,
}

impl Verdict {
    /// Its name in files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Verdict::Race => "race",
            Verdict::None => "none",
            Verdict::Quiescent => "quiescent",
            Verdict::Moved => "moved",
            Verdict::Busy => "busy",
            Verdict::Lost => "lost",
            Verdict::Undecided => "undecided",
        }
    }

    /// The verdict of that name.
    pub(crate) fn named(name: &str) -> Option<Verdict> {
        use Verdict::{Busy, Lost, Moved, None, Quiescent, Race, Undecided};
        [Race, None, Quiescent, Moved, Busy, Lost, Undecided].into_iter().find(|one| one.name() == name)
    }
}

/// What one run said of one target.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Answer {
    /// The verdict.
    pub(crate) verdict: Verdict,
    /// When each side's access was reached first, since the start of the run.
    pub(crate) reached: [Option<Duration>; 2],
    /// If nobody who could have come was left while a lock was held: a delay that may help.
    pub(crate) delay: Option<Delay>,
}

/// A target in the schedule.
#[derive(Clone, Debug)]
struct Row {
    group: usize,
    /// Position among the targets of its group.
    round: usize,
    rank: Rank,
    standing: Standing,
    codes: [u32; 2],
    threads: [u32; 2],
    /// Tries that count.
    tries: u32,
    busy: u32,
    flying: bool,
    reached: Option<[Duration; 2]>,
    delay: Option<Delay>,
    /// By a witness of the meeting.
    hint: Option<Delay>,
    last: Option<Verdict>,
    /// The sides that were not there in the latest run, if the target was lost in it.
    loose: [bool; 2],
}

impl Row {
    /// The thread that waits at first and the one that it waits for.
    fn waits(&self) -> Option<[u32; 2]> {
        let [one, other] = self.threads;
        self.delay.map(|delay| if delay.side == 0 { [one, other] } else { [other, one] })
    }

    /// Whether each of two threads would wait for the other, if both targets were armed.
    fn opposes(&self, other: &Row) -> bool {
        self.waits().is_some_and(|[who, whom]| other.waits() == Some([whom, who]))
    }
}

/// Targets that share a race.
#[derive(Clone, Debug, Default)]
struct Group {
    proved: bool,
    misses: u32,
    members: usize,
    /// Who nominated them.
    by: BTreeSet<String>,
}

/// One target of a batch.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Try {
    /// The target's index, in the order in which targets were added.
    pub(crate) target: usize,
    /// How long one side waits for the other.
    pub(crate) bound: Duration,
    /// The side that is not to come first.
    pub(crate) delay: Option<Delay>,
    /// The sides that were not there in the latest run: they are matched by their code alone.
    pub(crate) loose: [bool; 2],
}

/// What one run is to try.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Batch {
    /// The targets.
    pub(crate) tries: Vec<Try>,
    /// The number of the try, from 0.
    pub(crate) number: u32,
    /// Wait for the other side as long as any thread could come.
    pub(crate) anybody: bool,
}

/// How far a hunt is, in targets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Counts {
    /// Targets in all.
    pub(crate) targets: u64,
    /// Groups in all: pairs of places.
    pub(crate) pairs: u64,
    /// Groups of which a target met.
    pub(crate) proved: u64,
    /// Groups of which every target was tried as often as it is to be.
    pub(crate) missed: u64,
    /// Groups that were tried, but not as often as they are to be.
    pub(crate) under_way: u64,
    /// Groups of which no target was tried.
    pub(crate) untried: u64,
    /// Groups that did not meet though tried, by their most telling latest verdict.
    pub(crate) verdicts: BTreeMap<Verdict, u64>,
    /// Targets left out because their group was proved by another.
    pub(crate) spared: u64,
    /// Targets of which a side was not there in their latest run.
    pub(crate) lost: u64,
    /// Pairs that met though they were not nominated.
    pub(crate) beyond: u64,
    /// By who nominated: how many groups, and how many of them met.
    pub(crate) nominated: BTreeMap<String, (u64, u64)>,
    /// Runs that are left, about.
    pub(crate) runs_left: u64,
}

/// The schedule of a hunt.
#[derive(Debug)]
pub(crate) struct Scheduler {
    rows: Vec<Row>,
    index: HashMap<String, usize>,
    groups: Vec<Group>,
    group_numbers: HashMap<String, usize>,
    codes: HashMap<String, u32>,
    threads: HashMap<String, u32>,
    /// Groups that were proved though no target is of them.
    beyond: HashSet<String>,
    /// How long the watched run lasted (m).
    watched: Duration,
    /// How long the latest run lasted that came to its end, but for its waits; at least `watched`.
    lasts: Duration,
    tries: u32,
    seed: u64,
    /// Whether ranks count.
    ranked: bool,
}

impl Scheduler {
    /// An empty schedule. A seed other than 0 shuffles targets that are equally likely.
    pub(crate) fn new(watched: Duration, tries: u32, seed: u64) -> Scheduler {
        Scheduler {
            rows: Vec::new(),
            index: HashMap::new(),
            groups: Vec::new(),
            group_numbers: HashMap::new(),
            codes: HashMap::new(),
            threads: HashMap::new(),
            beyond: HashSet::new(),
            watched,
            lasts: watched,
            tries: tries.max(1),
            seed,
            ranked: true,
        }
    }

    /// The same, with all targets equally likely.
    pub(crate) fn without_ranks(self) -> Scheduler {
        // They come by rank: only shuffled are they in no order.
        Scheduler { ranked: false, seed: self.seed.max(1), ..self }
    }

    /// Adds a target, unless there is one of its id.
    pub(crate) fn add(&mut self, target: &Target) -> bool {
        if self.index.contains_key(&target.id) {
            return false;
        }
        let next = self.groups.len();
        let met = self.beyond.remove(&target.group);
        let group = *self.group_numbers.entry(target.group.clone()).or_insert(next);
        if group == next {
            self.groups.push(Group { proved: met, ..Group::default() });
        }
        self.groups[group].by.extend(target.nominators());
        let codes = target.codes().map(|code| number_of(&mut self.codes, code));
        let threads = target.sides.each_ref().map(|side| number_of(&mut self.threads, side.thread.clone()));
        let hint = target.delay.filter(|_| target.rank == Rank::Predicted);
        self.index.insert(target.id.clone(), self.rows.len());
        self.rows.push(Row {
            group,
            round: self.groups[group].members,
            rank: if self.ranked { target.rank } else { Rank::Unordered },
            standing: if self.ranked { target.standing() } else { Standing::Observed },
            codes,
            threads,
            tries: 0,
            busy: 0,
            flying: false,
            reached: None,
            delay: hint,
            hint,
            last: None,
            loose: [false; 2],
        });
        self.groups[group].members += 1;
        true
    }

    /// Whether a target of this group is there.
    pub(crate) fn has_group(&self, group: &str) -> bool {
        self.group_numbers.contains_key(group)
    }

    /// The target of that id.
    pub(crate) fn find(&self, id: &str) -> Option<usize> {
        self.index.get(id).copied()
    }

    /// How often a target is tried.
    fn most_tries(&self, row: &Row) -> u32 {
        match (row.rank, row.last) {
            (Rank::Unordered | Rank::Predicted, _) => self.tries,
            (Rank::NoCommonLock, _) => (self.tries * 3).div_ceil(4),
            // One was held in its critical section until the other wanted to enter.
            (Rank::CommonLock, Some(Verdict::Quiescent)) => row.tries.min(1),
            (Rank::CommonLock, _) => self.tries.div_ceil(2),
        }
    }

    fn is_due(&self, row: &Row) -> bool {
        !row.flying && !self.groups[row.group].proved && row.tries < self.most_tries(row)
    }

    /// The next run; `None` if nothing is left to be tried, or all of it is in flight.
    pub(crate) fn next(&mut self) -> Option<Batch> {
        let mut due: Vec<usize> =
            (0..self.rows.len()).filter(|&index| self.is_due(&self.rows[index])).collect();
        due.sort_by_cached_key(|&index| {
            let row = &self.rows[index];
            let late = self.groups[row.group].misses >= MISSES;
            (late, row.tries, row.standing, row.round, self.shuffle(index), index)
        });
        let first = &self.rows[*due.first()?];
        let (number, most) = (first.tries, self.most_tries(first));
        let room = PER_RUN.get(number as usize).copied().unwrap_or(1);
        due.retain(|&index| self.rows[index].tries == number);
        let taken = self.choose(&due, room);
        let anybody = number as usize >= PER_RUN.len() && number + 1 == most;
        let one = |&target: &usize| {
            let row = &self.rows[target];
            Try { target, bound: self.bound(row, taken.len()), delay: row.delay, loose: row.loose }
        };
        let tries = taken.iter().map(one).collect();
        taken.iter().for_each(|&target| self.rows[target].flying = true);
        Some(Batch { tries, number, anybody })
    }

    /// Takes as many as there is room for, first those whose code addresses and groups differ.
    fn choose(&self, due: &[usize], room: usize) -> Vec<usize> {
        let (mut codes, mut groups) = (HashSet::new(), HashSet::new());
        let mut taken = Vec::new();
        let opposed = |taken: &[usize], row: &Row| taken.iter().any(|&other| self.rows[other].opposes(row));
        for &index in due {
            let row = &self.rows[index];
            if taken.len() < room
                && !opposed(&taken, row)
                && !row.codes.iter().any(|code| codes.contains(code))
                && groups.insert(row.group)
            {
                codes.extend(row.codes);
                taken.push(index);
            }
        }
        // Nothing else is left: those of other groups that share an address, but for those that were in
        // each other's way before.
        for &index in due {
            let row = &self.rows[index];
            let shares = |&other: &usize| row.codes.iter().any(|code| self.rows[other].codes.contains(code));
            let was_busy =
                row.busy > 0 || taken.iter().any(|other| self.rows[*other].busy > 0 && shares(other));
            if taken.len() < room.min(FEW) && !was_busy && !opposed(&taken, row) && groups.insert(row.group) {
                taken.push(index);
            }
        }
        taken
    }

    /// A number that orders equals as the seed says.
    fn shuffle(&self, index: usize) -> u64 {
        if self.seed == 0 {
            return 0;
        }
        let mut mixed = self.seed ^ (index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb)
    }

    /// How long a side is waited for in a run with so many targets.
    fn bound(&self, row: &Row, armed: usize) -> Duration {
        let cap = self.lasts.mul_f64(K).max(LEAST_CAP);
        // First waits of all together need no longer than one that lasts as long as any.
        let share = cap.div_f64(armed as f64);
        let first = match row.reached {
            Some([one, other]) => one.abs_diff(other).mul_f64(K) + SLACK,
            None => self.lasts.mul_f64(FIRST_WAIT).min(share).max(SLACK),
        };
        let second = share.mul_f64(FEW as f64).max(SLACK);
        let bound = match (row.tries, row.reached) {
            (0, _) => first,
            (_, None) => second,
            // A side that was waited for in vain came in the end: after that long, or longer the next time.
            (1, Some(_)) if row.last == Some(Verdict::None) => first.max(second),
            (tries, Some(_)) => first.saturating_mul(1 << (tries - 1).min(16)),
        };
        let bound = bound.min(cap);
        if row.rank == Rank::Predicted { bound.max(LEAST_PREDICTED) } else { bound }
    }

    /// A run came to its end after so long, its waits left out. It may have had the machine less to itself
    /// than the watched one: then waits are to last longer, too.
    pub(crate) fn lasted(&mut self, time: Duration) {
        self.lasts = time.clamp(self.watched, self.watched * SLOWEST);
    }

    /// Takes a run's answer about a target. It is no longer in flight.
    pub(crate) fn answer(&mut self, target: usize, answer: Answer) {
        let Some(row) = self.rows.get_mut(target) else { return };
        row.flying = false;
        if let [Some(one), Some(other)] = answer.reached {
            row.reached = Some([one, other]);
        }
        let group = &mut self.groups[row.group];
        match answer.verdict {
            Verdict::Undecided => return,
            Verdict::Race => group.proved = true,
            Verdict::Busy if row.busy < MOST_BUSY => row.busy += 1,
            Verdict::Busy | Verdict::None | Verdict::Quiescent | Verdict::Moved | Verdict::Lost => {
                row.tries += 1;
                group.misses += 1;
            }
        }
        // Where the hint did not help, the next try does without.
        row.delay = answer.delay.or(row.hint.filter(|_| row.tries.is_multiple_of(2)));
        row.last = Some(answer.verdict);
        let lost = answer.verdict == Verdict::Lost;
        row.loose = answer.reached.map(|reached| lost && reached.is_none());
    }

    /// A meeting proved the race of this group, perhaps at another target than one of its own.
    pub(crate) fn prove(&mut self, group: &str) {
        match self.group_numbers.get(group) {
            Some(&number) => self.groups[number].proved = true,
            None => drop(self.beyond.insert(group.to_owned())),
        }
    }

    /// Whether the race of this group is proved.
    pub(crate) fn is_proved(&self, group: &str) -> bool {
        self.beyond.contains(group)
            || self.group_numbers.get(group).is_some_and(|&number| self.groups[number].proved)
    }

    /// How far the hunt is.
    pub(crate) fn counts(&self) -> Counts {
        let (targets, beyond) = (self.rows.len() as u64, self.beyond.len() as u64);
        let mut counts = Counts { targets, beyond, ..Counts::default() };
        let mut members: Vec<Vec<&Row>> = vec![Vec::new(); self.groups.len()];
        self.rows.iter().for_each(|row| members[row.group].push(row));
        counts.pairs = members.len() as u64;
        for (group, rows) in self.groups.iter().zip(&members) {
            for name in &group.by {
                let count = counts.nominated.entry(name.clone()).or_default();
                *count = (count.0 + 1, count.1 + u64::from(group.proved));
            }
            let told = rows.iter().filter_map(|row| row.last).max_by_key(|&verdict| telling(verdict));
            if group.proved {
                counts.proved += 1;
                counts.spared += rows.iter().filter(|row| row.last.is_none()).count() as u64;
                continue;
            }
            let over = rows.iter().all(|row| row.tries >= self.most_tries(row));
            *match (told, over) {
                (None, _) => &mut counts.untried,
                (Some(_), true) => &mut counts.missed,
                (Some(_), false) => &mut counts.under_way,
            } += 1;
            if let Some(verdict) = told {
                *counts.verdicts.entry(verdict).or_insert(0) += 1;
            }
        }
        counts.lost = self.rows.iter().filter(|row| row.last == Some(Verdict::Lost)).count() as u64;
        counts.runs_left = self.runs_left();
        counts
    }

    /// About how many runs are left, if none of them proves anything.
    fn runs_left(&self) -> u64 {
        let mut by_try: HashMap<u32, u64> = HashMap::new();
        for row in self.rows.iter().filter(|row| !self.groups[row.group].proved) {
            (row.tries..self.most_tries(row)).for_each(|number| *by_try.entry(number).or_insert(0) += 1);
        }
        let runs = |(number, count): (&u32, &u64)| {
            count.div_ceil(PER_RUN.get(*number as usize).copied().unwrap_or(1) as u64)
        };
        by_try.iter().map(runs).sum()
    }

    /// The latest verdict of a target.
    #[cfg(test)]
    fn last(&self, id: &str) -> Option<Verdict> {
        self.find(id).and_then(|index| self.rows[index].last)
    }
}

/// The number of a name, a new one if it has none yet.
fn number_of(numbers: &mut HashMap<String, u32>, name: String) -> u32 {
    let next = numbers.len() as u32;
    *numbers.entry(name).or_insert(next)
}

/// Which of a group's verdicts says most about why it did not meet.
fn telling(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Race => 6,
        Verdict::Moved => 5,
        Verdict::None => 4,
        Verdict::Quiescent => 3,
        Verdict::Lost => 2,
        Verdict::Busy => 1,
        Verdict::Undecided => 0,
    }
}

#[cfg(test)]
mod tests;
