//! Programs about which clang 19's ThreadSanitizer is wrong or forgets (`spec/beside`), built and run both ways. What deadheat says has
//! to be right; what ThreadSanitizer says is printed beside it (`docs/beside-tsan.md` has what it was).

mod common;

#[path = "programs/build.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod build;
#[path = "programs/judge.rs"]
mod judge;
#[path = "programs/run.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod run;
#[path = "programs/spec.rs"]
#[allow(dead_code, reason = "the suites use more of it")]
mod spec;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use build::{Compiler, Optimisation};
use common::{clean, have, said};
use spec::{Found, Program};

/// How often a program that may lie anywhere is run.
const PLACES: usize = 20;
/// The most bits of an address that Linux chooses at random on x86-64.
const MOST_BITS: u32 = 32;
/// Threads that are alive at once, and at full count.
const ALIVE: usize = 1000;
const ALIVE_IN_FULL: usize = 4000;
/// A program under ThreadSanitizer is ended after so many seconds.
const SECONDS: &str = "60";

/// A program with the runs of both that were asked for.
struct Beside {
    program: Program,
    folder: PathBuf,
    executable: PathBuf,
}

impl Beside {
    /// Builds a program through deadheat; `None` where its compiler is not there.
    fn new(name: &str) -> Option<Beside> {
        Beside::with(name, &[])
    }

    /// The same with further arguments for the compiler.
    fn with(name: &str, flags: &[String]) -> Option<Beside> {
        if !have("clang-19") {
            return None;
        }
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/beside").join(format!("{name}.c"));
        let mut program = Program::read(&spec.canonicalize().expect("the program"));
        program.flags.extend_from_slice(flags);
        assert!(program.faults.is_empty(), "{:?}", program.faults);
        let folder = common::folder("beside", name);
        let executable = build::build(&program, Compiler::Clang, Optimisation::Full, &folder)
            .unwrap_or_else(|fault| panic!("{fault}"));
        Some(Beside { program, folder, executable })
    }

    /// Runs it once: exactly its marks must be told.
    fn is_right(&self, found: Found) {
        let outcome =
            run::run(&self.executable, &self.folder, found).unwrap_or_else(|fault| panic!("{fault}"));
        judge::judge(&self.program, &outcome, found).unwrap_or_else(|fault| panic!("{fault}"));
    }

    /// Builds it with ThreadSanitizer and runs it once; what that came to, in a line.
    fn of_tsan(&self) -> String {
        let executable = self.folder.join("tsan");
        let mut compiler = Command::new(Compiler::Clang.c());
        compiler.args(["-std=gnu11", "-O2", "-g", "-pthread", "-fsanitize=thread", "-w"]);
        compiler.args(&self.program.flags).arg(&self.program.path).arg("-o").arg(&executable);
        let built = common::output(&mut compiler, &self.folder);
        if !built.status.success() {
            let text = said(&built);
            let of = |word| text.lines().find_map(|line| line.find(word).map(|at| line[at..].to_owned()));
            let why = of("undefined reference").or_else(|| of("error")).unwrap_or_default();
            return format!("is not built: {why}");
        }
        let mut command = Command::new("timeout");
        clean(&mut command);
        let output = common::output(command.arg(SECONDS).arg(&executable), &self.folder);
        let text = said(&output);
        let races = text.matches("WARNING: ThreadSanitizer: data race").count();
        let lost = text.matches("failed to restore the stack").count();
        let mut line =
            format!("{} told, exit code {}", races_word(races), output.status.code().unwrap_or(-1));
        if lost > 0 {
            line.push_str(&format!(", {lost} without a stack"));
        }
        if let Some(end) = text.lines().find(|line| says_more(line)) {
            line.push_str(&format!(", `{}`", without_process(end)));
        }
        line
    }

    /// Prints what both said.
    fn tell(&self, ours: &str) {
        let name = self.program.name.rsplit('/').next().unwrap_or_default();
        println!("beside {name}: deadheat: {ours}; ThreadSanitizer: {}", self.of_tsan());
        let _ = fs::remove_dir_all(&self.folder);
    }

    fn marked(&self) -> String {
        races_word(self.program.races.len()) + " told, as marked"
    }
}

fn races_word(count: usize) -> String {
    match count {
        0 => "no race".to_owned(),
        1 => "1 race".to_owned(),
        more => format!("{more} races"),
    }
}

/// Whether a line tells of something else than a race.
fn says_more(line: &str) -> bool {
    let fatal = ["FATAL: ThreadSanitizer", "Dying", "SEGV", "CHECK failed", "Thread limit", "DEADLYSIGNAL"];
    fatal.iter().any(|word| line.contains(word))
}

/// The line without the number of the process.
fn without_process(line: &str) -> String {
    let mut parts = line.splitn(3, "==");
    match (parts.next(), parts.next(), parts.next()) {
        (Some(""), Some(number), Some(rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
            rest.to_owned()
        }
        _ => line.to_owned(),
    }
}

/// A program that is run once, while races are looked for.
fn one(name: &str) {
    if let Some(beside) = Beside::new(name) {
        beside.is_right(Found::Online);
        beside.tell(&beside.marked());
    }
}

#[test]
fn fences_publish() {
    one("fences");
}

#[test]
fn many_readers_are_remembered() {
    one("readers");
}

#[test]
fn an_old_access_has_its_stack() {
    one("history");
}

#[test]
fn twenty_thousand_threads_in_sequence() {
    one("sequence");
}

/// At full count that takes more than a gigabyte.
#[test]
fn thousands_of_threads_at_once() {
    let threads =
        if std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full") { ALIVE_IN_FULL } else { ALIVE };
    if let Some(beside) = Beside::with("alive", &[format!("-DTHREADS={threads}")]) {
        beside.is_right(Found::Online);
        beside.tell(&format!("{} among {threads} threads", beside.marked()));
    }
}

#[test]
fn a_static_program() {
    one("static");
}

#[test]
fn a_forked_child_with_threads() {
    one("child");
}

/// It is started by hand: the command line would take the randomness away.
#[test]
fn wherever_memory_comes_to_lie() {
    let Some(beside) = Beside::new("anywhere") else { return };
    for _ in 0..PLACES {
        beside.is_right(Found::ByHand);
    }
    let bits =
        fs::read_to_string("/proc/sys/vm/mmap_rnd_bits").ok().and_then(|text| text.trim().parse().ok());
    let at = match bits {
        Some(MOST_BITS) => format!("{MOST_BITS} bits of an address at random, the most there are"),
        Some(bits) => format!(
            "{bits} bits of an address at random (skipped: {MOST_BITS} needs vm.mmap_rnd_bits={MOST_BITS})"
        ),
        None => {
            "what the system chooses (skipped: how many bits are random needs /proc/sys/vm/mmap_rnd_bits)"
                .to_owned()
        }
    };
    beside.tell(&format!("{} in {PLACES} of {PLACES} runs, with {at}", beside.marked()));
}
