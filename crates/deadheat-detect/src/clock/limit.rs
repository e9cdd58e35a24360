//! A bound for the memory of an analysis that predicts.
//!
//! The beginning of a trace is closed under all rules. So it can be part of every witness: what lies in it is then done
//! before any race, and nothing of it needs to be remembered but that. Races with accesses in it are not found any more; the others
//! are, unless they need a part of it to be left out. When the bound is reached, that is done with
//! all up to a moment at which the memory was half full; the sink is told.

/// The memory is looked at after so many events at least.
const EVERY: u64 = 256;

/// A bound, and when what is to be forgotten.
#[derive(Debug)]
pub struct Limit {
    bytes: Option<usize>,
    events: u64,
    /// When to look next.
    next: u64,
    /// The last events of the slots when memory was half full, and how many events there were.
    half: Option<(Vec<u32>, u64)>,
}

impl Limit {
    /// That many bytes, if there is a bound.
    #[must_use]
    pub fn new(bytes: Option<usize>) -> Self {
        Self { bytes, events: 0, next: EVERY, half: None }
    }

    /// Counts an event: the bound, if it is time to look at the memory. `rest` is how many events to leave it alone at least.
    #[inline]
    pub fn count(&mut self, rest: impl FnOnce() -> u64) -> Option<usize> {
        self.events += 1;
        let bytes = self.bytes.filter(|_| self.events >= self.next)?;
        self.next = self.events + EVERY.max(rest());
        Some(bytes)
    }

    /// How many events there were.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Takes how much memory is taken, and notes when it is half full with which events were then `present`, by slot.
    pub fn note(&mut self, memory: usize, present: impl FnOnce() -> Vec<u32>) {
        if self.bytes.is_some_and(|bytes| memory * 2 > bytes) && self.half.is_none() {
            self.half = Some((present(), self.events));
        }
    }

    /// Up to which events, by slot, to forget first, and how many those are in the trace.
    pub fn half(&mut self) -> Option<(Vec<u32>, u64)> {
        self.half.take()
    }
}
