//! Values: what expressions that are no processes mean.

use std::ops::Range;
use std::rc::Rc;

use rustc_hash::FxHashMap;

use super::Error;
use super::ast::{Binary, Expr, Kind, Script, SetOperator, What};

/// A set, or the events of all channels, may have so many members.
const MAX_MEMBERS: usize = 1 << 20;
/// Definitions and expressions within each other, when they are evaluated.
pub(super) const MAX_NESTING: usize = 500;

/// A value. Ordered, so that sets have one order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum Value {
    Number(i64),
    Bool(bool),
    /// A constructor, by its number.
    Atom(u32),
    /// A channel, by its number.
    Channel(u32),
    /// An event, a part of one, or data with dots: never one part, never a dot within a dot.
    Dot(Rc<[Value]>),
    /// Sorted, each member once.
    Set(Rc<[Value]>),
}

impl Value {
    /// A word for messages.
    pub(super) fn what(&self) -> &'static str {
        match self {
            Value::Number(_) => "a number",
            Value::Bool(_) => "a truth value",
            Value::Atom(_) => "a constructor",
            Value::Channel(_) => "a channel",
            Value::Dot(_) => "an event or data with dots",
            Value::Set(_) => "a set",
        }
    }

    /// The parts between the dots.
    pub(super) fn parts(&self) -> &[Value] {
        match self {
            Value::Dot(parts) => parts,
            _ => std::slice::from_ref(self),
        }
    }

    fn dotted(mut parts: Vec<Value>) -> Value {
        if parts.len() == 1 { parts.remove(0) } else { Value::Dot(parts.into()) }
    }
}

/// Variables and their values, the innermost last.
pub(super) type Variables = Vec<(String, Value)>;

/// A definition: its parameters and what it is.
pub(super) type Definition<'a> = (&'a [String], &'a Expr);

/// A channel: its name, and the values of each field.
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) fields: Vec<Rc<[Value]>>,
}

/// What the names of a script mean.
pub(super) struct Globals<'a> {
    pub(super) definitions: FxHashMap<&'a str, Definition<'a>>,
    values: FxHashMap<&'a str, Value>,
    atoms: Vec<&'a str>,
    pub(super) channels: Vec<Channel>,
    pub(super) depth: usize,
    /// How often the variable at each place was asked for.
    reads: Vec<u64>,
}

