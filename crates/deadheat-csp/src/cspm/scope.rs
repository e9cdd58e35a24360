//! Whether every name of a script means something: declared once, known where it is used, with as many arguments
//! as it has parameters.

use rustc_hash::FxHashMap;

use super::Error;
use super::ast::{Communication, Expr, Field, Kind, Place, Replicated, Script, What};

/// Checks a script.
pub(super) fn check(script: &Script) -> Result<(), Error> {
    let mut scope = Scope { globals: FxHashMap::default(), locals: Vec::new() };
    for item in &script.items {
        match &item.what {
            What::Datatype(name, values) => {
                scope.declare(name, 0, item.place)?;
                values.iter().try_for_each(|value| scope.declare(value, 0, item.place))?;
            }
            What::Nametype(name, _) => scope.declare(name, 0, item.place)?,
            What::Channel(names, _) => {
                names.iter().try_for_each(|name| scope.declare(name, 0, item.place))?;
            }
            What::Definition(name, parameters, _) => scope.declare(name, parameters.len(), item.place)?,
            What::Assert(..) => {}
        }
    }
    for item in &script.items {
        match &item.what {
            What::Datatype(..) => {}
            What::Nametype(_, set) => scope.expr(set)?,
            What::Channel(_, fields) => scope.all(fields)?,
            What::Definition(_, parameters, body) => {
                for (index, parameter) in parameters.iter().enumerate() {
                    if parameters[..index].contains(parameter) {
                        let found = format!("`{parameter}` a second time");
                        return Err(Error::new(item.place, "each parameter once", found));
                    }
                }
                scope.with(parameters.clone(), |scope| scope.expr(body))?;
            }
            What::Assert(spec, implementation) => {
                scope.expr(spec)?;
                scope.expr(implementation)?;
            }
        }
    }
    Ok(())
}

struct Scope {
    /// Names, how many parameters they have, and where they are declared.
    globals: FxHashMap<String, (usize, Place)>,
    locals: Vec<String>,
}

impl Scope {
    fn declare(&mut self, name: &str, parameters: usize, place: Place) -> Result<(), Error> {
        match self.globals.insert(name.to_owned(), (parameters, place)) {
            None => Ok(()),
            Some((_, first)) => {
                let found = format!("`{name}`, which is declared at {}:{}", first.line, first.column);
                Err(Error::new(place, "a name that is new", found))
            }
        }
    }

    fn with(
        &mut self,
        names: impl IntoIterator<Item = String>,
        check: impl FnOnce(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let before = self.locals.len();
        self.locals.extend(names);
        let result = check(self);
        self.locals.truncate(before);
        result
    }

    fn all<'a>(&mut self, exprs: impl IntoIterator<Item = &'a Expr>) -> Result<(), Error> {
        exprs.into_iter().try_for_each(|expr| self.expr(expr))
    }

    fn used(&self, name: &str, arguments: usize, place: Place) -> Result<(), Error> {
        if arguments == 0 && self.locals.iter().any(|local| local == name) {
            return Ok(());
        }
        match self.globals.get(name) {
            Some(&(parameters, _)) if parameters == arguments => Ok(()),
            Some((parameters, _)) => {
                let expected = match parameters {
                    0 => format!("`{name}` without arguments"),
                    1 => format!("`{name}` with 1 argument"),
                    _ => format!("`{name}` with {parameters} arguments"),
                };
                let found = if arguments == 0 { "none".to_owned() } else { arguments.to_string() };
                Err(Error::new(place, expected, found))
            }
            None => Err(Error::new(place, "a name that is defined", format!("`{name}`"))),
        }
    }

    fn expr(&mut self, expr: &Expr) -> Result<(), Error> {
        match &expr.kind {
            Kind::Number(_) | Kind::Bool(_) | Kind::Events | Kind::Stop | Kind::Skip => Ok(()),
            Kind::Name(name) => self.used(name, 0, expr.place),
            Kind::Call(name, arguments) => {
                self.used(name, arguments.len(), expr.place)?;
                self.all(arguments)
            }
            Kind::Dot(parts) | Kind::Members(parts) | Kind::Productions(parts) | Kind::Infix(_, parts) => {
                self.all(parts)
            }
            Kind::Negative(inner) | Kind::Not(inner) => self.expr(inner),
            Kind::Binary(_, left, right)
            | Kind::Range(left, right)
            | Kind::SetOf(_, left, right)
            | Kind::Guard(left, right)
            | Kind::Hide(left, right) => self.all([&**left, right]),
            Kind::If(one, two, three) | Kind::Parallel(one, two, three) => self.all([&**one, two, three]),
            Kind::Alphabetised(one, two, three, four) => self.all([&**one, two, three, four]),
            Kind::Rename(inner, pairs) => {
                self.expr(inner)?;
                pairs.iter().try_for_each(|(old, new)| self.all([old, new]))
            }
            Kind::Prefix(steps, then) => self.prefix(steps, then),
            Kind::Replicated(operator, variables, body) => {
                let before = self.locals.len();
                if let Replicated::Parallel(set) = operator {
                    self.expr(set)?;
                }
                for (name, set) in variables {
                    self.expr(set)?;
                    self.locals.push(name.clone());
                }
                if let Replicated::Alphabetised(set) = operator {
                    self.expr(set)?;
                }
                self.expr(body)?;
                self.locals.truncate(before);
                Ok(())
            }
        }
    }

    fn prefix(&mut self, steps: &[Communication], then: &Expr) -> Result<(), Error> {
        let before = self.locals.len();
        for step in steps {
            self.expr(&step.head)?;
            for field in &step.fields {
                match field {
                    Field::Output(value) => self.expr(value)?,
                    Field::Input(name, set) => {
                        self.all(set)?;
                        self.locals.push(name.clone());
                    }
                }
            }
        }
        self.expr(then)?;
        self.locals.truncate(before);
        Ok(())
    }
}
