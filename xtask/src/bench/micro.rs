//! What one operation costs (`bench/micro`): instructions, counted by callgrind as the difference of two numbers of repetitions, and
//! processor time; and in which functions the instructions are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::compare::Build;
use super::measure::Run;
use super::options::Options;
use super::statistic::Quartiles;
use super::table::{Table, short};
use super::tools::{self, LINES, Tools, make_folder, root};
use super::{Outcome, Stop};

const SOURCE: &str = "bench/micro/micro.c";
/// Repetitions that callgrind counts, the fewer and the more; whole passes for every operation.
const COUNTS: [u64; 2] = [20_480, 61_440];
/// How long the repetitions of one measurement of time take, about, in nanoseconds; and how many they are at most.
const STRETCH: f64 = 2e7;
const MOST: f64 = 4e6;
/// Functions are named until they have this part of an operation's instructions, but not with less than the other part of them.
const TOLD: f64 = 0.8;
const LEAST: f64 = 0.05;

/// What was measured of an operation.
#[derive(Default)]
struct Costs {
    name: String,
    says: String,
    /// Nanoseconds of processor time, one element a round; by build, as [`Build::ALL`] has them.
    times: [Vec<f64>; Build::ALL.len()],
    /// Instructions of the native build and of deadheat's.
    instructions: [f64; 2],
    /// deadheat's by function, the most first.
    places: Vec<(String, f64)>,
}

/// Builds and measures, and prints the tables.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    super::valgrind::check()?;
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/micro"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let provenance = tools.provenance(options);
    for build in Build::ALL {
        compile(&tools, build, &folder, SOURCE)?;
    }
    let mut all = Vec::new();
    for (name, says) in operations(&folder)? {
        if options.wants(&name) {
            eprintln!("bench: {name}");
            all.push(measure(options, &folder, name, says)?);
        }
    }
    if all.is_empty() {
        return Err(Stop::usage("no operation of that name; bench/micro/micro.c lists them"));
    }
    let whole =
        json!({"provenance": &provenance, "operations": all.iter().map(Costs::json).collect::<Vec<_>>()});
    tools::write(&folder.join("micro.json"), format!("{whole:#}\n"))?;
    println!("{}", tools::paragraph(&provenance));
    println!("{}", costs(&all));
    println!("{}", places(&all));
    Ok(())
}

/// Makes a build of one source, which has the build's name in the folder.
pub(super) fn compile(tools: &Tools, build: Build, folder: &Path, source: &str) -> Outcome<()> {
    let plus = source.ends_with(".cpp");
    let (compiler, standard, ours) =
        if plus { (&tools.cxx, "-std=c++17", "c++") } else { (&tools.cc, "-std=gnu11", "cc") };
    let mut command = match build {
        Build::Deadheat => {
            let mut command = Command::new(&tools.deadheat);
            command.arg(ours).env("DEADHEAT_CC", &tools.cc).env("DEADHEAT_CXX", &tools.cxx);
            command
        }
        Build::Native | Build::Tsan => Command::new(compiler),
    };
    if build == Build::Tsan {
        command.arg("-fsanitize=thread");
    }
    command.args([standard, "-O2", LINES, "-pthread", "-o"]).arg(folder.join(build.name()));
    command.arg(root().join(source));
    let output = command
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Stop::missing(format!("cannot run {}: {e}", command.get_program().to_string_lossy())))?;
    if output.status.success() {
        return Ok(());
    }
    Err(Stop::failed(format!("{} build: {}", build.name(), String::from_utf8_lossy(&output.stderr))))
}

