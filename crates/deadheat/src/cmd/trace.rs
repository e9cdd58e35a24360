//! `deadheat trace`: looks into traces, and converts them from and to other formats.

mod agree;
mod dump;
mod info;

use std::fs::File;
use std::io::{BufWriter, ErrorKind as IoKind, Write};
use std::path::{Path, PathBuf};

use deadheat_core::event::Event;
use deadheat_trace::{Error, ErrorKind, Format, Run, StdWriter, Summary, Tables, Trace, Writer};

use crate::args::Common;
use crate::exit::{Context, Exit, Failure};
use crate::say::say;

/// What to do with a trace.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(clap::Subcommand)]
enum What {
    /// Tell what a trace holds: program, threads, modules, counts, and what is odd in it
    Info(info::Args),
    /// Print the events, one a line
    Dump(dump::Args),
    /// Compare the races that a run found by itself with those of its recording; the code is 1 if they do not agree
    Agree(agree::Args),
    /// Convert a trace of another tool into deadheat's own file
    Import(Import),
    /// Convert a trace into the format of other tools
    Export(Export),
}

#[derive(clap::Args)]
struct Import {
    /// The trace to read
    input: PathBuf,
    /// Its format, if it is not to be recognised: std, shbee or rapidbin
    #[arg(long, value_name = "FORMAT", value_parser = foreign_format)]
    from: Option<Format>,
    /// The file to write; the input's name with `.dh` if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(clap::Args)]
struct Export {
    /// The trace to read
    input: PathBuf,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_parser = ["std"])]
    to: String,
    /// The file to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Runs `deadheat trace`.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    match &args.what {
        What::Info(args) => info::run(args, common),
        What::Dump(args) => dump::run(args),
        What::Agree(args) => agree::run(args, common),
        What::Import(args) => import(args, common),
        What::Export(args) => export(args, common),
    }
}

fn foreign_format(name: &str) -> Result<Format, String> {
    Format::named(name)
        .filter(|&format| format != Format::Deadheat)
        .ok_or_else(|| "known are std, shbee and rapidbin".to_owned())
}

fn import(args: &Import, common: &Common) -> Result<Exit, Failure> {
    let output = args.output.clone().unwrap_or_else(|| args.input.with_extension("dh"));
    if same_file(&args.input, &output) {
        return Err(Failure::usage(format!("{} is the input: name another --output", output.display())));
    }
    let mut trace = match args.from {
        Some(format) => Trace::open_as(&args.input, format),
        None => Trace::open(&args.input),
    }
    .map_err(|error| failure(&error))?;
    let run = Run {
        imported: true,
        arguments: vec![args.input.display().to_string()],
        ..trace.run().cloned().unwrap_or_default()
    };
    let mut writer = Writer::create(&output, &run).map_err(|error| failure(&error))?;
    let read =
        copy(&mut trace, |event, tables| writer.event(event, tables).map_err(|error| failure(&error)))?;
    writer.finish(trace.tables(), read.is_ok()).map_err(|error| failure(&error))?;
    if !common.quiet {
        tell(trace.summary(), &output.display().to_string());
    }
    match read {
        Ok(_) => Ok(Exit::SUCCESS),
        Err(error) => Err(failure(&error)),
    }
}

fn export(args: &Export, common: &Common) -> Result<Exit, Failure> {
    let mut trace = Trace::open(&args.input).map_err(|error| failure(&error))?;
    let named = trace.run().is_none_or(|run| run.imported);
    let out = output(args.output.as_deref())?;
    let mut writer = StdWriter::new(out, named);
    let mut closed = false;
    let read = copy(&mut trace, |event, tables| match writer.event(event, tables) {
        Err(error) if error.kind() == IoKind::BrokenPipe => {
            closed = true;
            Err(Failure::own("the output was closed"))
        }
        written => written.context(|| "cannot write the text".to_owned()),
    });
    if closed {
        return Ok(Exit::SUCCESS);
    }
    let read = read?;
    let left_out = match writer.finish() {
        Err(error) if error.kind() == IoKind::BrokenPipe => return Ok(Exit::SUCCESS),
        finished => finished.context(|| "cannot write the text".to_owned())?,
    };
    if !common.quiet {
        tell(trace.summary(), "STD");
        if left_out > 0 {
            say!("deadheat: {left_out} events have no words in STD and were left out");
        }
    }
    read.map(|_| Exit::SUCCESS).map_err(|error| failure(&error))
}

/// Drives the trace into `put` until that fails; what the reader says is the inner result.
fn copy(
    trace: &mut Trace,
    mut put: impl FnMut(&Event, &Tables) -> Result<(), Failure>,
) -> Result<Result<Summary, Error>, Failure> {
    let mut failed = None;
    let read = trace.drive_while(|event, tables| {
        failed = put(event, tables).err();
        failed.is_none()
    });
    failed.map_or(Ok(read), Err)
}

fn tell(summary: &Summary, to: &str) {
    say!("deadheat: {} events, {} of them accesses, to {to}", summary.events, summary.accesses);
    for (phrase, count) in summary.dirt.rows().iter().filter(|row| row.1 > 0) {
        say!("deadheat: mended: {count} {phrase}");
    }
}

/// The file of that name, or standard output.
fn output(path: Option<&Path>) -> Result<Box<dyn Write>, Failure> {
    Ok(match path {
        Some(path) => {
            let file = File::create(path).context(|| format!("cannot write {}", path.display()))?;
            Box::new(BufWriter::with_capacity(1 << 16, file))
        }
        None => Box::new(BufWriter::with_capacity(1 << 16, std::io::stdout().lock())),
    })
}

fn same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}

/// An input that cannot be read is the input's fault, a file that cannot be written is not.
fn failure(error: &Error) -> Failure {
    match error.kind {
        ErrorKind::Unsupported => Failure::own(error.to_string()),
        ErrorKind::Io
        | ErrorKind::Foreign
        | ErrorKind::Future
        | ErrorKind::Truncated
        | ErrorKind::Corrupt => Failure::input(error.to_string()),
    }
}
