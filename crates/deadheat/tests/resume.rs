//! Hunts that are killed and resumed, and hunts in parts: what they prove, what they lose, and
//! what is said where they cannot go on.
//!
//! `DEADHEAT_ACCEPT=full` takes every racy program of `spec/hunts` and 20 undisturbed hunts of each;
//! by default every tenth program and two hunts. Moments are random numbers of lines that the
//! hunt has written, so that they do not depend on how fast it goes.

mod common;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use common::hunting::{build, built, folder, lines, processes_of, proved, run, says, wait_until};
use common::{deadheat, have, ok, said};

/// Where random numbers begin.
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;
/// How often one hunt is killed at most.
const MOST_KILLS: u64 = 3;
/// The parts of a hunt.
const PARTS: [&str; 3] = ["slice:1/3", "slice:2/3", "slice:3/3"];

const COUNTERS: &str = "#include <pthread.h>
static int one, two, three, four, five, six;
static void *work(void *p) {
    one++; two++; three++; four++; five++; six++;
    return p;
}
int main(void) {
    pthread_t a, b;
    pthread_create(&a, 0, work, 0);
    pthread_create(&b, 0, work, 0);
    pthread_join(a, 0);
    pthread_join(b, 0);
    return 0;
}
";

/// Each run forks a child that would live for ever, and then waits for it.
const WAITING: &str = "#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>
static void *work(void *p) { return p; }
int main(void) {
    pthread_t a;
    if (fork() == 0) {
        setsid();
        for (;;) pause();
    }
    pthread_create(&a, 0, work, 0);
    pthread_join(a, 0);
    wait(0);
    return 0;
}
";

/// Numbers that look random (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) % end
    }
}

fn in_full() -> bool {
    std::env::var("DEADHEAT_ACCEPT").as_deref() == Ok("full")
}

/// The racy programs of `spec/hunts`: all, or some.
fn programs() -> Vec<PathBuf> {
    let racy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/hunts/racy");
    let entries = fs::read_dir(racy).expect("spec/hunts/racy").flatten().map(|entry| entry.path());
    let is_twin =
        |path: &PathBuf| path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("_ok"));
    let mut all: Vec<PathBuf> = entries.filter(|path| !is_twin(path)).collect();
    all.sort();
    all.into_iter().step_by(if in_full() { 1 } else { 10 }).collect()
}

/// Builds a program of `spec/hunts` as `p`.
fn build_file(folder: &Path, source: &Path) {
    let compiler = if source.extension().is_some_and(|ending| ending == "cpp") { "c++" } else { "cc" };
    ok(deadheat().args([compiler, "-g", "-O1", "-w", "-pthread", "-o", "p"]).arg(source), folder);
}

fn hunt(folder: &Path, name: &str, arguments: &[&str]) -> BTreeSet<String> {
    let mut all = vec!["hunt", "-q", "-j", "2", "-o", name];
    all.extend(arguments);
    all.extend(["--", "./p"]);
    let output = run(folder, &all);
    let found = proved(&folder.join(name));
    let code = if found.is_empty() { 0 } else { 66 };
    assert_eq!(output.status.code(), Some(code), "{all:?}\n{}", said(&output));
    found
}

/// What each of so many undisturbed hunts proves; `None` if they do not agree.
fn undisturbed(folder: &Path) -> Option<BTreeSet<String>> {
    let first = hunt(folder, "whole", &[]);
    let more = if in_full() { 19 } else { 1 };
    (0..more).all(|_| hunt(folder, "whole", &[]) == first).then_some(first)
}

fn start(folder: &Path, arguments: &[&str]) -> Child {
    let mut command = deadheat();
    command.args(arguments).current_dir(folder).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("started")
}

/// How many runs a hunt has written down.
fn written(folder: &Path) -> usize {
    fs::read(folder.join("runs.jsonl")).unwrap_or_default().iter().filter(|&&byte| byte == b'\n').count()
}

/// Kills a hunt as soon as it has written so many lines; whether it was not over before.
fn kill_at(mut hunt: Child, results: &Path, count: usize) -> bool {
    let mut over = false;
    wait_until("the hunt's next line", || {
        over = hunt.try_wait().expect("its state").is_some();
        over || written(results) >= count
    });
    let _ = hunt.kill();
    hunt.wait().expect("its end");
    !over
}

