//! What another order of a run, a witness, says of how to bring its pair about in a re-run.
//!
//! In the witness's order one of the two threads comes to its access before the other one does, and is held there. So the
//! other is kept until then from its first turn (an operation that synchronises, `gate::turn`) that it takes behind that:
//! what the first needs has happened by the witness, and what it does not need, such as a lock that the other would hold, is
//! not in its way. That is one [`Delay`](super::turns::Delay), which a gate file has for each target.
//!
//! What third threads do is left to the run. To keep them in the witness's order, too, a run would be given the whole order of
//! turns, as a replay of a proof is ([`Order`](super::turns::Order)): [`Turns`] and the steps of the witness are what that is made of.
//!
//! Cost: 8 bytes for each turn of the run, and 16 each time that another thread's events follow in it, up to [`MOST`] of
//! either; a run with more gives no hints.

use deadheat_core::event::Event;
use deadheat_core::gate::turn::is_turn;
use deadheat_core::ids::ThreadId;
use deadheat_core::witness::Witness;

/// So many turns are kept, and changes from one thread to another: 96 MiB.
const MOST: usize = 1 << 22;

/// A thread waits before one of its turns, counted from 1, until the other side is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hint {
    /// Who waits.
    pub(crate) thread: ThreadId,
    /// Before which of its turns.
    pub(crate) turn: u64,
}

/// The turns of a run, and its order, as far as it was read.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    threads: Vec<Row>,
    /// All events.
    events: u64,
    /// Whose event came last.
    last: Option<ThreadId>,
    kept: usize,
    changes: usize,
}

/// A thread's events so far.
#[derive(Debug, Default)]
struct Row {
    events: u64,
    /// Which of them were turns.
    turns: Vec<u64>,
    /// Those behind events of other threads: each with its position in the run.
    begins: Vec<(u64, u64)>,
}

impl Row {
    /// How many of its turns are among its first events.
    fn turns_among(&self, events: u64) -> usize {
        self.turns.partition_point(|turn| *turn < events)
    }

    /// The position of an event.
    fn position(&self, event: u64) -> u64 {
        let behind = self.begins.partition_point(|(begin, _)| *begin <= event);
        behind.checked_sub(1).map_or(0, |at| self.begins[at].1 + (event - self.begins[at].0))
    }

    /// How many of its events come before a position.
    fn before(&self, position: u64) -> u64 {
        let behind = self.begins.partition_point(|(_, begin)| *begin < position);
        let Some(at) = behind.checked_sub(1) else { return 0 };
        let end = self.begins.get(behind).map_or(self.events, |(event, _)| *event);
        end.min(self.begins[at].0 + (position - self.begins[at].1))
    }
}

/// One of the two threads in a witness's order.
#[derive(Clone, Copy, Default)]
struct Side {
    /// Its turns, in all.
    turns: usize,
    /// When it does the last thing before its access; 0: it does nothing.
    last: u64,
    /// How many turns the other has taken by then.
    others: usize,
}

impl Turns {
    /// Takes the next event of the run.
    pub(crate) fn event(&mut self, event: &Event) {
        let kept = self.kept < MOST;
        let row = self.begin(event.thread, 1);
        if is_turn(&event.op) {
            if kept {
                row.turns.push(row.events - 1);
            }
            self.kept += 1;
        }
    }

    /// Takes the next events, plain accesses of one thread.
    pub(crate) fn accesses(&mut self, thread: ThreadId, count: u64) {
        self.begin(thread, count);
    }

    /// So many events of a thread come.
    fn begin(&mut self, thread: ThreadId, count: u64) -> &mut Row {
        let (index, position) = (thread.0 as usize, self.events);
        self.events += count;
        if index >= self.threads.len() {
            self.threads.resize_with(index + 1, Row::default);
        }
        let row = &mut self.threads[index];
        if self.last != Some(thread) {
            self.last = Some(thread);
            self.changes += 1;
            if self.changes <= MOST {
                row.begins.push((row.events, position));
            }
        }
        row.events += count;
        row
    }

    /// Who is to wait for the other so that these two come to their accesses as in the witness; `None` if
    /// neither has to.
    pub(crate) fn hint(&self, witness: &Witness<'_>, threads: [ThreadId; 2]) -> Option<Hint> {
        if self.kept.max(self.changes) > MOST {
            return None;
        }
        let rows = [self.threads.get(threads[0].0 as usize)?, self.threads.get(threads[1].0 as usize)?];
        let sides = match witness.order {
            None => in_order_of_run(rows, threads.map(|thread| done(witness, thread))),
            Some(order) => in_order(rows, threads, (witness, order)),
        };
        let [one, other] = sides;
        // Who comes to its access first, and the other.
        let (first, second) = if one.last <= other.last { (one, 1) } else { (other, 0) };
        (sides[second].turns > first.others)
            .then(|| Hint { thread: threads[second], turn: first.others as u64 + 1 })
    }
}

/// How many events of a thread come before its access.
pub(crate) fn done(witness: &Witness<'_>, thread: ThreadId) -> u64 {
    witness.done.iter().find(|(known, _)| *known == thread).map_or(0, |&(_, done)| done)
}

