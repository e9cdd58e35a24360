//! Data to text.
//!
//! More parentheses are written than the language needs: an operand is written bare only if it is a name, a call, a
//! constant, a set, or a chain of prefixes where one may stand. So readers with another idea of how strongly operators bind
//! understand the same.

use std::fmt::{self, Display, Formatter};

use super::ast::{Communication, Expr, Field, Item, Kind, Replicated, Script, What};

/// A chain of events or operands is broken into lines of about so many characters.
const WIDTH: usize = 110;

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.items.iter().try_for_each(|item| writeln!(f, "{item}"))
    }
}

impl Display for Item {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::Datatype(name, values) => write!(f, "datatype {name} = {}", values.join(" | ")),
            What::Nametype(name, set) => write!(f, "nametype {name} = {}", Simple(set)),
            What::Channel(names, fields) => {
                write!(f, "channel {}", names.join(", "))?;
                let between = |index| if index == 0 { " : " } else { "." };
                let mut fields = fields.iter().enumerate();
                fields.try_for_each(|(index, field)| write!(f, "{}{}", between(index), Simple(field)))
            }
            What::Definition(name, parameters, body) => {
                f.write_str(name)?;
                if !parameters.is_empty() {
                    write!(f, "({})", parameters.join(", "))?;
                }
                write!(f, " = {body}")
            }
            What::Assert(spec, implementation) => {
                write!(f, "assert {} [T= {}", Simple(spec), Simple(implementation))
            }
        }
    }
}

/// An expression that is put into parentheses unless nothing can tear it apart.
struct Simple<'a>(&'a Expr);

impl Display for Simple<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            Kind::Number(_)
            | Kind::Bool(_)
            | Kind::Name(_)
            | Kind::Call(..)
            | Kind::Members(_)
            | Kind::Range(..)
            | Kind::Productions(_)
            | Kind::SetOf(..)
            | Kind::Events
            | Kind::Stop
            | Kind::Skip => write!(f, "{}", self.0),
            Kind::Dot(_)
            | Kind::Negative(_)
            | Kind::Not(_)
            | Kind::Binary(..)
            | Kind::If(..)
            | Kind::Prefix(..)
            | Kind::Guard(..)
            | Kind::Infix(..)
            | Kind::Parallel(..)
            | Kind::Alphabetised(..)
            | Kind::Hide(..)
            | Kind::Rename(..)
            | Kind::Replicated(..) => write!(f, "({})", self.0),
        }
    }
}

/// An operand of an operator on processes: prefixes need no parentheses.
struct Operand<'a>(&'a Expr);

impl Display for Operand<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.0.kind {
            // What ends in `if` or a replicated operator would take in what follows.
            Kind::Prefix(_, then) if is_simple(then) => write!(f, "{}", self.0),
            _ => write!(f, "{}", Simple(self.0)),
        }
    }
}

fn is_simple(expr: &Expr) -> bool {
    matches!(expr.kind, Kind::Name(_) | Kind::Call(..) | Kind::Stop | Kind::Skip)
}

/// Where a dotted event stands by itself between commas.
struct Event<'a>(&'a Expr);

impl Display for Event<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if matches!(self.0.kind, Kind::Dot(_)) {
            write!(f, "{}", self.0)
        } else {
            write!(f, "{}", Simple(self.0))
        }
    }
}

fn events(f: &mut Formatter<'_>, open: &str, list: &[Expr], close: &str) -> fmt::Result {
    f.write_str(open)?;
    for (index, event) in list.iter().enumerate() {
        write!(f, "{}{}", if index == 0 { "" } else { ", " }, Event(event))?;
    }
    f.write_str(close)
}

