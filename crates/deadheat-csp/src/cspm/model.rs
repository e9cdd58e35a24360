//! Data to terms: what a script's assertions are about.
//!
//! An event is its whole name (`lock.t1.m`). An instance of a definition (`MUTEX(2)`) becomes a named process;
//! inputs and replicated operators become choices over their values. Only what the assertions need is looked at.
//! Interleavings of many become balanced trees.

use rustc_hash::FxHashMap;

use super::Error;
use super::ast::{Communication, Expr, Field, Infix, Kind, Replicated, Script, What};
use super::scope;
use super::value::{Globals, MAX_NESTING, Value, Variables, too_deep, wrong};
use crate::event::Event;
use crate::term::{Process, Set, Term, Terms};

/// A model may have so many instances of definitions.
const MAX_INSTANCES: usize = 1 << 20;

/// An assertion of a script.
#[derive(Clone, Debug)]
pub struct Assertion {
    /// As it is written: `S [T= I`.
    pub text: String,
    /// The line on which its specification starts; 0 if it was not read from text.
    pub line: u32,
    /// S.
    pub specification: Term,
    /// I.
    pub implementation: Term,
}

/// The terms of a script.
#[derive(Debug)]
pub struct Model {
    /// The terms.
    pub terms: Terms,
    /// The assertions in their order.
    pub assertions: Vec<Assertion>,
}

/// Gives a script its meaning.
pub fn model(script: &Script) -> Result<Model, Error> {
    scope::check(script)?;
    let mut builder = Builder {
        globals: Globals::new(script)?,
        terms: Terms::new(),
        instances: FxHashMap::default(),
        open: Vec::new(),
    };
    let mut assertions = Vec::new();
    for item in &script.items {
        let What::Assert(spec, implementation) = &item.what else { continue };
        let specification = builder.process(spec, &mut Vec::new())?;
        let implementation_term = builder.process(implementation, &mut Vec::new())?;
        let text = item.to_string();
        assertions.push(Assertion {
            text: text.strip_prefix("assert ").unwrap_or(&text).to_owned(),
            line: item.place.line,
            specification,
            implementation: implementation_term,
        });
        builder.define_open()?;
    }
    Ok(Model { terms: builder.terms, assertions })
}

/// What comes behind an input.
struct Rest<'a> {
    steps: &'a [Communication],
    then: &'a Expr,
    /// Where among the variables those of the input begin.
    inputs: usize,
    /// What it is if it does not depend on these.
    same: Option<Term>,
}

