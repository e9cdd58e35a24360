//! Vector clocks: how far a thread, or a synchronisation object, has seen each slot's past.

use deadheat_core::rule::{Epoch, ordered};

/// For every slot the clock up to which its accesses are known; 0 where nothing is known.
#[derive(Clone, Default, Debug)]
pub struct Clock {
    seen: Vec<u32>,
}

impl Clock {
    /// How far `slot` has been seen.
    #[inline]
    #[must_use]
    pub fn get(&self, slot: u32) -> u32 {
        match self.seen.get(slot as usize) {
            Some(&clock) => clock,
            None => 0,
        }
    }

    /// Sets how far `slot` has been seen.
    pub fn set(&mut self, slot: u32, clock: u32) {
        let index = slot as usize;
        if index >= self.seen.len() {
            self.seen.resize(index + 1, 0);
        }
        self.seen[index] = clock;
    }

    /// Whether `epoch` is ordered before whoever owns this clock.
    #[inline]
    #[must_use]
    pub fn covers(&self, epoch: Epoch) -> bool {
        ordered(epoch, self.get(epoch.thread))
    }

    /// Learns everything that `other` knows.
    pub fn join(&mut self, other: &Clock) {
        self.join_slice(&other.seen);
    }

    /// For each slot, in their order, how far it has been seen; nothing of the slots behind the last.
    #[must_use]
    pub fn as_slice(&self) -> &[u32] {
        &self.seen
    }

    /// Learns what [`Self::as_slice`] of another said.
    pub fn join_slice(&mut self, other: &[u32]) {
        if other.len() > self.seen.len() {
            self.seen.resize(other.len(), 0);
        }
        for (mine, theirs) in self.seen.iter_mut().zip(other) {
            *mine = (*mine).max(*theirs);
        }
    }

    /// Forgets what it knew and takes over what `other` knows.
    pub fn assign(&mut self, other: &Clock) {
        self.seen.clone_from(&other.seen);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.seen.clear();
    }

    /// Whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// The bytes it takes on the heap.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.seen.capacity() * size_of::<u32>()
    }
}
