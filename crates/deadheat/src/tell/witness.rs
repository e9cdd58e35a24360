//! The witnesses of predicted races: an analysis gives them in numbers of events, which only the trace can resolve.
//!
//! Invariant: the trace is read once more for all of them together, and only if there is one.

use std::collections::HashMap;

use deadheat_core::access::{Access, Mode};
use deadheat_core::event::{Event, LockMode as CoreLockMode, Op, SyncKind};
use deadheat_core::ids::ThreadId;
use deadheat_core::race::Race as CoreRace;
use deadheat_core::witness::Witness;
use deadheat_detect::shorten::{Shortener, Step, Watch};
use deadheat_report::model::{Hex, LockMode};
use deadheat_report::reordering::{Act, Deed, KIND, Reordering, VERSION};
use deadheat_trace::{Tables, Trace, Visit};
use serde_json::Value;

use super::resolve::Resolver;

/// A witness that was kept: as [`Witness`] has it.
#[derive(Clone)]
pub(crate) struct Seen {
    done: Vec<(ThreadId, u64)>,
    /// So many events of the trace come before the order.
    first: u64,
    order: Option<Vec<(ThreadId, u64)>>,
}

impl Seen {
    /// That of an analysis.
    pub(crate) fn of(witness: &Witness<'_>) -> Seen {
        let order = witness.order.map(<[_]>::to_vec);
        Seen { done: witness.done.to_vec(), first: if order.is_some() { witness.first } else { 0 }, order }
    }

    /// How many threads and stretches are to be kept of one.
    pub(crate) fn size(witness: &Witness<'_>) -> usize {
        witness.done.len() + witness.order.map_or(0, <[_]>::len)
    }
}

/// How many stretches of the beginning of a trace are kept for the orders that begin with it.
const MOST_STRETCHES: usize = 1 << 22;

/// What is needed to tell witnesses.
pub(super) struct Witnesses {
    shortener: Option<Shortener>,
    beginning: Beginning,
}

/// The beginning of a trace: which thread did how many events, again and again.
#[derive(Default)]
struct Beginning {
    stretches: Vec<(ThreadId, u64)>,
    events: u64,
    /// How many are wanted.
    wanted: u64,
}

impl Beginning {
    fn take(&mut self, thread: ThreadId) {
        if self.events == self.wanted {
            return;
        }
        if let Some((_, count)) = self.stretches.last_mut().filter(|(last, _)| *last == thread) {
            *count += 1;
        } else if self.stretches.len() == MOST_STRETCHES {
            self.wanted = self.events;
            return;
        } else {
            self.stretches.push((thread, 1));
        }
        self.events += 1;
    }

    /// An order with the first events before it; `None` if they are not known.
    fn before(&self, first: u64, order: &[(ThreadId, u64)]) -> Option<Vec<(ThreadId, u64)>> {
        let mut whole = Vec::with_capacity(order.len());
        let mut left = first;
        for &(thread, count) in &self.stretches {
            let some = count.min(left);
            left -= some;
            if some == 0 {
                break;
            }
            whole.push((thread, some));
        }
        whole.extend_from_slice(order);
        (left == 0).then_some(whole)
    }
}

struct Watching {
    watch: Watch,
    beginning: Beginning,
}

impl Visit for Watching {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        self.watch.take(event);
        self.beginning.take(event.thread);
        true
    }
}

impl Witnesses {
    /// For a report without any.
    pub(super) fn none() -> Witnesses {
        Witnesses { shortener: None, beginning: Beginning::default() }
    }

    /// Reads the trace once more, if there is a witness to tell.
    pub(super) fn read<'a>(trace: &mut Trace, seen: impl Iterator<Item = &'a Seen>) -> Witnesses {
        let Some(wanted) = seen.map(|seen| seen.first).max() else { return Witnesses::none() };
        let beginning = Beginning { wanted, ..Beginning::default() };
        let mut watching = Watching { watch: Watch::default(), beginning };
        // A trace that broke off shows what it shows.
        let _ = trace.drive_into(&mut watching);
        Witnesses { shortener: Some(watching.watch.finish()), beginning: watching.beginning }
    }

    /// The witness of a race as reports have it.
    pub(super) fn tell(
        &mut self,
        race: &CoreRace,
        seen: &Seen,
        resolver: &mut Resolver<'_>,
    ) -> Option<Value> {
        let pair = (race.earlier.thread, race.later.thread);
        let order = match &seen.order {
            Some(order) => Some(self.beginning.before(seen.first, order)?),
            None => None,
        };
        let witness = Witness { done: &seen.done, first: 0, order: order.as_deref() };
        let short = self.shortener.as_mut()?.shorten(&witness, pair);
        let mut threads = Threads::default();
        let racing = [pair.0, pair.1].map(|thread| threads.index(thread));
        let mut done = vec![0; racing.len()];
        for &(thread, count) in &short.done {
            let index = threads.index(thread);
            done.resize(done.len().max(index + 1), 0);
            done[index] = count;
        }
        let order =
            short.order.map(|order| order.iter().map(|&(id, count)| (threads.index(id), count)).collect());
        let (operations, left_out) = match &short.steps {
            Some((steps, left_out)) => {
                (Some(steps.iter().map(|step| act(step, &mut threads, resolver)).collect()), *left_out)
            }
            None => (None, 0),
        };
        done.resize(threads.ids.len(), 0);
        let threads = threads.ids.iter().map(|&id| resolver.path(id)).collect();
        let told = Reordering {
            kind: KIND.to_owned(),
            version: VERSION,
            threads,
            done,
            order,
            operations,
            left_out,
        };
        told.to_json().ok()
    }
}