/// What the native build lists.
pub(super) fn list(folder: &Path) -> Outcome<String> {
    let native = folder.join(Build::Native.name());
    let output = Command::new(&native).arg("list").output();
    let output = output.map_err(|e| Stop::failed(format!("{}: {e}", native.display())))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The operations' names and what they are.
fn operations(folder: &Path) -> Outcome<Vec<(String, String)>> {
    let text = list(folder)?;
    let pairs = text.lines().filter_map(|line| line.split_once('\t'));
    Ok(pairs.map(|(name, says)| (name.to_owned(), says.to_owned())).collect())
}

fn measure(options: &Options, folder: &Path, name: String, says: String) -> Outcome<Costs> {
    let mut costs = Costs { name, says, ..Costs::default() };
    let time = |build: Build, count: u64, name: &str| -> Outcome<f64> {
        let run = run_of(options, folder, &[], build, name, count);
        run.expect(&[0])?;
        let text = fs::read_to_string(&run.output).unwrap_or_default();
        text.trim().parse().map_err(|_| Stop::failed(format!("{name}, {} build: {text}", build.name())))
    };
    let mut counts = [0; Build::ALL.len()];
    for (count, build) in counts.iter_mut().zip(Build::ALL) {
        let once = time(build, COUNTS[0], &costs.name)?;
        *count = (STRETCH / once).clamp(COUNTS[0] as f64, MOST) as u64;
    }
    for round in 0..options.pairs {
        for turn in 0..Build::ALL.len() {
            let which = (round + turn) % Build::ALL.len();
            let taken = time(Build::ALL[which], counts[which], &costs.name)?;
            costs.times[which].push(taken);
        }
    }
    let (native, _) = counted(options, folder, Build::Native, &costs.name)?;
    let (deadheat, places) = counted(options, folder, Build::Deadheat, &costs.name)?;
    costs.instructions = [native, deadheat];
    costs.places = places;
    Ok(costs)
}

/// A run of one build, with these words before it.
fn run_of(
    options: &Options,
    folder: &Path,
    before: &[OsString],
    build: Build,
    name: &str,
    count: u64,
) -> Run {
    let mut words = before.to_vec();
    words.extend([folder.join(build.name()).into_os_string(), name.into(), count.to_string().into()]);
    by_hand(options, folder, build, words)
}

/// A run of one build that is started by hand.
pub(super) fn by_hand(options: &Options, folder: &Path, build: Build, words: Vec<OsString>) -> Run {
    let alone = "exitcode=66 atexit_sleep_ms=0";
    Run {
        words,
        environment: vec![
            ("DEADHEAT_WIRE", None),
            ("DEADHEAT_OPTIONS", None),
            ("TSAN_OPTIONS", (build == Build::Tsan).then(|| alone.into())),
        ],
        folder: folder.to_owned(),
        output: folder.join("output"),
        messages: folder.join("messages"),
        timeout: options.timeout,
    }
}

/// Instructions of one operation, and by function, the most first.
fn counted(options: &Options, folder: &Path, build: Build, name: &str) -> Outcome<(f64, Vec<(String, f64)>)> {
    let [few, many] = COUNTS;
    let profile = |count: u64| -> Outcome<BTreeMap<String, f64>> {
        let file = folder.join("callgrind.out");
        let mut told = OsString::from("--callgrind-out-file=");
        told.push(&file);
        let before = ["valgrind".into(), "--tool=callgrind".into(), told];
        run_of(options, folder, &before, build, name, count).expect(&[0])?;
        let output =
            Command::new("callgrind_annotate").args(["--threshold=100", "--auto=no"]).arg(&file).output();
        let output = output.map_err(|e| Stop::missing(format!("cannot run callgrind_annotate: {e}")))?;
        Ok(by_function(&String::from_utf8_lossy(&output.stdout)))
    };
    let (fewer, more) = (profile(few)?, profile(many)?);
    let one = |name: &String, instructions: &f64| {
        (instructions - fewer.get(name).copied().unwrap_or(0.0)) / (many - few) as f64
    };
    let mut places: Vec<(String, f64)> =
        more.iter().map(|(name, all)| (name.clone(), one(name, all))).collect();
    places.sort_by(|a, b| b.1.total_cmp(&a.1));
    Ok((places.iter().map(|(_, instructions)| instructions).sum(), places))
}

/// The instructions of each function, as `callgrind_annotate` lists them: `12,345 (6.7%) FILE:FUNCTION [OBJECT]`.
fn by_function(text: &str) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let Some((number, rest)) = line.trim_start().split_once(' ') else { continue };
        let Ok(instructions) = number.replace(',', "").parse::<f64>() else { continue };
        let Some((_, place)) = rest.split_once("%) ") else { continue };
        let Some((_, function)) = place.trim().split_once(':') else { continue };
        let function = function.split(" [").next().unwrap_or(function);
        *found.entry(function.to_owned()).or_insert(0.0) += instructions;
    }
    found
}

