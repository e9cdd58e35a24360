//! The watched order, set from outside: places of the program, in the order in which they are to
//! be passed for the first time (`docs/hunting.md`).
//!
//! Invariant: a step whose place is not in the program is refused before the program runs; what
//! a run made of the order is told, never assumed.

mod modules;
mod place;

use std::path::{Path, PathBuf};
use std::time::Duration;

use deadheat_core::gate::MAX_STEPS;

use crate::args;
use crate::exit::Failure;
use crate::hunt::gatefile::{Code, CodeRange, Module, Plan};
use crate::hunt::outcome::Outcome;
use modules::Modules;
use place::Place;

/// The order in which a run is to pass places.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Options {
    /// Pass the places in FILE in this order, each for the first time: one a line, as
    /// file.c:LINE, module!file.c:LINE or module+0xOFFSET; # begins a comment
    #[arg(long, value_name = "FILE")]
    order: Option<PathBuf>,
    /// Give the order up when a thread has waited this long at one place
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = args::duration)]
    order_patience: Duration,
}

/// An order whose places were found in the program.
pub(crate) struct Order {
    file: PathBuf,
    steps: Vec<Step>,
    modules: Vec<Module>,
    ranges: Vec<CodeRange>,
    patience: Duration,
}

/// A line of the file.
struct Step {
    line: usize,
    text: String,
}

/// What a run made of the order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kept {
    /// Each place was passed in its turn.
    Whole,
    /// Nobody took the gate file: the order was not looked at.
    Ignored,
    /// It was given up at this step, from 0.
    GivenUp(usize),
    /// The run ended before this step, from 0, was passed.
    Ended(usize),
}

impl Order {
    /// Reads the file that the options name, if they name one, and finds its places in the program.
    pub(crate) fn read(options: &Options, program: &Path) -> Result<Option<Order>, Failure> {
        let Some(file) = &options.order else { return Ok(None) };
        let bytes = std::fs::read(file)
            .map_err(|error| Failure::input(format!("cannot read {}: {error}", file.display())))?;
        let mut order = Order {
            file: file.clone(),
            steps: Vec::new(),
            modules: Vec::new(),
            ranges: Vec::new(),
            patience: options.order_patience,
        };
        let mut modules = Modules::of(program);
        for (text, line) in String::from_utf8_lossy(&bytes).lines().zip(1..) {
            let text = place::without_comment(text);
            if text.is_empty() {
                continue;
            }
            order.steps.push(Step { line, text: text.to_owned() });
            order.add(&mut modules).map_err(|reason| order.refuse(line, &format!("{text}: {reason}")))?;
        }
        if order.steps.is_empty() {
            return Err(Failure::input(format!("{}: there is no place in it", file.display())));
        }
        Ok(Some(order))
    }

    fn refuse(&self, line: usize, reason: &str) -> Failure {
        Failure::input(format!("{}:{line}: {reason}", self.file.display()))
    }

    /// Finds the code of the last step.
    fn add(&mut self, modules: &mut Modules) -> Result<(), String> {
        let step = self.steps.len() - 1;
        if step >= MAX_STEPS {
            return Err(format!("an order has at most {MAX_STEPS} places"));
        }
        let place = Place::parse(&self.steps[step].text)?;
        let found = modules.find(&place)?;
        let module = self.module(found.module);
        for range in found.ranges {
            let from = Code { module, offset: range.start };
            if let Some(other) = self.ranges.iter().find(|other| {
                other.from.module == module && other.from.offset < range.end && range.start < other.to
            }) {
                let line = self.steps[other.step].line;
                return Err(format!("this place is in line {line} already, and is passed first only once"));
            }
            self.ranges.push(CodeRange { step, from, to: range.end });
        }
        if self.ranges.len() > MAX_STEPS {
            let most = MAX_STEPS;
            return Err(format!("with this place the order has more than {most} ranges of code"));
        }
        Ok(())
    }

    fn module(&mut self, module: Module) -> usize {
        if let Some(known) = self.modules.iter().position(|other| *other == module) {
            return known;
        }
        self.modules.push(module);
        self.modules.len() - 1
    }

    /// What the gate file says of the order.
    pub(crate) fn plan(&self) -> Plan {
        Plan {
            modules: self.modules.clone(),
            steps: self.steps.len(),
            ranges: self.ranges.clone(),
            patience: self.patience,
            ..Plan::default()
        }
    }

    /// What the reader must know of a run in this order: nothing if the order was kept.
    pub(crate) fn warning(&self, outcome: &Outcome) -> Option<String> {
        let file = self.file.display();
        let at = |step: usize| {
            let step = self.steps.get(step)?;
            Some(format!("{file}:{}: {}", step.line, step.text))
        };
        match kept(outcome, self.steps.len()) {
            Kept::Whole => None,
            Kept::Ignored => {
                Some(format!("{file}: no process took the order: the trace is of a run in any order"))
            }
            Kept::GivenUp(step) => Some(format!(
                "{}: this place was not passed within {} s while others waited for it: the order was given up, \
                 and the trace is of a run in another order",
                at(step)?,
                self.patience.as_secs_f64()
            )),
            Kept::Ended(step) => Some(format!(
                "{}: the run ended before this place was passed: the trace is of a run in another order",
                at(step)?
            )),
        }
    }
}

fn kept(outcome: &Outcome, steps: usize) -> Kept {
    let step = |number: u64| usize::try_from(number).unwrap_or(usize::MAX).min(steps - 1);
    match (outcome.taken, outcome.given_up) {
        (None, _) => Kept::Ignored,
        (_, Some(given_up)) => Kept::GivenUp(step(given_up.saturating_sub(1))),
        (_, None) if outcome.passed < steps as u64 => Kept::Ended(step(outcome.passed)),
        (_, None) => Kept::Whole,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_an_order() {
        let outcome = |passed, given_up| Outcome { taken: Some(1), passed, given_up, ..Outcome::default() };
        assert_eq!(kept(&outcome(3, None), 3), Kept::Whole);
        assert_eq!(kept(&outcome(1, None), 3), Kept::Ended(1));
        assert_eq!(kept(&outcome(1, Some(2)), 3), Kept::GivenUp(1));
        assert_eq!(kept(&outcome(1, Some(99)), 3), Kept::GivenUp(2));
        assert_eq!(kept(&Outcome::default(), 3), Kept::Ignored);
    }
}
