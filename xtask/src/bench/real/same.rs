//! Real programs recorded while races are looked for in them: whether what the runs found by themselves is what `hb` finds in
//! their recordings.

use std::fs;

use crate::bench::compare::Build;
use crate::bench::measure::Run;
use crate::bench::options::Options;
use crate::bench::recording::{RACES, Recording, races_in};
use crate::bench::table::{Table, short};
use crate::bench::tools::{Tools, make_folder, paragraph, root, words, write};
use crate::bench::{Outcome, Stop};

use super::program::{PROGRAMS, Program, Step};
use super::{build, fetch, input};

/// The input is that of the measurements divided by this: every pair of places is looked for in the recording.
const SHARE: usize = 10;

/// Fetches, builds and compares the programs that were asked for, and prints the table.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/real"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let wanted: Vec<&Program> = PROGRAMS.iter().filter(|program| options.wants(program.name)).collect();
    if wanted.is_empty() {
        return Err(Stop::usage("no program of that name; they are pigz, pbzip2, xz, zstd and leveldb"));
    }
    build::check_needs(&wanted)?;
    println!("{}", paragraph(&tools.provenance(options)));
    let mut table =
        Table::new(&["program", "source package", "accesses", "races told", "run, s", "compared"]);
    let mut differ = Vec::new();
    for program in wanted {
        eprintln!("bench: {}", program.name);
        let place = folder.join(program.name);
        make_folder(&place)?;
        let fetched = fetch::source(program.package, &folder, &options.suite)?;
        build::one(program, &tools, Build::Deadheat, &fetched.folder, &place)?;
        for step in program.steps {
            let (row, agrees) = compare(program, step, &fetched.package, (options, &tools, &place))?;
            table.row(row);
            if !agrees {
                differ.push(step.name);
            }
        }
    }
    println!("{}", table.markdown());
    if differ.is_empty() {
        return Ok(());
    }
    Err(Stop::failed(format!("the two do not find the same races: {}", differ.join(", "))))
}

/// Runs one step and compares; the table's row, and whether the two agree.
fn compare(
    program: &Program,
    step: &Step,
    package: &str,
    (options, tools, place): (&Options, &Tools, &std::path::Path),
) -> Outcome<(Vec<String>, bool)> {
    let folder = place.join(Build::Deadheat.name());
    let input = place.join("input.same");
    if let Some(size) = ((options.megabytes << 20) / SHARE).checked_div(program.share) {
        write(&input, input::generated(size))?;
    }
    let threads = options.threads[0].to_string();
    let trace = folder.join(format!("{}.same.trace", step.name));
    let report = folder.join(format!("{}.same.jsonl", step.name));
    Recording::at(&trace).remove();
    let run = |line, output, messages: &str| Run {
        words: line,
        environment: vec![("DEADHEAT_WIRE", None), ("DEADHEAT_OPTIONS", None)],
        folder: folder.clone(),
        output,
        messages: folder.join(format!("{}.{messages}", step.name)),
        timeout: options.timeout,
    };
    let mut line = words(&[tools.deadheat.as_os_str()]);
    line.extend(words(&["run", "--format", "json", "-o"]));
    line.extend([
        report.clone().into_os_string(),
        "--trace".into(),
        trace.clone().into_os_string(),
        "--".into(),
    ]);
    let fill = |word: &&str| word.replace("{input}", &input.to_string_lossy()).replace("{threads}", &threads);
    line.extend(step.words.iter().map(|word| fill(word).into()));
    let cost = run(line, folder.join(step.output), "same.messages").expect(&[0, RACES])?;
    step.check_restored(&input, &folder)?;
    let recording = Recording::at(&trace);
    let content = recording.content(tools)?;
    let mut line = words(&[tools.deadheat.as_os_str()]);
    line.extend(words(&["trace", "agree"]));
    line.extend(recording.files().map(|file| file.as_os_str().to_owned()));
    let said = folder.join(format!("{}.agree", step.name));
    let agrees = run(line, said.clone(), "agree.messages").expect(&[0, 1])?.code == 0;
    let said = String::from_utf8_lossy(&fs::read(&said).unwrap_or_default()).into_owned();
    if !agrees {
        eprintln!("{said}");
    }
    recording.remove();
    let told = said.lines().filter_map(|line| line.split_once(": ")).map(|(_, told)| told);
    let row = vec![
        step.name.to_owned(),
        package.to_owned(),
        content.accesses.to_string(),
        races_in(&report).to_string(),
        short(cost.elapsed),
        told.filter(|line| !line.starts_with(' ')).collect::<Vec<_>>().join("; "),
    ];
    Ok((row, agrees))
}
