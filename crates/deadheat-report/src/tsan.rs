//! Text in ThreadSanitizer's shape, for tools that look for it: CTest, IDEs, log parsers.
//!
//! The words that such tools look for are ThreadSanitizer's own: `WARNING`, the lines of the two accesses,
//! `Location is`, `Thread … created by`, `SUMMARY`, and the count at the end. What it has no words for stands
//! in lines of our own, which begin with `deadheat:`.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::format::Style;
use crate::group::key_frame;
use crate::model::{
    Access, Finding, Frame, Hex, LOCK_ORDER, Location, Lock, LockMode, Operation, Race, Report, Thread,
};
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

/// What a lock of an access is numbered by.
fn numbered(lock: &Lock) -> (&str, Option<Hex>) {
    (&lock.id, lock.address)
}

/// What ThreadSanitizer numbers: threads and locks, here in the order of their names.
struct Numbers<'a> {
    pid: u32,
    threads: BTreeMap<&'a str, usize>,
    locks: BTreeMap<(&'a str, Option<Hex>), usize>,
    /// The locks of findings, by their addresses.
    addresses: BTreeMap<Hex, usize>,
    /// Build ids by the names of the modules' files.
    build_ids: BTreeMap<&'a str, &'a str>,
}

impl<'a> Numbers<'a> {
    fn of(report: &'a Report) -> Numbers<'a> {
        let (mut threads, mut locks) = (BTreeMap::new(), BTreeMap::new());
        let of_findings = report.findings.iter().filter_map(|finding| finding.accesses.as_deref());
        let accesses = report.races.iter().map(|race| &race.accesses).chain(of_findings).flatten();
        for access in accesses.clone() {
            threads.insert(access.thread.as_str(), 0);
            locks.extend(access.locks.iter().map(|lock| (numbered(lock), 0)));
        }
        let locations = report.findings.iter().map(|finding| &finding.location);
        let locations = locations.chain(report.races.iter().map(|race| &race.location));
        threads.extend(locations.filter_map(owner).map(|path| (path, 0)));
        let rows = report.races.iter().flat_map(|race| &race.threads);
        threads.extend(rows.filter_map(|row| row.created_by.as_deref()).map(|path| (path, 0)));
        let findings = report.findings.iter();
        let of_finding = |finding: &'a Finding| {
            let steps = finding.steps.iter().map(|step| step.thread.as_str());
            let rows = finding.threads.iter().filter_map(|row| row.created_by.as_deref());
            steps.chain(rows).chain([finding.thread.as_str()])
        };
        threads.extend(findings.clone().flat_map(of_finding).map(|path| (path, 0)));
        threads.remove("main");
        let mut order: Vec<_> = threads.iter_mut().collect();
        order.sort_by_cached_key(|(path, _)| birth_order(path));
        order.into_iter().zip(1..).for_each(|((_, number), next)| *number = next);
        locks.values_mut().zip(1..).for_each(|(number, next)| *number = next);
        let mut addresses = BTreeMap::new();
        for finding in findings {
            for address in finding.steps.iter().map(|step| step.address).chain(finding.address) {
                let next = locks.len() + addresses.len() + 1;
                addresses.entry(address).or_insert(next);
            }
        }
        let name = |path: &'a str| path.rsplit('/').next().unwrap_or(path);
        let modules = report.run.modules.iter();
        let build_ids = modules.map(|module| (name(&module.path), module.build_id.as_str())).collect();
        Numbers { pid: report.run.pid.unwrap_or(0), threads, locks, addresses, build_ids }
    }

    fn race(&self, race: &Race, out: &mut dyn Write) -> io::Result<()> {
        let said = format!("{} {}", race.grade.shown(), race.id);
        self.pair(&race.accesses, (&race.location, &race.threads), &said, out)
    }

