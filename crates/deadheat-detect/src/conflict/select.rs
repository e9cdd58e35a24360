//! From pairs of classes to ranked targets (1.6.5 of the algorithms: what is most likely to meet
//! comes first).

use rustc_hash::{FxHashMap, FxHashSet};

use super::class::Classes;
use super::describe::Describer;
use super::pairs::{Instance, Pair, Places};
use super::target::{Calls, Descriptor, Dropped, Rank, Side, Target};

/// The targets of some pairs: of each pair of places the best few, then by rank, and within a
/// rank pairs of places that have had fewer targets first.
pub(super) fn targets(
    (pairs, classes): (&[Pair], &Classes),
    calls: &dyn Calls,
    per_places: usize,
    dropped: &mut Dropped,
) -> Vec<Target> {
    let places = |pair: &Pair| {
        let [one, other] = pair.sides.map(|side| classes.entries[side.class as usize].class.place);
        Places::of(one, other)
    };
    let mut groups: FxHashMap<Places, Vec<&Pair>> = FxHashMap::default();
    for pair in pairs {
        groups.entry(places(pair)).or_default().push(pair);
    }
    // Neighbours in this order share the stacks that their descriptors are made of.
    let mut groups: Vec<(Places, Vec<&Pair>)> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(places, _)| *places);
    let mut describer = Describer::new(classes, calls);
    let mut targets = Vec::new();
    for (_, group) in &mut groups {
        by_worth(group, classes);
        let mut seen: FxHashSet<[Descriptor; 2]> = FxHashSet::default();
        let mut taken = 0;
        for pair in group {
            if taken == per_places {
                dropped.capped += 1;
                continue;
            }
            let Some(target) = target(pair, classes, &mut describer) else {
                dropped.unnumbered += 1;
                continue;
            };
            if !seen.insert(descriptors(&target)) {
                dropped.duplicates += 1;
                continue;
            }
            targets.push((key(&target, taken), target));
            taken += 1;
        }
    }
    targets.sort_unstable_by_key(|(key, _)| *key);
    targets.into_iter().map(|(_, target)| target).collect()
}

/// What targets are sorted by: rank, how many its places had before it, when it was seen.
fn key(target: &Target, before: usize) -> (Rank, usize, u64, u64) {
    (target.rank, before, target.sides[1].at, target.sides[0].at)
}

/// Sorts the pairs of two places: by rank, then those with two stacks that come for the first
/// time, for the second time and so on; then as they were seen.
fn by_worth(group: &mut Vec<&Pair>, classes: &Classes) {
    group.sort_unstable_by_key(|pair| (pair.rank, pair.sides[1].at, pair.sides[0].at));
    let mut times = FxHashMap::default();
    let stack = |side: Instance| classes.entries[side.class as usize].counter;
    let mut worth: Vec<_> = group
        .iter()
        .map(|&pair| {
            let [one, other] = pair.sides.map(stack);
            let times = times.entry((pair.rank, one.min(other), one.max(other))).or_insert(0_usize);
            *times += 1;
            ((pair.rank, *times, pair.sides[1].at, pair.sides[0].at), pair)
        })
        .collect();
    worth.sort_unstable_by_key(|(worth, _)| *worth);
    *group = worth.into_iter().map(|(_, pair)| pair).collect();
}

fn target(pair: &Pair, classes: &Classes, describer: &mut Describer<'_>) -> Option<Target> {
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
    Some(Target { sides, address: pair.address, block: pair.block, rank: pair.rank })
}

/// The two descriptors, the same whichever comes first.
fn descriptors(target: &Target) -> [Descriptor; 2] {
    let [one, other] = target.sides.each_ref().map(|side| side.descriptor.clone());
    let swap = (one.place, one.thread, one.ordinal) > (other.place, other.thread, other.ordinal);
    if swap { [other, one] } else { [one, other] }
}
