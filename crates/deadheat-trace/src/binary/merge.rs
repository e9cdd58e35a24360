//! The merge of all streams into one order.
//!
//! A stream takes part with the stamp of its next stamped event (or bare mark). The stream with
//! the smallest one runs: it delivers that event and the unstamped ones behind it, up to its
//! next stamp. So the accesses of a thread between two stamps follow the first of them at once:
//! whatever happened before them released with a stamp before that of the acquire in front of
//! them, and whatever they happen before acquires with a stamp after their own next release.
//!
//! Invariant: the order depends on the file's bytes only; equal stamps go by stream number.

use std::path::Path;

use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, ThreadId};

use super::blocks::{self, Stream, TABLE_BLOCK_MAX};
use super::cursor::{Cursor, Due, NEVER, Pause};
use super::decode::Decoder;
use super::races;
use super::records::{Named, Wrong};
use crate::error::{At, Error, ErrorKind};
use crate::found::Found;
use crate::hash::Map;
use crate::source::Source;
use crate::summary::{Dirt, Run, Summary};
use crate::tables::Tables;
use crate::visit::Visit;

/// Decoders that are kept for reuse.
pub(super) const SPARE_MAX: usize = 8;

/// Reads our own file.
#[derive(Debug)]
pub(crate) struct Reader {
    run: Run,
    found: Vec<Found>,
}

impl Reader {
    /// Checks the header.
    pub(crate) fn open(source: &mut Source, path: &Path) -> Result<Reader, Error> {
        Ok(Reader { run: blocks::open(source, path)?, found: Vec::new() })
    }

    /// The run that the trace tells of.
    pub(crate) fn run(&self) -> &Run {
        &self.run
    }

    /// The races that the run found by itself, as far as the trace was driven.
    pub(crate) fn found(&self) -> &[Found] {
        &self.found
    }

    /// Delivers all events; `summary` says at the end, or at an error, what was read.
    pub(crate) fn drive<const CALLS: bool>(
        &mut self,
        (source, path): (&mut Source, &Path),
        tables: &mut Tables,
        summary: &mut Summary,
        visit: &mut impl Visit,
    ) -> Result<(), Error> {
        self.found.clear();
        let walk = blocks::walk(source, path, tables)?;
        summary.ending = walk.ending;
        summary.bytes = source.len().unwrap_or(0);
        let changes = tables.modules.changes();
        let mut shared = Shared {
            tables,
            source,
            path,
            named: walk.named,
            places: Map::default(),
            generation: 0,
            next_change: NEVER,
            dirt: Dirt::default(),
            events: 0,
            accesses: 0,
            accesses_made: 0,
            event_bytes: 0,
            thread_limit: walk.thread_limit,
            spare: Vec::new(),
        };
        let merged = merge::<CALLS>(walk.streams, &changes, &mut shared, visit);
        let stopped = matches!(merged, Ok(false));
        let found = if stopped { Ok(()) } else { shared.races(&walk.races, &mut self.found) };
        shared.dirt.bytes_missing = walk.missing;
        summary.events = shared.events + shared.accesses;
        summary.accesses = shared.accesses;
        summary.accesses_made = shared.accesses_made;
        summary.event_bytes = shared.event_bytes;
        summary.dirt = shared.dirt;
        match (merged?, walk.fault) {
            (true, Some(fault)) => Err(fault),
            _ => found,
        }
    }
}

enum Entry {
    Waiting(Stream),
    Running(Box<Cursor>),
    Gone,
}

/// Runs the streams against each other; says whether all was delivered.
fn merge<const CALLS: bool>(
    streams: Vec<Stream>,
    changes: &[u64],
    shared: &mut Shared<'_>,
    visit: &mut impl Visit,
) -> Result<bool, Error> {
    let (mut entries, mut heap) = line_up(streams, shared)?;
    // What was read to line up is read again.
    shared.event_bytes = 0;
    let mut changes = changes.iter().map(|stamp| stamp << 1).peekable();
    shared.next_change = changes.peek().copied().unwrap_or(NEVER);
    let mut last = before(shared.next_change);
    while let Some((due, number)) = heap.first() {
        if due >= shared.next_change {
            while changes.next_if(|&change| change <= due).is_some() {
                shared.change();
            }
            shared.next_change = changes.peek().copied().unwrap_or(NEVER);
            last = before(shared.next_change);
        }
        let entry = &mut entries[number as usize];
        if let Entry::Waiting(stream) = entry {
            let stream = std::mem::take(stream);
            shared.tables.threads.see(ThreadId(stream.thread));
            *entry = Entry::Running(Box::new(Cursor::start(stream, shared)));
        }
        let Entry::Running(cursor) = entry else { break };
        match cursor.run::<CALLS>(shared, heap.last_of_first().min(last), visit)? {
            Pause::Until(due) => heap.delay_first(due),
            Pause::Stopped => return Ok(false),
            Pause::Finished => {
                heap.remove_first();
                *entry = Entry::Gone;
            }
        }
    }
    Ok(true)
}

/// The last moment before that one; none comes before [`NEVER`], which is not a moment.
fn before(due: Due) -> Due {
    if due == NEVER { NEVER } else { due.saturating_sub(1) }
}

/// Finds the moment at which each stream begins.
fn line_up(streams: Vec<Stream>, shared: &mut Shared<'_>) -> Result<(Vec<Entry>, Heap), Error> {
    let mut entries = Vec::with_capacity(streams.len());
    let mut heap = Heap { entries: Vec::with_capacity(streams.len()) };
    for (number, stream) in (0..).zip(streams) {
        let mut scout = Decoder::start(stream, shared.spare.pop());
        heap.entries.push((scout.first_due(shared)?, number));
        entries.push(Entry::Waiting(scout.take_stream()));
        shared.spare.push(scout);
    }
    // Sorted, it is a heap too.
    heap.entries.sort_unstable();
    Ok((entries, heap))
}

