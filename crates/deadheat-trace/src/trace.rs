//! The one way to read a trace, whatever its format.

use std::fs::File;
use std::path::{Path, PathBuf};

use deadheat_core::event::Event;

use crate::binary;
use crate::error::{At, Error, ErrorKind};
use crate::found::Found;
use crate::source::Source;
use crate::summary::{Format, Run, Summary};
use crate::tables::Tables;
use crate::text::{self, Rapid, Shbee, Std, looks_like_rapidbin, looks_like_shbee, looks_like_std};
use crate::visit::Visit;

/// A trace that can be read: our own file, or one of the other formats.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    format: Format,
    source: Source,
    reader: Reader,
    calls: bool,
    tables: Tables,
    summary: Summary,
}

#[derive(Debug)]
enum Reader {
    Binary(binary::Reader),
    Std,
    Shbee,
    RapidBin,
}

impl Trace {
    /// Opens a trace and recognises its format.
    ///
    /// # Errors
    /// The file cannot be read, is none that we know, or comes from a later version.
    pub fn open(path: impl AsRef<Path>) -> Result<Trace, Error> {
        Self::open_path(path.as_ref(), None)
    }

    /// Opens a trace of a known format.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn open_as(path: impl AsRef<Path>, format: Format) -> Result<Trace, Error> {
        Self::open_path(path.as_ref(), Some(format))
    }

    /// Takes a trace that lies in memory; `path` names it in errors.
    ///
    /// # Errors
    /// The same as for [`Self::open`].
    pub fn from_bytes(
        path: impl AsRef<Path>,
        bytes: Vec<u8>,
        format: Option<Format>,
    ) -> Result<Trace, Error> {
        Self::of(path.as_ref(), Source::Memory(bytes), format)
    }

    fn open_path(path: &Path, format: Option<Format>) -> Result<Trace, Error> {
        let source = File::open(path).and_then(Source::new);
        let source = source.map_err(|error| Error::io(path, At::File, &error))?;
        Self::of(path, source, format)
    }

    fn of(path: &Path, mut source: Source, format: Option<Format>) -> Result<Trace, Error> {
        let format = match format {
            Some(format) => format,
            None => recognise(&mut source, path)?,
        };
        let reader = match format {
            Format::Deadheat => Reader::Binary(binary::Reader::open(&mut source, path)?),
            Format::Std => Reader::Std,
            Format::Shbee => Reader::Shbee,
            Format::RapidBin => Reader::RapidBin,
        };
        let (tables, summary) = Default::default();
        Ok(Trace { path: path.to_owned(), format, source, reader, calls: false, tables, summary })
    }

    /// Whether calls and returns are delivered too ([`deadheat_core::event::Op::Enter`] and
    /// `Exit`). At first they are not: an event's stack says all that most analyses want.
    pub fn deliver_calls(&mut self, wanted: bool) {
        self.calls = wanted;
    }

    /// Delivers every event in the merged order. May be called again: it then starts anew (a
    /// pipe can be read only once).
    ///
    /// # Errors
    /// What was wrong, after delivering all that can be read before it; [`Self::summary`] and
    /// [`Self::tables`] then tell of that part.
    pub fn drive(&mut self, mut visit: impl FnMut(&Event)) -> Result<Summary, Error> {
        self.drive_while(|event, _| {
            visit(event);
            true
        })
    }

    /// As [`Self::drive`], with the tables as they are so far, until `visit` says `false`.
    ///
    /// # Errors
    /// The same as for [`Self::drive`].
    pub fn drive_while(&mut self, mut visit: impl FnMut(&Event, &Tables) -> bool) -> Result<Summary, Error> {
        self.drive_into(&mut visit)
    }

    /// As [`Self::drive_while`], into a visitor that may take plain accesses many at a time.
    ///
    /// # Errors
    /// The same as for [`Self::drive`].
    pub fn drive_into(&mut self, visit: &mut impl Visit) -> Result<Summary, Error> {
        self.tables = Tables::default();
        self.summary = Summary::default();
        let (tables, summary) = (&mut self.tables, &mut self.summary);
        let input = (&mut self.source, &*self.path);
        match &mut self.reader {
            Reader::Binary(reader) if self.calls => reader.drive::<true>(input, tables, summary, visit),
            Reader::Binary(reader) => reader.drive::<false>(input, tables, summary, visit),
            Reader::Std => text::drive(Std::default(), input, tables, summary, visit),
            Reader::Shbee => text::drive(Shbee::default(), input, tables, summary, visit),
            Reader::RapidBin => Rapid::drive(input, tables, summary, visit),
        }?;
        Ok(self.summary)
    }

    /// What the ids stand for, as far as the trace was driven.
    #[must_use]
    pub fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The same, to keep when the trace is closed.
    #[must_use]
    pub fn into_tables(self) -> Tables {
        self.tables
    }

    /// What was read by the latest drive, also if that ended with an error.
    #[must_use]
    pub fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The run that the trace tells of, if it was recorded or converted by deadheat.
    #[must_use]
    pub fn run(&self) -> Option<&Run> {
        match &self.reader {
            Reader::Binary(reader) => Some(reader.run()),
            Reader::Std | Reader::Shbee | Reader::RapidBin => None,
        }
    }

    /// The races that the run found by itself ([`Run::detected`]), as far as the trace was driven.
    #[must_use]
    pub fn found(&self) -> &[Found] {
        match &self.reader {
            Reader::Binary(reader) => reader.found(),
            Reader::Std | Reader::Shbee | Reader::RapidBin => &[],
        }
    }

    /// The trace's format.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The trace's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Recognises the format by the first bytes.
fn recognise(source: &mut Source, path: &Path) -> Result<Format, Error> {
    let mut head = [0; 4096];
    let got = source.read(&mut head, 0).map_err(|error| Error::io(path, At::File, &error))?;
    let head = &head[..got];
    if head.starts_with(&deadheat_core::wire::header::MAGIC) {
        return Ok(Format::Deadheat);
    }
    if looks_like_std(head) {
        return Ok(Format::Std);
    }
    if looks_like_shbee(head) {
        return Ok(Format::Shbee);
    }
    if looks_like_rapidbin(head, source.len()) {
        return Ok(Format::RapidBin);
    }
    let reason = if got == 0 { "the file is empty" } else { "this is no trace that deadheat knows" };
    Err(Error::new(ErrorKind::Foreign, path, At::Byte(0), reason))
}
