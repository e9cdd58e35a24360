//! One program three ways, in turns: natively, under TSan, recorded by deadheat; then its judgement. If asked for, two
//! further ways: natively under Helgrind and under DRD.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::measure::{Cost, Run};
use super::recording::{Content, RACES, Recording, races_in, stackless_in};
use super::statistic::Quartiles;
use super::tools::{Tools, words};
use super::valgrind::{Tool, Watched};
use super::{Outcome, Stop};

/// How a program was built.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Build {
    /// Without instrumentation.
    Native,
    /// With the compiler's own runtime.
    Tsan,
    /// Through `deadheat cc`.
    Deadheat,
}

impl Build {
    /// All of them, in the order in which they are built and told.
    pub(crate) const ALL: [Build; 3] = [Build::Native, Build::Tsan, Build::Deadheat];

    /// The folder's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Build::Native => "native",
            Build::Tsan => "tsan",
            Build::Deadheat => "deadheat",
        }
    }
}

/// What takes the part of an output that counts.
pub(crate) type Part = fn(&[u8]) -> Vec<u8>;

/// What a run's output has to be equal to.
#[derive(Clone)]
pub(crate) enum Right {
    /// The native run's output, or the part of it that this function takes.
    Native(Part),
    /// This file's content.
    File(PathBuf),
}

/// The whole output counts.
pub(crate) fn whole(output: &[u8]) -> Vec<u8> {
    output.to_vec()
}

/// A program to compare.
pub(crate) struct Subject {
    /// What it is called in the tables; also part of file names.
    pub(crate) name: String,
    /// Threads that it is told to use.
    pub(crate) threads: usize,
    /// The program and its arguments, the same for each build; run in the build's folder.
    pub(crate) words: Vec<OsString>,
    /// The folder that holds one folder for each build.
    pub(crate) folder: PathBuf,
    /// The name of the file that takes its standard output, in the build's folder.
    pub(crate) output: String,
    /// What the output has to be.
    pub(crate) right: Right,
}

/// One of the ways that take turns.
#[derive(Clone, Copy)]
enum Way {
    /// A build of its own.
    Built(Build),
    /// The native build under this one of [`Tool::ALL`].
    Watched(usize),
}

/// How it is done.
#[derive(Clone, Copy)]
pub(crate) struct Manner {
    /// Rounds.
    pub(crate) pairs: usize,
    /// Bound on a single run.
    pub(crate) timeout: Duration,
    /// Also run with hooks that only return.
    pub(crate) off: bool,
    /// Let deadheat find races while the program runs, instead of recording it.
    pub(crate) online: bool,
    /// In how many rounds, the first ones, the native build is also run under Valgrind's tools.
    pub(crate) valgrind: usize,
}

/// What was measured, one element a round.
#[derive(Default)]
pub(crate) struct Comparison {
    /// What it is called.
    pub(crate) name: String,
    /// Threads that it was told to use.
    pub(crate) threads: usize,
    /// Native runs.
    pub(crate) native: Vec<Cost>,
    /// Runs under TSan.
    pub(crate) tsan: Vec<Cost>,
    /// Recorded runs, or those that looked for races themselves.
    pub(crate) record: Vec<Cost>,
    /// Runs with hooks that only return, if asked for.
    pub(crate) off: Vec<Cost>,
    /// Native runs under each of Valgrind's tools ([`Tool::ALL`]), if asked for.
    pub(crate) watched: Vec<Watched>,
    /// Judging each recording.
    pub(crate) analysis: Vec<Cost>,
    /// What each recording holds.
    pub(crate) contents: Vec<Content>,
    /// Most reports of a TSan run.
    pub(crate) tsan_races: usize,
    /// Most races of a judgement.
    pub(crate) races: usize,
    /// Most races of a run that lack the stack of a side.
    pub(crate) stackless: usize,
}

