//! The report: what is told of a run, its names resolved. Its JSON form, one object a line, is
//! the interface that `docs/reports.md` describes.
//!
//! Invariant: fields are added, never renamed or given another meaning, while [`SCHEMA`] stays;
//! a reader skips fields that it does not know.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::illformed::IllFormed;
use crate::seen::SeenIn;

/// The version of the JSON form; the `run` line carries it.
pub const SCHEMA: u32 = 1;

/// Everything that is told of one run.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// The run.
    pub run: Run,
    /// Its races, each id once.
    pub races: Vec<Race>,
    /// What is wrong with it but no race.
    pub findings: Vec<Finding>,
    /// The counts at the end.
    pub summary: Summary,
}

/// One line of the JSON form.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum Line {
    /// The first line.
    Run(Box<Run>),
    /// A race.
    Race(Box<Race>),
    /// Something wrong that is no race.
    Finding(Box<Finding>),
    /// The last line.
    Summary(Box<Summary>),
}

/// The run that was judged.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Run {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The version of deadheat that judged it.
    pub deadheat: String,
    /// The program's path.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The folder that it ran in; relative files in frames are relative to it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub folder: String,
    /// The program's and its libraries' files.
    pub modules: Vec<Module>,
    /// When the newest instrumented module was built, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built: Option<u64>,
    /// How it was watched: `record`, `detect`, `import`, …
    pub mode: String,
    /// The trace that was read, if one was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The seed of the schedule, where one was steered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// When it began, in seconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started: Option<u64>,
    /// The process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The analyses that judged it.
    pub by: Vec<String>,
    /// How many processes it had that were watched.
    #[serde(skip_serializing_if = "is_at_most_one")]
    pub processes: u64,
    /// How many threads it had.
    pub threads: u64,
    /// How many events were seen.
    pub events: u64,
    /// How many instrumented accesses were among them.
    pub accesses: u64,
    /// Whether there was any, where they are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub accessed: Option<bool>,
    /// How many calls of code that is not instrumented were among them.
    pub hidden_calls: u64,
}

impl Run {
    /// Whether an instrumented access was seen.
    #[must_use]
    pub fn has_accesses(&self) -> bool {
        self.accessed.unwrap_or(self.accesses > 0)
    }
}

/// A file of code that was mapped into the program.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Module {
    /// Its path.
    pub path: String,
    /// Its build id in hexadecimal; empty if it has none.
    pub build_id: String,
}

/// The strength of a race's evidence, weakest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// No lock protects all accesses, or the analysis can be wrong.
    Suspected,
    /// A correct reordering of an observed run brings the accesses side by side.
    Predicted,
    /// Both happened in one run and nothing ordered them.
    #[default]
    Observed,
    /// Two threads stood before both at the same moment.
    Proved,
}

impl Grade {
    /// All grades, weakest first.
    pub const ALL: [Grade; 4] = [Grade::Suspected, Grade::Predicted, Grade::Observed, Grade::Proved];

    /// The grade as it is written in options and in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Grade::Suspected => "suspected",
            Grade::Predicted => "predicted",
            Grade::Observed => "observed",
            Grade::Proved => "proved",
        }
    }

    /// What other tools call a report of this grade: `error` or `warning`.
    #[must_use]
    pub fn level(self) -> &'static str {
        match self {
            Grade::Proved | Grade::Observed => "error",
            Grade::Predicted | Grade::Suspected => "warning",
        }
    }

    /// The grade as it is shown to a person.
    #[must_use]
    pub fn shown(self) -> &'static str {
        match self {
            Grade::Suspected => "suspected",
            Grade::Predicted => "predicted",
            Grade::Observed => "unordered",
            Grade::Proved => "dead heat",
        }
    }
}

/// Two accesses that conflict and that nothing ordered.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Race {
    /// Its id, stable over runs and rebuilds.
    pub id: String,
    /// The strength of the evidence.
    pub grade: Grade,
    /// The analyses that found it.
    pub by: Vec<String>,
    /// How often it was seen in the run.
    #[serde(default = "once")]
    pub count: u64,
    /// The two accesses.
    pub accesses: [Access; 2],
    /// Where the threads come from, one row a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// What lies at the address.
    pub location: Location,
    /// What else the same places race on: other variables and blocks, of one macro or one function that is given them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Location>,
    /// An execution that replays it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<serde_json::Value>,
    /// How to mend it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<Suggestion>,
    /// Of a suspected race: what the order of the run says of the two accesses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order_here: Option<OrderHere>,
    /// Where it was seen, if the run had several processes: a row for each command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_in: Vec<SeenIn>,
}

/// The lock that most accesses hold to what a race is on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Suggestion {
    /// Its name for people.
    pub lock: String,
    /// What it is in every run, as in [`Lock::id`].
    #[serde(default)]
    pub id: String,
    /// How many accesses hold it.
    pub held_at: u64,
    /// How many there are.
    pub of: u64,
    /// How many locks of one class are meant, where that is more than one: each object has its own.
    #[serde(default = "once", skip_serializing_if = "is_at_most_one")]
    pub instances: u64,
}

