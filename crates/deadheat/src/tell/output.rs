//! Where reports go, and in what form.
//!
//! Invariant: what cannot be written where it was to go is told on standard error, and a file that cannot be written whole
//! is not left there in part.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser};
use deadheat_report::format::{FORMATS, Format, Style, named};
use deadheat_report::model::{Report, Run};
use deadheat_report::source::{Files, Sources};
use deadheat_report::strip::{Names, strip};

use crate::args::Common;
use crate::exit::{Context, Exit, Failure};
use crate::say::{self, say};

/// In what form to write reports.
#[derive(clap::Args)]
pub(crate) struct Output {
    /// The form of the report
    #[arg(long, value_name = "FORMAT", default_value = "text", value_parser = formats())]
    format: String,
    /// Write the report to a file instead of standard error (text) or output (other formats)
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Where every form goes that goes to no file; `None`: where it usually does
    #[arg(skip)]
    stream: Option<Stream>,
    /// Whether what is in the file stays
    #[arg(skip)]
    adds: bool,
    /// What the files' paths are told without, up to where it ends in them
    #[arg(skip)]
    strip: String,
}

/// A standard stream.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stream {
    Output,
    Errors,
}

/// The formats, for an option.
pub(crate) fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(FORMATS.iter().map(|row| PossibleValue::new(row.name).help(row.about)))
}

impl Output {
    /// That form, to the standard streams.
    pub(crate) fn of(format: &str) -> Output {
        Output { format: format.to_owned(), output: None, stream: None, adds: false, strip: String::new() }
    }

    /// That form, to a file.
    pub(crate) fn to(format: &str, path: &str) -> Output {
        Output { output: Some(path.into()), ..Output::of(format) }
    }

    /// That form, to that file (behind what is there, if it is to be added), else to that stream.
    pub(crate) fn by_hand(format: &str, stream: Stream, output: Option<PathBuf>, adds: bool) -> Output {
        Output { output, stream: Some(stream), adds, ..Output::of(format) }
    }

    /// The same, with the files' paths told from where `prefix` ends in them.
    pub(crate) fn strip(self, prefix: &str) -> Output {
        Output { strip: prefix.to_owned(), ..self }
    }

    /// Whether people read it on standard error.
    pub(super) fn is_read(&self) -> bool {
        self.output.is_none() && self.stream() == Stream::Errors
    }

    fn stream(&self) -> Stream {
        self.stream.unwrap_or(if self.form().for_people { Stream::Errors } else { Stream::Output })
    }

    /// Sees to it that the file can be written, before there is something to write: what is in it stays.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let Some(path) = &self.output else { return Ok(()) };
        if path.is_dir() {
            return Err(Failure::usage(format!("{} is a folder, not a place for a report", path.display())));
        }
        try_to_open(path).context(|| format!("cannot write {}", path.display()))
    }

    fn form(&self) -> &'static Format {
        named(&self.format).unwrap_or(&FORMATS[0])
    }
}

/// Opens the file for writing. Where there is none there is none afterwards, and nobody who waits behind a pipe is woken.
fn try_to_open(path: &Path) -> io::Result<()> {
    match path.metadata() {
        Ok(about) if about.is_file() => File::options().append(true).open(path).map(drop),
        Ok(_) => Ok(()),
        // What a link leads to is made when it is written.
        Err(fault) if fault.kind() == ErrorKind::NotFound && path.is_symlink() => Ok(()),
        Err(fault) if fault.kind() == ErrorKind::NotFound => {
            File::create_new(path)?;
            fs::remove_file(path)
        }
        Err(fault) => Err(fault),
    }
}

/// Writes reports in the form that was asked for, if there is none as that form has it: a file of another run does not stay.
/// Where that cannot be they are told on standard error, and the code is 70.
pub(crate) fn write(reports: &[Report], output: &Output, common: &Common) -> Exit {
    // Who was not asked for a report says nothing where there is nothing to say.
    if output.stream.is_some() && reports.is_empty() {
        return Exit::SUCCESS;
    }
    let format = output.form();
    // Nothing fails there.
    let stripped = (!output.strip.is_empty()).then(|| strip(reports, &output.strip).ok()).flatten();
    let told = match &stripped {
        Some((reports, names)) => Told { reports, names: Some(names) },
        None => Told { reports, names: None },
    };
    let (place, written) = match &output.output {
        None if output.is_read() => {
            on_standard_error(told, format, common);
            return Exit::SUCCESS;
        }
        None => {
            let written = if format.for_people {
                write_all(told, format, true, common, &mut anstream::stdout())
            } else {
                write_all(told, format, false, common, &mut BufWriter::new(io::stdout()))
            };
            ("standard output".to_owned(), say::heard(written))
        }
        Some(path) => {
            let write = |out: &mut dyn Write| write_all(told, format, false, common, out);
            (path.display().to_string(), to_file(path, output.adds, write))
        }
    };
    let Err(fault) = written else { return Exit::SUCCESS };
    say!("deadheat: warning: cannot write {place}: {fault}; this is standard error");
    on_standard_error(told, if output.stream.is_some() { format } else { &FORMATS[0] }, common);
    Exit::Own
}

/// What is to be told.
#[derive(Clone, Copy)]
struct Told<'a> {
    reports: &'a [Report],
    /// What the files are called, where the reports call them otherwise.
    names: Option<&'a Names>,
}

/// Nobody is left to tell of a failure there, and the code says what there is.
fn on_standard_error(told: Told, format: &Format, common: &Common) {
    let _ = write_all(told, format, format.for_people, common, &mut anstream::stderr());
}

fn to_file(path: &Path, adds: bool, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let before = if adds { path.metadata().map_or(0, |about| about.len()) } else { 0 };
    let mut options = File::options();
    let file = if adds { options.append(true) } else { options.write(true).truncate(true) }
        .create(true)
        .open(path)?;
    let mut file = BufWriter::new(file);
    let written = write(&mut file);
    // What it still holds is not to be written any more.
    let (file, _) = file.into_parts();
    if written.is_err() && path.is_file() {
        // A part of a report may pass for one, and so may that of an earlier run.
        let _ = if before > 0 { file.set_len(before) } else { fs::remove_file(path) };
    }
    written
}

fn write_all(
    Told { reports, names }: Told,
    format: &Format,
    color: bool,
    common: &Common,
    out: &mut dyn Write,
) -> io::Result<()> {
    let sources = |run: &Run| -> Box<dyn Sources> {
        let files = Box::new(Files::new(&run.folder, run.built));
        match names {
            Some(names) => names.sources(files),
            None => files,
        }
    };
    let style = Style { color, quiet: common.quiet, sources: &sources, root: &root() };
    (format.write)(reports, &style, out)?;
    out.flush()
}

/// The folder from which other tools name source files: that of the repository around the present one.
fn root() -> PathBuf {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(&here).to_path_buf()
}