/// The threads of a witness, numbered as they come.
#[derive(Default)]
struct Threads {
    ids: Vec<ThreadId>,
    indices: HashMap<ThreadId, usize>,
}

impl Threads {
    fn index(&mut self, id: ThreadId) -> usize {
        *self.indices.entry(id).or_insert_with(|| {
            self.ids.push(id);
            self.ids.len() - 1
        })
    }
}

/// An operation with its names.
fn act(step: &Step, threads: &mut Threads, resolver: &mut Resolver<'_>) -> Act {
    let Event { thread, place, stack, op, .. } = step.event;
    let mut act = Act {
        thread: threads.index(thread),
        event: step.nth,
        op: deed(&op),
        frames: resolver.up_to_own(place, stack),
        sees: step.sees.iter().map(|&(thread, nth)| (threads.index(thread), nth)).collect(),
        ..Act::default()
    };
    let (what, address, size) = match op {
        Op::Fork { child } | Op::Join { child } => {
            act.object = resolver.path(child);
            return act;
        }
        Op::Acquire { lock, mode } | Op::Release { lock, mode } => {
            if mode == CoreLockMode::Read {
                act.mode = LockMode::Read;
            }
            ("lock", lock, 1)
        }
        Op::Access(Access { address, size, atomic, .. }) => {
            act.atomic = atomic.is_some();
            ("memory", address, size)
        }
        Op::Free { address, .. } => ("memory", address, 1),
        Op::Signal { kind: SyncKind::Everything, .. } | Op::Wait { kind: SyncKind::Everything, .. } => {
            return act;
        }
        Op::Signal { object, .. }
        | Op::Await { object, .. }
        | Op::Wait { object, .. }
        | Op::Forget { object }
        | Op::Arrive { barrier: object, .. }
        | Op::Leave { barrier: object } => ("object", object, 1),
        Op::Fence(_)
        | Op::Request { .. }
        | Op::Begin
        | Op::End
        | Op::Branch
        | Op::Enter
        | Op::Exit
        | Op::Alloc { .. }
        | Op::HiddenBegin
        | Op::HiddenEnd
        | Op::Fault { .. } => return act,
    };
    act.address = Some(Hex(address));
    (act.object, act.id) = resolver.object(what, (address, size), step.block.as_ref());
    act
}

fn deed(op: &Op) -> Deed {
    match *op {
        Op::Acquire { .. } => Deed::Lock,
        Op::Release { .. } => Deed::Unlock,
        Op::Fork { .. } => Deed::Create,
        Op::Join { .. } => Deed::Join,
        Op::Signal { kind, .. } => match kind {
            SyncKind::Condition => Deed::Signal,
            SyncKind::ConditionAll => Deed::Broadcast,
            SyncKind::Semaphore => Deed::Post,
            SyncKind::Once => Deed::Initialise,
            SyncKind::Annotation | SyncKind::Everything => Deed::Announce,
        },
        Op::Await { .. } => Deed::BeginWait,
        Op::Wait { woken: false, .. } => Deed::TryWait,
        Op::Wait { .. } => Deed::Wait,
        Op::Arrive { .. } => Deed::Arrive,
        Op::Leave { .. } => Deed::Leave,
        Op::Access(Access { mode: Mode::Write, .. }) | Op::Free { .. } => Deed::Write,
        Op::Access(Access { mode: Mode::ReadWrite, .. }) => Deed::ReadWrite,
        // No other event is a step.
        Op::Access(Access { mode: Mode::Read, .. })
        | Op::Fence(_)
        | Op::Request { .. }
        | Op::Begin
        | Op::End
        | Op::Branch
        | Op::Enter
        | Op::Exit
        | Op::Alloc { .. }
        | Op::Forget { .. }
        | Op::HiddenBegin
        | Op::HiddenEnd
        | Op::Fault { .. } => Deed::Read,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_begins_with_the_first_events_of_the_trace() {
        let mut beginning = Beginning { wanted: 5, ..Beginning::default() };
        [0, 0, 1, 0, 0, 1].into_iter().for_each(|thread| beginning.take(ThreadId(thread)));
        let threads = |pairs: &[(u32, u64)]| pairs.iter().map(|&(id, count)| (ThreadId(id), count)).collect();
        let order: Vec<_> = threads(&[(1, 7)]);
        let whole = |first| beginning.before(first, &order);
        assert_eq!(whole(0), Some(order.clone()));
        assert_eq!(whole(4), Some(threads(&[(0, 2), (1, 1), (0, 1), (1, 7)])));
        assert_eq!(whole(5), Some(threads(&[(0, 2), (1, 1), (0, 2), (1, 7)])));
        assert_eq!(whole(6), None);
    }
}
