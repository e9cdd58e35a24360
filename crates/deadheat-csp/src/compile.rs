//! From a term to a network: leaves that are transition systems, and rules that join their moves.
//!
//! The operators above the leaves are walked once. What remains of them is a list of rules ("supercombinators" in
//! FDR3: Gibson-Robinson and others, TACAS 2014): a rule names the components that move together, the label that
//! each must offer, and the action that this is for the whole. Operators whose rules change while they run (choice,
//! interrupt, sequence) get a component of their own, of two or three states, which moves with every step of their
//! operands: so there is one kind of rule and no other state than the components' states.
//!
//! A subterm becomes a leaf if no parallel operator can be reached from it without passing a prefix or a process
//! that is being defined.
//!
//! Departure from [`crate::semantics`]: both sides of a parallel terminate in one step, not each by a τ first. The
//! traces are the same, and N threads that have ended do not make 2^N states
//! (`docs/decisions/0018-product-machines.md`).

use rustc_hash::{FxHashMap, FxHashSet};

use crate::event::{Action, Event};
use crate::lts::{self, Lts, Move};
use crate::semantics::{self, Error};
use crate::term::{Node, Process, Set, Term, Terms};

/// What a rule takes in memory, roughly: bounds the number of rules.
const BYTES_A_RULE: usize = 128;

/// What was being built when the memory was used up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The small processes below the operators, or the rules that join them.
    Leaves,
    /// The specification's normal form.
    Specification,
    /// The product, which is searched.
    Product,
}

/// Why there is no network.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The term has no meaning.
    Meaning(Error),
    /// The memory allowed is used up.
    Memory(Stage, usize),
}

/// Components that move together, and what that is for the whole.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) action: Action,
    /// (component, label): each component at most once.
    pub(crate) moves: Vec<(u32, u32)>,
}

/// A network: component `c` runs the system `systems[components[c]]`.
#[derive(Default, Debug)]
pub(crate) struct Network {
    pub(crate) systems: Vec<Lts>,
    pub(crate) components: Vec<u32>,
    pub(crate) rules: Vec<Rule>,
}

impl Network {
    /// The system of a component.
    pub(crate) fn system(&self, component: u32) -> &Lts {
        &self.systems[self.components[component as usize] as usize]
    }
}

/// Compiles a term. `memory` bounds, in bytes, what leaves and rules take.
pub(crate) fn network(terms: &mut Terms, root: Term, memory: usize) -> Result<Network, Fault> {
    let most_states = lts::most_states(memory);
    let most_rules = memory / BYTES_A_RULE;
    let mut walk = Walk {
        terms,
        net: Network::default(),
        leaves: FxHashMap::default(),
        open: Vec::new(),
        states_left: most_states,
        most_states,
        most_rules,
        depth: 0,
    };
    let rules = walk.operator(root)?;
    walk.net.rules = rules;
    Ok(walk.net)
}

struct Walk<'a> {
    terms: &'a mut Terms,
    net: Network,
    /// Leaves that are unfolded: the number of the system, and its actions.
    leaves: FxHashMap<Term, (u32, Vec<Action>)>,
    /// The named processes above the place of the walk.
    open: Vec<Process>,
    states_left: usize,
    most_states: usize,
    most_rules: usize,
    depth: usize,
}

/// The labels of an operator's own component.
mod mode {
    /// Of the left operand of an interrupt or a sequence: an event or a τ.
    pub(super) const LEFT: u32 = 0;
    /// The left operand terminates.
    pub(super) const LEFT_ENDS: u32 = 1;
    /// The right operand does a τ.
    pub(super) const RIGHT_TAU: u32 = 2;
    /// The right operand does an event or terminates.
    pub(super) const RIGHT: u32 = 3;
}

