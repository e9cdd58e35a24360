//! What a program says of itself.
//!
//! The first line is a comment of one sentence: the fact. Directives are lines `//! KEY: VALUE`:
//!
//! | key | value |
//! |---|---|
//! | `std` | the language standard, if not `gnu11` or `gnu++17` |
//! | `flags` | further arguments for the compiler |
//! | `needs` | the one compiler (`gcc` or `clang`) that can show the fact, a comma, and why |
//! | `object`, `library`, `plugin` | a further file: linked in, linked as a shared library, or built as `./NAME.so` for `dlopen` |
//! | `uninstrumented` | a further file: compiled without instrumentation and linked in |
//! | `observed N` | `sometimes`: a free run may end without having shown race N |
//! | `location N` | `KIND [NAME[+OFFSET]]`: what the address of race N is told to be |
//! | `location N online` | the same for a race that is found while the program runs, where that is another |
//!
//! Marks end a line of the program or of a further file: `//~ race N: OPERATION`, several with
//! commas between them. The two marks of one number are the two accesses of one race. The
//! operations are `read`, `write`, `free`, `atomic read` and `atomic write`; what reads and
//! writes at once is a write. A further file's marks count for the racy program alone, which may
//! share the file with its twin. `in f < g` behind the operation gives the functions of the
//! access's stack that lie in the program's files, innermost first, all of them. `unmet N` in the
//! place of `race N` marks two accesses that race but never stand side by side.
//!
//! `//~ finding N: WORD` marks a finding of that sort or kind (`double-lock`, `thread-leak`) where it is told; the marks of
//! one number are the requests of one `lock-order`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::build::Compiler;

/// One access of a race: where it is and what it does.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Side {
    /// The name of the source file.
    pub(crate) file: String,
    /// The line, from 1; 0 where a report knows none.
    pub(crate) line: u64,
    /// The operation, as in a mark.
    pub(crate) operation: String,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} {}", self.file, self.line, self.operation)
    }
}

/// Two accesses, in no order: the smaller comes first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Pair(pub(crate) Side, pub(crate) Side);

impl Pair {
    /// The pair of two sides.
    pub(crate) fn new(one: Side, other: Side) -> Pair {
        if one <= other { Pair(one, other) } else { Pair(other, one) }
    }
}

impl fmt::Display for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} / {}", self.0, self.1)
    }
}

/// How a further file is brought in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// Compiled and linked into the program.
    Object,
    /// A shared library that the program is linked with.
    Library,
    /// A shared library that the program opens itself.
    Plugin,
    /// Compiled without instrumentation and linked into the program.
    Uninstrumented,
}

/// How a race is found.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Found {
    /// By an analysis of the recorded run.
    Offline,
    /// While the program runs.
    Online,
    /// By the program itself, when it is started by hand.
    ByHand,
}

/// A program of the specification.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// Topic and name: `threads/join`.
    pub(crate) name: String,
    /// Its source.
    pub(crate) path: PathBuf,
    /// Its first line, without the comment sign.
    pub(crate) sentence: String,
    /// The language standard.
    pub(crate) std: String,
    /// Further arguments for the compiler.
    pub(crate) flags: Vec<String>,
    /// Further files.
    pub(crate) parts: Vec<(Role, PathBuf)>,
    /// The races that must be told, and no others.
    pub(crate) races: BTreeSet<Pair>,
    /// What else must be told, and nothing else: the word for it, and its lines as `FILE:LINE`.
    pub(crate) findings: BTreeSet<(String, BTreeSet<String>)>,
    /// The races that no two threads can be made to meet in.
    pub(crate) unmet: BTreeSet<Pair>,
    /// The races that a run need not show.
    pub(crate) sometimes: BTreeSet<Pair>,
    /// The stacks that accesses must have: functions of the program's files, innermost first.
    pub(crate) stacks: BTreeMap<Side, Vec<String>>,
    /// What lies at the address of a race, and what is told of it where the race is found while the program runs.
    pub(crate) locations: BTreeMap<(Pair, Found), String>,
    /// What is wrong with its directives and marks.
    pub(crate) faults: Vec<String>,
    needs: Option<String>,
}

