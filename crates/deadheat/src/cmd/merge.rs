//! `deadheat merge`: joins the parts of a hunt.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::args::Common;
use crate::cmd::hunt::Telling;
use crate::exit::{Context, Exit, Failure};
use crate::hunt::folder::{Folder, Settings};
use crate::hunt::log::{self, Line, Log};
use crate::hunt::targets::{self, Target};
use crate::hunt::told;

/// What to join.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folders of hunts: parts of one, or several of one program
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// The folder for the whole
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    #[command(flatten)]
    telling: Telling,
}

/// One part.
struct Part {
    settings: Settings,
    targets: Vec<Target>,
    lines: Vec<Line>,
    path: PathBuf,
}

/// Joins hunts and tells the whole. The code is 66 or 0.
pub(crate) fn run(args: &Args, common: &Common) -> Result<Exit, Failure> {
    let mut parts = args.folders.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    // The same whole, in whatever order the parts are named.
    parts.sort_by(|one, other| {
        (&one.settings.partition, &one.path).cmp(&(&other.settings.partition, &other.path))
    });
    let first = &parts[0];
    let settings = Settings { partition: None, ..first.settings.clone() };
    let folder = Folder::make(&args.output, &settings)?;
    let (targets, lines) = (joined_targets(&parts), joined_lines(&parts));
    targets::write_file(&targets, &folder.targets())?;
    let mut log = Log::open(&folder.runs())?;
    lines.iter().try_for_each(|line| log.add(line))?;
    let trace = first.path.join("first.trace");
    if trace.exists() {
        std::fs::copy(&trace, folder.trace()).context(|| format!("cannot copy {}", trace.display()))?;
    }
    let watched = told::watched(&lines).map_or(0.0, |watched| watched.seconds);
    let mut scheduler = settings.scheduler(Duration::from_secs_f64(watched));
    told::replay(&mut scheduler, &targets, &lines);
    let fails = args.telling.tell(told::report(&scheduler, &lines), &folder, common)?;
    Ok(if fails { Exit::Races } else { Exit::SUCCESS })
}

fn read(path: &Path) -> Result<Part, Failure> {
    let settings = Folder::settings(path)?;
    let (lines, _) = log::read(&path.join("runs.jsonl"))?;
    if told::watched(&lines).is_none() {
        return Err(Failure::input(format!(
            "{} holds no hunt: it was ended before its watched run was over",
            path.display()
        )));
    }
    let targets = targets::read(&path.join("targets.jsonl"), true)?;
    Ok(Part { settings, targets, lines, path: path.to_owned() })
}

/// All targets, each id once, the likeliest first as in each part.
fn joined_targets(parts: &[Part]) -> Vec<Target> {
    let mut seen = HashSet::new();
    let mut joined: Vec<Target> = parts
        .iter()
        .flat_map(|part| &part.targets)
        .filter(|one| seen.insert(one.id.clone()))
        .cloned()
        .collect();
    joined.sort_by(|one, other| (one.rank, &one.id).cmp(&(other.rank, &other.id)));
    joined
}

/// The first part's watched run, then all that provoked, numbered anew.
fn joined_lines(parts: &[Part]) -> Vec<Line> {
    let mut joined = Vec::new();
    let mut number = 0;
    for (index, part) in parts.iter().enumerate() {
        for line in &part.lines {
            match line {
                Line::Watch(watched) if index == 0 => {
                    let mut watched = watched.clone();
                    watched.notes.retain(|note| !note.contains("of the targets: `deadheat merge`"));
                    joined.push(Line::Watch(watched));
                }
                Line::Watch(_) => {}
                Line::Provoke(line) => {
                    number += 1;
                    let mut line = line.clone();
                    line.number = number;
                    let witnesses = line.races.iter_mut().filter_map(|race| race.witness.as_mut());
                    witnesses.for_each(|witness| witness["run"] = number.into());
                    joined.push(Line::Provoke(line));
                }
            }
        }
    }
    joined
}
