//! The ways in which a program is run and judged. It is built once for all of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use libtest_mimic::{Failed, Trial};

use crate::build::{self, Compiler, Optimisation};
use crate::every;
use crate::judge;
use crate::run;
use crate::same;
use crate::spec::{Found, Program};

/// How often a program is run in a way, and how often at full count.
const RUNS: usize = 1;
const RUNS_IN_FULL: usize = 20;
/// So many builds are in the making side by side: their first tests come before the second ones.
const SIDE_BY_SIDE: usize = 2;

/// A way to run a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    /// Recorded, and the recording analysed.
    Recorded,
    /// Its races found while `deadheat run` runs it.
    Online,
    /// The same when it is started by hand.
    ByHand,
    /// The same by `deadheat run` where it is linked statically.
    Static,
    /// Recorded and its races found in the same run.
    Same,
}

impl Way {
    /// What its tests' names begin with.
    fn name(self) -> &'static str {
        match self {
            Way::Recorded => "recorded",
            Way::Online => "online/run",
            Way::ByHand => "online/byhand",
            Way::Static => "online/static",
            Way::Same => "same",
        }
    }

    /// Runs a program once in its folder and judges what is told.
    fn once(self, program: &Program, executable: &Path, folder: &Path) -> Result<(), Failed> {
        let found = match self {
            Way::Recorded => Found::Offline,
            Way::Online | Way::Static => Found::Online,
            Way::ByHand => Found::ByHand,
            Way::Same => return same::once(program, executable, folder),
        };
        let outcome = run::run(executable, folder, found)?;
        judge::judge(program, &outcome, found).map_err(Failed::from)
    }

    /// How often a program is run.
    fn runs(self) -> usize {
        match (in_full(), self) {
            (false, _) => RUNS,
            (true, Way::Same) => same::RUNS_IN_FULL,
            (true, _) => RUNS_IN_FULL,
        }
    }
}

fn in_full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full")
}

/// A program built in one way. Its folder goes with the last test of it, unless one failed.
struct Build {
    program: Program,
    compiler: Compiler,
    optimisation: Optimisation,
    folder: PathBuf,
    made: OnceLock<Result<PathBuf, String>>,
    has_failed: AtomicBool,
}

impl Build {
    fn new(program: Program, compiler: Compiler, optimisation: Optimisation, kind: &str) -> Build {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(kind)
            .join(program.name.replace('/', "-"))
            .join(every::tag(compiler, optimisation));
        let (made, has_failed) = (OnceLock::new(), AtomicBool::new(false));
        Build { program, compiler, optimisation, folder, made, has_failed }
    }

    /// Runs it in a folder of the way's own, as often as that is run.
    fn check(&self, way: Way) -> Result<(), Failed> {
        let (of_build, of_way) = (self.folder.join("build"), self.folder.join(way.name().replace('/', "-")));
        let made = self.made.get_or_init(|| {
            build::build(&self.program, self.compiler, self.optimisation, &of_build)?;
            Ok(of_build.clone())
        });
        let checked = made.clone().and_then(|build| linked(&build, &of_way)).map_err(Failed::from);
        let checked = checked.and_then(|()| {
            let runs = way.runs();
            (1..=runs).try_for_each(|number| {
                way.once(&self.program, &of_way.join(build::EXECUTABLE), &of_way).map_err(|fault| {
                    format!("run {number} of {runs}: {}", fault.message().unwrap_or("it failed")).into()
                })
            })
        });
        if checked.is_err() {
            self.has_failed.store(true, Ordering::Relaxed);
        }
        checked
    }

    fn trial(self: &Arc<Build>, way: Way) -> Trial {
        let Build { program, compiler, optimisation, .. } = &**self;
        let name = format!("{}/{}/{}", way.name(), program.name, every::tag(*compiler, *optimisation));
        let lacking = every::lacking(*compiler, Some(program));
        let build = Arc::clone(self);
        every::trial(name, lacking, move || build.check(way))
    }
}

impl Drop for Build {
    fn drop(&mut self) {
        if self.made.get().is_some() && !self.has_failed.load(Ordering::Relaxed) {
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

/// The files of a folder in another one, which is made anew.
fn linked(from: &Path, to: &Path) -> Result<(), String> {
    let link = || {
        if to.exists() {
            fs::remove_dir_all(to)?;
        }
        fs::create_dir_all(to)?;
        for file in fs::read_dir(from)? {
            let file = file?;
            fs::hard_link(file.path(), to.join(file.file_name()))?;
        }
        Ok(())
    };
    link().map_err(|error: std::io::Error| format!("{}: {error}", to.display()))
}

/// A test for each way to build and to run each program.
pub(crate) fn trials() -> Vec<Trial> {
    let programs = every::programs();
    let of_findings = of_findings(&programs);
    let mut builds = Vec::new();
    for compiler in Compiler::ALL {
        for optimisation in Optimisation::ALL {
            for program in programs.iter().filter(|program| program.is_for(compiler)) {
                let mut ways = vec![Way::Recorded, Way::Online];
                // What holds online holds by hand; findings are told in another way.
                if of_findings.iter().any(|name| *name == racy(program)) {
                    ways.push(Way::ByHand);
                }
                // One build with each compiler is enough to see that nothing broke.
                if in_full() || (compiler == Compiler::Gcc) == (optimisation == Optimisation::None) {
                    ways.push(Way::Same);
                }
                let build = Build::new(program.clone(), compiler, optimisation, "programs");
                builds.push((Arc::new(build), ways));
            }
        }
    }
    builds.extend(static_openmp(&programs));
    builds.chunks(SIDE_BY_SIDE).flat_map(in_turn).collect()
}

/// The tests of some builds, the first of each before the second of any.
fn in_turn(builds: &[(Arc<Build>, Vec<Way>)]) -> Vec<Trial> {
    let most = builds.iter().map(|(_, ways)| ways.len()).max().unwrap_or(0);
    let turns = (0..most).flat_map(|turn| builds.iter().map(move |(build, ways)| (build, ways.get(turn))));
    turns.filter_map(|(build, way)| Some(build.trial(*way?))).collect()
}

/// The programs that use OpenMP, linked statically. Only gcc's can be understood there.
fn static_openmp(programs: &[Program]) -> Vec<(Arc<Build>, Vec<Way>)> {
    let is_openmp = |program: &&Program| program.flags.iter().any(|flag| flag == every::OPENMP);
    let mut builds = Vec::new();
    for optimisation in Optimisation::ALL {
        for program in programs.iter().filter(is_openmp).filter(|program| program.is_for(Compiler::Gcc)) {
            let mut program = program.clone();
            program.flags.push("-static".to_owned());
            let build = Build::new(program, Compiler::Gcc, optimisation, "programs-static");
            builds.push((Arc::new(build), vec![Way::Static]));
        }
    }
    builds
}

/// The names of the racy programs of which findings are told.
fn of_findings(programs: &[Program]) -> Vec<&str> {
    programs.iter().filter(|program| !program.findings.is_empty()).map(racy).collect()
}

/// The name of a program, or of that whose twin it is.
fn racy(program: &Program) -> &str {
    program.name.trim_end_matches("_ok")
}
