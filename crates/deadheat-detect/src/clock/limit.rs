//! A bound for the memory of an analysis that predicts.
//!
//! The beginning of a trace is closed under all rules. So it can be part of every witness: what lies in it is then done
//! before any race, and nothing of it needs to be remembered but that. Races with accesses in it are not found any more; the others
//! are, unless they need a part of it to be left out. When the bound is reached, that is done with
//! all up to a moment at which the memory was half full; the sink is told.

use deadheat_core::race::RaceSink;

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
    fn events(&self) -> u64 {
        self.events
    }

    /// If so much memory is half of the bound or more, for the first time since [`Self::half`].
    fn fills_half(&self, memory: usize) -> bool {
        self.half.is_none() && self.bytes.is_some_and(|bytes| memory * 2 > bytes)
    }

    /// Notes that the memory is half full with which events `present`, by slot.
    fn note(&mut self, present: Vec<u32>) {
        self.half = Some((present, self.events));
    }

    /// Up to which events, by slot, to forget first, and how many those are in the trace.
    fn half(&mut self) -> Option<(Vec<u32>, u64)> {
        self.half.take()
    }
}

/// An analysis that can forget the beginning of the trace.
pub trait Bounded {
    /// How many bytes it takes.
    fn memory(&self) -> usize;

    /// Its bound.
    fn limit(&mut self) -> &mut Limit;

    /// The last events that each slot has had.
    fn present(&self) -> Vec<u32>;

    /// Takes the number of the last event, by slot, that need not be remembered: all up to it is part of every witness from now on,
    /// and nothing of it is told any more.
    fn forget(&mut self, upto: &[u32]);

    /// Keeps to the bound of that many bytes: forgets first what came before the memory was half full, then everything if that is not
    /// enough, and tells the sink.
    #[cold]
    fn look(&mut self, bytes: usize, sink: &mut dyn RaceSink) {
        let memory = self.memory();
        if self.limit().fills_half(memory) {
            let present = self.present();
            self.limit().note(present);
        }
        if memory <= bytes {
            return;
        }
        if let Some((upto, events)) = self.limit().half() {
            self.forget(&upto);
            sink.forgot(events);
        }
        if self.memory() * 4 > bytes * 3 {
            self.forget(&self.present());
            sink.forgot(self.limit().events());
        }
    }
}
