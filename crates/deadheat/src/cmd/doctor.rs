//! `deadheat doctor`: checks what deadheat needs, each point with what to do if it fails.

use std::path::Path;
use std::process::{Command, Stdio};

use nix::sys::personality::{self, Persona};
use nix::sys::resource::{RLIM_INFINITY, Resource, getrlimit};

use crate::args::Common;
use crate::cache;
use crate::cmd::demo;
use crate::compiler::real::{Identity, Real};
use crate::compiler::{self, Language};
use crate::exit::{Exit, Failure};
use crate::say::say;
use crate::traces::Scratch;

/// `doctor` takes only the common options.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Free space below which recordings soon end early.
const SPACE_WANTED: u64 = 1 << 30;
/// An address space below which a recording may not fit.
const ADDRESSES_WANTED: u64 = 4 << 30;

/// A stack below which instrumented code may overflow.
const STACK_WANTED: u64 = 1 << 20;

/// How a check went.
enum Verdict {
    /// All is well; what was found.
    Good(String),
    /// It works, but; and what can be done.
    Weak(String, &'static str),
    /// It does not work; and what to do.
    Bad(String, String),
}

use Verdict::{Bad, Good, Weak};

/// Runs all checks; the code is 69 if one of them fails.
pub(crate) fn run(_: &Args, common: &Common) -> Result<Exit, Failure> {
    let mut failed = false;
    let mut tell = |name: &str, verdict: Verdict| match verdict {
        Good(found) if common.quiet => drop(found),
        Good(found) => say!("ok    {name}: {found}"),
        Weak(found, advice) => say!("note  {name}: {found}\n      {advice}"),
        Bad(found, advice) => {
            failed = true;
            say!("FAIL  {name}: {found}\n      {advice}");
        }
    };
    tell("cache folder", cache_folder());
    tell("C compiler", compiler_for(Language::C));
    tell("C++ compiler", softened(compiler_for(Language::Cxx), "only needed for programs in C++"));
    for (name, language) in [("gcc", Language::C), ("clang", Language::C), ("clang-19", Language::C)] {
        if let Some(identity) = Real::named(language, name).and_then(|real| real.identity().ok()) {
            tell("also here", Good(format!("{name} ({identity})")));
        }
    }
    match Scratch::make() {
        Ok(scratch) => {
            let dynamic = links(scratch.path(), &[]);
            let usable = matches!(dynamic, Good(_));
            tell("dynamic link", dynamic);
            tell("static link", softened(links(scratch.path(), &["-static"]), "only needed for `-static`"));
            tell(
                "canary race",
                if usable {
                    canary(scratch.path())
                } else {
                    Bad("not tried".into(), "see the dynamic link".into())
                },
            );
        }
        Err(failure) => {
            tell("temporary folder", Bad(failure.to_string(), "set TMPDIR to a folder of yours".into()))
        }
    }
    tell("disk space", disk_space());
    tell("limit on addresses", address_limit());
    tell("limit on the stack", stack_limit());
    tell("overcommit", overcommit());
    tell("address randomisation", randomisation());
    Ok(if failed { Exit::Missing } else { Exit::SUCCESS })
}

/// What fails is not needed by everybody.
fn softened(verdict: Verdict, advice: &'static str) -> Verdict {
    match verdict {
        Bad(found, _) => Weak(found, advice),
        other => other,
    }
}

fn cache_folder() -> Verdict {
    match cache::folder() {
        Ok(folder) => Good(folder.display().to_string()),
        Err(failure) => Bad(failure.to_string(), "set DEADHEAT_CACHE to a folder that can be written".into()),
    }
}

fn compiler_for(language: Language) -> Verdict {
    let found = Real::find(language).and_then(|real| Ok((real.identity()?, real)));
    match found {
        Ok((Identity { x86_64: false, .. }, real)) => Bad(
            format!("{} makes code for another machine than x86-64", real.shown()),
            format!("name one for x86-64 in {}", language.variable()),
        ),
        Ok((identity, real)) => Good(format!("{} ({identity})", real.shown())),
        Err(failure) => Bad(failure.to_string(), format!("{} names the compiler", language.variable())),
    }
}

/// Compiles, links and runs a program with a second thread.
fn links(folder: &Path, options: &[&str]) -> Verdict {
    const SOURCE: &str = "#include <pthread.h>\nstatic void *f(void *p) { return p; }\n\
        int main(void) { pthread_t t; return pthread_create(&t, 0, f, 0) || pthread_join(t, 0); }\n";
    let advice =
        || "install the C library for development (Debian: apt install libc6-dev binutils)".to_owned();
    let source = folder.join("link.c");
    if let Err(error) = std::fs::write(&source, SOURCE) {
        return Bad(format!("cannot write {}: {error}", source.display()), "set TMPDIR".into());
    }
    let arguments = options.iter().copied().chain(["-pthread", "link.c", "-o", "link"]);
    let arguments: Vec<_> = arguments.map(Into::into).collect();
    let built = compiler::command(Language::C, &arguments)
        .map(|mut command| command.current_dir(folder).stdin(Stdio::null()).output());
    match built {
        Err(failure) => return Bad(failure.to_string(), advice()),
        Ok(Err(error)) => return Bad(error.to_string(), advice()),
        Ok(Ok(output)) if !output.status.success() => {
            let said = String::from_utf8_lossy(&output.stderr);
            return Bad(format!("it does not link: {}", said.lines().last().unwrap_or("")), advice());
        }
        Ok(Ok(_)) => {}
    }
    match Command::new(folder.join("link")).status() {
        Ok(status) if status.success() => Good("builds and runs".into()),
        Ok(status) => {
            Bad(format!("the program ends with {status}"), "report this as a fault of deadheat".into())
        }
        Err(error) => Bad(
            format!("the program does not start: {error}"),
            "set TMPDIR to a folder whose programs may run (not mounted noexec)".into(),
        ),
    }
}

/// Builds the demonstration and lets this program, started anew, find its race.
fn canary(folder: &Path) -> Verdict {
    let fault = || "report this as a fault of deadheat, with what is said above".to_owned();
    if let Err(failure) = demo::build(folder) {
        return Bad(failure.to_string(), fault());
    }
    let output = std::env::current_exe().and_then(|own| {
        Command::new(own).args(["run", "--color=never", "--", "./cache"]).current_dir(folder).output()
    });
    let (said, code) = match output {
        Ok(output) => (String::from_utf8_lossy(&output.stderr).into_owned(), output.status.code()),
        Err(error) => (error.to_string(), None),
    };
    if code != Some(i32::from(Exit::Races.code())) {
        let last = said.lines().last().unwrap_or("").to_owned();
        return Bad(format!("it was not caught: {last}"), fault());
    }
    if ["cache.c:15", "cache.c:20"].iter().all(|line| said.contains(line)) {
        Good("caught, with both source lines".into())
    } else {
        Weak(
            "caught, but without its source lines".into(),
            "the compiler may write debug information that deadheat cannot read: try -gdwarf-5 or another compiler",
        )
    }
}

fn disk_space() -> Verdict {
    let folder = std::env::temp_dir();
    match nix::sys::statvfs::statvfs(&folder) {
        Ok(found) => {
            let free = found.blocks_available() * found.fragment_size();
            let shown = format!("{} MiB free in {}", free >> 20, folder.display());
            if free >= SPACE_WANTED {
                Good(shown)
            } else {
                Weak(shown, "long recordings need more: set TMPDIR, or record with `-o` elsewhere")
            }
        }
        Err(error) => Bad(format!("{}: {error}", folder.display()), "set TMPDIR to a folder of yours".into()),
    }
}

fn address_limit() -> Verdict {
    match getrlimit(Resource::RLIMIT_AS) {
        Ok((limit, _)) if limit < ADDRESSES_WANTED => {
            Weak(format!("{} MiB", limit >> 20), "`ulimit -v unlimited` lets larger programs be recorded")
        }
        Ok(_) => Good("high enough".into()),
        Err(error) => Weak(error.to_string(), "`ulimit -v` tells it"),
    }
}

fn stack_limit() -> Verdict {
    match getrlimit(Resource::RLIMIT_STACK) {
        Ok((RLIM_INFINITY, _)) => Good("none".into()),
        Ok((limit, _)) if limit < STACK_WANTED => Weak(
            format!("{} KiB", limit >> 10),
            "instrumented code needs more stack: `ulimit -s 8192` if a program overflows",
        ),
        Ok((limit, _)) => Good(format!("{} KiB", limit >> 10)),
        Err(error) => Weak(error.to_string(), "`ulimit -s` tells it"),
    }
}

/// The system's answer in a file of `/proc`.
fn setting(file: &str) -> Option<u32> {
    std::fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn overcommit() -> Verdict {
    match setting("/proc/sys/vm/overcommit_memory") {
        Some(2) => Good("off".into()),
        Some(_) => Good("on".into()),
        None => Good("not told".into()),
    }
}

fn randomisation() -> Verdict {
    let on = setting("/proc/sys/kernel/randomize_va_space").is_none_or(|value| value > 0);
    let may = personality::get().is_ok_and(|now| {
        let allowed = personality::set(now | Persona::ADDR_NO_RANDOMIZE).is_ok();
        let _ = personality::set(now);
        allowed
    });
    Good(match (on, may) {
        (false, _) => "off".into(),
        (true, true) => "on; switched off for recorded programs".into(),
        (true, false) => "on, and may not be switched off here, which is not needed".into(),
    })
}
