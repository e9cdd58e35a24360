//! Whether two accesses can stand side by side: a search that is made for these models.
//!
//! It says what the refinement `STOP [T= (PROGRAM [|...|] PATTERN) \ ...` does (`tests/csp.rs` holds the two together), and gives a
//! counterexample if it fails. First it is seen what must come before what (`order`); if that is no contradiction, states are
//! searched, depth first and in the run's order where there is a choice: of the least set of operations that could do, then of
//! that with the signals that waits saw in the run, then of that with the ends of its critical sections, or of all if somebody
//! waits for a signal or a post that could be another one.
//!
//! Cost: exponential in the choices that are left. A state that was seen takes its key and some 16 bytes.

use rustc_hash::FxHashSet;

use super::model::{At, Model, Target};
use super::order::{self, Order};
use super::state::State;

/// What came of it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Answer {
    /// The operations that come first, in their order.
    Race(Vec<At>),
    /// There is no such order.
    None,
    /// The states seen are more than there is memory for.
    OutOfMemory,
    /// There were not enough steps left.
    OutOfSteps,
}

/// What searches may take, and took.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Bytes for the states of one search.
    pub(super) memory: usize,
    /// Steps that are left for all searches: a step is a look at one thing of the model, or of a state.
    pub(super) steps: u64,
    /// How many states all searches visited.
    pub(super) states: usize,
}

impl Bounds {
    /// So many steps are done.
    pub(super) fn take(&mut self, steps: usize) {
        self.steps = self.steps.saturating_sub(steps as u64);
    }
}

/// Looks for an order that brings two accesses side by side.
pub(super) fn search(model: &Model, pair: [Target; 2], bounds: &mut Bounds) -> Answer {
    let mut steps = 0;
    let order = order::order(model, pair, &mut steps);
    bounds.take(steps);
    let Some(order) = order else { return Answer::None };
    let mut least = order.limits.clone();
    for target in pair {
        // No operation of the access's thread is left out, even if nothing else needs it.
        least[target.thread as usize] = target.at;
    }
    let signals = order::with_signals(model, pair, &least);
    let enough = order::with_ends(model, pair, &least).unwrap_or_else(|| {
        let mut all: Vec<u32> = model.rows.iter().map(|row| row.len() as u32).collect();
        for target in pair {
            all[target.thread as usize] = target.at;
        }
        all
    });
    let mut tried: Vec<Vec<u32>> = Vec::new();
    for limits in [Some(least), signals, Some(enough)].into_iter().flatten() {
        if tried.contains(&limits) {
            continue;
        }
        let answer = within(model, pair, &order, limits.clone(), bounds);
        if answer != Answer::None {
            return answer;
        }
        tried.push(limits);
    }
    Answer::None
}

/// The same with no more than so many operations of each thread.
fn within(model: &Model, pair: [Target; 2], order: &Order, limits: Vec<u32>, bounds: &mut Bounds) -> Answer {
    bounds.take(model.values.len() + model.registers.len());
    let mut state = State::new(model, order, limits, pair);
    let mut seen: FxHashSet<Box<[u32]>> = FxHashSet::default();
    let mut bytes = 0;
    // What is left to be tried, each behind so many moves.
    let mut open: Vec<(usize, Vec<u32>)> = Vec::new();
    loop {
        state.advance();
        if state.is_before(pair) {
            // The last one is not among those seen.
            bounds.states += 1;
            return Answer::Race(state.trail().to_vec());
        }
        let key = state.key();
        let size = key.len() * 4 + 16;
        bounds.take(key.len());
        if bounds.steps == 0 {
            return Answer::OutOfSteps;
        }
        let mut moves = Vec::new();
        if seen.insert(key) {
            bytes += size;
            bounds.states += 1;
            if bytes > bounds.memory {
                return Answer::OutOfMemory;
            }
            moves = state.moves();
            moves.reverse();
        }
        open.push((state.trail().len(), moves));
        loop {
            let Some((length, moves)) = open.last_mut() else { return Answer::None };
            state.back(*length);
            if let Some(next) = moves.pop() {
                state.act(next);
                break;
            }
            open.pop();
        }
    }
}
