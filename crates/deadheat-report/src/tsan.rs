//! Text in ThreadSanitizer's shape, for tools that look for it: CTest, IDEs, log parsers.
//!
//! The words that such tools look for are ThreadSanitizer's own: `WARNING`, the lines of the two accesses,
//! `Location is`, `Thread … created by`, `SUMMARY`, and the count at the end. What it has no words for stands
//! in lines of our own, which begin with `deadheat:`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::format::Style;
use crate::group::key_frame;
use crate::model::{Access, Finding, Frame, Location, LockMode, Operation, Race, Report, Thread};
use crate::text::words::visible;

const RULE: &str = "==================";

/// Writes reports, one after the other.
///
/// # Errors
/// The stream cannot be written to.
pub fn write(reports: &[Report], _: &Style<'_>, out: &mut dyn Write) -> io::Result<()> {
    for report in reports {
        let numbers = Numbers::of(report);
        for race in &report.races {
            writeln!(out, "{RULE}")?;
            numbers.race(race, out)?;
            writeln!(out, "{RULE}")?;
        }
        for finding in &report.findings {
            writeln!(out, "{RULE}")?;
            numbers.finding(finding, out)?;
            writeln!(out, "{RULE}")?;
        }
        for note in &report.summary.notes {
            writeln!(out, "deadheat: {note}")?;
        }
        let warnings = report.races.len() + report.findings.len();
        if warnings > 0 {
            writeln!(out, "ThreadSanitizer: reported {warnings} warnings")?;
        }
    }
    Ok(())
}

/// What ThreadSanitizer calls a race of these accesses.
fn kind(earlier: &Access, later: &Access) -> &'static str {
    let vptr = |access: &Access| access.via.as_deref() == Some("vptr");
    match (vptr(later), earlier.op) {
        (true, Operation::Free) => "heap-use-after-free (virtual call vs free)",
        (false, Operation::Free) => "heap-use-after-free",
        (true, _) => "data race on vptr (ctor/dtor vs virtual call)",
        (false, _) => "data race",
    }
}

/// What ThreadSanitizer numbers: threads and locks, here in the order of their names.
struct Numbers<'a> {
    pid: u32,
    threads: BTreeMap<&'a str, usize>,
    locks: BTreeMap<&'a str, usize>,
    /// Build ids by the names of the modules' files.
    build_ids: BTreeMap<&'a str, &'a str>,
}

