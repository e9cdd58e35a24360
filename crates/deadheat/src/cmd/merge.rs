//! `deadheat merge`: joins the parts of a hunt.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::args::Common;
use crate::cmd::hunt::Telling;
use crate::exit::{Context, Exit, Failure};
use crate::hunt::folder::{Folder, Settings};
use crate::hunt::log::{self, Line, Log};
use crate::hunt::targets::{self, Target, file_name};
use crate::hunt::told;
use crate::say::say;

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
    let suppressions = args.telling.suppressions()?;
    let mut parts = args.folders.iter().map(|path| read(path, common)).collect::<Result<Vec<_>, _>>()?;
    check_apart(&args.folders, &args.output)?;
    // The same whole, in whatever order the parts are named.
    parts.sort_by(|one, other| {
        (&one.settings.partition, &one.path).cmp(&(&other.settings.partition, &other.path))
    });
    let first = &parts[0];
    check_alike(&parts)?;
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
    let mut report = told::report(&scheduler, &lines);
    report.summary.notes.extend(missing(&parts)?);
    args.telling.tell(report, suppressions, &folder, common)
}

fn read(path: &Path, common: &Common) -> Result<Part, Failure> {
    // Held while it is read: a hunt at work there would add to it.
    let (folder, settings) = Folder::open(path)?;
    let (lines, torn) = match folder.runs().exists() {
        true => log::read(&folder.runs())?,
        false => (Vec::new(), false),
    };
    if told::watched(&lines).is_none() {
        return Err(Failure::input(format!(
            "{} holds no hunt: it was ended before its watched run was over",
            path.display()
        )));
    }
    if torn && !common.quiet {
        let name = folder.runs();
        say!("deadheat: the last line of {} was not finished; it is left out", name.display());
    }
    let targets = targets::read(&path.join("targets.jsonl"), true)?;
    Ok(Part { settings, targets, lines, path: path.to_owned() })
}

/// The whole is never written over one of its parts, and no part counts twice.
fn check_apart(folders: &[PathBuf], output: &Path) -> Result<(), Failure> {
    let place = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let whole = place(output);
    let mut seen = HashSet::new();
    for folder in folders {
        let name = folder.display();
        if place(folder) == whole {
            return Err(Failure::usage(format!("{name} is one of the parts; name another folder with -o")));
        }
        if !seen.insert(place(folder)) {
            return Err(Failure::usage(format!("{name} is named twice")));
        }
    }
    Ok(())
}

/// Only hunts of one build of one program can be joined: places of another are elsewhere.
fn check_alike(parts: &[Part]) -> Result<(), Failure> {
    let first = &parts[0];
    for part in &parts[1..] {
        let (one, other) = (first.path.display(), part.path.display());
        let [its, known] = [part, first].map(Part::program);
        if its != known {
            return Err(Failure::input(format!("{other} hunts {its}, and {one} hunts {known}")));
        }
        // Other libraries may differ from machine to machine.
        let ours = parts.iter().flat_map(|part| &part.targets).flat_map(|target| &target.modules);
        let ours: HashSet<&str> = ours.map(|module| &*module.name).chain([&*known]).collect();
        let (builds, known) = (part.builds(), first.builds());
        let differs =
            |name: &&str| builds.get(*name).is_some_and(|id| known.get(*name).is_some_and(|its| its != id));
        let mut differing: Vec<&str> = ours.into_iter().filter(differs).collect();
        differing.sort_unstable();
        if let Some(name) = differing.first() {
            return Err(Failure::input(format!("{other} hunts another build of {name} than {one}")));
        }
    }
    Ok(())
}

impl Part {
    /// The name of the program's file.
    fn program(&self) -> String {
        let program = self.settings.command.first().map(|name| name.to_string_lossy());
        file_name(&program.unwrap_or_default()).to_owned()
    }

    /// The build ids of the modules of the watched run, by their files' names.
    fn builds(&self) -> HashMap<&str, &str> {
        let run = told::watched(&self.lines).map(|watched| &watched.run);
        let modules = run.into_iter().flat_map(|run| &run.modules);
        modules.map(|one| (file_name(&one.path), &*one.build_id)).collect()
    }
}

/// What is said of parts of a partition that are not there.
fn missing(parts: &[Part]) -> Result<Option<String>, Failure> {
    let there = parts.iter().map(|part| part.settings.part()).collect::<Result<Vec<_>, _>>()?;
    let mut missing: Vec<String> = there
        .iter()
        .flat_map(|part| part.all())
        .filter(|one| !there.contains(one))
        .map(|one| one.to_string())
        .collect();
    missing.sort();
    missing.dedup();
    let whole = missing.is_empty() || there.contains(&targets::Part::WHOLE);
    Ok((!whole).then(|| format!("not hunted, since these parts are not there: {}", missing.join(", "))))
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
