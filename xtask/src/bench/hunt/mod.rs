//! Ways of hunting beside each other: what each proves in a second of processor time.
//!
//! Over the racy programs of `spec/hunts`, in turns. A sampler has no end of its own and gets as
//! much processor time as `deadheat hunt` used, program by program. What is proved is compared
//! with the marks; a proof without a mark is a false alarm, and is told.

mod way;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::marks::Marks;
use super::measure::Run;
use super::options::Options;
use super::table::{Table, short};
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop};
use way::{Share, Way};

/// One hunt.
#[derive(Clone, Copy, Default)]
struct Hunt {
    proved: usize,
    unmarked: usize,
    /// Re-runs, and the one that proved the last of the marked races.
    runs: u64,
    last: u64,
    /// Pairs of places that were hunted.
    pairs: u64,
    cpu: f64,
    elapsed: f64,
}

/// A program, and its hunts in each way.
struct Subject {
    name: String,
    marks: Marks,
    hunts: Vec<Vec<Hunt>>,
    shares: Vec<Share>,
}

/// Builds and hunts the programs that were asked for, and prints the tables.
pub(super) fn run(options: &Options) -> Outcome<()> {
    let ways = way::ways(options.ways.as_deref().unwrap_or(way::USUAL))?;
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/bench-hunt"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let provenance = tools.provenance(options);
    println!("{}", tools::paragraph(&provenance));
    let mut subjects = Vec::new();
    for source in sources(options)? {
        subjects.push(subject(&tools, &source, &ways, &folder, options)?);
    }
    for round in 0..options.pairs {
        eprintln!("bench: round {} of {}", round + 1, options.pairs);
        for subject in &mut subjects {
            subject.round(round, &tools, &ways, &folder, options)?;
        }
        let all: Vec<Value> = subjects.iter().map(|subject| subject.json(&ways)).collect();
        let all = json!({"provenance": provenance, "programs": all});
        tools::write(&folder.join("hunt.json"), all.to_string())?;
    }
    println!("{}", in_all(&subjects, &ways).markdown());
    println!("{}", by_program(&subjects, &ways).markdown());
    Ok(())
}

fn sources(options: &Options) -> Outcome<Vec<PathBuf>> {
    let folder = root().join("spec/hunts/racy");
    let entries =
        fs::read_dir(&folder).map_err(|e| Stop::failed(format!("cannot list {}: {e}", folder.display())))?;
    let is_racy = |path: &PathBuf| {
        let kind = path.extension().is_some_and(|kind| kind == "c" || kind == "cpp");
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        kind && !name.ends_with("_ok") && options.wants(&name)
    };
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_racy).collect();
    sources.sort();
    if sources.is_empty() {
        return Err(Stop::usage(format!("no program of that name in {}", folder.display())));
    }
    Ok(sources)
}

/// Builds a program, and measures what a sampler's re-runs of it cost.
fn subject(tools: &Tools, source: &Path, ways: &[Way], folder: &Path, options: &Options) -> Outcome<Subject> {
    const FEW: u64 = 2;
    const MANY: u64 = 22;
    let name = source.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let text = fs::read_to_string(source)
        .map_err(|e| Stop::failed(format!("cannot read {}: {e}", source.display())))?;
    compile(tools, source, &folder.join(program(&name)))?;
    let marks = Marks::of(source, &text);
    let hunts = vec![Vec::new(); ways.len()];
    let mut subject = Subject { name, marks, hunts, shares: Vec::new() };
    for way in ways {
        let cost = |runs: u64| Ok((runs, subject.hunt((0, way, Some(runs)), tools, folder, options)?.cpu));
        let share = if way.endless { Share::measured(cost(FEW)?, cost(MANY)?) } else { Share::default() };
        subject.shares.push(share);
    }
    Ok(subject)
}

/// The executable of a source of that name.
fn program(name: &str) -> String {
    name.replace('.', "-")
}

