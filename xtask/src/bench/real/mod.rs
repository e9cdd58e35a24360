//! Real programs: fetched as the distribution's source packages, built by their own build systems,
//! unmodified, and given real work.
//!
//! Nothing that is fetched enters the repository, and nothing of the system is changed.

mod build;
mod fetch;
mod hunt;
mod input;
mod program;
mod same;

use std::path::Path;

use super::compare::{Comparison, Manner, Subject};
use super::options::Options;
use super::table::Table;
use super::tools::{self, Tools, make_folder, root};
use super::{Outcome, Stop, tell, valgrind};

use program::{PROGRAMS, Program};

/// Fetches, builds and measures the programs that were asked for, and prints the tables.
pub(crate) fn run(options: &Options) -> Outcome<()> {
    if options.hunt {
        return hunt::run(options);
    }
    if options.same {
        return same::run(options);
    }
    let tools = Tools::find(options)?;
    let folder = options.output.clone().unwrap_or_else(|| root().join("target/real"));
    make_folder(&folder)?;
    let folder = std::path::absolute(&folder).unwrap_or(folder);
    if options.valgrind {
        valgrind::check()?;
    }
    let provenance = tools.provenance(options);
    let wanted: Vec<&Program> = PROGRAMS.iter().filter(|program| options.wants(program.name)).collect();
    if wanted.is_empty() {
        return Err(Stop::usage("no program of that name; they are pigz, pbzip2, xz, zstd and leveldb"));
    }
    build::check_needs(&wanted)?;

    let mut versions = Table::new(&["program", "source package", "release", "build"]);
    let mut comparisons = Vec::new();
    for program in wanted {
        eprintln!("bench: {}", program.name);
        let place = folder.join(program.name);
        make_folder(&place)?;
        let fetched = fetch::source(program.package, &folder, &options.suite)?;
        let built = build::all(program, &tools, &fetched.folder, &place)?;
        versions.row(vec![program.name.to_owned(), fetched.package, fetched.release, built]);
        comparisons.extend(measure(program, options, &tools, &place)?);
    }
    tools::write(&folder.join("real.json"), tell::json(&comparisons, provenance.clone()))?;
    println!("{}", tools::paragraph(&provenance));
    println!("{}", versions.markdown());
    let stacks = tell::check_stacks(&comparisons);
    tell::print(comparisons, Manner { off: false, ..options.manner() });
    stacks
}

fn measure(program: &Program, options: &Options, tools: &Tools, place: &Path) -> Outcome<Vec<Comparison>> {
    let manner = Manner { off: false, ..options.manner() };
    let input = place.join("input");
    if let Some(size) = (options.megabytes << 20).checked_div(program.share) {
        tools::write(&input, input::generated(size))?;
    }
    let mut comparisons = Vec::new();
    let steps =
        options.threads.iter().flat_map(|&threads| program.steps.iter().map(move |step| (threads, step)));
    for (threads, step) in steps {
        let fill = |word: &&str| {
            word.replace("{input}", &input.to_string_lossy()).replace("{threads}", &threads.to_string())
        };
        let words: Vec<String> = step.words.iter().map(fill).collect();
        let subject = Subject {
            name: step.name.to_owned(),
            threads,
            words: tools::words(&words),
            folder: place.to_owned(),
            output: step.output.to_owned(),
            right: step.right(&input),
        };
        comparisons.push(subject.compare(tools, manner)?);
    }
    Ok(comparisons)
}
