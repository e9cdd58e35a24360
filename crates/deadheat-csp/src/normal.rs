//! The normal form of a specification: the deterministic automaton with the same traces.
//!
//! Subset construction: a node is the set of states that the specification may be in after a trace, closed under τ.
//! As everywhere with it, the nodes can be exponentially many; the bound on memory holds here, too.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::compile::{self, Fault, Stage};
use crate::event::Seen;
use crate::follow::Plan;
use crate::machine::{Machine, TAU};
use crate::pack::{self, State};
use crate::term::{Term, Terms};

/// What a state and a node take beside their contents, in bytes, roughly.
const OVERHEAD: usize = 96;

/// A deterministic automaton; 0 is its first node.
#[derive(Debug)]
pub(crate) struct Normal {
    /// A node's moves are from `starts[node]` to the next.
    starts: Vec<u32>,
    moves: Vec<(Seen, u32)>,
}

impl Normal {
    /// How many nodes it has.
    pub(crate) fn nodes(&self) -> usize {
        self.starts.len() - 1
    }

    /// A node's moves.
    pub(crate) fn moves(&self, node: usize) -> &[(Seen, u32)] {
        &self.moves[self.starts[node] as usize..self.starts[node + 1] as usize]
    }
}

/// The normal form of a term.
pub(crate) fn normal(terms: &mut Terms, term: Term, memory: usize) -> Result<Normal, Fault> {
    let mut net = compile::network(terms, term, memory)?;
    let plan = Plan::new(&mut net, memory);
    let layout = pack::layout(plan.stored(&net));
    let graph = crate::refine::with_words!(layout, W => {
        explore::<W>(&Machine::new(&net, &plan, &layout.fields), memory)
    })?;
    Subsets { graph: &graph, ids: FxHashMap::default(), sets: Vec::new(), left: memory }.run()
}

/// A specification's states: where τ leads, and where what is seen leads.
struct Graph {
    taus: Vec<Vec<u32>>,
    seen: Vec<Vec<(Seen, u32)>>,
}

fn explore<const W: usize>(machine: &Machine<W>, memory: usize) -> Result<Graph, Fault> {
    let most = memory / (size_of::<State<W>>() * 2 + OVERHEAD);
    let mut ids: FxHashMap<State<W>, u32> = FxHashMap::default();
    let mut states = vec![machine.first()];
    ids.insert(machine.first(), 0);
    let (mut room, mut found) = (machine.room(), Vec::new());
    let mut graph = Graph { taus: Vec::new(), seen: Vec::new() };
    while graph.taus.len() < states.len() {
        if states.len() > most {
            return Err(Fault::Memory(Stage::Specification, most));
        }
        let state = states[graph.taus.len()];
        let (mut taus, mut seen) = (Vec::new(), Vec::new());
        machine.successors(&state, &mut room, &mut found);
        for next in found.drain(..) {
            let to = *ids.entry(next.state).or_insert_with(|| {
                states.push(next.state);
                states.len() as u32 - 1
            });
            if next.seen == TAU {
                taus.push(to);
            } else {
                seen.push((machine.seen()[next.seen as usize], to));
            }
        }
        graph.taus.push(taus);
        graph.seen.push(seen);
    }
    Ok(graph)
}

struct Subsets<'a> {
    graph: &'a Graph,
    ids: FxHashMap<Rc<[u32]>, u32>,
    sets: Vec<Rc<[u32]>>,
    /// The bytes that are left.
    left: usize,
}

impl Subsets<'_> {
    fn run(mut self) -> Result<Normal, Fault> {
        self.node(vec![0])?;
        let mut normal = Normal { starts: vec![0], moves: Vec::new() };
        while normal.nodes() < self.sets.len() {
            let set = Rc::clone(&self.sets[normal.nodes()]);
            let mut moves: Vec<(Seen, u32)> =
                set.iter().flat_map(|&state| &self.graph.seen[state as usize]).copied().collect();
            moves.sort_unstable();
            for same in moves.chunk_by(|one, other| one.0 == other.0) {
                let to = self.node(same.iter().map(|a_move| a_move.1).collect())?;
                normal.moves.push((same[0].0, to));
            }
            normal.starts.push(normal.moves.len() as u32);
        }
        Ok(normal)
    }

    /// The node of the states that τ leads to from these.
    fn node(&mut self, mut states: Vec<u32>) -> Result<u32, Fault> {
        let mut closed: rustc_hash::FxHashSet<u32> = states.iter().copied().collect();
        while let Some(state) = states.pop() {
            states.extend(self.graph.taus[state as usize].iter().filter(|&&next| closed.insert(next)));
        }
        let mut set: Vec<u32> = closed.into_iter().collect();
        set.sort_unstable();
        let set: Rc<[u32]> = set.into();
        if let Some(&id) = self.ids.get(&set) {
            return Ok(id);
        }
        let bytes = size_of_val(&*set) + OVERHEAD;
        let states = self.graph.taus.len();
        self.left = self.left.checked_sub(bytes).ok_or(Fault::Memory(Stage::Specification, states))?;
        let id = self.sets.len() as u32;
        self.sets.push(Rc::clone(&set));
        self.ids.insert(set, id);
        Ok(id)
    }
}
