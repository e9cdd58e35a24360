//! Writes our own file from any sequence of events.
//!
//! A stamp from one counter goes to every event that carries one, and a bare mark to every
//! stretch of other events that follows an event of another thread. So reading the file gives
//! the very order in which the events were written, also where happens-before leaves it open.
//!
//! Invariant: only whole records go into a block, and only whole blocks into the file.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use deadheat_core::codec::{Key, MAX_EVENT, Predictor, put_varint, tag};
use deadheat_core::event::{Event, Op};
use deadheat_core::ids::{PlaceId, StackId, ThreadId};
use deadheat_core::kind::Kind;
use deadheat_core::wire::{self, block, flag, header, module};

use super::races;
use crate::error::{At, Error, ErrorKind};
use crate::found::Found;
use crate::summary::Run;
use crate::tables::{Module, Place, Tables};

/// A stream's first block takes a page, each further one twice as much, up to this.
const BLOCK_MAX: usize = 64 << 10;

/// Tables are cut into blocks of about this size.
const TABLE_BLOCK: usize = 1 << 20;

/// Named places get the code addresses from here on, where no program has code.
const NAMED_BASE: u64 = 1 << 47;

/// Room for one event with its numbers.
const RECORD_MAX: usize = MAX_EVENT + 32;

/// Writes a trace file.
///
/// Dropped before [`Self::finish`], it leaves a file that reads like that of a process that was
/// killed, without names.
#[derive(Debug)]
pub struct Writer {
    path: PathBuf,
    file: File,
    /// Where the next block goes.
    end: u64,
    /// The latest stamp.
    clock: u64,
    /// The thread that wrote last.
    latest: Option<ThreadId>,
    streams: Vec<Option<Box<Stream>>>,
    /// The records of races.
    races: Vec<Vec<u8>>,
    run: Run,
}

struct Stream {
    predictor: Box<Predictor>,
    /// Content of the present block.
    content: Vec<u8>,
    sequence: u32,
    stamp: u64,
    stack: StackId,
    name: String,
}

impl std::fmt::Debug for Stream {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Stream({} blocks)", self.sequence)
    }
}