impl<'a> Globals<'a> {
    /// The names of a script. Channels may use only types and sets that are declared, in any order.
    pub(super) fn new(script: &'a Script) -> Result<Globals<'a>, Error> {
        let mut globals = Globals {
            definitions: FxHashMap::default(),
            values: FxHashMap::default(),
            atoms: Vec::new(),
            channels: Vec::new(),
            depth: 0,
            reads: Vec::new(),
        };
        for item in &script.items {
            match &item.what {
                What::Datatype(name, values) => {
                    let first = globals.atoms.len() as u32;
                    globals.atoms.extend(values.iter().map(String::as_str));
                    let atoms = (first..).map(Value::Atom).take(values.len());
                    globals.values.extend(values.iter().map(String::as_str).zip(atoms.clone()));
                    globals.values.insert(name, Value::Set(atoms.collect()));
                }
                What::Definition(name, parameters, body) => {
                    globals.definitions.insert(name, (parameters, body));
                }
                What::Nametype(name, set) => {
                    globals.definitions.insert(name, (&[], set));
                }
                What::Channel(names, _) => {
                    for name in names {
                        globals.values.insert(name, Value::Channel(globals.channels.len() as u32));
                        globals.channels.push(Channel { name: name.clone(), fields: Vec::new() });
                    }
                }
                What::Assert(..) => {}
            }
        }
        let mut number = 0;
        for item in &script.items {
            let What::Channel(names, fields) = &item.what else { continue };
            let fields = fields.iter().map(|field| globals.field(field)).collect::<Result<Vec<_>, _>>()?;
            for _ in names {
                globals.channels[number].fields.clone_from(&fields);
                number += 1;
            }
        }
        Ok(globals)
    }

    /// The values of a channel's field.
    fn field(&mut self, expr: &Expr) -> Result<Rc<[Value]>, Error> {
        let set = self.set(expr, &mut Vec::new())?;
        match set.iter().find(|value| matches!(value, Value::Channel(_) | Value::Dot(_) | Value::Set(_))) {
            None => Ok(set),
            Some(other) => Err(wrong(expr, "a set of numbers or constructors", other)),
        }
    }

    /// A set's members.
    pub(super) fn set(&mut self, expr: &Expr, variables: &mut Variables) -> Result<Rc<[Value]>, Error> {
        match self.value(expr, variables)? {
            Value::Set(members) => Ok(members),
            other => Err(wrong(expr, "a set", &other)),
        }
    }

    /// A truth value.
    pub(super) fn truth(&mut self, expr: &Expr, variables: &mut Variables) -> Result<bool, Error> {
        match self.value(expr, variables)? {
            Value::Bool(value) => Ok(value),
            other => Err(wrong(expr, "a truth value", &other)),
        }
    }

    fn number(&mut self, expr: &Expr, variables: &mut Variables) -> Result<i64, Error> {
        match self.value(expr, variables)? {
            Value::Number(value) => Ok(value),
            other => Err(wrong(expr, "a number", &other)),
        }
    }

    /// What an expression means that is no process.
    pub(super) fn value(&mut self, expr: &Expr, variables: &mut Variables) -> Result<Value, Error> {
        if self.depth == MAX_NESTING {
            return Err(too_deep(expr));
        }
        self.depth += 1;
        let value = self.inner_value(expr, variables);
        self.depth -= 1;
        value
    }

    fn inner_value(&mut self, expr: &Expr, variables: &mut Variables) -> Result<Value, Error> {
        Ok(match &expr.kind {
            Kind::Number(number) => Value::Number(*number),
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Name(name) => self.named(expr, name, variables)?,
            Kind::Call(name, arguments) => {
                let arguments =
                    arguments.iter().map(|a| self.value(a, variables)).collect::<Result<Vec<_>, _>>()?;
                self.called(expr, name, arguments)?
            }
            Kind::Dot(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend_from_slice(self.value(part, variables)?.parts());
                }
                Value::dotted(all)
            }
            Kind::Negative(inner) => match self.number(inner, variables)?.checked_neg() {
                Some(number) => Value::Number(number),
                None => return Err(overflow(expr)),
            },
            Kind::Not(inner) => Value::Bool(!self.truth(inner, variables)?),
            Kind::Binary(operator, left, right) => self.binary(expr, *operator, [left, right], variables)?,
            Kind::Members(_) | Kind::Range(..) | Kind::Productions(_) | Kind::SetOf(..) | Kind::Events => {
                self.set_value(expr, variables)?
            }
            Kind::If(condition, then, otherwise) => {
                let branch = if self.truth(condition, variables)? { then } else { otherwise };
                self.value(branch, variables)?
            }
            Kind::Stop
            | Kind::Skip
            | Kind::Prefix(..)
            | Kind::Guard(..)
            | Kind::Infix(..)
            | Kind::Parallel(..)
            | Kind::Alphabetised(..)
            | Kind::Hide(..)
            | Kind::Rename(..)
            | Kind::Replicated(..) => {
                return Err(Error::new(expr.place, "a value, an event or a set", "a process"));
            }
        })
    }

    /// What a set that is written out means.
    fn set_value(&mut self, expr: &Expr, variables: &mut Variables) -> Result<Value, Error> {
        match &expr.kind {
            Kind::Members(members) => {
                let members = members.iter().map(|member| self.value(member, variables));
                set_of(expr, members.collect::<Result<Vec<_>, _>>()?)
            }
            Kind::Range(first, last) => {
                let (first, last) = (self.number(first, variables)?, self.number(last, variables)?);
                if last.checked_sub(first).is_none_or(|width| width >= MAX_MEMBERS as i64) {
                    return Err(too_many(expr));
                }
                Ok(Value::Set((first..=last).map(Value::Number).collect()))
            }
            Kind::Productions(of) => {
                let mut events = Vec::new();
                for start in of {
                    let value = self.value(start, variables)?;
                    self.extensions(start, &value, &mut events)?;
                }
                set_of(expr, events)
            }
            Kind::SetOf(operator, left, right) => {
                let (left, right) = (self.set(left, variables)?, self.set(right, variables)?);
                let has = |set: &[Value], value: &Value| set.binary_search(value).is_ok();
                let left = left.iter().cloned();
                let members = match operator {
                    SetOperator::Union => left.chain(right.iter().cloned()).collect(),
                    SetOperator::Intersection => left.filter(|value| has(&right, value)).collect(),
                    SetOperator::Difference => left.filter(|value| !has(&right, value)).collect(),
                };
                set_of(expr, members)
            }
            Kind::Events => {
                let mut events = Vec::new();
                for channel in 0..self.channels.len() as u32 {
                    self.extensions(expr, &Value::Channel(channel), &mut events)?;
                }
                set_of(expr, events)
            }
            _ => Err(Error::new(expr.place, "a set", "something else")),
        }
    }

