//! One stream being delivered: what was decoded of it ahead, up to the next stamp whose turn has
//! not come.

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::ThreadId;

use super::ahead::{Ahead, Behind, What};
use super::blocks::Stream;
use super::decode::Decoder;
use super::merge::{SPARE_MAX, Shared};
use crate::error::Error;
use crate::visit::Visit;

/// When a stream goes on: its next stamp doubled, plus one if an event has that stamp (a bare
/// mark of the same stamp comes first).
pub(super) type Due = u64;

/// A stream without a stamp comes last.
pub(super) const NEVER: Due = Due::MAX;

/// Why a run over a stream stopped.
pub(super) enum Pause {
    /// The stream goes on then.
    Until(Due),
    /// The stream has no more events.
    Finished,
    /// The visitor wants no more.
    Stopped,
}

/// The state of one stream.
pub(super) struct Cursor {
    /// Decodes what is behind `ahead`; none if there is nothing.
    decoder: Option<Decoder>,
    thread: ThreadId,
    ahead: Ahead,
    /// How many entries of `ahead` are delivered: plain accesses, others.
    plains: usize,
    others: usize,
}

impl Cursor {
    /// A cursor at the start of a stream.
    pub(super) fn start(stream: Stream, shared: &mut Shared<'_>) -> Cursor {
        let thread = ThreadId(stream.thread);
        let decoder = Some(Decoder::start(stream, shared.spare.pop()));
        Cursor { decoder, thread, ahead: Ahead::new(), plains: 0, others: 0 }
    }

    /// Delivers events up to the last moment that comes before all other streams' next.
    pub(super) fn run<const CALLS: bool>(
        &mut self,
        shared: &mut Shared<'_>,
        last: Due,
        visit: &mut impl Visit,
    ) -> Result<Pause, Error> {
        loop {
            while let Some(other) = self.ahead.others().get(self.others) {
                if !self.deliver_plains(other.at, shared, visit) {
                    return Ok(Pause::Stopped);
                }
                let other = &self.ahead.others()[self.others];
                if other.due > last {
                    return Ok(Pause::Until(other.due));
                }
                let wanted = match &other.what {
                    &What::Loop(round) => {
                        shared.count_many(u64::from(round.len) * u64::from(round.turns));
                        let (thread, body) = (self.thread, self.ahead.body(round));
                        visit.looped(thread, body, round.turns, shared.tables)
                    }
                    What::Event(event) => deliver(event, shared, visit),
                    What::Mark => true,
                    What::Name(name) => {
                        shared.tables.threads.see(self.thread).name = name.to_string();
                        true
                    }
                    What::Excess(count) => {
                        let total = &mut shared.dirt.returns_too_many;
                        *total = total.saturating_add(*count);
                        true
                    }
                };
                self.others += 1;
                if !wanted {
                    return Ok(Pause::Stopped);
                }
            }
            if !self.deliver_plains(self.ahead.count(), shared, visit) {
                return Ok(Pause::Stopped);
            }
            match std::mem::replace(&mut self.ahead.behind, Behind::End) {
                Behind::End => return Ok(Pause::Finished),
                Behind::Fault(error) => return Err(error),
                Behind::More => {}
            }
            (self.plains, self.others) = (0, 0);
            let Some(decoder) = &mut self.decoder else { return Ok(Pause::Finished) };
            decoder.fill::<CALLS>(&mut self.ahead, shared);
            if let Behind::End = self.ahead.behind {
                // Most streams of a run whose races were looked for are short, and many wait at once for their next event's turn.
                shared.spare.extend(self.decoder.take().filter(|_| shared.spare.len() < SPARE_MAX));
            }
            visit.coming(self.ahead.plains());
        }
    }

    /// Delivers plain accesses up to that one.
    #[inline(always)]
    fn deliver_plains(&mut self, end: usize, shared: &mut Shared<'_>, visit: &mut impl Visit) -> bool {
        let plains = &self.ahead.plains()[self.plains..end];
        if plains.is_empty() {
            return true;
        }
        self.plains = end;
        shared.count_many(plains.len() as u64);
        visit.plain(self.thread, plains, shared.tables)
    }
}

/// Delivers an event, and counts it; calls and returns do not count.
#[inline]
fn deliver(event: &Event, shared: &mut Shared<'_>, visit: &mut impl Visit) -> bool {
    match event.op {
        Op::Access(_) => shared.count(u64::from(event.times)),
        Op::Enter | Op::Exit => {}
        _ => shared.note(event),
    }
    visit.event(event, shared.tables)
}
