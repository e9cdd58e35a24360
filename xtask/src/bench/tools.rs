//! The command under test, the compilers beside it, and where all of this happened.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::options::Options;
use super::{Outcome, Stop, valgrind};

/// Line tables in all builds alike, in the newest form that Valgrind 3.19 can read.
pub(crate) const LINES: &str = "-gdwarf-4";

/// What the benches call.
pub(crate) struct Tools {
    /// The command under test.
    pub(crate) deadheat: PathBuf,
    /// The C compiler, for all three builds.
    pub(crate) cc: String,
    /// The C++ compiler, for all three builds.
    pub(crate) cxx: String,
}

/// The repository.
pub(crate) fn root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

impl Tools {
    /// Finds the compilers and builds the command under test, if none was given.
    pub(crate) fn find(options: &Options) -> Outcome<Tools> {
        let (cc, cxx) = (options.cc.clone(), options.cxx());
        for compiler in [&cc, &cxx] {
            if first_line(compiler, &["--version"]).is_none() {
                return Err(Stop::missing(format!(
                    "{compiler} cannot be run; install it or name another by --cc"
                )));
            }
        }
        let deadheat = match &options.deadheat {
            Some(path) => fs::canonicalize(path)
                .map_err(|e| Stop::missing(format!("--deadheat {}: {e}", path.display())))?,
            None => build_deadheat()?,
        };
        Ok(Tools { deadheat, cc, cxx })
    }

    /// What a reader needs to know to judge or repeat the numbers.
    pub(crate) fn provenance(&self, options: &Options) -> Value {
        let commit = first_line("git", &["-C", &root().to_string_lossy(), "rev-parse", "--short=12", "HEAD"]);
        let changed = first_line("git", &["-C", &root().to_string_lossy(), "status", "--porcelain", "-uno"]);
        let commit = commit.unwrap_or_else(|| "unknown".to_owned());
        json!({
            "commit": if changed.is_some_and(|line| !line.is_empty()) { commit + " with changes" } else { commit },
            "date": first_line("date", &["-u", "+%F"]),
            "compiler": first_line(&self.cc, &["--version"]),
            "processor": field("/proc/cpuinfo", "model name"),
            "processors": std::thread::available_parallelism().map_or(0, usize::from),
            "memory": field("/proc/meminfo", "MemTotal"),
            "kernel": first_line("uname", &["-sr"]).map(|text| text.split('-').next().unwrap_or("").to_owned()),
            "load": fs::read_to_string("/proc/loadavg").ok().map(|text| text.trim().to_owned()),
            "pairs": options.pairs,
            "threads": options.threads,
            "valgrind": options.valgrind.then(valgrind::version),
        })
    }
}

/// The provenance in a paragraph.
pub(crate) fn paragraph(provenance: &Value) -> String {
    let threads = provenance["threads"].as_array().into_iter().flatten();
    let threads: Vec<String> = threads.map(Value::to_string).collect();
    format!(
        "{} {} rounds, {} threads{}.\n",
        machine(provenance),
        provenance["pairs"],
        threads.join(" and "),
        provenance["valgrind"].as_str().map_or_else(String::new, |version| format!("; {version}")),
    )
}

/// What was measured, and where, in a sentence.
pub(crate) fn machine(provenance: &Value) -> String {
    let text = |name: &str| match &provenance[name] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    format!(
        "Commit {}, {}; {} × {}, {} of memory, {}; {}; load at the start {}.",
        text("commit"),
        text("date"),
        text("processors"),
        text("processor"),
        text("memory"),
        text("kernel"),
        text("compiler"),
        text("load"),
    )
}

/// Builds the command under test, beside this program.
fn build_deadheat() -> Outcome<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(cargo)
        .args(["build", "--release", "--quiet", "--package", "deadheat"])
        .current_dir(root())
        .status()
        .map_err(|e| Stop::missing(format!("cannot run cargo: {e}")))?;
    if !status.success() {
        return Err(Stop::failed("deadheat cannot be built"));
    }
    let own = std::env::current_exe().map_err(|e| Stop::failed(format!("cannot find myself: {e}")))?;
    let targets = own.parent().and_then(Path::parent).map(|folder| folder.join("release/deadheat"));
    targets.filter(|path| path.exists()).ok_or_else(|| Stop::failed("the built deadheat cannot be found"))
}

/// The first line that a command prints, if it can be run and succeeds.
pub(crate) fn first_line<S: AsRef<OsStr>>(program: &str, arguments: &[S]) -> Option<String> {
    let output = Command::new(program).args(arguments).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    output.status.success().then(|| text.lines().next().unwrap_or("").trim().to_owned())
}

fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

/// Makes a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Outcome<()> {
    fs::create_dir_all(path).map_err(|e| Stop::failed(format!("cannot make {}: {e}", path.display())))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Outcome<()> {
    fs::write(path, content).map_err(|e| Stop::failed(format!("cannot write {}: {e}", path.display())))
}

/// The words of a command, from text.
pub(crate) fn words<S: AsRef<OsStr>>(list: &[S]) -> Vec<OsString> {
    list.iter().map(|word| word.as_ref().to_owned()).collect()
}
