//! Building a fetched program three times, each in a copy of its own.
//!
//! The three builds run the same commands; they differ in what `CC` and `CXX` are, and the third is
//! run by `deadheat build`.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::bench::compare::Build;
use crate::bench::measure::create;
use crate::bench::tools::{LINES, Tools, first_line, make_folder, write};
use crate::bench::{Outcome, Stop};

use super::program::Program;

/// Says what to install if something that a build needs is not there.
pub(crate) fn check_needs(programs: &[&Program]) -> Outcome<()> {
    let all = programs.iter().flat_map(|program| program.needs);
    let mut missing: Vec<&str> = all.copied().filter(|package| !installed(package)).collect();
    missing.sort_unstable();
    missing.dedup();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Stop::missing(format!("these are needed first: apt-get install {}", missing.join(" "))))
}

fn installed(package: &str) -> bool {
    first_line("dpkg-query", &["-W", "-f", "${db:Status-Status}", package])
        .is_some_and(|text| text == "installed")
}

/// The file that says how a copy was built; a build that would be the same is not made again.
const BUILT: &str = "built";

/// Builds it natively, with TSan and through deadheat; tells how long each took.
pub(crate) fn all(program: &Program, tools: &Tools, source: &Path, place: &Path) -> Outcome<String> {
    let each = Build::ALL.map(|build| one(program, tools, build, source, place));
    Ok(each.into_iter().collect::<Outcome<Vec<_>>>()?.join(", "))
}

/// Builds it in one way, in a folder named after that; tells how long it took.
pub(crate) fn one(
    program: &Program,
    tools: &Tools,
    build: Build,
    source: &Path,
    place: &Path,
) -> Outcome<String> {
    let folder = place.join(build.name());
    make_folder(&folder)?;
    let (copy, built) = (folder.join("source"), folder.join(BUILT));
    let how = manner(program, tools, build);
    if let Some(told) =
        fs::read_to_string(&built).ok().and_then(|text| text.strip_prefix(&how).map(str::to_owned))
    {
        return Ok(told);
    }
    let _ = fs::remove_file(&built);
    if copy.exists() {
        fs::remove_dir_all(&copy)
            .map_err(|e| Stop::failed(format!("cannot remove {}: {e}", copy.display())))?;
    }
    let status = Command::new("cp").arg("-a").arg(source).arg(&copy).status();
    if !status.is_ok_and(|status| status.success()) {
        return Err(Stop::failed(format!("cannot copy {} to {}", source.display(), copy.display())));
    }
    let started = Instant::now();
    for words in program.build {
        step(program, tools, build, words, &folder)?;
    }
    let told = format!("{} {:.0} s", build.name(), started.elapsed().as_secs_f64());
    write(&built, how + &told)?;
    Ok(told)
}

/// All that makes one build differ from another.
fn manner(program: &Program, tools: &Tools, build: Build) -> String {
    let Tools { deadheat, cc, cxx } = tools;
    let ours =
        fs::metadata(deadheat).and_then(|data| data.modified()).ok().filter(|_| build == Build::Deadheat);
    format!("{:?} {LINES} {:?} {cc} {cxx} {ours:?}\n", program.build, program.flags)
}

fn step(program: &Program, tools: &Tools, build: Build, words: &[&str], folder: &Path) -> Outcome<()> {
    let mut command = match build {
        Build::Deadheat => {
            let mut command = Command::new(&tools.deadheat);
            command.args(["build", "--"]).args(words);
            command.env("DEADHEAT_CC", &tools.cc).env("DEADHEAT_CXX", &tools.cxx);
            command
        }
        Build::Native | Build::Tsan => {
            let flag = if build == Build::Tsan { " -fsanitize=thread" } else { "" };
            let mut command = Command::new(words[0]);
            command.args(&words[1..]);
            command.env("CC", tools.cc.clone() + flag).env("CXX", tools.cxx.clone() + flag);
            command
        }
    };
    let flags = format!("-O2 {LINES} {}", program.flags);
    command.env("CFLAGS", flags.trim()).env("CXXFLAGS", flags.trim()).env_remove("DEADHEAT_WIRE");
    let log = folder.join(format!("build-{}.log", words[0].trim_start_matches("./")));
    let (output, errors) = (create(&log)?, create(&log.with_extension("errors"))?);
    let status = command
        .current_dir(folder.join("source"))
        .stdin(Stdio::null())
        .stdout(output)
        .stderr(errors)
        .status()
        .map_err(|e| Stop::missing(format!("cannot run {}: {e}", words[0])))?;
    if status.success() {
        return Ok(());
    }
    let text = fs::read(log.with_extension("errors")).unwrap_or_default();
    let tail = String::from_utf8_lossy(&text[text.len().saturating_sub(2000)..]).into_owned();
    Err(Stop::failed(format!("{}, {} build, {words:?}: {status}\n{tail}", program.name, build.name())))
}