/// Hunts, is killed at random, and goes on, up to some times.
fn disturbed(folder: &Path, random: &mut Random) -> BTreeSet<String> {
    let (name, program) = ("killed", folder.join("p"));
    let results = folder.join(name);
    let _ = fs::remove_dir_all(&results);
    let lines = lines(&folder.join("whole/runs.jsonl")).len() as u64;
    let mut kills = 0;
    let anew = ["hunt", "-q", "-j", "2", "-o", name, "--", "./p"];
    let on = ["hunt", "-q", "-j", "2", "--resume", name];
    let mut arguments = &anew[..];
    while kills < MOST_KILLS {
        let count = random.below(lines + 1) as usize;
        kills += 1;
        if !kill_at(start(folder, arguments), &results, count) {
            break;
        }
        wait_until("the end of what a killed hunt had started", || processes_of(&program).is_empty());
        tear(&results, random);
        // Before its watched run is over a hunt has nothing to go on with.
        let begun = written(&results) > 0;
        arguments = if begun { &on } else { &anew };
    }
    println!("  killed {kills} times");
    let output = run(folder, arguments);
    assert!(matches!(output.status.code(), Some(0 | 66)), "{}", said(&output));
    proved(&results)
}

/// Leaves lines behind that were not written to their end, in files that grow.
fn tear(results: &Path, random: &mut Random) {
    for name in ["runs.jsonl", "targets.jsonl"] {
        let path = results.join(name);
        let text = fs::read(&path).unwrap_or_default();
        let Some(line) = text.split_inclusive(|&byte| byte == b'\n').next_back() else { continue };
        if random.below(2) == 0 {
            let torn = &line[..random.below(line.len() as u64) as usize];
            let mut file = File::options().append(true).open(&path).expect("opened");
            file.write_all(torn).expect("written");
        }
    }
}

/// Hunts in three parts and joins them in a random order.
fn split(folder: &Path, random: &mut Random) -> BTreeSet<String> {
    let mut names: Vec<String> = PARTS.iter().map(|part| format!("part{}", &part[6..7])).collect();
    for (name, part) in names.iter().zip(PARTS) {
        hunt(folder, name, &["--partition", part]);
    }
    for last in (1..names.len()).rev() {
        names.swap(last, random.below(last as u64 + 1) as usize);
    }
    let mut arguments = vec!["merge", "-q", "-o", "joined"];
    arguments.extend(names.iter().map(String::as_str));
    let output = run(folder, &arguments);
    assert!(matches!(output.status.code(), Some(0 | 66)), "{}", said(&output));
    proved(&folder.join("joined"))
}

#[test]
fn killed_and_split_hunts_prove_what_undisturbed_ones_do() {
    if !have("cc") {
        return;
    }
    let mut agreed = 0;
    let programs = programs();
    for (number, source) in programs.iter().enumerate() {
        let name = source.file_name().expect("a name").to_string_lossy().into_owned();
        let folder = folder(&format!("disturbed-{name}"));
        build_file(&folder, source);
        let Some(whole) = undisturbed(&folder) else {
            println!("{name}: undisturbed hunts do not agree");
            continue;
        };
        agreed += 1;
        let mut random = Random(SEED ^ number as u64);
        println!("{name}: {} proved, seed {:#x}", whole.len(), SEED ^ number as u64);
        assert_eq!(disturbed(&folder, &mut random), whole, "{name}: killed and resumed");
        assert_eq!(split(&folder, &mut random), whole, "{name}: in parts");
    }
    assert!(agreed * 2 > programs.len(), "{agreed} of {} programs agree", programs.len());
}

#[test]
fn a_killed_hunt_takes_its_runs_with_it() {
    let Some(folder) = built("killed-waiting", WAITING) else { return };
    let program = folder.join("p");
    let mut hunt = start(&folder, &["hunt", "--", "./p"]);
    wait_until("the watched run", || processes_of(&program).len() == 2);
    hunt.kill().expect("killed");
    hunt.wait().expect("its end");
    wait_until("the end of both processes", || processes_of(&program).is_empty());
    let words = ["holds no hunt to go on with", "hunt anew"];
    says(&folder, &["hunt", "--resume", "deadheat.hunt"], 65, &words);
}

#[test]
fn a_finished_hunt_is_resumed_without_a_run() {
    let Some(folder) = built("finished", COUNTERS) else { return };
    let whole = hunt(&folder, "h", &[]);
    assert!(!whole.is_empty());
    let before = fs::read(folder.join("h/runs.jsonl")).expect("there");
    says(&folder, &["hunt", "--resume", "h"], 66, &["hunted "]);
    assert_eq!(proved(&folder.join("h")), whole);
    assert_eq!(fs::read(folder.join("h/runs.jsonl")).expect("there"), before);
}