impl Subject {
    /// Measures it. The builds take turns and take turns in being first.
    pub(crate) fn compare(&self, tools: &Tools, manner: Manner) -> Outcome<Comparison> {
        let mut comparison =
            Comparison { name: self.name.clone(), threads: self.threads, ..Comparison::default() };
        let mut ways: Vec<Way> = Build::ALL.map(Way::Built).to_vec();
        if manner.valgrind > 0 {
            ways.extend((0..Tool::ALL.len()).map(Way::Watched));
            comparison.watched = Tool::ALL.iter().map(|_| Watched::default()).collect();
        }
        for round in 0..manner.pairs {
            let mut outputs = Vec::new();
            for turn in 0..ways.len() {
                match ways[(round + turn) % ways.len()] {
                    Way::Built(Build::Native) => {
                        let run = self.run(Build::Native, Vec::new(), manner);
                        comparison.native.push(run.expect(&[0])?);
                    }
                    Way::Built(Build::Tsan) => self.sanitized(&mut comparison, manner)?,
                    Way::Built(Build::Deadheat) if manner.online => {
                        self.detected(&mut comparison, tools, manner)?;
                    }
                    Way::Built(Build::Deadheat) => self.recorded(&mut comparison, tools, manner)?,
                    Way::Watched(_) if round >= manner.valgrind => {}
                    Way::Watched(tool) => {
                        outputs.extend(self.watched(
                            Tool::ALL[tool],
                            &mut comparison.watched[tool],
                            manner,
                        )?);
                    }
                }
            }
            if manner.off {
                let run = self.run(Build::Deadheat, Vec::new(), manner).with("DEADHEAT_WIRE", "1;mode=off");
                comparison.off.push(run.expect(&[0])?);
            }
            self.check_outputs(&outputs)?;
        }
        Ok(comparison)
    }

    fn sanitized(&self, comparison: &mut Comparison, manner: Manner) -> Outcome<()> {
        let run =
            self.run(Build::Tsan, Vec::new(), manner).with("TSAN_OPTIONS", "exitcode=66 atexit_sleep_ms=0");
        comparison.tsan.push(run.expect(&[0, RACES])?);
        let text = fs::read(&run.messages).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let races = text.matches("WARNING: ThreadSanitizer: data race").count();
        comparison.tsan_races = comparison.tsan_races.max(races);
        Ok(())
    }

    fn detected(&self, comparison: &mut Comparison, tools: &Tools, manner: Manner) -> Outcome<()> {
        let report = self.folder.join(Build::Deadheat.name()).join(format!("{}.report.jsonl", self.name));
        let mut before = words(&[tools.deadheat.as_os_str()]);
        before.extend(words(&["run", "--format", "json", "-o"]));
        before.extend([report.clone().into_os_string(), "--".into()]);
        comparison.record.push(self.run(Build::Deadheat, before, manner).expect(&[0, RACES])?);
        comparison.races = comparison.races.max(races_in(&report));
        comparison.stackless = comparison.stackless.max(stackless_in(&report));
        Ok(())
    }

    fn recorded(&self, comparison: &mut Comparison, tools: &Tools, manner: Manner) -> Outcome<()> {
        let trace = self.folder.join(Build::Deadheat.name()).join(format!("{}.trace", self.name));
        let mut before = words(&[tools.deadheat.as_os_str()]);
        before.extend(words(&["record", "-o"]));
        before.extend([trace.clone().into_os_string(), "--".into()]);
        Recording::at(&trace).remove();
        comparison.record.push(self.run(Build::Deadheat, before, manner).expect(&[0])?);
        let recording = Recording::at(&trace);
        comparison.contents.push(recording.content(tools)?);
        let report = self.folder.join(Build::Deadheat.name()).join(format!("{}.report.jsonl", self.name));
        let (cost, races) = recording.judge(tools, &report, manner.timeout)?;
        comparison.analysis.push(cost);
        comparison.races = comparison.races.max(races);
        recording.remove();
        Ok(())
    }

    /// A run of one build, with these words before the program's own.
    pub(crate) fn run(&self, build: Build, before: Vec<OsString>, manner: Manner) -> Run {
        let folder = self.folder.join(build.name());
        let mut line = before;
        line.extend(self.words.iter().cloned());
        Run {
            words: line,
            environment: vec![("DEADHEAT_WIRE", None), ("DEADHEAT_OPTIONS", None), ("TSAN_OPTIONS", None)],
            output: folder.join(&self.output),
            messages: folder.join(format!("{}.messages", self.name)),
            folder,
            timeout: manner.timeout,
        }
    }

