//! Writes STD.
//!
//! STD knows exclusive locks, fork, join and plain accesses. What it does not know is said in
//! its words where that keeps every order of the run: an operation that synchronises becomes an
//! acquire and a release of a lock of its own (`S` and its address), a read lock becomes a lock.
//! That orders more than the run did. What has no words is left out and counted.

use std::io::{self, Write};

use deadheat_core::access::Mode;
use deadheat_core::event::{Event, Op, SyncKind};
use deadheat_core::ids::{PlaceId, ThreadId};

use crate::tables::{Place, Tables};

/// Writes events as STD.
#[derive(Debug)]
pub struct StdWriter<W> {
    out: W,
    /// Whether threads go by their names, which are then unique.
    named: bool,
    left_out: u64,
}

impl<W: Write> StdWriter<W> {
    /// Writes to `out`; `named` says that threads are to go by the names of the trace, as is
    /// right for one that was imported.
    pub fn new(out: W, named: bool) -> Self {
        StdWriter { out, named, left_out: 0 }
    }

    /// Writes an event.
    ///
    /// # Errors
    /// What the system says.
    pub fn event(&mut self, event: &Event, tables: &Tables) -> io::Result<()> {
        let line = |this: &mut Self, op: &str, prefix: &str, address| {
            let operand = Operand { tables, prefix, address };
            this.line(event, tables, format_args!("{op}({operand})"))
        };
        match event.op {
            Op::Access(access) => match access.atomic {
                None => {
                    let reads = access.mode.reads().then_some("r");
                    let writes = access.mode.writes().then_some("w");
                    for op in reads.into_iter().chain(writes) {
                        line(self, op, "V", access.address)?;
                    }
                    Ok(())
                }
                Some(order) if orders(access.mode, order.acquires(), order.releases()) => {
                    line(self, "acq", "S", access.address)?;
                    line(self, "rel", "S", access.address)
                }
                Some(_) => self.leave_out(),
            },
            Op::Request { lock, .. } => line(self, "req", "L", lock),
            Op::Acquire { lock, .. } => line(self, "acq", "L", lock),
            Op::Release { lock, .. } => line(self, "rel", "L", lock),
            Op::Fork { child } => self.thread_line("fork", event, child, tables),
            Op::Join { child } => self.thread_line("join", event, child, tables),
            Op::Begin => self.thread_line("begin", event, event.thread, tables),
            Op::End => self.thread_line("end", event, event.thread, tables),
            Op::Signal { object, kind } | Op::Wait { object, kind, woken: true } if hands_over(kind) => {
                line(self, "acq", "S", object)?;
                line(self, "rel", "S", object)
            }
            Op::Arrive { barrier, .. } | Op::Leave { barrier } => {
                line(self, "acq", "S", barrier)?;
                line(self, "rel", "S", barrier)
            }
            Op::Signal { .. } | Op::Wait { .. } | Op::Await { .. } | Op::Fence(_) | Op::Branch => {
                self.leave_out()
            }
            Op::Alloc { .. } | Op::Free { .. } | Op::Forget { .. } => self.leave_out(),
            Op::Enter | Op::Exit | Op::HiddenBegin | Op::HiddenEnd | Op::Fault { .. } => self.leave_out(),
        }
    }

    /// Ends the text; gives how many events were left out.
    ///
    /// # Errors
    /// What the system says.
    pub fn finish(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.left_out)
    }

    fn thread_line(&mut self, op: &str, event: &Event, other: ThreadId, tables: &Tables) -> io::Result<()> {
        let named = self.named;
        self.line(event, tables, format_args!("{op}({})", Name { tables, thread: other, named }))
    }

    fn line(&mut self, event: &Event, tables: &Tables, text: std::fmt::Arguments<'_>) -> io::Result<()> {
        let name = Name { tables, thread: event.thread, named: self.named };
        writeln!(self.out, "{name}|{text}|{}", location(event.place, tables))
    }

    fn leave_out(&mut self) -> io::Result<()> {
        self.left_out += 1;
        Ok(())
    }
}

/// Whether an atomic operation orders anything by itself.
fn orders(mode: Mode, acquires: bool, releases: bool) -> bool {
    mode.reads() && acquires || mode.writes() && releases
}

/// Whether a signal of that kind orders what comes before it before what comes after the wait
/// (a condition variable's mutex does that for it).
fn hands_over(kind: SyncKind) -> bool {
    match kind {
        SyncKind::Condition | SyncKind::ConditionAll | SyncKind::Everything => false,
        SyncKind::Semaphore | SyncKind::Once | SyncKind::Annotation => true,
    }
}

/// STD's locations are numbers: a line without a file, or else the place's id.
fn location(place: PlaceId, tables: &Tables) -> u32 {
    match tables.places.get(place) {
        Place::Named { function: "", file: "", line, column: 0 } => line,
        Place::Unknown | Place::Code { .. } | Place::Named { .. } => place.0,
    }
}

/// A thread as STD names it.
struct Name<'a> {
    tables: &'a Tables,
    thread: ThreadId,
    named: bool,
}

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tables.threads.get(self.thread) {
            Some(thread) if self.named && !thread.name.is_empty() => write_safe(&thread.name, out),
            _ => write!(out, "T{}", self.thread.0),
        }
    }
}

/// A variable or lock as STD names it.
struct Operand<'a> {
    tables: &'a Tables,
    prefix: &'a str,
    address: u64,
}

impl std::fmt::Display for Operand<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tables.names.get(self.address) {
            Some(name) => write_safe(name, out),
            None => write!(out, "{}{:x}", self.prefix, self.address),
        }
    }
}

/// Writes a name without the characters that STD needs for itself.
fn write_safe(name: &str, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
    use std::fmt::Write as _;
    name.chars().try_for_each(|c| out.write_char(if matches!(c, '|' | '\n' | '\r') { '_' } else { c }))
}
