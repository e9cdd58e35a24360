//! One page that holds all of a report: no network, no script, nothing beside it.
//!
//! For each race both places in their source side by side, the stacks, what happened around a meeting with a
//! lane for each thread, and the commands that go on from there. For each finding all its places and stacks, a
//! column for each thread.

use std::io::{self, Write};

use crate::control;
use crate::format::Style;
use crate::group::key_frame;
use crate::model::{Finding, Frame, Location, Race, Report, Thread};
use crate::seen::{self, SeenIn};
use crate::side::{Side, by_thread};
use crate::source::Sources;
use crate::text::columns::{self, Columns, Row};
use crate::text::{self, words};

const LOOK: &str = include_str!("page.css");
/// How many lines of source are shown before a place, and behind it.
const AROUND: usize = 4;
/// How many rows an order of operations has.
const MOST_ROWS: usize = 100;
/// What begins the part that is folded.
const ORIGINS: &str = "<details>\n<summary>Where the threads and the memory come from</summary>";

/// Writes reports as one page.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let title = match reports {
        [report] => text::closing(report),
        _ => words::number(reports.iter().map(|report| report.summary.races).sum(), "race"),
    };
    writeln!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>deadheat: {}</title>\n<style>\n{LOOK}</style>\n</head>\n<body>",
        escaped(&title)
    )?;
    for (number, report) in reports.iter().enumerate() {
        page(number, report, &*(style.sources)(&report.run), out)?;
    }
    writeln!(out, "</body>\n</html>")
}

fn page(number: usize, report: &Report, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    let run = &report.run;
    let mut command = vec![run.program.as_str()];
    command.extend(run.arguments.iter().map(String::as_str));
    let command = command.join(" ");
    writeln!(out, "<header>\n<h1>{}</h1>", rich(&text::closing(report)))?;
    writeln!(
        out,
        "<p><code>{}</code></p>\n<p class=\"quiet\">{}; by {}, deadheat {}</p>",
        escaped(&command),
        words::amounts(run).join(", "),
        escaped(&run.by.join(", ")),
        escaped(&run.deadheat),
    )?;
    for note in &report.summary.notes {
        writeln!(out, "<p class=\"note\">{}</p>", rich(note))?;
    }
    writeln!(out, "</header>")?;
    if report.races.len() > 1 {
        writeln!(out, "<nav>\n<ol>")?;
        for race in &report.races {
            let places = race.accesses.each_ref().map(|access| place_of(&Side::of(access)));
            writeln!(
                out,
                "<li><a href=\"#{}\">{}</a> {} <span class=\"quiet\">{}</span></li>",
                anchor(number, race),
                escaped(&race.id),
                rich(&text::on_what(race)),
                escaped(&places.join(" and ")),
            )?;
        }
        writeln!(out, "</ol>\n</nav>")?;
    }
    for race in &report.races {
        section(number, race, (&command, sources), out)?;
    }
    report.findings.iter().try_for_each(|told| finding(told, sources, out))
}

fn anchor(number: usize, race: &Race) -> String {
    let id = escaped(&race.id);
    if number == 0 { id } else { format!("{id}-{number}") }
}

fn section(
    number: usize,
    race: &Race,
    (command, sources): (&str, &dyn Sources),
    out: &mut dyn Write,
) -> io::Result<()> {
    let (grade, id) = (race.grade, escaped(&race.id));
    writeln!(
        out,
        "<section id=\"{}\" class=\"{}\">\n<h2><span class=\"grade\">{}</span> data race on {} \
         <code class=\"quiet\">{id}</code></h2>",
        anchor(number, race),
        grade.name(),
        grade.shown(),
        rich(&text::on_what(race)),
    )?;
    sides(&race.accesses.each_ref().map(Side::of), sources, out)?;
    if let Some(also) = words::also(race) {
        writeln!(out, "<p>{}</p>", rich(&also))?;
    }
    if let Some(order) = words::order_here(race) {
        writeln!(out, "<p>{}</p>", rich(order))?;
    }
    if let Some(suggestion) = &race.suggestion {
        writeln!(out, "<p>{}</p>", rich(&words::suggestion(suggestion)))?;
    }
    meeting(race, out)?;
    columns(race, out)?;
    writeln!(out, "{ORIGINS}")?;
    let threads: Vec<&Thread> = race.threads.iter().filter(|row| row.created_by.is_some()).collect();
    origins(&threads, &race.location, out)?;
    let by = escaped(&race.by.join(", "));
    writeln!(out, "<p>{}, by {by}</p>\n</details>", seen_where(race.count, &race.seen_in))?;
    if race.witness.as_ref().is_some_and(|witness| witness["kind"] == "meeting") {
        let command = escaped(command);
        writeln!(
            out,
            "<p>Replay it: <code>deadheat replay {id} -- {command}</code><br>Is it mended? \
             <code>deadheat verify {id} -- {command}</code></p>"
        )?;
    }
    writeln!(out, "</section>")
}

