//! Real programs hunted: each for its time, and what came of it in a table.
//!
//! The programs are those that are measured; of leveldb its own tests. Each works on a small input,
//! so that a hunt has many runs. What the watched run makes is checked.

use std::fs;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::bench::compare::Build;
use crate::bench::measure::{Cost, Run};
use crate::bench::options::Options;
use crate::bench::table::{Table, short};
use crate::bench::tools::{Tools, make_folder, paragraph, root, words, write};
use crate::bench::{Outcome, Stop};

use super::program::Program;
use super::{build, fetch, input};

/// The size of the input.
const INPUT: usize = 800_000;
/// How much longer than its budget a hunt may take: the watched run, and telling.
const BEYOND: Duration = Duration::from_secs(600);
/// Runs of a hunt that go on at once.
const JOBS: &str = "2";

/// What is hunted of a program.
struct Hunted {
    program: Program,
    hunts: &'static [Job],
}

/// One hunt.
struct Job {
    /// What it is called in the table, and by `--only`.
    name: &'static str,
    /// Options of the hunt.
    options: &'static [&'static str],
    /// Program, below the source's folder, and arguments; run where the input is called `input`.
    words: &'static [&'static str],
    /// The file that takes the watched run's output.
    output: &'static str,
    /// Whether that is to be the input again.
    restores: bool,
}

/// All of them.
const HUNTED: &[Hunted] = &[
    Hunted {
        program: Program {
            name: "pigz",
            package: "pigz",
            needs: &["zlib1g-dev", "make"],
            build: &[&["make", "-e", "pigz"]],
            flags: "",
            share: 0,
            steps: &[],
        },
        hunts: &[
            Job {
                name: "pigz",
                options: &[],
                words: &["pigz", "-n", "-p", "3", "-b", "64", "-c", "input"],
                output: "input.gz",
                restores: false,
            },
            Job {
                name: "pigz-d",
                options: &[],
                words: &["pigz", "-d", "-p", "3", "-c", "input.gz"],
                output: "restored",
                restores: true,
            },
        ],
    },
    Hunted {
        program: Program {
            name: "pbzip2",
            package: "pbzip2",
            needs: &["libbz2-dev", "make"],
            build: &[&["make", "pbzip2"]],
            flags: "-std=gnu++98",
            share: 0,
            steps: &[],
        },
        hunts: &[Job {
            name: "pbzip2",
            options: &[],
            words: &["pbzip2", "-k", "-c", "-p3", "-b1", "-1", "input"],
            output: "input.bz2",
            restores: false,
        }],
    },
    Hunted {
        program: Program {
            name: "leveldb",
            package: "leveldb",
            needs: &["cmake", "make", "libgtest-dev", "libgmock-dev", "libbenchmark-dev"],
            build: &[
                &["cmake", "-B", "build", "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "."],
                &["make", "-C", "build", "-j2", "env_test", "skiplist_test", "db_test"],
            ],
            flags: "",
            share: 0,
            steps: &[],
        },
        hunts: &[
            // Without the one that writes and reads 10 MiB in a single thread.
            leveldb("env_test", TESTS, &["build/env_test", "--gtest_filter=-*ReadWrite"]),
            leveldb("skiplist_test", TESTS_TIMED, &["build/skiplist_test", "--gtest_filter=*Concurrent1"]),
            // Those that compact while they write.
            leveldb("db_test", TESTS, &["build/db_test", COMPACTING]),
            leveldb("db_test-threads", TESTS_TIMED, &["build/db_test", "--gtest_filter=*MultiThreaded"]),
        ],
    },
];

/// leveldb's tests put their files into `tmp`: each run has its own.
const TESTS: &[&str] = &["--isolate", "--setup", "rm -rf tmp && mkdir tmp"];
/// Those that would run for minutes are ended.
const TESTS_TIMED: &[&str] = &["--isolate", "--setup", "rm -rf tmp && mkdir tmp", "--timeout", "6s"];
const COMPACTING: &str = "--gtest_filter=*MinorCompactionsHappen:*GetFromImmutableLayer:*OverlapInLevel0:\
                          *ManualCompaction:*IteratorPinsRef";

const fn leveldb(
    name: &'static str,
    options: &'static [&'static str],
    words: &'static [&'static str],
) -> Job {
    Job { name, options, words, output: "test.out", restores: false }
}

