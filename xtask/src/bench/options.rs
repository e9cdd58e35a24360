//! The command line of `cargo xtask bench`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::compare::Manner;
use super::{Outcome, Stop};

/// What is measured, and how.
#[derive(Clone)]
pub(crate) struct Options {
    /// `kernels`, `gate`, `hunt`, `micro`, `predict`, `real`, `scenarios`, `std` or `help`.
    pub(crate) subject: String,
    /// Rounds of each comparison.
    pub(crate) pairs: usize,
    /// Analyses, if not the usual ones.
    pub(crate) by: Vec<String>,
    /// If not empty: only these.
    pub(crate) only: Vec<String>,
    /// The C compiler.
    pub(crate) cc: String,
    /// The command under test, if not the one that is built here.
    pub(crate) deadheat: Option<PathBuf>,
    /// Where to work, if not in the usual folder.
    pub(crate) output: Option<PathBuf>,
    /// Bound on a single run.
    pub(crate) timeout: Duration,
    /// Threads of each program; kernels and real programs are measured with each of these numbers.
    pub(crate) threads: Vec<usize>,
    /// Also measure hooks that only return.
    pub(crate) off: bool,
    /// Let deadheat find races while the program runs, instead of recording it.
    pub(crate) online: bool,
    /// Also measure Helgrind and DRD.
    pub(crate) valgrind: bool,
    /// In how many rounds, if not in all.
    pub(crate) valgrind_rounds: Option<usize>,
    /// Hunt real programs instead of measuring them.
    pub(crate) hunt: bool,
    /// Compare what real programs find by themselves with their recordings instead of measuring.
    pub(crate) same: bool,
    /// How long each of them is hunted, as `deadheat hunt --budget` reads it.
    pub(crate) budget: String,
    /// Size of the input of real programs.
    pub(crate) megabytes: usize,
    /// A further suite to look for sources in.
    pub(crate) suite: String,
    /// Size of the STD trace.
    pub(crate) events: usize,
    /// What makes the STD trace.
    pub(crate) generator: Option<PathBuf>,
    /// RAPID's command line.
    pub(crate) rapid: Option<String>,
    /// The same of its SyncP and of its OSR.
    pub(crate) rapid_syncp: Option<String>,
    pub(crate) rapid_osr: Option<String>,
    /// In how many rounds these run, and their bound.
    pub(crate) rapid_rounds: usize,
    pub(crate) rapid_timeout: Duration,
    /// Ways of hunting.
    pub(crate) ways: Option<String>,
}

impl Options {
    /// Reads the command line.
    pub(crate) fn parse(arguments: &[OsString]) -> Outcome<Options> {
        let mut options = Options {
            subject: "kernels".to_owned(),
            pairs: 7,
            by: Vec::new(),
            only: Vec::new(),
            cc: "clang-19".to_owned(),
            deadheat: None,
            output: None,
            timeout: Duration::from_secs(300),
            threads: vec![2],
            off: false,
            online: false,
            valgrind: false,
            valgrind_rounds: None,
            hunt: false,
            same: false,
            budget: "10m".to_owned(),
            megabytes: 40,
            suite: "trixie".to_owned(),
            events: 1_000_000,
            generator: None,
            rapid: None,
            rapid_syncp: None,
            rapid_osr: None,
            rapid_rounds: 1,
            rapid_timeout: Duration::from_secs(120),
            ways: None,
        };
        let mut words = arguments.iter().map(|word| word.to_string_lossy().into_owned());
        let mut first = true;
        while let Some(word) = words.next() {
            match word.as_str() {
                "-h" | "--help" => options.subject = "help".to_owned(),
                "--off" => options.off = true,
                "--online" => options.online = true,
                "--valgrind" => options.valgrind = true,
                "--hunt" => options.hunt = true,
                "--same" => options.same = true,
                option if option.starts_with("--") => {
                    let value = words.next().ok_or_else(|| Stop::usage(format!("{option} needs a value")))?;
                    options.set(option, value)?;
                }
                name if first => {
                    options.subject = name.to_owned();
                    if name == "scenarios" {
                        options.pairs = super::scenarios::RUNS;
                    }
                }
                other => return Err(Stop::usage(format!("what is meant by {other}? see --help"))),
            }
            first = false;
        }
        Ok(options)
    }

