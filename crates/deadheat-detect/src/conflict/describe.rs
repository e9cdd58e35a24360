//! Algorithm 2: from an access to the shortest descriptor that selects it.

use deadheat_core::ids::PlaceId;
use rustc_hash::FxHashMap;

use super::class::Classes;
use super::pairs::Instance;
use super::target::{Calls, Descriptor};

/// The stacks of one spot are compared if they have at most so many call sites together.
const CALLS_MAX: usize = 1 << 22;
/// The stacks of many spots are kept at hand if they have at most so many call sites together.
const CALLS_AT_HAND: usize = 1 << 22;

/// The stacks of a spot, sorted, each with its counter; `None` if they are too many.
type Stacks = Option<Vec<(Vec<PlaceId>, u32)>>;

/// Makes descriptors.
pub(super) struct Describer<'a> {
    classes: &'a Classes,
    calls: &'a dyn Calls,
    at_hand: FxHashMap<u32, Stacks>,
    size: usize,
}

impl<'a> Describer<'a> {
    pub(super) fn new(classes: &'a Classes, calls: &'a dyn Calls) -> Self {
        Self { classes, calls, at_hand: FxHashMap::default(), size: 0 }
    }

    /// The descriptor of an access; `None` if its ordinal cannot be told with certainty.
    pub(super) fn describe(&mut self, access: &Instance) -> Option<Descriptor> {
        let entry = self.classes.entries[access.class as usize];
        let (thread, place) = (self.classes.thread(&entry.class), entry.class.place);
        let only_thread = self.classes.is_shared(place);
        if self.classes.spot_of(entry.spot).counters.len() == 1 {
            let calls = Vec::new();
            return Some(Descriptor { thread, only_thread, place, calls, ordinal: access.ordinal });
        }
        let classes = self.classes;
        let stacks = self.stacks(entry.spot)?;
        let mine = &stacks.iter().find(|(_, counter)| *counter == entry.counter)?.0;
        // The stacks that the whole of mine selects: itself, and those that end with it, if the
        // thread's first function was called again. They follow each other.
        let first = stacks.partition_point(|(calls, _)| calls < mine);
        let count = stacks[first..].iter().take_while(|(calls, _)| calls.starts_with(mine)).count();
        let selected = &stacks[first..first + count];
        let neighbours = [first.checked_sub(1), Some(first + count)];
        let others = neighbours.into_iter().flatten().filter_map(|index| stacks.get(index));
        let depth = others.map(|(calls, _)| 1 + alike(calls, mine)).max().unwrap_or(0);
        let mut ordinal = access.ordinal;
        for &(_, counter) in selected.iter().filter(|(_, counter)| *counter != entry.counter) {
            ordinal += classes.before(entry.spot, counter, access.at)?;
        }
        Some(Descriptor { thread, only_thread, place, calls: mine[..depth].to_vec(), ordinal })
    }

    fn stacks(&mut self, spot: u32) -> Option<&Vec<(Vec<PlaceId>, u32)>> {
        if !self.at_hand.contains_key(&spot) {
            let stacks = self.sorted(spot);
            let size = stacks.iter().flatten().map(|(calls, _)| calls.len() + 4).sum::<usize>();
            if self.size + size > CALLS_AT_HAND {
                self.at_hand.clear();
                self.size = 0;
            }
            self.size += size;
            self.at_hand.insert(spot, stacks);
        }
        self.at_hand.get(&spot)?.as_ref()
    }

    fn sorted(&self, spot: u32) -> Stacks {
        let mut size = 0;
        let mut stacks = Vec::new();
        for &counter in &self.classes.spot_of(spot).counters {
            let calls = self.calls.calls(self.classes.stack_of(counter));
            size += calls.len();
            if size > CALLS_MAX {
                return None;
            }
            stacks.push((calls, counter));
        }
        stacks.sort_unstable();
        Some(stacks)
    }
}

/// How many call sites at the top of two stacks are the same.
fn alike(one: &[PlaceId], other: &[PlaceId]) -> usize {
    one.iter().zip(other).take_while(|(one, other)| one == other).count()
}