/// Fetches, builds and hunts what was asked for, and prints the table.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/hunt-real"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let wanted = |hunted: &Hunted, job: &Job| options.wants(hunted.program.name) || options.wants(job.name);
    let programs: Vec<&Hunted> =
        HUNTED.iter().filter(|one| one.hunts.iter().any(|job| wanted(one, job))).collect();
    if programs.is_empty() {
        return Err(Stop::usage("nothing of that name is hunted; see --help"));
    }
    build::check_needs(&programs.iter().map(|one| &one.program).collect::<Vec<_>>())?;
    println!("{}", paragraph(&tools.provenance(options)));
    let mut table = Table::new(&[
        "hunt",
        "watched run, s",
        "pairs",
        "proved",
        "tried without meeting",
        "not tried",
        "re-runs",
        "diverged",
        "clock, s",
        "CPU, s",
        "peak MiB",
    ]);
    let mut versions = Table::new(&["program", "source package", "release", "build"]);
    for one in programs {
        let place = folder.join(one.program.name);
        let fetched = fetch::source(one.program.package, &folder, &options.suite)?;
        let built = build::one(&one.program, &tools, Build::Deadheat, &fetched.folder, &place)?;
        versions.row(vec![one.program.name.to_owned(), fetched.package, fetched.release, built]);
        for job in one.hunts.iter().filter(|job| wanted(one, job)) {
            eprintln!("bench: hunting {}", job.name);
            table.row(hunt(job, options, &tools, &place)?);
        }
    }
    println!("{}", versions.markdown());
    println!("{}", table.markdown());
    Ok(())
}

/// Hunts, and gives the table's row.
fn hunt(job: &Job, options: &Options, tools: &Tools, place: &Path) -> Outcome<Vec<String>> {
    let work = place.join("work");
    make_folder(&work)?;
    let input = input::generated(INPUT);
    write(&work.join("input"), &input)?;
    let results = place.join(format!("{}.hunt", job.name));
    if results.exists() {
        fs::remove_dir_all(&results)
            .map_err(|e| Stop::failed(format!("cannot remove {}: {e}", results.display())))?;
    }
    let program = place.join(Build::Deadheat.name()).join("source").join(job.words[0]);
    let mut line = words(&[tools.deadheat.as_os_str()]);
    line.extend(words(&["hunt", "-j", JOBS, "--budget", &options.budget, "-o"]));
    line.extend([results.clone().into_os_string()]);
    line.extend(words(job.options));
    line.extend(["--".into(), program.into_os_string()]);
    line.extend(words(&job.words[1..]));
    let run = Run {
        words: line,
        environment: vec![
            ("DEADHEAT_WIRE", None),
            ("TEST_TMPDIR", Some("tmp".into())),
            ("BENCHMARK_FILTER", Some("none".into())),
        ],
        output: work.join(job.output),
        messages: place.join(format!("{}.messages", job.name)),
        folder: work,
        timeout: budget(&options.budget)? + BEYOND,
    };
    let cost = run.expect(&[0, 66, 124])?;
    if job.restores && fs::read(&run.output).ok().as_deref() != Some(&input[..]) {
        return Err(Stop::failed(format!("{}: the watched run's result is wrong", job.name)));
    }
    row(job.name, &cost, &results)
}

/// What the hunt's folder tells.
fn row(name: &str, cost: &Cost, results: &Path) -> Outcome<Vec<String>> {
    let read = |file: &str| -> Outcome<Vec<Value>> {
        let path = results.join(file);
        let text = fs::read_to_string(&path)
            .map_err(|e| Stop::failed(format!("cannot read {}: {e}", path.display())))?;
        Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    };
    let (report, runs) = (read("report.jsonl")?, read("runs.jsonl")?);
    let Some(told) = report.iter().find(|line| line["type"] == "summary").map(|line| &line["hunt"]) else {
        return Err(Stop::failed(format!("{name}: the hunt's report has no summary")));
    };
    let count = |field: &str| told[field].as_u64().unwrap_or(0);
    let reasons: Vec<String> = match &told["verdicts"] {
        Value::Object(verdicts) => {
            verdicts.iter().map(|(verdict, number)| format!("{verdict} {number}")).collect()
        }
        _ => Vec::new(),
    };
    Ok(vec![
        name.to_owned(),
        short(runs.first().map_or(0.0, |line| line["seconds"].as_f64().unwrap_or(0.0))),
        count("pairs").to_string(),
        (count("proved") + count("beyond")).to_string(),
        format!("{} ({})", count("missed") + count("unfinished"), reasons.join(", ")),
        count("untried").to_string(),
        count("runs").to_string(),
        count("diverged").to_string(),
        short(cost.elapsed),
        short(cost.cpu),
        short(cost.peak / 1024.0),
    ])
}

/// A time as `deadheat hunt --budget` reads it, in seconds or minutes.
fn budget(text: &str) -> Outcome<Duration> {
    let (number, unit) = match text.strip_suffix('m') {
        Some(minutes) => (minutes, 60),
        None => (text.strip_suffix('s').unwrap_or(text), 1),
    };
    let seconds = number.parse::<u64>().ok().map(|number| Duration::from_secs(number * unit));
    seconds.ok_or_else(|| Stop::usage(format!("--budget needs a time such as 10m or 90s, not {text}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_minutes_or_seconds() {
        assert_eq!(budget("10m").ok(), Some(Duration::from_secs(600)));
        assert_eq!(budget("90s").ok(), Some(Duration::from_secs(90)));
        assert_eq!(budget("soon").err().map(|stop| stop.code), Some(2));
    }
}