    /// Two accesses, what lies there, and where the threads come from.
    fn pair(
        &self,
        accesses: &[Access; 2],
        (location, threads): (&Location, &[Thread]),
        said: &str,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let [earlier, later] = accesses;
        let kind = kind(earlier, later);
        writeln!(out, "WARNING: ThreadSanitizer: {kind} (pid={})", self.pid)?;
        self.access(later, "", out)?;
        self.access(earlier, "Previous ", out)?;
        // The location is told of the first byte that both have.
        self.location(location, Hex(earlier.address.0.max(later.address.0)), out)?;
        let mut told = Vec::new();
        for lock in accesses.iter().flat_map(|access| &access.locks) {
            if !told.contains(&numbered(lock)) {
                told.push(numbered(lock));
                writeln!(out, "  Mutex M{} is {}\n", self.locks[&numbered(lock)], lock.shown())?;
            }
        }
        let mut rows: Vec<_> = threads.iter().filter(|row| row.created_by.is_some()).collect();
        rows.sort_by_key(|row| row.thread != later.thread);
        rows.into_iter().try_for_each(|row| self.creation(row, out))?;
        writeln!(out, "  deadheat: {said}\n")?;
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
            format!("{mode} M{}", self.locks[&numbered(lock)])
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

    fn location(&self, location: &Location, address: Hex, out: &mut dyn Write) -> io::Result<()> {
        let at = |offset: u64| address.0.wrapping_sub(offset);
        match location {
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
        if let Some(accesses) = &finding.accesses {
            return self.pair(accesses, (&finding.location, &finding.threads), &finding.message, out);
        }
        let kind = words(finding);
        if finding.kind == "ignored-at-end" {
            let thread = self.thread(&finding.thread);
            if finding.threads.iter().all(|row| row.created_by.is_none()) {
                return writeln!(out, "ThreadSanitizer: {thread} finished with ignores enabled");
            }
            writeln!(out, "ThreadSanitizer: {thread}  finished with ignores enabled, created at:")?;
            return self.stack(finding.threads.first().map_or(&[], |row| &row.frames), out);
        }
        writeln!(out, "WARNING: ThreadSanitizer: {kind} (pid={})", self.pid)?;
        match finding.kind.as_str() {
            LOCK_ORDER => self.lock_order(finding, out)?,
            "thread-leak" => {
                finding.threads.iter().try_for_each(|row| self.creation(row, out))?;
                if finding.count > 1 {
                    let more = finding.count - 1;
                    let plural = if more == 1 { "" } else { "s" };
                    writeln!(out, "  And {more} more similar thread leak{plural}.\n")?;
                }
            }
            "signal-errno" => {
                writeln!(out, "  deadheat: {}", finding.message)?;
                match finding.signal {
                    Some(signal) => writeln!(out, "  Signal {signal} handler invoked at:")?,
                    None => writeln!(out, "  Signal handler invoked at:")?,
                }
                self.stack(&finding.frames, out)?;
            }
            _ => {
                self.stack(&finding.frames, out)?;
                for step in &finding.steps {
                    writeln!(out, "  and:")?;
                    self.stack(&step.frames, out)?;
                }
                writeln!(out, "  deadheat: {}\n", finding.message)?;
            }
        }
        if let (Some(lock), Some(address)) = (&finding.lock, finding.address) {
            writeln!(out, "  Mutex M{} ({address}) is {}\n", self.addresses[&address], lock.name)?;
        }
        if finding.kind != "thread-leak" {
            let rows = finding.threads.iter().filter(|row| row.created_by.is_some());
            rows.into_iter().try_for_each(|row| self.creation(row, out))?;
        }
        summary(kind, &finding.frames, out)
    }

    fn lock_order(&self, finding: &Finding, out: &mut dyn Write) -> io::Result<()> {
        let mutex = |address| self.addresses[address];
        let pairs = || finding.steps.chunks_exact(2).map(|pair| (&pair[0], &pair[1]));
        write!(out, "  Cycle in lock order graph: ")?;
        for (took, _) in pairs() {
            write!(out, "M{} ({}) => ", mutex(&took.address), took.address)?;
        }
        writeln!(out, "M{}\n", finding.steps.first().map_or(0, |took| mutex(&took.address)))?;
        let mut hint =
            "  Hint: use TSAN_OPTIONS=second_deadlock_stack=1 to get more informative warning message\n\n";
        for (took, asked) in pairs() {
            let (held, wanted, thread) =
                (mutex(&took.address), mutex(&asked.address), self.thread(&asked.thread));
            writeln!(out, "  Mutex M{wanted} acquired here while holding mutex M{held} in {thread}:")?;
            self.stack(&asked.frames, out)?;
            if took.frames.is_empty() {
                write!(out, "{}", std::mem::take(&mut hint))?;
            } else {
                writeln!(out, "  Mutex M{held} previously acquired by the same thread here:")?;
                self.stack(&took.frames, out)?;
            }
        }
        for (took, _) in pairs() {
            writeln!(out, "  Mutex M{} is {}\n", mutex(&took.address), took.lock.name)?;
        }
        writeln!(out, "  deadheat: {}\n", finding.message)
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

/// The thread that made what lies at an address, or has it.
fn owner(location: &Location) -> Option<&str> {
    match location {
        Location::Heap { thread, .. }
        | Location::Mapping { thread, .. }
        | Location::Descriptor { thread, .. }
        | Location::Stack { thread, .. }
        | Location::Tls { thread, .. } => Some(thread),
        Location::Global { .. } | Location::Named { .. } | Location::Unknown => None,
    }
}

/// What orders threads as their paths say that they were made: `main/2` before `main/10`.
fn birth_order(path: &str) -> (Vec<u64>, String) {
    let ordinals = path.split('/').map(|part| part.parse().unwrap_or(0));
    (ordinals.collect(), path.to_owned())
}

/// What ThreadSanitizer calls a finding.
fn words(finding: &Finding) -> &str {
    match (finding.kind.as_str(), finding.sort.as_str()) {
        (LOCK_ORDER, _) => "lock-order-inversion (potential deadlock)",
        ("thread-leak", _) => "thread leak",
        ("signal-unsafe", _) => "signal-unsafe call inside of a signal",
        ("signal-errno", _) => "signal handler spoils errno",
        ("mutex-misuse", "unlock-not-held") => "unlock of an unlocked mutex (or by a wrong thread)",
        ("mutex-misuse", "double-lock") => "double lock of a mutex",
        ("mutex-misuse", "destroy-locked") => "destroy of a locked mutex",
        ("mutex-misuse", "invalid-lock") => "use of an invalid mutex (e.g. uninitialized or destroyed)",
        ("mutex-misuse", "read-lock-of-written") => "read lock of a write locked mutex",
        ("mutex-misuse", "read-unlock-of-written") => "read unlock of a write locked mutex",
        ("mutex-misuse", "held-here") => "mutex held in the wrong context",
        (other, _) => other,
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
