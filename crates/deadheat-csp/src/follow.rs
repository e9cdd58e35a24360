//! Which components of a network follow from the others and need not be stored.
//!
//! Where every step of a component adds to its state's number what the step's label fixes, the number is a sum over the
//! rules that happened. If what each rule adds can be charged to its leader so that a leader's state alone says what was
//! added on any way to it, the component's state is the sum of what the leaders' states contribute: an invariant of the
//! network, as a place invariant is of a Petri net. A mutex follows from the places at which the threads are, and so do
//! forks, joins and counters; a register that keeps what was written last does not.
//!
//! A state in which a component ends for good has as many pasts as there are places to end at: it is split by what was added
//! on the way, so that it tells what was.
//!
//! Numbers are counted modulo the power of two that holds them. In a sum each has a bit more than it needs,
//! so that words are added whole and the bit above is then cleared.
//!
//! Rules keep the invariant in both directions, so that a way back over them ([`crate::path`]) keeps it, too.
//! Why: `docs/decisions/0022-states-that-follow.md`.

use rustc_hash::FxHashMap;

use crate::compile::{Network, Rule};
use crate::lts::{Labels, Lts, Move};
use crate::pack::{Field, Layout, MAX_LOCAL_STATES, layout};

/// Which component of each rule leads it, and which components follow.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The moves by label of each system.
    pub(crate) labels: Vec<Labels>,
    /// Of each rule the index of the move that leads; none if the rule cannot happen.
    pub(crate) leaders: Vec<Option<usize>>,
    /// Of each component whether it follows.
    pub(crate) follows: Vec<bool>,
    /// Where in the sums each component is that follows; any place for the others.
    pub(crate) fields: Vec<Field>,
    /// In each word of a sum the bits that count.
    pub(crate) masks: Vec<u64>,
    /// What the states of a component contribute, a sum for each; empty where it is nothing.
    pub(crate) sums: Vec<Vec<u64>>,
}

/// A move, and the rule of which it is the one that leads, if any.
type Edge = (Move, Option<u32>);

/// The ways through a component.
#[derive(Default)]
struct Ways {
    /// What each state contributes; empty where it is nothing.
    sums: Vec<u64>,
    /// The bits in which two ways to a state do not agree, and those to a state in which the component ends for good.
    wrong: Vec<u64>,
    wrong_ends: Vec<u64>,
    /// The moves to such states, each with what was contributed behind it.
    ends: Vec<(Move, Vec<u64>)>,
}

impl Plan {
    /// Plans a network; splits states of its components where more follows then. What the sums take is kept below `memory`
    /// bytes; else nothing follows.
    pub(crate) fn new(net: &mut Network, memory: usize) -> Plan {
        let labels: Vec<Labels> = net.systems.iter().map(Labels::new).collect();
        let leaders: Vec<Option<usize>> = net.rules.iter().map(|rule| leader(net, &labels, rule)).collect();
        let mut follows: Vec<bool> =
            (0..net.components.len() as u32).map(|component| net.system(component).states > 1).collect();
        for (rule, leader) in net.rules.iter().zip(&leaders) {
            if let Some(leader) = *leader {
                follows[rule.moves[leader].0 as usize] = false;
            }
        }
        let mut plan =
            Plan { labels, leaders, follows, fields: Vec::new(), masks: Vec::new(), sums: Vec::new() };
        plan.refuse_uneven(net);
        plan.lay_out(net, memory);
        let ways = plan.ways(net);
        plan.refuse(ways.iter().map(|ways| &ways.wrong));
        plan.split(net, &ways);
        // What one component contributes to another does not depend on a third: the second time nothing is refused.
        loop {
            plan.lay_out(net, memory);
            let ways = plan.ways(net);
            if !plan.refuse(ways.iter().flat_map(|ways| [&ways.wrong, &ways.wrong_ends])) {
                plan.sums = ways.into_iter().map(|ways| ways.sums).collect();
                return plan;
            }
        }
    }

    /// The states that are stored: of each component that does not follow, in their order.
    pub(crate) fn stored<'a>(&'a self, net: &'a Network) -> impl Iterator<Item = usize> + 'a {
        let stored = (0..net.components.len()).filter(|&component| !self.follows[component]);
        stored.map(|component| net.system(component as u32).states as usize)
    }

