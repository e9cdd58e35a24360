//! Text for people: both places in their source, then what a reader asks next.
//!
//! Invariant: a race takes at most about 40 lines, and 20 more for the order that brings a predicted one about: stacks are cut at `main`
//! and after `MOST_FRAMES` frames (in `words`).

pub(crate) mod columns;
mod name;
pub(crate) mod words;

use std::io::{self, Write};

use annotate_snippets::{
    Annotation, AnnotationKind, Element, Group, Level, Origin, Patch, Renderer, Snippet,
};

use crate::format::Style;
use crate::group::key_frame;
use crate::model::{Access, Finding, Grade, Location, Race, Report, Summary};
use crate::seen;
use crate::source::{Sources, span};

/// Source lines are cut to this width.
const WIDTH: usize = 120;

/// Writes reports as text: of each its races and findings, its notes, and one line at the end.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(reports: &[Report], style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        if reports.len() > 1 {
            writeln!(out, "deadheat: process {}: {}", report.run.pid.unwrap_or(0), report.run.program)?;
        }
        one(report, style, out)?;
    }
    Ok(())
}

fn one(report: &Report, style: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    let renderer = if style.color { Renderer::styled() } else { Renderer::plain() }.term_width(WIDTH);
    let sources = (style.sources)(&report.run);
    for race in &report.races {
        writeln!(out, "{}\n", renderer.render(&race_groups(race, &*sources)))?;
    }
    for finding in &report.findings {
        writeln!(out, "{}\n", renderer.render(&[finding_group(finding)]))?;
    }
    for note in &report.summary.notes {
        writeln!(out, "deadheat: {note}")?;
    }
    if style.quiet && report.races.is_empty() && report.findings.is_empty() {
        return Ok(());
    }
    writeln!(out, "deadheat: {}", closing(report))?;
    for line in words::spread(&report.races) {
        writeln!(out, "deadheat:   {line}")?;
    }
    Ok(())
}

/// What a race is on.
pub(crate) fn on_what(race: &Race) -> String {
    words::location(&race.location, &race.accesses)
}

/// A race's text without colour.
pub(crate) fn plain(race: &Race, sources: &dyn Sources) -> String {
    Renderer::plain().term_width(WIDTH).render(&race_groups(race, sources))
}

/// A finding's text without colour.
pub(crate) fn plain_finding(finding: &Finding) -> String {
    Renderer::plain().term_width(WIDTH).render(&[finding_group(finding)])
}

fn level(grade: Grade) -> Level<'static> {
    match grade {
        Grade::Proved | Grade::Observed => Level::ERROR,
        Grade::Predicted | Grade::Suspected => Level::WARNING,
    }
}

fn race_groups<'a>(race: &'a Race, sources: &dyn Sources) -> Vec<Group<'a>> {
    [Some(race_group(race, sources)), hold_here(race, sources)].into_iter().flatten().collect()
}

/// The lines where the suggested lock is to be held; nothing if no such line is known.
fn hold_here<'a>(race: &'a Race, sources: &dyn Sources) -> Option<Group<'a>> {
    let suggestion = race.suggestion.as_ref()?;
    let without = race.accesses.iter().filter(|access| !words::holds(access, suggestion));
    let mut lines: Vec<Site<'_>> = without.filter_map(site).collect();
    lines.sort_by_key(|site| (site.file, site.line));
    lines.dedup_by_key(|site| (site.file, site.line));
    let patched = |site: &Site<'a>| -> Option<Element<'a>> {
        let text = sources.text(site.file)?;
        let line = text.lines().nth((site.line as usize).checked_sub(1)?)?;
        let start = span(line, 1, None)?.start;
        let patch = Patch::new(start..start, format!("/* hold {} */ ", suggestion.lock));
        Some(
            Snippet::source(line.to_owned())
                .line_start(site.line as usize)
                .path(site.file)
                .patch(patch)
                .into(),
        )
    };
    let elements: Vec<Element<'a>> = lines.iter().filter_map(patched).collect();
    let title = format!("hold `{}` here, too", suggestion.lock);
    (!elements.is_empty()).then(|| Group::with_title(Level::HELP.secondary_title(title)).elements(elements))
}

fn race_group<'a>(race: &'a Race, sources: &dyn Sources) -> Group<'a> {
    let what = on_what(race);
    let title = format!("{}: data race on {what}", race.grade.shown());
    let mut group = Group::with_title(level(race.grade).primary_title(title).id(race.id.as_str()));
    for site in sites(race, sources) {
        group = group.element(site);
    }
    for access in &race.accesses {
        group = group.element(Level::NOTE.message(words::stack_of(access)));
    }
    for creation in words::creations(&race.threads) {
        group = group.element(Level::NOTE.message(creation));
    }
    if let Some((thread, frames)) = words::made(&race.location)
        && !frames.is_empty()
    {
        group = group.element(Level::NOTE.message(words::allocation(thread, frames)));
    }
    if let Some(also) = words::also(race) {
        group = group.element(Level::NOTE.message(also));
    }
    if let Some(story) = words::story(race) {
        group = group.element(Level::NOTE.message(story));
    }
    if let Some(columns) = columns::note(race) {
        group = group.element(Level::NOTE.message(columns));
    }
    if let Some(order) = words::order_here(race) {
        group = group.element(Level::NOTE.message(order));
    }
    if let Some(suggestion) = &race.suggestion {
        group = group.element(Level::NOTE.message(words::suggestion(suggestion)));
    }
    let seen_in = seen::told(&race.seen_in);
    if race.count > 1 || race.by.len() > 1 || seen_in.is_some() {
        let times = words::times(race.count);
        let by = race.by.join(", ");
        let note = match race.grade {
            Grade::Proved => format!("met {times}, nominated by {by}"),
            Grade::Observed | Grade::Predicted | Grade::Suspected => {
                format!("seen {times} in {}, by {by}", seen_in.as_deref().unwrap_or("this run"))
            }
        };
        group = group.element(Level::NOTE.message(note));
    }
    group
}

