//! `runs.jsonl`: what every finished run of a hunt gave, one a line.
//!
//! Invariant: a line is written whole and at once, when its run is over; so a hunt that is killed
//! loses the runs in flight and no others, and everything that it tells can be made from here.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use deadheat_report::model::{Finding, Race, Run};
use serde::{Deserialize, Serialize};

use super::turns::Delay;
use crate::child;
use crate::exit::{Context, Failure};

/// One line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub(crate) enum Line {
    /// The watched run.
    Watch(Box<Watched>),
    /// A run that provoked.
    Provoke(Box<Provoked>),
}

/// The watched run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Watched {
    /// As reports tell it.
    pub(crate) run: Run,
    /// How long it took (m).
    pub(crate) seconds: f64,
    /// How it ended.
    pub(crate) end: End,
    /// What was not nominated, by the reason.
    pub(crate) dropped: BTreeMap<String, u64>,
    /// What the reader should know.
    pub(crate) notes: Vec<String>,
}

/// A run that provoked.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Provoked {
    /// Its number, from 1.
    pub(crate) number: u64,
    /// The targets that were armed.
    pub(crate) targets: Vec<Tried>,
    /// What was proved.
    pub(crate) races: Vec<Race>,
    /// What else went wrong.
    pub(crate) findings: Vec<Finding>,
    /// How it ended.
    pub(crate) end: End,
    /// Whether the runtime ended it because all was decided.
    pub(crate) cut: bool,
    /// Whether the hunt ended it.
    pub(crate) stopped: bool,
    /// Whether no process took the gate file.
    pub(crate) untaken: bool,
    /// Whether it was watched too.
    pub(crate) monitored: bool,
    /// How long it took.
    pub(crate) seconds: f64,
}

impl Provoked {
    /// How long the program ran, its waits left out; `None` if it did not come to its end.
    pub(crate) fn lasted(&self) -> Option<Duration> {
        let whole = !self.cut && !self.stopped && !self.untaken && self.end != End::Timeout;
        let waited: f64 = self.targets.iter().map(|tried| tried.waited_ms / 1000.0).sum();
        let time = Duration::try_from_secs_f64(self.seconds - waited);
        time.ok().filter(|_| whole)
    }
}

/// A target in one run.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Tried {
    /// Its id.
    pub(crate) id: String,
    /// How long one side could wait for the other, in milliseconds.
    pub(crate) bound_ms: f64,
    /// Whether it waited for any thread that could come.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) anybody: bool,
    /// `race`, `none`, `quiescent`, `moved`, `busy`, `lost` or `undecided`.
    pub(crate) verdict: String,
    /// When each side's access was reached first, in milliseconds since the start.
    pub(crate) reached_ms: [Option<f64>; 2],
    /// How long a thread was held for it, in milliseconds.
    pub(crate) waited_ms: f64,
    /// If it was given up while a lock was held: who is to wait for whom in the next try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delay: Option<Delay>,
}

/// How a run ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    /// By itself, with this code.
    Exited(u8),
    /// By this signal.
    Signal(String),
    /// Its time was over.
    Timeout,
}

impl Default for End {
    fn default() -> Self {
        End::Exited(0)
    }
}

impl From<child::End> for End {
    fn from(end: child::End) -> Self {
        match end {
            child::End::Exited(code) => End::Exited(code),
            child::End::Signalled(signal) => End::Signal(signal.as_str().to_owned()),
            child::End::TimedOut => End::Timeout,
        }
    }
}

impl End {
    /// The end as a phrase: `ended with code 3`.
    pub(crate) fn phrase(&self) -> String {
        match self {
            End::Exited(code) => format!("ended with code {code}"),
            End::Signal(signal) => format!("was killed by {signal}"),
            End::Timeout => "ran past its time".to_owned(),
        }
    }
}

/// The file, open for more.
pub(crate) struct Log {
    file: File,
    name: String,
}

impl Log {
    /// Opens the file, behind its last whole line.
    pub(crate) fn open(path: &Path) -> Result<Log, Failure> {
        let name = path.display().to_string();
        let what = || format!("cannot write {name}");
        let mut file =
            File::options().create(true).read(true).write(true).truncate(false).open(path).context(what)?;
        let bytes = std::fs::read(path).context(what)?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at as u64 + 1);
        file.set_len(whole).context(what)?;
        std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(whole)).context(what)?;
        Ok(Log { file, name })
    }

    /// Appends a line.
    pub(crate) fn add(&mut self, line: &Line) -> Result<(), Failure> {
        let what = || format!("cannot write {}", self.name);
        let mut text = serde_json::to_vec(line).context(what)?;
        text.push(b'\n');
        self.file.write_all(&text).context(what)?;
        self.file.flush().context(what)
    }
}

/// Reads the lines that are whole; says whether a torn last one was left out.
pub(crate) fn read(path: &Path) -> Result<(Vec<Line>, bool), Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::input(format!("cannot read {}: {error}", path.display())))?;
    let (mut lines, mut torn) = (Vec::new(), false);
    for (line, number) in bytes.split_inclusive(|&byte| byte == b'\n').zip(1_u64..) {
        if !line.ends_with(b"\n") {
            torn = true;
            break;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        let line = serde_json::from_slice(line)
            .map_err(|error| Failure::input(format!("{}:{number}: {error}", path.display())))?;
        lines.push(line);
    }
    Ok((lines, torn))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provoked(number: u64, end: End) -> Line {
        let tried = Tried { id: "t-1".into(), verdict: "none".into(), bound_ms: 50.0, ..Tried::default() };
        Line::Provoke(Box::new(Provoked { number, end, targets: vec![tried], ..Provoked::default() }))
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_overwritten() {
        let scratch = crate::traces::Scratch::make().expect("a folder");
        let path = scratch.path().join("runs.jsonl");
        let lines = [Line::Watch(Box::default()), provoked(1, End::Signal("SIGSEGV".into()))];
        let mut log = Log::open(&path).expect("opened");
        lines.iter().for_each(|line| log.add(line).expect("written"));
        assert_eq!(read(&path).expect("read"), (lines.to_vec(), false));
        let whole = std::fs::read(&path).expect("there");
        std::fs::write(&path, &whole[..whole.len() - 7]).expect("torn");
        assert_eq!(read(&path).expect("read"), (lines[..1].to_vec(), true));
        let again = provoked(2, End::Timeout);
        Log::open(&path).expect("opened").add(&again).expect("written");
        assert_eq!(read(&path).expect("read"), (vec![lines[0].clone(), again], false));
    }

    #[test]
    fn a_line_that_is_none_is_refused_with_its_number() {
        let scratch = crate::traces::Scratch::make().expect("a folder");
        let path = scratch.path().join("runs.jsonl");
        std::fs::write(&path, "{\"kind\":\"watch\"}\n{\"kind\":\"dance\"}\n").expect("written");
        let error = read(&path).expect_err("no line").to_string();
        assert!(error.contains("runs.jsonl:2: "), "{error}");
    }
}