/// The topics whose programs are run in an order that is set from outside; `tests/prediction.rs` and `tests/nominated.rs`
/// judge them.
const ORDERED: [&str; 2] = ["prediction", "nomination"];

/// The programs below `root`, sorted. Folders of further files are not entered.
pub(crate) fn files(root: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for topic in fs::read_dir(root).expect("spec/programs is a folder") {
        let topic = topic.expect("spec/programs can be listed").path();
        if !topic.is_dir() || ORDERED.iter().any(|ordered| topic.ends_with(ordered)) {
            continue;
        }
        for file in fs::read_dir(&topic).expect("a topic can be listed") {
            let file = file.expect("a topic can be listed").path();
            if file.extension().is_some_and(|extension| extension == "c" || extension == "cpp") {
                found.push(file);
            }
        }
    }
    found.sort();
    found
}

impl Program {
    /// Reads a program and its further files.
    pub(crate) fn read(path: &Path) -> Program {
        let text = fs::read_to_string(path).expect("a program can be read");
        let folder = path.parent().expect("a program lies in a topic");
        let topic = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut program = Program {
            name: format!("{topic}/{}", path.file_stem().unwrap_or_default().to_string_lossy()),
            path: path.to_owned(),
            sentence: text.lines().next().unwrap_or_default().trim_start_matches("// ").to_owned(),
            std: String::new(),
            flags: Vec::new(),
            parts: Vec::new(),
            races: BTreeSet::new(),
            findings: BTreeSet::new(),
            unmet: BTreeSet::new(),
            sometimes: BTreeSet::new(),
            stacks: BTreeMap::new(),
            locations: BTreeMap::new(),
            faults: Vec::new(),
            needs: None,
        };
        program.std = if program.is_cxx() { "gnu++17" } else { "gnu11" }.to_owned();
        let (mut locations, mut sometimes) = (Vec::new(), Vec::new());
        for line in text.lines().filter_map(|line| line.strip_prefix("//! ")) {
            program.directive(line, folder, &mut locations, &mut sometimes);
        }
        let mut sides = program.marks();
        for (number, found, kind) in locations {
            // A twin has no marks, and its directives are those of the racy program.
            let number = Number { unmet: false, number };
            if let Some([one, other]) = sides.get(&number).map(Vec::as_slice) {
                program.locations.insert((Pair::new(one.clone(), other.clone()), found), kind);
            }
        }
        while let Some((number, sides)) = sides.pop_first() {
            let Ok([one, other]) = <[Side; 2]>::try_from(sides) else {
                program.faults.push(format!("{}: race {} has not two sides", program.name, number.number));
                continue;
            };
            let pair = Pair::new(one, other);
            if number.unmet {
                program.unmet.insert(pair);
                continue;
            }
            if sometimes.contains(&number.number) {
                program.sometimes.insert(pair.clone());
            }
            program.races.insert(pair);
        }
        program
    }

    /// Whether it is the mended form of another.
    pub(crate) fn is_twin(&self) -> bool {
        self.name.ends_with("_ok")
    }

    /// Whether it is C++.
    pub(crate) fn is_cxx(&self) -> bool {
        self.path.extension().is_some_and(|extension| extension == "cpp")
    }

    /// Whether the compiler can show its fact.
    pub(crate) fn is_for(&self, compiler: Compiler) -> bool {
        self.needs.as_deref().is_none_or(|needs| needs == compiler.family())
    }

    /// The names of its own files: the source and the further files.
    pub(crate) fn owns(&self, file: &str) -> bool {
        let name = Path::new(file).file_name();
        self.path.file_name() == name || self.parts.iter().any(|(_, part)| part.file_name() == name)
    }