impl<'a> Numbers<'a> {
    fn of(report: &'a Report) -> Numbers<'a> {
        let (mut threads, mut locks) = (BTreeMap::new(), BTreeMap::new());
        let accesses = report.races.iter().flat_map(|race| &race.accesses);
        for access in accesses.clone() {
            threads.insert(access.thread.as_str(), 0);
            locks.extend(access.locks.iter().map(|lock| (lock.id.as_str(), 0)));
        }
        let rows = report.races.iter().flat_map(|race| &race.threads);
        threads.extend(rows.filter_map(|row| row.created_by.as_deref()).map(|path| (path, 0)));
        threads.extend(report.findings.iter().map(|finding| (finding.thread.as_str(), 0)));
        threads.remove("main");
        for map in [&mut threads, &mut locks] {
            map.values_mut().zip(1..).for_each(|(number, next)| *number = next);
        }
        let name = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
        let modules = report.run.modules.iter();
        let build_ids = modules.map(|module| (name(&module.path), module.build_id.as_str())).collect();
        Numbers { pid: report.run.pid.unwrap_or(0), threads, locks, build_ids }
    }

    fn race(&self, race: &Race, out: &mut dyn Write) -> io::Result<()> {
        let [earlier, later] = &race.accesses;
        let kind = kind(earlier, later);
        writeln!(out, "WARNING: ThreadSanitizer: {kind} (pid={})", self.pid)?;
        self.access(later, "", out)?;
        self.access(earlier, "Previous ", out)?;
        self.location(race, out)?;
        let mut told = Vec::new();
        for lock in race.accesses.iter().flat_map(|access| &access.locks) {
            if !told.contains(&&lock.id) {
                told.push(&lock.id);
                writeln!(out, "  Mutex M{} is {}\n", self.locks[lock.id.as_str()], lock.name)?;
            }
        }
        for row in race.threads.iter().filter(|row| row.created_by.is_some()) {
            self.creation(row, out)?;
        }
        writeln!(out, "  deadheat: {} {}\n", race.grade.shown(), race.id)?;
        summary(kind, &later.frames, out)
    }

    fn access(&self, access: &Access, previous: &str, out: &mut dyn Write) -> io::Result<()> {
        let what = match (access.atomic, access.op) {
            (false, Operation::Read) => "read",
            (true, Operation::Read) => "atomic read",
            (false, Operation::Write | Operation::ReadWrite | Operation::Free) => "write",
            (true, Operation::Write | Operation::ReadWrite | Operation::Free) => "atomic write",
        };
        let what = if previous.is_empty() { capital(what) } else { what.to_owned() };
        let Access { size, address, .. } = access;
        let locks = access.locks.iter().map(|lock| {
            let mode = if lock.mode == LockMode::Write { "write" } else { "read" };
            format!("{mode} M{}", self.locks[lock.id.as_str()])
        });
        let locks = locks.collect::<Vec<_>>().join(", ");
        let locks = if locks.is_empty() { locks } else { format!(" (mutexes: {locks})") };
        let thread = self.thread(&access.thread);
        writeln!(out, "  {previous}{what} of size {size} at {:#014x} by {thread}{locks}:", address.0)?;
        if access.frames.is_empty() {
            writeln!(out, "    [failed to restore the stack]")?;
        }
        self.stack(&access.frames, out)
    }

    fn location(&self, race: &Race, out: &mut dyn Write) -> io::Result<()> {
        let at = |offset: u64| race.accesses[1].address.0.wrapping_sub(offset);
        match &race.location {
            Location::Global { symbol, offset, size, module, .. } => {
                writeln!(
                    out,
                    "  Location is global '{symbol}' of size {size} at {:#014x} ({module})\n",
                    at(*offset)
                )
            }
            Location::Heap { size, offset, thread, frames }
            | Location::Mapping { size, offset, thread, frames } => {
                let thread = self.thread(thread);
                let start = at(*offset);
                writeln!(
                    out,
                    "  Location is heap block of size {size} at {start:#014x} allocated by {thread}:"
                )?;
                self.stack(frames, out)
            }
            Location::Descriptor { number, thread, frames } => {
                let thread = self.thread(thread);
                writeln!(out, "  Location is file descriptor {number} created by {thread} at:")?;
                self.stack(frames, out)
            }
            Location::Stack { thread, .. } => {
                writeln!(out, "  Location is stack of {}.\n", self.thread(thread))
            }
            Location::Tls { thread, .. } => writeln!(out, "  Location is TLS of {}.\n", self.thread(thread)),
            Location::Named { .. } | Location::Unknown => Ok(()),
        }
    }

    fn creation(&self, row: &Thread, out: &mut dyn Write) -> io::Result<()> {
        let name = if row.name.is_empty() { String::new() } else { format!(" '{}'", row.name) };
        let who = capital(&self.thread(&row.thread));
        let by = self.thread(row.created_by.as_deref().unwrap_or_default());
        writeln!(out, "  {who}{name} ({}) created by {by} at:", row.thread)?;
        self.stack(&row.frames, out)
    }

    fn finding(&self, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
        let kind = match finding.kind.as_str() {
            "lock-order" => "lock-order-inversion (potential deadlock)",
            "thread-leak" => "thread leak",
            "signal-unsafe" => "signal-unsafe call inside of a signal",
            other => other,
        };
        writeln!(out, "WARNING: ThreadSanitizer: {kind} (pid={})", self.pid)?;
        writeln!(out, "  deadheat: {}", finding.message)?;
        if !finding.frames.is_empty() {
            writeln!(out, "  In {}:", self.thread(&finding.thread))?;
        }
        self.stack(&finding.frames, out)?;
        summary(kind, &finding.frames, out)
    }

    /// `main thread`, `thread T1`.
    fn thread(&self, path: &str) -> String {
        match self.threads.get(path) {
            Some(number) => format!("thread T{number}"),
            None => "main thread".to_owned(),
        }
    }

    fn stack(&self, frames: &[Frame], out: &mut dyn Write) -> io::Result<()> {
        for (index, frame) in visible(frames).into_iter().enumerate() {
            write!(out, "    #{index} {} {}", function(frame), place(frame))?;
            if let (Some(module), Some(offset)) = (&frame.module, frame.offset) {
                write!(out, " ({module}+{offset})")?;
                match self.build_ids.get(module.as_str()) {
                    Some(id) if !id.is_empty() => write!(out, " (BuildId: {id})")?,
                    _ => {}
                }
            }
            writeln!(out)?;
        }
        writeln!(out)
    }
}

/// The line that tools count by: the kind and the place that it is known by.
fn summary(kind: &str, frames: &[Frame], out: &mut dyn Write) -> io::Result<()> {
    let Some(frame) = key_frame(frames) else { return writeln!(out, "SUMMARY: ThreadSanitizer: {kind}") };
    let place = match (&frame.file, &frame.module, frame.offset) {
        (None, Some(module), Some(offset)) => format!("({module}+{offset})"),
        _ => place(frame),
    };
    writeln!(out, "SUMMARY: ThreadSanitizer: {kind} {place} in {}", function(frame))
}

fn function(frame: &Frame) -> &str {
    frame.function.as_deref().unwrap_or("<null>")
}

fn place(frame: &Frame) -> String {
    match (&frame.file, frame.line, frame.column) {
        (Some(file), Some(line), Some(column)) => format!("{file}:{line}:{column}"),
        (Some(file), Some(line), None) => format!("{file}:{line}"),
        (Some(file), None, _) => file.clone(),
        (None, _, _) => "<null>".to_owned(),
    }
}

/// With a capital first letter, where it has one.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_ascii_uppercase().to_string() + letters.as_str())
}