impl Writer {
    /// Creates the file; `run` is what it tells of its origin.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn create(path: impl AsRef<Path>, run: &Run) -> Result<Writer, Error> {
        let path = path.as_ref().to_owned();
        let file = File::create(&path).map_err(|error| Error::io(&path, At::File, &error))?;
        let (end, clock, streams, races) = (header::PAGE, 0, Vec::new(), Vec::new());
        let writer = Writer { path, file, end, clock, latest: None, streams, races, run: run.clone() };
        writer.write_header(0)?;
        Ok(writer)
    }

    /// Writes an event; `tables` say what its ids stand for (as far as they are known by now).
    ///
    /// # Errors
    /// The file cannot be written, or the format has no room for the event.
    pub fn event(&mut self, event: &Event, tables: &Tables) -> Result<(), Error> {
        let stamped = match event.op {
            Op::Access(access) => access.atomic.is_some(),
            Op::Enter | Op::Exit => false,
            _ => true,
        };
        let marked = !stamped && self.latest != Some(event.thread);
        if stamped || marked {
            self.clock += 1;
        }
        self.latest = Some(event.thread);
        self.introduce(event.thread, tables)?;
        if marked {
            let mut record = [0; RECORD_MAX];
            record[0] = tag::STAMP;
            let len = put_varint(self.clock, &mut record, 1);
            self.put(event.thread, &record[..len])?;
            self.stream(event.thread).stamp = self.clock;
        }
        self.go_to_stack(event.thread, event.stack, tables)?;
        match event.op {
            Op::Enter => self.call(event.thread, event.place, tables),
            Op::Exit => Ok(()),
            _ => self.packed(event, stamped, tables),
        }
    }

    /// Adds a race that the run found by itself; `tables` say what its ids stand for.
    ///
    /// # Errors
    /// The format has no room for one of its places.
    pub fn found(&mut self, found: &Found, tables: &Tables) -> Result<(), Error> {
        let record = races::record(found, tables, |place| self.code_address(place, tables))?;
        self.races.push(record);
        Ok(())
    }

    /// Writes what is still held back, the tables and the header; `whole` says that the trace
    /// ends where its run ended.
    ///
    /// # Errors
    /// The file cannot be written, or the format has no room for the tables.
    pub fn finish(mut self, tables: &Tables, whole: bool) -> Result<(), Error> {
        for number in 0..self.streams.len() as u32 {
            if self.streams[number as usize].is_some() {
                self.introduce(ThreadId(number), tables)?;
                self.flush(ThreadId(number))?;
            }
        }
        let races = std::mem::take(&mut self.races);
        self.write_table(block::RACES, races.into_iter())?;
        self.write_modules(tables)?;
        self.write_places(tables)?;
        self.write_names(tables)?;
        self.write_header(if whole { flag::CLEAN } else { 0 })
    }

    /// Sets up the thread's stream, with the number that the program gave the thread, and writes its
    /// name if that is new.
    fn introduce(&mut self, thread: ThreadId, tables: &Tables) -> Result<(), Error> {
        let is_new = self.streams.get(thread.index()).is_none_or(Option::is_none);
        if is_new && let Some(number) = tables.threads.get(thread).and_then(|known| known.given) {
            self.stream(thread);
            let mut record = [tag::GIVEN; MAX_EVENT];
            let len = put_varint(number, &mut record, 1);
            self.put(thread, &record[..len])?;
        }
        let name = tables.threads.get(thread).map_or("", |known| known.name.as_str());
        if self.streams.get(thread.index()).is_some_and(|slot| matches!(slot, Some(s) if s.name == name)) {
            return Ok(());
        }
        let stream = self.stream(thread);
        if stream.name == name {
            return Ok(());
        }
        name.clone_into(&mut stream.name);
        let mut len = name.len().min(255);
        while !name.is_char_boundary(len) {
            len -= 1;
        }
        let mut record = vec![tag::NAME, len as u8];
        record.extend_from_slice(&name.as_bytes()[..len]);
        self.put(thread, &record)
    }

    fn stream(&mut self, thread: ThreadId) -> &mut Stream {
        let index = thread.index();
        if index >= self.streams.len() {
            self.streams.resize_with(index + 1, || None);
        }
        self.streams[index].get_or_insert_with(|| {
            let (content, name) = (Vec::new(), String::new());
            let predictor = Box::default();
            Box::new(Stream { predictor, content, sequence: 0, stamp: 0, stack: StackId::EMPTY, name })
        })
    }

    /// Writes an event that has a kind.
    fn packed(&mut self, event: &Event, stamped: bool, tables: &Tables) -> Result<(), Error> {
        let Some((kind, address, extra)) = Kind::pack(&event.op) else {
            return Err(self.unsupported(format!("no room for {:?}", event.op)));
        };
        let key = Key::new(self.code_address(event.place, tables)?, kind);
        let clock = self.clock;
        let stream = self.stream(event.thread);
        let mut record = [0; RECORD_MAX];
        let mut len = encode(&mut stream.predictor, key, address, &mut record);
        if kind.has_extra() {
            len = put_varint(extra, &mut record, len);
        }
        if stamped {
            len = put_varint(clock - stream.stamp, &mut record, len);
            stream.stamp = clock;
        }
        self.put(event.thread, &record[..len])?;
        if event.times > 1 {
            record[0] = tag::REPEAT;
            let len = put_varint(u64::from(event.times - 1), &mut record, 1);
            self.put(event.thread, &record[..len])?;
        }
        Ok(())
    }

    fn call(&mut self, thread: ThreadId, place: PlaceId, tables: &Tables) -> Result<(), Error> {
        let pc = self.code_address(place, tables)?;
        let stream = self.stream(thread);
        if let Some(child) = tables.stacks.child(stream.stack, place) {
            stream.stack = child;
        }
        let mut record = [0; MAX_EVENT];
        let len = stream.predictor.encode_call(pc, &mut record);
        self.put(thread, &record[..len])
    }

    /// Writes the returns and calls that lead from the stream's stack to `wanted`.
    fn go_to_stack(&mut self, thread: ThreadId, wanted: StackId, tables: &Tables) -> Result<(), Error> {
        let mut from = self.stream(thread).stack;
        if from == wanted {
            return Ok(());
        }
        let depth = |stack| tables.stacks.frames(stack).count();
        let (mut depth_from, mut depth_to) = (depth(from), depth(wanted));
        let (mut to, mut pops, mut calls) = (wanted, 0, Vec::new());
        while from != to {
            if depth_from >= depth_to {
                let Some((parent, _)) = tables.stacks.parent(from) else { break };
                (from, depth_from, pops) = (parent, depth_from - 1, pops + 1);
            } else {
                let Some((parent, place)) = tables.stacks.parent(to) else { break };
                (to, depth_to) = (parent, depth_to - 1);
                calls.push(place);
            }
        }
        if pops > 0 {
            let mut record = [0; MAX_EVENT];
            let len = if pops <= 8 {
                record[0] = tag::POP + (pops - 1) as u8;
                1
            } else {
                record[0] = tag::POP_MANY;
                put_varint(pops, &mut record, 1)
            };
            self.put(thread, &record[..len])?;
        }
        self.stream(thread).stack = from;
        for place in calls.into_iter().rev() {
            self.call(thread, place, tables)?;
        }
        Ok(())
    }

    /// The code address that stands for a place.
    fn code_address(&self, place: PlaceId, tables: &Tables) -> Result<u64, Error> {
        match tables.places.get(place) {
            Place::Unknown => Ok(0),
            Place::Named { .. } => Ok(NAMED_BASE + u64::from(place.0)),
            Place::Code { module, offset } => {
                let load = tables.modules.loads().iter().find(|load| load.module == module);
                let bias = load.map(|load| load.bias);
                let bias =
                    bias.ok_or_else(|| self.unsupported("a place in a module never loaded".to_owned()))?;
                Ok(bias.wrapping_add(offset).wrapping_add(1))
            }
        }
    }

    /// Puts a record into the stream's block, or into a new one.
    fn put(&mut self, thread: ThreadId, record: &[u8]) -> Result<(), Error> {
        let stream = self.stream(thread);
        if stream.content.len() + record.len() > block_size(stream.sequence) - block::HEADER {
            self.flush(thread)?;
        }
        self.stream(thread).content.extend_from_slice(record);
        Ok(())
    }

    /// Writes the stream's block and begins the next.
    fn flush(&mut self, thread: ThreadId) -> Result<(), Error> {
        let stream = self.stream(thread);
        let size = block_size(stream.sequence);
        let mut content = std::mem::take(&mut stream.content);
        let sequence = stream.sequence;
        stream.sequence += 1;
        let mut head = block_head(block::EVENTS, size, 0);
        for at in [block::STREAM, block::THREAD] {
            head[at..at + 4].copy_from_slice(&thread.0.to_le_bytes());
        }
        head[block::SEQUENCE..block::SEQUENCE + 4].copy_from_slice(&sequence.to_le_bytes());
        self.write_block(&head, &content, size)?;
        content.clear();
        self.stream(thread).content = content;
        Ok(())
    }

    fn write_block(&mut self, head: &[u8], content: &[u8], size: usize) -> Result<(), Error> {
        let mut bytes = Vec::with_capacity(size);
        bytes.extend_from_slice(head);
        bytes.extend_from_slice(content);
        bytes.resize(size, 0);
        self.write_at(&bytes, self.end)?;
        self.end += size as u64;
        Ok(())
    }

    /// Writes records of a table, cut into blocks.
    fn write_table(&mut self, kind: u32, records: impl Iterator<Item = Vec<u8>>) -> Result<(), Error> {
        let mut content = Vec::new();
        for record in records {
            if content.len() + record.len() > TABLE_BLOCK && !content.is_empty() {
                self.write_table_block(kind, &content)?;
                content.clear();
            }
            content.extend_from_slice(&record);
        }
        if content.is_empty() { Ok(()) } else { self.write_table_block(kind, &content) }
    }

    fn write_table_block(&mut self, kind: u32, content: &[u8]) -> Result<(), Error> {
        let size = (content.len() + block::HEADER).next_multiple_of(header::PAGE as usize);
        self.write_block(&block_head(kind, size, content.len()), content, size)
    }

    fn write_modules(&mut self, tables: &Tables) -> Result<(), Error> {
        if !tables.modules.changes().is_empty() {
            return Err(self.unsupported("modules that lay at one address at different times".to_owned()));
        }
        let unknown = Module { path: String::new(), build_id: Vec::new(), instrumented: false };
        let records = tables.modules.loads().iter().map(|load| {
            let known = tables.modules.get(load.module).unwrap_or(&unknown);
            let flags = if known.instrumented { module::INSTRUMENTED } else { 0 };
            let mut record = vec![0; module::SIZE];
            let mut put = |at: usize, bytes: &[u8]| record[at..at + bytes.len()].copy_from_slice(bytes);
            put(module::BIAS, &load.bias.to_le_bytes());
            put(module::START, &load.start.to_le_bytes());
            put(module::END, &load.end.to_le_bytes());
            put(module::FLAGS, &flags.to_le_bytes());
            put(module::BUILD_ID_LEN, &(known.build_id.len() as u32).to_le_bytes());
            put(module::PATH_LEN, &(known.path.len() as u32).to_le_bytes());
            record.extend_from_slice(&known.build_id);
            record.extend_from_slice(known.path.as_bytes());
            padded(record)
        });
        self.write_table(block::MODULES, records)
    }

    fn write_places(&mut self, tables: &Tables) -> Result<(), Error> {
        let records = tables.places.iter().filter_map(|(id, place)| {
            let Place::Named { function, file, line, column } = place else { return None };
            let mut record = (NAMED_BASE + u64::from(id.0)).to_le_bytes().to_vec();
            for number in [line, column, function.len() as u32, file.len() as u32] {
                record.extend_from_slice(&number.to_le_bytes());
            }
            record.extend_from_slice(function.as_bytes());
            record.extend_from_slice(file.as_bytes());
            Some(padded(record))
        });
        self.write_table(block::PLACES, records)
    }

    fn write_names(&mut self, tables: &Tables) -> Result<(), Error> {
        let records = tables.names.iter().map(|(address, name)| {
            let mut record = address.to_le_bytes().to_vec();
            record.extend_from_slice(&(name.len() as u64).to_le_bytes());
            record.extend_from_slice(name.as_bytes());
            padded(record)
        });
        self.write_table(block::NAMES, records)
    }

    fn write_header(&self, flags: u64) -> Result<(), Error> {
        let mut page = vec![0; header::PAGE as usize];
        let mut put = |at: usize, bytes: &[u8]| page[at..at + bytes.len()].copy_from_slice(bytes);
        let run = &self.run;
        let flags = [
            (run.imported, flag::IMPORTED),
            (run.detected, flag::DETECTED),
            (run.accessed, flag::ACCESSED),
            (run.recorded, flag::RECORDED),
            (run.forgot, flag::FORGOT),
            (run.gave_up, flag::GAVE_UP),
        ]
        .into_iter()
        .fold(flags, |flags, (is, flag)| if is { flags | flag } else { flags });
        put(0, &header::MAGIC);
        put(header::VERSION, &wire::VERSION.to_le_bytes());
        put(header::END, &self.end.to_le_bytes());
        put(header::PID, &self.run.pid.to_le_bytes());
        put(header::FORKED_FROM, &self.run.forked_from.unwrap_or(0).to_le_bytes());
        put(header::STARTED, &self.run.started.to_le_bytes());
        put(header::FLAGS, &flags.to_le_bytes());
        put(header::ENDED, &self.run.ended.unwrap_or(0).to_le_bytes());
        put(header::MACHINE, &u64::from(self.run.machine).to_le_bytes());
        let mut line: Vec<u8> =
            self.run.arguments.iter().flat_map(|argument| argument.bytes().chain([0])).collect();
        line.truncate(header::PAGE as usize - header::ARGUMENTS);
        put(header::ARGUMENTS_LEN, &(line.len() as u32).to_le_bytes());
        put(header::ARGUMENTS, &line);
        self.write_at(&page, 0)
    }

    fn write_at(&self, bytes: &[u8], at: u64) -> Result<(), Error> {
        self.file.write_all_at(bytes, at).map_err(|error| Error::io(&self.path, At::Byte(at), &error))
    }

    #[cold]
    fn unsupported(&self, reason: String) -> Error {
        Error::new(ErrorKind::Unsupported, &self.path, At::Byte(self.end), reason)
    }
}

