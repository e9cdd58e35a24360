//! Lines that GitHub's runners turn into annotations of the lines of a change, and a page for a job's summary.
//!
//! A runner shows ten annotations of each level a step, so that many are written, the strongest races
//! first as the report has them, and one line says how many there are beside them.

use std::io::{self, Write};

use crate::format::Style;
use crate::group::key_frame;
use crate::model::{Access, Finding, Frame, Grade, Race, Report};
use crate::place::Place;
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
            let mut frames = race.accesses.iter().filter_map(|access| key_frame(&access.frames));
            let frame = frames.find(|frame| frame.file.is_some() && frame.line.is_some());
            let place = properties(frame, &title, folder, style);
            line(race.grade, format!("{place}::{}", data(&message(race))), out)?;
        }
        for Finding { kind, grade, message, frames, .. } in &report.findings {
            let place = properties(key_frame(frames), kind, folder, style);
            line(grade.unwrap_or_default(), format!("{place}::{}", data(message)), out)?;
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

/// Writes a page in Markdown: a table of what was found, and each race's text, folded.
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
            let places: Vec<String> = race.accesses.iter().map(place_of).collect();
            let what = cell(&text::on_what(race));
            writeln!(
                out,
                "| {} `{}` | {what} | {} |",
                race.grade.shown(),
                race.id,
                cell(&places.join(", "))
            )?;
        }
        for Finding { kind, message, frames, .. } in &report.findings {
            let place = key_frame(frames).map_or(String::new(), words::frame_line);
            writeln!(out, "| {} | {} | {} |", cell(kind), cell(message), cell(&place))?;
        }
        writeln!(out)?;
        let sources = (style.sources)(&report.run);
        for race in &report.races {
            let told = text::plain(race, &*sources);
            // A fence longer than any in what it holds.
            let longest = told.split(|c| c != '`').map(str::len).max().unwrap_or(0);
            let fence = "`".repeat(longest.max(2) + 1);
            let id = &race.id;
            writeln!(
                out,
                "<details><summary>{id}</summary>\n\n{fence}text\n{told}\n{fence}\n\n</details>\n"
            )?;
        }
    }
    Ok(())
}

/// Both accesses, in one line each, and what brings it back.
fn message(race: &Race) -> String {
    let mut lines: Vec<String> = race
        .accesses
        .iter()
        .map(|access| format!("{} ({})", words::what_it_does(access), place_of(access)))
        .collect();
    lines.push(race.id.clone());
    lines.join("\n")
}

fn place_of(access: &Access) -> String {
    key_frame(&access.frames).map_or("place not known".to_owned(), words::frame_line)
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
