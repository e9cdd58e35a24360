//! The order that brings the accesses of a predicted race together: a column for each of the two threads, one for the others.

use crate::group::key_frame;
use crate::model::{Access, Frame, Location, LockMode, Operation, Race};
use crate::reordering::{Act, Deed, Reordering};

use super::words;

/// How many lines of the text are operations, or say that some are left out.
const MOST_ROWS: usize = 15;
/// How many operations of each of the two threads are told before later ones of others.
const FROM_EACH: usize = 3;
/// How wide the columns are together: a line of the report is not longer than 100 characters.
const WIDTH: usize = 82;
/// A place keeps so many characters.
const SHORTEST_PLACE: usize = 8;
/// What files are called where their names have no room.
const LETTERS: &str = "ABCD";
/// How much of a file's name stands above.
const LONGEST_FILE: usize = 40;
/// What stands between two columns.
const BETWEEN: &str = " | ";

/// A line of the columns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Row {
    /// So many operations are left out here.
    LeftOut(u64),
    /// What the thread of a column does.
    Does {
        /// The column.
        column: usize,
        /// Where.
        place: String,
        /// What.
        what: String,
    },
}

/// The columns of a race's witness.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Columns {
    /// What places are told by: the source file of all of them, or one for each letter. Empty: by their files' names.
    pub(crate) files: Vec<String>,
    /// What stands above them: the two threads, and `others`, if others have a part in it.
    pub(crate) heads: Vec<String>,
    /// The operations.
    pub(crate) rows: Vec<Row>,
    /// The accesses: where and what.
    pub(crate) accesses: [(String, String); 2],
}

impl Columns {
    /// The columns of a race, with at most so many rows, and letters for up to so many files; `None` if no order is told.
    pub(crate) fn of(race: &Race, most: usize, letters: usize) -> Option<Columns> {
        let reordering = Reordering::of(race)?;
        let acts = reordering.operations.as_ref()?;
        let chosen = choose(acts, reordering.left_out, most);
        let files =
            Some(files(race, acts, &chosen)).filter(|files| files.len() < 2 || files.len() <= letters);
        let files = files.unwrap_or_default();
        let place = |frames: &[Frame]| place(key_frame(frames), &files);
        let mut heads: Vec<String> = race.accesses.iter().map(words::who).collect();
        if acts.iter().zip(&chosen).any(|(act, chosen)| *chosen && act.thread > 1) {
            heads.push("others".to_owned());
        }
        let mut rows = Vec::new();
        let mut left_out = reordering.left_out;
        for (act, chosen) in acts.iter().zip(chosen) {
            if !chosen {
                left_out += 1;
                continue;
            }
            if left_out > 0 {
                rows.push(Row::LeftOut(std::mem::take(&mut left_out)));
            }
            let column = act.thread.min(2);
            let who =
                if column == 2 { format!("{}: ", reordering.threads[act.thread]) } else { String::new() };
            let what = format!("{who}{}", deed(act, &reordering));
            rows.push(Row::Does { column, place: place(&act.frames), what });
        }
        if left_out > 0 {
            rows.push(Row::LeftOut(left_out));
        }
        let on = variable(&race.location);
        let access = |access: &Access| (place(&access.frames), of_race(access, on.as_deref()));
        let accesses = race.accesses.each_ref().map(access);
        let files = files.iter().map(|file| base(file).to_owned()).collect();
        Some(Columns { files, heads, rows, accesses })
    }

    /// What stands above the columns.
    pub(crate) fn title(&self) -> String {
        let lines = match &self.files[..] {
            [file] => format!(" (lines of {})", tail(file, LONGEST_FILE)),
            _ => String::new(),
        };
        format!("they come side by side in this order{lines}:")
    }

    /// What the letters in places stand for.
    fn legend(&self) -> Option<String> {
        let most = WIDTH / self.files.len().max(1) - "A: , ".len();
        let files = LETTERS.chars().zip(&self.files);
        let files: Vec<_> = files.map(|(letter, file)| format!("{letter}: {}", tail(file, most))).collect();
        (files.len() > 1).then(|| files.join(", "))
    }