fn finding(finding: &Finding, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    let Finding { kind, grade, message, location, .. } = finding;
    let class = grade.unwrap_or_default().name();
    write!(out, "<section class=\"{class}\">\n<h2>")?;
    if let Some(grade) = words::weak_grade(finding) {
        write!(out, "<span class=\"grade\">{}</span> ", grade.shown())?;
    }
    writeln!(out, "{}: {}</h2>", escaped(kind), rich(message))?;
    let told = Side::all(finding);
    if !told.is_empty() {
        sides(&told, sources, out)?;
    }
    let is_side = |row: &Thread| told.iter().any(|side| side.what == words::who_created(row));
    let threads = finding.threads.iter().filter(|row| row.created_by.is_some() && !is_side(row));
    let threads: Vec<&Thread> = threads.collect();
    if !threads.is_empty() || words::made(location).is_some() {
        writeln!(out, "{ORIGINS}")?;
        origins(&threads, location, out)?;
        writeln!(out, "</details>")?;
    }
    if finding.count > 1 || !finding.seen_in.is_empty() {
        writeln!(out, "<p>{}</p>", seen_where(finding.count, &finding.seen_in))?;
    }
    writeln!(out, "</section>")
}

/// How often something was seen, and in which of several programs.
fn seen_where(count: u64, rows: &[SeenIn]) -> String {
    let seen_in = seen::told(rows).map(|commands| format!(" in {}", rich(&commands)));
    format!("seen {}{}", words::times(count), seen_in.unwrap_or_default())
}

/// Where threads were created, and what lies at an address was allocated.
fn origins(threads: &[&Thread], location: &Location, out: &mut dyn Write) -> io::Result<()> {
    for row in threads {
        writeln!(out, "<p>{}</p>", rich(&words::who_created(row)))?;
        stack(&row.frames, out)?;
    }
    if let Some((thread, frames)) = words::made(location) {
        writeln!(out, "<p>the block was allocated by <code>{}</code></p>", escaped(thread))?;
        stack(frames, out)?;
    }
    Ok(())
}

/// The sides, a column for each thread.
fn sides(sides: &[Side<'_>], sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<div class=\"sides\">")?;
    for thread in by_thread(sides) {
        writeln!(out, "<article>")?;
        thread.into_iter().try_for_each(|told| side(told, sources, out))?;
        writeln!(out, "</article>")?;
    }
    writeln!(out, "</div>")
}

/// One side: what it does, its source, its stack.
fn side(side: &Side<'_>, sources: &dyn Sources, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h3>{}</h3>", rich(&side.what))?;
    if let Some(frame) = key_frame(side.frames) {
        writeln!(out, "<p class=\"quiet\">{}</p>", escaped(&words::frame_line(frame)))?;
        if let (Some(file), Some(line)) = (&frame.file, frame.line)
            && let Some(text) = sources.text(file)
        {
            excerpt(&text, line as usize, out)?;
        }
    }
    stack(side.frames, out)
}

/// The lines around one, which is marked.
fn excerpt(text: &str, line: usize, out: &mut dyn Write) -> io::Result<()> {
    let first = line.saturating_sub(AROUND).max(1);
    write!(out, "<pre>")?;
    for (number, text) in (1..).zip(text.lines()).skip(first - 1).take(line + AROUND - first + 1) {
        let text = text.split('\t').map(control::escaped).collect::<Vec<_>>().join("\t");
        let text = format!("<i>{number:>5}</i> {}", escaped(&text));
        if number == line { writeln!(out, "<mark>{text}</mark>")? } else { writeln!(out, "{text}")? }
    }
    writeln!(out, "</pre>")
}

fn stack(frames: &[Frame], out: &mut dyn Write) -> io::Result<()> {
    if frames.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ol class=\"stack\" start=\"0\">")?;
    for frame in words::visible(frames) {
        writeln!(out, "<li>{}</li>", escaped(&words::frame_line(frame)))?;
    }
    writeln!(out, "</ol>")
}

