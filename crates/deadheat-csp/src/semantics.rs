//! The structural operational semantics: what a term does next.
//!
//! After A. W. Roscoe, *Understanding Concurrent Systems* (2010), chapter 9, with τ and ✓: τ does not
//! decide an external choice or an interrupt; a side of a parallel that terminates does so by a τ and
//! becomes Ω, and Ω beside Ω terminates (✓). One departure, which traces do not show: the use of a named
//! process is no step of its own. So a process whose first step is defined by itself
//! (`P = P [] a -> STOP`) has no meaning here and is refused.
//!
//! This is the simple model of the product machine: the leaves of a network are unfolded with it, and tests
//! compare the machine with it.

use std::fmt;

use crate::event::{Action, Event};
use crate::term::{Node, Process, Set, Term, Terms};

/// Operators within operators that a term may have above its prefixes.
pub const MAX_DEPTH: usize = 400;

/// Why a term has no meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Error {
    /// The process of this name needs its own first step to have a first step.
    Unguarded(String),
    /// The process of this name is used and not defined.
    Undefined(String),
    /// A term has operators within operators deeper than [`MAX_DEPTH`]: mostly a recursion that grows for ever.
    TooDeep,
    /// The product's state would need so many bits: more than [`crate::pack::MAX_BITS`].
    TooWide(usize),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Unguarded(name) => write!(f, "the first step of {name} is defined by {name} itself"),
            Error::Undefined(name) => write!(f, "{name} is used and not defined"),
            Error::TooDeep => write!(
                f,
                "a process is nested deeper than {MAX_DEPTH} operators: does a recursion grow for ever?"
            ),
            Error::TooWide(bits) => {
                let most = crate::pack::MAX_BITS;
                write!(f, "a state of the product would take {bits} bits, more than {most}")
            }
        }
    }
}

impl std::error::Error for Error {}

/// A step: what is done, and the term afterwards.
pub type Step = (Action, Term);

/// The steps of a term, in the order of its parts; a step may be there twice.
pub fn steps(terms: &mut Terms, term: Term) -> Result<Vec<Step>, Error> {
    Rules { terms, unfolding: Vec::new(), depth: 0 }.steps(term)
}

struct Rules<'a> {
    terms: &'a mut Terms,
    /// The named processes whose first steps are being asked for.
    unfolding: Vec<Process>,
    depth: usize,
}

