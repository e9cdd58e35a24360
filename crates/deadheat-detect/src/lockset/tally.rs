//! What was told, and how often the variables of each race were accessed holding which locks.
//!
//! Races of the same two places, stacks and ways of accessing are counted together: that is one mistake, whatever
//! the number of variables that it spoils.

use deadheat_core::ids::{PlaceId, StackId};
use deadheat_core::race::{Guarded, Guards, LockSets, Race, RaceSink};
use rustc_hash::FxHashMap;

use super::records::NONE;
use super::sites::Site;

/// The most races that are counted apart; of later ones nothing is counted.
const MOST: usize = 1 << 16;
/// The most ways of holding locks that are counted apart for one race.
const MOST_WAYS: usize = 1 << 10;

/// Where and how, of both sides.
type Key = [(PlaceId, StackId, u32); 2];

/// The races.
#[derive(Debug, Default)]
pub(crate) struct Told {
    races: Vec<Count>,
    index: FxHashMap<Key, u32>,
}

#[derive(Debug)]
struct Count {
    race: Race,
    accesses: u64,
    held: Vec<Guarded>,
}

impl Told {
    /// The number of a race that is told; [`NONE`] if there are too many.
    pub(crate) fn number(&mut self, earlier: &Site, later: &Site, race: Race) -> u32 {
        let key = [earlier, later].map(|site| (site.place, site.stack, site.how.0));
        if let Some(&known) = self.index.get(&key) {
            return known;
        }
        if self.races.len() >= MOST {
            return NONE;
        }
        let number = self.races.len() as u32;
        self.races.push(Count { race, accesses: 0, held: Vec::new() });
        self.index.insert(key, number);
        number
    }

    /// So many more accesses to a variable of a race, and what those of them held that held a lock.
    pub(crate) fn count(&mut self, number: u32, accesses: u64, list: impl Iterator<Item = Guarded>) {
        let count = &mut self.races[number as usize];
        count.accesses += accesses;
        list.for_each(|way| count_way(&mut count.held, way, MOST_WAYS));
    }

    /// Tells the counts.
    pub(crate) fn tell(&self, sink: &mut dyn RaceSink, locks: &dyn LockSets) {
        for Count { race, accesses, held } in &self.races {
            sink.guards(race, &Guards { accesses: *accesses, held }, locks);
        }
    }

    /// The bytes that it takes, about.
    pub(crate) fn memory(&self) -> usize {
        self.races.capacity() * (size_of::<Count>() + size_of::<(Key, u32)>())
    }
}

/// Counts accesses in a list of at most so many ways.
fn count_way(list: &mut Vec<Guarded>, new: Guarded, most: usize) {
    let way = |held: &Guarded| (held.thread, held.locks, held.writes);
    match list.iter().position(|held| way(held) == way(&new)) {
        Some(index) => {
            list[index].count += new.count;
            // Who accesses again is found sooner.
            list.swap(index, index / 2);
        }
        None if list.len() < most => list.push(new),
        None => {}
    }
}