/// What happened around the meeting: a row for each step, a column for each thread.
fn meeting(race: &Race, out: &mut dyn Write) -> io::Result<()> {
    let story = words::story_lines(race);
    if story.is_empty() {
        return Ok(());
    }
    let steps: Vec<Step<'_>> = story.iter().map(|line| Step::of(line)).collect();
    let mut lanes: Vec<&str> = steps.iter().filter_map(|step| step.thread).collect();
    lanes.sort_unstable();
    lanes.dedup();
    write!(out, "<table>\n<caption>How they met</caption>\n<tr><th></th>")?;
    lanes.iter().try_for_each(|lane| write!(out, "<th><code>{}</code></th>", escaped(lane)))?;
    writeln!(out, "</tr>")?;
    for step in steps {
        write!(out, "<tr><td class=\"quiet\">{}</td>", escaped(step.time))?;
        match step.thread.and_then(|thread| lanes.iter().position(|lane| *lane == thread)) {
            Some(lane) => {
                write!(out, "{}<td class=\"step\">{}</td>", "<td></td>".repeat(lane), rich(step.what))?;
                writeln!(out, "{}</tr>", "<td></td>".repeat(lanes.len() - lane - 1))?;
            }
            None => writeln!(out, "<td colspan=\"{}\">{}</td></tr>", lanes.len().max(1), rich(step.what))?,
        }
    }
    writeln!(out, "</table>")
}

/// The order that brings the accesses of a predicted race together: a row for each operation, a column for each of the two threads
/// and one for the others.
fn columns(race: &Race, out: &mut dyn Write) -> io::Result<()> {
    let Some(columns) = Columns::of(race, MOST_ROWS, 0).filter(|columns| !columns.rows.is_empty()) else {
        return match columns::note(race) {
            Some(note) => writeln!(out, "<p>{}</p>", rich(&note)),
            None => Ok(()),
        };
    };
    let title = escaped(&columns.title());
    let Columns { heads, rows, accesses, .. } = columns;
    let cell = |place: &str, what: &str| {
        let space = if place.is_empty() { "" } else { " " };
        format!("<span class=\"quiet\">{}</span>{space}{}", escaped(place), escaped(what))
    };
    write!(out, "<table class=\"order\">\n<caption>{title}</caption>\n<tr>")?;
    heads.iter().try_for_each(|head| write!(out, "<th>{}</th>", rich(head)))?;
    writeln!(out, "</tr>")?;
    for row in rows {
        match row {
            Row::LeftOut(count) => {
                let left_out = words::number(count, "operation");
                writeln!(
                    out,
                    "<tr><td class=\"quiet\" colspan=\"{}\">… {left_out} left out</td></tr>",
                    heads.len()
                )?;
            }
            Row::Does { column, place, what } => {
                let (before, behind) =
                    ("<td></td>".repeat(column), "<td></td>".repeat(heads.len() - column - 1));
                writeln!(out, "<tr>{before}<td class=\"step\">{}</td>{behind}</tr>", cell(&place, &what))?;
            }
        }
    }
    write!(out, "<tr class=\"race\">")?;
    for (place, what) in &accesses {
        write!(out, "<td class=\"step\">{}</td>", cell(place, what))?;
    }
    writeln!(out, "{}</tr>\n</table>", "<td></td>".repeat(heads.len() - accesses.len()))
}

/// A sentence of a meeting's story: ``1.5 ms: `main/1` is held before …``.
struct Step<'a> {
    time: &'a str,
    thread: Option<&'a str>,
    what: &'a str,
}

impl Step<'_> {
    fn of(line: &str) -> Step<'_> {
        let (time, what) =
            line.split_once(": ").filter(|(time, _)| time.ends_with("ms")).unwrap_or(("", line));
        match what.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
            Some((thread, what)) => Step { time, thread: Some(thread), what: what.trim_start() },
            None => Step { time, thread: None, what },
        }
    }
}

fn place_of(side: &Side<'_>) -> String {
    side.place().unwrap_or_else(|| "?".to_owned())
}

/// Text with nothing in it that means anything in HTML.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\'' => safe += "&#39;",
            c => safe.push(c),
        }
    }
    safe
}

/// The same, with what stands between backticks as code.
pub(crate) fn rich(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // One backtick alone is a backtick.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(index, part): (usize, &&str)| {
        if index % 2 == 0 { escaped(part) } else { format!("<code>{}</code>", escaped(part)) }
    };
    parts.iter().enumerate().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_report_is_markup() {
        assert_eq!(rich("a `b<c>` & \"d\""), "a <code>b&lt;c&gt;</code> &amp; &quot;d&quot;");
        assert_eq!(rich("one ` alone"), "one ` alone");
    }

    #[test]
    fn a_step_of_a_story_has_a_time_and_a_thread() {
        let Step { time, thread, what } = Step::of("1.5 ms: `main/1` is held before a.c:7");
        assert_eq!((time, thread, what), ("1.5 ms", Some("main/1"), "is held before a.c:7"));
        let Step { time, thread, what } = Step::of("nobody was left");
        assert_eq!((time, thread, what), ("", None, "nobody was left"));
    }
}
