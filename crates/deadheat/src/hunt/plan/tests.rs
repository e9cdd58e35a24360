//! What is tried in which run, for how long, and how often.

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
    assert_eq!(sizes[..5], [(0, 32, false), (0, 8, false), (1, 16, false), (1, 16, false), (1, 8, false)]);
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

/// Targets of two threads, with these delays by a witness.
fn predicted(delays: &[Delay]) -> Vec<Target> {
    let mut targets = apart(delays.len() as u64, Rank::Predicted);
    for (target, delay) in targets.iter_mut().zip(delays) {
        target.delay = Some(*delay);
        target.by = vec!["sync-preserving".into()];
        target.sides[1].thread = "main/2".into();
    }
    targets
}

#[test]
fn the_evidence_says_what_comes_first() {
    let mut targets = apart(6, Rank::NoCommonLock);
    targets[1].rank = Rank::CommonLock;
    targets[2].rank = Rank::CommonLock;
    targets[2].by.push("lockset".into());
    targets[3].by.push("lockset".into());
    targets[4].rank = Rank::Predicted;
    targets[5].rank = Rank::Unordered;
    let mut scheduler = scheduler(&targets);
    assert_eq!(taken(&scheduler.next().expect("a batch")), [5, 4, 2, 3, 0, 1]);
    let suspected = scheduler.counts().nominated["lockset"];
    assert_eq!((suspected, scheduler.counts().nominated["conflict"]), ((2, 0), (6, 0)));
}

#[test]
fn a_witness_says_who_waits_at_first_and_every_other_try() {
    let hint = Delay { side: 1, turn: 3 };
    let mut scheduler = scheduler(&predicted(&[hint]));
    let mut tried = Vec::new();
    while let Some(batch) = scheduler.next() {
        assert!(batch.tries[0].bound >= LEAST_PREDICTED);
        tried.push(batch.tries[0].delay);
        answer(&mut scheduler, &batch, Verdict::None);
    }
    assert_eq!(tried, [Some(hint), None, Some(hint), None]);
}

#[test]
fn what_a_run_says_of_who_waits_comes_before_the_witness() {
    let hint = Delay { side: 1, turn: 3 };
    let seen = Delay { side: 0, turn: 1 };
    let mut scheduler = scheduler(&predicted(&[hint]));
    let batch = scheduler.next().expect("a batch");
    let verdict = Verdict::Quiescent;
    scheduler.answer(batch.tries[0].target, Answer { verdict, reached: NOWHERE, delay: Some(seen) });
    assert_eq!(scheduler.next().expect("a batch").tries[0].delay, Some(seen));
}

#[test]
fn threads_that_would_wait_for_each_other_are_not_armed_together() {
    let (one, other) = (Delay { side: 0, turn: 1 }, Delay { side: 1, turn: 1 });
    let mut scheduler = scheduler(&predicted(&[one, one, other]));
    assert_eq!(taken(&scheduler.next().expect("a batch")), [0, 1]);
    assert_eq!(taken(&scheduler.next().expect("a batch")), [2]);
}
