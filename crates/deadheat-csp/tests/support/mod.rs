//! What the tests share: random numbers, random terms, and a brute force of their own over the semantics.
#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod texts;

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};

use deadheat_csp::semantics::steps;
use deadheat_csp::{Action, Event, Limits, Outcome, Seen, Term, Terms, traces};

/// A small generator of random numbers (SplitMix64), the same on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The next 64 random bits.
    pub(crate) fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.bits() >> 32) as usize % bound
    }

    /// One of a slice.
    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// Random terms over a few events.
pub(crate) struct Generator {
    pub(crate) terms: Terms,
    pub(crate) random: Random,
    pub(crate) events: Vec<Event>,
    /// Recursive processes that have their meaning.
    processes: Vec<Term>,
    /// Whether processes may terminate.
    terminates: bool,
}

impl Generator {
    pub(crate) fn new(seed: u64, terminates: bool) -> Generator {
        let mut terms = Terms::new();
        let events = ["a", "b", "c"].map(|name| terms.event(name)).to_vec();
        let mut generator =
            Generator { terms, random: Random(seed), events, processes: Vec::new(), terminates };
        generator.recursive();
        generator
    }

    /// Two processes that use each other, behind an event and at the end only: so they are finite.
    fn recursive(&mut self) {
        let processes = ["P", "Q"].map(|name| self.terms.declare(name));
        let calls = processes.map(|process| self.terms.call(process));
        for process in processes {
            let event = self.event();
            let then = self.sequential(2, &calls);
            let body = self.terms.prefix(event, then);
            self.terms.define(process, body);
        }
        self.processes = calls.to_vec();
    }

    pub(crate) fn event(&mut self) -> Event {
        self.random.pick(&self.events)
    }

    pub(crate) fn set(&mut self) -> deadheat_csp::Set {
        let chosen = self.random.bits();
        let members: Vec<Event> = self
            .events
            .iter()
            .copied()
            .enumerate()
            .filter(|(i, _)| chosen >> i & 1 == 1)
            .map(|(_, e)| e)
            .collect();
        self.terms.set(members)
    }

    fn end(&mut self, ends: &[Term]) -> Term {
        match self.random.below(4) {
            0 => self.terms.stop(),
            1 if self.terminates => self.terms.skip(),
            _ => self.random.pick(ends),
        }
    }

    /// Prefixes and choices.
    fn sequential(&mut self, depth: usize, ends: &[Term]) -> Term {
        if depth == 0 {
            return self.end(ends);
        }
        let event = self.event();
        let one = self.sequential(depth - 1, ends);
        let one = self.terms.prefix(event, one);
        match self.random.below(4) {
            0 => {
                let event = self.event();
                let other = self.sequential(depth - 1, ends);
                let other = self.terms.prefix(event, other);
                self.terms.external(&[one, other])
            }
            1 => {
                let other = self.sequential(depth - 1, ends);
                let event = self.event();
                let other = self.terms.prefix(event, other);
                self.terms.internal(&[one, other])
            }
            _ => one,
        }
    }

    /// Any operators.
    pub(crate) fn term(&mut self, depth: usize) -> Term {
        if depth == 0 {
            let ends = self.processes.clone();
            let depth = self.random.below(3);
            return self.sequential(depth, &ends);
        }
        let left = self.term(depth - 1);
        match self.random.below(12) {
            0 => {
                let event = self.event();
                self.terms.prefix(event, left)
            }
            1 | 2 => {
                let set = self.set();
                self.terms.hide(left, set)
            }
            3 => {
                let pairs = [(self.event(), self.event()), (self.event(), self.event())];
                let renaming = self.terms.renaming(pairs);
                self.terms.rename(left, renaming)
            }
            operator => {
                let depth = self.random.below(depth);
                let right = self.term(depth);
                match operator {
                    4 => self.terms.external(&[left, right]),
                    5 => self.terms.internal(&[left, right]),
                    6 => self.terms.interrupt(left, right),
                    7 => self.terms.sequence(left, right),
                    8 => self.terms.interleave(left, right),
                    9 => {
                        let (lefts, rights) = (self.set(), self.set());
                        self.terms.alphabetised(left, lefts, rights, right)
                    }
                    _ => {
                        let set = self.set();
                        self.terms.parallel(left, set, right)
                    }
                }
            }
        }
    }

    /// Checks a refinement with so many threads.
    pub(crate) fn check(&mut self, spec: Term, implementation: Term, jobs: usize) -> Outcome {
        let limits = Limits { memory: 1 << 22, jobs };
        traces(&mut self.terms, spec, implementation, &limits).expect("random terms are guarded")
    }
}

/// A term's states, unfolded by the semantics alone. None if there are more than `most`.
pub(crate) fn unfold(terms: &mut Terms, root: Term, most: usize) -> Option<Graph> {
    let mut graph = HashMap::new();
    let mut open = vec![root];
    while let Some(term) = open.pop() {
        if graph.contains_key(&term) {
            continue;
        }
        let next = steps(terms, term).expect("random terms are guarded");
        open.extend(next.iter().map(|step| step.1));
        graph.insert(term, next);
        if graph.len() > most {
            return None;
        }
    }
    Some(graph)
}

pub(crate) type Graph = HashMap<Term, Vec<(Action, Term)>>;

/// The states that a set of them may be in after something is seen, and then τ.
pub(crate) fn after(graph: &Graph, states: &BTreeSet<Term>, seen: Option<Seen>) -> BTreeSet<Term> {
    let mut out: BTreeSet<Term> = match seen {
        None => states.clone(),
        Some(_) => {
            let steps = states.iter().flat_map(|state| &graph[state]);
            steps.filter(|step| step.0.seen() == seen).map(|step| step.1).collect()
        }
    };
    let mut open: Vec<Term> = out.iter().copied().collect();
    while let Some(state) = open.pop() {
        for (action, next) in &graph[&state] {
            if action.seen().is_none() && out.insert(*next) {
                open.push(*next);
            }
        }
    }
    out
}

/// Whether a term can do a trace.
pub(crate) fn can_do(graph: &Graph, root: Term, trace: &[Seen]) -> bool {
    let mut states = after(graph, &BTreeSet::from([root]), None);
    for &seen in trace {
        states = after(graph, &states, Some(seen));
    }
    !states.is_empty()
}

/// The least number of steps, τ counted, in which a term does what a specification does not: by brute force. The
/// outer `None` where that would take more than so many pairs of a state and a set of the specification's.
pub(crate) fn shortest(
    spec: &Graph,
    spec_root: Term,
    graph: &Graph,
    root: Term,
    most: usize,
) -> Option<Option<usize>> {
    let start = (root, after(spec, &BTreeSet::from([spec_root]), None));
    let mut known = HashSet::from([start.clone()]);
    let mut open = VecDeque::from([(start, 0)]);
    while let Some(((state, allowed), length)) = open.pop_front() {
        for &(action, next) in &graph[&state] {
            let seen = action.seen();
            let allowed = if seen.is_some() { after(spec, &allowed, seen) } else { allowed.clone() };
            if allowed.is_empty() {
                return Some(Some(length + 1));
            }
            if known.insert((next, allowed.clone())) {
                open.push_back(((next, allowed), length + 1));
            }
        }
        if known.len() > most {
            return None;
        }
    }
    Some(None)
}