impl Rules<'_> {
    fn steps(&mut self, term: Term) -> Result<Vec<Step>, Error> {
        if self.depth == MAX_DEPTH {
            return Err(Error::TooDeep);
        }
        self.depth += 1;
        let steps = self.operator(term);
        self.depth -= 1;
        steps
    }

    fn operator(&mut self, term: Term) -> Result<Vec<Step>, Error> {
        Ok(match self.terms.node(term).clone() {
            Node::Stop | Node::Omega => Vec::new(),
            Node::Skip => vec![(Action::Tick, self.terms.omega())],
            Node::Prefix(event, then) => vec![(Action::Event(event), then)],
            Node::External(choices) => self.external(&choices)?,
            Node::Internal(choices) => choices.iter().map(|&choice| (Action::Tau(None), choice)).collect(),
            Node::Parallel(left, set, right) => self.parallel(left, set, right)?,
            Node::Alphabetised(left, lefts, rights, right) => {
                self.alphabetised([left, right], [lefts, rights])?
            }
            Node::Hide(inner, set) => self
                .each(inner, |rules, (action, next)| (hidden(rules.terms, action, set), next))?
                .into_iter()
                .map(|(action, next)| (action, self.unless_over(next, |terms| terms.hide(next, set))))
                .collect(),
            Node::Rename(inner, renaming) => {
                let mut out = Vec::new();
                for (action, next) in self.steps(inner)? {
                    let next = self.unless_over(next, |terms| terms.rename(next, renaming));
                    out.extend(
                        renamed(self.terms, action, renaming).into_iter().map(|action| (action, next)),
                    );
                }
                out
            }
            Node::Interrupt(inner, by) => self.interrupt(inner, by)?,
            Node::Sequence(first, second) => self.each(first, |rules, (action, next)| match action {
                Action::Tick => (Action::Tau(None), second),
                Action::Tau(_) | Action::Event(_) => (action, rules.terms.sequence(next, second)),
            })?,
            Node::Call(process) => self.call(process)?,
        })
    }

    fn each(
        &mut self,
        term: Term,
        mut step: impl FnMut(&mut Self, Step) -> Step,
    ) -> Result<Vec<Step>, Error> {
        Ok(self.steps(term)?.into_iter().map(|before| step(self, before)).collect())
    }

    /// Ω inside of hiding and renaming is Ω.
    fn unless_over(&mut self, next: Term, wrap: impl FnOnce(&mut Terms) -> Term) -> Term {
        if *self.terms.node(next) == Node::Omega { next } else { wrap(self.terms) }
    }

    fn external(&mut self, choices: &[Term]) -> Result<Vec<Step>, Error> {
        let mut out = Vec::new();
        for (index, &choice) in choices.iter().enumerate() {
            for (action, next) in self.steps(choice)? {
                let next = match action {
                    Action::Tau(_) => {
                        let mut left = choices.to_vec();
                        left[index] = next;
                        self.terms.external(&left)
                    }
                    Action::Tick | Action::Event(_) => next,
                };
                out.push((action, next));
            }
        }
        Ok(out)
    }

    fn parallel(&mut self, left: Term, set: Set, right: Term) -> Result<Vec<Step>, Error> {
        let sides = [left, right];
        let steps = [self.steps(left)?, self.steps(right)?];
        let together = |terms: &Terms, event| terms.contains(set, event);
        let join = |terms: &mut Terms, left, right| terms.parallel(left, set, right);
        Ok(self.compose(sides, &steps, |_, _, _| true, together, join))
    }

    fn alphabetised(&mut self, sides: [Term; 2], sets: [Set; 2]) -> Result<Vec<Step>, Error> {
        let steps = [self.steps(sides[0])?, self.steps(sides[1])?];
        let allowed = |terms: &Terms, side: usize, event| terms.contains(sets[side], event);
        let together = |terms: &Terms, event| sets.iter().all(|&set| terms.contains(set, event));
        let join = |terms: &mut Terms, left, right| terms.alphabetised(left, sets[0], sets[1], right);
        Ok(self.compose(sides, &steps, allowed, together, join))
    }

    /// The rules of every parallel: who may do what, what is done together, and what it is afterwards.
    fn compose(
        &mut self,
        sides: [Term; 2],
        steps: &[Vec<Step>; 2],
        allowed: impl Fn(&Terms, usize, Event) -> bool,
        together: impl Fn(&Terms, Event) -> bool,
        join: impl Fn(&mut Terms, Term, Term) -> Term,
    ) -> Vec<Step> {
        let mut out = Vec::new();
        for side in [0, 1] {
            for &(action, next) in &steps[side] {
                let alone = match action {
                    Action::Tau(_) => Some(action),
                    Action::Tick => Some(Action::Tau(None)),
                    Action::Event(event) => {
                        let alone = allowed(self.terms, side, event) && !together(self.terms, event);
                        alone.then_some(action)
                    }
                };
                if let Some(action) = alone {
                    let (left, right) = if side == 0 { (next, sides[1]) } else { (sides[0], next) };
                    out.push((action, join(self.terms, left, right)));
                }
            }
        }
        for &(action, left) in &steps[0] {
            let Action::Event(event) = action else { continue };
            if !together(self.terms, event) {
                continue;
            }
            for &(_, right) in steps[1].iter().filter(|step| step.0 == action) {
                out.push((action, join(self.terms, left, right)));
            }
        }
        if sides.iter().all(|&side| *self.terms.node(side) == Node::Omega) {
            out.push((Action::Tick, self.terms.omega()));
        }
        out
    }

    fn interrupt(&mut self, inner: Term, by: Term) -> Result<Vec<Step>, Error> {
        let mut out = self.each(inner, |rules, (action, next)| match action {
            Action::Tick => (action, next),
            Action::Tau(_) | Action::Event(_) => (action, rules.terms.interrupt(next, by)),
        })?;
        out.extend(self.each(by, |rules, (action, next)| match action {
            Action::Tau(_) => (action, rules.terms.interrupt(inner, next)),
            Action::Tick | Action::Event(_) => (action, next),
        })?);
        Ok(out)
    }

    fn call(&mut self, process: Process) -> Result<Vec<Step>, Error> {
        let name = |terms: &Terms| terms.process_name(process).to_owned();
        if self.unfolding.contains(&process) {
            return Err(Error::Unguarded(name(self.terms)));
        }
        let Some(body) = self.terms.body(process) else { return Err(Error::Undefined(name(self.terms))) };
        self.unfolding.push(process);
        let steps = self.steps(body)?;
        self.unfolding.pop();
        Ok(steps)
    }
}

/// What hiding makes of an action.
pub(crate) fn hidden(terms: &Terms, action: Action, set: Set) -> Action {
    match action {
        Action::Event(event) if terms.contains(set, event) => Action::Tau(Some(event)),
        Action::Tau(_) | Action::Tick | Action::Event(_) => action,
    }
}

/// What a renaming makes of an action.
pub(crate) fn renamed(terms: &Terms, action: Action, renaming: crate::term::Renaming) -> Vec<Action> {
    match action {
        Action::Tau(_) | Action::Tick => vec![action],
        Action::Event(event) => match terms.renamed(renaming, event) {
            [] => vec![action],
            pairs => pairs.iter().map(|pair| Action::Event(pair.1)).collect(),
        },
    }
}