struct Builder<'a> {
    globals: Globals<'a>,
    terms: Terms,
    instances: FxHashMap<(&'a str, Vec<Value>), Process>,
    /// Instances that are used and not yet defined.
    open: Vec<(Process, &'a str, Vec<Value>)>,
}

impl<'a> Builder<'a> {
    fn define_open(&mut self) -> Result<(), Error> {
        while let Some((process, name, arguments)) = self.open.pop() {
            let Some(&(parameters, body)) = self.globals.definitions.get(name) else { continue };
            let mut variables: Variables = parameters.iter().cloned().zip(arguments).collect();
            let body = self.process(body, &mut variables)?;
            self.terms.define(process, body);
        }
        Ok(())
    }

    fn process(&mut self, expr: &'a Expr, variables: &mut Variables) -> Result<Term, Error> {
        if self.globals.depth == MAX_NESTING {
            return Err(too_deep(expr));
        }
        self.globals.depth += 1;
        let term = self.inner_process(expr, variables);
        self.globals.depth -= 1;
        term
    }

    fn inner_process(&mut self, expr: &'a Expr, variables: &mut Variables) -> Result<Term, Error> {
        Ok(match &expr.kind {
            Kind::Stop => self.terms.stop(),
            Kind::Skip => self.terms.skip(),
            Kind::Name(name) => self.instance(expr, name, Vec::new(), variables)?,
            Kind::Call(name, arguments) => {
                let arguments = arguments.iter().map(|argument| self.globals.value(argument, variables));
                let arguments = arguments.collect::<Result<Vec<_>, _>>()?;
                self.instance(expr, name, arguments, variables)?
            }
            Kind::Prefix(steps, then) => self.prefix(steps, then, variables)?,
            Kind::Guard(condition, then) => {
                if self.globals.truth(condition, variables)? {
                    self.process(then, variables)?
                } else {
                    self.terms.stop()
                }
            }
            Kind::If(condition, then, otherwise) => {
                let branch = if self.globals.truth(condition, variables)? { then } else { otherwise };
                self.process(branch, variables)?
            }
            Kind::Infix(operator, operands) => {
                let operands = operands.iter().map(|operand| self.process(operand, variables));
                let operands = operands.collect::<Result<Vec<_>, _>>()?;
                self.infix(*operator, &operands)
            }
            Kind::Parallel(left, set, right) => {
                let set = self.events(set, variables)?;
                let (left, right) = (self.process(left, variables)?, self.process(right, variables)?);
                self.terms.parallel(left, set, right)
            }
            Kind::Alphabetised(left, lefts, rights, right) => {
                let (lefts, rights) = (self.events(lefts, variables)?, self.events(rights, variables)?);
                let (left, right) = (self.process(left, variables)?, self.process(right, variables)?);
                self.terms.alphabetised(left, lefts, rights, right)
            }
            Kind::Hide(inner, set) => {
                let set = self.events(set, variables)?;
                let inner = self.process(inner, variables)?;
                self.terms.hide(inner, set)
            }
            Kind::Rename(inner, pairs) => {
                let mut events = Vec::new();
                for (old, new) in pairs {
                    events.extend(self.renamed([old, new], variables)?);
                }
                let renaming = self.terms.renaming(events);
                let inner = self.process(inner, variables)?;
                self.terms.rename(inner, renaming)
            }
            Kind::Replicated(operator, of, body) => self.replicated(expr, operator, (of, body), variables)?,
            Kind::Number(_)
            | Kind::Bool(_)
            | Kind::Dot(_)
            | Kind::Negative(_)
            | Kind::Not(_)
            | Kind::Binary(..)
            | Kind::Members(_)
            | Kind::Range(..)
            | Kind::Productions(_)
            | Kind::SetOf(..)
            | Kind::Events => {
                let found = self.globals.value(expr, variables)?;
                return Err(wrong(expr, "a process", &found));
            }
        })
    }

    fn infix(&mut self, operator: Infix, operands: &[Term]) -> Term {
        match operator {
            Infix::External => self.terms.external(operands),
            Infix::Internal => self.terms.internal(operands),
            Infix::Interleave => self.terms.interleave_all(operands),
            Infix::Interrupt => {
                let folded = fold(operands, |first, rest| self.terms.interrupt(first, rest));
                folded.unwrap_or_else(|| self.terms.stop())
            }
            Infix::Sequence => {
                let folded = fold(operands, |first, rest| self.terms.sequence(first, rest));
                folded.unwrap_or_else(|| self.terms.skip())
            }
        }
    }

    fn instance(
        &mut self,
        expr: &Expr,
        name: &str,
        arguments: Vec<Value>,
        variables: &Variables,
    ) -> Result<Term, Error> {
        if let Some((_, value)) =
            variables.iter().rev().find(|(known, _)| arguments.is_empty() && known == name)
        {
            return Err(wrong(expr, "a process", value));
        }
        let Some((&name, &(_, body))) = self.globals.definitions.get_key_value(name) else {
            let found = self.globals.value(expr, &mut Vec::new())?;
            return Err(wrong(expr, "a process", &found));
        };
        if is_set(body) {
            return Err(Error::new(expr.place, "a process", "a set"));
        }
        if let Some(&process) = self.instances.get(&(name, arguments.clone())) {
            return Ok(self.terms.call(process));
        }
        if self.instances.len() == MAX_INSTANCES {
            let expected = format!("at most {MAX_INSTANCES} instances of definitions");
            return Err(Error::new(expr.place, expected, format!("more, such as of `{name}`")));
        }
        let shown: Vec<String> =
            arguments.iter().map(|argument| self.globals.name(std::slice::from_ref(argument))).collect();
        let shown = if shown.is_empty() { name.to_owned() } else { format!("{name}({})", shown.join(", ")) };
        let process = self.terms.declare(&shown);
        self.instances.insert((name, arguments.clone()), process);
        self.open.push((process, name, arguments));
        Ok(self.terms.call(process))
    }

    /// A set of whole events.
    fn events(&mut self, expr: &Expr, variables: &mut Variables) -> Result<Set, Error> {
        let members = self.globals.set(expr, variables)?;
        let mut events = Vec::with_capacity(members.len());
        for member in members.iter() {
            events.push(self.event(expr, member)?);
        }
        Ok(self.terms.set(events))
    }

    fn event(&mut self, expr: &Expr, value: &Value) -> Result<Event, Error> {
        Ok(self.terms.event(&self.globals.event(expr, value)?))
    }

    /// The pairs of a renaming: of two events one, of two channels with the same fields one for each event.
    fn renamed(
        &mut self,
        exprs: [&Expr; 2],
        variables: &mut Variables,
    ) -> Result<Vec<(Event, Event)>, Error> {
        let mut starts = Vec::new();
        for expr in exprs {
            let value = self.globals.value(expr, variables)?;
            starts.push(self.globals.check(expr, value.parts())?);
        }
        let mut open = vec![Vec::new()];
        let mut out = Vec::new();
        while let Some(rest) = open.pop() {
            let whole = |start: &Vec<Value>| -> Vec<Value> { start.iter().chain(&rest).cloned().collect() };
            let (old, new) = (whole(&starts[0]), whole(&starts[1]));
            if self.globals.is_whole(&old) {
                let old = self.event(exprs[0], &Value::Dot(old.into()))?;
                let new = self.event(exprs[1], &Value::Dot(new.into()))?;
                out.push((old, new));
                continue;
            }
            for value in self.globals.next_field(exprs[0], &old)?.iter() {
                let mut longer = rest.clone();
                longer.push(value.clone());
                open.push(longer);
            }
        }
        Ok(out)
    }

    /// Events up to the first input are a chain; an input is a choice of what it may be.
    fn prefix(
        &mut self,
        steps: &'a [Communication],
        then: &'a Expr,
        variables: &mut Variables,
    ) -> Result<Term, Error> {
        let is_input =
            |step: &Communication| step.fields.iter().any(|field| matches!(field, Field::Input(..)));
        let plain = steps.iter().position(is_input).unwrap_or(steps.len());
        let mut events = Vec::with_capacity(plain);
        for step in &steps[..plain] {
            let mut parts = self.globals.value(&step.head, variables)?.parts().to_vec();
            for field in &step.fields {
                let Field::Output(value) = field else { continue };
                parts.extend_from_slice(self.globals.value(value, variables)?.parts());
            }
            events.push(self.event(&step.head, &Value::Dot(parts.into()))?);
        }
        let end = match steps.get(plain) {
            None => self.process(then, variables)?,
            Some(input) => {
                let parts = self.globals.value(&input.head, variables)?.parts().to_vec();
                let mut rest = Rest { steps: &steps[plain + 1..], then, inputs: variables.len(), same: None };
                let mut choices = Vec::new();
                self.input(input, &input.fields, parts, &mut rest, variables, &mut choices)?;
                self.terms.external(&choices)
            }
        };
        Ok(self.terms.chain(&events, end))
    }

    fn input(
        &mut self,
        step: &Communication,
        fields: &[Field],
        mut parts: Vec<Value>,
        rest: &mut Rest<'a>,
        variables: &mut Variables,
        choices: &mut Vec<Term>,
    ) -> Result<(), Error> {
        if self.globals.depth == MAX_NESTING {
            return Err(too_deep(&step.head));
        }
        match fields.split_first() {
            None => {
                let event = self.event(&step.head, &Value::Dot(parts.into()))?;
                let then = match rest.same {
                    Some(same) => same,
                    None => self.rest(rest, variables)?,
                };
                choices.push(self.terms.prefix(event, then));
                Ok(())
            }
            Some((Field::Output(value), fields)) => {
                parts.extend_from_slice(self.globals.value(value, variables)?.parts());
                self.input(step, fields, parts, rest, variables, choices)
            }
            Some((Field::Input(name, set), fields)) => {
                self.globals.check(&step.head, &parts)?;
                let values = self.globals.next_field(&step.head, &parts)?;
                let allowed = match set {
                    Some(set) => Some(self.globals.set(set, variables)?),
                    None => None,
                };
                let is_allowed = |value: &Value| {
                    allowed.as_ref().is_none_or(|allowed| allowed.binary_search(value).is_ok())
                };
                for value in values.iter().filter(|value| is_allowed(value)) {
                    let mut parts = parts.clone();
                    parts.push(value.clone());
                    variables.push((name.clone(), value.clone()));
                    self.input(step, fields, parts, rest, variables, choices)?;
                    variables.pop();
                }
                Ok(())
            }
        }
    }

    /// What comes behind an input. It is the same whatever was put in if none of that is asked for on the way.
    fn rest(&mut self, rest: &mut Rest<'a>, variables: &mut Variables) -> Result<Term, Error> {
        let inputs = rest.inputs..variables.len();
        let reads = self.globals.reads_of(inputs.clone());
        self.globals.depth += 1;
        let then = self.prefix(rest.steps, rest.then, variables);
        self.globals.depth -= 1;
        let then = then?;
        rest.same = (self.globals.reads_of(inputs) == reads).then_some(then);
        Ok(then)
    }

    fn replicated(
        &mut self,
        expr: &Expr,
        operator: &'a Replicated,
        (of, body): (&'a [(String, Expr)], &'a Expr),
        variables: &mut Variables,
    ) -> Result<Term, Error> {
        let together = match operator {
            Replicated::Parallel(set) => Some(self.events(set, variables)?),
            _ => None,
        };
        let mut terms = Vec::new();
        let alphabet = match operator {
            Replicated::Alphabetised(set) => Some(&**set),
            _ => None,
        };
        self.instances_of(of, (body, alphabet), variables, &mut terms)?;
        let processes: Vec<Term> = terms.iter().map(|term| term.0).collect();
        Ok(match operator {
            Replicated::External => self.terms.external(&processes),
            Replicated::Internal if processes.is_empty() => {
                return Err(Error::new(expr.place, "a set with members for `|~|`", "none"));
            }
            Replicated::Internal => self.terms.internal(&processes),
            Replicated::Interleave => self.terms.interleave_all(&processes),
            Replicated::Parallel(_) => match together {
                Some(set) => self.terms.parallel_all(set, &processes),
                None => self.terms.stop(),
            },
            Replicated::Alphabetised(_) => self.alphabetised(&terms),
        })
    }

    /// Each combination of values of the variables: the body's term, and the events of its alphabet.
    fn instances_of(
        &mut self,
        of: &'a [(String, Expr)],
        body: (&'a Expr, Option<&'a Expr>),
        variables: &mut Variables,
        out: &mut Vec<(Term, Option<Set>)>,
    ) -> Result<(), Error> {
        let Some(((name, set), of)) = of.split_first() else {
            let alphabet = match body.1 {
                Some(set) => Some(self.events(set, variables)?),
                None => None,
            };
            out.push((self.process(body.0, variables)?, alphabet));
            return Ok(());
        };
        for value in self.globals.set(set, variables)?.iter() {
            variables.push((name.clone(), value.clone()));
            let result = self.instances_of(of, body, variables, out);
            variables.pop();
            result?;
        }
        Ok(())
    }

    /// `P1 [A1 || rest] (P2 [A2 || rest] …)`, as a balanced tree.
    fn alphabetised(&mut self, parts: &[(Term, Option<Set>)]) -> Term {
        match parts {
            [] => self.terms.skip(),
            &[(only, Some(set))] => {
                let stop = self.terms.skip();
                let none = self.terms.set([]);
                self.terms.alphabetised(only, set, none, stop)
            }
            &[(only, None)] => only,
            _ => {
                let (lefts, rights) = parts.split_at(parts.len() / 2);
                let sets = [lefts, rights].map(|parts| {
                    let sets = parts.iter().filter_map(|part| part.1);
                    let events: Vec<Event> = sets.flat_map(|set| self.terms.members(set).to_vec()).collect();
                    self.terms.set(events)
                });
                let (left, right) = (self.alphabetised(lefts), self.alphabetised(rights));
                self.terms.alphabetised(left, sets[0], sets[1], right)
            }
        }
    }
}

/// Whether a definition is a set as it stands: then it is no process, and is not asked to be one.
fn is_set(body: &Expr) -> bool {
    matches!(
        body.kind,
        Kind::Members(_) | Kind::Range(..) | Kind::Productions(_) | Kind::SetOf(..) | Kind::Events
    )
}

/// Operators that lean to the right: what runs first is at the top.
fn fold(operands: &[Term], join: impl FnMut(Term, Term) -> Term) -> Option<Term> {
    let mut join = join;
    operands.iter().rev().copied().reduce(|after, before| join(before, after))
}
