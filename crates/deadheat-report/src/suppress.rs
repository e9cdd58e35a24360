//! Suppressions: TSan's syntax, read leniently.
//!
//! A file that TSan would refuse as a whole is read as far as it makes sense; each line that
//! cannot mean what its writer hoped for is warned about by file and line.

use std::fmt;

use crate::model::{Access, Finding, Frame, Location, Race, Thread};

/// What a suppression speaks of: TSan's types.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A race with a matching frame in either stack (or in a thread's creation), or at a
    /// matching global.
    Race,
    /// A race whose innermost frame matches.
    RaceTop,
    /// A misused mutex.
    Mutex,
    /// A leaked thread.
    Thread,
    /// An unsafe signal handler.
    Signal,
    /// Anything below a call from a matching library.
    CalledFromLib,
    /// A deadlock.
    Deadlock,
}

impl Kind {
    const NAMES: [(&'static str, Kind); 7] = [
        ("race", Kind::Race),
        ("race_top", Kind::RaceTop),
        ("mutex", Kind::Mutex),
        ("thread", Kind::Thread),
        ("signal", Kind::Signal),
        ("called_from_lib", Kind::CalledFromLib),
        ("deadlock", Kind::Deadlock),
    ];

    /// The name in a suppression file.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, kind)| *kind == self).map_or("", |(name, _)| name)
    }
}

/// A name with `*` for any text, `^` at its start and `$` at its end; without these it matches
/// any text that contains it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pattern {
    from_start: bool,
    to_end: bool,
    /// The texts between the stars, in order.
    parts: Vec<String>,
}

impl Pattern {
    /// Reads a pattern.
    #[must_use]
    pub fn new(text: &str) -> Pattern {
        let (from_start, text) = match text.strip_prefix('^') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (to_end, text) = match text.strip_suffix('$') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        Pattern { from_start, to_end, parts: text.split('*').map(str::to_owned).collect() }
    }

    /// Whether `text` matches. Empty text never does, as in TSan. Takes at most the product of
    /// the lengths in time.
    #[must_use]
    pub fn matches(&self, text: &str) -> bool {
        let (Some(first), Some(last)) = (self.parts.first(), self.parts.last()) else { return false };
        if text.is_empty() {
            return false;
        }
        let mut rest = text;
        let mut middle = &self.parts[..];
        if self.from_start {
            let Some(after) = rest.strip_prefix(first.as_str()) else { return false };
            rest = after;
            middle = &middle[1..];
            if middle.is_empty() {
                return !self.to_end || rest.is_empty();
            }
        }
        if self.to_end {
            let Some(before) = rest.strip_suffix(last.as_str()) else { return false };
            rest = before;
            middle = &middle[..middle.len() - 1];
        }
        // Without an anchor in between, the leftmost place of each part leaves the most room.
        middle.iter().all(|part| match rest.find(part.as_str()) {
            Some(at) => {
                rest = &rest[at + part.len()..];
                true
            }
            None => false,
        })
    }
}

/// One line of a suppression file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Suppression {
    /// What it speaks of.
    pub kind: Kind,
    /// The names that it matches.
    pub pattern: Pattern,
    /// The line as written.
    pub text: String,
    /// The file that it stands in.
    pub file: String,
    /// The line there, from 1.
    pub line: usize,
    /// How many races and findings it took out.
    pub used: u64,
}

impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}

/// All suppressions of a run.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Suppressions {
    rows: Vec<Suppression>,
}

impl Suppressions {
    /// Reads the text of a suppression file that is called `file`, and returns what is wrong
    /// with it, each as `file:line: what`.
    pub fn read(&mut self, file: &str, text: &str) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, line) in text.lines().enumerate().map(|(index, line)| (index + 1, line.trim())) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut warn = |what: String| warnings.push(format!("{file}:{number}: {what}"));
            let Some((kind, pattern)) = line.split_once(':') else {
                warn(format!("`{line}` has no `type:` and suppresses nothing"));
                continue;
            };
            let Some((_, kind)) = Kind::NAMES.iter().find(|(name, _)| *name == kind.trim()) else {
                warn(format!("unknown type `{}`, the line is skipped; types are {}", kind.trim(), types()));
                continue;
            };
            if pattern.trim_start() != pattern {
                warn("the space after the colon is dropped (TSan would look for it)".to_owned());
            }
            let pattern = pattern.trim();
            if pattern.trim_matches(['*', '^', '$']).is_empty() {
                warn(format!("`{line}` would match everything and is skipped"));
                continue;
            }
            self.rows.push(Suppression {
                kind: *kind,
                pattern: Pattern::new(pattern),
                text: line.to_owned(),
                file: file.to_owned(),
                line: number,
                used: 0,
            });
        }
        warnings
    }

    /// Whether a race is suppressed; the suppressions that match it count it.
    pub fn take_race(&mut self, race: &Race) -> bool {
        let mut taken = false;
        for row in &mut self.rows {
            if row.kind.takes_race(&row.pattern, race) {
                row.used += race.count.max(1);
                taken = true;
            }
        }
        taken
    }

    /// Whether a finding is suppressed; the suppressions that match it count it.
    pub fn take_finding(&mut self, finding: &Finding) -> bool {
        let mut taken = false;
        for row in &mut self.rows {
            if row.kind.takes_finding(&row.pattern, finding) {
                row.used += 1;
                taken = true;
            }
        }
        taken
    }

    /// The suppressions that took nothing out so far.
    pub fn unused(&self) -> impl Iterator<Item = &Suppression> {
        self.rows.iter().filter(|row| row.used == 0)
    }

    /// All suppressions, in the order in which they were read.
    #[must_use]
    pub fn rows(&self) -> &[Suppression] {
        &self.rows
    }
}

