//! What calls of the C and C++ libraries cost (`bench/micro/library.cpp`): processor time beside ThreadSanitizer's, the dearest first. It finds
//! what nobody thought of: a call that costs much more than there is told where to look.

use std::fs;
use std::path::Path;

use serde_json::json;

use super::compare::Build;
use super::micro;
use super::options::Options;
use super::statistic::Quartiles;
use super::table::{Table, short};
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop};

const SOURCE: &str = "bench/micro/library.cpp";

/// What was measured of a call: nanoseconds of processor time, one element a round; by build, as [`Build::ALL`] has them.
struct Call {
    name: String,
    times: [Vec<f64>; Build::ALL.len()],
}

impl Call {
    /// How often ThreadSanitizer's time it takes: the median over the rounds.
    fn ratio(&self) -> f64 {
        let [_, tsan, deadheat] = &self.times;
        Quartiles::of_ratios(deadheat.iter().copied(), tsan.iter().copied()).median
    }
}

/// Builds and measures, and prints the table.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/library"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    let provenance = tools.provenance(options);
    for build in Build::ALL {
        micro::compile(&tools, build, &folder, SOURCE)?;
    }
    let mut calls = Vec::new();
    let list = micro::list(&folder)?;
    for name in list.lines().filter(|name| options.wants(name)) {
        eprintln!("bench: {name}");
        let mut call = Call { name: name.to_owned(), times: Default::default() };
        for round in 0..options.pairs {
            for turn in 0..Build::ALL.len() {
                let which = (round + turn) % Build::ALL.len();
                call.times[which].push(time(options, &folder, Build::ALL[which], &call.name)?);
            }
        }
        calls.push(call);
    }
    if calls.is_empty() {
        return Err(Stop::usage("no call of that name; bench/micro/library.cpp lists them"));
    }
    calls.sort_by(|one, other| other.ratio().total_cmp(&one.ratio()));
    let rows: Vec<_> =
        calls.iter().map(|call| json!({"name": call.name, "nanoseconds": &call.times})).collect();
    let whole = json!({"provenance": &provenance, "calls": rows});
    tools::write(&folder.join("library.json"), format!("{whole:#}\n"))?;
    println!("{}", tools::paragraph(&provenance));
    println!("{}", table(&calls));
    Ok(())
}

/// Nanoseconds of processor time that one call takes in a run of its own.
fn time(options: &Options, folder: &Path, build: Build, name: &str) -> Outcome<f64> {
    let words = vec![folder.join(build.name()).into_os_string(), name.into()];
    let run = micro::by_hand(options, folder, build, words);
    run.expect(&[0])?;
    let text = fs::read_to_string(&run.output).unwrap_or_default();
    text.trim().parse().map_err(|_| Stop::failed(format!("{name}, {} build: {text}", build.name())))
}

fn table(calls: &[Call]) -> String {
    let mut table = Table::new(&["call", "CPU ns: native", "TSan", "deadheat", "deadheat / TSan"]);
    for call in calls {
        let mut row = vec![call.name.clone()];
        row.extend(call.times.iter().map(|times| short(Quartiles::of(times.iter().copied()).median)));
        row.push(short(call.ratio()));
        table.row(row);
    }
    table.markdown()
}
