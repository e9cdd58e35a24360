//! Barriers.
//!
//! Rule: who leaves has seen all who arrived in the same round. A round is complete when as many
//! arrived as the barrier waits for; where that number is not known, when the first leaves.

use std::collections::VecDeque;

use deadheat_core::ids::ThreadId;

use super::vector::Clock;

/// One barrier.
#[derive(Debug, Default)]
pub struct Barrier {
    /// The rounds that somebody has not left yet; the last is the one being gathered, if `open`.
    rounds: VecDeque<Round>,
    /// The number of the first of `rounds`.
    first: u64,
    open: bool,
    inside: Vec<(ThreadId, u64)>,
}

#[derive(Debug, Default)]
struct Round {
    arrived: u32,
    left: u32,
    clock: Clock,
}

impl Barrier {
    /// A thread that knows `clock` arrives; `count` is how many the barrier waits for.
    pub fn arrive(&mut self, thread: ThreadId, clock: &Clock, count: u32) {
        if !self.open {
            self.rounds.push_back(Round::default());
            self.open = true;
        }
        let number = self.first + self.rounds.len() as u64 - 1;
        if let Some(round) = self.rounds.back_mut() {
            round.arrived += 1;
            round.clock.join(clock);
            self.open = count == 0 || round.arrived < count;
        }
        if let Some(index) = self.inside.iter().position(|(inside, _)| *inside == thread) {
            // It never left the earlier round (only in traces that are not well formed).
            let (_, number) = self.inside.swap_remove(index);
            self.leave_round(number);
        }
        self.inside.push((thread, number));
    }

    /// A thread leaves; what it has seen, if it had arrived.
    pub fn leave(&mut self, thread: ThreadId, learner: &mut Clock) {
        let Some(index) = self.inside.iter().position(|(inside, _)| *inside == thread) else { return };
        let (_, number) = self.inside.swap_remove(index);
        let index = (number - self.first) as usize;
        if let Some(round) = self.rounds.get(index) {
            learner.join(&round.clock);
        }
        if index + 1 == self.rounds.len() {
            self.open = false;
        }
        self.leave_round(number);
    }

    fn leave_round(&mut self, number: u64) {
        let index = (number - self.first) as usize;
        if let Some(round) = self.rounds.get_mut(index) {
            round.left += 1;
        }
        while self.rounds.front().is_some_and(|round| round.left >= round.arrived)
            && (self.rounds.len() > 1 || !self.open)
        {
            self.rounds.pop_front();
            self.first += 1;
        }
    }
}
