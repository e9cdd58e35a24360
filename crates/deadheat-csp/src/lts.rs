//! Explicit labelled transition systems: what the leaves of a network, and the modes of its operators, are.
//!
//! States and labels are numbers from 0; 0 is the first state. Cost: a leaf's terms are built once for each
//! state, some hundred bytes each, and are bounded by [`most_states`].

use rustc_hash::FxHashMap;

use crate::compile::{Fault, Stage};
use crate::event::Action;
use crate::semantics;
use crate::term::{Term, Terms};

/// What a state of a leaf takes while it is unfolded: its term, its place in the maps, its moves.
const BYTES_A_STATE: usize = 256;

/// How many states of leaves a bound on memory allows.
pub(crate) fn most_states(memory: usize) -> usize {
    (memory / BYTES_A_STATE).clamp(1, crate::pack::MAX_LOCAL_STATES)
}

/// One move: from a state, by a label, to a state.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Move {
    pub(crate) from: u32,
    pub(crate) label: u32,
    pub(crate) to: u32,
}

/// A transition system. Its moves are sorted and each is there once.
#[derive(Debug)]
pub(crate) struct Lts {
    pub(crate) states: u32,
    pub(crate) moves: Vec<Move>,
}

impl Lts {
    /// A system of so many states with these moves.
    pub(crate) fn new(states: u32, mut moves: Vec<Move>) -> Lts {
        moves.sort_unstable();
        moves.dedup();
        Lts { states, moves }
    }
}

/// Unfolds a term into its system, and the action of each label. At most `most` states.
pub(crate) fn unfold(terms: &mut Terms, root: Term, most: usize) -> Result<(Lts, Vec<Action>), Fault> {
    let mut numbers: FxHashMap<Term, u32> = FxHashMap::default();
    let mut labels: FxHashMap<Action, u32> = FxHashMap::default();
    let (mut states, mut actions, mut moves) = (vec![root], Vec::new(), Vec::new());
    numbers.insert(root, 0);
    let mut at = 0;
    while at < states.len() {
        for (action, next) in semantics::steps(terms, states[at]).map_err(Fault::Meaning)? {
            let label = *labels.entry(action).or_insert_with(|| {
                actions.push(action);
                actions.len() as u32 - 1
            });
            let to = *numbers.entry(next).or_insert_with(|| {
                states.push(next);
                states.len() as u32 - 1
            });
            moves.push(Move { from: at as u32, label, to });
        }
        if states.len() > most {
            return Err(Fault::Memory(Stage::Leaves, most));
        }
        at += 1;
    }
    Ok((Lts::new(states.len() as u32, moves), actions))
}

/// The moves of a system by label.
#[derive(Debug)]
pub(crate) struct Labels {
    /// Indices of moves, sorted by label, then by state.
    order: Vec<u32>,
    /// Where a label's moves start in `order`; one more than there are labels.
    starts: Vec<u32>,
}

impl Labels {
    /// Sorts a system's moves.
    pub(crate) fn new(lts: &Lts) -> Labels {
        let mut order: Vec<u32> = (0..lts.moves.len() as u32).collect();
        order.sort_by_key(|&index| lts.moves[index as usize].label);
        let labels = order.last().map_or(0, |&last| lts.moves[last as usize].label + 1);
        let before = |label| order.partition_point(|&index| lts.moves[index as usize].label < label) as u32;
        let starts = (0..=labels).map(before).collect();
        Labels { order, starts }
    }

    /// Which indices a label's moves have.
    pub(crate) fn range(&self, label: u32) -> std::ops::Range<usize> {
        let at = label as usize;
        if at + 1 >= self.starts.len() {
            return 0..0;
        }
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    /// The move of an index.
    pub(crate) fn nth(&self, lts: &Lts, index: usize) -> Move {
        lts.moves[self.order[index] as usize]
    }

    /// A label's moves, by state.
    pub(crate) fn moves<'a>(&'a self, lts: &'a Lts, label: u32) -> impl Iterator<Item = Move> + 'a {
        self.range(label).map(|index| self.nth(lts, index))
    }
}