    fn set(&mut self, option: &str, value: String) -> Outcome<()> {
        match option {
            "--pairs" => self.pairs = number(option, &value)?,
            "--valgrind-rounds" => {
                self.valgrind_rounds = Some(number(option, &value)?);
                self.valgrind = true;
            }
            "--threads" => {
                self.threads = value.split(',').map(|one| number(option, one)).collect::<Outcome<_>>()?;
            }
            "--timeout" => self.timeout = Duration::from_secs(number(option, &value)? as u64),
            "--megabytes" => self.megabytes = number(option, &value)?,
            "--events" => self.events = number(option, &value)?,
            "--by" => self.by = value.split(',').map(str::to_owned).collect(),
            "--only" => self.only = value.split(',').map(str::to_owned).collect(),
            "--cc" => self.cc = value,
            "--budget" => self.budget = value,
            "--suite" => self.suite = value,
            "--deadheat" => self.deadheat = Some(value.into()),
            "--output" => self.output = Some(value.into()),
            "--generator" => self.generator = Some(value.into()),
            "--rapid" => self.rapid = Some(value),
            "--rapid-syncp" => self.rapid_syncp = Some(value),
            "--rapid-osr" => self.rapid_osr = Some(value),
            "--rapid-rounds" => self.rapid_rounds = number(option, &value)?,
            "--rapid-timeout" => {
                self.rapid_timeout = Duration::from_secs(number(option, &value)? as u64);
            }
            "--ways" => self.ways = Some(value),
            _ => return Err(Stop::usage(format!("no option is called {option}; see --help"))),
        }
        Ok(())
    }

    /// Whether this kernel or program is to be measured.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }

    /// How the programs are compared.
    pub(crate) fn manner(&self) -> Manner {
        let Options { pairs, timeout, off, online, .. } = *self;
        let valgrind = if self.valgrind { self.valgrind_rounds.unwrap_or(pairs) } else { 0 };
        Manner { pairs, timeout, off, online, valgrind }
    }

    /// The C++ compiler that belongs to the C compiler.
    pub(crate) fn cxx(&self) -> String {
        match self.cc.strip_prefix("clang") {
            Some(version) => format!("clang++{version}"),
            None => self.cc.replacen("gcc", "g++", 1),
        }
    }
}

fn number(option: &str, value: &str) -> Outcome<usize> {
    match value.parse() {
        Ok(number) if number > 0 => Ok(number),
        _ => Err(Stop::usage(format!("{option} needs a number above zero, not {value}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &[&str]) -> Outcome<Options> {
        Options::parse(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_wrong_ones_refused() {
        let Ok(options) = parse(&["real", "--pairs", "3", "--only", "xz,zstd", "--cc", "gcc"]) else {
            panic!("well formed")
        };
        assert_eq!((options.subject.as_str(), options.pairs), ("real", 3));
        assert!(options.wants("xz") && !options.wants("pigz"));
        assert_eq!(options.cxx(), "g++");
        assert_eq!(options.threads, [2]);
        for wrong in
            [&["--pairs", "0"][..], &["--pairs"], &["--speed", "9"], &["real", "std"], &["--threads", "2,0"]]
        {
            assert_eq!(parse(wrong).err().map(|stop| stop.code), Some(2), "{wrong:?}");
        }
    }

    #[test]
    fn several_numbers_of_threads_are_read() {
        let Ok(options) = parse(&["--threads", "2,4", "--valgrind"]) else { panic!("well formed") };
        assert_eq!((options.threads.as_slice(), options.manner().valgrind), (&[2, 4][..], 7));
        let Ok(options) = parse(&["--valgrind-rounds", "2"]) else { panic!("well formed") };
        assert_eq!((options.pairs, options.manner().valgrind), (7, 2));
    }

    #[test]
    fn scenarios_have_a_number_of_runs_of_their_own() {
        let Ok(options) = parse(&["scenarios", "--by", "hb,shb"]) else { panic!("well formed") };
        assert_eq!((options.pairs, options.by.len()), (10, 2));
        let Ok(options) = parse(&["scenarios", "--pairs", "2"]) else { panic!("well formed") };
        assert_eq!(options.pairs, 2);
    }

    #[test]
    fn the_cplusplus_compiler_follows() {
        let Ok(options) = parse(&[]) else { panic!("well formed") };
        assert_eq!(options.cxx(), "clang++-19");
    }
}
