//! Pairs that other analyses tell, found again in the run so that they become targets too.
//!
//! A pair of classes is one pair of the nomination, shown by two of its accesses; what another analysis predicts may be two
//! others of the same classes, the only ones that can meet, or a pair that found no room. So a told pair is made of exactly the
//! two accesses that were told. They are named as witnesses name them: an event of each thread, counted from 0 as the trace has
//! them.
//!
//! Invariants: a pair is kept only if its accesses conflict, as everywhere; nothing is done for a thread without told events.
//! Cost: a look into a map for each event of a run with told pairs, none without.

use std::collections::VecDeque;

use deadheat_core::ids::ThreadId;
use deadheat_core::rule::conflicts;
use rustc_hash::FxHashMap;

use super::class::Classes;
use super::pairs::{Instance, Pair};
use super::target::Rank;
use crate::clock::blocks::Blocks;

/// The two accesses of a pair that another analysis tells: of each its thread and its number among the events of that
/// thread, from 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Told {
    /// The accesses, in whatever order.
    pub events: [(ThreadId, u64); 2],
}

/// An access that was told, when the run has come to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    pub(super) instance: Instance,
    /// Its thread's slot and clock then.
    pub(super) slot: u32,
    pub(super) clock: u32,
}

/// How far a thread is, and its told events that are still to come: with the number of the pair of each.
#[derive(Debug, Default)]
struct Coming {
    done: u64,
    events: VecDeque<(u64, u32)>,
}

/// All told pairs of a run.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    threads: FxHashMap<ThreadId, Coming>,
    /// The pairs that the present event is one of.
    due: Vec<u32>,
    /// The first access of each pair, once the run has come to it.
    first: Vec<Option<Seen>>,
    /// Those that are whole, each with its number among those that were told.
    pub(super) all: Vec<(Pair, u32)>,
}

impl Pairs {
    pub(super) fn new(told: &[Told]) -> Self {
        let mut threads: FxHashMap<ThreadId, Coming> = FxHashMap::default();
        for (pair, number) in told.iter().zip(0..) {
            for (thread, event) in pair.events {
                threads.entry(thread).or_default().events.push_back((event, number));
            }
        }
        threads.values_mut().for_each(|coming| coming.events.make_contiguous().sort_unstable());
        Self { threads, first: vec![None; told.len()], ..Self::default() }
    }

    /// A thread comes to its next event.
    #[inline]
    pub(super) fn comes(&mut self, thread: ThreadId) {
        if !self.threads.is_empty() {
            self.look(thread);
        }
    }

    fn look(&mut self, thread: ThreadId) {
        self.due.clear();
        let Some(coming) = self.threads.get_mut(&thread) else { return };
        while let Some(&(event, number)) = coming.events.front()
            && event == coming.done
        {
            self.due.push(number);
            coming.events.pop_front();
        }
        coming.done += 1;
    }

    /// Whether the present event was told.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// The present event makes this access; `ordered` says whether its thread has seen an earlier one.
    pub(super) fn take(
        &mut self,
        now: Seen,
        ordered: impl Fn(&Seen) -> bool,
        (classes, blocks): (&Classes, &Blocks),
    ) {
        for number in std::mem::take(&mut self.due) {
            let Some(earlier) = self.first[number as usize].take() else {
                self.first[number as usize] = Some(now);
                continue;
            };
            let rank = if ordered(&earlier) { Rank::Predicted } else { Rank::Unordered };
            let pair = pair([earlier.instance, now.instance], rank, (classes, blocks));
            self.all.extend(pair.map(|pair| (pair, number)));
        }
    }
}

/// Two accesses as a pair, if they conflict at places that are known.
fn pair(sides: [Instance; 2], rank: Rank, (classes, blocks): (&Classes, &Blocks)) -> Option<Pair> {
    let [one, other] = sides.map(|side| {
        let class = classes.entries[side.class as usize].class;
        (class, class.how.access(side.address, side.size))
    });
    let atomic = [&one, &other].map(|(_, access)| access.atomic.is_some());
    let known = [&one, &other].iter().all(|(class, _)| class.place != deadheat_core::ids::PlaceId::UNKNOWN);
    if !known || !conflicts(one.1.mode, atomic[0], other.1.mode, atomic[1]) {
        return None;
    }
    let (start, end) = (one.1.address.max(other.1.address), one.1.end().min(other.1.end()));
    let address = blocks.first_not_benign(start, end)?;
    Some(Pair { sides, address, block: blocks.around(address), rank })
}
