//! The header and the walk over the blocks.
//!
//! Invariant: a fault of the file does not hide what lies before it. The walk keeps the first
//! fault and stops there; the merge delivers what was found and then tells it.

use std::collections::BTreeMap;
use std::path::Path;

use deadheat_core::wire::{self, block, flag, header};

use super::records::{self, Named, Wrong, u32_at, u64_at};
use crate::error::{At, Error, ErrorKind};
use crate::source::Source;
use crate::summary::{Ending, Run};
use crate::tables::Tables;

/// A block of tables larger than this is taken for a corrupt one.
pub(super) const TABLE_BLOCK_MAX: u64 = 64 << 20;

/// How many threads may at most have died while making room for a block of the largest size.
const DYING_MAX: u64 = 64;

/// One block of events.
#[derive(Clone, Copy, Debug)]
pub(super) struct Events {
    /// Where its content starts in the file.
    pub(super) start: u64,
    /// Bytes of content that the file holds.
    pub(super) len: u64,
    /// The file ends within it.
    pub(super) cut: bool,
}

/// A stream: its thread, and its blocks in order.
#[derive(Debug, Default)]
pub(super) struct Stream {
    pub(super) thread: u32,
    pub(super) blocks: Vec<Events>,
}

/// What the walk found.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) ending: Ending,
    pub(super) streams: Vec<Stream>,
    pub(super) named: Named,
    /// The contents of blocks of races: where they start, and how many bytes are used.
    pub(super) races: Vec<(u64, u64)>,
    /// The first fault of the file.
    pub(super) fault: Option<Error>,
    /// Space handed out beyond the end of the file.
    pub(super) missing: u64,
    /// Thread numbers are smaller than this.
    pub(super) thread_limit: u32,
}

/// Reads the first page: what it says of the run.
///
/// # Errors
/// The file cannot be read at all, or is none of ours.
pub(super) fn open(source: &mut Source, path: &Path) -> Result<Run, Error> {
    first_page(source, path).map(|page| run_of(&page))
}

/// Finds all blocks; fills in the tables that blocks hold.
///
/// # Errors
/// The same as for [`open`].
pub(super) fn walk(source: &mut Source, path: &Path, tables: &mut Tables) -> Result<Walk, Error> {
    let page = first_page(source, path)?;
    let len = source.len().unwrap_or(0);
    let flags = u64_at(&page, header::FLAGS);
    let ending = match flags {
        _ if flags & flag::NO_SPACE != 0 => Ending::NoSpace,
        _ if flags & flag::CLEAN != 0 => Ending::Clean,
        _ => Ending::Cut,
    };
    // A thread with events has at least a page of its own.
    let thread_limit = u32::try_from(1024 + len / header::PAGE * 2).unwrap_or(u32::MAX);
    let walk = Walk { ending, thread_limit, ..Walk::default() };
    let mut walker = Walker { source, path, tables, walk, len, largest: 1 << 20, groups: BTreeMap::new() };
    let mut at = header::PAGE;
    while at < len && walker.walk.fault.is_none() {
        match walker.block(at) {
            Ok(next) => at = next,
            Err(error) => walker.walk.fault = Some(error),
        }
    }
    let end = u64_at(&page, header::END);
    Ok(walker.finish(end))
}

fn first_page(source: &mut Source, path: &Path) -> Result<Vec<u8>, Error> {
    let mut page = vec![0; header::PAGE as usize];
    let got = source.read(&mut page, 0).map_err(|error| Error::io(path, At::Byte(0), &error))?;
    if source.len().is_none() {
        let reason = "deadheat's own format cannot be read from a pipe";
        return Err(Error::new(ErrorKind::Io, path, At::File, reason));
    }
    check_header(&page, got, path)?;
    Ok(page)
}

fn check_header(page: &[u8], got: usize, path: &Path) -> Result<(), Error> {
    if got < header::MAGIC.len() || page[..8] != header::MAGIC {
        return Err(Error::new(ErrorKind::Foreign, path, At::Byte(0), "this is no trace of deadheat"));
    }
    if got < page.len() {
        let reason = "the file ends within its first page";
        return Err(Error::new(ErrorKind::Truncated, path, At::Byte(got as u64), reason));
    }
    let version = u32_at(page, header::VERSION);
    if version != wire::VERSION {
        let at = At::Byte(header::VERSION as u64);
        let reason =
            format!("the trace has version {version}; this deadheat reads version {}", wire::VERSION);
        let kind = if version > wire::VERSION { ErrorKind::Future } else { ErrorKind::Corrupt };
        return Err(Error::new(kind, path, at, reason));
    }
    Ok(())
}

fn run_of(page: &[u8]) -> Run {
    let len = (u32_at(page, header::ARGUMENTS_LEN) as usize).min(page.len() - header::ARGUMENTS);
    let line = &page[header::ARGUMENTS..header::ARGUMENTS + len];
    let line = line.strip_suffix(b"\0").unwrap_or(line);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let some = |number: u64| (number != 0).then_some(number);
    let is = |flag: u64| u64_at(page, header::FLAGS) & flag != 0;
    Run {
        pid: u32_at(page, header::PID),
        forked_from: Some(u32_at(page, header::FORKED_FROM)).filter(|&pid| pid != 0),
        started: u64_at(page, header::STARTED),
        ended: some(u64_at(page, header::ENDED)),
        machine: u64_at(page, header::MACHINE) as u32,
        arguments: if line.is_empty() { Vec::new() } else { line.split(|&b| b == 0).map(text).collect() },
        imported: is(flag::IMPORTED),
        detected: is(flag::DETECTED),
        accessed: is(flag::ACCESSED),
        recorded: is(flag::RECORDED),
        forgot: is(flag::FORGOT),
        gave_up: is(flag::GAVE_UP),
    }
}

