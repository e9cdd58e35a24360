//! Every program, and what is there to compile it with.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use libtest_mimic::{Failed, Trial};

use crate::build::{Compiler, Optimisation};
use crate::spec::{self, Program};

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
pub(crate) const OPENMP: &str = "-fopenmp";

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
