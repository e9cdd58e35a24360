//! The one trait of all analyses.

use deadheat_core::event::Event;
use deadheat_core::race::RaceSink;

/// An analysis: it is fed the events of one run, in the merged order of its trace, and puts
/// what it finds into a sink. It cannot fail; what a trace may hold is the reader's business.
pub trait Detector {
    /// Takes the next event.
    fn step(&mut self, event: &Event, sink: &mut dyn RaceSink);

    /// The run is over.
    fn finish(&mut self, sink: &mut dyn RaceSink);
}