    fn of<'a>(&'a self, net: &Network, component: u32) -> &'a Labels {
        &self.labels[net.components[component as usize] as usize]
    }

    /// The moves of a component by a label, by their start.
    pub(crate) fn moves<'a>(
        &'a self,
        net: &'a Network,
        component: u32,
        label: u32,
    ) -> impl Iterator<Item = Move> + 'a {
        self.of(net, component).moves(net.system(component), label)
    }

    /// What a step with this label adds to the state's number, if that is the same in all states.
    fn change(&self, net: &Network, component: u32, label: u32) -> Option<u32> {
        let mask = net.system(component).states.next_power_of_two() - 1;
        let mut moves =
            self.moves(net, component, label).map(|a_move| a_move.to.wrapping_sub(a_move.from) & mask);
        let first = moves.next()?;
        moves.all(|other| other == first).then_some(first)
    }

    /// Refuses components to which a label adds in more than one way.
    fn refuse_uneven(&mut self, net: &Network) {
        for (rule, _) in net.rules.iter().zip(&self.leaders).filter(|(_, leader)| leader.is_some()) {
            for &(component, label) in &rule.moves {
                let follows = self.follows[component as usize];
                self.follows[component as usize] = follows && self.change(net, component, label).is_some();
            }
        }
    }

    /// Places what follows in the sums.
    fn lay_out(&mut self, net: &Network, memory: usize) {
        let count = |component: usize| match self.follows[component] {
            true => 2 * net.system(component as u32).states as usize,
            false => 1,
        };
        let Layout { fields, words, .. } = layout((0..net.components.len()).map(count));
        self.fields = fields.into_iter().map(Field::without_top).collect();
        let states: usize = self.stored(net).sum();
        if states.saturating_mul(words * size_of::<u64>()) > memory {
            self.follows.fill(false);
        }
        let words = if self.follows.contains(&true) { words } else { 0 };
        self.masks = vec![0; words];
        if words > 0 {
            self.fields.iter().for_each(|field| field.set(&mut self.masks, u32::MAX));
        }
    }

    /// The ways through each component.
    fn ways(&self, net: &Network) -> Vec<Ways> {
        let mut edges: Vec<Vec<Edge>> = vec![Vec::new(); net.components.len()];
        if self.masks.is_empty() {
            return edges.iter().map(|_| Ways::default()).collect();
        }
        for (number, rule) in net.rules.iter().enumerate() {
            let Some(leader) = self.leaders[number] else { continue };
            for (index, &(component, label)) in rule.moves.iter().enumerate() {
                if !self.follows[component as usize] {
                    let charge = (index == leader).then_some(number as u32);
                    let moves = self.moves(net, component, label).map(|a_move| (a_move, charge));
                    edges[component as usize].extend(moves);
                }
            }
        }
        let all = edges.into_iter().enumerate();
        all.map(|(component, edges)| self.ways_of(net, component as u32, edges)).collect()
    }

    /// What each state of a component contributes, following its edges from the first one.
    fn ways_of(&self, net: &Network, component: u32, mut edges: Vec<Edge>) -> Ways {
        edges.sort_unstable_by_key(|edge| edge.0.from);
        let system = net.system(component);
        let (states, words) = (system.states as usize, self.masks.len());
        let mut ways = Ways { wrong: vec![0; words], wrong_ends: vec![0; words], ..Ways::default() };
        let mut is_end = vec![true; states];
        system.moves.iter().for_each(|a_move| is_end[a_move.from as usize] = false);
        let mut sums = vec![0u64; states * words];
        let mut reached = vec![false; states];
        let mut open = vec![0u32];
        reached[0] = true;
        let mut after = vec![0u64; words];
        while let Some(from) = open.pop() {
            let first = edges.partition_point(|edge| edge.0.from < from);
            for (a_move, charge) in edges[first..].iter().take_while(|edge| edge.0.from == from) {
                after.copy_from_slice(&sums[from as usize * words..][..words]);
                if let Some(rule) = charge {
                    self.add(net, &net.rules[*rule as usize], &mut after);
                }
                let to = a_move.to as usize;
                let known = &mut sums[to * words..][..words];
                if is_end[to] {
                    ways.ends.push((*a_move, after.clone()));
                }
                if reached[to] {
                    let wrong = if is_end[to] { &mut ways.wrong_ends } else { &mut ways.wrong };
                    for ((wrong, known), after) in wrong.iter_mut().zip(known).zip(&after) {
                        *wrong |= *known ^ after;
                    }
                } else {
                    reached[to] = true;
                    known.copy_from_slice(&after);
                    open.push(to as u32);
                }
            }
        }
        ways.sums = if sums.iter().all(|&sum| sum == 0) { Vec::new() } else { sums };
        ways
    }

    /// Refuses components for which two ways to a state do not agree; whether there are any.
    fn refuse<'a>(&mut self, wrong: impl Iterator<Item = &'a Vec<u64>>) -> bool {
        let mut all = vec![0; self.masks.len()];
        for wrong in wrong {
            all.iter_mut().zip(wrong).for_each(|(all, wrong)| *all |= wrong);
        }
        let mut any = false;
        for (follows, field) in self.follows.iter_mut().zip(&self.fields) {
            if *follows && field.of(&all) != 0 {
                (*follows, any) = (false, true);
            }
        }
        any
    }

    /// Gives a state in which a component ends for good a number for each sum that leads there. What the component did
    /// is then known from where it ended.
    fn split(&mut self, net: &mut Network, ways: &[Ways]) {
        let mut kept = vec![0; self.masks.len()];
        for (field, _) in self.fields.iter().zip(&self.follows).filter(|(_, follows)| **follows) {
            field.set(&mut kept, u32::MAX);
        }
        for (component, ways) in ways.iter().enumerate() {
            let is_wrong = ways.wrong_ends.iter().zip(&kept).any(|(wrong, kept)| wrong & kept != 0);
            if is_wrong && let Some(system) = split(net.system(component as u32), &ways.ends, &kept) {
                self.labels.push(Labels::new(&system));
                net.components[component] = net.systems.len() as u32;
                net.systems.push(system);
            }
        }
    }

    /// Adds what a rule adds to the components that follow.
    fn add(&self, net: &Network, rule: &Rule, sum: &mut [u64]) {
        for &(component, label) in &rule.moves {
            if self.follows[component as usize] {
                let field = self.fields[component as usize];
                let change = self.change(net, component, label).unwrap_or(0);
                field.set(sum, field.of(sum).wrapping_add(change));
            }
        }
    }
}

