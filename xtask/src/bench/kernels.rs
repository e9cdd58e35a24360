//! The kernels of `bench/kernels`: built three times, compared.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::compare::{Build, Comparison, Right, Subject, whole};
use super::options::Options;
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop, tell, valgrind};

/// Builds and measures the kernels that were asked for, and prints the tables.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/bench"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    if options.valgrind {
        valgrind::check()?;
    }
    let provenance = tools.provenance(options);
    let sources = sources(options)?;
    for source in &sources {
        for build in Build::ALL {
            compile(&tools, source, build, &folder)?;
        }
    }
    let mut comparisons: Vec<Comparison> = Vec::new();
    for source in &sources {
        let name = name_of(source);
        eprintln!("bench: {name}");
        for &threads in &options.threads {
            let subject = Subject {
                words: tools::words(&[format!("./{name}"), threads.to_string()]),
                folder: folder.clone(),
                output: format!("{name}.out"),
                right: Right::Native(whole),
                name: name.clone(),
                threads,
            };
            comparisons.push(subject.compare(&tools, options.manner())?);
        }
    }
    tools::write(&folder.join("kernels.json"), tell::json(&comparisons, provenance.clone()))?;
    println!("{}", tools::paragraph(&provenance));
    tell::print(comparisons, options.manner());
    Ok(())
}

/// The kernels' sources, by name.
pub(super) fn sources(options: &Options) -> Outcome<Vec<PathBuf>> {
    let folder = root().join("bench/kernels");
    let entries = std::fs::read_dir(&folder)
        .map_err(|e| Stop::failed(format!("cannot list {}: {e}", folder.display())))?;
    let is_kernel = |path: &PathBuf| {
        path.extension().is_some_and(|kind| kind == "c" || kind == "cpp") && options.wants(&name_of(path))
    };
    let mut sources: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(is_kernel).collect();
    sources.sort();
    if sources.is_empty() {
        return Err(Stop::usage(format!("no kernel of that name in {}", folder.display())));
    }
    Ok(sources)
}

/// A kernel's name.
pub(super) fn name_of(source: &Path) -> String {
    source.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// Builds one kernel in one way, into that build's folder.
pub(super) fn compile(tools: &Tools, source: &Path, build: Build, folder: &Path) -> Outcome<()> {
    let plus = source.extension().is_some_and(|kind| kind == "cpp");
    let compiler = if plus { &tools.cxx } else { &tools.cc };
    let mut command = match build {
        Build::Deadheat => {
            let mut command = Command::new(&tools.deadheat);
            command.arg(if plus { "c++" } else { "cc" });
            command.env("DEADHEAT_CC", &tools.cc).env("DEADHEAT_CXX", &tools.cxx);
            command
        }
        Build::Native | Build::Tsan => Command::new(compiler),
    };
    if build == Build::Tsan {
        command.arg("-fsanitize=thread");
    }
    let folder = folder.join(build.name());
    make_folder(&folder)?;
    command.arg(if plus { "-std=c++17" } else { "-std=gnu11" }).args(["-O2", tools::LINES, "-pthread", "-o"]);
    command.arg(folder.join(name_of(source))).arg(source);
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Stop::missing(format!("cannot run {}: {e}", command.get_program().to_string_lossy())))?;
    if output.status.success() {
        return Ok(());
    }
    let why = String::from_utf8_lossy(&output.stderr);
    Err(Stop::failed(format!("{}, {} build: {why}", source.display(), build.name())))
}