/// A function's name without what all of them begin with, and without what makes it one of many alike.
fn brief(function: &str) -> String {
    let function = function.split(['\'', '@']).next().unwrap_or(function);
    let function = function.replace("deadheat_runtime::", "");
    match (function.find("<impl "), function.find(">::")) {
        (Some(from), Some(to)) if from < to => format!("{}{}", &function[..from], &function[to + 3..]),
        _ => function,
    }
}

fn costs(all: &[Costs]) -> String {
    let head = [
        "operation",
        "instructions: native",
        "deadheat",
        "CPU ns: native",
        "TSan",
        "deadheat",
        "deadheat / TSan, time",
    ];
    let mut table = Table::new(&head);
    for one in all {
        let [native, tsan, deadheat] = &one.times;
        let median = |times: &[f64]| short(Quartiles::of(times.iter().copied()).median);
        let ratio = Quartiles::of_ratios(deadheat.iter().copied(), tsan.iter().copied()).median;
        let mut row = vec![one.says.clone()];
        row.extend(one.instructions.map(short));
        row.extend([native, tsan, deadheat].map(|times| median(times)));
        row.push(short(ratio));
        table.row(row);
    }
    table.markdown()
}

fn places(all: &[Costs]) -> String {
    let mut table = Table::new(&["operation", "deadheat's instructions, by function"]);
    for one in all {
        let whole = one.instructions[1];
        let mut told = 0.0;
        let mut parts = Vec::new();
        for (function, instructions) in &one.places {
            if told >= TOLD * whole || *instructions < LEAST * whole {
                break;
            }
            told += instructions;
            parts.push(format!("`{}` {}", brief(function), short(*instructions)));
        }
        table.row(vec![one.says.clone(), parts.join(", ")]);
    }
    table.markdown()
}

impl Costs {
    fn json(&self) -> Value {
        let [native, tsan, deadheat] = &self.times;
        json!({
            "name": self.name,
            "says": self.says,
            "nanoseconds": {"native": native, "tsan": tsan, "deadheat": deadheat},
            "instructions": {"native": self.instructions[0], "deadheat": self.instructions[1]},
            "places": self.places.iter().filter(|(_, instructions)| *instructions > 0.0).collect::<Vec<_>>(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_are_read_by_function() {
        let text = "Ir                  \n40,561,071 (100.0%)  PROGRAM TOTALS\n\n\
                    6,594,589 (16.26%)  ???:deadheat_runtime::online::acquired [/tmp/m]\n\
                    1,392,640 ( 3.43%)  ./nptl/x.c:pthread_mutex_trylock@@GLIBC_2.34 [/usr/lib/libc.so.6]\n\
                    1,000 ( 0.00%)  ???:deadheat_runtime::online::acquired [/tmp/m]\n";
        let found = by_function(text);
        let acquired = "deadheat_runtime::online::acquired".to_owned();
        let trylock = "pthread_mutex_trylock@@GLIBC_2.34".to_owned();
        assert_eq!(found, BTreeMap::from([(acquired, 6_595_589.0), (trylock, 1_392_640.0)]));
    }

    #[test]
    fn names_are_brief() {
        let publish =
            "deadheat_runtime::online::order::<impl deadheat_runtime::online::eye::Eye>::publish_to";
        assert_eq!(brief(publish), "online::order::publish_to");
        assert_eq!(brief("deadheat_runtime::online::quick::on_access'2"), "online::quick::on_access");
        assert_eq!(brief("pthread_mutex_trylock@@GLIBC_2.34"), "pthread_mutex_trylock");
    }
}
