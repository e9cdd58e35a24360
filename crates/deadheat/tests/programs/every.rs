//! Every program, with each compiler, without and with optimisation.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::{Failed, Trial};

use crate::build::{self, Compiler, Optimisation};
use crate::judge;
use crate::run;
use crate::spec::{self, Found, Program};

/// How often a program is run, and how often at full count.
const RUNS: usize = 1;
const RUNS_IN_FULL: usize = 20;

/// A test for each way to build each program: run by `deadheat run`, exactly what is marked must be told of it.
pub(crate) fn trials(suite: &str, found: Found) -> Vec<Trial> {
    let mut programs = programs();
    if found == Found::ByHand {
        // What holds online holds by hand; findings are told in another way.
        let wrong = |program: &Program| !program.findings.is_empty();
        let names: Vec<_> =
            programs.iter().filter(|program| wrong(program)).map(|program| program.name.clone()).collect();
        programs.retain(|program| names.iter().any(|name| name == program.name.trim_end_matches("_ok")));
    }
    each_way(suite, found, &programs, &Compiler::ALL)
}

/// The same for those that use OpenMP, linked statically. Only gcc's can be understood there.
#[allow(dead_code, reason = "one of the suites has them")]
pub(crate) fn static_openmp_trials() -> Vec<Trial> {
    let mut programs = programs();
    programs.retain(|program| program.flags.iter().any(|flag| flag == OPENMP));
    for program in &mut programs {
        program.flags.push("-static".to_owned());
    }
    each_way("static", Found::Online, &programs, &[Compiler::Gcc])
}

fn each_way(suite: &str, found: Found, programs: &[Program], compilers: &[Compiler]) -> Vec<Trial> {
    let mut trials = Vec::new();
    for &compiler in compilers {
        for optimisation in Optimisation::ALL {
            for program in programs.iter().filter(|program| program.is_for(compiler)) {
                let name = format!("{suite}/{}/{}", program.name, tag(compiler, optimisation));
                let lacking = lacking(compiler, Some(program));
                let program = program.clone();
                let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
                    .join(suite)
                    .join(program.name.replace('/', "-"))
                    .join(tag(compiler, optimisation));
                let test = move || check(&program, (compiler, optimisation), &folder, found);
                trials.push(trial(name, lacking, test));
            }
        }
    }
    trials
}

/// A test that is left out where something is lacking.
pub(crate) fn trial(
    name: String,
    lacking: Option<String>,
    test: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    match lacking {
        None => Trial::test(name, test),
        Some(what) => {
            Trial::test(name, test).with_kind(format!("skipped: needs {what}")).with_ignored_flag(true)
        }
    }
}

/// What is not there to compile a program with: the compiler, or its OpenMP.
pub(crate) fn lacking(compiler: Compiler, program: Option<&Program>) -> Option<String> {
    if !is_present(compiler) {
        return Some(compiler.c().to_owned());
    }
    let openmp = program.is_some_and(|program| program.flags.iter().any(|flag| flag == OPENMP));
    (openmp && !has_openmp(compiler)).then(|| format!("OpenMP of {}", compiler.c()))
}

/// The compiler's option for OpenMP.
const OPENMP: &str = "-fopenmp";

/// A compiler and an optimisation in a test's name.
pub(crate) fn tag(compiler: Compiler, optimisation: Optimisation) -> String {
    format!("{}{}", compiler.c(), optimisation.flag())
}

/// Where the programs are.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/programs").canonicalize().expect("spec/programs")
}

/// All programs.
pub(crate) fn programs() -> Vec<Program> {
    spec::files(&root()).iter().map(|path| Program::read(path)).collect()
}

fn is_present(compiler: Compiler) -> bool {
    static PRESENT: [OnceLock<bool>; Compiler::ALL.len()] = [const { OnceLock::new() }; Compiler::ALL.len()];
    *PRESENT[compiler as usize].get_or_init(|| {
        [compiler.c(), compiler.cxx()].iter().all(|name| {
            let quiet =
                Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            quiet.is_ok_and(|status| status.success())
        })
    })
}

fn has_openmp(compiler: Compiler) -> bool {
    static PRESENT: [OnceLock<bool>; Compiler::ALL.len()] = [const { OnceLock::new() }; Compiler::ALL.len()];
    *PRESENT[compiler as usize].get_or_init(|| {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let source = folder.join("openmp.c");
        let text = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
        std::fs::write(&source, text).is_ok()
            && Command::new(compiler.c())
                .arg(OPENMP)
                .arg(&source)
                .arg("-o")
                .arg(folder.join(format!("openmp-{}", compiler.c())))
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
    })
}

fn check(
    program: &Program,
    (compiler, optimisation): (Compiler, Optimisation),
    folder: &Path,
    found: Found,
) -> Result<(), Failed> {
    let executable = build::build(program, compiler, optimisation, folder)?;
    let runs = match std::env::var("DEADHEAT_ACCEPT").as_deref() {
        Ok("full") => RUNS_IN_FULL,
        _ => RUNS,
    };
    for number in 1..=runs {
        let outcome = run::run(&executable, folder, found)?;
        judge::judge(program, &outcome, found).map_err(|fault| format!("run {number} of {runs}: {fault}"))?;
    }
    std::fs::remove_dir_all(folder).map_err(|error| Failed::from(error.to_string()))
}
