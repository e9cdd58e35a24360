//! Which targets are tried in which run, how long each side waits, and when a target is given up.
//!
//! Pure: knows nothing of processes, files or time but durations. Follows 1.6.3 to 1.6.7 of the
//! project's algorithms. Departures: a group is told apart by the race
//! that a meeting proves too, so that a library's code called from two places is two groups; pairs
//! that something ordered in the watched run are tried less often, since most of them are ordered
//! in every run; a second wait may last as long as any, rather than twice the first; targets that are armed
//! together share that time; and a thread that was held with a lock for which the other waited lets the other
//! come first the next time. What waits are measured by (m) is how long the program runs now, beside other runs.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use deadheat_core::gate::MAX_TARGETS;

use super::targets::{Rank, Target};
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
    codes: [u32; 2],
    /// Tries that count.
    tries: u32,
    busy: u32,
    flying: bool,
    reached: Option<[Duration; 2]>,
    delay: Option<Delay>,
    last: Option<Verdict>,
    /// The sides that were not there in the latest run, if the target was lost in it.
    loose: [bool; 2],
}

/// Targets that share a race.
#[derive(Clone, Copy, Debug, Default)]
struct Group {
    proved: bool,
    misses: u32,
    members: usize,
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
        let codes = target.codes().map(|code| {
            let next = self.codes.len() as u32;
            *self.codes.entry(code).or_insert(next)
        });
        self.index.insert(target.id.clone(), self.rows.len());
        self.rows.push(Row {
            group,
            round: self.groups[group].members,
            rank: if self.ranked { target.rank } else { Rank::Unordered },
            codes,
            tries: 0,
            busy: 0,
            flying: false,
            reached: None,
            delay: None,
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
            (late, row.tries, row.rank, row.round, self.shuffle(index), index)
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
        for &index in due {
            let row = &self.rows[index];
            if taken.len() < room
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
            if taken.len() < room.min(FEW) && !was_busy && groups.insert(row.group) {
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
        bound.min(cap)
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
        if answer.verdict != Verdict::Undecided {
            row.delay = answer.delay;
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
mod tests {
    use super::super::targets::tests::target;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const NOWHERE: [Option<Duration>; 2] = [None, None];

    fn scheduler(targets: &[Target]) -> Scheduler {
        let mut scheduler = Scheduler::new(SECOND, TRIES, 0);
        assert!(targets.iter().all(|target| scheduler.add(target)));
        scheduler
    }

    fn answer(scheduler: &mut Scheduler, batch: &Batch, verdict: Verdict) {
        for one in &batch.tries {
            scheduler.answer(one.target, Answer { verdict, reached: NOWHERE, delay: None });
        }
    }

    fn taken(batch: &Batch) -> Vec<usize> {
        batch.tries.iter().map(|one| one.target).collect()
    }

    /// `count` targets with places of their own, each a group.
    fn apart(count: u64, rank: Rank) -> Vec<Target> {
        (0..count).map(|k| target(&format!("dh-{k}"), rank, [2 * k, 2 * k + 1], 1)).collect()
    }

    #[test]
    fn many_are_armed_at_first_fewer_then_and_one_at_last() {
        let mut scheduler = scheduler(&apart(40, Rank::Unordered));
        let mut sizes = Vec::new();
        while let Some(batch) = scheduler.next() {
            sizes.push((batch.number, batch.tries.len(), batch.anybody));
            answer(&mut scheduler, &batch, Verdict::None);
        }
        assert_eq!(
            sizes[..5],
            [(0, 32, false), (0, 8, false), (1, 16, false), (1, 16, false), (1, 8, false)]
        );
        assert_eq!(sizes[5..45], [(2, 1, false); 40]);
        assert_eq!(sizes[45..], [(3, 1, true); 40]);
        let counts = scheduler.counts();
        assert_eq!((counts.missed, counts.untried, counts.runs_left), (40, 0, 0));
        assert_eq!(counts.verdicts[&Verdict::None], 40);
    }

    #[test]
    fn what_is_in_flight_is_not_given_out_again() {
        let mut scheduler = scheduler(&apart(33, Rank::Unordered));
        let one = scheduler.next().expect("32");
        let other = scheduler.next().expect("1");
        assert_eq!((one.tries.len(), other.tries.len()), (32, 1));
        assert_eq!(scheduler.next(), None);
        answer(&mut scheduler, &other, Verdict::Undecided);
        assert_eq!(scheduler.next().map(|batch| (batch.number, taken(&batch))), Some((0, taken(&other))));
    }

    #[test]
    fn likelier_ranks_and_first_members_come_first() {
        let mut targets = apart(2, Rank::CommonLock);
        targets.push(target("dh-7", Rank::Unordered, [70, 71], 1));
        targets.push(target("dh-7", Rank::Unordered, [70, 71], 2));
        targets.push(target("dh-8", Rank::NoCommonLock, [80, 81], 1));
        let mut scheduler = scheduler(&targets);
        let first = scheduler.next().expect("a batch");
        assert_eq!(taken(&first), [2, 4, 0, 1], "one of a group, ranks in order");
        assert_eq!(taken(&scheduler.next().expect("a batch")), [3]);
    }

    #[test]
    fn shared_code_goes_to_different_runs_unless_nothing_else_is_left() {
        let mut targets = apart(10, Rank::Unordered);
        let shared = |k: u64| target(&format!("dh-s{k}"), Rank::Unordered, [500, 600 + k], 1);
        targets.extend((0..6).map(shared));
        let mut scheduler = scheduler(&targets);
        assert_eq!(taken(&scheduler.next().expect("a batch")), (0..11).collect::<Vec<_>>());
        assert_eq!(taken(&scheduler.next().expect("a batch")), [11, 12, 13, 14]);
        assert_eq!(taken(&scheduler.next().expect("a batch")), [15]);
    }

    #[test]
    fn a_proof_spares_the_rest_of_its_group() {
        let same = |ordinal| target("dh-1", Rank::Unordered, [1, 2], ordinal);
        let mut scheduler = scheduler(&[same(1), same(2), same(3)]);
        let batch = scheduler.next().expect("a batch");
        assert_eq!(taken(&batch), [0]);
        answer(&mut scheduler, &batch, Verdict::Race);
        assert_eq!(scheduler.next(), None);
        let counts = scheduler.counts();
        assert_eq!((counts.pairs, counts.proved, counts.spared, counts.runs_left), (1, 1, 2, 0));
    }

    #[test]
    fn a_group_that_missed_thrice_goes_last() {
        let mut targets: Vec<_> = (1..=4).map(|k| target("dh-1", Rank::Unordered, [1, 2], k)).collect();
        targets.extend((1..=6).map(|k| target("dh-2", Rank::CommonLock, [1, 3], k)));
        let mut scheduler = scheduler(&targets);
        for _ in 0..3 {
            let batch = scheduler.next().expect("a batch");
            assert!(batch.tries[0].target < 4);
            for one in &batch.tries {
                let verdict = if one.target < 4 { Verdict::None } else { Verdict::Undecided };
                scheduler.answer(one.target, Answer { verdict, reached: NOWHERE, delay: None });
            }
        }
        assert_eq!(scheduler.next().expect("a batch").tries[0].target, 4);
    }

    #[test]
    fn busy_is_no_try_but_not_for_ever() {
        let mut scheduler = scheduler(&apart(1, Rank::CommonLock));
        let mut runs = 0;
        while let Some(batch) = scheduler.next() {
            answer(&mut scheduler, &batch, Verdict::Busy);
            runs += 1;
        }
        assert_eq!(runs, MOST_BUSY + TRIES / 2);
        assert_eq!(scheduler.last(&target("dh-0", Rank::CommonLock, [0, 1], 1).id), Some(Verdict::Busy));
    }

    #[test]
    fn waits_grow_and_follow_what_was_measured() {
        let mut scheduler = scheduler(&apart(1, Rank::Unordered));
        let ms = Duration::from_millis;
        let mut bounds = Vec::new();
        while let Some(batch) = scheduler.next() {
            bounds.push(batch.tries[0].bound);
            answer(&mut scheduler, &batch, Verdict::None);
        }
        assert_eq!(bounds, [ms(250), ms(1500), ms(1500), ms(1500)]);
        for (verdict, bound) in [(Verdict::Moved, 350), (Verdict::None, 1500)] {
            let mut measured = Scheduler::new(SECOND, TRIES, 0);
            measured.add(&apart(1, Rank::Unordered)[0]);
            let batch = measured.next().expect("a batch");
            let reached = [Some(ms(300)), Some(ms(100))];
            measured.answer(batch.tries[0].target, Answer { verdict, reached, delay: None });
            assert_eq!(measured.next().expect("a batch").tries[0].bound, ms(bound));
        }
        let mut slowed = Scheduler::new(SECOND, TRIES, 0);
        slowed.add(&apart(1, Rank::Unordered)[0]);
        slowed.lasted(ms(60_000));
        slowed.lasted(ms(2000));
        assert_eq!(slowed.next().expect("a batch").tries[0].bound, ms(500));
        let mut tiny = Scheduler::new(ms(2), TRIES, 0);
        tiny.add(&apart(1, Rank::Unordered)[0]);
        assert_eq!(tiny.next().expect("a batch").tries[0].bound, ms(50));
    }

    #[test]
    fn many_targets_share_the_time_of_a_run() {
        let mut scheduler = scheduler(&apart(32, Rank::Unordered));
        let mut waits = Vec::new();
        while let Some(batch) = scheduler.next() {
            waits.push((batch.tries.len(), batch.tries[0].bound.as_millis()));
            answer(&mut scheduler, &batch, Verdict::None);
        }
        assert_eq!(waits[..4], [(32, 50), (16, 375), (16, 375), (1, 1500)]);
    }

    #[test]
    fn a_critical_section_that_was_waited_for_is_not_tried_again() {
        for (verdict, runs) in [(Verdict::Quiescent, 1), (Verdict::None, 2)] {
            let mut scheduler = scheduler(&apart(1, Rank::CommonLock));
            let mut made = 0;
            while let Some(batch) = scheduler.next() {
                assert!(!batch.anybody);
                answer(&mut scheduler, &batch, verdict);
                made += 1;
            }
            assert_eq!((made, scheduler.counts().missed), (runs, 1));
        }
    }

    #[test]
    fn the_side_that_held_a_lock_the_other_wanted_comes_second_next_time() {
        let mut scheduler = scheduler(&apart(1, Rank::NoCommonLock));
        let mut delays = Vec::new();
        for side in [1, 0, 1] {
            let batch = scheduler.next().expect("a batch");
            delays.push(batch.tries[0].delay.map(|delay| delay.side));
            let delay = Some(Delay { side, turn: 2 });
            scheduler.answer(0, Answer { verdict: Verdict::Quiescent, reached: NOWHERE, delay });
        }
        assert_eq!((delays, scheduler.next()), (vec![None, Some(1), Some(0)], None));
    }

    #[test]
    fn those_that_were_in_each_others_way_are_armed_apart_next() {
        let sharing = [[1, 2], [1, 3], [2, 3]];
        let all = sharing.iter().enumerate();
        let all: Vec<Target> =
            all.map(|(k, codes)| target(&format!("dh-{k}"), Rank::Unordered, *codes, 1)).collect();
        let mut scheduler = scheduler(&all);
        let batch = scheduler.next().expect("a batch");
        assert_eq!(taken(&batch).len(), 3);
        for one in &batch.tries {
            let verdict = if one.target == 0 { Verdict::Race } else { Verdict::Busy };
            scheduler.answer(one.target, Answer { verdict, reached: NOWHERE, delay: None });
        }
        let batches = [scheduler.next(), scheduler.next()];
        assert_eq!(batches.map(|batch| taken(&batch.expect("a batch"))), [vec![1], vec![2]]);
    }

    #[test]
    fn a_side_that_was_not_there_is_matched_loosely_next() {
        let mut scheduler = scheduler(&apart(1, Rank::Unordered));
        let reached = [Some(SECOND), None];
        for (verdict, loose) in [(Verdict::None, [false; 2]), (Verdict::Lost, [false, true])] {
            let batch = scheduler.next().expect("a batch");
            assert_eq!(batch.tries[0].loose, [false; 2]);
            scheduler.answer(batch.tries[0].target, Answer { verdict, reached, delay: None });
            let next = scheduler.rows[0].loose;
            assert_eq!(next, loose, "{verdict:?}");
        }
        assert_eq!(scheduler.next().expect("a batch").tries[0].loose, [false, true]);
    }

    #[test]
    fn a_seed_shuffles_equals_only() {
        let mut targets = apart(60, Rank::Unordered);
        targets.extend(apart(90, Rank::CommonLock).split_off(60));
        let order = |seed| {
            let mut scheduler = Scheduler::new(SECOND, TRIES, seed);
            targets.iter().for_each(|target| assert!(scheduler.add(target)));
            taken(&scheduler.next().expect("a batch"))
        };
        assert_eq!(order(5), order(5));
        assert_ne!(order(5), order(6));
        assert!(order(5).iter().all(|&target| target < 60));
        let mut unranked = Scheduler::new(SECOND, TRIES, 5).without_ranks();
        targets.iter().for_each(|target| assert!(unranked.add(target)));
        assert!(taken(&unranked.next().expect("a batch")).iter().any(|&target| target >= 60));
    }
}