/// What the order of the run says of two accesses that no lock protects.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OrderHere {
    /// Nothing ordered them.
    Unordered,
    /// Locks that passed from one thread to the other did, and nothing else.
    Locks,
    /// Something that is no lock did.
    Other,
}

fn once() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_once(count: &u64) -> bool {
    *count < 2
}

/// What an access did.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Only read.
    #[default]
    Read,
    /// Only wrote.
    Write,
    /// Read, then wrote.
    ReadWrite,
    /// Ended the life of the block.
    Free,
}

impl Operation {
    /// The operation as it is written in JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Operation::Read => "read",
            Operation::Write => "write",
            Operation::ReadWrite => "read-write",
            Operation::Free => "free",
        }
    }
}

/// One side of a race.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Access {
    /// The thread, as a path of spawn ordinals.
    pub thread: String,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread_name: String,
    /// What it did.
    pub op: Operation,
    /// Whether it was atomic.
    pub atomic: bool,
    /// The memory order of an atomic access: `relaxed`, `acquire`, …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<String>,
    /// How the program came to make it, where that is not plain code: `volatile`, `vptr`,
    /// `memory-function`, `system`, [`birth`](BIRTH), [`object`](OBJECT).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// How many bytes it touched.
    pub size: u64,
    /// The first of them.
    pub address: Hex,
    /// The stack, innermost first.
    pub frames: Vec<Frame>,
    /// Of an access whose stack is not remembered: the thread's clock then, which a synchronisation
    /// made that and the next one changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<u64>,
    /// The locks that the thread held.
    pub locks: Vec<Lock>,
}

/// A frame of a stack.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Frame {
    /// The function, demangled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// The source file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The line in it, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The line that the function is declared at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function_line: Option<u32>,
    /// The name of the module's file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The address in the module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<Hex>,
    /// The address's offset in the symbol that holds it, where only a symbol is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symbol_offset: Option<Hex>,
    /// Whether the function was inlined into the next frame's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub inlined: bool,
    /// Whether it is of a library that is not instrumented: the system's, or one of which no source is known.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub library: bool,
}

/// A lock that was held.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Lock {
    /// Its name for people.
    pub name: String,
    /// What it is in every run: a symbol, or an allocation site and an offset.
    pub id: String,
    /// How it was held: `write` (exclusive) or `read` (shared).
    #[serde(default)]
    pub mode: LockMode,
    /// Its address, where another lock of the same name was held at the race's other access, or is one of the finding's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
}

impl Lock {
    /// Its name, by which it is not taken for another lock of the race or finding.
    #[must_use]
    pub fn shown(&self) -> String {
        self.address.map_or_else(|| self.name.clone(), |address| format!("{} at {address}", self.name))
    }
}

/// How a lock was held.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LockMode {
    /// Exclusively.
    #[default]
    Write,
    /// Shared with other readers.
    Read,
}

/// Where a thread comes from.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Thread {
    /// The thread, as a path of spawn ordinals.
    pub thread: String,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Who created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<String>,
    /// Where.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
}

impl Location {
    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
    pub(crate) fn is_unknown(&self) -> bool {
        *self == Location::Unknown
    }
}

/// What lies at a raced-for address.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Location {
    /// A global or static variable.
    Global {
        /// Its name, demangled.
        symbol: String,
        /// The part that was accessed, as it is written behind the name: `.size`, `[3].next`;
        /// empty for the whole, or where that is not known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        part: String,
        /// The address's offset in it.
        offset: u64,
        /// Its size.
        size: u64,
        /// The name of the module's file.
        module: String,
    },
    /// A block of the heap.
    Heap {
        /// The block's size.
        size: u64,
        /// The address's offset in it.
        offset: u64,
        /// Who allocated it.
        thread: String,
        /// Where, innermost first.
        frames: Vec<Frame>,
    },
    /// A thread's stack.
    Stack {
        /// Whose.
        thread: String,
        /// The function that the variable belongs to.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        function: Option<String>,
        /// The variable, and behind it the part that was accessed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        variable: Option<String>,
        /// The source file that declares it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
        /// The line in it, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// Thread-local storage.
    Tls {
        /// The variable's name, demangled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        symbol: Option<String>,
        /// Whose.
        thread: String,
    },
    /// A mapping that the program made.
    Mapping {
        /// Its size.
        size: u64,
        /// The address's offset in it.
        offset: u64,
        /// Who mapped it.
        thread: String,
        /// Where, innermost first.
        frames: Vec<Frame>,
    },
    /// A file descriptor, as a thing that is used and closed.
    Descriptor {
        /// Its number.
        number: u64,
        /// Who opened it.
        thread: String,
        /// Where, innermost first.
        frames: Vec<Frame>,
    },
    /// A variable that the trace names.
    Named {
        /// Its name.
        name: String,
    },
    /// Not known.
    #[default]
    Unknown,
}

