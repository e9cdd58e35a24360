//! The one trait of all analyses.

use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::plain::{self, Plain, Strided};
use deadheat_core::race::RaceSink;

/// An analysis: it is fed the events of one run, in the merged order of its trace, and puts
/// what it finds into a sink. It cannot fail; what a trace may hold is the reader's business.
pub trait Detector {
    /// Takes the next event.
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink);

    /// Takes the next events, all plain accesses that one thread made in this order: the same
    /// as [`Self::step`] for each.
    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], sink: &mut dyn RaceSink) {
        accesses.iter().for_each(|access| self.step(&access.event(thread), sink));
    }

    /// Takes the next events, those of a loop of one thread: each turn makes each of these accesses, in
    /// this order. The same as [`Self::plain`] for all of them.
    fn looped(&mut self, thread: ThreadId, body: &[Strided], turns: u32, sink: &mut dyn RaceSink) {
        plain::unroll(body, turns, |some| {
            self.plain(thread, some, sink);
            true
        });
    }

    /// These accesses of some thread will come soon, though others may come before them. Only a
    /// hint: it may fetch what judging them will need, and changes nothing that is found.
    fn coming(&mut self, _accesses: &[Plain]) {}

    /// The run is over.
    fn finish(&mut self, sink: &mut dyn RaceSink);
}
