//! Compiling a program through `deadheat cc` and `deadheat c++`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::spec::{Program, Role};

/// A compiler that the programs are compiled with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Compiler {
    /// The system's gcc.
    Gcc,
    /// clang 19.
    Clang,
}

impl Compiler {
    /// All of them.
    pub(crate) const ALL: [Compiler; 2] = [Compiler::Gcc, Compiler::Clang];

    /// The command for C.
    pub(crate) fn c(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang-19",
        }
    }

    /// The command for C++.
    pub(crate) fn cxx(self) -> &'static str {
        match self {
            Compiler::Gcc => "g++",
            Compiler::Clang => "clang++-19",
        }
    }

    /// Its name in directives.
    pub(crate) fn family(self) -> &'static str {
        match self {
            Compiler::Gcc => "gcc",
            Compiler::Clang => "clang",
        }
    }
}

/// How much the compiler optimises.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Optimisation {
    /// Not at all.
    None,
    /// As released programs are.
    Full,
}

impl Optimisation {
    /// All of them.
    pub(crate) const ALL: [Optimisation; 2] = [Optimisation::None, Optimisation::Full];

    /// The compiler's flag.
    pub(crate) fn flag(self) -> &'static str {
        match self {
            Optimisation::None => "-O0",
            Optimisation::Full => "-O2",
        }
    }
}

/// The name of the executable.
pub(crate) const EXECUTABLE: &str = "program";

/// Compiles a program and its further files into `folder`, which is made anew. Gives the
/// executable's path.
pub(crate) fn build(
    program: &Program,
    compiler: Compiler,
    optimisation: Optimisation,
    folder: &Path,
) -> Result<PathBuf, String> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| error.to_string())?;
    }
    fs::create_dir_all(folder).map_err(|error| error.to_string())?;
    let executable = folder.join(EXECUTABLE);
    let mut main = driver(program, compiler, optimisation, folder);
    main.arg(&program.path);
    for (role, part) in &program.parts {
        let stem = part.file_stem().unwrap_or_default().to_string_lossy();
        if *role == Role::Uninstrumented {
            let object = folder.join(format!("{stem}.o"));
            let mut command = Command::new(compiler.c());
            finish(command.args(["-c", "-g", optimisation.flag()]).arg(part).arg("-o").arg(&object))?;
            main.arg(&object);
            continue;
        }
        let shared = folder.join(format!("{stem}.so"));
        if *role == Role::Object {
            main.arg(part);
            continue;
        }
        let mut command = driver(program, compiler, optimisation, folder);
        finish(command.args(["-fPIC", "-shared"]).arg(part).arg("-o").arg(&shared))?;
        if *role == Role::Library {
            main.arg(&shared).arg(format!("-Wl,-rpath,{}", folder.display()));
        }
    }
    finish(main.args(&program.flags).arg("-o").arg(&executable))?;
    Ok(executable)
}

fn driver(program: &Program, compiler: Compiler, optimisation: Optimisation, folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_deadheat"));
    command
        .arg(if program.is_cxx() { "c++" } else { "cc" })
        .arg(format!("-std={}", program.std))
        .args([optimisation.flag(), "-g", "-pthread"])
        .env("DEADHEAT_CC", compiler.c())
        .env("DEADHEAT_CXX", compiler.cxx())
        .current_dir(folder);
    command
}

fn finish(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
}
