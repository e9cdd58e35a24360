//! From pairs of classes to ranked targets (1.6.5 of the algorithms: what is most likely to meet
//! comes first).

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use super::class::Classes;
use super::describe::Describer;
use super::pairs::{Instance, Pair, Places};
use super::target::{Calls, Descriptor, Dropped, Rank, Side, Target};

/// A pair of two places: one of the nomination, or one that was told, with its number.
#[derive(Clone, Copy)]
struct Candidate<'a> {
    pair: &'a Pair,
    told: Option<u32>,
}

/// The targets of some pairs and of those that were told: of each pair of places the best few, then by rank, and within a
/// rank pairs of places that have had fewer targets first.
pub(super) fn targets(
    (pairs, told): (&[Pair], &[(Pair, u32)]),
    (classes, calls): (&Classes, &dyn Calls),
    per_places: usize,
    dropped: &mut Dropped,
) -> Vec<Target> {
    let mut groups = groups((pairs, told), classes);
    let mut describer = Describer::new(classes, calls);
    let mut targets = Vec::new();
    for (_, group) in &mut groups {
        by_worth(group, classes);
        let first = targets.len();
        let mut seen: FxHashMap<[Descriptor; 2], usize> = FxHashMap::default();
        for &Candidate { pair, told } in group.iter() {
            let taken = targets.len() - first;
            if taken == per_places {
                dropped.capped += 1;
                continue;
            }
            let Some(target) = target((pair, told), classes, &mut describer) else {
                dropped.unnumbered += 1;
                continue;
            };
            match seen.entry(descriptors(&target)) {
                Entry::Vacant(place) => {
                    place.insert(targets.len());
                    targets.push((key(&target, taken), target));
                }
                Entry::Occupied(same) => {
                    let (_, same) = &mut targets[*same.get()];
                    dropped.duplicates += u64::from(target.conflicts && same.conflicts);
                    same.conflicts |= target.conflicts;
                    same.told.extend(told);
                }
            }
        }
    }
    targets.sort_by_key(|(key, _)| *key);
    targets.into_iter().map(|(_, target)| target).collect()
}

/// The pairs of each two places. Neighbours in this order share the stacks that their descriptors are made of.
fn groups<'a>(
    (pairs, told): (&'a [Pair], &'a [(Pair, u32)]),
    classes: &Classes,
) -> Vec<(Places, Vec<Candidate<'a>>)> {
    let places = |pair: &Pair| {
        let [one, other] = pair.sides.map(|side| classes.entries[side.class as usize].class.place);
        Places::of(one, other)
    };
    let nominated = pairs.iter().map(|pair| Candidate { pair, told: None });
    let told = told.iter().map(|(pair, number)| Candidate { pair, told: Some(*number) });
    let mut groups: FxHashMap<Places, Vec<Candidate<'a>>> = FxHashMap::default();
    for candidate in nominated.chain(told) {
        groups.entry(places(candidate.pair)).or_default().push(candidate);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(places, _)| *places);
    groups
}

/// What targets are sorted by: rank, how many its places had before it, when it was seen.
fn key(target: &Target, before: usize) -> (Rank, usize, u64, u64) {
    (target.rank, before, target.sides[1].at, target.sides[0].at)
}

/// Sorts the pairs of two places: by rank, then those with two stacks that come for the first
/// time, for the second time and so on; then those that were told, then as they were seen.
fn by_worth(group: &mut Vec<Candidate<'_>>, classes: &Classes) {
    let seen = |&Candidate { pair, told }: &Candidate<'_>| {
        (told.is_none(), pair.sides[1].at, pair.sides[0].at, told)
    };
    group.sort_unstable_by_key(|candidate| (candidate.pair.rank, seen(candidate)));
    let mut times = FxHashMap::default();
    let stack = |side: Instance| classes.entries[side.class as usize].counter;
    let mut worth: Vec<_> = group
        .iter()
        .map(|&candidate| {
            let [one, other] = candidate.pair.sides.map(stack);
            let times = times.entry((candidate.pair.rank, one.min(other), one.max(other))).or_insert(0_usize);
            *times += 1;
            ((candidate.pair.rank, *times, seen(&candidate)), candidate)
        })
        .collect();
    worth.sort_unstable_by_key(|(worth, _)| *worth);
    *group = worth.into_iter().map(|(_, candidate)| candidate).collect();
}

fn target(
    (pair, told): (&Pair, Option<u32>),
    classes: &Classes,
    describer: &mut Describer<'_>,
) -> Option<Target> {
    let mut side = |access: &Instance| {
        let class = classes.entries[access.class as usize].class;
        Some(Side {
            descriptor: describer.describe(access)?,
            stack: class.stack,
            access: class.how.access(access.address, access.size),
            locks: class.locks,
            at: access.at,
        })
    };
    let sides = [side(&pair.sides[0])?, side(&pair.sides[1])?];
    let (conflicts, told) = (told.is_none(), Vec::from_iter(told));
    Some(Target { sides, address: pair.address, block: pair.block, rank: pair.rank, conflicts, told })
}

/// The two descriptors, the same whichever comes first.
fn descriptors(target: &Target) -> [Descriptor; 2] {
    let [one, other] = target.sides.each_ref().map(|side| side.descriptor.clone());
    let swap = (one.place, one.thread, one.ordinal) > (other.place, other.thread, other.ordinal);
    if swap { [other, one] } else { [one, other] }
}