/// The kind of a finding: locks that are taken in opposite orders.
pub const LOCK_ORDER: &str = "lock-order";
/// The kind of a finding that is the use of a freed block, ordered behind its end.
pub const USE_AFTER_FREE: &str = "use-after-free";
/// How an access came about: a block was allocated.
pub const BIRTH: &str = "birth";
/// How an access came about: a lock, condition variable, barrier or file descriptor was used as the thing in memory that it is, or made or destroyed.
pub const OBJECT: &str = "object";
/// What a step did: it took a lock.
pub const TOOK: &str = "took";
/// What a step did: it asked for a lock.
pub const ASKED: &str = "asked";

/// What is wrong but no race.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Finding {
    /// `deadlock`, `lock-order`, `crash`, `assertion`, `hang`, `mutex-misuse`, `thread-leak`,
    /// `signal-unsafe`, `use-after-free`, …
    pub kind: String,
    /// What it is within its kind: for `mutex-misuse` the rule that was broken, as `double-lock`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sort: String,
    /// The strength of the evidence, where that applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
    /// One sentence.
    pub message: String,
    /// How often it was seen.
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub count: u64,
    /// The thread.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread: String,
    /// Where, innermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<Frame>,
    /// The lock that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// That lock's address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Hex>,
    /// The number of the signal whose handler it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<u32>,
    /// What else was done: who took the lock; for `lock-order`, by turns, who took a lock and asked for the next.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// For `use-after-free`: the end of the block's life, then the access behind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<Box<[Access; 2]>>,
    /// What lies at the address of those.
    #[serde(default, skip_serializing_if = "Location::is_unknown")]
    pub location: Location,
    /// Where the threads come from, one row a thread.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// The schedule that led there, where one was steered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<serde_json::Value>,
    /// Where it was seen, if the run had several processes: a row for each command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub seen_in: Vec<SeenIn>,
}

/// One of the things that were done for a finding to come about.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// `took` or `asked`.
    pub what: String,
    /// The thread.
    pub thread: String,
    /// Its name, if it has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub thread_name: String,
    /// The lock.
    pub lock: Lock,
    /// The lock's address.
    pub address: Hex,
    /// Where, innermost first.
    pub frames: Vec<Frame>,
}

/// How far a hunt came: pairs are pairs of places, each one possible race.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Coverage {
    /// Pairs that conflict and that nothing excludes.
    pub pairs: u64,
    /// Pairs that met.
    pub proved: u64,
    /// Further pairs that met while others were waited for.
    pub beyond: u64,
    /// By who nominated pairs: how many, and how many of them met.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub nominated: BTreeMap<String, Nominated>,
    /// Pairs that were tried and did not meet.
    pub missed: u64,
    /// The same by the reason: `none`, `quiescent`, `moved`, `lost`, `busy`, `undecided`.
    pub verdicts: BTreeMap<String, u64>,
    /// Pairs that were not tried as often as planned, though tried.
    pub unfinished: u64,
    /// Pairs that were not tried.
    pub untried: u64,
    /// Targets: occasions for a pair to meet.
    pub targets: u64,
    /// Targets of which a side was not there in the latest run that tried them.
    pub lost: u64,
    /// Runs that provoked.
    pub runs: u64,
    /// Runs that ended in another way than the watched one.
    pub diverged: u64,
    /// What was not nominated, by the reason.
    pub dropped: BTreeMap<String, u64>,
}

/// What came of the pairs that one analysis nominated, alone or with others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Nominated {
    /// Pairs.
    pub pairs: u64,
    /// Those that met.
    pub proved: u64,
}

/// The counts of a report.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// How many races are told.
    pub races: u64,
    /// How many of each grade.
    pub grades: BTreeMap<Grade, u64>,
    /// How often they were seen together.
    pub occurrences: u64,
    /// How many races the suppressions took out.
    pub suppressed: u64,
    /// How many findings are told.
    pub findings: u64,
    /// How many races were found but not kept, because there were too many.
    #[serde(skip_serializing_if = "is_zero")]
    pub dropped: u64,
    /// How many refinements were checked, by an analysis that checks such: two threads and a stretch of memory each.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checks: Option<u64>,
    /// How far a hunt came, if it was one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunt: Option<Coverage>,
    /// What the reader should know: a run that could not have shown a race, a module that
    /// changed, a trace that ends early.
    pub notes: Vec<String>,
    /// The traces that no run can have, with what is wrong with them. Each has a note, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ill_formed: Vec<IllFormed>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's form")]
fn is_at_most_one(number: &u64) -> bool {
    *number < 2
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Summary {
    /// The counts of `races` and `findings`; the rest is zero or empty.
    #[must_use]
    pub fn of(races: &[Race], findings: &[Finding]) -> Summary {
        let mut grades = BTreeMap::new();
        for race in races {
            *grades.entry(race.grade).or_insert(0) += 1;
        }
        Summary {
            races: races.len() as u64,
            grades,
            occurrences: races.iter().map(|race| race.count).sum(),
            findings: findings.len() as u64,
            ..Summary::default()
        }
    }
}

/// A number that JSON holds as a hexadecimal string, because not every reader keeps 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

impl Serialize for Hex {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Hex {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let number = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number.map(Hex).ok_or_else(|| serde::de::Error::custom("expected a number like 0x1f"))
    }
}
