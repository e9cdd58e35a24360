//! The order in which the threads of a run synchronised until two of them met: what a proof
//! carries so that a replay brings the two together again.

use deadheat_core::gate::turn;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::gatefile::{path_of, path_text};
use super::outcome::Outcome;

/// Room for turns and for threads that take them in a run that provokes. A proof after more of
/// either carries no order.
pub(crate) const ROOM: usize = 4096;
pub(crate) const THREADS: usize = 128;

/// How many turns were over at two moments of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Moments {
    /// When one side was held.
    pub(crate) held: u32,
    /// When the other came.
    pub(crate) met: u32,
}

impl Moments {
    /// Of the gate file's word.
    pub(crate) fn of(word: u64) -> Moments {
        Moments { held: word as u32, met: (word >> 32) as u32 }
    }
}

/// The thread of a side waits before one of its turns until the other side is held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Delay {
    /// The side, 0 or 1.
    pub(crate) side: usize,
    /// The turn, among the thread's own, from 1.
    pub(crate) turn: u64,
}

impl Delay {
    /// Of the gate file's word.
    pub(crate) fn of(word: u64) -> Option<Delay> {
        (word >> 1 > 0).then_some(Delay { side: (word & 1) as usize, turn: word >> 1 })
    }

    /// The gate file's word.
    pub(crate) fn word(self) -> u64 {
        self.turn << 1 | self.side as u64
    }
}

/// An order to keep.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Order {
    /// The paths of the threads that take turns.
    pub(crate) threads: Vec<Vec<u64>>,
    /// Whose turn it is, as indices of `threads`.
    pub(crate) turns: Vec<usize>,
    /// How many turns come before one side is held.
    pub(crate) pause: usize,
    /// The side that is held before the other comes.
    pub(crate) first: usize,
}

impl Order {
    /// The order of a run's turns until a meeting; `None` if it was not noted so far.
    pub(crate) fn until(outcome: &Outcome, moments: Moments, first: usize) -> Option<Order> {
        let noted = outcome.turns.get(..moments.met as usize)?;
        let mut order = Order { threads: outcome.threads.clone(), first, ..Order::default() };
        for (at, &turn) in noted.iter().enumerate() {
            // Turns of threads without a record are not kept.
            let Some(thread) = ((turn & (turn::OVER - 1)) as usize).checked_sub(1) else { continue };
            order.threads.get(thread)?;
            order.turns.push(thread);
            order.pause += usize::from(at < moments.held as usize);
        }
        (!order.turns.is_empty()).then_some(order)
    }

    /// As witnesses have it: turns of one thread in a row are one pair of its index and their number.
    pub(crate) fn to_json(&self) -> Value {
        let runs = self.turns.chunk_by(|one, other| one == other);
        let turns: Vec<[usize; 2]> = runs.map(|run| [run[0], run.len()]).collect();
        let threads: Vec<String> = self.threads.iter().map(|path| path_text(path)).collect();
        json!({ "threads": threads, "turns": turns, "held_after": self.pause, "first": self.first })
    }

    /// Of a witness; `None` if it has none that can be kept.
    pub(crate) fn of_json(value: &Value) -> Option<Order> {
        let number = |value: &Value| usize::try_from(value.as_u64()?).ok();
        let paths = value["threads"].as_array()?.iter().map(|path| path_of(path.as_str()?));
        let threads: Vec<Vec<u64>> = paths.collect::<Option<_>>()?;
        let mut turns = Vec::new();
        for run in value["turns"].as_array()? {
            let (thread, count) = (number(&run[0])?, number(&run[1])?);
            if thread >= threads.len() || count > ROOM - turns.len() {
                return None;
            }
            turns.resize(turns.len() + count, thread);
        }
        let (pause, first) = (number(&value["held_after"])?, number(&value["first"])?);
        (first < 2 && pause <= turns.len()).then_some(Order { threads, turns, pause, first })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_ends_at_the_meeting_and_reads_as_it_was_written() {
        let outcome = Outcome {
            threads: vec![vec![], vec![1]],
            turns: vec![1, 1, 0, 2, 2, 1, 2],
            ..Outcome::default()
        };
        let order = Order::until(&outcome, Moments { held: 4, met: 6 }, 1).expect("it was noted");
        assert_eq!((&order.turns[..], order.pause, order.first), (&[0, 0, 1, 1, 0][..], 3, 1));
        let value = order.to_json();
        assert_eq!(value["turns"], json!([[0, 2], [1, 2], [0, 1]]));
        assert_eq!(Order::of_json(&value), Some(order));
        assert_eq!(Order::until(&outcome, Moments { held: 4, met: 8 }, 1), None, "not noted so far");
    }

    #[test]
    fn what_cannot_be_kept_is_none() {
        let good = json!({"threads": ["main"], "turns": [[0, 2]], "held_after": 1, "first": 0});
        assert!(Order::of_json(&good).is_some());
        for (field, value) in [
            ("threads", json!(["x"])),
            ("turns", json!([[1, 2]])),
            ("turns", json!([[0, ROOM + 1]])),
            ("held_after", json!(3)),
            ("first", json!(2)),
        ] {
            let mut bad = good.clone();
            bad[field] = value;
            assert_eq!(Order::of_json(&bad), None, "{bad}");
        }
        assert_eq!(Order::of_json(&Value::Null), None);
    }
}