impl Walk<'_> {
    fn operator(&mut self, term: Term) -> Result<Vec<Rule>, Fault> {
        if !self.reaches_parallel(term) {
            return self.leaf(term);
        }
        if self.depth == semantics::MAX_DEPTH {
            return Err(Fault::Meaning(Error::TooDeep));
        }
        self.depth += 1;
        let rules = self.above_leaves(term)?;
        self.depth -= 1;
        if rules.len() > self.most_rules {
            return Err(Fault::Memory(Stage::Leaves, self.most_states - self.states_left));
        }
        Ok(rules)
    }

    fn above_leaves(&mut self, term: Term) -> Result<Vec<Rule>, Fault> {
        Ok(match self.terms.node(term).clone() {
            Node::Parallel(left, set, right) => {
                let sides = [self.operator(left)?, self.operator(right)?];
                self.join(sides, |_, _, _| true, |terms, event| terms.contains(set, event))?
            }
            Node::Alphabetised(left, lefts, rights, right) => {
                let sides = [self.operator(left)?, self.operator(right)?];
                let sets: [Set; 2] = [lefts, rights];
                let both = |terms: &Terms, event| sets.iter().all(|&set| terms.contains(set, event));
                self.join(sides, |terms, side, event| terms.contains(sets[side], event), both)?
            }
            Node::Hide(inner, set) => {
                let mut rules = self.operator(inner)?;
                for rule in &mut rules {
                    rule.action = semantics::hidden(self.terms, rule.action, set);
                }
                rules
            }
            Node::Rename(inner, renaming) => {
                let mut rules = Vec::new();
                for rule in self.operator(inner)? {
                    let actions = semantics::renamed(self.terms, rule.action, renaming);
                    rules
                        .extend(actions.into_iter().map(|action| Rule { action, moves: rule.moves.clone() }));
                }
                rules
            }
            Node::Call(process) => {
                let Some(body) = self.terms.body(process) else { return self.leaf(term) };
                self.open.push(process);
                let rules = self.operator(body)?;
                self.open.pop();
                rules
            }
            Node::External(choices) => self.external(&choices)?,
            Node::Internal(choices) => self.internal(&choices)?,
            Node::Interrupt(inner, by) => self.interrupt(inner, by)?,
            Node::Sequence(first, second) => self.sequence(first, second)?,
            Node::Stop | Node::Skip | Node::Omega | Node::Prefix(..) => self.leaf(term)?,
        })
    }

    /// Whether a parallel is above all prefixes and recursions.
    fn reaches_parallel(&self, term: Term) -> bool {
        let mut calls: FxHashSet<Process> = self.open.iter().copied().collect();
        let mut left = vec![term];
        while let Some(term) = left.pop() {
            match self.terms.node(term) {
                Node::Parallel(..) | Node::Alphabetised(..) => return true,
                Node::Stop | Node::Skip | Node::Omega | Node::Prefix(..) => {}
                Node::External(choices) | Node::Internal(choices) => left.extend(choices),
                &Node::Hide(inner, _) | &Node::Rename(inner, _) => left.push(inner),
                &Node::Interrupt(one, other) | &Node::Sequence(one, other) => left.extend([one, other]),
                &Node::Call(process) => {
                    if calls.insert(process) {
                        left.extend(self.terms.body(process));
                    }
                }
            }
        }
        false
    }

    fn leaf(&mut self, term: Term) -> Result<Vec<Rule>, Fault> {
        let (system, actions) = match self.leaves.get(&term) {
            Some((system, actions)) => (*system, actions.clone()),
            None => {
                let unfolded = lts::unfold(self.terms, term, self.states_left);
                let (lts, actions) = unfolded.map_err(|fault| match fault {
                    Fault::Memory(stage, _) => Fault::Memory(stage, self.most_states),
                    Fault::Meaning(_) => fault,
                })?;
                self.states_left = self.states_left.saturating_sub(lts.states as usize).max(1);
                self.net.systems.push(lts);
                let system = self.net.systems.len() as u32 - 1;
                self.leaves.insert(term, (system, actions.clone()));
                (system, actions)
            }
        };
        self.net.components.push(system);
        let component = self.net.components.len() as u32 - 1;
        let rule = |(label, action)| Rule { action, moves: vec![(component, label as u32)] };
        Ok(actions.into_iter().enumerate().map(rule).collect())
    }

    /// The rules of a parallel, from those of its sides.
    fn join(
        &mut self,
        [lefts, rights]: [Vec<Rule>; 2],
        allowed: impl Fn(&Terms, usize, Event) -> bool,
        together: impl Fn(&Terms, Event) -> bool,
    ) -> Result<Vec<Rule>, Fault> {
        let meets = |action: Action| match action {
            Action::Tau(_) => false,
            Action::Tick => true,
            Action::Event(event) => together(self.terms, event),
        };
        let mut partners: FxHashMap<Action, Vec<usize>> = FxHashMap::default();
        for (index, rule) in rights.iter().enumerate().filter(|(_, rule)| meets(rule.action)) {
            partners.entry(rule.action).or_default().push(index);
        }
        let mut out = Vec::new();
        for left in lefts.iter().filter(|rule| meets(rule.action)) {
            for &index in partners.get(&left.action).map_or(&[][..], Vec::as_slice) {
                let moves = left.moves.iter().chain(&rights[index].moves).copied().collect();
                out.push(Rule { action: left.action, moves });
                if out.len() > self.most_rules {
                    return Err(Fault::Memory(Stage::Leaves, self.most_states - self.states_left));
                }
            }
        }
        for (side, rules) in [lefts, rights].into_iter().enumerate() {
            out.extend(rules.into_iter().filter(|rule| match rule.action {
                Action::Tau(_) => true,
                Action::Tick => false,
                Action::Event(event) => !together(self.terms, event) && allowed(self.terms, side, event),
            }));
        }
        Ok(out)
    }

    /// A component of an operator's own; gives its number.
    fn control(&mut self, states: u32, moves: &[(u32, u32, u32)]) -> u32 {
        let moves = moves.iter().map(|&(from, label, to)| Move { from, label, to }).collect();
        self.net.systems.push(Lts::new(states, moves));
        self.net.components.push(self.net.systems.len() as u32 - 1);
        self.net.components.len() as u32 - 1
    }

    /// States: 0, undecided; i + 1, choice i is taken. Labels: 2i, a τ of choice i; 2i + 1, anything else of it.
    fn external(&mut self, choices: &[Term]) -> Result<Vec<Rule>, Fault> {
        let mut out = Vec::new();
        let mut moves = Vec::new();
        for index in 0..choices.len() as u32 {
            let (taken, tau) = (index + 1, 2 * index);
            moves.extend([(0, tau, 0), (taken, tau, taken), (0, tau + 1, taken), (taken, tau + 1, taken)]);
        }
        let control = self.control(choices.len() as u32 + 1, &moves);
        for (index, &choice) in choices.iter().enumerate() {
            for mut rule in self.operator(choice)? {
                let decides = !matches!(rule.action, Action::Tau(_));
                rule.moves.push((control, 2 * index as u32 + u32::from(decides)));
                out.push(rule);
            }
        }
        Ok(out)
    }

    /// States as above. Labels: 2i, choice i is taken; 2i + 1, a step of it.
    fn internal(&mut self, choices: &[Term]) -> Result<Vec<Rule>, Fault> {
        let mut out = Vec::new();
        let mut moves = Vec::new();
        for index in 0..choices.len() as u32 {
            moves.extend([(0, 2 * index, index + 1), (index + 1, 2 * index + 1, index + 1)]);
        }
        let control = self.control(choices.len() as u32 + 1, &moves);
        for (index, &choice) in choices.iter().enumerate() {
            out.push(Rule { action: Action::Tau(None), moves: vec![(control, 2 * index as u32)] });
            for mut rule in self.operator(choice)? {
                rule.moves.push((control, 2 * index as u32 + 1));
                out.push(rule);
            }
        }
        Ok(out)
    }

    /// States: 0, not interrupted; 1, interrupted; 2, over.
    fn interrupt(&mut self, inner: Term, by: Term) -> Result<Vec<Rule>, Fault> {
        use mode::{LEFT, LEFT_ENDS, RIGHT, RIGHT_TAU};
        let moves = [
            (0, LEFT, 0),
            (0, LEFT_ENDS, 2),
            (0, RIGHT_TAU, 0),
            (1, RIGHT_TAU, 1),
            (0, RIGHT, 1),
            (1, RIGHT, 1),
        ];
        let control = self.control(3, &moves);
        let (mut left, mut right) = (self.operator(inner)?, self.operator(by)?);
        for rule in &mut left {
            rule.moves.push((control, if rule.action == Action::Tick { LEFT_ENDS } else { LEFT }));
        }
        for rule in &mut right {
            let tau = matches!(rule.action, Action::Tau(_));
            rule.moves.push((control, if tau { RIGHT_TAU } else { RIGHT }));
        }
        left.append(&mut right);
        Ok(left)
    }

    /// States: 0, the first runs; 1, the second runs.
    fn sequence(&mut self, first: Term, second: Term) -> Result<Vec<Rule>, Fault> {
        use mode::{LEFT, LEFT_ENDS, RIGHT};
        let control = self.control(2, &[(0, LEFT, 0), (0, LEFT_ENDS, 1), (1, RIGHT, 1)]);
        let (mut left, mut right) = (self.operator(first)?, self.operator(second)?);
        for rule in &mut left {
            let ends = rule.action == Action::Tick;
            rule.moves.push((control, if ends { LEFT_ENDS } else { LEFT }));
            if ends {
                rule.action = Action::Tau(None);
            }
        }
        for rule in &mut right {
            rule.moves.push((control, RIGHT));
        }
        left.append(&mut right);
        Ok(left)
    }
}