/// A system of which the ends are split by the sums that lead to them, as far as they are `kept`. None: that would be too many states.
fn split(system: &Lts, ends: &[(Move, Vec<u64>)], kept: &[u64]) -> Option<Lts> {
    let mut states = system.states;
    let mut numbers: FxHashMap<(u32, Vec<u64>), u32> = FxHashMap::default();
    let mut taken = vec![false; system.states as usize];
    let mut moved: FxHashMap<Move, u32> = FxHashMap::default();
    for (a_move, sum) in ends {
        let sum = sum.iter().zip(kept).map(|(sum, kept)| sum & kept).collect();
        let number = *numbers.entry((a_move.to, sum)).or_insert_with(|| {
            // The first keeps the number.
            if std::mem::replace(&mut taken[a_move.to as usize], true) {
                states += 1;
                states - 1
            } else {
                a_move.to
            }
        });
        // A move with two sums cannot be told apart: then they stay wrong.
        moved.entry(*a_move).or_insert(number);
    }
    let to = |a_move: &Move| Move { to: moved.get(a_move).copied().unwrap_or(a_move.to), ..*a_move };
    (states as usize <= MAX_LOCAL_STATES).then(|| Lts::new(states, system.moves.iter().map(to).collect()))
}

/// Which of a rule's moves leads: the one that is offered in the smallest part of its component's states. None
/// where one of the labels is never offered: the rule cannot happen.
fn leader(net: &Network, labels: &[Labels], rule: &Rule) -> Option<usize> {
    let mut best: Option<(usize, u64, u64)> = None;
    for (index, &(component, label)) in rule.moves.iter().enumerate() {
        let offered = labels[net.components[component as usize] as usize].range(label).len() as u64;
        let states = u64::from(net.system(component).states);
        if offered == 0 {
            return None;
        }
        if best.is_none_or(|(_, least, of)| offered * of < least * states) {
            best = Some((index, offered, states));
        }
    }
    best.map(|(index, ..)| index)
}
