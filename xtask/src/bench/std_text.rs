//! `hb` on a large trace in STD text, beside RAPID's FastTrack on the same file.
//!
//! RAPID is no part of this repository: who has a build of it gives its command line.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

use super::compare::each;
use super::measure::{Cost, Run};
use super::options::Options;
use super::recording::RACES;
use super::statistic::Quartiles;
use super::table::{Table, mebibytes, short, spread};
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop};

/// Where the trace generator is found beside a checkout, unless another is named.
const GENERATOR: &str = "../shared/traces/gen_std.py";

/// The seed of the generated trace.
const SEED: &str = "1";

/// Threads of the generated trace, beside the one that starts them.
const THREADS: &str = "8";

/// Generates the trace, measures both, and prints the table.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/bench"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let provenance = tools.provenance(options);
    let trace = generated(options, &folder)?;
    let events = lines(&trace)?;

    let own = OsString::from(&tools.deadheat);
    let mut line = vec![own];
    line.extend(tools::words(&["analyze", "--by", "hb", "--format", "json"]));
    line.push(trace.clone().into_os_string());
    let own = side(line, "hb", &folder, options);
    let rapid = options.rapid.as_ref().map(|text| side(rapid_words(text, &trace), "rapid", &folder, options));

    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..options.pairs {
        ours.push(own.expect(&[0, RACES])?);
        if let Some(rapid) = &rapid {
            theirs.push(rapid.expect(&[0])?);
        }
    }
    let costs = |list: &[Cost]| -> Vec<Value> {
        list.iter().map(|c| json!({"cpu": c.cpu, "elapsed": c.elapsed, "peak_kib": c.peak})).collect()
    };
    let whole =
        json!({"provenance": provenance, "events": events, "hb": costs(&ours), "rapid": costs(&theirs)});
    tools::write(&folder.join("std.json"), format!("{whole:#}\n"))?;
    println!("{}", tools::paragraph(&provenance));
    println!("{}", table(events, &ours, &theirs));
    Ok(())
}

fn table(events: u64, ours: &[Cost], theirs: &[Cost]) -> String {
    let mut table = Table::new(&["STD text", "events, M", "M events / CPU s", "peak MiB"]);
    for (name, costs) in [("`hb`", ours), ("RAPID, FastTrack", theirs)] {
        if costs.is_empty() {
            continue;
        }
        let speed = Quartiles::of(each(costs, |cost| cost.cpu).map(|cpu| events as f64 / cpu / 1e6));
        let peak = Quartiles::of(each(costs, |cost| cost.peak)).median;
        table.row(vec![name.to_owned(), short(events as f64 / 1e6), spread(speed), mebibytes(peak)]);
    }
    if !theirs.is_empty() {
        let speed = Quartiles::of_ratios(each(theirs, |cost| cost.cpu), each(ours, |cost| cost.cpu));
        let peak = Quartiles::of_ratios(each(ours, |cost| cost.peak), each(theirs, |cost| cost.peak));
        table.row(vec!["`hb` / RAPID".to_owned(), String::new(), spread(speed), spread(peak)]);
    }
    table.markdown()
}

fn side(words: Vec<OsString>, name: &str, folder: &Path, options: &Options) -> Run {
    Run {
        words,
        environment: Vec::new(),
        folder: folder.to_owned(),
        output: folder.join(format!("std.{name}.out")),
        messages: folder.join(format!("std.{name}.messages")),
        timeout: options.timeout,
    }
}

/// Splits the given command line at spaces and puts the trace in.
pub(super) fn rapid_words(text: &str, trace: &Path) -> Vec<OsString> {
    let put_in = |word: &str| word.replace("{}", &trace.to_string_lossy());
    text.split_whitespace().map(|word| put_in(word).into()).collect()
}

/// The generated trace; made once for each size.
pub(super) fn generated(options: &Options, folder: &Path) -> Outcome<PathBuf> {
    let trace = folder.join(format!("generated-{}.std", options.events));
    if trace.exists() {
        return Ok(trace);
    }
    let script = options.generator.clone().unwrap_or_else(|| root().join(GENERATOR));
    if !script.exists() {
        return Err(Stop::missing(format!("{} is not there; name another by --generator", script.display())));
    }
    let unfinished = folder.join("generated.unfinished");
    let status = Command::new("python3")
        .arg(&script)
        .args(["-n", &options.events.to_string(), "-t", THREADS, "--seed", SEED, "-o"])
        .arg(&unfinished)
        .status()
        .map_err(|e| Stop::missing(format!("cannot run python3: {e}; install python3")))?;
    if !status.success() {
        return Err(Stop::failed(format!("{} failed: {status}", script.display())));
    }
    fs::rename(&unfinished, &trace).map_err(|e| Stop::failed(format!("cannot rename the trace: {e}")))?;
    Ok(trace)
}

/// How many lines a trace has.
pub(super) fn lines(trace: &Path) -> Outcome<u64> {
    let fail = |e: std::io::Error| Stop::failed(format!("cannot read {}: {e}", trace.display()));
    let mut file = BufReader::with_capacity(1 << 20, fs::File::open(trace).map_err(fail)?);
    let mut count = 0;
    loop {
        let chunk = file.fill_buf().map_err(fail)?;
        if chunk.is_empty() {
            return Ok(count);
        }
        count += chunk.iter().filter(|&&byte| byte == b'\n').count() as u64;
        let used = chunk.len();
        file.consume(used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_is_put_where_the_braces_are() {
        let words = rapid_words("java -cp a.jar Main -p {}", Path::new("/t/x.std"));
        assert_eq!(words, tools::words(&["java", "-cp", "a.jar", "Main", "-p", "/t/x.std"]));
    }
}