fn types() -> String {
    Kind::NAMES.map(|(name, _)| name).join(", ")
}

impl Kind {
    fn takes_race(self, pattern: &Pattern, race: &Race) -> bool {
        self.takes_accesses(pattern, &race.accesses, (&race.threads, &race.location))
    }

    fn takes_accesses(
        self,
        pattern: &Pattern,
        accesses: &[Access; 2],
        (threads, location): (&[Thread], &Location),
    ) -> bool {
        let mut stacks = accesses.iter().map(|access| &access.frames);
        match self {
            Kind::Race => {
                stacks
                    .chain(threads.iter().map(|thread| &thread.frames))
                    .flatten()
                    .any(|frame| frame_matches(pattern, frame))
                    || location_matches(pattern, location)
            }
            Kind::RaceTop => {
                stacks.any(|frames| frames.first().is_some_and(|top| frame_matches(pattern, top)))
            }
            Kind::CalledFromLib => stacks.flatten().any(|frame| module_matches(pattern, frame)),
            Kind::Mutex | Kind::Thread | Kind::Signal | Kind::Deadlock => false,
        }
    }

    fn takes_finding(self, pattern: &Pattern, finding: &Finding) -> bool {
        if let Some(accesses) = &finding.accesses {
            return self.takes_accesses(pattern, accesses, (&finding.threads, &finding.location));
        }
        let speaks_of = match self {
            Kind::Race | Kind::RaceTop => false,
            Kind::Mutex => finding.kind == "mutex-misuse",
            Kind::Thread => finding.kind == "thread-leak",
            Kind::Signal => matches!(finding.kind.as_str(), "signal-unsafe" | "signal-errno"),
            Kind::Deadlock => matches!(finding.kind.as_str(), "deadlock" | "lock-order"),
            Kind::CalledFromLib => {
                return finding.frames.iter().any(|frame| module_matches(pattern, frame));
            }
        };
        let mut frames = finding.steps.iter().flat_map(|step| &step.frames).chain(&finding.frames);
        speaks_of && frames.any(|frame| frame_matches(pattern, frame))
    }
}

fn frame_matches(pattern: &Pattern, frame: &Frame) -> bool {
    let function = frame.function.as_deref().unwrap_or("");
    pattern.matches(function)
        || pattern.matches(without_parameters(function))
        || frame.file.as_deref().is_some_and(|file| pattern.matches(file))
        || module_matches(pattern, frame)
}

fn module_matches(pattern: &Pattern, frame: &Frame) -> bool {
    // A pattern may begin with the stroke before the name.
    frame
        .module
        .as_deref()
        .is_some_and(|module| pattern.matches(&format!("/{module}")) || pattern.matches(module))
}

fn location_matches(pattern: &Pattern, location: &Location) -> bool {
    match location {
        Location::Global { symbol, part, .. } => {
            pattern.matches(symbol) || (!part.is_empty() && pattern.matches(&format!("{symbol}{part}")))
        }
        Location::Tls { symbol: Some(symbol), .. } => pattern.matches(symbol),
        Location::Named { name } => pattern.matches(name),
        Location::Tls { symbol: None, .. }
        | Location::Heap { .. }
        | Location::Stack { .. }
        | Location::Mapping { .. }
        | Location::Descriptor { .. }
        | Location::Unknown => false,
    }
}

/// A C++ function's name without its parameters: `a::b(int)` is `a::b`, so that `^a::b$` means
/// what it says.
fn without_parameters(function: &str) -> &str {
    match function.rfind(')') {
        // `operator()` has its parentheses in its name.
        Some(_) => {
            let end = function.rfind("operator()").map_or(0, |at| at + "operator()".len());
            function[end..].find('(').map_or(function, |at| &function[..end + at])
        }
        None => function,
    }
}

#[cfg(test)]
mod tests {
    use super::without_parameters;

    #[test]
    fn parameters_are_left_out() {
        for (long, short) in [
            ("main", "main"),
            ("Cache::put(int)", "Cache::put"),
            ("f::operator()(int) const", "f::operator()"),
            ("map<int (*)(int)>::at(int)", "map<int "),
        ] {
            assert_eq!(without_parameters(long), short);
        }
    }
}
