//! The registry of formats: a new one is a file and a row.

use std::io::{self, Write};
use std::path::Path;

use crate::control::shown;
use crate::model::{Report, Run};
use crate::source::Sources;
use crate::{github, html, json, junit, sarif, text, tsan};

/// How a report is to be written.
pub struct Style<'a> {
    /// Whether to use colour, where the format has any.
    pub color: bool,
    /// Whether a summary alone is wanted where nothing was found.
    pub quiet: bool,
    /// Where a run's source text comes from.
    pub sources: &'a dyn Fn(&Run) -> Box<dyn Sources + 'a>,
    /// The folder from which formats for other tools name source files: the repository's.
    pub root: &'a Path,
}

/// A format that reports can be written in.
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line about it.
    pub about: &'static str,
    /// Whether it is told while a person looks on, and so goes to standard error.
    pub for_people: bool,
    /// Writes reports, as one document where the format has documents.
    pub write: fn(&[Report], &Style<'_>, &mut dyn Write) -> io::Result<()>,
}

/// All formats. Those whose form has no escapes of its own are given the reports without control characters.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "for people: both places in their source, stacks, threads, locks",
        for_people: true,
        write: |reports, style, out| text::write(&shown(reports)?, style, out),
    },
    Format {
        name: "json",
        about: "JSON lines, versioned: the source of every other format",
        for_people: false,
        write: |reports, _style, out| reports.iter().try_for_each(|report| json::write(report, out)),
    },
    Format {
        name: "html",
        about: "one page, nothing beside it: sources side by side, how the threads met",
        for_people: false,
        write: |reports, style, out| html::write(&shown(reports)?, style, out),
    },
    Format {
        name: "tsan",
        about: "in ThreadSanitizer's shape, for tools that look for it",
        for_people: true,
        write: |reports, style, out| tsan::write(&shown(reports)?, style, out),
    },
    Format {
        name: "sarif",
        about: "SARIF 2.1.0, for code scanning and editors",
        for_people: false,
        write: sarif::write,
    },
    Format {
        name: "junit",
        about: "JUnit's XML: a failed test for each race",
        for_people: false,
        write: junit::write,
    },
    Format {
        name: "github",
        about: "annotations of lines in a GitHub job's log",
        for_people: false,
        write: |reports, style, out| github::annotations(&shown(reports)?, style, out),
    },
    Format {
        name: "markdown",
        about: "a page in Markdown, such as a GitHub job's summary",
        for_people: false,
        write: |reports, style, out| github::markdown(&shown(reports)?, style, out),
    },
];

/// The format of that name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
