//! Statement 1 of RaceHunter, by brute force: descriptors ⟨U, B, I, S, N⟩ are unique within a run
//! and equal over re-runs. Algorithm 2 stands here as it is written, over all accesses of a run.

use std::collections::BTreeMap;
use std::fmt::Debug;

/// An access of a run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Made<P> {
    /// The spawn path of its thread, as text.
    pub(crate) thread: String,
    /// Its code address.
    pub(crate) place: P,
    /// The call sites above it, the last call first.
    pub(crate) calls: Vec<P>,
}

/// A descriptor with the spawn path in place of a number of this run.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Told<P> {
    pub(crate) thread: String,
    pub(crate) only_thread: bool,
    pub(crate) place: P,
    pub(crate) calls: Vec<P>,
    pub(crate) ordinal: u64,
}

/// Algorithm 2.
pub(crate) fn describe<P: Clone + Eq>(run: &[Made<P>], index: usize) -> Told<P> {
    let Made { thread, place, calls } = &run[index];
    let by_place = || run.iter().enumerate().filter(|(_, other)| other.place == *place);
    let only_thread = by_place().any(|(_, other)| other.thread != *thread);
    let own = || by_place().filter(|(_, other)| other.thread == *thread);
    let selects = |top: &[P]| own().map(|(_, other)| other.calls.starts_with(top)).collect::<Vec<_>>();
    let tells = |&depth: &usize| selects(&calls[..depth]) == selects(calls);
    let depth = (0..=calls.len()).find(tells).unwrap_or(calls.len());
    let top = &calls[..depth];
    let before = own().filter(|(at, other)| *at < index && other.calls.starts_with(top)).count();
    Told {
        thread: thread.clone(),
        only_thread,
        place: place.clone(),
        calls: top.to_vec(),
        ordinal: before as u64 + 1,
    }
}

/// What a re-run stops at for a descriptor: each thread counts the accesses that match.
pub(crate) fn selected<P: Eq>(run: &[Made<P>], told: &Told<P>) -> Vec<usize> {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    let mut stops = Vec::new();
    for (index, access) in run.iter().enumerate() {
        let matches = (!told.only_thread || access.thread == told.thread)
            && access.place == told.place
            && access.calls.starts_with(&told.calls);
        if matches {
            let count = counts.entry(&access.thread).or_default();
            *count += 1;
            stops.extend((*count == told.ordinal).then_some(index));
        }
    }
    stops
}

/// The descriptors of all accesses of a run, by thread and ordinal within the thread. Each selects
/// its own access and no other.
pub(crate) fn descriptors<P: Clone + Eq + Debug>(run: &[Made<P>]) -> BTreeMap<(String, usize), Told<P>> {
    let mut lengths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut all = BTreeMap::new();
    for (index, access) in run.iter().enumerate() {
        let told = describe(run, index);
        assert_eq!(selected(run, &told), [index], "{told:?}");
        let length = lengths.entry(&access.thread).or_default();
        all.insert((access.thread.clone(), *length), told);
        *length += 1;
    }
    all
}
