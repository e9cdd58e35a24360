//! `deadheat trace info`: what a trace holds.

use std::fmt::Write as _;
use std::io::Write;
use std::path::PathBuf;

use deadheat_core::event::Event;
use deadheat_core::ids::ThreadId;
use deadheat_core::plain::Plain;
use deadheat_trace::census::Census;
use deadheat_trace::wellformed::Doubts;
use deadheat_trace::{Ending, Run, Summary, Tables, Trace, Visit};

use super::{failure, output};
use crate::args::Common;
use crate::exit::{Context, Exit, Failure};
use crate::say;

/// What to look at.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The trace
    trace: PathBuf,
    /// The file to write; standard output if not given
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

const NO_ACCESS: &str = "           no access was seen: nothing of the program was instrumented\n";

/// What is counted of the events.
#[derive(Default)]
struct Counts {
    census: Census,
    doubts: Doubts,
}

impl Visit for Counts {
    fn event(&mut self, event: &Event, _: &Tables) -> bool {
        self.census.step(event);
        self.doubts.step(event);
        true
    }

    fn plain(&mut self, thread: ThreadId, accesses: &[Plain], _: &Tables) -> bool {
        self.census.plain(accesses);
        if let Some(first) = accesses.first() {
            self.doubts.accesses(&first.event(thread), accesses.len() as u64);
        }
        true
    }
}

/// Tells what the trace holds; after an error, what was read whole.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let mut trace = Trace::open(&args.trace).map_err(|error| failure(&error))?;
    let mut counts = Counts::default();
    let read = trace.drive_into(&mut counts);
    let Counts { census, doubts } = counts;
    let mut text = String::new();
    let _ = writeln!(text, "trace      {} ({})", args.trace.display(), trace.format().name());
    if let Some(run) = trace.run() {
        origin(run, &mut text);
    }
    amounts(trace.summary(), read.is_err(), &mut text);
    if let Some(run) = trace.run().filter(|run| run.detected) {
        found(run, trace.found().iter().filter(|found| !found.ordered).count(), &mut text);
    }
    if !trace.run().is_some_and(|run| run.detected && !run.recorded) {
        accesses(trace.summary(), &mut text);
    }
    threads(trace.tables(), trace.summary().ending, &mut text);
    modules(trace.tables(), common.verbose, &mut text);
    events(&census, &mut text);
    oddities(trace.summary(), &doubts, &mut text);
    let mut out = output(args.output.as_deref())?;
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    say::heard(written).context(|| "cannot write".to_owned())?;
    read.map(|_| Exit::SUCCESS).map_err(|error| failure(&error))
}

fn origin(run: &Run, text: &mut String) {
    let words: Vec<String> = run.arguments.iter().map(|argument| quoted(argument)).collect();
    if run.imported {
        let _ = writeln!(text, "imported   {}", words.join(" "));
        return;
    }
    let _ = writeln!(text, "program    {}", words.join(" "));
    let _ = write!(text, "process    {}", run.pid);
    if let Some(parent) = run.forked_from {
        let _ = write!(text, ", forked from {parent}");
    }
    text.push('\n');
    if run.started > 0 {
        let _ = writeln!(text, "started    {}", date(run.started / 1_000_000_000));
    }
    if let Some(ended) = run.ended {
        let _ = writeln!(text, "lasted     {:.3} s", ended.saturating_sub(run.started) as f64 / 1e9);
    }
}

fn amounts(summary: &Summary, broken: bool, text: &mut String) {
    let ending = match summary.ending {
        _ if broken => "broken: see the error; what follows was read whole",
        Ending::Clean => "orderly",
        Ending::Cut => "cut: the process was killed or broke off",
        Ending::NoSpace => "cut: there was no space left to record in",
    };
    let _ = writeln!(text, "end        {ending}");
    let _ =
        writeln!(text, "size       {} bytes, {} of them read for events", summary.bytes, summary.event_bytes);
    let _ = writeln!(text, "events     {}", summary.events);
}

/// What a run has to show that looked for races by itself.
fn found(run: &Run, races: usize, text: &mut String) {
    let _ = writeln!(text, "races      {races} found while the program ran");
    if !run.recorded {
        text.push_str(if run.accessed { "accesses   seen, and not stored\n" } else { NO_ACCESS });
    }
}

fn accesses(summary: &Summary, text: &mut String) {
    let _ = write!(text, "accesses   {} made, {} stored", summary.accesses_made, summary.accesses);
    if summary.accesses_made > 0 {
        let _ = write!(text, ", {:.2} bytes each", summary.bytes as f64 / summary.accesses_made as f64);
    }
    text.push('\n');
    if summary.accesses == 0 {
        text.push_str(NO_ACCESS);
    }
}

fn threads(tables: &Tables, ending: Ending, text: &mut String) {
    let _ = writeln!(text, "\nthreads    {}", tables.threads.iter().count());
    for (id, thread) in tables.threads.iter() {
        let _ = write!(text, "  {}", tables.threads.path(id));
        if !thread.name.is_empty() {
            let _ = write!(text, " {}", quoted(&thread.name));
        }
        // The first thread ends with the process.
        let ended = thread.ended || id == ThreadId::FIRST && ending == Ending::Clean;
        if thread.begun && !ended {
            text.push_str(" (end not seen)");
        }
        text.push('\n');
    }
}

fn modules(tables: &Tables, all: bool, text: &mut String) {
    let count = tables.modules.iter().count();
    if count == 0 {
        return;
    }
    let instrumented = tables.modules.iter().filter(|(_, module)| module.instrumented).count();
    let _ = writeln!(text, "\nmodules    {count}, {instrumented} of them instrumented");
    for (_, module) in tables.modules.iter().filter(|(_, module)| all || module.instrumented) {
        let _ = write!(text, "  {}", module.path);
        if !module.build_id.is_empty() {
            text.push_str(" build-id ");
            for byte in &module.build_id {
                let _ = write!(text, "{byte:02x}");
            }
        }
        text.push_str(if module.instrumented { "\n" } else { " (not instrumented)\n" });
    }
}

fn events(census: &Census, text: &mut String) {
    text.push_str("\nevents by sort\n");
    for (word, count, made) in census.rows() {
        let _ = write!(text, "  {word:<18} {count}");
        if made > count {
            let _ = write!(text, " ({made} with repeats)");
        }
        text.push('\n');
    }
}

fn oddities(summary: &Summary, doubts: &Doubts, text: &mut String) {
    let mended: Vec<_> = summary.dirt.rows().into_iter().filter(|row| row.1 > 0).collect();
    let doubts: Vec<_> = doubts.rows().collect();
    for (title, rows) in [("mended while reading", mended), ("doubts", doubts)] {
        if !rows.is_empty() {
            let _ = writeln!(text, "\n{title}");
        }
        for (phrase, count) in rows {
            let _ = writeln!(text, "  {count} {phrase}");
        }
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=+:,@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("{word:?}") }
}

/// Seconds since 1970 as a date and a time in UTC (by the civil calendar's 400-year cycle).
fn date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let day = day - (153 * shifted + 2) / 5 + 1;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(date(0), "1970-01-01 00:00:00 UTC");
        assert_eq!(date(951_782_400), "2000-02-29 00:00:00 UTC");
        assert_eq!(date(1_795_247_999), "2026-11-21 07:59:59 UTC");
    }

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        assert_eq!(["./a", "b c", ""].map(quoted), ["./a", "\"b c\"", "\"\""]);
    }
}