/// A place to be shown.
struct Site<'a> {
    file: &'a str,
    line: u32,
    /// Whether that is its line, or that of its function.
    exact: bool,
    column: Option<u32>,
    label: String,
}

/// The two places as elements: one snippet for both if they are in one file.
fn sites<'a>(race: &'a Race, sources: &dyn Sources) -> Vec<Element<'a>> {
    let places = race.accesses.iter().filter_map(site).collect::<Vec<_>>();
    if let [one, other] = &places[..]
        && one.file == other.file
        && let Some(text) = sources.text(one.file)
        && let Some(element) = snippet(one.file, &text, &places)
    {
        return vec![element];
    }
    let mut elements = Vec::new();
    for place in places {
        let shown = sources
            .text(place.file)
            .and_then(|text| snippet(place.file, &text, std::slice::from_ref(&place)));
        elements.push(shown.unwrap_or_else(|| {
            let origin = Origin::path(place.file);
            let origin = if place.exact { origin.line(place.line as usize) } else { origin };
            match place.column {
                Some(column) => origin.char_column(column as usize).into(),
                None => origin.into(),
            }
        }));
    }
    elements
}

fn site(access: &Access) -> Option<Site<'_>> {
    let frame = key_frame(&access.frames)?;
    let label = words::what_it_does(access);
    let (line, exact) = (frame.line.or(frame.function_line)?, frame.line.is_some());
    Some(Site { file: frame.file.as_deref()?, line, exact, column: frame.line.and(frame.column), label })
}

/// The part of a file around its places; `None` if a place is not in the text.
fn snippet<'a>(file: &'a str, text: &str, places: &[Site<'_>]) -> Option<Element<'a>> {
    let first = places.iter().map(|place| place.line).min()?;
    let last = places.iter().map(|place| place.line).max()?;
    let lines = text.split_inclusive('\n').skip(first as usize - 1).take((last - first) as usize + 1);
    let part: String = lines.collect();
    let mut spans = Vec::new();
    for place in places {
        spans.push(span(&part, place.line - first + 1, place.column)?);
    }
    let marks = spans.into_iter().zip(places).enumerate().map(|(index, (span, place))| {
        let kind = if index == 0 { AnnotationKind::Primary } else { AnnotationKind::Context };
        let mark: Annotation<'a> = kind.span(span).label(place.label.clone());
        mark
    });
    Some(Snippet::source(part).line_start(first as usize).path(file).annotations(marks).into())
}

fn finding_group(finding: &Finding) -> Group<'_> {
    let title = words::graded(finding, &format!("{}: {}", finding.kind, finding.message));
    let mut group = Group::with_title(level(finding.grade.unwrap_or_default()).primary_title(title));
    if let Some(accesses) = &finding.accesses {
        for access in accesses.iter().rev() {
            group = group.element(Level::NOTE.message(words::stack_of(access)));
        }
        if let Location::Heap { frames, thread, .. } = &finding.location {
            group = group.element(Level::NOTE.message(words::allocation(thread, frames)));
        }
    }
    let frames = words::own_frames(finding);
    // Where a thread that leaked was created is told below.
    let is_creation = finding.threads.iter().any(|row| row.created_by.is_some() && row.frames == frames);
    if !(frames.is_empty() || is_creation) {
        let place = if finding.thread.is_empty() { String::new() } else { format!("`{}` ", finding.thread) };
        group = group.element(Level::NOTE.message(format!("{place}at{}", words::stack(frames))));
    }
    for step in &finding.steps {
        group = group.element(Level::NOTE.message(words::step(step)));
    }
    for creation in words::creations(&finding.threads) {
        group = group.element(Level::NOTE.message(creation));
    }
    let seen_in = seen::told(&finding.seen_in);
    if finding.count > 1 || seen_in.is_some() {
        let times = words::times(finding.count);
        let note = format!("seen {times} in {}", seen_in.as_deref().unwrap_or("this run"));
        group = group.element(Level::NOTE.message(note));
    }
    group
}

/// The line at the end.
pub(crate) fn closing(report: &Report) -> String {
    let Summary { races, grades, occurrences, suppressed, findings, dropped, hunt, .. } = &report.summary;
    let mut text = if *races == 0 {
        let run = &report.run;
        let processes = match run.processes {
            0 | 1 => String::new(),
            many => format!("{}, ", words::number(many, "process")),
        };
        let amounts = words::amounts(run);
        match &amounts[..] {
            [others @ .., last] if !others.is_empty() => {
                format!("no race found in {processes}{} and {last}", others.join(", "))
            }
            _ => format!("no race found in {processes}{}", amounts.join(", ")),
        }
    } else {
        let grades: Vec<_> = grades
            .iter()
            .rev()
            .filter(|(_, count)| **count > 0)
            .map(|(grade, count)| format!("{count} {}", grade.shown()))
            .collect();
        let times = if occurrences > races { format!(", seen {occurrences} times") } else { String::new() };
        format!("{} ({}){times}", words::number(*races, "race"), grades.join(", "))
    };
    if *races == 0
        && let Some(hunt) = hunt
    {
        text = match hunt.pairs {
            0 => "no race found".to_owned(),
            _ => "no race proved".to_owned(),
        };
    }
    if *findings > 0 {
        text += &format!("; {}", words::number(*findings, "other finding"));
    }
    if *suppressed > 0 {
        text += &format!("; {suppressed} suppressed");
    }
    if *dropped > 0 {
        text += &format!("; {dropped} more seen and not kept");
    }
    text
}
