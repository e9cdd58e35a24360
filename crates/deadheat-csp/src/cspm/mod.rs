//! CSP_M, the language in which models are written: the subset that this project writes and reads.
//!
//! | module | holds |
//! | --- | --- |
//! | [`ast`] | what a script says, as data: what programs build |
//! | `print` | data to text: `Display` of [`ast::Script`] |
//! | `lexer`, `parse` | text to data, with the place of every expression |
//! | `scope` | whether every name is known, used in the right number of arguments, defined once |
//! | [`mod@model`] | data to terms: channels become events, instances of definitions become processes |
//!
//! Text → data → text is a fixed point. Every error says line, column, what was expected and what is there. What
//! the subset is, is in `docs/csp.md`; where the language is larger, we refuse and do not guess.

pub mod ast;
mod lexer;
pub mod model;
mod parse;
mod print;
mod scope;
mod value;

use std::fmt;

pub use ast::{Expr, Item, Kind, Place, Script};
pub use model::{Assertion, Model, model};

/// Expressions within expressions that a script may have. Chains of prefixes and of one operator count once.
pub const MAX_DEPTH: usize = 120;

/// What is wrong with a script, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    /// Where, from line 1 and column 1; columns count characters.
    pub place: (u32, u32),
    /// What would be right.
    pub expected: String,
    /// What is there.
    pub found: String,
}

impl fmt::Display for Error {
    /// `LINE:COLUMN: expected …, found …`: to be put behind a file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (line, column) = self.place;
        write!(f, "{line}:{column}: expected {}, found {}", self.expected, self.found)
    }
}

impl std::error::Error for Error {}

impl Error {
    fn new(place: Place, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error { place: (place.line, place.column), expected: expected.into(), found: found.into() }
    }
}

/// Reads a script and does not ask whether its names mean something.
pub fn parse_only(text: &str) -> Result<Script, Error> {
    parse::script(text)
}

/// Reads a script and checks its names.
pub fn read(text: &str) -> Result<Script, Error> {
    let script = parse::script(text)?;
    scope::check(&script)?;
    Ok(script)
}