    /// The columns side by side as text, a line each.
    fn lines(&self) -> Vec<String> {
        let widths = self.widths();
        let line = |cells: &[(&str, &str)]| {
            let cells = widths.iter().enumerate().map(|(at, &width)| {
                let (place, what) = cells.get(at).copied().unwrap_or_default();
                let cell = cell(place, what, width);
                format!("{cell}{}", " ".repeat(width - count(&cell)))
            });
            cells.collect::<Vec<_>>().join(BETWEEN).trim_end().to_owned()
        };
        let heads: Vec<_> = self.heads.iter().map(|head| ("", head.as_str())).collect();
        let mut lines: Vec<String> = self.legend().into_iter().collect();
        lines.push(line(&heads));
        for row in &self.rows {
            lines.push(match row {
                Row::LeftOut(count) => format!("... {} left out", words::number(*count, "operation")),
                Row::Does { column, place, what } => {
                    let mut cells = vec![("", ""); self.heads.len()];
                    cells[*column] = (place, what);
                    line(&cells)
                }
            });
        }
        let rule: Vec<String> = widths.iter().map(|&width| "-".repeat(width)).collect();
        lines.push(rule.join("-+-"));
        lines.push(line(&self.accesses.each_ref().map(|(place, what)| (place.as_str(), what.as_str()))));
        lines
    }

    /// How wide each column is to be for all that stands in it.
    fn natural(&self) -> Vec<usize> {
        let mut widths: Vec<usize> = self.heads.iter().map(|head| count(head)).collect();
        let mut fit = |column: usize, place: &str, what: &str| {
            widths[column] = widths[column].max(count(place) + usize::from(!place.is_empty()) + count(what));
        };
        for row in &self.rows {
            if let Row::Does { column, place, what } = row {
                fit(*column, place, what);
            }
        }
        (0..).zip(&self.accesses).for_each(|(column, (place, what))| fit(column, place, what));
        widths
    }

    /// How many characters a line has for its columns.
    fn room(&self) -> usize {
        WIDTH - BETWEEN.len() * (self.heads.len() - 1)
    }

    /// How wide each column is: the widest gives way first.
    fn widths(&self) -> Vec<usize> {
        let (mut widths, room) = (self.natural(), self.room());
        while widths.iter().sum::<usize>() > room {
            if let Some(widest) = widths.iter_mut().max() {
                *widest -= 1;
            }
        }
        widths
    }
}

/// The note that tells how the accesses of a predicted race come together.
pub(crate) fn note(race: &Race) -> Option<String> {
    let reordering = Reordering::of(race)?;
    let fits = |columns: &Columns| columns.natural().iter().sum::<usize>() <= columns.room();
    let named = Columns::of(race, MOST_ROWS, 0).filter(fits);
    let Some(columns) = named.or_else(|| Columns::of(race, MOST_ROWS, LETTERS.len())) else {
        let events = words::number(reordering.done.iter().sum(), "event");
        return Some(format!(
            "they come side by side behind {events} of the run in another order,\n  \
             which was not looked at further: there are too many races"
        ));
    };
    if columns.rows.is_empty() {
        return Some(
            "they come side by side if each thread just runs on: nothing sets an order before".to_owned(),
        );
    }
    Some(format!("{}\n  {}", columns.title(), columns.lines().join("\n  ")))
}

/// Which operations are told where there is room for so many lines: the last ones, but of each of the two threads some.
fn choose(acts: &[Act], left_out: u64, most: usize) -> Vec<bool> {
    let mut chosen = vec![false; acts.len()];
    let last = |thread: usize| {
        let own = acts.iter().enumerate().rev().filter(move |(_, act)| act.thread == thread);
        own.map(|(at, _)| at).take(FROM_EACH)
    };
    for at in last(0).chain(last(1)).chain((0..acts.len()).rev()) {
        let before = std::mem::replace(&mut chosen[at], true);
        if !before && lines(&chosen, left_out) > most {
            chosen[at] = false;
        }
    }
    chosen
}

/// How many lines the chosen operations take, and those that say how many are left out.
fn lines(chosen: &[bool], left_out: u64) -> usize {
    let (mut lines, mut gap) = (0, left_out > 0);
    for &chosen in chosen {
        lines += usize::from(chosen) + usize::from(chosen && gap);
        gap = !chosen;
    }
    lines + usize::from(gap)
}

