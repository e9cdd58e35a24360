//! How fast predictions are made: `lockset` on recordings of the kernels; `sync-preserving` and `sync-reversal` on STD
//! texts, beside RAPID's on the same files; `csp` on a real trace and on the scenarios; the states that the engine
//! searches in a second.
//!
//! RAPID is no part of this repository: who has a build of it gives the command lines of its analyses. They take turns
//! with ours, in so many rounds of their own; what takes longer than its bound is ended, and is not run again.

mod engine;
mod texts;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::compare::{Build, each};
use super::kernels::{compile, name_of, sources};
use super::measure::{Cost, Run};
use super::options::Options;
use super::recording::{RACES, Recording};
use super::statistic::{Quartiles, geometric_mean};
use super::table::{Table, mebibytes, millions, short, spread};
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop, scenarios};

/// The parts, as `--only` names them.
const PARTS: [&str; 4] = ["lockset", "texts", "csp", "engine"];

/// Measures the parts that were asked for, and prints their tables.
pub(super) fn run(options: &Options) -> Outcome<()> {
    if let Some(wrong) = options.only.iter().find(|name| !PARTS.contains(&name.as_str())) {
        return Err(Stop::usage(format!("no part is called {wrong}; there are {}", PARTS.join(", "))));
    }
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/predict"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let provenance = tools.provenance(options);
    let bench = Bench { tools: &tools, options, folder: folder.clone() };
    println!("{} {} rounds.\n", tools::machine(&provenance), options.pairs);
    let mut whole = json!({"provenance": provenance});
    for part in PARTS.into_iter().filter(|part| options.wants(part)) {
        eprintln!("bench: {part}");
        let (table, costs) = match part {
            "lockset" => bench.lockset()?,
            "texts" => bench.texts()?,
            "csp" => bench.csp()?,
            _ => bench.engine()?,
        };
        println!("{}", table.markdown());
        whole[part] = costs;
        tools::write(&folder.join("predict.json"), format!("{whole:#}\n"))?;
    }
    Ok(())
}

/// Where and with what it is measured.
struct Bench<'a> {
    tools: &'a Tools,
    options: &'a Options,
    folder: PathBuf,
}

impl Bench<'_> {
    /// `lockset` on a recording of each kernel.
    fn lockset(&self) -> Outcome<(Table, Value)> {
        let mut table = Table::new(&["recording", "records, M", "`lockset`: M records / CPU s", "peak MiB"]);
        let (mut all, mut medians) = (json!({}), Vec::new());
        for source in sources(&Options { only: Vec::new(), ..self.options.clone() })? {
            let (name, threads) = (name_of(&source), self.options.threads[0]);
            compile(self.tools, &source, Build::Deadheat, &self.folder)?;
            let place = self.folder.join(Build::Deadheat.name());
            let trace = place.join(format!("{name}.trace"));
            Recording::at(&trace).remove();
            let mut record = self.words(&["record", "-o"]);
            record.extend([trace.clone().into(), "--".into(), place.join(&name).into()]);
            record.push(threads.to_string().into());
            self.run(&name, record).expect(&[0])?;
            let recording = Recording::at(&trace);
            let events = recording.content(self.tools)?.events;
            let costs = self.rounds(&self.analyze("lockset", &trace, &[]))?;
            recording.remove();
            let speed = Quartiles::of(each(&costs, |cost| cost.cpu).map(|cpu| events as f64 / cpu / 1e6));
            medians.push(speed.median);
            all[&name] = json!({"events": events, "costs": json_of(&costs)});
            table.row(vec![name, millions(events), spread(speed), peak(&costs)]);
        }
        let mean = format!("**{}**", short(geometric_mean(&medians)));
        table.row(vec!["geometric mean".into(), String::new(), mean, String::new()]);
        Ok((table, all))
    }

    /// `csp` on the trace of jigsaw, all pairs, and on each scenario.
    fn csp(&self) -> Outcome<(Table, Value)> {
        let mut table = Table::new(&["`csp`", "CPU s", "elapsed s", "peak MiB"]);
        let jigsaw = self.shared_text("jigsaw")?;
        let costs = self.rounds(&self.analyze("csp", &jigsaw, &["--all-pairs"]))?;
        let mut all = json!({"jigsaw": json_of(&costs)});
        table.row(vec!["jigsaw, all pairs".into(), cpu(&costs), elapsed(&costs), peak(&costs)]);
        let mut slowest: Option<(String, Vec<Cost>)> = None;
        let median = |costs: &[Cost]| Quartiles::of(each(costs, |cost| cost.elapsed)).median;
        let recorded = scenarios::recorded(self.tools, self.options, &self.folder)?;
        let count = recorded.len();
        for (name, trace) in recorded {
            let costs = self.rounds(&self.analyze("csp", &trace, &[]))?;
            all[&name] = json_of(&costs);
            if slowest.as_ref().is_none_or(|(_, most)| median(most) < median(&costs)) {
                slowest = Some((name, costs));
            }
        }
        let (name, costs) = slowest.ok_or_else(|| Stop::failed("there are no scenarios"))?;
        let name = format!("the slowest of {count} scenarios ({name})");
        table.row(vec![name, cpu(&costs), elapsed(&costs), peak(&costs)]);
        Ok((table, all))
    }

    /// The words of a command of ours.
    fn words(&self, rest: &[&str]) -> Vec<OsString> {
        let mut line = vec![self.tools.deadheat.clone().into_os_string()];
        line.extend(tools::words(rest));
        line
    }

    /// An analysis of a trace.
    fn analyze(&self, by: &str, trace: &Path, more: &[&str]) -> Run {
        let mut line = self.words(&["analyze", "--by", by, "--format", "json"]);
        line.extend(tools::words(more));
        line.push(trace.into());
        self.run(by, line)
    }

    fn run(&self, name: &str, words: Vec<OsString>) -> Run {
        let removed = ["DEADHEAT_WIRE", "DEADHEAT_OPTIONS"].map(|name| (name, None));
        Run {
            words,
            environment: removed.to_vec(),
            folder: self.folder.clone(),
            output: self.folder.join(format!("{name}.out")),
            messages: self.folder.join(format!("{name}.messages")),
            timeout: self.options.timeout,
        }
    }

    /// What a run costs, in each round.
    fn rounds(&self, run: &Run) -> Outcome<Vec<Cost>> {
        (0..self.options.pairs).map(|_| run.expect(&[0, RACES])).collect()
    }
}

fn cpu(costs: &[Cost]) -> String {
    spread(Quartiles::of(each(costs, |cost| cost.cpu)))
}

fn elapsed(costs: &[Cost]) -> String {
    spread(Quartiles::of(each(costs, |cost| cost.elapsed)))
}

fn peak(costs: &[Cost]) -> String {
    mebibytes(Quartiles::of(each(costs, |cost| cost.peak)).median)
}

fn json_of(costs: &[Cost]) -> Value {
    costs.iter().map(|c| json!({"cpu": c.cpu, "elapsed": c.elapsed, "peak_kib": c.peak})).collect()
}
