//! The registry of formats: a new one is a file and a row.

use std::io::{self, Write};

use crate::model::Report;
use crate::source::Sources;
use crate::{json, text};

/// How a report is to be written.
pub struct Style<'a> {
    /// Whether to use colour, where the format has any.
    pub color: bool,
    /// Whether a summary alone is wanted where nothing was found.
    pub quiet: bool,
    /// Where source text comes from.
    pub sources: &'a dyn Sources,
}

/// A format that a report can be written in.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Whether it is made for people, and so goes to standard error.
    pub for_people: bool,
    /// Writes a report.
    pub write: fn(&Report, &Style<'_>, &mut dyn Write) -> io::Result<()>,
}

/// All formats.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "for people: both places in their source, stacks, threads, locks",
        for_people: true,
        write: text::write,
    },
    Format {
        name: "json",
        about: "JSON lines, versioned: the source of every other format",
        for_people: false,
        write: |report, _style, out| json::write(report, out),
    },
];

/// The format of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