fn encode(predictor: &mut Predictor, key: Key, address: u64, record: &mut [u8; RECORD_MAX]) -> usize {
    if let Some(packed) = predictor.encode_predicted(key, address) {
        record[..8].copy_from_slice(&packed.bits.to_le_bytes());
        return packed.len as usize;
    }
    let mut event = [0; MAX_EVENT];
    let len = predictor.encode(key, address, &mut event);
    record[..MAX_EVENT].copy_from_slice(&event);
    len
}

fn block_size(sequence: u32) -> usize {
    ((header::PAGE as usize) << sequence.min(8)).min(BLOCK_MAX)
}

fn block_head(kind: u32, size: usize, used: usize) -> [u8; block::HEADER] {
    let mut head = [0; block::HEADER];
    head[..4].copy_from_slice(&block::MAGIC.to_le_bytes());
    head[block::KIND..block::KIND + 4].copy_from_slice(&kind.to_le_bytes());
    head[block::SIZE..block::SIZE + 8].copy_from_slice(&(size as u64).to_le_bytes());
    head[block::USED..block::USED + 8].copy_from_slice(&(used as u64).to_le_bytes());
    head
}

fn padded(mut record: Vec<u8>) -> Vec<u8> {
    record.resize(record.len().next_multiple_of(8), 0);
    record
}