impl Display for Expr {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Number(number) => write!(f, "{number}"),
            Kind::Bool(value) => write!(f, "{value}"),
            Kind::Name(name) => f.write_str(name),
            Kind::Call(name, arguments) => {
                f.write_str(name)?;
                events(f, "(", arguments, ")")
            }
            Kind::Dot(parts) => {
                let between = |index| if index == 0 { "" } else { "." };
                let mut parts = parts.iter().enumerate();
                parts.try_for_each(|(index, part)| write!(f, "{}{}", between(index), Simple(part)))
            }
            Kind::Negative(value) => write!(f, "-{}", Simple(value)),
            Kind::Not(value) => write!(f, "not {}", Simple(value)),
            Kind::Binary(operator, left, right) => {
                write!(f, "{} {} {}", Simple(left), operator.text(), Simple(right))
            }
            Kind::Members(members) => events(f, "{", members, "}"),
            Kind::Range(first, last) => write!(f, "{{{}..{}}}", Simple(first), Simple(last)),
            Kind::Productions(of) => events(f, "{|", of, "|}"),
            Kind::SetOf(operator, left, right) => {
                write!(f, "{}({}, {})", operator.text(), Simple(left), Simple(right))
            }
            Kind::Events => f.write_str("Events"),
            Kind::If(condition, then, otherwise) => {
                write!(f, "if {} then {} else {}", Simple(condition), Simple(then), Simple(otherwise))
            }
            Kind::Stop => f.write_str("STOP"),
            Kind::Skip => f.write_str("SKIP"),
            Kind::Prefix(..)
            | Kind::Guard(..)
            | Kind::Infix(..)
            | Kind::Parallel(..)
            | Kind::Alphabetised(..)
            | Kind::Hide(..)
            | Kind::Rename(..)
            | Kind::Replicated(..) => process(f, &self.kind),
        }
    }
}

fn process(f: &mut Formatter<'_>, kind: &Kind) -> fmt::Result {
    match kind {
        Kind::Prefix(steps, then) => {
            let steps = steps.iter().map(ToString::to_string).chain([Simple(then).to_string()]);
            chain(f, steps, " ->")
        }
        Kind::Guard(condition, then) => write!(f, "{} & {}", Simple(condition), Simple(then)),
        Kind::Infix(operator, operands) => {
            let operands = operands.iter().map(|operand| Operand(operand).to_string());
            chain(f, operands, &format!(" {}", operator.text()))
        }
        Kind::Parallel(left, set, right) => {
            write!(f, "{} [|{}|] {}", Operand(left), Simple(set), Operand(right))
        }
        Kind::Alphabetised(left, lefts, rights, right) => {
            let (left, right) = (Operand(left), Operand(right));
            write!(f, "{left} [{} || {}] {right}", Simple(lefts), Simple(rights))
        }
        Kind::Hide(inner, set) => write!(f, "{} \\ {}", Operand(inner), Simple(set)),
        Kind::Rename(inner, pairs) => {
            write!(f, "{}[[", Simple(inner))?;
            for (index, (old, new)) in pairs.iter().enumerate() {
                write!(f, "{}{} <- {}", if index == 0 { "" } else { ", " }, Event(old), Event(new))?;
            }
            f.write_str("]]")
        }
        Kind::Replicated(operator, variables, body) => {
            match operator {
                Replicated::External => f.write_str("[] ")?,
                Replicated::Internal => f.write_str("|~| ")?,
                Replicated::Interleave => f.write_str("||| ")?,
                Replicated::Parallel(set) => write!(f, "[|{}|] ", Simple(set))?,
                Replicated::Alphabetised(_) => f.write_str("|| ")?,
            }
            for (index, (name, set)) in variables.iter().enumerate() {
                write!(f, "{}{name}:{}", if index == 0 { "" } else { ", " }, Simple(set))?;
            }
            f.write_str(" @ ")?;
            if let Replicated::Alphabetised(set) = operator {
                write!(f, "[{}] ", Simple(set))?;
            }
            write!(f, "{}", Operand(body))
        }
        _ => Ok(()),
    }
}

/// Parts with something between, in lines of a readable length.
fn chain(f: &mut Formatter<'_>, parts: impl Iterator<Item = String>, between: &str) -> fmt::Result {
    let mut column = 0;
    for (index, part) in parts.enumerate() {
        if index > 0 {
            f.write_str(between)?;
            let wide = column + part.len() > WIDTH;
            f.write_str(if wide { "\n  " } else { " " })?;
            column = if wide { 2 } else { column + between.len() + 1 };
        }
        f.write_str(&part)?;
        column += part.len();
    }
    Ok(())
}

impl Display for Communication {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", Event(&self.head))?;
        self.fields.iter().try_for_each(|field| match field {
            Field::Output(value) => write!(f, "!{}", Simple(value)),
            Field::Input(name, None) => write!(f, "?{name}"),
            Field::Input(name, Some(set)) => write!(f, "?{name}:{}", Simple(set)),
        })
    }
}