    fn directive(
        &mut self,
        line: &str,
        folder: &Path,
        locations: &mut Vec<(u32, Found, String)>,
        sometimes: &mut Vec<u32>,
    ) {
        let fault = |what: &str| format!("{}: {what}: `{line}`", self.name);
        let Some((key, value)) = line.split_once(": ") else {
            self.faults.push(fault("no directive"));
            return;
        };
        match key {
            "std" => self.std = value.replace("c++", "gnu++"),
            "flags" => self.flags = value.split_whitespace().map(str::to_owned).collect(),
            "needs" => match value.split_once(", ") {
                Some((compiler @ ("gcc" | "clang"), _)) => self.needs = Some(compiler.to_owned()),
                _ => self.faults.push(fault("neither `gcc` nor `clang` with a reason")),
            },
            "object" => self.parts.push((Role::Object, folder.join(value))),
            "library" => self.parts.push((Role::Library, folder.join(value))),
            "plugin" => self.parts.push((Role::Plugin, folder.join(value))),
            "uninstrumented" => self.parts.push((Role::Uninstrumented, folder.join(value))),
            _ if key.starts_with("location ") && key.ends_with(" online") => {
                match key.split(' ').nth(1).and_then(|number| number.parse().ok()) {
                    Some(number) => locations.push((number, Found::Online, value.to_owned())),
                    None => self.faults.push(fault("unknown directive")),
                }
            }
            _ => match key.split_once(' ').map(|(word, number)| (word, number.parse())) {
                Some(("location", Ok(number))) => locations.push((number, Found::Offline, value.to_owned())),
                Some(("observed", Ok(number))) if value == "sometimes" => sometimes.push(number),
                _ => self.faults.push(fault("unknown directive")),
            },
        }
    }

    /// The sides that are marked, by the number of the race.
    fn marks(&mut self) -> BTreeMap<Number, Vec<Side>> {
        let mut sides: BTreeMap<Number, Vec<Side>> = BTreeMap::new();
        let mut findings: BTreeMap<(u32, String), BTreeSet<String>> = BTreeMap::new();
        let mut files = vec![self.path.clone()];
        if !self.is_twin() {
            files.extend(self.parts.iter().map(|(_, part)| part.clone()));
        }
        for path in files {
            let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let text =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            for (line, text) in (1..).zip(text.lines()) {
                let Some((_, marks)) = text.split_once("//~ ") else { continue };
                for mark in marks.split(", ") {
                    if let Some((number, word)) = parse_finding(mark) {
                        findings.entry((number, word)).or_default().insert(format!("{file}:{line}"));
                        continue;
                    }
                    match parse_mark(mark) {
                        Some((number, operation, stack)) => {
                            let side = Side { file: file.clone(), line, operation: operation.to_owned() };
                            if !stack.is_empty() {
                                self.stacks.insert(side.clone(), stack);
                            }
                            sides.entry(number).or_default().push(side);
                        }
                        None => self.faults.push(format!("{file}:{line}: no mark: `{mark}`")),
                    }
                }
            }
        }
        self.findings = findings.into_iter().map(|((_, word), lines)| (word, lines)).collect();
        sides
    }
}

/// What a mark's two words say.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Number {
    unmet: bool,
    number: u32,
}

/// Number and word of `finding N: WORD`.
fn parse_finding(mark: &str) -> Option<(u32, String)> {
    let (number, word) = mark.strip_prefix("finding ")?.split_once(": ")?;
    Some((number.parse().ok()?, word.to_owned()))
}

/// Number, operation and stack of `race N: OPERATION [in f < g]`, or of `unmet N: …`.
fn parse_mark(mark: &str) -> Option<(Number, &str, Vec<String>)> {
    let unmet = mark.starts_with("unmet ");
    let (number, rest) =
        mark.split_once(' ').filter(|(word, _)| matches!(*word, "race" | "unmet"))?.1.split_once(": ")?;
    let (operation, stack) = rest.split_once(" in ").unwrap_or((rest, ""));
    matches!(operation, "read" | "write" | "free" | "atomic read" | "atomic write").then_some(())?;
    let stack = stack.split(" < ").filter(|function| !function.is_empty()).map(str::to_owned).collect();
    Some((Number { unmet, number: number.parse().ok()? }, operation, stack))
}