    fn named(&mut self, expr: &Expr, name: &str, variables: &Variables) -> Result<Value, Error> {
        if let Some(at) = variables.iter().rposition(|(known, _)| known == name) {
            if self.reads.len() <= at {
                self.reads.resize(at + 1, 0);
            }
            self.reads[at] += 1;
            return Ok(variables[at].1.clone());
        }
        if let Some(value) = self.values.get(name) {
            return Ok(value.clone());
        }
        let value = self.called(expr, name, Vec::new())?;
        if let Some((&name, _)) = self.definitions.get_key_value(name) {
            self.values.insert(name, value.clone());
        }
        Ok(value)
    }

    /// How often the variables at some places were asked for.
    pub(super) fn reads_of(&self, places: Range<usize>) -> u64 {
        self.reads.iter().take(places.end).skip(places.start).sum()
    }

    fn called(&mut self, expr: &Expr, name: &str, arguments: Vec<Value>) -> Result<Value, Error> {
        let Some(&(parameters, body)) = self.definitions.get(name) else {
            return Err(Error::new(expr.place, "a name that is defined", format!("`{name}`")));
        };
        let mut variables = parameters.iter().cloned().zip(arguments).collect();
        self.value(body, &mut variables)
    }

    fn binary(
        &mut self,
        expr: &Expr,
        operator: Binary,
        [left, right]: [&Expr; 2],
        variables: &mut Variables,
    ) -> Result<Value, Error> {
        match operator {
            Binary::Or => {
                return Ok(Value::Bool(self.truth(left, variables)? || self.truth(right, variables)?));
            }
            Binary::And => {
                return Ok(Value::Bool(self.truth(left, variables)? && self.truth(right, variables)?));
            }
            Binary::Equal => {
                return Ok(Value::Bool(self.value(left, variables)? == self.value(right, variables)?));
            }
            Binary::Unequal => {
                return Ok(Value::Bool(self.value(left, variables)? != self.value(right, variables)?));
            }
            _ => {}
        }
        let (left, number) = (self.number(left, variables)?, right);
        let right = self.number(number, variables)?;
        let number = match operator {
            Binary::Less => return Ok(Value::Bool(left < right)),
            Binary::LessOrEqual => return Ok(Value::Bool(left <= right)),
            Binary::Greater => return Ok(Value::Bool(left > right)),
            Binary::GreaterOrEqual => return Ok(Value::Bool(left >= right)),
            Binary::Plus => left.checked_add(right),
            Binary::Minus => left.checked_sub(right),
            Binary::Times => left.checked_mul(right),
            _ if right == 0 => return Err(Error::new(number.place, "a divisor that is not 0", "0")),
            // Rounded down, as in the language; the remainder has the divisor's sign.
            Binary::Divided => left.checked_div_euclid(right).map(|quotient| floor(left, right, quotient)),
            _ => left
                .checked_rem(right)
                .map(|rest| if rest != 0 && (rest < 0) != (right < 0) { rest + right } else { rest }),
        };
        number.map(Value::Number).ok_or_else(|| overflow(expr))
    }

    /// The values that a channel's next field may have after such a start of an event.
    pub(super) fn next_field(&self, expr: &Expr, start: &[Value]) -> Result<Rc<[Value]>, Error> {
        let Some(Value::Channel(number)) = start.first() else {
            return Err(match start.first() {
                Some(other) => wrong(expr, "an event", other),
                None => Error::new(expr.place, "an event", "nothing"),
            });
        };
        let channel = &self.channels[*number as usize];
        channel.fields.get(start.len() - 1).cloned().ok_or_else(|| {
            let expected = format!("at most {} after `{}`", fields(channel.fields.len()), channel.name);
            Error::new(expr.place, expected, "more")
        })
    }