/// Both sides, where each does so many events in the order of the run.
fn in_order_of_run(rows: [&Row; 2], done: [u64; 2]) -> [Side; 2] {
    [0, 1].map(|side| {
        let Some(last) = done[side].checked_sub(1) else { return Side::default() };
        let last = rows[side].position(last);
        let others = rows[1 - side].before(last).min(done[1 - side]);
        let (turns, others) = (rows[side].turns_among(done[side]), rows[1 - side].turns_among(others));
        Side { turns, last: last + 1, others }
    })
}

/// Both sides, where the events come in these steps behind the first ones of the run.
fn in_order(
    rows: [&Row; 2],
    threads: [ThreadId; 2],
    (witness, order): (&Witness<'_>, &[(ThreadId, u64)]),
) -> [Side; 2] {
    let mut events = threads.map(|thread| {
        let steps = order.iter().filter(|(known, _)| *known == thread);
        done(witness, thread).saturating_sub(steps.map(|(_, count)| count).sum())
    });
    let mut sides = in_order_of_run(rows, events);
    for (&(thread, count), step) in order.iter().zip(witness.first + 1..) {
        let Some(side) = threads.iter().position(|known| *known == thread) else { continue };
        events[side] += count;
        let turns = rows[side].turns_among(events[side]);
        sides[side] = Side { turns, last: step, others: sides[1 - side].turns };
    }
    sides
}

#[cfg(test)]
mod tests {
    use deadheat_core::event::{LockMode, Op};
    use deadheat_core::ids::{PlaceId, StackId};

    use super::*;

    const ONE: ThreadId = ThreadId(1);
    const TWO: ThreadId = ThreadId(2);

    /// A run of threads of which each takes a lock and gives it back between two accesses, one thread after the other.
    fn run(threads: &[ThreadId]) -> Turns {
        let mut turns = Turns::default();
        for &thread in threads {
            turns.accesses(thread, 1);
            let (lock, mode) = (7, LockMode::Write);
            for op in [Op::Request { lock, mode }, Op::Acquire { lock, mode }, Op::Release { lock, mode }] {
                turns.event(&Event { thread, place: PlaceId(1), stack: StackId::EMPTY, times: 1, op });
            }
            turns.accesses(thread, 1);
        }
        turns
    }

    #[test]
    fn who_took_a_turn_later_waits_until_the_other_is_held() {
        let turns = run(&[ONE, TWO]);
        let hint = |one, two| {
            let witness = Witness { first: 0, done: &[(ONE, one), (TWO, two)], order: None };
            let hint = turns.hint(&witness, [ONE, TWO]);
            assert_eq!(hint, turns.hint(&witness, [TWO, ONE]), "whichever side is named first");
            hint.map(|hint| (hint.thread, hint.turn))
        };
        // The first before its section, the second behind its own.
        assert_eq!(hint(0, 4), Some((TWO, 1)));
        // Both behind their sections, in the order of the run.
        assert_eq!(hint(4, 4), Some((TWO, 1)));
        // The second in its section, or before it.
        assert_eq!(hint(0, 3), Some((TWO, 1)));
        assert_eq!(hint(4, 0), Some((ONE, 1)));
        assert_eq!(hint(0, 0), None);
    }

    #[test]
    fn whom_the_first_waits_for_is_not_kept_back() {
        let mut turns = Turns::default();
        let mut event = |thread, op| {
            turns.event(&Event { thread, place: PlaceId(1), stack: StackId::EMPTY, times: 1, op });
        };
        let barrier = 9;
        event(ONE, Op::Arrive { barrier, count: 2 });
        event(TWO, Op::Arrive { barrier, count: 2 });
        event(ONE, Op::Leave { barrier });
        event(TWO, Op::Leave { barrier });
        event(TWO, Op::Acquire { lock: 7, mode: LockMode::Write });
        event(TWO, Op::Release { lock: 7, mode: LockMode::Write });
        let witness = Witness { first: 0, done: &[(ONE, 2), (TWO, 4)], order: None };
        assert_eq!(turns.hint(&witness, [ONE, TWO]), Some(Hint { thread: TWO, turn: 2 }));
    }

    #[test]
    fn sections_that_are_turned_round_make_the_other_wait() {
        let turns = run(&[ONE, TWO]);
        let order = [(TWO, 4), (ONE, 3)];
        let witness = Witness { first: 0, done: &[(ONE, 3), (TWO, 4)], order: Some(&order) };
        assert_eq!(turns.hint(&witness, [ONE, TWO]), Some(Hint { thread: ONE, turn: 1 }));
    }

    #[test]
    fn what_the_first_needs_of_the_other_is_not_kept_back() {
        let turns = run(&[ONE, TWO, ONE, TWO]);
        let order = [(ONE, 5), (TWO, 5), (ONE, 4), (TWO, 4)];
        let witness = Witness { first: 0, done: &[(ONE, 9), (TWO, 9)], order: Some(&order) };
        assert_eq!(turns.hint(&witness, [ONE, TWO]), Some(Hint { thread: TWO, turn: 3 }));
        let witness = Witness { order: None, ..witness };
        assert_eq!(turns.hint(&witness, [ONE, TWO]), Some(Hint { thread: TWO, turn: 3 }));
    }
}
