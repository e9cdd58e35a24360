//! `cargo xtask bench`: measures recording and analysis beside the tools that one would use instead.
//!
//! Everything is measured within one run and told as ratios pair by pair: the tools take turns, so that
//! a machine whose speed drifts spoils no comparison. Times and memory are the operating system's own
//! accounting of finished processes.

mod compare;
mod gate;
mod hunt;
mod kernels;
mod library;
mod marks;
mod measure;
mod micro;
mod options;
mod predict;
mod real;
mod recording;
mod scenarios;
mod statistic;
mod std_text;
mod table;
mod tell;
mod tools;
mod valgrind;

use std::ffi::OsString;
use std::process::ExitCode;

use options::Options;

/// What stops a bench: a sentence, and the exit code that goes with it.
pub(crate) struct Stop {
    /// 2 wrong usage, 69 something is missing, 70 a measurement failed.
    pub(crate) code: u8,
    /// What is wrong and what to do.
    pub(crate) why: String,
}

impl Stop {
    /// The command line cannot be meant so.
    pub(crate) fn usage(why: impl Into<String>) -> Stop {
        Stop { code: 2, why: why.into() }
    }

    /// Something has to be installed first.
    pub(crate) fn missing(why: impl Into<String>) -> Stop {
        Stop { code: 69, why: why.into() }
    }

    /// A step failed.
    pub(crate) fn failed(why: impl Into<String>) -> Stop {
        Stop { code: 70, why: why.into() }
    }
}

/// Either a value or why there is none.
pub(crate) type Outcome<T> = Result<T, Stop>;

const USAGE: &str = "\
usage: cargo xtask bench [kernels] [OPTIONS]   our own kernels: native, TSan, deadheat
       cargo xtask bench real [OPTIONS]        pigz, pbzip2, xz, zstd, leveldb from source packages
       cargo xtask bench gate [OPTIONS]        our kernels provoked with nothing hit, beside hooks that only return
       cargo xtask bench micro [OPTIONS]       single operations: instructions, under callgrind, and time
       cargo xtask bench library [OPTIONS]     calls of the C and C++ libraries: time, the dearest beside TSan first
       cargo xtask bench hunt [OPTIONS]        the racy programs of spec/hunts, hunted in several ways
       cargo xtask bench scenarios [OPTIONS]   the races of spec/programs/prediction: found from one run, and by free runs of others
       cargo xtask bench predict [OPTIONS]     `lockset`, `sync-preserving`, `sync-reversal`, `csp` and its engine; beside RAPID
       cargo xtask bench std [OPTIONS]         `hb` on a large STD text, beside RAPID

  --pairs N         rounds of each comparison (default 7)
  --only A,B        only the kernels, programs or operations of these names
  --cc NAME         compiler of everything that is built: clang-19 (default) or gcc
  --deadheat PATH   the command under test (default: built here, in release mode)
  --output DIR      where to build, run and leave the results (default: target/bench, target/real, target/micro, target/library)
  --timeout SECONDS bound on each single run (default 300)
  --threads N,M     threads of each kernel or program (default 2); kernels and real take more than one number
  --online          kernels and real: deadheat finds races while the program runs, instead of recording it
  --valgrind        kernels and real: Helgrind and DRD, too, on the native build; slow: over --timeout is told as such
  --valgrind-rounds N  these only in the first N rounds
kernels:
  --off             also run with the hooks linked in but told to do nothing
real:
  --megabytes N     size of the generated input, scaled for each program (default 40)
  --suite NAME      a further suite to look for sources in (default trixie)
  --hunt            hunt pigz, pbzip2 and leveldb's own tests instead of measuring
  --same            record them while races are looked for, and compare what both find; a tenth of the input
  --budget TIME     how long each of them is hunted (default 10m)
std:
  --events N        size of the generated trace (default 1000000)
  --generator PATH  the script that makes the trace: PATH -n EVENTS -t THREADS --seed S -o FILE
  --rapid COMMAND   command line of RAPID's FastTrack, `{}` stands for the trace
predict (--only takes lockset, texts, csp, engine; --events and --generator as above):
  --rapid-syncp COMMAND, --rapid-osr COMMAND  command lines of RAPID's SyncP and OSR, `{}` stands for the trace
  --rapid-rounds N  these only in the first N rounds (default 1)
  --rapid-timeout SECONDS  bound on each of their runs (default 120)
scenarios (--pairs is the number of free runs of each other tool, default 10):
  --by A,B          the analyses (default: all that predict, `hb` and `lockset`)
hunt (--pairs is the number of hunts in each way):
  --ways 'A B'      hunt, places, sample:N[,TIME], no-drops, no-ranking: as `deadheat hunt` does it, matching
                    places alone, sampling as long as hunt takes, without drops, without ranking";

/// Runs the chore.
pub(crate) fn run(arguments: &[OsString]) -> ExitCode {
    if arguments.first().is_some_and(|name| name == measure::NAME) {
        return measure::child(&arguments[1..]);
    }
    match Options::parse(arguments).and_then(dispatch) {
        Ok(()) => ExitCode::SUCCESS,
        Err(stop) => {
            eprintln!("bench: {}", stop.why);
            ExitCode::from(stop.code)
        }
    }
}

fn dispatch(options: Options) -> Outcome<()> {
    match options.subject.as_str() {
        "help" => {
            println!("{USAGE}");
            Ok(())
        }
        "kernels" => kernels::run(&options),
        "gate" => gate::run(&options),
        "hunt" => hunt::run(&options),
        "library" => library::run(&options),
        "micro" => micro::run(&options),
        "predict" => predict::run(&options),
        "real" => real::run(&options),
        "scenarios" => scenarios::run(&options),
        "std" => std_text::run(&options),
        other => Err(Stop::usage(format!("no bench is called {other}\n{USAGE}"))),
    }
}