#[test]
fn torn_files_are_mended() {
    let Some(folder) = built("torn", COUNTERS) else { return };
    let whole = hunt(&folder, "whole", &[]);
    for file in ["runs.jsonl", "targets.jsonl", "report.jsonl"] {
        run(&folder, &["hunt", "-q", "-o", "torn", "-j", "1", "--max-runs", "1", "--", "./p"]);
        let path = folder.join("torn").join(file);
        let mut text = fs::read(&path).expect("there");
        text.extend_from_within(..40);
        fs::write(&path, &text).expect("torn");
        // Twice: what follows a torn line must not make another.
        says(&folder, &["hunt", "--resume", "torn", "--max-runs", "2"], 66, &[]);
        says(&folder, &["hunt", "--resume", "torn"], 66, &["hunted "]);
        assert_eq!(proved(&folder.join("torn")), whole, "{file}");
        says(&folder, &["merge", "torn", "-o", "joined"], 66, &[]);
    }
    fs::write(folder.join("torn/hunt.json"), "{\"command\":[").expect("torn");
    says(&folder, &["hunt", "--resume", "torn"], 65, &["hunt.json:1: "]);
    fs::write(folder.join("torn/runs.jsonl"), "nonsense\n{}\n").expect("written");
    fs::copy(folder.join("whole/hunt.json"), folder.join("torn/hunt.json")).expect("copied");
    says(&folder, &["hunt", "--resume", "torn"], 65, &["runs.jsonl:1: "]);
}

#[test]
fn another_program_is_not_resumed() {
    let Some(folder) = built("resume-other", COUNTERS) else { return };
    let part = ["hunt", "-q", "-o", "h", "-j", "1", "--max-runs", "1", "--", "./p"];
    run(&folder, &part);
    let runs = written(&folder.join("h"));
    says(&folder, &["hunt", "--resume", "h", "--", "./p", "more"], 2, &["other arguments"]);
    says(&folder, &["hunt", "--resume", "h", "--isolate"], 2, &["cannot be used with"]);
    build(&folder, &COUNTERS.replace("one++; two++;", "two++; one += 3;"));
    // Only what is not proved yet is hunted on: more pairs than one run may prove.
    let text = fs::read_to_string(folder.join("h/runs.jsonl")).expect("there");
    let watched: String = text.lines().take(1).map(|line| format!("{line}\n")).collect();
    fs::write(folder.join("h/runs.jsonl"), watched).expect("written");
    says(&folder, &["hunt", "--resume", "h"], 65, &["p was built anew since the watched run", "hunt anew"]);
    assert_eq!(written(&folder.join("h")), 1, "{runs}: nothing is lost or added");
}

#[test]
fn one_hunt_at_a_time_is_at_work_in_a_folder() {
    let Some(folder) = built("locked-folder", WAITING) else { return };
    let program = folder.join("p");
    let mut hunt = start(&folder, &["hunt", "--", "./p"]);
    wait_until("the watched run", || processes_of(&program).len() == 2);
    for arguments in [
        &["hunt", "--", "./p"][..],
        &["hunt", "--resume", "deadheat.hunt"],
        &["merge", "deadheat.hunt", "-o", "joined"],
    ] {
        says(&folder, arguments, 2, &["another hunt is at work in"]);
    }
    hunt.kill().expect("killed");
    hunt.wait().expect("its end");
}

#[test]
fn parts_that_do_not_fit_are_told() {
    let Some(folder) = built("misfits", COUNTERS) else { return };
    let whole = hunt(&folder, "whole", &[]);
    for (name, part) in [("1", PARTS[0]), ("2", PARTS[1]), ("3", PARTS[2])] {
        hunt(&folder, name, &["--partition", part]);
    }
    says(&folder, &["merge", "1", "3", "-o", "two"], 66, &["these parts are not there: slice:2/3"]);
    // Parts that overlap, and a whole among them: each proof is told once.
    let all = says(&folder, &["merge", "3", "whole", "1", "2", "-o", "all"], 66, &[]);
    assert!(!said(&all).contains("not there"), "{}", said(&all));
    assert_eq!(proved(&folder.join("all")), whole);
    says(&folder, &["merge", "1", "./1", "-o", "twice"], 2, &["is named twice"]);
    says(&folder, &["merge", "1", "2", "-o", "1"], 2, &["is one of the parts"]);
    assert!(folder.join("1/first.trace").exists(), "nothing of a part is lost");
    says(&folder, &["merge", "1", "nowhere", "-o", "no"], 65, &["nowhere holds no hunt"]);
    build(&folder, &COUNTERS.replace("one++; two++;", "two++; one += 3;"));
    hunt(&folder, "anew", &[]);
    says(&folder, &["merge", "1", "anew", "-o", "no"], 65, &["hunts another build of p than"]);
    fs::copy(folder.join("p"), folder.join("q")).expect("copied");
    says(&folder, &["hunt", "-q", "-o", "other", "--", "./q"], 66, &[]);
    says(&folder, &["merge", "anew", "other", "-o", "no"], 65, &["other hunts q, and anew hunts p"]);
}