struct Walker<'a> {
    source: &'a mut Source,
    path: &'a Path,
    tables: &'a mut Tables,
    walk: Walk,
    len: u64,
    /// Size of the largest block so far.
    largest: u64,
    /// Event blocks by stream and sequence number, with the thread.
    groups: BTreeMap<(u32, u32), (u32, Events)>,
}

impl Walker<'_> {
    /// Takes the block at `at`, if there is one; gives the position behind it.
    fn block(&mut self, at: u64) -> Result<u64, Error> {
        let mut head = [0; block::HEADER];
        let got = self.read(&mut head, at)?;
        if got < head.len() {
            return if head[..got].iter().all(|&byte| byte == 0) {
                Ok(self.len)
            } else {
                Err(self.error(ErrorKind::Truncated, self.len, "the file ends within a block's header"))
            };
        }
        match u32_at(&head, 0) {
            0 => return Ok(at + header::PAGE),
            block::MAGIC => {}
            _ => return Err(self.error(ErrorKind::Corrupt, at, "here should be a block, but is none")),
        }
        let size = u64_at(&head, block::SIZE);
        let end = at.checked_add(size).filter(|_| size >= header::PAGE && size.is_multiple_of(header::PAGE));
        let Some(end) = end else {
            return Err(self.error(
                ErrorKind::Corrupt,
                at + block::SIZE as u64,
                "a block of an impossible size",
            ));
        };
        self.largest = self.largest.max(size.min(TABLE_BLOCK_MAX));
        let start = at + block::HEADER as u64;
        let len = end.min(self.len).saturating_sub(start);
        let cut = end > self.len;
        let taken = match u32_at(&head, block::KIND) {
            block::EVENTS => self.events(&head, at, Events { start, len, cut }),
            block::RACES => {
                self.walk.races.push((start, u64_at(&head, block::USED).min(len)));
                Ok(())
            }
            _ => self.table(&head, start, len),
        };
        if cut {
            return Err(self.error(ErrorKind::Truncated, self.len, "the file ends within a block"));
        }
        taken?;
        Ok(end)
    }

    fn events(&mut self, head: &[u8], at: u64, events: Events) -> Result<(), Error> {
        let key = (u32_at(head, block::STREAM), u32_at(head, block::SEQUENCE));
        let thread = u32_at(head, block::THREAD);
        if thread >= self.walk.thread_limit {
            return Err(self.error(
                ErrorKind::Corrupt,
                at + block::THREAD as u64,
                "an impossible thread number",
            ));
        }
        if self.groups.insert(key, (thread, events)).is_some() {
            return Err(self.error(ErrorKind::Corrupt, at, "a stream has two blocks of one number"));
        }
        Ok(())
    }

    fn table(&mut self, head: &[u8], start: u64, len: u64) -> Result<(), Error> {
        let kind = u32_at(head, block::KIND);
        if ![block::MODULES, block::PLACES, block::NAMES].contains(&kind) {
            return Ok(());
        }
        let used = u64_at(head, block::USED).min(len);
        if used > TABLE_BLOCK_MAX {
            return Err(self.error(ErrorKind::Corrupt, start, "a block of tables of an impossible size"));
        }
        let mut bytes = vec![0; used as usize];
        let got = self.read(&mut bytes, start)?;
        let bytes = &bytes[..got];
        let taken = match kind {
            block::MODULES => records::modules(bytes, self.tables),
            block::PLACES => records::places(bytes, self.tables, &mut self.walk.named),
            _ => records::names(bytes, self.tables),
        };
        taken.map_err(|Wrong(offset, why)| self.error(ErrorKind::Corrupt, start + offset as u64, why))
    }

    fn read(&mut self, out: &mut [u8], at: u64) -> Result<usize, Error> {
        self.source.read(out, at).map_err(|error| Error::io(self.path, At::Byte(at), &error))
    }

    fn error(&self, kind: ErrorKind, at: u64, reason: &str) -> Error {
        Error::new(kind, self.path, At::Byte(at), reason)
    }

    /// Groups the event blocks into streams and judges how the file ends.
    fn finish(mut self, end: u64) -> Walk {
        let mut latest = None;
        for (&(stream, sequence), &(thread, events)) in &self.groups {
            let position = events.start - block::HEADER as u64;
            if latest != Some(stream) {
                self.walk.streams.push(Stream { thread, blocks: Vec::new() });
            }
            latest = Some(stream);
            let Some(open) = self.walk.streams.last_mut() else { break };
            let wrong = if sequence as usize != open.blocks.len() {
                "a stream's block before this one is missing"
            } else if open.thread != thread {
                "a stream changes its thread"
            } else {
                open.blocks.push(events);
                continue;
            };
            let earlier = self.walk.fault.take();
            self.walk.fault =
                Some(earlier.unwrap_or_else(|| self.error(ErrorKind::Corrupt, position, wrong)));
        }
        self.walk.missing = end.saturating_sub(self.len);
        let dying = self.largest.saturating_mul(self.walk.streams.len() as u64 + DYING_MAX);
        let expected = self.walk.ending == Ending::Cut && self.walk.missing <= dying;
        if self.walk.fault.is_none()
            && self.walk.missing > 0
            && !expected
            && self.walk.ending != Ending::NoSpace
        {
            let reason = format!("the file ends {} bytes too early", self.walk.missing);
            self.walk.fault = Some(self.error(ErrorKind::Truncated, self.len, &reason));
        }
        self.tables.modules.settle();
        self.walk
    }
}
