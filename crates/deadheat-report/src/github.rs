//! Lines that GitHub's runners turn into annotations of the lines of a change, and a page for a job's summary.
//!
//! A runner shows ten annotations of each level a step, so that many are written, the strongest races
//! first as the report has them, and one line says how many there are beside them.

use std::io::{self, Write};
use std::iter;

use crate::format::Style;
use crate::group::key_frame;
use crate::html;
use crate::model::{Frame, Grade, Report};
use crate::place::Place;
use crate::side::Side;
use crate::text::{self, words};

/// How many annotations of one level are shown.
const MOST: usize = 10;

/// Writes an annotation for each race, finding and note.
///
/// # Errors
/// The stream cannot be written to.
pub fn annotations(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let mut counts = [0; 2];
    let mut line = |grade: Grade, command: String, out: &mut dyn Write| {
        let level = grade.level();
        let count = &mut counts[usize::from(level == "error")];
        *count += 1;
        if *count <= MOST { writeln!(out, "::{level} {command}") } else { Ok(()) }
    };
    for report in reports {
        let folder = &report.run.folder;
        for race in &report.races {
            let title = format!("{}: data race on {}", race.grade.shown(), text::on_what(race));
            let sides = race.accesses.each_ref().map(Side::of);
            let frame = first_in_source(sides.iter().map(|side| side.frames));
            let place = properties(frame, &title, folder, style);
            let mut lines = lines(&sides);
            lines.push(race.id.clone());
            line(race.grade, format!("{place}::{}", data(&lines.join("\n"))), out)?;
        }
        for finding in &report.findings {
            let title = words::graded(finding, &finding.kind);
            let sides = Side::all(finding);
            let stacks = iter::once(&finding.frames[..]).chain(sides.iter().map(|side| side.frames));
            let place = properties(first_in_source(stacks), &title, folder, style);
            let mut lines = if sides.len() > 1 { lines(&sides) } else { Vec::new() };
            lines.insert(0, finding.message.clone());
            let text = data(&lines.join("\n"));
            line(finding.grade.unwrap_or_default(), format!("{place}::{text}"), out)?;
        }
    }
    for note in reports.iter().flat_map(|report| &report.summary.notes).take(MOST) {
        writeln!(out, "::notice title=deadheat::{}", data(note))?;
    }
    let left: usize = counts.iter().map(|count| count.saturating_sub(MOST)).sum();
    if left > 0 {
        writeln!(out, "::notice::deadheat: {left} more are in the whole report")?;
    }
    Ok(())
}

/// Writes a page in Markdown: a table of what was found, and the text of each race and of each finding with a stack, folded.
///
/// # Errors
/// The stream cannot be written to.
pub fn markdown(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        writeln!(out, "### deadheat: `{}`\n", report.run.program.replace('`', "'"))?;
        writeln!(out, "{}\n", text::closing(report))?;
        for note in &report.summary.notes {
            writeln!(out, "> {note}\n")?;
        }
        if report.races.is_empty() && report.findings.is_empty() {
            continue;
        }
        writeln!(out, "| | what | where |\n| --- | --- | --- |")?;
        for race in &report.races {
            let places = places(&race.accesses.each_ref().map(Side::of));
            let what = cell(&text::on_what(race));
            writeln!(out, "| {} `{}` | {what} | {} |", race.grade.shown(), race.id, cell(&places))?;
        }
        for finding in &report.findings {
            let (kind, places) = (words::graded(finding, &finding.kind), places(&Side::all(finding)));
            writeln!(out, "| {} | {} | {} |", cell(&kind), cell(&finding.message), cell(&places))?;
        }
        writeln!(out)?;
        let sources = (style.sources)(&report.run);
        for race in &report.races {
            folded(&race.id, &text::plain(race, &*sources), out)?;
        }
        for finding in report.findings.iter().filter(|finding| !Side::all(finding).is_empty()) {
            let title = format!("{}: {}", words::graded(finding, &finding.kind), finding.message);
            folded(&html::rich(&title), &text::plain_finding(finding), out)?;
        }
    }
    Ok(())
}

/// Text as it is, behind a line that unfolds it.
fn folded(title: &str, told: &str, out: &mut dyn Write) -> io::Result<()> {
    // A fence longer than any in what it holds.
    let longest = told.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    writeln!(out, "<details><summary>{title}</summary>\n\n{fence}text\n{told}\n{fence}\n\n</details>\n")
}

/// The sides, in one line each.
fn lines(sides: &[Side<'_>]) -> Vec<String> {
    sides.iter().map(|side| format!("{} ({})", side.what, place_of(side))).collect()
}

/// Their places, in one line.
fn places(sides: &[Side<'_>]) -> String {
    sides.iter().map(place_of).collect::<Vec<_>>().join(", ")
}

fn place_of(side: &Side<'_>) -> String {
    side.place().unwrap_or_else(|| "place not known".to_owned())
}

/// The first of the places that stacks are known by whose line is known.
fn first_in_source<'a>(stacks: impl Iterator<Item = &'a [Frame]>) -> Option<&'a Frame> {
    stacks.filter_map(key_frame).find(|frame| frame.file.is_some() && frame.line.is_some())
}

fn properties(frame: Option<&Frame>, title: &str, folder: &str, style: &Style<'_>) -> String {
    let mut text = String::new();
    if let Some(Frame { file: Some(file), line: Some(line), column, .. }) = frame {
        let path = Place::of(file, folder, style.root);
        text += &format!("file={},line={line},", property(path.path()));
        if let Some(column) = column {
            text += &format!("col={column},");
        }
    }
    text + &format!("title={}", property(title))
}

/// Text as the runner reads it behind the second pair of colons.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text as the runner reads it between commas.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Text in a table's cell.
fn cell(text: &str) -> String {
    text.replace('\\', "\\\\").replace('|', "\\|").replace('<', "&lt;").replace('\n', " ")
}