fn compile(tools: &Tools, source: &Path, program: &Path) -> Outcome<()> {
    let plus = source.extension().is_some_and(|kind| kind == "cpp");
    let mut command = Command::new(&tools.deadheat);
    command.args(if plus { ["c++", "-std=gnu++17"] } else { ["cc", "-std=gnu11"] });
    command.args(["-g", "-O1", "-pthread", "-o"]).arg(program).arg(source);
    command.env("DEADHEAT_CC", &tools.cc).env("DEADHEAT_CXX", &tools.cxx).stdin(Stdio::null());
    let output = command.output().map_err(|e| Stop::missing(format!("cannot run deadheat: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Stop::failed(format!("{}: {why}", source.display())))
}

impl Subject {
    /// One hunt in each way.
    fn round(
        &mut self,
        round: usize,
        tools: &Tools,
        ways: &[Way],
        folder: &Path,
        options: &Options,
    ) -> Outcome<()> {
        let mut measure = 0.0;
        for (number, way) in ways.iter().enumerate() {
            let runs = way.endless.then(|| self.shares[number].next(measure));
            let hunt = self.hunt((round + 1, way, runs), tools, folder, options)?;
            if number == 0 {
                measure = hunt.cpu;
            }
            if way.endless {
                self.shares[number].spent(hunt.runs, hunt.cpu);
            }
            if hunt.unmarked > 0 {
                eprintln!("bench: {}, {}: {} proofs without a mark", self.name, way.name, hunt.unmarked);
            }
            self.hunts[number].push(hunt);
        }
        Ok(())
    }

    /// Hunts once in a way, a sampler in so many re-runs.
    fn hunt(
        &self,
        (seed, way, runs): (usize, &Way, Option<u64>),
        tools: &Tools,
        folder: &Path,
        options: &Options,
    ) -> Outcome<Hunt> {
        let results = folder.join("results");
        let mut words = tools::words(&[tools.deadheat.as_os_str()]);
        words.extend(tools::words(&["hunt", "-q", "-j", "2", "--progress", "never", "-o"]));
        words.push(results.clone().into_os_string());
        words.extend(tools::words(&way.arguments));
        if way.name != "hunt" {
            words.extend(tools::words(&["--seed".to_owned(), seed.to_string()]));
        }
        if let Some(runs) = runs {
            words.extend(tools::words(&["--max-runs".to_owned(), runs.to_string()]));
        }
        words.push("--".into());
        words.push(folder.join(program(&self.name)).into_os_string());
        let run = Run {
            words,
            environment: vec![("DEADHEAT_WIRE", None), ("DEADHEAT_OPTIONS", None)],
            folder: folder.to_owned(),
            output: folder.join("hunt.out"),
            messages: folder.join("hunt.err"),
            timeout: options.timeout,
        };
        let cost = run.expect(&[0, 66])?;
        let report = read(&results.join("report.jsonl"))?;
        let proved = self.marks.proved(&report);
        let mut lines = report.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let summary = lines.rfind(|line| line["type"] == "summary").unwrap_or_default();
        let count = |name: &str| summary["hunt"][name].as_u64().unwrap_or_default();
        Ok(Hunt {
            proved: proved.marked,
            unmarked: proved.unmarked,
            runs: count("runs"),
            last: proved.last,
            pairs: count("pairs"),
            cpu: cost.cpu,
            elapsed: cost.elapsed,
        })
    }

    fn json(&self, ways: &[Way]) -> Value {
        let hunt = |hunt: &Hunt| {
            json!({
                "proved": hunt.proved, "unmarked": hunt.unmarked, "runs": hunt.runs, "last": hunt.last,
                "pairs": hunt.pairs, "cpu": hunt.cpu, "elapsed": hunt.elapsed,
            })
        };
        let hunts = ways.iter().zip(&self.hunts).map(
            |(way, hunts)| json!({"way": way.name, "hunts": hunts.iter().map(hunt).collect::<Vec<_>>()}),
        );
        json!({"name": self.name, "marked": self.marks.count(), "ways": hunts.collect::<Vec<_>>()})
    }
}

fn read(path: &Path) -> Outcome<String> {
    fs::read_to_string(path).map_err(|e| Stop::failed(format!("cannot read {}: {e}", path.display())))
}

/// All programs together, a row for each way.
fn in_all(subjects: &[Subject], ways: &[Way]) -> Table {
    let mut table = Table::new(&[
        "way",
        "marked races proved",
        "of",
        "false",
        "hunts that proved all",
        "pairs",
        "re-runs",
        "last proof in re-run, mean",
        "CPU s",
        "elapsed s",
        "proofs / CPU s",
    ]);
    for (number, way) in ways.iter().enumerate() {
        let hunts: Vec<(&Hunt, usize)> = subjects
            .iter()
            .flat_map(|subject| subject.hunts[number].iter().map(|hunt| (hunt, subject.marks.count())))
            .collect();
        let sum = |figure: fn(&Hunt) -> f64| hunts.iter().map(|(hunt, _)| figure(hunt)).sum::<f64>();
        let (proved, cpu) = (sum(|hunt| hunt.proved as f64), sum(|hunt| hunt.cpu));
        let marked: usize = hunts.iter().map(|(_, marked)| marked).sum();
        let whole: Vec<u64> =
            hunts.iter().filter(|(hunt, marked)| hunt.proved == *marked).map(|(hunt, _)| hunt.last).collect();
        let last = whole.iter().sum::<u64>() as f64 / whole.len() as f64;
        table.row(vec![
            way.name.clone(),
            proved.to_string(),
            marked.to_string(),
            sum(|hunt| hunt.unmarked as f64).to_string(),
            format!("{} of {}", whole.len(), hunts.len()),
            sum(|hunt| hunt.pairs as f64).to_string(),
            sum(|hunt| hunt.runs as f64).to_string(),
            short(last),
            short(cpu),
            short(sum(|hunt| hunt.elapsed)),
            format!("**{}**", short(proved / cpu)),
        ]);
    }
    table
}

/// A row for each program: of each way the races proved in a hunt, on average, and the proofs in a
/// second of processor time.
fn by_program(subjects: &[Subject], ways: &[Way]) -> Table {
    let head = ["program".to_owned(), "marked".to_owned()];
    let head: Vec<String> = head.into_iter().chain(ways.iter().map(|way| way.name.clone())).collect();
    let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
    for subject in subjects {
        let mut row = vec![subject.name.clone(), subject.marks.count().to_string()];
        for hunts in &subject.hunts {
            let proved: usize = hunts.iter().map(|hunt| hunt.proved).sum();
            let cpu: f64 = hunts.iter().map(|hunt| hunt.cpu).sum();
            let each = proved as f64 / hunts.len() as f64;
            row.push(format!("{}: {}", short(each), short(proved as f64 / cpu)));
        }
        table.row(row);
    }
    table
}
