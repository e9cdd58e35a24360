//! Drops the events of a witness that neither access needs.
//!
//! Kept is what the two threads did before their accesses, and what that needs in every order; then, as long as a lock
//! is taken that another thread holds, also that thread's events up to where it gives the lock back, and of a barrier that
//! is used whatever came to it before, and of memory the births of blocks before what is done to it: without one, reads would see
//! what was written in the life before. The order stays. That is all that [`crate::witness`] asks for, as fewer writes and
//! fewer uses of locks take nothing from what is left.

use deadheat_core::event::{LockMode, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::witness::Witness;
use rustc_hash::FxHashMap;

use super::{Step, reads};
use crate::run::{Number, Run};

/// Numbers of events of threads.
type Counts = Vec<(ThreadId, u64)>;

/// What is left of a witness.
#[derive(Debug)]
pub(super) struct Trimmed {
    pub(super) done: Counts,
    pub(super) order: Option<Counts>,
    /// Its reads and writes that set the order between threads.
    pub(super) reads: Vec<(Number, Step)>,
}

/// The witness of a race between the next events of two threads without what neither needs. `None` if it is no witness of this run.
pub(super) fn trim(run: &Run, witness: &Witness<'_>, threads: (ThreadId, ThreadId)) -> Option<Trimmed> {
    let rows: FxHashMap<ThreadId, usize> = (0..run.threads()).map(|row| (run.id(row), row)).collect();
    let mut limits = vec![0; run.threads()];
    for &(thread, done) in witness.done {
        limits[*rows.get(&thread)?] = done;
    }
    let all: Vec<u32> = (limits.iter().enumerate())
        .map(|(row, &limit)| run.row(row).partition_point(|&event| run.nth(event) < limit) as u32)
        .collect();
    let sequence = sequence(run, witness, &all, &rows)?;
    let mut cut = vec![0; run.threads()];
    for thread in [threads.0, threads.1] {
        let row = *rows.get(&thread)?;
        let access = *run.row(row).get(all[row] as usize)?;
        if run.nth(access) != limits[row] {
            return None;
        }
        run.include_past(&mut cut, access);
    }
    let locks_hold = run.sections.well_formed && close(run, &sequence, &mut cut);
    let inside = cut.iter().zip(&all).all(|(kept, all)| kept <= all);
    if !locks_hold || !inside || !in_order(run, &sequence, &cut) {
        cut = all;
    }
    let (done, order) = order(run, &sequence, (&cut, &limits));
    let reads = reads::listed(run, &sequence, &cut);
    Some(Trimmed { done, order: Some(order), reads })
}

/// Whether each event of a cut comes behind all that it needs, and a wait on a condition variable behind a signal that came while it
/// waited. Of signals the first is more than a witness has to keep: one that does with others than in the run is left as it is.
fn in_order(run: &Run, sequence: &[Number], cut: &[u32]) -> bool {
    let mut came = vec![0; cut.len()];
    // Who waits for what, and whether a signal has come since.
    let mut waiting: FxHashMap<(usize, u64), bool> = FxHashMap::default();
    sequence.iter().filter(|&&event| run.has(cut, event)).all(|&event| {
        let (row, at) = run.place(event);
        came[row] = at + 1;
        let reached = step(run, &mut waiting, event);
        reached && run.sources(event).iter().all(|&source| run.has(&came, source))
    })
}

/// Plays one event for those who wait on condition variables; `false` if it ends a wait that a signal ended in the run and none has
/// ended here.
fn step(run: &Run, waiting: &mut FxHashMap<(usize, u64), bool>, event: Number) -> bool {
    let (row, _) = run.place(event);
    let op = run.event(event).op;
    if let Op::Await { object, .. } = op {
        waiting.insert((row, object), false);
    } else if let Op::Signal { object, kind: SyncKind::Condition | SyncKind::ConditionAll } = op {
        waiting.iter_mut().filter(|((_, on), _)| *on == object).for_each(|(_, reached)| *reached = true);
    } else if let Op::Wait { object, kind: SyncKind::Condition | SyncKind::ConditionAll, .. } = op {
        let is_signal = |&source: &Number| matches!(run.event(source).op, Op::Signal { .. });
        let reached = waiting.remove(&(row, object)).unwrap_or(false);
        return reached || !run.sources(event).iter().any(is_signal);
    }
    true
}

/// The events of a cut in the order of a witness.
fn sequence(
    run: &Run,
    witness: &Witness<'_>,
    all: &[u32],
    rows: &FxHashMap<ThreadId, usize>,
) -> Option<Vec<Number>> {
    let Some(order) = witness.order else {
        return Some((0..run.len() as Number).filter(|&number| run.has(all, number)).collect());
    };
    let mut counts = vec![0; run.threads()];
    let mut next = vec![0; run.threads()];
    let mut sequence = Vec::new();
    for &(thread, events) in order {
        let row = *rows.get(&thread)?;
        counts[row] += events;
        let own = run.row(row);
        while next[row] < all[row] as usize && run.nth(own[next[row]]) < counts[row] {
            sequence.push(own[next[row]]);
            next[row] += 1;
        }
    }
    next.iter().zip(all).all(|(&came, &all)| came == all as usize).then_some(sequence)
}

/// Takes into a cut the ends of sections that others wait for, of barriers all that came before, and of memory the births; whether
/// each lock is free then when it is taken.
fn close(run: &Run, sequence: &[Number], cut: &mut [u32]) -> bool {
    loop {
        let mut wanted: Vec<Number> = Vec::new();
        let mut holders: FxHashMap<u64, Vec<u32>> = FxHashMap::default();
        let mut absent: FxHashMap<u64, Vec<Number>> = FxHashMap::default();
        let mut unborn: FxHashMap<usize, Vec<Number>> = FxHashMap::default();
        for &event in sequence {
            let is_birth = matches!(run.event(event).op, Op::Alloc { .. });
            if run.has(cut, event) {
                let births = run.cells_of(event).filter_map(|cell| unborn.remove(&cell));
                wanted.extend(births.flatten());
            } else if is_birth {
                run.cells_of(event).for_each(|cell| unborn.entry(cell).or_default().push(event));
            }
            if let Op::Arrive { barrier, .. } | Op::Leave { barrier } = run.event(event).op {
                let absent = absent.entry(barrier).or_default();
                if run.has(cut, event) { wanted.append(absent) } else { absent.push(event) }
            }
            if !run.has(cut, event) {
                continue;
            }
            let Some(section) = run.section(event) else { continue };
            let of = run.sections.all[section as usize];
            let holders = holders.entry(of.address).or_default();
            if of.taken != event {
                holders.retain(|&holder| holder != section);
                continue;
            }
            for holder in holders.extract_if(.., |holder| excludes(run, *holder, section)) {
                match run.sections.all[holder as usize].given {
                    Some(given) if !run.has(cut, given) => wanted.push(given),
                    _ => return false,
                }
            }
            holders.push(section);
        }
        if wanted.is_empty() {
            return true;
        }
        wanted.into_iter().for_each(|event| run.include(cut, event));
    }
}

/// Whether two sections on the lock of one address cannot be at the same time.
fn excludes(run: &Run, one: u32, other: u32) -> bool {
    [one, other].iter().any(|&section| run.sections.all[section as usize].mode == LockMode::Write)
}

/// By thread how many events are done in a cut, and in which order. A thread's events that do not matter for orders come with
/// the next one of it that does.
fn order(run: &Run, sequence: &[Number], (cut, limits): (&[u32], &[u64])) -> (Counts, Counts) {
    let mut counts = vec![0; run.threads()];
    let mut order = Counts::new();
    let mut advance = |row: usize, to: u64| {
        let count = to - std::mem::replace(&mut counts[row], to);
        match order.last_mut() {
            Some((last, so_far)) if *last == run.id(row) => *so_far += count,
            _ if count > 0 => order.push((run.id(row), count)),
            _ => {}
        }
    };
    for &event in sequence.iter().filter(|&&event| run.has(cut, event)) {
        let (row, _) = run.place(event);
        advance(row, run.done(event).min(limits[row]));
    }
    // What stands before an access and does not matter for orders.
    for (row, &limit) in limits.iter().enumerate() {
        let next = run.row(row).get(cut[row] as usize);
        if next.is_some_and(|&next| run.nth(next) == limit) {
            advance(row, limit);
        }
    }
    let done = counts.iter().enumerate().filter(|&(_, &count)| count > 0);
    (done.map(|(row, &count)| (run.id(row), count)).collect(), order)
}