    /// Fails unless each build's output is right, and those of the native build that have these names.
    fn check_outputs(&self, watched: &[String]) -> Outcome<()> {
        let read = |build: Build, output: &str| {
            let path = self.folder.join(build.name()).join(output);
            fs::read(&path).map_err(|e| Stop::failed(format!("cannot read {}: {e}", path.display())))
        };
        let (wanted, part): (Vec<u8>, Part) = match &self.right {
            Right::Native(part) => (part(&read(Build::Native, &self.output)?), *part),
            Right::File(path) => {
                let content = fs::read(path);
                (content.map_err(|e| Stop::failed(format!("cannot read {}: {e}", path.display())))?, whole)
            }
        };
        let watched = watched.iter().map(|output| (Build::Native, output));
        for (build, output) in Build::ALL.map(|build| (build, &self.output)).into_iter().chain(watched) {
            if part(&read(build, output)?) != wanted {
                return Err(Stop::failed(format!(
                    "{}: the {} build's result, {output}, is wrong",
                    self.name,
                    build.name()
                )));
            }
        }
        Ok(())
    }
}

impl Run {
    fn with(mut self, name: &'static str, value: &str) -> Run {
        self.environment.push((name, Some(value.into())));
        self
    }
}

/// Measurements as JSON.
pub(crate) fn costs(list: &[Cost]) -> Vec<Value> {
    list.iter().map(|c| json!({"cpu": c.cpu, "elapsed": c.elapsed, "peak_kib": c.peak})).collect()
}

/// One figure of every run.
pub(crate) fn each(costs: &[Cost], figure: fn(&Cost) -> f64) -> impl Iterator<Item = f64> + '_ {
    costs.iter().map(figure)
}

impl Comparison {
    /// Processor time of one kind of run against another's, round by round.
    pub(crate) fn cpu_ratio(above: &[Cost], below: &[Cost]) -> Quartiles {
        Quartiles::of_ratios(each(above, |cost| cost.cpu), each(below, |cost| cost.cpu))
    }

    /// Elapsed time of one kind of run against another's, round by round.
    pub(crate) fn elapsed_ratio(above: &[Cost], below: &[Cost]) -> Quartiles {
        Quartiles::of_ratios(each(above, |cost| cost.elapsed), each(below, |cost| cost.elapsed))
    }

    /// Peak memory of one kind of run against another's, round by round.
    pub(crate) fn peak_ratio(above: &[Cost], below: &[Cost]) -> Quartiles {
        Quartiles::of_ratios(each(above, |cost| cost.peak), each(below, |cost| cost.peak))
    }

    /// What the recordings hold: the one with the most bytes an access.
    pub(crate) fn content(&self) -> Content {
        let worst = |a: &&Content, b: &&Content| a.bytes_per_access().total_cmp(&b.bytes_per_access());
        self.contents.iter().max_by(worst).copied().unwrap_or_default()
    }

    /// Stored records judged in a second of processor time.
    pub(crate) fn judged_per_second(&self) -> Quartiles {
        let events = self.contents.iter().map(|content| content.events as f64);
        Quartiles::of_ratios(events, each(&self.analysis, |cost| cost.cpu))
    }

    /// Everything as JSON.
    pub(crate) fn json(&self) -> Value {
        json!({
            "name": self.name,
            "threads": self.threads,
            "native": costs(&self.native),
            "tsan": costs(&self.tsan),
            "record": costs(&self.record),
            "off": costs(&self.off),
            "watched": self.watched.iter().map(Watched::json).collect::<Vec<_>>(),
            "analysis": costs(&self.analysis),
            "contents": self.contents.iter().map(|content| content.json()).collect::<Vec<_>>(),
            "tsan_races": self.tsan_races,
            "races": self.races,
            "stackless": self.stackless,
        })
    }
}
