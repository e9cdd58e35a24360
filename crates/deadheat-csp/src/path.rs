//! How a search came to a state: backwards, layer by layer, from the states alone.
//!
//! For each rule the moves that end in the state's components give the states before; one that is in the layer
//! before is on a shortest way. Of several the least is taken, so that the way is the same whatever
//! order the layers are in. Where components forget, as registers do that are written, most such states were never
//! reached, and there may be as many as the product of what each component may have been: once they are more than the
//! layer has states, these are expanded instead. Cost: a step looks at the rules that a leader's state ends, of each
//! leader, and at no more states than two for each of the layer's.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::compile::Network;
use crate::event::Action;
use crate::follow::Plan;
use crate::machine::{Machine, Place, Successor};
use crate::pack::State;
use crate::refine::Specification;
use crate::visited::{Shard, hash, shard_of};

/// The way back.
pub(crate) struct Path<'a, const W: usize> {
    net: &'a Network,
    plan: &'a Plan,
    machine: &'a Machine<W>,
    spec: &'a Specification,
    shards: &'a [Shard<W>],
    /// Where each layer starts in each shard; one more than there are layers that were expanded.
    layers: &'a [Vec<usize>],
    /// The rules that may have led to a leader's state.
    ends: &'a [Vec<(u32, u32)>],
    /// The specification's nodes before a node, by what is seen.
    nodes: FxHashMap<(u32, u32), Vec<u32>>,
    /// The number of what is seen of each rule.
    seen: Vec<Option<u32>>,
}

impl<'a, const W: usize> Path<'a, W> {
    /// Prepares it.
    pub(crate) fn new(
        net: &'a Network,
        plan: &'a Plan,
        machine: &'a Machine<W>,
        spec: &'a Specification,
        shards: &'a [Shard<W>],
        layers: &'a [Vec<usize>],
    ) -> Self {
        let mut nodes: FxHashMap<(u32, u32), Vec<u32>> = FxHashMap::default();
        for node in 0..spec.nodes() {
            for &(seen, to) in spec.of(node) {
                nodes.entry((seen, to)).or_default().push(node);
            }
        }
        let numbers: FxHashMap<_, u32> = machine.seen().iter().copied().zip(0..).collect();
        let seen = net.rules.iter().map(|rule| rule.action.seen().map(|seen| numbers[&seen])).collect();
        Path { net, plan, machine, spec, shards, layers, ends: machine.ends(), nodes, seen }
    }

    /// The actions from the first state to this one, which is in the last layer, and that of the rule.
    pub(crate) fn to(&self, state: State<W>, rule: u32) -> Vec<Action> {
        let mut actions = vec![self.machine.action(rule)];
        let mut state = state;
        for layer in (1..self.layers.len() - 1).rev() {
            // Each state of a layer was reached from the one before: there is a least one.
            let Some((before, rule)) = self.before(&state, layer - 1) else { break };
            actions.push(self.machine.action(rule));
            state = before;
        }
        actions.reverse();
        actions
    }

    fn before(&self, state: &State<W>, layer: usize) -> Option<(State<W>, u32)> {
        let mut left = (0..self.shards.len()).map(|shard| self.places(layer, shard).len()).sum();
        let mut least: Option<(State<W>, u32)> = None;
        let mut sum = self.machine.room();
        self.machine.sum(state, &mut sum);
        for (ends, now) in self.ends.iter().zip(self.machine.led(state)) {
            let first = ends.partition_point(|end| end.0 < now);
            for &(_, rule) in ends[first..].iter().take_while(|end| end.0 == now) {
                let Some(sources) = self.sources(rule, state, &sum, left) else {
                    return self.expanded(state, layer);
                };
                left -= sources.len();
                for before in sources {
                    let better = least.is_none_or(|least| (before, rule) < least);
                    if better && self.is_in(&before, layer) {
                        least = Some((before, rule));
                    }
                }
            }
        }
        least
    }

    /// The same by expanding the layer.
    fn expanded(&self, state: &State<W>, layer: usize) -> Option<(State<W>, u32)> {
        let (mut room, mut found) = (self.machine.room(), Vec::new());
        let mut least = None;
        for (index, shard) in self.shards.iter().enumerate() {
            for before in self.places(layer, index).map(|place| shard.get(place)) {
                found.clear();
                self.machine.successors(before, &mut room, &mut found);
                let leads = |next: &&Successor<W>| self.spec.after(before, next) == Some(*state);
                let rules = found.iter().filter(leads).map(|next| (*before, next.rule));
                least = least.into_iter().chain(rules).min();
            }
        }
        least
    }

    /// Which places of a shard have a layer's states.
    fn places(&self, layer: usize, shard: usize) -> Range<usize> {
        self.layers[layer][shard]..self.layers[layer + 1][shard]
    }

    fn is_in(&self, state: &State<W>, layer: usize) -> bool {
        let shard = shard_of(hash(state), self.shards.len());
        self.shards[shard].find(state).is_some_and(|place| self.places(layer, shard).contains(&place))
    }

    /// The states, reached or not, from which a rule leads to this one; nothing if they are more than `most`.
    fn sources(&self, rule: u32, state: &State<W>, sum: &[u64], most: usize) -> Option<Vec<State<W>>> {
        let mut found = vec![*state];
        for &(component, label) in &self.net.rules[rule as usize].moves {
            let place = self.machine.place(component);
            let now = match place {
                Place::Stored(field) => field.get(state),
                Place::Follows(field) => field.of(sum),
            };
            let ends = || self.plan.moves(self.net, component, label).filter(|a_move| a_move.to == now);
            match place {
                // It follows in the state before, too, for the rule keeps that: what it was is not asked.
                Place::Follows(_) if ends().next().is_some() => {}
                Place::Follows(_) => return Some(Vec::new()),
                Place::Stored(field) => {
                    let changed = |mut before: State<W>, from| {
                        field.change(&mut before, now, from);
                        before
                    };
                    if found.len().saturating_mul(ends().count()) > most {
                        return None;
                    }
                    found = ends()
                        .flat_map(|end| found.iter().map(move |&before| changed(before, end.from)))
                        .collect();
                }
            }
        }
        let Some(seen) = self.seen[rule as usize] else { return Some(found) };
        let node = self.spec.field.get(state);
        let nodes = self.nodes.get(&(seen, node)).map_or(&[][..], Vec::as_slice);
        let at = |before: &State<W>, from| {
            let mut before = *before;
            self.spec.field.change(&mut before, node, from);
            before
        };
        let count = found.len().saturating_mul(nodes.len());
        let found = || nodes.iter().flat_map(|&from| found.iter().map(move |before| at(before, from)));
        (count <= most).then(|| found().collect())
    }
}