/// With up to so many streams the heap is kept sorted: it is then cheaper to search it in order.
const FEW: usize = 8;

/// A binary heap of (moment, stream), the smallest first.
struct Heap {
    entries: Vec<(Due, u32)>,
}

impl Heap {
    fn first(&self) -> Option<(Due, u32)> {
        self.entries.first().copied()
    }

    /// The last moment at which the first entry's stream is still before all others.
    #[inline]
    fn last_of_first(&self) -> Due {
        let (own, rival) = match self.entries[..] {
            [first, rival] => (first.1, rival),
            [first, left, right, ..] => (first.1, left.min(right)),
            _ => return NEVER,
        };
        rival.0.saturating_sub(u64::from(rival.1 < own))
    }

    #[inline]
    fn delay_first(&mut self, due: Due) {
        self.entries[0].0 = due;
        if self.entries.len() > FEW {
            return self.sift();
        }
        let mut rest = &mut self.entries[..];
        while let [first, next, ..] = rest
            && *next < *first
        {
            std::mem::swap(first, next);
            rest = &mut rest[1..];
        }
    }

    fn remove_first(&mut self) {
        self.entries.swap_remove(0);
        if self.entries.len() > FEW { self.sift() } else { self.entries.sort_unstable() }
    }

    /// Moves the first entry down to where it belongs.
    fn sift(&mut self) {
        let mut at = 0;
        loop {
            let left = 2 * at + 1;
            let Some(&entry) = self.entries.get(left) else { return };
            let child = match self.entries.get(left + 1) {
                Some(&right) if right < entry => left + 1,
                _ => left,
            };
            if self.entries[at] <= self.entries[child] {
                return;
            }
            self.entries.swap(at, child);
            at = child;
        }
    }
}

/// What all streams share while they are merged.
pub(super) struct Shared<'a> {
    pub(super) tables: &'a mut Tables,
    source: &'a mut Source,
    path: &'a Path,
    named: Named,
    /// Places by code address, as of now.
    places: Map<u64, PlaceId>,
    /// How often addresses changed their meaning so far.
    pub(super) generation: u64,
    /// The moment at which they do so next; [`NEVER`] if they do not.
    pub(super) next_change: Due,
    pub(super) thread_limit: u32,
    pub(super) dirt: Dirt,
    events: u64,
    accesses: u64,
    accesses_made: u64,
    event_bytes: u64,
    /// Decoders that no stream needs any more.
    pub(super) spare: Vec<Decoder>,
}

impl Shared<'_> {
    /// Counts an access.
    #[inline(always)]
    pub(super) fn count(&mut self, times: u64) {
        self.accesses += 1;
        self.accesses_made += times;
    }

    /// Counts accesses that were made once each.
    #[inline(always)]
    pub(super) fn count_many(&mut self, accesses: u64) {
        self.accesses += accesses;
        self.accesses_made += accesses;
    }

    /// Counts an event that is no access, and notes what it says of threads.
    #[inline]
    pub(super) fn note(&mut self, event: &Event) {
        self.events += 1;
        let threads = &mut self.tables.threads;
        match event.op {
            Op::Fork { child } => threads.fork(event.thread, child, (event.place, event.stack)),
            Op::Begin => threads.see(event.thread).begun = true,
            Op::End => threads.see(event.thread).ended = true,
            _ => {}
        }
    }

    /// The place of a code address (a return address) at the time of a stamp.
    pub(super) fn place(&mut self, pc: u64, now: u64) -> PlaceId {
        if let Some(&place) = self.named.get(&pc).or_else(|| self.places.get(&pc)) {
            return place;
        }
        let place = match self.tables.modules.locate(pc.wrapping_sub(1), now) {
            Some((module, offset)) => self.tables.places.code(module, offset),
            None => PlaceId::UNKNOWN,
        };
        self.places.insert(pc, place);
        place
    }

    /// Some addresses mean something else from now on.
    fn change(&mut self) {
        self.generation += 1;
        self.places.clear();
    }

    /// Reads a part of a block of events.
    pub(super) fn read(&mut self, out: &mut [u8], at: u64) -> Result<usize, Error> {
        let got = self.source.read(out, at).map_err(|error| self.io(at, &error))?;
        self.event_bytes += got as u64;
        Ok(got)
    }

    /// Takes the blocks of races, when all else is read.
    fn races(&mut self, blocks: &[(u64, u64)], found: &mut Vec<Found>) -> Result<(), Error> {
        // What addresses mean at the end of the run.
        self.places.clear();
        for &(start, len) in blocks {
            if len > TABLE_BLOCK_MAX {
                return Err(self.error(ErrorKind::Corrupt, start, "a block of races of an impossible size"));
            }
            let mut bytes = vec![0; len as usize];
            let got = self.source.read(&mut bytes, start).map_err(|error| self.io(start, &error))?;
            races::races(&bytes[..got], self, found)
                .map_err(|Wrong(offset, why)| self.error(ErrorKind::Corrupt, start + offset as u64, why))?;
        }
        Ok(())
    }

    fn io(&self, at: u64, error: &std::io::Error) -> Error {
        Error::io(self.path, At::Byte(at), error)
    }

    /// An error at an offset of the file.
    pub(super) fn error(&self, kind: ErrorKind, at: u64, reason: &str) -> Error {
        Error::new(kind, self.path, At::Byte(at), reason)
    }
}
