//! Small programs that each state one fact about races, and how deadheat judges them.
//!
//! Every program of `spec/programs/<topic>/` is compiled through `deadheat cc` or `deadheat c++`
//! by gcc and by clang 19, without and with optimisation, and run: recorded, with its races found while it runs (those with
//! findings by hand, too, and those with OpenMP linked statically, too), and both in the same run. Exactly the
//! pairs of accesses that its marks name must be told; of its mended twin `*_ok`, nothing. Each
//! of these is a test of its own name. `DEADHEAT_ACCEPT=full` runs each 20 times in a row (5 times where a run is judged twice).
//!
//! The forms of directives and marks are those that [`spec`] reads.

mod build;
mod every;
mod invisible;
mod judge;
mod run;
mod same;
mod spec;
mod ways;

use libtest_mimic::{Arguments, Failed, Trial};

use build::{Compiler, Optimisation};
use spec::Program;

/// There are at least this many programs, twins not counted.
const PROGRAMS_AT_LEAST: usize = 60;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(2);
    libtest_mimic::run(&arguments, trials()).exit();
}

fn trials() -> Vec<Trial> {
    let mut trials = ways::trials();
    for compiler in Compiler::ALL {
        for optimisation in Optimisation::ALL {
            let name = format!("order_is_invisible/{}", every::tag(compiler, optimisation));
            let test = move || invisible::check(&every::root(), compiler, optimisation).map_err(Failed::from);
            trials.push(every::trial(name, every::lacking(compiler, None), test));
        }
    }
    trials.push(Trial::test("well_formed", || well_formed(&every::programs())));
    trials
}

/// What holds for the programs as a whole: each has a sentence, marks that pair up, and a twin
/// that states the same fact and bears no mark.
fn well_formed(programs: &[Program]) -> Result<(), Failed> {
    let mut faults = Vec::new();
    let (twins, racy): (Vec<_>, Vec<_>) = programs.iter().partition(|program| program.is_twin());
    for program in &racy {
        let name = &program.name;
        if program.races.is_empty() && program.findings.is_empty() {
            faults.push(format!("{name}: nothing is marked"));
        }
        if program.sentence.len() < 20 || !program.sentence.ends_with('.') {
            faults.push(format!("{name}: does not begin with a sentence"));
        }
        match twins.iter().find(|twin| twin.name == format!("{name}_ok")) {
            None => faults.push(format!("{name}: has no twin")),
            Some(twin) if twin.sentence != program.sentence => {
                faults.push(format!("{name}: its twin states another fact"));
            }
            Some(_) => {}
        }
    }
    for twin in &twins {
        if !twin.races.is_empty() || !twin.findings.is_empty() {
            faults.push(format!("{}: a twin must not be marked", twin.name));
        }
    }
    faults.extend(programs.iter().flat_map(|program| program.faults.iter().cloned()));
    if racy.len() < PROGRAMS_AT_LEAST || twins.len() != racy.len() {
        faults.push(format!("{} programs and {} twins", racy.len(), twins.len()));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n").into()) }
}
