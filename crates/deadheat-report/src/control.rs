//! Control characters in what a program gave names to: threads, files, symbols. Raw they would speak to a terminal, break the
//! lines of a form, or make a page invalid.
//!
//! Invariant: forms that have no escapes of their own are given reports that [`shown`] made, in which no text has a control
//! character. A file whose name has one is not found under the name shown, so its source is not.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::model::Report;

/// The reports with every control character of their texts as people write it: `\n`, `\x1b`.
///
/// # Errors
/// None: what is a report's is JSON.
pub(crate) fn shown(reports: &[Report]) -> io::Result<Vec<Report>> {
    changed(reports, &mut escape_all)
}

/// The reports changed by way of their JSON form, so that no text is left out.
pub(crate) fn changed(reports: &[Report], change: &mut dyn FnMut(&mut Value)) -> io::Result<Vec<Report>> {
    let mut of = |report: &Report| {
        Ok(Report {
            run: part(&report.run, change)?,
            races: report.races.iter().map(|race| part(race, change)).collect::<io::Result<_>>()?,
            findings: report.findings.iter().map(|found| part(found, change)).collect::<io::Result<_>>()?,
            summary: part(&report.summary, change)?,
        })
    };
    reports.iter().map(&mut of).collect()
}

fn part<T: Serialize + DeserializeOwned>(part: &T, change: &mut dyn FnMut(&mut Value)) -> io::Result<T> {
    let mut value = serde_json::to_value(part)?;
    change(&mut value);
    Ok(serde_json::from_value(value)?)
}

fn escape_all(value: &mut Value) {
    match value {
        Value::String(text) => {
            if let Cow::Owned(safe) = escaped(text) {
                *text = safe;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(escape_all),
        Value::Object(fields) => fields.values_mut().for_each(escape_all),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Text with its control characters as people write them, and all else as it is.
pub(crate) fn escaped(text: &str) -> Cow<'_, str> {
    if !text.contains(char::is_control) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe += "\\n",
            '\r' => safe += "\\r",
            '\t' => safe += "\\t",
            // All of them have numbers below 256.
            c if c.is_control() => _ = write!(safe, "\\x{:02x}", u32::from(c)),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_written_and_nothing_else_is_changed() {
        for (text, safe) in [
            ("", ""),
            ("a b\\n `\u{e9}\u{1f600}`", "a b\\n `\u{e9}\u{1f600}`"),
            ("a\n\r\tb", "a\\n\\r\\tb"),
            ("\u{1b}[31m\0\u{1}", "\\x1b[31m\\x00\\x01"),
            ("\u{7f}\u{9b}", "\\x7f\\x9b"),
        ] {
            assert_eq!(escaped(text), safe, "{text:?}");
        }
    }
}