fn count(text: &str) -> usize {
    text.chars().count()
}

/// A place and what is done there in at most so many characters: the place loses its beginning, then that its end.
fn cell(place: &str, what: &str, width: usize) -> String {
    if place.is_empty() {
        return cut(what, width);
    }
    let room = width.saturating_sub(count(what) + 1).max(SHORTEST_PLACE);
    cut(&format!("{} {what}", tail(place, room)), width)
}

/// The end of a text that is not longer than so many characters.
fn tail(text: &str, most: usize) -> String {
    match count(text).saturating_sub(most) {
        0 => text.to_owned(),
        left_out => format!("…{}", text.chars().skip(left_out + 1).collect::<String>()),
    }
}

/// A text that is not longer than so many characters.
fn cut(text: &str, most: usize) -> String {
    if count(text) <= most {
        return text.to_owned();
    }
    let kept: String = text.chars().take(most.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// The last part of a path.
fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The files in which the accesses of a race and the chosen operations are; none if one's is not known.
fn files<'a>(race: &'a Race, acts: &'a [Act], chosen: &[bool]) -> Vec<&'a str> {
    let chosen = acts.iter().zip(chosen).filter(|(_, chosen)| **chosen).map(|(act, _)| &act.frames);
    let mut files = Vec::new();
    for frames in race.accesses.iter().map(|access| &access.frames).chain(chosen) {
        let frame = key_frame(frames);
        let Some(file) = frame.and_then(|frame| frame.line.and(frame.file.as_deref())) else {
            return Vec::new();
        };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

/// Where something is done, in short: the line, if all is in one file.
fn place(frame: Option<&Frame>, files: &[&str]) -> String {
    let Some(frame) = frame else { return String::new() };
    match (frame.file.as_deref(), frame.line) {
        (Some(file), Some(line)) => match files {
            [] => format!("{}:{line}", base(file)),
            [_] => line.to_string(),
            files => {
                let letter = LETTERS.chars().zip(files).find(|(_, known)| **known == file);
                letter.map_or(String::new(), |(letter, _)| format!("{letter}:{line}"))
            }
        },
        (None, Some(line)) => format!("line {line}"),
        (_, None) => match (&frame.function, &frame.module, frame.offset) {
            (Some(function), ..) => function.clone(),
            (None, Some(module), Some(offset)) => format!("{module}+{offset}"),
            _ => String::new(),
        },
    }
}

/// What an operation does.
pub(crate) fn deed(act: &Act, reordering: &Reordering) -> String {
    let atomic = if act.atomic { "atomic " } else { "" };
    let reading = if act.mode == LockMode::Read { " for reading" } else { "" };
    let mut whose: Vec<&str> =
        act.sees.iter().map(|&(thread, _)| reordering.threads[thread].as_str()).collect();
    whose.dedup();
    let whose = if whose.is_empty() { String::new() } else { format!(" of {}", whose.join(", ")) };
    let object = if act.object.is_empty() { String::new() } else { format!(" {}", act.object) };
    format!("{atomic}{}{object}{reading}{whose}", act.op.verb())
}

/// What an access of the race does.
fn of_race(access: &Access, on: Option<&str>) -> String {
    let atomic = if access.atomic { "atomic " } else { "" };
    let deed = match access.op {
        Operation::Read => Deed::Read.verb(),
        Operation::Write => Deed::Write.verb(),
        Operation::ReadWrite => Deed::ReadWrite.verb(),
        Operation::Free => "free the block",
    };
    let on = on.filter(|_| access.op != Operation::Free).map_or(String::new(), |on| format!(" {on}"));
    format!("{atomic}{deed}{on}")
}

/// The name of what a race is on, if it has one.
fn variable(location: &Location) -> Option<String> {
    match location {
        Location::Global { symbol, part, .. } => Some(format!("{symbol}{part}")),
        Location::Named { name } => Some(name.clone()),
        Location::Stack { variable, .. } => variable.clone(),
        Location::Tls { symbol, .. } => symbol.clone(),
        Location::Heap { .. } | Location::Mapping { .. } => Some("the block".to_owned()),
        Location::Descriptor { number, .. } => Some(format!("file descriptor {number}")),
        Location::Unknown => None,
    }
}