    /// All events that start so.
    fn extensions(&self, expr: &Expr, start: &Value, out: &mut Vec<Value>) -> Result<(), Error> {
        let start = self.check(expr, start.parts())?;
        let mut open = vec![start];
        while let Some(start) = open.pop() {
            let Value::Channel(number) = start[0] else { continue };
            if start.len() > self.channels[number as usize].fields.len() {
                out.push(Value::dotted(start));
            } else {
                let values = self.next_field(expr, &start)?;
                if out.len() + open.len() + values.len() > MAX_MEMBERS {
                    return Err(too_many(expr));
                }
                open.extend(values.iter().map(|value| {
                    let mut longer = start.clone();
                    longer.push(value.clone());
                    longer
                }));
            }
        }
        Ok(())
    }

    /// The parts of an event or of the start of one, if every field has a value of its type.
    pub(super) fn check(&self, expr: &Expr, parts: &[Value]) -> Result<Vec<Value>, Error> {
        for index in 1..parts.len().max(1) {
            let allowed = self.next_field(expr, &parts[..index])?;
            if allowed.binary_search(&parts[index]).is_err() {
                let expected = format!("a value of field {index} of `{}`", self.name(&parts[..1]));
                return Err(Error::new(
                    expr.place,
                    expected,
                    format!("`{}`", self.name(&parts[index..=index])),
                ));
            }
        }
        match parts.first() {
            Some(Value::Channel(_)) => Ok(parts.to_vec()),
            Some(other) => Err(wrong(expr, "an event", other)),
            None => Err(Error::new(expr.place, "an event", "nothing")),
        }
    }

    /// Whether an event has all its fields.
    pub(super) fn is_whole(&self, parts: &[Value]) -> bool {
        match parts.first() {
            Some(Value::Channel(number)) => parts.len() > self.channels[*number as usize].fields.len(),
            _ => true,
        }
    }

    /// The name of a whole event.
    pub(super) fn event(&self, expr: &Expr, value: &Value) -> Result<String, Error> {
        let parts = self.check(expr, value.parts())?;
        let Value::Channel(number) = parts[0] else { return Err(wrong(expr, "an event", value)) };
        let channel = &self.channels[number as usize];
        if parts.len() <= channel.fields.len() {
            let expected = format!("{} after `{}`", fields(channel.fields.len()), channel.name);
            return Err(Error::new(expr.place, expected, (parts.len() - 1).to_string()));
        }
        Ok(self.name(&parts))
    }

    /// Values as text, with dots between.
    pub(super) fn name(&self, parts: &[Value]) -> String {
        let one = |value: &Value| match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::Atom(number) => self.atoms[*number as usize].to_owned(),
            Value::Channel(number) => self.channels[*number as usize].name.clone(),
            Value::Dot(parts) => self.name(parts),
            Value::Set(members) => format!("a set of {}", members.len()),
        };
        parts.iter().map(one).collect::<Vec<_>>().join(".")
    }
}

fn floor(left: i64, right: i64, euclidean: i64) -> i64 {
    // They differ where the divisor is negative and something remains.
    if right < 0 && left.checked_rem(right).is_some_and(|rest| rest != 0) { euclidean - 1 } else { euclidean }
}

fn fields(count: usize) -> String {
    if count == 1 { "1 field".to_owned() } else { format!("{count} fields") }
}

fn set_of(expr: &Expr, mut members: Vec<Value>) -> Result<Value, Error> {
    members.sort_unstable();
    members.dedup();
    if members.len() > MAX_MEMBERS { Err(too_many(expr)) } else { Ok(Value::Set(members.into())) }
}

pub(super) fn wrong(expr: &Expr, expected: &str, found: &Value) -> Error {
    Error::new(expr.place, expected, found.what())
}

pub(super) fn too_deep(expr: &Expr) -> Error {
    let expected = format!("expressions and values nested at most {MAX_NESTING} deep");
    Error::new(expr.place, expected, "more")
}

fn too_many(expr: &Expr) -> Error {
    Error::new(expr.place, format!("at most {MAX_MEMBERS} members"), "more")
}

fn overflow(expr: &Expr) -> Error {
    Error::new(expr.place, "a number of 64 bits", "a greater one")
}
